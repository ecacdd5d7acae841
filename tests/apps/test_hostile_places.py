"""Every command where a terminal knows few letters, and where a file that is there must stay, or must stay private."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from tcpdynamics.apps import files, paper_outputs
from tcpdynamics.apps.command.main import cli, main
from tcpdynamics.apps.command.validate import validate
from tcpdynamics.apps.explorer import export
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.report.steps import holds
from tcpdynamics.interrupts import heard
from tcpdynamics.paper_figures.whole import Whole, made
from tcpdynamics.validation.packet import Scenario
from tcpdynamics.validation.packet.run import Interrupted

STABILITY = ("stability", "logistic", "--epsilon", "0.5:2:4")
TRAJECTORY = ("trajectory", "logistic", "--until", "10", "--points", "11")
BIFURCATION = ("bifurcation", "logistic-map", "--epsilon", "1.8:2.2:5")
STATIONARY = ("stationary", "sub-packet", "--loss", "0.1,0.2")
EVALUATE = ("evaluate", "one-way-times")
SWEEP = ("simulate", "one_loss", "--replications", "1", "--set", "flows.0.sender=sack,reno")
FIGURE = ("figures", "logistic.fig8", "--set", "points=5")
PICTURES = (".nc", ".html", ".png")

#: Commands that write, with the kinds of file that each knows, and something that makes it another request.
WRITERS: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = [
    (STABILITY, PICTURES, ("--interpretation", "map")),
    (TRAJECTORY, PICTURES, ("--until", "12")),
    (BIFURCATION, PICTURES, ("--keep", "9")),
    (STATIONARY, (".nc",), ("--stages", "4")),
    (EVALUATE, (".nc",), ("--routes", "3")),
    (("simulate", "one_loss"), (".nc", ".html", ".csv"), ("--set", "duration=9s")),
    (SWEEP, (*PICTURES, ".csv"), ("--set", "duration=9s")),
    (FIGURE, (".html", ".png"), ("--set", "points=6")),
    (("report", "--quick"), (".html",), ()),
    *((("validate", name), (".nc",), ()) for name in validate.commands),
]
COMMANDS = cli.list_commands(click.Context(cli))
#: Commands that write no file of that kind: a folder, or nothing.
OTHERS = {"explain", "explore", "claims"}
FOLDERS = {"testbed"}
CASES = [(*words, f"x{suffix}") for words, suffixes, _ in WRITERS for suffix in suffixes]
CHANGED = [
    (words, other, f"x{suffix}")
    for words, suffixes, other in WRITERS
    for suffix in suffixes
    if other and suffix != ".png"  # pictures take a browser; test_replace_others.py has them
]


def test_every_command_is_looked_at() -> None:
    assert {words[0] for words, _, _ in WRITERS} | OTHERS | FOLDERS == set(COMMANDS)
    for name in OTHERS:
        assert not any(p.name == "output" for p in cli.get_command(click.Context(cli), name).params)


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_a_protected_file_stays(words: tuple[str, ...], refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / words[-1]
    path.touch()  # empty, it could else be replaced
    path.chmod(0o444)
    before = path.stat()
    assert "may not be written to; give another name" in refused(*words[:-1], "--output", str(path))
    assert (path.stat().st_ino, stat.S_IMODE(path.stat().st_mode)) == (before.st_ino, 0o444)


@pytest.mark.parametrize("end", ["html", "nc", "png", "svg"])
def test_a_protected_file_of_a_folder_stays(end: str, refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / f"logistic.fig8.{end}"
    path.touch()
    path.chmod(0o444)
    for words in (FIGURE, ("figures", "--all", "--quick")):
        assert "may not be written to" in refused(*words, "--output", str(tmp_path))
    assert os.listdir(tmp_path) == [path.name]


def test_a_protected_store_stays(refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    path.mkdir(mode=0o555)
    for words in (STABILITY, SWEEP):
        assert "cannot be written to" in refused(*words, "--output", str(path))
    assert not list(path.iterdir())


@pytest.mark.parametrize(("words", "other", "name"), CHANGED, ids=lambda w: w if isinstance(w, str) else " ".join(w))
def test_another_run_stays_and_a_private_result_stays_private(
    words: tuple[str, ...], other: tuple[str, ...], name: str, answer: Callable[..., str], refused: Callable[..., str],
    tmp_path: Path,
) -> None:  # fmt: skip
    path = tmp_path / name
    command = (*words, "--output", str(path))
    answer(*command)
    before = path.read_bytes()
    path.chmod(0o600)
    assert "give --force" in refused(*command, *other)
    assert path.read_bytes() == before
    answer(*command, *other, "--force")
    assert path.read_bytes() != before and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_keeps_the_figure_of_another_run(
    answer: Callable[..., str], refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_outputs, "_photographed", lambda drawings, browser: {
        name: {"png": b"\x89PNG\r\n\x1a\n" + bytes(25), "svg": b"<svg></svg>"} for name in drawings
    })  # fmt: skip
    monkeypatch.setattr(paper_outputs, "find_browser", str)
    command = (*FIGURE, "--output", str(tmp_path))
    answer(*command)
    answer(*command)
    parts = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert {path.suffix for path in parts} == {".nc", ".html", ".png", ".svg"}
    for kept in parts:
        for path in parts:
            path.unlink(missing_ok=True)
        kept.write_bytes(parts[kept])
        for other in ((*command, "--set", "points=6"), ("figures", "--all", "--quick", *command[-2:])):
            assert f"{kept.name} holds figure logistic.fig8 with other settings" in refused(*other)
        assert [*tmp_path.iterdir()] == [kept]
        answer(*command)


def test_a_report_of_the_other_kind_stays(refused: Callable[..., str], tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    files.write_text(path, files.page_start(holds(quick=False)))
    assert "x.html holds report with other settings" in refused("report", "--quick", "--output", str(path))


@pytest.mark.parametrize(("setting", "judges"), [("full", ()), ("quick", ("ns2",)), ("tiny", ())])
def test_a_ledger_of_another_kind_stays(
    setting: str, judges: tuple[str, ...], refused: Callable[..., str], tmp_path: Path
) -> None:
    whole = Whole({}, {}, {judge: {} for judge in judges}, made(setting, 0.0))
    paper_outputs.write_ledger(tmp_path, whole, ())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert "holds ledger of the setting" in refused("figures", "--all", "--quick", "--output", str(tmp_path))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    paper_outputs.check_ledger(tmp_path, setting, judges, False)


#: What prints: every command, and the help of each.
PRINTED = [
    ("claims",), ("claims", "leap.table1"), ("claims", "--json"), ("figures",), ("simulate", "--list"),
    ("figures", "sub_packet.eq8.idle_time", "--decide"), ("figures", "sub_packet.eq8.idle_time", "--decide", "--json"),
    ("simulate", "one_loss", "--set", "name=\u03a9\U0001f600"),
    ("simulate", "one_loss", "--set", "name=\u03a9\U0001f600", "--json"),
    ("simulate", "one_loss", "--replications", "2"), SWEEP, STABILITY, TRAJECTORY, BIFURCATION, STATIONARY, EVALUATE,
    ("validate", "misra", "--quick"), ("explain", "x.nc"), (),
    *((name, "--help") for name in COMMANDS), *(("validate", name, "--help") for name in validate.commands),
]  # fmt: skip


@pytest.mark.parametrize("words", PRINTED, ids=" ".join)
def test_a_terminal_that_knows_few_letters(
    words: tuple[str, ...], answer: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "x.nc" in words:
        answer(*STATIONARY, "--output", "x.nc")
    monkeypatch.setattr(os, "_exit", sys.exit)
    monkeypatch.setattr(sys, "argv", ["tcpdynamics", *words])
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="iso8859-5") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    heard.clear()
    with pytest.raises(SystemExit) as stop:
        main()
    out.flush()
    err.flush()
    assert stop.value.code == (0 if words else 2), err.buffer.getvalue()  # type: ignore[attr-defined]
    text = out.buffer.getvalue().decode("iso8859-5")  # type: ignore[attr-defined]
    if "--json" in words:
        json.loads(text)


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
@pytest.mark.parametrize("suffix", [".nc", ".html", ".csv"])
def test_a_name_that_is_not_utf8_can_be_written(suffix: str, answer: Callable[..., str], tmp_path: Path) -> None:
    path = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"a\xff" + suffix.encode()))
    answer("simulate", "one_loss", "--output", path)
    assert os.path.getsize(path)


@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are UTF-8")
def test_a_page_and_a_folder_of_such_a_name(answer: Callable[..., str], tmp_path: Path) -> None:
    place = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"a\xff"))
    answer(*STABILITY, "--output", f"{place}.html")
    answer(*STABILITY, "--output", f"{place}.zarr")
    answer("figures", "--certificate", "--output", str(tmp_path))
    assert "as they were certified" in answer("figures", "--check", str(tmp_path))


def parts(*words: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """`simulate` that is interrupted: after a replication where there are several, else halfway."""
    from tcpdynamics.validation import packet

    def half(scenario: Scenario, *args: Any, **more: Any) -> Any:
        result = run(dataclasses.replace(scenario, duration=scenario.duration / 2)).dataset()
        raise Interrupted(result.assign_attrs(interrupted_at=5.0))

    def one(scenario: Scenario, *args: Any, **more: Any) -> Any:
        raise Interrupted(repeat(scenario, 1))

    run, repeat = packet.run.measured, packet.replicate
    with monkeypatch.context() as patch:
        patch.setattr("tcpdynamics.validation.packet.run.measured", half)
        patch.setattr(packet, "replicate", one)
        return CliRunner().invoke(cli, words)


@pytest.mark.parametrize("more", [(), ("--replications", "2"), ("--force",)], ids=str)
@pytest.mark.parametrize("suffix", [".nc", ".html", ".csv"])
def test_a_part_replaces_no_file(
    more: tuple[str, ...], suffix: str, answer: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if "--replications" in more and suffix != ".nc":
        return  # refused: the others show one run
    path, part, second = (tmp_path / f"x{end}{suffix}" for end in ("", ".part", ".part2"))
    words = ("simulate", "one_loss", *more, "--output", str(path))
    if suffix == ".csv":
        words = (*words, "--force")
    answer(*words)
    whole = path.read_bytes()
    done = parts(*words, monkeypatch=monkeypatch)
    assert done.exit_code == 130 and f"{path} stays as it was" in done.stderr and str(part) in done.stderr
    assert path.read_bytes() == whole != part.read_bytes()
    parts(*words, monkeypatch=monkeypatch)
    assert second.read_bytes() == part.read_bytes()
    path.unlink()
    done = parts(*words, monkeypatch=monkeypatch)
    assert path.read_bytes() == part.read_bytes() and "stays as it was" not in done.stderr
    answer(*words)  # a whole result replaces a part of the same run
    assert path.read_bytes() == whole


@pytest.mark.parametrize("there", [True, False])
def test_a_site_is_exported_whole_or_not_at_all(there: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site, made_pages = tmp_path / "in" / "site", []

    def full(*args: Any) -> str:
        made_pages.append(write(*args))
        if len(made_pages) == 3:
            raise OSError(28, "No space left on device")
        return made_pages[-1]

    if there:
        site.mkdir(parents=True)
    simple = sorted((page for page in pages().values() if page.exported), key=lambda page: len(page.printed))[:4]
    monkeypatch.setattr(export, "pages", lambda: {page.slug: page for page in simple})
    write = export._write
    monkeypatch.setattr(export, "_write", full)
    done = CliRunner().invoke(cli, ["explore", "--export", str(site)])
    assert done.exit_code == 2 and "No space left on device" in done.stderr
    assert [*site.parent.rglob("*")] == ([site] if there else [])
    done = CliRunner().invoke(cli, ["explore", "--export", str(site)])
    assert done.exit_code == 0 and (site / "index.html").exists() and [*site.parent.iterdir()] == [site]
    first = (site / "index.html").read_bytes()
    (site / "index.html").write_bytes(first + b"<!-- older -->")
    made_pages[:] = []
    assert CliRunner().invoke(cli, ["explore", "--export", str(site)]).exit_code == 2  # the earlier export stays
    assert (site / "index.html").read_bytes() != first and [*site.parent.iterdir()] == [site]
    assert CliRunner().invoke(cli, ["explore", "--export", str(site)]).exit_code == 0
    assert (site / "index.html").read_bytes() == first and [*site.parent.iterdir()] == [site]
    (site / "mine.txt").write_text("mine")
    done = CliRunner().invoke(cli, ["explore", "--export", str(site)])
    assert done.exit_code == 2 and "holds files; give a folder that is new, empty or an earlier export" in done.stderr
