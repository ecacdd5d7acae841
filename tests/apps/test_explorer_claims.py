"""The claims page: all statements at once, verdicts and figures on demand, state in the address, also from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from explorer_tabs import PATIENCE, get, legible
from playwright.sync_api import Page

from tcpdynamics import paper_figures
from tcpdynamics.apps.command.main import cli
from tcpdynamics.apps.explorer import claims
from tcpdynamics.errors import DomainError
from tcpdynamics.paper_figures.ledger import VERDICTS, Claim

QUICK = "sub_packet.idle_time"
#: Panels of the paper's Fig. 9.
PANELS = {f"{n} packet{'s' * (n != 1)} sent" for n in range(6)}


@pytest.fixture
def tab(tab: Page) -> Page:
    """A tab that waits while a fresh machine compiles."""
    tab.set_default_timeout(5 * PATIENCE)
    return tab


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a file, with all verdicts and figures."""
    folder = tmp_path_factory.mktemp("site") / "pages"
    done = CliRunner().invoke(cli, ["explore", "--export", str(folder), "--verdicts"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return folder / "claims.html"


def rows(tab: Page) -> list[str]:
    """Names of the statements that are shown."""
    tab.wait_for_selector(".claim", state="attached")
    return [row.get_attribute("id") or "" for row in tab.locator(".claim:not([hidden])").all()]


def test_all_statements_are_there_at_once_and_undecided(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims")
    assert rows(tab) == list(paper_figures.statements())
    assert tab.locator(".counted").inner_text().startswith("40 of 40 statements")
    for name, one in paper_figures.statements().items():
        assert tab.locator(f"[id='{name}'] .published").inner_text() == one.published


def test_a_row_opens_its_verdict_its_figure_and_its_commands(tab: Page, server: str) -> None:
    name = "logistic.eq9"
    tab.goto(f"{server}/claims")
    tab.locator(f"[id='{name}'] summary").first.click()
    tab.wait_for_selector(f"[id='{name}'] .plot .main-svg")
    claim = paper_figures.statements()[name]()
    assert tab.locator(f"[id='{name}'] .verdict").inner_text() == claim.verdict
    assert claim.computed in tab.locator(f"[id='{name}'] dl").inner_text()
    command = tab.locator(f"[id='{name}'] pre").inner_text().splitlines()
    assert tab.url.endswith(f"?open={name}")
    done = CliRunner().invoke(cli, command[0].split()[1:], catch_exceptions=False)
    assert claim.verdict in done.output and command[1].startswith("tcpdynamics figures logistic.fig8")
    with tab.expect_download() as download:
        tab.locator(f"[id='{name}']").get_by_text("CSV", exact=True).click()
    assert (
        Path(download.value.path())
        .read_text()
        .startswith('line,bottleneck BW [Mbit/s],rate [Mbit/s]\n"R1, connection 1",5,2.631579')
    )


def test_a_link_restores_filters_and_the_open_row(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims?paper=sub_packet&words=TIMEOUT+idle&open={QUICK}")
    assert rows(tab) == [QUICK]
    assert tab.locator("#filter-paper").input_value() == "sub_packet"
    tab.wait_for_function(
        "(id) => document.getElementById(id).querySelector('dd')?.textContent === 'correct as printed'",
        arg=QUICK,
    )
    tab.locator("#filter-words").fill("web load")
    assert rows(tab) == ["sub_packet.web_load"] and "words=web+load" in tab.url


def test_a_verdict_in_the_filter_decides_what_is_open(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims?paper=sub_packet&verdict=does+not+hold")
    tab.wait_for_function(
        "() => document.querySelector('.counted')?.textContent === '1 of 40 statements: 1 does not hold.'"
    )
    assert rows(tab) == ["sub_packet.repetitive_idle_time"]


HOSTILE = {
    "paper=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E": "paper must be one of", "open=__proto__": "open must be one of",
    "verdict=constructor": "verdict must be one of", "toString=1": "this page has no toString",
    "words=" + "9" * 100_000: "this page has no address as long as that", "": "",
    "words=%3Cscript%3E%F0%9F%98%80": "",
}  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_addresses_do_no_harm(tab: Page, server: str, words: str) -> None:
    tab.goto(f"{server}/claims?{words}")
    shown = rows(tab)
    said = tab.locator(".complaint").first.inner_text()
    assert said.startswith(HOSTILE[words]) and len(said) < 200 and (said == "") == (HOSTILE[words] == "")
    assert len(shown) == (0 if "script" in words else 40)


def test_answers_of_earlier_visits_are_there_at_once(tab: Page, server: str) -> None:
    get(f"{server}/claims/answers/{QUICK}.json")
    tab.goto(f"{server}/claims")
    tab.wait_for_function(
        "(id) => document.querySelector(`[id='${id}'] .verdict`)?.textContent === 'holds'", arg=QUICK
    )


def test_strange_names_are_refused(server: str) -> None:
    for path in (
        "answers/logistic.nothing",
        "figures/sub_packet.fig9",
        "figures/logistic.fig3",
        "answers/" + "a" * 5000,
    ):
        assert get(f"{server}/claims/{path}.json")[0] == 404


def test_answers_are_the_ledgers_and_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_answers", {})
    first = claims.decided(QUICK)
    assert first == paper_figures.statements()[QUICK]().document() and claims.decided(QUICK) is first
    assert not any(row["answer"] for row in claims.facts()["rows"])


def test_who_waits_too_long_is_told_to_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_answers", {})
    with claims._turn:
        assert claims.decided(QUICK, patience=0.01) is None
    assert claims.decided(QUICK, patience=0.01) is not None


def test_from_disk_every_verdict_and_figure_is_there(
    tab: Page, whole: Path, ledger: dict[str, Claim]
) -> None:
    assert whole.stat().st_size < 2_000_000
    tab.goto(f"{whole.as_uri()}#verdict=does+not+hold&open=t_refwa.marginal")
    tab.wait_for_selector("[id='t_refwa.marginal'] .plot .main-svg")
    judged = {name: claim.verdict for name, claim in ledger.items()}
    assert rows(tab) == [name for name, verdict in judged.items() if verdict == "does not hold"]
    tab.locator("#filter-verdict").select_option("all")
    assert [v.inner_text() for v in tab.locator(".verdict").all()] == list(judged.values())
    assert set(judged.values()) == set(VERDICTS)
    colours = tab.locator(".verdict").evaluate_all(
        "(all) => all.map((v) => getComputedStyle(v).backgroundColor)"
    )
    assert len(set(zip(judged.values(), colours, strict=True))) == 5 and len(set(colours)) == 4


def test_from_disk_without_verdicts_the_command_is_named(tab: Page, files: Path) -> None:
    tab.goto(f"{(files / 'claims.html').as_uri()}#open={QUICK}")
    text = tab.locator(f"[id='{QUICK}']").inner_text()
    assert f"tcpdynamics claims {QUICK}" in text and "--verdicts" in text and "not checked yet" in text


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 1280),
        ("dark", 380),
        pytest.param("light", 380, marks=pytest.mark.slow),
        pytest.param("dark", 1280, marks=pytest.mark.slow),
    ],
)
def test_the_page_is_accessible_and_fits(tab: Page, whole: Path, scheme: Any, width: int) -> None:
    def fill() -> None:
        tab.goto(f"{whole.as_uri()}#open=logistic.eq9")
        tab.wait_for_selector(".plot .main-svg")

    legible(tab, width, scheme, fill)


def test_the_command_decides_and_refuses(answer: Any, refused: Any) -> None:
    listing = answer("claims").splitlines()
    assert [line.split()[0] for line in listing] == list(paper_figures.statements())
    claim = paper_figures.statements()["sub_packet.shift"]()
    assert json.loads(answer("claims", "sub-packet.shift", "--json"))[0]["verdict"] == claim.verdict
    papers = json.loads(answer("claims", "sub-packet", "--json"))
    assert [row["name"] for row in papers] == [
        n for n in paper_figures.statements() if n.startswith("sub_packet")
    ]
    assert "did you mean 'logistic.eq9'" in refused("claims", "logistic.eq8")
    assert "--verdicts is for --export" in refused("explore", "--verdicts")


def test_packets_are_simulated_in_the_background_and_can_be_cancelled(tab: Page, server: str) -> None:
    tab.goto(f"{server}/claims?open={QUICK}")
    row = tab.locator(f"[id='{QUICK}']")
    row.get_by_role("button", name="Simulate packets for sub_packet.fig9").click()
    row.get_by_role("button", name="Cancel").click()
    tab.wait_for_function("(id) => document.getElementById(id).innerText.includes('cancelled')", arg=QUICK)
    row.get_by_role("button", name="Simulate packets for sub_packet.fig9").click()
    panels = "(id) => document.getElementById(id).querySelectorAll('.plot')[1]?.querySelectorAll('.subplot').length > 5"
    tab.wait_for_function(panels, arg=QUICK)
    with tab.expect_download() as download:
        row.get_by_text("CSV", exact=True).last.click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0].startswith("panel,line,") and {line.split(",")[0] for line in lines[1:]} == PANELS


def test_jobs_draw_figures_with_packets_only() -> None:
    assert claims.read_figure({"name": "sub_packet.fig9"}) == {"name": "sub_packet.fig9"}
    for name, said in {
        "logistic.fig1": "needs no packets",
        "nothing": "there is no figure",
        7: "there is no figure",
    }.items():
        with pytest.raises(DomainError, match=said):
            claims.read_figure({"name": name})
