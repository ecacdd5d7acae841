"""Queue of one's own: a class with three hooks, compiled when it is registered, run at the loop's speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tcpdynamics.errors import MAX_NAME, ScenarioError, listed, shown

from .kernel import hooks
from .kernel.losses import lose_held as lose_held
from .kernel.losses import mark as mark
from .kernel.parameters import Parameter as Parameter
from .kernel.queues import DISCIPLINES, HOOKS, MECHANISMS, SHIPPED
from .kernel.queues import droptail as droptail
from .kernel.queues.checks import check_discipline
from .kernel.queues.lanes import overfull as overfull
from .kernel.streams import ONE as ONE
from .kernel.streams import uniform as uniform
from .kernel.views import event as event
from .kernel.views import part_of as part_of

_C = TypeVar("_C")

#: What hooks may read and, where the text says so, change -> (unit, meaning).
FIELDS = {
    "w.now": ("s", "simulated time"),
    "line.limit": ("packets", "most that may wait; -1: no limit"),
    "line.limit_bytes": ("B", "the same in bytes"),
    "line.waiting": ("packets", "those that wait, without the one being sent"),
    "line.waiting_bytes": ("B", "the same in bytes"),
    "line.busy": ("1", "1 while a packet is being sent"),
    "line.rate": ("bit/s", "rate of the link"),
    "line.list_head, line.list_tail": ("", "first and last packet of drop-tail's list, -1 without any; may change"),
    "line.key, line.draws": ("", "random stream of the link: add ONE to `draws`, then uniform(line.key, line.draws)"),
    "event(w, slot).flow": ("", "number of the packet's flow"),
    "event(w, slot).length": ("B", "its length"),
    "event(w, slot).time": ("s", "when it arrived, in `take`"),
    "event(w, slot).next": ("", "packet after it in a list, -1 at the end; may change"),
}

#: What stands below their table in the documentation.
NUMBA = (
    "All functions, `event`, `part_of`, `Parameter` and `ONE` can be imported from `user_queues`. Numba compiles "
    "numbers, records, loops, `math` and functions by `numba.njit`; no lists, strings or objects."
)

#: Functions for hooks.
FUNCTIONS = {
    "lose_held": lose_held, "mark": mark, "overfull": overfull, "uniform": uniform, "droptail.admits": droptail.admits,
    "droptail.put": droptail.put, "droptail.take": droptail.take,
}  # fmt: skip

# queue -> the fingerprint of what was compiled
_QUEUES: dict[str, str] = {}


def queue_discipline(name: str) -> Callable[[_C], _C]:
    """Make a class, or a module, the queue discipline `name`, which links then take with `queue = name`.

    It has the hooks `admits(w, line, slot, busy)`, `put(w, line, slot)` and `take(w, line)`, without `self`, and may
    have `PARAMETERS`, `STATE`, `LANE`, `RECORDED`, `MARKS`, `prepare` and `refuse`; docs/your_own_queue.md describes
    them.

    Parameters
    ----------
    name : str
        A Python identifier, not that of a built-in discipline. A queue registered again replaces the old one in runs
        that start later.

    Raises
    ------
    ScenarioError
        For a part that is missing or wrong, or code that Numba cannot compile.

    Examples
    --------
    >>> @queue_discipline("drop_tail_example")
    ... class DropTail:
    ...     def admits(w, line, slot, busy):
    ...         return droptail.admits(w, line, event(w, slot).length, busy)
    ...     put, take = droptail.put, droptail.take
    >>> "drop_tail_example" in own_queues()
    True
    """
    if not isinstance(name, str) or not name.isidentifier() or name in SHIPPED or len(name) > MAX_NAME:
        raise ScenarioError(
            f"a queue's name must be an identifier of at most {MAX_NAME} characters other than {listed(SHIPPED)}, got "
            f"{shown(name)}"
        )

    def register(file: _C) -> _C:
        from tcpdynamics.solvers.sweeps.fingerprint import fingerprint

        check_discipline(name, file)
        for hook, shape in HOOKS.items():
            try:
                # Not kept on disk: Numba would not notice an edit in another file that a hook calls.
                hooks.kept(getattr(file, hook), shape, keep=False)
            except ScenarioError as error:
                raise ScenarioError(f"queue {name}: {error}") from error.__cause__
        # Globals are constants once a hook is compiled: a store must know those of today.
        _QUEUES[name] = fingerprint(file)
        queue: Any = file
        DISCIPLINES[name] = MECHANISMS[name] = queue
        return file

    return register


def own_queues() -> dict[str, str]:
    """Name -> fingerprint of each queue that this process has registered."""
    return dict(_QUEUES)
