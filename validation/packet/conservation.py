"""Conservation: every packet of a run is in exactly one place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ConservationError

from .kernel import hooks
from .kernel import records as k
from .kernel.queues import MECHANISMS, SHIPPED, TAKE


def under_way(sim: k.Sim) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where packets are that are under way.

    Per flow (..., N, 3): data not yet received, acknowledgements, of these for data received after the end. Per link
    (..., L): packets held or travelling.
    """
    events = sim.events
    what, ack = events["what"], events["kind"] == k.ACK
    waiting = what == k.WAITING
    packet = ((what >= 0) & (what <= k.ACKED)) | waiting
    at_hop = np.take_along_axis(sim.hops["link"], np.where(waiting, events["hop"], 0), -1)
    on = np.where(waiting, at_hop, events["on"])
    late = ack & ((events["mark"] & k.AFTER_END) > 0)
    packets = [_numbers(events["flow"], packet & chosen, sim.flows.shape) for chosen in (~ack, ack, late)]
    return np.stack(packets, axis=-1), _numbers(on, packet & (on >= 0), sim.links.shape)


def _numbers(places: Any, chosen: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """How many of those that are chosen have each place along the last axis of `shape`."""
    runs = np.arange(places.size // places.shape[-1]).reshape(*places.shape[:-1], 1)
    counts = np.bincount((places + shape[-1] * runs)[chosen], minlength=math.prod(shape))
    return counts.reshape(shape)


#: Packets in a line that are counted, in some ten milliseconds; a longer line is taken to be as its link counts.
LONGEST = 10_000


def _packets_given(sim: k.Sim, link: int, lengths: dict[int, int]) -> int:
    """Take all packets off the line of a served link: how many of those with `lengths` come, or are dropped there."""
    line, in_line = sim.links[link : link + 1], 0
    take = hooks.taker(int(sim.queue_hooks[line["discipline"][0], TAKE]), sim.world, line)
    # Of plain arrays: an element of a record array takes five times as long.
    waiting, waiting_bytes, evicted = (line[name].view(np.ndarray) for name in ("waiting", "waiting_bytes", "evicted"))
    before = int(evicted[0])
    for _ in range(min(len(lengths), LONGEST)):  # a line that is a ring would never end
        length = lengths.pop(take(), None)  # each counts once
        if length is None:
            break
        waiting[0] -= 1
        waiting_bytes[0] -= length
        in_line += 1
    beyond = int(waiting[0]) if in_line == LONGEST else 0
    return in_line + int(evicted[0]) - before + beyond


def check_lines(sim: k.Sim) -> None:
    """Check that disciplines have the packets that their links count as waiting; `sim` is the same afterwards.

    Only a discipline itself finds all packets in its line, so its `take` is called until none is left.

    Raises
    ------
    ConservationError
        Naming the discipline.
    """
    links, events = sim.links, sim.events
    chosen = np.flatnonzero((links["served"] == 1) & (links["discipline"] > 0) & (links["accepted"] > 0))
    if not chosen.size:
        return
    slots = np.flatnonzero(events["what"] == k.WAITING)
    on_link = sim.hops["link"][events["hop"][slots]]
    order = np.argsort(on_link, kind="stable")
    slots, on_link = slots[order], on_link[order]
    parts = np.stack([np.searchsorted(on_link, chosen), np.searchsorted(on_link, chosen, "right")], axis=1)
    changed = (sim.world, links, sim.counts, sim.queue_state)
    before, packets = [array.copy() for array in changed], events[slots]
    sim.world["tracing"] = 0
    in_line = {}
    for link, (first, end) in zip(chosen.tolist(), parts.tolist(), strict=True):
        lengths = dict(zip(slots[first:end].tolist(), packets["length"][first:end].tolist(), strict=True))
        in_line[link] = _packets_given(sim, link, lengths)
    for array, saved in zip(changed, before, strict=True):
        array[:] = saved
    events[slots] = packets
    for link, count in in_line.items():
        _check_line(link, links[link], count)


def _check_line(link: int, line: Any, in_line: int) -> None:
    """Compare what a link counts as waiting with what its discipline gave, and with the buffer."""
    queue, counted = list(MECHANISMS)[line["discipline"]], line["waiting"]
    if counted != in_line:
        reason = "`put` take one off without" if counted > in_line else "a hook leave one there after"
        raise ConservationError(
            f"queue {queue}: link {link} counts {counted} packets as waiting, {in_line} are in its line; did {reason} "
            "`lose_held`?"
        )
    for unit, number, bound in (
        ("packets", counted, line["limit"]), ("bytes", line["waiting_bytes"], line["limit_bytes"])
    ):  # fmt: skip
        # Where none waits, one packet may be longer than the buffer.
        if 0 <= bound < number and counted > 1:
            raise ConservationError(
                f"queue {queue}: {number} {unit} wait at link {link}, where at most {bound} may; compare them in "
                "`admits`, or call `overfull` in `put`"
            )


def _advice(sim: k.Sim) -> str:
    """Whom an error concerns: the author of a queue of one's own, or the package's."""
    names = [name for i, name in enumerate(MECHANISMS) if name not in SHIPPED and (sim.links["discipline"] == i).any()]
    return f"check the hooks of queue {', '.join(names)}" if names else "please report this run"


def check_conservation(sim: k.Sim) -> NDArray[np.int64]:
    """Check that every packet is in exactly one place; return the data packets under way, per flow.

    Raises
    ------
    ConservationError
        Naming the first flow, the link or the queue whose books do not balance.
    """
    check_lines(sim)
    return check_books(sim)


def check_books(sim: k.Sim) -> NDArray[np.int64]:
    """As `check_conservation`, without the lines of disciplines; `sim` may be of runs together."""
    flying, on_link = under_way(sim)
    c, f, links = sim.counts, sim.flows, sim.links
    in_flight = flying[..., 0] + flying[..., 2]
    at_once = (f["delack"] == 0.0) & (f["algorithm"] < k.CBR)
    rules = {
        "sent = dropped + received + under way": c[..., k.SENT] - c[..., k.DROPPED] - c[..., k.RECEIVED] - in_flight,
        "acknowledgements sent = dropped + back + under way": (
            c[..., k.ACKS_SENT] - c[..., k.ACKS_DROPPED] - c[..., k.ACKS_BACK] - flying[..., 1]
        ),
        "received = acknowledgements sent": np.where(
            at_once, c[..., k.RECEIVED] + flying[..., 2] - c[..., k.ACKS_SENT], 0
        ),
        # A receiver of a paced sender may report twice on a packet, as ns-2's do.
        "acknowledgements sent <= received": np.maximum(c[..., k.ACKS_SENT] - c[..., k.RECEIVED] - flying[..., 2], 0)
        * (f["algorithm"] < k.CBR),
        "unacknowledged <= next <= sent": np.where((f["una"] <= f["next"]) & (f["next"] <= f["top"]), 0, 1)
        * (f["algorithm"] < k.CBR),
    }
    for rule, difference in rules.items():
        if np.count_nonzero(difference):
            wrong = tuple(np.argwhere(difference)[0])
            raise ConservationError(f"flow {wrong[-1]}: {rule} fails by {difference[wrong]}; {_advice(sim)}")
    link_rules = {
        "arrived = refused + accepted": links["arrived"] - (links["dropped"] - links["evicted"]) - links["accepted"],
        "accepted = left + evicted + held": links["accepted"] - links["left"] - links["evicted"] - on_link,
    }
    for rule, difference in link_rules.items():
        if np.count_nonzero(difference):
            wrong = tuple(np.argwhere(difference)[0])
            raise ConservationError(f"link {wrong[-1]}: {rule} fails by {difference[wrong]}; {_advice(sim)}")
    return in_flight
