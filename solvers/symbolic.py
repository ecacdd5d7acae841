"""From SymPy expressions to straight-line programs and back. Imported only where SymPy is already in play."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from .problems import ChainError
from .straightline import Builder, Program, run


def emit(builder: Builder, expression: Any) -> int:
    """Write an expression's steps; returns the last one. Raises ChainError for functions it does not know."""
    known = builder.expressions
    if expression not in known:
        known[expression] = _emit(builder, expression)
    return known[expression]


def _emit(builder: Builder, expression: Any) -> int:
    e = sympy.sympify(expression) if isinstance(expression, int | float | Fraction) else expression
    if isinstance(e, sympy.Symbol):
        return builder.input(e.name)
    if isinstance(e, sympy.Rational):
        return builder.const(Fraction(int(e.p), int(e.q)))
    if isinstance(e, sympy.Number | sympy.NumberSymbol):
        return builder.const(float(e))
    if isinstance(e, sympy.Add):
        return _emit_sum(builder, e)
    if isinstance(e, sympy.Mul):
        top, bottom = builder.const(1), builder.const(1)
        for factor in e.args:
            base, exponent = factor.as_base_exp()
            if exponent.is_Integer and exponent < 0:
                bottom = builder.mul(bottom, builder.power(emit(builder, base), -int(exponent)))
            else:
                top = builder.mul(top, emit(builder, factor))
        return builder.div(top, bottom)
    if isinstance(e, sympy.Pow):
        base = emit(builder, e.base)
        if e.exp.is_Integer:
            return builder.power(base, int(e.exp))
        return builder.apply("pow", base, emit(builder, e.exp))
    if isinstance(e, sympy.exp | sympy.log):
        return builder.apply("exp" if isinstance(e, sympy.exp) else "log", emit(builder, e.args[0]))
    raise ChainError(
        f"cannot compute {e!r} ({type(e).__name__}): use numbers, symbols, + - * / **, exp and log of SymPy"
    )


def _emit_sum(builder: Builder, e: sympy.Add) -> int:
    """Positive terms first, then what is taken away, so that 1 - p stays one exact subtraction."""
    if any(t.as_coeff_Mul()[0].is_negative for t in e.args):
        content, rest = e.primitive()  # SymPy writes (1 - p)/10 as 1/10 - p/10, where rounding would cancel
        if content != 1 and isinstance(rest, sympy.Add):
            return builder.mul(emit(builder, content), emit(builder, rest))
    taken = [t.as_coeff_Mul()[0].is_negative for t in e.args]
    plus = [t for t, minus in zip(e.args, taken, strict=True) if not minus]
    minus = [-t for t, minus in zip(e.args, taken, strict=True) if minus]
    result = builder.total(emit(builder, t) for t in plus)
    for term in minus:
        result = builder.sub(result, emit(builder, term))
    return result


def rational_functions(program: Program, symbols: Sequence[sympy.Symbol]) -> list[sympy.Expr]:
    """The program's outputs as cancelled, factored rational functions of `symbols` over the rationals."""
    field = sympy.QQ.frac_field(*symbols)

    def number(value: Any) -> Any:
        if isinstance(value, float):
            raise ChainError(
                f"a closed form needs exact numbers, got {value!r}: write it as a SymPy Rational"
            )
        return field(sympy.QQ(value.numerator, value.denominator))

    gens = dict(zip((s.name for s in symbols), field.gens, strict=True))
    return [sympy.factor(value.as_expr()) for value in run(program, gens, number)]
