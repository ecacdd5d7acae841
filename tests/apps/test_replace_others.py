"""A file that holds another command's result, or another model's, is replaced with --force only."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

from tcpdynamics.apps import outputs
from tcpdynamics.apps.files import (
    check_replaceable,
    holding,
    marked,
    marked_picture,
    page_start,
    write_netcdf,
    write_text,
)
from tcpdynamics.errors import OutputError

CHART = ("--epsilon", "0.5:2:4", "--delay", "0:1:4", "--output")
#: What each command says that it writes, and the command.
COMMANDS = {
    "stability of LogisticDelayed": ("stability", "logistic", *CHART),
    "stability of LotkaVolterraWindows": ("stability", "lotka-volterra", "--flows", "2", "--output"),
    "trajectory of Logistic": ("trajectory", "logistic", "--until", "10", "--points", "11", "--output"),
    "bifurcation of LogisticMap": ("bifurcation", "logistic-map", "--epsilon", "1.8:2.2:5", "--output"),
    "stationary of SubPacketFull": ("stationary", "sub-packet", "--loss", "0.1,0.2", "--model", "full", "--output"),
    "stationary of SubPacketExact": ("stationary", "sub-packet", "--loss", "0.1", "--model", "exact", "--output"),
    "simulation of one_loss": ("simulate", "one_loss", "--output"),
    "simulation of single_flow": ("simulate", "single_flow", "--output"),
    "comparison MisraVsLinearisation": ("validate", "misra", "--quick", "--output"),
    "comparison TRefwaMapVsFluid": ("validate", "t-refwa", "--quick", "--output"),
    "comparison TRefwaVsPackets": ("validate", "t-refwa-packets", "--quick", "--output"),
    "comparison LogisticVsFluid": ("validate", "logistic", "--quick", "--output"),
    "comparison LotkaVolterraVsFluid": ("validate", "lotka-volterra", "--quick", "--output"),
    "comparison LeapVsPackets": ("validate", "leap", "--quick", "--output"),
    "comparison LotkaVolterraVsPackets": ("validate", "lotka-volterra-packets", "--quick", "--output"),
    "comparison WindowRulesVsFormulas": ("validate", "window-rules", "--quick", "--output"),
    "comparison LockOut": ("validate", "lock-out", "--quick", "--output"),
    "comparison RetransmissionPriorityVsPackets": ("validate", "retransmission-priority", "--quick", "--output"),
    "comparison MtcpVsPackets": ("validate", "mtcp", "--quick", "--output"),
    "comparison PacketsVsNs2": ("validate", "ns2", "--output"),
    "comparison SubPacketChainVsPackets": ("validate", "sub-packet", "--quick", "--output"),
    "report": ("report", "--quick", "--output"),
}
ONLY_NETCDF = ("stationary of", "comparison PacketsVsNs2", "comparison SubPacketChainVsPackets")


def commands(suffix: str) -> dict[str, tuple[str, ...]]:
    """Those that can write such a file."""
    if suffix == ".nc":
        return {what: words for what, words in COMMANDS.items() if what != "report"}
    chosen = {what: words for what, words in COMMANDS.items() if not what.startswith(ONLY_NETCDF)}
    if suffix == ".png":
        return {what: words for what, words in chosen.items() if words[0] not in ("simulate", "report")}
    return chosen


def held_by(path: Path, what: str) -> None:
    """Write a file that holds `what`."""
    if path.suffix == ".html":
        write_text(path, page_start(what))
    elif path.suffix == ".png":
        path.write_bytes(marked_picture(drawn(None, 1.0), what))
    else:
        kind, _, name = what.partition(" ")
        attributes = {"version": "1"}
        if kind == "comparison":
            attributes |= {"comparison": name}
        elif kind == "simulation":
            attributes |= {"scenario": "{}", "name": name.removeprefix("of ")}
        else:
            solver = "stability_chart" if kind == "stability" else kind
            attributes |= {"model": name.removeprefix("of "), "solver": solver}
        write_netcdf(path, xr.Dataset({"x": ("y", [1.0])}, attrs=attributes))


def drawn(figure: object, height: float) -> bytes:
    """A picture of one pixel: what is drawn does not matter here."""
    header = b"IHDR" + struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    rest = b"IDAT" + zlib.compress(b"\0\0")
    chunks = (struct.pack(">I", len(c) - 4) + c + struct.pack(">I", zlib.crc32(c)) for c in (header, rest, b"IEND"))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("suffix", [".nc", ".html", ".png"])
def test_no_command_replaces_the_result_of_another(
    suffix: str, refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_kaleido", lambda: drawn)
    for held in commands(suffix):
        path = tmp_path / f"{held.replace(' ', '_')}{suffix}"
        held_by(path, held)
        check_replaceable(path, False, held)
        before = path.read_bytes()
        for what, words in commands(suffix).items():
            if what != held:
                error = refused(*words, str(path))
                assert f"{path.name} holds {held}, not {what}; " in error and "give --force" in error
                assert path.read_bytes() == before


#: In test_replace.py the others write twice.
@pytest.mark.parametrize(
    "words",
    [
        ("stability", "lotka-volterra", "--flows", "2", "--output", "x.nc"),
        ("stability", "lotka-volterra", "--flows", "2", "--output", "x.png"),
        ("stability", "logistic-map", "--epsilon", "1.5", "--output", "x.nc"),
        ("stability", "t-refwa", "--phi", "1.5", "--psi", "0.5", "--output", "x.html"),
        ("stationary", "sub-packet", "--loss", "0.1", "--model", "exact", "--output", "x.nc"),
        ("stationary", "sub-packet", "--loss", "0.1", "--model", "full", "--interpretation", "L", "--output", "x.nc"),
        ("simulate", "one_loss", "--replications", "2", "--output", "x.nc"),
        ("bifurcation", "logistic-map", "--epsilon", "1.8:2.2:5", "--lyapunov", "--output", "x.nc"),
    ],
    ids=" ".join,
)
def test_the_same_command_replaces_its_own(
    words: tuple[str, ...], answer: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_kaleido", lambda: drawn)
    path = tmp_path / words[-1]
    for _ in range(2):
        answer(*words[:-1], str(path))


#: A command, and the same with other settings.
SETTINGS = [
    (("simulate", "one_loss", "--output", "x.nc"), ("--set", "duration=9s")),
    (("simulate", "one_loss", "--output", "x.nc"), ("--seed", "7")),
    (("simulate", "one_loss", "--output", "x.nc"), ("--replications", "2")),
    (("simulate", "one_loss", "--output", "x.html"), ("--set", "duration=9s")),
    (("figures", "logistic.fig8", "--set", "points=5", "--output", "x.html"), ("--set", "points=6")),
    (("figures", "logistic.fig8", "--set", "points=5", "--output", "x.png"), ("--set", "points=6")),
    (("stability", "lotka-volterra", "--flows", "2", "--output", "x.nc"), ("--gamma", "0.4")),
    (("stability", "lotka-volterra", "--flows", "2", "--output", "x.html"), ("--gamma", "0.4")),
    (("trajectory", "logistic", "--until", "10", "--points", "11", "--output", "x.nc"), ("--until", "12")),
    (("bifurcation", "logistic-map", "--epsilon", "1.8:2.2:5", "--output", "x.nc"), ("--keep", "9")),
    (("stationary", "sub-packet", "--loss", "0.1", "--model", "full", "--output", "x.nc"), ("--stages", "4")),
]


@pytest.mark.parametrize(("words", "other"), SETTINGS, ids=lambda w: " ".join(w))
def test_a_result_with_other_settings_stays(
    words: tuple[str, ...],
    other: tuple[str, ...],
    answer: Callable[..., str],
    refused: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outputs, "_kaleido", lambda: drawn)
    path = tmp_path / words[-1]
    answer(*words[:-1], str(path))
    before = path.read_bytes()
    answer(*words[:-1], str(path))
    assert path.read_bytes() == before
    assert " with other settings; give another name, remove it, or give --force" in refused(
        *words[:-1], str(path), *other
    )
    assert path.read_bytes() == before
    answer(*words[:-1], str(path), *other, "--force")
    answer(*words[:-1], str(path), *other)
    # A picture of one pixel shows what it holds only.
    assert path.read_bytes() != before


@pytest.mark.parametrize("words", [("sub-packet", "--quick"), ("ns2",), ("misra", "--quick")], ids=lambda w: w[0])
def test_a_comparison_whose_settings_a_file_does_not_name_stays(
    words: tuple[str, ...], refused: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "x.nc"
    held = next(what for what, known in COMMANDS.items() if known[:2] == ("validate", words[0]))
    held_by(path, held)
    error = refused("validate", *words, "--output", str(path))
    assert f"x.nc holds {held} and does not say with which settings; give another name" in error


def test_each_kind_of_file_says_what_it_holds(tmp_path: Path) -> None:
    what = marked('simulation of "r<é>\u2028' + "x" * 300, "0123456789ab")
    page, picture = tmp_path / "x.html", tmp_path / "x.png"
    write_text(page, page_start(what))
    picture.write_bytes(marked_picture(drawn(None, 1.0), what))
    for path in (page, picture):
        check_replaceable(path, False, what)
        with pytest.raises(OutputError, match="holds simulation of"):
            check_replaceable(path, False, "report")
        with pytest.raises(OutputError, match="with other settings"):
            check_replaceable(path, False, marked(what.partition(", settings")[0], "ba9876543210"))


def test_a_page_or_picture_of_an_older_version_stays(tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    page.write_text('<!doctype html>\n<html lang="en"><head><meta name="generator" content="tcpdynamics"><meta ')
    with pytest.raises(OutputError, match="an older version did not name"):
        check_replaceable(page, False, "report")
    check_replaceable(page, True, "report")


def test_what_a_result_holds() -> None:
    assert holding({"comparison": "PacketsVsNs2"}) == "comparison PacketsVsNs2"
    assert holding({"version": "1", "scenario": "{}", "name": "a"}) == "simulation of a"
    assert holding({"version": "1", "model": "m", "solver": "sojourn"}) == "sojourn of m"
    assert holding({"version": "1"}) == holding({}) == ""
