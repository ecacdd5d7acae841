"""M/TCP's page: its curves are the library's closed forms, its estimates those of the library's map."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.models import MtcpThroughput, OneWayTimes
from tcpdynamics.solvers.programs.straightline import run


@pytest.mark.parametrize(("routes", "window_limit"), [(2.0, 20.0), (3.0, 4.0), (6.0, 64.0)])
def test_printed_forms_are_the_models(routes: float, window_limit: float) -> None:
    program, inputs, about = pages()["mtcp"].printed[0].make({"routes": routes})
    words = {"loss": 0.05, "rtt": 0.1, "timeout": 0.4, "window_limit": window_limit, "ack_loss": 0.2}
    row = run(program, {name: (words | {"alpha": 0.8})[name] for name in inputs})
    shown = dict(zip(about["rows"], row, strict=True))
    law, times = MtcpThroughput(**words, routes=int(routes)), OneWayTimes(alpha=0.8, routes=int(routes))
    for name in shown:
        expected = getattr(law if hasattr(law, name) else times, name)()
        assert shown[name] == pytest.approx(float(expected), rel=1e-12), name


def test_curves_in_the_page_are_the_librarys(tab: Page, files: Path) -> None:
    page, words = pages()["mtcp"], {"routes": 3.0, "loss": 0.03, "alpha": 0.7}
    opened(tab, (files / "mtcp.html").as_uri() + "#" + "&".join(f"{k}={v}" for k, v in words.items()))
    expected = page.dataset(page.start() | words)
    rows = numbers(tab, 0)
    shown = np.array([[float(x) for x in row[1:4]] for row in rows[1:]]).T
    names = ("immediate", "duplicated", "reno")
    np.testing.assert_allclose(shown, 8e-3 * np.array([expected[name].values for name in names]), rtol=1e-4)
    printed = {float(row[0]): row[4:] for row in rows[1:] if row[4]}
    assert printed[0.13] == ["1.22", "1.39", "0.75"] and len(printed) == 4


def test_estimates_in_the_page_are_the_mean_of_the_iteration(tab: Page, files: Path) -> None:
    """The paper's step over every pair of routes, averaged: no closed form."""
    opened(tab, (files / "mtcp.html").as_uri() + "#alpha=0.7&true_there=0.03&true_back=-0.02&asymmetry=0.04")
    f_true, r_true = np.array([0.085, 0.055]), np.array([0.02, 0.04])
    f, r, there, back = np.zeros(2), np.zeros(2), [], []
    for _ in range(301):
        there.append(f)
        back.append(r)
        error = (f_true[:, None] + r_true[None, :]) - (f[:, None] + r[None, :])
        f, r = f + 0.3 / 2 * error.sum(1) / 4, r + 0.3 / 2 * error.sum(0) / 4
    for picture, path, true in ((2, there, f_true), (3, back, r_true)):
        shown = np.array([[float(x) for x in row[1:]] for row in numbers(tab, picture)[1:]])
        np.testing.assert_allclose(shown[:, :2], np.array(path), rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(shown[0, 2:], true, rtol=1e-4)
