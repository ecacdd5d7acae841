"""Special points of a branch: folds, crossings of branches, and roots that cross the border of stability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..problems import Map
from .continuation_branch import Branch

Array = NDArray[np.float64]
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
        found = _locate(branch, a, b, lambda u: branch.determinant(u, branch.tangent(u, a.tangent)))
        if found is not None:
            yield Special("branch", found, np.nan)
    elif a.tangent[-1] * b.tangent[-1] < 0:
        found = _locate(branch, a, b, lambda u: float(branch.tangent(u, a.tangent)[-1]))
        if found is not None:
            yield Special("fold", found, np.nan)
    for before, after in _pairs(a.roots, b.roots):
        if before.imag > 0 and after.imag > 0:
            kind, side = ("neimark-sacker", _outside) if steps else ("hopf", _right)
        elif steps and before.imag == 0 and after.imag == 0:
            kind, side = "flip", _below
        else:
            continue
        if side(before) * side(after) < 0:
            found = _locate(branch, a, b, _follow(branch, a, b, before, after, side))
            if found is not None:
                z = _nearest(branch.roots(found, len(a.roots)), after)
                yield Special(kind, found, float(np.abs(np.angle(z))) if steps else float(abs(z.imag)))


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
        found = branch.correct(guess, normal)
        return guess if found is None else found[0]

    if test(a.u) * test(b.u) > 0:
        return None
    s = brentq(lambda s: test(point(s)), 0.0, 1.0, xtol=1e-13, rtol=1e-14)
    return point(float(s))
