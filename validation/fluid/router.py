"""A router that sets the windows of its flows every interval, on a real queue; every change is an event.

Between events all rates are constant, so that amounts are linear and the times of switches (the queue runs empty or
full, a sender that has too much in flight may send again) are exact to rounding.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import former_names
from tcpdynamics.limits import check_work
from tcpdynamics.solvers.problems import DomainError

Array = NDArray[np.float64]

#: What is smaller than this share of the bandwidth-delay product is nothing.
NOTHING = 1e-13


@former_names.arguments(shares="fractions")
@dataclass(frozen=True, kw_only=True)
class SampledWindow:
    """T-REFWA on a link: at every interval the router reads its queue and sets all windows (eq. 3).

    All flows have the round-trip time RTT_avg, which is the unit of time, and their senders are at the link's entry. A
    command reaches a fraction s_i of the window `lags[i]` later.

    Parameters
    ----------
    phi, psi : float          Gains [1].
    bdp, buffer : float       C RTT_avg and B [packet], > 0.
    room : float, optional    Packets that fit, where that is not B.
    lags : sequence of float  Between a command and its effect, for each group of flows [RTT_avg], in (0, 10].
    fractions : sequence of float, optional
                              s_i, of sum one; equal by default.
    paced : bool
        False: senders are clocked by ACKs and keep their window in flight; one that has too much waits. True: they send
        at the rate window/RTT_avg, whatever is in flight.

    Notes
    -----
    A command whose effect comes at the instant at which the queue is read is not in that reading. What does not fit is
    lost; its sender learns that when the ACK would have come and sends it again.

    Examples
    --------
    >>> router = SampledWindow(phi=1.0, psi=0.5, bdp=100.0, buffer=90.0)
    >>> router.run(excess=34.0, intervals=4).queue.round(9)
    array([34.  , 28.  , 31.  , 29.5 , 30.25])
    """

    phi: float = 1.5
    psi: float = 0.5
    bdp: float = 190.0
    buffer: float = 190.0
    room: float | None = None
    lags: Sequence[float] = (0.5,)
    fractions: Sequence[float] | None = None
    paced: bool = False

    def __post_init__(self) -> None:
        if not self.lags or not all(0 < lag <= 10 for lag in self.lags):
            raise DomainError(f"lags must be numbers in (0, 10] [RTT_avg], got {tuple(self.lags)!r}")
        if self.fractions is not None and (
            len(self.fractions) != len(self.lags) or min(self.fractions) <= 0 or abs(sum(self.fractions) - 1) > 1e-9
        ):
            raise DomainError(f"fractions must be as many as lags, > 0 and sum to one, got {tuple(self.fractions)!r}")
        if not (self.bdp > 0 and self.buffer > 0):
            raise DomainError(f"bdp and buffer must be > 0, got {self.bdp!r} and {self.buffer!r}")

    def run(self, *, excess: float, intervals: int, queue: float | None = None) -> SampledRun:
        """Follow what the router reads and commands.

        Parameters
        ----------
        excess : float
            e(0), the first command less the bandwidth-delay product, obeyed from the start [packet], > -bdp.
        intervals : int
        queue : float, optional
            Q(0) [packet]. Default: what `excess` leaves in the queue of ACK-clocked senders.
        """
        what = f"{intervals:,} intervals of {len(self.lags):,} groups"
        check_work(what, 1e6 * intervals * len(self.lags), "give fewer intervals")
        return _Link(self, excess, max(excess, 0.0) if queue is None else queue).follow(intervals)


@dataclass
class SampledRun:
    """What the router read and commanded, and where the packets are.

    Attributes
    ----------
    queue : (intervals + 1,) array     Q(n), as read at the time n [packet].
    excess : (intervals + 1,) array    Upsilon(n) - BDP, as commanded then [packet].
    sent, delivered, lost : float      Totals since the start [packet].
    waiting : float                    In the queue at the end, less those at the start [packet].
    """

    queue: Array
    excess: Array
    sent: float
    delivered: float
    lost: float
    waiting: float


class _Link:
    """One run: rates that hold until the next event."""

    def __init__(self, setting: SampledWindow, excess: float, queue: float) -> None:
        s = self.setting = setting
        self.share = list(s.fractions or [1 / len(s.lags)] * len(s.lags))
        self.groups = range(len(s.lags))
        self.room = s.buffer if s.room is None else s.room
        self.tiny = NOTHING * s.bdp
        self.command = excess
        self.window = [(s.bdp + excess) * x for x in self.share]
        # At the start the link is shared like the windows, and has been for a round trip.
        self.acks = [min(s.bdp, s.bdp + excess) * x for x in self.share]
        self.flight = list(self.window)
        self.queue = min(queue, self.room)
        self.began = self.queue
        self.chunks: deque[list[Any]] = deque([[self.queue, tuple(self.share)]] if self.queue > 0 else [])
        self.leaving, self.answered = list(self.acks), list(self.acks)
        self.sent = self.delivered = self.lost = self.now = 0.0
        self.agenda: list[tuple[float, int, str, int, float]] = []
        self.count = 0
        self.sending = [0.0 for _ in self.groups]
        self.losing = 0.0
        self.settle()

    def follow(self, intervals: int) -> SampledRun:
        s, queue, excess = self.setting, [], []
        for n in range(intervals + 1):
            self.advance(float(n))
            queue.append(self.queue)
            excess.append(self.command)
            self.command = (1 - s.phi) * self.command + s.psi * (s.buffer - self.queue)
            for i in self.groups:
                wanted = max((s.bdp + self.command) * self.share[i], 0.0)
                self.plan(n + s.lags[i], "window", i, wanted)
        return SampledRun(
            np.array(queue), np.array(excess), self.sent, self.delivered, self.lost, self.queue - self.began
        )

    def plan(self, time: float, kind: str, group: int, amount: float) -> None:
        self.count += 1
        heapq.heappush(self.agenda, (time, self.count, kind, group, amount))

    def advance(self, until: float) -> None:
        """Go on to a time; what happens at that very time has not happened yet."""
        while True:
            wait = min(self.calm(), (self.agenda[0][0] if self.agenda else until) - self.now, until - self.now)
            self.flow(max(wait, 0.0))
            if self.now >= until - 1e-12:
                self.now = until
                return
            while self.agenda and self.agenda[0][0] <= self.now + 1e-12:
                self.happen(*heapq.heappop(self.agenda)[2:])
            self.settle()

    def calm(self) -> float:
        """Time for which all rates will hold if nothing arrives."""
        total, rate, ends = sum(self.sending), self.setting.bdp, [np.inf]
        if self.chunks:
            drain = rate - (total if len(self.chunks) == 1 else 0.0)
            if drain > self.tiny:
                ends.append(self.chunks[0][0] / drain)
        if total - rate > self.tiny and self.queue < self.room:
            ends.append((self.room - self.queue) / (total - rate))
        for i in self.groups:
            surplus = self.flight[i] - self.window[i]
            if not self.setting.paced and surplus > self.tiny and self.acks[i] > self.tiny:
                ends.append(surplus / self.acks[i])
        return float(min(ends))

    def flow(self, wait: float) -> None:
        """Let the rates act."""
        total, out = sum(self.sending), sum(self.leaving)
        self.now += wait
        self.sent += total * wait
        self.delivered += out * wait
        self.lost += self.losing * wait
        for i in self.groups:
            self.flight[i] += (self.sending[i] - self.acks[i]) * wait
        if self.chunks:
            self.chunks[-1][0] += (total - self.losing) * wait
            self.chunks[0][0] -= out * wait
            self.queue += (total - self.losing - out) * wait

    def happen(self, kind: str, i: int, amount: float) -> None:
        if kind == "window":
            self.window[i] = amount
        elif kind == "acks":
            self.acks[i] = amount
        else:  # the ACKs of a lost burst
            self.flight[i] -= amount

    def settle(self) -> None:
        """Rates that follow from the state; ACKs of what changed come a round trip later."""
        s = self.setting
        for i in self.groups:
            surplus = self.flight[i] - self.window[i]
            if s.paced:
                self.sending[i] = self.window[i]
            elif surplus > self.tiny:
                self.sending[i] = 0.0
            else:
                if surplus < -self.tiny:
                    self.burst(i, -surplus)
                self.sending[i] = self.acks[i]
        while self.chunks and self.chunks[0][0] <= self.tiny:
            self.chunks.popleft()
        self.queue = sum(chunk[0] for chunk in self.chunks)
        if self.queue > self.room - self.tiny:
            self.queue = self.room
        total = sum(self.sending)
        over = total > s.bdp + self.tiny
        if (self.chunks or over) and total > self.tiny:
            self.join(0.0, tuple(x / total for x in self.sending))
        if self.chunks:
            leaving = [s.bdp * x for x in self.chunks[0][1]]
        else:
            leaving = list(self.sending)
        self.losing = total - s.bdp if over and self.queue >= self.room else 0.0
        shares = [x / total if total > self.tiny else 0.0 for x in self.sending]
        for i in self.groups:
            answered = leaving[i] + self.losing * shares[i]
            if abs(answered - self.answered[i]) > self.tiny:
                self.plan(self.now + 1.0, "acks", i, answered)
                self.answered[i] = answered
        self.leaving = leaving

    def burst(self, i: int, amount: float) -> None:
        accepted = min(amount, self.room - self.queue)
        self.sent += amount
        self.flight[i] += amount
        if accepted < amount:
            self.lost += amount - accepted
            self.plan(self.now + 1.0, "lost", i, amount - accepted)
        self.queue += accepted
        self.join(accepted, tuple(float(j == i) for j in self.groups))

    def join(self, amount: float, mix: tuple[float, ...]) -> None:
        """Packets at the end of the queue; those of the same mix are one chunk."""
        if self.chunks and max(abs(a - b) for a, b in zip(self.chunks[-1][1], mix, strict=True)) < 1e-12:
            self.chunks[-1][0] += amount
        else:
            self.chunks.append([amount, mix])
