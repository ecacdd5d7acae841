"""Routers that read and write the headers of passing packets.

A router is a file with a line in `ROUTERS` and four hooks: `on_send(w, f, slot)`, what a sender writes into the header
of a segment, `views.headers` of its slot; `on_data(w, line, slot)`, a segment arrives at the router's link, before
anything may be lost; `on_ack(w, line, slot)`, an acknowledgement passes the link the other way, on which
`advertise` lowers the window; `on_interval(w, line)`, the time has come that the router set with `again`. `PARAMETERS`
are what a scenario may set, `STATE` a record of one link, of which `RECORDED` names the first fields, at most 4, that
can be written down over time; `GROUP` and `MEMBER` records of a link's groups and of each flow, and `prepare(state,
groups, members, values, way, size)` fills them; `size` is that of the flows' packets [byte].

A router is compiled by itself, and a run without any pays a look at a number.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .. import views as at
from ..hooks import caller
from ..jit import called, inlined
from ..records import ACK, WINDOW_WRITTEN
from . import t_refwa

#: Name -> the file with its hooks.
ROUTERS: dict[str, ModuleType] = {"t_refwa": t_refwa}

#: Hook -> its shape. Addresses lie in the link's record, that of `on_send` in `world`.
HOOKS = {
    "on_data": "void(world, link, count)", "on_ack": "void(world, link, count)", "on_interval": "void(world, link)",
    "on_send": "void(world, flow, count)",
}  # fmt: skip

_look = caller(HOOKS["on_data"])
_compute = caller(HOOKS["on_interval"])
_stamp = caller(HOOKS["on_send"])


@inlined
def stamp(w: Any, f: Any, slot: Any) -> None:
    """A segment leaves: what its sender writes for routers."""
    if w.routing and f.paced == 0:
        _stamp(w.routing, w, f, slot)


@inlined
def look(w: Any, line: Any, slot: Any) -> None:
    """A packet arrives at a link: is there a router for it?"""
    if w.routing:
        _look_at(w, line, slot)


@called  # inlined, runs without a router are slower by 2 %
def _look_at(w: Any, line: Any, slot: Any) -> None:
    """The router of acknowledgements is that of the link the other way."""
    if at.event(w, slot).kind != ACK:
        if line.on_data:
            _look(line.on_data, w, line, slot)
    elif line.on_ack:
        _look(line.on_ack, w, at.link(w, line.answers), slot)


@called
def compute(w: Any, line: Any) -> None:
    """The end of a router's interval."""
    _compute(line.on_interval, w, line)


@inlined
def honour(w: Any, f: Any, slot: Any) -> None:
    """A sender hears what window it may use: its receiver's, or what routers have lowered that to (RFC 9293, 3.10.7.4).

    Whole packets, one at least; an acknowledgement that others have overtaken says nothing. Some flows ignore routers.
    """
    if w.routing == 0:
        return
    e = at.event(w, slot)
    if e.ack < f.una or f.advertised == 0:
        return
    window = f.advertised
    if e.mark & WINDOW_WRITTEN:
        window = np.int64(max(min(at.headers(w)[slot, 0] / f.packet_size + 1e-9, np.float64(window)), 1.0))
    f.window = window
