"""A sweep as a Zarr directory: one chunk a block and variable, and a block is finished once its status is there."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..results import NOT_YET
from .blocks import Blocks
from .store import (
    Header,
    StoreError,
    check_layout,
    check_same,
    failure_table,
    layout_of,
    status_attrs,
)
from .work import Layout, Outcome
from .zarr_format import array_json, chunk_bytes, chunk_name, chunk_size, chunk_values, group_json, text_bytes

_STATUS = np.dtype(np.uint8)
_TABLE = ("failure_point", "failure_reason")


class ZarrStore:
    """A Zarr directory (format 3) that `xarray.open_zarr` reads, at any time.

    Every file is written beside its place and renamed, the status of a block last: a process that is killed leaves
    whole blocks or nothing of them. Points that are not there yet read as NaN with status 255. The reasons of
    failed points lie below `status/reasons`, and in two variables once the sweep is complete.
    """

    def __init__(self, path: Path, blocks: Blocks, header: Header, retry: bool = False) -> None:
        self.path, self.blocks, self.header = path, blocks, header
        self.layout: Layout | None = None
        self.done = np.zeros(blocks.count, dtype=bool)
        self._folders: set[str] = set()
        self._lock: int | None = None
        self._scratch = f"unfinished-{os.getpid()}-{secrets.token_hex(4)}"
        if path.exists():
            self._take(retry)
        elif not path.parent.is_dir():
            raise StoreError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")

    def begin(self, layout: Layout) -> None:
        """Build the store beside its place, locked already, then rename it: of two processes one comes too late."""
        check_layout(self.blocks, layout)
        self._clear_beside()
        beside = self.path.with_name(f"{self.path.name}.{self._scratch}")
        try:
            beside.mkdir()
            self._hold(beside)
            for name, content in self._skeleton(layout):
                file = beside / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            os.rename(beside, self.path)
        except OSError as error:
            shutil.rmtree(beside, ignore_errors=True)
            self.close()
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise self._busy() from None
            raise StoreError(f"cannot write {self.path}: {error.strerror or error}") from error
        self.layout = layout

    def write(self, block: int, outcome: Outcome) -> None:
        """Keep a block."""
        assert self.layout is not None
        place, sides = self.blocks.place(block), self.blocks.sides(block)
        for name, kind in self.layout.variables.items():
            chunk = self.blocks.tile + kind.shape
            if name in outcome.arrays:
                values = outcome.arrays[name].reshape(sides + kind.shape).astype(kind.dtype, copy=False)
            else:  # no point gave a result
                values = np.full(chunk, kind.fill, kind.dtype)
            inner = (0,) * len(kind.shape)
            self._put(f"{name}/{chunk_name(place + inner)}", chunk_bytes(values, chunk, kind.fill))
        if outcome.reasons:
            self._put(self._reasons(block), json.dumps(outcome.reasons).encode())
        else:
            (self.path / self._reasons(block)).unlink(missing_ok=True)
        status = chunk_bytes(outcome.status.reshape(sides), self.blocks.tile, NOT_YET)
        self._put(f"status/{chunk_name(place)}", status)
        self.done[block] = True

    def finish(self) -> xr.Dataset:
        """List the failed points, and open the whole lazily."""
        assert self.layout is not None
        table = failure_table(self.blocks, self._all_reasons())
        *_, (root, content) = self._skeleton(self.layout, table)
        if (self.path / root).read_bytes() != content:
            for name in _TABLE:
                shutil.rmtree(self.path / name, ignore_errors=True)
            for file in self._arrays(table):
                self._put(*file)
            self._put(root, content)
        for stale in _unfinished(self.path / "status", ""):
            stale.unlink(missing_ok=True)
        self._clear_beside()
        return _open(self.path)[[*self.layout.variables, "status", *table]]

    def close(self) -> None:
        """Let another process write."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _put(self, name: str, content: bytes) -> None:
        file, folder = f"{self.path}/{name}", f"{self.path}/{os.path.dirname(name)}"
        # What a process that is killed while it writes leaves here is removed when the store is finished.
        beside = f"{self.path}/status/{self._scratch}"
        try:
            if folder not in self._folders:
                os.makedirs(folder, exist_ok=True)
                self._folders.add(folder)
            with open(beside, "wb", buffering=0) as out:
                out.write(content)
            os.replace(beside, file)
        except OSError as error:
            raise StoreError(
                f"cannot write {file}: {error.strerror or error}; the blocks before it are kept"
            ) from error

    def _reasons(self, block: int) -> str:
        return f"status/reasons/{'.'.join(map(str, self.blocks.place(block))) or '0'}.json"

    def _all_reasons(self) -> Iterator[tuple[int, dict[str, Any]]]:
        if not (self.path / "status/reasons").is_dir():
            return
        for block in range(self.blocks.count):
            file = self.path / self._reasons(block)
            if file.exists():
                try:
                    yield block, json.loads(file.read_bytes())
                except ValueError:
                    raise StoreError(f"{file} is damaged; remove it to lose these reasons only") from None

    def _skeleton(
        self, layout: Layout, table: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[str, bytes]]:
        """Every file but the blocks and the table of failures; the group's own last."""
        tile, dims, shape = self.blocks.tile, self.blocks.dims, self.blocks.shape
        labels = {str(k): xr.DataArray(c).variable for k, c in self.blocks.coords.items()}
        labels |= {k: xr.Variable(*c) for k, c in layout.coords.items()}
        files = dict(self._arrays(labels))
        for name, kind in layout.variables.items():
            parts = (shape + kind.shape, tile + kind.shape, np.dtype(kind.dtype), (*dims, *kind.dims))
            files[f"{name}/zarr.json"] = array_json(*parts, kind.attrs, kind.fill)
        files["status/zarr.json"] = array_json(shape, tile, _STATUS, dims, status_attrs(), NOT_YET)
        yield from files.items()
        attrs = self.header.attributes(layout)
        scalars = sorted(k for k in labels if k not in labels[k].dims)
        if scalars:  # as xarray tells coordinates from variables
            attrs["coordinates"] = " ".join(scalars)
        files |= dict(self._arrays(table or {}))
        inline = {k.partition("/")[0]: v for k, v in files.items() if k.endswith("zarr.json")}
        yield "zarr.json", group_json(attrs, inline)

    @staticmethod
    def _arrays(variables: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
        """Small arrays, each in one chunk."""
        for name, variable in variables.items():
            values, dims = variable.values, [str(d) for d in variable.dims]
            chunk = chunk_name((0,) * values.ndim)
            if values.dtype.kind in "biufc":
                dtype: np.dtype[Any] | None = values.dtype.newbyteorder("<")
                content = chunk_bytes(values, values.shape, 0)
            elif all(isinstance(v, str) for v in values.flat):
                dtype, content = None, text_bytes([str(v) for v in values.flat])
            else:
                raise StoreError(f"the labels of {name} are {values.dtype}; a store holds numbers and text")
            yield f"{name}/{chunk}", content
            yield f"{name}/zarr.json", array_json(values.shape, values.shape, dtype, dims, variable.attrs)

    def _hold(self, folder: Path) -> None:
        """Keep other processes out for as long as this one lives, also where the folder is renamed."""
        try:
            self._lock = _locked(folder)
        except (BlockingIOError, FileNotFoundError):
            raise self._busy() from None

    def _busy(self) -> StoreError:
        return StoreError(f"{self.path} is being written by another process; wait for it")

    def _clear_beside(self) -> None:
        """Remove stores that processes began and were killed over; those of living ones are locked."""
        for folder in _unfinished(self.path.parent, f"{self.path.name}."):
            try:
                lock = _locked(folder)
            except OSError:
                continue
            if lock is not None:
                try:
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(lock)

    def _take(self, retry: bool) -> None:
        """Take up a store that is there: check all of it, then see what is finished."""
        attrs = read_attributes(self.path)
        sweep = check_same(self.path, attrs, self.header)
        self._hold(self.path)
        try:
            self._check(sweep)
            if retry:
                self._forget_failures()
        except BaseException:
            self.close()
            raise

    def _check(self, sweep: dict[str, Any]) -> None:
        try:
            with _open(self.path) as data:
                coords = {n: _plain_text(data[n].values) for n in sweep["coords"]}
            layout = layout_of(sweep, coords)
            expected = list(self._skeleton(layout))
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"{self.path} is damaged: {error}; restore it or give another name") from error
        for name, content in expected:
            file = self.path / name
            if not file.is_file() or _without_table(name, file.read_bytes()) != content:
                raise StoreError(f"{file} is missing, cut short or changed; restore it or give another name")
        self.layout = layout
        self._see(layout)

    def _forget_failures(self) -> None:
        for block in np.flatnonzero(self.done):
            reasons = self.path / self._reasons(int(block))
            if reasons.exists():
                (self.path / "status" / chunk_name(self.blocks.place(int(block)))).unlink()
                reasons.unlink()
                self.done[block] = False

    def _see(self, layout: Layout) -> None:
        sizes: dict[str, tuple[tuple[int, ...], np.dtype[Any], tuple[int, ...]]]
        sizes = {"status": (self.blocks.tile, _STATUS, ())}
        sizes |= {
            n: (self.blocks.tile + k.shape, np.dtype(k.dtype), (0,) * len(k.shape))
            for n, k in layout.variables.items()
        }
        there = {name: chunk_files(self.path / name) for name in sizes}
        # The chunks of a complete store are checked when they are read.
        checked = {"status"} if len(there["status"]) == self.blocks.count else set(sizes)
        for block in range(self.blocks.count):
            place = self.blocks.place(block)
            status = chunk_name(place)
            if status not in there["status"]:
                continue
            for name, (chunk, dtype, inner) in sizes.items():
                got, wanted = there[name].get(chunk_name(place + inner), 0), chunk_size(chunk, dtype)
                if got != wanted:
                    raise StoreError(
                        f"{self.path / name / chunk_name(place + inner)} is cut short ({got} of {wanted} bytes); "
                        f"remove {self.path / 'status' / status} to have its block computed again"
                    )
                if name in checked:
                    self._check_sum(name, place + inner, chunk, dtype, status)
            self.done[block] = True

    def _check_sum(
        self, name: str, place: tuple[int, ...], chunk: tuple[int, ...], dtype: np.dtype[Any], status: str
    ) -> None:
        file = self.path / name / chunk_name(place)
        try:
            chunk_values(file.read_bytes(), chunk, dtype)
        except ValueError:
            raise StoreError(
                f"{file} is damaged (its checksum is wrong); "
                f"remove {self.path / 'status' / status} to have its block computed again"
            ) from None
        except OSError as error:
            raise StoreError(f"cannot read {file}: {error.strerror or error}") from error


def _locked(folder: Path) -> int | None:
    """Lock a folder; None where there are no locks. Raises OSError if another has it or removed it."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return None
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        same = os.path.samestat(os.fstat(lock), os.stat(folder))
    except (BlockingIOError, FileNotFoundError):
        os.close(lock)
        raise
    except OSError:  # a file system without locks
        os.close(lock)
        return None
    if not same:
        os.close(lock)
        raise FileNotFoundError(folder)
    return lock


def _unfinished(folder: Path, prefix: str) -> list[Path]:
    """What processes wrote beside its place and did not rename."""
    pattern = re.compile(re.escape(prefix) + r"unfinished(-\d+-[0-9a-f]{8})?")
    with os.scandir(folder) as entries:
        return [Path(e.path) for e in entries if pattern.fullmatch(e.name)]


def read_attributes(path: Path) -> dict[str, Any]:
    """Attributes of a Zarr group. Raises StoreError if there is none or it cannot be read."""
    file = path / "zarr.json"
    if not file.is_file():
        raise StoreError(f"{path} is not a Zarr store; give another name")
    try:
        attrs = json.loads(file.read_bytes())["attributes"]
        return dict(attrs)
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{file} is cut short or damaged; restore it or give another name") from None
    except OSError as error:
        raise StoreError(f"cannot read {file}: {error.strerror or error}") from None


def chunk_files(array: Path) -> dict[str, int]:
    """Chunks that are there, with their sizes in bytes."""
    if not array.is_dir():
        return {}
    with os.scandir(array) as entries:
        return {e.name: e.stat().st_size for e in entries if e.name == "c" or e.name.startswith("c.")}


def _without_table(name: str, content: bytes) -> bytes:
    """The metadata of a group as it was before the failed points were listed."""
    if name != "zarr.json":
        return content
    try:
        group = json.loads(content)
        for table in _TABLE:
            group["consolidated_metadata"]["metadata"].pop(table, None)
    except (ValueError, KeyError, TypeError):
        return b""
    return json.dumps(group, indent=2).encode()


def _plain_text(values: Any) -> Any:
    return values if values.dtype.kind in "biufc" else np.array(values.tolist())


def _open(path: Path) -> xr.Dataset:
    data: xr.Dataset = xr.open_zarr(path, chunks=None)
    texts = [n for n, v in data.variables.items() if v.dtype.kind not in "biufc"]
    return data.assign({n: (data[n].dims, _plain_text(data[n].values), data[n].attrs) for n in texts})
