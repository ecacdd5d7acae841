"""The numbers of each picture of M/TCP's page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.recorded import over_readings, published
from tcpdynamics.models import MtcpThroughput, OneWayTimes, effective_ack_loss

#: A packet [Mbit], and drop probabilities of ACKs in Table 4.
PACKET, LOSSES = 8e-3, (0.0, 0.05, 0.1, 0.13)
WAYS = ("there 1", "there 2", "back 1", "back 2", "1 and 1", "1 and 2", "2 and 1", "2 and 2")
SCHEMES = {"immediate": "immediate", "duplicated": "duplicated, delayed or not"}


def losses(routes: int) -> pd.DataFrame:
    """The probability that an acknowledgement is lost whole, by scheme."""
    grid = np.linspace(0, 0.5, 101)
    columns = {name: [effective_ack_loss(scheme, [q] * routes) for q in grid] for scheme, name in SCHEMES.items()}
    return pd.DataFrame({"drop probability of ACKs": grid} | columns)


def throughput(loss: float, rtt: float, timeout: float, window_limit: float, routes: int) -> pd.DataFrame:
    """Throughput by scheme, and Table 4."""
    grid = np.linspace(0, 0.5, 101)
    model = MtcpThroughput(loss=loss, rtt=rtt, timeout=timeout, window_limit=window_limit, ack_loss=grid, routes=routes)
    rates = (PACKET * rate for rate in (model.immediate(), model.duplicated(), model.reno()))
    columns = dict(zip((*SCHEMES.values(), "Reno, one route"), rates, strict=True))
    table = pd.DataFrame({"drop probability of ACKs": grid} | columns)
    for scheme in ("immediate", "duplicated", "reno"):
        for q in LOSSES:
            name = f"mtcp.table4.{scheme}.{100 * q:.0f}"
            table.loc[round(200 * q), f"Table 4, {scheme.replace('reno', 'Reno')}"] = published(name)
    return table


def table4(loss: float, rtt: float, timeout: float, window_limit: float, ack_loss: float, routes: int) -> pd.DataFrame:
    """Table 4 at the printed loss next to this one: printed, by the model, and in packets over all interpretations."""
    q = min(LOSSES, key=lambda one: abs(one - ack_loss))
    model = MtcpThroughput(loss=loss, rtt=rtt, timeout=timeout, window_limit=window_limit, ack_loss=q, routes=routes)
    rates = {
        "reno": model.reno(), "immediate": model.immediate(), "duplicated": model.duplicated(),
        "duplicated_delayed": model.duplicated(),
    }  # fmt: skip
    names = [f"mtcp.table4.{scheme}.{100 * q:.0f}" for scheme in rates]
    ranges = zip(*map(over_readings, names), strict=True)
    return pd.DataFrame({
        "scheme": ["Reno", "immediate", "duplicated", "delayed"],
        "printed": [published(name) for name in names], "model": [PACKET * float(rate) for rate in rates.values()],
    } | dict(zip(("packets", "packets, low", "packets, high"), ranges, strict=True)))  # fmt: skip


def clocks(round_trip: float, there: float, back: float, asymmetry: float) -> pd.DataFrame:
    """One-way times of two routes and the round trips that they make: true, and where the estimates end."""
    true = [round_trip / 2 + half for half in (asymmetry / 2 + there / 2, asymmetry / 2 - there / 2)]
    true += [round_trip / 2 + half for half in (-asymmetry / 2 + back / 2, -asymmetry / 2 - back / 2)]
    estimated = [round_trip / 2 + half for half in (there / 2, -there / 2, back / 2, -back / 2)]
    rows = [[*x, x[0] + x[2], x[0] + x[3], x[1] + x[2], x[1] + x[3]] for x in (true, estimated)]
    return pd.DataFrame({"time": [*WAYS], "true": rows[0], "estimated": rows[1]})


def estimates(alpha: float, routes: int, round_trip: float, apart: float, asymmetry: float) -> pd.DataFrame:
    """One-way times of two routes, estimated and true; `asymmetry` is that of this direction."""
    model = OneWayTimes(alpha=alpha, routes=routes)
    k = np.arange(301)
    mean = round_trip / 2 * (1 - model.common_factor() ** k)
    half = apart / 2 * (1 - model.difference_factor() ** k)
    true = (round_trip + asymmetry) / 2
    return pd.DataFrame({
        "acknowledgements": k, "route 1": mean + half, "route 2": mean - half, "true, route 1": true + apart / 2,
        "true, route 2": true - apart / 2,
    })  # fmt: skip


def errors(alpha: float, routes: int) -> pd.DataFrame:
    """What is left of each kind of error."""
    model = OneWayTimes(alpha=alpha, routes=routes)
    k = np.arange(301)
    rest = {"mean round trip": model.common_factor() ** k, "between routes": model.difference_factor() ** k}
    return pd.DataFrame({"acknowledgements": k} | rest | {"there against back": np.ones(301)})


def schemes(loss: float, rtt: float, timeout: float, window_limit: float, routes: int, ack_loss: float) -> pd.DataFrame:
    """The numbers at this loss."""
    model = MtcpThroughput(
        loss=loss, rtt=rtt, timeout=timeout, window_limit=window_limit, ack_loss=ack_loss, routes=routes
    )
    sent = [model.immediate(), model.duplicated()]
    rows: dict[str, Any] = {
        "lost whole": [effective_ack_loss(scheme, [ack_loss] * routes) for scheme in SCHEMES],
        "throughput": sent,
        "over Reno": [rate / model.reno() for rate in sent],
        "fraction kept": [model.immediate_factor(), model.duplicated_factor()],
    }
    return pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", *SCHEMES.values()])


def facts(alpha: float, routes: int, round_trip: float, asymmetry: float) -> pd.DataFrame:
    """What the estimates contain."""
    model = OneWayTimes(alpha=alpha, routes=routes)
    there, back = (round_trip + asymmetry) / 2, (round_trip - asymmetry) / 2
    rows = {
        "common factor": model.common_factor(),
        "difference factor": model.difference_factor(),
        "mean to 1 %": np.ceil(np.log(0.01) / np.log(model.common_factor())),
        "differences to 1 %": np.ceil(np.log(0.01) / np.log(model.difference_factor())),
        "noise gain": model.noise_gain(),
        "constant there": model.offset([0.0] * routes, [0.0] * routes, [there] * routes, [back] * routes),
        "directions not measured": 1,
        "directions measured": 2 * routes - 1,
    }
    return pd.DataFrame(list(rows.items()), columns=["quantity", "value"])
