"""The report is one page that needs nothing else, and its numbers are those of the library."""

from __future__ import annotations

import json
import re
from html import escape
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import plotly.graph_objects as go
import pytest
from explorer_tabs import bare
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.page import Control
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.ledger_rows import NOT_YET, tables
from tcpdynamics.apps.report.front import BUSIEST, CLASSES
from tcpdynamics.apps.report.sections import MOVES, html_of
from tcpdynamics.paper_figures import ledger, statements


@pytest.fixture
def page(quick_report: str) -> str:
    return quick_report


def test_page_is_self_contained(page: str) -> None:
    """No address but the explorer's on this machine, which nothing loads; figures are drawn by a script within."""
    body = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"""src\s*=""", body)
    assert set(re.findall(r"""href\s*=\s*["']((?:https?:)?//[^"'/]*)""", body)) == {"http://127.0.0.1:8050"}
    assert "showFigure" in page


@pytest.mark.parametrize("name", MOVES)
def test_links_move_their_figures(name: str) -> None:
    """The explorer has the page, with a slider or a fair name, and takes every word of the address."""
    address, link = urlsplit(MOVES[name]), html_of({name: {}})[name]
    page = pages()[address.path]
    assert ("Move it</a>" in link) == any(isinstance(c, Control) for c in page.controls) != ("See it</a>" in link)
    assert not (page.controls and page.read(dict(parse_qsl(address.query)))[1])


def test_every_figure_has_a_link_that_moves_it(page: str) -> None:
    assert set(re.findall(r'id="figure-([\w-]+)"', page)) <= set(MOVES)
    assert page.count('class="drawn"') == page.count('class="move"') > 3


def test_fractions_are_in_per_cent(page: str) -> None:
    """As on the explorer's axes; on a logarithmic axis they are not."""
    drawn = re.findall(r'<script type="application/json">(.*?)</script>', page)
    assert len(drawn) > 3 and [title for text in drawn for title in bare(json.loads(text)["layout"])] == []


def test_first_screen_counts_what_the_ledger_has(page: str) -> None:
    """The numbers in the bars are the statements' verdicts; each bar leads to its paper's statements."""
    for paper, summary in statements.summaries().items():
        bar = re.findall(rf'<a class="(\w+)" href="#claims-{paper}"[^>]*>(\d+)</a>', page)
        verdicts = [CLASSES[one.verdict or NOT_YET] for one in summary.outcomes]
        assert dict(bar) == {name: str(verdicts.count(name)) for name in set(verdicts)}
    menu = page[page.index("<nav") : page.index("</nav>")]
    assert menu.count("<a ") == 9
    reno, leap = (ledger.recorded()["rows"][name]["readings"][0][2] for name in BUSIEST.values())
    said = rf"Packets give {100 * reno:.0f} %.{{,20}} with Reno and {100 * leap:.0f} %.{{,20}} with LEAP"
    assert re.search(said, page)


def test_a_telephones_first_screen_has_a_finding(page: str, tab: Page) -> None:
    """Its heading, its sentence and the beginning of its picture, in letters of 14 px at least."""
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.set_content(page)
    for part in (".found h3", ".found p", ".lead small"):
        box, size = tab.locator(part).first.evaluate(
            "(node) => [node.getBoundingClientRect().bottom, parseFloat(getComputedStyle(node).fontSize)]"
        )
        assert box < 800 and size >= 14, (part, box, size)
    assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_first_screen_of_a_quick_report_says_which_runs_it_has(page: str) -> None:
    """No sentence of it has an agreement that its own numbers deny, nor runs that the page lacks."""
    first = page[page.index("<main>") : page.index('id="paper-')]
    assert 'id="linux_sub_packet"' not in page and "(full report)" in first and "none of Linux, LEAP or M/TCP" in first
    assert "agreement" not in first.lower()
    found = (re.findall(rf"{words} at (\d+)", first)[0] for words in ("matches packets", "it matches"))
    spread, independent = map(int, found)
    assert ("Errors cancel" in first) == (spread >= 2 + independent)


def test_numbers_of_figures_are_rounded_and_whole() -> None:
    figure = go.Figure(go.Scatter(x=np.array([1 / 3, np.nan]), y=np.array([[1.0], [2e-9]])[:, 0], text=["</script>"]))
    data = re.search(r"json\">(.*)</script></div></div>", html_of({"x": figure})["x"])
    assert data is not None and "</" not in data[1]
    (trace,) = json.loads(data[1])["data"]
    assert (trace["x"], trace["y"], trace["text"]) == ([0.33333, None], [1, 2e-9], ["</script>"])


def test_page_is_well_formed_and_names_are_unique(page: str) -> None:
    class Parser(HTMLParser):
        ids: list[str] = []  # noqa: RUF012
        open: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.ids += [value for name, value in attrs if name == "id" and value]
            if tag not in ("meta", "br", "img", "link", "input"):
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

    parser = Parser()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert {"figure-solved", "figure-fig9", "figure-silence", "figure-loss"} <= set(parser.ids)
    assert {"figure-iguchi1", "figure-iguchi2", "figure-chart_logistic", "figure-chart_trefwa"} <= set(parser.ids)
    assert {f"figure-fluid-{name}" for name in ("logistic", "lotka-volterra", "t-refwa", "misra")} <= set(parser.ids)


def test_page_says_what_was_found(page: str) -> None:
    assert "1679936255551813859/2226552430058027235" in page
    assert len(re.findall(r'<td class="(?:agrees|close|differs|undecided|no answer)"', page)) == 4 * 4 * (3 + 2 + 2 + 3)
    assert "numpy" in page and "Seed" in page
    links = set(re.findall(r'href="#([^"]+)"', page))
    assert links <= set(re.findall(r'id="([^"]+)"', page))
    assert "nan" not in re.sub(r"<script.*?</script>", "", page, flags=re.S).replace("financ", "")


def test_page_tells_the_clocks_apart(page: str) -> None:
    """The two tables of tied cases are different runs of ours, beside the same of ns-2."""
    grid, double = (
        np.array(re.findall(r"<td[^>]*>([^<]*)</td>", page.split(f"Exact ties: {words}")[1].split("</table>")[0]))
        for words in ("ours on its grid of times", "ours in double precision, as ns-2")
    )
    grid, double = grid.reshape(18, 9).T, double.reshape(18, 9).T
    assert (grid[5] == double[5]).all() and (grid[3] != double[3]).mean() > 0.8


def test_page_holds_every_claim_with_its_verdict(page: str) -> None:
    """A verdict for each row, as recorded; the summary marks and counts them."""
    rows = re.findall(r'<tr id="([^"]+)">(.*?)</tr>', page, re.DOTALL)
    recorded = ledger.recorded()["rows"]
    verdicts = {name: recorded[name]["verdict"] if name in recorded else NOT_YET for name in ledger.claims()}
    summaries = statements.summaries().values()
    outcomes = [(one.statement.id, one.verdict or NOT_YET) for summary in summaries for one in summary.outcomes]
    assert sorted(name for name, _ in rows) == sorted([*verdicts, *dict(outcomes)])
    for name, row in rows:
        assert f">{(verdicts | dict(outcomes))[name]}<" in row
    marks = page[page.index('<h3 id="claims">') :]
    for summary in summaries:
        assert escape(summary.paper.title) in marks and summary.marks_in_words in marks


def test_page_says_what_became_of_models_in_fluids(page: str) -> None:
    text = page[page.index('<h3 id="motion">') : page.index('<h2 id="appendix">')]
    assert "14 of 14 agree" in text  # logistic
    assert "12 of 12 agree with the exact quasi-polynomial, 0 of 12 agree, 12 differ with the simplified one" in text
    assert "no interpretation" in text and "8 of 8 agree" in text  # T-REFWA
    published = page[page.index('id="t-refwa"') : page.index('id="claims-t_refwa"')]
    assert re.findall(r"<td[^>]*>(stable|marginal|unstable)</td>", published).count("marginal") == 1


def test_rows_say_the_same_everywhere(quick_report: str) -> None:
    for table in tables():
        for row in table["rows"]:
            assert f'id="{row["id"]}"' in quick_report
