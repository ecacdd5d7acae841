"""`tcpdynamics explain`: what it says of stores that are begun, complete, damaged or somebody else's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli
from tcpdynamics.solvers import StoreError, explain, sweep

GRID = {
    "epsilon": xr.DataArray([0.1, 0.2, 0.3, 0.4], dims="epsilon", coords={"epsilon": [0.1, 0.2, 0.3, 0.4]}),
    "delay": xr.DataArray(
        np.linspace(0.0, 2.0, 5), {"delay": ("delay", np.linspace(0.0, 2.0, 5), {"units": "RTT"})}, ("delay",)
    ),
    "gamma": 0.5,
}
ABOUT = {"model": "Logistic", "solver": "spectral_abscissa"}


def work(block: dict[str, Any]) -> dict[str, Any]:
    """Fails where the delay is 2, and says so itself where it is 1."""
    if (block["delay"] == 2).any():
        raise ValueError("too late")
    values = -block["epsilon"] * block["delay"]
    abscissa = ("point", values, {"units": "1/RTT", "long_name": "spectral abscissa"})
    return {"abscissa": abscissa, "status": np.where(block["delay"] == 1, 6, 0)}


def begun(store: Path, blocks: int) -> None:
    """A sweep that is interrupted after so many blocks of five points."""

    def stop(done: int, *_: float) -> None:
        if done == 5 * blocks:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(work, GRID, store=store, block=5, about=ABOUT, progress=stop)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["explain", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_a_sweep_that_is_begun(tmp_path: Path, name: str) -> None:
    begun(tmp_path / name, 3)
    found = explain(tmp_path / name)
    assert (found.points, found.done, found.failed, found.missing) == (20, 15, 6, 5)
    assert (found.blocks, found.blocks_done, found.resumable) == (4, 3, True)
    assert found.dims == {"epsilon": 4, "delay": 5}
    assert found.reasons == {"ValueError: too late": 3, "the iteration did not converge": 3}
    assert found.parameters == {"epsilon": "0.1 to 0.4, 4 values", "delay": "0 to 2, 5 values [RTT]", "gamma": "0.5"}
    text = run(str(tmp_path / name)).output
    for part in ("resume it: 5 points are missing", "Logistic", "spectral_abscissa", "epsilon 4 x delay 5", "75.0 %"):
        assert part in text
    assert "abscissa (epsilon, delay) [1/RTT] spectral abscissa" in text
    as_json = json.loads(run(str(tmp_path / name), "--json").output)
    assert as_json["missing"] == 5 and as_json["model"] == "Logistic" and as_json["resumable"] is True


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_a_sweep_that_is_complete(tmp_path: Path, name: str) -> None:
    result = sweep(work, GRID, store=tmp_path / name, block=5, about=ABOUT)
    found = explain(tmp_path / name)
    assert (found.points, found.done, found.failed, found.missing) == (20, 20, 8, 0)
    assert found.failed == int((result.status != 0).sum()) and not found.resumable
    assert found.reasons == {"ValueError: too late": 4, "the iteration did not converge": 4}
    assert found.bytes == sum(f.stat().st_size for f in tmp_path.rglob("*") if f.is_file())
    assert f"{name}: complete" in run(str(tmp_path / name)).output


def test_parts_that_are_all_there_wait_for_their_file(tmp_path: Path) -> None:
    begun(tmp_path / "x.nc", 4)
    found = explain(tmp_path / "x.nc")
    assert found.missing == 0 and found.resumable
    assert "resume it: the file is yet to be put together" in str(found)


def test_a_result_that_no_sweep_wrote(tmp_path: Path) -> None:
    path = str(tmp_path / "x.nc")
    command = ["stationary", "sub-packet", "--loss", "0.1:0.4:7", "--output", path]
    assert CliRunner().invoke(cli, command).exit_code == 0
    found = explain(path)
    assert (found.points, found.missing, found.failed, found.resumable) == (7, 0, 0, False)
    assert found.model == "SubPacketFull" and found.parameters["loss"] == "0.1 to 0.4, 7 values"


def test_a_single_point(tmp_path: Path) -> None:
    sweep(lambda block: {"y": block["x"]}, {"x": 2.0}, store=tmp_path / "x.zarr")
    found = explain(tmp_path / "x.zarr")
    assert (found.points, found.done, found.dims, found.parameters) == (1, 1, {}, {"x": "2"})


def test_what_cannot_be_explained_is_one_sentence(tmp_path: Path) -> None:
    begun(tmp_path / "head.zarr", 2)
    head = tmp_path / "head.zarr/zarr.json"
    head.write_bytes(head.read_bytes()[:200])
    begun(tmp_path / "json.zarr", 2)
    head = tmp_path / "json.zarr/zarr.json"
    head.write_text(head.read_text().replace('\\"dims\\"', '\\"dim\\"'))
    xr.Dataset({"x": 1.0}).to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    (tmp_path / "text.nc").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name, told in (
        ("none.zarr", "is not there"),
        ("head.zarr", "is cut short or damaged"),
        ("json.zarr", "the header of .* is damaged"),
        ("plain.nc", "does not say which model"),
        ("text.nc", "not a whole NetCDF file"),
        ("empty", "is not a Zarr store"),
    ):
        with pytest.raises(StoreError, match=told) as caught:
            explain(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_the_command_ends_with_code_2_and_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tcpdynamics.apps.command.main", "explain", str(tmp_path / "none.zarr")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1


SMALL = ("simulate", "single_flow", "--set", "duration=20s", "--set", "warm_up=5s")
LOGISTIC = ("logistic", "--epsilon", "1:2:3", "--delay", "0.5")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (SMALL, ("scenario    single_flow (tcpdynamics ", "command     simulate", "runs        1", "duration = 20.0")),
        (
            (*SMALL, "--replications", "3"),
            ("scenario    single_flow", "command     simulate", "runs        3", "goodput (replication, flow)"),
        ),
        (
            ("validate", "misra", "--quick"),
            ("comparison  MisraVsLinearisation (tcpdynamics ", "command     validate", "horizon = 25"),
        ),
        (("stationary", "sub-packet", "--loss", "0.1,0.2"), ("SubPacketFull", "stationary", "points      2")),
        (("stability", *LOGISTIC), ("model ", "stability_chart", "points      3", "epsilon = 1 to 2, 3 values")),
        (("stability", "logistic", "--epsilon", "1"), ("model       Logistic", "settling_time")),
        (("trajectory", *LOGISTIC, "--until", "5"), ("model ", "trajectory", "points      3")),
        (("bifurcation", "logistic-map", "--epsilon", "1.8:2.4:3"), ("LogisticMap", "bifurcation", "points      3")),
    ],
)
def test_every_command_s_file_is_explained(tmp_path: Path, words: tuple[str, ...], says: tuple[str, ...]) -> None:
    path = str(tmp_path / "x.nc")
    done = CliRunner().invoke(cli, [*words, "--output", path], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    text = run(path).output
    for part in ("complete", "verified    yes", "variables", *says):
        assert part in text
    assert json.loads(run(path, "--json").output)["verified"] is True


@pytest.mark.parametrize("attribute", ["[", "[1]", "1", "[" * 100_000, "\x1b[2J", ""])
def test_a_scenario_s_header_that_is_damaged_is_one_sentence(tmp_path: Path, attribute: str) -> None:
    attrs = {"name": "x", "scenario": attribute, "what_you_ran": "{}", "version": "0"}
    xr.Dataset({"y": 1.0}, attrs=attrs).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    with pytest.raises(StoreError, match="its attribute scenario is no JSON") as caught:
        explain(tmp_path / "x.nc")
    assert "\n" not in str(caught.value)


def test_names_in_a_stranger_s_scenario_are_printed_plainly(tmp_path: Path) -> None:
    ugly = "\x1b[2J" + "x" * 5000
    attrs = {"name": ugly, "scenario": json.dumps({ugly: ugly}), "what_you_ran": "{}", "version": ugly, "warning": ugly}
    xr.Dataset({"y": 1.0}, attrs=attrs).to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    text = run(str(tmp_path / "x.nc")).output
    assert "\x1b" not in text and max(map(len, text.splitlines())) < 1000
