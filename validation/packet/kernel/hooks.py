"""Hooks at addresses: what only some runs have is compiled by itself, and called where a table says that it is.

The loop is compiled once. A window rule, a queue discipline or a sender of a table is compiled when a scenario first
uses it, in a second or less, and kept on disk like the loop; what a run does not use costs it a look at an address
that is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, from_dtype, types
from numba.extending import intrinsic

from . import records as k
from .jit import OPTIONS, SOURCES

#: What hooks take and return, by the letter in a shape such as "void(flow, time)".
_KINDS: dict[str, Any] = {
    "world": from_dtype(k.WORLD), "flow": from_dtype(k.FLOW), "link": from_dtype(k.LINK), "time": types.float64,
    "count": types.int64, "void": types.void,
}  # fmt: skip

#: Interpreted, an "address" is an index into this list of Python functions; 0 is none.
INTERPRETED: list[Any] = [None]


def _read(shape: str) -> tuple[Any, list[Any]]:
    returned, _, arguments = shape.rstrip(")").partition("(")
    return _KINDS[returned], [_KINDS[word.strip()] for word in arguments.split(",")]


def caller(shape: str) -> Any:
    """A function of an address and what `shape` takes, which calls the hook that is there.

    Parameters
    ----------
    shape : str
        Such as "count(world, link, count)".
    """
    if config.DISABLE_JIT:

        def interpreted(address: Any, *taken: Any) -> Any:
            return INTERPRETED[int(address)](*taken)

        return interpreted
    returned, taken = _read(shape)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        from llvmlite import ir

        kinds = [context.get_value_type(kind) for kind in taken]
        result = ir.VoidType() if returned is types.void else context.get_value_type(returned)
        where = builder.inttoptr(args[0], ir.FunctionType(result, kinds).as_pointer())
        value = builder.call(where, list(args[1:]))
        return context.get_dummy_value() if returned is types.void else value

    typed: Any
    if len(taken) == 2:

        def typed(context: Any, address: Any, a: Any, b: Any) -> Any:
            return returned(types.int64, *taken), generate

    elif len(taken) == 3:

        def typed(context: Any, address: Any, a: Any, b: Any, c: Any) -> Any:
            return returned(types.int64, *taken), generate

    else:

        def typed(context: Any, address: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            return returned(types.int64, *taken), generate

    return intrinsic(typed)


def compiled(function: Callable[..., Any], shape: str, keep: bool = True) -> tuple[int, Any]:
    """(Address of a hook, what keeps it alive); with `keep`, later processes read the machine code from disk."""
    if config.DISABLE_JIT:
        INTERPRETED.append(function)
        return len(INTERPRETED) - 1, function
    from numba.core.ccallback import CFunc

    returned, arguments = _read(shape)
    function = getattr(function, "py_func", function)  # of another file, compiled for its loop
    callback = CFunc(function, (tuple(arguments), returned), locals={}, options=dict(OPTIONS))
    if keep:
        try:
            callback.enable_caching()
        except RuntimeError as error:  # a folder that cannot be written to: compiled in each process
            if "no locator" not in str(error):
                raise
        else:
            cache: Any = callback._cache  # type: ignore[attr-defined]
            cache._cache_file._source_stamp = SOURCES
    callback.compile()
    address: Any = callback.address
    return int(address), callback


def addresses(files: Any, shapes: dict[str, str]) -> Any:
    """(members, hooks) addresses of the hooks of `files`, 0 where a file is None or lacks one."""
    table = np.zeros((len(files), len(shapes)), np.int64)
    for row, file in zip(table, files, strict=True):
        for column, (name, shape) in enumerate(shapes.items()):
            hook = getattr(file, name, None)
            if hook is not None:
                row[column] = kept(hook, shape)
    return table


_COMPILED: dict[Any, tuple[int, Any]] = {}


def kept(hook: Callable[..., Any], shape: str) -> int:
    """Address of a hook, compiled once in a process."""
    if hook not in _COMPILED:
        _COMPILED[hook] = compiled(hook, shape)
    return _COMPILED[hook][0]
