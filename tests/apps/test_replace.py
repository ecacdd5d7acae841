"""No command replaces a file that this package did not write, without --force."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

STABILITY = ("stability", "logistic", "--epsilon", "0.5:2:4", "--delay", "0:1:4", "--output")
TRAJECTORY = ("trajectory", "lotka-volterra", "--flows", "2", "--time", "0:10:11", "--output")
COMMANDS = [
    (*STABILITY, "x.html"),
    (*STABILITY, "x.nc"),
    (*STABILITY, "x.png"),
    (*TRAJECTORY, "x.html"),
    (*TRAJECTORY, "x.nc"),
    ("bifurcation", "logistic-map", "--epsilon", "1.8:2.2:5", "--output", "x.html"),
    ("stationary", "sub-packet", "--loss", "0.1,0.2", "--output", "x.nc"),
    ("simulate", "one_loss", "--output", "x.html"),
    ("simulate", "one_loss", "--output", "x.nc"),
    ("simulate", "one_loss", "--output", "x.csv"),
    ("validate", "misra", "--quick", "--output", "x.nc"),
    ("validate", "ns2", "--output", "x.nc"),
    ("validate", "sub-packet", "--quick", "--output", "x.nc"),
    ("report", "--quick", "--output", "x.html"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("content", ["my own work\n", "<!doctype html>\n<html><p>mine", "PK\x03\x04"])
def test_a_foreign_file_stays(
    content: str, words: tuple[str, ...], refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / words[-1]
    path.write_text(content)
    assert "give --force" in refused(*words[:-1], str(path))
    assert path.read_text() == content


@pytest.mark.parametrize("words", [c for c in COMMANDS if c[0] not in ("validate", "report")], ids=" ".join)
def test_an_own_file_is_replaced_and_a_foreign_one_by_force(
    words: tuple[str, ...], answer: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / words[-1]
    path.write_text("my own work\n")
    answer(*words[:-1], str(path), "--force")
    ours = path.read_bytes()
    # A table has no room for the settings that it was made with.
    answer(*words[:-1], str(path), *(["--force"] if path.suffix == ".csv" else []))
    assert path.read_bytes() == ours
