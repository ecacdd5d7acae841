"""Throughput laws and the parameters that they are built on: tables, exact references, limits, errors."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pint
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.models.parameters import as_parameter, broadcast, check_parameters, describe, interval, parameter
from tcpdynamics.models.throughput_laws import (
    PftkApproximate,
    PftkFull,
    SquareRoot,
    Tfrc,
    timeout_chance,
    timeout_sequence,
)
from tcpdynamics.solvers.problems import DomainError

LAWS = [
    lambda p, **kw: SquareRoot(p, 0.1, **kw),
    lambda p, **kw: PftkFull(p, 0.1, 0.4, **kw),
    lambda p, **kw: PftkFull(p, 0.1, 0.4, window_limit=20, **kw),
    lambda p, **kw: PftkApproximate(p, 0.1, 0.4, **kw),
    lambda p, **kw: PftkApproximate(p, 0.1, 0.4, window_limit=20, **kw),
    lambda p, **kw: Tfrc(p, 0.1, **kw),
]
NAMES = ["square root", "full", "full limited", "approximate", "approximate limited", "tfrc"]
every_law = pytest.mark.parametrize("law", LAWS, ids=NAMES)


# ---------------------------------------------------------------- known answers

# p, full (b = 1, T0 = 2 RTT, W_m = 6), approximate (b = 1, T0 = 2 RTT), TFRC (T0 = 4 RTT), square root
TABLE = """
0.05 3.5314 4.4065 3.6859 5.4772
0.10 2.6364 2.4297 1.7701 3.8730
0.15 1.9977 1.4633 0.9519 3.1623
0.20 1.5460 0.8973 0.5366 2.7386
0.25 1.2271 0.5599 0.3161 2.4495
0.30 0.9772 0.3603 0.1948 2.2361
0.35 0.7686 0.2546 0.1255 2.0702
0.40 0.5909 0.1848 0.0841 1.9365
0.45 0.4415 0.1374 0.0583 1.8257
"""
ROWS = [tuple(map(float, line.split())) for line in TABLE.split("\n") if line]


# At p = 0.1 the mean window is 6, the limit itself, where the full model jumps by 4 %: the limited branch.
@pytest.mark.parametrize("p, full, approximate, tfrc, root", ROWS)
def test_table(p: float, full: float, approximate: float, tfrc: float, root: float) -> None:
    half = 0.5e-4 * (1 + 1e-9)  # the table has four decimals
    assert PftkFull(p, 1.0, 2.0, b=1, window_limit=6).throughput() == pytest.approx(full, abs=half)
    assert PftkApproximate(p, 1.0, 2.0, b=1).throughput() == pytest.approx(approximate, abs=half)
    assert Tfrc(p, 1.0).throughput() == pytest.approx(tfrc, abs=half)
    assert SquareRoot(p).throughput() == pytest.approx(root, abs=half)


def test_constant_of_mathis() -> None:
    """C = sqrt(3/2) = 1.22 with an ACK per packet, 0.87 with delayed ACKs."""
    assert SquareRoot(0.01).throughput() / 10 == pytest.approx(1.2247, abs=5e-5)
    assert SquareRoot(0.01, b=2).throughput() / 10 == pytest.approx(0.8660, abs=5e-5)


def test_lost_acks_act_through_b() -> None:
    """ACKs lost with probability a leave b/(1-a) packets for each that arrives: throughput ~ sqrt(1-a)."""
    bare, lossy = (SquareRoot(0.02, 0.073, b=b).throughput() for b in (1, 1 / (1 - 0.1)))
    assert lossy / bare == pytest.approx(math.sqrt(0.9), rel=1e-14)


# ---------------------------------------------------------------- independent references


def exact_full(p: float, rtt: float, t0: float, b: float, limit: float) -> float:
    """The published formulas in 60 digits, written from the paper's intermediate quantities."""
    with mpmath.workdps(60):
        p, rtt, t0, b = (mpmath.mpf(v) for v in (p, rtt, t0, b))
        q = 1 - p
        # E[W] solves (1-p)/p + W = (3b/8) W^2 + (2-b)/4 W: the packets of one period, counted in two ways.
        a2, a1, a0 = 3 * b / 8, (2 - b) / 4 - 1, -q / p
        w = (-a1 + mpmath.sqrt(a1**2 - 4 * a2 * a0)) / (2 * a2)
        bounded = w >= limit
        w = mpmath.mpf(limit) if bounded else w
        rounds = b / 8 * w + q / (p * w) + 1 if bounded else b / 2 * w
        chance = min(mpmath.mpf(1), (1 - q**3) * (1 + q**3 * (1 - q ** (w - 3))) / (1 - q**w))
        # After six doublings each further timeout lasts 64 T0.
        outage = sum((2**k - 1) * p ** (k - 1) * q for k in range(1, 7)) + p**6 * (63 + 64 / q)
        packets = q / p + w + chance / q
        return float(packets / (rtt * (rounds + 1) + chance * t0 * outage))


@pytest.mark.parametrize("p", [1e-12, 1e-9, 1e-6, 1e-3, 0.03, 0.11, 0.3, 0.5, 0.9, 0.999999, 1 - 1e-12])
@pytest.mark.parametrize("b", [1, 2, 2.5])
@pytest.mark.parametrize("limit", [1, 2.5, 3, 6, 1000, math.inf])
def test_full_model_to_thirteen_digits(p: float, b: float, limit: float) -> None:
    value = PftkFull(p, 0.1, 0.25, b=b, window_limit=limit).throughput()
    assert value == pytest.approx(exact_full(p, 0.1, 0.25, b, limit), rel=1e-13)


@pytest.mark.parametrize("p", [1e-12, 1e-6, 1e-3, 0.1, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("b", [1, 2])
def test_short_laws_to_thirteen_digits(p: float, b: float) -> None:
    with mpmath.workdps(60):
        m = mpmath.mpf(p)
        root = mpmath.sqrt(2 * b * m / 3)
        chance = 3 * mpmath.sqrt(3 * b * m / 8)
        polynomial = m * (1 + 32 * m**2)
        square_root = float(1 / (mpmath.mpf(0.1) * root))
        approximate = float(1 / (mpmath.mpf(0.1) * root + mpmath.mpf(0.25) * min(1, chance) * polynomial))
        tfrc = float(1 / (mpmath.mpf(0.1) * (root + 4 * chance * polynomial)))
    assert SquareRoot(p, 0.1, b).throughput() == pytest.approx(square_root, rel=1e-13)
    assert PftkApproximate(p, 0.1, 0.25, b).throughput() == pytest.approx(approximate, rel=1e-13)
    assert Tfrc(p, 0.1, b=b).throughput() == pytest.approx(tfrc, rel=1e-13)


@pytest.mark.parametrize("w", range(1, 13))
@pytest.mark.parametrize("p", [Fraction(1, 10**12), Fraction(1, 100), Fraction(2, 5), Fraction(99, 100)])
def test_timeout_chance_is_the_sum_that_it_closes(w: int, p: Fraction) -> None:
    """Q-hat(w): k of w packets are ACKed before the loss, then fewer than three of the k sent next arrive."""
    q = 1 - p
    first = [q**k * p / (1 - q**w) for k in range(w)]

    def fewer_than_three(k: int) -> Fraction:
        return Fraction(1) if k < 3 else sum((q**m * p for m in range(3)), Fraction(0))

    exact = sum(first[k] * fewer_than_three(k) for k in range(w))
    assert float(timeout_chance(float(p), w)) == pytest.approx(float(exact), rel=1e-13)


def test_timeout_chance_below_three_packets_and_far_above() -> None:
    assert np.all(timeout_chance(np.array([1e-15, 0.3, 1 - 1e-15]), np.array([[0.5], [2.9], [3.0]])) == 1)
    w = 1e4
    assert float(timeout_chance(1e-12, w)) == pytest.approx(3 / w, rel=1e-3)


def test_timeout_sequence_is_the_mean_outage() -> None:
    """SymPy: the mean of a sequence of doubling timeouts, at most 64 T0 each, is T0 f(p)/(1-p)."""
    p = sympy.Symbol("p", positive=True)
    k = sympy.Symbol("k", integer=True, positive=True)
    short = sum((2**j - 1) * p ** (j - 1) * (1 - p) for j in range(1, 7))
    # sum over k >= 1 of p^(5+k) (1-p) (63 + 64 k), from the geometric series and its derivative
    series = sympy.summation(p**k, (k, 1, sympy.oo)).args[0][0]
    long = p**5 * (1 - p) * (63 * series + 64 * p * sympy.diff(series, p))
    f = sum(c * p**i for i, c in enumerate([1, 1, 2, 4, 8, 16, 32]))
    assert sympy.simplify(short + long - f / (1 - p)) == 0
    assert sympy.expand(timeout_sequence(p) - f) == 0


def test_window_formula_solves_the_balance_of_packets() -> None:
    """SymPy: E[W] of the full model solves (1-p)/p + W = X/2 (W/2 + W - 1) + W/2 with X = bW/2."""
    p, b = sympy.symbols("p b", positive=True)
    mean = (2 + b) / (3 * b)
    w = mean + sympy.sqrt(8 * (1 - p) / (3 * b * p) + mean**2)
    rounds = b * w / 2
    balance = (1 - p) / p + w - rounds / 2 * (w / 2 + w - 1) - w / 2
    assert sympy.simplify(sympy.expand(balance)) == 0


# ---------------------------------------------------------------- limits and monotonicity


@pytest.mark.parametrize("b, coefficient", [(1, -1 / math.sqrt(24)), (2, -1 / math.sqrt(12))])
def test_full_model_tends_to_the_square_root_law(b: float, coefficient: float) -> None:
    """The relative gap is c sqrt(p) + O(p), with c = sqrt(8/(3b)) - (8+b)/(3b) sqrt(3b/8)."""
    assert coefficient == pytest.approx(math.sqrt(8 / (3 * b)) - (8 + b) / (3 * b) * math.sqrt(3 * b / 8))
    p = np.array([1e-6, 1e-8, 1e-10])
    gap = PftkFull(p, 0.1, 0.2, b=b).throughput() / SquareRoot(p, 0.1, b=b).throughput() - 1
    remainder = np.abs(gap.values / np.sqrt(p) - coefficient)
    assert np.all(remainder < 10 * np.sqrt(p))


def test_approximate_model_tends_to_it_at_first_order() -> None:
    """The relative gap is -(9/4) p T0/RTT for every b: 3 sqrt(3b/8) / sqrt(2b/3) = 9/4."""
    p = 1e-6
    for b in (1, 2):
        gap = PftkApproximate(p, 0.1, 0.3, b=b).throughput() / SquareRoot(p, 0.1, b=b).throughput() - 1
        assert gap == pytest.approx(-2.25 * p * 3, rel=1e-3)


@every_law
@given(p=st.floats(1e-12, 0.999), factor=st.floats(1.001, 10))
def test_more_loss_less_throughput(law: Any, p: float, factor: float) -> None:
    worse = min(p * factor, 1 - 1e-9)
    # b = 2 makes the full model continuous where the window meets its limit
    assert law(worse, b=2).throughput() <= law(p, b=2).throughput() * (1 + 1e-12)


def test_the_full_model_jumps_where_the_window_meets_its_limit() -> None:
    """A flaw of the published formula, kept: the branches differ by (2 - b)/4 round trips."""
    limit, rtt = 20.0, 0.1
    for b in (1, 1.5, 2):
        mean = (2 + b) / (3 * b)  # E[W] = W_m at the loss below
        p = 1 / (1 + 3 * b / 8 * ((limit - mean) ** 2 - mean**2))
        below, above = (PftkFull(p * (1 + s), rtt, 1e-9, b, limit).throughput() for s in (-1e-9, 1e-9))
        packets = (1 - p) / p + limit + timeout_chance(p, limit) / (1 - p)
        assert packets / below - packets / above == pytest.approx(rtt * (2 - b) / 4, abs=1e-6 * rtt)


@every_law
@pytest.mark.filterwarnings("ignore::tcpdynamics.errors.UnusualValueWarning")
@given(p=st.floats(1e-9, 0.9), scale=st.floats(1e-3, 1e3))
def test_time_scales_out(law: Any, p: float, scale: float) -> None:
    model = law(p)
    times = {name: scale * getattr(model, name) for name in ("rtt", "timeout") if getattr(model, name, None)}
    scaled = type(model)(**{**vars(model), **times})
    assert scaled.throughput() * scale == pytest.approx(model.throughput(), rel=1e-12)


def test_limits_on_the_window_and_the_timer() -> None:
    assert PftkApproximate(1e-9, 0.1, 1.0, window_limit=8).throughput() == pytest.approx(80)
    assert PftkFull(1e-9, 0.1, 1.0, window_limit=8).throughput() == pytest.approx(80, rel=1e-6)
    assert Tfrc(0.1, 0.2).throughput() == Tfrc(0.1, 0.2, timeout=0.8).throughput()
    # TFRC has no min(1, .): equal to the approximate model up to p = 8/27, below it from there
    low, high = 8 / 27 * 0.999, 8 / 27 * 1.01
    assert Tfrc(low, 1.0, 2.0).throughput() == pytest.approx(PftkApproximate(low, 1.0, 2.0, b=1).throughput())
    assert Tfrc(high, 1.0, 2.0).throughput() < PftkApproximate(high, 1.0, 2.0, b=1).throughput()


# ---------------------------------------------------------------- arrays, labels, quantities


@every_law
def test_arrays_equal_scalars(law: Any) -> None:
    p = np.array([1e-12, 1e-3, 0.1, 0.3, 0.9])
    swept = law(p).throughput()
    assert swept.dims == ("loss",) and np.array_equal(swept.loss, p)
    assert swept.attrs == {"units": "packet/s", "long_name": "throughput"} and swept.name == "throughput"
    assert swept.loss.attrs["units"] == "1"
    assert swept.values == pytest.approx([law(float(v)).throughput() for v in p], rel=1e-15)
    assert isinstance(law(0.1).throughput(), float)


def test_several_arrays_span_a_grid() -> None:
    grid = PftkFull([0.01, 0.1], 0.1, [0.2, 0.4, 1.0], window_limit=[4, 40]).throughput()
    assert dict(grid.sizes) == {"loss": 2, "timeout": 3, "window_limit": 2}
    point = grid.sel(loss=0.1, timeout=0.4, window_limit=4).item()
    assert point == pytest.approx(PftkFull(0.1, 0.1, 0.4, window_limit=4).throughput(), rel=1e-15)


def test_data_arrays_bring_their_own_dimension() -> None:
    flow = {"flow": ["a", "b"]}
    loss = xr.DataArray([0.01, 0.1], flow, name="p")
    rtt = xr.DataArray([0.1, 0.2], flow, attrs={"units": "s"})
    paired = SquareRoot(loss, rtt).throughput()
    assert paired.dims == ("flow",)
    assert paired.sel(flow="b").item() == SquareRoot(0.1, 0.2).throughput()
    with pytest.raises(DomainError, match="label a dimension differently"):
        SquareRoot(loss, rtt.assign_coords(flow=["a", "c"])).throughput()
    with pytest.raises(DomainError, match=r"rtt must be in units 's', got a DataArray in 'ms'; convert it"):
        SquareRoot(loss, rtt.assign_attrs(units="ms"))


@pytest.fixture(scope="module")
def ureg() -> pint.UnitRegistry:
    registry: pint.UnitRegistry = pint.UnitRegistry()
    registry.define("packet = [packet]")
    return registry


@every_law
def test_dimensions(law: Any, ureg: pint.UnitRegistry) -> None:
    """Quantities in mixed units give the same number, as packets per second."""
    plain = law(0.03)
    units = {"loss": 3 * ureg.percent, "rtt": 100 * ureg.ms}
    if getattr(plain, "timeout", None):
        units["timeout"] = 400 * ureg.ms
    if getattr(plain, "window_limit", math.inf) < math.inf:
        units["window_limit"] = 20 * ureg.packet
    result = type(plain)(**{**vars(plain), **units}).throughput()
    assert result.check("[packet]/[time]")
    assert result.to("packet/minute").magnitude == pytest.approx(60 * plain.throughput(), rel=1e-12)


def test_quantities_are_checked_and_swept_in_si(ureg: pint.UnitRegistry) -> None:
    with pytest.raises(DomainError, match=r"rtt must be a quantity in s, got 100 meter"):
        SquareRoot(0.1, 100 * ureg.m)
    with pytest.raises(DomainError, match=r"loss must lie in \(0, 1\), got 1.2"):
        SquareRoot(120 * ureg.percent)
    swept = SquareRoot([0.01, 0.1], np.array([100.0, 200.0]) * ureg.ms).throughput()
    assert swept.rtt.values.tolist() == [0.1, 0.2]
    assert SquareRoot(0.1, [100.0, 200.0] * ureg.ms).throughput().sizes == {"rtt": 2}


# ---------------------------------------------------------------- parameters


@pytest.mark.parametrize(
    "loss, message",
    [
        (0, r"loss must lie in \(0, 1\), got 0; the end itself is excluded"),
        (1.0, r"loss must lie in \(0, 1\), got 1\.0; the end itself is excluded"),
        (1.7, r"loss must lie in \(0, 1\), got 1\.7; a percentage\? divide by 100"),
        (-0.1, r"got -0\.1; give a value inside"),
        (math.nan, r"got nan; drop or mask the missing values"),
        (math.inf, r"got inf; give a finite value"),
        ([0.1, 5.0, 7.0], r"got 5\.0 at index 1; a percentage\?"),
        (xr.DataArray([[0.1, 0.2], [0.3, math.nan]]), r"got nan at index \(1, 1\); drop or mask"),
        ("abc", r"loss must be a number or a 1-D array of numbers, got 'abc'"),
        (True, r"loss must be a number .* got True"),
        ([0.1, False], r"loss must be a number .* got \[0\.1, False\]"),
        (None, r"loss must be a number .* got None"),
        (0.1 + 0.2j, r"loss must be a number"),
        ([[0.1], [0.1, 0.2]], r"loss must be a number"),
        ([], r"loss must hold at least one value, got an empty array"),
        (np.full((2, 2), 0.1), r"got shape \(2, 2\); name its dimensions with an xarray\.DataArray"),
    ],
)
def test_domain_errors(loss: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        SquareRoot(loss)


def test_domain_errors_of_times_and_windows() -> None:
    with pytest.raises(DomainError, match=r"rtt must lie in \(0, inf\), got -0\.1; give a value in s"):
        PftkFull(0.1, -0.1, 1.0)
    with pytest.raises(DomainError, match=r"timeout must lie in \(0, inf\), got inf; give a finite value"):
        Tfrc(0.1, 0.1, math.inf)
    with pytest.raises(DomainError, match=r"window_limit must lie in \[1, inf\], got 0\.5"):
        PftkFull(0.1, 0.1, 1.0, window_limit=0.5)
    with pytest.raises(DomainError, match=r"b must lie in \[1, inf\), got 0;"):
        SquareRoot(0.1, b=0)


@pytest.mark.parametrize("loss", [Fraction(1, 10), np.float32(0.1), np.array(0.1), xr.DataArray(0.1), 0.1])
def test_what_counts_as_a_number(loss: Any) -> None:
    assert float(SquareRoot(loss).throughput()) == pytest.approx(math.sqrt(15), rel=1e-7)


@dataclass(frozen=True)
class Queue:
    size: int = parameter("B", "packet", "buffer", low=1, low_open=False, integer=True, source="a book")
    load: float = parameter(r"\rho", "1", "load", low=0, high=1, high_open=False, default=0.5)
    label: str = ""

    def __post_init__(self) -> None:
        check_parameters(self)


def test_whole_numbers() -> None:
    assert broadcast(Queue(4)) == {"size": 4, "load": 0.5}
    assert isinstance(broadcast(Queue(4.0))["size"], int)
    with pytest.raises(DomainError, match=r"size must be a whole number in \[1, inf\), got 2\.5; round it"):
        Queue(2.5)
    with pytest.raises(TypeError, match="size"):
        Queue()


def test_symbols_pass() -> None:
    p = sympy.Symbol("p")
    assert broadcast(Queue(3, load=2 * p))["load"] == 2 * p


def test_description() -> None:
    size, load = describe(Queue)
    assert size == {
        "name": "size",
        "symbol": "B",
        "unit": "packet",
        "meaning": "buffer",
        "low": 1,
        "high": None,
        "low_open": False,
        "high_open": True,
        "source": "a book",
        "note": "",
        "advice": "",
        "integer": True,
        "structural": False,
        "default": None,
        "required": True,
        "interval": "[1, inf)",
    }
    assert load["default"] == 0.5 and not load["required"] and load["interval"] == "(0, 1]"
    assert interval({"low": None, "high": 2, "low_open": True, "high_open": False}) == "(-inf, 2]"


def test_every_parameter_of_every_law_is_documented() -> None:
    for law in (SquareRoot, PftkFull, PftkApproximate, Tfrc):
        for entry in describe(law):
            assert entry["meaning"] and entry["symbol"] and entry["unit"] and entry["source"]


def test_labelling() -> None:
    scalar, vector = (as_parameter("rtt", v, "s", "round-trip time") for v in (0.1, (0.1, 0.2)))
    assert scalar.dims == () and vector.dims == ("rtt",) and vector.rtt.values.tolist() == [0.1, 0.2]
    path = xr.DataArray([1.0], dims="path", attrs={"long_name": "RTT"})
    own = as_parameter("rtt", path, "s", "round-trip time")
    assert own.name == "rtt" and own.dims == ("path",) and own.attrs == {"units": "s", "long_name": "RTT"}


def test_light_import() -> None:
    heavy = "sympy jax numba dash pint"
    code = (
        "import sys, tcpdynamics.models.throughput_laws, tcpdynamics.models.fairness; "
        f"print([m for m in '{heavy}'.split() if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
