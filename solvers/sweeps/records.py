"""Records of a store: what was written where, with a hash that also holds the place; and whether it is still there."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.errors import StoreError

from .headers import Contents, array_of, canonical
from .layout import RECORDS, Array, beside_points, chunk_key
from .plain_files import MAX_JSON, check_size, pieces, read_json

#: What the hash of the first record starts from.
FIRST = "tcpdynamics store"

SKELETON = "skeleton.json"
COMPLETE = "complete.json"

#: Bytes of text that the labels of one coordinate may have.
MAX_TEXT = 1_000_000_000

#: Bytes that a record may have for each point, all of them failed with texts of their own.
_A_POINT = 4_000


@dataclass(frozen=True)
class BlockRecord:
    """What a block's record says.

    Attributes
    ----------
    codes : status -> number of points
    reasons : text -> runs [first, behind the last] of the block's points that raised it
    chunks : variable -> hash of its chunk
    """

    codes: dict[int, int]
    reasons: dict[str, list[list[int]]]
    chunks: dict[str, str]


def hash_json(value: Any) -> str:
    """Hash of a value that JSON knows."""
    return hashlib.sha256(canonical(value)).hexdigest()


def hash_chunk(seal: str, name: str, key: str, content: Iterable[bytes]) -> str:
    """Hash of a chunk's bytes and of the place where they belong."""
    total = hashlib.sha256(canonical([seal, name, key]))
    for piece in content:
        total.update(piece)
    return total.hexdigest()


def sealed(seal: str, content: Mapping[str, Any]) -> tuple[bytes, str]:
    """A record's bytes, and its own seal."""
    next_seal = hash_json([seal, content])
    return canonical({**content, "seal": next_seal}), next_seal


def unsealed(path: Path, seal: str, most: int = MAX_JSON) -> tuple[dict[str, Any], str]:
    """What a record says, and its own seal. Raises StoreError if it was changed."""
    content = read_json(path, most)
    next_seal = content.pop("seal", None)
    if next_seal != hash_json([seal, content]):
        raise StoreError(f"{path} is damaged (its checksum is wrong); restore it or give another name")
    return content, str(next_seal)


def read_block(path: Path, seal: str, key: str, names: frozenset[str], points: int) -> BlockRecord:
    """The record of a block of so many points.

    Raises
    ------
    StoreError
        If it was changed, or belongs elsewhere.
    """
    content, _ = unsealed(path, seal, MAX_JSON + _A_POINT * points)
    try:
        codes = {int(k): v for k, v in content["codes"].items()}
        reasons, chunks = content["reasons"], content["chunks"]
        runs = [run for text in reasons.values() for run in text]
        valid = (
            content["block"] == key
            and all(0 <= k < 255 and type(v) is int and v > 0 for k, v in codes.items())
            and sum(codes.values()) == points
            and all(type(a) is int and type(b) is int and 0 <= a < b <= points for a, b in runs)
            and chunks.keys() == names
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        valid = False
    if not valid:
        raise StoreError(f"{path} is damaged: it is no record of the block {key}; restore it or give another name")
    return BlockRecord(codes, reasons, chunks)


# Whether a store still holds what was written


def skeleton(path: Path, contents: Contents) -> dict[str, Any]:
    """Hashes of attributes, headers and coordinates as they are. Raises StoreError."""
    names = (*contents.sweep["coords"], *contents.sweep["labels"])
    labels = {name: _hash_of_all(path, name, contents.arrays[name]) for name in names}
    heads = {name: hash_json(head) for name, head in contents.heads.items()}
    return {"attributes": hash_json(contents.attrs), "heads": heads, "labels": labels}


def _hash_of_all(path: Path, name: str, array: Array) -> str:
    """Hash of an array that is one chunk."""
    key = chunk_key((0,) * len(array.shape))
    max_bytes = MAX_TEXT if array.dtype is None else None
    return hash_chunk(FIRST, name, key, pieces(path / name / key, array.chunk_size, max_bytes))


def check_skeleton(path: Path, contents: Contents) -> str:
    """The seal of a store's skeleton.

    Raises
    ------
    StoreError
        Headers or coordinates that are not those that were written.
    """
    written, seal = unsealed(path / RECORDS / SKELETON, FIRST)
    present = skeleton(path, contents)
    if written == present:
        return seal
    for part, file in (("heads", "zarr.json"), ("labels", "values")):
        for name, digest in present[part].items():
            if not isinstance(written.get(part), dict) or written[part].get(name) != digest:
                raise StoreError(
                    f"{path} is damaged: the {file} of {name} changed after they were written; restore it or give "
                    "another name"
                )
    raise StoreError(f"{path} is damaged: its attributes were changed; restore it or give another name")


def check_block(
    path: Path, contents: Contents, seal: str, place: tuple[int, ...], full: bool
) -> tuple[BlockRecord | None, str]:
    """A finished block's record, or None and what is wrong with the block.

    Parameters
    ----------
    path, contents, seal : the store
    place : of the block among the blocks
    full : bool
        Whether to read every chunk and compare its hash, rather than look whether it is there in full length.
    """
    sweep, key = contents.sweep, chunk_key(place)
    sides = zip(place, sweep["block"], sweep["dims"].values(), strict=True)
    points = math.prod(min(side, n - i * side) for i, side, n in sides)
    names = frozenset((*sweep["variables"], "status"))
    try:
        record = read_block(path / RECORDS / f"{key}.json", seal, key, names, points)
    except StoreError:
        return None, f"{RECORDS}/{key}.json is damaged"
    for name in sorted(names):
        array = contents.arrays[name]
        chunk = chunk_key(place + (0,) * (len(array.shape) - len(place)))
        size = contents.files[name].get(chunk)
        if size != array.chunk_size:
            return None, f"{name}/{chunk} is {'missing' if size is None else 'cut short or too long'}"
        if full:
            try:
                digest = hash_chunk(seal, name, chunk, pieces(path / name / chunk, size))
            except StoreError:
                digest = ""
            if digest != record.chunks[name]:
                return None, f"{name}/{chunk} is damaged"
    return record, ""


def tables_in(path: Path, contents: Contents) -> list[str]:
    """Names of the variables that belong to no point: the table of failures, a chart's boundary."""
    names = (n for n in os.listdir(path) if n not in contents.arrays and beside_points(n))
    return sorted(n for n in names if (path / n).is_dir())


def table_of(path: Path, contents: Contents) -> tuple[dict[str, Any], dict[str, Any]]:
    """Headers of what belongs to no point, and their hashes with those of the values. Raises StoreError."""
    heads, hashes = {}, {}
    sizes: dict[tuple[str, ...], tuple[int, ...]] = {}
    for name in tables_in(path, contents):
        file = path / name / "zarr.json"
        heads[name] = read_json(file)
        array = array_of(file, heads[name])
        if len(array.shape) != 1:
            raise StoreError(f"{file} is no list of numbers or texts; remove the folder")
        if sizes.setdefault(array.dims, array.shape) != array.shape:
            raise StoreError(f"{file} is a list of another length than those beside it; remove the folder")
        hashes[name] = {"head": hash_json(heads[name]), "chunk": _hash_of_all(path, name, array)}
    return heads, {"table": hashes}


def is_complete(path: Path, contents: Contents, seal: str) -> bool:
    """Whether the sweep was brought to its end: the failed points are listed, and the group's header names all."""
    if COMPLETE not in contents.records:
        return False
    try:
        written, _ = unsealed(path / RECORDS / COMPLETE, seal)
        heads, present = table_of(path, contents)
    except StoreError:
        return False
    return written == present and contents.inline == {**contents.heads, **heads}


# Small arrays


def read_array(path: Path, name: str, array: Array) -> Any:
    """Values of an array that is one chunk: numbers, or text as an array of strings. Raises StoreError."""
    file = path / name / chunk_key((0,) * len(array.shape))
    max_bytes = MAX_TEXT if array.chunk_size is None else array.chunk_size
    if array.chunk_size is not None:
        check_size(f"the values of {name} in {path}", 2 * max_bytes, "read them in parts with xarray.open_zarr")
    content = b"".join(pieces(file, size=array.chunk_size, most=max_bytes))
    if array.dtype is not None:
        return np.frombuffer(content[:-4], array.dtype).reshape(array.shape)
    try:
        return np.array(list(_texts(content[:-4])), dtype=np.str_).reshape(array.shape)
    except (ValueError, IndexError):
        raise StoreError(f"{file} is damaged; restore it or give another name") from None


def ends(path: Path, name: str, array: Array) -> tuple[Any, Any]:
    """Least and largest number of an array that is one chunk, however large it is. Raises StoreError."""
    file = path / name / chunk_key((0,) * len(array.shape))
    assert array.dtype is not None
    smallest, largest, remaining = None, None, (array.chunk_size or 0) - 4
    for piece in pieces(file, size=array.chunk_size):
        values = np.frombuffer(piece[: max(0, remaining)], array.dtype)
        remaining -= len(piece)
        if values.size:
            smallest = values.min() if smallest is None else np.minimum(smallest, values.min())
            largest = values.max() if largest is None else np.maximum(largest, values.max())
    return smallest, largest


def _texts(content: bytes) -> Iterator[str]:
    """Strings: their number, then each with its length in front."""
    count, at = int.from_bytes(content[:4], "little"), 4
    for _ in range(count):
        if at + 4 > len(content):
            raise ValueError
        length = int.from_bytes(content[at : at + 4], "little")
        if at + 4 + length > len(content):
            raise ValueError
        yield content[at + 4 : at + 4 + length].decode()
        at += 4 + length
    if at != len(content):
        raise ValueError
