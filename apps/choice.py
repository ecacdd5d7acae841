"""From words to a model: which models there are, and their parameters as numbers or ranges."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.errors import shown
from tcpdynamics.quantities import (
    MAX_POINTS,
    check_packet_size,
    check_points,
    count_values,
    flag,
    only_number,
    read_numbers,
)

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


#: Views that give equations, in the order in which the first one is taken.
VIEWS = ("dde", "ode", "map", "rate_ode", "ack_map", "cut_map", "growth")

#: What no option is made of: initial values are given by --start.
_LEFT_OUT = ("start",)

#: Fields that shape the equations and hold several numbers at once.
SEVERAL = {
    "delays": ("whole numbers of intervals, one for each share of the window", int),
    "shares": ("what arrives after each of --delays; they sum to one", float),
}


@dataclass(frozen=True)
class Family:
    """Readings of one law, each a class of its own.

    Attributes
    ----------
    about : str
    readings : mapping reading -> class in `tcpdynamics.models`
    plain : str
        The reading where none is asked for.
    late : mapping reading -> reading
        What stands in for a reading where --delay is given; "" for the default.
    """

    about: str
    readings: dict[str, str]
    plain: str
    late: dict[str, str] = field(default_factory=dict)


FAMILIES = {
    "logistic": Family(
        "One flow under logistic control.",
        {
            "continuous": "Logistic",
            "delayed": "LogisticDelayed",
            "map": "LogisticMap",
            "held": "LogisticAckClocked",
        },
        "continuous",
        {"": "delayed"},
    ),
    "lotka-volterra": Family(
        "Flows that share a link under Lotka-Volterra control.",
        {
            "windows": "LotkaVolterraWindows",
            "link": "LotkaVolterraLink",
            "throughput": "LotkaVolterraThroughput",
            "delayed": "LotkaVolterraDelayed",
            "cross-delayed": "LotkaVolterraCrossDelayed",
            "map": "LotkaVolterraMap",
            "held": "LotkaVolterraHeld",
            "stale": "LotkaVolterraStale",
            "errors": "LotkaVolterraErrors",
            "queue": "LotkaVolterraQueue",
        },
        "windows",
        {"": "delayed"},
    ),
    "t-refwa": Family(
        "T-REFWA's aggregate recursion.",
        {
            "window": "TRefwaWindow",
            "delayed": "TRefwaDelayed",
            "mixed": "TRefwaMixed",
            "measured": "TRefwaMeasured",
            "measured-rtt": "TRefwaMeasuredRtt",
            "biased": "TRefwaBiased",
            "integrating": "TRefwaIntegrating",
            "integrating-delayed": "TRefwaIntegratingDelayed",
            "semi-implicit": "TRefwaIntegratingSemiImplicit",
            "continuous": "TRefwaContinuous",
            "queue-delayed": "TRefwaQueueDelayed",
        },
        "window",
        {"": "delayed", "integrating": "integrating-delayed"},
    ),
    "fluid-tcp": Family(
        "TCP windows and a queue as fluids.",
        {"drop-tail": "FluidTcpDropTail", "red": "FluidTcpRed", "proportional": "FluidTcpProportional"},
        "drop-tail",
    ),
}


def kebab(name: str) -> str:
    """A class's name as a word of the command line.

    >>> kebab("TRefwaWindow"), kebab("HighSpeedTcp")
    ('t-refwa-window', 'high-speed-tcp')
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def classes() -> dict[str, type[Any]]:
    """All models with equations of motion, by their name on the command line."""
    from tcpdynamics import models

    found = {}
    for name, cls in vars(models).items():
        if dataclasses.is_dataclass(cls) and isinstance(cls, type) and views_of(cls):
            found[kebab(name)] = cls
    return found


def views_of(cls: type[Any]) -> list[str]:
    """The views that give equations, the default one first."""
    return [v for v in VIEWS if callable(getattr(cls, v, None))]


def names() -> list[str]:
    """Families first, then classes."""
    return [*FAMILIES, *sorted(set(classes()) - set(FAMILIES))]


def candidates(name: str) -> dict[str, type[Any]]:
    """Reading -> class of a family; a class alone has the reading "". Empty if there is no such model."""
    from tcpdynamics import models

    if name in FAMILIES:
        return {r: getattr(models, c) for r, c in FAMILIES[name].readings.items()}
    known = classes()
    found = known.get(name) or known.get(f"{name}-tcp")
    return {} if found is None else {"": found}


def reading_of(name: str, reading: str | None, delayed: bool) -> str:
    """The reading that is meant, where --delay may choose one."""
    if name not in FAMILIES:
        return ""
    family = FAMILIES[name]
    if delayed and (reading or "") in family.late:
        return family.late[reading or ""]
    return reading or family.plain


class ModelGroup(click.Group):
    """A group with a command for each model, made when it is asked for."""

    def __init__(self, *args: Any, build: Callable[[str], click.Command], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.build = build

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Families first."""
        return names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a model."""
        return self.build(cmd_name) if candidates(cmd_name) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the models named where there is no such one."""
        if args and not args[0].startswith("-") and not candidates(args[0]):
            raise click.UsageError(
                f"there is no model {args[0]!r}; there are {', '.join(FAMILIES)}, and those that "
                f"`tcpdynamics {ctx.info_name} --help` lists"
            )
        return super().resolve_command(ctx, args)


def about(name: str) -> str:
    """First line of a model's help."""
    if name in FAMILIES:
        return FAMILIES[name].about
    (cls,) = candidates(name).values()
    return (cls.__doc__ or "").strip().partition("\n")[0]


def options(name: str) -> list[click.Parameter]:
    """--reading, --view and an option for each parameter of the model."""
    found = candidates(name)
    made: list[click.Parameter] = []
    if name in FAMILIES:
        family = FAMILIES[name]
        with_delay = f"; {family.late['']} with --delay" if "" in family.late else ""
        text = f"Which reading of the law.  [default: {family.plain}{with_delay}]"
        made.append(click.Option(["--reading"], type=click.Choice(list(found)), help=text))
    views = list(dict.fromkeys(v for cls in found.values() for v in views_of(cls)))
    if any(len(views_of(cls)) > 1 for cls in found.values()):
        choice = click.Choice([v.replace("_", "-") for v in views])
        made.append(click.Option(["--view"], type=choice, help="Which equations, where a model has several."))
    return [*made, *_parameter_options(found)]


def _parameter_options(found: dict[str, type[Any]]) -> list[click.Parameter]:
    from tcpdynamics.models.parameters import describe

    told: dict[str, dict[str, Any]] = {}
    owners: dict[str, list[str]] = {}
    for reading, cls in found.items():
        for row in describe(cls):
            if row["name"] not in _LEFT_OUT:
                told.setdefault(row["name"], row)
                owners.setdefault(row["name"], []).append(reading)
        for name in SEVERAL:
            if name in cls.__dataclass_fields__:
                owners.setdefault(name, []).append(reading)
    made: list[click.Parameter] = []
    for name, row in told.items():
        text = _help(row) + _only(owners[name], found)
        made.append(click.Option([flag(name)], multiple=True, metavar="RANGE", help=text))
    for name, (text, _) in SEVERAL.items():
        if name in owners:
            text = text[0].upper() + text[1:] + "." + _only(owners[name], found)
            made.append(click.Option([flag(name)], metavar="LIST", help=text))
    if any(row["unit"] == "packet/s" for row in told.values()):
        text = "Turns bit rates such as 1Mbit/s into packets per second, such as 1500B."
        made.append(click.Option(["--packet-size"], metavar="SIZE", help=text))
    return made


def _help(row: dict[str, Any]) -> str:
    unit = "" if row["unit"] == "1" else f" [{row['unit']}]"
    meaning = row["meaning"][0].upper() + row["meaning"][1:]
    default = row["default"]
    if row["required"]:
        end = "  [required]"
    else:
        end = "" if default is None else f"  [default: {default:g}]"
    return f"{meaning}{unit}, in {row['interval']}.{end}"


def _only(owners: Sequence[str], found: dict[str, type[Any]]) -> str:
    """Which readings have it, if not all."""
    if len(owners) == len(found):
        return ""
    return f"  (only {', '.join(owners)})"


#: States that one command updates, step by step of a map: a minute or so.
MAX_UPDATES = 2_000_000_000

#: Points of a store that are solved before the first are kept.
_BLOCK = 10_000

#: Flows with equations of their own.
MAX_FLOWS = 300

#: Points of a sweep that goes to a store block by block.
MAX_STORED = 100_000_000


@dataclass(frozen=True)
class Chosen:
    """A model as the options describe it.

    Attributes
    ----------
    name, reading : str
        As on the command line; no reading for a class that was named itself.
    model : a model
        At the values that lie inside their domains.
    problem : its equations
    whole : bool
        Whether `problem` is the model's default view, so that its closed forms hold for it.
    swept : mapping parameter -> all values, those at an excluded end of their domain too
    outside : mapping parameter -> values left out
    """

    name: str
    reading: str
    model: Any
    problem: Any
    whole: bool
    swept: dict[str, Array] = field(default_factory=dict)
    outside: dict[str, list[float]] = field(default_factory=dict)

    @property
    def target(self) -> Any:
        """What a solver takes: the model, so that it sees the closed forms, or the equations alone."""
        return self.model if self.whole else self.problem

    @property
    def points(self) -> int:
        """Points of the grid, those left out included."""
        return math.prod(len(v) for v in self.swept.values())


def check_steps(chosen: Chosen, steps: float, options: str, stores: bool = False) -> None:
    """Refuse more steps of a map than one command should take, before anything is computed."""
    states = len(chosen.problem.labels)
    points = min(chosen.points, _BLOCK) if stores else chosen.points
    if steps * points * states > MAX_UPDATES:
        raise click.UsageError(
            f"{steps:,.0f} steps of {states:,} state{'s' * (states > 1)} at {points:,} point{'s' * (points > 1)} are "
            f"{steps * points * states:.3g} updates, at most {MAX_UPDATES:.0e} are allowed here; use a smaller "
            f"{options} or fewer points"
        )


def choose(name: str, options: Mapping[str, Any], *, most: int = MAX_POINTS) -> Chosen:
    """Build the model that the options describe.

    Parameters
    ----------
    name : str, of a family or a class
    options : mapping
        "reading", "view", "packet_size", and each parameter with the texts given for it.
    most : int
        Points that the grid may have.

    Raises
    ------
    click.UsageError
        Names the option, the value and the bound.
    """
    from tcpdynamics.models.parameters import describe
    from tcpdynamics.solvers import DomainError, DynamicsError

    if options.get("packet_size"):
        check_packet_size(options["packet_size"])
    found = candidates(name)
    reading = reading_of(name, options.get("reading"), bool(options.get("delay")))
    cls = found[reading]
    rows = {row["name"]: row for row in describe(cls)}
    given, swept = _given(name, reading, cls, rows, options, most)
    _require(rows, {**given, **swept})
    _check_flows(cls, given)
    check_points({k: len(v) for k, v in swept.items()}, most)
    outside = {}
    for key, values in swept.items():
        given[key], outside[key] = _inside(values, rows[key])
    try:
        model = cls(**given)
        view = _view(cls, options.get("view"))
        problem = getattr(model, view)()
    except (DomainError, DynamicsError) as error:
        raise click.UsageError(_as_option(str(error), rows)) from None
    whole = view == views_of(cls)[0]
    return Chosen(name, reading, model, problem, whole, swept, {k: v for k, v in outside.items() if v})


def _given(
    name: str,
    reading: str,
    cls: type[Any],
    rows: Mapping[str, dict[str, Any]],
    options: Mapping[str, Any],
    most: int,
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Single values by parameter, and those of ranges."""
    import numpy as np

    sizes = {
        key: count_values(options[key][0])
        for key in cls.__dataclass_fields__
        if key in options and key not in SEVERAL and len(options[key] or ()) == 1
    }
    check_points({key: n for key, n in sizes.items() if 1 < n <= most}, most)
    given: dict[str, Any] = {}
    swept: dict[str, Array] = {}
    for key in {k for c in candidates(name).values() for k in c.__dataclass_fields__} & set(options):
        texts = options[key]
        if not texts or key == "start":
            continue
        if key not in cls.__dataclass_fields__:
            if reading == "mixed" and key == "delay":
                given.setdefault("delays", _up_to(texts))
            else:
                _refuse_foreign(name, reading, key, texts)
        elif key in SEVERAL:
            given[key] = _tuple(key, texts)
        else:
            value = _parameter(rows[key], texts, options, cls, most)
            if isinstance(value, list):
                swept[key] = np.asarray(value)
            else:
                given[key] = value
    in_order = [k for k in rows if k in swept]
    return given, {k: swept[k] for k in in_order}


def _inside(values: Array, row: Mapping[str, Any]) -> tuple[Array, list[float]]:
    """Without the excluded ends of the domain, at which people let ranges begin, and those ends."""
    import numpy as np

    ends = [row[end] for end in ("low", "high") if row[end] is not None and row[f"{end}_open"]]
    out = np.isin(values, ends)
    return (values, []) if out.all() else (values[~out], values[out].tolist())


def _parameter(
    row: dict[str, Any], texts: Sequence[str], options: Mapping[str, Any], cls: type[Any], most: int
) -> Any:
    """The value of one parameter: a number, a value for each flow, or the list of a range."""
    option = flag(row["name"])
    rtt = cls.__dataclass_fields__.get("base_rtt")
    # Without a base round-trip time, rates are packets per round trip: a bit rate cannot be converted.
    in_seconds = rtt is None or rtt.default is not None or bool(options.get("base_rtt"))
    size = options.get("packet_size") if in_seconds else ""
    if len(texts) > 1:
        return _each_flow(option, texts, row, cls, size)
    values = read_numbers(option, texts[0], row["unit"], most, size)
    if len(values) == 1:
        return int(values[0]) if row["integer"] and values[0] == int(values[0]) else values[0]
    if len(set(values)) < len(values):
        twice = next(v for v in values if values.count(v) > 1)
        raise click.UsageError(f"{option} gives {twice:g} more than once; give each value once")
    return values


def _each_flow(
    option: str, texts: Sequence[str], row: dict[str, Any], cls: type[Any], size: str | None
) -> xr.DataArray:
    """An option that was repeated: a value for each flow."""
    from tcpdynamics.models import per_flow

    if not hasattr(cls, "_each") or row["integer"]:
        raise click.UsageError(f"{option} was given {len(texts)} times; give a range or a comma list")
    each = [read_numbers(option, text, row["unit"], 1, size) for text in texts]
    return per_flow([x for (x,) in each])


def _tuple(name: str, text: str) -> tuple[Any, ...]:
    values = read_numbers(flag(name), text)
    kind = SEVERAL[name][1]
    if kind is int and any(v != int(v) for v in values):
        raise click.UsageError(f"{flag(name)} takes whole numbers, got {shown(text)}")
    return tuple(kind(v) for v in values)


def _up_to(texts: Sequence[str]) -> tuple[int, ...]:
    """Delays 0, 1, ..., d, for a mix of all of them."""
    d = only_number("--delay", texts[-1])
    if d != int(d) or not 0 <= d <= 1000:
        raise click.UsageError(
            f"--delay must be a whole number in [0, 1000] for --reading mixed (0, 1, ..., d intervals in equal "
            f"shares), got {shown(texts[-1])}; --delays and --shares give any mix"
        )
    return tuple(range(int(d) + 1))


def _refuse_foreign(name: str, reading: str, key: str, texts: Sequence[str]) -> None:
    """An option of other readings; one delay that a reading does not have is worth a note only."""
    owners = ", ".join(r for r, c in candidates(name).items() if key in c.__dataclass_fields__)
    if key != "delay":
        raise click.UsageError(f"{flag(key)} belongs to --reading {owners}, not to {reading}")
    only_number("--delay", texts[-1])
    text = f"--reading {reading} has no delay, so --delay changes nothing; {owners} have one"
    click.echo(f"Note: {text}", err=True)


def _require(rows: Mapping[str, dict[str, Any]], given: Mapping[str, Any]) -> None:
    missing = [flag(k) for k, row in rows.items() if row["required"] and k not in given]
    if missing:
        raise click.UsageError(f"Missing option{'s' * (len(missing) > 1)} {', '.join(missing)}")


def _check_flows(cls: type[Any], given: Mapping[str, Any]) -> None:
    """Each flow of these models has equations of its own, and their spectra are dense."""
    flows = given.get("flows")
    if hasattr(cls, "_each") and isinstance(flows, int | float) and flows > MAX_FLOWS:
        raise click.UsageError(
            f"--flows must be at most {MAX_FLOWS} for {cls.__name__}, whose flows have equations of their own, got "
            f"{flows:,g}; use fewer flows"
        )


def _view(cls: type[Any], view: str | None) -> str:
    have = views_of(cls)
    if view is None:
        return have[0]
    wanted = view.replace("-", "_")
    if wanted not in have or wanted not in VIEWS:
        listed = ", ".join(v.replace("_", "-") for v in have)
        raise click.UsageError(f"--view {shown(view)} is not a view of {cls.__name__}; it has {listed}")
    return wanted


def _as_option(message: str, rows: Mapping[str, Any]) -> str:
    """A model's complaint with the option in the place of the field."""
    name, _, rest = message.partition(" ")
    return f"{flag(name)} {rest}" if name in rows else message
