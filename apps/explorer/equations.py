"""Equations that a reader types, by a grammar of their own; nothing of a text is run.

`assets/models/equations.js` reads alike, word for word; a test holds the two against each other.
"""

from __future__ import annotations

import keyword
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import sympy

from tcpdynamics.errors import InputError
from tcpdynamics.solvers import DDE, ODE, Delayed

CHARACTERS, STATES, DELAYS, PARAMETERS, OPERATIONS, DEPTH, NESTED, NAME = 2000, 4, 4, 6, 400, 30, 5, 20
#: Functions, and how many arguments they have.
FUNCTIONS = {"exp": 1, "log": 1, "sqrt": 1, "sin": 1, "cos": 1, "tanh": 1, "abs": 1, "min": 2, "max": 2}
#: Names with a meaning in a text, or in the library's results.
WORDS = {
    *"t in chart state time length packets level flow root equilibrium step crossing direction iterate".split(),
    *"extremum cycle status".split(), *FUNCTIONS,
}  # fmt: skip
TOKEN = re.compile(
    r"[ \t\r]*(?:([0-9]+(?:\.(?!\.)[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?)|([A-Za-z][A-Za-z0-9_]*)"
    r"|(\.\.|[-+*/^()=',]))"
)
BLANK = re.compile(r"[ \t\r]*")
#: Time that is shown where a text says none.
END = 50.0
_COMPUTED: dict[str, Callable[..., float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "neg": operator.neg,
    "^": math.pow, "abs": abs, **{name: getattr(math, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")},
    "min": min, "max": max,
}  # fmt: skip


@dataclass(frozen=True)
class Token:
    """A word of a text, and where it stands."""

    kind: str
    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Node:
    """A number, a name, a state's past, or an operation."""

    kind: str
    value: float = 0.0
    name: str = ""
    args: tuple[Node, ...] = ()
    at: Token | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Parameter:
    """A parameter, its value and its range."""

    name: str
    value: float
    low: float
    high: float
    log: bool


@dataclass(frozen=True)
class Equations:
    """What a text says: slopes and starts of its states, parameters, abbreviations, pasts (state, delay), axes."""

    slopes: dict[str, Node]
    starts: dict[str, Node]
    parameters: tuple[Parameter, ...]
    short: dict[str, Node]
    pasts: tuple[tuple[str, Node], ...]
    end: float
    axes: tuple[str, ...]
    driven: bool


def refuse(said: str, token: Token | None = None) -> NoReturn:
    """Raise InputError with a sentence, and where it is meant."""
    raise InputError(f"line {token.line}, column {token.column}: {said}" if token else said)


def _tokens(text: str, line: int) -> list[Token]:
    code, at, tokens = text.split("#")[0].rstrip(" \t\r"), 0, list[Token]()
    while at < len(code):
        match = TOKEN.match(code, at)
        if not match:
            blank = BLANK.match(code, at)
            refuse("this character means nothing here", Token("", "", line, (blank.end() if blank else at) + 1))
        index = match.lastindex or 0
        kind, at = ("number", "name", "sign")[index - 1], match.end()
        tokens.append(Token(kind, match[index], line, match.start(index) + 1))
        if kind == "name" and len(match[index]) > NAME:
            refuse(f"a name has at most {NAME} characters", tokens[-1])
    return [*tokens, Token("end", "", line, len(code) + 1)]


def _finite(token: Token) -> float:
    value = float(token.text)
    return value if math.isfinite(value) else refuse("this is no finite number", token)


def _too_many() -> NoReturn:
    refuse(f"the equations have more than {OPERATIONS} operations")


class _Reader:
    """Reads the words of one line; `count` has the operations of the whole text."""

    def __init__(self, tokens: list[Token], count: list[int]) -> None:
        self.tokens, self.count, self.place, self.depth = tokens, count, 0, 0

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def sees(self, *texts: str) -> bool:
        return self.next.kind != "end" and self.next.text in texts

    def take(self) -> Token:
        token = self.next
        self.place += token.kind != "end"
        return token

    def expect(self, text: str) -> None:
        if not self.sees(text):
            refuse(f"{text} is expected here", self.next)
        self.take()

    def name(self) -> Token:
        if self.next.kind != "name":
            refuse("a name is expected here", self.next)
        return self.take()

    def own(self) -> Token:
        token = self.name()
        if token.text in WORDS:
            refuse(f"{token.text} has a meaning of its own; choose another name", token)
        return token

    def number(self) -> tuple[float, Token]:
        first = self.next
        minus = self.sees("-") and self.take()
        if self.next.kind != "number":
            refuse("a number is expected here", self.next)
        return (-1 if minus else 1) * _finite(self.take()), first

    def made(self, kind: str, args: tuple[Node, ...], at: Token) -> Node:
        """An operation; of numbers alone, its number."""
        self.count[0] += 1
        if self.count[0] > OPERATIONS:
            _too_many()
        if any(one.kind != "number" for one in args):
            return Node(kind, args=args, at=at)
        try:
            value = float(_COMPUTED[kind](*(one.value for one in args)))
        except (ArithmeticError, ValueError):
            value = math.nan
        return Node("number", value, at=at) if math.isfinite(value) else refuse("this is no finite number", at)

    def deeper(self, token: Token) -> None:
        self.depth += 1
        if self.depth > DEPTH:
            refuse(f"at most {DEPTH} parentheses stand in one another", token)

    def sum(self) -> Node:
        self.deeper(self.next)
        node = self.product()
        while self.sees("+", "-"):
            sign = self.take()
            node = self.made(sign.text, (node, self.product()), sign)
        self.depth -= 1
        return node

    def product(self) -> Node:
        node = self.signed()
        while self.sees("*", "/"):
            sign = self.take()
            node = self.made(sign.text, (node, self.signed()), sign)
        return node

    def signed(self) -> Node:
        if not self.sees("-"):
            return self.power()
        sign = self.take()
        self.deeper(sign)
        node = self.made("neg", (self.signed(),), sign)
        self.depth -= 1
        return node

    def power(self) -> Node:
        base = self.atom()
        if not self.sees("^"):
            return base
        sign = self.take()
        self.deeper(sign)
        node = self.made("^", (base, self.signed()), sign)
        self.depth -= 1
        return node

    def atom(self) -> Node:
        token = self.next
        if self.sees("("):
            self.take()
            inside = self.sum()
            self.expect(")")
            return inside
        if token.kind == "number":
            return Node("number", _finite(self.take()), at=token)
        if token.kind != "name":
            refuse("a number, a name or ( is expected here", token)
        self.take()
        if token.text not in FUNCTIONS:
            return self.past(token) if self.sees("(") else Node("name", name=token.text, at=token)
        self.expect("(")
        args = [self.sum()]
        for _ in range(1, FUNCTIONS[token.text]):
            self.expect(",")
            args.append(self.sum())
        self.expect(")")
        return self.made(token.text, tuple(args), token)

    def past(self, token: Token) -> Node:
        """A state's past, x(t - delay)."""
        for text in "(t-":
            self.expect(text)
        delay = self.product()
        while self.sees("+", "-"):
            sign = self.take()
            delay = self.made("+" if sign.text == "-" else "-", (delay, self.product()), sign)
        self.expect(")")
        return Node("past", name=token.text, args=(delay,), at=token)


class _Lines:
    """What the lines of a text say, each by itself."""

    def __init__(self, text: str) -> None:
        self.slopes, self.starts, self.short = (list[tuple[Token, Node]]() for _ in range(3))
        self.parameters, self.end, self.chart = list[Parameter](), END, list[Token]()
        self.seen, count = set[str](), [0]
        for i, line in enumerate(text.split("\n")):
            read = _Reader(_tokens(line, i + 1), count)
            if read.next.kind != "end":
                self.line(read)
                if read.next.kind != "end":
                    refuse("the line should end here", read.next)

    def once(self, token: Token, name: str) -> None:
        if name in self.seen:
            refuse(f"{token.text} has two lines of this kind", token)
        self.seen.add(name)

    def line(self, read: _Reader) -> None:
        if read.sees("t", "chart"):
            return self.setting(read)
        name = read.own()
        if read.sees("'"):
            self.once(name, name.text)
            read.take()
            read.expect("=")
            self.slopes.append((name, read.sum()))
        elif read.sees("("):
            self.once(name, f"{name.text}(0)")
            read.take()
            value, token = read.number()
            if value != 0:
                refuse("a start is written x(0) = ...", token)
            read.expect(")")
            read.expect("=")
            self.starts.append((name, read.sum()))
        else:
            self.once(name, name.text)
            if not read.sees("="):
                refuse("= or ' is expected here", read.next)
            read.take()
            ahead = read.tokens[read.place + read.sees("-") :]
            if len(ahead) > 1 and ahead[0].kind == "number" and ahead[1].text == "in":
                self.parameters.append(self.parameter(read, name))
            else:
                self.short.append((name, read.sum()))
        return None

    def setting(self, read: _Reader) -> None:
        word = read.take()
        self.once(word, word.text)
        if word.text == "chart":
            self.chart.append(read.name())
            read.expect(",")
            self.chart.append(read.name())
            return
        read.expect("in")
        value, token = read.number()
        if value != 0:
            refuse("time begins at 0, as in t in 0..50", token)
        read.expect("..")
        self.end, token = read.number()
        if not self.end > 0:
            refuse("time ends after 0", token)

    def parameter(self, read: _Reader, name: Token) -> Parameter:
        value, at_value = read.number()
        read.expect("in")
        low, at_low = read.number()
        read.expect("..")
        high, at_high = read.number()
        log = read.sees("log")
        if not low < high:
            refuse("a range ends above its beginning", at_high)
        if log and not low > 0:
            refuse("a range with log begins above 0", at_low)
        if not low <= value <= high:
            refuse("this lies outside its range", at_value)
        if log:
            read.take()
        return Parameter(name.text, value, low, high, log)


class _Names:
    """Looks names up, and counts operations with abbreviations written out."""

    def __init__(self, lines: _Lines) -> None:
        self.states = {name.text for name, _ in lines.slopes}
        self.known = {one.name for one in lines.parameters}
        self.short = {name.text: node for name, node in lines.short}
        self.pasts, self.delays, self.sizes = list[tuple[str, Node]](), list[Node](), dict[str, int]()
        self.driven, self.used = False, set[str]()

    def size(self, node: Node, constant: bool = False, opened: tuple[str, ...] = ()) -> int:
        if node.kind == "number":
            return 0
        if node.kind == "name":
            return self.named(node, constant, opened)
        if node.kind != "past":
            size = 1
            for one in node.args:  # a frame a level: chains are long
                size += self.size(one, constant, opened)
            return size
        if constant:
            refuse("only numbers and parameters can stand here", node.at)
        if node.name not in self.states:
            refuse(f"{node.name} is no state, which alone have a past", node.at)
        (delay,) = node.args
        self.size(delay, True, opened)
        if delay not in self.delays:
            self.delays.append(delay)
            if len(self.delays) > DELAYS:
                refuse(f"at most {DELAYS} delays are read", node.at)
        if (node.name, delay) not in self.pasts:
            self.pasts.append((node.name, delay))
        return 0

    def named(self, node: Node, constant: bool, opened: tuple[str, ...]) -> int:
        name = node.name
        if name in self.known:
            self.used.add(name)
            return 0
        if constant:
            refuse("only numbers and parameters can stand here", node.at)
        self.driven |= name == "t"
        if name == "t" or name in self.states:
            return 0
        if name not in self.short:
            refuse(f"{name} has no line; give it one, as in {name} = 1 in 0..2", node.at)
        if name in opened:
            refuse(f"{name} is defined by itself", node.at)
        if len(opened) == NESTED:
            refuse(f"at most {NESTED} abbreviations stand in one another", node.at)
        if name not in self.sizes:
            self.sizes[name] = self.size(self.short[name], False, (*opened, name))
        return self.sizes[name]


def parsed(text: str) -> Equations:
    """What a text says.

    Raises
    ------
    InputError
        In a sentence, with the line and the column where there is one.

    Examples
    --------
    >>> parsed("x' = -k*x(t - 1)" + chr(10) + "k = 1 in 0..2").pasts[0][0]
    'x'
    """
    if len(text) > CHARACTERS:
        refuse(f"the text has {len(text)} characters; at most {CHARACTERS} are read")
    lines = _Lines(text)
    if not lines.slopes:
        refuse("no line says how a state changes, as in x' = -k*x")
    if len(lines.slopes) > STATES:
        refuse(f"there are {len(lines.slopes)} states; at most {STATES} are read")
    if not lines.parameters:
        refuse("no line gives a parameter and its range, as in k = 1 in 0..2")
    if len(lines.parameters) > PARAMETERS:
        refuse(f"there are {len(lines.parameters)} parameters; at most {PARAMETERS} are read")
    names = _Names(lines)
    if sum(names.size(node) for _, node in lines.slopes) > OPERATIONS:
        _too_many()
    for one in lines.parameters:
        if one.name not in names.used:
            refuse(f"{one.name} stands in no equation; leave its line out")
    for token, _ in lines.short:
        names.named(Node("name", name=token.text, at=token), False, ())
    starts = {token.text: Node("number", 1.0) for token, _ in lines.slopes}
    for token, node in lines.starts:
        if token.text not in starts:
            refuse(f"{token.text} is no state", token)
        names.size(node, True)
        starts[token.text] = node
    for token in lines.chart:
        if token.text not in names.known:
            refuse(f"{token.text} is no parameter", token)
    axes = tuple(token.text for token in lines.chart) or tuple(one.name for one in lines.parameters[:2])
    if len(axes) == 2 and axes[0] == axes[1]:
        refuse("a chart has two different parameters", lines.chart[1])
    slopes = {token.text: node for token, node in lines.slopes}
    return Equations(
        slopes, starts, tuple(lines.parameters), names.short, tuple(names.pasts), lines.end, axes, names.driven
    )


#: Operations as SymPy has them, and how a script writes them.
_MADE: dict[str, Callable[..., Any]] = {
    **{k: _COMPUTED[k] for k in ("+", "-", "*", "/", "neg")}, "^": operator.pow, "abs": sympy.Abs, "min": sympy.Min,
    "max": sympy.Max, **{name: getattr(sympy, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tanh")},
}  # fmt: skip
_BINDING = {"+": 1, "-": 1, "neg": 2, "*": 2, "/": 2, "^": 4}


class Script:
    """A model as a problem of the library, and as the lines of Python that make the same problem."""

    def __init__(self, model: Equations) -> None:
        self.model, self.past = model, dict[tuple[str, Node], str]()
        names = {*model.slopes, *model.short, *(one.name for one in model.parameters)}
        for state, delay in model.pasts:
            name = f"{state}_{self.text(delay)}" if delay.kind == "name" else f"{state}_past"
            while name in names:
                name += "_"
            names.add(name)
            self.past[state, delay] = name
        self.made = dict[str, Any]()

    def name(self, name: str) -> str:
        """A name as Python has it."""
        return f"{name}_" if keyword.iskeyword(name) or name in ("sympy", "problem", "DDE", "ODE", "Delayed") else name

    def expression(self, node: Node) -> Any:
        """In SymPy, by construction."""
        if node.kind == "number":
            return sympy.Float(node.value)  # whole numbers would stay exact, however long
        if node.kind == "past":
            return sympy.Symbol(self.past[node.name, node.args[0]])
        if node.kind == "^" and node.args[1].kind == "number" and node.args[1].value in range(-9, 10):
            return self.expression(node.args[0]) ** sympy.Integer(int(node.args[1].value))
        if node.kind != "name":
            return _MADE[node.kind](*[self.expression(one) for one in node.args])
        if node.name not in self.model.short:
            return sympy.Symbol(node.name)
        if node.name not in self.made:
            self.made[node.name] = self.expression(self.model.short[node.name])
        return self.made[node.name]

    def text(self, node: Node, binding: int = 0) -> str:
        """In Python."""
        if node.kind == "number":
            text = repr(int(node.value) if node.value.is_integer() and abs(node.value) < 1e6 else node.value)
            return f"({text})" if node.value < 0 and binding else text
        if node.kind == "name":
            return self.name(node.name)
        if node.kind == "past":
            return self.name(self.past[node.name, node.args[0]])
        strength = _BINDING.get(node.kind)
        if strength is None:
            return f"sympy.{_MADE[node.kind].__name__}({', '.join([self.text(one) for one in node.args])})"
        if node.kind == "neg":
            text = f"-{self.text(node.args[0], 3)}"
        elif node.kind == "^":
            text = f"{self.text(node.args[0], 5)}**{self.text(node.args[1], 5)}"
        else:
            sign = f" {node.kind} " if strength == 1 else node.kind
            text = f"{self.text(node.args[0], strength)}{sign}{self.text(node.args[1], strength + 1)}"
        return f"({text})" if strength < binding else text

    def problem(self) -> Any:
        """For the library's solvers.

        Raises
        ------
        InputError
            SymPy finds no number.
        """
        model, values = self.model, {one.name: one.value for one in self.model.parameters}
        try:
            slopes = {name: self.expression(node) for name, node in model.slopes.items()}
            past = {name: Delayed(state, self.expression(by)) for (state, by), name in self.past.items()}
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise InputError(f"the equations have no value: {error}") from None
        if not past:
            return ODE(rhs=slopes, start=self.starts(), parameters=values)
        return DDE(rhs=slopes, start=self.starts(), parameters=values, delayed=past)

    def starts(self) -> dict[str, float]:
        """Values at the start, and before it."""
        values = {one.name: one.value for one in self.model.parameters}
        try:
            starts = {name: float(self.expression(node).subs(values)) for name, node in self.model.starts.items()}
        except (ArithmeticError, TypeError, ValueError, RecursionError) as error:
            raise InputError(f"a start has no value: {error}") from None
        return starts if all(map(math.isfinite, starts.values())) else refuse("a start is no finite number")

    def lines(self) -> str:
        """The lines that make the same problem."""
        model, kind = self.model, "DDE" if self.past else "ODE"
        names = [*model.slopes, *self.past.values(), *(one.name for one in model.parameters), *["t"] * model.driven]
        values = {one.name: one.value for one in model.parameters}
        symbols = f'{", ".join(map(self.name, names))} = sympy.symbols("{" ".join(names)}", seq=True)'
        if len(names) == 1:
            symbols = symbols.replace(" = ", ", = ", 1)
        short = [f"{self.name(name)} = {self.text(model.short[name])}" for name in _in_order(model.short)]
        past = [f'        "{name}": Delayed("{state}", {self.text(by)}),' for (state, by), name in self.past.items()]
        rows = [
            "    rhs={", *(f'        "{name}": {self.text(node)},' for name, node in model.slopes.items()), "    },",
            *(["    delayed={", *past, "    },"] if past else []),
            f"    parameters={values!r},", f"    start={self.starts()!r},",
        ]  # fmt: skip
        needs = f"from tcpdynamics.solvers import {kind}{', Delayed' if past else ''}"
        return "\n".join(["import sympy", needs, "", symbols, *short, f"problem = {kind}(", *rows, ")"])


def _in_order(short: dict[str, Node]) -> list[str]:
    """Abbreviations, each after those that it needs."""
    ordered = list[str]()

    def put(name: str) -> None:
        if name in ordered:
            return
        pending = [short[name]]
        while pending:
            node = pending.pop()
            pending += node.args if node.kind != "past" else ()
            if node.kind == "name" and node.name in short:
                put(node.name)
        ordered.append(name)

    for name in short:
        put(name)
    return ordered
