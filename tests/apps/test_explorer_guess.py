"""Guess first: the answer hides until the reader has drawn or chosen a guess; then it is laid over the guess."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from explorer_tabs import legible, move, numbers, often, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages

#: Pages with a curve to draw, with the number of their picture.
DRAWN = {"sub-packet": 1, "lotka-volterra": 0, "t-refwa": 1, "fairness": 2}
BENCHES = [slug for slug, page in pages().items() if page.controls and not page.article]


def begin(tab: Page, files: Path, slug: str, words: str = "") -> None:
    opened(tab, (files / f"{slug}.html").as_uri() + words)
    tab.locator("#guess").check()


def answer(tab: Page) -> str:
    tab.get_by_role("button", name="Show the answer").click()
    return tab.locator(".guess-answer").inner_text()


def curves(tab: Page) -> int:
    """Lines in the picture of the guess, besides its grid."""
    return tab.locator(".guess-picture > svg g path").evaluate_all(
        "(paths) => paths.filter((p) => p.getAttribute('d')).length"
    )


def draw(tab: Page, heights: list[float]) -> None:
    """Draw with the pointer from left to right; heights are fractions of the picture from its top."""
    tab.locator(".guess-picture > svg").scroll_into_view_if_needed()
    place = tab.locator(".guess-picture > svg").bounding_box()
    assert place is not None
    xs = np.linspace(0.2, 0.95, len(heights))
    for i, (x, y) in enumerate(zip(xs, heights, strict=True)):
        tab.mouse.move(place["x"] + x * place["width"], place["y"] + y * place["height"], steps=4)
        if i == 0:
            tab.mouse.down()
    tab.mouse.up()


@pytest.mark.parametrize("slug", DRAWN)
def test_the_answer_hides_until_a_curve_is_drawn(tab: Page, files: Path, slug: str) -> None:
    begin(tab, files, slug)
    pictures = tab.locator(".picture")
    assert not any(pictures.nth(i).is_visible() for i in range(pictures.count()))
    assert not any(button.is_visible() for button in tab.locator(".figure > .actions button").all())
    assert not any(part.is_visible() for part in tab.locator(".reading, .panel, .figure > details").all())
    assert curves(tab) == 0
    assert answer(tab) == "Draw a curve first, or choose values."
    draw(tab, [0.5, 0.3, 0.6])
    assert curves(tab) == 1
    said = answer(tab)
    assert re.match(r"Your guess is [\d.e-]+.* from the answer \(.+\) on average, from .+ where you drew it\.$", said)
    assert curves(tab) > 1 and pictures.nth(0 if DRAWN[slug] else 1).is_visible()


def test_the_mean_distance_is_that_of_the_numbers(tab: Page, files: Path) -> None:
    """A flat guess, by keyboard alone."""
    begin(tab, files, "lotka-volterra")
    handles = tab.locator(".guess-handles input")
    assert handles.count() >= 3
    for i in range(handles.count()):
        handles.nth(i).focus()
        tab.keyboard.press("Home")
        for _ in range(30):
            tab.keyboard.press("ArrowRight")
    level = float(handles.first.input_value())
    assert {float(h.input_value()) for h in handles.all()} == {level}
    said = answer(tab)
    mean, unit = re.match(r"Your guess is ([\d.]+) (\S+) from the answer \(flow 1\) on average\.$", said).groups()  # type: ignore[union-attr]
    rows = np.array([[float(x) for x in row[:2]] for row in numbers(tab)[1:]])
    places = np.linspace(rows[0, 0], rows[-1, 0], 61)
    expected = np.abs(np.interp(places, *rows.T) - level).mean()
    assert unit == "packet/s" and float(mean) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("slug", BENCHES)
def test_values_are_chosen_at_the_ticks_of_the_picture(tab: Page, files: Path, slug: str) -> None:
    begin(tab, files, slug)
    ticks = set(tab.locator(".guess-picture svg text").all_text_contents())
    for label in tab.locator(".guess-handles label").all_inner_texts():
        assert any(re.search(rf" {re.escape(tick)}( [^\d]*)?$", label) for tick in ticks - {""}), (label, ticks)


@pytest.mark.parametrize("slug", BENCHES)
def test_a_task_is_a_question_that_names_the_quantity_and_the_axis(tab: Page, files: Path, slug: str) -> None:
    begin(tab, files, slug)
    if not tab.locator(".guess-panel").count():
        return  # it has no curve to draw
    task = tab.locator(".guess-panel > :is(p, legend)").first.inner_text()
    if task.startswith("Say what you expect"):
        return  # nothing to draw or to choose
    asked, drawn, _ = task.partition(" Draw it with the pointer")
    assert asked.endswith("?") and not re.search("[(:]", asked), asked  # the names of series are for the legend
    axes = tab.locator(".guess-picture > svg")
    assert bool(drawn) == (axes.count() == 1)
    if drawn:
        titles = re.sub(r"^.*?: | \[[^]]*\]", "", axes.get_attribute("aria-label") or "").replace(" against ", " ")
        assert all(re.search(rf"\b{re.escape(word)}", asked) for word in re.findall(r"[\w']+", titles)), (asked, titles)


def test_on_a_logarithmic_axis_the_distance_is_a_factor(tab: Page, files: Path) -> None:
    """A flat guess, by keyboard alone; both axes are logarithmic."""
    begin(tab, files, "high-speed")
    for handle in tab.locator(".guess-handles input").all():
        handle.press("End")
    said = answer(tab)
    factor, name = re.match(r"Your guess is a factor of ([\d.,]+) from the answer \((.+)\) on average", said).groups()  # type: ignore[union-attr]
    ends = re.search(r"from ([\d.e-]+) to ([\d.e-]+) where you drew it", said)
    head, *rows = numbers(tab)
    x, y = np.array([[float(row[0]), float(row[head.index(name)])] for row in rows]).T
    low, high = map(float, ends.groups()) if ends else (x[0], x[-1])
    top = float(tab.locator(".guess-handles input").first.get_attribute("max") or "nan")
    places = np.geomspace(x[0], x[-1], 61)
    places = places[(places > 0.99 * low) & (places < 1.01 * high)]
    assert float(factor.replace(",", "")) == pytest.approx(
        10 ** np.abs(top - np.log10(np.interp(places, x, y))).mean(), rel=0.05
    )


def test_a_drawn_line_is_where_the_pointer_was(tab: Page, files: Path) -> None:
    begin(tab, files, "lotka-volterra")
    draw(tab, [0.4, 0.4])
    line = tab.locator(".guess-picture > svg g path").first.get_attribute("d") or ""
    points = np.array([[float(n) for n in p.split(",")] for p in re.findall(r"[ML]([\d.,-]+)", line)])
    height = tab.locator(".guess-picture > svg").evaluate("(svg) => svg.viewBox.baseVal.height")
    assert len(points) > 30 and np.abs(points[:, 1] / height - 0.4).max() < 0.02


def test_other_parameters_are_another_question(tab: Page, files: Path) -> None:
    begin(tab, files, "lotka-volterra")
    draw(tab, [0.5, 0.5])
    answer(tab)
    tab.get_by_role("button", name="Guess again").click()
    assert curves(tab) == 0 and not tab.locator(".picture").first.is_visible()
    draw(tab, [0.5, 0.5])
    answer(tab)
    move(tab, "epsilon", 1.0)
    assert curves(tab) == 0 and not tab.locator(".picture").nth(1).is_visible()
    tab.locator("#guess").uncheck()
    assert tab.locator(".guess-panel").count() == 0 and tab.locator(".picture").first.is_visible()


@pytest.mark.parametrize(("gain", "truth"), [(1e-5, "stable"), (1e-2, "unstable")])
def test_a_page_may_ask_for_a_choice(tab: Page, files: Path, gain: float, truth: str) -> None:
    begin(tab, files, "fluid-tcp", f"#gain={gain}")
    assert answer(tab) == "Choose one first."
    tab.get_by_label("unstable", exact=True).check()
    assert not tab.locator(".picture").first.is_visible()
    assert answer(tab) == ("Right: unstable." if truth == "unstable" else "You chose unstable; the answer is stable.")
    assert tab.locator(".picture").first.is_visible()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
@pytest.mark.parametrize("slug", often(BENCHES))
def test_the_guess_is_accessible_and_fits(tab: Page, files: Path, slug: str, scheme: Any) -> None:
    legible(tab, 380, scheme, lambda: begin(tab, files, slug))
    box, label = (tab.locator(f".guess-first {part}").bounding_box() for part in ("input", "label"))
    assert box and label and box["x"] + box["width"] <= label["x"]  # its lines stand next to the box


def test_a_link_has_the_switch_on(tab: Page, server: str, files: Path) -> None:
    opened(tab, f"{server}/lotka-volterra?epsilon=1.5")
    tab.locator("#guess").check()
    assert tab.url.endswith("?epsilon=1.5&guess=first")
    for address in (tab.url, (files / "lotka-volterra.html").as_uri() + "#epsilon=1.5&guess=first"):
        tab.goto("about:blank")
        opened(tab, address)
        assert tab.locator(".guess-panel").count() == 1 and not tab.locator(".picture").first.is_visible()
        assert tab.locator(".complaint").inner_text() == ""
    tab.locator("#guess").uncheck()
    assert tab.url.endswith("#epsilon=1.5")
