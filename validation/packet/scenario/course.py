"""Tables of the rate and the delay of a link over time: `changes`, and traces in CSV files."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcpdynamics.errors import ScenarioError, shown
from tcpdynamics.quantities import quantity

from .reading import text_of

#: Rows of a table.
MAX_CHANGES = 100_000

#: (time [s], rate [bit/s], delay [s]) of each row.
Changes = tuple[tuple[float, float, float], ...]

_BOUNDS = ((0.0, 1e9, "time"), (1.0, 1e13, "rate"), (0.0, 1e3, "delay"))
_UNITS = ("s", "bit/s", "s")
COLUMNS = ("time_s", "rate", "delay")


def read_changes(value: Any, key: str, delay: float) -> Changes:
    """Rows of a table, checked; where a row has no delay, that of the row before holds on, `delay` at first.

    Parameters
    ----------
    value : sequence of (time, rate) or (time, rate, delay)
        Numbers, or texts with a unit.
    key : str
        What messages call it.
    delay : float
        Of the link before the first row [s].

    Raises
    ------
    ScenarioError
        Naming the first row that is impossible, counted from 1.

    Examples
    --------
    >>> read_changes([[10, "2Mbit/s"], ["20s", 0, "50ms"]], "links.changes", 0.01)
    ((10.0, 2000000.0, 0.01), (20.0, 0.0, 0.05))
    """
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ScenarioError(f"{key} must be a list of rows [time, rate, delay], got {shown(value)}")
    if len(value) > MAX_CHANGES:
        raise ScenarioError(f"{key} has {len(value):,} rows, at most {MAX_CHANGES:,} are allowed; thin them out")
    rows: list[tuple[float, float, float]] = []
    for number, row in enumerate(value, 1):
        at = f"{key}, row {number}"
        if isinstance(row, str) or not isinstance(row, Sequence) or len(row) not in (2, 3):
            raise ScenarioError(f"{at} must be [time, rate] or [time, rate, delay], got {shown(row)}")
        time, rate, late = (*(_number(x, i, at) for i, x in enumerate(row)), delay)[:3]
        if rows and time <= rows[-1][0]:
            raise ScenarioError(
                f"{at}: time {time:g} s does not follow {rows[-1][0]:g} s of the row before; sort the rows"
            )
        delay = late
        rows.append((time, rate, late))
    return tuple(rows)


def _number(value: Any, column: int, at: str) -> float:
    low, high, what = _BOUNDS[column]
    number = quantity(value, _UNITS[column], f"{at}: {what}") if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ScenarioError(f"{at}: {what} must be a number, got {shown(value)}")
    if (low <= number <= high) or (column == 1 and number == 0):
        return float(number)
    bound = f"0 for an outage, or {low:g}" if column == 1 else f"{low:g}"
    raise ScenarioError(f"{at}: {what} must be {bound} to {high:g} [{_UNITS[column]}], got {shown(value)}")


def read_trace(path: str | Path, key: str = "links.trace") -> tuple[tuple[float | str, ...], ...]:
    """Rows of a CSV file with the columns `time_s`, `rate` and, if wanted, `delay`; for `Link(changes=...)`.

    Parameters
    ----------
    path : path of the file
        UTF-8 text of at most 8 MB. Its first line names the columns, in any order; rates and delays are numbers in
        bit/s and s, or texts such as 2Mbit/s and 20ms.
    key : str
        What messages call it.

    Returns
    -------
    tuple of (time [s], rate [bit/s]) or (time, rate, delay [s]), checked to be numbers only

    Raises
    ------
    ScenarioError
        For a file that is no ordinary file, is too large, or is no such table.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "cell.csv"
    ...     _ = file.write_text("time_s,rate,delay\\n0,2Mbit/s,20ms\\n1.5,0,20ms\\n")
    ...     read_trace(file)
    ((0.0, 2000000.0, 0.02), (1.5, 0.0, 0.02))
    """
    name = f"{key} {shown(str(path))}"
    try:
        text = text_of(path, "thin the rows out", follow=False)
        rows = csv.reader(text.splitlines(), strict=True)
        head = [word.strip() for word in next(rows, [])]
        if sorted(head) not in (sorted(COLUMNS[:2]), sorted(COLUMNS)):
            raise ScenarioError(
                "the first line must name the columns time_s,rate or time_s,rate,delay, separated by commas, got "
                f"{shown(','.join(head))}"
            )
        places = [head.index(column) for column in COLUMNS[: len(head)]]
        read: list[tuple[float, ...]] = []
        for number, row in enumerate(rows, 2):
            if not row:
                continue
            if len(row) != len(head):
                raise ScenarioError(f"line {number} has {len(row)} columns, the first has {len(head)}")
            if len(read) >= MAX_CHANGES:
                raise ScenarioError(f"it has more than {MAX_CHANGES:,} rows; thin them out")
            read.append(tuple(_cell(row[place], i, f"line {number}") for i, place in enumerate(places)))
    except csv.Error as error:
        raise ScenarioError(f"{name} is no table: {str(error)[:200]}") from None
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from None
    if not read:
        raise ScenarioError(f"{name} has no rows")
    return tuple(read)


def _cell(text: str, column: int, at: str) -> float:
    if not text.isascii() or "_" in text:
        raise ScenarioError(f"{at}, {COLUMNS[column]} must be a number in ASCII digits, got {shown(text)}")
    try:
        number = float(text)
    except ValueError:
        number = quantity(text, _UNITS[column], f"{at}, {COLUMNS[column]}")
    if not math.isfinite(number):
        raise ScenarioError(f"{at}, {COLUMNS[column]} must be a number, got {shown(text)}")
    return number
