"""From words to a model: which models there are, and their parameters as numbers or ranges.

This file knows neither click nor Dash. A refusal is an InputError that names parameters between backticks, such as
`w_max`; the command puts an option in their place, a page the label of a slider.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tcpdynamics import quantities
from tcpdynamics.errors import DomainError, DynamicsError, InputError, LimitError, ScenarioError, shown

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

    from tcpdynamics.models.model import Model

    Array = NDArray[np.float64]


#: Views that give equations of motion, in the order in which the first one is taken.
MOTION = ("dde", "ode", "map", "rate_ode", "ack_map", "cut_map", "growth")

#: The view that gives a Markov chain.
CHAIN = ("chain",)

#: The view that gives a table of closed forms.
FORMS = ("closed_forms",)

#: Fields that shape the equations and hold several numbers at once.
SEVERAL: dict[str, tuple[str, Callable[[float], float]]] = {
    "delays": ("whole numbers of intervals, one for each fraction of the window", int),
    "fractions": ("what arrives after each of the delays; they sum to one", float),
}

#: Fields that are true or false.
SWITCHES = {
    "early_retransmit": "windows of 2 and 3 repair one loss too (RFC 5827)",
    "suffix_losses": "a drop also drops all later packets of the same window",
    "delayed_acks": "the receiver acknowledges every second segment",
    "limited_transmit": "a new segment for each of the first two duplicates (RFC 3042)",
    "leap": "LEAP: a timeout without duplicates sends a new segment instead of the one that timed out",
}

#: Fields that are one of a few words.
WORDS = {
    "sender": ("which sender", ("tahoe", "reno", "newreno", "sack")),
    "rules": ("rule book of the sender: ns-2.35's, or that of the RFCs", ("ns2", "rfc")),
}

#: States that one command updates, step by step of a map: a minute or so.
MAX_UPDATES = 2_000_000_000

#: Points of a store that are solved before the first are kept.
_BLOCK = 10_000

#: Flows with equations of their own.
MAX_FLOWS = 300

#: Points of a sweep that goes to a store block by block.
MAX_STORED = 100_000_000


@dataclass(frozen=True)
class Family:
    """Readings of one law, each a class of its own.

    Attributes
    ----------
    about : str
    readings : mapping reading -> class in `tcpdynamics.models`
    default : str
        The reading where none is asked for.
    delayed : mapping reading -> reading
        What stands in for a reading where a delay is asked for; "" for the default.
    views : tuple of str
        MOTION or CHAIN.
    """

    about: str
    readings: dict[str, str]
    default: str
    delayed: dict[str, str] = field(default_factory=dict)
    views: tuple[str, ...] = MOTION


FAMILIES = {
    "sub-packet": Family(
        "TCP at high loss: packets sent per round-trip time.",
        {
            "approximate": "SubPacketApproximate",
            "full": "SubPacketFull",
            "fresh": "SubPacketFresh",
            "levels": "SubPacketLevels",
            "exact": "SubPacketExact",
        },
        "full",
        views=CHAIN,
    ),
    "logistic": Family(
        "One flow under logistic control.",
        {"continuous": "Logistic", "delayed": "LogisticDelayed", "map": "LogisticMap", "held": "LogisticAckClocked"},
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
    """A class's name as a word.

    >>> kebab("TRefwaWindow"), kebab("HighSpeedTcp")
    ('t-refwa-window', 'high-speed-tcp')
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def classes(views: Sequence[str] = MOTION) -> dict[str, type[Model]]:
    """All models that have one of these views, by their name in words."""
    import tcpdynamics.models as models
    from tcpdynamics.models.model import Model

    by_name = {
        kebab(name): cls
        for name, cls in vars(models).items()
        if isinstance(cls, type) and issubclass(cls, Model) and views_of(cls, views)
    }
    if views == CHAIN:  # compiled from the packet simulator, so that it lives beside it
        from tcpdynamics.validation.sender_chain.model import Sender

        by_name["sender"] = Sender
    return by_name


def families(views: Sequence[str] = MOTION) -> list[str]:
    """The names of the families whose readings have these views."""
    return [name for name, family in FAMILIES.items() if family.views == views]


def views_of(cls: type[Model], views: Sequence[str] = MOTION) -> list[str]:
    """The views that a model has, the default one first."""
    return [v for v in views if callable(getattr(cls, v, None))]


def names(views: Sequence[str] = MOTION) -> list[str]:
    """Families first, then classes."""
    return [*families(views), *sorted(set(classes(views)) - set(FAMILIES))]


def candidates(name: str, views: Sequence[str] = MOTION) -> dict[str, type[Model]]:
    """Reading -> class of a family; a class alone has the reading "". Empty if there is no such model."""
    import tcpdynamics.models as models

    if name in families(views):
        return {r: getattr(models, c) for r, c in FAMILIES[name].readings.items()}
    by_name = classes(views)
    cls = by_name.get(name) or by_name.get(f"{name}-tcp")
    return {} if cls is None else {"": cls}


def reading_of(name: str, reading: str | None, delayed: bool) -> str:
    """The reading that is meant, where a delay may choose one."""
    if name not in FAMILIES:
        return ""
    family = FAMILIES[name]
    if delayed and (reading or "") in family.delayed:
        return family.delayed[reading or ""]
    return reading or family.default


def summary(name: str, views: Sequence[str] = MOTION) -> str:
    """What a model is, in one line."""
    if name in FAMILIES:
        return FAMILIES[name].about
    (cls,) = candidates(name, views).values()
    return (cls.__doc__ or "").strip().partition("\n")[0]


@dataclass(frozen=True)
class Entry:
    """Something that can be said of a model: an option of a command, or a field of a form.

    Attributes
    ----------
    name : str
    kind : str
        "numbers" (one, a range, or one for each flow), "list", "switch", "choice" or "size".
    about : str
        One sentence, and the default where there is one.
    choices : tuple of str
    """

    name: str
    kind: str
    about: str
    choices: tuple[str, ...] = ()


def entries(name: str, views: Sequence[str] = MOTION) -> list[Entry]:
    """What can be said of a model: its reading, its view and its parameters."""
    models = candidates(name, views)
    choices: list[Entry] = []
    if name in FAMILIES:
        family = FAMILIES[name]
        with_delay = f"; {family.delayed['']} with a delay" if "" in family.delayed else ""
        about = f"Which interpretation of the equations.  [default: {family.default}{with_delay}]"
        choices.append(Entry("reading", "choice", about, tuple(models)))
    if any(len(views_of(cls, views)) > 1 for cls in models.values()):
        every = dict.fromkeys(v.replace("_", "-") for cls in models.values() for v in views_of(cls, views))
        choices.append(Entry("view", "choice", "Which equations, where a model has several.", tuple(every)))
    return [*choices, *_parameter_entries(models)]


def _parameter_entries(models: dict[str, type[Model]]) -> list[Entry]:
    from tcpdynamics.models.parameters import describe

    rows: dict[str, dict[str, Any]] = {}
    intervals: dict[str, dict[str, None]] = {}
    owners: dict[str, list[str]] = {}
    for reading, cls in models.items():
        for row in describe(cls):
            if row["name"] != "start":  # initial values are words of their own
                rows.setdefault(row["name"], row)
                intervals.setdefault(row["name"], {})[row["interval"]] = None
                owners.setdefault(row["name"], []).append(reading)
        for name in (*SEVERAL, *SWITCHES, *WORDS):
            if name in cls.__dataclass_fields__:
                owners.setdefault(name, []).append(reading)

    def sentence(name: str, text: str) -> str:
        only = "" if len(owners[name]) == len(models) else f"  (only {', '.join(owners[name])})"
        return text[0].upper() + text[1:] + only

    result = [
        Entry(name, "choice", sentence(name, f"{about}.  [default: {_default(models, name)}]"), choices)
        for name, (about, choices) in WORDS.items()
        if name in owners
    ]
    result += [
        Entry(name, "numbers", sentence(name, _meaning(row, " or ".join(intervals[name]))))
        for name, row in rows.items()
    ]
    lists = {name: text for name, (text, _) in SEVERAL.items()}
    for kind, texts in (("list", lists), ("switch", SWITCHES)):
        result += [Entry(n, kind, sentence(n, f"{text}.")) for n, text in texts.items() if n in owners]
    if any(row["unit"] == "packet/s" for row in rows.values()):
        about = "Turns bit rates such as 1Mbit/s into packets per second, such as 1500B."
        result.append(Entry("packet_size", "size", about))
    return result


def _default(models: Mapping[str, type[Model]], name: str) -> Any:
    fields = next(c.__dataclass_fields__ for c in models.values() if name in c.__dataclass_fields__)
    return fields[name].default


def _meaning(row: Mapping[str, Any], interval: str) -> str:
    unit = "" if row["unit"] == "1" else f" [{row['unit']}]"
    if row["required"]:
        end = "  [required]"
    else:
        end = "" if row["default"] is None else f"  [default: {row['default']:g}]"
    return f"{row['meaning']}{unit}, in {interval}.{end}"


@dataclass(frozen=True)
class Chosen:
    """A model as the words describe it.

    Attributes
    ----------
    name, reading : str
        No reading for a class that was named itself.
    model : a model
        At the values that lie inside their domains.
    view : callable
        Makes `problem`.
    whole : bool
        Whether `problem` is the model's default view, so that its closed forms hold for it.
    swept : mapping parameter -> all values, those at an excluded end of their domain too
    outside : mapping parameter -> values left out
    notes : tuple of str
        What the user should know.
    """

    name: str
    reading: str
    model: Any
    view: Callable[[], Any]
    whole: bool
    swept: dict[str, Array] = field(default_factory=dict)
    outside: dict[str, list[float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def problem(self) -> Any:
        """Its equations, or its chain."""
        return self.view()

    @property
    def target(self) -> Any:
        """What a solver takes: the model, so that it sees the closed forms, or the equations alone."""
        return self.model if self.whole else self.problem

    @property
    def points(self) -> int:
        """Points of the grid, those left out included."""
        return math.prod(len(v) for v in self.swept.values())


def check_steps(chosen: Chosen, steps: float, advice: str, stores: bool = False) -> None:
    """Refuse more steps of a map than one request should take, before anything is computed."""
    states = len(chosen.problem.labels)
    points = min(chosen.points, _BLOCK) if stores else chosen.points
    if steps * points * states > MAX_UPDATES:
        raise LimitError(
            f"{steps:,.0f} steps of {states:,} state{'s' * (states > 1)} at {points:,} point{'s' * (points > 1)} are "
            f"{steps * points * states:.3g} updates, at most {MAX_UPDATES:.0e} are allowed here; use a smaller "
            f"{advice} or fewer points"
        )


def choose(
    name: str,
    texts: Mapping[str, Any],
    *,
    views: tuple[str, ...] = MOTION,
    most: int = quantities.MAX_POINTS,
    exact: bool = False,
) -> Chosen:
    """Build the model that words describe.

    Parameters
    ----------
    name : str, of a family or a class
    texts : mapping
        "reading", "view", "packet_size", and each parameter with the texts for it. Words that no model of this name
        has are ignored.
    views : MOTION or CHAIN
        Chains keep single numbers as fractions, and sweep the parameters that have no default.
    most : int
        Points that the grid may have.
    exact : bool
        Fractions in ranges, too.

    Raises
    ------
    InputError
        Names the parameter between backticks, the value and the bound.

    Examples
    --------
    >>> chosen = choose("logistic", {"epsilon": ["0.5:1.5:3"], "delay": ["0.1"]})
    >>> type(chosen.model).__name__, chosen.swept["epsilon"].tolist()
    ('LogisticDelayed', [0.5, 1.0, 1.5])
    """
    if texts.get("packet_size"):
        quantities.check_packet_size(texts["packet_size"])
    reading = reading_of(name, texts.get("reading"), bool(texts.get("delay")))
    words = _Words(name, reading, candidates(name, views)[reading], texts, views, most, exact)
    values, swept, notes = words.read()
    words.check_complete({**values, **swept})
    quantities.check_points({k: len(v) for k, v in swept.items()}, most)
    outside = {}
    for key, array in swept.items():
        values[key], outside[key] = (array, []) if views == CHAIN else _inside(array, words.rows[key])
    view, outside = words.view(), {k: v for k, v in outside.items() if v}
    is_first_view = view == views_of(words.cls, views)[0]
    try:
        model = words.cls(**values)
        chosen = Chosen(name, reading, model, getattr(model, view), is_first_view, swept, outside, tuple(notes))
        if not hasattr(model, "structure"):  # whose chain may not be needed
            _ = chosen.problem
    except (DomainError, DynamicsError, ScenarioError) as error:
        parameter, _, reason = str(error).partition(" ")
        if "%" in str(texts.get(parameter)):
            reason = reason.removesuffix("; a percentage? divide by 100")  # it was one
        raise InputError(f"`{parameter}` {reason}" if parameter in words.rows else str(error)) from None
    return chosen


def _inside(values: Array, row: Mapping[str, Any]) -> tuple[Array, list[float]]:
    """Without the excluded ends of the domain, at which people let ranges begin, and those ends."""
    import numpy as np

    ends = [row[end] for end in ("low", "high") if row[end] is not None and row[f"{end}_open"]]
    out = np.isin(values, ends)
    return (values, []) if out.all() else (values[~out], values[out].tolist())


@dataclass(frozen=True)
class _Words:
    """The words for one model."""

    name: str
    reading: str
    cls: type[Model]
    texts: Mapping[str, Any]
    views: tuple[str, ...]
    most: int
    exact: bool
    rows: dict[str, dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        from tcpdynamics.models.parameters import describe

        object.__setattr__(self, "rows", {row["name"]: row for row in describe(self.cls)})

    def read(self) -> tuple[dict[str, Any], dict[str, Array], list[str]]:
        """Single values by parameter, those of ranges, and notes."""
        import numpy as np

        fields = self.cls.__dataclass_fields__
        single = [k for k in fields if k in self.rows and len(self.texts.get(k) or ()) == 1]
        sizes = {k: quantities.count_values(self.texts[k][0]) for k in single}
        quantities.check_points({k: n for k, n in sizes.items() if 1 < n <= self.most}, self.most)
        values: dict[str, Any] = {}
        swept: dict[str, Array] = {}
        notes: list[str] = []
        every = {k for c in candidates(self.name, self.views).values() for k in c.__dataclass_fields__}
        for key in sorted(every & set(self.texts)):
            texts = self.texts[key]
            if not texts or key == "start":
                continue
            if key not in fields:
                if self.reading == "mixed" and key == "delay":
                    values.setdefault("delays", _up_to(texts[-1]))
                else:
                    notes += self._foreign(key, texts)
            elif key in SWITCHES:
                values[key] = True
            elif key in WORDS:
                values[key] = texts
            elif key in SEVERAL:
                values[key] = _tuple(key, texts)
            else:
                value = self._parameter(self.rows[key], texts)
                if isinstance(value, list):
                    swept[key] = np.asarray(value)
                else:
                    values[key] = value
        return values, {k: swept[k] for k in self.rows if k in swept}, notes

    def _parameter(self, row: Mapping[str, Any], texts: Sequence[str]) -> Any:
        """The value of one parameter: a number, a value for each flow, or the list of a range."""
        label = f"`{row['name']}`"
        rtt = self.cls.__dataclass_fields__.get("base_rtt")
        # Without a base round-trip time, rates are packets per round trip: a bit rate cannot be converted.
        in_seconds = rtt is None or rtt.default is not None or bool(self.texts.get("base_rtt"))
        size = self.texts.get("packet_size") if in_seconds else ""
        if len(texts) > 1:
            return self._each_flow(row, texts, size)
        chain, one = self.views == CHAIN, quantities.count_values(texts[0]) == 1
        parse: Callable[[str, int], list[Any]] = (
            quantities.parse_range if chain and (one or self.exact) else quantities.parse_floats
        )
        values = quantities.read_numbers(label, texts[0], row["unit"], self.most, size, parse)
        if chain and row["required"]:
            return values if self.exact else [float(v) for v in values]
        if len(values) == 1:
            integral = (chain or row["integer"]) and values[0] == int(values[0])
            return int(values[0]) if integral else values[0]
        if chain and row["integer"]:
            raise InputError(f"{label} takes one whole number, got {shown(texts[0])}; each value is another chain")
        if not chain and len(set(values)) < len(values):
            twice = next(v for v in values if values.count(v) > 1)
            raise InputError(f"{label} gives {twice:g} more than once; give each value once")
        return values

    def _each_flow(self, row: Mapping[str, Any], texts: Sequence[str], size: str | None) -> xr.DataArray:
        """A word that was repeated: a value for each flow."""
        from tcpdynamics.models import per_flow

        label = f"`{row['name']}`"
        if not hasattr(self.cls, "_each") or row["integer"]:
            raise InputError(f"{label} appears {len(texts)} times; give a range or a comma list")
        return per_flow([x for text in texts for x in quantities.read_numbers(label, text, row["unit"], 1, size)])

    def _foreign(self, key: str, texts: Sequence[str]) -> list[str]:
        """A parameter of other readings is refused; one delay that a reading does not have is worth a note only."""
        models = candidates(self.name, self.views)
        owners = ", ".join(r for r, c in models.items() if key in c.__dataclass_fields__)
        if key != "delay":
            raise InputError(f"`{key}` belongs to `reading` {owners}, not to {self.reading}")
        quantities.only_number("`delay`", texts[-1])
        return [f"`reading` {self.reading} has no delay, so `delay` changes nothing; {owners} have one"]

    def check_complete(self, values: Mapping[str, Any]) -> None:
        """Refuse parameters that are missing, and more flows than there can be equations."""
        missing = [f"`{k}`" for k, row in self.rows.items() if row["required"] and k not in values]
        if missing:
            what = "a value is" if len(missing) == 1 else "values are"
            raise InputError(f"{what} missing for {', '.join(missing)}; give a number or start:stop:count")
        flows = values.get("flows")
        if hasattr(self.cls, "_each") and isinstance(flows, int | float) and flows > MAX_FLOWS:
            raise InputError(
                f"`flows` must be at most {MAX_FLOWS} for {self.cls.__name__}, whose flows have equations of their "
                f"own, got {flows:,g}; use fewer flows"
            )

    def view(self) -> str:
        """The view that is meant."""
        views = views_of(self.cls, self.views)
        word = self.texts.get("view")
        if word is None:
            return views[0]
        if (view := word.replace("-", "_")) not in views:
            known = ", ".join(v.replace("_", "-") for v in views)
            raise InputError(f"`view` {shown(word)} is not a view of {self.cls.__name__}; it has {known}")
        return str(view)


def _tuple(name: str, text: str) -> tuple[float, ...]:
    values = quantities.read_numbers(f"`{name}`", text)
    kind = SEVERAL[name][1]
    if kind is int and any(v != int(v) for v in values):
        raise InputError(f"`{name}` takes whole numbers, got {shown(text)}")
    return tuple(kind(v) for v in values)


def _up_to(text: str) -> tuple[int, ...]:
    """Delays 0, 1, ..., d, for a mix of all of them."""
    d = quantities.only_number("`delay`", text)
    if d != int(d) or not 0 <= d <= 1000:
        raise InputError(
            f"`delay` must be a whole number in [0, 1000] for `reading` mixed (0, 1, ..., d intervals in equal "
            f"fractions), got {shown(text)}; `delays` and `fractions` give any mix"
        )
    return tuple(range(int(d) + 1))
