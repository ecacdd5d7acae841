"""The papers' figures and statements, produced again from the models.

Examples
--------
>>> from tcpdynamics import paper_figures
>>> list(paper_figures.figures())
['sub_packet.fig9', 'logistic.fig1', 'logistic.fig2', 'logistic.fig8', 't_refwa.stability']
>>> page = paper_figures.figures()["logistic.fig1"]()  # a plotly figure
>>> coarse = paper_figures.figures()["logistic.fig8"](points=11)  # its `parameters` may be changed
>>> [claim.verdict for claim in paper_figures.claims("sub_packet")][:2]
['holds', 'does not hold']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ledger import Claim
    from .registry import PaperFigure


def figures() -> dict[str, PaperFigure]:
    """All figures by name, such as "logistic.fig1". Calling one solves and draws it."""
    from . import registry

    return registry.figures()


def claims(paper: str) -> list[Claim]:
    """The statements of a paper ("sub_packet", "logistic" or "t_refwa"), each checked now.

    Raises
    ------
    DomainError
        There is no such paper.
    """
    from importlib import import_module

    from tcpdynamics.errors import DomainError, shown

    from .registry import PAPERS

    if paper not in PAPERS:
        raise DomainError(f"paper must be one of {', '.join(PAPERS)}, got {shown(paper)}")
    checked: list[Claim] = import_module(f".{paper}.claims", __package__).claims()
    return checked
