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
from .layout import BOUNDARY, Header, Whole, status_attrs
from .netcdf_rules import check_netcdf, not_whole, seal
from .plain_files import brief, remove_partial, to_disk, write_whole
from .same_sweep import check_same, parameters_in
from .work import Layout, Outcome
from .zarr_store import ZarrStore

#: Bytes that one file is put together from, in memory.
MOST_BYTES = 4_000_000_000


def open_netcdf_store(path: Path, blocks: Blocks, header: Header, retry: bool) -> NetCdfFile | NetCdfParts:
    """`x.nc`; until it is there, `x.nc.parts`, a Zarr store."""
    # What a process that was killed at the very end left behind.
    shutil.rmtree(_gone(path), ignore_errors=True)
    return NetCdfFile(path, blocks, header, retry) if path.exists() else NetCdfParts(path, blocks, header, retry)


class NetCdfFile:
    """The file of a sweep that is complete: there is nothing left to write."""

    def __init__(self, path: Path, blocks: Blocks, header: Header, retry: bool) -> None:
        self.path, self.layout, self.done = path, Layout(), np.ones(blocks.count, dtype=bool)
        data, complete = open_netcdf(path)
        with data:
            attrs = {str(k): v for k, v in data.attrs.items()}
            check_same(path, attrs, header, lambda: _parameters(path, data))
        if not complete:
            raise changed(path)
        if retry and "failure_point" in load_netcdf(path):
            raise StoreError(f"{path} is complete and stays as it is; sweep to another name to try again")
        _remove_parts(path)

    def begin(self, layout: Layout) -> None:
        """Room is there."""

    def write(self, block: int, outcome: Outcome) -> None:
        """No block is missing."""
        raise AssertionError(block)

    def finish(self, whole: Whole | None = None) -> xr.Dataset:
        """The results; of a file from before boundaries were kept, with what follows from the whole."""
        data = load_netcdf(self.path)
        if whole is None or any(str(n).startswith(BOUNDARY) for n in data):
            return data
        return data.assign(whole(data))

    def close(self) -> None:
        """Nothing to let go of."""


class NetCdfParts(ZarrStore):
    """The blocks of a file that is yet to be put together."""

    def __init__(self, file: Path, blocks: Blocks, header: Header, retry: bool) -> None:
        self.file = file
        super().__init__(parts_of(file), blocks, header, retry)

    def begin(self, layout: Layout) -> None:
        """Make room for the variables."""
        size = layout.bytes_per_point * self.blocks.points
        if size > MOST_BYTES:
            raise StoreError(
                f"{self.file} would hold {size / 1e9:.0f} GB, and NetCDF files are put together in memory; give a name "
                "that ends in .zarr"
            )
        super().begin(layout)

    def finish(self, whole: Whole | None = None) -> xr.Dataset:
        """Put the file together, rename it into place, and remove the parts."""
        try:
            with super().finish(whole) as opened:
                data = _for_netcdf(opened.load())
        except (ValueError, OSError) as error:  # damaged between its check and now
            raise StoreError(f"{self.path} is damaged: {brief(error)}; sweep once more") from error
        try:
            # By way of memory: HDF5 that meets a full disk crashes the process instead of raising OSError.
            with _no_cluster():
                content = data.to_netcdf(engine="h5netcdf")
            remove_partial(self.file.parent, self.file.name)  # those of processes that were killed
            write_whole(self.file, content, seal(content))
            to_disk([self.file.parent])
        except OSError as error:
            raise StoreError(
                f"cannot write {self.file}: {error.strerror or error}; its blocks are kept in {self.path}"
            ) from error
        _remove_parts(self.file)  # still locked
        self.close()
        return load_netcdf(self.file)


def _parameters(path: Path, data: xr.Dataset) -> dict[str, str]:
    """Those of the grid that a file holds, in words. Raises StoreError if they cannot be read."""
    try:
        return parameters_in(data, data["status"].dims)
    except Exception as error:
        raise not_whole(path, brief(error)) from None


def _remove_parts(path: Path) -> None:
    """In two steps, so that half a folder never looks like parts to be taken up."""
    if parts_of(path).exists():
        with suppress(FileNotFoundError):  # another process was faster
            os.rename(parts_of(path), _gone(path))
        shutil.rmtree(_gone(path), ignore_errors=True)


def parts_of(path: Path) -> Path:
    """Where the blocks of a NetCDF file wait."""
    return path.with_name(path.name + ".parts")


def _gone(path: Path) -> Path:
    return path.with_name(path.name + ".parts.finished")


def open_netcdf(path: Path) -> tuple[xr.Dataset, bool]:
    """A NetCDF file, lazily, and whether it holds a hash of its bytes. Raises StoreError if it cannot be read."""
    complete = check_netcdf(path)
    try:
        return xr.open_dataset(path, engine="h5netcdf", decode_times=False, phony_dims="access"), complete
    except Exception as error:
        raise not_whole(path, brief(error)) from None


def read_netcdf_attributes(path: Path) -> tuple[dict[str, Any], bool]:
    """Attributes of a NetCDF file, and whether it holds a hash of its bytes. Raises StoreError if it cannot be read."""
    data, complete = open_netcdf(path)
    with data:
        return {str(k): v for k, v in data.attrs.items()}, complete


def load_netcdf(path: Path) -> xr.Dataset:
    """A sweep's file as a whole. Raises StoreError if it was changed since it was written."""
    data, complete = open_netcdf(path)
    with data:
        if not complete:
            raise changed(path)
        try:
            return data.load()
        except Exception as error:
            raise not_whole(path, brief(error)) from None


def changed(path: Path) -> StoreError:
    """The error for a sweep's file that has lost its checksum."""
    return not_whole(path, "its checksum is missing: it was changed after the sweep")


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
