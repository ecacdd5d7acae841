"""How kernels are compiled, and when their cache on disk is stale."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from numba import njit

from tcpdynamics.compiled import kept_on_disk, stamp_of

_F = TypeVar("_F", bound=Callable[..., Any])

# No kernel allocates, and the caller holds every array while one runs, so reference counting is switched off:
# its atomic updates took seven eighths of the time (1.1 against 8 M packets/s). Inlining is worth another
# factor of 1.7, for a call would pass some thirty arrays.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

# Without the wrappers that Python would call: half of the time to compile.
_INNER: dict[str, Any] = {**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inlined: Callable[[_F], _F] = njit(forceinline=True, **_INNER)

#: For what happens seldom: compiled once instead of at each place where it is called.
called: Callable[[_F], _F] = njit(**_INNER)

#: A hash of all kernel sources. Numba's cache notices an edit only in the file of the function that is cached.
SOURCES = stamp_of(Path(__file__).parent.rglob("*.py"))


def entry(function: _F) -> _F:
    """Compile a function that Python calls, with a cache that belongs to exactly these sources."""
    return kept_on_disk(function, SOURCES, **OPTIONS)
