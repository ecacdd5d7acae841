"""The chains of Chen et al., Figs. 7 and 8: typed again from their arrows, solved in other ways, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import near_ends

from tcpdynamics.models.sub_packet.aggregated import (
    SubPacketApproximate,
    SubPacketFresh,
    SubPacketFull,
    SubPacketLevels,
    mean_wait,
)
from tcpdynamics.models.sub_packet.exact import SubPacketExact
from tcpdynamics.models.sub_packet.windows import some_lost, timeout_chance
from tcpdynamics.solvers import MarkovChain, closed_form, spectral_gap, stationary
from tcpdynamics.solvers.problems import DomainError

READINGS = {"approximate": SubPacketApproximate, "A": SubPacketFull, "B": SubPacketFresh, "L": SubPacketLevels}
every_reading = pytest.mark.parametrize("reading", READINGS)
EPS = np.finfo(float).eps
p, q = sympy.symbols("p", positive=True), 1 - sympy.symbols("p", positive=True)

Chain = dict[tuple[str, str], Any]


# ------------------------------------------------------- the figures again, with every arrow as it is printed


def windows(p: Any, w_max: int, out: Callable[[int], str], early: bool) -> Chain:
    q, chain = 1 - p, {}
    for n in range(2, w_max + 1):
        up = q**n
        back = n * p * q**n if n >= 4 or early else 0 * p
        if n < w_max:
            chain[f"S{n}", f"S{n + 1}"] = up
        if n > 3:
            chain[f"S{n}", f"S{n // 2}"] = back
        elif n == 3 and early:
            chain["S3", "S2"] = back
        chain[f"S{n}", out(n)] = 1 - up - back
    return chain


def figure(
    reading: str, p: Any, p_r: Any, m_0: Any, w_max: int, stages: int, early: bool
) -> tuple[Chain, dict[str, Any]]:
    """Arrows and, where a silence has a fixed length, that length."""
    q = 1 - p

    def wait(k: int) -> Any:  # eqs. (8) and (11) summed again: a timeout of m_0 2^k, then p times a doubled one
        return ((m_0 * 2**k - 1) * (1 - p_r) + p_r) / (1 - 2 * p_r)

    fresh = reading in ("B", "L")
    chain = windows(p, w_max, lambda n: "b*" if n <= 3 and not fresh else "b0", early)
    held = {"b0": m_0 - 1 + 0 * p}
    if reading == "approximate":
        chain |= {("S1", "S2"): 1 - p_r, ("S1", "b*"): p_r, ("b0", "S1"): 1 + 0 * p, ("b*", "S1"): 1 / wait(0)}
        return chain, held
    chain["b0", "S1(1r)"] = 1 + 0 * p
    if not fresh:
        chain["b*", "S1(1r)"] = 1 / wait(0)
    for k in range(1, stages + 1):
        onward = f"S1({k + 1 if k < stages else k}r)"
        chain[f"S1({k}r)", f"S2({k}r)"] = 1 - p_r
        chain[f"S1({k}r)", f"b*({k}r)"] = p_r
        chain[f"S2({k}r)", "S3"] = q**2
        chain[f"S2({k}r)", f"b*({k}r)"] = 1 - q**2
        if reading == "L" and k < stages:
            chain[f"b*({k}r)", onward] = 1 + 0 * p
            held[f"b*({k}r)"] = m_0 * 2**k - 1 + 0 * p
        else:
            chain[f"b*({k}r)", onward] = 1 / wait(k)
    return chain, held


def solve_balls(chain: Chain, held: Mapping[str, Any]) -> dict[str, Any]:
    """pi P = pi with 1000-bit balls that enclose the exact answer; no state reduction."""
    states = list(dict.fromkeys(s for edge in chain for s in edge))
    n, at = len(states), {s: i for i, s in enumerate(states)}
    rows = [[flint.arb(0)] * n for _ in range(n)]
    for (i, j), x in chain.items():
        rows[at[j]][at[i]] += x
        rows[at[i]][at[i]] -= x
    rows[0] = [flint.arb(1)] * n
    right = flint.arb_mat(n, 1, [1] + [0] * (n - 1))
    pi = flint.arb_mat(rows).solve(right)
    time = {s: pi[i, 0] * held.get(s, 1) for s, i in at.items()}
    total = sum(time.values(), flint.arb(0))
    return {s: x / total for s, x in time.items()}


def largest_error(found: Mapping[str, float], truth: Mapping[str, Any]) -> float:
    """Largest relative error, states whose probability is zero left out."""
    assert set(found) == set(truth)
    return max(
        float(abs(flint.arb(found[s]) / truth[s] - 1).upper()) if not truth[s].contains(0) else abs(found[s])
        for s in found
    )


def law(result: Any) -> dict[str, float]:
    return dict(zip(result.state.values.tolist(), result.probability.values.tolist(), strict=True))


@pytest.fixture(autouse=True)
def _precision() -> Any:
    before, flint.ctx.prec = flint.ctx.prec, 1000
    yield
    flint.ctx.prec = before


@st.composite
def readings(draw: Any, w_max: Any = (4, 5, 6, 9), stages: int = 6) -> tuple[str, Any]:
    """A reading and a model of it, with the base timeout a whole number or not."""
    name = draw(st.sampled_from(sorted(READINGS)))
    given_: dict[str, Any] = {
        "loss": draw(near_ends(0.5)),
        "w_max": draw(st.sampled_from(w_max)),
        "base_timeout": draw(st.sampled_from([2, 3, 7, 2.5, 3.141592653589793])),
        "early_retransmit": draw(st.booleans()),
        "retransmission_loss": draw(st.one_of(st.none(), st.just(0.0), near_ends(0.5))),
    }
    if name != "approximate":
        given_["stages"] = draw(st.integers(1, stages))
    return name, READINGS[name](**given_)


def reference(name: str, model: Any) -> dict[str, Any]:
    loss = flint.arb(model.loss)
    again = loss if model.retransmission_loss is None else flint.arb(model.retransmission_loss)
    stages = getattr(model, "stages", 0)
    return solve_balls(
        *figure(name, loss, again, flint.arb(model.base_timeout), model.w_max, stages, model.early_retransmit)
    )


def check_against_figure(name: str, model: Any) -> None:
    found = law(stationary(model.chain(), throw=True))
    # O'Cinneide: no subtraction, so a relative error of at most a few eps for each of the ~2 n^2 operations
    # on the longest path of the reduction; it grows like the depth, some hundred roundings here.
    assert largest_error(found, reference(name, model)) <= 1e-13
    assert min(found.values()) >= 0
    assert sum(found.values()) == pytest.approx(1, abs=4 * EPS)


@settings(max_examples=60)
@given(readings())
def test_every_state_is_right_to_1e_13_for_every_loss(case: tuple[str, Any]) -> None:
    check_against_figure(*case)


@every_reading
@pytest.mark.parametrize("loss", [1e-12, 1e-3, 0.3, 0.5 - 1e-12])
def test_large_windows_are_as_right(reading: str, loss: float) -> None:
    check_against_figure(reading, READINGS[reading](loss=loss, w_max=40))


# --------------------------------------------------------------------------------- one chain, four ways


def rational(expression: Any, values: Mapping[str, Any]) -> Any:
    """A SymPy expression at rational (or float) values, by walking its tree."""
    if expression.is_Symbol:
        return values[expression.name]
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    parts = [rational(a, values) for a in expression.args]
    if expression.is_Add:
        return sum(parts[1:], parts[0])
    if expression.is_Mul:
        return np.prod(np.array(parts, dtype=object))
    assert expression.is_Pow, expression
    return parts[0] ** int(parts[1])


def matrix(chain: MarkovChain, values: Mapping[str, Any]) -> np.ndarray:
    """The dense matrix of a symbolic chain without holding times."""
    at = {s: i for i, s in enumerate(chain.labels)}
    P = np.zeros((len(at), len(at)), dtype=object) + Fraction(0)
    for (i, j), e in chain.transitions.items():
        P[at[i], at[j]] += rational(sympy.sympify(e), values)
    for i in range(len(at)):
        P[i, i] = 1 - sum(P[i]) + P[i, i]
    return P


@every_reading
@settings(max_examples=8)
@given(loss=st.fractions(Fraction(1, 50), Fraction(49, 100), max_denominator=100), w_max=st.sampled_from([4, 6]))
def test_rationals_floats_matrices_and_power_iteration_agree(reading: str, loss: Fraction, w_max: int) -> None:
    kind = READINGS[reading] if reading != "L" else SubPacketFresh  # L has holding times, no plain matrix
    chain = kind(loss=loss, w_max=w_max).chain()
    P = matrix(chain, {"p": loss})
    assert all(sum(row) == 1 for row in P)
    assert min(P.ravel()) >= 0
    exact = stationary(chain, exact=True).probability.values
    pi = np.array([Fraction(int(x.p), int(x.q)) for x in exact], dtype=object)
    assert sum(pi) == 1
    assert (pi @ P == pi).all()  # balance, with no rounding at all

    # floats: loss is rounded to a double (eps/2), and d ln pi / d ln p is below 50 here.
    floats = stationary(chain).probability.values
    truth = pi.astype(float)
    assert floats == pytest.approx(truth, rel=1e-13)
    dense = stationary(MarkovChain(P.astype(float), states=chain.labels)).probability.values
    assert dense == pytest.approx(truth, rel=1e-12)
    power = np.linalg.matrix_power(P.astype(float), 2**14)[0]
    # row sums are off by n eps a step, and 2^14 steps are squared 14 times: 2^14 n eps / 2 at worst
    assert power == pytest.approx(truth, abs=2**14 * len(pi) * EPS)


@every_reading
def test_closed_form_is_the_exact_value_everywhere(reading: str) -> None:
    chain = READINGS[reading](loss=0.1, w_max=4, base_timeout=3).chain()
    forms = closed_form(chain)
    assert sympy.cancel(sum(forms.values())) == 1
    for loss in (Fraction(1, 10**12), Fraction(1, 7), Fraction(49, 100)):
        exact = stationary(chain.at(p=loss), exact=True).probability
        assert [f.subs(p, sympy.Rational(loss)) for f in forms.values()] == exact.values.tolist()
    assert "frac" in sympy.latex(forms["S3"])


# ----------------------------------------------------------------------------- closed forms, written by hand


def a_and_f(n: int) -> Any:
    return q**n + (n * p * q**n if n >= 4 else 0)


def approximate_by_hand() -> dict[str, Any]:
    x = {"S3": sympy.Integer(1), "S4": q**3, "S5": q**7, "S6": q**12 / (1 - q**6)}
    x["S2"] = (1 - 6 * p * q**18 / (1 - q**6)) / q**2
    x["S1"] = (x["S2"] - 4 * p * q**7 - 5 * p * q**12) / q
    x["b0"] = sum((1 - a_and_f(n)) * x[f"S{n}"] for n in (4, 5, 6))
    x["b*"] = ((1 - q**2) * x["S2"] + (1 - q**3) + p * x["S1"]) / (1 - 2 * p)
    return x


def full_by_hand(stages: int) -> dict[str, Any]:
    x = {"S3": sympy.Integer(1), "S4": q**3, "S5": q**7, "S6": q**12 / (1 - q**6)}
    x["S2"] = 4 * p * q**7 + 5 * p * q**12
    fresh = 1 - q**2 * x["S2"] - 6 * p * q**6 * x["S6"]
    doubtful = (1 - q**2) * x["S2"] + (1 - q**3)
    x |= {"b*": doubtful / (1 - 2 * p), "b0": fresh - doubtful}
    s = 1 - q**3
    for k in range(1, stages + 1):
        x[f"S1({k}r)"] = s ** (k - 1) * fresh / (1 if k < stages else q**3)
        x[f"S2({k}r)"] = q * x[f"S1({k}r)"]
        E = (2 ** (k + 1) - 1 - (2 ** (k + 1) - 2) * p) / (1 - 2 * p)
        x[f"b*({k}r)"] = s * E * x[f"S1({k}r)"]
    return x


@pytest.mark.parametrize("stages", [0, 1, 2, 3])
def test_closed_forms_are_those_worked_out_by_hand(stages: int) -> None:
    model = SubPacketFull(loss=0.1, stages=stages) if stages else SubPacketApproximate(loss=0.1)
    found, by_hand = closed_form(model.chain()), full_by_hand(stages) if stages else approximate_by_hand()
    assert set(found) == set(by_hand)
    for state, x in by_hand.items():
        assert sympy.cancel(found[state] / found["S3"] - x) == 0, state


@pytest.mark.parametrize("stages", [1, 3, 5])
def test_retransmissions_and_windows_of_two_do_not_depend_on_the_number_of_stages(stages: int) -> None:
    x = full_by_hand(stages)
    fresh = 1 - q**2 * x["S2"] - 6 * p * q**6 * x["S6"]
    forms = closed_form(SubPacketFull(loss=0.1, stages=stages).chain())
    for kind, power in (("S1", 3), ("S2", 2)):
        total = sum(forms[f"{kind}({k}r)"] for k in range(1, stages + 1)) / forms["S3"]
        assert sympy.cancel(total - fresh / q**power) == 0


def test_normaliser_of_the_full_model() -> None:
    """1/pi(S3) is a ratio of polynomials with the degree and the denominator that its derivation has."""
    top, bottom = sympy.fraction(sympy.cancel(1 / closed_form(SubPacketFull(loss=0.1).chain())["S3"]))
    assert sympy.degree(top, p) == 30
    expected = p * (p - 2) * (1 - p) ** 2 * (2 * p - 1) * (p**2 - 3 * p + 3) * (p**2 - p + 1)
    assert sympy.cancel(bottom / expected).is_number


def test_exact_silence_at_a_quarter() -> None:
    model = SubPacketFull(loss=Fraction(1, 4))
    exact = model.observe(stationary(model.chain(), exact=True))
    assert exact.silent_fraction.item() == sympy.Rational(1679936255551813859, 2226552430058027235)


def test_fractions_stay_exact() -> None:
    tenths = [Fraction(1, 10), Fraction(1, 4)]
    swept = SubPacketFull(loss=tenths)
    exact = swept.observe(stationary(swept.chain(), exact=True)).silent_fraction
    alone = SubPacketFull(loss=Fraction(1, 10))
    one = alone.observe(stationary(alone.chain(), exact=True)).silent_fraction
    assert exact.values[0] == one.item()
    assert exact.values[1] == sympy.Rational(1679936255551813859, 2226552430058027235)
    assert one.item().q < 10**60  # a double nearest 1/10 would have brought thousands of digits
    floats = swept.observe(stationary(swept.chain())).silent_fraction
    assert floats.values == pytest.approx(exact.values.astype(float), rel=1e-13)


# ------------------------------------------------------------------------------------------ printed tables

# p, P(0..6 packets sent), packets per RTT
TABLES = {
    "approximate": """
0.05 0.0635 0.0594 0.1027 0.1685 0.1445 0.1177 0.3437 3.9990
0.10 0.1610 0.1363 0.1841 0.1846 0.1345 0.0883 0.1112 2.7052
0.15 0.2514 0.1876 0.2082 0.1631 0.1002 0.0523 0.0372 1.9788
0.20 0.3367 0.2152 0.2040 0.1345 0.0689 0.0282 0.0125 1.5184
0.25 0.4220 0.2236 0.1860 0.1057 0.0446 0.0141 0.0041 1.1860
0.30 0.5117 0.2151 0.1599 0.0786 0.0270 0.0065 0.0012 0.9185
0.35 0.6098 0.1903 0.1280 0.0541 0.0149 0.0027 0.0003 0.6833
0.40 0.7203 0.1484 0.0906 0.0326 0.0071 0.0009 0.0001 0.4608
0.45 0.8481 0.0866 0.0481 0.0145 0.0024 0.0002 0.0000 0.2372
""",
    "A": """
0.05 0.0858 0.0580 0.1003 0.1645 0.1410 0.1149 0.3355 3.9036
0.10 0.2721 0.1183 0.1597 0.1601 0.1167 0.0766 0.0965 2.3471
0.15 0.4714 0.1325 0.1470 0.1152 0.0707 0.0369 0.0263 1.3973
0.20 0.6356 0.1182 0.1121 0.0739 0.0378 0.0155 0.0069 0.8342
0.25 0.7545 0.0950 0.0790 0.0449 0.0189 0.0060 0.0017 0.5037
0.30 0.8371 0.0717 0.0533 0.0262 0.0090 0.0022 0.0004 0.3064
0.35 0.8952 0.0511 0.0343 0.0145 0.0040 0.0007 0.0001 0.1834
0.40 0.9380 0.0329 0.0201 0.0072 0.0016 0.0002 0.0000 0.1022
0.45 0.9715 0.0163 0.0090 0.0027 0.0005 0.0000 0.0000 0.0445
""",
    "B": """
0.05 0.0830 0.0582 0.1006 0.1650 0.1415 0.1152 0.3366 3.9157
0.10 0.2622 0.1199 0.1619 0.1623 0.1183 0.0776 0.0978 2.3789
0.15 0.4589 0.1356 0.1505 0.1179 0.0724 0.0378 0.0269 1.4304
0.20 0.6250 0.1217 0.1153 0.0760 0.0389 0.0159 0.0071 0.8584
0.25 0.7471 0.0978 0.0814 0.0463 0.0195 0.0062 0.0018 0.5189
0.30 0.8324 0.0738 0.0549 0.0270 0.0093 0.0022 0.0004 0.3153
0.35 0.8924 0.0525 0.0353 0.0149 0.0041 0.0007 0.0001 0.1883
0.40 0.9365 0.0337 0.0206 0.0074 0.0016 0.0002 0.0000 0.1047
0.45 0.9709 0.0166 0.0092 0.0028 0.0005 0.0000 0.0000 0.0455
""",
    "L": """
0.05 0.0811 0.0583 0.1008 0.1653 0.1418 0.1155 0.3372 3.9236
0.10 0.2485 0.1221 0.1649 0.1653 0.1205 0.0791 0.0996 2.4231
0.15 0.4311 0.1426 0.1582 0.1239 0.0761 0.0397 0.0283 1.5038
0.20 0.5923 0.1323 0.1254 0.0827 0.0423 0.0173 0.0077 0.9331
0.25 0.7181 0.1090 0.0907 0.0516 0.0217 0.0069 0.0020 0.5785
0.30 0.8105 0.0835 0.0621 0.0305 0.0105 0.0025 0.0005 0.3564
0.35 0.8778 0.0596 0.0401 0.0169 0.0047 0.0008 0.0001 0.2139
0.40 0.9280 0.0382 0.0233 0.0084 0.0018 0.0002 0.0000 0.1186
0.45 0.9673 0.0187 0.0104 0.0031 0.0005 0.0000 0.0000 0.0511
""",
}
HALF_DIGIT = 0.5000001e-4


@every_reading
def test_packets_sent_as_printed(reading: str) -> None:
    table = np.array([[float(x) for x in row.split()] for row in TABLES[reading].split("\n") if row])
    model = READINGS[reading](loss=table[:, 0])
    seen = model.observe(stationary(model.chain(), throw=True))
    assert seen.sent.values == pytest.approx(table[:, 1:8], abs=HALF_DIGIT)
    assert seen.packets_per_rtt.values == pytest.approx(table[:, 8], abs=HALF_DIGIT)
    assert seen.silent_fraction.values == pytest.approx(table[:, 1], abs=HALF_DIGIT)


STAGES = [1, 2, 3, 4, 6, 8, 10]
STAGE_ROWS = """
A 0.1 0.2254 0.2563 0.2721 0.2803 0.2871 0.2890 0.2896
A 0.2 0.4818 0.5730 0.6356 0.6812 0.7432 0.7833 0.8114
A 0.25 0.5835 0.6852 0.7545 0.8043 0.8701 0.9103 0.9366
A 0.3 0.6733 0.7723 0.8371 0.8815 0.9352 0.9636 0.9793
L 0.1 0.2142 0.2368 0.2485 0.2547 0.2598 0.2612 0.2617
L 0.2 0.4601 0.5362 0.5923 0.6354 0.6971 0.7391 0.7696
L 0.25 0.5616 0.6514 0.7181 0.7691 0.8410 0.8877 0.9194
L 0.3 0.6536 0.7449 0.8105 0.8584 0.9199 0.9542 0.9737
"""


def silence(model: Any) -> Any:
    return model.observe(stationary(model.chain(), throw=True)).silent_fraction.values


@pytest.mark.parametrize("row", [r for r in STAGE_ROWS.split("\n") if r])
def test_silence_against_the_number_of_stages(row: str) -> None:
    name, loss, *expected = row.split()
    found = [silence(READINGS[name](loss=float(loss), stages=R)) for R in STAGES]
    assert found == pytest.approx([float(x) for x in expected], abs=HALF_DIGIT)


def test_more_stages_converge_below_the_threshold_only() -> None:
    """Levels tend to the exact chain where p < 0.2063, geometrically with ratio 2s; beyond, silence tends to one."""
    loss = np.array([0.05, 0.1, 0.15])
    exact = silence(SubPacketExact(loss=loss, backoff_cap=60))
    gap = [np.abs(silence(SubPacketLevels(loss=loss, stages=R)) - exact) for R in (10, 20, 40)]
    ratio = 2 * (1 - (1 - loss) ** 3)
    assert (gap[1] < 1.5 * gap[0] * ratio**10 + 1e-9).all()
    assert (gap[2] < 1.5 * gap[1] * ratio**20 + 5e-7).all()  # (2s)^60 is what is left of the exact chain's cap
    assert (gap[2] < 2e-5).all()
    beyond = [silence(SubPacketLevels(loss=0.22, stages=R)) for R in (20, 80, 200)]
    assert beyond[0] < beyond[1] < beyond[2] > 0.999


def test_reading_a_counts_deep_backoffs_twice() -> None:
    assert silence(SubPacketFull(loss=0.1, stages=60)) == pytest.approx(0.290, abs=5e-4)
    assert silence(SubPacketExact(loss=0.1, backoff_cap=60)) == pytest.approx(0.2619, abs=HALF_DIGIT)


@pytest.mark.parametrize(("loss", "expected"), [(0.05, 0.946), (0.1, 0.954), (0.2, 0.956), (0.3, 0.957), (0.4, 0.969)])
def test_second_eigenvalue_of_the_full_chain(loss: float, expected: float) -> None:
    assert spectral_gap(SubPacketFull(loss=loss)).second_eigenvalue.item() == pytest.approx(expected, abs=5.001e-4)


def test_relaxation_the_approximate_chain_hides_the_slow_mode() -> None:
    loss = [0.05, 0.1, 0.2, 0.3, 0.4]
    fast = spectral_gap(SubPacketApproximate(loss=loss))
    slow = spectral_gap(SubPacketFull(loss=[*loss, 0.45]))
    assert ((fast.second_eigenvalue > 0.45) & (fast.second_eigenvalue < 0.75)).all()
    assert (slow.relaxation_time[:-1] > 5 * fast.relaxation_time.values).all()
    assert slow.relaxation_time[-1].item() == pytest.approx(54, abs=0.5)


# --------------------------------------------------------------------------------- pieces and what is observed


@given(st.integers(1, 60), near_ends(1.0), st.booleans())
def test_losses_are_written_without_cancellation(n: int, loss: float, early: bool) -> None:
    x = flint.arb(loss)
    truth = 1 - (1 - x) ** n
    assert abs(float(flint.arb(some_lost(n, loss)) / truth - 1)) < 4 * n * EPS
    repaired = n * x * (1 - x) ** n if n >= 4 or (early and n >= 2) else 0
    assert abs(float(flint.arb(timeout_chance(n, loss, early)) / (truth - repaired) - 1)) < 8 * n * EPS


@given(st.integers(0, 8), st.fractions(0, Fraction(49, 100), max_denominator=100), st.integers(1, 9))
def test_mean_wait_is_the_mean_over_deeper_timeouts(k: int, loss: Fraction, m_0: int) -> None:
    """A timeout of m_0 2^k epochs is the last with q, else the next one counts: eqs. (8) and (11)."""
    assert mean_wait(k, loss, m_0) == (1 - loss) * (m_0 * 2**k - 1) + loss * mean_wait(k + 1, loss, m_0)
    printed = (2 ** (k + 1) - 1 - (2 ** (k + 1) - 2) * loss) / (1 - 2 * loss)
    assert mean_wait(k, loss, 2) == printed


@settings(max_examples=20)
@given(readings(w_max=(4, 6, 24)))
def test_goodput_is_what_arrives_of_what_is_sent(case: tuple[str, Any]) -> None:
    _, model = case
    result = stationary(model.chain(), throw=True)
    seen, pi = model.observe(result), law(result)
    loss = model.loss
    again = loss if model.retransmission_loss is None else model.retransmission_loss
    ones = sum(x for s, x in pi.items() if s == "S1" or s.startswith("S1("))
    sent = sum(n * pi[s] for s, n in model.packets().items())
    copies = sum(
        n * loss * (1 - loss) ** (n - 1) * pi[f"S{n}"]
        for n in range(2 if model.early_retransmit else 4, model.w_max + 1)
    )
    assert seen.packets_per_rtt.item() == pytest.approx(sent, rel=1e-13)
    assert seen.fast_retransmitted.item() == pytest.approx(copies, rel=1e-12)
    assert seen.goodput.item() == pytest.approx((1 - loss) * (sent - ones + copies) + (1 - again) * ones, rel=1e-12)
    assert seen.sent.sum().item() == pytest.approx(1, abs=8 * EPS)


@every_reading
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("again", [None, 0.3])
@pytest.mark.parametrize("suffix", [False, True])
def test_deliveries_are_transitions_split_by_what_arrives(
    reading: str, early: bool, again: float | None, suffix: bool
) -> None:
    model = READINGS[reading](loss=0.1, early_retransmit=early, retransmission_loss=again, suffix_losses=suffix)
    chain, reward = model.chain(), model.delivered()
    for edge, split in reward.joint.items():
        given_ = chain.transitions.get(edge)
        if given_ is None:  # a self-loop, which the chain leaves out
            assert edge[0] == edge[1]
            given_ = 1 - sum(e for (i, j), e in chain.transitions.items() if i == edge[0] and j != i)
        assert sympy.expand(sum(split.values()) - given_) == 0, edge
    # packets delivered out of S_n: each of n arrives with q, of suffixes if those before it did; so does a copy
    for n in range(2, 7):
        copy = (1 if suffix else n) * p * q**n if n >= 4 or early else 0
        arrive = sum(q ** (j + 1) for j in range(n)) if suffix else n * q
        assert sympy.expand(reward.mean()[f"S{n}"] - arrive - copy) == 0
    arrivals = model.arrivals()
    for state, mean in reward.mean().items():
        assert sympy.expand(arrivals.get(state, 0) - mean) == 0


def test_timeout_predictor_is_the_chance_to_fall_silent() -> None:
    for kind in (*READINGS.values(), SubPacketExact):
        for early, suffix in ((False, False), (True, False), (False, True), (True, True)):
            model = kind(loss=[0.1, 0.3], early_retransmit=early, retransmission_loss=0.25, suffix_losses=suffix)
            chain, told = model.chain(), model.timeout_probability().timeout
            assert told.dims == ("loss", "state")
            for state in told.state.values:
                out = sum(
                    rational(sympy.sympify(e), {"p": 0.3, "p_r": 0.25})
                    for (i, j), e in chain.transitions.items()
                    if i == state and j.startswith("b")
                )
                assert told.sel(loss=0.3, state=state).item() == pytest.approx(out, rel=1e-13), (kind, state)


# ----------------------------------------------------------------------------------------------- refusals

REFUSED = [
    (0, "loss must lie in (0, 0.5), got 0"),
    (0.5, "loss must lie in (0, 0.5), got 0.5"),
    (1.7, "loss must lie in (0, 0.5), got 1.7; a percentage?"),
    (float("nan"), "loss must lie in (0, 0.5), got nan"),
    ([0.1, 0.6], "got 0.6 at index 1; this model has no backoff limit and no answer there, SubPacketExact has"),
    ("abc", "loss must be a number or a 1-D array of numbers, got 'abc'"),
    ([], "loss must hold at least one value"),
    ([[0.1]], "loss must be a number or a 1-D array"),
    (None, "loss must be a number"),
]


@every_reading
@pytest.mark.parametrize(("loss", "message"), REFUSED)
def test_loss_outside_its_interval(reading: str, loss: Any, message: str) -> None:
    with pytest.raises(DomainError) as error:
        READINGS[reading](loss=loss)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"w_max": 4.5}, "w_max must be a whole number in [4, 1000], got 4.5; round it"),
        ({"w_max": 6.0}, "w_max must be one whole number, got 6.0"),
        ({"w_max": [6, 8]}, "w_max must be one whole number, got [6, 8]; each value is a chain of its own"),
    ],
)
def test_other_parameters_outside_their_intervals(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError) as error:
        SubPacketFull(loss=0.1, **given_)
    assert message in str(error.value)


def test_a_model_is_made_again_from_what_its_results_keep() -> None:
    import json

    model = SubPacketLevels(loss=0.1, w_max=7, stages=2, early_retransmit=True)
    result = stationary(model.chain())
    assert result.attrs["model"] == "SubPacketLevels"
    assert SubPacketLevels(**json.loads(result.attrs["parameters"])) == model


@pytest.mark.parametrize("cls", [SubPacketApproximate, SubPacketFull, SubPacketFresh, SubPacketLevels, SubPacketExact])
@pytest.mark.parametrize("early", [False, True])
def test_arrivals_state_by_state_are_the_goodput(cls: type[Any], early: bool) -> None:
    model = cls(loss=0.17, retransmission_loss=0.3, early_retransmit=early)
    law = stationary(model.chain())
    arrivals = {s: float(sympy.sympify(e).subs({"p": 0.17, "p_r": 0.3})) for s, e in _named(model.arrivals()).items()}
    total = sum(law.probability.sel(state=s).item() * x for s, x in arrivals.items())
    assert total == pytest.approx(model.observe(law).goodput.item(), rel=1e-13)


def _named(expressions: dict[str, Any]) -> dict[str, Any]:
    """With symbols that are told apart by name alone."""
    plain = {s: sympy.Symbol(s.name) for e in expressions.values() for s in getattr(e, "free_symbols", ())}
    return {k: sympy.sympify(e).subs(plain) for k, e in expressions.items()}
