"""What `stationary` refuses: hostile numbers, files that are not its own, work and digits without end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.apps.command.main import cli
from tcpdynamics.errors import RangeError
from tcpdynamics.quantities import parse_range

WORDS = ("stationary", "sub-packet", "--loss")


@pytest.mark.parametrize(
    "loss",
    [
        "1" * 40_000, "nan", "inf", "-inf", "1e400", "1e-400", "0.1:0.2:10**9", "0.1:0.2:-5",
        "0.1:0.2:1e18", "0.1:0.2:0", "9" * 401, "9" * 4301, "0.1:0.2:" + "9" * 59, "\u0660.\u0661", "0.1_5", "\u00bd",
        "true", "True", "0x1p-3",
        ":" * 10_000, "0.1:" + "x" * 10_000 + ":3", "1e1" + "0" * 55, "\x00", "0.1\n0.2", "--", "1e+-5",
    ],
)  # fmt: skip
def test_hostile_loss_rates(refused: Callable[..., str], loss: str) -> None:
    assert len(refused(*WORDS, loss)) < 700


@pytest.mark.parametrize("option", ["--base-timeout", "--retransmission-loss", "--w-max", "--stages"])
@pytest.mark.parametrize("value", ["9" * 4301, "1" * 40_000, "nan", "1e400", "True", "-1", "x" * 10_000])
def test_hostile_options(refused: Callable[..., str], option: str, value: str) -> None:
    if len(value) > 2000 and option in ("--w-max", "--stages"):
        return  # click's own message, which repeats the value; the top of the command cuts it
    assert len(refused(*WORDS, "0.1", f"{option}={value}")) < 700


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        values = parse_range(text, 1000)
    except RangeError as error:
        assert len(str(error)) < 700
    else:
        assert 0 < len(values) <= 1000


def test_exact_results_have_a_bound(refused: Callable[..., str], answer: Callable[..., str]) -> None:
    for loss in ("0.01:0.4999:2000", "0.123456789:0.4:500"):
        assert "digits" in refused(*WORDS, loss, "--exact", "--w-max", "60")
    assert "/" in answer(*WORDS, "0.123457", "--exact", "--w-max", "40", "--json")  # beyond Python's 4,300 digits


def test_a_file_of_others_is_kept(refused: Callable[..., str], answer: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    path.write_text("a diary")
    assert "--force" in refused(*WORDS, "0.1", "--output", str(path))
    assert path.read_text() == "a diary"
    answer(*WORDS, "0.1", "--output", str(path), "--force")
    answer(*WORDS, "0.1", "--output", str(path))  # its own
    assert "other settings" in refused(*WORDS, "0.1,0.2", "--output", str(path))
    answer(*WORDS, "0.1,0.2", "--output", str(path), "--force")
    with xr.open_dataset(path, engine="h5netcdf") as held:
        assert held.sizes["loss"] == 2
    assert "SubPacketFull" in refused(*WORDS, "0.1", "--model", "exact", "--output", str(path))
    xr.Dataset({"x": 1.0}).to_netcdf(path, engine="h5netcdf")
    assert "--force" in refused(*WORDS, "0.1", "--output", str(path))


def test_probabilities_in_percent(refused: Callable[..., str], answer: Callable[..., str]) -> None:
    assert answer(*WORDS, "10%") == answer(*WORDS, "0.1")
    assert answer(*WORDS, "5%:45%:9", "--json") == answer(*WORDS, "0.05:0.45:9", "--json")
    assert answer(*WORDS, "1/8,10%", "--exact") == answer(*WORDS, "1/8,0.1", "--exact")
    chosen = (*WORDS, "0.1", "--retransmission-loss")
    assert answer(*chosen, "20%") == answer(*chosen, "0.2")
    assert answer(*WORDS, "0.1", "--base-timeout", "200%") == answer(*WORDS, "0.1")
    assert "--loss" in refused(*WORDS, "110%")


def test_a_law_is_drawn(tmp_path: Path) -> None:
    """What is sent against the loss; of one point, the law of the states. Exact results are drawn as floats."""
    for words, says in (
        (("0.1,0.2,0.3",), "probability of an epoch"),
        (("0.1",), "stationary probability"),
        (("0.1,0.2", "--exact"), "probability of an epoch"),
    ):
        path = tmp_path / f"{len(words)}{words[0]}.html"
        done = CliRunner().invoke(cli, [*WORDS, *words, "--output", str(path)])
        assert done.exit_code == 0, done.output
        assert says in path.read_text() and done.stdout == ""
    two = CliRunner().invoke(cli, [*WORDS, "0.1,0.2", "--base-timeout", "2,3", "--output", str(tmp_path / "no.html")])
    assert "a picture shows at most 1 ranges" in str(two.exception)
    assert not (tmp_path / "no.html").exists()


#: What a table of a sub-packet chain is printed without, once the chain's program is on disk.
HEAVY = ("sympy", "xarray", "pandas", "dask", "scipy", "numba")


def test_a_chain_of_known_structure_is_printed_without_heavy_libraries(tmp_path: Path) -> None:
    code = (
        "import sys, click.testing; from tcpdynamics.apps.command.main import cli; "
        "done = click.testing.CliRunner().invoke(cli, sys.argv[1:]); "
        f"print(done.exit_code, sorted({{*{HEAVY}}} & set(sys.modules))); sys.stdout.write(done.stdout)"
    )
    words = (*WORDS, "0.1,0.3", "--base-timeout", "2,3", "--json")
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, *words],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    (_, first), (modules, second) = (run.stdout.split("\n", 1) for run in runs)
    assert modules == "0 []" and first == second and json.loads(second)["probability"]


@pytest.mark.parametrize(
    "words",
    [
        ("sub-packet", "--model", "approximate", "--loss", "0.1,1e-9", "--suffix-losses"),
        ("sub-packet", "--loss", "1e-200,0.3", "--base-timeout", "5/2,3", "--w-max", "12"),
        ("sub-packet", "--model", "levels", "--loss", "0.1", "--retransmission-loss", "0,0.2", "--early-retransmit"),
        ("sub-packet-exact", "--loss", "0.1:0.9:5", "--retransmission-loss", "0.05", "--collapse", "2"),
    ],
)
def test_a_program_from_disk_prints_what_the_solver_gives(
    words: tuple[str, ...], answer: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    first, second = (answer("stationary", *words, "--json") for _ in range(2))
    monkeypatch.setattr("tcpdynamics.apps.command.stationary._from_disk", lambda chosen: None)
    assert first == second == answer("stationary", *words, "--json")
    assert len(list(tmp_path.rglob("*.json"))) == 1
