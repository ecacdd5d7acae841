"""A sweep as a Zarr directory: one chunk a block and variable, and a block is finished once its record is there."""

from __future__ import annotations

import errno
import json
import math
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import StoreError

from ..results import NOT_YET
from .blocks import Blocks
from .integrity import check_block, check_skeleton, is_complete, skeleton, table_of, tables_in
from .plain_files import MAX_JSON, lock_folder, remove_partial, remove_unfinished, to_disk, write_whole
from .records import COMPLETE, FIRST, SKELETON, hash_chunk, read_array, read_block, sealed
from .store import Header, Whole, check_layout, check_same, failure_table, layout_of, plain, status_attrs
from .work import Layout, Outcome
from .zarr_rules import BOUNDARY, NUMBERS, RECORDS, Contents, beside_points, chunk_key, examine, read_root

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
            write_whole(self._record(block), sealed(self._seal, record)[0], durable=False)
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
        if whole is None or any(n.startswith(BOUNDARY) for n in tables_in(self.path, self._contents)):
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
        data = data.assign(
            {n: (data[n].dims, np.array(data[n].values.tolist()), data[n].attrs) for n in texts}
        )
        own = [*self.layout.variables, "status"]
        beside = (str(n) for n in data.data_vars if n not in own)
        return data[[*own, *(n for n in beside if beside_points(n))]]

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
        encoder = Encoder()
        tile, dims, shape = self.blocks.tile, self.blocks.dims, self.blocks.shape
        for name, kind in layout.variables.items():
            sides = (shape + kind.shape, tile + kind.shape)
            encoder.create(name, *sides, np.dtype(kind.dtype), (*dims, *kind.dims), kind.attrs, kind.fill)
        encoder.create("status", shape, tile, np.dtype(np.uint8), dims, status_attrs(), NOT_YET)
        for name, variable in labels.items():
            encoder.create_full(name, variable)
        _write_files(folder, encoder.files())
        (folder / "zarr.json").write_bytes(root_json(attrs, {}))
        contents = examine(folder)  # holds what was written against the same rules as what is read
        root = root_json(attrs, contents.heads)
        if len(root) > MAX_JSON:
            raise StoreError(
                f"cannot write {self.path}: its header would have {len(root):,} bytes; shorten attributes"
            )
        (folder / "zarr.json").write_bytes(root)
        (folder / RECORDS).mkdir()
        content, self._seal = sealed(FIRST, skeleton(folder, contents))
        (folder / RECORDS / SKELETON).write_bytes(content)
        return contents

    def _reopen(self) -> None:
        """Before the first block is written."""
        assert self.layout is not None
        if self._encoder is None:
            assert self._contents is not None
            names = [*self.layout.variables, "status"]
            self._encoder = Encoder({name: self._contents.heads[name] for name in names})
            (self.path / RECORDS / COMPLETE).unlink(missing_ok=True)
            self._complete = False

    def _chunk(self, block: int, name: str, values: Any) -> str:
        """Write a chunk; gives its hash."""
        assert self._contents is not None and self._encoder is not None
        place = self.blocks.place(block)
        place += (0,) * (len(self._contents.arrays[name].shape) - len(place))
        content = self._encoder.chunk(name, self.blocks.window(block), place, values)
        file = self.path / name / chunk_key(place)
        write_whole(file, content, durable=False)
        self._fresh.append(file)
        return hash_chunk(self._seal, name, chunk_key(place), [content])

    def _record(self, block: int) -> Path:
        return self.path / RECORDS / f"{chunk_key(self.blocks.place(block))}.json"

    def _reasons(self) -> Iterator[tuple[int, dict[str, Any]]]:
        assert self.layout is not None
        names = frozenset((*self.layout.variables, "status"))
        for block in sorted(self._failed):
            key, points = chunk_key(self.blocks.place(block)), math.prod(self.blocks.sides(block))
            yield block, read_block(self._record(block), self._seal, key, names, points).reasons

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
        for name in tables_in(self.path, self._contents):
            shutil.rmtree(self.path / name)
        table = {**failure_table(self.blocks, self._reasons()), **more}
        encoder = Encoder()
        for name, variable in table.items():
            encoder.create_full(name, variable)
        _write_files(self.path, encoder.files())
        for name in table:
            to_disk([*(self.path / name).iterdir(), self.path / name])
        heads, hashes = table_of(self.path, self._contents)
        write_whole(
            self.path / "zarr.json", root_json(self._contents.attrs, {**self._contents.heads, **heads})
        )
        to_disk([self.path])
        write_whole(self.path / RECORDS / COMPLETE, sealed(self._seal, hashes)[0])
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
        check_same(self.path, read_root(self.path)[0], self.header)
        self._hold(self.path)
        try:
            contents = examine(self.path)
            check_same(self.path, contents.attrs, self.header)
            self._seal = check_skeleton(self.path, contents)
            coords = {n: read_array(self.path, n, contents.arrays[n]) for n in contents.sweep["coords"]}
            self.layout, self._contents = layout_of(contents.sweep, coords), contents
            with self._writing():
                for folder in (self.path, self.path / RECORDS, *(self.path / n for n in contents.files)):
                    remove_partial(folder)
                self._see(contents)
                if retry:
                    self._forget_failures()
            self._complete = bool(self.done.all()) and is_complete(self.path, contents, self._seal)
        except BaseException:
            self.close()
            raise

    def _see(self, contents: Contents) -> None:
        """Find the finished blocks; damaged ones lose their record."""
        damaged = []
        for block in range(self.blocks.count):
            place = self.blocks.place(block)
            if f"{chunk_key(place)}.json" not in contents.records:
                continue
            record, trouble = check_block(self.path, contents, self._seal, place, full=True)
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
            warnings.warn(
                f"{self.path} has {some} of {self.blocks.count:,}, computed again now: {named}",
                stacklevel=2,
            )

    def _forget_failures(self) -> None:
        for block in self._failed:
            self._record(block).unlink()
            (self.path / "status" / chunk_key(self.blocks.place(block))).unlink(missing_ok=True)
            self.done[block] = False
        self._failed.clear()


def _write_files(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)


class Encoder:
    """Arrays of a Zarr group (format 3) in memory, whose files are taken out as bytes.

    Parameters
    ----------
    heads : mapping name -> header, optional
        Arrays that are there already.
    """

    def __init__(self, heads: Mapping[str, Any] | None = None) -> None:
        import zarr
        from zarr.core.buffer import default_buffer_prototype
        from zarr.storage import MemoryStore

        self._files: dict[str, Any] = {}
        self._group: Any = zarr.create_group(store=MemoryStore(self._files), zarr_format=3)
        self._arrays: dict[str, Any] = {}
        for name, head in (heads or {}).items():
            content = json.dumps(head).encode()
            self._files[f"{name}/zarr.json"] = default_buffer_prototype().buffer.from_bytes(content)

    def create(
        self,
        name: str,
        shape: tuple[int, ...],
        chunk: tuple[int, ...],
        dtype: np.dtype[Any] | None,
        dims: Iterable[str],
        attrs: Mapping[str, Any],
        fill: Any,
    ) -> None:
        """An empty array; `dtype` None stands for text. Raises StoreError for numbers that no store holds."""
        from zarr.codecs import BytesCodec, Crc32cCodec, VLenUTF8Codec

        if dtype is not None and dtype.name not in NUMBERS:
            raise StoreError(
                f"{name} is of type {dtype}; a store holds {', '.join(sorted(NUMBERS))} and text"
            )
        one_byte = dtype is None or dtype.itemsize == 1
        self._arrays[name] = self._group.create_array(
            name,
            shape=shape,
            chunks=chunk,
            dtype=str if dtype is None else dtype.newbyteorder("<"),
            fill_value=fill,
            serializer=VLenUTF8Codec()
            if dtype is None
            else BytesCodec(endian=None if one_byte else "little"),
            compressors=[Crc32cCodec()],
            filters=None,
            chunk_key_encoding={"name": "default", "separator": "."},
            dimension_names=tuple(dims),
            attributes=plain(attrs),
            config={"write_empty_chunks": True},
        )

    def create_full(self, name: str, variable: xr.Variable) -> None:
        """A small array with its values, in one chunk. Raises StoreError for labels other than numbers and text."""
        values = variable.values
        dtype: np.dtype[Any] | None = values.dtype
        if values.dtype.kind not in "biufc":
            if not all(isinstance(v, str) for v in values.flat):
                raise StoreError(f"the labels of {name} are {values.dtype}; a store holds numbers and text")
            dtype = None
            values = np.array([str(v) for v in values.flat], dtype=object).reshape(values.shape)
        fill = "" if dtype is None else dtype.type(0)
        dims = [str(d) for d in variable.dims]
        self.create(name, values.shape, values.shape, dtype, dims, variable.attrs, fill)
        self._arrays[name][...] = values

    def files(self) -> dict[str, bytes]:
        """Every file of the arrays by its name in the store."""
        return {name: part.to_bytes() for name, part in sorted(self._files.items()) if name != "zarr.json"}

    def chunk(self, name: str, window: tuple[slice, ...], place: tuple[int, ...], values: Any) -> bytes:
        """The bytes of an array's chunk that covers a window, and stands at a place among the chunks."""
        import zarr

        if name not in self._arrays:
            with zarr.config.set({"array.write_empty_chunks": True}):
                self._arrays[name] = self._group[name]
        self._arrays[name][window] = values
        content: bytes = self._files.pop(f"{name}/{chunk_key(place)}").to_bytes()
        return content


def root_json(attrs: Mapping[str, Any], heads: Mapping[str, Any]) -> bytes:
    """The group's header with those of the arrays in it, which spares readers a look into every folder."""
    inline = {"kind": "inline", "must_understand": False, "metadata": dict(sorted(heads.items()))}
    root = {"attributes": attrs, "zarr_format": 3, "consolidated_metadata": inline, "node_type": "group"}
    return json.dumps(root, indent=2).encode()
