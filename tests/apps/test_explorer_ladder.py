"""The sender's ladder: distributions, distances and records of its six rungs, and the page in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page, expect

from tcpdynamics.apps.explorer import sub_packet_points
from tcpdynamics.apps.explorer.ladder_record import DROPS, FILE, LINUX, SENDERS, WINDOW, on_linux, record, recorded
from tcpdynamics.apps.explorer.numbers_ladder import CHAINS, RUNGS, along, curves, rungs
from tcpdynamics.apps.explorer.numbers_sub_packet import packets
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p1c_ladder import PAGE
from tcpdynamics.apps.explorer.sub_packet_chains import shapes_of
from tcpdynamics.validation.comparisons import SenderChainSteps
from tcpdynamics.validation.linux import installed

SHARES = [*(f"P({n} packets)" for n in range(WINDOW)), f"P({WINDOW} packets or more)"]
ROWS = [(sender, word, row) for sender in SENDERS for word, row in recorded()["senders"][sender]["linux"].items()]


def test_the_record_is_whole() -> None:
    content = json.loads(FILE.read_text(encoding="utf-8"))
    assert tuple(content["drops"]) == DROPS and tuple(content["senders"]) == SENDERS
    for sender in SENDERS:
        one = content["senders"][sender]
        assert tuple(one["linux"]) == tuple(LINUX)
        for rows in (one["packets"], *one["linux"].values()):
            assert tuple(row["drop"] for row in rows) == DROPS
            for row in rows:
                assert sum(mean for mean, _, _ in row["sent"]) == pytest.approx(1.0, abs=1e-5)
                assert all(0.0 <= mean <= 1.0 and low <= mean <= high for mean, low, high in row["sent"])
                assert row["goodput"][1] <= row["goodput"][0] <= row["goodput"][2] < WINDOW
                assert 0.0 <= row["distance"][1] <= row["distance"][0] <= row["distance"][2] <= 1.0


def test_distances_are_those_of_the_laws_that_are_shown() -> None:
    for sender in SENDERS:
        one = recorded()["senders"][sender]
        chain = along(CHAINS[3], DROPS, sender)[0]
        for i, row in enumerate(one["packets"]):
            law = np.array([mean for mean, _, _ in row["sent"]])
            assert row["distance"][0] == pytest.approx(0.5 * abs(law - chain[i]).sum(), abs=1e-5)
            for rows in one["linux"].values():
                other = np.array([mean for mean, _, _ in rows[i]["sent"]])
                assert rows[i]["distance"][0] == pytest.approx(0.5 * abs(other - law).sum(), abs=1e-5)


def test_the_chain_of_the_sender_is_that_of_its_packets() -> None:
    """All 22 distances are small, and nearly all intervals hold 0."""
    far = [row["distance"] for sender in SENDERS for row in recorded()["senders"][sender]["packets"]]
    assert max(distance for distance, _, _ in far) < 0.01
    assert sum(low > 0 for _, low, _ in far) <= 2


@pytest.mark.slow
def test_distances_are_those_of_the_comparison() -> None:
    """Of the report's ladder, whose settings the page has."""
    losses = (0.05, 0.1, 0.2, 0.3, 0.4)
    result = SenderChainSteps(losses=losses, flows=(40, 120), duration=60.0, replications=2).run()
    for loss in losses:
        table = rungs(loss, "sack", "cubic").set_index("rung")
        law = result.distribution.sel(loss=loss)
        for mine, theirs in zip(CHAINS, ("printed", "exact", "karn", "sender"), strict=True):
            np.testing.assert_allclose(table.loc[mine, SHARES].to_numpy(float), law.sel(model=theirs), atol=1e-9)
        steps = ("printed to exact", "exact to karn", "karn to sender")
        for mine, step in zip(CHAINS[1:], steps, strict=True):
            expected = float(result.distance.sel(loss=loss, step=step))
            assert table.loc[mine, "distance"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
def test_recorded_packets_come_again() -> None:
    again = record(senders=("sack",), drops=(0.2,), linux=())["senders"]["sack"]["packets"]
    assert again == [row for row in recorded()["senders"]["sack"]["packets"] if row["drop"] == 0.2]


@pytest.mark.slow
@pytest.mark.skipif(not installed(), reason="Linux as judge is not built")
def test_linux_comes_within_its_interval_again() -> None:
    again = record(senders=("sack",), drops=(0.2,), linux=("cubic",), runs=4, long=3000.0)["senders"]["sack"]
    (row,) = (one for one in recorded()["senders"]["sack"]["linux"]["cubic"] if one["drop"] == 0.2)
    assert again["linux"]["cubic"][0]["sent"][0][0] == pytest.approx(row["sent"][0][0], abs=0.01)


def test_linux_waits_two_round_trips() -> None:
    (flow,) = on_linux("sack", 0.1).flows
    assert (flow.min_rto, flow.max_rto, flow.window_limit) == (0.2, 25.6, WINDOW)


def test_presets_are_what_they_say() -> None:
    five, of_paper, changes, _ = PAGE.presets
    (row,) = (one for one in sub_packet_points.points()["packets, RTTs 5 % apart"] if one["flows"] == 100)
    assert five.values == {"drop": 0.05} and of_paper.values["drop"] == pytest.approx(row["loss"][0], abs=0.005)
    largest = []
    for drop in (changes.values["drop"] - 0.01, changes.values["drop"] + 0.01):
        values: dict[str, Any] = PAGE.start() | dict(changes.values) | {"drop": drop}
        table = rungs(values["drop"], values["sender"], values["linux"])
        largest.append(table["rung"][table["distance"].idxmax()])
    assert largest[0] != largest[1]


def row_of(table: list[list[str]], name: str) -> list[float]:
    """Numbers of a row behind the picture, by the row's first cell."""
    (row,) = (one for one in table[1:] if one[0] == name)
    return [float(x) if x else float("nan") for x in row[1:]]


def test_each_rung_is_a_distribution_at_every_drop_probability(tab: Page, files: Path) -> None:
    opened(tab, (files / "ladder.html").as_uri())
    slider = tab.locator("#control-drop")
    numbers(tab, 0)
    drops = [0.01, 0.45, *np.linspace(0.012, 0.447, 30).round(3)]
    for drop in drops:
        slider.evaluate("(s, x) => { s.value = x; s.dispatchEvent(new Event('input', { bubbles: true })); }", drop)
        table = numbers(tab, 0)
        assert [row[0] for row in table[1:]] == list(RUNGS)
        for row in table[1:]:
            shares = [float(row[2 + 3 * n]) for n in range(WINDOW + 1)]
            assert sum(shares) == pytest.approx(1.0, abs=5e-5) and all(0.0 <= x <= 1.0 for x in shares)
        near = min(DROPS, key=lambda one: abs(one - drop))
        assert [row_of(table, name)[0] for name in RUNGS[3:]] == [pytest.approx(drop), near, near]


@pytest.mark.parametrize(("sender", "linux", "rows"), ROWS[::3])
def test_the_page_has_the_recorded_points(tab: Page, files: Path, sender: str, linux: str, rows: Any) -> None:
    opened(tab, f"{(files / 'ladder.html').as_uri()}#sender={sender}&linux={linux}&drop=0.3")
    (row,) = (one for one in rows if one["drop"] == 0.3)
    found = row_of(numbers(tab, 0), RUNGS[5])
    expected = [0.3, *(x for three in row["sent"] for x in three), *row["distance"]]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9)
    head, *lines = numbers(tab, 1)
    column = head.index(RUNGS[5])
    points = {float(line[0]): [float(x) for x in line[column : column + 3]] for line in lines if line[column]}
    assert points == {one["drop"]: pytest.approx(one["sent"][0], rel=1e-4, abs=1e-9) for one in rows}


def test_curves_and_bars_say_the_same() -> None:
    for quantity in ("silence", "goodput"):
        table = curves(quantity, "sack", "reno").set_index("drop probability")
        assert (np.diff(table[list(CHAINS)], axis=0) * (1 if quantity == "silence" else -1) > 0).all()
    bars, silence = rungs(0.2, "sack", "reno"), curves("silence", "sack", "reno").set_index("drop probability")
    np.testing.assert_allclose(bars["P(0 packets)"], silence.loc[0.2, list(RUNGS)], rtol=1e-12)


def test_the_exact_chain_is_that_of_the_sub_packet_page() -> None:
    law = packets(0.2, 2.0, shapes_of(pages()["sub-packet"].start()))["exact"]
    np.testing.assert_allclose(along("2 exact", [0.2], "sack")[0][0], law, rtol=1e-12)


def test_the_sentence_and_the_mark_follow_the_slider(tab: Page, server: str) -> None:
    opened(tab, f"{server}/ladder?drop=0.17")
    reading, picture = tab.locator(".reading"), tab.locator("[data-figure=rungs]")
    table = rungs(0.17, "sack", "cubic")
    number = 1 + int(table["distance"].idxmax())
    expect(reading).to_contain_text(f"At a drop probability of 17 %, the largest step leads to rung {number}")
    expect(reading).to_contain_text(f"Its distance (total variation) is {table['distance'].max():.2f}")
    expect(picture.locator(".step.largest")).to_have_attribute("data-step", str(number - 1))
    expect(picture.locator("svg").first).to_contain_text("measured at 15 %")
    expect(reading).to_contain_text("CUBIC, measured at a drop probability of 15 %.")
    assert picture.locator(".bar").count() == 6 and picture.locator(".step").count() == 5
    over = tab.locator("[data-figure=curves] .u-over")
    box = over.bounding_box()
    assert box is not None
    tab.mouse.click(box["x"] + box["width"] * 0.3 / 0.46, box["y"] + 20)
    expect(reading).to_contain_text("At a drop probability of 30 %")
    expect(reading).not_to_contain_text("measured at a drop probability")
    tab.locator("#control-drop").press("ArrowRight")
    tab.wait_for_url("**drop=0.3*")


def test_what_no_interval_decides_is_not_said(tab: Page, files: Path) -> None:
    opened(tab, f"{(files / 'ladder.html').as_uri()}#drop=0.15&sender=newreno&linux=reno-options-off")
    said = tab.locator(".reading").inner_text()
    table = rungs(0.15, "newreno", "reno-options-off")
    top = table["distance"].idxmax()
    reach, floor = (
        table["distance, high"].fillna(table["distance"]),
        table["distance, low"].fillna(table["distance"])[top],
    )
    rivals = [i for i in table.index[1:] if i != top and reach[i] >= floor]
    assert rivals and all(f"that to rung {i + 1} ({table['distance'][i]:.2f})" in said for i in rivals)
    opened(tab, f"{(files / 'ladder.html').as_uri()}#drop=0.2")
    assert "By the intervals" not in tab.locator(".reading").inner_text()


@pytest.mark.parametrize("size", [(1280, 720), (390, 844), (320, 640)])
def test_words_of_the_picture_do_not_touch(tab: Page, files: Path, size: tuple[int, int]) -> None:
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    for linux in LINUX:
        opened(tab, f"{(files / 'ladder.html').as_uri()}#linux={linux}&drop=0.35&sender=newreno")
        places = tab.evaluate(
            "() => { const own = document.querySelector('[data-figure=rungs] svg').getBoundingClientRect();"
            "return [...document.querySelectorAll('[data-figure=rungs] svg text:not(.bar text)')].map((t) => {"
            "const b = t.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom, own.left, own.right]; }); }"
        )
        for i, (left, right, top, bottom, low, high) in enumerate(places):
            assert low - 1 <= left and right <= high + 1
            for other in places[:i]:
                apart = other[1] <= left or right <= other[0] or other[3] - 3 <= top or bottom - 3 <= other[2]
                assert apart, (size, linux, places[i], other)
        assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_an_article_leads_to_the_page(tab: Page, files: Path) -> None:
    opened(tab, (files / "paper-sub-packet.html").as_uri())
    links = tab.evaluate("() => [...document.querySelectorAll('main a')].map((a) => a.getAttribute('href'))")
    assert "ladder.html" in links


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_bars_and_distances_have_one_scale(tab: Page, files: Path, size: tuple[int, int]) -> None:
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    opened(tab, f"{(files / 'ladder.html').as_uri()}#drop=0.3")
    picture = tab.locator("[data-figure=rungs]")
    assert {"0 %", "25 %", "50 %", "75 %", "100 %"} <= set(picture.locator("svg text").all_text_contents())
    read = "(all) => all.map((one) => { const b = one.getBBox(); return [b.x, b.x + b.width, b.y, b.y + b.height]; })"
    ticks = picture.locator("svg .tick").evaluate_all(read)
    zero, whole = ticks[0][0], ticks[-1][0]
    np.testing.assert_allclose([one[0] for one in ticks], np.linspace(zero, whole, 5), atol=0.1)
    bars = picture.locator("svg .bar").evaluate_all(read)
    assert all(one[2] <= bar[2] and bar[3] <= one[3] for bar in bars for one in ticks)
    np.testing.assert_allclose([bar[:2] for bar in bars], [[zero, whole]] * 6, atol=0.6)
    lengths = picture.locator("svg .distance").evaluate_all(read)
    expected = [row_of(numbers(tab, 0), name)[-3] for name in RUNGS[1:]]
    assert "Distance from the rung above" in picture.locator(".legend").inner_text()
    notes = " ".join(tab.locator(".seen > .note").all_inner_texts())
    assert all(f"Rung {k + 1} is " in notes for k in range(len(RUNGS)))
    np.testing.assert_allclose([(one[1] - zero) / (whole - zero) for one in lengths], expected, atol=0.004)


#: What is written on the canvases, to be run before a page's scripts.
WRITTEN = """(() => {
  const pen = CanvasRenderingContext2D.prototype, { fillText } = pen;
  window.written = new Set();
  pen.fillText = function (text, ...place) { window.written.add(String(text)); fillText.call(this, text, ...place); };
})()"""


@pytest.mark.parametrize(("slug", "names"), [("ladder", {"6 Linux"}), ("sub-packet", {"exact", "RTTs 5 % apart"})])
@pytest.mark.parametrize("width", [1280, 390])
def test_names_stand_at_the_curves_where_there_is_room_and_fractions_are_in_per_cent(
    tab: Page, server: str, slug: str, names: set[str], width: int
) -> None:
    tab.add_init_script(WRITTEN)
    tab.set_viewport_size({"width": width, "height": 720})
    opened(tab, f"{server}/{slug}")
    tab.mouse.wheel(0, 20000)
    tab.wait_for_function("() => [...document.querySelectorAll('canvas')].length && written.has('40\\u2009%')")
    if width > 1000:
        tab.wait_for_function("(names) => names.every((name) => written.has(name))", arg=[*names])
    written = set(tab.evaluate("() => [...written]"))
    assert (names <= written) == (width > 1000) and not {"0.1", "0.2", "0.4"} & written
    assert tab.locator(".picture > .legend.names-in-place").count() >= (len(names) if width > 1000 else 0)
