"""Headers of a store: rebuilt from the sweep's description, and compared with those on disk.

The zarr package is general: headers may name codecs that run code, parts of another format, or arrays without bounds.
A sweep writes one format, two codecs and a dozen types of numbers. Every header must equal the one built here before
zarr or xarray open the folder; any other header is refused.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import StoreError, shown

from .layout import (
    NUMBERS,
    RECORDS,
    Array,
    beside_points,
    check_number,
    chunk_key,
    in_one_chunk,
    kinds_of,
    on_grid,
    read_sweep,
    sides,
)
from .plain_files import PARTIAL, read_json

_CHUNK = re.compile(r"c(\.(0|[1-9]\d{0,9})){0,32}")


@dataclass(frozen=True)
class Contents:
    """Contents of a store whose headers have been checked; no chunk was read.

    Attributes
    ----------
    attrs : of the group
    sweep : the sweep's description in the header
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


def array_header(array: Array) -> dict[str, Any]:
    """The header of an array, as the zarr package words it."""
    if array.dtype is None:
        codec: dict[str, Any] = {"name": "vlen-utf8", "configuration": {}}
    else:
        codec = {"name": "bytes"} | ({"configuration": {"endian": "little"}} if array.dtype.itemsize > 1 else {})
    return {
        "shape": list(array.shape),
        "data_type": "string" if array.dtype is None else array.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(array.chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": _in_json(array.fill),
        "codecs": [codec, {"name": "crc32c"}],
        "attributes": array.attrs,
        **({"dimension_names": list(array.dims)} if array.dims else {}),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def group_header(attrs: Mapping[str, Any], heads: Mapping[str, Any]) -> dict[str, Any]:
    """The group's header with those of the arrays in it, which spares readers a look into every folder."""
    inline = {"kind": "inline", "must_understand": False, "metadata": dict(sorted(heads.items()))}
    return {"attributes": attrs, "zarr_format": 3, "consolidated_metadata": inline, "node_type": "group"}


def in_bytes(header: Mapping[str, Any]) -> bytes:
    """A header's file."""
    return json.dumps(header, indent=2).encode()


def _in_json(fill: Any) -> Any:
    """A fill value: NaN is a word, a complex number a list."""
    if isinstance(fill, np.complexfloating):
        return [_in_json(fill.real), _in_json(fill.imag)]
    return "NaN" if fill != fill else np.asarray(fill).item()


def canonical(value: Any) -> bytes:
    """JSON of a value that does not depend on the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _worded(header: Mapping[str, Any]) -> bytes:
    """An array's header in one wording: no names of no dimensions, and empty settings of a codec, may be left out."""
    codecs = [{"configuration": {}, **codec} for codec in header["codecs"]]
    return canonical({"dimension_names": [], **header, "codecs": codecs})


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
    inline = root.setdefault("consolidated_metadata", group_header({}, {})["consolidated_metadata"])
    try:
        attrs, heads = dict(root["attributes"]), dict(inline["metadata"])
    except (KeyError, TypeError, ValueError):
        attrs, heads = {}, {}
    if canonical(group_header(attrs, heads)) != canonical(root):
        raise StoreError(f"{path / 'zarr.json'} is not what a sweep writes; restore it or give another name")
    return attrs, heads


def examine(path: Path) -> Contents:
    """List a store and compare every header in it.

    Raises
    ------
    StoreError
        Links, pipes, folders or metadata that no sweep writes; headers that are missing or damaged.
    """
    attrs, inline = read_root(path)
    sweep = read_sweep(path, attrs)
    grid = on_grid(sweep["dims"], tuple(sweep["block"]), kinds_of(sweep))
    names = {*grid, *sweep["coords"], *sweep["labels"]}
    # The records first: a block that is finished meanwhile is then not taken for one that lacks its chunks.
    records, _, bytes_records = _scan(path / RECORDS, set()) if _is_folder(path / RECORDS) else ({}, set(), 0)
    _, folders, size = _scan(path, {name for name in os.listdir(path) if name in names or beside_points(name)})
    files: dict[str, dict[str, int]] = {}
    for name in sorted(folders):
        listed, _, more = _scan(path / name, {"records"} if name == "status" else set())
        files[name] = {key: length for key, length in listed.items() if _CHUNK.fullmatch(key)}
        size += more
    heads, arrays = {}, {}
    for name in sorted(names):
        if name not in folders:
            raise StoreError(f"{path / name} is missing; restore it or give another name")
        file = path / name / "zarr.json"
        heads[name] = read_json(file)
        arrays[name] = array_of(file, heads[name], grid.get(name))
    for name, head in inline.items():
        if name not in names and beside_points(name):
            array_of(path / "zarr.json", head)
        elif canonical(heads.get(name)) != canonical(head):
            raise StoreError(
                f"{path / 'zarr.json'} and the headers of the arrays differ; restore it or give another name"
            )
    _check_labels(path, sweep, arrays)
    return Contents(attrs, sweep, arrays, heads, inline, files, frozenset(records), size + bytes_records)


def array_of(file: Path, head: Any, expected: Array | None = None) -> Array:
    """The array described by a header: the expected one with the header's attributes, else any array in one chunk.

    Raises
    ------
    StoreError
        A header that is not the one that a sweep writes for this array.
    """
    try:
        if not isinstance(head["attributes"], dict):
            raise ValueError
        array = _one_chunk(head) if expected is None else replace(expected, attrs=head["attributes"])
        if _worded(head) != _worded(array_header(array)):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise StoreError(f"{file} is not what a sweep writes; restore it or give another name") from None
    return array


def _one_chunk(head: Mapping[str, Any]) -> Array:
    """The array in one chunk of a header, of which type, shape and names of the dimensions are read."""
    data_type, dims, shape = head["data_type"], head.get("dimension_names", []), sides(head["shape"])
    if len(dims) != len(shape) or not all(isinstance(d, str) for d in dims):
        raise ValueError
    if data_type != "string" and data_type not in NUMBERS:
        raise ValueError
    dtype = None if data_type == "string" else np.dtype(data_type).newbyteorder("<")
    return in_one_chunk(shape, dtype, tuple(dims), head["attributes"])


def _check_labels(path: Path, sweep: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Raise StoreError where a coordinate is not as long as the dimensions that it stands along."""
    sizes = dict(sweep["dims"])
    for kind in sweep["variables"].values():
        sizes |= dict(zip(kind["dims"], kind["shape"], strict=True))
    for name in (*sweep["coords"], *sweep["labels"]):
        if arrays[name].shape != tuple(sizes.get(d, -1) for d in arrays[name].dims):
            raise StoreError(f"{path / name / 'zarr.json'} does not fit the sweep; restore it or give another name")


def _scan(folder: Path, allowed: set[str]) -> tuple[dict[str, int], set[str], int]:
    """Ordinary files of a folder with their bytes, its folders, and the bytes in all.

    Raises
    ------
    StoreError
        Links, pipes, metadata of another format, folders that are not `allowed`.
    """
    files: dict[str, int] = {}
    foreign: list[str] = []
    folders, size = set(), 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                mode = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # renamed meanwhile
                continue
            if stat.S_ISDIR(mode.st_mode) and entry.name in allowed:
                folders.add(entry.name)
            elif not stat.S_ISREG(mode.st_mode) or entry.name.startswith(".z"):
                foreign.append(entry.name)
            else:
                size += mode.st_size
                if not PARTIAL.fullmatch(entry.name):
                    files[entry.name] = mode.st_size
    if foreign:
        raise StoreError(
            f"{folder} holds {shown(min(foreign), 80)}, which no sweep writes (a link, a pipe, a folder or metadata); "
            "remove it first"
        )
    return files, folders, size


def _is_folder(path: Path) -> bool:
    """Whether a folder is there that is no link, and neither is the one above it."""
    try:
        return all(stat.S_ISDIR(os.lstat(p).st_mode) for p in (path.parent, path))
    except OSError:
        return False


# Arrays as the zarr package encodes them


class Encoder:
    """Chunks of a Zarr group's arrays (format 3) in memory, taken out as bytes.

    Parameters
    ----------
    heads : mapping name -> header
    """

    def __init__(self, heads: Mapping[str, Any]) -> None:
        import zarr
        from zarr.core.buffer import default_buffer_prototype
        from zarr.storage import MemoryStore

        self._files: dict[str, Any] = {}
        self._group: Any = zarr.create_group(store=MemoryStore(self._files), zarr_format=3)
        self._arrays: dict[str, Any] = {}
        for name, head in heads.items():
            self._files[f"{name}/zarr.json"] = default_buffer_prototype().buffer.from_bytes(in_bytes(head))

    def chunk(self, name: str, window: Any, key: str, values: Any) -> bytes:
        """The bytes of an array's chunk that covers a window."""
        import zarr

        if name not in self._arrays:
            with zarr.config.set({"array.write_empty_chunks": True}):
                self._arrays[name] = self._group[name]
        self._arrays[name][window] = values
        content: bytes = self._files.pop(f"{name}/{key}").to_bytes()
        return content


def write_arrays(folder: Path, grid: Mapping[str, Array], labels: Mapping[str, xr.Variable]) -> None:
    """Write the headers of arrays over the grid, and other variables whole.

    Raises
    ------
    StoreError
        Labels that are neither numbers nor text.
    """
    stored = {name: _storable(name, variable) for name, variable in labels.items()}
    arrays = {**grid, **{name: array for name, (array, _) in stored.items()}}
    heads = {name: array_header(array) for name, array in arrays.items()}
    for name, head in heads.items():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "zarr.json").write_bytes(in_bytes(head))
    encoder = Encoder(heads)
    for name, (array, values) in stored.items():
        key = chunk_key((0,) * len(array.shape))
        (folder / name / key).write_bytes(encoder.chunk(name, ..., key, values))


def _storable(name: str, variable: xr.Variable) -> tuple[Array, Any]:
    """A variable as an array in one chunk, and its values."""
    values, dtype = variable.values, None
    if values.dtype.kind in "biufc":
        check_number(name, values.dtype)
        dtype = values.dtype.newbyteorder("<")
    elif all(isinstance(v, str) for v in values.flat):
        values = np.array([str(v) for v in values.flat], dtype=object).reshape(values.shape)
    else:
        raise StoreError(f"the labels of {name} are {values.dtype}; a store holds numbers and text")
    return in_one_chunk(values.shape, dtype, tuple(map(str, variable.dims)), variable.attrs), values
