"""Where the blocks of a sweep are kept: in memory, or in a file that outlives the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import StoreError, bare
from tcpdynamics.limits import check_memory

from ..results import NOT_YET
from .blocks import Blocks
from .layout import Header, Whole, check_layout, failure_table, status_attrs
from .netcdf_store import open_netcdf_store, parts_of
from .work import Layout, Outcome
from .zarr_store import ZarrStore


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
            name: ((*dims, *kind.dims), self._arrays[name], kind.attrs) for name, kind in layout.variables.items()
        }
        data["status"] = (dims, self._status, status_attrs())
        data |= failure_table(self.blocks, self._reasons.items())
        coords = {**self.blocks.coords, **layout.coords}
        results = xr.Dataset(data, coords, self.header.attributes(layout))
        return results if whole is None else results.assign(whole(results))

    def close(self) -> None:
        """Nothing to let go of."""


def open_store(path: Path | None, blocks: Blocks, header: Header, resume: bool, retry: bool) -> Store:
    """Memory without a path; else the store there, begun or taken up. Raises StoreError."""
    if path is None:
        return MemoryStore(blocks, header)
    if path.suffix not in (".zarr", ".nc"):
        raise StoreError(f"cannot write {bare(path, 200)}: give a name that ends in .zarr or .nc")
    for there in (path, parts_of(path)):
        if there.exists() and not resume:
            raise StoreError(f"{there} is there already; resume it, or give another name")
    path = path.resolve()
    if path.suffix == ".zarr":
        return ZarrStore(path, blocks, header, retry)
    return open_netcdf_store(path, blocks, header, retry)
