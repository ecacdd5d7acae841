"""The base of every model: what its fields say once, in checks, formulas, problems and the docstring.

A model is a frozen dataclass on `Model` whose fields are made by `parameter`. A new one is a file with such a class,
a line in `models/__init__.py` and a row in `docs/guide.md`; `tests/models/test_every_model.py` then checks it.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from tcpdynamics import former_names
from tcpdynamics.errors import shown
from tcpdynamics.solvers.problems import Dynamics, MarkovChain

from .parameters import Value, as_parameter, broadcast, check_parameters, interval, is_quantity, open_interval

if TYPE_CHECKING:
    import sympy
    import xarray as xr

Problem = TypeVar("Problem", bound=Dynamics | MarkovChain)


@dataclass(frozen=True)
class Model:
    """A frozen dataclass whose fields are made by `parameter`.

    Attributes
    ----------
    variables : mapping of a state or output to (unit, meaning)
        For the results of its problems; a vector is named without its index.
    time_units : str or None
        Unit of time of its problems; None for that of the kind of problem.
    symbol_names : mapping of a field to its symbol
        Where a symbol of the equations is not named like the field.
    family, interpretation : str
        Set by class arguments: `class Logistic(..., interpretation="continuous")`. Those of one family are one model
        on the command line. The interpretation belongs to the class alone, the family to its subclasses too.

    Examples
    --------
    >>> from tcpdynamics.models.parameters import parameter
    >>> from tcpdynamics.solvers.problems import ODE
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Growth(Model):
    ...     '''A window that grows.
    ...
    ...     Stable nowhere.
    ...     '''
    ...     variables = {"w": ("packet", "window")}
    ...     rate: float = parameter("a", "packet/s", "growth", low=0.0, default=1.0)
    ...
    ...     def ode(self):
    ...         return self.problem(ODE, rhs={"w": self.symbols()["rate"]}, start={"w": 1.0})
    >>> Growth(rate=2.0), Growth().ode().domain
    (Growth(rate=2.0), {'rate': (0.0, inf)})
    >>> print(Growth.__doc__)
    A window that grows.
    <BLANKLINE>
    Stable nowhere.
    <BLANKLINE>
    Parameters
    ----------
    rate : float or array, default 1.0
        Growth: a in (0, inf) [packet/s].
    <BLANKLINE>
    Raises
    ------
    DomainError
        If a parameter lies outside its interval.
    """

    variables: ClassVar[Mapping[str, tuple[str, str]]] = {}
    time_units: ClassVar[str | None] = None
    symbol_names: ClassVar[Mapping[str, str]] = {}
    family = ""
    interpretation = reading = ""  # the second is the former name

    @former_names.arguments(reading="interpretation")
    def __init_subclass__(cls, *, family: str | None = None, interpretation: str = "", **more: object) -> None:
        super().__init_subclass__(**more)
        cls.family, cls.reading = cls.family if family is None else family, interpretation
        cls.interpretation = interpretation
        cls.__repr__ = Model.__repr__  # type: ignore[method-assign]  # before @dataclass writes its own
        if cls.__doc__:
            cls.__doc__ = _with_parameters(cls.__doc__, _fields_of(cls), cls.__annotations__)

    def __post_init__(self) -> None:
        check_parameters(self)

    def __repr__(self) -> str:
        """One line with the parameters that differ from their defaults."""
        differing = {f.name: getattr(self, f.name) for f in fields(self)}
        differing = {f.name: differing[f.name] for f in fields(self) if differing[f.name] is not f.default}
        return f"{type(self).__name__}({', '.join(f'{k}={_short(v)}' for k, v in differing.items())})"

    def provenance(self) -> dict[str, object]:
        """The parameters by name, stored with each result: `type(model)(**model.provenance())` is the model again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def values(self) -> dict[str, Value]:
        """Parameters for elementwise formulas: numbers, DataArrays that broadcast by name, expressions; no units."""
        units = {f.name: f.metadata.get("unit") for f in fields(self)}
        return {k: v.to(units[k]).magnitude if is_quantity(v) else v for k, v in broadcast(self).items()}

    def symbols(self) -> dict[str, sympy.Symbol]:
        """Field -> symbol in the equations, for the fields that have a value and are no structure.

        Positive where the parameter has no negative values, else real.
        """
        import sympy

        symbols = {}
        for field in self._in_equations():
            low = field.metadata["low"]
            sign = {"positive": True} if low is not None and low >= 0 else {"real": True}
            symbols[field.name] = sympy.Symbol(self.symbol_names.get(field.name, field.name), **sign)
        return symbols

    def problem(self, kind: type[Problem], **equations: object) -> Problem:
        """Equations in `symbols()` as a problem, with this model's parameters, domain, labels, name and provenance.

        Parameters
        ----------
        kind : ODE, DDE, Map or MarkovChain
        **equations
            Its attributes: rhs, start, outputs, fixed_points, transitions, ... What is given here replaces what the
            model fills in.
        """
        parameters = self._parameters()
        metadata = {self.symbol_names.get(f.name, f.name): f.metadata for f in fields(self)}
        filled: dict[str, Any] = {
            "parameters": parameters,
            "domain": {label: open_interval(metadata[label.partition("[")[0]]) for label in parameters},
            "name": type(self).__name__,
            "provenance": self.provenance(),
        }
        if issubclass(kind, Dynamics):
            filled["units"] = {name: unit for name, (unit, _) in self.variables.items()}
            filled["meanings"] = {name: meaning for name, (_, meaning) in self.variables.items()}
            if self.time_units is not None:
                filled["time_units"] = self.time_units
        return kind(**filled | equations)

    def _in_equations(self) -> list[Field[Any]]:
        """Fields that are symbols of the equations."""
        return [f for f in fields(self) if not f.metadata.get("structural", True) and getattr(self, f.name) is not None]

    def _parameters(self) -> dict[str, xr.DataArray | sympy.Expr]:
        """Symbol -> value for a problem."""
        return {self.symbol_names.get(f.name, f.name): self._to_dataarray(f.name) for f in self._in_equations()}

    def _to_dataarray(self, name: str) -> xr.DataArray | sympy.Expr:
        """A field with its unit and meaning; Fractions stay exact, and a SymPy expression stays what it is."""
        value, metadata = getattr(self, name), self.__dataclass_fields__[name].metadata
        if hasattr(value, "free_symbols"):
            return value
        array: xr.DataArray = as_parameter(name, value, metadata["unit"], metadata["meaning"])
        exact = None if hasattr(value, "magnitude") else np.asarray(value)
        return array.copy(data=exact) if exact is not None and exact.dtype == object else array


def _short(value: Any) -> str:
    """A value in a few words: the ends of an array instead of all its numbers."""
    size = np.size(getattr(value, "magnitude", value)) if not isinstance(value, str) else 1
    if size <= 4 and not hasattr(value, "dims"):
        return shown(value)
    numbers = np.ravel(getattr(value, "magnitude", value))
    return f"<{size:,} value{'s' * (size > 1)} from {numbers.min():g} to {numbers.max():g}>"


def _fields_of(cls: type[Any]) -> dict[str, Field[Any]]:
    """All fields of a class that @dataclass has yet to see."""
    inherited: dict[str, Field[Any]] = {}
    for base in cls.__mro__[:0:-1]:
        inherited |= getattr(base, "__dataclass_fields__", {})
    return inherited | {k: v for k, v in vars(cls).items() if isinstance(v, Field)}


def _with_parameters(doc: str, described: Mapping[str, Field[Any]], types: Mapping[str, Any]) -> str:
    """A docstring with a section on the parameters before its other sections."""
    text = inspect.cleandoc(doc)
    entries = [_entry(name, field, types) for name, field in described.items() if "meaning" in field.metadata]
    if not entries or re.search(r"^Parameters\n-+$", text, re.MULTILINE):
        return text
    sections = ["Parameters\n----------\n" + "\n".join(entries)]
    if not re.search(r"^Raises\n-+$", text, re.MULTILINE):
        sections.append("Raises\n------\nDomainError\n    If a parameter lies outside its interval.")
    first = re.search(r"^[A-Z]\w+\n-+$", text, re.MULTILINE)
    head, tail = (text[: first.start()], [text[first.start() :]]) if first else (text, [])
    return "\n\n".join([head.rstrip(), *sections, *tail])


def _entry(name: str, field: Field[Any], types: Mapping[str, Any]) -> str:
    """name : kind, default; then the meaning, symbol, interval, unit, note and source."""
    about = field.metadata
    kind = "int" if about.get("integer") else "float"
    if "symbol" in about:
        kind += "" if about["structural"] else " or array"
        unit = f" [{about['unit']}]"
        words = f"{about['meaning']}: {about['symbol']} in {interval(about)}{unit}"
    else:
        kind, words = str(field.type or types[name]), about["meaning"]
    default = (
        "" if field.default is MISSING else ", optional" if field.default is None else f", default {field.default}"
    )
    notes = [n for n in (about.get("note"), about.get("source") and f"Source: {about['source']}") if n]
    words = words if "_" in words.split()[0] else words[0].upper() + words[1:]
    text = ". ".join([words, *notes]).rstrip(".") + "."
    return f"{name} : {kind}{default}\n" + textwrap.indent(textwrap.fill(text, 100), "    ")
