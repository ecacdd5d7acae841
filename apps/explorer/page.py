"""What a page of the explorer is: a question, controls, pictures, and the code that gives the same numbers.

Controls take symbol, unit, meaning and domain from the models' own fields. What moves with a slider is computed in the
page, by functions that the library printed (`solvers.programs.javascript`); `assets/core/bench.js` draws it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from tcpdynamics.errors import DomainError, InputError
from tcpdynamics.models.model import Model
from tcpdynamics.models.parameters import describe
from tcpdynamics.quantities import only_number
from tcpdynamics.solvers.programs.javascript import PRELUDE, javascript
from tcpdynamics.solvers.programs.straightline import Program

from .jobs import JobKind

#: Control -> number, or the word of a choice.
Values = Mapping[str, Any]
#: Names of a page that a complaint lists.
MOST_NAMED = 8
#: What is said of a page that no other page can have in a frame.
NOT_EMBEDDED = "this page cannot be embedded; Home, Packets, Stacks, claims' figures and pages with sliders can"
#: Controls that stand above "More".
MAIN = 4


def word(value: Any) -> str:
    """A value of a control as an address has it."""
    return value if isinstance(value, str) else f"{value:g}"


def _named(c: Control | Choice | Text) -> str:
    """A control in a message on an address: its label, and the word of the address."""
    return f"{c.meaning} (`{c.name}`)"


@dataclass(frozen=True)
class Control:
    """A slider.

    Attributes
    ----------
    name, symbol, unit, meaning : str
        `name` is the word of the command line and of the page's address.
    low, high, start : float
        In `unit`.
    step : float
        Between neighbouring values; whole numbers have 1.
    log : bool
        Whether the slider moves in decades.
    percent : bool
        Whether it is a fraction, which the page shows in per cent.
    only : tuple of str
        Words of the page's choice with which it is shown; without any, always.
    shown_from : (name, number), optional
        Another control, and the least value of it with which this one is shown.
    """

    name: str
    symbol: str
    unit: str
    meaning: str
    low: float
    high: float
    start: float
    step: float
    log: bool = False
    only: tuple[str, ...] = ()
    shown_from: tuple[str, float] | None = None
    percent: bool = False

    def read(self, text: str) -> float:
        """A value from an address, read as the command reads it.

        Raises
        ------
        InputError
            No number, outside [low, high], or no whole number where it must be one.
        """
        integer = self.step == 1
        try:
            # what does not print is no part of a number: scripts and Python strip other characters
            value = only_number(self.name, text, self.unit) if text.isprintable() else math.nan
        except InputError:
            value = math.nan
        if not self.low <= value <= self.high or (integer and value != math.floor(value)):
            number = f"{'whole ' if integer else ''}number {self.range()}"
            raise DomainError(f"{_named(self)} must be a {number}, got {text[:40]!r}")
        return value + 0.0  # -0 is 0

    def range(self) -> str:
        """Its ends and their unit, as messages have them."""
        unit = f"{self.unit}s" if self.unit in ("byte", "interval", "packet") else self.unit
        ends = f"from {word(self.low)} to {word(self.high)} {unit if unit != '1' else ''}".rstrip()
        return f"{ends} ({100 * self.low:g} % to {100 * self.high:g} %)" if self.percent else ends

    def shown(self) -> str:
        """Its value on a fresh page, as messages have it."""
        return f"{100 * self.start:g} % ({word(self.start)})" if self.percent else word(self.start)

    def values(self) -> tuple[float, ...]:
        """All whole numbers of the slider."""
        return tuple(map(float, range(int(self.low), int(self.high) + 1)))


def control(
    model: type[Model],
    name: str,
    low: float,
    high: float,
    start: float,
    step: float = 0.0,
    log: bool = False,
    only: tuple[str, ...] = (),
    percent: bool = False,
) -> Control:
    """A slider for a field of a model.

    Raises
    ------
    ValueError
        The slider would reach values that the model refuses.

    Examples
    --------
    >>> from tcpdynamics.models import SubPacketFull
    >>> control(SubPacketFull, "w_max", 4, 12, 6).meaning
    'largest window'
    """
    row = next(r for r in describe(model) if r["name"] == name)
    below = row["low"] is not None and (low < row["low"] or (row["low_open"] and low == row["low"]))
    above = row["high"] is not None and (high > row["high"] or (row["high_open"] and high == row["high"]))
    if below or above:
        raise ValueError(f"the slider of {name} must stay within {row['interval']}, got [{low:g}, {high:g}]")
    step = step or (1.0 if row["integer"] else (high - low) / 500)
    return Control(name, row["symbol"], row["unit"], row["meaning"], low, high, start, step, log, only, percent=percent)


@dataclass(frozen=True)
class Choice:
    """A control with words to choose from.

    Attributes
    ----------
    name, symbol, meaning : str
        As of a `Control`; the symbol may be empty.
    choices : tuple of str
        The first is shown on a fresh page.
    meanings : mapping
        Word -> the sentence that stands below the choice; may be empty.

    Examples
    --------
    >>> Choice("reading", "", "reading of the law", ("window", "delayed")).read("delayed")
    'delayed'
    """

    name: str
    symbol: str
    meaning: str
    choices: tuple[str, ...]
    meanings: Mapping[str, str] = field(default_factory=dict)

    @property
    def start(self) -> str:
        """The word on a fresh page."""
        return self.choices[0]

    def read(self, text: str) -> str:
        """A word from an address.

        Raises
        ------
        InputError
            None of the choices.
        """
        if text not in self.choices:
            raise DomainError(f"{_named(self)} must be one of {', '.join(self.choices)}, got {text[:40]!r}")
        return text

    def values(self) -> tuple[str, ...]:
        """All words."""
        return self.choices


@dataclass(frozen=True)
class Text:
    """A control for lines that a reader types.

    Attributes
    ----------
    name, symbol, meaning : str
        As of a `Choice`.
    start : str
        The lines on a fresh page.
    shown : str
        What a complaint calls them.
    lines, longest : int
        Lines that are seen at once, and characters that an address may have of it.

    Examples
    --------
    >>> Text("model", "", "equations", "x' = -x", "the first model").read("x' = x")
    "x' = x"
    """

    name: str
    symbol: str
    meaning: str
    start: str
    shown: str
    lines: int = 9
    longest: int = 2000

    def read(self, text: str) -> str:
        """Lines from an address; what they say is the page's own matter.

        Raises
        ------
        InputError
            Too many characters.
        """
        if len(text) > self.longest:
            raise DomainError(f"{_named(self)} must have at most {self.longest} characters")
        return text

    def values(self) -> tuple[str, ...]:
        """The fresh page's."""
        return (self.start,)


def _range(c: Control | Choice | Text) -> dict[str, str]:
    return {"range": c.range(), "shown": c.shown()} if isinstance(c, Control) else {}


@dataclass(frozen=True)
class Printed:
    """A function that the library prints for the page.

    Attributes
    ----------
    name : str
        What the page's script calls it.
    shape : tuple of str
        Choices and controls in whole steps that shape the program; the others are inputs of the function.
    make : callable
        Values of the shape -> (program, names of its inputs in order, what the script must know beside it).
    lazy : bool
        Whether the page's script asks for it, by `load`, instead of waiting for it before it draws.
    """

    name: str
    shape: tuple[str, ...]
    make: Callable[[Values], tuple[Program, tuple[str, ...], dict[str, Any]]]
    lazy: bool = False

    def key(self, values: Values) -> str:
        """The name of the function for these values."""
        return "-".join([self.name, *(word(values[k]) for k in self.shape)])

    def script(self, slug: str, values: Values) -> str:
        """The function as a script that registers it under its key."""
        import json

        program, inputs, about = self.make(values)
        about = about | {"inputs": inputs, "size": len(program.outputs)}
        text = re.sub(r" ([-=+*/]) ", r"\1", javascript(program, inputs))  # pages have hundreds of these
        return (
            f'explorer.register("{slug}", "{self.key(values)}", (() => {{\n"use strict";\n{PRELUDE}'
            f"{text}\nreturn {{ run, ...{json.dumps(about, separators=(',', ':'))} }};\n}})());\n"
        )


def program_of(expressions: Mapping[str, Any]) -> Program:
    """SymPy expressions as a program of one output each, in order.

    Raises
    ------
    DynamicsError
        A function that cannot be computed.
    """
    from tcpdynamics.solvers.equations import compile_equations

    return compile_equations(expressions, {}, {}).rhs


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes
    ----------
    name, title, alt : str
        What the script calls it, what it shows, and how it reads aloud.
    kind : str
        "curves", "diagram", "plane", or "facts" (numbers, each with unit and meaning).
    code : callable, optional
        Values -> the lines of Python that give the numbers of its CSV, as a `table` with the same columns.
    command : callable, optional
        Values -> the command line that gives the same numbers, or a sentence that begins with "no command"; several
        in lines of comments.
    slow : callable, optional
        Values -> lines that follow, which give more columns and take long.
    scripted : bool
        Whether the page's script writes the lines of `code` itself, from disk too.
    """

    name: str
    title: str
    alt: str
    kind: str = "curves"
    code: Callable[[Values], str] | None = None
    command: Callable[[Values], str] | None = None
    slow: Callable[[Values], str] = lambda values: ""
    scripted: bool = False

    def text(self, values: Values) -> str:
        """What "Show the code" shows: the lines, and the command or a sentence where there is none."""
        if self.code is None:
            return ""
        command = self.command(values) if self.command else "no command gives this picture's numbers"
        head = "or" if command.startswith("tcpdynamics") else "command line"
        return f"{self.code(values)}\n# {head}:\n# {command}\n{self.slow(values)}"

    def spec(self) -> dict[str, Any]:
        """What the script must know of it, as JSON."""
        words = {"name": self.name, "title": self.title, "alt": self.alt, "kind": self.kind}
        return words | {"coded": "here" if self.scripted else "served" if self.code else ""}


@dataclass(frozen=True)
class Preset:
    """Values that a reader may start from.

    Attributes
    ----------
    name : str
        What they are, as "the paper's Fig. 9".
    values : mapping
        Control -> value; the others keep those of a fresh page.
    """

    name: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """One page; `apps/explorer/pages/` has a file for each.

    Attributes
    ----------
    slug, title, question : str
        `slug` is the page's address and the name of its script in `assets/pages/`.
    controls, figures, printed : tuples
    dataset : callable, optional
        Values -> xarray.Dataset: the model's own results, which pictures draw parts of.
    served : tuple of str
        What only a served page has; an exported one says so.
    notes : tuple of str
        Sentences below the pictures: what the models mean and where they hold.
    answers : mapping of a name to a callable
        (Values, what the reader typed) -> JSON: what the page's script asks the server for, by `ask`. The
        work of one answer is bounded by the controls; what is typed is checked like any input. Exported pages have
        none.
    exported : bool
        Whether it opens from disk too; a page whose answers need a server does not.
    facts : callable, optional
        What the script of a page of its own shape must know, as JSON; with True, also what it could ask a server for.
    later : str
        Name of the facts that a served document lacks: its script fetches them when they are needed.
    jobs : tuple of JobKind
        What it may have done in the background; its script starts one with `startJob`.
    main : tuple of str
        Controls that stand above "More", at most four; without any, the first four.
    presets : tuple of Preset
        Values to start from.
    script : str
        The page whose script and printed functions this one takes; its own where it is empty.
    article : bool
        Whether it is an article: steps of text that move the pictures of another page.
    others : tuple of str
        Of an article, pages beside `script` whose scripts it takes.
    menu : bool
        Whether it stands in the menu's first line; the others stand below "More".

    Notes
    -----
    A page without controls and figures is filled by its script alone (`mount` instead of `draw`).
    """

    slug: str
    title: str
    question: str
    controls: tuple[Control | Choice | Text, ...]
    figures: tuple[Figure, ...]
    printed: tuple[Printed, ...]
    dataset: Callable[[Values], Any] | None = None
    served: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    answers: Mapping[str, Callable[[Values, str], Any]] = field(default_factory=dict)
    exported: bool = True
    facts: Callable[[bool], dict[str, Any]] | None = None
    later: str = ""
    jobs: tuple[JobKind, ...] = ()
    main: tuple[str, ...] = ()
    presets: tuple[Preset, ...] = ()
    script: str = ""
    article: bool = False
    others: tuple[str, ...] = ()
    menu: bool = False

    def start(self) -> dict[str, Any]:
        """Values of the controls on a fresh page."""
        return {c.name: c.start for c in self.controls}

    def read(self, words: Mapping[str, str], shows: bool = True) -> tuple[dict[str, Any], list[str]]:
        """Values from the words of an address, and a sentence for each that was refused (its default is taken).

        Where nothing is shown (`shows`), the sentence does not name the default.
        """
        values, complaints = self.start(), []
        for c in self.controls:
            if c.name in words:
                try:
                    values[c.name] = c.read(words[c.name])
                except InputError as error:
                    default = c.shown() if isinstance(c, Control) else getattr(c, "shown", word(c.start))
                    complaints.append(f"{error}; {default} is shown" if shows else str(error))
        complaints += self.others_refused(words)
        unknown = sorted(set(words) - set(values) - set(self.others_read()))
        if unknown:
            # base_rtt first for rtt; an article's script has the controls of its text alone
            names = [] if self.article else sorted(values, key=lambda name: unknown[0] not in name)
            has = f"; it has {', '.join(names[:MOST_NAMED])}{', ...' * (len(names) > MOST_NAMED)}" if names else ""
            complaints.append(NOT_EMBEDDED if unknown[0] == "embed" else f"this page has no {unknown[0][:40]!r}{has}")
        return values, complaints

    def others_read(self) -> dict[str, list[str]]:
        """Words of an address that the script alone reads, and what each may be: a step, a frame, hidden answers."""
        if self.article:
            return {"step": []}
        named = {"guess": ["first"], "figure": [f.name for f in self.figures]}
        return {"embed": ["1"]} | (named if self.figures else {})

    def others_refused(self, words: Mapping[str, str]) -> list[str]:
        """A sentence for each of `others_read` that is not what it may be."""
        return [
            f"`{name}` must be {'one of ' if len(may) > 1 else ''}{', '.join(may)}, got {words[name][:40]!r}"
            for name, may in self.others_read().items()
            if may and name in words and words[name] not in may
        ]

    def shapes(self, printed: Printed) -> Iterator[dict[str, Any]]:
        """All values of the controls that shape a function."""
        controls = [next(c for c in self.controls if c.name == k) for k in printed.shape]
        for values in itertools.product(*(c.values() for c in controls)):
            yield dict(zip(printed.shape, values, strict=True))

    def spec(self, whole: bool = False) -> dict[str, Any]:
        """What the script must know of the page, as JSON; `whole` as of `facts`."""
        return {
            "slug": self.slug,
            "script": self.script or self.slug,
            "article": self.article,
            "title": self.title,
            "question": self.question,
            "controls": [asdict(c) | {"start": c.start} | _range(c) for c in self.controls],
            "main": list(self.main or [c.name for c in self.controls][:MAIN]),
            "presets": [asdict(preset) for preset in self.presets],
            "figures": [f.spec() for f in self.figures],
            "printed": [{"name": p.name, "shape": list(p.shape), "lazy": p.lazy} for p in self.printed],
            "notes": list(self.notes),
            "served": list(self.served),
            "results": self.dataset is not None,
        } | ({"facts": self.facts(whole)} if self.facts else {})
