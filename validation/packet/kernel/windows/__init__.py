"""Window rules: how a congestion window grows and falls.

A rule is a file with a line in `RULES`. Its hooks have the shape of a user's rule: `on_ack(f, now, acked)` outside loss
recovery, `on_every_ack(f, now, acked)` at each acknowledgement before all else, `on_loss(f, now)`, `on_timeout(f, now)`
and `on_mark(f, now)`. A hook that it leaves out is Reno's, or nothing. Where ns-2 differs, `on_ack_ns2` and so on are
taken with rule book "ns2". `PARAMETERS` describes `f.p0`, `f.p1`, ... in order, `SOURCE` says where the rule is from.
Reno is part of the loop; any other rule is compiled by itself and called at its address.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from .. import views as at
from ..hooks import caller
from ..jit import inlined
from ..records import TAHOE
from . import cubic, dctcp, hstcp, logistic, reno, scalable, vegas, westwood

#: Name -> the file with its hooks.
RULES: dict[str, ModuleType] = {
    "reno": reno, "hstcp": hstcp, "scalable": scalable, "westwood": westwood, "vegas": vegas, "cubic": cubic,
    "dctcp": dctcp, "logistic": logistic,
}  # fmt: skip

#: The rule in the loop, whose addresses are 0.
DEFAULT = "reno"

#: Hook -> its shape; the places of the addresses in a row of `rules`, which ends with 1 for a rule of the user's.
HOOKS = {
    "on_ack": "void(flow, time, count)", "on_loss": "void(flow, time)", "on_timeout": "void(flow, time)",
    "on_every_ack": "void(flow, time, count)", "on_mark": "void(flow, time)",
}  # fmt: skip
ON_ACK, ON_LOSS, ON_TIMEOUT, ON_EVERY_ACK, ON_MARK, OF_USER = range(6)

_call_on_ack = caller("void(flow, time, count)")
_call = caller("void(flow, time)")

#: A rule may do anything to its window; the loop needs a finite number of at least one segment.
LARGEST = 1e9


@inlined
def _bounded(value: Any, least: Any) -> Any:
    return min(value, LARGEST) if value >= least else least  # not a number becomes `least`


@inlined
def look(w: Any, f: Any, acked: Any) -> None:
    """Any acknowledgement is back, of `acked` new segments or none: what a rule measures."""
    address = at.rules(w)[f.rule, ON_EVERY_ACK]
    if address:
        f.flight = f.top - f.una
        _call_on_ack(address, f, w.now, acked)
        f.cwnd = _bounded(f.cwnd, 1.0)
        f.ssthresh = _bounded(f.ssthresh, 1.0)


@inlined
def grow(w: Any, f: Any, acked: Any, default: Any) -> None:
    """New data is acknowledged outside recovery: the rule's hook, or the sender's `default`."""
    address = at.rules(w)[f.rule, ON_ACK]
    if address:
        f.flight = f.top - f.una
        _call_on_ack(address, f, w.now, acked)
        f.cwnd = _bounded(f.cwnd, 1.0)
        f.ssthresh = _bounded(f.ssthresh, 1.0)
    else:
        default(f, w.now, acked)


@inlined
def reduce_on_loss(w: Any, f: Any, default: Any, least: Any, most: Any) -> None:
    """A loss found by duplicates: new ssthresh and cwnd, `most` at most. What limited transmit sent is not in flight.

    ns-2 lets the window fall below one segment, its `least`: a handshake that was sent several times brings duplicates.
    """
    _reduce(w, f, ON_LOSS, default, least, most)
    if f.algorithm == TAHOE:
        f.cwnd = 1.0


@inlined
def reduce_on_mark(w: Any, f: Any, default: Any, least: Any, most: Any) -> None:
    """An acknowledgement echoes a mark, the first of a window: the rule's hook, or what it does at a loss.

    ns-2 lets the window fall below one segment here, too: nothing is sent then until the timer expires.
    """
    _reduce(w, f, ON_MARK if at.rules(w)[f.rule, ON_MARK] else ON_LOSS, default, least, most)


@inlined
def _reduce(w: Any, f: Any, hook: Any, default: Any, least: Any, most: Any) -> None:
    address = at.rules(w)[f.rule, hook]
    f.flight = f.top - f.una - f.limited_sent
    if address:
        _call(address, f, w.now)
    else:
        default(f, w.now)
    if at.rules(w)[f.rule, OF_USER]:
        least = 1.0
    f.ssthresh = _bounded(f.ssthresh, 2.0)
    f.cwnd = _bounded(min(f.cwnd, most), least)
    f.answered = 1  # which the next packet says where ECN is on (RFC 3168, 6.1.2)


@inlined
def reduce_on_timeout(w: Any, f: Any, default: Any) -> None:
    """A timeout: new ssthresh, and a window of one segment unless the rule has it otherwise."""
    address = at.rules(w)[f.rule, ON_TIMEOUT]
    f.flight = f.top - f.una
    if address:
        before = f.cwnd
        _call(address, f, w.now)
        f.cwnd = _bounded(min(f.cwnd, before), 1.0)
    else:
        default(f, w.now)
    f.ssthresh = _bounded(f.ssthresh, 2.0)
    f.answered = 1
