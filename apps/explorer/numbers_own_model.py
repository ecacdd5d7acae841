"""The numbers of each picture of a model of one's own: its motion, its equilibrium, the roots there, the chart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from tcpdynamics.solvers import characteristic_roots, equilibria, spectral_abscissa, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.stability.equilibria_search import newton

#: What is asked for besides the axes of a chart: its cells in each direction.
CELLS = 40
#: From the sliders (0) to a place of the chart (1): the first step, the longest, shortest and last, and one for slopes.
FIRST, LONGEST, LEAST, END, NEAR = 1 / 64, (1 / 16, 1 / 27, 1 / 39), 1 / 4096, 1 / 64, 1e-5
#: An equilibrium off where the steps before lead, by more than these parts of the step and of its size, is another one.
JUMP, SLACK = 0.02, 2e-4
#: Halvings of an edge of the chart before its last part is taken as straight, and how far its ends' slopes reach.
HALVINGS, SLOPE = 14, 1e-3
#: Of the chart's largest height: what lies on the boundary.
MARGINAL = 1e-7
#: The same, of the leading root at the sliders: a chart without any growth has rounding alone.
STILL = 1e-9
#: Of each parameter of a chart, where its axis begins and ends, and whether it counts in decades.
Axes = dict[str, tuple[float, float, bool]]


def motion(problem: Any, end: float) -> pd.DataFrame:
    """All states at 401 times."""
    course = trajectory(problem, np.linspace(0, end, 401))
    return pd.DataFrame({"time": course.time, **{name: course[name] for name in problem.rhs}})


def resting(problem: Any) -> dict[str, float]:
    """The least unstable equilibrium around the start: on its side of zero, else with a state at zero, else any."""
    searched = equilibria(problem)
    points = pd.DataFrame({name: np.atleast_1d(searched[name]) for name in (*problem.rhs, "abscissa")})
    parts = [points[name] / start for name in problem.rhs if (start := float(problem.start[name]))]
    points["aside"] = np.max([1 - np.sign(part.where(part.abs() > 1e-9, 0)) for part in parts], axis=0, initial=0)
    points = points.dropna().sort_values(["aside", "abscissa"])
    return {name: float(points[name].iloc[0]) for name in problem.rhs} if len(points) else {}


def leading(problem: Any, point: dict[str, float], count: int = 6) -> Any:
    """The rightmost roots at an equilibrium, as many of them as are certain."""
    for number in range(count, 0, -1) if point else []:
        spectrum = characteristic_roots(problem, at=point, count=number).characteristic_root.values
        if not np.isnan(spectrum).any():
            return spectrum
    return np.array([])


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


def sizes(problem: Any) -> Any:
    """(state, 1) A size for each state, of those that start at 0, too."""
    return np.array([abs(float(start)) or 1.0 for start in problem.start.values()])[:, None]


def followed(problem: Any, point: dict[str, float], axes: Axes, ends: dict[str, Any]) -> Any:
    """(state, place) The equilibrium, followed straight from the sliders to places; NaN where it ends."""
    states = np.full((len(point), len(next(iter(ends.values())))), np.nan)
    for longest in LONGEST:  # other steps, where one fell on a place where two equilibria meet
        gone = np.flatnonzero(np.isnan(states).any(axis=0))
        if len(gone):
            states[:, gone] = walked(problem, point, axes, {name: row[gone] for name, row in ends.items()}, longest)
    return states


def walked(problem: Any, point: dict[str, float], axes: Axes, ends: dict[str, Any], longest: float) -> Any:
    """(state, place) The same, each step from where the three points before it lead."""
    base, count = sizes(problem), len(next(iter(ends.values())))

    def at(s: Any, places: Any) -> dict[str, Any]:
        return {name: between(float(problem.parameters[name]), ends[name][places], s, axes[name][2]) for name in axes}

    now: Any = np.repeat(np.array(list(point.values()))[:, None], count, axis=1)
    ahead = at_rest(problem, at(NEAR, np.arange(count)), now, base)
    slope, bend = np.nan_to_num((ahead - now) / NEAR), np.zeros_like(now)
    s, size, last, places = np.zeros(count), np.full(count, FIRST), np.zeros(count), np.arange(count)
    while len(places):
        goal, before, old = np.where(s[places] < 1 - END, 1 - END, 1.0), now[:, places], slope[:, places]
        step = np.minimum(size[places], goal - s[places])
        lead = before + step * (old + (step + last[places]) * bend[:, places])
        after = at_rest(problem, at(s[places] + step, places), lead, base)
        room = JUMP * np.abs(lead - before) + SLACK * (np.abs(before) + 0.1 * base)
        good = (np.abs(after - lead) <= room).all(axis=0)
        there = places[good]
        now[:, there], slope[:, there] = after[:, good], ((after - before) / step)[:, good]
        bend[:, there] = (slope[:, there] - old[:, good]) / (step + last[places])[good]
        s[there], last[there], size[there] = (s[places] + step)[good], step[good], np.minimum(2 * step[good], longest)
        size[places[~good]] = step[~good] / 2
        ended = places[~good][step[~good] <= LEAST]
        now[:, ended], s[ended] = np.nan, 1.0
        places = places[s[places] < 1]
    return now


def at_rest(problem: Any, spots: dict[str, Any], lead: Any, base: Any) -> Any:
    """(state, place) What Newton's method finds from `lead`."""
    system = compile_system(moved(problem, spots).changed(start=dict.fromkeys(problem.rhs, 1.0)))
    return newton(system, lead, np.arange(lead.shape[1]), np.maximum(np.abs(lead), 1e-3 * base))[0]


def heights(problem: Any, spots: dict[str, Any], states: Any) -> Any:
    """(place,) The spectral abscissa at equilibrium; NaN without one."""
    there = np.isfinite(states).all(axis=0)
    out = np.full(len(there), np.nan)
    if there.any():
        rows = {name: xr.DataArray(row[there], dims="place") for name, row in zip(problem.rhs, states, strict=True)}
        grid = moved(problem, {name: row[there] for name, row in spots.items()})
        out[there] = spectral_abscissa(grid, rows).values
    return out


def charted(problem: Any, axes: Axes) -> tuple[dict[str, Any], Any, Any]:
    """The places of the chart's grid, the equilibrium there (state, place) and the spectral abscissa (place,)."""
    point, lines = resting(problem), [axis(*ends) for ends in axes.values()]
    ends = dict(zip(axes, (grid.ravel() for grid in np.meshgrid(*lines, indexing="ij")), strict=True))
    if not point:
        return ends, np.empty((0, 0)), np.full(len(next(iter(ends.values()))), np.nan)
    states = followed(problem, point, axes, ends)
    height = heights(problem, ends, states)
    still = STILL * np.abs(leading(problem, point)[:1]).max(initial=0.0)
    height[np.abs(height) <= max(still, MARGINAL * np.nanmax(np.abs(height), initial=0.0))] = 0.0
    # zero next to a place without an equilibrium: two of them meet and end there, and nothing crosses
    none = np.pad(np.isnan(height).reshape((CELLS + 1,) * len(axes)), 1)
    next_to_none: Any = np.any([np.roll(none, by, way) for by in (-1, 1) for way in range(len(axes))], axis=0)
    height[(height == 0) & next_to_none[(slice(1, -1),) * len(axes)].ravel()] = np.nan
    return ends, states, height


def crossed(state_at: Any, growth_at: Any, one: Any, other: Any, low: Any, high: Any) -> Any:
    """(edge,) Where on edges a growth crosses zero: `low` at their beginning, `high` at their end, of opposite signs.

    The equilibria between are looked for where a cubic of the edge leads, so that another that crosses this one there
    is not taken for it.
    """
    chord = other - one
    inner = state_at(np.full(len(low), SLOPE), one), state_at(np.full(len(low), 1 - SLOPE), other)
    rise, fall = (inner[0] - one) / SLOPE - chord, (other - inner[1]) / SLOPE - chord
    rise, fall = (np.where(np.isnan(x).any(axis=0), 0.0, x) for x in (rise, fall))
    a, b, off_a, off_b = np.zeros(len(low)), np.ones(len(low)), 0 * one, 0 * one  # how far these are off the cubic
    for _ in range(HALVINGS):
        s = (a + b) / 2
        straight = one + s * chord + s * (1 - s) * ((1 - s) * rise - s * fall)
        state = state_at(s, straight + (off_a + off_b) / 2)
        growth = growth_at(s, state)
        off = np.where(np.isnan(state).any(axis=0), off_b, state - straight)
        first = (growth < 0) == (low < 0)
        a, low, off_a = np.where(first, s, a), np.where(first, growth, low), np.where(first, off, off_a)
        b, high, off_b = np.where(first, b, s), np.where(first, high, growth), np.where(first, off_b, off)
    return np.where(np.isfinite(low - high), a + (b - a) * low / (low - high), (a + b) / 2)


def crossings(problem: Any, axes: Axes) -> pd.DataFrame:
    """Places of the boundary of stability on the edges of the chart's grid: one column a parameter."""
    ends, states, height = charted(problem, axes)
    shape = (CELLS + 1,) * len(axes)
    number, sign = np.arange(len(height)).reshape(shape), 1 if (height < 0).any() else -1
    tables = [pd.DataFrame({name: [] for name in axes})]
    for way in range(len(axes)):
        edges = np.moveaxis(number, way, -1)
        low, high = edges[..., :-1].ravel(), edges[..., 1:].ravel()
        a, b = sign * height[low], sign * height[high]
        cut = ((a < 0) & (b >= 0)) | ((a >= 0) & (b < 0))
        low, high = low[cut], high[cut]
        share = np.where(height[low] == 0, 0.0, 1.0)  # a place on the boundary is where it crosses
        inner = np.flatnonzero((height[low] != 0) & (height[high] != 0))
        a, b = low[inner], high[inner]

        def place(s: Any, a: Any, b: Any) -> dict[str, Any]:
            return {name: between(ends[name][a], ends[name][b], s, axes[name][2]) for name in axes}

        if len(inner):
            share[inner] = crossed(
                lambda s, lead, a=a, b=b: at_rest(problem, place(s, a, b), lead, sizes(problem)),
                lambda s, state, a=a, b=b: heights(problem, place(s, a, b), state),
                states[:, a], states[:, b], height[a], height[b],
            )  # fmt: skip
        tables.append(pd.DataFrame(place(share, low, high)).dropna())
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
    """The equilibrium, whether it is stable, and how it oscillates."""
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
        **{f"{name} at equilibrium": point.get(name, np.nan) for name in problem.rhs},
        "spectral abscissa": spectrum[0].real if len(spectrum) else np.nan,
        "period": period(spectrum),
        "period on the boundary": period(there),
    }
    return pd.DataFrame({"quantity": list(rows), "value": list(rows.values())})
