"""T-REFWA's recursion away from the fixed point, mixes of delays, and trajectories against plain loops."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.models import (
    TRefwaDelayed,
    TRefwaIntegrating,
    TRefwaIntegratingDelayed,
    TRefwaIntegratingSemiImplicit,
    TRefwaMeasuredRtt,
    TRefwaMixed,
    TRefwaWindow,
)
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.trajectories.maps import iterate

# ---------------------------------------------------------------- global behaviour of the window without delay


@given(st.integers(0, 2**40), st.integers(1, 2**12))
def test_two_cycle_from_every_start_inside(fraction: int, size: int) -> None:
    """e -> B/2 - e -> e on [0, B/2]; dyadic numbers, so that the cycle is exact in floats."""
    start = size / 2 * (fraction / 2**40)
    system = compile_system(TRefwaWindow(buffer=float(size)).map())
    once = iterate(system, np.array([[start]]), 1)
    twice = iterate(system, once, 1)
    assert once.item() == size / 2 - start
    assert twice.item() == start


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=50))
def test_every_other_start_ends_on_the_outer_cycle(starts: list[float]) -> None:
    """Outside [0, B/2] the deviation halves every two intervals: e = -x -> B/2 + x/2 -> -x/2."""
    outside = np.array([[s for s in starts if s < 0 or s > 0.5] or [0.75]])
    system = compile_system(TRefwaWindow(buffer=1.0).map())
    # 50 doublings start at most 60 halvings above the rounding of B.
    last = iterate(system, outside, 160)
    following = iterate(system, last, 1)
    pairs = np.sort(np.concatenate([last, following]), axis=0)
    assert np.abs(pairs - [[0.0], [0.5]]).max() < 1e-15


def test_inside_the_region_every_start_converges() -> None:
    """The map's two slopes, 1 - phi and 1 - phi - psi, are both less than one in size: a contraction."""
    rng = np.random.default_rng(8)
    f, start = rng.uniform(0.02, 1.95, 2000), rng.uniform(-50, 50, 2000)
    p = rng.uniform(0, 1, 2000) * (1.98 - f)
    system = compile_system(TRefwaWindow(*(xr.DataArray(x, dims="point") for x in (f, p)), buffer=1.0).map())
    slope = np.maximum(np.abs(1 - f), np.abs(1 - f - p)).max()
    e = iterate(system, start[None], int(np.log(1e-14) / np.log(slope)))[0]
    assert e == pytest.approx(p / (f + p), abs=1e-10)


def test_the_cut_full_buffer_of_the_measured_rtt() -> None:
    """Two one-sided multipliers, 1 - psi below and 1 - phi above: the condition against iteration."""
    rng = np.random.default_rng(3)
    f, p = rng.uniform(0.05, 4, (2, 2000))
    model = TRefwaMeasuredRtt(xr.DataArray(f, dims="point"), xr.DataArray(p, dims="point"), buffer=1.0)
    margin = model.cut_margin().values
    system = compile_system(model.cut_map())
    moved = [np.abs(iterate(system, np.full((1, 2000), 1 + s), 40)[0] - 1) for s in (1e-6, -1e-6)]
    grown = np.maximum(*moved)
    sure = np.abs(margin) > 0.05
    assert sure.mean() > 0.9
    assert ((grown < 1e-6) == (margin > 0))[sure].all()


# ---------------------------------------------------------------- delay mixes

MIX = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=5)


def mix_radius(f: float, p: float, mix: list[tuple[int, int]]) -> float:
    c = np.zeros(max(d for d, _ in mix) + 2)
    c[0] = 1
    c[1] += f - 1
    for d, weight in mix:
        c[d + 1] += p * weight / sum(w for _, w in mix)
    return float(np.abs(np.roots(c)).max())


@given(st.floats(0.01, 1.99), st.floats(0.001, 0.999), MIX)
def test_no_mix_is_unstable_inside(f: float, share: float, mix: list[tuple[int, int]]) -> None:
    p = share * (1 - abs(1 - f))
    assert TRefwaWindow(f, p).any_delay_margin() > 0
    assert mix_radius(f, p, mix) < 1
    shares = tuple(w / sum(w for _, w in mix) for _, w in mix)
    assert TRefwaMixed(f, p, delays=tuple(d for d, _ in mix), fractions=shares).stability_margin() > 0


@given(st.floats(0.05, 3), st.floats(0.02, 1))
def test_outside_some_delay_is_unstable(f: float, beyond: float) -> None:
    """phi >= 1: no delay at all; phi < 1: one that is long enough."""
    p = max(0.0, 1 - abs(1 - f)) + beyond
    worst = min(TRefwaDelayed(f, p, delay=np.arange(0, 200)).stability_margin().values)
    assert worst < 0


@given(MIX)
def test_published_gains_have_the_root_minus_one_iff_all_delays_are_even(mix: list[tuple[int, int]]) -> None:
    even = all(d % 2 == 0 for d, _ in mix)
    total = sum(Fraction(w) for _, w in mix)
    value = -1 - Fraction(-1, 2) + Fraction(1, 2) * sum((-1) ** d * Fraction(w) / total for d, w in mix)
    assert (value == 0) == even
    size = mix_radius(1.5, 0.5, mix)
    assert size == pytest.approx(1, abs=1e-7) if even else size < 1


@given(st.floats(0.02, 0.98), MIX)
def test_the_boundary_below_phi_one_is_stable_for_every_mix(f: float, mix: list[tuple[int, int]]) -> None:
    """psi = phi < 1 has |1 - phi| + psi = 1 and yet no root on the circle: p(z) = 0 there would need z = 1."""
    assert mix_radius(f, f, mix) < 1
    long = TRefwaDelayed(f, f, delay=[10, 100, 1000]).critical_psi().values
    assert (long > f).all() and (np.diff(long) < 0).all()  # but not uniformly: the bound comes down to psi


# ---------------------------------------------------------------- trajectories against plain loops


def clip(x: float, high: float) -> float:
    return max(0.0, min(x, high))


def test_delayed_trajectory() -> None:
    f, p, b, d = 1.4, 0.8, 50.0, 3
    e = [-190.0] * (d + 1)
    for _ in range(40):
        e.append((1 - f) * e[-1] + p * (b - clip(e[-1 - d], b)))
    system = compile_system(TRefwaDelayed(f, p, buffer=b, delay=d).map())
    assert iterate(system, system.start_values(), 40).item() == pytest.approx(e[-1], rel=1e-12)


def test_mixed_trajectory() -> None:
    f, p, b, mix = 1.4, 0.8, 50.0, {0: 0.5, 2: 0.25, 5: 0.25}
    e = [-190.0] * 6
    for _ in range(40):
        queue = clip(sum(s * e[-1 - d] for d, s in mix.items()), b)
        e.append((1 - f) * e[-1] + p * (b - queue))
    model = TRefwaMixed(f, p, buffer=b, delays=(0, 2, 5), fractions=(0.5, 0.25, 0.25))
    system = compile_system(model.map())
    assert iterate(system, system.start_values(), 40).item() == pytest.approx(e[-1], rel=1e-12)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("reading", ["I0", "I0s", "I1"])
def test_integrating_trajectory(reading: str, cut: bool) -> None:
    f, p, b = 1.2, 0.6, 50.0
    e, q, late = -190.0, 0.0, -190.0
    for _ in range(25):
        following = (1 - f) * e + p * (b - q)
        q = max(q + {"I0": e, "I0s": following, "I1": late}[reading], 0.0)
        q = min(q, b) if cut else q
        e, late = following, e
    model: Any = {"I0": TRefwaIntegrating, "I0s": TRefwaIntegratingSemiImplicit, "I1": TRefwaIntegratingDelayed}[
        reading
    ](f, p, buffer=b)
    system = compile_system(model.cut_map() if cut else model.map())
    states = iterate(system, system.start_values(), 25)
    assert states.ravel() == pytest.approx([e, q], rel=1e-12)
