"""Linked views: what is pointed at in one picture of the explorer is marked in the others that show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

#: Page -> the picture that is pointed at.
POINTED = {"fluid-tcp": "queue", "t-refwa": "queue"}


def pointed(page: Page, name: str, share: float) -> None:
    """Move the pointer into a picture of curves, at a share of its width."""
    over = page.locator(f"[data-figure={name}] .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.4 * box["height"])


def marked(page: Page, name: str) -> float:
    """The value of x that a picture of curves shows below itself, NaN without one."""
    text = page.locator(f"[data-figure={name}] .legend .at").inner_text()
    return float(text.removeprefix("at ")) if text else float("nan")


def spots(page: Page, name: str) -> list[tuple[float, float]]:
    """Marks in a plane, in its coordinates."""
    return [
        (float(c.get_attribute("cx") or 0), float(c.get_attribute("cy") or 0))
        for c in page.locator(f"[data-figure={name}] circle.spot").all()
    ]


@pytest.mark.parametrize("slug", POINTED)
def test_a_time_is_marked_in_the_other_curves(tab: Page, files: Path, slug: str) -> None:
    opened(tab, (files / f"{slug}.html").as_uri())
    pointed(tab, POINTED[slug], 0.5)
    tab.wait_for_function("() => document.querySelector('[data-figure=window] .legend .at').textContent")
    half = marked(tab, "window")
    assert half == marked(tab, "queue") > 0
    pointed(tab, POINTED[slug], 0.25)
    assert 0 < marked(tab, "window") < half
    tab.mouse.move(1, 1)
    assert marked(tab, "window") != marked(tab, "window")


def test_a_time_is_marked_in_the_plane_where_the_motion_is(tab: Page, files: Path) -> None:
    tab.set_viewport_size({"width": 1280, "height": 1400})  # both pictures in sight
    opened(tab, (files / "fluid-tcp.html").as_uri())
    assert spots(tab, "plane") == []
    pointed(tab, "window", 0.0)
    ((x, y),) = spots(tab, "plane")
    motion = next(row for row in numbers(tab, 3) if row[0] == "motion")
    assert [float(motion[1]), float(motion[2])] == [1, 0]  # a window of one packet, an empty queue
    bottom = tab.locator("#in-plane rect").evaluate("(r) => r.y.baseVal.value + r.height.baseVal.value")
    assert y == pytest.approx(bottom, abs=0.1)
    pointed(tab, "window", 0.1)
    ((later, _),) = spots(tab, "plane")
    assert later > x
    time = marked(tab, "window")
    svg = tab.locator("[data-figure=plane] .picture > svg")
    svg.scroll_into_view_if_needed()
    place = svg.evaluate(
        "(svg, at) => { const p = new DOMPoint(...at).matrixTransform(svg.getScreenCTM()); return [p.x, p.y]; }",
        [later, y],
    )
    tab.mouse.move(*place)  # and back: the plane marks the curves
    assert spots(tab, "plane") == [(pytest.approx(later, abs=5), pytest.approx(y, abs=400))]
    assert marked(tab, "queue") == pytest.approx(time, rel=0.3)
    tab.mouse.move(1, 1)
    assert spots(tab, "plane") == []


def test_the_keyboard_points_and_hears_what_stands_there(tab: Page, files: Path) -> None:
    opened(tab, (files / "fluid-tcp.html").as_uri())
    slider = tab.get_by_label("point at time [s]")
    slider.focus()
    assert len(spots(tab, "plane")) == 1
    before: Any = slider.get_attribute("aria-valuetext")
    assert before.startswith("0; window [packet]: window 1, at equilibrium ")
    slider.press("End")
    assert marked(tab, "window") == marked(tab, "queue") > 0
    row = numbers(tab, 1)
    assert slider.get_attribute("aria-valuetext") != before and row[0][1] == "queue"
    tab.locator("#guess").focus()
    assert spots(tab, "plane") == []


def test_a_mark_follows_the_sliders(tab: Page, files: Path) -> None:
    opened(tab, (files / "fluid-tcp.html").as_uri())
    tab.get_by_label("point at time [s]").focus()
    tab.locator("#control-flows + input").evaluate(
        "(box) => { box.value = 20; box.dispatchEvent(new Event('change')); }"
    )
    assert len(spots(tab, "plane")) == 1
