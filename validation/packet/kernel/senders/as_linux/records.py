"""What a sender by Linux's rules remembers: of itself, and of each segment that is outstanding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import views as at
from ...jit import called, inlined
from ...records import FLOW

#: Where a sender stands: nothing is wrong; something came out of order; it answers a mark; it repairs; its timer ran
#: out.
OPEN, DISORDER, ANSWERING, RECOVERY, LOSS = range(5)

#: What its one timer is for: nothing; the retransmission timeout; segments that may only have been overtaken; a probe.
NOTHING, RETRANSMIT, OVERTAKEN, PROBE = range(4)

#: Of a segment: it is thought lost; it was sent again and that is under way; it was ever sent again.
LOST, AGAIN, EVER = 1, 2, 4

#: How many duplicates say that a segment is lost, as long as no segment was seen to overtake others; at most.
REORDERING, MOST_REORDERING = 3, 300

#: A sender. Times [s], -1: none.
SENDER = np.dtype(
    [
        # the connection that this is about; deviation of round trips and its largest of a window; when the newest
        # segment that has arrived was sent, and its round trip; the first retransmission of this recovery; the last
        # segment that was sent
        *((name, np.float64) for name in "since deviation largest newest newest_rtt first_again last_sent".split()),
        # does its timer ring
        ("ringing", np.int64),
        # where it stands, what its timer is for; segments thought lost, sent again, reported, arrived so far, losses so
        # far; the end of what was sent when a recovery began, when the estimator's window did
        *((name, np.int64) for name in "state pending lost again reported arrived losses point sampled".split()),
        # of the reduction of the window: window before, arrived and sent since; threshold before
        *((name, np.int64) for name in "before_cwnd reduced_arrived reduced_sent before_ssthresh".split()),
        # does the window bound what is sent; most that was outstanding; in which window of data
        *((name, np.int64) for name in "bounded most_out bounded_until".split()),
        # has an acknowledgement come after the handshake's
        ("heard", np.int64),
        # the newest segment that has arrived; is it new; duplicates that say "lost", has one been overtaken
        *((name, np.int64) for name in "newest_end looked reordering overtaken".split()),
        # no segment below is to be sent again; timeouts since the last progress, and in all; where the recovery began,
        # what it has sent again (-1: nothing), for taking it back
        *((name, np.int64) for name in "hint expired timeouts undo_from undo_again".split()),
        # outstanding segments in the order in which they were sent last
        *((name, np.int64) for name in "oldest youngest".split()),
        # probes for losses at the end, and looking whether a timeout was needless: on or not, and where they stand
        *((name, np.int64) for name in "probes probe_end probe_again doubts doubting".split()),
    ]
)
of = at.part_of("paced_state", SENDER, FLOW, "paced_state")

#: A segment: when it was sent last [s], marks, and its neighbours in the order of sending (-1: none).
SEGMENT = np.dtype([("time", np.float64), *((name, np.int64) for name in "marks older newer".split())])
_place = at.part_of("paced_ring", SEGMENT, FLOW, "paced_state")


@inlined
def segment(w: Any, f: Any, seq: Any) -> Any:
    """The record of an outstanding segment."""
    return _place(w, f, seq & (f.n_ring - 1))


@inlined
def reported(w: Any, i: Any, seq: Any) -> Any:
    """Whether a selective acknowledgement has reported a segment."""
    return at.sacked(w)[i, seq & (at.sacked(w).shape[1] - 1)] != 0


@inlined
def outstanding(f: Any) -> Any:
    """Segments that are sent and not acknowledged cumulatively."""
    return f.top - f.una


@inlined
def opening(f: Any) -> Any:
    """Whether the handshake is not over."""
    return f.una == 0 and f.handshake


@inlined
def under_way(f: Any, s: Any) -> Any:
    """Segments that are thought to be in the network."""
    return f.top - f.una - s.reported - s.lost + s.again


@inlined
def is_reducing(s: Any) -> Any:
    """Whether the window is on its way down."""
    return s.state == ANSWERING or s.state == RECOVERY


@called
def begin(f: Any, s: Any) -> None:
    """A connection begins: nothing is known."""
    s.since = f.since
    s.deviation = s.largest = s.newest_rtt = 0.0
    s.newest = s.first_again = -1.0
    s.last_sent = 0.0
    s.state = OPEN
    s.pending = NOTHING
    s.ringing = 0
    s.lost = s.again = s.reported = s.arrived = s.losses = s.point = s.sampled = 0
    s.before_cwnd = s.reduced_arrived = s.reduced_sent = s.before_ssthresh = 0
    s.bounded = s.most_out = s.bounded_until = 0
    s.heard = 0 if f.handshake else 1
    s.newest_end = s.looked = s.overtaken = 0
    s.reordering = REORDERING
    s.hint = s.expired = s.timeouts = 0
    s.undo_from = -1
    s.undo_again = -1
    s.oldest = s.youngest = -1
    s.probe_end = s.probe_again = s.doubting = 0


@inlined
def take_out(w: Any, f: Any, s: Any, seq: Any) -> None:
    """Take a segment out of the order of sending, if it is there."""
    one = segment(w, f, seq)
    if one.older >= 0:
        segment(w, f, one.older).newer = one.newer
    elif s.oldest == seq:
        s.oldest = one.newer
    if one.newer >= 0:
        segment(w, f, one.newer).older = one.older
    elif s.youngest == seq:
        s.youngest = one.older
    one.older = one.newer = -1


@inlined
def put_last(w: Any, f: Any, s: Any, seq: Any) -> None:
    """A segment is sent now: the last in the order of sending."""
    one = segment(w, f, seq)
    one.time = w.now
    one.older = s.youngest
    one.newer = -1
    if s.youngest >= 0:
        segment(w, f, s.youngest).newer = seq
    else:
        s.oldest = seq
    s.youngest = seq
