"""DualPI2 (RFC 9332) in `tc`'s words, as attributes of Linux's netlink: older `tc`s do not know the discipline."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from tcpdynamics.errors import ScenarioError, shown
from tcpdynamics.quantities import quantity

KIND = "dualpi2"
#: Words that stand alone -> number of the attribute, and its value (one byte).
ALONE = {
    "overflow": (11, 0), "drop_on_overload": (11, 1), "drop_dequeue": (12, 0), "drop_enqueue": (12, 1),
    "l4s_ect": (14, 1), "any_ect": (14, 3), "no_split_gso": (15, 0), "split_gso": (15, 1),
}  # fmt: skip
#: Greatest number of 32 bits, and of those that Linux takes for `alpha` and `beta`.
MOST, MOST_GAIN = 2**32 - 1, 2**31 - 1


def _packets(text: str) -> float:
    return float(text.removesuffix("p"))


def _bytes(text: str) -> float:
    return float(text.removesuffix("b"))


def _share(text: str) -> float:
    return float(text.removesuffix("%"))


def _microseconds(text: str) -> float:
    return 1e6 * quantity(text, "s", "time")


def _gain(text: str) -> float:
    """A gain [Hz] in steps of 1/256."""
    return 256 * float(text)


#: Words that a value follows -> number of the attribute, its layout, least and greatest value, and how it is read.
WITH_VALUE: dict[str, tuple[int, str, int, int, Callable[[str], float]]] = {
    "limit": (1, "I", 1, MOST, _packets), "memlimit": (2, "I", 1, MOST, _bytes),
    "target": (3, "I", 0, MOST, _microseconds), "tupdate": (4, "I", 1, MOST, _microseconds),
    "alpha": (5, "I", 1, MOST_GAIN, _gain), "beta": (6, "I", 1, MOST_GAIN, _gain),
    "step_thresh": (8, "I", 0, MOST, _microseconds), "min_qlen_step": (9, "I", 0, MOST, _packets),
    "coupling_factor": (10, "B", 1, 255, _packets), "classic_protection": (13, "B", 0, 100, _share),
}  # fmt: skip
#: `step_thresh` in packets is an attribute of its own.
IN_PACKETS = (7, "I", 0, MOST, _packets)


def options(words: str, key: str = "disciplines") -> bytes:
    """The attributes of a discipline `dualpi2 ...`, one after the other.

    Parameters
    ----------
    words : str
        As of Linux's `tc`: `limit`, `memlimit`, `target`, `tupdate`, `alpha`, `beta`, `step_thresh`, `min_qlen_step`,
        `coupling_factor` and `classic_protection` with their values, and words alone: `overflow` or
        `drop_on_overload`, `drop_dequeue` or `drop_enqueue`, `l4s_ect` or `any_ect`, `split_gso` or `no_split_gso`.
        Times have units (`15ms`); `alpha` and `beta` are in Hz, in steps of 1/256; `step_thresh` is a time, or packets
        (`3p`). What is not said, Linux takes as it comes.
    key : str
        What messages call them.

    Raises
    ------
    ScenarioError
        Naming the word that is not known, comes twice, or whose value is missing or out of bounds.

    Examples
    --------
    >>> options("dualpi2 limit 100 target 15ms").hex()
    '080001006400000008000300983a0000'
    """
    first, *remaining = words.split()
    if first != KIND:
        raise ScenarioError(f"{key}: {shown(first)} is not {KIND}")
    values: dict[int, bytes] = {}
    while remaining:
        word = remaining.pop(0)
        number, value = _attribute(word, remaining, key)
        if number in values:
            raise ScenarioError(f"{key}: {KIND} is told {word} twice, or its contrary; say it once")
        values[number] = value
    if 7 in values and 8 in values:
        raise ScenarioError(f"{key}: {KIND} is told step_thresh twice; say it once")
    return b"".join(struct.pack("HH", 4 + len(v), n) + v + bytes(-len(v) % 4) for n, v in values.items())


def _attribute(word: str, left: list[str], key: str) -> tuple[int, bytes]:
    """Number and bytes of a word's attribute; its value is taken off what is left."""
    if word in ALONE:
        number, value = ALONE[word]
        return number, struct.pack("B", value)
    if word not in WITH_VALUE:
        words = ", ".join((*WITH_VALUE, *ALONE))
        raise ScenarioError(f"{key}: {KIND} has no word {shown(word)} here; known are {words}")
    if not left:
        raise ScenarioError(f"{key}: {KIND} needs a value after {word}")
    text = left.pop(0)
    packets = word == "step_thresh" and re.fullmatch(r"\d+p", text)
    number, layout, low, high, read = IN_PACKETS if packets else WITH_VALUE[word]
    try:
        steps = round(read(text))
    except (ValueError, OverflowError, ScenarioError):
        raise ScenarioError(f"{key}: {KIND} cannot read {word} {shown(text)}; times have units, such as 15ms") from None
    if not low <= steps <= high:
        raise ScenarioError(f"{key}: {KIND} takes {word} from {low} to {high} of its steps, got {text}")
    return number, struct.pack(layout, steps)
