"""Keys of a scenario as data: what a field of its records says of itself, and what is made of that.

A key is written down once, as `key(...)`: its unit, interval, words and meaning, and who has no such thing. Its check
and the sentence of that, its entry in the docstring, the units of `--set`, the explorer's form and the refusals of
ns-2 and Linux follow.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Any, TypeVar

from tcpdynamics.errors import ScenarioError, check, shown, suggestion
from tcpdynamics.quantities import quantity

FORBID = {"extra": "forbid"}

_Record = TypeVar("_Record")


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
    """A field of a scenario's record that says what is known of it.

    Parameters
    ----------
    default : the default; `dict` for an empty mapping
    meaning : str           One or more sentences; their units stand in brackets.
    unit : str              Of numbers that may be texts such as "50ms" (see `quantities.quantity`).
    kind : str              The type in words, where the annotation does not say it.
    low, high : float       The interval [low, high]; without `high` it is checked beside other keys.
    advice : str            What to do about a value outside of it.
    whole : bool            Whether only whole numbers count.
    choices : words         The only ones that are allowed; a table of mechanisms, with those that it gets later.
    words : words           Those that are suggested, beside others.
    counts : str            Unit of plain numbers, for axes.
    off :                   Another value than the default that switches it off.
    not_of : tuple of str   Senders and rule books that have no such thing.
    only_of : str           The one rule book that has it.
    ns2, linux : str        Why this judge refuses another value than the default, and what to do.
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
    """The keys of a record, or of its class: names and what is known of each, with `default`, `optional`, `truth`."""
    for each in dataclasses.fields(record):
        kind = str(each.type)
        may_be_none, truth = kind.endswith("| None"), kind in ("bool", "bool | None")
        yield each.name, {**each.metadata, "default": each.default, "optional": may_be_none, "truth": truth}


def check_keys(record: Any, prefix: str, at: str = "") -> None:
    """Refuse what no choice of the other keys makes right: words, truths and numbers out of their intervals."""
    for name, about in keys(record):
        value, place = getattr(record, name), f"{prefix}{name}{at}"
        if value is None and about["optional"]:
            continue
        if about["truth"]:
            truth(place, value)
        elif about["choices"]:
            one_of(place, value, about["choices"])
        elif about["high"] is not None:
            check(place, value, about["low"], about["high"], about["advice"], whole=about["whole"])


def is_set(record: Any, name: str, about: dict[str, Any]) -> bool:
    """Whether a key has another value than its default, or than one that switches it off."""
    value = getattr(record, name)
    return bool(value != about["default"] and (about["off"] is None or value != about["off"]))


def refused_by(judge: str, record: Any, prefix: str) -> Iterator[str]:
    """Why a judge, "ns2" or "linux", cannot follow a record: a sentence for each key that is set."""
    for name, about in keys(record):
        if about[judge] and is_set(record, name, about):
            yield f"{prefix}{name}: {about[judge]}"


def described(record: type[_Record]) -> type[_Record]:
    """Add the keys to a class's docstring, in the style of NumPy, before the errors and examples."""
    lines = ["Attributes", "----------"]
    for each in dataclasses.fields(record):  # type: ignore[arg-type]
        about = each.metadata
        words = "{" + ", ".join(f'"{word}"' for word in about["choices"]) + "}" if about["choices"] else ""
        lines.append(f"{each.name} : {about['kind'] or words or str(each.type).replace(' | ', ' or ')}")
        lines += textwrap.wrap(about["meaning"], 112, initial_indent="    ", subsequent_indent="    ")
    doc = record.__doc__ or ""
    title = "    Raises\n" if "    Raises\n" in doc else "    Examples\n"
    head, _, tail = doc.partition(title)
    record.__doc__ = head + textwrap.indent("\n".join(lines), "    ") + "\n\n" + title + tail
    return record


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


def one_of(key: str, value: object, words: Collection[str]) -> None:
    """Refuse what is not among the words."""
    if value not in words:
        close = suggestion(value, words) if isinstance(value, str) else ""
        quoted = ", ".join(f'"{word}"' for word in words)
        raise ScenarioError(f"{key} must be one of {quoted}, got {shown(value)}{close}")


def truth(key: str, value: object) -> None:
    """Refuse what is neither true nor false."""
    if not isinstance(value, bool):
        raise ScenarioError(f"{key} must be true or false, got {shown(value)}")
