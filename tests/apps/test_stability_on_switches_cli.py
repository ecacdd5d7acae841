"""`tcpdynamics stability` where the equilibrium lies on a switch: one line, text, JSON, files, charts and stores."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

CUT = ("--interpretation", "measured-rtt", "--view", "cut-map", "--buffer", "100", "--bdp", "100")


def test_the_verdict_on_a_switch_names_both_sides(answer):
    line = answer("stability", "t-refwa", *CUT, "--phi", "2.4", "--psi", "1.5", "--verdict")
    assert line.startswith("stable: on a switch of the equations, below it the multiplier -0.5, above it")
    assert "above it the multiplier -1.4; settles to 1 % in" in line and len(line.splitlines()) == 1
    assert float(line.partition("1 % in ")[2].split()[0]) == pytest.approx(np.log(100) / -np.log(0.7**0.5), rel=1e-3)
    line = answer("stability", "t-refwa", *CUT, "--phi", "3.4", "--psi", "1.5", "--verdict")
    assert line.startswith("unstable: on a switch") and "deviations grow e-fold in" in line
    line = answer("stability", "t-refwa", "--interpretation", "delayed", "--delay", "1", "--phi", "0", "--verdict")
    assert line.startswith("unknown: on a switch") and "the two sides do not decide" in line


def test_the_text_has_the_roots_of_both_sides(answer):
    text = answer("stability", "t-refwa", *CUT, "--phi", "2.4", "--psi", "1.5")
    assert text.index("below the switch") < text.index("-0.5      0.5") < text.index("above the switch")
    assert "nan" not in text


def test_json_and_files_hold_both_sides(answer, tmp_path):
    words = ("stability", "t-refwa", *CUT, "--phi", "2.4", "--psi", "1.5")
    found = json.loads(answer(*words, "--json"))
    assert found["verdict"] == "stable" and found["on_switch"] is True
    sides = found["results"]["eigenvalue_side"]
    assert sides["dims"] == ["side", "root"] and np.allclose(sides["values"], [[[-0.5, 0]], [[-1.4, 0]]])
    assert found["results"]["eigenvalue"]["values"] == [[None, None]]
    off = json.loads(answer("stability", "t-refwa", "--phi", "1", "--json"))
    assert off["on_switch"] is False and off["results"]["eigenvalue"]["values"] == [[-0.5, 0.0]]
    answer(*words, "--output", str(tmp_path / "x.nc"), "--output", str(tmp_path / "x.html"))
    with xr.open_dataset(tmp_path / "x.nc") as stored:
        assert stored.eigenvalue_side.sel(part="real").values.ravel().tolist() == pytest.approx([-0.5, -1.4])
    assert "roots below the switch" in (tmp_path / "x.html").read_text()


def test_a_chart_on_a_switch_counts_its_verdicts(answer, tmp_path):
    words = ("stability", "t-refwa", *CUT, "--phi", "2.2:2.8:4", "--psi", "1.5,2.5")
    text = answer(*words)
    assert "stable        4 (50.0 %)" in text and "unstable      4 (50.0 %)" in text
    assert "on a switch   8 of these points, judged by both sides" in text and "without" not in text
    chart = json.loads(answer(*words, "--json"))
    assert set(np.ravel(chart["results"]["verdict"]["values"])) == {"stable", "unstable"}
    stored = answer(*words, "--output", str(tmp_path / "x.zarr"))
    assert "stable        4 (50.0 %)" in stored
    text = answer("stability", "t-refwa", "--interpretation", "delayed", "--delay", "1", "--phi", "0,0.5")
    assert "1 of these points, judged by both sides; 1 of them cannot be decided so" in text
    assert "phi = 0\n" in text  # where stability ends
