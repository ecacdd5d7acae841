"""Routes to the same answer, timed in turn in one run: lines on the screen, and rows for the page on performance."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .clocks import Taken, once

#: The rows of the last run of each piece of work.
MEASURED = Path(__file__).with_name("measured.json")
#: The least and the largest of six calls hold the median of all calls with a probability of 97 % (1 - 2^-5).
ROUNDS = 6
#: A route whose first call takes longer is not called again [s].
SLOW = 10.0


class Route(NamedTuple):
    """One way to the answer. The first of a comparison is ours, as it is with default settings."""

    name: str
    work: Callable[[], Any]
    #: Points, states or segments in one call; times are divided by them.
    parts: float = 1.0
    #: Of the result of a call.
    error: Callable[[Any], float] | None = None
    #: A peer's: what pip installs, which is also its module's name in small letters.
    package: str = ""


def compare(title: str, part: str, routes: Iterable[Route], rounds: int = ROUNDS) -> None:
    """Call the routes in turn, after one call each that is not counted; print and store what they took.

    `part` names what a time is of, such as "a point". A peer that is missing, or fails, is a row without numbers.
    """
    print(f"\n{title}: seconds {part}")
    print(f"{'':40s} {'CPU':>9s} {'ratio':>20s} {'clock':>10s} {'ratio':>20s} {'error':>8s}")
    rows: list[dict[str, Any]] = []
    ready, first = [], {}
    for route in routes:
        try:
            first[route.name] = once(route.work)
            ready.append(route)
        except Exception as error:
            if not route.package:
                raise
            missing = _missing(route.package, error)
            print(f"{route.name:40s} {missing}")
            rows.append({"route": route.name, "missing": missing})
    again = [route for route in ready if first[route.name][0].wall < SLOW]
    calls = {r.name: [] if r in again else [first[r.name][0].over(r.parts)] for r in ready}
    for _ in range(rounds):
        for route in again:
            calls[route.name].append(once(route.work)[0].over(route.parts))
    for route in ready:
        error = None if route.error is None else route.error(first[route.name][1])
        rows.append(line(route.name, calls[route.name], calls[ready[0].name], error, route.package))
    store(title, part, rows)


def _missing(package: str, error: Exception) -> str:
    if importlib.util.find_spec(package.lower()) is None:
        return f"not installed: pip install {package}"
    return f"{package} {importlib.metadata.version(package)} fails: {type(error).__name__}"


def line(name: str, calls: Sequence[Taken], ours: Sequence[Taken], error: float | None, package: str = "") -> Any:
    """The row of one route: median, least and largest of each clock, and of its ratio to ours, call by call."""
    pairs = list(zip(calls, ours, strict=False))
    row: dict[str, Any] = {
        "route": name,
        "cpu": spread([c.cpu for c in calls]),
        "clock": spread([c.wall for c in calls]),
        "ratio_cpu": spread([c.cpu / o.cpu for c, o in pairs]),
        "ratio_clock": spread([c.wall / o.wall for c, o in pairs]),
        "calls": len(calls),
        "error": error,
    }
    if package:
        row["package"] = f"{package} {importlib.metadata.version(package)}"
    text = f"{name:40s} {row['cpu'][0]:9.2g} {_ratio(row['ratio_cpu']):>20s} {row['clock'][0]:10.2g} "
    print(text + f"{_ratio(row['ratio_clock']):>20s} {'' if error is None else f'{error:8.0e}'}", flush=True)
    return row


def spread(values: Sequence[float]) -> list[float]:
    """Median, least, largest."""
    return [float(f"{x:.4g}") for x in (statistics.median(values), min(values), max(values))]


def _ratio(values: Sequence[float]) -> str:
    middle, low, high = values
    return f"{middle:.3g} ({low:.3g} to {high:.3g})"


def store(title: str, part: str, rows: list[dict[str, Any]]) -> None:
    """Replace the rows of this work; the file is complete at any time."""
    kept = json.loads(MEASURED.read_text()) if MEASURED.exists() else {"works": {}}
    kept["machine"] = {
        "date": time.strftime("%Y-%m-%d"), "processors": os.cpu_count(), "processor": _processor(),
        "python": platform.python_version(), "numpy": importlib.metadata.version("numpy"),
    }  # fmt: skip
    kept["works"][title] = {"benchmark": sys.modules["__main__"].__spec__.name, "part": part, "rows": rows}
    new = MEASURED.with_suffix(".new")
    new.write_text(json.dumps(kept, indent=1) + "\n")
    os.replace(new, MEASURED)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((text.split(":")[1].strip() for text in lines if text.startswith("model name")), platform.processor())
