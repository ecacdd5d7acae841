"""The papers' figures and claims, produced again: by models, and in packets.

Examples
--------
>>> from tcpdynamics import paper_figures
>>> [name for name in paper_figures.figures() if ".fig" in name][:3]
['sub_packet.fig2', 'sub_packet.fig3', 'sub_packet.fig4']
>>> page = paper_figures.figures()["logistic.fig1"]()  # a plotly figure
>>> coarse = paper_figures.figures()["logistic.fig8"](points=11)  # its `parameters` may be changed
>>> paper_figures.decide("sub_packet.eq8.idle_time").verdict  # a claim of the ledger, decided now
'holds'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .papers import all_findings as all_findings
from .papers import get_finding as get_finding

if TYPE_CHECKING:
    from .deciding import Decision
    from .ledger import Claim
    from .registry import PaperFigure


def figures() -> dict[str, PaperFigure]:
    """All figures by name, such as "logistic.fig1". Calling one solves and draws it."""
    from . import registry

    return registry.figures()


def claims(paper: str = "") -> dict[str, Claim]:
    """All claims of the ledger by id, or those of one paper.

    Raises
    ------
    DomainError
        There is no such paper.
    """
    from . import ledger

    return ledger.claims(paper)


def decide(claim: str, setting: str = "quick") -> Decision:
    """Decide a claim by its rule, now.

    Parameters
    ----------
    claim : str      Its id, such as "leap.table1.reno.2_50".
    setting : str    "tiny", "quick" or "full": how long its experiment runs.

    Raises
    ------
    DomainError
        There is no such claim or setting.
    """
    from . import deciding, ledger

    return deciding.decide(ledger.get_claim(claim), setting)
