"""What the zarr package does for a store: it makes the arrays and writes their chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from .store import StoreError, plain
from .zarr_rules import NUMBERS


def open_group(folder: Path, create: bool = False) -> Any:
    """A group of format 3, to be written."""
    import zarr
    from zarr.storage import LocalStore

    if create:
        return zarr.create_group(store=LocalStore(folder), zarr_format=3)
    return zarr.open_group(store=LocalStore(folder), mode="r+", zarr_format=3, use_consolidated=False)


def open_arrays(folder: Path, names: Iterable[str]) -> dict[str, Any]:
    """Arrays to be written, chunks of nothing but the fill value too."""
    group = open_group(folder)
    return {name: group[name].with_config({"write_empty_chunks": True}) for name in names}


def create_array(
    group: Any,
    name: str,
    shape: tuple[int, ...],
    chunk: tuple[int, ...],
    dtype: np.dtype[Any] | None,
    dims: Iterable[str],
    attrs: Mapping[str, Any],
    fill: Any,
) -> Any:
    """An empty array; `dtype` None stands for text. Raises StoreError for numbers that no store holds."""
    from zarr.codecs import BytesCodec, Crc32cCodec, VLenUTF8Codec

    if dtype is not None and dtype.name not in NUMBERS:
        raise StoreError(f"{name} is of type {dtype}; a store holds {', '.join(sorted(NUMBERS))} and text")
    one_byte = dtype is None or dtype.itemsize == 1
    return group.create_array(
        name,
        shape=shape,
        chunks=chunk,
        dtype=str if dtype is None else dtype.newbyteorder("<"),
        fill_value=fill,
        serializer=VLenUTF8Codec() if dtype is None else BytesCodec(endian=None if one_byte else "little"),
        compressors=[Crc32cCodec()],
        filters=None,
        chunk_key_encoding={"name": "default", "separator": "."},
        dimension_names=tuple(dims),
        attributes=plain(attrs),
        config={"write_empty_chunks": True},
    )


def create_full(group: Any, name: str, variable: xr.Variable) -> None:
    """A small array with its values, in one chunk. Raises StoreError for labels that are neither numbers nor text."""
    values = variable.values
    if values.dtype.kind in "biufc":
        dtype, fill = values.dtype, values.dtype.type(0)
    elif all(isinstance(v, str) for v in values.flat):
        dtype, fill = None, ""
        values = np.array([str(v) for v in values.flat], dtype=object).reshape(values.shape)
    else:
        raise StoreError(f"the labels of {name} are {values.dtype}; a store holds numbers and text")
    dims = [str(d) for d in variable.dims]
    array = create_array(group, name, values.shape, values.shape, dtype, dims, variable.attrs, fill)
    array[...] = values


def root_json(attrs: Mapping[str, Any], heads: Mapping[str, Any]) -> bytes:
    """The group's header with those of the arrays in it, which spares readers a look into every folder."""
    inline = {"kind": "inline", "must_understand": False, "metadata": dict(sorted(heads.items()))}
    root = {"attributes": attrs, "zarr_format": 3, "consolidated_metadata": inline, "node_type": "group"}
    return json.dumps(root, indent=2).encode()
