"""Layout of a store: names, shapes and types of its arrays, and the description of the sweep in its header."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import StoreError, shown

from ..problems import DynamicsError
from ..results import NOT_YET, status_attributes
from .blocks import MAX_STORED, Blocks
from .fingerprint import fingerprint
from .work import Kind, Layout

#: Version of the store format. Format 1 had no records, so changed or misplaced blocks went unnoticed.
FORMAT = 2

#: Types of numbers that a store holds, as Zarr calls them.
NUMBERS = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
_DTYPE = re.compile(r"[<|][biufc]\d{1,2}")

#: The variables that list failed points.
TABLE = ("failure_point", "failure_reason")

#: Prefix of variables without a value per point, such as a chart's boundary.
BOUNDARY = "boundary_"

#: Folder of the records, below the status, where no reader of Zarr looks for arrays.
RECORDS = "status/records"

#: Failed points that a finished result lists with their reasons; `status` marks all of them.
MOST_LISTED = 100_000

#: Attributes by which xarray takes other values for those that are stored.
_DECODED = {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "dtype", "coordinates"}

#: From all results to the variables that belong to no point, such as the boundary of a chart.
Whole = Callable[[xr.Dataset], Mapping[str, xr.Variable]]


@dataclass(frozen=True)
class Array:
    """One array of a store.

    Attributes
    ----------
    shape, chunk : of the array, and of each of its chunks
    dtype : of its numbers, little-endian; None for text
    dims : names of its dimensions
    attrs : its attributes, as in JSON
    fill : what stands where nothing was written
    """

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    dtype: np.dtype[Any] | None
    dims: tuple[str, ...]
    attrs: dict[str, Any]
    fill: Any

    @property
    def chunk_size(self) -> int | None:
        """Bytes of a chunk's file; None for text."""
        return None if self.dtype is None else math.prod(self.chunk) * self.dtype.itemsize + 4


def in_one_chunk(
    shape: tuple[int, ...], dtype: np.dtype[Any] | None, dims: tuple[str, ...], attrs: Mapping[str, Any]
) -> Array:
    """A coordinate, or a variable that belongs to no point."""
    fill = "" if dtype is None else dtype.type(0)
    return Array(shape, shape, dtype, dims, plain(attrs), fill)


def on_grid(dims: Mapping[str, int], tile: tuple[int, ...], kinds: Mapping[str, Kind]) -> dict[str, Array]:
    """The arrays with a value for each point: the variables, and their status. Raises StoreError."""
    shape, names = tuple(dims.values()), tuple(dims)
    arrays = {}
    for name, kind in kinds.items():
        dtype = np.dtype(kind.dtype).newbyteorder("<")
        check_number(name, dtype)
        sides = (shape + kind.shape, tile + kind.shape)
        arrays[name] = Array(*sides, dtype, names + kind.dims, plain(kind.attrs), kind.fill)
    arrays["status"] = Array(shape, tile, np.dtype(np.uint8), names, plain(status_attrs()), np.uint8(NOT_YET))
    return arrays


def check_number(name: str, dtype: np.dtype[Any]) -> None:
    """Raise StoreError for numbers that no store holds."""
    if dtype.name not in NUMBERS:
        raise StoreError(f"{name} is of type {dtype}; a store holds {', '.join(sorted(NUMBERS))} and text")


def chunk_key(place: Iterable[int]) -> str:
    """Name of a chunk in the folder of its array: without folders of its own, which are dearer than files.

    >>> chunk_key((3, 0)), chunk_key(())
    ('c.3.0', 'c')
    """
    return ".".join(["c", *map(str, place)])


def storable_name(name: str) -> bool:
    """Whether a variable of this name can be a folder of a store."""
    return (
        bool(name.strip())
        and len(name.encode(errors="replace")) <= 200
        and name.isprintable()
        and not set(name) & set("/\\ ")
        and not name.startswith((".", "__"))
        and name != "zarr.json"
    )


def beside_points(name: str) -> bool:
    """Whether a store may hold this further variable, one without a value per point.

    >>> beside_points("failure_point"), beside_points("boundary_epsilon"), beside_points("abscissa")
    (True, True, False)
    """
    return name in TABLE or (name.startswith(BOUNDARY) and storable_name(name))


def plain(value: Any) -> Any:
    """A value converted to JSON's types."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# Description of the sweep in the header


@dataclass(frozen=True)
class Header:
    """Description of the sweep in a store's header.

    Attributes
    ----------
    about : mapping
        Attributes of the result: model, version and those given by the caller.
    work, work_version, digest : str
        Name of the function, the version its author gave it, and the fingerprint of its text and settings.
    grid : str
        Fingerprint of all parameter values.
    dims, block : dimensions with their sizes, and sides of a block
    labels : names of the grid's coordinates
    coords : mapping name -> values of a coordinate with dimensions, unit and meaning
    """

    about: dict[str, Any]
    work: str
    work_version: str
    digest: str
    grid: str
    dims: dict[str, int]
    block: tuple[int, ...]
    labels: tuple[str, ...] = ()
    coords: Mapping[str, xr.Variable] = field(default_factory=dict)

    def attributes(self, layout: Layout) -> dict[str, Any]:
        """Attributes of the result; "sweep" holds what a resumed run compares, as JSON."""
        variables = {
            name: {"dtype": kind.dtype, "dims": kind.dims, "shape": kind.shape, "attrs": plain(kind.attrs)}
            for name, kind in layout.variables.items()
        }
        coords = {name: {"dims": dims, "attrs": plain(attrs)} for name, (dims, _, attrs) in layout.coords.items()}
        sweep = {
            "format": FORMAT,
            "work": self.work,
            "work_version": self.work_version,
            "digest": self.digest,
            "grid": self.grid,
            "dims": self.dims,
            "block": self.block,
            "variables": variables,
            "coords": coords,
            "labels": list(self.labels),
        }
        return {**self.about, "sweep": json.dumps(sweep)}


def header_of(blocks: Blocks, about: Mapping[str, Any], work: str, work_version: str, digest: str) -> Header:
    """The header of a sweep."""
    coords = {str(k): xr.DataArray(c).variable for k, c in blocks.coords.items()}
    values = {k: (tuple(map(str, c.dims)), c.values) for k, c in coords.items()}
    grid = fingerprint([blocks.columns, values])
    dims = dict(zip(blocks.dims, blocks.shape, strict=True))
    return Header(dict(about), work, work_version, digest, grid, dims, blocks.tile, tuple(sorted(coords)), coords)


def read_sweep(path: Path, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The description of the sweep in a store's header, checked completely.

    Raises
    ------
    StoreError
        No sweep's store, one of another format, or a damaged header.
    """
    text = attrs.get("sweep")
    if not isinstance(text, str):
        raise StoreError(f"{path} was not written by a sweep; give another name")
    try:
        sweep: dict[str, Any] = json.loads(text)
        if type(sweep["format"]) is not int or sweep["format"] != FORMAT:
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
    variables, coords, labels = sweep["variables"], sweep["coords"], sweep["labels"]
    shape, tile = sides(list(sweep["dims"].values())), sides(sweep["block"])
    names = [*variables, *coords, *labels]
    types = [np.dtype(kind["dtype"]).name for kind in variables.values() if _DTYPE.fullmatch(kind["dtype"])]
    valid = (
        all(isinstance(text, str) for text in texts)
        and math.prod(shape) <= MAX_STORED
        and all(side <= n for side, n in zip(tile, shape, strict=True))
        and isinstance(labels, list)
        and len(set(names)) == len(names)
        and not {"status", *TABLE} & set(names)
        and all(isinstance(name, str) and storable_name(name) for name in [*names, *sweep["dims"]])
        and len(types) == len(variables)
        and NUMBERS.issuperset(types)
        and all(len(sides(kind["shape"])) == len(kind["dims"]) for kind in variables.values())
        and all(_are_dims(part["dims"]) for part in (*variables.values(), *coords.values()))
        and all(isinstance(part["attrs"], dict) for part in (*variables.values(), *coords.values()))
    )
    if not valid:
        raise ValueError


def _are_dims(dims: Any) -> bool:
    return isinstance(dims, list) and all(isinstance(name, str) for name in dims)


def sides(values: Any) -> tuple[int, ...]:
    """Whole numbers of at least 1. Raises ValueError."""
    if not isinstance(values, list) or len(values) > 32:
        raise ValueError
    if not all(type(n) is int and 1 <= n <= MAX_STORED for n in values):
        raise ValueError
    return tuple(values)


def kinds_of(sweep: Mapping[str, Any]) -> dict[str, Kind]:
    """The variables described in a header."""
    return {
        name: Kind(v["dtype"], tuple(v["dims"]), tuple(v["shape"]), v["attrs"])
        for name, v in sweep["variables"].items()
    }


def layout_of(sweep: Mapping[str, Any], coords: Mapping[str, Any]) -> Layout:
    """The layout described in a header, with the coordinates' values, which are read separately."""
    labels = {n: (tuple(c["dims"]), coords[n], c["attrs"]) for n, c in sweep["coords"].items()}
    return Layout(kinds_of(sweep), labels)


# Names of a work's results


def check_layout(blocks: Blocks, layout: Layout) -> None:
    """Refuse variables that clash with the grid or cannot be files."""
    taken_names = {*blocks.dims, *map(str, blocks.coords)}
    for name in (*layout.variables, *layout.coords):
        if name in taken_names or name in TABLE:
            raise DynamicsError(f"work gave a variable called {name!r}, which is a parameter or taken; rename it")
    for name in (*taken_names, *layout.variables, *layout.coords):
        if not storable_name(name):
            raise DynamicsError(f"{shown(name)} cannot be the name of a stored variable; rename it")
    for name, kind in layout.variables.items():
        clash = _DECODED & kind.attrs.keys()
        if clash:
            raise DynamicsError(
                f"work gave {name} the attribute {min(clash)!r}, by which readers change values; rename it"
            )
        if set(kind.dims) & taken_names:
            raise DynamicsError(f"work gave {name} a dimension that the grid has too: {', '.join(kind.dims)}")


def status_attrs() -> dict[str, Any]:
    """Attributes of a sweep's status."""
    return status_attributes((NOT_YET, "not computed yet"))


def failure_table(blocks: Blocks, reasons: Iterable[tuple[int, Mapping[str, Any]]]) -> dict[str, xr.Variable]:
    """The points that raised an error, in order, as two variables; nothing where there are none."""
    failed: list[tuple[int, str]] = []
    for block, runs_by_text in reasons:
        numbers = blocks.numbers(block)
        for text, runs in runs_by_text.items():
            failed += [(int(n), text) for first, last in runs for n in numbers[first:last]]
        if len(failed) > 4 * MOST_LISTED:
            failed = sorted(failed)[:MOST_LISTED]
    failed = sorted(failed)[:MOST_LISTED]
    if not failed:
        return {}
    points = np.array([n for n, _ in failed], dtype=np.int64)
    texts = np.array([text for _, text in failed])
    place = {"long_name": "place of a failed point in the grid, last dimension fastest"}
    return {
        "failure_point": xr.Variable(("failure",), points, place),
        "failure_reason": xr.Variable(("failure",), texts, {"long_name": "why it failed"}),
    }
