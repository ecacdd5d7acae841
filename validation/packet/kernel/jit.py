"""How kernels are compiled, and when their cache on disk is stale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import config

from tcpdynamics import addressed
from tcpdynamics.compiled import kept_on_disk, stamp_of
from tcpdynamics.linked import linked

_F = TypeVar("_F", bound=Callable[..., Any])

# No kernel allocates, and the caller holds every array while one runs, so reference counting is switched off:
# its atomic updates took seven eighths of the time (1.1 against 8 M packets/s). Inlining is worth another
# factor of 1.7, for a call would pass some thirty arrays.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

inlined: Callable[[_F], _F] = linked(forceinline=True, **OPTIONS)

#: For what happens seldom: compiled once instead of at each place where it is called.
called: Callable[[_F], _F] = linked(**OPTIONS)


def by_number(number_of: Any, members: Sequence[Any]) -> Any:
    """One function of `world`, a record and more, that calls the member with the number that the record has.

    The table is resolved when the loop is compiled: a single member costs nothing, each further one a comparison.
    """
    chosen = members[0]
    for number, member in enumerate(members[1:], 1):
        chosen = _either(number_of, number, member, chosen)
    return chosen


def _either(number_of: Any, number: int, member: Any, others: Any) -> Any:
    @inlined
    def call(w: Any, record: Any, *more: Any) -> Any:
        if number_of(record) == number:
            return member(w, record, *more)
        return others(w, record, *more)

    return call


#: A hash of all kernel sources. Numba's cache notices an edit only in the file of the function that is cached.
SOURCES = stamp_of([*Path(__file__).parent.rglob("*.py"), Path(addressed.__file__)])


def entry(function: _F) -> _F:
    """Compile a function of the array of one record, `world`, with a cache that belongs to exactly these sources."""
    if config.DISABLE_JIT:
        return cast(_F, lambda world, *more: function(world.view(np.recarray), *more))
    return kept_on_disk(function, SOURCES, **OPTIONS)
