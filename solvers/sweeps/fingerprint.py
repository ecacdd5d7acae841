"""Fingerprints: whether a function and its settings are still those that a store was begun with."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import DynamicsError, shown

from ..problems.numbers import is_symbolic


def fingerprint(value: Any, source: bool = True) -> str:
    """A digest of a value, the same in every process.

    Arrays count with all their entries, functions by name and, with `source`, by their text and the
    values that they captured;
    `functools.partial`, dataclasses and SymPy expressions by what they hold.

    >>> fingerprint({"a": np.arange(3)}) == fingerprint({"a": np.array([0, 1, 2])})
    True
    >>> fingerprint(1) == fingerprint(1.0)
    False
    """
    digest = hashlib.sha256()
    _feed(digest, value, source)
    return digest.hexdigest()


def name_of(work: Any) -> str:
    """What a function is called, with its module; a partial by what it calls.

    >>> name_of(functools.partial(np.clip, a_min=0))
    'numpy.clip'
    """
    while isinstance(work, functools.partial):
        work = work.func
    if not hasattr(work, "__qualname__"):
        work = type(work)
    return f"{work.__module__}.{work.__qualname__}"


def _feed(digest: Any, value: Any, source: bool) -> None:
    def put(*parts: Any) -> None:
        for part in parts:
            if isinstance(part, bytes):
                digest.update(len(part).to_bytes(8, "little") + part)
            else:
                _feed(digest, part, source)

    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        text = value if isinstance(value, bytes) else repr(value).encode()
        put(type(value).__name__.encode(), text)
    elif isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype != object:
        array = np.asarray(value, order="C")
        put(b"array", array.dtype.str.encode(), repr(array.shape).encode(), array.tobytes())
    elif isinstance(value, xr.DataArray):
        coords = {
            str(k): (c.dims, c.values) for k, c in sorted(value.coords.items(), key=lambda c: str(c[0]))
        }
        put(b"labelled", str(value.name), value.dims, value.values, coords)
    elif isinstance(value, Mapping):
        put(b"mapping", str(len(value)))
        for key, item in value.items():
            put(key, item)
    elif isinstance(value, list | tuple | np.ndarray):
        put(b"sequence", str(len(value)), *value)
    elif isinstance(value, set | frozenset):
        put(b"set", sorted(fingerprint(item, source) for item in value))
    elif is_symbolic(value) and not isinstance(value, type):
        put(b"expression", _text(value))
    elif isinstance(value, functools.partial):
        put(b"partial", value.func, value.args, value.keywords)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        put(b"record", name_of(type(value)))
        for field in dataclasses.fields(value):
            put(field.name, getattr(value, field.name))
    elif callable(value) and hasattr(value, "__qualname__"):
        put(b"function", name_of(value), _source(value) if source else "")
        put(value.__self__ if inspect.ismethod(value) else None, _captured(value) if source else None)
    else:
        put(b"other", name_of(type(value)), pickle.dumps(value, protocol=4))


def _text(expression: Any) -> str:
    try:
        return str(expression)
    except (ValueError, RecursionError):
        raise DynamicsError(
            f"an expression of the sweep cannot be printed: {shown(expression)}; nest it less deep, round its numbers"
        ) from None


def _captured(function: Any) -> list[Any]:
    """The values that a nested function holds on to; functions among them count by name."""
    cells = getattr(function, "__closure__", None) or ()
    contents = [cell.cell_contents for cell in cells]
    return [name_of(v) if hasattr(v, "__qualname__") else v for v in contents]


def _source(function: Any) -> str:
    """The text of a function as far as it can be had; the package's own is held by its version."""
    if str(getattr(function, "__module__", "")).startswith("tcpdynamics."):
        return ""
    try:
        return inspect.getsource(inspect.unwrap(function))
    except (OSError, TypeError):
        return ""
