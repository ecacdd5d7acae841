"""`tcpdynamics figures`: a folder for a figure, the whole ledger, decisions, certificates and what breaks them."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import CliRunner

from tcpdynamics.apps import certificate, ledger_rows, paper_outputs
from tcpdynamics.apps.command.main import cli
from tcpdynamics.errors import InputError, OutputError
from tcpdynamics.paper_figures import ledger, protocol, statements
from tcpdynamics.paper_figures.experiments import experiments
from tcpdynamics.paper_figures.registry import figures
from tcpdynamics.paper_figures.whole import Whole, decide_all


def test_a_figure_becomes_a_page_its_data_and_pictures(tmp_path: Path, answer: Callable[..., str]) -> None:
    answer("figures", "logistic.fig8", "--set", "points=6", "--output", str(tmp_path / "out"))
    folder = tmp_path / "out"
    assert {p.name for p in folder.iterdir()} == {f"logistic.fig8.{end}" for end in ("html", "png", "svg", "nc")} or {
        p.name for p in folder.iterdir()
    } == {f"logistic.fig8.{end}" for end in ("html", "png", "svg")}
    page = (folder / "logistic.fig8.html").read_text()
    assert "--set points=6" in page and 'id="function"' in page and "def " in page
    assert (folder / "logistic.fig8.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "logistic.fig8.svg").read_text()


def test_the_data_of_curves_lie_beside_them(tmp_path: Path) -> None:
    figure = figures()["sub_packet.idle"]
    paper_outputs.write_figure(tmp_path, figure, figure.solve(), "again")
    data = xr.load_dataset(tmp_path / "sub_packet.idle.nc")
    assert data.attrs["run_again"] == "again" and data.x.attrs["long_name"] == "packet-loss probability"


@pytest.fixture(scope="module")
def whole() -> Whole:
    return decide_all("tiny", ["mtcp"])


def test_the_ledger_is_a_page_with_what_failed_on_top(tmp_path: Path, whole: Whole) -> None:
    paper_outputs.write_ledger(tmp_path, whole, ())
    page = (tmp_path / "index.html").read_text()
    places = [page.index(f'<tr id="{name}">') for name in statements.summaries(whole.document()["rows"])["mtcp"].order]
    assert places == sorted(places)
    assert json.loads((tmp_path / "ledger.json").read_text()) == json.loads(json.dumps(whole.document()))
    summary = (tmp_path / "mtcp.html").read_text()
    for one in statements.summaries(whole.document()["rows"])["mtcp"].outcomes:
        assert (html.escape(one.statement.says) in summary) == (one.statement.weight == "central")
    for one in (one for one in experiments().values() if one.paper == "mtcp"):
        assert html.escape(one.about) in summary and all(axis in summary for axis in one.readings)


def test_a_claim_is_decided_by_the_command(answer: Callable[..., str], refused: Callable[..., str]) -> None:
    text = answer("figures", "sub-packet.eq8.idle_time", "--decide")
    assert "verdict     holds" in text and "rule" in text
    document = json.loads(answer("figures", "sub_packet.eq8.idle_time", "--decide", "--json"))
    assert document["verdict"] == "holds" and document["model"]["n"] == 1
    several = answer("claims", "leap.fig8").splitlines()  # a figure's cells
    assert sum(line.startswith("leap.") for line in several) == sum(
        one.figure == "leap.fig8" for one in ledger.claims().values()
    )
    assert "  scenario    paper_figures/leap/scenarios/star.toml" in several
    assert "there is no claim 'nothing'" in refused("figures", "nothing", "--decide")
    assert "is a claim; add --decide" in refused("figures", "sub_packet.eq8.idle_time")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--all", "--certificate"), "different requests"),
        (("--all",), "--output is missing"),
        (("--certificate",), "--output is missing"),
        (("logistic.fig8", "--all", "--output", "x"), "takes no name"),
        (("--check", "/nowhere"), "cannot read"),
        (("--all", "--quick", "--full", "--output", "x"), "--quick and --full are different settings"),
        (("sub_packet.eq8.idle_time", "--decide", "--set", "p=1"), "--decide takes no --set"),
        (("sub_packet.eq8.idle_time", "--decide", "--output", "x.html"), "--decide takes no --output"),
        (("logistic.fig8", "--output", "x.pdf"), "give a folder, or a name that ends in"),
    ],
)
def test_requests_that_cannot_be_are_one_sentence(
    words: tuple[str, ...], message: str, refused: Callable[..., str]
) -> None:
    assert message in refused("figures", *words)


@pytest.fixture
def certified(tmp_path: Path) -> Path:
    """A folder with three outputs and a certificate."""
    (tmp_path / "a.html").write_text("a")
    (tmp_path / "b.nc").write_bytes(b"b")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/c.svg").write_text("c")
    (tmp_path / "stores").mkdir()
    (tmp_path / "stores/half").write_text("half done")
    certificate.certify(tmp_path, {"commit": "abc"}, {"leap.star": 1})
    return tmp_path


def test_a_certificate_of_untouched_files_is_good(certified: Path) -> None:
    assert certificate.check(certified) == certificate.check(certified / "certificate.json") == []
    done = CliRunner().invoke(cli, ["figures", "--check", str(certified)])
    assert done.exit_code == 0 and "as they were certified" in done.output


def test_a_certificate_is_not_replaced_where_files_differ(certified: Path, refused: Callable[..., str]) -> None:
    before = (certified / "certificate.json").read_text()
    (certified / "a.html").write_text("A")
    words = ["figures", "--certificate", "--output", str(certified)]
    assert "'a.html': has other content" in refused(*words)
    assert (certified / "certificate.json").read_text() == before
    assert CliRunner().invoke(cli, [*words, "--force"]).exit_code == 0 and not certificate.check(certified)
    document = json.loads((certified / "certificate.json").read_text())
    assert document["seeds"] == {}  # there is no ledger whose seeds they would be


def test_changed_numbers_and_rules_are_told(monkeypatch: pytest.MonkeyPatch, answer: Callable[..., str]) -> None:
    row = {"verdict": "holds", "readings": [], "packets": {"mean": 0.4290, "low": 0.4, "high": 0.5, "n": 9}}
    made = {"digest": "another", "protocol": {"leap": ledger.ledger().fixed["leap"]["sealed"]}}
    other, none = {"made": made, "rows": {"leap.table1.reno.2_50": row}}, {"made": {}, "rows": {}}
    monkeypatch.setattr(ledger, "record", lambda paper: other if paper == "leap" else none)
    assert "leap: recorded.json holds other numbers" in CliRunner().invoke(cli, ["claims", "leap.table1"]).stderr
    monkeypatch.undo()
    whole = ledger.ledger()
    known = dict(whole.claims)
    one = known["leap.table1.reno.2_50"]
    known[one.id] = dataclasses.replace(one, published=0.5)
    monkeypatch.setattr(ledger, "ledger", lambda: dataclasses.replace(whole, claims=known))
    protocol.seal.cache_clear()
    assert any("than those that commit" in sentence for sentence in protocol.changed())
    protocol.seal.cache_clear()


def test_a_reason_stands_only_where_a_statement_fails() -> None:
    for one in (one for table in ledger_rows.tables() for one in table["statements"]):
        assert bool(one["reason"]) == (one["verdict"] == "does not hold") or one["verdict"] == "holds with conditions"
        assert one["reason"] or one["condition"] or one["verdict"] != "holds with conditions", one["id"]


def _edit(folder: Path, change: Callable[[Any], None]) -> None:
    path = folder / "certificate.json"
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


BREAKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a number edited": (lambda f: (f / "a.html").write_text("A"), "'a.html': has other content"),
    "a file gone": (lambda f: (f / "b.nc").unlink(), "'b.nc': is missing"),
    "a file more": (lambda f: (f / "d.html").write_text("d"), "'d.html': is not in the certificate"),
    "a hash edited": (lambda f: _edit(f, lambda d: d["outputs"][0].update(sha256="0")), "the chain is broken"),
    "the commit edited": (lambda f: _edit(f, lambda d: d["made"].update(commit="x")), "the chain is broken"),
    "a seed edited": (lambda f: _edit(f, lambda d: d["seeds"].update({"leap.star": 2})), "the chain is broken"),
    "a row taken out": (lambda f: _edit(f, lambda d: d["outputs"].pop(0)), "the chain is broken"),
    "a path outside": (lambda f: _edit(f, lambda d: d["outputs"][0].update(file="../x")), "lies outside"),
    "a link that leads out": (lambda f: ((f / "b.nc").unlink(), (f / "b.nc").symlink_to("/etc/hosts")), "lies outside"),
}


@pytest.mark.parametrize("case", BREAKS)
def test_no_change_is_quiet(case: str, certified: Path) -> None:
    change, message = BREAKS[case]
    change(certified)
    assert any(message in line for line in certificate.check(certified))
    done = CliRunner().invoke(cli, ["figures", "--check", str(certified)])
    assert done.exit_code == 1 and message in done.output


@pytest.mark.parametrize("text", ["", "{}", "[]", "[" * 100_000, '{"made": 1, "seeds": 2, "outputs": [3]}'])
def test_a_file_from_a_stranger_is_no_certificate(text: str, tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text(text)
    with pytest.raises(InputError, match="is no certificate"):
        certificate.check(tmp_path)


@pytest.mark.parametrize("outputs", [[], {}, "", [{}] * 10_001])
def test_a_certificate_that_lists_nothing_or_too_much_is_none(outputs: Any, certified: Path) -> None:
    _edit(certified, lambda d: d.update(outputs=outputs))
    with pytest.raises(InputError, match="is no certificate"):
        certificate.check(certified)


def listing(folder: Path, *names: str) -> None:
    """A certificate by a stranger."""
    rows = [{"file": name, "sha256": "x", "chain": "y"} for name in names]
    (folder / "certificate.json").write_text(json.dumps({"made": {}, "seeds": {}, "outputs": rows}))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(60 * 10**9)


@pytest.mark.parametrize("make", [pipe, device, sparse])
def test_nothing_but_ordinary_files_of_bounded_size_is_read(
    make: Callable[[Path], None], tmp_path: Path, refused: Callable[..., str]
) -> None:
    make(tmp_path / "certificate.json")
    refused("figures", "--check", str(tmp_path))
    refused("figures", "--check", str(tmp_path / "certificate.json"))
    (tmp_path / "certificate.json").unlink()
    make(tmp_path / "big.nc")
    listing(tmp_path, "big.nc", "\ud800", "a\0b", "x" * 5000)
    done = CliRunner().invoke(cli, ["figures", "--check", str(tmp_path)])
    assert done.exit_code == 1 and done.stderr.count("'big.nc'") >= 2
    for word in ("'\\ud800': is missing", "'a\\x00b': is missing"):
        assert word in done.stderr
    (tmp_path / "certificate.json").unlink()
    refused("figures", "--certificate", "--output", str(tmp_path))
    (tmp_path / "a.html").write_text("a")
    make(tmp_path / "ledger.json")
    if make is sparse:
        refused("figures", "--certificate", "--output", str(tmp_path))


@pytest.mark.parametrize("make", [pipe, device, sparse])
@pytest.mark.parametrize("words", [
    ("explain", "PLACE.nc"), ("explain", "PLACE.zarr"), ("simulate", "PLACE.toml"), ("simulate", "with_trace.toml"),
    ("simulate", "one_loss", "--output", "PLACE.nc"), ("simulate", "one_loss", "--output", "PLACE.csv"),
    ("stability", "logistic", "--epsilon", "0.5:2:4", "--output", "PLACE.zarr"),
])  # fmt: skip
def test_other_commands_read_no_such_file_either(
    words: tuple[str, ...], make: Callable[[Path], None], tmp_path: Path, refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for end in ("nc", "zarr", "toml", "csv"):
        make(tmp_path / f"PLACE.{end}")
    Path("with_trace.toml").write_text("[bottleneck]\nrate = 1e6\ntrace = 'PLACE.csv'\n[[flows]]\n")
    refused(*words)


def test_a_foreign_certificate_stays(certified: Path, refused: Callable[..., str]) -> None:
    path = certified / "certificate.json"
    path.write_text("mine")
    words = ("figures", "--certificate", "--output", str(certified))
    assert "give --force" in refused(*words) and path.read_text() == "mine"
    certificate.certify(certified, {}, {})
    path.chmod(0o444)
    assert "may not be written to" in refused(*words)


def test_there_must_be_something_to_certify(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no outputs are there"):
        certificate.certify(tmp_path, {}, {})
    with pytest.raises(OutputError, match="there is no such folder"):
        certificate.certify(tmp_path / "x", {}, {})


def test_without_a_browser_there_are_no_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    assert not paper_outputs.write_pictures(tmp_path, {}, str) and not list(tmp_path.iterdir())
