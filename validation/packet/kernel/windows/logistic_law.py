"""Printed from `models.LogisticAckClocked.ack_map` by `validation/packet/print_law.py`; not to be edited."""

from __future__ import annotations

from typing import Any

from ..jit import inlined


@inlined
def next_window(w: Any, epsilon: Any, gamma: Any, capacity: Any, cross_traffic: Any, base_rtt: Any) -> Any:
    """The window after one acknowledgement [packet]."""
    a5 = cross_traffic * gamma
    a7 = a5 / capacity
    a8 = 1.0 - a7
    a10 = capacity * base_rtt
    a11 = w / a10
    a12 = a8 - a11
    a13 = epsilon * a12
    a14 = w + a13
    return a14
