"""Fields of a scenario's records: their units, texts such as "50ms", the checks of words and truths, unusual values."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import ScenarioError, UnusualValueWarning, bare, shown, suggestion
from tcpdynamics.quantities import quantity

if TYPE_CHECKING:
    from .scenario import Scenario

FORBID = {"extra": "forbid"}

#: Longest delay and random delay [s], lowest rate [bit/s] and largest buffer [packets] that pass without a word.
DELAY, WAIT, RATE, BUFFER = 10.0, 1.0, 1e3, 1_000_000


def in_unit(unit: str, **options: Any) -> Any:
    """A dataclass field whose texts are read with `unit` (see `quantities.quantity`)."""
    return field(metadata={"unit": unit}, **options)


def read_texts(record: Any, prefix: str = "") -> None:
    """Turn the texts of a record that is being made into numbers: "50ms" becomes 0.05, also within a tuple."""
    for each in dataclasses.fields(record):
        unit, value = each.metadata.get("unit"), getattr(record, each.name)
        if unit and isinstance(value, str | list | tuple) and value != "auto":
            number = read_quantities(value, unit, prefix + each.name)
            # Bytes are counted in whole numbers.
            whole = unit == "B" and isinstance(number, float) and number.is_integer()
            object.__setattr__(record, each.name, int(number) if whole else number)  # type: ignore[arg-type]


def read_quantities(value: Any, unit: str, key: str) -> float | tuple[float, ...]:
    """One quantity, or one for each entry of a list."""
    if isinstance(value, list | tuple):
        return tuple(quantity(entry, unit, key) for entry in value)
    return quantity(value, unit, key)


def one_of(key: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse what is not among the known words."""
    if value not in known:
        words = ", ".join(f'"{word}"' for word in known)
        close = suggestion(value, known) if isinstance(value, str) else ""
        raise ScenarioError(f"{key} must be one of {words}, got {shown(value)}{close}")


def truth(key: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{key} must be true or false, got {shown(value)}")


def warn_of_unusual_values(scenario: Scenario) -> None:
    """Warn once, in one line, of all values of a scenario that were probably meant in another unit.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Flows, Scenario
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_unusual_values(Scenario((Flows(rtt=200.0),)))
    >>> print(caught[0].message)
    flows.rtt = 200 is 200 s; did you mean 200 ms = 0.2?
    """
    text = "; ".join(dict.fromkeys(_unusual_values(scenario)))
    if text:
        warnings.warn(text if len(text) < 400 else f"{text[:400]}...", UnusualValueWarning, stacklevel=3)


def _unusual_values(scenario: Scenario) -> Iterator[str]:
    for index, group in enumerate(scenario.flows):
        place = f"flows.{index}" if len(scenario.flows) > 1 else "flows"
        yield from _long(f"{place}.rtt", max(group.rtts()))
        yield from _long(f"{place}.jitter", group.jitter or 0.0, WAIT)
        yield from _long(f"{place}.overhead", group.overhead, WAIT)
        if group.rate is not None:
            yield from _slow(f"{place}.rate", group.rate)
    smallest = min(group.packet_size for group in scenario.flows)
    for way in scenario.ways:
        if way.buffer_bytes is not None and way.buffer_bytes < smallest:
            yield f"buffer_bytes = {way.buffer_bytes} of link {bare(way.name)} has no room for a packet of {smallest} B"
    if scenario.bottleneck is not None:
        yield from _slow("bottleneck.rate", scenario.bottleneck.rate)
        yield from _large("bottleneck.buffer", scenario.bottleneck.buffer)
    for link in scenario.links:
        at = f" of link {bare(link.name)}"
        yield from _long(f"links.delay{at}", link.delay)
        yield from _long(f"links.jitter{at}", link.jitter, WAIT)
        if link.rate is not None:
            yield from _slow(f"links.rate{at}", link.rate)
        yield from _large(f"links.buffer{at}", link.buffer)


def _long(key: str, seconds: float, most: float = DELAY) -> Iterator[str]:
    if seconds > most:
        yield f"{key} = {seconds:g} is {seconds:g} s; did you mean {seconds:g} ms = {seconds / 1e3:g}?"


def _slow(key: str, rate: float) -> Iterator[str]:
    if rate < RATE:
        yield f"{key} = {rate:g} is {rate:g} bit/s; did you mean {rate:g} Mbit/s = {rate * 1e6:g}?"


def _large(key: str, buffer: int | None) -> Iterator[str]:
    if buffer is not None and buffer > BUFFER:
        yield f"{key} = {buffer} counts packets; did you mean bytes, links.buffer_bytes = {buffer}?"
