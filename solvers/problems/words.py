"""Problems in words: the lines of their `repr`, and the equations in the provenance of a result."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from functools import lru_cache
from itertools import islice

import numpy as np

from tcpdynamics.errors import bare, shown

from .numbers import is_symbolic

#: Lines of a kind that a `repr` shows, and characters of a line.
LINES, WIDTH = 6, 100
#: Equations and parts of an expression that a provenance holds.
EQUATIONS, PARTS = 100, 500


def expression_text(expression: object) -> str:
    """A number or a SymPy expression as text, unless it is very long.

    Examples
    --------
    >>> import sympy
    >>> expression_text(1 - sympy.Symbol("p") ** 2)
    '1 - p**2'
    """
    return _symbolic_text(expression) if is_symbolic(expression) else _printed(expression)


@lru_cache(maxsize=4096)
def _symbolic_text(expression: Hashable) -> str:
    from sympy import preorder_traversal

    parts = sum(1 for _ in islice(preorder_traversal(expression), PARTS + 1))
    return _printed(expression) if parts <= PARTS else f"an expression of more than {PARTS} parts"


def _printed(expression: object) -> str:
    try:
        return str(expression)
    except ValueError:  # more digits than Python prints, a bound that a user may lower
        return shown(expression)


def equations_text(equations: Mapping[str, object]) -> dict[str, str]:
    """The first equations of a problem: what stands on the left -> what stands on the right."""
    return {str(left): expression_text(right) for left, right in islice(equations.items(), EQUATIONS)}


def value_text(value: object) -> str:
    """A parameter in a few words: its value, or its ends and how many values it has.

    Examples
    --------
    >>> value_text(0.5), value_text([0.25, 0.5, 1.0])
    ('0.5', '0.25 to 1, 3 values')
    """
    if is_symbolic(value):
        return expression_text(value)
    array = np.asarray(value)
    if array.ndim == 0 or array.dtype.kind not in "iuf" or not array.size:
        return bare(array.item() if array.ndim == 0 else value, WIDTH)
    return f"{array.min():g} to {array.max():g}, {array.size:,} values"


def domain_text(low: float, high: float) -> str:
    """An open interval as people write it: an end that lies a rounding beyond a short number stands for that number.

    Problems have open domains, and a model's closed end moves out a little (`models.parameters.open_interval`).

    Examples
    --------
    >>> domain_text(0.0, math.inf), domain_text(-2.2250738585072014e-308, math.nextafter(1.0, 2.0))
    ('(0, inf)', '[0, 1]')
    """
    lowest, highest = _closed_end(low, math.inf), _closed_end(high, -math.inf)
    left = f"({low:g}" if lowest is None else f"[{lowest:g}"
    right = f"{high:g})" if highest is None else f"{highest:g}]"
    return f"{left}, {right}"


def _closed_end(end: float, inward: float) -> float | None:
    """The short number that lies a rounding inside of an end; None where the end itself is short."""
    if 0 < abs(end) < 1e-290 and (end < 0) == (inward > 0):
        return 0.0
    within = math.nextafter(end, inward)
    return within if len(repr(within)) + 4 < len(repr(end)) else None


def problem_text(kind: str, name: str, summary: str, *groups: Iterable[str]) -> str:
    """The `repr` of a problem: a heading, then the first lines of each group."""
    lines = [f"{kind}{f' {bare(name, 60)}' if name not in ('', kind) else ''}: {summary}"]
    for group in groups:
        rows = list(group)
        lines += [f"  {bare(row, WIDTH)}" for row in rows[:LINES]]
        if len(rows) > LINES:
            lines.append(f"  ... and {len(rows) - LINES:,} more")
    return "\n".join(lines)
