"""Flows that join or leave during the motion: who is absent sends nothing, and others measure nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tcpdynamics.solvers.problems import DDE, ODE, TIME, DynamicsError, Map, Parameter

if TYPE_CHECKING:
    import sympy

Motion = TypeVar("Motion", bound=ODE | DDE | Map)


def joining(
    problem: Motion, times: Mapping[str, tuple[sympy.Expr | float, sympy.Expr | float]], **parameters: Parameter
) -> Motion:
    """The same motion, with some flows there for a part of the time.

    Until it joins a flow keeps the rate that it begins with, and sends nothing; from when it leaves it sends nothing.
    A flow that joins at 0 or before was there before the motion, too.

    Parameters
    ----------
    problem : ODE, DDE or Map of a model of competing flows
        Its states are the rates "N[1]", "N[2]", ...
    times : mapping label -> (joins, leaves)
        In the problem's unit of time; numbers, or expressions in its parameters and in further ones.
    **parameters : number or array
        Values of further parameters.

    Returns
    -------
    problem of the same kind
        With the outputs "sent[1]", ..., the rates that flows really send at, and "total", their sum [packet/s]; without
        fixed points.

    Raises
    ------
    DynamicsError
        A label that is not a state.

    Examples
    --------
    >>> from tcpdynamics.models import LotkaVolterraWindows
    >>> from tcpdynamics.solvers import trajectory
    >>> problem = joining(LotkaVolterraWindows(flows=2).ode(), {"N[2]": (10.0, 30.0)})
    >>> trajectory(problem, [5.0, 20.0, 40.0]).sent.sel(flow=2).values.round(2).tolist()
    [0.0, 6.04, 0.0]
    """
    import sympy

    unknown = sorted(set(times) - set(problem.rhs))
    if unknown:
        raise DynamicsError(f"{unknown[0]!r} is not a state; states are {', '.join(problem.rhs)}")
    clock = sympy.Symbol(TIME, real=True)
    there = {label: _present(clock, *times[label]) for label in times}
    by_name = {s.name: s for e in problem.rhs.values() for s in getattr(e, "free_symbols", ())}
    swap = {by_name[label]: factor * by_name[label] for label, factor in there.items() if label in by_name}
    for symbol, past in getattr(problem, "delayed", {}).items():
        if past.of in times and symbol in by_name:
            swap[by_name[symbol]] = _present(clock - past.by, *times[past.of]) * by_name[symbol]
    rhs: dict[str, Any] = {}
    for label, expression in problem.rhs.items():
        rhs[label] = _swapped(sympy.sympify(expression), swap)
        if isinstance(problem, Map) and label in there:
            rhs[label] = there[label] * rhs[label] + (1 - there[label]) * by_name[label]
    sent = {label.replace("N", "sent"): there.get(label, 1) * by_name.get(label, sympy.Symbol(label)) for label in rhs}
    return replace(
        problem,
        parameters={**problem.parameters, **parameters},
        rhs=rhs,
        outputs=sent | {"total": sympy.Add(*sent.values())},
        fixed_points=[],
        units={**problem.units, "sent": "packet/s"},
        meanings={**problem.meanings, "sent": "rate sent"},
    )


def _swapped(expression: sympy.Basic, swap: Mapping[Any, sympy.Expr]) -> Any:
    """With symbols replaced; Max and Min are not compared anew, which takes SymPy seconds for sums of symbols."""
    import sympy

    if expression in swap:
        return swap[expression]
    if not expression.args:
        return expression
    parts = [_swapped(part, swap) for part in expression.args]
    if isinstance(expression, sympy.Max | sympy.Min):
        return expression.func(*parts, evaluate=False)
    return expression.func(*parts)


def _present(clock: sympy.Expr, joins: Any, leaves: Any) -> sympy.Expr:
    """1 from `joins` to `leaves`, else 0; 1 before that too if `joins` is not above 0."""
    import sympy

    def step(x: Any) -> sympy.Expr:
        return sympy.Heaviside(x, 1)

    before = sympy.Max(step(clock - joins), step(-sympy.sympify(joins)), evaluate=False)
    return before * (1 if leaves == sympy.oo else step(leaves - clock))
