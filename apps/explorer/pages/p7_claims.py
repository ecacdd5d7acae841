"""What do the papers claim, and does it hold?"""

from __future__ import annotations

from tcpdynamics.paper_figures.ledger import HISTORY
from tcpdynamics.paper_figures.statements import MARKS

from ..claims import AGAIN, LATER, WITH_PACKETS, facts
from ..page import Page

PAGE = Page(
    slug="claims",
    title="Claims",
    question="What do the papers claim, and does it hold?",
    controls=(),
    figures=(),
    printed=(),
    facts=facts,
    later=LATER,
    menu=True,
    jobs=(WITH_PACKETS, AGAIN),
    notes=(
        "A central statement is a main result of the paper; a supporting one leads to it; an arithmetic one follows "
        "from the paper's own numbers. A derivation is a formula or a result of the model. A comparison states which "
        "of two is larger. A number is printed in a table, a figure or the text. RTO is the retransmission timeout.",
        "A statement of a paper has cells: numbers and inequalities, each with the rule that decides it. What a paper "
        "leaves open has several interpretations. A statement holds with conditions if all its cells hold under some "
        "of them, but not under all. It cannot be decided if intervals reach both sides of a limit. Nor can it be "
        "decided if its interpretations lie on both sides, or decide nothing.",
        MARKS,
        "To check the software, errors are put into its source on purpose. Where no such error changes a verdict, the "
        "statement has a sentence that says so.",
        HISTORY,
    ),
)
