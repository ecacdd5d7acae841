"""`tcpdynamics trajectory`: against closed forms and hand iteration; starts, times, units, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp


def test_the_logistic_curve(answer):
    words = ("--epsilon", "0.5,1.95", "--start", "w=2", "--time", "0:10:21", "--json")
    document = json.loads(answer("trajectory", "logistic", *words))
    t, w = np.array(document["coordinates"]["time"]), np.array(document["results"]["w"]["values"])
    for epsilon, line in zip((0.5, 1.95), w, strict=True):
        np.testing.assert_allclose(line, 200 / (2 + 98 * np.exp(-epsilon * t)), rtol=1e-7)
    assert document["start"] == ["w=2"]


def test_a_map_step_by_step(answer):
    text = answer("trajectory", "logistic-map", "--epsilon", "1.95", "--until", "6")
    w, rows = 1.0, [line.split() for line in text.splitlines()[2:]]
    for n, row in enumerate(rows):
        assert row == [str(n), f"{w:.6g}"]
        w += 1.95 * (1 - w / 100) * w
    assert len(rows) == 7


def test_flows_against_scipy(answer):
    words = ("--flows", "3", "--gamma", "0.5", "--start", "N[1]=50", "--until", "8", "--points", "9", "--json")
    document = json.loads(answer("trajectory", "lotka-volterra", *words))
    rates = np.array(document["results"]["N"]["values"])

    def slope(t, N):
        return 1.95 * (1 - (N + 0.5 * (N.sum() - N)) / 100) * N

    start = [50, 2 / 3, 1]
    judge = solve_ivp(slope, (0, 8), start, "Radau", np.arange(9.0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rates, judge.y, rtol=1e-6)


def test_starts_may_be_swept_and_named_for_all_flows(answer, tmp_path):
    text = answer("trajectory", "t-refwa", "--start", "e=0:95:3", "--until", "7")
    rows = [line.split()[:2] for line in text.splitlines()[3:]]
    assert rows == [["0", "95"], ["47.5", "47.5"], ["95", "0"]]  # the cycle e <-> B/2 - e
    target = tmp_path / "x.nc"
    words = ("--start", "N=5", "--epsilon", "1,2", "--until", "1", "--output", str(target))
    answer("trajectory", "lotka-volterra", *words)
    with xr.open_dataset(target) as stored:
        assert (stored.N.isel(time=0) == 5).all()
        assert json.loads(stored.attrs["start"]) == ["N=5"]
        assert stored.epsilon.attrs["symbol"] == r"\varepsilon"


def test_times_and_capacities_with_units(answer):
    words = ["--flows", "10", "--buffer", "50", "--points", "5", "--json"]
    some = ["--capacity", "10Mbit/s", "--packet-size", "1250B", "--base-rtt", "100ms", "--until", "2000ms"]
    same = ["--capacity", "1000", "--base-rtt", "0.1", "--until", "2"]
    assert answer("trajectory", "fluid-tcp", *words, *some) == answer("trajectory", "fluid-tcp", *words, *same)


def test_a_long_table_is_thinned_evenly_and_ends_at_the_end(answer):
    text = answer("trajectory", "logistic", "--delay", "1")
    times = [float(line.split()[0]) for line in text.splitlines()[3:]]
    assert (times[0], times[-1]) == (0, 100)
    assert len(set(np.diff(times).round(9))) == 1
    assert "rows; --json or --output has all" in text


def test_every_view_can_be_asked_for(answer):
    words = ("trajectory", "high-speed-tcp", "--loss", "1e-3", "--until", "4", "--json")
    windows = {}
    for view in ("ode", "map", "growth"):
        windows[view] = json.loads(answer(*words, "--view", view))["results"]["W"]["values"]
    assert windows["growth"][-1] == pytest.approx(5)  # one packet per round trip, below 38
    assert len(windows["map"]) == 5
    w = 1.0
    for value in windows["map"]:
        assert value == pytest.approx(w)
        w += 1 - 0.5 * 1e-3 * w**2


def test_the_excluded_end_of_a_domain_is_left_out_and_marked(answer):
    words = ("--epsilon", "0:2:3", "--until", "5", "--points", "3", "--json")
    document = json.loads(answer("trajectory", "logistic", *words))["results"]
    assert document["status"]["values"] == [1, 0, 0]
    assert document["w"]["values"][0] == [None] * 3


def test_a_store_and_a_page(answer, tmp_path):
    store, page, direct = tmp_path / "t.zarr", tmp_path / "t.html", tmp_path / "t.nc"
    words = ["trajectory", "logistic", "--epsilon", "0.5:2:4", "--delay", "1", "--until", "20", "--points", "11"]
    answer(*words, "--output", str(store), "--output", str(page))
    answer(*words, "--output", str(direct))
    with xr.open_zarr(store) as kept, xr.open_dataset(direct) as stored:
        np.testing.assert_array_equal(kept.w.values, stored.w.values)
        np.testing.assert_array_equal(kept.time.values, stored.time.values)
    assert "window [packet]" in page.read_text()


def test_a_flight_to_infinity_is_told_of(answer):
    text = answer("trajectory", "logistic-map", "--epsilon", "2,3.5", "--until", "60")
    assert text.splitlines()[-1].split() == ["3.5", "nan"]


def test_a_single_flight_to_infinity_is_an_error_and_writes_nothing(refused, tmp_path):
    w, steps = 1.0, 0
    while np.isfinite(w):
        with np.errstate(over="ignore"):
            w, steps = np.float64(w) + 3.5 * (1 - np.float64(w) / 100) * w, steps + 1
    target = tmp_path / "x.nc"
    words = ("--epsilon", "3.5", "--until", "60", "--output", str(target))
    said = refused("trajectory", "logistic-map", *words)
    assert f"failed after {steps - 1} RTT: the state grew" in said
    assert not target.exists()


def test_a_file_of_another_model_is_not_replaced(answer, refused, tmp_path):
    target = tmp_path / "z.nc"
    answer("trajectory", "logistic-map", "--until", "5", "--output", str(target))
    held = target.read_bytes()
    said = refused("trajectory", "t-refwa", "--until", "5", "--output", str(target))
    what = "z.nc holds trajectory of LogisticMap, not trajectory of TRefwaWindow"
    assert f"{what}; give another name, remove it, or give --force" in said
    assert target.read_bytes() == held
    answer("trajectory", "logistic-map", "--until", "9", "--output", str(target), "--force")
    with xr.open_dataset(target) as stored:
        assert stored.sizes["time"] == 10


@pytest.mark.parametrize("command", ["stability", "trajectory", "bifurcation"])
def test_a_file_that_is_no_whole_result_is_not_replaced(answer, refused, tmp_path, command):
    whole, target = tmp_path / "whole.nc", tmp_path / "y.nc"
    answer("trajectory", "logistic-map", "--until", "5", "--output", str(whole))
    for content in (b"notes", whole.read_bytes()[:2000]):
        target.write_bytes(content)
        said = refused(command, "logistic-map", "--epsilon", "1,2", "--output", str(target))
        assert "not whole, or tcpdynamics did not write it" in said
        assert target.read_bytes() == content


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["logistic", "--delay", "200"], "longer than the horizon 100"),
        (["logistic", "--epsilon", "-1"], "--epsilon must lie in"),
        (["lotka-volterra", "--gamma", "1"], "--gamma must lie in [0, 1)"),
        (["logistic", "--time", "0:1:5", "--until", "4"], "leave out --until and --points"),
        (["logistic", "--time", "1,0.5"], "increasing"),
        (["logistic", "--time", "-1:1:5"], ">= 0"),
        (["logistic", "--time", "0:1:10000000000"], "10,000,000,000 points"),
        (["logistic", "--epsilon", "1:2:100000", "--time", "0:1:100000"], "GB of memory, at most"),
        (["logistic", "--until", "0"], "--until must be > 0"),
        (["logistic", "--until", "nan"], "not a number"),
        (["logistic-map", "--time", "1e12"], "at most 2e+09 are allowed"),
        (["logistic-map", "--until", "2.5"], "steps of a map"),
        (["logistic", "--start", "x=1"], "one of w, got 'x=1'"),
        (["logistic", "--start", "5"], "--start takes NAME=VALUE"),
        (["logistic", "--start", "w=-1"], "--start w must lie in (0, inf), got -1"),
        (["lotka-volterra", "--start", "N=1:2:3"], "give one number, not a range"),
        (["logistic", "--epsilon", "1:2:100000", "--start", "w=1:2:100000"], "10,000,000,000 points"),
        (["logistic", "--epsilon", "1,2", "--delay", "0,1", "--output", "x.html"], "at most 1 ranges"),
        (["t-refwa-window", "--view", "ode"], "No such option"),
        (["t-refwa", "--view", "dde"], "--view 'dde' is not a view of TRefwaWindow"),
        (["logistic", "--output", "x.csv"], "ends in .nc, .html, .png or .zarr"),
    ],
)
def test_refusals(refused, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    assert says in refused("trajectory", *words)
    assert not list(tmp_path.iterdir())
