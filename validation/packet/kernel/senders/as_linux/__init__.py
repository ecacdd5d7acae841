"""Senders by Linux's rules, as of version 7.2 with its later options off, and on where a flow asks for them.

The state of a sender and of each outstanding segment is in `records`. An acknowledgement (`acks`) reports segments,
has losses found (`losses`: RFC 8985 with selective acknowledgements, duplicates without), moves the window (`windows`:
RFC 6937, whole segments), sets the one timer (`timers`, `timeouts`) and sends (`output`). What differs from the other
rules is in docs/reference/sender_rules.md, what from Linux itself in docs/linux.md. Written from what the kernel's
documents and behaviour say; no line of the kernel is in it.

The hooks are compiled by themselves, for runs with such a flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...hooks import caller
from ...jit import inlined
from ...records import UNLIMITED
from . import acks, output, timeouts
from . import records as own

CALLED = "Linux 7.2"

#: What a flow gets where it does not say.
DEFAULTS: dict[str, Any] = {
    "initial_window": 10, "min_rto": 0.2, "max_rto": 120.0, "initial_rto": 1.0, "timer_granularity": 0.001,
    "handshake": True,
}  # fmt: skip

#: The threshold before a loss: none.
NO_THRESHOLD = float(2**30)

#: Hook -> its shape; addresses are in `world`, as `linux_on_ack` and so on.
HOOKS = {
    "acknowledged": "void(world, flow, count, count)", "timed_out": "void(world, flow, count)",
    "allowed": "void(world, flow, count)",
}  # fmt: skip

_call_acknowledged = caller(HOOKS["acknowledged"])
_call_timed_out = caller(HOOKS["timed_out"])
_call_allowed = caller(HOOKS["allowed"])


def flow_fields(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a flow's record that this rule book sets."""
    return {
        "recover": -2,
        "least_rto": 0.0,
        "echo_rounded": False,
        "backoff_to_max": True,
        "ecn_as_ns2": False,
        "ssthresh": NO_THRESHOLD,
    }


@inlined
def on_ack(w: Any, f: Any, i: Any, slot: Any, ack: Any, echo: Any) -> None:
    """An acknowledgement is back."""
    _call_acknowledged(w.linux_acknowledged, w, f, i, slot)


@inlined
def on_timeout(w: Any, f: Any, i: Any) -> None:
    """The timer has run out with data outstanding."""
    _call_timed_out(w.linux_timed_out, w, f, i)


@inlined
def send(w: Any, f: Any, i: Any) -> None:
    """Send what the window allows: the beginning, and after a pause of the user's."""
    _call_allowed(w.linux_allowed, w, f, i)


@inlined
def on_mark(w: Any, f: Any, ack: Any) -> None:
    """An echoed mark is answered with its acknowledgement."""


@inlined
def on_stop(w: Any, f: Any) -> None:
    """The end of the data makes nothing to send."""


@inlined
def may_send(w: Any, f: Any) -> None:
    """Have sent, at the end of this turn, what the window allows now."""
    w.send = 1


@inlined
def _sender(w: Any, f: Any) -> Any:
    """The record of a sender, made new where its connection is."""
    s = own.of(w, f, 0)
    if s.since != f.since:
        own.begin(f, s)
    return s


def acknowledged(w: Any, f: Any, i: Any, slot: Any) -> None:
    """An acknowledgement is in `slot`."""
    acks.on_ack(w, f, i, _sender(w, f), slot)


def timed_out(w: Any, f: Any, i: Any) -> None:
    """The timer has run out."""
    timeouts.on_timeout(w, f, i, _sender(w, f))


def allowed(w: Any, f: Any, i: Any) -> None:
    """Something may be sent."""
    output.send_new(w, f, i, _sender(w, f), UNLIMITED)
