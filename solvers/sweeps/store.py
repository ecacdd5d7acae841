"""Where the blocks of a sweep are kept: in memory, or in a file that outlives the process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import StoreError, shown
from tcpdynamics.limits import check_memory

from ..results import NOT_YET, status_attributes
from .blocks import Blocks
from .fingerprint import fingerprint
from .work import Kind, Layout, Outcome

#: Of stores. Format 1 had no records: nothing told a block that was changed or misplaced.
FORMAT = 2

#: Failed points that a finished result lists with their reasons; `status` marks all of them.
MOST_LISTED = 100_000


#: Attributes by which xarray takes other values for those that are stored.
_DECODED = {"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned", "dtype", "coordinates"}


#: From all results to the variables that belong to no point, such as the boundary of a chart.
Whole = Callable[[xr.Dataset], Mapping[str, xr.Variable]]


class Store(Protocol):
    """What a sweep needs of the place where its blocks go."""

    @property
    def layout(self) -> Layout | None:
        """What the variables look like; None until `begin`."""

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which blocks are finished."""

    def begin(self, layout: Layout) -> None:
        """Make room for the variables."""

    def write(self, block: int, outcome: Outcome) -> None:
        """Keep a block."""

    def finish(self, whole: Whole | None = None) -> xr.Dataset:
        """The results, once all blocks are there, with what follows from the whole."""

    def close(self) -> None:
        """Let go of the store."""


@dataclass(frozen=True)
class Header:
    """What a store says about the sweep that it holds.

    Attributes
    ----------
    about : mapping
        Attributes of the result: model, version and what else the caller says.
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
        coords = {
            name: {"dims": dims, "attrs": plain(attrs)} for name, (dims, _, attrs) in layout.coords.items()
        }
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
    return Header(
        dict(about), work, work_version, digest, grid, dims, blocks.tile, tuple(sorted(coords)), coords
    )


def check_same(path: Path, attrs: Mapping[str, Any], header: Header) -> dict[str, Any]:
    """The sweep that `attrs`, the attributes of a store, tells of, if it is the one of `header`.

    Raises
    ------
    StoreError
        If it is another one; names the first thing that differs.
    """
    try:
        sweep: dict[str, Any] = json.loads(attrs["sweep"])
        stored_format = sweep["format"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise StoreError(f"{path} was not written by a sweep; give another name") from None
    if stored_format != FORMAT:
        raise StoreError(
            f"{path} has the store format {shown(stored_format, 40)}, this version reads and writes {FORMAT}; "
            "give another name"
        )
    expected = json.loads(header.attributes(Layout())["sweep"])
    pairs = [
        ("model", attrs.get("model"), header.about.get("model")),
        ("solver", attrs.get("solver"), header.about.get("solver")),
        ("function", sweep.get("work"), header.work),
        ("version of tcpdynamics", attrs.get("version"), header.about.get("version")),
        ("version of the function", sweep.get("work_version"), header.work_version),
        ("dimensions", _sizes(sweep.get("dims")), _sizes(header.dims)),
    ]
    for what, theirs, ours in pairs:
        if theirs != ours:
            be = "are" if what == "dimensions" else "is"
            raise StoreError(
                f"{path} holds another sweep: its {what} {be} {_said(theirs)}, this one's {be} {_said(ours)}; give "
                "another name"
            )
    for attribute, what in (("parameters", "parameter"), ("settings", "setting")):
        other = _differing(attrs.get(attribute), header.about.get(attribute))
        if other is not None:
            name, theirs, ours = other
            raise StoreError(
                f"{path} holds another sweep: its {what} {shown(name, 60)} is {theirs}, this one's is {ours}; "
                "give another name"
            )
    if sweep.get("grid") != expected["grid"]:
        raise StoreError(f"{path} holds another sweep: {_other_values(path, header)}; give another name")
    for key, what in (
        ("digest", f"the text or the settings of {header.work} differ"),
        ("block", f"its blocks are {shown(sweep.get('block'), 60)}, these are {list(header.block)}"),
    ):
        if sweep.get(key) != expected[key]:
            raise StoreError(f"{path} holds another sweep: {what}; give another name")
    if any(attrs.get(k) != v for k, v in header.about.items()):
        raise StoreError(f"{path} holds another sweep: what it says about itself differs; give another name")
    return sweep


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


def _other_values(path: Path, header: Header) -> str:
    """Which of the grid's parameters has other values in a store, and both, as far as can be told."""
    from .explain import explain, value_or_range

    try:
        stored = explain(path).parameters
    except StoreError:
        stored = {}
    for name, variable in header.coords.items():
        ours = value_or_range(variable.values, variable.attrs)
        if name in stored and stored[name] != ours:
            return f"its parameter {shown(name, 60)} is {shown(stored[name], 120)}, this one's is {shown(ours, 120)}"
    lacking = [name for name in stored if name not in header.coords]
    if stored and lacking:
        return f"it has the parameter {shown(lacking[0], 60)}, this one has not"
    added = [name for name in header.coords if stored and name not in stored]
    if added:
        return f"this one has the parameter {shown(added[0], 60)}, it has not"
    return "the parameter values differ"


def _sizes(dims: Any) -> str:
    if not isinstance(dims, dict):
        return shown(dims)
    return (
        " x ".join(f"{d} {n:,}" if type(n) is int else f"{d} ?" for d, n in dims.items()) or "a single point"
    )


def _said(value: Any) -> str:
    """A word of a header, as it stands in a sentence."""
    if not value:
        return "not given"
    return (
        value if isinstance(value, str) and len(value) <= 120 and value.isprintable() else shown(value, 120)
    )


def plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


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


def layout_of(sweep: Mapping[str, Any], coords: Mapping[str, Any]) -> Layout:
    """The layout that a header holds, with the values of the coordinates read beside it."""
    variables = {
        name: Kind(v["dtype"], tuple(v["dims"]), tuple(v["shape"]), v["attrs"])
        for name, v in sweep["variables"].items()
    }
    labels = {n: (tuple(c["dims"]), coords[n], c["attrs"]) for n, c in sweep["coords"].items()}
    return Layout(variables, labels)


def check_layout(blocks: Blocks, layout: Layout) -> None:
    """Refuse variables that clash with the grid or cannot be files."""
    from ..problems import DynamicsError

    taken_names = {*blocks.dims, *map(str, blocks.coords)}
    for name in (*layout.variables, *layout.coords):
        if name in taken_names or name in ("failure_point", "failure_reason"):
            raise DynamicsError(
                f"work gave a variable called {name!r}, which is a parameter or taken; rename it"
            )
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


def with_whole(data: xr.Dataset, whole: Whole | None) -> xr.Dataset:
    """Results with what follows from the whole."""
    return data if whole is None else data.assign(whole(data))


class MemoryStore:
    """Blocks in arrays; gone with the process."""

    def __init__(self, blocks: Blocks, header: Header) -> None:
        self.blocks, self.header = blocks, header
        self.layout: Layout | None = None
        self.done = np.zeros(blocks.count, dtype=bool)
        self._arrays: dict[str, NDArray[Any]] = {}
        self._status = np.full(blocks.shape, NOT_YET, dtype=np.uint8)
        self._reasons: dict[int, dict[str, Any]] = {}

    def begin(self, layout: Layout) -> None:
        """Make room for the variables."""
        check_layout(self.blocks, layout)
        size = self.blocks.points * (1 + layout.bytes_per_point)
        advice = "give fewer values, or sweep to a store such as x.zarr"
        check_memory(f"{self.blocks.points:,} points of {layout.bytes_per_point:,} bytes each", size, advice)
        self.layout = layout
        for name, kind in layout.variables.items():
            self._arrays[name] = np.full((*self.blocks.shape, *kind.shape), kind.fill, kind.dtype)

    def write(self, block: int, outcome: Outcome) -> None:
        """Keep a block."""
        window, sides = self.blocks.window(block), self.blocks.sides(block)
        for name, values in outcome.arrays.items():
            self._arrays[name][window] = values.reshape(sides + values.shape[1:])
        self._status[window] = outcome.status.reshape(sides)
        if outcome.reasons:
            self._reasons[block] = outcome.reasons
        self.done[block] = True

    def finish(self, whole: Whole | None = None) -> xr.Dataset:
        """The results."""
        layout, dims = self.layout or Layout(), self.blocks.dims
        data: dict[str, Any] = {
            name: ((*dims, *kind.dims), self._arrays[name], kind.attrs)
            for name, kind in layout.variables.items()
        }
        data["status"] = (dims, self._status, status_attrs())
        data |= failure_table(self.blocks, self._reasons.items())
        coords = {**self.blocks.coords, **layout.coords}
        return with_whole(xr.Dataset(data, coords, self.header.attributes(layout)), whole)

    def close(self) -> None:
        """Nothing to let go of."""
