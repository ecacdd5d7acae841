"""`tcpdynamics evaluate`: tables of closed forms, as a user types."""

import json

import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli
from tcpdynamics.models import LeapTransfer, OverloadedStar


def run(*words):
    return CliRunner().invoke(cli, ["evaluate", *words])


def test_a_table_over_a_grid():
    done = run("leap-transfer", "--data-loss", "0.1:0.3:3", "--ack-loss", "10%,0.2")
    lines = done.output.splitlines()
    assert done.exit_code == 0 and lines[0] == "LeapTransfer"
    assert lines[1].split()[:2] == ["data_loss", "ack_loss"] and len(lines) == 2 + 6 + 6
    assert float(lines[2].split()[-1]) == pytest.approx(LeapTransfer(0.1, 0.1).saving(), rel=1e-4)


def test_json_and_a_file(tmp_path):
    done = run("overloaded-star", "--density", "2.5,3.5", "--json")
    document = json.loads(done.output)
    expected = OverloadedStar(density=[2.5, 3.5]).finished().values
    assert document["results"]["finished"]["values"] == pytest.approx(list(expected))
    path = tmp_path / "x.nc"
    done = run("overloaded-star", "--density", "2.5,3.5", "--output", str(path))
    assert done.exit_code == 0
    with xr.open_dataset(path) as result:
        assert result.finished.values == pytest.approx(expected)
    assert run("leap-timeout", "--data-loss", "0.1", "--ack-loss", "0.1", "--output", str(path)).exit_code != 0


def test_help_and_refusals():
    assert "leap-timeout" in run("--help").output
    for words, sentence in (
        (("leap-transfer", "--data-loss", "2", "--ack-loss", "0.1"), "--data-loss must"),
        (("leap-transfer", "--data-loss", "0.1"), "missing for --ack-loss"),
        (("leap-transfr",), "did you mean 'leap-transfer'"),
    ):
        done = run(*words)
        assert done.exit_code == 2 and sentence in done.output


def test_a_table_of_too_many_rows_is_refused(tmp_path):
    """A file takes what a printed table does not."""
    words = ["leap-transfer", "--data-loss", "0.01:0.3:101", "--ack-loss", "0.01:0.3:100"]
    done = run(*words)
    assert done.exit_code == 2 and "at most 10,000" in done.output and "--output FILE.nc" in done.output
    done = run(*words, "--output", str(tmp_path / "x.nc"))
    assert done.exit_code == 0, done.output
