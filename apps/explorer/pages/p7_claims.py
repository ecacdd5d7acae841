"""What do the papers claim, and does it hold?"""

from __future__ import annotations

from ..claims import WITH_PACKETS, facts
from ..page import Page

PAGE = Page(
    slug="claims",
    title="Claims",
    question="What do the papers claim, and does it hold?",
    controls=(),
    figures=(),
    printed=(),
    facts=facts,
    jobs=(WITH_PACKETS,),
    notes=(
        "A verdict is on the paper's statement. Holds with conditions: the answer names them. Cannot be decided: it is "
        "beyond the means of this toolkit, or the numbers do not support the answer. Beyond the paper: a result on "
        "what the paper leaves open.",
        "The report (make report, or tcpdynamics report) has all verdicts on one page, with the packets and fluids "
        "that the models are compared with.",
    ),
)
