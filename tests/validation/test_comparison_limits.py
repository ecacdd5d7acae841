"""Comparisons with packets are refused as a whole before their first run."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

from tcpdynamics.errors import LimitError
from tcpdynamics.paper_figures.sub_packet.figures import fig9
from tcpdynamics.validation.comparisons.packets_vs_ns2 import CASES, PacketsVsNs2


def _run(*_: Any, **__: Any) -> Any:
    raise RuntimeError("begun")


def _comparisons() -> list[tuple[str, Any, float]]:
    """Module, comparison, and the work of all its runs that are known beforehand."""
    crowd, ns2 = replace(fig9(True), flows=(20, 50)), PacketsVsNs2(seeds=3)
    alone = sum(crowd.scenario("drop-tail", n).work for n in crowd.flows) * crowd.replications
    return [
        ("sub_packet", crowd, alone),
        ("packets_vs_ns2", ns2, 3 * sum(ns2.scenario(case).work for case in CASES)),
    ]


@pytest.mark.parametrize("index", [0, 1], ids=["sub_packet", "packets_vs_ns2"])
def test_all_runs_of_a_comparison_count(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run alone is allowed; together they are not. With room for all, the first run begins."""
    name, comparison, work = _comparisons()[index]
    module = sys.modules[f"tcpdynamics.validation.comparisons.{name}"]
    monkeypatch.setattr(module, "replicate", _run)
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", repr(0.99 * work))
    with pytest.raises(LimitError, match=r"replications of .* need about .* operations, at most .* fewer"):
        comparison.run()
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", repr(10 * work))
    with pytest.raises(RuntimeError, match="begun"):
        comparison.run()
