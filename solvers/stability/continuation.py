"""A branch of equilibria followed along one parameter, with the points at which its nature changes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import digits, listed, real, shown, whole
from tcpdynamics.limits import check_work

from ..equations import as_problem, compile_system, to_variables
from ..problems import DDE, ODE, DomainError, Dynamics, DynamicsError, Map, MotionModel
from ..problems.numbers import dimensions, is_symbolic, real_array
from ..results import as_dataset, provenance
from .branch import Branch
from .equilibria_search import newton
from .leading_roots import margin, sides
from .operating_point import operating_point

Array = NDArray[np.float64]

#: Operations that a point of a branch costs, times the states cubed.
_WORK = 1e6

#: Roots beyond the unstable ones that a delay equation is asked for.
_SPARE = 6


def continuation(
    problem: ODE | DDE | Map | MotionModel,
    parameter: str,
    bounds: tuple[float, float],
    *,
    start: Mapping[str, float] | None = None,
    step: float = 0.02,
    points: int = 2000,
    throw: bool = False,
) -> xr.Dataset:
    """Follow equilibria by pseudo-arclength while one parameter moves between bounds; folds are passed.

    Steps adapt: shorter where Newton works hard or where roots cross the border of stability unexplained. Special
    points are located by Brent's method along the branch: `fold` (the branch turns back), `branch` (another branch
    crosses: transcritical or pitchfork), `hopf` (a pair of exponents crosses the imaginary axis; ODE, DDE), `flip` (a
    multiplier passes -1; maps), `neimark-sacker` (a pair of multipliers leaves the unit circle; maps), `switch` (roots
    jump across the border, or the branch turns back, where it passes a switch of the equations).

    Parameters
    ----------
    problem : ODE, DDE, Map, or a model with such a view; every other parameter a number
    parameter : str
        Which one moves.
    bounds : (from, to)
        Its range; the branch begins at the first value unless `start` gives another.
    start : mapping state -> number, optional
        Where to begin, roughly. It may give the parameter's value too, from which both directions are then followed.
        Default: as for `eigenvalues`.
    step : float, in (0, 1]
        Longest step, in units of the range and of the states' size at the start.
    points : int
        Most points of the branch in one direction.
    throw : bool
        Raise DynamicsError where the branch could not be followed to a bound (or to its beginning).

    Returns
    -------
    xarray.Dataset
        Along `step`: the parameter, the states, `abscissa` [1/time] or `radius` [1], `unstable` (number of
        unstable roots, those among the leading ones of a DDE), `stable`. Along `crossing`: `special_kind`, the
        parameter and the states there (named `special_` and the name), `special_frequency` [1/time, angular] of the
        roots that cross. The attribute `ended` gives the reason for each end.

    Raises
    ------
    DynamicsError
        A parameter that does not exist; another that is an array; no equilibrium to begin with, or one on a switch.
    DomainError
        Bounds that are not finite, equal, or outside the parameter's domain.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import ODE, continuation
    >>> x, r = sympy.symbols("x r")
    >>> parabola = ODE(rhs={"x": r + x**2}, parameters={"r": -1.0})
    >>> branch = continuation(parabola, "r", (-1, 1), start={"x": -1})
    >>> branch.special_kind.values.tolist(), round(abs(float(branch.special_r[0])), 12)
    (['fold'], 0.0)
    """
    dynamics: Dynamics = as_problem(problem)
    points = whole("points", points, 1, error=DynamicsError)
    if start is not None and not isinstance(start, Mapping):
        raise DynamicsError(f"start must be a mapping from names to numbers, got {shown(start)}")
    low, high = _check(dynamics, parameter, bounds)
    step = real("step", step, 0, 1, above=True, error=DynamicsError)
    check_work(f"{points:,} points of a branch", points * _WORK * len(dynamics.labels) ** 3, "ask for fewer points")
    branch, first = _begin(dynamics, parameter, (low, high), dict(start or {}), step)
    ahead = np.sign(high - low) * np.eye(branch.states + 1)[-1]
    limits = np.sort([low, high]) / branch.scale[-1]
    at = first[-1] * branch.scale[-1]
    path = _trace(branch, first, ahead, limits, step, points)
    ended = [path.ended]
    nodes, special = path.nodes, path.special
    if min(low, high) < at < max(low, high) and path.ended != "closed":
        back = _trace(branch, first, -ahead, limits, step, points)
        nodes = back.nodes[:0:-1] + nodes
        special = back.special[::-1] + special
        ended.insert(0, back.ended)
    lost = [e for e in ended if e.startswith("lost")]
    if throw and lost:
        raise DynamicsError(f"{dynamics.name}: {lost[0]}; try a smaller step or another start")
    settings = {"parameter": parameter, "bounds": [low, high], "start": start, "step": step, "points": points}
    attrs = provenance(dynamics, "continuation", **settings) | {"ended": "; ".join(ended)}
    return _dataset(branch, nodes, special, attrs)


@dataclass(frozen=True)
class _Path:
    nodes: list[Node]
    special: list[Special]
    ended: str


def _check(problem: Dynamics, parameter: str, bounds: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(parameter, str) or parameter not in problem.parameters:
        raise DynamicsError(f"no parameter {shown(parameter)}; there are {listed(problem.parameters)}")
    for name, value in problem.parameters.items():
        if name != parameter and dimensions(value) > 0:
            raise DynamicsError(
                f"continuation follows {parameter} alone, but {name} has {np.size(np.asarray(value))} values; "
                "give one number"
            )
    ends = real_array(f"bounds of {parameter}", bounds)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] == ends[1]:
        raise DomainError(f"bounds of {parameter} must be two different finite numbers, got {shown(bounds)}")
    compile_system(problem.at(**{parameter: ends}).changed(start={}))  # checks the domain
    return float(ends[0]), float(ends[1])


def _begin(
    problem: Dynamics, parameter: str, bounds: tuple[float, float], start: dict[str, float], step: float
) -> tuple[Branch, Array]:
    """The branch with its scales, and a first point on it."""
    begin: Any = start.pop(parameter, bounds[0])
    try:
        begin = float(begin) if is_symbolic(begin) else begin
    except (TypeError, RecursionError):  # symbols without a value
        pass
    value = real(f"start of {parameter}", begin, -math.inf)
    if not min(bounds) <= value <= max(bounds):
        raise DomainError(f"start has {parameter} = {digits(value)}, outside its bounds {bounds}")
    there = problem.at(**{parameter: value})
    if start:
        system, states, _ = operating_point(there, start)
        size = np.where(states == 0, 1.0, np.abs(states))
        states, _ = newton(system, states, np.zeros(1, int), size)
    else:
        system, states, _ = operating_point(there)
    if not np.isfinite(states).all():
        raise DynamicsError(
            f"no equilibrium of {problem.name} was found at {parameter} = {value:g}; give start={{state: value}} near "
            f"one, with {parameter} in it to begin elsewhere"
        )
    if sides(system, states):
        raise DynamicsError(
            f"the equilibrium of {problem.name} at {parameter} = {value:g} lies on a switch of the equations, where no "
            "single linearisation exists; give start= away from it, or use stability_chart"
        )
    scale = np.where(states[:, 0] == 0, 1.0, np.abs(states[:, 0]))
    scale = np.append(scale, abs(bounds[1] - bounds[0]))
    return Branch(system, parameter, scale), np.append(states[:, 0], value) / scale


def _trace(branch: Branch, first: Array, direction: Array, limits: Array, longest: float, points: int) -> _Path:
    """From the first point in a direction to a bound, back to the beginning, or as far as it goes."""
    delay = bool(branch.system.delayed) and not isinstance(branch.system.problem, Map)
    count = _SPARE if delay else len(branch.scale) * 64
    current = node(branch, first, direction, count)
    nodes, length = [current], longest
    special: list[Special] = []
    while len(nodes) < points:
        if delay:
            count = unstable(branch, current.roots) + _SPARE
        moved = branch.correct(current.u + length * current.tangent, current.tangent)
        new, crossed, on_switch = None, [], False
        if moved is not None and np.linalg.norm(moved[0] - current.u) < 2 * length:
            u = moved[0]
            out = u[-1] < limits[0] or u[-1] > limits[1]
            if out:
                ended = _onto(branch, current.u, u, limits)
                u = ended if ended is not None else u
            on_switch = branch.on_switch(u)
            if out and ended is not None and on_switch:
                return _Path(
                    nodes,
                    special,
                    f"before {branch.parameter} = {float(u[-1] * branch.scale[-1]):g}, where the equilibrium lies on "
                    "a switch of the equations",
                )
            if (not out or ended is not None) and not on_switch:
                new = node(branch, u, current.tangent, count)
                crossed = list(between(branch, current, new))
        if new is None or (length > 1e-4 * longest and not _explained(branch, current, new, crossed)):
            length *= 0.5
            if length < 1e-7 * longest:
                where = f"{branch.parameter} = {float(current.u[-1] * branch.scale[-1]):g}"
                why = "Newton finds no next point"
                if on_switch:
                    why = "the equilibrium stays on a switch of the equations; use stability_chart"
                return _Path(nodes, special, f"lost at {where}: {why}")
            continue
        nodes.append(new)
        special += sorted(crossed, key=lambda s: float((s.u - current.u) @ current.tangent))
        current = new
        if out:
            return _Path(nodes, special, f"at {branch.parameter} = {float(current.u[-1] * branch.scale[-1]):g}")
        home = np.linalg.norm(current.u - first) < length and current.tangent @ nodes[0].tangent > 0.9
        if len(nodes) > 10 and home:
            return _Path(nodes, special, "closed")
        if moved is not None and moved[1] <= 4:
            length = min(1.5 * length, longest)
    return _Path(nodes, special, f"lost at {points} points: raise points or step")


def _onto(branch: Branch, inside: Array, outside: Array, limits: Array) -> Array | None:
    """The branch at the bound that the last step passed."""
    bound = limits[0] if outside[-1] < limits[0] else limits[1]
    part = (bound - inside[-1]) / (outside[-1] - inside[-1])
    guess = inside + part * (outside - inside)
    guess[-1] = bound
    corrected = branch.correct(guess, np.eye(len(guess))[-1])
    return None if corrected is None else np.append(corrected[0][:-1], bound)


def _explained(branch: Branch, a: Node, b: Node, special: list[Special]) -> bool:
    """Whether the special points account for the change in the number of unstable roots."""
    change = abs(unstable(branch, b.roots) - unstable(branch, a.roots))
    allowed = {0}
    if any(one.kind == SWITCH for one in special):
        return True
    for one in special:
        allowed = {abs(x + s * UNSTABLE[one.kind]) for x in allowed for s in (-1, 1)}
    straight = float(a.tangent @ b.tangent) > 0.9
    return straight and change in allowed


def _dataset(branch: Branch, nodes: list[Node], special: list[Special], attrs: dict[str, str]) -> xr.Dataset:
    system, problem = branch.system, branch.system.problem
    bare = replace(system, grid=replace(system.grid, coords={}))
    u = np.stack([n.u for n in nodes], axis=1) * branch.scale[:, None]
    s = np.array([p.u for p in special]).reshape(-1, len(branch.scale)).T * branch.scale[:, None]
    data = to_variables(bare, system.labels, u[:-1, None], "step")
    for name, array in to_variables(bare, system.labels, s[:-1, None], "crossing").items():
        data[f"special_{name}"] = array
    leading = np.array([n.roots[0] for n in nodes])
    steps = isinstance(problem, Map)
    unit = f"1/{problem.time_units}"
    name, size = ("radius", np.abs(leading)) if steps else ("abscissa", leading.real)
    unit_of = {"units": "1" if steps else unit, "long_name": f"spectral {name}"}
    data[name] = ("step", size, unit_of)
    data["stable"] = ("step", margin(system, leading) < 0, {"long_name": "whether perturbations die out"})
    number = np.array([unstable(branch, n.roots) for n in nodes])
    data["unstable"] = ("step", number, {"units": "1", "long_name": "number of unstable roots"})
    data["special_kind"] = ("crossing", np.array([p.kind for p in special], dtype="U16"))
    data[f"special_{branch.parameter}"] = ("crossing", s[-1], {"long_name": branch.parameter})
    turn = np.array([p.frequency for p in special], float)
    data["special_frequency"] = ("crossing", turn, {"units": unit, "long_name": "angular frequency of the roots"})
    return as_dataset(data, coords={branch.parameter: ("step", u[-1])}, attrs=attrs)


Roots = NDArray[np.complex128]

#: How many unstable roots each kind adds or takes away.
UNSTABLE = {"fold": 1, "branch": 1, "hopf": 2, "flip": 1, "neimark-sacker": 2}

#: Where the branch passes a switch of the equations: roots jump there, by any number.
SWITCH = "switch"


@dataclass(frozen=True)
class Node:
    """One computed point of a branch."""

    u: Array
    tangent: Array
    roots: Roots
    determinant: float


@dataclass(frozen=True)
class Special:
    """A special point: its kind, where it is, and the angle at which roots cross (per time, or per step)."""

    kind: str
    u: Array
    frequency: float


def node(branch: Branch, u: Array, towards: Array, count: int) -> Node:
    tangent = branch.tangent(u, towards)
    return Node(u, tangent, branch.roots(u, count), branch.determinant(u, tangent))


def unstable(branch: Branch, roots: Roots) -> int:
    """Roots on the wrong side of the border."""
    outside = np.abs(roots) > 1 if isinstance(branch.system.problem, Map) else roots.real > 0
    return int(outside.sum())


def between(branch: Branch, a: Node, b: Node) -> Iterator[Special]:
    """Special points of the branch from a to b, each located on the branch by Brent's method.

    What seems to cross where the branch passes a switch jumps instead: one point of the kind "switch" says so.
    """
    passed = False
    for special in _smooth(branch, a, b):
        if not branch.on_switch(special.u):
            yield special
        elif not passed:
            passed = True
            yield Special(SWITCH, special.u, np.nan)


def _smooth(branch: Branch, a: Node, b: Node) -> Iterator[Special]:
    steps = isinstance(branch.system.problem, Map)
    crossed = a.determinant * b.determinant < 0
    if crossed:
        crossing = _locate(branch, a, b, lambda u: branch.determinant(u, branch.tangent(u, a.tangent)))
        if crossing is not None:
            yield Special("branch", crossing, np.nan)
    elif a.tangent[-1] * b.tangent[-1] < 0:
        crossing = _locate(branch, a, b, lambda u: float(branch.tangent(u, a.tangent)[-1]))
        if crossing is not None:
            yield Special("fold", crossing, np.nan)
    for before, after in _pairs(a.roots, b.roots):
        if before.imag > 0 and after.imag > 0:
            kind, side = ("neimark-sacker", _outside) if steps else ("hopf", _right)
        elif steps and before.imag == 0 and after.imag == 0:
            kind, side = "flip", _below
        else:
            continue
        if side(before) * side(after) < 0:
            crossing = _locate(branch, a, b, _follow(branch, a, b, before, after, side))
            if crossing is not None:
                z = _nearest(branch.roots(crossing, len(a.roots)), after)
                yield Special(kind, crossing, float(np.abs(np.angle(z))) if steps else float(abs(z.imag)))


def _right(z: complex) -> float:
    return z.real


def _outside(z: complex) -> float:
    return abs(z) - 1.0


def _below(z: complex) -> float:
    return -1.0 - z.real


def _pairs(a: Roots, b: Roots) -> Iterator[tuple[complex, complex]]:
    """Each root of a with the nearest of b, nearest first and each taken once; upper half plane only."""
    a, b = a[a.imag >= 0], b[b.imag >= 0]
    distance = np.abs(a[:, None] - b)
    for _ in range(min(a.size, b.size)):
        i, j = np.unravel_index(distance.argmin(), distance.shape)
        yield complex(a[i]), complex(b[j])
        distance[i, :] = distance[:, j] = np.inf


def _nearest(roots: Roots, z: complex) -> complex:
    return complex(roots[np.abs(roots - z).argmin()])


def _follow(
    branch: Branch, a: Node, b: Node, before: complex, after: complex, side: Callable[[complex], float]
) -> Callable[[Array], float]:
    """How far the root that goes from `before` to `after` is beyond the border, along the branch."""
    chord = b.u - a.u

    def value(u: Array) -> float:
        part = float((u - a.u) @ chord / (chord @ chord))
        return side(_nearest(branch.roots(u, len(a.roots)), before + part * (after - before)))

    return value


def _locate(branch: Branch, a: Node, b: Node, test: Callable[[Array], float]) -> Array | None:
    """The point between a and b at which a test function vanishes."""
    from scipy.optimize import brentq

    chord = b.u - a.u
    normal = chord / np.linalg.norm(chord)

    def point(s: float) -> Array:
        if s in (0.0, 1.0):
            return a.u if s == 0.0 else b.u
        guess = a.u + s * chord
        corrected = branch.correct(guess, normal)
        return guess if corrected is None else corrected[0]

    if test(a.u) * test(b.u) > 0:
        return None
    s = brentq(lambda s: test(point(s)), 0.0, 1.0, xtol=1e-13, rtol=1e-14)
    return point(float(s))
