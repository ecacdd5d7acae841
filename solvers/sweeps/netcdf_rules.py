"""NetCDF files, looked at before they are opened: what they claim, what they point to, and whether they are whole.

A file that this package writes ends with a line that holds a hash of all bytes before it. Readers of HDF5 do not look
behind the end that the file states, so that they read it as any other file.
"""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import Any

from tcpdynamics.errors import StoreError, shown

from .plain_files import brief, check_size, pieces

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SEAL = re.compile(rb"\ntcpdynamics sha256 ([0-9a-f]{64})\n")
_SEAL_BYTES = 85

#: deflate, shuffle, fletcher32: filters without plugins.
_FILTERS = {1, 2, 3}

#: Bytes that any file may unpack to; beyond, so many times its size.
_MOST_UNPACKED = 1_000_000_000
_RATIO = 100

#: Bytes that a file may have, which are all read; what one request may hold is less.
MOST_BYTES = 16_000_000_000

_MOST_NAMES = 10_000
_MOST_TEXT = 1_000_000_000
_MOST_ATTRIBUTE = 16_000_000


def seal(content: bytes | memoryview) -> bytes:
    """The line that a file of these bytes ends with."""
    return b"\ntcpdynamics sha256 " + hashlib.sha256(content).hexdigest().encode() + b"\n"


def check_netcdf(path: Path) -> bool:
    """Look at a NetCDF file before xarray opens it.

    Returns
    -------
    bool
        Whether the file holds a hash of its bytes, which then agrees.

    Raises
    ------
    StoreError
        Not an ordinary file, not NetCDF, or not whole; links, storage outside of the file, types or filters that no
        result of this package has; more bytes, once unpacked, than one request may hold.
    """
    complete = _check_seal(path)
    try:
        import h5py  # type: ignore[import-untyped]

        with h5py.File(path, "r") as file:
            _check_file(path, file, path.stat().st_size)
    except StoreError:
        raise
    except Exception as error:  # whatever HDF5 raises on what is not its own
        raise not_whole(path, brief(error)) from None
    return complete


def not_whole(path: Path, why: str) -> StoreError:
    """The error for a file that is cut short, damaged or of another kind."""
    return StoreError(f"{path} is not a whole NetCDF file ({why}); restore it or give another name")


def _check_seal(path: Path) -> bool:
    """Whether a seal is there; raises StoreError where it does not agree with the bytes."""
    total, behind, begun = hashlib.sha256(), b"", False
    try:
        for piece in pieces(path, most=MOST_BYTES):
            if not begun and not piece.startswith(_SIGNATURE):
                raise not_whole(path, "it does not begin as HDF5 does")
            begun = True
            behind += piece
            total.update(behind[:-_SEAL_BYTES])
            behind = behind[-_SEAL_BYTES:]
    except StoreError as error:
        text = str(error)
        if "is not an ordinary file" in text:
            raise StoreError(
                f"{path} is not a whole NetCDF file but a folder, a device or a pipe; give another name"
            ) from None
        ours = text.startswith(str(path)) and "whole" in text
        raise (error if ours else not_whole(path, brief(error))) from None
    if not begun:
        raise not_whole(path, "it is empty")
    line = _SEAL.fullmatch(behind)
    if line and line[1].decode() != total.hexdigest():
        raise StoreError(
            f"{path} is not a whole NetCDF file (its checksum is wrong: it was changed or damaged); restore it, or "
            "remove it and compute it again"
        )
    return line is not None


def _check_file(path: Path, file: Any, size: int) -> None:
    import h5py

    if len(file) > _MOST_NAMES:
        raise StoreError(f"{path} holds {len(file):,} variables, at most {_MOST_NAMES:,} are read; give another name")
    _check_attributes(path, file, size)
    total = 0
    for name in file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise _refused(path, name, "a link to another place")
        entry = file[name]
        if not isinstance(entry, h5py.Dataset):
            raise _refused(path, name, "a group or a type")
        if entry.is_virtual or entry.external:
            raise _refused(path, name, "stored in other files")
        if entry.shape is None:
            raise _refused(path, name, "without values")
        text = h5py.check_string_dtype(entry.dtype)
        if entry.dtype.kind not in "biufcS" and text is None:
            raise _refused(path, name, "neither numbers nor text")
        plist = entry.id.get_create_plist()
        if any(plist.get_filter(i)[0] not in _FILTERS for i in range(plist.get_nfilters())):
            raise _refused(path, name, "packed in a way that this package does not use")
        chunk = math.prod(entry.chunks) if entry.chunks else 0
        total += (math.prod(entry.shape) + chunk) * entry.dtype.itemsize
        advice = "open it with xarray and take a part of it"
        check_size(f"the variables of {path}", total, advice)
        if total > max(_MOST_UNPACKED, _RATIO * size):
            raise StoreError(
                f"{path} has {size:,} bytes and would unpack to {total:,}, more than {_RATIO} times as many; {advice}"
            )
        if text is not None and text.length is None:
            _check_texts(path, name, entry, size)
        _check_attributes(path, entry, size)


def _check_texts(path: Path, name: str, entry: Any, size: int) -> None:
    """Bound the bytes of strings: many may point to the same long one, and each is at most the file."""
    count = math.prod(entry.shape)
    if count * size <= _MOST_TEXT:
        return
    if len(entry.shape) != 1:
        raise _refused(path, name, "text along more than one dimension")
    step, total = max(1, _MOST_TEXT // size), 0
    for first in range(0, count, step):
        total += sum(len(text) for text in entry[first : first + step])
        if total > _MOST_TEXT:
            raise _refused(path, name, f"text of more than {_MOST_TEXT:,} bytes")


def _check_attributes(path: Path, entry: Any, size: int) -> None:
    import h5py

    if len(entry.attrs) > _MOST_NAMES:
        raise _refused(path, entry.name, "with too many attributes")
    for name in entry.attrs:
        attribute = h5py.h5a.open(entry.id, name.encode())
        count = math.prod(attribute.shape)
        text = h5py.check_string_dtype(attribute.dtype)
        item_size = size if text is not None and text.length is None and count > 1 else attribute.dtype.itemsize
        if count * item_size > (_MOST_TEXT if text is not None else _MOST_ATTRIBUTE):
            raise _refused(path, entry.name, "with an attribute that is too large")


def _refused(path: Path, name: str, why: str) -> StoreError:
    return StoreError(f"{path} holds {shown(name, 80)}, {why}, which no result of tcpdynamics has; it is not opened")
