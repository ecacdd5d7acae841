"""The command: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import click
import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps.choice import CHAIN, MOTION, choose
from tcpdynamics.apps.command.main import cli


def tcpdynamics(*words: str) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it, in a process of its own."""
    command = [sys.executable, "-m", "tcpdynamics.apps.command.main", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def answer(*words: str) -> str:
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_table_has_one_row_a_loss_rate_and_the_published_numbers() -> None:
    lines = answer("stationary", "sub-packet", "--loss", "0.05:0.45:9").splitlines()
    header, rows = lines[-10].split("  "), [line.split() for line in lines[-9:]]
    assert [h.strip() for h in header if h.strip()] == ["loss", *(f"{n} sent" for n in range(7)), "packets/RTT"]
    assert [float(r[0]) for r in rows] == [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45]
    assert rows[1][1:] == ["0.2721", "0.1183", "0.1597", "0.1601", "0.1167", "0.0766", "0.0965", "2.3471"]
    for row in rows:
        assert abs(sum(map(float, row[1:8])) - 1) < 7 * 0.5e-4  # seven numbers rounded to four digits


@pytest.mark.parametrize("model", ["approximate", "full", "exact"])
def test_json_has_the_documented_shape(model: str) -> None:
    words = ("stationary", "sub-packet", "--loss", "0.2,0.1", "--model", model, "--w-max", "8", "--json")
    found = json.loads(answer(*words))
    assert list(found) == ["model", "parameters", "loss", "states", "probability", "sent", "packets_per_rtt"]
    assert (found["model"], found["loss"]) == (model, [0.2, 0.1])
    probability, sent = np.array(found["probability"]), np.array(found["sent"])
    assert probability.shape == (2, len(found["states"]))
    assert sent.shape == (2, 9)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(sent.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(sent @ np.arange(9), found["packets_per_rtt"], rtol=1e-14)


def test_exact_json_gives_rationals_that_agree_with_floats() -> None:
    words = ("stationary", "sub-packet", "--loss", "0.25,0.1", "--json")
    exact, floats = json.loads(answer(*words, "--exact")), json.loads(answer(*words))
    assert exact["loss"] == ["1/4", "1/10"]
    assert exact["sent"][0][0] == "1679936255551813859/2226552430058027235"
    assert sum(Fraction(x) for x in exact["probability"][1]) == 1
    for row, other in zip(exact["probability"], floats["probability"], strict=True):
        np.testing.assert_allclose([float(Fraction(x)) for x in row], other, rtol=1e-14)
    assert all("/" in x for x in exact["packets_per_rtt"])


def test_exact_model_takes_cap_and_collapse_and_losses_beyond_one_half() -> None:
    words = ("stationary", "sub-packet", "--model", "exact", "--loss", "0.6", "--json")
    default, deep = (json.loads(answer(*words)), json.loads(answer(*words, "--backoff-cap", "5", "--collapse", "1")))
    assert round(default["sent"][0][0], 4) == 0.9842
    assert deep["sent"][0][0] < default["sent"][0][0]
    assert (default["parameters"]["backoff_cap"], default["parameters"]["collapse"]) == (6, 3)


def test_output_is_netcdf_that_can_be_run_again(tmp_path: Path) -> None:
    target = tmp_path / "sweep.nc"
    answer("stationary", "sub-packet", "--loss", "0.1:0.4:4", "--output", str(target))
    with xr.open_dataset(target) as stored:
        assert dict(stored.sizes) == {"loss": 4, "state": 16, "packets": 7}
        assert json.loads(stored.attrs["parameters"])["stages"] == 3
        assert stored.sent.attrs["units"] == "1"
    assert [p.name for p in tmp_path.iterdir()] == ["sweep.nc"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--loss", "0.5"], "--loss must lie in (0, 0.5), got 0.5"),
        (["--loss", "0.6"], "and no answer there, --model exact has"),
        (["--loss", "1.7"], "a percentage? divide by 100"),
        (["--loss", "abc"], "'abc' is not a number"),
        (["--loss", ""], "the list is empty"),
        (["--loss", "0.1:0.4:1000000000"], "1,000,000,000 points asked for"),
        (["--loss", "0.1", "--w-max", "3"], "--w-max"),
        (["--loss", "0.1", "--stages", "0"], "--stages"),
        (["--loss", "0.1", "--model", "exact", "--collapse", "4"], "--collapse"),
        (["--loss", "0.1", "--collapse", "2"], "--collapse belongs to --model exact"),
        (["--loss", "0.1", "--retransmission-loss", "2"], "--retransmission-loss must lie in"),
        (["--loss", "0.1", "--output", "no/such/folder/x.nc"], "does not exist"),
        ([], "a value is missing for --loss"),
        (["--loss", "0.1", "--w-max", "4:6:3"], "--w-max takes one whole number"),
        (["--loss", "0.1", "--los", "0.2"], "Did you mean"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_code_2(words: list[str], says: str, refused: Callable[..., str]) -> None:
    assert says in refused("stationary", "sub-packet", *words)


@pytest.mark.skipif(os.name != "posix" or not hasattr(os, "geteuid"), reason="file modes are POSIX")
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcpdynamics.apps.files import write_whole
    from tcpdynamics.errors import OutputError

    target = tmp_path / "kept.txt"
    target.write_text("before")

    def full_disk() -> Iterator[bytes]:
        yield b"half"
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        write_whole(target, full_disk())
    assert target.read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["kept.txt"]


SCENARIO = """
duration = "60s"
warm_up = "10s"
[bottleneck]
rate = "1Mbit/s"
buffer = 20
[[flows]]
count = 10
rtt = ["190ms", "210ms"]
"""


def test_simulate_repeats_itself_and_replications_have_intervals(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    first, again = (answer("simulate", str(path), "--json", "--seed", "5") for _ in range(2))
    assert first == again
    found = json.loads(first)
    assert found["results"]["utilisation"]["values"] > 0.9
    assert abs(sum(found["results"]["epoch_fraction"]["values"]) - 1) < 1e-12
    assert "±" in answer("simulate", str(path), "--replications", "2")
    assert "sub_packet" in answer("simulate", "--list")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense = 1\n" + SCENARIO, "nonsense"),
        (SCENARIO.replace('"1Mbit/s"', '"0Mbit/s"'), "bottleneck.rate"),
        (SCENARIO.replace("count = 10", "count = 1000000000"), "flows.count"),
        (SCENARIO.replace('"60s"', '"-60s"'), "duration"),
        ("not toml [", "is not TOML"),
        (None, "cannot read"),
    ],
)
def test_simulate_refuses_by_name(tmp_path: Path, text: str | None, says: str, refused: Callable[..., str]) -> None:
    path = tmp_path / "bad.toml"
    if text is not None:
        path.write_text(text)
    assert says in refused("simulate", str(path))


def test_validate_prints_a_verdict_for_each_case() -> None:
    words = ("validate", "sub-packet", "--quick", "--flows", "100,300", "--json")
    found = json.loads(answer(*words))
    assert len(found["verdicts"]) == 4 * 4
    for row in found["verdicts"]:
        assert sum(len(row[v]) for v in ("agrees", "close", "differs", "undecided", "no answer")) == 2


def test_explore_lets_nobody_in_by_chance() -> None:
    done = tcpdynamics("explore", "--host", "0.0.0.0")
    assert done.returncode == 2
    assert "--host 0.0.0.0 lets other machines in; add --open-to-others" in done.stderr


HOSTILE_WORDS = [
    ["stationary", "sub-packet", "--loss", "x" * 40_000],
    ["stationary", "sub-packet", "--loss", "1" * 40_000],
    ["stationary", "sub-packet", "--loss", " ".join("y" * 300)],
    ["stationary", "sub-packet", "--w-max", "9" * 5000],
    ["stationary", "sub-packet", "--model", "m" * 5000],
    ["stability", "logistic", "--epsilon", "z" * 5000, "--delay", "1"],
    ["stability", "n" * 5000],
    ["trajectory", "logistic", "--time", "0:1:" + "3" * 5000],
    ["trajectory", "logistic", "--output", "f" * 5000 + ".nc"],
    ["simulate", "s" * 5000],
    ["simulate", "one_loss", "--set", "a." * 5000 + "=1"],
    ["simulate", "one_loss", "--set", "duration=" + "q" * 5000],
    ["explain", "e" * 5000],
    ["w" * 5000],
    ["--" + "o" * 5000],
    ["stationary", "\x1b[31mred"],
]


@pytest.mark.parametrize("words", HOSTILE_WORDS, ids=lambda w: " ".join(x[:12] for x in w))
def test_an_error_is_one_short_printable_line(words: list[str], refused: Callable[..., str]) -> None:
    sentence = refused(*words).rstrip("\n")
    assert len(sentence) < 700
    assert sentence.isprintable()


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("maximum recursion depth exceeded")])
def test_memory_and_depth_that_run_out_are_one_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    def fail(*args: object, **settings: object) -> None:
        raise error

    monkeypatch.setattr(cli, "main", fail)
    assert "too" in refused("stationary")


def test_the_examples_that_help_prints_are_complete() -> None:
    """Every line of help that begins with the program's name is read, and its model is built."""
    lines = []
    for group in ("trajectory", "stability", "bifurcation", "stationary"):
        parent = cli.get_command(click.Context(cli), group)
        context = click.Context(parent, info_name=group)
        for name in parent.list_commands(context):
            text = parent.get_command(context, name).help or ""
            lines += re.findall(r"^tcpdynamics (.*)$", text, re.MULTILINE)
    assert len(lines) > 40
    for line in lines:
        group, name, *words = line.split()
        parent = cli.get_command(click.Context(cli), group)
        parsed = parent.get_command(click.Context(parent), name).make_context(name, words).params
        views = CHAIN if group == "stationary" else MOTION
        if group == "stationary":
            parsed["reading"] = parsed.pop("model", None)
        if name == "sender":  # to build one is to explore its states
            continue
        assert choose(name, parsed, views=views).points >= 1, line
