"""Users with pools of connections: flows that begin again after a pause, and for how long users wait without data.

A flow that has finished writes down its connection, and begins again after a drawn pause as a new one: its record is
then what it was before the run, with another size. Packets and acknowledgements that were sent before `since` belong to
connections that are over; their receiver and their sender count them, and do nothing else.

A user hangs while one connection at least is open and none of them receives data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import records as k
from . import views as at
from .calendar import schedule
from .hooks import caller
from .jit import inlined
from .streams import ONE, on_grid, uniform

#: Hook -> its shape; compiled by themselves for runs that have users, and called at addresses in `world`.
HOOKS = {
    "on_begin": "void(world, flow, count)", "on_finish": "void(world, flow, count)",
    "on_receipt": "void(world, time, count)",
}  # fmt: skip

_call = caller(HOOKS["on_begin"])
_call_receipt = caller(HOOKS["on_receipt"])


@inlined
def begin(w: Any, f: Any, i: Any) -> None:
    """A flow begins, for the first time or again."""
    if w.connecting:
        _call(w.on_begin, w, f, i)


@inlined
def finish(w: Any, f: Any, i: Any) -> None:
    """All that a flow has to send is acknowledged."""
    if w.connecting:
        _call(w.on_finish, w, f, i)


@inlined
def receipt(w: Any, i: Any, time: Any) -> None:
    """Data of flow `i` came to its receiver."""
    _call_receipt(w.on_receipt, w, time, i)


def on_begin(w: Any, f: Any, i: Any) -> None:
    """A new connection of a flow that has had one; its user waits from now on, if it did not wait before."""
    web = at.webs(w, i)
    if web.begun:
        web.done += f.una
        _renew(w, f, i)
        web.segments = _size(web)
        f.limit = web.segments + f.handshake
    web.begun = 1
    if web.user >= 0:
        user = at.users(w, web.user)
        if user.active == 0:
            user.last = w.now
        user.active += 1


@inlined
def _renew(w: Any, f: Any, i: Any) -> None:
    """The record of a flow as it was before the run, but for what is counted over all of it, and random streams."""
    timer, ack_timer, acks, held_back = f.timer, f.ack_timer, f.acks, f.held_back
    epoch, epoch_end, epoch_index, epoch_count = f.epoch, f.epoch_end, f.epoch_index, f.epoch_count
    jitter, loss, hold, gap, last_sent = f.jitter_draws, f.loss_draws, f.hold_draws, f.gap_draws, f.last_sent
    for word in range(at.fresh(w).shape[1]):
        at.flow_words(w)[i, word] = at.fresh(w)[i, word]
    # Timers that are still scheduled are superseded.
    f.timer, f.ack_timer, f.acks, f.held_back = timer + 1, ack_timer + 1, acks, held_back
    f.epoch, f.epoch_end, f.epoch_index, f.epoch_count = epoch, epoch_end, epoch_index, epoch_count
    f.jitter_draws, f.loss_draws, f.hold_draws, f.gap_draws, f.last_sent = jitter, loss, hold, gap, last_sent
    f.since = w.now
    ring = at.sacked(w).shape[1]
    for place in range(ring):
        at.sacked(w)[i, place] = 0
        at.received(w)[i, place] = 0


@inlined
def _size(web: Any) -> Any:
    """Segments of the next connection."""
    if web.tail <= 0.0:
        return web.objects
    web.size_draws += ONE
    smallest = web.objects * (web.tail - 1.0) / web.tail
    drawn = smallest * (1.0 - uniform(web.size_key, web.size_draws)) ** (-1.0 / web.tail)
    return max(np.int64(1), np.int64(min(drawn, 1e12) + 0.5))


def on_finish(w: Any, f: Any, i: Any) -> None:
    """Write the connection down, and begin again after a pause."""
    web = at.webs(w, i)
    n = w.connection_count
    at.connections(w)[n, 0] = i
    at.connections(w)[n, 1] = max(f.since, f.start)
    at.connections(w)[n, 2] = w.now
    at.connections(w)[n, 3] = f.una - f.handshake
    w.connection_count += 1
    if web.user >= 0:
        at.users(w, web.user).active -= 1
    if web.think < 0.0:
        return
    pause = web.think
    if not web.fixed:
        web.think_draws += ONE
        pause = -web.think * math.log1p(-uniform(web.think_key, web.think_draws))
    again = w.now + on_grid(w, pause)
    if again < f.stop and again < w.end:
        schedule(w, again, k.START, i, 0)


def on_receipt(w: Any, time: Any, i: Any) -> None:
    """A user has data again: how long was there none?"""
    number = at.webs(w, i).user
    if number < 0:
        return
    user = at.users(w, number)
    if user.active == 0:  # late copies of what a connection that is over has received
        return
    hang = time - max(user.last, w.measure_from)
    if hang > 0.0:
        user.longest = max(user.longest, hang)
        if hang >= 1.0:
            user.h0 += 1
        if hang >= 2.0:
            user.h1 += 1
        if hang >= 5.0:
            user.h2 += 1
        if hang >= 10.0:
            user.h3 += 1
        if hang >= 20.0:
            user.h4 += 1
        if hang >= 30.0:
            user.h5 += 1
        if hang >= 60.0:
            user.h6 += 1
        if hang >= 120.0:
            user.h7 += 1
    user.last = max(user.last, time)
