"""The first page: what this is, where to go, and users of one link who get nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

from . import link_records
from .article import articles
from .link_records import LINK
from .numbers_my_link import CHAIN, CONSTANTS, results
from .page import Control, Page, Printed
from .pages import pages
from .shown import code_of
from .sub_packet_chains import event_program

#: The sender of Linux that stands in the sentence: that of the chain and of the packets.
SENDER = "linux-reno"


@cache
def facts(whole: bool = False) -> dict[str, Any]:
    """Verdicts of the ledger, cards of the articles, and who gets nothing by packets and by Linux."""
    record = link_records.recorded()
    on_link = [p for p in record["points"] if p["sender"] == SENDER and LINK.items() <= p.items()]
    return {
        **CONSTANTS, "verdicts": verdicts(),
        "link": LINK, "packets": {n: list(came["nothing"].values()) for n, came in record["packets"].items()},
        "linux": {str(p["users"]): p["nothing"] for p in on_link}, "kernel": record["kernel"],
        "cards": [_card(slug) for slug in articles()],
        "code": code_of(results, {"users": HOME.start()["users"], "covered": True} | LINK),
    }  # fmt: skip


@cache
def verdicts() -> list[list[Any]]:
    """Each verdict of the ledger in the words for several statements, and how many of the papers' have it."""
    from tcpdynamics.paper_figures import ledger
    from tcpdynamics.paper_figures.rules import VERDICTS
    from tcpdynamics.paper_figures.statements import SEVERAL, counts, outcome

    statements, rows = ledger.ledger().statements, ledger.recorded()["rows"]
    came = counts(outcome(one, rows).verdict for one in statements.values())
    return [[SEVERAL[verdict], came.get(verdict, 0)] for verdict in VERDICTS]


def _card(slug: str) -> dict[str, Any]:
    """An article's finding, and the page, picture and values of its first figure."""
    article = articles()[slug]
    step = next(step for step in article.steps if step["figure"])
    page = pages()[step["page"] or article.page]
    names = ("slug", "script", "controls", "figures", "printed", "facts")
    return {
        "slug": slug, "title": article.title, "finding": article.finding, "figure": step["figure"],
        "values": page.read(step["values"])[0], "spec": {k: v for k, v in page.spec().items() if k in names},
    }  # fmt: skip


HOME = Page(
    slug="home",
    title="Home",
    question="Models of TCP congestion control from five papers, moved by sliders and checked against packets and "
    "Linux.",
    controls=(Control("users", "N", "1", "users on the link", 20, 300, 100, 1),),
    figures=(),
    printed=(Printed("chain", (), lambda values: event_program(CHAIN, False)),),
    facts=facts,
)
