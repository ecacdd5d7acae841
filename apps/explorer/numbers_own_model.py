"""The numbers of each picture of a model of one's own: its motion, its point of rest, the roots there, the chart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tcpdynamics.solvers import characteristic_roots, equilibria, stability_chart, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.stability.equilibria_search import newton

#: What is asked for beside the axes of a chart: its cells in each direction.
CELLS = 40


def motion(problem: Any, end: float) -> pd.DataFrame:
    """All states at 401 times."""
    course = trajectory(problem, np.linspace(0, end, 401))
    return pd.DataFrame({"time": course.time, **{name: course[name] for name in problem.rhs}})


def resting(problem: Any) -> dict[str, float]:
    """The least unstable point of rest around the start, of those on its side of zero if there are any."""
    searched = equilibria(problem)
    points = pd.DataFrame({name: np.atleast_1d(searched[name]) for name in (*problem.rhs, "abscissa")})
    aside = [(points[name] * float(problem.start[name]) < 0) for name in problem.rhs]
    points["aside"] = np.any(aside, axis=0)
    points = points.dropna().sort_values(["aside", "abscissa"])
    return {name: float(points[name].iloc[0]) for name in problem.rhs} if len(points) else {}


def leading(problem: Any, point: dict[str, float], count: int = 6) -> Any:
    """The rightmost roots at a point of rest."""
    spectrum = (
        characteristic_roots(problem, at=point, count=count).characteristic_root.values if point else np.array([])
    )
    return spectrum[~np.isnan(spectrum)]


def roots(problem: Any) -> pd.DataFrame:
    """The rightmost roots, those that lead before the others."""
    spectrum = leading(problem, resting(problem))
    leads = [np.isclose(z, [spectrum[0], spectrum[0].conj()], rtol=1e-9).any() for z in spectrum]
    table = pd.DataFrame({"line": np.where(leads, "leading", "others"), "real part [1/time]": spectrum.real,
                          "imaginary part [1/time]": spectrum.imag})  # fmt: skip
    return table.sort_values("line", kind="stable", ignore_index=True)


def verdict(roots: Any) -> str:
    """Of the leading root."""
    if not len(roots):
        return ""
    marginal = abs(roots[0].real) <= 1e-9 * abs(roots[0])
    return "on the boundary" if marginal else "stable" if roots[0].real < 0 else "unstable"


def axis(low: float, high: float, log: bool) -> Any:
    """Places of a parameter."""
    return np.geomspace(low, high, CELLS + 1) if log else np.linspace(low, high, CELLS + 1)


def rests(problem: Any, point: dict[str, float], places: dict[str, Any], at: list[int]) -> dict[str, Any]:
    """The point of rest over a grid of parameters: each place goes on from its neighbour's, from `at` on."""
    system = compile_system(problem.changed(start=point))
    shape = tuple(len(row) for row in places.values())
    states: Any = np.full((len(point), *shape), np.nan)
    states[:, *at] = list(point.values())
    index, fresh = np.arange(system.size).reshape(shape), np.zeros(shape, bool)
    fresh[tuple(at)] = True
    tried = np.zeros(shape, bool)
    while fresh.any():
        spots = np.argwhere(fresh)
        there = tuple(spots.T)
        width = np.maximum(np.abs(states[:, *there]), 1e-3)
        states[:, *there] = newton(system, states[:, *there], index[there], width)[0]
        tried |= fresh
        fresh = np.zeros(shape, bool)
        for place in spots[np.isfinite(states[0, *there])]:
            for way in [*np.eye(len(shape), dtype=int), *-np.eye(len(shape), dtype=int)]:
                other = tuple(np.clip(place + way, 0, np.array(shape) - 1))
                if not tried[other] and not fresh[other]:
                    fresh[other] = True
                    states[:, *other] = states[:, *place]
    start = {name: float(problem.start[name]) for name in point}
    return {name: xr.DataArray(np.nan_to_num(row, nan=start[name]), places, list(places))
            for name, row in zip(point, states, strict=True)}  # fmt: skip


def charted(problem: Any, axes: dict[str, tuple[float, float, bool]]) -> Any:
    """The chart of stability around the sliders; None without a point of rest."""
    point, places = resting(problem), {name: axis(*ends) for name, ends in axes.items()}
    if not point:
        return None
    fixed = {name: value for name, value in problem.parameters.items() if name not in axes}
    grid = problem.changed(parameters=places | fixed)
    nearest = [int(np.abs(places[name] - float(problem.parameters[name])).argmin()) for name in axes]
    return stability_chart(grid, at=rests(grid, point, places, nearest))


def crossings(chart: Any, names: list[str]) -> pd.DataFrame:
    """Places of the boundary of stability on the edges of the chart's grid: one column a parameter."""
    if chart is None:
        return pd.DataFrame({name: [] for name in names})
    table = pd.DataFrame({name: chart[f"boundary_{name}"] for name in names} | {"axis": chart.boundary_axis})
    ways = [table[table.axis == i].sort_values([*names[:i], *names[i + 1 :], name]) for i, name in enumerate(names)]
    return pd.concat(ways, ignore_index=True)[names]


def chart(problem: Any, axes: dict[str, tuple[float, float, bool]]) -> pd.DataFrame:
    """The boundary of stability, and the sliders."""
    spectrum = leading(problem, resting(problem))
    sliders = pd.DataFrame([{name: float(problem.parameters[name]) for name in axes}])
    grid, abscissa = charted(problem, axes), "spectral abscissa [1/time]"
    curve, edge = sliders.iloc[:0], crossings(grid, list(axes))
    if len(axes) == 1:
        curve = grid.abscissa.to_dataframe(abscissa).dropna().reset_index() if grid is not None else curve
        edge[abscissa], sliders[abscissa] = 0.0, spectrum[0].real if len(spectrum) else np.nan
    lines = {f"the sliders: {verdict(spectrum)}".removesuffix(": "): sliders, "spectral abscissa": curve,
             "boundary of stability": edge}  # fmt: skip
    rows = pd.concat([table.assign(line=line) for line, table in lines.items() if len(table)], ignore_index=True)
    return rows[["line", *sliders.columns]]


def period(roots: Any) -> float:
    """Of the swing that the leading root makes."""
    return float(2 * np.pi / abs(roots[0].imag)) if len(roots) and roots[0].imag else np.nan


def facts(problem: Any, axes: dict[str, tuple[float, float, bool]]) -> pd.DataFrame:
    """Where it rests, whether that is stable, and how it swings."""
    point = resting(problem)
    spectrum, edge = leading(problem, point), crossings(charted(problem, axes), list(axes))
    way = {name: np.log if log else np.asarray for name, (_, _, log) in axes.items()}
    share = {name: (way[name](edge[name]) - way[name](float(problem.parameters[name])))
             / (way[name](high) - way[name](low)) for name, (low, high, _) in axes.items()}  # fmt: skip
    there: Any = []
    if len(edge):
        nearest = edge.iloc[int(np.argmin(sum(one**2 for one in share.values())))]
        name, moved = next(iter(axes)), problem.changed(parameters=dict(problem.parameters) | nearest.to_dict())
        place = {name: [nearest[name]]}
        grid = moved.changed(parameters=dict(moved.parameters) | place)
        there = leading(moved, {k: float(v[0]) for k, v in rests(grid, point, place, [0]).items()}, 1)
    rows = {
        "small deviations": {"stable": "die out", "unstable": "grow", "on the boundary": "stay"}.get(
            verdict(spectrum), "no verdict"
        ),
        **{f"{name} at rest": point.get(name, np.nan) for name in problem.rhs},
        "spectral abscissa": spectrum[0].real if len(spectrum) else np.nan,
        "period": period(spectrum),
        "period on the boundary": period(there),
    }
    return pd.DataFrame({"quantity": list(rows), "value": list(rows.values())})
