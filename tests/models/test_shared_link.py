"""Loss that is consistent with what N flows send: tables, scaling, monotony and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import UnusualValueWarning
from tcpdynamics.models.sub_packet.exact import SubPacketExact
from tcpdynamics.models.sub_packet.shared_link import SharedLink
from tcpdynamics.solvers import DomainError, self_consistent, stationary, windowed
from tcpdynamics.solvers.results import failures

HALF_DIGIT = 0.5000001e-4


def link(share: Any, **more: Any) -> SharedLink:
    """A link with so many packets in pipe and buffer per flow: 40 in the pipe, 24 in the buffer."""
    flows = 64 / np.asarray(share, dtype=float)
    return SharedLink(flows=flows, capacity=1.6e6, base_rtt=0.1, buffer=24, **more)


# phi, p, idle fraction, P(nothing delivered in 50 epochs), Jain over 50 epochs (K = 5)
EQUAL = """
3 0.0735 0.1566 0.0011 0.9453
2 0.1101 0.2980 0.0092 0.8781
1.5 0.1348 0.4011 0.0238 0.8129
1 0.1679 0.5349 0.0584 0.7080
0.75 0.1906 0.6166 0.0914 0.6326
0.5 0.2224 0.7114 0.1458 0.5336
0.25 0.2789 0.8250 0.2493 0.3958
0.125 0.3417 0.8939 0.3561 0.2987
0.0625 0.4149 0.9344 0.4624 0.2350
"""
# phi, p_r/p, p, overall loss, idle fraction, Jain, P(nothing)
UNEQUAL = """
2 1 0.1101 0.1101 0.2980 0.8781 0.0092
2 0 0.1252 0.1175 0.2591 0.9181 0.0014
2 2 0.0977 0.1028 0.3335 0.8361 0.0253
2 3 0.0876 0.0959 0.3645 0.7958 0.0476
1 1 0.1679 0.1679 0.5349 0.7080 0.0584
1 0 0.2103 0.1850 0.4875 0.7867 0.0157
1 2 0.1393 0.1527 0.5735 0.6397 0.1123
1 3 0.1191 0.1396 0.6044 0.5830 0.1670
0.5 1 0.2224 0.2224 0.7114 0.5336 0.1458
0.5 0 0.2939 0.2439 0.6798 0.6145 0.0505
0.5 2 0.1770 0.2024 0.7389 0.4648 0.2351
0.5 3 0.1470 0.1850 0.7610 0.4102 0.3117
0.125 1 0.3417 0.3417 0.8939 0.2987 0.3561
0.125 0 0.4752 0.3573 0.8877 0.3689 0.1380
0.125 2 0.2550 0.3218 0.9026 0.2422 0.4914
0.125 3 0.2018 0.3013 0.9109 0.2006 0.5812
"""
# phi, p, overall loss, idle fraction, Jain, P(nothing): the first loss of a window takes the rest of it
SUFFIX = """
2 0.0774 0.1787 0.2606 0.9189 0.0022
1 0.1412 0.2589 0.4798 0.7829 0.0327
0.5 0.2013 0.3149 0.6724 0.6008 0.1125
0.125 0.3258 0.4104 0.8823 0.3324 0.3312
"""


def numbers(text: str) -> np.ndarray:
    return np.array([[float(x) for x in row.split()] for row in text.split("\n") if row])


def test_equal_losses_as_printed() -> None:
    table = numbers(EQUAL)
    solved = self_consistent(link(table[:, 0], backoff_cap=5).balance(), window=50)
    assert solved.share.values == pytest.approx(table[:, 0])
    for name, column in (("root", 1), ("idle", 2), ("nothing", 3), ("jain", 4)):
        assert solved[name].values == pytest.approx(table[:, column], abs=HALF_DIGIT), name
    assert solved.reward.values == pytest.approx(table[:, 0], rel=1e-12)


@pytest.mark.parametrize("ratio", [0, 1, 2, 3])
def test_retransmissions_lost_less_or_more_often_as_printed(ratio: int) -> None:
    table = numbers(UNEQUAL)
    table = table[table[:, 1] == ratio]
    solved = self_consistent(link(table[:, 0], backoff_cap=5, retransmission_ratio=ratio).balance(), window=50)
    for name, column in (("root", 2), ("idle", 4), ("jain", 5), ("nothing", 6)):
        assert solved[name].values == pytest.approx(table[:, column], abs=HALF_DIGIT), name
    for p, overall in zip(solved.root.values, table[:, 3], strict=True):
        flow = SubPacketExact(loss=p, backoff_cap=5, retransmission_loss=ratio * p)
        seen = flow.observe(stationary(flow.chain()))
        lost = 1 - seen.goodput / (seen.packets_per_rtt + seen.fast_retransmitted)
        assert lost.item() == pytest.approx(overall, abs=HALF_DIGIT)


def test_losses_that_take_a_suffix_of_the_window_as_printed() -> None:
    """The printed numbers have independent losses in the window of two after a timeout, and repair a last loss."""
    table = numbers(SUFFIX)
    solved = self_consistent(link(table[:, 0], backoff_cap=5, suffix_losses=True).balance(), window=50)
    for name, column in (("root", 1), ("idle", 3), ("jain", 4), ("nothing", 5)):
        assert solved[name].values == pytest.approx(table[:, column], abs=HALF_DIGIT), name
    flow = SubPacketExact(loss=solved.root.values, backoff_cap=5, suffix_losses=True)
    seen = flow.observe(stationary(flow.chain()))
    lost = 1 - seen.goodput / (seen.packets_per_rtt + seen.fast_retransmitted)
    assert lost.values == pytest.approx(table[:, 2], abs=HALF_DIGIT)


@pytest.mark.parametrize(("base", "expected"), [(3, 0.068), (5, 0.073)])
def test_locked_out_flows_at_larger_base_timeouts(base: int, expected: float) -> None:
    solved = self_consistent(link(1.0, backoff_cap=5, base_timeout=base).balance(), window=50)
    assert solved.nothing.item() == pytest.approx(expected, abs=5.001e-4)


@settings(max_examples=25)
@given(
    share=st.floats(0.01, 5.9), ratio=st.sampled_from([0, 1, 2, 3, 0.5]), cap=st.integers(0, 6), suffix=st.booleans()
)
def test_what_flows_deliver_at_the_root_fills_the_link(share: float, ratio: float, cap: int, suffix: bool) -> None:
    given_link = link(share, retransmission_ratio=ratio, backoff_cap=cap, suffix_losses=suffix)
    solved = self_consistent(given_link.balance())
    if solved.status != 0:  # p -> 1: what still arrives is (1 - p_r) of one packet in each timeout of m_0 2^K
        assert share < 1.001 * (1 - ratio) / (2 * 2**cap + 1 - ratio)
        return
    p = solved.root.item()
    flow = SubPacketExact(loss=p, backoff_cap=cap, retransmission_loss=ratio * p, suffix_losses=suffix)
    seen = flow.observe(stationary(flow.chain(), throw=True))
    # root to 1e-14 of its log-odds, and d ln D / d log-odds is below 20: 1e-12
    assert seen.goodput.item() == pytest.approx(share, rel=1e-11)
    assert solved.idle.item() == pytest.approx(seen.silent_fraction.item(), rel=1e-11)


@settings(max_examples=20)
@given(st.floats(0.1, 5), st.floats(1.01, 3))
def test_more_flows_lose_more(share: float, factor: float) -> None:
    loss = self_consistent(link([share * factor, share]).balance())
    assert loss.root[0] < loss.root[1] or loss.root[1] == 0
    assert loss.idle[0] < loss.idle[1] or loss.root[1] == 0


@settings(max_examples=20)
@given(
    share=st.floats(0.1, 5),
    capacity=st.floats(1e5, 1e9),
    base_rtt=st.floats(0.001, 1),
    fill=st.floats(0, 5),
    size=st.sampled_from([500.0, 1500.0]),
)
def test_links_matter_through_packets_per_flow_only(
    share: float, capacity: float, base_rtt: float, fill: float, size: float
) -> None:
    pipe = capacity / (8 * size) * base_rtt
    other = SharedLink(
        flows=pipe * (1 + fill) / share, capacity=capacity, base_rtt=base_rtt, buffer=pipe * fill, packet_size=size
    )
    assert other.share().item() == pytest.approx(share, rel=1e-13)
    one, two = (self_consistent(x.balance()).root.item() for x in (other, link(share)))
    assert one == pytest.approx(two, rel=1e-11)


def test_a_link_that_is_not_full_loses_nothing() -> None:
    """Also with a window: nobody is silent, all get the same."""
    solved = self_consistent(link([100.0, 6.0, 5.999, 1.0]).balance(), window=20)
    assert solved.root.values[:2] == pytest.approx(0, abs=0)
    assert 0 < solved.root.values[2] < 1e-3
    assert solved.idle.values[0] == 0
    assert (solved.jain.values[0], solved.nothing.values[0]) == (1, 0)


def test_a_crowd_that_no_loss_can_hold_back_is_a_failure_with_a_reason() -> None:
    solved = self_consistent(link([1.0, 1e-12]).balance(), window=10)
    for name in ("root", "reward", "idle", "jain", "nothing"):
        assert np.isfinite(solved[name].values[0]), name
        assert np.isnan(solved[name].values[1]), name
    ((_, reason),) = failures(solved)
    assert reason == "no value of the unknown within its bounds meets the target"


def test_grid_of_links() -> None:
    link_ = SharedLink(flows=[50, 100, 200], capacity=1e6, base_rtt=[0.1, 0.2], buffer=50, base_timeout=[2, 3])
    solved = self_consistent(link_.balance())
    assert dict(solved.root.sizes) == {"flows": 3, "base_rtt": 2, "base_timeout": 2}
    assert (solved.root.diff("flows") > 0).all()
    assert (solved.root.diff("base_rtt") < 0).all()
    assert (solved.root.diff("base_timeout") < 0).all()
    assert solved.root.attrs["units"] == "1"
    assert solved.coords["flows"].attrs["units"] == "1"
    alone = SharedLink(flows=100, capacity=1e6, base_rtt=0.2, buffer=50, base_timeout=3)
    one = self_consistent(alone.balance()).root.item()
    assert solved.root.sel(flows=100, base_rtt=0.2, base_timeout=3).item() == pytest.approx(one, rel=1e-12)


def test_window_is_that_of_the_chain_at_the_root() -> None:
    solved = self_consistent(link(1.0, retransmission_ratio=0).balance(), window=30)
    flow = SubPacketExact(loss=solved.root.item(), retransmission_loss=0.0)
    direct = windowed(flow, flow.delivered(), 30)
    assert solved.jain.item() == pytest.approx(direct.jain.item(), rel=1e-10)
    assert solved.nothing.item() == pytest.approx(direct.nothing.item(), rel=1e-9)


@pytest.mark.parametrize("ratio", [1, 0, 2.0])
def test_a_result_keeps_what_made_it(ratio: float) -> None:
    given_link = SharedLink(flows=50.0, capacity=1e6, base_rtt=0.2, buffer=50.0, retransmission_ratio=ratio)
    attrs = self_consistent(given_link.balance()).attrs
    assert attrs["model"] == "SharedLink"
    assert SharedLink(**json.loads(attrs["parameters"])) == given_link


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"flows": "abc"}, "flows must be a number"),
        ({"flows": []}, "flows must hold at least one value"),
        ({"w_max": [6, 8]}, "w_max must be one whole number, got [6, 8]"),
        ({"retransmission_ratio": [1, 2]}, "retransmission_ratio must be one number, got [1, 2]"),
    ],
)
def test_parameters_outside_their_intervals(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError) as error:
        SharedLink(**{"flows": 10, "capacity": 1e6, "base_rtt": 0.2, "buffer": 50, **given_})
    assert message in str(error.value)


def test_values_in_another_unit_than_was_meant_are_pointed_out() -> None:
    with pytest.warns(UnusualValueWarning) as caught:
        SharedLink(flows=10, capacity=3, base_rtt=80, buffer=50)
    assert [str(one.message) for one in caught] == [
        "capacity = 3 is 3 bit/s; did you mean 3 Mbit/s = 3e+06?; base_rtt = 80 is 80 s; did you mean 80 ms = 0.08?"
    ]
    assert caught[0].filename == __file__


def test_the_share_of_symbols_is_an_expression() -> None:
    users, rate, rtt, buffer, size = sympy.symbols("N C R B S", positive=True)
    share = SharedLink(flows=users, capacity=rate, base_rtt=rtt, buffer=buffer, packet_size=size).share()
    assert sympy.simplify(share - (rate * rtt / (8 * size) + buffer) / users) == 0
