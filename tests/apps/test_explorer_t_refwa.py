"""The page of T-REFWA: what groups of flows get, and the code of round-trip times, are the library's."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p3_t_refwa import DELAYED, READINGS
from tcpdynamics.models import RttCode, TRefwaGroups, TRefwaWindow
from tcpdynamics.solvers import spectral_radius
from tcpdynamics.solvers.programs.straightline import run


@pytest.mark.parametrize("high", [0.3, 1.0, 2.5])
def test_printed_groups_share_as_the_librarys(high: float) -> None:
    program, inputs, _ = next(p for p in pages()["t-refwa"].printed if p.name == "groups").make({})
    row = np.array(run(program, dict(zip(inputs, (0.02, high, 5, 400.0), strict=True))), dtype=float)
    groups = TRefwaGroups(flows=(5,) * 8, rtt=tuple(np.linspace(0.02, high, 8).tolist()))
    rates = groups.rates(400.0)
    np.testing.assert_allclose(row[:8], groups.rtt, rtol=1e-12)
    np.testing.assert_allclose(row[8:16], RttCode().relative_error(groups.rtt), rtol=1e-9)
    np.testing.assert_allclose(row[16:24], rates, rtol=1e-12)
    np.testing.assert_allclose(row[24:32], 5 * rates, rtol=1e-12)
    np.testing.assert_allclose(row[32], groups.fairness(), rtol=1e-12)


def test_groups_share_the_window_at_rest(tab: Page, files: Path) -> None:
    opened(tab, (files / "t-refwa.html").as_uri() + "#phi=1&psi=0.25&rtt_high=0.2&group_flows=3")
    window = TRefwaWindow(phi=1.0, psi=0.25, bdp=190.0, buffer=190.0).equilibrium()["Upsilon"]
    groups = TRefwaGroups(flows=(3,) * 8, rtt=tuple(np.linspace(0.02, 0.2, 8).tolist()))
    rows = np.array([[float(x) for x in row] for row in numbers(tab, 3)[1:]])
    np.testing.assert_allclose(rows[:, 1], 3 * groups.rates(window), rtol=1e-4)
    np.testing.assert_allclose(rows[:, 2], (3 * groups.rates(window)).mean(), rtol=1e-4)
    facts = {row[0]: row[1] for row in numbers(tab, 5)[1:]}
    assert float(facts["Jain's index"]) == pytest.approx(groups.fairness(), rel=1e-4)
    assert float(facts["window at equilibrium"]) == pytest.approx(window, rel=1e-4)


def test_rates_above_the_link_are_said_to_be(tab: Page, files: Path) -> None:
    opened(tab, (files / "t-refwa.html").as_uri())
    groups = TRefwaGroups(flows=(4,) * 8, rtt=tuple(np.linspace(0.02, 0.3, 8).tolist()))
    link = 190.0 / groups.average_rtt()
    rates = groups.rates(237.5)
    assert float(4 * rates.sum()) > link  # as opened, 237.5 packets rest on a link that holds 190
    facts = {row[0]: row for row in numbers(tab, 5)[1:]}
    assert float(facts["sum of the rates"][1]) == pytest.approx(float(4 * rates.sum()) / link, rel=1e-4)
    assert "wait in the queue" in facts["sum of the rates"][3]
    rows = np.array([[float(x) for x in row] for row in numbers(tab, 3)[1:]])
    np.testing.assert_allclose(rows[:, 3], link / 8, rtol=1e-4)


FATES = {
    "": ("persist, changing sign every interval", "the multiplier is -1"),
    "#phi=1.2&psi=0.5": ("die out, changing sign every interval", "the multiplier is -0.7"),
    "#phi=0.4&psi=0.3": ("die out", "halved in"),
    "#phi=0&psi=0": ("stay as they are: every window is an equilibrium", "factor"),
    "#reading=delayed&phi=0.5&psi=0.5": ("die out, swinging", "complex"),
}


@pytest.mark.parametrize("words", FATES)
def test_the_sign_of_the_multiplier_is_told(tab: Page, files: Path, words: str) -> None:
    opened(tab, (files / "t-refwa.html").as_uri() + words)
    facts = {row[0]: row for row in numbers(tab, 5)[1:]}
    fate, means = FATES[words]
    assert facts["small deviations"][1] == fate
    assert means in facts["modulus of the largest multiplier"][3]


def test_the_error_that_is_drawn_is_the_codes(tab: Page, files: Path) -> None:
    opened(tab, (files / "t-refwa.html").as_uri())
    rows = [[x for x in row] for row in numbers(tab, 4)[1:]]
    drawn = np.array([[float(row[0]), float(row[1])] for row in rows])
    inside = slice(1, None)
    expected = 100 * np.asarray(RttCode().relative_error(drawn[inside, 0]))
    close = np.abs(drawn[inside, 1] - expected) < 0.01  # at a cell's ends, digits of the table decide the side
    assert close.mean() > 0.6
    low, high = RttCode().error_bounds()
    within = drawn[drawn[:, 0] < RttCode().longest()]
    assert within[:, 1].min() == pytest.approx(100 * low, abs=1e-3)
    assert within[:, 1].max() == pytest.approx(100 * high, abs=1e-3)
    assert sum(row[2] not in ("", "null") for row in rows) == 8


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("gains", [(0.7, 0.3), (1.5, 0.5), (2.3, 1.1)])
def test_the_largest_multiplier_is_the_librarys(
    tab: Page, files: Path, reading: str, gains: tuple[float, float]
) -> None:
    settings = {"delay": 2} if reading in DELAYED else {}
    words = urlencode({"reading": reading, "phi": gains[0], "psi": gains[1], **settings})
    opened(tab, (files / "t-refwa.html").as_uri() + f"#{words}")
    shown = float({row[0]: row[1] for row in numbers(tab, 5)[1:]}["modulus of the largest multiplier"])
    model = READINGS[reading](phi=gains[0], psi=gains[1], bdp=190.0, buffer=190.0, **settings)
    assert shown == pytest.approx(float(spectral_radius(model.map())), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("reading", READINGS)
def test_the_boundary_depends_on_no_slider_but_the_delay(reading: str) -> None:
    settings = {"delay": 2} if reading in DELAYED else {}
    gains = {"phi": np.linspace(0.11, 2.9, 12), "psi": np.linspace(0.13, 2.8, 12)} | settings
    links = ({}, {"bdp": 10.0, "buffer": 1000.0}, {"bdp": 1000.0, "buffer": 10.0})
    first, *others = (spectral_radius(READINGS[reading](**gains, **link)) for link in links)
    for other in others:
        np.testing.assert_allclose(other, first, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("phi", "psi"), [(0.0, 0.5), (1.5, 0.0), (0.0, 0.0), (1.5, 0.5)])
def test_gains_of_zero_have_the_librarys_multipliers_and_windows(
    tab: Page, files: Path, phi: float, psi: float
) -> None:
    for reading in ("window", "delayed", "measured", "measured-rtt", "integrating"):
        link = {"phi": phi, "psi": psi} | ({"delay": 3} if reading in DELAYED else {})
        tab.goto("about:blank")
        opened(tab, (files / "t-refwa.html").as_uri() + "#" + urlencode({"reading": reading} | link))
        facts = {row[0]: row[1] for row in numbers(tab, 5)[1:]}
        model = READINGS[reading](**link, bdp=190.0, buffer=190.0)
        radius, window = float(spectral_radius(model)), float(model.equilibrium()["Upsilon"])
        np.testing.assert_allclose(
            float(facts["modulus of the largest multiplier"]), radius, rtol=1e-4, err_msg=reading
        )
        assert ("undecided" in facts["small deviations"]) == np.isnan(radius)
        if "every window" in facts["small deviations"]:  # the library names one of them, or none
            assert (radius, facts["window at equilibrium"]) == (1.0, "NaN")
        else:
            np.testing.assert_allclose(float(facts["window at equilibrium"]), window, rtol=1e-4, err_msg=reading)
