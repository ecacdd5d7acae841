"""What is in a store: model, parameters, version, and how much of it is there."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..results import NOT_YET, REASONS
from .netcdf_store import parts_of
from .store import StoreError
from .zarr_format import chunk_name, chunk_values
from .zarr_store import chunk_files, read_attributes


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
    missing: int
    reasons: dict[str, int]
    blocks: int
    blocks_done: int
    bytes: int
    resumable: bool

    def __str__(self) -> str:
        grid = " x ".join(f"{d} {n:,}" for d, n in self.dims.items())
        share = f" ({100 * self.done / self.points:.1f} %)" if self.missing else ""
        state = f"resume it: {self.missing:,} points are missing" if self.resumable else "complete"
        if self.resumable and not self.missing:
            state = "resume it: the file is yet to be put together"
        lines = [
            f"{self.path}: {state}",
            f"  model       {self.model} (tcpdynamics {self.version})",
            *(
                [f"  function    {self.work}"]
                if self.work not in ("", self.model) and not self.solver
                else []
            ),
            *([f"  solver      {self.solver}"] if self.solver else []),
            f"  points      {self.points:,}{f' = {grid}' if len(self.dims) > 1 else ''}",
            f"  done        {self.done:,}{share}",
            *([f"  missing     {self.missing:,}"] if self.missing else []),
            f"  failed      {self.failed:,}",
            *(f"    {n:,} x {text}" for text, n in self.reasons.items()),
            *([f"  blocks      {self.blocks_done:,} of {self.blocks:,}"] if self.blocks else []),
            f"  size        {self.bytes:,} bytes",
            "  parameters",
            *(f"    {name} = {text}" for name, text in self.parameters.items()),
            "  variables",
            *(f"    {name} {text}" for name, text in self.variables.items()),
        ]
        return "\n".join(lines)


def explain(store: str | Path) -> Explanation:
    """What a store of `sweep`, or a NetCDF file of any result, holds. Works while it is being written.

    Parameters
    ----------
    store : path
        `x.zarr`, or `x.nc`; for `x.nc` that is not there yet, its parts.

    Raises
    ------
    StoreError
        A file that is not there, is damaged, or is not a result of this package.
    """
    path = Path(store)
    try:
        if not path.exists() and parts_of(path).is_dir():
            return _explain_zarr(parts_of(path))
        if not path.exists():
            raise StoreError(f"{path} is not there; give the name of a store, such as x.zarr or x.nc")
        return _explain_zarr(path) if path.is_dir() else _explain_netcdf(path)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error


def _explain_zarr(path: Path) -> Explanation:
    attrs = read_attributes(path)
    sweep = _sweep_of(path, attrs)
    if sweep is None:
        raise StoreError(f"{path} was not written by a sweep; give another name")
    try:
        with xr.open_zarr(path, chunks=None) as data:
            told = _told(data, sweep["dims"])
        shape, tile = list(sweep["dims"].values()), sweep["block"]
        counts = [-(-n // side) for n, side in zip(shape, tile, strict=True)]
        codes: Counter[int] = Counter()
        reasons: Counter[str] = Counter()
        there = chunk_files(path / "status")
        for place in np.ndindex(*counts):
            if chunk_name(place) in there:
                content = (path / "status" / chunk_name(place)).read_bytes()
                values, seen = np.unique(chunk_values(content, tile, np.dtype(np.uint8)), return_counts=True)
                codes.update(dict(zip(values.tolist(), seen.tolist(), strict=True)))
        for file in sorted((path / "status/reasons").glob("*.json")):
            for text, runs in json.loads(file.read_bytes()).items():
                reasons[text] += sum(last - first for first, last in runs)
    except StoreError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())
        raise StoreError(f"{path} is damaged ({why}); restore it or sweep to another name") from error
    points, blocks = math.prod(shape), math.prod(counts)
    codes.pop(NOT_YET, None)  # what sticks out of the grid
    size = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
    done = sum(codes.values())
    # The parts of a NetCDF file are resumed even when all are there: the file is yet to be put together.
    resumable = done < points or path.suffix == ".parts"
    return Explanation(
        path=str(path),
        **_who(attrs, sweep),
        **told,
        dims=dict(sweep["dims"]),
        points=points,
        done=done,
        failed=done - codes[0],
        missing=points - done,
        reasons=_counted(codes, reasons),
        blocks=blocks,
        blocks_done=len(there),
        bytes=size,
        resumable=resumable,
    )


def _explain_netcdf(path: Path) -> Explanation:
    try:
        data = xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:
        why = " ".join(str(error).split())
        raise StoreError(f"{path} is not a whole NetCDF file ({why}); give another name") from None
    if not {"model", "version"} <= data.attrs.keys():
        raise StoreError(f"{path} does not say which model it is of: not a result of tcpdynamics")
    sweep = _sweep_of(path, data.attrs)
    status = data.get("status")
    if sweep is not None:
        dims = dict(sweep["dims"])
    else:
        dims = {str(d): n for d, n in (data if status is None else status).sizes.items()}
    points = math.prod(dims.values())
    codes: Counter[int] = Counter({0: points})
    if status is not None:
        codes = Counter(status.values.ravel().tolist())
    reasons = Counter(map(str, data["failure_reason"].values)) if "failure_reason" in data else Counter()
    return Explanation(
        path=str(path),
        **_who(data.attrs, sweep or {}),
        **_told(data, dims),
        dims=dims,
        points=points,
        done=points,
        failed=points - codes[0],
        missing=0,
        reasons=_counted(codes, reasons),
        blocks=0,
        blocks_done=0,
        bytes=path.stat().st_size,
        resumable=False,
    )


def _sweep_of(path: Path, attrs: Mapping[str, Any]) -> dict[str, Any] | None:
    if "sweep" not in attrs:
        return None
    try:
        sweep = json.loads(attrs["sweep"])
        return {"work": "", **sweep, "dims": dict(sweep["dims"])}
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"the header of {path} is damaged; restore it or give another name") from None


def _who(attrs: Mapping[str, Any], sweep: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": str(attrs["model"]),
        "version": str(attrs["version"]),
        "work": str(sweep.get("work", "")),
        "solver": str(attrs.get("solver", "")),
    }


def _told(data: xr.Dataset, dims: Mapping[str, int]) -> dict[str, Any]:
    parameters = {}
    for name, coord in data.coords.items():
        if set(coord.dims) <= set(dims):
            unit = coord.attrs.get("units", "")
            parameters[str(name)] = _range(coord.values) + (f" [{unit}]" if unit not in ("", "1") else "")
    variables = {}
    for name, variable in data.data_vars.items():
        unit, meaning = variable.attrs.get("units", ""), variable.attrs.get("long_name", "")
        text = f"({', '.join(map(str, variable.dims))})" + (f" [{unit}]" if unit else "")
        variables[str(name)] = text + (f" {meaning}" if meaning else "")
    return {"parameters": parameters, "variables": variables}


def _range(values: Any) -> str:
    if values.ndim == 0:
        return f"{values.item()}" if values.dtype.kind not in "f" else f"{values.item():g}"
    if values.dtype.kind not in "iuf":
        return f"{values.size:,} labels"
    return f"{values.min():g} to {values.max():g}, {values.size:,} values"


def _counted(codes: Mapping[int, int], reasons: Counter[str]) -> dict[str, int]:
    """Failed points by reason: the texts of errors, and the meaning of the codes of the rest."""
    from .work import OUTSIDE, RAISED

    told = dict(reasons.most_common())
    raised = sum(reasons.values())
    for code, number in sorted(codes.items()):
        if code in (0, NOT_YET):
            continue
        if code in (OUTSIDE, RAISED):
            number, raised = max(0, number - raised), max(0, raised - number)
        if number:
            text = REASONS[code] if code < len(REASONS) else f"status {code} of the function's own"
            told[text] = told.get(text, 0) + number
    return told
