"""What the attributes of problems are: mappings, texts, names and intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tcpdynamics.errors import MAX_SHOWN, bare, shown

from .numbers import real_array

#: Characters of a name, and of a unit or a meaning.
LONGEST_NAME, LONGEST_TEXT = MAX_SHOWN, 1000


def check_mapping(name: str, value: object, error: type[Exception]) -> None:
    """Raise `error` unless a value is a mapping.

    Examples
    --------
    >>> check_mapping("start", {"x": 1.0}, ValueError)
    >>> check_mapping("start", [1.0], ValueError)
    Traceback (most recent call last):
    ...
    ValueError: start must be a mapping from names, as in {'x': ...}, got [1.0]
    """
    if not isinstance(value, Mapping):
        raise error(f"{name} must be a mapping from names, as in {{'x': ...}}, got {shown(value)}")


def check_text(what: str, text: object, error: type[Exception]) -> None:
    """Raise `error` unless a value is a text that is not very long.

    Examples
    --------
    >>> check_text("time_units", "s", ValueError)
    >>> check_text("time_units", 1, ValueError)
    Traceback (most recent call last):
    ...
    ValueError: time_units must be a text of at most 1,000 characters, got 1
    """
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise error(f"{what} must be a text of at most {LONGEST_TEXT:,} characters, got {shown(text)}")


def check_name(kind: str, name: object, error: type[Exception]) -> None:
    """Raise `error` for a name that is long or has a line break: names stand in results and in every message.

    Examples
    --------
    >>> check_name("state", "w", ValueError)
    >>> check_name("state", "a line\\nand another", ValueError)
    Traceback (most recent call last):
    ...
    ValueError: a state is named by a string of one line and at most 200 characters, got 'a line\\nand another'
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not name.isprintable():
        raise error(
            f"a {kind} is named by a string of one line and at most {LONGEST_NAME} characters, got {shown(name)}"
        )


def check_domain(domain: Mapping[str, Any], error: type[Exception]) -> None:
    """Raise `error` unless each interval is two real numbers in order; infinite ones are no bound.

    Examples
    --------
    >>> check_domain({"p": (0, 1)}, ValueError)
    >>> check_domain({"p": (1, 0)}, ValueError)
    Traceback (most recent call last):
    ...
    ValueError: domain of p must be two numbers (low, high), low < high, got (1, 0)
    """
    check_mapping("domain", domain, error)
    for name, pair in domain.items():
        ends = real_array(f"domain of {bare(name)}", pair, error=error)
        if ends.shape != (2,) or not ends[0] < ends[1]:
            raise error(f"domain of {bare(name)} must be two numbers (low, high), low < high, got {shown(pair)}")
