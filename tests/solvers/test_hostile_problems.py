"""What no problem of motion can be made of is refused in one short sentence, never by a traceback of Python's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy

from tcpdynamics.errors import MAX_SHOWN, LimitError, TcpDynamicsError
from tcpdynamics.solvers import (
    DDE,
    ODE,
    ChainError,
    Delayed,
    DomainError,
    DynamicsError,
    Map,
    MarkovChain,
    Reward,
    RewardBalance,
    basin,
    bifurcation,
    continuation,
    equilibria,
    lyapunov,
    sojourn,
    stability_chart,
    sweep,
    sweep_of,
    tabulated,
    trajectory,
    transient,
)

x, xd, k = sympy.symbols("x xd k")
LONG = Fraction(1, 10**4301)
BETWEEN = Fraction(10**4301 + 1, 10**4301)
LENGTHY = "z" * 100_000


def ode(rhs: Any = -x, **more: Any) -> ODE:
    return ODE(**{"rhs": {"x": rhs}, "start": {"x": 0.5}, **more})


def dde(**more: Any) -> DDE:
    return DDE(**{"rhs": {"x": -xd}, "delayed": {"xd": Delayed("x", 1)}, "start": {"x": 0.5}, **more})


def steps(by: Any) -> Map:
    return Map(rhs={"x": xd / 2}, delayed={"xd": Delayed("x", by)}, start={"x": 0.5})


def nested(depth: int) -> Any:
    deep: Any = x
    for _ in range(depth):
        deep = sympy.Add(sympy.Mul(deep, k, evaluate=False), 1, evaluate=False)
    return deep


def refusal(call: Callable[[], Any], error: Any = TcpDynamicsError) -> str:
    """The sentence of the error, which must be one line and must not repeat a long value."""
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    assert len(text.splitlines()) == 1, text
    assert len(text) < MAX_SHOWN + 300, text[:1000]
    return text


@pytest.mark.parametrize("number", [LONG, sympy.Rational(LONG), BETWEEN, Fraction(1, 10**100_000)], ids=range(4))
@pytest.mark.parametrize(
    "make",
    [
        lambda e: ode(e),
        lambda e: ode(outputs={"y": e}),
        lambda e: ode(k * x, parameters={"k": 1.0}, start={"x": sympy.Symbol("k") * 0 + e}),
        lambda e: ode(fixed_points=[{"x": e}]),
        lambda e: dde(rhs={"x": e}),
        lambda e: dde(history={"x": e}),
        lambda e: dde(delayed={"xd": Delayed("x", e)}),
        lambda e: Map(rhs={"x": e}),
    ],
    ids=["rhs", "output", "start", "fixed point", "rhs of DDE", "history", "delay", "map"],
)
def test_fractions_of_more_digits_than_python_prints(make: Any, number: Any) -> None:
    assert "digits" in refusal(lambda: make(number), DynamicsError)


def test_fractions_of_thousands_of_digits_are_taken() -> None:
    number = Fraction(10**4200 + 1, 10**4200)
    problem = ode(number * x, start={"x": sympy.Rational(1, 10**4000) + 1})
    assert "dx/dt = " in repr(problem)
    assert trajectory(problem, [0, 1]).x.values[-1] == pytest.approx(np.e, rel=1e-7)
    assert trajectory(ode(number), [0, 1]).x.values[-1] == pytest.approx(1.5)


@pytest.mark.parametrize("power", [10**308, -(10**308), 10**200, 12345])
def test_powers_however_large(power: int) -> None:
    result = trajectory(Map(rhs={"x": x ** sympy.Integer(power)}, start={"x": 1.0}), [0, 3])
    assert result.x.values.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "constant",
    [
        sympy.Mul(sympy.Integer(10**300), sympy.Integer(10**300), x, evaluate=False),
        sympy.Mul(sympy.Pow(2, 10**9, evaluate=False), x, evaluate=False),
        sympy.Mul(sympy.Pow(sympy.Rational(3, 2), -(10**7), evaluate=False), x, evaluate=False),
    ],
    ids=["product", "power", "small"],
)
def test_constants_beyond_the_floats(constant: Any) -> None:
    try:
        assert np.isfinite(trajectory(ode(constant), [0, 1e-300]).x.values[0])
    except DynamicsError as error:
        assert "1.8e308" in str(error)


@pytest.mark.parametrize("by", [1e9, 1e19, 1e300])
def test_delays_of_more_steps_than_memory_holds(by: float) -> None:
    assert "steps" in refusal(lambda: trajectory(steps(by), [0, 1]), LimitError)


@pytest.mark.parametrize("name", ["rtol", "atol", "max_step"])
@pytest.mark.parametrize("kind", [np.longdouble, np.float32, np.float64, sympy.Float, Fraction, np.array])
def test_any_kind_of_number_is_a_tolerance(name: str, kind: Any) -> None:
    result = trajectory(ode(), [0, 1], **{name: kind(0.001953125)})
    plain = trajectory(ode(), [0, 1], **{name: 0.001953125})
    assert result.identical(plain)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rtol", np.nan),
        ("rtol", np.array([1e-6, 1e-7])),
        ("rtol", Fraction(1, 10**100_000)),
        ("rtol", 1),
        ("rtol", True),
        ("rtol", x),
        ("atol", -1e-300),
        ("atol", 10**100_000),
        ("max_step", 0),
        ("max_step", np.longdouble("nan")),
        ("max_step", [1.0]),
        ("max_step", LENGTHY),
        ("max_step", Fraction(-(10**400))),
        ("max_steps", np.inf),
        ("max_steps", 10**100_000),
        ("max_steps", 0.5),
        ("max_steps", [5]),
        ("method", np.array(["taylor", "radau"])),
        ("method", None),
        ("method", ["taylor"]),
        ("method", LENGTHY),
        ("start", [1]),
        ("start", {LENGTHY: 1.0}),
        ("start", {"x": nested(3000)}),
        ("start", {10**5000: 1.0}),
    ],
    ids=lambda value: str(value)[:12] if isinstance(value, str) else type(value).__name__,
)
def test_settings_of_a_trajectory(name: str, value: Any) -> None:
    refusal(lambda: trajectory(ode(), [0, 1], **{name: value}))


@pytest.mark.parametrize("tiny", [LONG, BETWEEN - 1, sympy.Rational(1, 10**308), np.longdouble(1e-300)], ids=range(4))
def test_tiny_fractions_are_tolerances(tiny: Any) -> None:
    assert trajectory(ode(), [0, 1], atol=tiny).x.values[-1] == pytest.approx(0.5 / np.e)
    assert trajectory(ode(), [0, 1], max_step=1 + tiny, throw=True).attrs["settings"].endswith('"max_step": 1.0}')


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dde(delayed={"xd": 1}), "Delayed"),
        (lambda: dde(delayed={"xd": "x"}), "Delayed"),
        (lambda: dde(delayed={"xd": ("x", 1)}), "Delayed"),
        (lambda: dde(delayed={"xd": Delayed}), "Delayed"),
        (lambda: dde(delayed=[1]), "delayed must be a mapping"),
        (lambda: Delayed(["x"], 1), "label"),  # type: ignore[arg-type]
        (lambda: Delayed(sympy.Matrix([x]), 1), "label"),
        (lambda: Delayed(np.array(["x"]), 1), "label"),  # type: ignore[arg-type]
        (lambda: Delayed(sympy.Symbol("a\nb"), 1), "label"),
        (lambda: dde(delayed={"xd": Delayed(LENGTHY, 1)}), "neither a state nor an output"),
        (lambda: dde(delayed={"xd": Delayed("x", nested(3000))}), "nested"),
        (lambda: dde(history={"x": sympy.Symbol}), "history of x"),
        (lambda: dde(history={"x": nested(3000)}), "nested"),
        (lambda: dde(history={LENGTHY: x}), "not a state"),
        (lambda: dde(history={"x": sympy.Symbol("a\nb")}), "holds the symbol"),
        (lambda: dde(history=[x]), "history must be a mapping"),
        (lambda: ODE(rhs=[x]), "rhs must be a mapping"),  # type: ignore[arg-type]
        (lambda: ODE(rhs=x), "rhs must be a mapping"),
        (lambda: ODE(rhs=None), "rhs must be a mapping"),  # type: ignore[arg-type]
        (lambda: ODE(rhs={10**5000: -x}), "is named by a string"),  # type: ignore[dict-item]
        (lambda: ODE(rhs={nested(3000): -x}), "is named by a string"),
        (lambda: ODE(rhs={sympy.Symbol("a\nb"): -x}), "is named by a string"),
        (lambda: ODE(rhs={"a\nb": -x}), "is named by a string"),
        (lambda: ODE(rhs={LENGTHY: -x}), "is named by a string"),
        (lambda: ode(sympy.Symbol(LENGTHY)), "holds the symbol"),
        (lambda: ode(sympy.Symbol("a\nb")), "holds the symbol"),
        (lambda: ode(nested(3000), parameters={"k": 1.0}), "nested"),
        (lambda: ode(start=[1]), "start must be a mapping"),
        (lambda: ode(start={LENGTHY: 1.0}), "not a state"),
        (lambda: ode(start={"x": nested(3000)}), "nested"),
        (lambda: ode(outputs=[x]), "outputs must be a mapping"),
        (lambda: ode(outputs={1: x}), "is named by a string"),
        (lambda: ode(outputs={LENGTHY: x}), "is named by a string"),
        (lambda: ode(parameters=[1.0]), "parameters must be a mapping"),
        (lambda: ode(fixed_points={"x": 0}), "fixed_points must be a list"),
        (lambda: ode(fixed_points=[0]), "fixed point must be a mapping"),
        (lambda: ode(fixed_points=0), "fixed_points must be a list"),
        (lambda: ode(fixed_points=[{"x": nested(3000)}]), "nested"),
        (lambda: ode(units=["s"]), "units must be a mapping"),
        (lambda: ode(units={"x": 10**5000}), "units"),
        (lambda: ode(meanings={"x": 10**5000}), "meanings"),
        (lambda: ode(time_units=10**5000), "time_units"),
        (lambda: ode(time_units=LENGTHY), "time_units"),
        (lambda: ode(name=10**5000), "name"),
        (lambda: ode(domain=[1]), "domain must be a mapping"),
        (lambda: ode(domain={"k": (0, 10**400)}), "domain of k"),
        (lambda: ode(domain={"k": (0, x)}), "domain of k"),
        (lambda: ode(domain={"k": (0, np.nan)}), "domain of k"),
        (lambda: ode(domain={"k": (1, 0)}), "domain of k"),
        (lambda: ode(domain={"k": None}), "domain of k"),
        (lambda: ode(domain={"k": (0, 1, 2)}), "domain of k"),
        (lambda: ode(domain={"k": "01"}), "domain of k"),
        (lambda: ode(k * x, parameters={"k": 1.0}).at(**{LENGTHY: 1}), "no parameter"),
        (lambda: ode(sympy.Symbol("k") * x, parameters={"k": 1.0, LENGTHY: 1.0}), "is named by a string"),
        (lambda: trajectory(ode(provenance={"seed": 10**5000}), [0, 1]), "provenance"),
    ],
)
def test_what_a_problem_is_made_of(make: Any, words: str) -> None:
    assert words in refusal(make, DynamicsError)


@pytest.mark.parametrize(
    "value",
    [
        np.datetime64("NaT"), np.timedelta64("NaT"), np.timedelta64(1, "s"), 10**400, Fraction(10**5000), None, "1",
        x, sympy.nan, True, 1j, np.nan, np.array(True), [[1.0], [2.0, 3.0]], LENGTHY, [LENGTHY], {}, object(),
        [10**5000, 1], [sympy.Symbol("a\nb")],
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_values_of_a_parameter(value: Any) -> None:
    refusal(lambda: trajectory(ode(k * x, parameters={"k": value}), [0, 1]))


@pytest.mark.parametrize("value", [np.longdouble(1), np.float32(1), Fraction(1), sympy.Rational(1), np.int8(1)])
def test_any_kind_of_number_is_a_parameter_and_a_constant(value: Any) -> None:
    there = trajectory(ode(-k * x, parameters={"k": value}), [0, 1]).x.values[-1]
    assert there == pytest.approx(0.5 / np.e)
    assert trajectory(ode(value), [0, 1]).x.values[-1] == pytest.approx(1.5)
    assert trajectory(ode(start={"x": value}), [0, 1]).x.values[-1] == pytest.approx(1 / np.e)
    assert trajectory(dde(delayed={"xd": Delayed("x", value)}), [0, 1]).x.values[-1] == pytest.approx(0)
    assert trajectory(dde(history={"x": value}), [0, 1]).x.values[-1] == pytest.approx(-0.5)
    assert trajectory(Map(rhs={"x": value}, start={"x": 0.5}), [0, 1]).x.values[-1] == 1


def test_unused_parameters_in_one_line() -> None:
    odd = sympy.Symbol("a b")
    text = refusal(lambda: ODE(rhs={"x": odd * x}, parameters={"a b": 1.0, "k": 1.0}), DynamicsError)
    assert "stands in no expression" in text


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0, 1.0000001e20], "1.0000001e+20"),
        ([0, 9.9999999e-21], "9.9999999e-21"),
        ([0, 10**100_000], "an integer of about 100001 digits"),
        ([0, Fraction(10**5000)], "beyond"),
        ([0, "1"], "'1'"),
        ([0, None], "None"),
        ([0, LENGTHY], "zzz"),
        ([0, np.datetime64("NaT")], "NaT"),
        (None, "None"),
        (np.broadcast_to(0.0, 10**9), "times"),
        (np.broadcast_to(np.int8(0), 10**9), "memory"),
        (range(10**12), "memory"),
        ([[0, 1], [2]], "real numbers"),
        ([], "1-D"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_times(times: Any, words: str) -> None:
    assert words in refusal(lambda: trajectory(ode(), times), (DomainError, LimitError))  # type: ignore[arg-type]


def test_a_value_next_to_its_bound_is_told_apart() -> None:
    problem = ode(k * x, parameters={"k": 1.0000000001}, domain={"k": (0.0, 1.0)})
    assert re.search(r"in \(0, 1\), got 1\.0000000001$", refusal(lambda: trajectory(problem, [0, 1]), DomainError))


p = sympy.Symbol("p")
COIN: dict[Any, Any] = {("a", "b"): p, ("b", "a"): 1 - p}


def coin(**more: Any) -> MarkovChain:
    return MarkovChain(**{"transitions": COIN, "parameters": {"p": 0.25}, **more})


def balance(**more: Any) -> RewardBalance:
    reward = Reward({("a", "b"): {1: p}, ("a", "a"): {0: 1 - p}, ("b", "a"): {0: 1 - p}, ("b", "b"): {0: p}})
    return RewardBalance(
        **{"chain": coin(), "unknown": "p", "reward": reward, "target": 0.5, "bounds": (0.1, 0.9), **more}
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MarkovChain({**COIN, ("a", "b"): LONG}), "digits"),
        (lambda: MarkovChain({**COIN, ("a", "b"): sympy.Rational(LONG)}), "digits"),
        (lambda: coin(holding={"a": BETWEEN}), "digits"),
        (lambda: coin(holding=[1]), "holding must be a mapping"),
        (lambda: coin(parameters=[1]), "parameters must be a mapping"),
        (lambda: coin(parameters={10**5000: 1.0}), "is named by a string"),
        (lambda: coin(provenance=[1]), "provenance must be a mapping"),
        (lambda: coin(domain={"p": (0, 10**400)}), "domain of p"),
        (lambda: coin(domain={"p": 1}), "domain of p"),
        (lambda: coin(domain={"p": (0, x)}), "domain of p"),
        (lambda: coin(name=10**5000), "name must be a text"),
        (lambda: coin(states=np.array("a")), "states must be a list"),
        (lambda: coin(states="ab"), "states must be a list"),
        (lambda: Reward({("a", "b"): {0.5: p}}), "whole number"),  # type: ignore[dict-item]
        (lambda: Reward({("a", "b"): {10**5000: p}}), "whole number"),
        (lambda: Reward({("a", "b"): {1: LONG}}), "digits"),
        (lambda: Reward({("a", "b"): p}), "must be a mapping"),
        (lambda: balance(unknown=10**5000), "is named by a string"),
        (lambda: balance(unknown=["p"]), "is named by a string"),
        (lambda: balance(bounds=0.5), "bounds must be two numbers"),
        (lambda: balance(bounds=(0, 10**400)), "bounds must be real"),
        (lambda: balance(idle=["c"]), "not a state"),
        (lambda: balance(idle=[10**5000]), "not a state"),
        (lambda: balance(chain=1), "needs a MarkovChain"),
        (lambda: transient(coin(), 10**5000, [1]), "start must be a state"),  # type: ignore[arg-type]
        (lambda: sojourn(coin(), 1, longest=2), "states must be a list"),  # type: ignore[arg-type]
        (lambda: sojourn(coin(), [10**5000], longest=2), "digits"),  # type: ignore[list-item]
    ],
)
def test_what_a_chain_is_made_of(make: Any, words: str) -> None:
    assert words in refusal(make, (ChainError, DomainError))


FLOW = ode(-k * x, parameters={"k": [1.0, 2.0]}, fixed_points=[{"x": 0}])
STEPS = Map(rhs={"x": k * x * (1 - x)}, parameters={"k": [1.5, 2.5]}, start={"x": 0.5})
ONE = ode(-k * x * (1 - x), parameters={"k": 1.0})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: equilibria(ONE, [1]), "box must be a mapping"),  # type: ignore[arg-type]
        (lambda: equilibria(ONE, {"x": (0, 10**5000)}), "box of x"),
        (lambda: equilibria(ONE, {LENGTHY: (0, 1)}), "not a state"),
        (lambda: equilibria(ONE, starts=10**5000), "starts"),
        (lambda: stability_chart(FLOW, at={LENGTHY: 1}), "not a state"),
        (lambda: stability_chart(FLOW, at={"x": nested(3000)}), "nested"),
        (lambda: stability_chart(FLOW, tolerance=np.longdouble("nan")), "tolerance"),
        (lambda: bifurcation(STEPS, LENGTHY), "not swept"),
        (lambda: bifurcation(STEPS, np.array([1.0, 2.0])), "not swept"),  # type: ignore[arg-type]
        (lambda: bifurcation(STEPS, start=np.array([1.0, 2.0])), "start must be"),  # type: ignore[arg-type]
        (lambda: bifurcation(STEPS, transient=1e308), "steps of a map"),
        (lambda: bifurcation(STEPS, keep=1e308), "too many"),
        (lambda: bifurcation(FLOW, of=10**5000), "neither a state"),  # type: ignore[arg-type]
        (lambda: bifurcation(FLOW, of=LENGTHY), "neither a state"),
        (lambda: bifurcation(FLOW, samples=10**9), "memory"),
        (lambda: basin(STEPS.at(k=1.5), {"x": [0.1]}, of=[1]), "must name a state"),  # type: ignore[arg-type]
        (lambda: lyapunov(STEPS, start=[1]), "start must be a mapping"),  # type: ignore[arg-type]
        (lambda: continuation(ONE, LENGTHY, (1, 2)), "no parameter"),
        (lambda: continuation(ONE, ["k"], (1, 2)), "no parameter"),  # type: ignore[arg-type]
        (lambda: continuation(ONE, "k", (1, 2), start=[1]), "start must be"),  # type: ignore[arg-type]
        (lambda: continuation(ONE, "k", (1, 2), start={"k": x}), "start of k"),  # type: ignore[dict-item]
        (lambda: sweep(dict, [1]), "parameters must be a mapping"),  # type: ignore[arg-type]
        (lambda: sweep(dict, {10**5000: 1}), "named by a string"),  # type: ignore[dict-item]
        (lambda: sweep(dict, {"k": [1]}, block=LENGTHY), "block"),  # type: ignore[arg-type]
        (lambda: sweep(dict, {"k": [1]}, in_flight="1"), "in_flight"),  # type: ignore[arg-type]
        (lambda: sweep(dict, {"k": [1]}, store=10**5000), "store must be"),  # type: ignore[arg-type]
        (lambda: sweep(dict, {"k": [1]}, store=LENGTHY), "zarr"),
        (lambda: sweep(dict, {"k": [1]}, about=[1]), "about must be"),  # type: ignore[arg-type]
        (lambda: sweep(dict, {"k": [1]}, version=Fraction(1)), "version must be"),  # type: ignore[arg-type]
        (lambda: sweep(sweep_of(FLOW, stability_chart, at={"x": nested(3000)})), "nest"),
        (lambda: tabulated("__import__('os')", [0, 1], [0, 1]), "argument"),  # type: ignore[arg-type]
        (lambda: tabulated(np.ones(2), [0, 1], [0, 1]), "argument"),
        (lambda: tabulated(nested(3000), [0, 1], [0, 1]), "nested"),
    ],
)
def test_settings_of_other_solvers(call: Any, words: str) -> None:
    assert words in refusal(call)


def test_any_kind_of_number_is_a_setting() -> None:
    chart = stability_chart(FLOW, tolerance=np.longdouble(1e-9))  # type: ignore[arg-type]
    assert chart.attrs["settings"] == '{"tolerance": 1e-09}'
    branch = continuation(ONE, "k", (np.longdouble(1), Fraction(2)), start={"x": 0}, step=np.float32(0.5), points=3)  # type: ignore[arg-type]
    assert '"bounds": [1.0, 2.0]' in branch.attrs["settings"]
    result = sweep(lambda block: {"a": block["k"]}, {"k": [1.0, 2.0]}, block=np.int8(1))  # type: ignore[arg-type]
    assert result.a.values.tolist() == [1.0, 2.0]
