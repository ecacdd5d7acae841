"""Measured points on the chains' axes, and the ladder of states."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page, expect

from tcpdynamics.apps.explorer import leap_table, sub_packet_points
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p1_sub_packet import CHAINS, PAGE
from tcpdynamics.paper_figures import ledger
from tcpdynamics.solvers import stationary
from tcpdynamics.validation.comparisons import LinuxSubPacket
from tcpdynamics.validation.comparisons.crowded_links import LINKS

MEASURED, LAW = ([figure.name for figure in PAGE.figures].index(name) for name in ("measured", "measured_law"))


def test_points_are_the_records() -> None:
    points = sub_packet_points.points()
    text = resources.files(sub_packet_points.__package__ or "").joinpath(sub_packet_points.RECORD).read_text("utf-8")
    for name, rows in json.loads(text)["points"].items():
        assert points[name] == rows and [row["flows"] for row in rows] == [20, 40, 60, 80, 100, 150, 200, 300]
        for row in rows:
            assert sum(one[0] for one in row["sent"]) == pytest.approx(1, abs=1e-4)
            assert all(low <= mean <= high for mean, low, high in (row["loss"], row["goodput"], *row["sent"]))
    study = LinuxSubPacket(links=("1 Mbit/s, 100 flows",))
    runs = np.array(study.recorded(study.cells()["1 Mbit/s, 100 flows", "Linux as it comes, CUBIC"]))
    quantities = list(study.quantities)
    (row,) = (one for one in points["Linux 7.2, CUBIC"] if one["flows"] == 100)
    assert row["loss"][0] == pytest.approx(runs[:, quantities.index("loss rate")].mean(), rel=1e-5)
    assert row["sent"][0][0] == pytest.approx(runs[:, quantities.index("0 sent")].mean(), rel=1e-5)
    assert LINKS["1 Mbit/s, 100 flows"].flows == 100


@pytest.mark.slow
def test_recorded_packets_come_again() -> None:
    again = sub_packet_points.record(flows=(100,))["points"]
    for name, rows in again.items():
        (recorded,) = (one for one in sub_packet_points.points()[name] if one["flows"] == 100)
        assert rows[0]["loss"] == recorded["loss"] and rows[0]["sent"] == recorded["sent"]


@pytest.mark.parametrize("group", list(sub_packet_points.GROUPS))
def test_the_page_draws_the_recorded_points(tab: Page, files: Path, group: str) -> None:
    opened(tab, f"{(files / 'sub-packet.html').as_uri()}#points={group}&loss=0.16")
    head, *rows = numbers(tab, MEASURED)
    for name in sub_packet_points.GROUPS[group]:
        column = head.index(name)
        found = {float(row[0]): [row[column + k] for k in range(3)] for row in rows if row[column]}
        listed = sub_packet_points.points()[name]
        assert len(found) == len(listed)
        for one in listed:
            at = min(found, key=lambda p: abs(p - one["loss"][0]))
            np.testing.assert_allclose([float(x) for x in found[at]], one["sent"][0], rtol=1e-3, atol=1e-9)
    first = sub_packet_points.points()[sub_packet_points.GROUPS[group][0]]
    nearest = min(first, key=lambda row: abs(row["loss"][0] - 0.16))
    bars = numbers(tab, LAW)
    shown = [float(row[4]) for row in bars[1:] if row[4]]
    np.testing.assert_allclose(shown, [one[0] for one in nearest["sent"]], rtol=1e-3)


def test_errors_cancel_as_the_article_says() -> None:
    points = sub_packet_points.points()
    for row in points["packets, RTTs 5 % apart"]:
        assert 0.5 * np.abs(_law("full", row) - [one[0] for one in row["sent"]]).sum() < 0.13
    assert below("random-drops") == ["8", "8", "8"]
    for row in points["packets, random drops"]:
        if row["loss"][0] > 0.1:  # as the chain assumes, and yet below it; an earlier end of the backoff is nearer
            silent = row["sent"][0][0]
            assert _law("full", row)[0] - silent > 0.1
            assert abs(_law("exact", row, collapse=2)[0] - silent) < abs(_law("exact", row)[0] - silent)
    at_100 = {name: next(row for row in rows if row["flows"] == 100) for name, rows in points.items()}
    assert at_100["packets, RTTs 5 % apart"]["again"][1] > 1.5  # retransmissions are dropped more often
    assert at_100["packets, random drops"]["again"][1] < 1 < at_100["packets, random drops"]["again"][2]
    assert abs(at_100["packets, RTTs 5 % apart"]["sent"][0][0] - at_100["ns-2, RTTs 5 % apart"]["sent"][0][0]) < 0.01


def below(group: str) -> list[str]:
    """How many points lie below the full curve, how many the page draws, how many lie below the exact curve."""
    rows = [row for name in sub_packet_points.GROUPS[group] for row in sub_packet_points.points()[name]]
    counts = [sum(row["sent"][0][0] < _law(kind, row)[0] for row in rows) for kind in ("full", "exact")]
    return [str(n) for n in (counts[0], len(rows), counts[1])]


def test_the_article_counts_points_below_the_curves_and_names_the_sender(tab: Page, files: Path) -> None:
    opened(tab, f"{(files / 'paper-sub-packet.html').as_uri()}#step=5")
    said = tab.locator(".step").nth(4).locator(".number")
    for group, (first, *others) in sub_packet_points.GROUPS.items():
        tab.locator("#step-5-points").select_option(group)
        expect(said.nth(2)).to_have_text(first)
        assert said.all_inner_texts()[-4:-1] == below(group)
        flows, named = said.nth(1).inner_text(), tab.locator(".article-figure .reading").inner_text()
        assert named.startswith(f"{first}, {flows} flows: ")
        for name in others:  # every sender whose points are shown, at as many flows
            (row,) = (row for row in sub_packet_points.points()[name] if row["flows"] == int(flows))
            (mean,) = re.findall(rf"{re.escape(name)}: ([\d.]+) % \(.* to .*\) at a loss", named)
            assert float(mean) == pytest.approx(100 * row["sent"][0][0], abs=0.5)


def _law(kind: str, row: dict[str, Any], **more: int) -> Any:
    """P(0, 1, ..., 6 packets in a round trip) by a chain at a measured loss."""
    chain = CHAINS[kind](loss=row["loss"][0], base_timeout=2.0, w_max=6, **more)
    return chain.observe(stationary(chain.chain())).sent.values


def test_table_1_is_the_ledgers() -> None:
    table = leap_table.table()
    assert len(table) == 8 and all(len(rows) == 5 for rows in table.values())
    rows = ledger.recorded()["rows"]
    for sender, name in leap_table.SENDERS.items():
        for row in table[f"{sender}/alike"]:
            cell = f"leap.table1.{name}.{row['density']:.2f}"
            cell = f"leap.table1.{name}.{cell[-4:].replace('.', '_')}"
            assert row["published"] == ledger.get_claim(cell).published
            assert row["packets"][0] == rows[cell]["readings"][0][2]
    last = {name: table[name][-1]["packets"][0] for name in table}
    assert 0.6 < last["Reno/alike"] < last["LEAP/alike"] < 0.7  # where the paper has 43 and 74 %
    assert last["Reno/2-1-1"] == pytest.approx(0.429, abs=0.025) and last["LEAP/2-1-1"] < 0.5


@pytest.mark.parametrize("chain", list(CHAINS))
@pytest.mark.parametrize("words", ["", "w_max=4&stages=1&backoff_cap=0", "w_max=10&stages=5&backoff_cap=8"])
def test_the_ladder_shows_all_states_each_at_a_place_of_its_own(tab: Page, files: Path, chain: str, words: str) -> None:
    opened(tab, f"{(files / 'sub-packet.html').as_uri()}#chain={chain}&loss=0.2&{words}")
    ladder = tab.locator("[data-figure=diagram] svg")
    states = ladder.locator("circle").evaluate_all(
        "(all) => all.map((one) => [one.dataset.state, +one.getAttribute('cx'), +one.getAttribute('cy')])"
    )
    values = PAGE.read(dict(pair.split("=") for pair in f"chain={chain}&loss=0.2&{words}".split("&") if pair))[0]
    printed = next(one for one in pages()["sub-packet"].printed if one.name == chain)
    about = printed.make(values)[2]
    assert [name for name, _, _ in states] == about["states"]
    assert len({(x, y) for _, x, y in states}) == len(states)
    places = {name: (x, y) for name, x, y in states}
    windows = [f"S{n}" for n in range(3, int(values["w_max"]) + 1)]
    assert [places[name][0] for name in windows] == sorted(places[name][0] for name in windows)
    assert len({places[name][1] for name in windows}) == 1  # one row without backoff
    arrows = ladder.locator("g.arrow").evaluate_all("(all) => all.map((one) => [one.dataset.from, one.dataset.to])")
    assert sorted(map(tuple, arrows)) == sorted((about["states"][a], about["states"][b]) for a, b in about["edges"])
    assert ladder.locator("text.flow").count() >= 3
