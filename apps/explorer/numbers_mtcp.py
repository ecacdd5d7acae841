"""The numbers of each picture of M/TCP's page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.models import MtcpThroughput, OneWayTimes, effective_ack_loss

SCHEMES = {"immediate": "immediate", "duplicated": "duplicated, delayed or not"}


def losses(routes: int) -> pd.DataFrame:
    """The loss of whole acknowledgements, by scheme."""
    grid = np.linspace(0, 0.5, 101)
    columns = {name: [effective_ack_loss(scheme, [q] * routes) for q in grid] for scheme, name in SCHEMES.items()}
    return pd.DataFrame({"loss of acknowledgements": grid} | columns)


def throughput(loss: float, rtt: float, timeout: float, window_limit: float, routes: int) -> pd.DataFrame:
    """Packets sent per second, by scheme."""
    grid = np.linspace(0, 0.5, 101)
    model = MtcpThroughput(loss=loss, rtt=rtt, timeout=timeout, window_limit=window_limit, ack_loss=grid, routes=routes)
    rates = (model.immediate(), model.duplicated(), model.reno())
    columns = dict(zip((*SCHEMES.values(), "Reno, one route"), rates, strict=True))
    return pd.DataFrame({"loss of acknowledgements": grid} | columns)


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
        "share kept": [model.immediate_factor(), model.duplicated_factor()],
    }
    return pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", *SCHEMES.values()])


def facts(alpha: float, routes: int, round_trip: float, asymmetry: float) -> pd.DataFrame:
    """What the estimates know."""
    model = OneWayTimes(alpha=alpha, routes=routes)
    there, back = (round_trip + asymmetry) / 2, (round_trip - asymmetry) / 2
    rows = {
        "common factor": model.common_factor(),
        "difference factor": model.difference_factor(),
        "mean to 1 %": np.log(0.01) / np.log(model.common_factor()),
        "differences to 1 %": np.log(0.01) / np.log(model.difference_factor()),
        "noise gain": model.noise_gain(),
        "constant there": model.offset([0.0] * routes, [0.0] * routes, [there] * routes, [back] * routes),
        "unknown directions": 1,
        "known directions": 2 * routes - 1,
    }
    return pd.DataFrame(list(rows.items()), columns=["quantity", "value"])
