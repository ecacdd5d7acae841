"""What a Zarr store of a sweep may hold: nothing else is ever opened, whatever its metadata declare.

The zarr package is general: metadata may name codecs that run code, parts of another format, or arrays without bounds.
A sweep writes one format, two codecs and a dozen types of numbers; every header is held against them here, before
zarr or xarray see the folder.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.errors import StoreError, shown

from .blocks import MAX_STORED
from .plain_files import PARTIAL, read_json
from .store import FORMAT, storable_name

#: Types of numbers that a store holds, as Zarr calls them.
NUMBERS = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)

#: The variables that list failed points.
TABLE = ("failure_point", "failure_reason")

#: How the names of what belongs to no point begin, but for the table: a chart's boundary.
BOUNDARY = "boundary_"

#: Folder of the records, below the status, where no reader of Zarr looks for arrays.
RECORDS = "status/records"

_CHECKSUM = {"name": "crc32c"}
_KEYS = {"name": "default", "configuration": {"separator": "."}}
_HEAD = {
    "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs", "attributes", "zarr_format",
    "node_type", "storage_transformers",
}  # fmt: skip
_DTYPE = re.compile(r"[<|][biufc]\d{1,2}")
_CHUNK = re.compile(r"c(\.(0|[1-9]\d{0,9})){0,32}")


@dataclass(frozen=True)
class Array:
    """One array, as its header says.

    Attributes
    ----------
    shape, chunk : of the array, and of each of its chunks
    dtype : of its numbers, little-endian; None for text
    dims : names of its dimensions
    attrs : its attributes
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: np.dtype[Any] | None
    dims: tuple[str, ...]
    attrs: dict[str, Any]

    @property
    def chunk_size(self) -> int | None:
        """Bytes of a chunk's file; None for text."""
        return None if self.dtype is None else math.prod(self.chunk) * self.dtype.itemsize + 4


@dataclass(frozen=True)
class Contents:
    """What lies in a store. Every header was checked; no chunk was read.

    Attributes
    ----------
    attrs : of the group
    sweep : what the header says of the sweep
    arrays : name -> Array, but for the table of failures
    heads : name -> the same as JSON
    inline : name -> the headers that stand in the group's own
    files : name of an array -> its chunks -> their bytes
    records : names of the files in the folder of records
    size : bytes of all files
    """

    attrs: dict[str, Any]
    sweep: dict[str, Any]
    arrays: dict[str, Array]
    heads: dict[str, Any]
    inline: dict[str, Any]
    files: dict[str, dict[str, int]]
    records: frozenset[str]
    size: int


def chunk_key(place: Iterable[int]) -> str:
    """Name of a chunk in the folder of its array: without folders of its own, which are dearer than files.

    >>> chunk_key((3, 0)), chunk_key(())
    ('c.3.0', 'c')
    """
    return ".".join(["c", *map(str, place)])


def beside_points(name: str) -> bool:
    """Whether a variable that is none of the sweep's own may stand in a store: one that belongs to no point.

    >>> beside_points("failure_point"), beside_points("boundary_epsilon"), beside_points("abscissa")
    (True, True, False)
    """
    return name in TABLE or (name.startswith(BOUNDARY) and storable_name(name))


def read_root(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Attributes of a store's group, and the headers that stand in it.

    Raises
    ------
    StoreError
        A folder that is not a Zarr group of format 3.
    """
    if not os.path.lexists(path / "zarr.json"):
        raise StoreError(f"{path} is not a Zarr store; give another name")
    root = read_json(path / "zarr.json")
    attrs = root.get("attributes")
    inline = root.get("consolidated_metadata")
    if inline is None:
        inline = {"kind": "inline", "must_understand": False, "metadata": {}}
    whole = (
        root.keys() <= {"attributes", "zarr_format", "node_type", "consolidated_metadata"}
        and _same(root.get("zarr_format"), 3)
        and root.get("node_type") == "group"
        and isinstance(attrs, dict)
        and isinstance(inline, dict)
        and inline.keys() == {"kind", "must_understand", "metadata"}
        and inline["kind"] == "inline"
        and inline["must_understand"] is False
        and isinstance(inline["metadata"], dict)
    )
    if not whole:
        raise StoreError(f"{path / 'zarr.json'} is not what a sweep writes; restore it or give another name")
    assert isinstance(attrs, dict)
    return attrs, inline["metadata"]


def examine(path: Path) -> Contents:
    """List a store and check every header in it.

    Raises
    ------
    StoreError
        Links, pipes, folders or metadata that no sweep writes; headers that are missing or damaged.
    """
    attrs, inline = read_root(path)
    sweep = read_sweep(path, attrs)
    # The records first: a block that is finished meanwhile is then not taken for one that lacks its chunks.
    records, bytes_records = _listed(path / RECORDS, ()) if _is_folder(path / RECORDS) else ({}, 0)
    names = {*sweep["variables"], *sweep["coords"], *sweep["labels"], "status"}
    folders, size = _folders(path)
    foreign = {name for name in folders - names if not beside_points(name)}
    if foreign:
        raise _foreign(path / min(foreign))
    files: dict[str, dict[str, int]] = {}
    for name in sorted(folders):
        files[name], more = _listed(path / name, ("records",) if name == "status" else ())
        size += more
    heads, arrays = {}, {}
    for name in sorted(names):
        if name not in folders:
            raise StoreError(f"{path / name} is missing; restore it or give another name")
        heads[name] = read_json(path / name / "zarr.json")
        arrays[name] = array_of(path / name / "zarr.json", heads[name])
    for name, head in inline.items():
        if name not in names and beside_points(name):
            array_of(path / "zarr.json", head)
        elif heads.get(name) != head:
            raise StoreError(
                f"{path / 'zarr.json'} and the headers of the arrays differ; restore it or give another name"
            )
    _check_arrays(path, sweep, arrays)
    chunks = {n: {k: v for k, v in fs.items() if _CHUNK.fullmatch(k)} for n, fs in files.items()}
    return Contents(attrs, sweep, arrays, heads, inline, chunks, frozenset(records), size + bytes_records)


def array_of(file: Path, head: Any) -> Array:
    """An array's header, if it is one that a sweep writes. Raises StoreError."""
    try:
        return _array(head)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise StoreError(f"{file} is not what a sweep writes; restore it or give another name") from None


def _array(head: Any) -> Array:
    if not isinstance(head, dict) or not _HEAD <= head.keys() <= _HEAD | {"dimension_names"}:
        raise ValueError
    shape = _sides(head["shape"])
    dims = head.get("dimension_names", [])
    grid, codecs, data_type = head["chunk_grid"], head["codecs"], head["data_type"]
    chunk = _sides(grid["configuration"]["chunk_shape"])
    text = data_type == "string"
    if text:
        codec: dict[str, Any] = {"name": "vlen-utf8", "configuration": {}}
        dtype = None
    elif isinstance(data_type, str) and data_type in NUMBERS:
        dtype = np.dtype(data_type).newbyteorder("<")
        codec = {"name": "bytes"} | ({"configuration": {"endian": "little"}} if dtype.itemsize > 1 else {})
    else:
        raise ValueError
    whole = (
        _same(head["zarr_format"], 3)
        and head["node_type"] == "array"
        and head["storage_transformers"] == []
        and grid == {"name": "regular", "configuration": {"chunk_shape": list(chunk)}}
        and head["chunk_key_encoding"] == _KEYS
        and codecs in ([codec, _CHECKSUM], [{"name": codec["name"]}, _CHECKSUM] if text else None)
        and isinstance(head["attributes"], dict)
        and isinstance(dims, list)
        and all(isinstance(d, str) for d in dims)
        and len(dims) == len(shape) == len(chunk)
        and _is_fill(head["fill_value"])
    )
    if not whole:
        raise ValueError
    return Array(shape, chunk, dtype, tuple(dims), head["attributes"])


def read_sweep(path: Path, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """What a store's header says of its sweep, checked to the last number.

    Raises
    ------
    StoreError
        No sweep's store, one of another format, or a damaged header.
    """
    text = attrs.get("sweep")
    if not isinstance(text, str):
        raise StoreError(f"{path} was not written by a sweep; give another name")
    try:
        sweep = json.loads(text)
        if not isinstance(sweep, dict):
            raise ValueError
        if "format" in sweep and not _same(sweep["format"], FORMAT):
            raise StoreError(
                f"{path} has the store format {shown(sweep['format'], 40)}, this version reads and writes {FORMAT}; "
                "read it with xarray, or sweep again to another name"
            )
        _check_sweep(sweep, attrs)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        raise StoreError(f"the header of {path} is damaged; restore it or give another name") from None
    return sweep


def _check_sweep(sweep: dict[str, Any], attrs: Mapping[str, Any]) -> None:
    """Raise one of many errors for a header that no sweep writes."""
    texts = [sweep[k] for k in ("work", "work_version", "digest", "grid")]
    texts += [attrs["model"], attrs["version"], attrs.get("solver", "")]
    if not all(isinstance(t, str) for t in texts):
        raise ValueError
    dims = sweep["dims"]
    shape, tile = _sides(list(dims.values())), _sides(sweep["block"])
    if math.prod(shape) > MAX_STORED or len(shape) != len(tile):
        raise ValueError
    if any(side > n for side, n in zip(tile, shape, strict=True)):
        raise ValueError
    names = [*sweep["variables"], *sweep["coords"], *sweep["labels"]]
    if (
        len(set(names)) < len(names)
        or {"status", *TABLE} & set(names)
        or not isinstance(sweep["labels"], list)
    ):
        raise ValueError
    if not all(isinstance(n, str) and storable_name(n) for n in [*names, *dims]):
        raise ValueError
    for kind in sweep["variables"].values():
        sides = _sides(kind["shape"])
        if not _DTYPE.fullmatch(kind["dtype"]) or np.dtype(kind["dtype"]).name not in NUMBERS:
            raise ValueError
        if len(sides) != len(kind["dims"]):
            raise ValueError
        if not all(isinstance(d, str) for d in kind["dims"]) or not isinstance(kind["attrs"], dict):
            raise ValueError
    for coord in sweep["coords"].values():
        if not all(isinstance(d, str) for d in coord["dims"]) or not isinstance(coord["attrs"], dict):
            raise ValueError


def _check_arrays(path: Path, sweep: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Raise StoreError where an array is not the one that the header tells of."""
    dims, shape = tuple(sweep["dims"]), tuple(sweep["dims"].values())
    tile = tuple(sweep["block"])
    sizes = dict(sweep["dims"])
    expected = {"status": (shape, tile, np.dtype("<u1"), dims)}
    for name, kind in sweep["variables"].items():
        inner = tuple(kind["shape"])
        sizes |= dict(zip(kind["dims"], inner, strict=True))
        dtype = np.dtype(kind["dtype"]).newbyteorder("<")
        expected[name] = (shape + inner, tile + inner, dtype, dims + tuple(kind["dims"]))
    for name, array in arrays.items():
        if name in expected:
            same = (array.shape, array.chunk, array.dtype, array.dims) == expected[name]
        else:
            same = array.chunk == array.shape == tuple(sizes.get(d, -1) for d in array.dims)
        if not same:
            raise StoreError(
                f"{path / name / 'zarr.json'} does not fit the sweep; restore it or give another name"
            )


def _folders(path: Path) -> tuple[set[str], int]:
    """Folders in a store, and the bytes of its own files."""
    folders, size = set(), 0
    with os.scandir(path) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(mode.st_mode):
                folders.add(entry.name)
            elif not stat.S_ISREG(mode.st_mode) or entry.name.startswith(".z"):
                raise _foreign(Path(entry.path))
            else:
                size += mode.st_size
    return folders, size


def _listed(folder: Path, allowed: Iterable[str]) -> tuple[dict[str, int], int]:
    """Ordinary files of a folder with their bytes, and the sum; other folders than those `allowed` are refused."""
    files, size = {}, 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                mode = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # renamed meanwhile
                continue
            if stat.S_ISREG(mode.st_mode) and not entry.name.startswith(".z"):
                size += mode.st_size
                if not PARTIAL.fullmatch(entry.name):
                    files[entry.name] = mode.st_size
            elif not (stat.S_ISDIR(mode.st_mode) and entry.name in allowed):
                raise _foreign(Path(entry.path))
    return files, size


def _is_folder(path: Path) -> bool:
    """Whether a folder is there that is no link, and neither is the one above it."""
    try:
        return all(stat.S_ISDIR(os.lstat(p).st_mode) for p in (path.parent, path))
    except OSError:
        return False


def _foreign(path: Path) -> StoreError:
    name = shown(path.name, 80)
    return StoreError(
        f"{path.parent} holds {name}, which no sweep writes (a link, a pipe, a folder or metadata); remove it first"
    )


def _sides(values: Any) -> tuple[int, ...]:
    """Whole numbers of at least 1. Raises ValueError."""
    if not isinstance(values, list) or len(values) > 32:
        raise ValueError
    if not all(type(n) is int and 1 <= n <= MAX_STORED for n in values):
        raise ValueError
    return tuple(values)


def _is_fill(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) == 2 and not any(isinstance(v, list) or not _is_fill(v) for v in value)
    return isinstance(value, bool | int | float) or value in ("", "NaN")


def _same(value: Any, number: int) -> bool:
    return type(value) is int and value == number
