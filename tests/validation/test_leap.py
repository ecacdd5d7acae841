"""LEAP: what is sent instead of the segment that timed out, and what it must never do.

Segments are numbered from 0, or from 1 where 0 is the handshake; the paper's No. 1 is the first of data.
"""

import hashlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.models import LeapTransfer
from tcpdynamics.validation.packet import (
    Bottleneck,
    Drop,
    Flows,
    Link,
    Record,
    Scenario,
    load_scenario,
    parse_scenario,
    ready_scenarios,
    simulate,
)
from tcpdynamics.validation.packet.user_rules import congestion_control

NEW, FAST, TIMEOUT, REPEAT = range(4)
BOOKS, SENDERS = ("ns2", "rfc"), ("reno", "newreno", "sack")
EITHER = pytest.mark.parametrize("book", BOOKS)
ALL = pytest.mark.parametrize(("book", "sender"), [(b, s) for b in BOOKS for s in SENDERS])


def sends(*drops, until=6.0, delayed_ack=0.0, leap=True, **flow):
    """(segment, kind) of what one flow sends, counted from the first of data, and the dataset.

    `drops`: ("data" or "ack", number from the first of data[, transmission]).
    """
    options = {"rules": "rfc", "sender": "reno", "handshake": False, "min_rto": 0.5, "initial_window": 4} | flow
    first = 1 if options["handshake"] else 0
    chosen = [
        Drop(0, segment=first + number, transmission=which[0] if which else 1)
        if kind == "data"
        else Drop(0, ack=first + number)
        for kind, number, *which in drops
    ]
    scenario = Scenario(
        (Flows(source="a", target="b", leap=leap, delayed_ack=delayed_ack, **options),),
        links=(Link("a", "b", 1e7, 0.05),), duration=until, warm_up=0.0, epoch=0.1, slice=1.0, drops=tuple(chosen),
        record=Record(sends=True, windows=0.0),
    )  # fmt: skip
    result = simulate(scenario)
    segments = (result.send_segment.values - first).tolist()
    return [pair for pair in zip(segments, result.send_kind.values.tolist(), strict=True) if pair[0] >= 0], result


ACKS_LOST = [("ack", n) for n in range(4)]


@ALL
def test_figure_5(book, sender):
    """No. 4 and all acknowledgements are lost: No. 5 goes first, then No. 4 and No. 6; no segment comes twice."""
    lost = [("data", 3), *ACKS_LOST[:3]]
    more = {"rules": book, "sender": sender, "handshake": book == "ns2", "segments": 40}
    sent, result = sends(*lost, **more)
    first = [(0, NEW), (1, NEW), (2, NEW), (3, NEW)]
    assert sent[:7] == [*first, (4, NEW), (3, REPEAT), (5, NEW)]
    assert result.leaps.item() == result.leaps_right.item() == result.timeouts.item() == 1
    assert result.duplicates.item() == result.leaps_early.item() == 0 and np.isfinite(result.finish.item())
    sent, result = sends(*lost, **more, leap=False)
    assert sent[:7] == [*first, (0, TIMEOUT), (3, REPEAT), (4, NEW)] and result.duplicates.item() == 1


@ALL
def test_a_wrong_suspicion_costs_a_round_trip(book, sender):
    """The first segment itself is lost: the duplicate that the leap segment brings has it sent, before any timer."""
    more = {"rules": book, "sender": sender, "initial_window": 1, "handshake": book == "ns2", "segments": 10}
    sent, result = sends(("data", 0), **more)
    assert sent[:4] == [(0, NEW), (1, NEW), (0, REPEAT), (2, NEW)]
    assert (result.timeouts.item(), result.leaps.item(), result.leaps_right.item()) == (1, 1, 0)
    times = result.send_time.values[-len(sent) :]
    assert times[2] - times[1] == pytest.approx(0.1, abs=0.01)
    assert result.duplicates.item() == 0


@ALL
def test_an_acknowledgement_of_an_earlier_segment_is_counted(book, sender):
    """The timer expires before any acknowledgement can be back; the first one is of the first segment."""
    sent, result = sends(rules=book, sender=sender, initial_rto=0.06, min_rto=0.01, segments=10)
    assert sent[:5] == [(i, NEW) for i in range(5)] and result.leaps.item() == result.leaps_early.item() == 1


@EITHER
def test_the_leap_segment_is_repeated_with_doubled_timeouts(book):
    more = {"rules": book, "segments": 10, "handshake": book == "ns2", "until": 12.0}
    sent, result = sends(*ACKS_LOST, ("data", 4, 1), ("data", 4, 2), **more)
    assert sent[4:8] == [(4, NEW), (4, TIMEOUT), (4, TIMEOUT), (5, NEW)]
    times = result.send_time.values[-len(sent) :]
    first = times[4] - times[3]
    gaps = np.diff(times[4:7])
    assert gaps == pytest.approx([2 * first, 4 * first], rel=0.05)
    assert result.leaps.item() == 1 and result.leaps_right.item() == 1 and result.duplicates.item() == 0


@EITHER
def test_duplicates_acquit_the_acknowledgements(book):
    """Two duplicates are too few for a fast retransmission, but enough for no leap."""
    more = {"rules": book, "limited_transmit": False, "handshake": book == "ns2", "initial_window": 3, "segments": 10}
    sent, result = sends(("data", 0), **more)
    assert sent[3] == (0, TIMEOUT) and result.leaps.item() == 0 and result.timeouts.item() == 1


def test_no_leap_for_the_handshake():
    """Nothing of a connection is valid before it."""
    scenario = Scenario(
        (Flows(rtt=0.1, leap=True, segments=5),), Bottleneck(1e6), 30.0, 0.0, epoch=0.1, drops=(Drop(0, segment=0),),
        record=Record(sends=True),
    )  # fmt: skip
    result = simulate(scenario)
    assert result.send_segment.values[:2].tolist() == [0, 0] and result.leaps.item() == 0


@EITHER
def test_never_beyond_the_advertised_window(book):
    sent, result = sends(*ACKS_LOST, rules=book, window_limit=4, segments=10)
    assert sent[4] == (0, TIMEOUT) and result.leaps.item() == 0


@EITHER
def test_no_leap_without_new_data(book):
    sent, result = sends(*ACKS_LOST, rules=book, segments=4)
    assert sent[4] == (0, TIMEOUT) and result.leaps.item() == 0


@EITHER
def test_an_acknowledgement_that_asks_for_the_leap_segment_has_it_sent(book):
    """All but the leap segment arrive, and its loss is known only by a late acknowledgement of those before."""
    sent, result = sends(*ACKS_LOST[:3], ("data", 4), rules=book, delayed_ack=0.0, segments=12, until=20.0)
    assert (4, NEW) in sent and np.isfinite(result.finish.item())


@st.composite
def crowds(draw):
    """A few flows on a path that loses packets of both kinds; all that LEAP touches is drawn."""
    book = draw(st.sampled_from(BOOKS))
    options = {
        "window_limit": draw(st.sampled_from([2, 3, 5, 20])),
        "initial_window": draw(st.sampled_from([1, 2])),
        "segments": draw(st.sampled_from([None, 1, 7, 40])),
        "delayed_ack": draw(st.sampled_from([0.0, 0.1])),
        "handshake": draw(st.booleans()),
        "timestamps": draw(st.booleans()),
        "stop": draw(st.sampled_from([None, 3.0])),
        "limited_transmit": draw(st.booleans()),
        "control": draw(st.sampled_from(["reno", "cubic", "vegas"])),
        ("overhead" if book == "ns2" else "jitter"): draw(st.sampled_from([0.0, 0.01])),
    }
    if options["segments"] and draw(st.booleans()):
        options["think"] = 0.2
    link = Bottleneck(
        1e6, draw(st.sampled_from([3, 20])), loss=draw(st.sampled_from([0.0, 0.1, 0.3])),
        ack_loss=draw(st.sampled_from([0.0, 0.2, 0.5])),
    )  # fmt: skip
    flow = Flows(3, draw(st.sampled_from(SENDERS)), book, rtt=(0.05, 0.1), leap=True, **options)
    record = Record(sends=True, receives=True, windows=0.0)
    return Scenario((flow,), link, 20.0, 0.0, seed=draw(st.integers(0, 99)), epoch=0.1, slice=5.0, record=record)


def check_crowd(scenario):
    """Windows, counts and order of new segments; conservation is checked in each run."""
    result, again = simulate(scenario), simulate(scenario)
    for name, variable in result.data_vars.items():
        assert variable.values.tobytes() == again[name].values.tobytes(), name
    group = scenario.flows[0]
    assert (result.window_flight.values <= group.window_limit).all()
    assert (result.leaps_right <= result.leaps).all() and (result.leaps <= result.timeouts).all()
    assert (result.duplicates >= 0).all() and (result.transmissions.fillna(1.0) >= 1.0 - 1e-12).all()
    if group.think is not None:
        return
    for flow in range(group.count):
        mine = result.send_flow.values == flow
        segments, kinds = result.send_segment.values[mine], result.send_kind.values[mine]
        new = segments[kinds == NEW]
        assert (new == np.arange(len(new))).all()  # a leap segment is new data, and nothing is new twice
        come = result.receive_segment.values[result.receive_flow.values == flow]
        assert len(come) - len(np.unique(come)) == result.duplicates.values[flow]


FUZZ = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


@settings(max_examples=60, derandomize=True, **FUZZ)
@given(crowds())
def test_windows_counts_and_order(scenario):
    check_crowd(scenario)


def test_a_leap_that_was_put_off_and_not_needed_is_not_right():
    """An acknowledgement that comes while the overhead still holds the leap segment back is not one after a leap."""
    flow = Flows(
        3, "reno", rtt=(0.05, 0.1), overhead=0.01, segments=40, window_limit=3, initial_window=1, handshake=True,
        limited_transmit=False, delayed_ack=0.1, leap=True,
    )  # fmt: skip
    record = Record(sends=True, receives=True, windows=0.0)
    link = Bottleneck(1e6, 3, loss=0.1, ack_loss=0.2)
    check_crowd(Scenario((flow,), link, 20.0, 0.0, seed=69, epoch=0.1, slice=5.0, record=record))


@pytest.mark.slow
@settings(max_examples=3000, **FUZZ)
@given(crowds())
def test_windows_counts_and_order_of_many(scenario):
    check_crowd(scenario)


def digest(result):
    """A hash of all but what LEAP alone counts."""
    names = [str(name) for name in result.data_vars if not str(name).startswith("leaps")]
    return [hashlib.sha256(result[name].values.tobytes()).hexdigest() for name in names]


@ALL
def test_without_timeouts_nothing_changes(book, sender):
    """On a path that loses nothing, and where all losses are found by duplicates, LEAP is what it stands beside."""

    def run(leap):
        flow = Flows(2, sender, book, rtt=(0.1, 0.11), window_limit=30, leap=leap)
        record = Record(sends=True, windows=0.0)
        return simulate(Scenario((flow,), Bottleneck(2e6, 400), 20.0, 1.0, record=record))

    plain, leaping = run(False), run(True)
    assert digest(plain) == digest(leaping) and leaping.leaps.sum() == 0 == plain.timeouts.sum()


@ALL
def test_fewer_duplicates_at_the_same_loss(book, sender):
    """At 15 % loss of both kinds, window by window the same: fewer duplicates and fewer transmissions."""

    def run(leap):
        flow = Flows(1000, sender, book, rtt=(0.1, 0.2), leap=leap, segments=100, delayed_ack=0.1)
        return simulate(
            Scenario((flow,), Bottleneck(1e8, None, loss=0.15, ack_loss=0.15), 2000.0, 0.0, epoch=0.2, slice=500.0)
        )

    plain, leaping = run(False), run(True)
    for name in ("duplicates", "transmissions"):
        ours, theirs = (run[name].values for run in (leaping, plain))
        error = np.sqrt((ours.var() + theirs.var()) / len(ours))
        assert ours.mean() - theirs.mean() < -3 * error, name
    assert (leaping.goodput == plain.goodput).all() and np.isfinite(leaping.finish).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sender": "tahoe"}, 'flows.leap is for sender "reno", "newreno" or "sack", got "tahoe"'),
        ({"sender": "tfrc"}, "flows.leap"),
        ({"sender": "cbr", "rate": 1e5}, "flows.leap"),
        ({"window_limit": 1}, "flows.leap needs flows.window_limit >= 2, got 1"),
        ({"window_limit": 0}, "flows.window_limit"),
        ({"leap": 1}, "flows.leap must be true or false, got 1"),
        ({"leap": "yes"}, "flows.leap must be true or false"),
    ],
)
def test_refusals(change, sentence):
    with pytest.raises(ScenarioError, match=sentence):
        parse_scenario({"flows": [{"leap": True, "rtt": 0.1} | change]})


def test_the_ready_star_runs_with_leap():
    table = load_scenario(ready_scenarios()["leap_star"])
    assert all(group.leap for group in table.flows)


@congestion_control("window_of_one")
def on_ack(f, now, acked):
    f.cwnd = 1.0


@EITHER
@pytest.mark.parametrize("loss, ack_loss", [(0.1, 0.1), (0.25, 0.15)])
def test_a_window_of_one_sends_and_receives_as_the_closed_forms_say(book, loss, ack_loss):
    """Transmissions, duplicates and right suspicions of 300 senders: 99.9 % intervals hold the model's numbers."""

    def run(leap):
        flow = Flows(
            300, "reno", book, rtt=0.05, control="window_of_one", leap=leap, handshake=False, min_rto=0.2,
            initial_rto=0.2, max_rto=0.4, max_backoff=2, initial_window=1, timestamps=True,
        )  # fmt: skip
        return simulate(
            Scenario((flow,), Bottleneck(1e9, None, loss=loss, ack_loss=ack_loss), 200.0, 0.0, epoch=0.05, slice=100.0)
        )

    def holds(values, expected):
        error = 3.29 * values.std() / np.sqrt(len(values))
        assert abs(values.mean() - expected) < error, (values.mean(), error, expected)

    model = LeapTransfer(loss, ack_loss)
    for leap, kind in ((False, "plain"), (True, "leap")):
        result = run(leap)
        holds(result.transmissions.values, getattr(model, f"transmissions_{kind}")())
        holds((result.duplicates / result.goodput).values, getattr(model, f"duplicates_{kind}")())
    right = (result.leaps_right / result.leaps).values
    holds(right, model.leaps_right())
