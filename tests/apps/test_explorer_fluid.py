"""The page of fluid TCP: the swing that it reads off a motion is the library's limit cycle, and so is its onset."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import keep, numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.fluid_boundary import FIELDS, MODELS, critical_fill, critical_phase
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.models import TcpLinearisation
from tcpdynamics.solvers import bifurcation
from tcpdynamics.solvers.programs.straightline import run

SWINGS: tuple[dict[str, Any], ...] = (
    {"gain": 0.001}, {"marking": "red", "flows": 20.0, "averaging": 10.0, "p_max": 0.4}, {"marking": "drop-tail"},
)  # fmt: skip


def facts(page: Page) -> dict[str, str]:
    return {row[0]: row[1] for row in numbers(page, 4)[1:]}


@pytest.mark.parametrize(
    "words",
    [*SWINGS[:2], pytest.param(SWINGS[2], marks=pytest.mark.slow)],
    ids=lambda w: w.get("marking", "proportional"),
)
def test_the_swing_is_the_librarys_limit_cycle(tab: Page, files: Path, words: dict[str, Any]) -> None:
    page = pages()["fluid-tcp"]
    values = page.start() | words
    opened(tab, (files / "fluid-tcp.html").as_uri() + f"#{urlencode(words)}")
    shown = facts(tab)
    assert shown["small deviations"] == "grow"
    model = MODELS[values["marking"]](**{k: values[k] for k in FIELDS[values["marking"]]})
    for name, state in (("swing of the queue", "q"), ("swing of the window", "W")):
        cycle = bifurcation(model.dde(), of=state, samples=8000)  # corners lie close together
        assert cycle.attractor == 2
        height = float(cycle.maxima[-1] - cycle.minima[-1])
        assert float(shown[name]) == pytest.approx(height, rel=0.02)
    assert float(shown["period"]) == pytest.approx(float(cycle.duration), rel=0.02)


def test_where_it_settles_no_swing_is_claimed(tab: Page, files: Path) -> None:
    opened(tab, (files / "fluid-tcp.html").as_uri() + "#flows=200&end=300")
    shown = facts(tab)
    assert shown["small deviations"] == "die out"
    assert shown["swing of the queue"] == shown["period"] == "NaN"


def test_numbers_at_rest_are_the_librarys(tab: Page, files: Path) -> None:
    page = pages()["fluid-tcp"]
    values = page.start() | {"marking": "red", "flows": 90.0}
    opened(tab, (files / "fluid-tcp.html").as_uri() + "#marking=red&flows=90")
    rest = MODELS["red"](**{k: values[k] for k in FIELDS["red"]}).equilibrium()
    shown = facts(tab)
    for name, value in (
        ("window at equilibrium", rest.window), ("queue at equilibrium", rest.queue),
        ("marked at equilibrium", rest.loss),
        ("round-trip time at equilibrium", rest.rtt),
    ):  # fmt: skip
        assert float(shown[name]) == pytest.approx(value, rel=1e-4)


def test_swings_begin_at_the_critical_frequency() -> None:
    page = pages()["fluid-tcp"]
    program, inputs, about = next(p for p in page.printed if p.name == "boundary").make({"marking": "proportional"})
    at = page.start() | {"phase": 1.4, "rtt": 0.3}
    point = dict(zip(about["rows"], run(program, {k: at[k] for k in inputs}), strict=True))
    link = TcpLinearisation(flows=point["flows"], capacity=at["capacity"], rtt=0.3)
    assert point["period"] == pytest.approx(2 * np.pi / link.critical_frequency(), rel=1e-9)


def test_drop_tail_begins_to_swing_with_the_phase_of_its_closed_form() -> None:
    window = MODELS["drop-tail"](flows=1, capacity=1, base_rtt=1, buffer=critical_fill() - 1).equilibrium().window
    assert critical_phase() == pytest.approx(np.arccos(-2 / window**2), rel=1e-9)


#: The queue leaves its buffer's end again and again, and where it does errors grow.
EDGES: tuple[dict[str, Any], ...] = (
    {"marking": "drop-tail", "flows": 5.0, "base_rtt": 0.1905, "capacity": 2844.4, "buffer": 155.88, "end": 288.0},
    {"marking": "red", "buffer": 50.0},
    {"marking": "proportional", "flows": 212.0, "base_rtt": 0.2518, "capacity": 6322.6, "buffer": 433.45},
    {"marking": "drop-tail", "flows": 35.0, "base_rtt": 0.1931, "capacity": 3482.9, "buffer": 1788.84, "end": 292.0},
    {"marking": "drop-tail", "flows": 20.0, "capacity": 9e3, "base_rtt": 0.1, "buffer": 50.0, "end": 300.0},
)


def test_motions_that_meet_the_end_of_the_buffer_are_the_librarys(tab: Page, files: Path) -> None:
    page = pages()["fluid-tcp"]
    assert page.dataset is not None
    for words in EDGES:
        motion = page.dataset(page.start() | words)
        opened(tab, (files / "fluid-tcp.html").as_uri() + f"#{urlencode(words)}")
        tab.reload()  # of an address that differs in its fragment alone
        opened(tab, (files / "fluid-tcp.html").as_uri() + f"#{urlencode(words)}")
        for picture, state in ((0, "W"), (1, "q")):
            with tab.expect_download() as download:
                keep(tab, f".figure >> nth={picture}", "CSV")
            rows = list(csv.reader(download.value.path().read_text().splitlines()))
            shown, library = np.array([float(row[1]) for row in rows[1:]]), motion[state].values
            assert np.isfinite(shown).all() and library.max() > 1
            assert np.abs(shown - library).max() < 1e-6 * library.max(), (words, state)


@pytest.mark.parametrize("buffer", [50, 180, 190])
def test_no_queue_rests_above_its_buffer(tab: Page, files: Path, buffer: int) -> None:
    opened(tab, (files / "fluid-tcp.html").as_uri() + f"#marking=red&buffer={buffer}")
    shown = facts(tab)
    assert shown["small deviations"] == "no closed form"
    assert shown["queue at equilibrium"] == "NaN" or float(shown["queue at equilibrium"]) <= buffer
