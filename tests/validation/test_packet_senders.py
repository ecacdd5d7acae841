"""Senders by the RFCs: send times worked out by hand, and where the four differ.

One flow, 1 ms per packet on the link, base RTT 100 ms: alone, a packet sent at t is acknowledged at t + 0.101.
What ns-2 does is compared with ns-2 itself, in test_ns2_exact.py.
"""

import numpy as np
import pytest

from tcpdynamics.validation.packet import Bottleneck, Drop, Flows, Record, Scenario, simulate

NEW, FAST, TIMEOUT, REPEAT = range(4)
FOUR = ("tahoe", "reno", "newreno", "sack")


def sends(until, drops=(), buffer=None, **flow):
    """(time, segment, kind) of every transmission of one flow before `until`, and the dataset."""
    given = {
        "rules": "rfc",
        "rtt": 0.1,
        "handshake": False,
        "limited_transmit": False,
        "min_rto": 0.2,
        "initial_rto": 3.0,
    }
    scenario = Scenario(
        (Flows(**(given | flow)),),
        Bottleneck(rate=4e6, buffer=buffer),
        duration=until,
        warm_up=0.0,
        epoch=0.1,
        drops=tuple(Drop(0, *drop) for drop in drops),
        record=Record(sends=True, windows=0.0),
    )
    result = simulate(scenario)
    columns = (result[f"send_{name}"].values.tolist() for name in ("time", "segment", "kind"))
    return list(zip(*columns, strict=True)), result


def assert_sends(actual, expected):
    assert [(s, k) for _, s, k in actual] == [(s, k) for _, s, k in expected]
    np.testing.assert_allclose([t for t, _, _ in actual], [t for t, _, _ in expected], atol=1e-9)


EIGHT = {"initial_window": 8, "window_limit": 16}
START = [(0.0, s, NEW) for s in range(8)]


@pytest.mark.parametrize("sender", FOUR)
def test_slow_start(sender):
    # Two at once; their acknowledgements 1 ms apart, each releasing two; the link spaces each burst by 1 ms.
    actual, _ = sends(0.21, sender=sender, initial_window=2)
    second = [(0.101, 2), (0.101, 3), (0.102, 4), (0.102, 5)]
    third = [(0.202 + 0.001 * i, 6 + 2 * i + j) for i in range(4) for j in range(2)]
    assert_sends(actual, [(t, s, NEW) for t, s in [(0.0, 0), (0.0, 1), *second, *third]])


def test_congestion_avoidance_adds_one_segment_per_window():
    # A timeout at 3 s leaves ssthresh 4 (of 8): rounds of 1, 2, 4, then one more segment at most in each.
    actual, _ = sends(3.82, [(s, 1) for s in range(8)], initial_window=8, window_limit=8)
    times = np.array([t for t, _, _ in actual if t > 2.9])
    rounds = np.diff(np.searchsorted(times, 3.0 + 0.1 * np.arange(9)))
    assert list(rounds[:3]) == [1, 2, 4]
    assert all(np.diff(rounds[2:]) <= 1)
    assert rounds[-1] >= 7


# One segment of eight lost. The third duplicate is back at 0.103; half of eight in flight is 4.


@pytest.mark.parametrize("sender", ["reno", "newreno", "sack"])
def test_single_loss_is_repaired_without_a_pause(sender):
    # Seven duplicates. Reno, NewReno: window 4 + duplicates, above 8 from the fifth on. SACK: pipe 5 after the
    # retransmission, one less with each further duplicate. Both allow 8, 9, 10 during recovery and 11 at its end.
    actual, result = sends(0.2045, [(0, 1)], sender=sender, **EIGHT)
    repair = [(0.103, 0, FAST), (0.105, 8, NEW), (0.106, 9, NEW), (0.107, 10, NEW), (0.204, 11, NEW)]
    assert_sends(actual, START + repair)
    assert (result["fast_recoveries"].item(), result["timeouts"].item()) == (1, 0)
    assert result["window_ssthresh"][-1].item() == 4 and result["window_cwnd"][-1].item() == 4


def test_single_loss_makes_tahoe_start_slowly():
    # Nothing during the round trip of the retransmission, then slow start from one segment.
    actual, result = sends(0.306, [(0, 1)], sender="tahoe", **EIGHT)
    slow = [(0.103, 0, FAST), (0.204, 8, NEW), (0.204, 9, NEW)]
    assert_sends(actual, START + slow + [(0.305, s, NEW) for s in (10, 11)])
    assert (result["fast_recoveries"].item(), result["timeouts"].item()) == (1, 0)


# Segments 0 and 2 of eight lost: duplicates of 1, 3, 4, 5, 6, 7 at 0.101 ... 0.106.


def test_sack_repairs_two_losses_in_one_round_trip():
    # The third duplicate starts recovery with cwnd 4 and pipe 5; the fourth declares 2 lost (three above it) and
    # leaves pipe 3; then one new segment each.
    actual, result = sends(0.2065, [(0, 1), (2, 1)], sender="sack", **EIGHT)
    repair = [(0.103, 0, FAST), (0.104, 2, FAST), (0.105, 8, NEW), (0.106, 9, NEW)]
    after = [(0.204, 10, NEW), (0.205, 11, NEW), (0.206, 12, NEW)]
    assert_sends(actual, START + repair + after)
    assert result["fast_recoveries"].item() == 1


def test_newreno_repairs_one_loss_per_round_trip():
    # Inflated window 4 + duplicates; segment 2 only after the partial acknowledgement at 0.204.
    actual, result = sends(0.3055, [(0, 1), (2, 1)], sender="newreno", **EIGHT)
    repair = [(0.103, 0, FAST), (0.105, 8, NEW), (0.106, 9, NEW), (0.204, 2, FAST), (0.204, 10, NEW)]
    after = [(0.206, 11, NEW), (0.207, 12, NEW), (0.305, 13, NEW)]
    assert_sends(actual, START + repair + after)
    assert result["fast_recoveries"].item() == 1


def test_reno_needs_the_timer_for_the_second_loss():
    # The partial acknowledgement at 0.204 ends its recovery with window 4 and 8 in flight; 8 and 9 make only two
    # duplicates. No sample was possible (Karn), so the timer restarted at 0.204 has its first value.
    actual, result = sends(3.3, [(0, 1), (2, 1)], sender="reno", **EIGHT)
    repair = [(0.103, 0, FAST), (0.105, 8, NEW), (0.106, 9, NEW)]
    assert_sends(actual, [*START, *repair, (3.204, 2, TIMEOUT)])
    assert (result["fast_recoveries"].item(), result["timeouts"].item()) == (1, 1)


def test_tahoe_goes_back():
    # From segment 0 on again: 1 has arrived, 2 is repaired and 3 repeated without need in the second round.
    actual, result = sends(0.3055, [(0, 1), (2, 1)], sender="tahoe", **EIGHT)
    again = [(0.103, 0, FAST), (0.204, 2, REPEAT), (0.204, 3, REPEAT)]
    after = [(0.305, 8, NEW), (0.305, 9, NEW), (0.305, 10, NEW)]
    assert_sends(actual, START + again + after)
    assert result["sent"].item() - result["dropped"].item() > result["goodput"].item()


@pytest.mark.parametrize("sender", FOUR)
def test_lost_retransmission_waits_for_the_timer(sender):
    # The timer restarted at the fast retransmission, 0.103, with 3 s; no second fast retransmission.
    actual, result = sends(3.2, [(0, 1), (0, 2)], sender=sender, **EIGHT)
    first = [(t, k) for t, s, k in actual if s == 0]
    assert [k for _, k in first] == [NEW, FAST, TIMEOUT]
    assert first[2][0] == pytest.approx(3.103)
    assert result["timeouts"].item() == 1


def test_burst_loss_tells_the_four_apart():
    """0 to 3 of eight lost, four duplicates at 0.101 ... 0.104, cwnd 4: when each hole is first repaired."""
    repairs = {}
    for sender in FOUR:
        actual, result = sends(1.0, [(s, 1) for s in range(4)], sender=sender, **EIGHT)
        second = [next((t for t, s, k in actual if s == seq and k != NEW), None) for seq in range(4)]
        repairs[sender] = (second, result["timeouts"].item())
    # SACK: at 0.103 three reported above all holes, so pipe is 1 + the retransmission; two more fit; one at 0.104.
    assert repairs["sack"] == (pytest.approx([0.103, 0.103, 0.103, 0.104]), 0)
    # NewReno: one for each partial acknowledgement, 0.101 apart.
    assert repairs["newreno"] == (pytest.approx([0.103, 0.204, 0.305, 0.406]), 0)
    # Tahoe: rounds of 1 and 2, then slow start has room for the rest.
    assert repairs["tahoe"] == (pytest.approx([0.103, 0.204, 0.204, 0.305]), 0)
    # Reno: out of recovery at the first partial acknowledgement, with no duplicates to come.
    assert repairs["reno"] == ([pytest.approx(0.103), None, None, None], 0)
    _, result = sends(3.3, [(s, 1) for s in range(4)], sender="reno", **EIGHT)
    assert result["timeouts"].item() == 1


@pytest.mark.parametrize("sender", FOUR)
def test_two_losses_of_a_small_window_end_in_a_timeout_without_limited_transmit(sender):
    small = {"initial_window": 3, "window_limit": 3, "sender": sender}
    _, without = sends(3.2, [(0, 1)], **small)
    assert (without["timeouts"].item(), without["fast_recoveries"].item()) == (1, 0)


@pytest.mark.parametrize("sender", ["newreno", "sack"])
def test_limited_transmit_saves_a_small_window(sender):
    # Window 2, the first lost: each of two duplicates releases one new segment. The third halves what was in
    # flight without these (2) to the least, 2.
    small = {"initial_window": 2, "window_limit": 16, "limited_transmit": True, "sender": sender}
    actual, result = sends(0.31, [(0, 1)], **small)
    limited = [(0.0, 0, NEW), (0.0, 1, NEW), (0.101, 2, NEW), (0.202, 3, NEW)]
    assert_sends(actual[:5], [*limited, (0.303, 0, FAST)])
    assert result["timeouts"].item() == 0
    assert result["window_ssthresh"][-1].item() == 2


def test_limited_transmit_does_not_raise_the_threshold():
    # RFC 5681, 3.2, step 2, and RFC 6675, 5, (4.2): half of the eight, without the two that it added.
    for sender in ("reno", "newreno", "sack"):
        _, result = sends(0.104, [(0, 1)], sender=sender, initial_window=8, window_limit=32, limited_transmit=True)
        assert result["window_ssthresh"][-1].item() == 4, sender


@pytest.mark.parametrize(("lost", "fast"), [(4, 0), (5, 1)])
def test_no_fast_retransmit_before_an_acknowledgement_beyond_the_last_timeout(lost, fast):
    # Segments 0-3 repeated after a timeout. With 4 lost the last acknowledgement only reaches 3, the highest
    # sent before it: three duplicates change nothing. With 5 lost it is beyond.
    small = {"initial_window": 4, "window_limit": 16, "limited_transmit": True}
    _, result = sends(4.5, [*((s, 1) for s in range(4)), (lost, 1)], **small)
    assert (result["fast_recoveries"].item(), result["timeouts"].item()) == (fast, 1)


def test_threshold_is_a_whole_number_of_segments():
    # Window 5 times out: ssthresh 2, so cwnd goes 1, 2, 2.5 and the second acknowledgement releases one segment.
    actual, _ = sends(3.2025, [(s, 1) for s in range(5)], initial_window=5, window_limit=8)
    after = [(3.0, 0, TIMEOUT), (3.101, 1, REPEAT), (3.101, 2, REPEAT), (3.202, 3, REPEAT)]
    assert_sends(actual, [(0.0, s, NEW) for s in range(5)] + after)


def test_newreno_is_impatient():
    # Losses 0, 2, 4, timeout 0.15 s: restarted by the fast retransmission at 0.103 and the partial acknowledgement
    # at 0.204, not by that at 0.305.
    losses = [(0, 1), (2, 1), (4, 1)]
    actual, _ = sends(0.36, losses, sender="newreno", initial_rto=0.15, min_rto=0.0, **EIGHT)
    repeats = [(s, k) for _, s, k in actual if k in (FAST, TIMEOUT)]
    assert repeats == [(0, FAST), (2, FAST), (4, FAST), (4, TIMEOUT)]
    assert actual[-1][0] == pytest.approx(0.354)


def test_backoff_doubles_and_stays_until_new_data_is_acknowledged():
    # Segment 0 lost three times: timeouts at 3, 3 + 6, 9 + 12. Its acknowledgement at 21.101 is of a
    # retransmission (Karn), so the timer of the next two segments, both lost, is still 3 * 8 s; that of segment 3,
    # new, ends the back-off: sample 0.102, RTO = 0.102 + 4 * 0.051 = 0.306, from the last acknowledgement at 45.304.
    losses = [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1), (4, 1), (5, 1)]
    actual, result = sends(45.7, losses, initial_window=1, window_limit=16)
    outage = [(0.0, 0, NEW), (3.0, 0, TIMEOUT), (9.0, 0, TIMEOUT), (21.0, 0, TIMEOUT)]
    still = [(21.101, 1, NEW), (21.101, 2, NEW), (45.101, 1, TIMEOUT), (45.202, 2, REPEAT), (45.202, 3, NEW)]
    over = [(45.303, 4, NEW), (45.304, 5, NEW), (45.610, 4, TIMEOUT)]
    assert_sends(actual, outage + still + over)
    by_factor = result["timeouts_by_backoff"].sum("flow")
    levels = {int(f): int(n) for f, n in zip(by_factor["backoff"], by_factor, strict=True) if n}
    assert levels == {1: 2, 2: 1, 4: 1, 8: 1}


def test_timestamps_measure_retransmissions_too():
    # The acknowledgement of the retransmission at 3.101 echoes 3.0: sample 0.101, RTO 0.303, and the back-off ends;
    # without timestamps it says nothing and the timer stays at 6 s.
    losses = [(0, 1), (1, 1), (2, 1)]
    with_echo, result = sends(3.5, losses, initial_window=1, timestamps=True)
    assert [(s, k) for _, s, k in with_echo[-3:]] == [(1, NEW), (2, NEW), (1, TIMEOUT)]
    assert with_echo[-1][0] == pytest.approx(3.101 + 0.303)
    assert result["rtt_samples"].item() == 1
    without, result = sends(9.2, losses, initial_window=1)
    assert without[-1][0] == pytest.approx(3.101 + 6.0)
    assert result["rtt_samples"].item() == 0


def test_backoff_and_timeout_have_ceilings():
    lost = [(0, n) for n in range(1, 20)]
    actual, _ = sends(200.0, lost, initial_window=1, window_limit=2, max_backoff=4, max_rto=10.0)
    # 3, 6, then 12 and 12 cut to 10 for ever
    np.testing.assert_allclose(np.diff([t for t, _, _ in actual])[:6], [3, 6, 10, 10, 10, 10])


def test_least_timeout_and_coarse_clock():
    # Window 1: one sample of 0.101 per segment. On a tick of 0.1 s it reads 1 or 2 ticks, so the timeout is a whole
    # number of ticks; on an exact clock it sinks to the floor of 0.2 s.
    small = {"initial_window": 1, "window_limit": 1}
    exact, _ = sends(30.0, [(150, 1)], **small)
    t = {(s, k): time for time, s, k in exact}
    assert t[150, TIMEOUT] - t[150, NEW] == pytest.approx(0.2)
    coarse, _ = sends(30.0, [(150, 1)], **small, timer_granularity=0.1)
    t = {(s, k): time for time, s, k in coarse}
    ticks = (t[150, TIMEOUT] - t[150, NEW]) / 0.1
    assert ticks == pytest.approx(round(ticks), abs=1e-6)
    assert ticks > 2.5


def test_forgotten_estimate_starts_again():
    # Three timeouts pass the factor 2 above which the estimate is forgotten. The next sample, 0.101, then counts as
    # the first (variation half of it: RTO 0.303); the old estimate, settled, would give the floor.
    lost = [(50, n) for n in range(1, 4)] + [(52, 1)]
    small = {"initial_window": 1, "window_limit": 1}
    gaps = []
    for above in (2, 64):
        actual, _ = sends(20.0, lost, clear_rtt_after=above, **small)
        t = {(s, k): time for time, s, k in actual}
        gaps.append(t[52, TIMEOUT] - t[52, NEW])
    assert gaps == pytest.approx([0.303, 0.2])


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


def test_delayed_acknowledgements():
    # Of 0 to 3, the first is acknowledged at once, 1 waits, 2 answers for both, 3 waits until 4 arrives at 0.152.
    # Each acknowledgement adds one segment to cwnd however many it covers: 4, 5, 6, 7, 8.
    actual, result = sends(0.2045, delayed_ack=0.1, initial_window=4)
    first = [(0.0, s, NEW) for s in range(4)]
    second = [(0.101, 4), (0.101, 5), (0.103, 6), (0.103, 7), (0.103, 8)]
    third = [(0.202, 9), (0.202, 10), (0.202, 11), (0.204, 12), (0.204, 13), (0.204, 14)]
    assert_sends(actual, first + [(t, s, NEW) for t, s in second + third])
    # 0, 2, 4, 6, 8 have called for one.
    assert result["acks_sent"].item() == 5


def test_a_lone_segment_is_acknowledged_when_the_delay_is_over():
    actual, _ = sends(0.51, delayed_ack=0.1, initial_window=1, window_limit=1)
    assert_sends(actual, [(0.0, 0, NEW), (0.101, 1, NEW), (0.302, 2, NEW), (0.503, 3, NEW)])


def test_a_gap_is_reported_at_once_despite_the_delay():
    # 1 lost of six: 0 is acknowledged at 0.101, and 2, 3, 4, out of order, at 0.102, 0.103, 0.104, at once. So is 1,
    # which fills the gap at 0.155.
    actual, result = sends(0.1555, [(1, 1)], delayed_ack=1.0, initial_window=6, window_limit=6)
    repeat = [t for t, s, k in actual if (s, k) == (1, FAST)]
    assert repeat == pytest.approx([0.104])
    # 0, 2 to 5, 6 (sent when 0 was acknowledged) and the repeated 1.
    assert result["acks_sent"].item() == 7


@pytest.mark.parametrize("sender", FOUR)
@pytest.mark.parametrize("handshake", [False, True])
def test_a_finite_transfer_ends(sender, handshake):
    actual, result = sends(5.0, sender=sender, segments=21, handshake=handshake)
    assert result["transferred"].item() == result["sent"].item() == 21 + handshake
    assert actual[-1][0] < 1.0 and result["in_flight"].item() == 0
    assert result["timeouts"].item() == 0


def test_handshake_is_one_small_packet_alone():
    # 40 bytes take 80 us; then the initial window at once.
    actual, _ = sends(0.15, handshake=True, initial_window=3)
    assert_sends(actual, [(0.0, 0, NEW), *((0.10008, s, NEW) for s in (1, 2, 3))])


def test_lost_handshake_leaves_a_window_of_one():
    # RFC 5681, 3.1: the initial window after a lost SYN is one segment.
    actual, _ = sends(3.2, [(0, 1)], handshake=True, initial_window=3)
    assert_sends(actual, [(0.0, 0, NEW), (3.0, 0, TIMEOUT), (3.10008, 1, NEW)])


def test_no_new_data_after_stop():
    # What was sent before is still repaired: the last of the first window, lost, by the timer. One sample, 0.101 s:
    # RTO 0.303 from the last acknowledgement at 0.103.
    actual, result = sends(10.0, [(3, 1)], stop=0.05, initial_window=4)
    assert_sends(actual, [*((0.0, s, NEW) for s in range(4)), (0.406, 3, TIMEOUT)])
    assert result["transferred"].item() == 4


def test_start_and_stop_bound_the_sending():
    actual, _ = sends(10.0, start=2.0, stop=4.0)
    times = [t for t, _, _ in actual]
    assert times[0] == 2.0 and 3.8 < times[-1] < 4.0


def test_sends_put_off_keep_their_kind():
    """With ns-2's overhead a timeout's retransmission leaves later, and is still a timeout's."""
    crowd = Flows(count=20, rtt=(0.19, 0.21), overhead=0.004)
    result = simulate(Scenario((crowd,), Bottleneck(2e5, 10), duration=100.0, warm_up=10.0))
    sent, timeouts = result.sent_by_kind.sel(kind="timeout_retransmission"), result.timeouts
    assert timeouts.sum() > 100
    # Each timeout sends one, but for those that are put off over an end of the measured part.
    assert (abs(sent - timeouts) <= 1).all()
