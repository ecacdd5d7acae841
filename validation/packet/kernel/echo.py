"""A receiver that echoes each mark by itself, for window rules that live by the share of marks (RFC 8257, 3.2)."""

from __future__ import annotations

from typing import Any

from .jit import inlined
from .records import CE, EACH


@inlined
def must_answer_first(f: Any, marks: Any) -> Any:
    """Is an acknowledgement held that tells another state of marks than this packet's?"""
    return f.ack_held and f.ecn == EACH and f.echoes_mark != (1 if marks & CE else 0)


@inlined
def note_each(f: Any, marks: Any) -> None:
    """Echo this packet's mark, or that it has none."""
    if f.ecn == EACH:
        f.echoes_mark = 1 if marks & CE else 0
