"""Senders that heed nothing ("cbr", "poisson") with periods of silence, or a rate that changes in steps.

A burst has as many packets as `on_time` holds at the rate of its beginning: rounded, at least one; with exponential
periods a draw with that mean is. The silence after it comes on top of the last gap. As in ns-2's
`Application/Traffic/Exponential` such a flow begins with a silence; one with fixed periods begins with a burst. A step
changes the gaps that begin after it; while the rate is 0 nothing is sent, and the step that ends this sends at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import views as at
from ..calendar import schedule
from ..jit import called, inlined
from ..parameters import Parameter
from ..records import FLOW, POISSON, TICK
from ..streams import ONE, on_grid, uniform
from .clock import send_next

PARAMETERS: tuple[Parameter, ...] = ()

STATE = np.dtype(
    [
        *((name, np.float64) for name in ("on_time", "off_time")),
        *((name, np.int64) for name in ("drawn", "step", "left")),
    ]
)
_state = at.part_of("paced_state", STATE, FLOW, "paced_state")

#: From `time` on packets have gaps of `gap` [s]; 0: none is sent.
LANE = np.dtype([("time", np.float64), ("gap", np.float64)])
_step = at.part_of("paced_lanes", LANE, FLOW, "paced_state")


def prepare(state: Any, lanes: Any, values: Mapping[str, float], group: Any) -> None:
    """The steps; the first holds from the beginning."""
    steps = group.steps()
    lanes["time"] = [time for time, _ in steps]
    lanes["gap"] = [8.0 * group.packet_size / rate if rate > 0.0 else 0.0 for _, rate in steps]
    state["on_time"] = group.on_time or 0.0
    state["off_time"] = group.off_time or 0.0
    state["drawn"] = group.on_off == "exponential"


def on_timer(w: Any, f: Any, i: Any, number: Any) -> None:
    """Send the next packet, and set the time of the one after it."""
    s = _state(w, f, 0)
    if f.top >= f.limit:
        return
    while s.step + 1 < f.n_lanes and _begin(w, f, s.step + 1) <= w.now:
        s.step += 1
    gap = _step(w, f, s.step).gap
    if gap <= 0.0:
        if s.step + 1 < f.n_lanes:
            schedule(w, _begin(w, f, s.step + 1), TICK, i, min(f.top, 1))
        return
    if number > 0 or not (s.off_time > 0.0 and s.drawn):
        send_next(w, f, i)
        if number == 0 and s.off_time > 0.0:
            s.left = _burst(f, s, gap) - 1
    if f.top < f.limit:
        due = w.now + on_grid(w, _next_gap(f, s, gap))
        schedule(w, _until_silence(w, f, s, due), TICK, i, 1)


@inlined
def _begin(w: Any, f: Any, j: Any) -> Any:
    """When a step begins: a time of the clock, as a timer for it must not come an instant too early."""
    return on_grid(w, _step(w, f, j).time)


@called
def _until_silence(w: Any, f: Any, s: Any, due: Any) -> Any:
    """When a packet is due, or before that the rate becomes 0."""
    for j in range(s.step + 1, f.n_lanes):
        if _begin(w, f, j) > due:
            break
        if _step(w, f, j).gap <= 0.0:
            return _begin(w, f, j)
    return due


@called
def _next_gap(f: Any, s: Any, gap: Any) -> Any:
    """Seconds to the next packet; after the last of a burst, a silence is in them."""
    wait = _exponential(f, gap) if f.algorithm == POISSON else gap
    if s.off_time > 0.0:
        if s.left <= 0:
            s.left = _burst(f, s, gap)
            wait += _exponential(f, s.off_time) if s.drawn else s.off_time
        s.left -= 1
    return wait


@inlined
def _burst(f: Any, s: Any, gap: Any) -> Any:
    packets = s.on_time / gap
    if s.drawn:
        packets = _exponential(f, packets)
    return max(np.int64(packets + 0.5), 1)


@called
def _exponential(f: Any, mean: Any) -> Any:
    f.gap_draws += ONE
    return -mean * math.log1p(-uniform(f.gap_key, f.gap_draws))
