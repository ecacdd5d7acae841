"""From TOML to a scenario, with errors in the words of the file."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics import former_names
from tcpdynamics.errors import MAX_SHOWN, ScenarioError, shown, suggestion
from tcpdynamics.quantities import numbered

from . import topologies
from .changes import PARTS, place_of
from .course import read_trace
from .drops_and_records import MAX_DROPS, Record, switched_off
from .fields import better_key, keys, read_quantities, unknown_key
from .flows import MAX_GROUPS, Flows
from .link import MAX_LINKS, Bottleneck, Link
from .reading import MAX_BYTES as MAX_BYTES
from .reading import text_of
from .scenario import Scenario

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: Keys that had another name.
_EARLIER = {(Flows, "compat"): "rules", (Flows, "think_law"): "think_distribution", (Link, "discipline"): "queue"}

#: Bounds on a scenario file: names in a dotted key, tables and lists inside one another. Python's reader of
#: TOML needs time that grows with the square of the first, and a stack as deep as the second.
MAX_DOTS = 16
MAX_DEPTH = 32
_LONGEST = {"flows": MAX_GROUPS, "drops": MAX_DROPS, "links": MAX_LINKS, "nodes": MAX_LINKS}

#: What nesting and dotted keys are made of; strings and comments are passed over, closed or not.
_TOKEN = re.compile(
    r""""{3}(?:[^\\"]|\\.|"{1,2}(?!"))*(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?"""
    r"|#[^\n]*|(?P<open>[\[{])|(?P<close>[\]}])|(?P<dot>\.)|(?P<end>[=,\n])",
    re.DOTALL,
)


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario from a TOML file; see the ready ones for the shape.

    Parameters
    ----------
    path : path of the file

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        For a file that is no ordinary file, is too large, or is not TOML, an unknown key, a unit that is not known,
        or a value out of bounds.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> load_scenario(ready_scenarios()["sub_packet"]).name
    'sub_packet'
    """
    return parse_scenario(load_table(path))


def load_table(path: str | Path) -> dict[str, Any]:
    """The nested mapping in a TOML file, unchecked but for having flows."""
    name = shown(str(path))
    try:
        text = text_of(path, "describe groups of flows with count, and networks with a topology")
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error
    table = table_of(text, name)
    _read_traces(table, Path(path).parent)
    return table


def _read_traces(table: dict[str, Any], folder: Path) -> None:
    """Put the rows of each `trace` in its place, as `changes`; it lies beside the scenario's file, nowhere else."""
    parts = [("bottleneck", [table.get("bottleneck")]), ("links", table.get("links"))]
    for key, entries in parts:
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict) or "trace" not in entry:
                continue
            name = entry.pop("trace")
            if not isinstance(name, str) or Path(name).name != name or not name.endswith(".csv"):
                raise ScenarioError(
                    f"{key}.trace must be the name of a .csv file in the folder of the scenario's, got {shown(name)}"
                )
            if "changes" in entry:
                raise ScenarioError(f"{key}.trace and {key}.changes are both given; give one")
            try:
                entry["changes"] = read_trace(folder / name, f"{key}.trace")
            except OSError as error:
                raise ScenarioError(
                    f"{key}.trace {shown(name)} cannot be read: {error.strerror or 'no such file'}"
                ) from None


def table_of(text: str, name: str = "the text") -> dict[str, Any]:
    """As `load_table`, of a text; `name` is what errors call it."""
    try:
        table = read_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name} is not TOML: {str(error)[:MAX_SHOWN]}{_quotes(text, str(error))}") from error
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error
    if "flows" not in table:
        raise ScenarioError(f"{name} has no [[flows]]; add `[[flows]]` and, in the next line, `count = 1`")
    return table


#: A number with a unit that stands without quotes.
_BARE_QUANTITY = re.compile(r"\s*([\w.]{1,60})\s*=\s*(\d[\d.]{0,30} ?[A-Za-z%µ][\w/]{0,9})\s*(#.*)?")


def _quotes(text: str, complaint: str) -> str:
    """Advice where the line that is no TOML lacks quotes around a value with a unit."""
    number = re.search(r"\(at line (\d+),", complaint)
    lines = text.splitlines()
    line = lines[int(number[1]) - 1] if number and int(number[1]) <= len(lines) else ""
    lacking = _BARE_QUANTITY.fullmatch(line)
    return f'; put values with units in quotes, such as {lacking[1]} = "{lacking[2]}"' if lacking else ""


def read_toml(text: str) -> dict[str, Any]:
    """TOML with bounds on its nesting.

    Raises
    ------
    tomllib.TOMLDecodeError
        If it is not TOML.
    ScenarioError
        If it is nested too deeply, or holds a number that Python does not read.
    """
    _check_depth(text)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # an integer of more digits than Python reads
        if "digits" in str(error):
            raise ScenarioError("a whole number has thousands of digits; write a shorter one, or such as 1e9") from None
        raise ScenarioError(f"a number cannot be read: {str(error)[:MAX_SHOWN]}") from error


def _check_depth(text: str) -> None:
    depth = dots = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "dot":
            dots += 1
        if kind in ("open", "close", "end"):
            dots = 0
        if depth > MAX_DEPTH or dots > MAX_DOTS:
            line = text.count("\n", 0, token.start()) + 1
            raise ScenarioError(
                f"line {line} is nested more than {MAX_DEPTH if depth > MAX_DEPTH else MAX_DOTS} deep; write it flatter"
            )


@cache
def _adapter() -> TypeAdapter[Scenario]:
    """Checks a scenario; to make it takes thirty times as long as to use it."""
    from pydantic import TypeAdapter

    return TypeAdapter(Scenario)


def parse_scenario(table: Mapping[str, object]) -> Scenario:
    """Build a scenario from nested mappings with units as text, such as a TOML table.

    A table `topology` with a `kind` (dumbbell, star, parking_lot, two_paths) stands for the links that the
    function of that name in `topologies` makes.

    Parameters
    ----------
    table : mapping key -> value
        Numbers in SI units, or text such as "200ms"; docs/scenarios.md lists the keys.

    Returns
    -------
    Scenario

    Raises
    ------
    ScenarioError
        An unknown key, a unit that is not known, or a value out of bounds.

    Examples
    --------
    >>> parse_scenario({"duration": "10s", "warm_up": "1s", "flows": [{"rtt": "200ms"}]}).flows[0].rtt
    0.2
    """
    from pydantic import ValidationError  # slow to import, so only here

    if not isinstance(table, Mapping):
        raise ScenarioError(f"a scenario must be a table, got {shown(table)}")
    table = dict(table)
    topology = table.pop("topology", None)
    for key, limit in _LONGEST.items():
        entries = table.get(key)
        if isinstance(entries, Sequence) and not isinstance(entries, str) and len(entries) > limit:
            raise ScenarioError(f"{key} has {len(entries):,} entries, at most {limit:,} are allowed; take count")
    plain = _plain(Scenario, table, "", "")
    for key, part in PARTS.items():
        value = plain.get(key)
        if isinstance(value, Mapping) and key in _LONGEST:
            raise ScenarioError(f"{key} is one table, and there may be several; write [[{key}]] in place of [{key}]")
        if isinstance(value, Mapping):
            plain[key] = _plain(part, value, f"{key}.", f"{key}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            plain[key] = tuple(
                _plain(part, v, f"{key}.{i}." if len(value) > 1 else f"{key}.", f"{key}.{i}.")
                if isinstance(v, Mapping)
                else v
                for i, v in enumerate(value)
            )
    if topology is not None:
        if "links" in plain:
            raise ScenarioError("topology and links are both given; give one")
        plain["links"] = _topology(topology)
    try:
        return _adapter().validate_python(plain)
    except ValidationError as error:
        raise _explain(error.errors(include_url=False)[0], plain) from error


def _topology(table: Any) -> tuple[Link, ...]:
    if not isinstance(table, Mapping):
        raise ScenarioError(f"topology must be a table with a kind, got {shown(table)}")
    table = dict(table)
    kind = table.pop("kind", None)
    if not isinstance(kind, str) or kind not in topologies.KINDS:
        close = suggestion(kind, topologies.KINDS) if isinstance(kind, str) else ""
        raise ScenarioError(f"topology.kind must be one of {', '.join(topologies.KINDS)}, got {shown(kind)}{close}")
    make = topologies.KINDS[kind]
    keys = inspect.signature(make).parameters
    for key in table:
        if key not in keys:
            close = suggestion(str(key), keys)
            raise ScenarioError(f"unknown key topology.{_short(key)}{close}; {kind} knows {', '.join(keys)}")
    for key, argument in keys.items():
        if key not in table and argument.default is argument.empty:
            raise ScenarioError(f"topology.{key} is missing; a topology of kind {kind} cannot do without")
    try:
        return make(**table)
    except TypeError as error:
        raise ScenarioError(f"topology of kind {kind}: {str(error)[:MAX_SHOWN]}") from error


def _plain(part: type, table: Mapping[str, Any], prefix: str, place: str) -> dict[str, Any]:
    """Texts with units become numbers, booleans where numbers belong are refused, lists become tuples.

    `prefix` is for messages about a value, `place` says where an unknown key is.
    """
    about_keys = dict(keys(part))
    plain: dict[str, Any] = {}
    for key, value in table.items():
        if (part, key) in _EARLIER:
            former_names.warn_of_key(place + key, place + _EARLIER[part, key])
            key = _EARLIER[part, key]
        if key == "trace" and "changes" in about_keys:
            raise ScenarioError(
                f"{place}trace is read for a scenario's file on disk only; give its rows as {place}changes"
            )
        if part is Bottleneck and key in ("router", "router_parameters"):
            raise ScenarioError(
                f"{place}{key}: acknowledgements do not come back over a bottleneck; describe the network by links"
            )
        if key not in about_keys:
            raise unknown_key(place + _short(key), str(key), part, place_of(str(key)))
        unit, truth = about_keys[key]["unit"], about_keys[key]["truth"]
        several = isinstance(value, Sequence) and not isinstance(value, str)
        if truth and value is not None and not isinstance(value, bool):
            raise ScenarioError(f"{prefix}{key} must be true or false, got {shown(value)}")
        if not truth and (isinstance(value, bool) or (several and any(isinstance(v, bool) for v in value))):
            raise ScenarioError(f"{prefix}{key} must be a number or text, got {shown(value)}")
        if part is Record and switched_off(key, value):
            value = None
        elif unit and not (key == "epoch" and value == "auto") and value is not None and not isinstance(value, Mapping):
            value = read_quantities(value, unit, prefix + key)
        elif several:
            value = tuple(value)
        plain[key] = value
    return plain


#: What a value must be, by how pydantic's name of its complaint begins.
_KINDS = {
    "int": "a whole number", "float": "a number", "string": "text", "bool": "true or false", "tuple": "a list",
    "dict": "a table", "finite_number": "a finite number",
}  # fmt: skip
#: Where a value may be of several kinds, pydantic adds the kind to its place.
_BRANCH = re.compile(r"(float|int|str|bool|(tuple|dict|literal|nullable)\[.*)")


def _explain(error: Any, plain: Mapping[str, Any]) -> ScenarioError:
    """One sentence from pydantic's first complaint about the mappings in `plain`."""
    parts = [part for part in error["loc"] if not _BRANCH.fullmatch(str(part))]
    place = ".".join(_short(part) for part in parts)[:MAX_SHOWN]
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        refusal = ScenarioError(str(message))
        place_of: tuple[Any, ...] = (*tuple(error["loc"]), None, None)
        key, index = place_of[:2]
        # Links are told by their names.
        several = key in ("flows", "drops") and isinstance(index, int)
        return numbered(refusal, key, index, len(plain[key])) if several else refusal
    if error["type"] == "missing":
        return ScenarioError(f"{place} is missing; give it")
    kind = next((words for start, words in _KINDS.items() if error["type"].startswith(start)), None)
    if kind is not None:
        part, key = PARTS.get(str(parts[0]), Scenario), str(parts[-1])
        return ScenarioError(
            f"{place} must be {kind}, got {shown(error['input'])}{better_key(part, key, error['input'])}"
        )
    return ScenarioError(f"{place}: {message[:MAX_SHOWN]}, got {shown(error['input'])}")


def _short(key: object) -> str:
    """A key for a message: as it stands, or as `shown` where it is long or cannot be printed."""
    text = str(key) if isinstance(key, str | int) else ""
    return text if text and len(text) <= 60 and text.isprintable() else shown(key, 60)


def ready_scenarios() -> dict[str, Path]:
    """The scenarios that come with the package: name -> path of its TOML file.

    Returns
    -------
    dict, in the order of the names

    Examples
    --------
    >>> {"mixed_rtt", "sub_packet"} <= set(ready_scenarios())
    True
    """
    folder = Path(str(resources.files("tcpdynamics.validation.packet.scenario") / "ready"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
