"""The models that `stability`, `trajectory` and `bifurcation` know, and the options that their parameters make."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import click

from .written_numbers import flag

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
