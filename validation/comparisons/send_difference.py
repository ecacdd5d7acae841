"""Where two senders part: the first send that differs, and what makes it, by rule.

`validation.comparisons.linux_sends` compares our senders with Linux's by it.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

#: Round trips without queueing [s].
RTT = 0.1
#: A send agrees within half of what a packet takes on the link; ticks of Linux's timers [s].
TOLERANCE, TICK = 4e-4, 1e-3
#: Beyond this [s] another arithmetic does not explain a later timeout: the timer was restarted.
FORMULA = 0.02
#: A resend after so long a silence [s] was the timer's.
SILENCE = 0.15

Array = NDArray[Any]


@dataclass(frozen=True)
class Losses:
    """Chosen losses of a transfer.

    Attributes
    ----------
    kind : {"scattered", "adjacent", "retransmission", "tail"}
        "retransmission": the second lost packet is our resending of the first.
    window : int
        Advertised window [packet].
    packets : tuple of int
        Data packets to lose, counted as sent; packet n is segment n until something is sent again.
    """

    kind: str
    window: int
    packets: tuple[int, ...]


@dataclass(frozen=True)
class Sends:
    """What one flow sent: times [s] and segments, in order."""

    time: Array
    segment: Array

    @classmethod
    def of(cls, run: xr.Dataset) -> Sends:
        """Those of a run with recorded sends."""
        return cls(run.send_time.values, run.send_segment.values.astype(np.int64))

    def packed(self) -> str:
        """As text: microseconds and segments, each less the one before.

        Examples
        --------
        >>> sends = Sends(np.array([0.0, 0.1, 0.2]), np.array([0, 1, 1]))
        >>> Sends.unpacked(sends.packed()).segment.tolist()
        [0, 1, 1]
        """
        rows = np.stack([np.rint(self.time * 1e6).astype(np.int64), self.segment])
        steps = np.diff(rows, axis=1, prepend=0).astype("<i4")
        return base64.b85encode(zlib.compress(steps.tobytes(), 9)).decode()

    @classmethod
    def unpacked(cls, text: str) -> Sends:
        """The inverse of `packed`."""
        steps = np.frombuffer(zlib.decompress(base64.b85decode(text)), "<i4").reshape(2, -1)
        rows = np.cumsum(steps.astype(np.int64), axis=1)
        return cls(rows[0] / 1e6, rows[1])


class Kind(StrEnum):
    """What makes the first send that differs."""

    NONE = "none"
    TIMEOUT = "timeout computed otherwise"
    RESTART = "timer restarted later"
    BY_TIME = "loss found by time"
    LOST_AGAIN = "lost retransmission found by time"
    REDUCTION = "proportional rate reduction"
    THRESHOLD = "threshold from cwnd beyond the advertised window"
    GROWTH = "window after recovery"
    AFTER_TIMEOUT = "after a timeout"
    OTHER = "other"


@dataclass(frozen=True)
class Difference:
    """Where two senders part.

    Attributes
    ----------
    prefix : int
        Sends that agree before the first that does not.
    kind : Kind
    size : float
        By how much [s] Linux sends later what parts them; not a number where one of them never sends it.
    offset : float
        Largest difference of times over the sends that agree [s].
    ticks : float
        Largest lateness [s] of a timeout that is put down to Linux's timer wheel.
    sends : int
        All of ours.
    same_segments : bool
        Whether both send the same segments in the same order, at whatever times.
    """

    prefix: int
    kind: Kind
    size: float
    offset: float
    ticks: float
    sends: int
    same_segments: bool


def wheel(timeout: float) -> float:
    """Steps [s] of Linux's timer wheel at ticks of 1 ms: a timer never fires early, and up to so much late.

    Examples
    --------
    >>> wheel(0.03), wheel(0.3), wheel(0.6), wheel(5.0)
    (0.001, 0.008, 0.064, 0.512)
    """
    level = 0
    while timeout >= 0.063 * 8**level:
        level += 1
    return float(0.001 * 8**level)


def difference(ours: Sends, theirs: Sends, losses: Losses = Losses("tail", 20, ()), later: float = 0.0) -> Difference:
    """The first send that differs, and why.

    Parameters
    ----------
    later : float
        By how much [s] Linux's least timeout exceeds ours.

    Examples
    --------
    >>> ours = Sends(np.array([0.0, 0.1, 0.4]), np.array([0, 1, 1]))
    >>> found = difference(ours, Sends(np.array([0.0, 0.1, 0.5]), np.array([0, 1, 1])), later=0.1)
    >>> found.prefix, str(found.kind), round(found.size, 3)
    (2, 'timeout computed otherwise', 0.1)
    """
    shared = min(len(ours.time), len(theirs.time))
    anchor = offset = ticks = 0.0
    at = shared
    for i in range(shared):
        late = float(theirs.time[i] - ours.time[i])
        gap = float(theirs.time[i] - theirs.time[i - 1]) if i else 0.0
        again = bool((ours.segment[:i] == ours.segment[i]).any())
        same = ours.segment[i] == theirs.segment[i]
        if same and again and gap > SILENCE and 0 < late - anchor < wheel(gap) + TICK:
            ticks, anchor = max(ticks, late - anchor), late
        if not same or abs(late - anchor) > TOLERANCE:
            at = i
            break
        offset = max(offset, abs(late))
    whole = np.array_equal(ours.segment, theirs.segment)
    if at == len(ours.time) == len(theirs.time):
        return Difference(at, Kind.NONE, 0.0, offset, ticks, len(ours.time), whole)
    kind, size = _Parting(ours, theirs, at, losses, later).kind()
    return Difference(at, kind, size, offset, ticks, len(ours.time), whole)


@dataclass(frozen=True)
class _Parting:
    """Both senders at the first send that differs."""

    ours: Sends
    theirs: Sends
    at: int
    losses: Losses
    later: float

    def kind(self) -> tuple[Kind, float]:
        """Why they part, and how much later Linux sends [s]."""
        at, (mine, other) = self.at, (self._next(self.ours), self._next(self.theirs))
        sent = self.ours.segment[:at]
        before = self.ours.time[at - 1] if at else 0.0
        state, filled = self._recovery(min(mine[0], other[0]))
        twice = int((sent == mine[1]).sum()) > 1
        if mine[2] and mine[0] < other[0] and (twice or mine[0] - before > SILENCE):
            size = self._late(mine[1])
            restarted = not size < self.later + FORMULA
            return (Kind.RESTART if restarted else Kind.TIMEOUT), size
        size = self._late(other[1])
        if other[2] and other[0] - self.theirs.time[at - 1] < 2 * RTT:
            if int((sent == other[1]).sum()) > 1:
                return Kind.LOST_AGAIN, size
            if state in ("none", "over"):
                return Kind.BY_TIME, size
        if mine[2] and other[2] and state != "open":
            return Kind.TIMEOUT, size
        over = Kind.THRESHOLD if filled else Kind.GROWTH
        kinds = {"open": Kind.REDUCTION, "over": over, "timer": Kind.AFTER_TIMEOUT}
        return kinds.get(state, Kind.OTHER), size

    def _next(self, sends: Sends) -> tuple[float, int, bool]:
        """Time and segment of a sender's next send, and whether it was sent before."""
        if self.at >= len(sends.time):
            return np.inf, -1, False
        segment = int(sends.segment[self.at])
        return float(sends.time[self.at]), segment, bool((sends.segment[: self.at] == segment).any())

    def _late(self, segment: int) -> float:
        """How much later Linux sends a segment the next time; not a number where one of them does not."""
        times = [s.time[self.at :][s.segment[self.at :] == segment] for s in (self.ours, self.theirs)]
        return float(times[1][0] - times[0][0]) if all(len(t) for t in times) else float("nan")

    def _recovery(self, now: float) -> tuple[str, bool]:
        """State at the parting: "none", "open", "over" or "timer"; whether its loss met a full advertised window."""
        time, segment = self.ours.time[: self.at], self.ours.segment[: self.at]
        arrived: dict[int, float] = {}
        top, point, timer, filled = -1, -1, False, False
        for i, (t, s) in enumerate(zip(time.tolist(), segment.tolist(), strict=True)):
            if s <= top:
                if self._delivered(arrived, point, t):
                    point, timer, filled = top, False, top - s + 1 >= self.losses.window
                timer = timer or t - time[i - 1] > SILENCE
            if i not in self.losses.packets:
                arrived.setdefault(s, t)
            top = max(top, s)
        if point < 0:
            return "none", False
        if timer:
            return "timer", filled
        return ("over" if self._delivered(arrived, point, now) else "open"), filled

    @staticmethod
    def _delivered(arrived: dict[int, float], point: int, now: float) -> bool:
        """Whether all segments up to a point were acknowledged by then."""
        return all(arrived.get(s, np.inf) + RTT <= now for s in range(point + 1))
