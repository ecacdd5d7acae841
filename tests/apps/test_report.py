"""The report is one page that needs nothing else, and its numbers are those of the library."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from tcpdynamics.apps.ledger_rows import NOT_YET
from tcpdynamics.paper_figures import ledger, statements


@pytest.fixture
def page(quick_report: str) -> str:
    return quick_report


def test_page_is_self_contained(page: str) -> None:
    body = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?:https?:)?//""", body)
    assert "Plotly.newPlot" in page


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
    text = page[page.index('<h2 id="claims">') : page.index('<h2 id="explorer">')]
    rows = re.findall(r'<tr id="([^"]+)">(.*?)</tr>', text, re.DOTALL)
    recorded = ledger.recorded()["rows"]
    verdicts = {name: recorded[name]["verdict"] if name in recorded else NOT_YET for name in ledger.claims()}
    summaries = statements.summaries().values()
    outcomes = [(one.statement.id, one.verdict or NOT_YET) for summary in summaries for one in summary.outcomes]
    assert sorted(name for name, _ in rows) == sorted([*verdicts, *dict(outcomes)])
    for name, row in rows:
        assert f">{(verdicts | dict(outcomes))[name]}<" in row
    head = page[: page.index('<h2 id="solved">')]
    for summary in summaries:
        assert escape(summary.paper.title) in head and summary.marks_in_words in head
    assert 8 <= head.count("<li>") <= 14


def test_page_says_what_became_of_models_in_fluids(page: str) -> None:
    text = page[page.index('<h2 id="motion">') : page.index('<h2 id="claims">')]
    assert "14 of 14 agree" in text  # logistic
    assert "12 of 12 agree with the exact quasi-polynomial, 0 of 12 agree, 12 differ with the simplified one" in text
    assert "no reading" in text and "8 of 8 agree" in text  # T-REFWA
    published = page[page.index('<h2 id="t-refwa">') : page.index('<h2 id="motion">')]
    assert re.findall(r"<td[^>]*>(stable|marginal|unstable)</td>", published).count("marginal") == 1
