"""Measured inputs: a table of values over time as an expression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tcpdynamics.errors import DomainError, real, shown

from .numbers import check_symbolic, is_symbolic, real_array

if TYPE_CHECKING:
    import sympy

#: Rows of a table: each is a switch, which every step of a trajectory has to look at.
MAX_ROWS = 1000


def tabulated(argument: sympy.Expr, times: ArrayLike, values: ArrayLike) -> sympy.Expr:
    """The straight lines through (times, values), constant before the first and after the last.

    For right-hand sides, outputs and histories. Trajectories end a step at each row, so that the lines are met
    exactly; other solvers see a function with bends.

    Parameters
    ----------
    argument : SymPy expression
        Where the table is read: `sympy.Symbol("t")`, or `t - d` for an input that comes d later.
    times : (rows,) array
        Increasing, in the problem's unit of time.
    values : (rows,) array

    Returns
    -------
    SymPy expression

    Raises
    ------
    DomainError
        An argument that is neither a number nor an expression (a string is never evaluated).
        Fewer than 2 or more than 1000 rows, times that do not increase, or numbers that are not finite and real.

    Examples
    --------
    >>> import sympy
    >>> load = tabulated(sympy.Symbol("t"), [0.0, 1.0, 3.0], [5.0, 7.0, 3.0])
    >>> [float(load.subs("t", at)) for at in (-1, 0.5, 2, 9)]
    [5.0, 6.0, 5.0, 3.0]
    """
    import sympy

    x, y = _column("times", times), _column("values", values)
    if x.size != y.size or not 2 <= x.size <= MAX_ROWS:
        raise DomainError(
            f"a table needs as many times as values, 2 to {MAX_ROWS:,}, got {x.size:,} and {y.size:,}; "
            "thin it out, or solve one stretch of time after the other"
        )
    if not (np.diff(x) > 0).all():
        row = int(np.argmax(np.diff(x) <= 0))
        raise DomainError(f"times of a table must increase, got {x[row]:g} before {x[row + 1]:g}")
    with np.errstate(over="ignore"):
        slopes = np.append(np.diff(y) / np.diff(x), 0.0)
    if not np.isfinite(slopes).all():
        raise DomainError("a table is too steep: two of its values differ by more than a number can hold")
    if is_symbolic(argument):
        check_symbolic("argument", argument, {}, DomainError)
        at = argument
    else:
        at = sympy.Float(real("argument", argument, -math.inf))
    later = [at >= sympy.Float(begin) for begin in x]

    def chosen(before: float, column: NDArray[np.float64]) -> sympy.Expr:
        """One constant a line: the sides of the switches choose it, so that nothing is added up along the table."""
        pieces = [(sympy.Float(v), c) for v, c in zip(column, later, strict=True)]
        return sympy.Piecewise(*reversed(pieces), (sympy.Float(before), True), evaluate=False)

    return chosen(y[0], y) + chosen(0.0, slopes) * (at - chosen(x[0], x))


def _column(name: str, values: ArrayLike) -> NDArray[np.float64]:
    column = real_array(f"{name} of a table", values)
    if column.ndim != 1 or not np.isfinite(column).all():
        raise DomainError(f"{name} of a table must be a 1-D array of finite numbers, got {shown(values)}")
    return column
