"""Groups of flows and their windows: eq. (3), equal rates, what the code costs, the activity rule, Table II."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.models import RttCode, TRefwaBiased, TRefwaGroups, TRefwaMixed, TRefwaWindow, jain
from tcpdynamics.solvers.problems import DomainError

GROUP = st.tuples(st.integers(1, 60), st.floats(1.001e-3, 1.142))
GROUPS = st.lists(GROUP, min_size=1, max_size=8)


def made(groups: list[tuple[int, float]], code: RttCode | None = RttCode()) -> TRefwaGroups:  # noqa: B008
    return TRefwaGroups(tuple(n for n, _ in groups), tuple(r for _, r in groups), code)


def flows(groups: list[tuple[int, float]]) -> Any:
    return np.repeat([r for _, r in groups], [n for n, _ in groups])


@given(GROUPS, st.floats(0, 1e4), st.booleans())
def test_windows_add_up(groups: list[tuple[int, float]], aggregate: float, coded: bool) -> None:
    """sum n F = Upsilon, with F proportional to the round-trip time that the router sees."""
    g = made(groups, RttCode() if coded else None)
    windows = g.windows(aggregate)
    assert float(windows.values @ np.array(g.flows)) == pytest.approx(aggregate, rel=1e-12)
    if aggregate > 1e-300:
        share = windows.values / g.decoded_rtt().values
        assert share == pytest.approx(np.full(len(groups), share[0]), rel=1e-12)


@given(GROUPS, st.floats(1, 1e4))
def test_exact_round_trip_times_give_equal_rates(groups: list[tuple[int, float]], aggregate: float) -> None:
    """Rates are equal, not "in proportion with their RTTs": windows are."""
    g = made(groups, None)
    rates = g.rates(aggregate).values
    assert rates == pytest.approx(np.full(len(groups), rates[0]), rel=1e-12)
    assert g.fairness() == pytest.approx(1, abs=1e-12)
    assert g.average_error() == pytest.approx(0, abs=1e-12)


@given(GROUPS)
def test_the_code_costs_little(groups: list[tuple[int, float]]) -> None:
    """Shares err by the code's bounds relative to the mean, fairness stays above its worst case."""
    g, code = made(groups), RttCode()
    each = code.decode(code.encode(flows(groups))) / flows(groups)
    assert g.fairness() == pytest.approx(jain(each), rel=1e-12)
    assert g.fairness() >= code.worst_jain(sum(g.flows)) - 1e-12
    least, most = code.error_bounds()
    errors = g.share_error().values
    assert errors.max() <= (1 + most) / (1 + least) - 1 + 1e-12
    assert errors.min() >= (1 + least) / (1 + most) - 1 - 1e-12
    assert float(errors @ np.array(g.flows)) == pytest.approx(0, abs=1e-9 * sum(g.flows))
    assert least - 1e-12 <= g.average_error() <= most + 1e-12
    assert g.average_rtt() == pytest.approx(flows(groups).mean(), rel=1e-12)


def test_the_error_of_the_mean_moves_the_queue() -> None:
    """What the code does to RTT_avg is the `rtt_error` of the biased recursion."""
    g = TRefwaGroups(flows=(4, 4), rtt=(0.0204, 0.2301))
    shift = TRefwaBiased(bdp=100.0, buffer=100.0, rtt_error=g.average_error()).equilibrium()["Q"]
    plain = TRefwaWindow(bdp=100.0, buffer=100.0).equilibrium()["Q"]
    assert shift - plain == pytest.approx(1.5 * g.average_error() * 100 / 2, rel=1e-12)
    assert abs(shift - plain) > 0.1


@given(GROUPS, st.floats(0, 0.5))
def test_counting_flows(groups: list[tuple[int, float]], burst: float) -> None:
    """Flows with more than the mean round-trip time are counted only part of the time, so windows are too large."""
    g = made(groups, None)
    counted = g.counted(burst).values
    rtt = np.array(g.rtt)
    assert (counted == np.minimum(1, (g.average_rtt() + burst) / rtt)).all()
    assert ((counted == 1) == (rtt <= g.average_rtt() + burst)).all()
    total = float(g.windows(100.0, burst=burst).values @ np.array(g.flows))
    assert total == pytest.approx(100 * g.over_allocation(burst), rel=1e-12)
    assert g.over_allocation(burst) >= 1 - 1e-12


def test_counting_by_simulation() -> None:
    """A flow that sends for `burst` seconds in each RTT, seen at random times."""
    g = TRefwaGroups(flows=(9, 1), rtt=(0.05, 0.4), code=None)
    burst, n = 0.02, 200_000
    phase = np.random.default_rng(1).uniform(0, 0.4, n)
    idle = np.maximum(phase - burst, 0)
    seen = (idle < g.average_rtt()).mean()
    expected = float(g.counted(burst)[1])
    assert seen == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / n))


def test_mix() -> None:
    delays, shares = TRefwaGroups(flows=(4, 4, 0), rtt=(0.05, 0.35, 3.0), code=None).mix()
    assert delays == (0, 2) and shares == pytest.approx((0.125, 0.875))
    assert TRefwaMixed(delays=delays, fractions=shares).stability_margin() == pytest.approx(0, abs=1e-12)


def test_labels() -> None:
    g = TRefwaGroups(flows=(1, 2), rtt=(0.1, 0.2))
    assert g.codes().values.tolist() == [41, 48]
    for array, unit in ((g.windows(10.0), "packet"), (g.rates(10.0), "packet/s"), (g.decoded_rtt(), "s")):
        assert array.dims == ("group",) and array.attrs["units"] == unit and array.attrs["long_name"]
        assert array.rtt.values.tolist() == [0.1, 0.2]


def test_buffers_of_table_ii() -> None:
    """Bw RTT in packets of 1000 bytes: one RTT of 9.77 ms gives all four buffers, rounded to tens."""
    links = {"T3": (44e6, 50), "OC3": (155e6, 190), "OC12": (622e6, 760), "OC48": (2400e6, 2930)}
    needed = {name: rate * 9.77e-3 / 8000 for name, (rate, _) in links.items()}
    assert needed["T3"] == pytest.approx(53.7, abs=0.05)
    for name, (_, printed) in links.items():
        assert round(needed[name], -1) == printed
    # The round-trip times for which that holds: an interval of 34 microseconds.
    ends = [[8000 * (buffer + side) / rate for rate, buffer in links.values()] for side in (-5, 5)]
    assert (max(ends[0]), min(ends[1])) == pytest.approx((9.75e-3, 9.78333e-3), abs=1e-7)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: TRefwaGroups((1,), (0.1, 0.2)), "flows and rtt must be as many, got 1 and 2"),
        (lambda: TRefwaGroups((-1, 2), (0.1, 0.2)), "flows must be whole numbers >= 0, got -1"),
        (lambda: TRefwaGroups((0, 0), (0.1, 0.2)), "flows must hold at least one flow"),
        (lambda: TRefwaGroups((1,), (0.0,)), "rtt must be a finite number > 0 in s, got 0.0"),
        (lambda: TRefwaGroups((1,), (0.1,)).windows(-1.0), "aggregate must be a finite number >= 0"),
        (lambda: TRefwaGroups((1,), (0.1,)).counted(-1.0), "burst must be a finite number >= 0 in s"),
        (lambda: TRefwaGroups((1,), (0.1,), None).codes(), "code must be an RttCode"),
    ],
)
def test_bad_input(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(DomainError) as caught:
        make()
    assert words in str(caught.value)
