"""Numbers from outside: NumPy would drop masks, imaginary parts and units, and take truth values and text."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import real
from tcpdynamics.solvers import ODE, DomainError, Map, basin, continuation, eigenvalues, tabulated, trajectory
from tcpdynamics.solvers.problems.numbers import real_array

x, r, t = sympy.symbols("x r t")
DECAY = ODE(rhs={"x": r - x}, parameters={"r": 1.0}, start={"x": 1.0})

#: Two entries each, none of which is two real numbers.
HOSTILE: dict[str, Any] = {
    "masked": np.ma.array([1.0, 2.0], mask=[0, 1]),
    "masked in a list": [1.0, np.ma.masked],
    "complex": np.array([1.0, 2.0 + 1j]),
    "complex in a list": [1.0, 2.0 + 0j],
    "truth": np.array([False, True]),
    "truth in a list": [0.5, True],
    "NumPy's truth in a list": [0.5, np.True_],
    "text": ["1", "2"],
    "dates": np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
    "nothing": [1.0, None],
    "too large": [1, 10**400],
    "too large for Python to print": [1, 10**5000],
    "labelled truth": xr.DataArray([False, True], dims="k"),
    "labelled complex": xr.DataArray([0j, 1j], dims="k"),
    "ragged": [1.0, [2.0, 3.0]],
}

#: What is no setting.
SETTINGS: dict[str, Any] = {
    "truth": True,
    "NumPy's truth": np.True_,
    "masked": np.ma.masked,
    "masked array": np.ma.array(0.5, mask=True),
    "complex": 0.5j,
    "text": "0.5",
    "nothing": None,
    "too large for Python to print": 10**5000,
}

READERS: dict[str, Callable[[Any], Any]] = {
    "reader": lambda v: real_array("x", v),
    "times": lambda v: trajectory(DECAY, v),
    "steps of a map": lambda v: trajectory(Map(rhs={"x": x / 2}, start={"x": 1.0}), v),
    "times of a table": lambda v: tabulated(t, v, [0.0, 1.0]),
    "values of a table": lambda v: tabulated(t, [0.0, 1.0], v),
    "bounds": lambda v: continuation(DECAY, "r", v),
    "at": lambda v: eigenvalues(DECAY, {"x": v}),
    "start": lambda v: trajectory(DECAY, [1.0], start={"x": v}),
    "starts of basins": lambda v: basin(DECAY, {"x": v}),
    "start of a search": lambda v: continuation(DECAY.starting({"x": v}), "r", (0.0, 1.0)),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("value", HOSTILE)
def test_what_is_not_a_real_number_is_refused_by_a_sentence(value: str, reader: str) -> None:
    with pytest.raises(DomainError) as caught:
        READERS[reader](HOSTILE[value])
    assert len(str(caught.value)) < 400 and "\n" not in str(caught.value)


def test_masks_are_named() -> None:
    with pytest.raises(DomainError, match=r"times \[s\] must not be masked"):
        trajectory(DECAY, HOSTILE["masked"])


@given(st.lists(st.floats(allow_nan=False), max_size=5))
def test_real_numbers_pass_unchanged(values: list[float]) -> None:
    for held in (values, tuple(values), np.array(values), xr.DataArray(np.array(values))):
        assert real_array("x", held).tolist() == values


def test_exact_numbers_become_floats() -> None:
    assert real_array("x", [Fraction(1, 2), Decimal("0.25"), sympy.Rational(1, 8), 2**70, np.float32(3)]).tolist() == [
        0.5, 0.25, 0.125, 2.0**70, 3.0,
    ]  # fmt: skip
    assert real_array("x", 3).shape == () and real_array("x", [[1, 2]]).shape == (1, 2)
    assert np.isnan(real_array("x", [math.nan])).all()


@pytest.mark.parametrize("name", ["rtol", "atol", "max_steps", "max_step"])
@pytest.mark.parametrize("value", SETTINGS)
def test_settings_are_real_numbers_too(name: str, value: str) -> None:
    if name == "max_step" and value == "nothing":
        return
    with pytest.raises(DomainError, match=name):
        trajectory(DECAY, [1.0], **{name: SETTINGS[value]})


@pytest.mark.parametrize("value", SETTINGS)
def test_settings_of_long_motions(value: str) -> None:
    with pytest.raises(DomainError, match="keep must"):
        real("keep", SETTINGS[value], 0)


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3), np.array(3.0), Fraction(3), sympy.Integer(3)])
def test_one_number_of_any_type_is_a_start(value: Any) -> None:
    assert float(trajectory(DECAY, [0.0, 1.0], start={"x": value}).x[0]) == 3.0
