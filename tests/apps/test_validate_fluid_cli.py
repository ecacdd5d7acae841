"""`tcpdynamics validate` against fluids: words, JSON, files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, ["validate", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("logistic", "14 of 14 agree"),
        ("lotka-volterra", "24 of 24 agree"),
        ("t-refwa", "the reading “window”"),
        ("misra", "12 differ with the simplified one"),
    ],
)
def test_words(name: str, said: str) -> None:
    assert said in " ".join(run(name, "--quick").split())


def test_json_and_files(tmp_path: Path) -> None:
    store, page = tmp_path / "x.nc", tmp_path / "x.html"
    document = json.loads(run("logistic", "--quick", "--json", "--output", str(store), "--output", str(page)))
    assert document["comparison"] == "LogisticVsFluid"
    verdicts = document["results"]["verdict"]["values"]
    assert {v for row in verdicts for x in row for v in x} == {"agrees"}
    with xr.open_dataset(store, engine="h5netcdf") as kept:
        assert kept.critical.dims == ("epsilon",) and kept.attrs["comparison"] == "LogisticVsFluid"
    assert "Plotly.newPlot" in page.read_text(encoding="utf-8")


def test_a_store_is_refused(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["validate", "misra", "--output", str(tmp_path / "x.zarr")])
    assert done.exit_code == 2 and "a store holds sweeps" in done.output
