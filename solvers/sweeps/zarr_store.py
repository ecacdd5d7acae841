"""A sweep as a Zarr directory: one chunk a block and variable, and a block is finished once its record is there."""

from __future__ import annotations

import errno
import math
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import StoreError

from . import records
from .blocks import Blocks
from .headers import Contents, Encoder, examine, group_header, in_bytes, read_root, write_arrays
from .layout import (
    BOUNDARY,
    RECORDS,
    Header,
    Whole,
    beside_points,
    check_layout,
    chunk_key,
    failure_table,
    layout_of,
    on_grid,
    plain,
)
from .plain_files import MAX_JSON, lock_folder, remove_partial, remove_unfinished, to_disk, write_whole
from .same_sweep import check_same, parameters_of
from .work import Layout, Outcome

#: Seconds of finished blocks that a loss of power may take away.
FLUSH_SECONDS = 1.0

#: Damaged blocks that a warning names.
_NAMED = 3


class ZarrStore:
    """A Zarr directory (format 3) that `xarray.open_zarr` reads, at any time.

    The zarr package encodes the chunks; each is written beside its place and then renamed, the status of a block
    last; then comes the block's record with a hash of each chunk. A process that is killed leaves whole blocks with a
    record, and blocks without one, which are computed again. Every second, and when the sweep ends, files and folders
    are brought to the disk; what a loss of power takes away is noticed by its record. Points that are not there yet
    read as NaN with status 255. The reasons of failed points lie in the records, and in two variables once the sweep is
    complete.

    A store that is taken up is read whole: every record and chunk is held against its hash. Blocks that do not pass
    are named in a warning and computed again; damaged headers or coordinates are a StoreError.
    """

    def __init__(self, path: Path, blocks: Blocks, header: Header, retry: bool = False) -> None:
        self.path, self.blocks, self.header = path, blocks, header
        self.layout: Layout | None = None
        self.done = np.zeros(blocks.count, dtype=bool)
        self._contents: Contents | None = None
        self._seal = ""
        self._encoder: Encoder | None = None
        self._failed: set[int] = set()
        self._complete = False
        self._lock: int | None = None
        self._fresh: list[Path] = []
        self._flushed = time.monotonic()
        if os.path.lexists(path):
            self._take(retry)
        elif not path.parent.is_dir():
            raise StoreError(f"cannot write {path}: the folder {path.parent} does not exist; create it first")

    def begin(self, layout: Layout) -> None:
        """Build the store beside its place, locked already, then rename it: of two processes one comes too late."""
        check_layout(self.blocks, layout)
        remove_unfinished(self.path)
        beside = self.path.with_name(f"{self.path.name}.unfinished-{os.getpid()}-{secrets.token_hex(4)}")
        try:
            beside.mkdir()
            self._hold(beside)
            self._contents = self._build(beside, layout)
            to_disk([*beside.rglob("*"), beside])
            os.rename(beside, self.path)
            to_disk([self.path.parent])
        except (OSError, StoreError) as error:
            shutil.rmtree(beside, ignore_errors=True)
            self.close()
            if isinstance(error, StoreError):
                raise
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                raise self._busy() from None
            raise StoreError(f"cannot write {self.path}: {error.strerror or error}") from error
        except BaseException:  # an interrupt: a folder that is half built is of use to nobody
            shutil.rmtree(beside, ignore_errors=True)
            self.close()
            raise
        self.layout = layout

    def write(self, block: int, outcome: Outcome) -> None:
        """Keep a block."""
        assert self.layout is not None
        place, sides = self.blocks.place(block), self.blocks.sides(block)
        hashes = {}
        with self._writing():
            self._reopen()
            for name, kind in self.layout.variables.items():
                if name in outcome.arrays:
                    values = outcome.arrays[name].reshape(sides + kind.shape)
                else:  # no point gave a result
                    values = np.full(sides + kind.shape, kind.fill, kind.dtype)
                hashes[name] = self._chunk(block, name, values)
            hashes["status"] = self._chunk(block, "status", outcome.status.reshape(sides))
            codes, points = np.unique(outcome.status, return_counts=True)
            record = {
                "block": chunk_key(place),
                "codes": dict(zip(map(str, codes.tolist()), points.tolist(), strict=True)),
                "reasons": outcome.reasons,
                "chunks": hashes,
            }
            write_whole(self._record(block), records.sealed(self._seal, record)[0], durable=False)
            self._fresh.append(self._record(block))
            if time.monotonic() - self._flushed > FLUSH_SECONDS:
                self._flush()
        if outcome.reasons:
            self._failed.add(block)
        self.done[block] = True

    def finish(self, whole: Whole | None = None) -> xr.Dataset:
        """List the failed points, keep what follows from the whole, and open everything lazily."""
        assert self.layout is not None and self._contents is not None
        with self._writing():
            self._flush()
            if not self._complete:
                self._list({})
        data = self._opened()
        if whole is None or any(n.startswith(BOUNDARY) for n in records.tables_in(self.path, self._contents)):
            return data
        more = whole(data)
        if not more or not all(variable.size for variable in more.values()):  # an empty array has no chunk
            return data.assign(more)
        with self._writing():
            self._list(more)
        return self._opened()

    def _opened(self) -> xr.Dataset:
        assert self.layout is not None
        # The headers in the group's own, which alone are read here, were checked or written by this process.
        options: dict[str, Any] = {"consolidated": True, "zarr_format": 3, "decode_times": False}
        data: xr.Dataset = xr.open_zarr(self.path, chunks=None, **options)
        texts = [n for n, v in data.variables.items() if v.dtype.kind not in "biufc"]
        data = data.assign({n: (data[n].dims, np.array(data[n].values.tolist()), data[n].attrs) for n in texts})
        ours = [*self.layout.variables, "status"]
        beside = (str(n) for n in data.data_vars if n not in ours)
        return data[[*ours, *(n for n in beside if beside_points(n))]]

    def close(self) -> None:
        """Let another process write."""
        with suppress(OSError):
            self._flush()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _build(self, folder: Path, layout: Layout) -> Contents:
        """Every file but the blocks and the table of failures."""
        labels = {str(k): xr.DataArray(c).variable for k, c in self.blocks.coords.items()}
        labels |= {k: xr.Variable(*c) for k, c in layout.coords.items()}
        attrs = plain(self.header.attributes(layout))
        scalars = sorted(k for k in labels if k not in labels[k].dims)
        if scalars:  # as xarray tells coordinates from variables
            attrs["coordinates"] = " ".join(scalars)
        write_arrays(folder, on_grid(self.header.dims, self.header.block, layout.variables), labels)
        (folder / "zarr.json").write_bytes(in_bytes(group_header(attrs, {})))
        contents = examine(folder)  # compares what was written as what is read
        root = in_bytes(group_header(attrs, contents.heads))
        if len(root) > MAX_JSON:
            raise StoreError(f"cannot write {self.path}: its header would have {len(root):,} bytes; shorten attributes")
        (folder / "zarr.json").write_bytes(root)
        (folder / RECORDS).mkdir()
        content, self._seal = records.sealed(records.FIRST, records.skeleton(folder, contents))
        (folder / RECORDS / records.SKELETON).write_bytes(content)
        return contents

    def _reopen(self) -> None:
        """Before the first block is written."""
        assert self.layout is not None
        if self._encoder is None:
            assert self._contents is not None
            names = [*self.layout.variables, "status"]
            self._encoder = Encoder({name: self._contents.heads[name] for name in names})
            (self.path / RECORDS / records.COMPLETE).unlink(missing_ok=True)
            self._complete = False

    def _chunk(self, block: int, name: str, values: Any) -> str:
        """Write a chunk; gives its hash."""
        assert self._contents is not None and self._encoder is not None
        place = self.blocks.place(block)
        key = chunk_key(place + (0,) * (len(self._contents.arrays[name].shape) - len(place)))
        content = self._encoder.chunk(name, self.blocks.window(block), key, values)
        file = self.path / name / key
        write_whole(file, content, durable=False)
        self._fresh.append(file)
        return records.hash_chunk(self._seal, name, key, [content])

    def _record(self, block: int) -> Path:
        return self.path / RECORDS / f"{chunk_key(self.blocks.place(block))}.json"

    def _reasons(self) -> Iterator[tuple[int, dict[str, Any]]]:
        assert self.layout is not None
        names = frozenset((*self.layout.variables, "status"))
        for block in sorted(self._failed):
            key, points = chunk_key(self.blocks.place(block)), math.prod(self.blocks.sides(block))
            yield block, records.read_block(self._record(block), self._seal, key, names, points).reasons

    def _flush(self) -> None:
        """Bring to the disk what was written since the last time."""
        to_disk([*self._fresh, *sorted({file.parent for file in self._fresh})])
        self._fresh.clear()
        self._flushed = time.monotonic()

    def _list(self, more: Mapping[str, xr.Variable]) -> None:
        """Write the table of failed points, what else belongs to no point and the headers that readers see.

        Then the mark that all is there.
        """
        assert self._contents is not None
        for name in records.tables_in(self.path, self._contents):
            shutil.rmtree(self.path / name)
        table = {**failure_table(self.blocks, self._reasons()), **more}
        write_arrays(self.path, {}, table)
        for name in table:
            to_disk([*(self.path / name).iterdir(), self.path / name])
        heads, hashes = records.table_of(self.path, self._contents)
        root = group_header(self._contents.attrs, {**self._contents.heads, **heads})
        write_whole(self.path / "zarr.json", in_bytes(root))
        to_disk([self.path])
        write_whole(self.path / RECORDS / records.COMPLETE, records.sealed(self._seal, hashes)[0])
        to_disk([self.path / RECORDS])
        self._complete = True

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            name = f" {error.filename}" if isinstance(error.filename, str) else ""
            raise StoreError(
                f"cannot write{name} in {self.path}: {error.strerror or error}; the blocks before it are kept"
            ) from error

    def _hold(self, folder: Path) -> None:
        """Keep other processes out for as long as this one lives, also where the folder is renamed."""
        try:
            self._lock = lock_folder(folder)
        except (BlockingIOError, FileNotFoundError):
            raise self._busy() from None

    def _busy(self) -> StoreError:
        return StoreError(f"{self.path} is being written by another process; wait for it")

    def _take(self, retry: bool) -> None:
        """Take up a store that is there: check all of it, then see what is finished."""
        check_same(self.path, read_root(self.path)[0], self.header, self._parameters)
        self._hold(self.path)
        try:
            contents = examine(self.path)
            check_same(self.path, contents.attrs, self.header, self._parameters)
            self._seal = records.check_skeleton(self.path, contents)
            coords = {n: records.read_array(self.path, n, contents.arrays[n]) for n in contents.sweep["coords"]}
            self.layout, self._contents = layout_of(contents.sweep, coords), contents
            with self._writing():
                for folder in (self.path, self.path / RECORDS, *(self.path / n for n in contents.files)):
                    remove_partial(folder)
                self._see(contents)
                if retry:
                    self._forget_failures()
            self._complete = bool(self.done.all()) and records.is_complete(self.path, contents, self._seal)
        except BaseException:
            self.close()
            raise

    def _parameters(self) -> dict[str, str]:
        """Those of the grid that is stored, in words."""
        contents = examine(self.path)
        records.check_skeleton(self.path, contents)
        return parameters_of(self.path, contents)

    def _see(self, contents: Contents) -> None:
        """Find the finished blocks; damaged ones lose their record."""
        damaged = []
        for block in range(self.blocks.count):
            place = self.blocks.place(block)
            if f"{chunk_key(place)}.json" not in contents.records:
                continue
            record, trouble = records.check_block(self.path, contents, self._seal, place, full=True)
            if record is None:
                self._record(block).unlink()
                damaged.append(trouble)
                continue
            self.done[block] = True
            if record.reasons:
                self._failed.add(block)
        if damaged:
            named = ", ".join(damaged[:_NAMED]) + (", ..." if len(damaged) > _NAMED else "")
            some = "1 damaged block" if len(damaged) == 1 else f"{len(damaged):,} damaged blocks"
            warnings.warn(f"{self.path} has {some} of {self.blocks.count:,}, computed again now: {named}", stacklevel=2)

    def _forget_failures(self) -> None:
        for block in self._failed:
            self._record(block).unlink()
            (self.path / "status" / chunk_key(self.blocks.place(block))).unlink(missing_ok=True)
            self.done[block] = False
        self._failed.clear()
