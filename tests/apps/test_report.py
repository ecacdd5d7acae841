"""The report is one page that needs nothing else, and its numbers are those of the library."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tcpdynamics.apps.report import build


@pytest.fixture(scope="module")
def page() -> str:
    return build(quick=True)


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


def test_page_says_what_was_found(page: str) -> None:
    assert "1679936255551813859/2226552430058027235" in page
    assert len(re.findall(r'<td class="(?:agrees|close|differs|no answer)"', page)) == 4 * 4 * (5 + 3 + 3 + 5)
    assert page.count("erratum") >= 1
    assert "numpy" in page and "Seed" in page
    assert "nan" not in re.sub(r"<script.*?</script>", "", page, flags=re.S).replace("financ", "")
