"""The numbers of each picture of the page of Lotka-Volterra flows.

`kind` is the reading's model, `fields` its fields but for the rates of the access links, `capacities` [packet/s].
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tcpdynamics.apps.explorer.lotka_volterra_motion import (
    ends_of_a_map,
    exact_boundary,
    motion_of,
    nullclines,
    points_of_rest,
)
from tcpdynamics.apps.explorer.recorded import interval, over_readings, published
from tcpdynamics.models import per_flow
from tcpdynamics.models.lotka_volterra.presence import joining
from tcpdynamics.solvers import trajectory


def start(problem: Any, first: float, begin: tuple[float, float] = (0.02, 0.3)) -> dict[str, float]:
    """Rates at time 0: `begin` of the first flow's access link, from the first flow to the last one."""
    return dict(zip(problem.labels, first * np.linspace(*begin, len(problem.labels)), strict=True))


def times(end: float, whole: bool) -> Any:
    """When the motion is drawn: whole round trips for a map."""
    return np.arange(int(end) + 1) if whole else np.linspace(0, end, 400)


def sent(
    kind: Any, fields: dict[str, Any], capacities: list[float], begin: tuple[float, float], joins: float, leaves: float,
    end: float, whole: bool,
) -> Any:  # fmt: skip
    """The rates of the flows; a map that left its interval does not come back."""
    there = {"N[1]": (-1, leaves), f"N[{len(capacities)}]": (joins, np.inf)}
    problem = joining(motion_of(kind(**fields, capacity=per_flow(capacities))), there)
    problem = replace(problem, start=start(problem, capacities[0], begin))
    rates = trajectory(problem, times(end, whole)).sent.transpose("flow", "time").values
    within = (abs(rates) < (20 * capacities[-1] if whole else np.inf)).all(axis=0)
    return np.where(np.logical_and.accumulate(within), rates, np.nan)


def rates(
    kind: Any, fields: dict[str, Any], capacities: list[float], alone: Any, begin: tuple[float, float], joins: float,
    leaves: float, end: float, whole: bool,
) -> pd.DataFrame:  # fmt: skip
    """The rate of each flow, and of a flow alone."""
    of_flows = sent(kind, fields, capacities, begin, joins, leaves, end, whole)
    of_one = trajectory(motion_of(alone), times(end, whole)).w.values
    table = pd.DataFrame({"time [RTT]": times(end, whole)} | {f"flow {i + 1}": row for i, row in enumerate(of_flows)})
    table["a flow alone (logistic)"] = np.where(
        abs(of_one) < (20 * capacities[-1] if whole else np.inf), of_one, np.nan
    )
    return table


def planes(lines: dict[str, Any], x: str, y: str) -> pd.DataFrame:
    """Lines of a plane, one below the other."""
    return pd.concat([pd.DataFrame({"line": name, x: across, y: up}) for name, (across, up) in lines.items()])


def plane(
    kind: Any, fields: dict[str, Any], capacities: list[float], begin: tuple[float, float], joins: float, leaves: float,
    end: float, whole: bool, point: dict[str, Any],
) -> pd.DataFrame:  # fmt: skip
    """Two of the flows: the motion, where each stands still, and the equilibria."""
    of_flows = sent(kind, fields, capacities, begin, joins, leaves, end, whole)
    n, K = len(capacities), capacities[-1]
    first, last = of_flows[0], np.where(np.isfinite(of_flows[0]), of_flows[-1], np.nan)
    top = 1.05 * np.nanmax([K, *np.minimum([of_flows[0], of_flows[-1]], 3 * K).ravel()])
    settled, solo, lone = points_of_rest(**point)
    places, still_first, still_last = nullclines(top, **point)  # where the right-hand side changes its sign
    lines = {
        "equilibrium of all flows": ([settled[0]], [settled[-1]]),
        f"flow 1 alone; flow {n} alone; no flow": ([solo[0], 0, 0], [0, lone[-1], 0]),
        "start": ([begin[0] * capacities[0]], [begin[1] * capacities[0]]), "motion": (first, last),
        "flow 1 is constant": (still_first, np.where(np.isfinite(still_first), places, np.nan)),
        f"flow {n} is constant": (places, still_last),
    }  # fmt: skip
    return planes(lines, "flow 1 [packet/s]", f"flow {n} [packet/s]")


def chart(kind: Any, across: str, fields: dict[str, Any], sliders: list[float], exact: Any = None) -> pd.DataFrame:
    """The boundary by the closed form for flows alike; with unequal access links (`exact`), by exact roots."""
    x = xr.DataArray(np.linspace(*((0.02, 3.0) if across == "delay" else (0.0, 0.98)), 81), dims="point")

    def stable(gain: Any) -> Any:
        return kind(epsilon=gain, **{across: x}, **fields).stability_margin() > 0

    low, high = xr.full_like(x, 1e-6), xr.full_like(x, 8.0)
    always = stable(high)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = middle.where(stable(middle), low), high.where(stable(middle), middle)
    edge = high.where(~always, 8.0).values
    name = "boundary of stability" if (edge < 4).any() else "no boundary: always stable"
    lines: dict[str, Any] = {
        "the sliders": ([sliders[0]], [sliders[1]]),
        "stable, flows alike": (x.values[[0, *range(81), 80]], [0, *np.minimum(edge, 4.08), 0]),
        name: (x.values, np.where(edge > 6, np.nan, edge)),
    }
    if exact:
        curves = exact_boundary(exact)["curves"]
        lines[f"by exact roots, these access links{'' if curves else ': no boundary here'}"] = tuple(
            [v for curve in curves for v in (*curve[k], np.nan)] for k in (0, 1)
        )
    axis = "delay τ [RTT]" if across == "delay" else "weight of the others γ"  # noqa: RUF001
    return planes(lines, axis, "gain ε")


def largest(v: Any) -> float:
    """The largest value, of the polynomial through five neighbouring samples."""
    i = int(np.clip(np.argmax(v), 2, len(v) - 3))
    c = np.polyfit(range(-2, 3), v[i - 2 : i + 3] - v[i], 4)
    return float(v[i] + max(0.0, np.polyval(c, np.linspace(-2, 2, 4001)).max()))


def ends(kind: Any, fields: dict[str, Any], capacities: list[float]) -> pd.DataFrame:
    """Where the sum of the rates ends up: its least and its largest value after a long time."""
    rows = []
    for gain in np.linspace(0.05, 4.0, 48):
        motion = motion_of(kind(epsilon=gain, **fields, capacity=per_flow(capacities)))
        late = np.append(0, 240 * max(1, 1 / gain) + np.linspace(0, 60, 6001))
        problem = replace(motion, start=start(motion, capacities[0]))
        total = trajectory(problem, late, rtol=1e-10).total.values[1:]
        if np.isfinite(total).all():
            rows += [(gain, -largest(-total)), (gain, largest(total))]
    return pd.DataFrame(rows, columns=["gain ε", "sum of the rates"])


def orbit(point: dict[str, Any]) -> pd.DataFrame:
    """Where the sum of the rates of a map ends up, step by step with the page's own program."""
    return pd.DataFrame(ends_of_a_map(**point), columns=["gain ε", "sum of the rates"])


#: Numbers of flows, and rates of Fig. 8's link [Mbit/s], of which packets are recorded.
COUNTS, LINKS = (2, 5, 10, 20), (5, 8, 12, 15, 18, 25, 30)


def sums(gamma: float) -> pd.DataFrame:
    """What all flows send at equilibrium, over the link; packets at gamma = 0.9 over all simulated settings."""
    n = np.arange(1, 21)
    table = pd.DataFrame({
        "flows": n, "others' windows": n / (1 + (n - 1) * gamma), "others' throughput": n * (1 - gamma) + gamma,
        "the paper's bound 1/\N{GREEK SMALL LETTER GAMMA}": 1 / gamma if gamma else np.nan,
    })  # fmt: skip
    for measured in ("windows", "throughput"):
        rows = [over_readings(f"logistic.sec32.packets.bound.{k}", others=measured, buffer="2 RTT") for k in COUNTS]
        for word, column in zip(("", ", low", ", high"), zip(*rows, strict=True), strict=True):
            values = np.full(20, np.nan)
            if abs(gamma - 0.9) < 1e-9:
                values[np.array(COUNTS) - 1] = column
            table[f"packets, {measured}{word}"] = values
    return table


def shares(point: dict[str, Any]) -> pd.DataFrame:
    """The first of two flows' part of both rates at equilibrium, in the network of Fig. 8 and in its packets."""
    rate = np.linspace(5, 30, 51)
    first, last = np.minimum(rate, 10), np.minimum(rate, 20)  # the tightest links
    scale = point["capacity"] / 10
    rows = [
        points_of_rest(**point | {"capacity": scale * a, "ratio": b / a, "link": scale * c})[0]
        for a, b, c in zip(first.tolist(), last.tolist(), rate.tolist(), strict=True)
    ]
    table = pd.DataFrame({
        "rate of the link [Mbit/s]": rate, "at equilibrium": [row[0] / (row[0] + row[-1]) for row in rows],
        "eq. (9)": first / (first + last),
    })  # fmt: skip
    places = np.searchsorted(rate, LINKS)
    columns = zip(*[interval(f"logistic.fig8.share.{link}") for link in LINKS], strict=True)
    for word, column in zip(("", ", low", ", high"), columns, strict=True):
        table.loc[places, f"packets{word}"] = column
    table.loc[places[2:5], "the paper's text"] = [published(f"logistic.fig8.text.{link}") for link in LINKS[2:5]]
    return table
