"""The code of round-trip times: bounds against dense grids, identities, the published facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.models import RttCode, jain
from tcpdynamics.solvers.problems import DomainError

CODE = RttCode()
CODES = st.integers(0, 63)
FINENESS = st.floats(0.3, 50)
r, low = sympy.symbols("r l", positive=True)


# ---------------------------------------------------------------- eq. (1) and (2)


def test_cells_are_those_of_the_paper() -> None:
    """RTT of 2^10 ms has the code 63; eq. (2) is the middle between 2^(a/K) and 2^((a+1)/K)."""
    assert CODE.ratio == pytest.approx(1.11630, abs=5e-6)
    assert CODE.encode(1.024) == 63 and CODE.encode(1.0239) == 62
    codes = np.arange(64)
    middle = (2 ** (codes / 6.3) + 2 ** ((codes + 1) / 6.3)) / 2
    assert CODE.decode(codes) == pytest.approx(middle / 1000, rel=1e-14)
    assert codes.size == 64  # and not 63 rows, as the text says


@given(st.floats(1e-3, 1.143), FINENESS)
def test_encode_is_the_floor(rtt: float, k: float) -> None:
    code = RttCode(k=k, top=10**6)
    c = code.encode(rtt)
    lower, upper = code.cell(c)
    assert lower * (1 - 1e-12) <= rtt < upper * (1 + 1e-12)
    assert c == int(np.floor(k * np.log2(rtt / 1e-3)))


@given(CODES)
def test_decode_then_encode(code: int) -> None:
    assert CODE.encode(CODE.decode(code)) == code
    assert CODE.encode(CODE.decode_minimax(code)) == code


def test_used_codes() -> None:
    """Whole milliseconds from 1 to 1024 reach 53 of the 64 codes."""
    used = set(CODE.encode(np.arange(1, 1025) / 1000).tolist())
    assert len(used) == 53
    assert set(range(64)) - used == {1, 2, 3, 4, 5, 7, 8, 10, 11, 13, 15}


def test_clamps() -> None:
    """Below a millisecond eq. (1) is negative; above 1143 ms it saturates and the error grows with the RTT."""
    assert CODE.longest() == pytest.approx(1.143, abs=5e-4)
    assert np.floor(6.3 * np.log2(0.5)) == -7 and CODE.encode(0.0005) == 0
    assert CODE.relative_error(0.0001) == pytest.approx(CODE.decode(0) / 0.0001 - 1)
    far = CODE.relative_error(np.array([1.142, 1.2, 3.0, 60.0]))
    assert far[0] > CODE.error_bounds()[0]
    assert (np.diff(far) < 0).all() and far[1] < CODE.error_bounds()[0]
    assert far[3] == pytest.approx(-1, abs=0.02)


# ---------------------------------------------------------------- accuracy


def test_error_bounds_are_identities() -> None:
    """At the lower end of a cell (r - 1)/2, towards the upper end -(1 - 1/r)/2; the harmonic mean evens them out."""
    middle, harmonic = (low + r * low) / 2, 2 * low * (r * low) / (low + r * low)
    assert sympy.simplify(middle / low - 1 - (r - 1) / 2) == 0
    assert sympy.simplify(middle / (r * low) - 1 + (1 - 1 / r) / 2) == 0
    assert sympy.simplify(harmonic / low - 1 - (r - 1) / (r + 1)) == 0
    assert sympy.simplify(harmonic / (r * low) - 1 + (r - 1) / (r + 1)) == 0
    # Any value x errs by max(x/l - 1, 1 - x/h), a rising and a falling line that meet at the harmonic mean.
    x = sympy.Symbol("x", positive=True)
    assert sympy.simplify(sympy.solve(x / low - 1 - (1 - x / (r * low)), x)[0] - harmonic) == 0


def test_published_error() -> None:
    assert [100 * e for e in CODE.error_bounds()] == pytest.approx([-5.209, 5.815], abs=5e-4)
    assert 100 * CODE.minimax_error() == pytest.approx(5.496, abs=5e-4)


@given(st.floats(1e-3, 1.1429), FINENESS)
def test_error_bounds_hold(rtt: float, k: float) -> None:
    code = RttCode(k=k, top=10**6)
    least, most = code.error_bounds()
    assert least - 1e-12 <= code.relative_error(rtt) <= most + 1e-12
    minimax = code.decode_minimax(code.encode(rtt)) / rtt - 1
    assert abs(minimax) <= code.minimax_error() + 1e-12
    assert code.minimax_error() < max(-least, most)


@given(CODES)
def test_error_bounds_are_sharp(code: int) -> None:
    lower, upper = CODE.cell(code)
    rtt = np.array([lower * (1 + 1e-12), upper * (1 - 1e-12)])
    assert (CODE.encode(rtt) == code).all()
    assert CODE.relative_error(rtt)[::-1] == pytest.approx(np.array(CODE.error_bounds()), abs=1e-11)


# ---------------------------------------------------------------- fairness


def test_worst_fairness_is_an_identity() -> None:
    """A share s of the flows r times as fast: least at s = 1/(1 + r), with 4r/(1 + r)^2."""
    s = sympy.Symbol("s", positive=True)
    index = (s * r + 1 - s) ** 2 / (s * r**2 + 1 - s)
    worst = 1 / (1 + r)
    assert sympy.simplify(sympy.diff(index, s).subs(s, worst)) == 0
    assert sympy.simplify(index.subs(s, worst) - 4 * r / (1 + r) ** 2) == 0
    assert sympy.simplify(index.subs(s, 0)) == 1 and sympy.simplify(index.subs(s, 1)) == 1
    # and the extremes of the throughput, decoded over true, have the ratio r
    assert sympy.simplify(((1 + r) / 2) / ((1 + 1 / r) / 2) - r) == 0
    assert CODE.worst_jain() == pytest.approx(0.996980, abs=5e-7)


@given(st.lists(st.floats(1.001e-3, 1.142), min_size=1, max_size=30), st.floats(1, 50))
def test_no_population_is_less_fair(rtts: list[float], k: float) -> None:
    code = RttCode(k=k, top=10**6)
    throughput = code.decode(code.encode(np.array(rtts))) / np.array(rtts)
    assert jain(throughput) >= code.worst_jain(len(rtts)) - 1e-12
    assert code.worst_jain(len(rtts)) >= code.worst_jain() - 1e-12


@pytest.mark.parametrize("flows", [1, 2, 7, 19, 2116])
def test_worst_population_exists(flows: int) -> None:
    """Flows just below the upper end of one cell and just above the lower end of another reach the bound."""
    ends = np.array([CODE.cell(20)[1] * (1 - 1e-13), CODE.cell(40)[0] * (1 + 1e-13)])
    values = [jain(np.repeat(CODE.decode(CODE.encode(ends)) / ends, [n, flows - n])) for n in range(flows + 1)]
    assert min(values) == pytest.approx(CODE.worst_jain(flows), abs=1e-12)
    if flows == 2116:
        assert CODE.worst_jain(flows) == pytest.approx(CODE.worst_jain(), abs=1e-8)


def test_log_uniform_fairness() -> None:
    """E(x)^2/E(x^2) for x = e^-u, u uniform on (0, L): tanh(L/2)/(L/2)."""
    u, length = sympy.symbols("u L", positive=True)
    mean = sympy.integrate(sympy.exp(-u), (u, 0, length)) / length
    square = sympy.integrate(sympy.exp(-2 * u), (u, 0, length)) / length
    wanted = sympy.tanh(length / 2) / (length / 2)
    assert sympy.simplify((mean**2 / square - wanted).rewrite(sympy.exp)) == 0
    assert CODE.log_uniform_jain() == pytest.approx(0.998992, abs=5e-7)
    # The middle of 200 equal steps in the logarithm, over 10 cells: an error of the order of step^2.
    logs = (np.arange(2000) + 0.5) / 200 * np.log(CODE.ratio) + np.log(CODE.cell(30)[0])
    rtt = np.exp(logs)
    found = jain(CODE.decode(CODE.encode(rtt)) / rtt)
    assert found == pytest.approx(CODE.log_uniform_jain(), abs=(np.log(CODE.ratio) / 200) ** 2)


# ---------------------------------------------------------------- shapes and bad input


def test_wrappings() -> None:
    assert isinstance(CODE.encode(0.1), int) and isinstance(CODE.decode(3), float)
    rtt = xr.DataArray([0.01, 0.1], dims="path", attrs={"units": "s"})
    codes = CODE.encode(rtt)
    assert codes.dims == ("path",) and codes.values.tolist() == [20, 41] and not codes.attrs
    assert CODE.decode(codes).dims == ("path",)
    assert CODE.relative_error(rtt).dims == ("path",)
    assert isinstance(CODE.relative_error(0.1), float)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: CODE.encode(0.0), "rtt must be a finite number > 0 in s, got 0"),
        (lambda: CODE.encode([0.1, float("nan")]), "rtt must be a finite number > 0 in s, got nan"),
        (lambda: CODE.decode(64), "code must be a whole number in [0, 63], got 64"),
        (lambda: CODE.decode([1, 2.5]), "code must be a whole number in [0, 63], got 2.5"),
        (lambda: RttCode(k=0.0), "k must lie in (0, inf), got 0.0"),
        (lambda: RttCode(k=[1.0, 2.0]), "k must be one number"),  # type: ignore[arg-type]
        (lambda: RttCode(top=2.5), "top must be a whole number"),  # type: ignore[arg-type]
        (lambda: CODE.worst_jain(0), "flows must be at least 1, got 0"),
    ],
)
def test_bad_input(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(DomainError) as caught:
        make()
    assert words in str(caught.value)
