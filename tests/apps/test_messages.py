"""Refusals name what is at fault, in words that the user wrote, and give one advice."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

LINKS = """
duration = "10s"
warm_up = "1s"
[[links]]
source = "a"
target = "b"
rate = "1Mbit/s"
delay = "10ms"
[[links]]
source = "a"
target = "b"
rate = "1Mbit/s"
delay = "10ms"
[[flows]]
source = "a"
target = "b"
[[flows]]
source = "a"
target = "b"
"""

DUMBBELL = """
duration = "10s"
warm_up = "1s"
[topology]
kind = "dumbbell"
rtt = []
[[flows]]
count = 2
source = "s0"
target = "d0"
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINKS, "links has a->b twice; a duplex link makes both directions"),
        (DUMBBELL, "topology.flows is missing; a topology of kind dumbbell cannot do without"),
        (f"duration = {'1' * 5000}", "a whole number has thousands of digits; write a shorter one, or such as 1e9"),
    ],
    ids=["links", "topology", "digits"],
)
def test_a_scenario_is_told_what_is_at_fault(
    text: str, message: str, refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    assert refused("simulate", str(path)).strip() in (f"Error: {message}", f"Error: {str(path)!r}: {message}")


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("101%", r"--loss must lie in \(0, 0.5\), got 1.01 at index 0"),
        ("1.01", r"--loss must lie in \(0, 0.5\), got 1.01 at index 0; a percentage\? divide by 100"),
        ("%", r"--loss: '%' has no number before it; write such as 5%"),
        ("0.05:0.45:300%", r"--loss: the count in '0.05:0.45:300%' is a number of points, not a share; write it .*"),
    ],
)
def test_percents(loss: str, message: str, refused: Callable[..., str]) -> None:
    assert re.fullmatch(f"Error: {message}\n", refused("stationary", "sub-packet", "--loss", loss))


def test_a_pipe_is_no_store(refused: Callable[..., str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    error = refused("explain", str(pipe))
    assert error.endswith("but a folder, a device or a pipe; give another name\n") and error.count("another name") == 1


def test_other_times_of_a_store_are_told_as_a_range(
    answer: Callable[..., str], refused: Callable[..., str], tmp_path: Path
) -> None:
    words = ("trajectory", "logistic", "--epsilon", "0.5:1:2", "--output", str(tmp_path / "x.zarr"), "--time")
    answer(*words, "0:3:50")
    error = refused(*words, "0:4:60")
    assert "0 to 3 in 50 values, this one's is 0 to 4 in 60 values" in error


def test_a_chart_is_summed_up_beside_every_file(answer: Callable[..., str], tmp_path: Path) -> None:
    words = ("stability", "logistic", "--epsilon", "0.5:2:4", "--delay", "0:1:4")
    said = answer(*words)
    assert said
    for name in ("x.html", "x.nc"):
        assert answer(*words, "--output", str(tmp_path / name)) == said
