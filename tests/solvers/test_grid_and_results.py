"""Sweeps: arrays become labelled dimensions; results carry units, provenance and reasons, through a file and back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics import __version__
from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.solvers import (
    DomainError,
    MarkovChain,
    failures,
    first_passage,
    sensitivity,
    sojourn,
    spectral_gap,
    stationary,
    transient,
    windowed,
)
from tcpdynamics.solvers.grid import make_grid
from tcpdynamics.solvers.results import Status

p, r = sympy.symbols("p r", positive=True)
PAIR = {("a", "b"): p, ("b", "a"): r}


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 99))
def test_every_point_of_a_grid_is_one_combination(sizes: list[int], seed: int) -> None:
    """Size 0 stands for a number; the i-th point holds the i-th combination, last dimension fastest."""
    rng = np.random.default_rng(seed)
    given_ = {f"x{i}": rng.random(n) if n else float(rng.random()) for i, n in enumerate(sizes)}
    grid = make_grid(given_)
    swept = [k for k, n in zip(given_, sizes, strict=True) if n]
    assert grid.dims == tuple(swept)
    mesh = np.meshgrid(*(given_[k] for k in swept), indexing="ij")
    for k, values in zip(swept, mesh, strict=True):
        assert (grid.unflatten(grid.values[k]) == values).all()
    point = grid.point(grid.size - 1)
    assert point == {k: float(v[-1]) if np.ndim(v) else v for k, v in given_.items()}


def test_data_arrays_bring_their_own_dimensions() -> None:
    place = xr.DataArray([0.1, 0.2, 0.3], dims="site", coords={"site": ["x", "y", "z"]}, name="loss")
    grid = make_grid({"p": place, "r": [0.5, 0.6]})
    assert grid.dims == ("site", "r")
    result = stationary(MarkovChain(PAIR, {"p": place, "r": [0.5, 0.6]}))
    assert result.probability.dims == ("site", "r", "state")
    assert result.probability.sel(site="y", r=0.6, state="a").item() == pytest.approx(0.75)
    assert result.loss.dims == ("site",)  # the values that were swept go along


def test_equal_dimensions_are_walked_together() -> None:
    one = xr.DataArray([0.1, 0.2], dims="point")
    two = xr.DataArray([0.4, 0.2], dims="point")
    result = stationary(MarkovChain(PAIR, {"p": one, "r": two})).probability
    assert result.dims == ("point", "state")
    assert result.values[:, 0] == pytest.approx([0.8, 0.5])
    transposed = xr.DataArray([[0.1, 0.2, 0.3]] * 2, dims=("a", "b"))
    other = xr.DataArray([[0.4] * 2] * 3, dims=("b", "a"))
    assert stationary(MarkovChain(PAIR, {"p": transposed, "r": other})).probability.sizes["b"] == 3


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"p": []}, "p is an empty array; give at least one value"),
        ({"p": "abc"}, "p must be numeric, got <U3 values"),
        ({"p": None}, "p must be numeric, got object"),
        ({"p": [[0.1]]}, "p has 2 dimensions; give a number, a 1-D array or a DataArray"),
        (
            {
                "p": xr.DataArray([0.1, 0.2], dims="x", coords={"x": [1, 2]}),
                "r": xr.DataArray([0.1, 0.2], dims="x", coords={"x": [1, 3]}),
            },
            "parameters share a dimension but not its coordinates",
        ),
        (
            {"p": xr.DataArray([0.1, 0.2], dims="x"), "r": xr.DataArray([0.1], dims="x")},
            "parameters share a dimension but not its coordinates",
        ),
        ({"p": xr.DataArray([0.1], dims="state")}, "a parameter brings the dimension 'state'"),
    ],
)
def test_grids_that_are_none(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(DomainError) as error:
        stationary(MarkovChain(PAIR, {"r": 0.5, **given_}))
    assert message in str(error.value)


def test_fractions_are_numbers() -> None:
    result = stationary(MarkovChain(PAIR, {"p": Fraction(1, 3), "r": [Fraction(1, 3), Fraction(2, 3)]}))
    assert result.probability.sel(state="a").values == pytest.approx([1 / 2, 2 / 3])


MODEL = SubPacketExact(loss=[0.05, 0.1, 0.2], base_timeout=2, backoff_cap=2)
SOLVED = {
    "stationary": lambda: stationary(MODEL),
    "sensitivity": lambda: sensitivity(MODEL),
    "first_passage": lambda: first_passage(MODEL, "S3", times=[1, 5]),
    "transient": lambda: transient(MODEL, "S3", [1, 5]),
    "spectral_gap": lambda: spectral_gap(MODEL),
    "windowed": lambda: windowed(MODEL, MODEL.delivered(), 7),
    "sojourn": lambda: sojourn(MODEL, ["b(0)"], longest=3),
}


@pytest.mark.parametrize("solver", SOLVED)
def test_results_are_labelled_and_survive_a_file(solver: str, tmp_path: Path) -> None:
    result = SOLVED[solver]()
    assert result.attrs["model"] == "SubPacketExact"
    assert result.attrs["solver"] == solver
    assert result.attrs["version"] == __version__
    again = SubPacketExact(**json.loads(result.attrs["parameters"]))
    assert again == MODEL
    for name, variable in result.data_vars.items():
        assert "loss" in variable.dims, name
        if name != "status":
            assert variable.attrs["units"], name
            assert variable.attrs["long_name"], name
    assert result.loss.attrs["units"] == "1"
    path = tmp_path / "result.nc"
    result.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as read:
        loaded = read.load()
    xr.testing.assert_identical(loaded.drop_attrs(), result.drop_attrs())
    assert loaded.attrs == result.attrs
    for name in result.data_vars:
        assert loaded[name].attrs.get("units") == result[name].attrs.get("units")


def test_observations_are_labelled_and_survive_a_file(tmp_path: Path) -> None:
    result = MODEL.observe(stationary(MODEL))
    assert {k: v.attrs["units"] for k, v in result.data_vars.items()} == {
        "sent": "1",
        "packets_per_rtt": "packet",
        "fast_retransmitted": "packet",
        "goodput": "packet",
        "silent_fraction": "1",
    }
    result.to_netcdf(tmp_path / "seen.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "seen.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load().drop_attrs(), result.drop_attrs())


def test_failures_name_points_and_reasons() -> None:
    result = stationary(MarkovChain({("a", "b"): p, ("b", "a"): 1 - r}, {"p": [0.5, -1], "r": [0.5, 2]}))
    assert failures(result) == [
        ({"p": 0.5, "r": 2.0}, Status.NEGATIVE.sentence),
        ({"p": -1.0, "r": 0.5}, Status.NEGATIVE.sentence),
        ({"p": -1.0, "r": 2.0}, Status.NEGATIVE.sentence),
    ]
    assert result.status.attrs["flag_values"].size == len(Status)
    assert len(result.status.attrs["flag_meanings"].split()) == len(Status)
    single = stationary(MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": -1}))
    assert failures(single) == [({"p": -1.0}, Status.NEGATIVE.sentence)]
    assert failures(stationary(MODEL)) == []


def test_failed_points_stay_failed_when_observed() -> None:
    model = SubPacketFull(loss=[0.1, 0.2])
    chain = model.chain()
    moved = stationary(chain.at(p=xr.DataArray([0.1, 0.6], dims="loss", coords={"loss": [0.1, 0.2]})))
    assert failures(moved)[0][1] == "a parameter is outside its domain"
    result = model.observe(moved)
    for name in result.data_vars:
        assert np.isnan(result[name].values[1]).all(), name
        assert np.isfinite(result[name].values[0]).all(), name


def test_long_sweeps_keep_their_ends_in_the_attributes() -> None:
    loss = np.linspace(0.01, 0.4, 1000)
    kept = json.loads(stationary(SubPacketFull(loss=loss)).attrs["parameters"])["loss"]
    assert kept == {"first": 0.01, "last": 0.4, "count": 1000}


def test_a_sweep_is_its_points_one_by_one() -> None:
    swept = stationary(SubPacketExact(loss=[0.1, 0.3], base_timeout=[2, 3.5], retransmission_loss=[0.0, 0.2]))
    assert swept.probability.dims == ("loss", "retransmission_loss", "base_timeout", "state")
    for loss in (0.1, 0.3):
        for base in (2, 3.5):
            for again in (0.0, 0.2):
                one = SubPacketExact(loss=loss, base_timeout=base, retransmission_loss=again)
                here = swept.probability.sel(loss=loss, base_timeout=base, retransmission_loss=again)
                assert here.values == pytest.approx(stationary(one).probability.values, rel=1e-13)


def test_every_status_has_a_sentence_of_its_own() -> None:
    assert [status.value for status in Status] == list(range(len(Status)))
    assert len({status.reason for status in Status}) == len(Status)
    for status in Status:
        assert status.sentence and status.reason.startswith(status.sentence) and status.reason.endswith(status.advice)
