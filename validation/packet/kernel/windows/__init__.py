"""Window rules: how a congestion window grows and falls.

A rule is a file with hooks of the shape of a user's rule, `on_ack(f, now, acked)`, `on_loss(f, now)` and
`on_timeout(f, now)`, and a line in `RULES`. A hook that it leaves out is Reno's. Reno is part of the loop; any other
rule is a compiled function at an address, and calling it needs no new compilation of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numba import config, types
from numba.extending import intrinsic

from .. import views as at
from ..jit import inlined
from ..records import TAHOE
from . import reno

#: Name -> the file with its hooks.
RULES: dict[str, ModuleType] = {"reno": reno}

#: The rule in the loop, whose addresses are 0.
DEFAULT = "reno"

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
LARGEST = 1e9


@inlined
def _bounded(value: Any, least: Any) -> Any:
    return min(value, LARGEST) if value >= least else least  # not a number becomes `least`


@inlined
def grow(w: Any, f: Any, acked: Any, default: Any) -> None:
    """New data is acknowledged outside recovery: the rule's hook, or the sender's `default`."""
    address = at.rules(w)[f.rule, ON_ACK]
    if address:
        f.flight = f.top - f.una
        _call(address, f, w.now, acked)
        f.cwnd = _bounded(f.cwnd, 1.0)
        f.ssthresh = _bounded(f.ssthresh, 1.0)
    else:
        default(f, w.now, acked)


@inlined
def reduce_on_loss(w: Any, f: Any, default: Any) -> None:
    """A loss found by duplicates: new ssthresh and cwnd. What limited transmit sent is not in flight."""
    address = at.rules(w)[f.rule, ON_LOSS]
    f.flight = f.top - f.una - f.limited_sent
    if address:
        _call(address, f, w.now, np.int64(0))
    else:
        default(f, w.now)
    f.ssthresh = _bounded(f.ssthresh, 2.0)
    f.cwnd = 1.0 if f.algorithm == TAHOE else _bounded(f.cwnd, 1.0)


@inlined
def reduce_on_timeout(w: Any, f: Any, default: Any) -> None:
    """A timeout: new ssthresh, and a window of one segment unless the rule has it otherwise."""
    address = at.rules(w)[f.rule, ON_TIMEOUT]
    f.flight = f.top - f.una
    if address:
        _call(address, f, w.now, np.int64(0))
        f.cwnd = _bounded(f.cwnd, 1.0)
    else:
        default(f, w.now)
    f.ssthresh = _bounded(f.ssthresh, 2.0)
