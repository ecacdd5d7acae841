"""Straight-line programs: the same value in every arithmetic, block by block, and their derivatives."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.solvers.problems import ChainError
from tcpdynamics.solvers.programs.from_sympy import emit, rational_functions
from tcpdynamics.solvers.programs.intervals import Interval, bounds
from tcpdynamics.solvers.programs.on_jax import run_jax
from tcpdynamics.solvers.programs.straightline import BLOCK, Builder, Program, differentiate, run, run_blocks

EPS = np.finfo(float).eps
x, y = sympy.symbols("x y", positive=True)


def expressions() -> st.SearchStrategy[Any]:
    """Sums, products, powers and quotients of x, y and small rationals, positive where x, y are."""
    leaf = st.one_of(st.just(x), st.just(y), st.fractions(Fraction(1, 5), 5, max_denominator=5).map(sympy.Rational))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda t: t[0] + t[1]),
            st.tuples(inner, inner).map(lambda t: t[0] * t[1]),
            st.tuples(inner, inner).map(lambda t: t[0] / t[1]),
            st.tuples(inner, st.integers(-3, 5)).map(lambda t: t[0] ** t[1]),
        ),
        max_leaves=12,
    )


def program_of(*written: Any) -> Program:
    builder = Builder()
    return builder.build([emit(builder, sympy.sympify(e)) for e in written])


def at(expression: Any, **values: Fraction) -> Fraction:
    exact = sympy.sympify(expression).subs({s: sympy.Rational(v) for s, v in zip((x, y), values.values(), strict=True)})
    return Fraction(int(exact.p), int(exact.q))


POINT = st.fractions(Fraction(1, 4), 4, max_denominator=8)


@given(st.lists(expressions(), min_size=1, max_size=4), POINT, POINT)
def test_all_arithmetics_agree(written: list[Any], a: Fraction, b: Fraction) -> None:
    program = program_of(*written)
    truth = [at(e, x=a, y=b) for e in written]
    assert [Fraction(v) for v in run(program, {"x": a, "y": b}, Fraction)] == truth
    # no cancellation: each step adds at most eps/2 to the relative error, inherited along up to 5 powers of 12 leaves
    bound = 60 * EPS * (program.arithmetic + 1)
    inputs = {"x": float(a), "y": float(b)}
    assert [float(v) for v in run(program, inputs)] == pytest.approx([float(t) for t in truth], rel=bound)
    out = np.empty((len(written), 3))
    run_blocks(program, {"x": np.full(3, float(a)), "y": float(b)}, 3, out)
    assert out == pytest.approx(np.repeat(np.array([[float(t)] for t in truth]), 3, axis=1), rel=bound)
    forms = rational_functions(program, [x, y])
    assert all(sympy.cancel(f - e) == 0 for f, e in zip(forms, written, strict=True))


@given(expressions(), POINT, POINT)
def test_derivatives_are_those_of_sympy(written: Any, a: Fraction, b: Fraction) -> None:
    program = program_of(written)
    for symbol, name in ((x, "x"), (y, "y")):
        slope = differentiate(program, name)
        assert Fraction(run(slope, {"x": a, "y": b}, Fraction)[0]) == at(sympy.diff(written, symbol), x=a, y=b)


def test_transcendental_steps() -> None:
    written = [sympy.exp(x * y), sympy.log(x), x**y, x ** sympy.Rational(1, 2)]
    program = program_of(*written)
    values = {"x": 2.0, "y": 1.5}
    assert run(program, values) == pytest.approx([np.exp(3), np.log(2), 2**1.5, np.sqrt(2)], rel=4 * EPS)
    slopes = run(differentiate(program, "x"), values)
    exact = [float(sympy.diff(e, x).subs({x: 2, y: sympy.Rational(3, 2)})) for e in written]
    assert slopes == pytest.approx(exact, rel=10 * EPS)
    assert run(differentiate(program, "y"), values)[2] == pytest.approx(2**1.5 * np.log(2), rel=10 * EPS)


ELEMENTARY = [
    getattr(sympy, name)
    for name in "exp log sin cos tanh atan tan cot sec csc sinh cosh coth sech csch asin acos sqrt".split()
]


@pytest.mark.parametrize("function", ELEMENTARY, ids=lambda function: function.__name__)
@given(st.floats(-0.97, 0.97).filter(lambda v: abs(v) > 1e-3))
def test_elementary_functions_agree_with_sympy_in_every_arithmetic(function: Any, at: float) -> None:
    """Values, slopes, NumPy's blocks and JAX; each is a few operations, so that a few roundings are allowed."""
    at = abs(at) if function in (sympy.log, sympy.sqrt) else at
    x = sympy.Symbol("x")
    program = program_of(function(x))
    for step, written in ((program, function(x)), (differentiate(program, "x"), sympy.diff(function(x), x))):
        exact = float(written.subs(x, sympy.Float(at, 30)))
        bound = {"rel": 1e-12, "abs": 1e-14}
        assert float(run(step, {"x": at})[0]) == pytest.approx(exact, **bound)
        out = np.empty((1, 2))
        run_blocks(step, {"x": np.full(2, at)}, 2, out)
        assert out[0] == pytest.approx([exact, exact], **bound)
        low, high = bounds(step, {"x": Interval(np.array([at - 1e-4]), np.array([at + 1e-4]))}, 1)
        assert low[0, 0] - 1e-9 <= exact <= high[0, 0] + 1e-9


def test_elementary_functions_run_on_jax() -> None:
    x = sympy.Symbol("x")
    program = program_of(*(f(x) for f in ELEMENTARY))
    at = np.linspace(0.1, 0.9, 9)
    out = np.empty((len(ELEMENTARY), 9))
    run_blocks(program, {"x": at}, 9, out)
    np.testing.assert_allclose(run_jax(program, {"x": at}, 9), out, rtol=1e-13)


def test_the_sign_is_zero_at_zero() -> None:
    x = sympy.Symbol("x")
    values = np.array([-2.0, -0.0, 0.0, 1e-300])
    got = run(program_of(sympy.sign(x)), {"x": values})[0]
    assert got.tolist() == [-1.0, 0.0, 0.0, 1.0]
    # small arguments keep their digits: no difference of exponentials
    tiny = run(program_of(sympy.sinh(x)), {"x": np.array([1e-12])})[0].item()
    assert tiny == pytest.approx(1e-12, rel=1e-15)


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 9 * BLOCK + 17])
def test_blocks_and_threads_give_the_bytes_of_one_run(size: int) -> None:
    written = [x / (1 + x), (x + y) ** 5 / (1 + x), x, sympy.Integer(3), x / (1 + x), y]
    program = program_of(*written)
    values = {"x": np.linspace(0.1, 2, size), "y": 0.25}
    out = np.full((len(written), size), np.nan)
    run_blocks(program, values, size, out)
    alone = [np.broadcast_to(v, size) for v in run(program, {k: np.asarray(v) for k, v in values.items()})]
    assert (out == np.array(alone)).all()


def test_common_steps_are_written_once() -> None:
    builder = Builder()
    a, b = builder.input("a"), builder.input("b")
    assert builder.add(a, b) == builder.add(b, a)
    assert builder.mul(builder.const(1), a) == a == builder.add(a, builder.const(0))
    assert builder.mul(a, builder.const(0)) == builder.const(0)
    assert builder.div(a, builder.const(1)) == a == builder.sub(a, builder.const(0)) == builder.power(a, 1)
    assert builder.build([builder.power(a, 12)]).arithmetic == 4
    assert builder.build([builder.add(a, b)]).inputs == ("a", "b")


def test_constants_fold_exactly() -> None:
    builder = Builder()
    third = builder.div(builder.const(1), builder.const(3))
    assert builder.ops[builder.add(builder.add(third, third), third)].value == 1


def test_a_difference_stays_one_subtraction() -> None:
    """1 - p is exact for p near one; a sum in another order need not be."""
    program = program_of(1 - x)
    assert program.arithmetic == 1
    assert run(program, {"x": 1 - 2**-53})[0] == 2**-53


@pytest.mark.parametrize("kind", ["min", "max"])
@given(st.floats(-9, 9), st.floats(-9, 9))
def test_a_kink_has_the_slope_of_the_side_taken(kind: str, x: float, y: float) -> None:
    builder = Builder()
    program = builder.build([builder.apply(kind, builder.input("x"), builder.input("y"))])
    taken = run(program, {"x": x, "y": y})[0] == x
    assert run(differentiate(program, "x"), {"x": x, "y": y}) == [1.0 if taken else 0.0]


def test_pieces_are_chosen_by_their_conditions() -> None:
    y = sympy.Symbol("y")
    pieces = sympy.Piecewise((sympy.Integer(1), (x < 0) & (y >= 1)), (x**2, (x >= 2) | ~(y < 3)), (sympy.Abs(x), True))
    for a in (-2.0, 0.0, 1.0, 2.0, 3.0):
        for b in (0.0, 1.0, 2.0, 3.0):
            here = np.array([a])
            got = run(program_of(pieces), {"x": here, "y": np.array([b])})[0]
            assert got.item() == float(pieces.subs({x: a, y: b}))


@pytest.mark.parametrize(
    ("write", "value"),
    [
        (lambda a, b: sympy.Abs(sympy.exp(-a)), lambda a, b: np.exp(-a)),  # SymPy: exp(-re(a))
        (lambda a, b: sympy.Abs(sympy.exp(a) * b), lambda a, b: abs(np.exp(a) * b)),
        (lambda a, b: sympy.Abs(sympy.exp(sympy.exp(-a))), lambda a, b: np.exp(np.exp(-a))),  # with im(a)
        (lambda a, b: sympy.Abs(sympy.exp(a * sympy.sin(b))), lambda a, b: np.exp(a * np.sin(b))),
        (lambda a, b: sympy.Abs(2**a) + sympy.im(a * b), lambda a, b: 2**a),
        (lambda a, b: sympy.conjugate(a * b) - sympy.re(a), lambda a, b: a * b - a),
    ],
)
@given(st.floats(-3, 3), st.floats(-3, 3))
def test_symbols_are_real_whatever_sympy_was_told(write: Any, value: Any, a: float, b: float) -> None:
    program = program_of(write(*sympy.symbols("a b")))
    assert run(program, {"a": a, "b": b})[0] == pytest.approx(value(a, b), rel=1e-14, abs=1e-14)


def test_what_may_not_be_real_is_not_taken_for_real() -> None:
    """The imaginary part of asin(3) is not 0, though asin takes real numbers."""
    a = sympy.Symbol("a")
    for part in (sympy.re, sympy.im, sympy.conjugate):
        with pytest.raises(ChainError, match=r"which is not known to be real: make its symbols real"):
            program_of(part(sympy.asin(a)))
    with pytest.raises(ChainError, match="cannot compute"):
        program_of(sympy.im(sympy.sqrt(a)))


def test_functions_that_are_not_known_are_named() -> None:
    with pytest.raises(ChainError, match=r"cannot compute gamma\(x\).*use numbers, symbols"):
        program_of(sympy.gamma(x))
    with pytest.raises(ChainError, match=r"ratio of polynomials, but the expressions hold cos, exp"):
        rational_functions(program_of(sympy.exp(x) + sympy.cos(y)), [x, y])
    with pytest.raises(ChainError, match=r"closed form needs exact numbers, got 0\.5"):
        rational_functions(program_of(0.5 * x), [x])


def test_steps_run_on_jax_arrays() -> None:
    program = program_of(x**2 + y)
    found = run(program, {"x": jnp.array([1.0, 2.0]), "y": jnp.array(3.0)})[0]
    assert np.asarray(found).tolist() == [4.0, 7.0]


@pytest.mark.parametrize("order", [(0.0, -0.0), (-0.0, 0.0)])
def test_a_program_run_again_sees_its_new_inputs(order: tuple[float, float]) -> None:
    """What a program remembers of a run holds for the same scalars only, signs of zero among them."""
    builder = Builder()
    x, y = builder.input("x"), builder.input("y")
    program = builder.build([builder.div(y, x)])
    ones = np.ones(3)

    def at(x: float | np.ndarray, y: float | np.ndarray) -> list[float]:
        out = np.empty((1, 3))
        run_blocks(program, {"x": x, "y": y}, 3, out)
        return out[0].tolist()

    for zero in order:
        assert at(zero, ones) == [np.copysign(np.inf, zero)] * 3
    assert at(2.0 * ones, 3.0) == [1.5] * 3 and at(2.0, 3.0 * ones) == [1.5] * 3 and at(2.0, 3.0) == [1.5] * 3
    for scalar in range(1, 9):
        assert at(float(scalar), ones) == [1 / scalar] * 3
