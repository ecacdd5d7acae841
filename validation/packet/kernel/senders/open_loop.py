"""Senders that ignore the network: evenly ("cbr") or with exponential gaps ("poisson")."""

from __future__ import annotations

import math
from typing import Any

from ..calendar import schedule
from ..jit import called, inlined
from ..records import CBR, MTCP, POISSON, REPEAT, TICK
from ..streams import ONE, on_grid, uniform
from .common import emit


@inlined
def is_open_loop(f: Any) -> Any:
    """Does the flow send without acknowledgements, or with those of a sender of its own (`paced`)?"""
    return f.algorithm >= CBR


@inlined
def repeats(f: Any) -> Any:
    """Does the flow send again what was lost, so that it is done when all is acknowledged?"""
    return f.algorithm < CBR or f.algorithm == MTCP


@inlined
def least_sent(f: Any) -> Any:
    """Segments that a flow sends however soon it stops."""
    return 0 if f.paced else 1


@called
def tick(w: Any, f: Any, i: Any) -> None:
    """Send the next packet, and set the time of the one after it."""
    if f.top >= f.limit:
        return
    emit(w, f, i, f.top, REPEAT)
    f.top += 1
    if f.top >= f.limit:
        f.finish = w.now
        return
    gap = f.interval
    if f.algorithm == POISSON:
        f.gap_draws += ONE
        gap = -f.interval * math.log1p(-uniform(f.gap_key, f.gap_draws))
    schedule(w, w.now + on_grid(w, gap), TICK, i, 0)
