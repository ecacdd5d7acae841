"""What a Zarr store (format 3) consists of, as bytes: metadata in JSON, chunks as plain numbers with a checksum.

Written here rather than by the zarr package, so that a chunk costs one small file and the same result has the same
bytes whatever package version wrote it. Reading is left to zarr: it is the judge of what is written here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CHECKSUM = 4


def group_json(attrs: Mapping[str, Any], arrays: Mapping[str, bytes]) -> bytes:
    """`zarr.json` of a group, with that of each array in it, which spares readers a look into every folder."""
    inline = {name: json.loads(content) for name, content in sorted(arrays.items())}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": inline}
    head = {"attributes": plain(attrs), "zarr_format": 3, "consolidated_metadata": consolidated}
    return _json({**head, "node_type": "group"})


def array_json(
    shape: Sequence[int],
    chunk: Sequence[int],
    dtype: np.dtype[Any] | None,
    dims: Sequence[str],
    attrs: Mapping[str, Any],
    fill: Any = 0,
) -> bytes:
    """`zarr.json` of an array; `dtype` None stands for text, which is stored in one chunk."""
    codec: dict[str, Any] = {"name": "vlen-utf8" if dtype is None else "bytes"}
    if dtype is not None and dtype.itemsize > 1:
        codec["configuration"] = {"endian": "little"}
    return _json(
        {
            "shape": list(shape),
            "data_type": "string" if dtype is None else dtype.name,
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": [max(1, n) for n in chunk]},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": "" if dtype is None else _fill(np.asarray(fill, dtype)),
            "codecs": [codec, {"name": "crc32c"}],
            "attributes": plain(attrs),
            "dimension_names": list(dims),
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        }
    )


def chunk_name(place: Sequence[int]) -> str:
    """Name of a chunk in the folder of its array: without folders of its own, which are dearer than files.

    >>> chunk_name((3, 0)), chunk_name(())
    ('c.3.0', 'c')
    """
    return ".".join(["c", *map(str, place)])


def chunk_bytes(values: NDArray[Any], chunk: Sequence[int], fill: Any) -> bytes:
    """A chunk; one that sticks out of its array is filled up."""
    values = np.asarray(values, values.dtype.newbyteorder("<"), order="C")
    if values.shape != tuple(chunk):
        whole = np.full(chunk, fill, values.dtype)
        whole[tuple(slice(0, n) for n in values.shape)] = values
        values = whole
    return _sealed(values.tobytes())


def chunk_size(chunk: Sequence[int], dtype: np.dtype[Any]) -> int:
    """Bytes of a chunk of numbers."""
    return math.prod(chunk) * dtype.itemsize + _CHECKSUM


def chunk_values(content: bytes, chunk: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of a chunk. Raises ValueError if the checksum does not agree."""
    if len(content) != chunk_size(chunk, dtype) or _sealed(content[:-_CHECKSUM]) != content:
        raise ValueError("damaged chunk")
    return np.frombuffer(content[:-_CHECKSUM], dtype.newbyteorder("<")).reshape(tuple(chunk))


def text_bytes(texts: Sequence[str]) -> bytes:
    """A chunk of strings: their number, then each with its length in front."""
    encoded = [t.encode() for t in texts]
    return _sealed(b"".join([_u32(len(encoded)), *(_u32(len(t)) + t for t in encoded)]))


def plain(value: Any) -> Any:
    """A value as JSON knows it."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _fill(value: Any) -> Any:
    number = np.asarray(value)
    if number.dtype.kind == "c":
        return [_fill(number.real), _fill(number.imag)]
    return "NaN" if number.dtype.kind == "f" and np.isnan(number) else number.item()


def _sealed(content: bytes) -> bytes:
    from google_crc32c import value  # comes with zarr

    return content + _u32(value(content))


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _json(content: Any) -> bytes:
    return json.dumps(content, indent=2).encode()
