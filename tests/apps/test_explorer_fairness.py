"""The page of fairness: its indices are the library's, its bounds hold, and bars move by pointer and by keyboard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from explorer_tabs import get, numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.models import fairness
from tcpdynamics.solvers.programs.straightline import run


@pytest.mark.parametrize("flows", [2, 3, 8])
def test_printed_bounds_hold(flows: int) -> None:
    page = pages()["fairness"]
    rng = np.random.default_rng(flows)
    program, inputs, _ = page.printed[0].make({"flows": float(flows)})
    for _ in range(50):
        x = rng.exponential(size=flows) ** rng.uniform(0, 4)
        row = run(program, dict(zip(inputs, x, strict=True)))
        jain, ratio, _, gini, hoover, geometric, least, jain_most, gini_most, alone, *_ = row
        assert jain_most == pytest.approx(fairness.hill_number(x, 1.0) / flows)
        assert max(least, alone) <= jain * (1 + 1e-12) and jain <= jain_most * (1 + 1e-12)
        assert gini_most - 1e-12 <= gini <= hoover + 1e-12 and ratio <= geometric * (1 + 1e-12)


def throughputs(page: Page) -> list[float]:
    return [float(row[1]) for row in numbers(page, 0)[1:]]


def test_bars_are_dragged_and_all_indices_follow(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri())
    before = [row[1] for row in numbers(tab, 1)[1:]]
    over = tab.locator("[data-figure=flows] .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    second = box["x"] + box["width"] * (2 - 0.4) / (4.6 - 0.4)
    tab.mouse.move(second, box["y"] + 0.9 * box["height"])
    tab.mouse.down()
    tab.mouse.move(second + 0.2 * box["width"], box["y"] + 0.25 * box["height"])  # strays to the third flow
    tab.mouse.up()
    x = throughputs(tab)
    assert x == [8, pytest.approx(7.5, abs=0.05), 2, 1]
    shown = [row[1] for row in numbers(tab, 1)[1:]]
    assert all(one != other for one, other in zip(shown[:1] + shown[2:], before[:1] + before[2:], strict=True))
    assert float(shown[0]) == pytest.approx(fairness.jain(x), rel=1e-4)
    assert float(tab.locator("#control-x2 + input").input_value()) == x[1]


def test_bars_move_by_keyboard(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri())
    tab.locator("#control-x2").focus()
    for _ in range(50):
        tab.keyboard.press("ArrowRight")
    assert throughputs(tab) == [8, 4.5, 2, 1]
    tab.get_by_label("point at flow").focus()
    tab.keyboard.press("ArrowRight")
    spot = tab.locator("[data-figure=lorenz] circle.spot")
    assert spot.count() == 1
    assert "throughput [Mbit/s]: throughput 4.5; Lorenz curve" in str(
        tab.get_by_label("point at flow").get_attribute("aria-valuetext")
    )


def test_a_flow_is_marked_on_the_lorenz_curve_by_its_rank(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri())
    tab.get_by_label("point at flow").focus()  # the first flow, which has most: the curve's end
    area = tab.locator("#in-lorenz rect").evaluate(
        "(r) => [r.x.baseVal.value + r.width.baseVal.value, r.y.baseVal.value]"
    )
    spot = tab.locator("[data-figure=lorenz] circle.spot")
    assert [float(spot.get_attribute(k) or 0) for k in ("cx", "cy")] == pytest.approx(area, abs=0.1)


def test_only_the_flows_that_count_have_sliders(tab: Page, files: Path) -> None:
    opened(tab, (files / "fairness.html").as_uri())
    assert tab.locator("#control-x4").is_visible() and not tab.locator("#control-x5").is_visible()
    tab.locator("#control-flows").focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#control-x5").is_visible() and len(throughputs(tab)) == 5


def test_nothing_for_anyone_is_refused_in_a_sentence(server: str) -> None:
    code, text = get(f"{server}/netcdf/fairness?x1=0&x2=0&x3=0&x4=0")
    assert code == 400 and b"nobody has anything" in text
