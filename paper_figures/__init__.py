"""The papers' figures and statements, produced again from the models.

Examples
--------
>>> from tcpdynamics import paper_figures
>>> [name for name in paper_figures.figures() if ".fig" in name]
['sub_packet.fig9', 'logistic.fig1', 'logistic.fig2', 'logistic.fig8']
>>> page = paper_figures.figures()["logistic.fig1"]()  # a plotly figure
>>> coarse = paper_figures.figures()["logistic.fig8"](points=11)  # its `parameters` may be changed
>>> [claim.verdict for claim in paper_figures.claims("sub_packet")][:2]
['holds', 'does not hold']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ledger import Claim, Statement
    from .registry import PaperFigure


def figures() -> dict[str, PaperFigure]:
    """All figures by name, such as "logistic.fig1". Calling one solves and draws it."""
    from . import registry

    return registry.figures()


def statements() -> dict[str, Statement]:
    """All statements of the papers by name, such as "logistic.eq9", in the order of the papers. Calling one decides it.

    Examples
    --------
    >>> statements()["sub_packet.idle_time"].where
    'eq. (8)'
    """
    from importlib import import_module

    from .registry import PAPERS

    modules = [import_module(f".{paper}.claims", __package__) for paper in PAPERS]
    return {one.name: one for module in modules for one in module.STATEMENTS}


def claims(paper: str) -> list[Claim]:
    """The statements of a paper ("sub_packet", "logistic" or "t_refwa"), each decided now.

    Raises
    ------
    DomainError
        There is no such paper.
    """
    from tcpdynamics.errors import DomainError, shown

    from .registry import PAPERS

    if paper not in PAPERS:
        raise DomainError(f"paper must be one of {', '.join(PAPERS)}, got {shown(paper)}")
    return [decide() for decide in statements().values() if decide.paper == paper]


def get_statement(name: str) -> Statement:
    """The statement of that name.

    Raises
    ------
    DomainError
        There is none; the message names one that is close, or how to list them.
    """
    from tcpdynamics.errors import DomainError, shown, suggestion

    known = statements()
    name = name.replace("-", "_")
    if name not in known:
        close = suggestion(name, tuple(known))
        raise DomainError(f"there is no statement {shown(name)}{close}; `tcpdynamics claims` lists them all")
    return known[name]
