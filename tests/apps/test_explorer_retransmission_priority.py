"""The page of retransmission priority: its numbers are the library's self-consistent losses and slices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.numbers_retransmission_priority import links
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p1b_retransmission_priority import CASES, chain_of
from tcpdynamics.models import SubPacketExact, collapse_threshold
from tcpdynamics.solvers import stationary
from tcpdynamics.solvers.programs.straightline import run

PAGE = pages()["retransmission-priority"]


@pytest.mark.parametrize("suffix", [False, True])
@pytest.mark.parametrize(("cap", "collapse"), [(3, 2), (8, 3)])
def test_printed_chains_are_the_models(suffix: bool, cap: int, collapse: int) -> None:
    program, inputs, about = PAGE.printed[suffix].make({"backoff_cap": float(cap), "collapse": float(collapse)})
    out = run(program, dict(zip(inputs, (0.2, 0.3, 4.0), strict=True)))
    flow = SubPacketExact(
        loss=0.2, retransmission_loss=0.3, base_timeout=4, backoff_cap=cap, collapse=collapse, suffix_losses=suffix
    )
    law = stationary(flow.chain())
    seen = flow.observe(law)
    assert out[0] == pytest.approx(seen.goodput.item(), rel=1e-12)
    assert out[1] == pytest.approx(float(seen.packets_per_rtt + seen.fast_retransmitted), rel=1e-12)
    states = about["states"]
    expected = law.probability.sel(state=list(flow.states())).values
    assert out[2 : 2 + states] == pytest.approx(expected, rel=1e-12)
    total = np.zeros(states)
    for (source, _, _), chance in zip(about["events"], out[2 + states :], strict=True):
        total[source] += chance
    waits = [b for b, _, _ in about["waits"]]
    assert total[waits] == pytest.approx(0) and np.delete(total, waits) == pytest.approx(1)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"share": 0.3, "slice": 31, "base_timeout": 3, "backoff_cap": 4, "collapse": 2},
        pytest.param({"slice": 100, "base_timeout": 6, "backoff_cap": 8}, marks=pytest.mark.slow),
    ],
)
def test_curves_in_the_page_are_the_librarys(tab: Page, files: Path, words: dict[str, float]) -> None:
    address = "&".join(f"{k}={v}" for k, v in words.items())
    opened(tab, (files / "retransmission-priority.html").as_uri() + f"#{address}")
    expected = PAGE.dataset(PAGE.start() | {k: float(v) for k, v in words.items()})  # type: ignore[misc]
    for picture, name in enumerate(("lost", "repeat", "idle", "jain", "nothing")):
        rows = numbers(tab, picture)[1:]
        shown = np.array([[float(x) for x in row] for row in rows]).T
        np.testing.assert_allclose(shown[0], expected.share, rtol=1e-3)
        np.testing.assert_allclose(shown[1:6], expected[name].values, rtol=1e-3, atol=1e-12)


def test_limits_are_those_of_the_back_off(tab: Page, files: Path) -> None:
    """Three successes without priority need one loss less with it: 0.2063 and 0.2929."""
    opened(tab, (files / "retransmission-priority.html").as_uri())
    (row,) = (row for row in numbers(tab, 5) if row[0] == "limit")
    shown = [float(x) for x in row[1:3]]
    assert shown == pytest.approx([collapse_threshold(3), collapse_threshold(2)], abs=5e-5)


def test_priority_helps_and_likelier_losses_hurt_at_every_share() -> None:
    found = PAGE.dataset(PAGE.start())  # type: ignore[misc]
    assert found.sizes == {"case": len(CASES), "share": 49}
    plain, first, twice, thrice, _ = (found.sel(case=case) for case in CASES)
    assert ((first.jain > plain.jain) & (plain.jain > twice.jain) & (twice.jain > thrice.jain)).all()
    assert ((first.nothing < plain.nothing) & (plain.nothing < twice.nothing)).all()
    assert (first.lost > plain.lost).all()
    link = links(1.0, chain_of(PAGE.start()))["with priority"]
    assert link.share() == 1 and link.flow(0.2).retransmission_loss == 0


def test_a_link_opens_the_packets(tab: Page, server: str) -> None:
    opened(tab, f"{server}/retransmission-priority")
    tab.get_by_role("link", name="Packets: 50 flows").click()
    tab.wait_for_url("**/packets?scenario=retransmission_priority")
    assert tab.locator(".complaint").inner_text() == ""
    tab.wait_for_function(
        "() => [...document.querySelectorAll('select')].some((s) => s.value === 'retransmission_priority')"
    )
