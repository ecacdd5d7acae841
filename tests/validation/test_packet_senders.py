"""Send times worked out by hand, segment by segment.

One flow, 1 ms per packet on the link, base RTT 100 ms: alone, a packet sent at t is acknowledged at t +
0.101.
"""

import numpy as np
import pytest

from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Scenario, simulate

NEW, FAST, TIMEOUT, REPEAT = range(4)


def sends(until, drops=(), buffer=None, **flow):
    """(time, segment, kind) of every transmission of one flow before `until`."""
    given = {"rtt": 0.1, "start_spread": 0.0, "timer_granularity": 0.0, "limited_transmit": False} | flow
    scenario = Scenario(
        (Flows(**given),),
        Bottleneck(rate=4e6, buffer=buffer),
        duration=until,
        warm_up=0.0,
        epoch=0.1,
        drops=tuple(Drop(0, *drop) for drop in drops),
        trace=True,
    )
    result = simulate(scenario)
    kind = result["trace_kind"].values
    return list(zip(result["trace_time"].values, result["trace_segment"].values, kind, strict=True)), result


def assert_sends(actual, expected):
    assert [(s, k) for _, s, k in actual] == [(s, k) for _, s, k in expected]
    np.testing.assert_allclose([t for t, _, _ in actual], [t for t, _, _ in expected], atol=1e-9)


def test_slow_start():
    # Two at once; their acknowledgements 1 ms apart, each releasing two; the link spaces each burst by 1 ms.
    actual, _ = sends(0.21)
    second = [(0.101, 2), (0.101, 3), (0.102, 4), (0.102, 5)]
    third = [
        (t, s) for t, first in ((0.202, 6), (0.203, 8), (0.204, 10), (0.205, 12)) for s in (first, first + 1)
    ]
    assert_sends(actual, [(t, s, NEW) for t, s in [(0.0, 0), (0.0, 1), *second, *third]])


def test_congestion_avoidance_adds_one_segment_per_window():
    # A timeout at 3 s leaves ssthresh 4 (of 8): windows 1, 2, 4, then one more per round trip.
    actual, _ = sends(3.82, [(s, 1) for s in range(8)], initial_window=8, window_limit=8)
    times = np.array([t for t, _, _ in actual if t > 2.9])
    rounds = np.searchsorted(times, 3.0 + 0.1 * np.arange(1, 9)) - np.searchsorted(
        times, 3.0 + 0.1 * np.arange(8)
    )
    assert list(rounds[:3]) == [1, 2, 4]
    assert all(np.diff(rounds[2:]) <= 1)
    assert rounds[-1] >= 7


EIGHT = {"initial_window": 8, "window_limit": 16}
START = [(0.0, s, NEW) for s in range(8)]


def test_sack_repairs_two_losses_in_one_round_trip():
    # Segments 0 and 2 lost; acknowledgements of 1, 3, 4, 5, 6, 7 at 0.101 ... 0.106; the third starts
    # recovery with cwnd 4 and pipe 5; the fourth declares 2 lost (three above it) and leaves pipe 3; then one
    # new segment each.
    actual, result = sends(0.2065, [(0, 1), (2, 1)], sender="sack", **EIGHT)
    repair = [(0.103, 0, FAST), (0.104, 2, FAST), (0.105, 8, NEW), (0.106, 9, NEW)]
    after = [(0.204, 10, NEW), (0.205, 11, NEW), (0.206, 12, NEW)]
    assert_sends(actual, START + repair + after)
    assert result["fast_recoveries"].item() == 1


def test_newreno_repairs_one_loss_per_round_trip():
    # The same losses: inflated window 4 + duplicates; segment 2 only after the partial acknowledgement at
    # 0.204.
    actual, result = sends(0.3055, [(0, 1), (2, 1)], sender="newreno", **EIGHT)
    repair = [(0.103, 0, FAST), (0.105, 8, NEW), (0.106, 9, NEW), (0.204, 2, FAST), (0.204, 10, NEW)]
    after = [(0.206, 11, NEW), (0.207, 12, NEW), (0.305, 13, NEW)]
    assert_sends(actual, START + repair + after)
    assert result["fast_recoveries"].item() == 1


@pytest.mark.parametrize("sender", ["sack", "newreno"])
def test_lost_retransmission_waits_for_the_timer(sender):
    # The timer restarted at the fast retransmission, 0.103, with 3 s; no second fast retransmission of
    # segment 0.
    actual, result = sends(3.2, [(0, 1), (0, 2)], sender=sender, **EIGHT)
    first = [(t, k) for t, s, k in actual if s == 0]
    assert [k for _, k in first] == [NEW, FAST, TIMEOUT]
    assert first[2][0] == pytest.approx(3.103)
    assert result["timeouts"].item() == 1


@pytest.mark.parametrize("sender", ["sack", "newreno"])
def test_two_losses_of_a_small_window_end_in_a_timeout_without_limited_transmit(sender):
    small = {"initial_window": 3, "window_limit": 3, "sender": sender}
    _, without = sends(3.2, [(0, 1)], **small)
    assert (without["timeouts"].item(), without["fast_recoveries"].item()) == (1, 0)


def test_limited_transmit_saves_a_small_window():
    # Window 2, the first lost: each duplicate releases one new segment until the third duplicate. Then cwnd
    # is 1 and the retransmission fills it; segment 4 only with the acknowledgement of all, and slow start up
    # to ssthresh 2.
    small = {"initial_window": 2, "window_limit": 16, "limited_transmit": True}
    actual, result = sends(0.51, [(0, 1)], **small)
    limited = [(0.0, 0, NEW), (0.0, 1, NEW), (0.101, 2, NEW), (0.202, 3, NEW)]
    assert_sends(actual, [*limited, (0.303, 0, FAST), (0.404, 4, NEW), (0.505, 5, NEW), (0.505, 6, NEW)])
    assert result["timeouts"].item() == 0


@pytest.mark.parametrize(("lost", "fast"), [(4, 0), (5, 1)])
def test_no_fast_retransmit_before_an_acknowledgement_beyond_the_last_timeout(lost, fast):
    # Segments 0-3 repeated after a timeout. With 4 lost the last acknowledgement only reaches 3, the highest
    # sent before it: three duplicates change nothing. With 5 lost it is beyond.
    small = {"initial_window": 4, "window_limit": 16, "limited_transmit": True}
    _, result = sends(4.5, [*((s, 1) for s in range(4)), (lost, 1)], **small)
    assert (result["fast_recoveries"].item(), result["timeouts"].item()) == (fast, 1)


def test_threshold_is_a_whole_number_of_segments():
    # Window 5 times out: ssthresh 2, so cwnd goes 1, 2, 2.5 and the second acknowledgement releases one
    # segment.
    actual, _ = sends(3.2025, [(s, 1) for s in range(5)], initial_window=5, window_limit=8)
    after = [(3.0, 0, TIMEOUT), (3.101, 1, REPEAT), (3.101, 2, REPEAT), (3.202, 3, REPEAT)]
    assert_sends(actual, [(0.0, s, NEW) for s in range(5)] + after)


def test_newreno_is_impatient():
    # Losses 0, 2, 4, timeout 0.15 s: restarted by the fast retransmission at 0.103 and the partial
    # acknowledgement at 0.204, not by that at 0.305.
    actual, _ = sends(
        0.36, [(0, 1), (2, 1), (4, 1)], sender="newreno", initial_rto=0.15, min_rto=0.0, **EIGHT
    )
    assert [(s, k) for _, s, k in actual if k in (FAST, TIMEOUT)] == [
        (0, FAST),
        (2, FAST),
        (4, FAST),
        (4, TIMEOUT),
    ]
    assert actual[-1][0] == pytest.approx(0.354)


def test_backoff_doubles_and_stays_until_new_data_is_acknowledged():
    # Segment 0 lost three times: timeouts at 3, 3 + 6, 9 + 12. Its acknowledgement at 21.101 is of a
    # retransmission, so the timer of the next two segments, both lost, is still 3 * 8 s; that of segment 3,
    # new, ends the back-off: sample 0.102, RTO = 0.102 + 4 * 0.051 = 0.306, running from the last
    # acknowledgement at 45.304.
    losses = [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1), (4, 1), (5, 1)]
    actual, result = sends(45.7, losses, initial_window=1, window_limit=16)
    outage = [(0.0, 0, NEW), (3.0, 0, TIMEOUT), (9.0, 0, TIMEOUT), (21.0, 0, TIMEOUT)]
    still = [(21.101, 1, NEW), (21.101, 2, NEW), (45.101, 1, TIMEOUT), (45.202, 2, REPEAT), (45.202, 3, NEW)]
    over = [(45.303, 4, NEW), (45.304, 5, NEW), (45.610, 4, TIMEOUT)]
    assert_sends(actual, outage + still + over)
    by_factor = result["timeouts_by_backoff"].sum("flow")
    assert {int(f): int(n) for f, n in zip(by_factor["backoff"], by_factor, strict=True) if n} == {
        1: 2,
        2: 1,
        4: 1,
        8: 1,
    }


def test_backoff_and_timeout_have_ceilings():
    actual, _ = sends(
        200.0, [(0, n) for n in range(1, 20)], initial_window=1, window_limit=2, max_backoff=4, max_rto=10.0
    )
    # 3, 6, then 12 and 12 cut to 10 for ever
    np.testing.assert_allclose(np.diff([t for t, _, _ in actual])[:6], [3, 6, 10, 10, 10, 10])


def test_least_timeout_and_coarse_clock():
    # Window 1: one sample of 0.101 per segment. On a tick of 0.1 s it reads 1 or 2 ticks, so the timeout is a
    # whole number of ticks; on an exact clock it sinks to the floor of 0.2 s.
    small = {"initial_window": 1, "window_limit": 1}
    exact, _ = sends(30.0, [(150, 1)], **small)
    t = {(s, k): time for time, s, k in exact}
    assert t[150, TIMEOUT] - t[150, NEW] == pytest.approx(0.2)
    coarse, _ = sends(30.0, [(150, 1)], **small, timer_granularity=0.1)
    t = {(s, k): time for time, s, k in coarse}
    ticks = (t[150, TIMEOUT] - t[150, NEW]) / 0.1
    assert ticks == pytest.approx(round(ticks), abs=1e-6)
    assert ticks > 2.5


def test_buffer_counts_the_packet_being_sent():
    # Ten at once on a link that holds four.
    _, result = sends(0.09, buffer=4, initial_window=10)
    assert (result["sent"].item(), result["dropped"].item()) == (10, 6)
    assert result["delivered"].item() == 4


def test_needless_repeats_after_a_timeout_are_counted_as_such():
    # 0 lost of three: the timeout repeats 0; 1 and 2 have arrived, so the acknowledgement jumps over them.
    actual, result = sends(3.15, [(0, 1)], initial_window=3, window_limit=3)
    assert [(s, k) for _, s, k in actual[3:5]] == [(0, TIMEOUT), (3, NEW)]
    assert result["sent_by_kind"].sel(kind="other_repeat").item() == 0
    assert result["goodput"].item() == result["delivered"].item()
