"""What do the papers claim, and does it hold?"""

from __future__ import annotations

from tcpdynamics.paper_figures.ledger import MARKS

from ..claims import AGAIN, WITH_PACKETS, facts
from ..page import Page

PAGE = Page(
    slug="claims",
    title="Claims",
    question="What do the papers claim, and does it hold?",
    controls=(),
    figures=(),
    printed=(),
    facts=facts,
    jobs=(WITH_PACKETS, AGAIN),
    notes=(
        "A verdict is that of a rule, fixed before anything was run by it; each row has its rule. Where a paper leaves "
        "something open, every plausible reading is run: holds with conditions means that some readings hold and some "
        "do not. Cannot be decided: intervals that reach both sides.",
        MARKS,
    ),
)
