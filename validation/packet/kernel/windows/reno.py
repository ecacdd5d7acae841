"""Congestion control: the built-in rule, and calls into rules of users.

A rule of a user is a compiled function at an address; calling it needs no new compilation of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from .. import views as at
from ..jit import inlined
from ..records import NS2, TAHOE

ON_ACK, ON_LOSS, ON_TIMEOUT = range(3)

#: Interpreted, an "address" is an index into this list of Python functions.
INTERPRETED: list[Callable[..., None]] = []

if config.DISABLE_JIT:

    def _call(address: Any, flow: Any, now: Any, count: Any) -> None:
        INTERPRETED[int(address)](flow, now, count)

else:

    @intrinsic  # type: ignore[untyped-decorator]
    def _call(context: Any, address: Any, flow: Any, now: Any, count: Any) -> Any:
        """Call the function at an address with a flow's record, a time [s] and a count."""
        from llvmlite import ir

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = ir.IntType(8).as_pointer()
            function = ir.FunctionType(ir.VoidType(), [pointer, ir.DoubleType(), ir.IntType(64)])
            where = builder.inttoptr(args[0], function.as_pointer())
            builder.call(where, [builder.bitcast(args[1], pointer), args[2], args[3]])
            return target.get_dummy_value()

        return types.void(types.int64, flow, types.float64, types.int64), generate


#: A rule may do anything to its window; the loop needs a finite number of at least one segment.
MOST = 1e9


@inlined
def _bounded(value: Any, least: Any) -> Any:
    return min(value, MOST) if value >= least else least  # not a number becomes `least`


@inlined
def window_now(f: Any) -> Any:
    """min(cwnd, advertised window), inflation included where the sender inflates."""
    return min(f.cwnd + f.inflation, np.float64(f.window))


@inlined
def grow(w: Any, f: Any, acked: Any) -> None:
    """New data is acknowledged outside recovery: slow start, then congestion avoidance (RFC 5681, 3.1)."""
    address = at.rules(w)[f.rule, ON_ACK]
    if address:
        f.flight = f.top - f.una
        _call(address, f, w.now, acked)
        f.cwnd = _bounded(f.cwnd, 1.0)
        f.ssthresh = _bounded(f.ssthresh, 1.0)
        return
    f.cwnd += 1.0 if f.cwnd < f.ssthresh else 1.0 / f.cwnd
    if f.book != NS2:
        f.cwnd = min(f.cwnd, np.float64(f.window))


@inlined
def reduce_on_loss(w: Any, f: Any) -> None:
    """A loss found by duplicates: new ssthresh and cwnd.

    ns-2 halves the window and takes at least one segment; RFC 5681 (eq. 4) halves the data in flight and takes
    at least two. Both want whole segments for ssthresh.
    """
    address = at.rules(w)[f.rule, ON_LOSS]
    if address:
        f.flight = f.top - f.una - f.limited_sent
        _call(address, f, w.now, np.int64(0))
    elif f.book == NS2:
        half = window_now(f) / 2.0
        f.ssthresh = np.float64(np.int64(half))
        f.cwnd = half
    else:
        f.ssthresh = np.float64((f.top - f.una - f.limited_sent) // 2)
        f.cwnd = max(f.ssthresh, 2.0)
    f.ssthresh = _bounded(f.ssthresh, 2.0)
    f.cwnd = 1.0 if f.algorithm == TAHOE else _bounded(f.cwnd, 1.0)


@inlined
def reduce_on_timeout(w: Any, f: Any) -> None:
    """A timeout: new ssthresh, and a window of one segment unless the rule has it otherwise."""
    address = at.rules(w)[f.rule, ON_TIMEOUT]
    if address:
        f.flight = f.top - f.una
        _call(address, f, w.now, np.int64(0))
        f.cwnd = _bounded(f.cwnd, 1.0)
    else:
        half = window_now(f) / 2.0 if f.book == NS2 else (f.top - f.una) / 2.0
        f.ssthresh = np.float64(np.int64(half))
        f.cwnd = 1.0
    f.ssthresh = _bounded(f.ssthresh, 2.0)
