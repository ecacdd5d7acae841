"""HighSpeed TCP: Reno up to `low_window`, above it steps a(w) and shares b(w) that make w(p) steeper (RFC 3649).

b(w) = 0.5 - (0.5 - high_decrease) ln(w / low_window) / ln(high_window / low_window),
a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), p(w) = low_p (w / low_window)^(1/S), S = ln(high_window/low_window) /
ln(high_p/low_p). Its response function is `models.HighSpeedTcp`.

With rule book "ns2" as `windowOption_ 8` of ns-2.35: low_p = 1.5 / low_window^2 instead of 10^-3, which makes a(w) up
to 3.9 % larger just above 38; the first decrease, one in slow start and the threshold after a timeout are by half; and
a loss at or below low_window leaves the last b(w) above it (0.5 before any), where the RFC halves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError

from ..jit import inlined
from ..parameters import Parameter
from ..records import AFTER_TIMEOUT
from .reno import whole_window

SOURCE = "RFC 3649, section 5"

PARAMETERS = (
    Parameter("low_window", "packet", "window up to which TCP is Reno", 38.0, 1.0, 1e9),
    Parameter("high_window", "packet", "upper window of the formula", 83000.0, 1.0, 1e9),
    Parameter("low_p", "1", "loss rate at the lower window", 1e-3, 1e-12, 1.0),
    Parameter("high_p", "1", "loss rate at the upper window", 1e-7, 1e-12, 1.0),
    Parameter("high_decrease", "1", "decrease at the upper window", 0.1, 1e-3, 0.5),
)


def refuse(values: Mapping[str, float], key: str) -> None:
    """Pairs in the wrong order."""
    for low, high in (("low_window", "high_window"), ("high_p", "low_p")):
        if not values[low] < values[high]:
            raise ScenarioError(f"{key}.{low} must be below {key}.{high} = {values[high]:g}, got {values[low]:g}")


@inlined
def share(f: Any) -> Any:
    """How far the window is on the way from low_window (0) to high_window (1), in decades."""
    return math.log(f.cwnd / f.p0) / math.log(f.p1 / f.p0)


@inlined
def decrease(f: Any) -> Any:
    """b(w)."""
    return 0.5 if f.cwnd <= f.p0 else max(0.5 - (0.5 - f.p4) * share(f), 0.0)


@inlined
def increase(f: Any) -> Any:
    """a(w), in segments per round trip."""
    if f.cwnd <= f.p0:
        return 1.0
    b = decrease(f)
    p = f.p2 * math.exp(share(f) * math.log(f.p3 / f.p2))
    return f.cwnd * f.cwnd * p * 2.0 * b / (2.0 - b)


def on_ack(f: Any, now: Any, acked: Any) -> None:
    """Slow start as Reno; then a(w)/w for each acknowledgement."""
    f.cwnd = min(f.cwnd + (1.0 if f.cwnd < f.ssthresh else increase(f) / f.cwnd), np.float64(f.window))


def on_loss(f: Any, now: Any) -> None:
    """The window falls by b(w) w."""
    f.cwnd = max((1.0 - decrease(f)) * f.cwnd, 2.0)
    f.ssthresh = f.cwnd


@inlined
def _decrease_ns2(f: Any) -> Any:
    """b(w), rounded as there."""
    slope = (f.p4 - 0.5) / (math.log(f.p1) - math.log(f.p0))
    return 0.5 - math.log(f.p0) * slope + math.log(f.cwnd) * slope


def on_ack_ns2(f: Any, now: Any, acked: Any) -> None:
    """As ns-2: low_p follows from low_window, and the advertised window bounds only what is sent."""
    if f.cwnd < f.ssthresh:
        f.cwnd += 1.0
    elif f.cwnd <= f.p0:
        f.cwnd += 1.0 / f.cwnd
    else:
        low_p = math.log(1.5 / (f.p0 * f.p0))
        slope = (math.log(f.p3) - low_p) / (math.log(f.p1) - math.log(f.p0))
        p = math.exp(low_p - math.log(f.p0) * slope + math.log(f.cwnd) * slope)
        f.cwnd += f.cwnd * f.cwnd * p / (1.0 / _decrease_ns2(f) - 0.5) / f.cwnd


@inlined
def _slow_down_ns2(f: Any) -> Any:
    """What is left of the window, and whether by half; x0: the last factor (0: none), x1: has there been a decrease?"""
    window = whole_window(f)
    decreased = window * (f.x0 if f.x0 > 0.0 else 0.5)
    if f.cwnd > f.p0:
        f.x0 = _decrease_ns2(f)
        decreased = window - f.x0 * window
    by_half = f.x1 == 0.0 or f.cwnd < f.ssthresh
    f.x1 = 1.0
    halved = window / 2.0
    f.ssthresh = np.float64(np.int64(halved if by_half or f.action == AFTER_TIMEOUT else decreased))
    return halved if by_half or f.x0 in (0.0, 0.5) else decreased


def on_loss_ns2(f: Any, now: Any) -> None:
    """As ns-2: only the threshold in whole segments."""
    f.cwnd = _slow_down_ns2(f)


def on_timeout_ns2(f: Any, now: Any) -> None:
    """As ns-2: half of the window is the threshold."""
    _slow_down_ns2(f)
    f.cwnd = 1.0
