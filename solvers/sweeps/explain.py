"""What is in a store: model, parameters, version, and how much of it is there."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import StoreError

from ..results import NOT_YET, Status, reason
from .blocks import MAX_STORED
from .headers import Contents, examine
from .layout import FORMAT, chunk_key
from .netcdf_rules import not_whole
from .netcdf_store import changed, open_netcdf, parts_of
from .plain_files import brief, local_path
from .records import check_block, check_skeleton, is_complete
from .same_sweep import parameters_in, parameters_of, printable, value_or_range

#: What a result is of, by the attributes that say so.
_MARKS = {
    "model": {"model", "version"},
    "scenario": {"scenario", "what_you_ran", "version"},
    "comparison": {"comparison", "parameters"},
}

#: Damaged blocks that the text lists.
_NAMED = 10


@dataclass(frozen=True)
class Explanation:
    """What `explain` finds. `str` gives a page of text.

    Attributes
    ----------
    path : str
    model, version, work, solver : str
        The model (or function), the package version, the function called, the solver; "" where not given.
    dims : mapping dimension -> size
    parameters : mapping name -> text
        A value, or a range with the number of values and the unit.
    variables : mapping name -> text
        Dimensions, unit and meaning.
    points, done, failed, missing : int
        Points of the grid; of those finished, how many failed; and how many are not finished.
    reasons : mapping text -> number of failed points
    blocks, blocks_done : int
    bytes : int
        On disk.
    resumable : bool
        Whether a sweep with this store would go on; False for a complete file and for results that no sweep wrote.
    damaged : tuple of str
        Finished blocks that are not whole, by the first trouble of each; a sweep computes them again. They count as
        missing.
    verified : bool
        Whether every byte of the results was checked against its hash.
    kind : str
        What `model` names: a "model", of `simulate` a "scenario", whose points are runs, of `validate` a "comparison".
    """

    path: str
    model: str
    version: str
    work: str
    solver: str
    dims: dict[str, int]
    parameters: dict[str, str]
    variables: dict[str, str]
    points: int
    done: int
    failed: int
    missing: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    blocks: int = 0
    blocks_done: int = 0
    bytes: int = 0
    resumable: bool = False
    damaged: tuple[str, ...] = ()
    verified: bool = False
    kind: str = "model"

    def __str__(self) -> str:
        model = self.kind == "model"
        grid = " x ".join(f"{d} {n:,}" for d, n in self.dims.items())
        share = f" ({100 * self.done / self.points:.1f} %)" if self.missing else ""
        state = f"resume it: {self.missing:,} points are missing" if self.resumable else "complete"
        if self.resumable and not self.missing:
            state = "resume it: the file is yet to be put together"
        if self.damaged:
            state = f"damaged: sweep again to compute {len(self.damaged):,} blocks once more"
        damaged = [f"    {trouble}" for trouble in self.damaged[:_NAMED]]
        if len(self.damaged) > _NAMED:
            damaged.append(f"    and {len(self.damaged) - _NAMED:,} more")
        lines = [
            f"{self.path}: {state}",
            f"  {self.kind:11} {self.model} (tcpdynamics {self.version})",
            *([f"  function    {self.work}"] if self.work not in ("", self.model) and not self.solver else []),
            *([f"  {'solver' if model else 'command':11} {self.solver}"] if self.solver else []),
            f"  {'runs' if self.kind == 'scenario' else 'points':11} {self.points:,}"
            + (f" = {grid}" if len(self.dims) > 1 else ""),
            f"  done        {self.done:,}{share}",
            *([f"  missing     {self.missing:,}"] if self.missing else []),
            f"  failed      {self.failed:,}",
            *(f"    {n:,} x {text}" for text, n in self.reasons.items()),
            *([f"  blocks      {self.blocks_done:,} of {self.blocks:,}"] if self.blocks else []),
            *([f"  damaged     {len(self.damaged):,} blocks", *damaged] if self.damaged else []),
            f"  size        {self.bytes:,} bytes",
            "  verified    "
            + ("yes: every byte agrees with its hash" if self.verified else "no (--verify reads every byte)"),
            "  parameters",
            *(f"    {name} = {text}" for name, text in self.parameters.items()),
            "  variables",
            *(f"    {name} {text}" for name, text in self.variables.items()),
        ]
        return "\n".join(lines)


def explain(store: str | Path, *, verify: bool = False) -> Explanation:
    """What a store of `sweep`, or a NetCDF file of any result, holds. Works while it is being written.

    Headers, coordinates and records are read and checked; of the blocks' chunks only their presence in full
    length. No more than a few megabytes are in memory at a time. A NetCDF file's bytes are checked against their hash.

    Parameters
    ----------
    store : path
        `x.zarr`, or `x.nc`; for `x.nc` that is not there yet, its parts.
    verify : bool
        Read every chunk and check it against its hash.

    Returns
    -------
    Explanation
        Printed, it is a page of text.

    Raises
    ------
    StoreError
        A file that is not there, is damaged, or is not a result of this package; one that needs more memory than
        one request may have, or that contains what no sweep writes (links, other formats, other codecs).

    Examples
    --------
    >>> import tempfile
    >>> from tcpdynamics.solvers import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = sweep(lambda block: {"area": block["a"] ** 2}, {"a": [1.0, 2.0]}, store=f"{folder}/x.zarr")
    ...     page = explain(f"{folder}/x.zarr")
    >>> page.points, page.done, page.resumable
    (2, 2, False)
    """
    path = local_path(store)
    try:
        if not path.exists() and parts_of(path).is_dir():
            return _explain_zarr(parts_of(path), verify)
        if not path.exists():
            raise StoreError(f"{printable(path, 200)} is not there; give the name of a store, such as x.zarr or x.nc")
        return _explain_zarr(path, verify) if path.is_dir() else _explain_netcdf(path.resolve())
    except OSError as error:
        raise StoreError(f"cannot read {printable(path, 200)}: {error.strerror or error}") from error
    except ValueError as error:  # a name with a zero byte
        raise StoreError(f"cannot read {printable(path, 200)}: {brief(error)}") from None


def _explain_zarr(path: Path, verify: bool) -> Explanation:
    contents = examine(path)
    sweep = contents.sweep
    seal = check_skeleton(path, contents)
    shape, tile = list(sweep["dims"].values()), sweep["block"]
    counts = [-(-n // side) for n, side in zip(shape, tile, strict=True)]
    codes: Counter[int] = Counter()
    reasons: Counter[str] = Counter()
    damaged: list[str] = []
    blocks_done = 0
    for name in sorted(contents.records):
        place = _place(name, counts)
        if place is None:
            continue
        record, trouble = check_block(path, contents, seal, place, full=verify)
        if record is None:
            damaged.append(trouble)
            continue
        blocks_done += 1
        codes.update(record.codes)
        for text, runs in record.reasons.items():
            reasons[printable(text)] += sum(last - first for first, last in runs)
    points, blocks = math.prod(shape), math.prod(counts)
    done = sum(codes.values())
    # Not so for the parts of a NetCDF file: it is yet to be put together.
    complete = done == points and path.suffix != ".parts" and is_complete(path, contents, seal)
    return Explanation(
        path=str(path),
        **_who(contents.attrs, sweep),
        parameters=parameters_of(path, contents),
        variables=_variables(contents),
        dims=dict(sweep["dims"]),
        points=points,
        done=done,
        failed=done - codes[0],
        missing=points - done,
        reasons=_counted(codes, reasons),
        blocks=blocks,
        blocks_done=blocks_done,
        bytes=contents.size,
        resumable=not complete,
        damaged=tuple(damaged),
        verified=verify and not damaged,
    )


def _place(record: str, counts: Sequence[int]) -> tuple[int, ...] | None:
    """Where the block of a record stands among the blocks; None for other records."""
    try:
        place = tuple(int(i) for i in record.removesuffix(".json").split(".")[1:])
    except ValueError:
        return None
    fits = len(place) == len(counts) and all(0 <= i < n for i, n in zip(place, counts, strict=True))
    return place if fits and record == f"{chunk_key(place)}.json" else None


def _variables(contents: Contents) -> dict[str, str]:
    names = (*contents.sweep["variables"], "status")
    arrays = {n: contents.arrays[n] for n in names}
    return {n: _described(a.dims, a.attrs) for n, a in arrays.items()}


def _explain_netcdf(path: Path) -> Explanation:
    opened, complete = open_netcdf(path)
    try:
        with opened as data:
            return _of_dataset(path, data, complete)
    except StoreError:
        raise
    except Exception as error:
        raise not_whole(path, brief(error)) from None


def _of_dataset(path: Path, data: xr.Dataset, whole: bool) -> Explanation:
    kind = next((k for k, names in _MARKS.items() if names <= data.attrs.keys()), None)
    if kind is None:
        raise StoreError(f"{path} does not say which model it is of: not a result of tcpdynamics")
    if kind != "model":
        return _of_packets(path, data, whole, kind)
    sweep = _sweep_of(path, data.attrs)
    if sweep is not None and sweep.get("format") == FORMAT and not whole:
        raise changed(path)
    status = data.get("status")
    dims = {str(d): n for d, n in (data if status is None else status).sizes.items()}
    points = math.prod(dims.values())
    if points > MAX_STORED:
        raise StoreError(f"{path} claims {points:,} points, at most {MAX_STORED:,} are read; give another name")
    codes: Counter[int] = Counter({0: points})
    if status is not None:
        values, counts = np.unique(status.values, return_counts=True)
        codes = Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
    texts: Any = data["failure_reason"].values.ravel() if "failure_reason" in data else []
    reasons = Counter(printable(text) for text in texts)
    return Explanation(
        path=str(path),
        **_who(data.attrs, sweep or {}),
        parameters=parameters_in(data, dims),
        variables={str(n): _described(v.dims, v.attrs) for n, v in data.data_vars.items()},
        dims=dims,
        points=points,
        done=points,
        failed=points - codes[0],
        reasons=_counted(codes, reasons),
        bytes=path.stat().st_size,
        verified=whole,
    )


def _of_packets(path: Path, data: xr.Dataset, whole: bool, kind: str) -> Explanation:
    """A simulation of packets, or a comparison with one: not a grid of points with a status each."""
    facts = _json_of(path, data.attrs, "scenario" if kind == "scenario" else "parameters")
    if kind == "scenario":
        runs = {"replication": data.sizes["replication"]} if "replication" in data.sizes else {}
        notes = [name for name in ("seed", "interrupted_at", "warning") if data.attrs.get(name)]
        several = ["seed"] if runs else []  # each run has its own
        facts = {
            "flows": data.sizes.get("flow", 0),
            "links": data.sizes.get("link", 0),
            **{k: v for k, v in facts.items() if isinstance(v, int | float | str) and k not in ("name", "seed")},
            **{name: data.attrs[name] for name in notes if name not in several},
        }
        model, command = data.attrs.get("name", "scenario"), "simulate"
    else:
        verdict = data.get("verdict")
        runs = {} if verdict is None else {str(d): n for d, n in verdict.sizes.items()}
        model, command = data.attrs["comparison"], "validate"
    points = math.prod(runs.values())
    ranges = {str(k): value_or_range(c.values, c.attrs) for k, c in data.coords.items() if c.ndim < 2}
    return Explanation(
        path=str(path),
        model=printable(model),
        version=printable(data.attrs.get("version", "of a version not stated")),
        work="",
        solver=command,
        dims=runs,
        parameters={printable(k): printable(v) for k, v in facts.items()}
        | {printable(k): v for k, v in ranges.items()},
        variables={printable(n): _described(v.dims, v.attrs) for n, v in data.data_vars.items()},
        points=points,
        done=points,
        failed=0,
        bytes=path.stat().st_size,
        verified=whole,
        kind=kind,
    )


def _json_of(path: Path, attrs: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A mapping that an attribute holds as JSON."""
    try:
        return dict(json.loads(attrs[name]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(
            f"the header of {path} is damaged: its attribute {name} is no JSON; write the file again"
        ) from None


def _sweep_of(path: Path, attrs: Mapping[str, Any]) -> dict[str, Any] | None:
    if "sweep" not in attrs:
        return None
    try:
        sweep = json.loads(attrs["sweep"])
        return {"work": "", **sweep, "dims": dict(sweep["dims"])}
    except (ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"the header of {path} is damaged; restore it or give another name") from None


def _who(attrs: Mapping[str, Any], sweep: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": printable(attrs["model"]),
        "version": printable(attrs["version"]),
        "work": printable(sweep.get("work", "")),
        "solver": printable(attrs.get("solver", "")),
    }


def _described(dims: Sequence[Any], attrs: Mapping[str, Any]) -> str:
    """Dimensions, unit and meaning of a variable."""
    meaning = attrs.get("long_name", "")
    unit = attrs.get("units", "")
    text = f"({', '.join(map(printable, dims))})" + (f" [{printable(unit)}]" if unit else "")
    return text + (f" {printable(meaning)}" if meaning else "")


_KNOWN = frozenset(status.value for status in Status)


def _counted(codes: Mapping[int, int], reasons: Counter[str]) -> dict[str, int]:
    """Failed points by reason: the texts of errors, and the meaning of the codes of the rest."""
    points = dict(reasons.most_common())
    raised = sum(reasons.values())
    for code, number in sorted(codes.items()):
        if code in (Status.OK, NOT_YET):
            continue
        if code in (Status.OUTSIDE, Status.RAISED):
            number, raised = max(0, number - raised), max(0, raised - number)
        if number:
            text = reason(code) if code in _KNOWN else f"status {code} of the function's own"
            points[text] = points.get(text, 0) + number
    return points
