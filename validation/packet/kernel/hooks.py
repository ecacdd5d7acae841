"""Hooks at addresses: what only some runs have is compiled by itself, and called where a table says that it is.

The loop is compiled once. A window rule, a queue discipline or a sender of a table is compiled when a scenario first
uses it, in a second or less, and kept on disk like the loop; what a run does not use costs it a look at an address
that is 0.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, from_dtype, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from tcpdynamics.errors import ScenarioError, one_line

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


def kept(hook: Callable[..., Any], shape: str, keep: bool = True) -> int:
    """Address of a hook, compiled once in a process; `keep` as of `compiled`.

    Raises
    ------
    ScenarioError
        Naming the hook, its file and what Numba cannot compile there.
    """
    if hook not in _COMPILED:
        try:
            _COMPILED[hook] = compiled(hook, shape, keep)
        except (NumbaError, LookupError, AttributeError, NotImplementedError) as error:
            code = getattr(hook, "py_func", hook).__code__
            # Numba lists the places from the inside to the outside: the last of this file is where to look.
            lines = [
                code.co_firstlineno,
                *map(int, re.findall(rf"at {re.escape(code.co_filename)} \((\d+)\)", str(error))),
            ]
            raise ScenarioError(
                f"`{hook.__name__}` in {code.co_filename}, line {lines[-1]}, cannot be compiled: {_in_words(error)}"
            ) from error
    return _COMPILED[hook][0]


def _in_words(error: Exception) -> str:
    """Numba's reason in one line, with the remedy where it is one of the usual mistakes."""
    text = str(error)
    if isinstance(error, KeyError):  # Numba's error where a record has no such field
        return f"a record has no field {text}; correct the name"
    if isinstance(error, NotImplementedError) or "NRT " in text:  # Numba's memory, which OPTIONS leave out
        return "it makes a list or another Python object; use numbers and fields of records"
    if "No conversion from none to int64" in text:
        return "it must return a whole number on every path; add `return`"
    if re.search(r"No conversion from .* to none", text):
        return "it must return nothing; leave out the value after `return`"
    if mismatch := re.search(r'due to "(.*)"\.', text):  # arguments; before it, Numba lists every field of a record
        callee = re.search(r"resolving callee type: type\(CPUDispatcher\(<function (\w+)", text)
        return f"{mismatch[1]} in the call of {callee[1] if callee else 'a function'}; correct its arguments"
    reasons = [line for line in text.splitlines() if line.strip() and not line.startswith("Failed in ")]
    return one_line(reasons[0])[:300] if reasons else type(error).__name__


def taker(address: int, world: Any, line: Any) -> Callable[[], int]:
    """A hook of the shape "count(world, link)" as a Python function, of arrays of one record each."""
    if config.DISABLE_JIT:
        return lambda: int(INTERPRETED[address](world.view(np.recarray)[0], line.view(np.recarray)[0]))
    hook: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(address)
    return functools.partial(hook, world.ctypes.data, line.ctypes.data)
