"""What the zarr package does for a store: headers, and numbers as the bytes of a chunk.

zarr works in memory here and the bytes are written by us: whole, hashed on their way and without the threads that zarr
hands each file to, which cost more than all the rest where the machine is busy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from .store import StoreError, plain
from .zarr_rules import NUMBERS, chunk_key


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
