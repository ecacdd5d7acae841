"""Keys of a scenario as data.

Each key is declared once, by `key(...)`: unit, interval, allowed words, meaning, and which senders, rules and judges do
not support it. The check and its error message, the docstring's entry, the units of `--set`, the explorer's form and
the refusals of ns-2 and Linux are derived from it.
"""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Any, TypeVar

from tcpdynamics.errors import MAX_NAME, ScenarioError, check, shown, suggestion
from tcpdynamics.quantities import quantity

FORBID = {"extra": "forbid"}

_Record = TypeVar("_Record")


#: Keys of a part that a message lists; of more it names where they stand, also in an installation without the site.
MOST_LISTED = 16

#: BBR is what people miss first.
NO_BBR = "BBR is not among the window rules here; Linux's own can be run (`run_linux`, tcpdynamics testbed)"


def unknown_key(place: str, key: str, part: type, elsewhere: str = "") -> ScenarioError:
    """The error for a key that a part of a scenario does not have.

    `place` is the key with what stands before it, and `elsewhere` is where another part has a key of this name.
    """
    names = [name for name, _ in keys(part)]
    close = suggestion(key, names)
    if elsewhere and not (close and "." in place):  # a part has first claim to its own names
        close = f" (did you mean {elsewhere!r}?)"
    listed = f"known: {', '.join(names)}"
    if len(names) > MOST_LISTED:
        listed = f"`python -m pydoc tcpdynamics.validation.packet.{part.__name__}` lists the known ones"
    return ScenarioError(f"unknown key {place}{close}; {listed}")


def better_key(part: Any, name: str, value: object) -> str:
    """Advice for a message where a refused value of a key would suit another key of its part, else "".

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> better_key(Flows, "sender", "cubic"), better_key(Bottleneck, "buffer", "40kB")
    ('; give control = "cubic"', '; for bytes give buffer_bytes = "40kB"')
    """
    if not isinstance(value, str):
        return ""
    if name in ("sender", "control") and value.lower().startswith("bbr"):
        return f"; {NO_BBR}"
    about_keys = dict(keys(part))
    for other, about in about_keys.items():
        if other != name and value in about["words"] and value != about["default"]:
            return f'; give {other} = "{value}"'
    in_bytes = f"{name}_bytes" in about_keys and value.endswith(("B", "byte", "bytes")) and len(value) < MAX_NAME
    return f'; for bytes give {name}_bytes = "{value}"' if in_bytes else ""


def key(
    default: Any = dataclasses.MISSING,
    meaning: str = "",
    *,
    unit: str = "",
    kind: str = "",
    low: float = 0.0,
    high: float | None = None,
    advice: str = "",
    whole: bool = False,
    choices: Collection[str] = (),
    words: Collection[str] = (),
    counts: str = "",
    off: Any = None,
    not_of: tuple[str, ...] = (),
    only_of: str = "",
    ns2: str = "",
    linux: str = "",
) -> Any:
    """Declare a key: a dataclass field with metadata.

    Parameters
    ----------
    default : any           The default; `dict` for an empty mapping.
    meaning : str           One or more sentences, with units in brackets.
    unit : str              Unit of values that may be texts such as "50ms" (see `quantities.quantity`).
    kind : str              Type for the docstring, if it differs from the annotation.
    low, high : float       Allowed interval; without `high` the record checks the value itself.
    advice : str            How to mend a value outside the interval.
    whole : bool            Whether the value must be a whole number.
    choices : words         Allowed words, possibly a table of mechanisms that grows.
    words : words           Suggested words; others are allowed.
    counts : str            Unit of plain numbers, for axes.
    off : any               A value, not the default, that switches the key off.
    not_of : tuple of str   Senders and rules that do not support the key.
    only_of : str           The only rules that support it.
    ns2, linux : str        Why this judge refuses values other than the default, and how to mend them.
    """
    about = {
        "meaning": meaning, "unit": unit, "kind": kind, "low": low, "high": high, "advice": advice, "whole": whole,
        "choices": choices, "words": choices or words, "counts": unit or counts, "off": off, "not_of": not_of,
        "only_of": only_of, "ns2": ns2, "linux": linux,
    }  # fmt: skip
    if default is dict:
        return field(default_factory=dict, metadata=about)
    return field(default=default, metadata=about)


def keys(record: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and metadata of a record's keys, with `default`, `optional` and `truth` (whether it is a truth value)."""
    return iter(_keys(record if isinstance(record, type) else type(record)))


@functools.cache
def _keys(part: type) -> list[tuple[str, dict[str, Any]]]:
    """Once for each part: sweeps and recorded studies make thousands of scenarios."""
    listed = []
    for one in dataclasses.fields(part):
        kind = str(one.type)
        may_be_none, truth = kind.endswith("| None"), kind in ("bool", "bool | None")
        listed.append((one.name, {**one.metadata, "default": one.default, "optional": may_be_none, "truth": truth}))
    return listed


def check_keys(record: Any, prefix: str, at: str = "") -> None:
    """Check words, truth values and intervals, each key by itself. Raises ScenarioError."""
    for name, about in keys(record):
        value, place = getattr(record, name), f"{prefix}{name}{at}"
        if value is None and about["optional"]:
            continue
        if about["truth"]:
            truth(place, value)
        elif about["choices"]:
            if value not in about["choices"]:
                one_of(place, value, about["choices"], better_key(record, name, value))
        elif about["high"] is not None:
            advice = about["advice"] + better_key(record, name, value)
            check(place, value, about["low"], about["high"], advice, whole=about["whole"])


def is_set(record: Any, name: str, about: dict[str, Any]) -> bool:
    """Whether a key differs from its default and from the value that switches it off."""
    value = getattr(record, name)
    return bool(value != about["default"] and (about["off"] is None or value != about["off"]))


def refused_by(judge: str, record: Any, prefix: str) -> Iterator[str]:
    """Error messages of a judge, "ns2" or "linux", for the keys that it does not support."""
    for name, about in keys(record):
        if about[judge] and is_set(record, name, about):
            yield f"{prefix}{name}: {about[judge]}"


def described(record: type[_Record]) -> type[_Record]:
    """Add the keys to a class's docstring, in the style of NumPy, before the errors and examples."""
    lines = ["Attributes", "----------"]
    for one in dataclasses.fields(record):  # type: ignore[arg-type]
        about = one.metadata
        words = "{" + ", ".join(f'"{word}"' for word in about["choices"]) + "}" if about["choices"] else ""
        lines.append(f"{one.name} : {about['kind'] or words or str(one.type).replace(' | ', ' or ')}")
        lines += textwrap.wrap(about["meaning"], 112, initial_indent="    ", subsequent_indent="    ")
    doc = record.__doc__ or ""
    title = "    Raises\n" if "    Raises\n" in doc else "    Examples\n"
    head, _, tail = doc.partition(title)
    record.__doc__ = head + textwrap.indent("\n".join(lines), "    ") + "\n\n" + title + tail
    return record


def read_texts(record: Any, prefix: str = "") -> None:
    """Turn the texts of a record that is being made into numbers: "50ms" becomes 0.05, also within a tuple."""
    for one in dataclasses.fields(record):
        unit, value = one.metadata.get("unit"), getattr(record, one.name)
        if unit and isinstance(value, str | list | tuple) and value != "auto":
            number = read_quantities(value, unit, prefix + one.name)
            # Bytes are counted in whole numbers.
            integral = unit == "B" and isinstance(number, float) and number.is_integer()
            object.__setattr__(record, one.name, int(number) if integral else number)  # type: ignore[arg-type]


def read_quantities(value: Any, unit: str, key: str) -> float | tuple[float, ...]:
    """One quantity, or one for each entry of a list."""
    if isinstance(value, list | tuple):
        return tuple(quantity(entry, unit, key) for entry in value)
    return quantity(value, unit, key)


def one_of(key: str, value: object, words: Collection[str], advice: str = "") -> None:
    """Refuse what is not among the words; `advice` replaces the word that is near."""
    if value not in words:
        close = suggestion(value, words) if isinstance(value, str) else ""
        quoted = ", ".join(f'"{word}"' for word in words)
        raise ScenarioError(f"{key} must be one of {quoted}, got {shown(value)}{advice or close}")


def truth(key: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{key} must be true or false, got {shown(value)}")
