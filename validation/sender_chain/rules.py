"""Which rules of congestion control have states that can come again: those of windows and acknowledgements alone."""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

#: Modules of which a rule must call nothing, and why.
_FOREIGN = {"draws random numbers": (random, np.random), "reads the clock": (time,)}


def objection(functions: tuple[Callable[..., None], ...]) -> str:
    """Why a user's rule has no chain, found in its code: it uses `now`, or calls for random numbers; empty if neither.

    What the code never says cannot be found so; the exploration also runs each state twice, and at another time.

    Examples
    --------
    >>> def on_ack(f, now, acked):
    ...     f.cwnd += now
    >>> objection((on_ack,))
    'reads the clock'
    """
    for function in functions:
        clock = list(inspect.signature(function).parameters)[1]
        if clock in _loaded(function.__code__):
            return "reads the clock"
        for value in _reached(function, set()):
            for reason, modules in _FOREIGN.items():
                if any(value is m or getattr(value, "__module__", None) == m.__name__ for m in modules):
                    return reason
    return ""


def _loaded(code: CodeType) -> set[str]:
    """Local names that are read."""
    import dis

    return {
        str(i.argval)
        for i in dis.get_instructions(code)
        if i.opname.startswith("LOAD_") and i.argval in code.co_varnames
    }


def _reached(function: Any, known: set[int]) -> Iterator[Any]:
    """What the names in a function, and in functions that it calls, stand for."""
    function = getattr(function, "py_func", function)
    code = getattr(function, "__code__", None)
    if code is None or id(code) in known:
        return
    known.add(id(code))
    names = inspect.getclosurevars(function)
    for thing in (*names.globals.values(), *names.nonlocals.values()):
        yield thing
        if isinstance(thing, ModuleType):
            for name in code.co_names:
                part = getattr(thing, name, None)
                yield part
                if isinstance(part, ModuleType):
                    yield from (getattr(part, other, None) for other in code.co_names)
        else:
            yield from _reached(thing, known)
