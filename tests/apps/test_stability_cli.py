"""`tcpdynamics stability`: verdicts and charts against polynomial roots and closed forms, files, refusals."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import tcpdynamics

GAINS = ("--phi", "0:3:31", "--psi", "0:2:21")


@settings(max_examples=15)
@given(phi=st.floats(0.01, 3), psi=st.floats(0.01, 2))
def test_the_verdict_on_a_window_is_that_of_its_multiplier(answer, phi, psi):
    line = answer("stability", "t-refwa", "--phi", repr(phi), "--psi", repr(psi), "--verdict")
    assert len(line.splitlines()) == 1
    multiplier = 1 - phi - psi
    word = line.partition(":")[0]
    if abs(abs(multiplier) - 1) > 1e-12:
        assert word == ("stable" if abs(multiplier) < 1 else "unstable")
    printed = float(line.partition("multiplier ")[2].partition(";")[0])
    assert printed == pytest.approx(multiplier, rel=1e-5, abs=1e-6)  # printed with six digits


@settings(max_examples=15)
@given(epsilon=st.floats(0.1, 3), delay=st.floats(0.05, 2))
def test_a_delayed_point_is_a_root_of_its_equation_and_settles_as_it_says(answer, epsilon, delay):
    document = json.loads(answer("stability", "logistic", "--epsilon", repr(epsilon), "--delay", repr(delay), "--json"))
    results = document["results"]
    z = complex(*results["characteristic_root"]["values"][0])
    assert abs(z + epsilon * np.exp(-z * delay)) < 1e-9 * (1 + epsilon)
    margin = np.pi / 2 - epsilon * delay
    assert document["margin"] == pytest.approx(margin, abs=1e-14)
    if abs(margin) > 1e-9:
        assert document["verdict"] == ("stable" if margin > 0 else "unstable")
    if margin > 1e-3:
        assert results["settling_time"]["values"] == pytest.approx(-np.log(100) / z.real, rel=1e-9)
    else:
        assert results["settling_time"]["values"] is None or margin > 0


def test_the_published_gains_are_marginal_in_the_window_reading(answer):
    words = ("--phi", "1.5", "--psi", "0.5", "--interpretation", "window", "--verdict")
    line = answer("stability", "t-refwa", *words)
    assert line == (
        "marginal: spectral radius 1, multiplier -1; small deviations neither grow nor die out, "
        "oscillation with a period of 2 intervals\n"
    )


@pytest.mark.parametrize("pair", [(1.9, 0.1), (1.3, 0.7), (0.7, 1.3), (1.1, 0.9)])
def test_marginal_is_not_missed_for_rounding(answer, pair):
    phi, psi = map(str, pair)  # sums that may miss 2 by a rounding error
    assert answer("stability", "t-refwa", "--phi", phi, "--psi", psi, "--verdict").startswith("marginal")
    # What differs from 2 by more than rounding counts as different.
    assert answer("stability", "t-refwa", "--phi", phi, "--psi", f"{pair[1] + 1e-12!r}", "--verdict").startswith(
        "unstable"
    )


#: Characteristic polynomials, written down from the recursions, highest power first.
POLYNOMIALS = {
    "window": lambda f, s: [1, f + s - 1],
    "delayed": lambda f, s: [1, f - 1, s],
    "integrating": lambda f, s: [1, f - 2, 1 - f, s],  # with --delay 1
    "mixed": lambda f, s: [1, f - 1 + s / 2, s / 2],
    "measured": lambda f, s: [1, -1, f + s],
    "semi-implicit": lambda f, s: [1, f + s - 2, 1 - f],
}


@pytest.mark.parametrize("reading", POLYNOMIALS)
def test_charts_of_t_refwa_agree_with_polynomial_roots(answer, reading):
    document = json.loads(answer("stability", "t-refwa", *GAINS, "--interpretation", reading, "--delay", "1", "--json"))
    phi, psi = (np.array(document["coordinates"][k]) for k in ("phi", "psi"))
    results = document["results"]
    assert results["radius"]["dims"] == ["phi", "psi"]
    inside = phi > 0  # at phi = 0 the queue rests on the edge of the buffer, where no linearisation exists
    for i in np.flatnonzero(inside):
        for j, s in enumerate(psi):
            roots = np.roots(POLYNOMIALS[reading](phi[i], s))
            radius = np.abs(roots).max()
            # a root of multiplicity m is off by the m-th root of rounding
            assert results["radius"]["values"][i][j] == pytest.approx(radius, abs=1e-5)
            if abs(radius - 1) > 1e-5:
                assert results["verdict"]["values"][i][j] == ("stable" if radius < 1 else "unstable")
    assert results["disagreements"]["values"] == 0


@pytest.mark.parametrize(
    ("reading", "of_phi", "of_psi"),
    [
        ("continuous", lambda w: w * np.sin(w), lambda w: w**2 * np.cos(w)),
        ("queue-delayed", lambda w: w * np.tan(w), lambda w: w**2 / np.cos(w)),
    ],
)
def test_charts_in_continuous_time_end_on_their_curves(answer, reading, of_phi, of_psi):
    document = json.loads(answer("stability", "t-refwa", *GAINS, "--interpretation", reading, "--delay", "1", "--json"))
    boundary = zip(*(document["results"][f"boundary_{k}"]["values"] for k in ("phi", "psi")), strict=True)
    curved = [(f, s) for f, s in boundary if f > 1e-6 and s > 1e-6]
    assert len(curved) > 10
    for f, s in curved:
        w = brentq(lambda w, f=f: of_phi(w) - f, 0, np.pi / 2 - 1e-9, xtol=1e-13)
        assert s == pytest.approx(of_psi(w), abs=1e-8)


def test_the_chart_of_the_delayed_logistic_ends_at_a_quarter_turn(answer):
    text = answer("stability", "logistic", "--epsilon", "0.1:3:300", "--delay", "0:2:300")  # as in the manual
    assert "90,000 points" in text
    assert "agrees at all 90,000 points" in text
    places = [line.replace(",", "").split() for line in text.splitlines() if "epsilon =" in line]
    assert len(places) == 5
    for place in places:
        assert float(place[2]) * float(place[5]) == pytest.approx(np.pi / 2, rel=1e-8)  # nine digits printed


def test_a_small_chart_has_a_row_a_point(answer):
    text = answer("stability", "logistic-map", "--epsilon", "0.5,2,2.5")
    rows = [line.split() for line in text.splitlines()[1:5]]
    assert rows == [
        ["epsilon", "verdict", "radius", "margin"],
        ["0.5", "stable", "0.5", "1.5"],
        ["2", "marginal", "1", "0"],
        ["2.5", "unstable", "1.5", "-0.5"],
    ]


def test_the_excluded_end_of_a_domain_is_left_out_and_marked(answer):
    words = ("--flows", "3", "--epsilon", "0:2:5", "--gamma", "0:1:6", "--interpretation", "stale", "--json")
    document = json.loads(answer("stability", "lotka-volterra", *words))["results"]
    status, verdict, radius = (np.array(document[k]["values"]) for k in ("status", "verdict", "radius"))
    outside = np.zeros((5, 6), bool)
    outside[0], outside[:, -1] = True, True  # epsilon = 0, gamma = 1
    np.testing.assert_array_equal(status == 1, outside)
    np.testing.assert_array_equal(verdict == "unknown", outside)
    assert all(x is None for x in radius[outside])
    assert not any(x is None for x in radius[~outside])


def test_flows_may_differ(answer):
    words = ("--flows", "2", "--capacity", "10", "--capacity", "12", "--gamma", "0.5", "--json")
    document = json.loads(answer("stability", "lotka-volterra", *words))
    assert document["at"] == pytest.approx({"N[1]": (10 - 6) / 0.75, "N[2]": (12 - 5) / 0.75})


def test_units_are_read_as_people_write_them(answer):
    common = ("stability", "fluid-tcp", "--flows", "10", "--buffer", "100", "--json")
    written = answer(*common, "--capacity", "10Mbit/s", "--packet-size", "1250B", "--base-rtt", "100ms")
    assert written == answer(*common, "--capacity", "1000", "--base-rtt", "0.1")


def test_a_delay_that_a_reading_does_not_have_is_noted():
    code = "from tcpdynamics.apps.command.main import main; main()"
    words = ["stability", "t-refwa", "--interpretation", "window", "--delay", "1", "--verdict"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("marginal")
    assert "has no delay" in done.stderr


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["high-speed-tcp", "--loss", "1e-5"], "HighSpeedTcp"),
        (["high-speed", "--loss", "1e-6,1e-5,1e-4"], "HighSpeedTcp"),
        (["scalable-tcp", "--loss", "1e-4", "--view", "map"], "ScalableTcp"),
        (["t-refwa", "--interpretation", "mixed", "--delays", "0,2", "--fractions", "0.3,0.7"], "TRefwaMixed"),
        (["t-refwa", "--interpretation", "integrating"], "TRefwaIntegrating"),
        (["t-refwa", "--delay", "2"], "TRefwaDelayed"),
        (["logistic", "--delay", "0.5"], "LogisticDelayed"),
        (["fluid-tcp-drop-tail", "--flows", "10", "--capacity", "1000", "--base-rtt", "0.1", "--buffer", "50"],
         "FluidTcpFullQueue"),
    ],
)  # fmt: skip
def test_models_by_family_reading_and_class(answer, words, kind):
    assert answer("stability", *words).startswith(kind)


# -- files ---------------------------------------------------------------------------------------------------


def test_outputs_are_whole_and_say_what_they_are(answer, tmp_path):
    chart, page = tmp_path / "chart.nc", tmp_path / "chart.html"
    printed = answer("stability", "t-refwa", *GAINS, "--output", str(chart), "--output", str(page))
    assert printed.startswith("TRefwaWindow") and "651 points" in printed
    with xr.open_dataset(chart) as stored:
        assert stored.attrs["model"] == "TRefwaWindow"
        assert stored.verdict.sizes == {"phi": 31, "psi": 21}
        assert stored.phi.attrs["long_name"] == "gain on spare bandwidth"
    text = page.read_text()
    for word in ("gain on free buffer", "boundary, in closed form", "published (1.5, 0.5)"):
        assert word in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chart.html", "chart.nc"]


def test_a_picture_is_drawn_where_there_is_a_browser(answer, tmp_path):
    if shutil.which("chromium") is None and shutil.which("google-chrome") is None:
        pytest.skip("no chromium")
    target = tmp_path / "roots.png"
    answer("stability", "logistic", "--delay", "1", "--output", str(target))
    assert target.read_bytes().startswith(b"\x89PNG")
    assert len(target.read_bytes()) > 10_000  # not a white page
    assert [p.name for p in tmp_path.iterdir()] == ["roots.png"]


def test_without_a_browser_the_picture_is_refused_before_the_work(refused, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    monkeypatch.setattr("tcpdynamics.apps.outputs._kaleido", lambda: None)
    refusal = refused("stability", "logistic", "--delay", "0:1:9", "--output", str(tmp_path / "x.png"))
    assert "tcpdynamics[export]" in refusal
    assert not list(tmp_path.iterdir())


def test_roots_of_one_point_are_stored(answer, tmp_path):
    target = tmp_path / "roots.nc"
    answer("stability", "t-refwa", "--delay", "1", "--output", str(target))
    with xr.open_dataset(target) as stored:
        parts = stored.eigenvalue
        assert parts.dims == ("root", "part")
        assert abs(complex(*parts.values[0])) == pytest.approx(0.5**0.5)


def _content(store: Path) -> dict[str, bytes]:
    return {str(p.relative_to(store)): p.read_bytes() for p in store.rglob("*") if p.is_file()}


def test_a_store_is_taken_up_where_it_was_left(answer, tmp_path):
    store = tmp_path / "chart.zarr"
    words = ("stability", "t-refwa", *GAINS, "--interpretation", "delayed", "--output", str(store))
    first = answer(*words)
    whole = _content(store)
    lost = [name for name in whole if name.startswith("status/records/c.")][:3]
    assert lost
    for name in lost:
        (store / name).unlink()
    assert answer(*words) == first
    assert _content(store) == whole


def test_a_chart_from_a_store_says_and_draws_the_same(answer, tmp_path):
    """Its boundary is in the text, in the picture and in NetCDF, as without a store."""
    words = ("stability", "logistic", "--epsilon", "0:3:12", "--delay", "0:2:12")
    pages = [tmp_path / name for name in ("memory.html", "store.html")]
    memory, store = tmp_path / "memory.nc", tmp_path / "x.zarr"
    plain = answer(*words, "--output", str(pages[0]), "--output", str(memory))
    assert "crossings, such as" in plain and "its margin is zero" in plain
    for _ in range(2):
        assert _without(answer(*words, "--output", str(store), "--output", str(pages[1]))) == _without(plain)
        assert "boundary, from the roots" in pages[1].read_text(encoding="utf-8")
    with xr.open_zarr(store) as kept, xr.open_dataset(memory, engine="h5netcdf") as whole:
        np.testing.assert_allclose(kept.boundary_delay, whole.boundary_delay, rtol=0, atol=1e-12)
        assert "boundary, from the roots" in {trace.name for trace in tcpdynamics.plot(kept).data}


def _without(text):
    """Without what a store says of points outside the domain, and the last digits of margins."""
    return [line for line in text.splitlines() if not line.startswith("without") and "margin" not in line]


def test_a_store_of_another_sweep_or_a_cut_one_is_left_alone(answer, refused, tmp_path):
    store = tmp_path / "x.zarr"
    words = ["stability", "logistic", "--epsilon", "1:2:9", "--output", str(store)]
    answer(*words)
    before = _content(store)
    assert "holds another sweep" in refused("stability", "t-refwa", *GAINS, "--output", str(store))
    assert "holds another sweep" in refused(*words[:3], "1:2:8", *words[4:])
    assert _content(store) == before
    (store / "zarr.json").write_bytes(before["zarr.json"][:50])
    cut = _content(store)
    assert "cut short" in refused(*words)
    assert _content(store) == cut


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["logistic", "--epsilon", "-1"], "--epsilon must lie in (0, inf), got -1"),
        (["logistic", "--epsilon", "nan"], "'nan' is not a number"),
        (["logistic", "--epsilon", "1,inf"], "'inf' is not a number"),
        (["logistic", "--epsilon", "-1:1:5"], "--epsilon must lie in (0, inf), got -1"),
        (["logistic", "--delay", "-0.5"], "--delay must lie in [0, inf), got -0.5"),
        (["lotka-volterra", "--gamma", "1"], "--gamma must lie in [0, 1), got 1"),
        (["lotka-volterra", "--gamma", "0.5:1.5:3"], "--gamma must lie in [0, 1), got 1.5"),
        (["lotka-volterra", "--flows", "2.5"], "--flows must be a whole number"),
        (["lotka-volterra", "--flows", "3", "--capacity", "1", "--capacity", "2"], "each of the 3 flows, got 2"),
        (["logistic", "--epsilon", "0.1:3:100000", "--delay", "0:2:100000"], "10,000,000,000 points"),
        (["logistic", "--epsilon", "0.1:3:10000000000"], "10,000,000,000 points asked for"),
        (["logistic", "--epsilon", "1,1"], "gives 1 more than once"),
        (["logistic", "--epsilon", "1", "--epsilon", "2"], "appears 2 times"),
        (["t-refwa", "--phi", "0:1:3", "--verdict"], "--verdict judges one point, and --phi has 3 values"),
        (["t-refwa", "--interpretation", "nonsense"], "'nonsense' is not one of"),
        (["t-refwa", "--interpretation", "window", "--rtt-error", "0.1"], "belongs to --interpretation biased"),
        (["t-refwa", "--interpretation", "window", "--delay", "0:2:3"], "--delay takes one number"),
        (["t-refwa", "--delay", "1.5"], "--delay must be a whole number"),
        (["t-refwa", "--interpretation", "mixed", "--fractions", "0.5,0.6"], "sum to one"),
        (["t-refwa", "--interpretation", "mixed", "--delay", "0.5"], "--delay must be a whole number"),
        (["nonsense"], "there is no model 'nonsense'"),
        (["fluid-tcp"], "values are missing for --flows, --capacity, --base-rtt, --buffer"),
        (["logistic", "--capacity", "1Mbit/s"], "add --base-rtt and --packet-size"),
        (["logistic", "--base-rtt", "1m"], "--base-rtt must be a number with one of the units"),
        (["t-refwa", *GAINS, "--output", "x.pdf"], "ends in .nc, .html, .png or .zarr"),
        (["t-refwa", *GAINS, "--output", "no/folder/x.nc"], "does not exist"),
        (["t-refwa", *GAINS, "--output", "no/folder/x.zarr"], "does not exist"),
        (["t-refwa", "--output", "x.zarr"], "give one parameter a range"),
        (["t-refwa", *GAINS, "--bdp", "1,2", "--output", "x.png"], "at most 2 ranges"),
        (["t-refwa", "--phi", "0:1:2000", "--psi", "0:1:1000", "--json"], "JSON would have"),
    ],
)
def test_refusals(refused, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    assert says in refused("stability", *words)
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_kept(refused, tmp_path):
    there = tmp_path / "x.zarr"
    there.write_text("mine")
    assert "it is a file" in refused("stability", "t-refwa", *GAINS, "--output", str(there))
    folder = tmp_path / "y.zarr"
    folder.mkdir()
    (folder / "mine").write_text("mine")
    assert "is not a Zarr store" in refused("stability", "t-refwa", *GAINS, "--output", str(folder))
    assert there.read_text() == (folder / "mine").read_text() == "mine"


def test_a_folder_that_cannot_be_written_to(refused, tmp_path, monkeypatch):
    for name in ("x.nc", "x.zarr"):
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
            refusal = refused("stability", "t-refwa", *GAINS, "--output", str(tmp_path / name))
        assert "cannot be written to" in refusal
    assert not list(tmp_path.iterdir())


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from click.testing import CliRunner; from tcpdynamics.apps.command.main import cli\n"
        "assert CliRunner().invoke(cli, ['--help']).exit_code == 0\n"
        "print([m for m in ('numpy', 'xarray', 'sympy', 'plotly', 'numba', 'jax') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["stability", "trajectory", "bifurcation"])
def test_every_model_has_help(answer, command):
    from tcpdynamics.apps.choice import names

    listed = answer(command, "--help")
    for name in names():
        assert name in listed
        assert "--output" in answer(command, name, "--help")


def test_many_flows_do_not_oscillate_by_rounding(answer):
    line = answer("stability", "lotka-volterra", "--flows", "60", "--verdict")
    assert line.endswith("no oscillation\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fluid-tcp", "--flows", "60", "--capacity", "10Mbit/s", "--packet-size", "0"], "--packet-size must be"),
        (["fluid-tcp", "--flows", "60", "--capacity", "1Mbit/s", "--packet-size", "-1B"], "--packet-size must be"),
        (["lotka-volterra", "--flows", "301"], "--flows must be at most 300"),
        (["lotka-volterra", "--flows", "1e9"], "--flows must be at most 300"),
    ],
)
def test_sizes_that_cannot_be_are_refused(refused, words, says):
    assert says in refused("stability", *words)
