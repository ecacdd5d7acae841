"""The same command writes the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

COMMANDS = [
    ("stability", "logistic", "--epsilon", "0.5:2:4", "--delay", "0:1:4", "--output", "x.html"),
    ("stability", "logistic", "--epsilon", "0.5:2:4", "--delay", "0:1:4", "--output", "x.nc"),
    ("stability", "logistic", "--epsilon", "1", "--delay", "1", "--output", "x.html"),
    ("trajectory", "lotka-volterra", "--flows", "2", "--time", "0:10:11", "--output", "x.html"),
    ("trajectory", "lotka-volterra", "--flows", "2", "--time", "0:10:11", "--output", "x.nc"),
    ("bifurcation", "logistic-map", "--epsilon", "1.8:2.2:5", "--output", "x.html"),
    ("stationary", "sub-packet", "--loss", "0.1,0.2", "--output", "x.nc"),
    ("simulate", "one_loss", "--output", "x.html"),
    ("simulate", "one_loss", "--output", "x.nc"),
    ("simulate", "one_loss", "--output", "x.csv"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_file_is_written_with_the_same_bytes_twice(
    words: tuple[str, ...], answer: Callable[..., str], tmp_path: Path
) -> None:
    contents = []
    for folder in ("first", "second"):
        path = tmp_path / folder / words[-1]
        path.parent.mkdir()
        answer(*words[:-1], str(path))
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
