"""Senders: what is sent next, and what an acknowledgement means; the one place that knows every rule book.

A rule book is a file with six hooks (below), `DEFAULTS` of the settings of a flow, `CALLED` (its name in a sentence)
and `flow_fields`, and a line in `BOOKS`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..jit import by_number, inlined
from . import as_linux, as_ns2, by_rfc, leap

#: `rules` of a flow -> its file; `book` of a flow's record is the place in this table.
BOOKS: dict[str, ModuleType] = {"ns2": as_ns2, "rfc": by_rfc, "linux": as_linux}


@inlined
def _book(f: Any) -> Any:
    return f.book


def _hook(name: str) -> Any:
    return by_number(_book, [getattr(file, name) for file in BOOKS.values()])


_on_ack, _on_timeout, _send = _hook("on_ack"), _hook("on_timeout"), _hook("send")
on_mark = _hook("on_mark")  # (w, f, ack): an acknowledgement echoes a mark
on_stop = _hook("on_stop")  # (w, f): no new data from now on
may_send = _hook("may_send")  # (w, f): ask for what the window allows


@inlined
def on_ack(w: Any, f: Any, i: Any, slot: Any, ack: Any, echo: Any) -> None:
    """An acknowledgement is back."""
    if f.leaping and leap.answers(w, f, i, slot):
        return
    _on_ack(w, f, i, slot, ack, echo)


@inlined
def on_timeout(w: Any, f: Any, i: Any) -> None:
    """The retransmission timer expired with data outstanding."""
    dupacks = f.dupacks
    _on_timeout(w, f, i)
    if f.leap:
        leap.look(w, f, i, dupacks)


@inlined
def send(w: Any, f: Any, i: Any) -> None:
    """Send what was asked for in this turn."""
    if f.leaping:
        leap.send_past(w, f, i)
    else:
        _send(w, f, i)
