"""The page of TCPs for fast long paths: its windows, growth, sawtooth and mean windows are the library's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p4b_high_speed import LOW, ROWS, laws
from tcpdynamics.solvers.programs.straightline import run

LAWS = ("Reno", "HighSpeed", "Scalable")


@pytest.mark.parametrize("loss", [LOW, 3e-6, 1e-3, 5e-3])
@pytest.mark.parametrize("window", [5.0, 38.0, 2500.0])
def test_printed_laws_are_the_models(loss: float, window: float) -> None:
    models = laws(loss, 0.02, 0.2)
    for printed in pages()["high-speed"].printed:
        program, inputs, _ = printed.make({})
        at = dict(zip(inputs, (loss, window, 0.02, 0.2), strict=True))
        row, model = dict(zip(ROWS, run(program, at), strict=True)), models.pop(printed.name)
        growth, share = model.increase(window), model.decrease(window)
        assert row["response"] == pytest.approx(float(model.response()), rel=1e-12)
        assert row["growth"] == pytest.approx(float(growth), rel=1e-12)
        assert row["share"] == pytest.approx(float(share), rel=1e-12)
        assert row["slope"] == pytest.approx(float(growth - share * loss * window**2), rel=1e-9)
    assert not models


@pytest.mark.parametrize("loss", [1e-6, 1e-4, 5e-3])
def test_the_sawtooth_that_repeats_is_the_librarys(tab: Page, files: Path, loss: float) -> None:
    opened(tab, (files / "high-speed.html").as_uri() + f"#loss={loss}")
    shown = {row[0]: row[1:4] for row in numbers(tab, 6)[1:]}
    for i, model in enumerate(laws(loss, 0.01, 0.125).values()):
        teeth = model.sawtooth()
        for name, value in (("peak", teeth.peak), ("mean", teeth.mean), ("between losses", teeth.period)):
            assert float(shown[name][i]) == pytest.approx(float(value), rel=1e-4)


def test_mean_windows_and_responses_in_the_page_are_the_librarys(tab: Page, files: Path) -> None:
    page = pages()["high-speed"]
    opened(tab, (files / "high-speed.html").as_uri() + "#loss=0.0001&end=100")
    expected = page.dataset(page.start() | {"loss": 1e-4, "end": 100.0})
    for picture, quantity in ((0, expected.response), (3, expected.mean_window)):
        rows = numbers(tab, picture)
        assert tuple(rows[0][1:]) == LAWS
        shown = np.array([[float(x) for x in row[1:]] for row in rows[1:]]).T
        np.testing.assert_allclose(shown, quantity.values[:, : shown.shape[1]], rtol=1e-4)  # a table holds 400 rows


def test_windows_between_losses_fall_by_the_share_that_is_given_up(tab: Page, files: Path) -> None:
    opened(tab, (files / "high-speed.html").as_uri() + "#loss=0.00001&end=300")
    scalable = np.array([float(row[3]) for row in numbers(tab, 2)[1:]])
    falls = scalable[1:] / scalable[:-1]
    falls = falls[falls < 1]
    assert len(falls) >= 10
    np.testing.assert_allclose(falls, 1 - 0.125, rtol=0.01)  # half a round trip between two of its windows
