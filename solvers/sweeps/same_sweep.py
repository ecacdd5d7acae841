"""Whether a store holds this sweep; where it holds another one, the first thing that differs, in words."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from tcpdynamics.errors import StoreError, shown

from .headers import Contents
from .layout import Header, read_sweep
from .records import ends, read_array

#: Words of a parameter that a text lists.
_LISTED = 12


#: Parameters of a stored grid in words, asked for only where they are needed.
Parameters = Callable[[], Mapping[str, str]]


def check_same(path: Path, attrs: Mapping[str, Any], header: Header, parameters: Parameters) -> dict[str, Any]:
    """The description of the sweep in a store's `attrs`, if it is the sweep of `header`.

    Raises
    ------
    StoreError
        If it is another one; names the first thing that differs.
    """
    sweep = read_sweep(path, attrs)
    difference = _difference(sweep, attrs, header, parameters)
    if difference:
        raise StoreError(f"{path} holds another sweep: {difference}; give another name")
    return sweep


def _difference(
    sweep: Mapping[str, Any], attrs: Mapping[str, Any], header: Header, parameters: Parameters
) -> str | None:
    """The first thing in which a stored sweep differs from the one of a header."""
    pairs = [
        ("model is", attrs["model"], header.about.get("model")),
        ("solver is", attrs.get("solver"), header.about.get("solver")),
        ("function is", sweep["work"], header.work),
        ("version of tcpdynamics is", attrs["version"], header.about.get("version")),
        ("version of the function is", sweep["work_version"], header.work_version),
        ("dimensions are", _sizes(sweep["dims"]), _sizes(header.dims)),
    ]
    for what, theirs, ours in pairs:
        if theirs != ours:
            verb = what.rpartition(" ")[2]
            return f"its {what} {_said(theirs)}, this one's {verb} {_said(ours)}"
    for attribute, what in (("parameters", "parameter"), ("settings", "setting")):
        other = _differing(attrs.get(attribute), header.about.get(attribute))
        if other is not None:
            name, theirs, ours = other
            return f"its {what} {shown(name, 60)} is {theirs}, this one's is {ours}"
    if sweep["grid"] != header.grid:
        return _other_values(parameters, header)
    if sweep["digest"] != header.digest:
        return f"the text or the settings of {header.work} differ"
    if sweep["block"] != list(header.block):
        return f"its blocks are {shown(sweep['block'], 60)}, these are {list(header.block)}"
    if any(attrs.get(k) != v for k, v in header.about.items()):
        return "what it says about itself differs"
    return None


def _differing(theirs: Any, ours: Any) -> tuple[str, str, str] | None:
    """The first name whose value differs in two mappings, written as JSON; with both values."""
    try:
        first, second = (json.loads(text) if text else {} for text in (theirs, ours))
        names = [*second, *(k for k in first if k not in second)]
        name = next(k for k in names if first.get(k) != second.get(k) or (k in first) != (k in second))
    except (TypeError, ValueError, AttributeError, RecursionError, StopIteration):
        return None
    one, two = (_in_words(mapping[name]) if name in mapping else "not given" for mapping in (first, second))
    return (name, one, two) if one != two else None


def _in_words(value: Any) -> str:
    """A setting; a long list of numbers, of which its ends and its length are kept, as a range."""
    if isinstance(value, dict) and {"first", "last", "count"} <= value.keys():
        first, last, count = (value[key] for key in ("first", "last", "count"))
        if all(isinstance(v, int | float) for v in (first, last, count)):
            return f"{first:g} to {last:g} in {count:,} values"
    return shown(value, 120)


def _other_values(parameters: Parameters, header: Header) -> str:
    """Which of the grid's parameters has other values in a store, and both, as far as can be told."""
    try:
        stored = parameters()
    except StoreError:
        return "the parameter values differ"
    for name, variable in header.coords.items():
        ours = value_or_range(variable.values, variable.attrs)
        if name in stored and stored[name] != ours:
            return f"its parameter {shown(name, 60)} is {shown(stored[name], 120)}, this one's is {shown(ours, 120)}"
    for name in stored:
        if name not in header.coords:
            return f"it has the parameter {shown(name, 60)}, this one has not"
    for name in header.coords:
        if stored and name not in stored:
            return f"this one has the parameter {shown(name, 60)}, it has not"
    return "the parameter values differ"


def _sizes(dims: Mapping[str, int]) -> str:
    return " x ".join(f"{d} {n:,}" for d, n in dims.items()) or "a single point"


def _said(value: Any) -> str:
    """A word of a header, as it stands in a sentence."""
    if not value:
        return "not given"
    return value if isinstance(value, str) and len(value) <= 120 and value.isprintable() else shown(value, 120)


# Parameters in words


def parameters_of(path: Path, contents: Contents) -> dict[str, str]:
    """Coordinates of a store's grid: a value or a range, with the unit."""
    sweep, out = contents.sweep, {}
    for name, array in contents.arrays.items():
        if name not in (*sweep["labels"], *sweep["coords"]) or not set(array.dims) <= set(sweep["dims"]):
            continue
        size, words = math.prod(array.shape), _flags(array.attrs)
        is_range = array.shape and array.dtype is not None and array.dtype.kind in "iuf"
        if array.dtype is not None and len(words) == size > 0:
            text = _listed(words)
        elif is_range:
            smallest, largest = ends(path, name, array)
            text = f"{smallest:g} to {largest:g}, {size:,} values"
        elif array.shape:
            text = f"{size:,} labels"
        else:
            text = _range(read_array(path, name, array))
        out[name] = text + _unit(array.attrs)
    return out


def parameters_in(data: xr.Dataset, dims: Iterable[Hashable]) -> dict[str, str]:
    """Coordinates of a result's grid, which is in memory: a value or a range, with the unit."""
    grid = set(dims)
    return {str(n): value_or_range(c.values, c.attrs) for n, c in data.coords.items() if set(c.dims) <= grid}


def _unit(attrs: Mapping[str, Any]) -> str:
    unit = attrs.get("units", "")
    return f" [{printable(unit)}]" if unit not in ("", "1") else ""


def value_or_range(values: Any, attrs: Mapping[str, Any]) -> str:
    """A coordinate in words: its value, or its ends and how many values it has, with the unit."""
    return _range(values) + _unit(attrs)


def _flags(attrs: Mapping[str, Any]) -> list[str]:
    """Words that stand behind the numbers of a coordinate."""
    return str(attrs.get("flag_meanings", "")).split()


def _listed(words: Sequence[Any]) -> str:
    """A few words one by one, many by their number."""
    if len(words) > _LISTED:
        return f"{printable(words[0], 60)}, {printable(words[1], 60)}, ..., {len(words):,} labels"
    return ", ".join(printable(word, 60) for word in words)


def _range(values: Any) -> str:
    if values.ndim == 0:
        return printable(values.item()) if values.dtype.kind not in "f" else f"{values.item():g}"
    if values.dtype.kind in "OUT" and values.ndim == 1 and values.size:
        return _listed(values.tolist())
    if values.dtype.kind not in "iuf" or not values.size:
        return f"{values.size:,} labels"
    return f"{values.min():g} to {values.max():g}, {values.size:,} values"


def printable(value: object, most: int = 300) -> str:
    """Text of a file as it may be printed: short, on one line, without what a terminal would obey."""
    text = str(value)
    return text if len(text) <= most and text.isprintable() else shown(text)
