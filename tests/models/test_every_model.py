"""What every exported model must satisfy: a new one is checked before its author writes a test."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import Any

import numpy as np
import pint
import pytest
import sympy
from examples import EXAMPLES, MODELS, example, views
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics import models
from tcpdynamics.apps.choice import FAMILIES, MOTION, views_of
from tcpdynamics.models.model import Model
from tcpdynamics.models.parameters import describe, interval, open_interval
from tcpdynamics.solvers import DomainError, DynamicsError, spectral_abscissa, spectral_radius
from tcpdynamics.solvers.problems import Dynamics, Map
from tcpdynamics.solvers.problems.words import domain_text

#: The queue of drop tail rests on the edge of its buffer, where it has the root 0; `FluidTcpFullQueue` has its margin.
_ON_AN_EDGE = {"FluidTcpDropTail"}


def of_each(classes: list[type[Model]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


def sweepable(model: Model) -> list[dict[str, Any]]:
    """Parameters that are real numbers and have a value."""
    return [r for r in describe(model) if not r["integer"] and not r["structural"] and np.isfinite(value(model, r))]


def value(model: Model, row: dict[str, Any]) -> float:
    number = getattr(model, row["name"])
    return math.nan if number is None else float(number)


@st.composite
def drawn(draw: st.DrawFn, cls: type[Model]) -> Model:
    """A model whose parameters lie within a fifth of their example or default."""
    model = example(cls)
    changed = {}
    for row in sweepable(model):
        number = value(model, row) * draw(st.floats(0.8, 1.2))
        changed[row["name"]] = number
    try:
        return dataclasses.replace(model, **changed)
    except DomainError:  # beyond an end
        return model


def closed_forms(cls: type[Model]) -> list[str]:
    """Methods that need no argument and give a number."""
    names = []
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if name.startswith("_") or name in MOTION or isinstance(inspect.getattr_static(cls, name), staticmethod):
            continue
        if len(inspect.signature(method).parameters) == 1 and isinstance(number_of(example(cls), name), float):
            names.append(name)
    return names


def number_of(model: Model, name: str) -> Any:
    try:
        return getattr(model, name)()
    except (DomainError, DynamicsError, NotImplementedError, AttributeError):
        return None


def bounds() -> list[Any]:
    """A value beyond each end of each parameter."""
    cases = []
    for cls in MODELS:
        for row in describe(cls):
            beyond = [math.nan]
            if row["low"] is not None:
                beyond.append(row["low"] if row["low_open"] else row["low"] - 1)
            if row["high"] is not None and math.isfinite(row["high"]):
                beyond.append(row["high"] if row["high_open"] else row["high"] + 1)
            cases += [pytest.param(cls, row, x, id=f"{cls.__name__}-{row['name']}-{x:g}") for x in beyond]
    return cases


@pytest.mark.parametrize("cls, row, beyond", bounds())
def test_each_bound_is_refused_by_name(cls: type[Model], row: dict[str, Any], beyond: float) -> None:
    with pytest.raises(DomainError, match=rf"^{row['name']} must "):
        cls(**EXAMPLES.get(cls.__name__, {}) | {row["name"]: beyond})


@of_each(MODELS)
def test_the_docstring_and_the_repr_say_what_it_is(cls: type[Model]) -> None:
    for row in describe(cls):
        assert f"{row['name']} : " in cls.__doc__
        assert f"{row['symbol']} in {row['interval']} [{row['unit']}]" in " ".join(cls.__doc__.split())
    model = example(cls)
    assert "\n" not in repr(model) and len(repr(model)) < 200
    assert eval(repr(model), vars(models)) == model


@of_each(MODELS)
@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_problems_know_where_they_come_from(cls: type[Model], data: st.DataObject) -> None:
    model = data.draw(drawn(cls))
    assert cls(**model.provenance()) == model
    intervals = {model.symbol_names.get(r["name"], r["name"]): r for r in describe(cls)}
    for problem in views(model):
        assert cls(**problem.provenance) == model
        assert problem.name.startswith(cls.__name__)
        assert set(problem.domain) == set(problem.parameters)
        for name, (low, high) in problem.domain.items():
            row = intervals[name]
            assert low == pytest.approx(-math.inf if row["low"] is None else row["low"])
            assert high == pytest.approx(math.inf if row["high"] is None else row["high"])
        if isinstance(problem, Dynamics):
            names = {label.partition("[")[0] for label in problem.labels}
            assert names <= set(problem.units) & set(problem.meanings)


def deviation(problem: Dynamics, point: dict[str, Any]) -> float:
    """How far a point is from rest, by the size of its states."""
    parameters = {k: float(v) for k, v in problem.parameters.items()}

    def at(expression: Any, known: dict[str, Any]) -> float:
        e = sympy.sympify(expression)
        return float(e.subs({s: known[s.name] for s in e.free_symbols}).evalf())

    known = parameters | {k: at(e, parameters) for k, e in point.items()}
    outputs = {k: at(e, known | {"t": 0.0}) for k, e in problem.outputs.items() if not_delayed(problem, e)}
    known |= {k: (known | outputs)[d.of] for k, d in getattr(problem, "delayed", {}).items()} | {"t": 0.0}
    size = max(1.0, *(abs(known[k]) for k in point))
    kept = known if isinstance(problem, Map) else dict.fromkeys(point, 0.0)
    return max(abs(at(e, known) - kept[k]) for k, e in problem.rhs.items()) / size


def not_delayed(problem: Dynamics, expression: Any) -> bool:
    names = {s.name for s in getattr(expression, "free_symbols", ())}
    return not names & set(getattr(problem, "delayed", {}))


MOVING = [cls for cls in MODELS if views_of(cls)]


@of_each(MOVING)
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_a_fixed_point_is_at_rest(cls: type[Model], data: st.DataObject) -> None:
    for problem in views(data.draw(drawn(cls))):
        if problem.fixed_points:
            assert min(deviation(problem, point) for point in problem.fixed_points) < 1e-9


@of_each([cls for cls in MOVING if hasattr(cls, "stability_margin") and cls.__name__ not in _ON_AN_EDGE])
@settings(max_examples=2, deadline=None)
@given(data=st.data())
def test_the_sign_of_the_margin_is_that_of_the_root(cls: type[Model], data: st.DataObject) -> None:
    model = data.draw(drawn(cls))
    margin = model.stability_margin()
    if not abs(margin) > 1e-6:  # NaN where there is no interior operating point
        return
    problem = getattr(model, views_of(cls)[0])()
    at = model.equilibrium() if not problem.fixed_points else None
    if isinstance(problem, Map):
        root = spectral_radius(problem, at=at).item() - 1
    else:
        root = spectral_abscissa(problem, at=at).item()
    assert (root < 0) == (margin > 0)


FORMULAS = [(cls, name) for cls in MODELS for name in closed_forms(cls)]


@pytest.mark.parametrize("cls, name", FORMULAS, ids=lambda x: getattr(x, "__name__", x))
def test_arrays_equal_loops(cls: type[Model], name: str) -> None:
    model = example(cls)
    for row in sweepable(model):
        first = value(model, row)
        numbers = [first, (1.1 if row["low"] is not None and 0.9 * first < row["low"] else 0.9) * first]
        swept = getattr(dataclasses.replace(model, **{row["name"]: numbers}), name)()
        single = [getattr(dataclasses.replace(model, **{row["name"]: x}), name)() for x in numbers]
        if getattr(swept, "ndim", 0):
            assert swept.dims == (row["name"],) and swept.values == pytest.approx(single, rel=1e-12, nan_ok=True)
        else:  # the formula is free of it
            assert single == [swept, swept]


@pytest.fixture(scope="module")
def units() -> pint.UnitRegistry[float]:
    registry = pint.UnitRegistry[float]()
    for name in ("packet", "interval", "RTT"):
        registry.define(f"{name} = [{name}]")
    return registry


@of_each(MODELS)
def test_units_agree(cls: type[Model], units: pint.UnitRegistry[float]) -> None:
    """Parameters as quantities in another unit are the same parameters."""
    model = example(cls)
    rows = [r for r in sweepable(model) if r["unit"] != "1"]
    changed = {
        r["name"]: units.Quantity(value(model, r) / 1000, f"kilo{r['unit']}") for r in rows if r["unit"][0] != "1"
    }
    other = dataclasses.replace(model, **changed)
    for name in changed:
        assert other.values()[name] == pytest.approx(model.values()[name], rel=1e-12)
    for ours, theirs in zip(views(model), views(other), strict=True):
        assert {k: float(v) for k, v in theirs.parameters.items()} == pytest.approx(
            {k: float(v) for k, v in ours.parameters.items()}, rel=1e-12
        )


def test_the_command_has_each_reading() -> None:
    for family, about in FAMILIES.items():
        assert about.readings == {
            c.interpretation: c.__name__ for c in MODELS if c.family == family and c.interpretation
        }


@of_each(MODELS)
def test_a_domain_reads_like_the_interval_that_it_was_made_of(cls: type[Model]) -> None:
    for row in (row for row in describe(cls) if "inf]" not in row["interval"]):  # infinity is in no domain
        assert domain_text(*open_interval(row)) == interval(row)
