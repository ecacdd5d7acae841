"""A sweep as one NetCDF file: its blocks lie in a folder beside it until all are there."""

from __future__ import annotations

import math
import os
import shutil
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .blocks import Blocks
from .store import Header, StoreError, check_same, status_attrs
from .work import Layout, Outcome
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
            check_same(path, read_netcdf_attributes(path), header)
            if retry and "failure_point" in _load(path):
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
        kinds = layout.variables.values()
        cells = sum(math.prod(k.shape) * np.dtype(k.dtype).itemsize for k in kinds)
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

    def finish(self) -> xr.Dataset:
        """Put the file together, rename it into place, and remove the parts."""
        if self._parts is None:
            return _load(self.path)
        try:
            with self._parts.finish() as opened:
                data = _for_netcdf(opened.load())
        except ValueError as error:  # a checksum
            raise StoreError(f"{self._parts.path} is damaged: {error}; sweep to another name") from error
        beside = self.path.with_name(self.path.name + ".unfinished")
        try:
            # By way of memory: HDF5 that meets a full disk crashes the process instead of raising OSError.
            with _no_cluster():
                content = data.to_netcdf(engine="h5netcdf")
            beside.write_bytes(content)
            os.replace(beside, self.path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise StoreError(
                f"cannot write {self.path}: {error.strerror or error}; its blocks are kept in {self._parts.path}"
            ) from error
        self._remove_parts()  # still locked
        self._parts.close()
        self._parts = None
        return _load(self.path)

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


def read_netcdf_attributes(path: Path) -> dict[str, Any]:
    """Attributes of a NetCDF file. Raises StoreError if it cannot be read."""
    try:
        with xr.open_dataset(path, engine="h5netcdf") as data:
            return {str(k): v for k, v in data.attrs.items()}
    except Exception as error:
        why = " ".join(str(error).split())
        raise StoreError(
            f"{path} is not a whole NetCDF file ({why}); restore it or give another name"
        ) from None


def _load(path: Path) -> xr.Dataset:
    return xr.load_dataset(path, engine="h5netcdf")


def _no_cluster() -> AbstractContextManager[Any]:
    """Where a Dask client is about, xarray would ask its scheduler for a lock on a file that is in memory here."""
    if "distributed" not in sys.modules:
        return nullcontext()
    import dask.config

    local: AbstractContextManager[Any] = dask.config.set(scheduler="synchronous")
    return local


def _for_netcdf(data: xr.Dataset) -> xr.Dataset:
    """NetCDF has no complex numbers: they become two variables."""
    data = data.drop_encoding()
    data["status"].attrs.update(status_attrs())
    for name, variable in [(str(k), v) for k, v in data.data_vars.items()]:
        if variable.dtype.kind == "c":
            data = data.drop_vars(name)
            for part, values in (("real", variable.real), ("imag", variable.imag)):
                told = f"{variable.attrs.get('long_name', name)}, {'real' if part == 'real' else 'imaginary'} part"
                data[f"{name}_{part}"] = values.assign_attrs({**variable.attrs, "long_name": told})
    return data
