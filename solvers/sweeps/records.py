"""Records of a store: what was written where, with a hash that also holds the place.

A block is finished once its record is there. The record names each of its chunks with a hash of variable, place and
bytes, so that a chunk that was changed, lost, or put in another's place is noticed. Each record carries a hash of
itself. That of the skeleton (headers and coordinates) enters all others, so that no record fits another store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .plain_files import MAX_JSON, read_json
from .store import StoreError

#: What the hash of the first record starts from.
FIRST = "tcpdynamics store"

SKELETON = "skeleton.json"
COMPLETE = "complete.json"

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


def canonical(value: Any) -> bytes:
    """JSON of a value that does not depend on the order of its keys."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


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
    own = hash_json([seal, content])
    return canonical({**content, "seal": own}), own


def unsealed(path: Path, seal: str, most: int = MAX_JSON) -> tuple[dict[str, Any], str]:
    """What a record says, and its own seal. Raises StoreError if it was changed."""
    content = read_json(path, most)
    own = content.pop("seal", None)
    if own != hash_json([seal, content]):
        raise StoreError(f"{path} is damaged (its checksum is wrong); restore it or give another name")
    return content, str(own)


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
        whole = (
            content["block"] == key
            and all(0 <= k < 255 and type(v) is int and v > 0 for k, v in codes.items())
            and sum(codes.values()) == points
            and all(type(a) is int and type(b) is int and 0 <= a < b <= points for a, b in runs)
            and chunks.keys() == names
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        whole = False
    if not whole:
        raise StoreError(
            f"{path} is damaged: it is no record of the block {key}; restore it or give another name"
        )
    return BlockRecord(codes, reasons, chunks)
