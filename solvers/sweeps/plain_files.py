"""Files of a store: ordinary files of a bounded size, whole or not there, one writer at a time."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tcpdynamics.errors import LimitError, StoreError, shown
from tcpdynamics.limits import check_memory

#: Bytes and levels of nesting of the JSON that a store may hold.
MAX_JSON = 16_000_000
MAX_DEPTH = 24

_PIECE = 1 << 23

#: A file that was being written when its process was killed: ours, and those of the zarr package.
PARTIAL = re.compile(r".*\.[0-9a-f]{32}\.partial", re.DOTALL)


#: An address of another machine, or of a program's own file system: s3://, http://, zip:: ...
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(://|::)")


def local_path(store: str | Path) -> Path:
    """The path of a store. Raises StoreError for an address, since nothing is fetched, and for what is no path."""
    if not isinstance(store, str | os.PathLike):
        raise StoreError(f"store must be the name of a folder or file, got {shown(store)}")
    if _ADDRESS.match(str(store)):
        raise StoreError(f"{shown(str(store))} is an address; give the name of a folder or file on this machine")
    return Path(store)


def open_plain(path: Path, follow: bool = False) -> int:
    """Open a file for reading, without waiting for a pipe and, unless `follow`, not through a link.

    Raises
    ------
    StoreError
        A link, a device, a pipe or a folder; a file that is not there or cannot be read.
    """
    stay = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | stay | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise StoreError(f"{_name(path)} is missing; restore it or give another name") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise StoreError(f"{_name(path)} is a link, and a store holds ordinary files only; remove it") from None
        raise StoreError(f"cannot read {_name(path)}: {error.strerror or error}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise StoreError(f"{_name(path)} is not an ordinary file; give another name")
    return handle


def pieces(path: Path, size: int | None = None, most: int | None = None, follow: bool = False) -> Iterator[bytes]:
    """The bytes of an ordinary file, some megabytes at a time.

    Parameters
    ----------
    path : path
    size : int, optional
        The bytes that it must have.
    most : int, optional
        The bytes that it may have.
    follow : bool
        Through links, too.

    Raises
    ------
    StoreError
        As `open_plain`; another size.
    """
    handle = open_plain(path, follow)
    try:
        there = os.fstat(handle).st_size
        if size is not None and there != size:
            raise StoreError(f"{_name(path)} has {there:,} bytes, {size:,} are expected; restore it")
        if most is not None and there > most:
            raise StoreError(f"{_name(path)} has {there:,} bytes, at most {most:,} are allowed; give another name")
        remaining = there
        while remaining:
            piece = os.read(handle, min(remaining, _PIECE))
            if not piece:
                raise StoreError(f"{_name(path)} was cut short while it was read; try again")
            remaining -= len(piece)
            yield piece
    except OSError as error:
        raise StoreError(f"cannot read {_name(path)}: {error.strerror or error}") from None
    finally:
        os.close(handle)


def read_json(path: Path, most: int = MAX_JSON) -> dict[str, Any]:
    """A JSON object from an ordinary file, bounded in size and depth. Raises StoreError."""
    content = b"".join(pieces(path, most=most))
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise StoreError(f"{_name(path)} is cut short or damaged; restore it or give another name") from None
    if not isinstance(value, dict) or _depth(value) > MAX_DEPTH:
        raise StoreError(f"{_name(path)} is not what a sweep writes; restore it or give another name")
    return value


def write_whole(path: Path, *content: bytes | memoryview, durable: bool = True) -> None:
    """Write beside the place, then rename. If durable, after a loss of power too all of it or nothing is there."""
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with open(beside, "xb") as out:
            for part in content:
                out.write(part)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def to_disk(paths: Iterable[Path]) -> None:
    """Wait until files, or the lists of names of folders, have reached the disk. Raises OSError."""
    paths = list(paths)
    if len(paths) < 4:
        for path in paths:
            _sync(path)
        return
    # Side by side: file systems bring to the disk together what is asked for together, ten times as fast.
    with ThreadPoolExecutor(16) as threads:
        for _ in threads.map(_sync, paths):
            pass


def _sync(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # folders, on systems where they cannot be opened
        if path.is_dir():
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


def check_size(what: str, size: float, advice: str) -> None:
    """As `check_memory`, with a StoreError: what a file claims is refused before it is read."""
    try:
        check_memory(what, size, advice)
    except LimitError as error:
        raise StoreError(str(error)) from None


def brief(error: BaseException) -> str:
    """A library's message on one line, of bounded length."""
    text = " ".join(f"{error}".split()) or type(error).__name__
    return text if len(text) <= 200 and text.isprintable() else shown(text)


def remove_partial(folder: Path, name: str = "") -> None:
    """Remove what dead processes were writing in a folder, or of the file `name` in it."""
    with os.scandir(folder) as entries:
        stale = [e.path for e in entries if PARTIAL.fullmatch(e.name) and e.name[:-41] in (name, name or e.name[:-41])]
    for path in stale:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _depth(value: Any) -> int:
    """Levels of nesting, at most one more than allowed."""
    level, depth = [value], 0
    while level and depth <= MAX_DEPTH:
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner += [v for v in item.values() if isinstance(v, dict | list)]
            elif isinstance(item, list):
                inner += [v for v in item if isinstance(v, dict | list)]
        level, depth = inner, depth + 1
    return depth


def _name(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 and text.isprintable() else shown(text)


def lock_folder(folder: Path) -> int | None:
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


def remove_unfinished(path: Path) -> None:
    """Remove stores that processes began beside `path` and were killed over; those of living ones are locked."""
    pattern = re.compile(re.escape(f"{path.name}.") + r"unfinished(-\d+-[0-9a-f]{8})?")
    with os.scandir(path.parent) as entries:
        folders = [e.path for e in entries if pattern.fullmatch(e.name) and e.is_dir(follow_symlinks=False)]
    for folder in folders:
        try:
            lock = lock_folder(Path(folder))
        except OSError:
            continue
        if lock is not None:
            try:
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
