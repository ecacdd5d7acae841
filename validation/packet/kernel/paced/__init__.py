"""Senders with a state and hooks of their own: paced ones, where timers say when a packet goes and what the receiver
reports says how fast, and M/TCP, which has a window on each of several routes.

A sender is a file with a line in `PACED` for each rule book, and hooks of which it may leave any out:
`on_timer(w, f, i, number)`, the flow's start (number 0) and each timer that it has set with `clock.set_timer`;
`on_send(w, f, i, slot)`, which writes into `views.notes` of the slot up to 6 numbers that a packet carries, such as
what had been delivered when it left, and may write the packet's way into `f.out_hop` and `f.out_access`;
`is_new(w, f, i, slot)`, is a packet that has come the first with its number (all are, where nothing is sent again);
`on_receipt(w, f, i, slot)`, a packet is at its receiver (1: the slot has been
made the report that answers it, by `clock.report`); `on_report_timer(w, f, i, number)`, the receiver's timer, set with
`clock.set_report_timer` (the slot of a report, or -1); `on_feedback(w, f, i, slot)`, a report is back. They send with
`senders.common.emit`. `PARAMETERS` are what a scenario may set, `STATE` a record of one flow, sender's and receiver's
side alike (fields with the names of parameters hold them), `LANE` one of a few that `prepare(state, lanes, values,
group)` fills, `RING` one of those that remember recent packets (as many as `remembered(group)` says, where there is
such a function).

The loop knows only where to call: a sender is compiled by itself, and a run without any pays a look at a number.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import views as at
from ..calendar import free_slot
from ..hooks import caller
from ..jit import called, inlined
from . import mtcp, on_off, tfrc, tfrc_ns2

#: Name -> rule book -> the file with its hooks. "cbr" and "poisson" are of the loop, but with periods or steps.
PACED: dict[str, dict[str, ModuleType]] = {
    "tfrc": {"ns2": tfrc_ns2, "rfc": tfrc},
    "on_off": {"ns2": on_off, "rfc": on_off},
    "mtcp": {"ns2": mtcp, "rfc": mtcp},
}

#: Hook -> its shape; the places of the addresses in a row of `paced_hooks`.
HOOKS = {
    "on_timer": "void(world, flow, count, count)",
    "on_send": "void(world, flow, count, count)",
    "on_receipt": "count(world, flow, count, count)",
    "on_report_timer": "count(world, flow, count, count)",
    "on_feedback": "void(world, flow, count, count)",
    "is_new": "count(world, flow, count, count)",
}
ON_TIMER, ON_SEND, ON_RECEIPT, ON_REPORT_TIMER, ON_FEEDBACK, IS_NEW = range(6)

_call = caller("void(world, flow, count, count)")
_ask = caller("count(world, flow, count, count)")


@inlined
def _hook(w: Any, f: Any, which: Any) -> Any:
    """Address of a hook of the flow's sender; 0 where it has none, or is none of these."""
    return at.paced_hooks(w)[f.paced, which] if f.paced else 0


@inlined
def timer(w: Any, f: Any, i: Any, number: Any) -> Any:
    """A timer of a paced sender is due, or the flow starts; False: it is no such sender."""
    if f.paced:
        _call(_hook(w, f, ON_TIMER), w, f, i, number)
        return True
    return False


@inlined
def note(w: Any, f: Any, i: Any, slot: Any) -> None:
    """A packet leaves: what it carries."""
    if f.paced:
        _note(w, f, i, slot)


@called
def _note(w: Any, f: Any, i: Any, slot: Any) -> None:
    address = _hook(w, f, ON_SEND)
    if address:
        _call(address, w, f, i, slot)


@called
def is_new(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """Is a packet that is at its receiver the first with its number?"""
    address = _hook(w, f, IS_NEW)
    return address == 0 or _ask(address, w, f, i, slot) != 0


@called
def receipt(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """A packet is at its receiver; slot of the report that answers it, or -1."""
    address = _hook(w, f, ON_RECEIPT)
    if address and _ask(address, w, f, i, slot):
        return slot
    free_slot(w, slot)
    return -1


@called
def report_timer(w: Any, f: Any, i: Any, number: Any) -> Any:
    """The receiver's timer is due; slot of a report, or -1."""
    return _ask(_hook(w, f, ON_REPORT_TIMER), w, f, i, number)


@inlined
def feedback(w: Any, f: Any, i: Any, slot: Any) -> Any:
    """A report is back at its sender; False: it is no paced one."""
    if f.paced:
        _feedback(w, f, i, slot)
        return True
    return False


@called
def _feedback(w: Any, f: Any, i: Any, slot: Any) -> None:
    f.una = max(at.event(w, slot).ack, f.una)
    _call(_hook(w, f, ON_FEEDBACK), w, f, i, slot)
