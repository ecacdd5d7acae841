"""A warning of values that were probably meant in another unit, or do not suit the link."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator

from tcpdynamics.errors import UnusualValueWarning, bare
from tcpdynamics.quantities import long_time, slow_rate

from ..kernel.queues import red
from .scenario import Scenario

#: Longest random delay [s] and largest buffer [packets] that pass without a word.
WAIT, BUFFER = 1.0, 1_000_000
#: RED's lower threshold lasts at least half of 5 ms (Floyd, Gummadi and Shenker, Adaptive RED, 2001) [s].
RED_LASTS = 0.0025
RED_DEFAULT = next(one.default for one in red.PARAMETERS if one.name == "min_threshold")


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
    warn_of(unusual_values(scenario))


def warn_of(texts: Iterable[str]) -> None:
    """Warn at the line that calls the caller's caller, of each text once."""
    text = "; ".join(dict.fromkeys(texts))
    if text:
        warnings.warn(text if len(text) < 400 else f"{text[:400]}...", UnusualValueWarning, stacklevel=4)


def unusual_values(scenario: Scenario) -> Iterator[str]:
    for index, group in enumerate(scenario.flows):
        place = f"flows.{index}" if len(scenario.flows) > 1 else "flows"
        yield from long_time(f"{place}.rtt", max(group.rtts()))
        yield from long_time(f"{place}.jitter", group.jitter or 0.0, WAIT)
        yield from long_time(f"{place}.overhead", group.overhead, WAIT)
        if group.rate is not None:
            yield from slow_rate(f"{place}.rate", group.rate)
    smallest = min(group.packet_size for group in scenario.flows)
    for way in scenario.ways:
        if way.buffer_bytes is not None and way.buffer_bytes < smallest:
            yield f"buffer_bytes = {way.buffer_bytes} of link {bare(way.name)} has no room for a packet of {smallest} B"
        if way.queue == "red" and way.rate is not None and not {"min_threshold", "ns2"} & set(way.queue_parameters):
            yield from _short_thresholds(bare(way.name), way.rate, max(group.packet_size for group in scenario.flows))
    if scenario.bottleneck is not None:
        yield from slow_rate("bottleneck.rate", scenario.bottleneck.rate)
        yield from _large("bottleneck.buffer", scenario.bottleneck.buffer)
    for link in scenario.links:
        at = f" of link {bare(link.name)}"
        yield from long_time(f"links.delay{at}", link.delay)
        yield from long_time(f"links.jitter{at}", link.jitter, WAIT)
        if link.rate is not None:
            yield from slow_rate(f"links.rate{at}", link.rate)
        yield from _large(f"links.buffer{at}", link.buffer)


def _short_thresholds(link: str, rate: float, size: int) -> Iterator[str]:
    """Default thresholds in packets, which a fast link sends in less time than a queue needs to be of use."""
    sending = 8 * size / rate
    low = math.ceil(RED_LASTS / sending)
    if low > RED_DEFAULT:
        yield (
            f"RED's default min_threshold of {RED_DEFAULT:g} packets lasts {1e3 * RED_DEFAULT * sending:.2g} ms on "
            f"link {link}, too short for a fast link; set queue_parameters = {{ min_threshold = {low}, max_threshold = "
            f"{3 * low}, gentle = 1 }}"
        )


def _large(key: str, buffer: int | None) -> Iterator[str]:
    if buffer is not None and buffer > BUFFER:
        yield f"{key} = {buffer} counts packets; did you mean bytes, links.buffer_bytes = {buffer}?"
