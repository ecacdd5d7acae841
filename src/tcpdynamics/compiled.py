"""Compiled functions are kept on disk: where Numba puts them, and where they go when it can write nowhere."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


@functools.cache
def _say_once() -> None:
    print(
        "tcpdynamics: compiling what is used for the first time, half a minute or less; it is kept on disk",
        file=sys.stderr,
    )


def say_to_people(module: str) -> None:
    """Say once that something is compiled, where somebody is looking: in a terminal, an interpreter or a notebook."""
    interactive = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    if module.startswith("tcpdynamics") and (interactive or (sys.stderr is not None and sys.stderr.isatty())):
        _say_once()


#: Called with the name of a module whenever one of its functions is compiled and not read from disk; None: silence.
announce: Callable[[str], None] | None = say_to_people


def kept_on_disk(function: _F, stamp: str | None = None, **options: Any) -> _F:
    """Compile with Numba on first use and keep the machine code for later processes.

    Numba writes beside the source, or in the user's cache folder. Where neither can be written to (an installation
    that is read-only, in a container without a home), a private folder for temporary files takes its place.

    Parameters
    ----------
    stamp : str, optional
        The code is compiled again when this changes. Default: when the function's own file does, which is all that
        Numba notices; a function that calls those of other files needs their `stamp_of`. In a folder that
        NUMBA_CACHE_DIR names, the stamp is part of the place: checkouts of the same sources share machine code.
    options : of `numba.njit`
    """
    from hashlib import sha256

    from numba import config

    from .shipped import look_also_in

    compiled: Any = _cached(function, options)
    if stamp is not None and not config.DISABLE_JIT:
        compiled._cache._cache_file._source_stamp = stamp
        folder = sha256(stamp.encode()).hexdigest()[:20]
        if config.CACHE_DIR:
            _keep_by_stamp(compiled._cache, folder, config.CACHE_DIR)
        look_also_in(compiled._cache, folder, stamp)
    return compiled  # type: ignore[no-any-return]


def _cached(function: Any, options: dict[str, Any]) -> Any:
    from numba import config, njit

    _listen()
    # Of a user without a home, Numba would make the folder "~" where the process stands.
    if config.CACHE_DIR or os.path.isabs(os.path.expanduser(os.environ.get("XDG_CACHE_HOME", "~"))):
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError as error:
            if "no locator" not in str(error):
                raise
    chosen, config.CACHE_DIR = config.CACHE_DIR, str(_private_folder())
    try:
        return njit(cache=True, **options)(function)
    finally:
        config.CACHE_DIR = chosen


def _keep_by_stamp(cache: Any, folder: str, parent: str) -> None:
    """Numba's folder is named after the place of the source; this one after what the source says."""
    file = cache._cache_file
    cache._cache_path = os.path.join(parent, folder)
    cache._impl.locator._cache_path = file._cache_path = cache._cache_path
    file._index_path = os.path.join(cache._cache_path, file._index_name)


def kept_with(*files: str, **options: Any) -> Callable[[_F], _F]:
    """`kept_on_disk` for functions that are made of these source files, of `__file__` and of those that it calls."""
    stamp = stamp_of(map(Path, files))

    def keep(function: _F) -> _F:
        return kept_on_disk(function, stamp, **options)

    return keep


#: The files of each stamp.
STAMPED: dict[str, frozenset[Path]] = {}


def stamp_of(files: Iterable[Path]) -> str:
    """A hash of source files, in the order of their names."""
    from hashlib import sha256

    files = sorted(files)
    stamp = sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    STAMPED[stamp] = frozenset(path.resolve() for path in files)
    return stamp


@functools.cache
def _listen() -> None:
    """Pass Numba's events of compilation on to `announce`."""
    from numba.core import event

    _import_without_blas()

    class Compilations(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            function = getattr(event.data["dispatcher"], "py_func", None)
            if announce is not None and function is not None:
                announce(str(function.__module__))

        def on_end(self, event: Any) -> None: ...

    event.register("numba:compile", Compilations())


def _import_without_blas() -> None:
    """Import Numba's functions on arrays, but SciPy's BLAS only once a kernel asks for it, and none of ours does.

    This import looks for BLAS by loading it, a fifth of a second; NumPy's products in a kernel look again themselves.
    """
    from numba.np import linalg

    look, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = look


@functools.cache
def _private_folder() -> Path:
    """A folder that no other user can write to: whoever fills a cache decides what is run."""
    import logging
    import stat
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir(), f"tcpdynamics-{user}")
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        status = folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == user and not status.st_mode & 0o077:
            return folder  # the command that made it has said so
        folder = Path(tempfile.mkdtemp(prefix="tcpdynamics-"))
    logging.getLogger("tcpdynamics").warning(
        "tcpdynamics: compiled code is kept in %s, since neither the installation nor a cache folder of yours can "
        "be written to; set NUMBA_CACHE_DIR to choose another place",
        folder,
    )
    return folder
