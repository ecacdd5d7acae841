"""`tcpdynamics bifurcation`: known cycles of the logistic map, the Hopf point of its delayed form, files, refusals."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli


def _ranges(text: str) -> list[tuple[float, float, int, str]]:
    rows = [line.split(maxsplit=3) for line in text.splitlines() if line.lstrip()[:1].isdigit()]
    return [(float(a), float(b), int(n.replace(",", "")), kind) for a, b, n, kind in rows]


def test_the_periods_of_the_logistic_map(answer):
    rows = _ranges(answer("bifurcation", "logistic-map", "--epsilon", "1.8:3:1200"))
    step = 1.2 / 1199
    # flip at 2, sqrt 6, and where the four-cycle ends (r = 3.544090 - 1)
    for (_, last, _, kind), (at, name) in zip(
        rows, [(2, "equilibrium"), (6**0.5, "period 2"), (2.544090, "period 4")], strict=False
    ):
        assert kind == name
        assert at - step <= last <= at + 1e-5
    three = next(row for row in rows if row[3] == "period 3")
    assert 8**0.5 - 1e-5 <= three[0] <= 8**0.5 + step  # the window of period 3


def test_a_table_of_few_ranges_counts_every_point(answer):
    rows = _ranges(answer("bifurcation", "logistic-map", "--epsilon", "1.5:2.5:101"))
    assert sum(n for _, _, n, _ in rows) == 101
    assert all(a[1] < b[0] for a, b in pairwise(rows))


@pytest.mark.slow
def test_exponents_of_known_points(answer):
    words = ("--epsilon", "1.5,3", "--lyapunov", "--json")
    found = json.loads(answer("bifurcation", "logistic-map", *words))["results"]
    exponents, errors = (np.array(found[k]["values"][0]) for k in ("lyapunov_exponent", "lyapunov_error"))
    assert (abs(exponents - np.log([0.5, 2])) <= 5 * errors + 1e-9).all()
    assert found["attractor"]["values"] == ["equilibrium", "undecided"]


@pytest.mark.slow
def test_a_delayed_flow_swings_from_a_quarter_turn_on(answer):
    words = ("logistic", "--delay", "1", "--epsilon", "1.4:1.8:5", "--transient", "300", "--keep", "60")
    rows = _ranges(answer("bifurcation", *words))
    assert [row[3] for row in rows] == ["equilibrium", "cycle with 1 maximum"]
    assert rows[0][1] < np.pi / 2 < rows[1][0]


def test_the_published_gains_cycle(answer):
    text = answer("bifurcation", "t-refwa-window", "--phi", "1,1.4,1.5,2", "--start", "e=10")
    kinds = [row[3] for row in _ranges(text)]
    assert kinds[0] == "equilibrium"
    assert kinds[1] == "period 2"


def test_two_ranges_are_counted(answer):
    text = answer("bifurcation", "logistic-map", "--epsilon", "1.9,2.2", "--capacity", "10,50,100")
    assert [line.split(maxsplit=1) for line in text.splitlines()[2:]] == [["3", "equilibrium"], ["3", "period 2"]]


def test_files(answer, tmp_path):
    page, stored, store = tmp_path / "b.html", tmp_path / "b.nc", tmp_path / "b.zarr"
    words = ("bifurcation", "logistic-map", "--epsilon", "0:3:31")  # 0 is left out
    answer(*words, "--lyapunov", "--output", str(page), "--output", str(stored))
    answer(*words, "--output", str(store))
    with xr.open_dataset(stored) as one, xr.open_zarr(store) as other:
        assert one.sizes["epsilon"] == other.sizes["epsilon"] == 31
        np.testing.assert_array_equal(one.w.values, other.w.transpose(*one.w.dims).values)
        assert one.status.values.tolist() == other.status.values.tolist() == [1, *[0] * 30]
        assert np.isnan(one.lyapunov_exponent.values[0, 0])
    text = page.read_text()
    assert "Lyapunov exponent [1" in text
    assert "window [packet]" in text
    assert "<title>LogisticMap (capacity = 100 packet" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["logistic-map"], "give one parameter a range"),
        (["logistic-map", "--epsilon", "-1:2:4"], "--epsilon must lie in"),
        (["logistic-map", "--epsilon", "1:2:10000000000"], "10,000,000,000 points"),
        (["logistic-map", "--epsilon", "1:2:4", "--keep", "1"], "whole number"),
        (["logistic-map", "--epsilon", "1:2:4", "--keep", "-5"], "--keep"),
        (["logistic-map", "--epsilon", "1:2:4", "--transient", "nan"], "--transient must be a finite number"),
        (["logistic-map", "--epsilon", "1:2:4", "--keep", "nan"], "--keep must be a finite number"),
        (["logistic-map", "--epsilon", "1:2:4", "--keep", "inf"], "--keep"),
        (["logistic-map", "--epsilon", "1:2:4", "--transient", "1e9"], "at most 2e+09 are allowed"),
        (["logistic-map", "--epsilon", "1:2:4", "--max-period", "0"], "--max-period"),
        (["logistic-map", "--epsilon", "1:2:4", "--of", "w"], "--of chooses a quantity where time is continuous"),
        (["logistic", "--epsilon", "1:2:4", "--of", "x"], "x"),
        (["logistic-map", "--epsilon", "1,2", "--capacity", "1,2", "--output", "x.png"], "at most 1 ranges"),
        (["logistic-map", "--epsilon", "1:2:4", "--lyapunov", "--output", "x.zarr"], "--lyapunov"),
        (["lotka-volterra-map", "--gamma", "0,1.5"], "--gamma must lie in [0, 1)"),
    ],
)
def test_refusals(refused, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    assert says in refused("bifurcation", *words)
    assert not list(tmp_path.iterdir())


def test_a_line_where_most_points_failed():
    words = ("bifurcation", "logistic", "--delay", "0.0005", "--epsilon", "1000:2000:3")
    done = CliRunner().invoke(cli, [*words, "--transient", "500"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "Warning: the diagram: 3 of 3 points failed; most often: the steps ran out" in done.stderr
    assert "shorten transient and keep" in done.stderr
    own = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    assert "Warning" not in own.stderr  # a slow machine prints how far it is
    assert [row[3] for row in _ranges(own.stdout)] == ["equilibrium"]
