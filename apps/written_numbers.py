"""Numbers with units as people write them, in lists and ranges, and how many there may be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import click

from tcpdynamics.limits import bare, shown

from .ranges import MAX_POINTS, RangeError, parse_floats

_PLAIN = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?(/\d+)?")


def flag(name: str) -> str:
    """The option of a parameter."""
    return f"--{name.replace('_', '-')}"


def read_numbers(
    option: str, text: str, unit: str = "1", most: int = MAX_POINTS, packet_size: str | None = None
) -> list[float]:
    """Numbers from `start:stop:count`, a comma list or one number, with units as people write them.

    >>> read_numbers("--base-rtt", "100ms:300ms:3", "s")
    [0.1, 0.2, 0.3]
    >>> read_numbers("--capacity", "12Mbit/s", "packet/s", packet_size="1500B")
    [1000.0]
    """
    pieces = text.split(":")
    separator, keep = (":", 1) if len(pieces) == 3 else (",", 0)
    pieces = pieces if keep else text.split(",")
    plain = [_in_unit(option, p, unit, packet_size) for p in pieces[: len(pieces) - keep]]
    try:
        return parse_floats(separator.join(plain + pieces[len(pieces) - keep :]), most)
    except (RangeError, OverflowError) as error:
        raise click.UsageError(f"{option}: {error}") from None


def check_points(sizes: Mapping[str, int], most: int = MAX_POINTS) -> None:
    """Refuse a grid that is too large, before anything is computed."""
    points = math.prod(sizes.values())
    if points > most:
        sides = " x ".join(f"{flag(k)} {n:,}" for k, n in sizes.items())
        raise click.UsageError(
            f"the grid has {points:,} points ({sides}), at most {most:,} are allowed here; use fewer points"
        )


def check_packet_size(text: str) -> None:
    """Refuse a size by which no bit rate can be divided."""
    from tcpdynamics.validation.packet.units import ScenarioError, quantity

    try:
        size = quantity(text, "B", "--packet-size")
    except ScenarioError as error:
        raise click.UsageError(bare(error, 400)) from None
    if not (size > 0 and math.isfinite(size)):
        raise click.UsageError(
            f"--packet-size must be a finite number of bytes > 0, got {bare(text)}; give such as 1500B"
        )


def only_number(option: str, text: str, unit: str = "1") -> float:
    """One number."""
    values = read_numbers(option, text, unit, 1) if ":" not in text else [math.nan, math.nan]
    if len(values) != 1:
        raise click.UsageError(f"{option} takes one number, got {shown(text)}")
    return values[0]


def _in_unit(option: str, text: str, unit: str, packet_size: str | None) -> str:
    """One number as a text in the unit of its parameter."""
    from tcpdynamics.validation.packet.units import TABLES, ScenarioError, quantity

    word = text.strip()
    if not word or _PLAIN.fullmatch(word):
        return word
    suffix = re.sub(r"^[-+\d.]+([eE][-+]?\d+)?\s*", "", word)
    number = word[: len(word) - len(suffix)].strip()
    if suffix in (unit, f"{unit}s", unit.replace("packet", "packets")):
        return number
    try:
        if unit == "s" or (unit == "1" and suffix in TABLES["1"]):
            return repr(quantity(word, unit, option))
        if unit == "packet/s" and suffix in TABLES["bit/s"]:
            if not packet_size:
                counts = "round trip: to give" if packet_size == "" else "second: to give"
                need = "--base-rtt and --packet-size" if packet_size == "" else "--packet-size, such as 1500B"
                raise click.UsageError(f"{option} counts packets per {counts} {bare(word)}, add {need}")
            return repr(quantity(word, "bit/s", option) / (8 * quantity(packet_size, "B", "--packet-size")))
    except ScenarioError as error:
        raise click.UsageError(bare(error, 400)) from None
    if number and unit != "1":
        raise click.UsageError(f"{option} must be a number in {unit}, got {shown(word)}; leave the unit out")
    return word
