"""Whether a store still holds what was written: headers, coordinates, blocks and the table of failures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from tcpdynamics.errors import StoreError

from .plain_files import pieces, read_json
from .records import (
    COMPLETE,
    FIRST,
    MAX_TEXT,
    SKELETON,
    BlockRecord,
    hash_chunk,
    hash_json,
    read_block,
    unsealed,
)
from .zarr_rules import RECORDS, TABLE, Contents, array_of, chunk_key


def skeleton(path: Path, contents: Contents) -> dict[str, Any]:
    """Hashes of attributes, headers and coordinates as they are. Raises StoreError."""
    labels = {}
    for name in (*contents.sweep["coords"], *contents.sweep["labels"]):
        array = contents.arrays[name]
        key = chunk_key((0,) * len(array.shape))
        most = MAX_TEXT if array.dtype is None else None
        labels[name] = hash_chunk(FIRST, name, key, pieces(path / name / key, array.chunk_size, most))
    heads = {name: hash_json(head) for name, head in contents.heads.items()}
    return {"attributes": hash_json(contents.attrs), "heads": heads, "labels": labels}


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
        for name, own in present[part].items():
            if not isinstance(written.get(part), dict) or written[part].get(name) != own:
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
                own = hash_chunk(seal, name, chunk, pieces(path / name / chunk, size))
            except StoreError:
                own = ""
            if own != record.chunks[name]:
                return None, f"{name}/{chunk} is damaged"
    return record, ""


def table_of(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Headers of the table of failures, and their hashes with those of the values. Raises StoreError."""
    heads, hashes = {}, {}
    for name in TABLE:
        if (path / name).is_dir():
            file = path / name / "zarr.json"
            heads[name] = read_json(file)
            array = array_of(file, heads[name])
            if array.chunk != array.shape or len(array.shape) != 1:
                raise StoreError(f"{file} is no list of failed points; remove the folder")
            most = MAX_TEXT if array.dtype is None else None
            chunk = hash_chunk(FIRST, name, "c.0", pieces(path / name / "c.0", array.chunk_size, most))
            hashes[name] = {"head": hash_json(heads[name]), "chunk": chunk}
    return heads, {"table": hashes}


def is_complete(path: Path, contents: Contents, seal: str) -> bool:
    """Whether the sweep was brought to its end: the failed points are listed, and the group's header names all."""
    if COMPLETE not in contents.records:
        return False
    try:
        written, _ = unsealed(path / RECORDS / COMPLETE, seal)
        heads, present = table_of(path)
    except StoreError:
        return False
    return written == present and contents.inline == {**contents.heads, **heads}
