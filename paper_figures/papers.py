"""The papers and their findings."""

from __future__ import annotations

from importlib import import_module

from tcpdynamics.errors import DomainError, shown, suggestion

from .findings import Finding

#: In the order of pages: each a folder with modules `experiments`, `findings`, `figures` and `values`.
PAPERS = ("sub_packet", "logistic", "t_refwa", "leap", "mtcp")


def all_findings() -> dict[str, Finding]:
    """Findings on the papers' statements by name, such as "logistic.eq9"; calling one solves the models.

    Examples
    --------
    >>> all_findings()["sub_packet.idle_time"].where
    'eq. (8)'
    """
    modules = [import_module(f".{paper}.findings", __package__) for paper in PAPERS]
    return {one.name: one for module in modules for one in module.FINDINGS}


def get_finding(name: str) -> Finding:
    """The finding of that name.

    Raises
    ------
    DomainError
        There is none; the message names one that is close.
    """
    findings = all_findings()
    name = name.replace("-", "_")
    if name not in findings:
        raise DomainError(f"there is no finding {shown(name)}{suggestion(name, tuple(findings))}")
    return findings[name]
