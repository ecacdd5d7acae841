"""Comparisons with packets are refused as a whole before their first run."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tcpdynamics.errors import DomainError, LimitError
from tcpdynamics.paper_figures.sub_packet.figures import fig9
from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons.comparison import Comparison
from tcpdynamics.validation.comparisons.packets_vs_ns2 import CASES, PacketsVsNs2


def _run(*_: Any, **__: Any) -> Any:
    raise RuntimeError("begun")


def _comparisons() -> list[tuple[str, Any, float]]:
    """Module, comparison, and the work of all its runs that are known beforehand."""
    crowd, ns2 = replace(fig9(True), flows=(20, 50)), PacketsVsNs2(seeds=3)
    alone = sum(crowd.scenario("drop-tail", n).work for n in crowd.flows) * crowd.replications
    return [("sub_packet", crowd, alone), ("packets_vs_ns2", ns2, 3 * sum(ns2.scenario(case).work for case in CASES))]


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


#: Comparison -> settings, each of which alone asks for too much.
TOO_MUCH: dict[str, list[dict[str, Any]]] = {
    "LogisticVsFluid": [
        {"rounds": 10**9},
        {"horizon": 1e15},
        {"epsilon": np.linspace(0.1, 3, 10_000), "delay": np.linspace(0, 1, 10_000)},
    ],
    "LotkaVolterraVsFluid": [
        {"rounds": 10**9},
        {"horizon": 1e15},
        {"flows": (10**7,)},
        {"flows": (2000,)},
        {"flows": range(2, 500)},
    ],
    "MisraVsLinearisation": [{"rounds": 10**9}, {"horizon": 1e15}, {"rtt": 1e-12}],
    "TRefwaMapVsFluid": [{"rounds": 10**9}, {"intervals": 10**12}, {"intervals": 10**5}],
}
CASES_TOO_MUCH = [(name, settings) for name, all_of in TOO_MUCH.items() for settings in all_of]


def _fluid(name: str, **settings: Any) -> Comparison:
    comparison: Comparison = getattr(comparisons, name)(**settings)
    return comparison


@pytest.mark.parametrize(("name", "settings"), CASES_TOO_MUCH, ids=lambda x: x if isinstance(x, str) else next(iter(x)))
def test_a_fluid_comparison_is_refused_before_anything_runs(
    name: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules[type(_fluid(name)).__module__]
    for runs in ("measure", "characteristic_roots", "stability_chart", "SampledWindow", "MarkedFlows"):
        monkeypatch.setattr(module, runs, _run, raising=False)
    with pytest.raises(LimitError, match=r"need about .* operations, at most 1e\+13 are allowed; give"):
        _fluid(name, **settings).run()
    for allowed in ({}, _fluid(name).quick):
        with pytest.raises(RuntimeError, match="begun"):
            _fluid(name, **allowed).run()


@pytest.mark.parametrize("name", TOO_MUCH)
def test_the_bound_of_a_fluid_comparison_is_the_environments(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", "1e6")
    with pytest.raises(LimitError, match=r"at most 1e\+06 are allowed"):
        _fluid(name, **_fluid(name).quick).run()


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("LeapVsPackets", "density"),
        ("LeapVsPackets", "loss"),
        ("LogisticVsFluid", "epsilon"),
        ("LogisticVsFluid", "delay"),
        ("LotkaVolterraVsFluid", "flows"),
        ("MisraVsLinearisation", "ratio"),
        ("MtcpVsPackets", "lists"),
        ("SubPacketChainVsPackets", "flows"),
        ("TRefwaMapVsFluid", "gains"),
        ("TRefwaMapVsFluid", "lags"),
        ("LotkaVolterraVsPackets", "rates"),
        ("LotkaVolterraVsPackets", "flows"),
        ("WindowRulesVsFormulas", "loss"),
        ("WindowRulesVsFormulas", "rules"),
        ("LockOut", "runs"),
        ("RetransmissionPriorityVsPackets", "flows"),
    ],
)
def test_a_setting_lists_some_values_and_not_too_many(name: str, setting: str) -> None:
    for values in ((), range(1, 10**9)):
        with pytest.raises(DomainError, match=f"{setting} must list 1 to 10,000 values, got {len(values):,}"):
            _fluid(name, **{setting: values})
