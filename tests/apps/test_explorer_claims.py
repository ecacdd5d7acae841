"""The claims page: all claims as recorded at once, figures on demand, state in the address, also from disk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from explorer_tabs import PATIENCE, keep, legible
from playwright.sync_api import Page

from tcpdynamics.apps import ledger_rows
from tcpdynamics.apps.command.main import cli
from tcpdynamics.apps.explorer import claims
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.errors import DomainError
from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.reasons import NONE
from tcpdynamics.paper_figures.registry import figures
from tcpdynamics.paper_figures.rules import CONDITIONS, FAILS, VERDICTS
from tcpdynamics.paper_figures.statements import SEVERAL

TABLES = ledger_rows.tables()
#: Statements in the order of the page, and their cells.
STATEMENTS = [one for table in TABLES for one in table["statements"]]
CLAIMS = [cell for one in STATEMENTS for cell in one["cells"]]
RECORDED = ledger.recorded()["rows"]
#: Their verdicts.
SHOWN = {name: RECORDED[name]["verdict"] if name in RECORDED else ledger_rows.NOT_YET for name in CLAIMS}
#: A number of statements or cells, and its verdict.
COUNTED = rf"(\d+) ({'|'.join(SEVERAL.values())}|{'|'.join(VERDICTS)})[,.]"
#: One that a model decides, with a figure that needs no packets.
QUICK = "sub_packet.eq8.idle_time"
#: One whose figure needs packets.
PACKETS = next(c.id for c in ledger.claims().values() if c.figure and figures()[c.figure].simulates)


@pytest.fixture
def tab(tab: Page) -> Page:
    """A tab that waits while a fresh machine compiles."""
    tab.set_default_timeout(2 * PATIENCE)
    return tab


@pytest.fixture(scope="module")
def with_figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a file, with the figures of models."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    done = CliRunner().invoke(cli, ["explore", "--export", str(folder), "--figures"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return folder / "claims.html"


def rows(tab: Page) -> list[str]:
    """Names of the claims that are shown."""
    tab.wait_for_selector(".claim", state="attached")
    return tab.locator(".claim:not([hidden])").evaluate_all("(all) => all.map((one) => one.id)")  # type: ignore[no-any-return]


def test_all_claims_are_there_at_once_with_what_was_recorded(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims")
    assert rows(tab) == CLAIMS
    counted = f"{len(STATEMENTS)} of {len(STATEMENTS)} statements, {len(CLAIMS)} of {len(CLAIMS)} cells: "
    assert tab.locator(".counted").inner_text().startswith(counted)
    several = [SEVERAL.get(name, name) for name in SHOWN.values()]
    assert not re.search(r"\d\d (holds|does)", tab.locator("main").inner_text())
    assert [int(n) for n, _ in re.findall(COUNTED, tab.locator(".counted").inner_text())] == [
        several.count(word) for word in SEVERAL.values() if word in several
    ]
    for paper in tab.locator(".papers > li").all():
        whole = re.search(r"(\d+) statements: (.*?)\. (\d+) of (\d+) decided .* hold: (.*?)\.", paper.inner_text())
        assert whole and int(whole[1]) == sum(int(n) for n, _ in re.findall(COUNTED, f"{whole[2]}."))
        marks = [(int(a), int(b)) for a, b in re.findall(r"(\d+) of (\d+)", whole[5])]
        assert (int(whole[3]), int(whole[4])) == tuple(map(sum, zip(*marks, strict=True)))
    shown = tab.locator(".claim > summary > .verdict").all_text_contents()
    assert shown == [SHOWN[name] for name in CLAIMS]
    assert tab.locator(".statement > summary > .published").all_inner_texts() == [one["says"] for one in STATEMENTS]
    shown = tab.locator(".statement > summary > .verdict").all_inner_texts()
    assert shown == [one["verdict"] for one in STATEMENTS]
    papers = tab.locator(".papers > li").all_inner_texts()
    assert "0 of 0" not in " ".join(papers) and tab.locator(".claims ~ .papers").count() == 1  # the list comes first
    for text, table in zip(papers, TABLES, strict=True):
        assert text.startswith(f"{table['title']} {table['says']} {table['counts']}. {table['marks']}.")


def test_a_row_opens_its_numbers_its_figure_and_its_commands(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims")
    tab.locator(f"[id='statement-{ledger.get_claim(QUICK).statement}'] > summary").click()
    tab.locator(f"[id='{QUICK}'] > summary").click()
    tab.wait_for_selector(f"[id='{QUICK}'] .claim-figure svg")
    row = ledger_rows.row(ledger.get_claim(QUICK), RECORDED.get(QUICK))
    assert not RECORDED or row["rule"] in tab.locator(f"[id='{QUICK}'] dl").first.inner_text()
    command = tab.locator(f"[id='{QUICK}'] pre").first.inner_text().splitlines()
    assert tab.url.endswith(f"?open={QUICK}")
    done = CliRunner().invoke(cli, command[0].split()[1:], catch_exceptions=False)
    assert "verdict     holds" in done.output and command[1].startswith(f"tcpdynamics figures {row['figure']}")
    with tab.expect_download() as download:
        keep(tab, f"[id='{QUICK}'] .figure", "CSV")
    assert Path(download.value.path()).read_text().startswith("line,packet-loss probability,mean idle time")


def test_a_claim_is_decided_again_in_the_background(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims?open={QUICK}")
    tab.locator(f"[id='{QUICK}']").get_by_role("button", name="Decide it again").click()
    tab.wait_for_function("(id) => document.getElementById(id).innerText.includes('Now: holds')", arg=QUICK)


def test_a_link_restores_filters_and_the_open_row(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims?paper=sub_packet&words=TIMEOUT+idle+series&open={QUICK}")
    assert QUICK in rows(tab) and all(name.startswith("sub_packet.") for name in rows(tab))
    assert tab.locator("#filter-paper").input_value() == "sub_packet"
    assert tab.locator(f"[id='{QUICK}']").get_attribute("open") is not None
    tab.locator("#filter-words").fill("no claim has such words")
    assert rows(tab) == [] and "words=no+claim" in tab.url


def test_a_verdict_in_the_filter_chooses(tab: Page, server: str) -> None:
    """It is the statement's: each with that verdict, with all its cells."""
    tab.goto(f"{server}/claims?verdict=does+not+hold")
    chosen = [one for one in STATEMENTS if one["verdict"] == "does not hold"]
    assert rows(tab) == [name for one in chosen for name in one["cells"]]
    assert tab.locator(".statement:not([hidden]) > summary > .published").all_inner_texts() == [
        s["says"] for s in chosen
    ]


HOSTILE = {
    "paper=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E": "`paper` must be one of", "open=__proto__": "no claim has the name",
    "verdict=constructor": "`verdict` must be one of", "toString=1": "this page has no 'toString'",
    "words=" + "9" * 100_000: "the address is longer than 4096", "": "", "embed=1": "`embed` needs `open`",
    "paper=leap&paper=leap": "the address has paper twice",
    "words=%3Cscript%3E%F0%9F%98%80": "",
}  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_addresses_do_no_harm(tab: Page, server: str, words: str) -> None:
    tab.goto(f"{server}/claims?{words}")
    shown = rows(tab)
    said = tab.locator(".complaint").first.inner_text()
    assert said.startswith(HOSTILE[words]) and len(said) < 200 and (said == "") == (HOSTILE[words] == "")
    assert len(shown) == (0 if "script" in words else len(CLAIMS))
    assert not said or "?" not in tab.url


def test_strange_names_are_refused(server: str) -> None:
    from explorer_tabs import get

    for path in ("figures/logistic.fig99", "figures/sub_packet.fig9", "figures/" + "a" * 5000):
        assert get(f"{server}/claims/{path}.json")[0] == 404


def test_who_waits_too_long_is_told_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_drawn", {})
    with claims._turn:
        assert claims.drawn("sub_packet.idle", patience=0.01) is None
    first = claims.drawn("sub_packet.idle", patience=0.01)
    assert first is not None and claims.drawn("sub_packet.idle") is first


@pytest.mark.slow
def test_from_disk_every_figure_is_there(tab: Page, with_figures: Path) -> None:
    assert with_figures.stat().st_size < 4_000_000
    tab.goto(f"{with_figures.as_uri()}#verdict=holds&open={QUICK}")
    tab.wait_for_selector(f"[id='{QUICK}'] .claim-figure svg")


def test_from_disk_every_verdict_is_there(tab: Page, files: Path) -> None:
    tab.goto(f"{(files / 'claims.html').as_uri()}#verdict=holds&open={QUICK}")
    assert rows(tab) == [name for one in STATEMENTS if one["verdict"] == "holds" for name in one["cells"]]
    tab.locator("#filter-verdict").select_option("all")
    verdicts = tab.locator(".verdict").all_text_contents()
    colours = tab.locator(".verdict").evaluate_all("(all) => all.map((v) => getComputedStyle(v).backgroundColor)")
    pairs = set(zip(verdicts, colours, strict=True))
    assert {v for v, _ in pairs} <= {*VERDICTS, ledger_rows.NOT_YET} and len({c for _, c in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("dark", 380),
        pytest.param("light", 1280, marks=pytest.mark.slow),
        pytest.param("light", 380, marks=pytest.mark.slow),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
    ],
)
def test_the_page_is_accessible_and_fits(tab: Page, server: str, scheme: Any, width: int) -> None:
    def fill() -> None:
        tab.goto(f"{server}/claims?open={QUICK}")
        tab.wait_for_selector(".claim-figure svg")

    legible(tab, width, scheme, fill)


def test_the_command_lists_and_refuses(answer: Any, refused: Any) -> None:
    assert json.loads(answer("claims", QUICK, "--json"))["cells"][0]["verdict"] == SHOWN[QUICK]
    paper = json.loads(answer("claims", "sub-packet", "--json"))
    assert [row["id"] for row in paper["cells"]] == [row["id"] for row in TABLES[0]["rows"]]
    assert "did you mean 'sub_packet.eq8.idle_time'" in refused("claims", "sub_packet.eq8.idle_tim")
    assert "--figures is for --export" in refused("explore", "--figures")


def test_packets_are_simulated_in_the_background_and_can_be_cancelled(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims?open={PACKETS}")
    row = tab.locator(f"[id='{PACKETS}']")
    row.get_by_role("button", name="Simulate packets for").click()
    row.get_by_role("button", name="Cancel").first.click()
    tab.wait_for_function("(id) => document.getElementById(id).innerText.includes('cancelled')", arg=PACKETS)


def test_jobs_take_what_is_theirs_only() -> None:
    assert claims.read_figure({"name": "sub_packet.fig9"}) == {"name": "sub_packet.fig9"}
    for name, said in {
        "logistic.fig1": "needs no packets",
        "nothing": "there is no figure",
        7: "there is no figure",
    }.items():
        with pytest.raises(DomainError, match=said):
            claims.read_figure({"name": name})
    assert claims.read_claim({"name": QUICK}) == {"name": QUICK}
    for strange in ("__proto__", 7, None, "a" * 5000):
        with pytest.raises(DomainError, match="there is no claim"):
            claims.read_claim({"name": strange})


def test_statements_have_words_that_the_key_explains() -> None:
    facts, key = claims.facts(), " ".join(pages()["claims"].notes).lower()
    for one in facts["statements"]:
        assert {one["weight"], one["kind"]} <= set(re.findall(r"\w+", key)), one["id"]
        texts = " ".join(str(one[part]) for part in ("says", "condition", "reason", "missing", "sensitivity", "kind"))
        lines = [facts["lines"].get(cell, {}) for cell in one["cells"]]
        notes = " ".join(line.get(part, "") for line in lines for part in ("note", "our finding"))
        assert not re.search(r"\b(readings?|insensitive|breaks?(?! down))\b", texts + notes), one["id"]
    assert not re.search(r"\b(readings?|directions?)\b", key + str(facts["counts"]))


def test_a_statement_that_fails_has_a_reason() -> None:
    failing = [one for one in STATEMENTS if one["verdict"] == FAILS]
    assert failing and not [one["id"] for one in failing if one["reason"] == NONE]
    for one in STATEMENTS:  # a condition is a reason of its own
        assert one["verdict"] != CONDITIONS or (one["condition"] and one["reason"] != NONE)
