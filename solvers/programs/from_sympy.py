"""From SymPy expressions to straight-line programs and back. Imported only where SymPy is already in play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import sympy

from tcpdynamics.errors import shown

from ..problems import ChainError
from .straightline import RATIONAL, Builder, Program, run


def emit(builder: Builder, expression: Any) -> int:
    """Write an expression's steps; returns the last one. Raises ChainError for functions it does not know."""
    places = builder.expressions
    if expression not in places:
        places[expression] = _emit(builder, expression)
    return places[expression]


def _emit(builder: Builder, expression: Any) -> int:
    e = expression
    if isinstance(e, int | float | Fraction):
        e = sympy.sympify(e)
    elif isinstance(e, Real) and not isinstance(e, sympy.Basic):  # NumPy's numbers
        e = sympy.Integer(int(e)) if isinstance(e, Integral) else sympy.Float(float(e))
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
    name = type(e).__name__
    if isinstance(e, sympy.Function) and name in ELEMENTARY:
        return builder.apply(name, emit(builder, e.args[0]))
    if isinstance(e, sympy.Function) and name in _WRITTEN_OUT:
        return _WRITTEN_OUT[name](builder, emit(builder, e.args[0]))
    if isinstance(e, sympy.Max | sympy.Min):
        kind = "max" if isinstance(e, sympy.Max) else "min"
        first, *terms = (emit(builder, a) for a in e.args)
        for other in terms:
            first = builder.apply(kind, first, other)
        return first
    if isinstance(e, sympy.Abs):
        inside = emit(builder, e.args[0])
        return builder.apply("max", inside, builder.sub(builder.const(0), inside))
    if isinstance(e, sympy.Heaviside):
        return builder.apply("step", emit(builder, e.args[0]))
    if isinstance(e, sympy.Piecewise):
        return _emit_pieces(builder, e)
    if isinstance(e, sympy.re | sympy.im | sympy.conjugate):
        return _emit_real(builder, e)
    raise ChainError(
        f"cannot compute {shown(e)} ({name}): use numbers, symbols, + - * / **, "
        f"{', '.join((*ELEMENTARY, *_WRITTEN_OUT))}, Max, Min, Abs, Heaviside and Piecewise (with comparisons) of SymPy"
    )


#: SymPy's functions that a program knows under the same names.
ELEMENTARY = ("exp", "log", "sin", "cos", "tanh", "atan")


def _sinh(b: Builder, a: int) -> int:
    """By tanh, which keeps its digits near zero; where that is one, cosh is right."""
    return b.mul(b.apply("tanh", a), _cosh(b, a))


def _cosh(b: Builder, a: int) -> int:
    grows = b.apply("exp", a)
    return b.mul(b.const(Fraction(1, 2)), b.add(grows, b.div(b.const(1), grows)))


def _root(b: Builder, a: int) -> int:
    return b.apply("pow", a, b.const(Fraction(1, 2)))


def _asin(b: Builder, a: int) -> int:
    one = b.const(1)
    return b.apply("atan", b.div(a, _root(b, b.mul(b.sub(one, a), b.add(one, a)))))


def _acos(b: Builder, a: int) -> int:
    one = b.const(1)
    return b.mul(b.const(2), b.apply("atan", _root(b, b.div(b.sub(one, a), b.add(one, a)))))


def _sign(b: Builder, a: int) -> int:
    """Two switches, so that it is 0 where its argument is."""
    return b.sub(b.apply("step", a), b.apply("step", b.sub(b.const(0), a)))


#: SymPy's functions that are written in terms of those.
_WRITTEN_OUT: dict[str, Callable[[Builder, int], int]] = {
    "tan": lambda b, a: b.div(b.apply("sin", a), b.apply("cos", a)),
    "cot": lambda b, a: b.div(b.apply("cos", a), b.apply("sin", a)),
    "sec": lambda b, a: b.div(b.const(1), b.apply("cos", a)),
    "csc": lambda b, a: b.div(b.const(1), b.apply("sin", a)),
    "sinh": _sinh,
    "cosh": _cosh,
    "coth": lambda b, a: b.div(b.const(1), b.apply("tanh", a)),
    "sech": lambda b, a: b.div(b.const(1), _cosh(b, a)),
    "csch": lambda b, a: b.div(b.const(1), _sinh(b, a)),
    "asin": _asin,
    "acos": _acos,
    "sign": _sign,
}


def _emit_pieces(builder: Builder, e: Any) -> int:
    """condition this + (1 - condition) other, from the last piece to the first; every piece must be finite everywhere.

    A choice, not a correction of what stood there: neither rounding errors nor bounds on them add up over pieces.
    """
    *pieces, (last, condition) = e.args
    if condition != sympy.true:
        raise ChainError(f"{shown(e)} has no value everywhere: end it with (value, True)")
    result = emit(builder, last)
    for value, condition in reversed(pieces):
        piece, holds = emit(builder, value), _emit_condition(builder, condition)
        other = builder.mul(builder.sub(builder.const(1), holds), result)
        result = builder.add(builder.mul(holds, piece), other)
    return result


def _emit_real(builder: Builder, e: Any) -> int:
    """Every symbol is real, also where SymPy was not told so and wrote Abs(exp(x)) as exp(re(x))."""
    real = e.xreplace({s: sympy.Symbol(s.name, real=True) for s in e.free_symbols})
    if isinstance(real, type(e)):
        raise ChainError(
            f"cannot compute {shown(e)} ({type(e).__name__}), which is not known to be real: make its symbols "
            'real, as in Symbol("x", real=True), and write it without complex numbers'
        )
    return emit(builder, real)


def _emit_condition(builder: Builder, condition: Any) -> int:
    """1 where it holds, else 0."""
    one = builder.const(1)
    if isinstance(condition, sympy.Not):
        return builder.sub(one, _emit_condition(builder, condition.args[0]))
    if isinstance(condition, sympy.And):
        result = one
        for part in condition.args:
            result = builder.mul(result, _emit_condition(builder, part))
        return result
    if isinstance(condition, sympy.Or):
        return _emit_condition(builder, sympy.Not(sympy.And(*(sympy.Not(c) for c in condition.args))))
    if isinstance(condition, sympy.Ge | sympy.Le | sympy.Gt | sympy.Lt):
        large, small = (emit(builder, side) for side in (condition.gts, condition.lts))
        if isinstance(condition, sympy.Ge | sympy.Le):
            return builder.apply("step", builder.sub(large, small))
        return builder.sub(one, builder.apply("step", builder.sub(small, large)))
    raise ChainError(f"cannot compute the condition {shown(condition)}: use <, <=, >, >=, And, Or and Not")


def _emit_sum(builder: Builder, e: sympy.Add) -> int:
    """Positive terms first, then what is taken away, so that 1 - p stays one exact subtraction."""
    if any(t.as_coeff_Mul()[0].is_negative for t in e.args):
        content, reduced = e.primitive()  # SymPy writes (1 - p)/10 as 1/10 - p/10, where rounding would cancel
        if content != 1 and isinstance(reduced, sympy.Add):
            return builder.mul(emit(builder, content), emit(builder, reduced))
    negative = [t.as_coeff_Mul()[0].is_negative for t in e.args]
    plus = [t for t, minus in zip(e.args, negative, strict=True) if not minus]
    minus = [-t for t, minus in zip(e.args, negative, strict=True) if minus]
    result = builder.total(emit(builder, t) for t in plus)
    for term in minus:
        result = builder.sub(result, emit(builder, term))
    return result


def rational_functions(program: Program, symbols: Sequence[sympy.Symbol]) -> list[sympy.Expr]:
    """The program's outputs as cancelled, factored rational functions of `symbols` over the rationals.

    Raises ChainError for inexact numbers and for functions that are no ratio of polynomials.
    """
    unsupported = sorted({op.kind for op in program.ops} - RATIONAL)
    if unsupported:
        raise ChainError(
            f"a closed form is a ratio of polynomials, but the expressions hold {', '.join(unsupported)}: "
            "solve it at numbers instead"
        )
    field = sympy.QQ.frac_field(*symbols)

    def number(value: Any) -> Any:
        if isinstance(value, float):
            raise ChainError(f"a closed form needs exact numbers, got {value!r}: write it as a SymPy Rational")
        return field(sympy.QQ(value.numerator, value.denominator))

    gens = dict(zip((s.name for s in symbols), field.gens, strict=True))
    return [sympy.factor(value.as_expr()) for value in run(program, gens, number)]
