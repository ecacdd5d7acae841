"""The numbers of each picture of a model of one's own: its motion, its point of rest, the roots there, the chart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize.elementwise import find_root

from tcpdynamics.solvers import characteristic_roots, equilibria, spectral_abscissa, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.stability.equilibria_search import newton

#: What is asked for beside the axes of a chart: its cells in each direction.
CELLS = 40
#: Steps from the sliders to a place of the chart, and by which part of itself a rest may miss where two steps lead.
STEPS, JUMP = 32, 0.25
#: Of the chart's largest height: what lies on the boundary.
MARGINAL = 1e-7
#: Of each parameter of a chart, where its axis begins and ends, and whether it counts in decades.
Axes = dict[str, tuple[float, float, bool]]


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


def between(low: Any, high: Any, share: Any, log: bool) -> Any:
    """A place between two values of a parameter."""
    return low * (high / low) ** share if log else low + (high - low) * share


def moved(problem: Any, spots: dict[str, Any]) -> Any:
    """The problem at places of its parameters: one dimension, `place`."""
    rows = {name: xr.DataArray(row, dims="place") for name, row in spots.items()}
    return problem.changed(parameters=dict(problem.parameters) | rows)


def followed(problem: Any, point: dict[str, float], axes: Axes, ends: dict[str, Any]) -> Any:
    """(state, place) The point of rest, followed straight from the sliders to places; NaN where it ends.

    Each step begins where the two before it lead. A rest that is found elsewhere is another one.
    """
    count = len(next(iter(ends.values())))
    now: Any = np.repeat(np.array(list(point.values()))[:, None], count, axis=1)
    before, base = now, np.array([abs(float(problem.start[name])) or 1.0 for name in point])[:, None]
    for share in np.arange(1, STEPS + 1) / STEPS:
        spots = {name: between(float(problem.parameters[name]), ends[name], share, axes[name][2]) for name in axes}
        lead = 2 * now - before
        after = at_rest(problem, spots, lead, base)
        after[:, (np.abs(after - lead) > JUMP * (np.abs(now) + 0.1 * base)).any(axis=0)] = np.nan
        before, now = now, after
    return now


def at_rest(problem: Any, spots: dict[str, Any], lead: Any, base: Any) -> Any:
    """(state, place) What Newton's method finds from `lead`."""
    system = compile_system(moved(problem, spots).changed(start=dict.fromkeys(problem.rhs, 1.0)))
    return newton(system, lead, np.arange(lead.shape[1]), np.maximum(np.abs(lead), 1e-3 * base))[0]


def heights(problem: Any, spots: dict[str, Any], states: Any) -> Any:
    """(place,) The spectral abscissa at rest; NaN without a rest."""
    there = np.isfinite(states).all(axis=0)
    out = np.full(len(there), np.nan)
    if there.any():
        rows = {name: xr.DataArray(row[there], dims="place") for name, row in zip(problem.rhs, states, strict=True)}
        grid = moved(problem, {name: row[there] for name, row in spots.items()})
        out[there] = spectral_abscissa(grid, rows).values
    return out


def charted(problem: Any, axes: Axes) -> tuple[dict[str, Any], Any, Any]:
    """The places of the chart's grid, the point of rest there (state, place) and the spectral abscissa (place,)."""
    point, lines = resting(problem), [axis(*ends) for ends in axes.values()]
    ends = dict(zip(axes, (grid.ravel() for grid in np.meshgrid(*lines, indexing="ij")), strict=True))
    if not point:
        return ends, np.empty((0, 0)), np.full(len(next(iter(ends.values()))), np.nan)
    states = followed(problem, point, axes, ends)
    height = heights(problem, ends, states)
    height[np.abs(height) <= MARGINAL * np.nanmax(np.abs(height), initial=0.0)] = 0.0
    return ends, states, height


def crossings(problem: Any, axes: Axes) -> pd.DataFrame:
    """Places of the boundary of stability on the edges of the chart's grid: one column a parameter."""
    ends, states, height = charted(problem, axes)
    shape = (CELLS + 1,) * len(axes)
    number, sign = np.arange(len(height)).reshape(shape), 1 if (height < 0).any() else -1
    base = np.array([abs(float(start)) or 1.0 for start in problem.start.values()])[:, None]
    tables = [pd.DataFrame({name: [] for name in axes})]
    for way in range(len(axes)):
        edges = np.moveaxis(number, way, -1)
        low, high = edges[..., :-1].ravel(), edges[..., 1:].ravel()
        a, b = sign * height[low], sign * height[high]
        cut = ((a < 0) & (b >= 0)) | ((a >= 0) & (b < 0))
        low, high = low[cut], high[cut]

        def there(share: Any, low: Any, high: Any) -> dict[str, Any]:
            return {name: between(ends[name][low], ends[name][high], share, axes[name][2]) for name in axes}

        def growth(share: Any, low: Any, high: Any) -> Any:
            lead = (1 - share) * states[:, low] + share * states[:, high]
            spots = there(share, low, high)
            return heights(problem, spots, at_rest(problem, spots, lead, base))

        if len(low):
            share = np.where(height[low] == 0, 0.0, 1.0)  # a place on the boundary is where it crosses
            inner = (height[low] != 0) & (height[high] != 0)
            if inner.any():
                ends_of = (np.zeros(inner.sum()), np.ones(inner.sum()))
                share[inner] = find_root(growth, ends_of, args=(low[inner], high[inner])).x
            tables.append(pd.DataFrame(there(share, low, high)).dropna())
    return pd.concat(tables, ignore_index=True)


def chart(problem: Any, axes: Axes) -> pd.DataFrame:
    """The boundary of stability, and the sliders."""
    spectrum, abscissa = leading(problem, resting(problem)), "spectral abscissa [1/time]"
    sliders = pd.DataFrame([{name: float(problem.parameters[name]) for name in axes}])
    curve, edge = sliders.iloc[:0], crossings(problem, axes)
    if len(axes) == 1:
        ends, _, height = charted(problem, axes)
        curve = pd.DataFrame(ends | {abscissa: height}).dropna()
        edge[abscissa], sliders[abscissa] = 0.0, spectrum[0].real if len(spectrum) else np.nan
    lines = {f"the sliders: {verdict(spectrum)}".removesuffix(": "): sliders, "spectral abscissa": curve,
             "boundary of stability": edge}  # fmt: skip
    rows = pd.concat([table.assign(line=line) for line, table in lines.items() if len(table)], ignore_index=True)
    return rows[["line", *sliders.columns]]


def period(roots: Any) -> float:
    """Of the swing that the leading root makes."""
    return float(2 * np.pi / abs(roots[0].imag)) if len(roots) and roots[0].imag else np.nan


def facts(problem: Any, axes: Axes) -> pd.DataFrame:
    """Where it rests, whether that is stable, and how it swings."""
    point = resting(problem)
    spectrum, edge = leading(problem, point), crossings(problem, axes)
    way = {name: np.log if log else np.asarray for name, (_, _, log) in axes.items()}
    share = {name: (way[name](edge[name]) - way[name](float(problem.parameters[name])))
             / (way[name](high) - way[name](low)) for name, (low, high, _) in axes.items()}  # fmt: skip
    there: Any = []
    if len(edge):
        nearest = edge.iloc[int(np.argmin(sum(one**2 for one in share.values())))]
        states = followed(problem, point, axes, {name: np.array([nearest[name]]) for name in axes})[:, 0]
        if np.isfinite(states).all():
            nearby = problem.changed(parameters=dict(problem.parameters) | nearest.to_dict())
            there = leading(nearby, dict(zip(problem.rhs, states.tolist(), strict=True)), 1)
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
