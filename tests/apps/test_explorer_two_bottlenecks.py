"""The page of two bottlenecks: motion, rest and utilisation are the library's."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.pages.p3b_two_bottlenecks import INPUTS, READINGS
from tcpdynamics.solvers.programs.straightline import run

CASES: tuple[dict[str, Any], ...] = (
    {}, {"reading": "measured", "bdp_3": 60.0}, {"buffer_1": 80.0, "bdp_1": 50.0, "phi": 0.7, "weight_2": 9.0},
)  # fmt: skip


@pytest.mark.parametrize("words", CASES, ids=range(len(CASES)))
def test_windows_queues_and_rest_in_the_page_are_the_librarys(tab: Page, files: Path, words: dict[str, Any]) -> None:
    page = pages()["two-bottlenecks"]
    values = page.start() | words
    opened(tab, (files / "two-bottlenecks.html").as_uri() + f"#{urlencode(words)}")
    motion = page.dataset(values)
    for picture, word in ((0, "W"), (1, "Q")):
        shown = np.array([[float(x) for x in row[1:3]] for row in numbers(tab, picture)[1:]])
        expected = np.stack([motion[f"{word}_{k}"].values for k in (1, 3)], axis=1)
        np.testing.assert_allclose(shown, expected, rtol=1e-4, atol=1e-4)
    shares = np.array([[float(x) for x in row[1:]] for row in numbers(tab, 2)[1:]])
    np.testing.assert_allclose(shares[:, 0], np.minimum(motion.f_1, motion.f_3), rtol=1e-4, atol=1e-4)
    rest = READINGS[values["reading"]](**{k: values[k] for k in INPUTS}).equilibrium()
    facts = {row[0]: row[1:3] for row in numbers(tab, 4)[1:]}
    for name, word in (
        ("utilisation", "utilisation"), ("window", "W"), ("command", "Upsilon"), ("queue", "Q"), ("feedback", "f"),
    ):  # fmt: skip
        assert [float(x) for x in facts[name]] == pytest.approx([rest[f"{word}_{k}"] for k in (1, 3)], rel=1e-4)


@pytest.mark.parametrize("buffer", [0.0, 0.2, 0.9])
def test_printed_utilisation_is_the_models(buffer: float) -> None:
    program, inputs, about = next(p for p in pages()["two-bottlenecks"].printed if p.name == "used").make({})
    fields = dict(zip(INPUTS, (1.5, 0.5, 100.0, 100 * buffer, 100.0, 100 * buffer, 5.0, 4.0, 6.0), strict=True))
    row = dict(zip(about["rows"], run(program, {k: fields[k] for k in inputs}), strict=True))
    for name, model in READINGS.items():
        rest = model(**fields).equilibrium()
        for k in (1, 3):
            assert row[f"{name} {k}"] == pytest.approx(rest[f"utilisation_{k}"], rel=1e-12)
    full = buffer > READINGS["commanded"](**fields).least_buffer()
    assert (row["commanded 1"] == 1) == full
