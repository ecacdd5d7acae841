"""Links whose rate and delay change over time by a table.

Nothing happens at a change: where a transmission begins, the row of the table that holds then is looked up. A packet
finishes at the rate at which it began, and takes the delay of that moment, as in ns-2; or, with `by_bits`, each of its
bits is sent at the rate of its own moment. A rate of 0 is an outage: the packet whose turn it is waits for its end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import views as at
from .hooks import caller
from .streams import GRID

#: Hook -> its shape.
HOOKS = {"depart": "time(world, link, count)"}

#: What a link remembers. `place`: the row that held last, of `rows`; `latest`: when the last packet is at the link's
#: end; `bits`: sent, `rate`: of the packet being sent, whose `length` [bit] is the last of them; `first`: the delay
#: that hops count with [s].
STATE = np.dtype(
    [
        *((name, np.int64) for name in ("place", "rows", "by_bits", "overtakes")),
        *((name, np.float64) for name in ("latest", "bits", "rate", "length", "first")),
    ]
)
#: A row of the table: from `time` [s] on, `rate` [bit/s] and `delay` [s].
ROW = np.dtype([(name, np.float64) for name in ("time", "rate", "delay")])

_state = at.part_of("course", STATE)
_row = at.part_of("table", ROW)

departs = caller(HOOKS["depart"])


def depart(w: Any, line: Any, slot: Any) -> Any:
    """A packet begins to be sent: the seconds until its last bit is, and in `line.arrival` when it is at the end.

    Where packets must keep their order, one that would come before the packet ahead of it follows that by its sending
    time, as with ns-2's `avoidReordering_`.
    """
    s = _state(w, line, 0)
    e = at.event(w, slot)
    while s.place + 1 < s.rows and _row(w, line, s.place + 1).time <= w.now:
        s.place += 1
    begin, row, bits = w.now, s.place, 8.0 * e.length
    s.bits += bits
    s.length = bits
    rate = _row(w, line, row).rate
    while row + 1 < s.rows:
        until = _row(w, line, row + 1).time
        if rate > 0.0 and (not s.by_bits or bits <= rate * (until - begin)):
            break
        bits -= rate * (until - begin)  # with whole packets, rate is 0 here
        begin = until
        row += 1
        rate = _row(w, line, row).rate
    s.rate = rate
    sending = gap = 2.0 * w.end + 1.0  # an outage that does not end
    if rate > 0.0:
        sending = bits / rate
        gap = s.length / rate
    if not w.exact:
        sending = math.floor(sending * GRID) / GRID
        gap = math.floor(gap * GRID) / GRID
    if rate > 0.0:
        line.rate = rate  # for disciplines that ask
    tx = (begin - w.now) + sending
    delay = _row(w, line, row).delay
    if tx + delay < s.latest - w.now and not s.overtakes:
        s.latest += gap
    else:
        s.latest = w.now + (tx + delay)
    line.arrival = s.latest + (at.hop(w, e.hop).delay - s.first)
    return tx


def links_that_change(links: Any) -> Any:
    """Which links do, from outside the loop; a meter has the same hook (`meters`)."""
    departing = links["departs"].nonzero()[0]
    return departing[links["course"][departing] >= 0]


def state_of(link: Any, memory: Any) -> Any:
    """What a link remembers, from outside the loop; `memory` is `queue_state`."""
    return memory[link["course"] :][: STATE.itemsize].view(STATE)[0]


def table_of(link: Any, memory: Any) -> Any:
    """The rows of a link's table, from outside the loop."""
    rows = int(state_of(link, memory)["rows"])
    return memory[link["table"] :][: rows * ROW.itemsize].view(ROW)
