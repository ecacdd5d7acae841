"""The page of the sub-packet chain: flows, silences, users on a link, closed form and exact rationals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import get, move, numbers, opened, table_of
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages.p1_sub_packet import (
    CHAINS,
    KINDS,
    LINK,
    PAGE,
    SHAPES,
    closed_forms,
    exact_law,
    loss_of,
    over_one_denominator,
    source_of,
)
from tcpdynamics.apps.explorer.sub_packet_sender import has_law
from tcpdynamics.apps.explorer.sub_packet_sender import model as own_sender
from tcpdynamics.errors import InputError
from tcpdynamics.models import SubPacketExact
from tcpdynamics.solvers import stationary
from tcpdynamics.solvers.programs.straightline import run

ON_A_LINK: dict[str, Any] = {"source": LINK, "users": 150.0, "rate": 1.0, "buffer": 40.0}


def model(kind: str, values: dict[str, Any], **settings: Any) -> Any:
    shape = {k: int(values[k]) for k in SHAPES[kind]}
    return CHAINS[kind](**shape, **{"loss": values["loss"], "base_timeout": values["base_timeout"]} | settings)


@pytest.mark.parametrize("kind", list(CHAINS))
def test_flows_in_the_diagram_are_the_chains(tab: Page, server: str, kind: str) -> None:
    values = PAGE.start() | {"loss": 0.2, "base_timeout": 3.0}
    opened(tab, f"{server}/sub-packet?loss=0.2&base_timeout=3&chain={kind}")
    rows = {row[0]: float(row[1]) for row in numbers(tab, 3)[1:]}
    law = stationary(model(kind, values).chain()).probability
    words = tab.locator("[data-figure=diagram] .kind").all_inner_texts()
    for state in law.state.values:
        assert any(re.fullmatch(name, state) and said in words for name, said in KINDS.items())
        assert rows[state] == pytest.approx(law.sel(state=state).item(), rel=1e-4)
        into = sum(flow for name, flow in rows.items() if name.endswith(f" to {state}"))
        assert into == pytest.approx(sum(f for n, f in rows.items() if n.startswith(f"{state} to ")), rel=1e-3)
    assert tab.locator(".picture svg text.flow").count() >= 3
    assert tab.locator(".picture svg g title").count() >= tab.locator(".picture svg text.flow").count()


def test_lengths_of_silences_are_the_models(tab: Page, server: str) -> None:
    opened(tab, f"{server}/sub-packet?loss=0.3&base_timeout=2.5&backoff_cap=5&collapse=2")
    expected = SubPacketExact(loss=0.3, base_timeout=2.5, backoff_cap=5, collapse=2).silence_lengths()
    rows = [[float(x) for x in row] for row in numbers(tab, 4)[1:]]
    columns = np.array(rows).T
    for shown, quantity in zip(columns, (expected.length, expected.probability, expected.time_fraction), strict=True):
        np.testing.assert_allclose(shown, quantity.values, rtol=1e-2 if quantity is expected.length else 1e-4)


def test_users_on_a_link_have_the_self_consistent_loss(tab: Page, server: str) -> None:
    values = PAGE.start() | ON_A_LINK
    opened(tab, f"{server}/sub-packet?{urlencode(ON_A_LINK)}")
    assert not tab.locator("#control-loss").is_visible() and tab.locator("#control-users").is_visible()
    loss = loss_of(source_of(values))
    assert 0.1 < loss < 0.4
    for kind, column in (("approximate", 1), ("full", 2), ("exact", 3)):
        one = model(kind, values, loss=loss)
        sent = one.observe(stationary(one.chain())).sent.values
        shown = [float(row[column]) for row in numbers(tab)[1:]]
        np.testing.assert_allclose(shown, sent, rtol=1e-4)
    assert f"{round(100 * loss)} % of the packets are lost" in tab.locator(".reading").inner_text()
    move(tab, "users", 1)
    assert "the link is not full" in tab.locator(".reading").inner_text()


@pytest.mark.parametrize("kind", list(CHAINS))
def test_the_closed_form_is_the_stationary_law(kind: str) -> None:
    import sympy

    values = PAGE.start() | {"w_max": 4.0, "stages": 2.0, "backoff_cap": 2.0}
    one = model(kind, values, loss=Fraction(1, 10), base_timeout=Fraction(5, 2))
    parts, whole = over_one_denominator(one)
    law = stationary(one.chain(), exact=True).probability
    at = {s: sympy.Rational(1, 10) for s in whole.free_symbols}
    assert [parts[s].subs(at) / whole.subs(at) for s in law.state.values] == list(law.values)


def test_the_closed_form_is_shown_as_mathematics(tab: Page, server: str, files: Path) -> None:
    for address in (
        f"{server}/sub-packet?w_max=4&chain=approximate",
        (files / "sub-packet.html").as_uri() + "#w_max=4",
    ):
        opened(tab, address)
        tab.locator("#closed-form summary").click()
        tab.wait_for_function("() => document.querySelectorAll('#closed-form math msup').length > 3")
        tab.get_by_label("state", exact=True).select_option("S2")
        expected = closed_forms(PAGE.start() | {"w_max": 4.0, "chain": "approximate"})
        latex = f"\\frac{{{expected['states']['S2']['latex']}}}{{{expected['denominator']['latex']}}}"
        assert tab.locator("#form-latex").input_value().endswith(latex)


def test_exact_rationals_are_the_librarys(tab: Page, server: str, files: Path) -> None:
    opened(tab, f"{server}/sub-packet?base_timeout=2.5")
    tab.locator("#exact-loss").fill("3/17")
    tab.locator("#panel-exact button").click()
    tab.wait_for_selector("#panel-exact td")
    one = model("full", PAGE.start(), loss=Fraction(3, 17), base_timeout=Fraction(5, 2))
    law = stationary(one.chain(), exact=True).probability
    shown = tab.locator("#panel-exact tbody tr").evaluate_all("(rows) => rows.map((r) => r.cells[1].textContent)")
    assert shown == [str(x) for x in law.values]
    tab.locator("#exact-loss").fill("1/10**99")
    tab.locator("#panel-exact button").click()
    tab.wait_for_selector("#panel-exact .complaint")
    assert "must be a fraction such as 1/10" in tab.locator("#panel-exact .complaint").inner_text()
    opened(tab, (files / "sub-packet.html").as_uri())
    assert tab.locator("#panel-exact").count() == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param({"sender": "sack", "w_max": 5.0, "loss": 0.2}, "behave like", marks=pytest.mark.slow),
        ({"sender": "reno", "rules": "ns2", "w_max": 4.0, **ON_A_LINK}, "behave like"),
        ({"sender": "sack", "w_max": 7.0}, "explores up to 6"),
        ({"sender": "tahoe", "base_timeout": 2.3}, "no multiple of 1/8"),
    ],
)
def test_the_simulators_own_sender_stands_beside_the_chains(
    tab: Page, server: str, words: dict[str, Any], said: str
) -> None:
    values = PAGE.start() | words
    opened(tab, f"{server}/sub-packet?{urlencode(words)}")
    tab.get_by_text(said).wait_for()
    rows = numbers(tab)
    assert ("sender" in rows[0]) == has_law(values)
    if has_law(values):
        loss = loss_of(source_of(values))
        one = own_sender(values, loss)
        law = one.observe(stationary(one.chain()))
        shown = [float(row[rows[0].index("sender")]) for row in rows[1:]]
        np.testing.assert_allclose(shown, law.sent.values, rtol=1e-4, atol=1e-12)


def test_an_exported_page_has_no_sender_of_its_own(tab: Page, files: Path) -> None:
    opened(tab, (files / "sub-packet.html").as_uri() + "#sender=sack")
    assert "in the served page only" in tab.locator("#own-sender").inner_text()
    assert "sender" not in numbers(tab)[0]


TYPED = ("", "nan", "1e-5", "1/0", "0/1", "1/2", "-1/3", "__import__('os')", "1" * 300, "1/9999999", "\u0661/\u0663")


@pytest.mark.parametrize("typed", TYPED, ids=range(len(TYPED)))
def test_strange_losses_are_refused_in_one_sentence(server: str, typed: str) -> None:
    with pytest.raises(InputError):
        exact_law(PAGE.start(), typed)
    code, text = get(f"{server}/answers/sub-packet/exact?{urlencode({'typed': typed})}")
    assert code == 200 and len(json.loads(text)["refused"]) < 200


def test_a_strange_answer_is_refused(server: str) -> None:
    assert get(f"{server}/answers/sub-packet/nothing")[0] == 404
    assert get(f"{server}/answers/nothing/exact")[0] == 404
    assert get(f"{server}/answers/sub-packet/exact?typed=1/10&w_max=5000")[0] == 400


def test_assumptions_are_judged_at_the_point(tab: Page, server: str) -> None:
    opened(tab, f"{server}/sub-packet?loss=0.3")
    judged = tab.locator("#panel-holds tbody tr").evaluate_all("(rows) => rows.map((r) => r.cells[1].textContent)")
    assert judged[:2] == ["holds here", "does not hold here"]
    move(tab, "loss", 0.1)
    assert tab.locator("#panel-holds tbody tr").nth(1).locator("td").nth(1).inner_text() == "holds here"


def test_the_printed_share_is_the_links() -> None:
    from tcpdynamics.apps.explorer.pages.p1_sub_packet import link_of

    values = PAGE.start() | ON_A_LINK
    program, inputs, _ = next(p for p in PAGE.printed if p.name == "share").make({})
    assert run(program, {k: values[k] for k in inputs})[0] == pytest.approx(link_of(values).share().item(), rel=1e-14)


@pytest.mark.parametrize("kind", list(CHAINS))
@pytest.mark.parametrize("words", [{}, ON_A_LINK])
def test_the_command_gives_the_bars(kind: str, words: dict[str, Any], answer: Callable[..., str]) -> None:
    values = PAGE.start() | words | {"chain": kind, "base_timeout": 2.5}
    bars = PAGE.figures[0]
    assert bars.code is not None and bars.command is not None and PAGE.dataset is not None
    here = PAGE.dataset(values).sel(chain=kind).sel(loss=loss_of(source_of(values)), method="nearest")
    np.testing.assert_allclose(table_of(bars.code(values))[kind], here.sent.values, rtol=1e-9)
    (command,) = (one for one in bars.command(values).split("\n# ") if f"sub-packet-{kind} " in one)
    row = [float(x) for x in answer(*command.split()[1:]).splitlines()[-1].split()]
    np.testing.assert_allclose(row[1:-1], here.sent.values, atol=6e-5)
