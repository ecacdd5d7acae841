"""What a piece of work took, by two clocks: CPU seconds of the process and seconds that passed."""

from __future__ import annotations

import os
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Taken(NamedTuple):
    """Seconds of all threads' (and ended child processes') CPU time, and wall time."""

    cpu: float
    wall: float

    def over(self, parts: float) -> Taken:
        """The time of one of so many parts.

        >>> Taken(3.0, 2.0).over(2)
        Taken(cpu=1.5, wall=1.0)
        """
        return Taken(self.cpu / parts, self.wall / parts)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def once(work: Callable[[], Any]) -> tuple[Taken, Any]:
    """One call: what it took, and its result."""
    cpu, wall = _cpu(), time.perf_counter()
    result = work()
    return Taken(_cpu() - cpu, time.perf_counter() - wall), result


def median(work: Callable[[], Any], repeats: int) -> tuple[Taken, Any]:
    """Medians of so many calls after one that is not counted, and the last result."""
    result = work()
    runs = []
    for _ in range(repeats):
        taken, result = once(work)
        runs.append(taken)
    return middle(runs), result


def middle(runs: list[Taken]) -> Taken:
    """The median of each clock."""
    return Taken(statistics.median(run.cpu for run in runs), statistics.median(run.wall for run in runs))


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
