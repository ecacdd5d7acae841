"""Senders: what is sent next, and what an acknowledgement means; the one place that knows every rule book.

A rule book is a file with six hooks (below), `DEFAULTS` of the settings of a flow, `CALLED` (its name in a sentence)
and `flow_fields`, and a line in `BOOKS`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..jit import by_number, inlined
from . import as_ns2, by_rfc

#: `rules` of a flow -> its file; `book` of a flow's record is the place in this table.
BOOKS: dict[str, ModuleType] = {"ns2": as_ns2, "rfc": by_rfc}


@inlined
def _book(f: Any) -> Any:
    return f.book


def _hook(name: str) -> Any:
    return by_number(_book, [getattr(file, name) for file in BOOKS.values()])


on_ack = _hook("on_ack")  # (w, f, i, slot, ack, echo): an acknowledgement is back
on_timeout = _hook("on_timeout")  # (w, f, i): the retransmission timer expired with data outstanding
on_mark = _hook("on_mark")  # (w, f, ack): an acknowledgement echoes a mark
on_stop = _hook("on_stop")  # (w, f): no new data from now on
may_send = _hook("may_send")  # (w, f): ask for what the window allows
send = _hook("send")  # (w, f, i): send what was asked for in this turn
