"""A sweep as one NetCDF file: its blocks lie in a folder beside it until all are there."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import StoreError

from .blocks import Blocks
from .netcdf_rules import check_netcdf, not_whole, seal
from .plain_files import brief, remove_partial, to_disk, write_whole
from .store import Header, Whole, check_same, status_attrs, with_whole
from .work import Layout, Outcome
from .zarr_rules import BOUNDARY
from .zarr_store import ZarrStore

#: Bytes that one file is put together from, in memory.
MOST_BYTES = 4_000_000_000


class NetCdfStore:
    """`x.nc`, and `x.nc.parts`, a Zarr store, until the sweep is complete."""

    def __init__(self, path: Path, blocks: Blocks, header: Header, retry: bool = False) -> None:
        self.path, self.blocks, self.header = path, blocks, header
        self._parts: ZarrStore | None = None
        # What a process that was killed at the very end left behind.
        shutil.rmtree(_gone(path), ignore_errors=True)
        if path.exists():
            attrs, whole = read_netcdf_attributes(path)
            check_same(path, attrs, header)
            if not whole:
                raise not_whole(path, "its checksum is missing: it was changed after the sweep")
            if retry and "failure_point" in load_netcdf(path):
                raise StoreError(f"{path} is complete and stays as it is; sweep to another name to try again")
            self._remove_parts()
        else:
            self._parts = ZarrStore(parts_of(path), blocks, header, retry)

    @property
    def layout(self) -> Layout | None:
        """What the variables look like."""
        return self._parts.layout if self._parts else Layout()

    @property
    def done(self) -> Any:
        """Which blocks are finished."""
        return self._parts.done if self._parts else np.ones(self.blocks.count, dtype=bool)

    def begin(self, layout: Layout) -> None:
        """Make room for the variables."""
        assert self._parts is not None
        cells = layout.bytes_per_point
        if cells * self.blocks.points > MOST_BYTES:
            raise StoreError(
                f"{self.path} would hold {cells * self.blocks.points / 1e9:.0f} GB, and NetCDF files are put together "
                f"in memory; give a name that ends in .zarr"
            )
        self._parts.begin(layout)

    def write(self, block: int, outcome: Outcome) -> None:
        """Keep a block."""
        assert self._parts is not None
        self._parts.write(block, outcome)

    def finish(self, whole: Whole | None = None) -> xr.Dataset:
        """Put the file together, rename it into place, and remove the parts."""
        if self._parts is None:
            data = load_netcdf(self.path)
            return data if any(str(n).startswith(BOUNDARY) for n in data) else with_whole(data, whole)
        try:
            with self._parts.finish(whole) as opened:
                data = _for_netcdf(opened.load())
        except (ValueError, OSError) as error:  # damaged between its check and now
            raise StoreError(f"{self._parts.path} is damaged: {brief(error)}; sweep once more") from error
        try:
            # By way of memory: HDF5 that meets a full disk crashes the process instead of raising OSError.
            with _no_cluster():
                content = data.to_netcdf(engine="h5netcdf")
            remove_partial(self.path.parent, self.path.name)  # those of processes that were killed
            write_whole(self.path, content, seal(content))
            to_disk([self.path.parent])
        except OSError as error:
            raise StoreError(
                f"cannot write {self.path}: {error.strerror or error}; its blocks are kept in {self._parts.path}"
            ) from error
        self._remove_parts()  # still locked
        self._parts.close()
        self._parts = None
        return load_netcdf(self.path)

    def close(self) -> None:
        """Let another process write."""
        if self._parts is not None:
            self._parts.close()

    def _remove_parts(self) -> None:
        """In two steps, so that half a folder never looks like parts to be taken up."""
        if parts_of(self.path).exists():
            with suppress(FileNotFoundError):  # another process was faster
                os.rename(parts_of(self.path), _gone(self.path))
            shutil.rmtree(_gone(self.path), ignore_errors=True)


def parts_of(path: Path) -> Path:
    """Where the blocks of a NetCDF file wait."""
    return path.with_name(path.name + ".parts")


def _gone(path: Path) -> Path:
    return path.with_name(path.name + ".parts.finished")


def open_netcdf(path: Path) -> tuple[xr.Dataset, bool]:
    """A NetCDF file, lazily, and whether it holds a hash of its bytes. Raises StoreError if it cannot be read."""
    whole = check_netcdf(path)
    try:
        return xr.open_dataset(path, engine="h5netcdf", decode_times=False, phony_dims="access"), whole
    except Exception as error:
        raise not_whole(path, brief(error)) from None


def read_netcdf_attributes(path: Path) -> tuple[dict[str, Any], bool]:
    """Attributes of a NetCDF file, and whether it holds a hash of its bytes. Raises StoreError if it cannot be read."""
    data, whole = open_netcdf(path)
    with data:
        return {str(k): v for k, v in data.attrs.items()}, whole


def load_netcdf(path: Path) -> xr.Dataset:
    """A sweep's file as a whole. Raises StoreError if it was changed since it was written."""
    data, whole = open_netcdf(path)
    with data:
        if not whole:
            raise not_whole(path, "its checksum is missing: it was changed after the sweep")
        try:
            return data.load()
        except Exception as error:
            raise not_whole(path, brief(error)) from None


def _no_cluster() -> AbstractContextManager[Any]:
    """Where a Dask client is about, xarray would ask its scheduler for a lock on a file that is in memory here."""
    if "distributed" not in sys.modules:
        return nullcontext()
    import dask.config
    import dask.local

    # The function, not its name, which some versions of Dask warn of while a client is about.
    local: AbstractContextManager[Any] = dask.config.set(scheduler=dask.local.get_sync)
    return local


def _for_netcdf(data: xr.Dataset) -> xr.Dataset:
    """NetCDF has no complex numbers: they become two variables."""
    data = data.drop_encoding()
    data["status"].attrs.update(status_attrs())
    for name, variable in [(str(k), v) for k, v in data.data_vars.items()]:
        if variable.dtype.kind == "c":
            data = data.drop_vars(name)
            for part, values in (("real", variable.real), ("imag", variable.imag)):
                meaning = f"{variable.attrs.get('long_name', name)}, {'real' if part == 'real' else 'imaginary'} part"
                data[f"{name}_{part}"] = values.assign_attrs({**variable.attrs, "long_name": meaning})
    return data
