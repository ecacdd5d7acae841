"""One process at a time writes a store: locks on its folder, which the system lets go when the process ends."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path


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
