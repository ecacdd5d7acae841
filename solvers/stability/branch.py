"""One branch of equilibria as a curve: rate, slope and roots at any state and value of the parameter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..equations import System
from ..problems import TIME, DynamicsError
from ..programs.straightline import Program, differentiate
from .leading_roots import linear_roots, sides
from .rest import at_rest_jacobian, at_rest_rate, rests

Array = NDArray[np.float64]

_NEWTON = 12


@dataclass(frozen=True)
class Branch:
    """Equilibria in scaled unknowns u = (states, parameter)/scale.

    Attributes
    ----------
    system : System
        Of scalar parameters, at any value of the one that is followed.
    parameter : str
    scale : (n + 1,) array
        Typical size of each state, and the width of the parameter's range.
    """

    system: System
    parameter: str
    scale: Array

    @property
    def states(self) -> int:
        return len(self.scale) - 1

    def moved(self, u: Array) -> tuple[System, Array]:
        """The system at the parameter of u, and the (n, 1) states."""
        value = u * self.scale
        return self.system.at({self.parameter: float(value[-1])}), value[:-1, None]

    def rate(self, u: Array) -> Array:
        system, states = self.moved(u)
        return at_rest_rate(system, states)[:, 0]

    def slope(self, u: Array) -> Array:
        """(n, n + 1) derivatives, each row divided by its largest entry; its null vector is the tangent."""
        return self._linear(u)[0]

    def _linear(self, u: Array) -> tuple[Array, Array]:
        system, states = self.moved(u)
        by_state = at_rest_jacobian(system, states)[0]
        full = np.column_stack([by_state, self._by_parameter(system, states)]) * self.scale
        size = np.abs(full).max(axis=1)
        size[size == 0] = 1.0
        return full / size[:, None], size

    def _by_parameter(self, system: System, states: Array) -> Array:
        """(n,) derivative of the rate; delayed outputs at rest may hold the parameter too."""
        equations, past = system.equations, system.at_rest(states)

        def derivative(name: str, program: Program, by: str) -> Program:
            return equations.once(("derivative", name, by), lambda: differentiate(program, by))

        now = dict(zip(system.labels, states, strict=True)) | {TIME: 0.0}
        values = now | dict(zip(system.delayed, past, strict=True))
        total = system.evaluate(derivative("rhs", system.rhs, self.parameter), values)[:, 0]
        if system.delayed:
            moved = system.evaluate(derivative("rest", equations.rest, self.parameter), now)[:, 0]
            for symbol, change in zip(system.delayed, moved, strict=True):
                if change != 0.0:
                    by_past = system.evaluate(derivative("rhs", system.rhs, symbol), values)[:, 0]
                    total = total + change * by_past
        return np.asarray(total)

    def rests(self, u: Array) -> bool:
        """Whether the equations are at rest there: where they are singular, a small step says nothing."""
        system, states = self.moved(u)
        return bool(rests(system, states, None, self.scale[:-1, None])[0])

    def tangent(self, u: Array, towards: Array | None = None) -> Array:
        """Unit tangent, on the side of `towards`, or of a growing parameter."""
        t: Array = np.linalg.svd(self.slope(u))[2][-1]
        side = t[-1] if towards is None else t @ towards
        return -t if side < 0 else t

    def correct(self, u: Array, normal: Array) -> tuple[Array, int] | None:
        """Newton to the branch inside the plane through u with this normal; None where it does not arrive."""
        origin, last = u, np.inf
        for count in range(_NEWTON):
            with np.errstate(all="ignore"):
                matrix, size = self._linear(u)
                wrong = np.append(self.rate(u) / size, normal @ (u - origin))
            full = np.vstack([matrix, normal])
            if not (np.isfinite(full).all() and np.isfinite(wrong).all()):
                return None
            step = np.linalg.lstsq(full, -wrong, rcond=1e-15)[0]
            length = float(np.abs(step).max())
            u = u + step
            arrived = length <= 1e-13 * max(1.0, float(np.abs(u).max()))
            arrived |= count > 2 and last <= 1e-11 <= 4 * length
            if arrived or (length < 1e-9 and length > 0.3 * last):  # rounding is all that is left
                return (u, count + 1) if self.rests(u) else None
            last = length
        return None

    def roots(self, u: Array, count: int) -> NDArray[np.complex128]:
        """Leading roots of the linearisation at u, without NaN; on a switch of one side."""
        system, states = self.moved(u)
        leading, _, certain = linear_roots(system, *system.jacobians(states), count)
        if not certain[0]:
            raise DynamicsError(
                f"the characteristic roots at {self.parameter} = {float((u * self.scale)[-1]):g} could not be found"
            )
        return np.asarray(leading[0][np.isfinite(leading[0].real)])

    def on_switch(self, u: Array) -> bool:
        """Whether the equilibrium lies on a switch of the equations, where no single linearisation exists."""
        return bool(sides(*self.moved(u)))

    def determinant(self, u: Array, tangent: Array) -> float:
        """Vanishes with a change of sign where another branch crosses."""
        return float(np.linalg.det(np.vstack([self.slope(u), tangent])))
