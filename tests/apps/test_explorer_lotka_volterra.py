"""The page of logistic and Lotka-Volterra flows: trajectories of each equation, equilibria, charts, the long run."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from explorer_tabs import keep, move, numbers, opened, table_of
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.lotka_volterra_motion import motion_of
from tcpdynamics.apps.explorer.pages.p2_lotka_volterra import DELAYED, LINKED, PAGE, READINGS, dataset, exact_boundary
from tcpdynamics.models import LogisticDelayed, per_flow
from tcpdynamics.solvers import bifurcation, spectral_abscissa, spectral_radius, trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.programs.straightline import run

#: Readings whose equilibrium can lose its stability.
BOUNDED = ("delayed", "cross-delayed", "map", "stale", "held")


def model(values: dict[str, Any], **changes: Any) -> Any:
    reading, n = values["reading"], int(values["flows"])
    fields = {k: values[k] for k in ("epsilon", "gamma")} | {"flows": n}
    fields |= {"delay": values["delay"]} if reading in DELAYED else {}
    fields |= {"link": values["link"]} if reading in LINKED else {}
    capacity = per_flow((values["capacity"] * np.linspace(1, values["ratio"], n)).tolist())
    return READINGS[reading](**{**fields, "capacity": capacity, **changes})


def saved(tab: Page, picture: int) -> list[list[str]]:
    """All rows behind a picture."""
    with tab.expect_download() as download:
        keep(tab, f".figure >> nth={picture}", "CSV")
    return list(csv.reader(download.value.path().read_text().splitlines()))


def long_run(tab: Page) -> np.ndarray:
    """Gains and sums of the rates in the last picture, once it is not marked as old."""
    tab.wait_for_function("() => !document.querySelector('.picture.old')")
    return np.array([[float(x) for x in row] for row in saved(tab, 3)[1:]])


@pytest.mark.parametrize("reading", list(READINGS))
def test_motions_in_the_page_are_the_librarys(tab: Page, server: str, reading: str) -> None:
    words = {
        "reading": reading, "flows": 3, "epsilon": 1.4, "delay": 0.7, "ratio": 1.25, "gamma": 0.6, "joins": 7,
        "leaves": 41, "link": 150,
    }  # fmt: skip
    motion = dataset(PAGE.start() | words)
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    shown = np.array([[float(x) for x in row] for row in numbers(tab)[1:]]).T
    np.testing.assert_allclose(shown[0], motion.time.values, rtol=1e-4)
    kept = ~np.isin(motion.time.values, (7.0, 41.0))  # where a flow joins or leaves, either side is right
    sent = motion.sent.transpose("flow", "time").values
    np.testing.assert_allclose(shown[1:4][:, kept], sent[:, kept], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(shown[4], motion.alone.values, rtol=1e-4, atol=1e-4)
    assert sent[2, 0] == sent[0, -1] == 0 < sent[0, 0]


#: Beyond the boundary rates fall by up to 168 powers of ten, and come back.
DEEP: tuple[dict[str, Any], ...] = (
    {"delay": 2.0}, {"delay": 3.0}, {"epsilon": 3.0, "delay": 2.0}, {"end": 400.0, "delay": 0.05},
    {"flows": 5.0, "epsilon": 1.8736, "gamma": 0.6537, "delay": 2.576, "ratio": 3.381, "leaves": 200.0, "end": 241.0},
)  # fmt: skip


def drawn() -> list[dict[str, Any]]:
    """Slider positions by chance, of all readings in continuous time."""
    rng, reach = np.random.default_rng(11), {c.name: c for c in PAGE.controls if hasattr(c, "low")}
    rows = []
    for reading in ("delayed", "cross-delayed", "throughput"):
        row = {k: round(float(rng.uniform(reach[k].low, reach[k].high)), 3) for k in
               ("epsilon", "gamma", "delay", "capacity", "ratio", "link")}  # fmt: skip
        rows.append(row | {"reading": reading, "flows": float(rng.integers(2, 9)), "end": 150.0})
    return rows


def test_motions_are_the_librarys_over_the_whole_reach_of_the_sliders(tab: Page, server: str) -> None:
    for words in (*DEEP, *drawn()):
        motion = dataset(PAGE.start() | words)
        opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
        shown = np.array([[float(x) for x in row] for row in saved(tab, 0)[1:]]).T
        sent = motion.sent.transpose("flow", "time").values
        kept = motion.time.values != words.get("leaves")  # where a flow leaves, either side is right
        assert (motion.status == 0).all() and np.isfinite(shown).all(), words
        for page, library in ((shown[1:-1], sent), (shown[-1:], motion.alone.values[None])):
            size = library.max(axis=1, keepdims=True)
            far = np.abs(page - library)[:, kept] / np.maximum(size, 1e-9)
            assert far.max() < 1e-6, (words, far.max())
            back = (library > 1e-3 * size)[:, kept]  # the library errs by millionths there
            assert (np.abs(page - library)[:, kept][back] < 1e-5 * library[:, kept][back]).all(), words
        assert "is drawn until" not in tab.locator(".reading").inner_text()


def test_rates_that_leave_floating_point_numbers_come_back_in_the_page(tab: Page, server: str) -> None:
    words = {
        "flows": 8, "epsilon": 3.0144, "gamma": 0.72422, "delay": 3, "capacity": 957.17, "ratio": 3.3516, "end": 384,
    }  # fmt: skip
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    assert np.isfinite(np.array([[float(x) for x in row] for row in saved(tab, 0)[1:]])).all()


def test_a_map_that_leaves_its_interval_says_so(tab: Page, server: str) -> None:
    opened(tab, f"{server}/lotka-volterra?reading=map&epsilon=4&gamma=0.9&ratio=2")
    assert "are not shown" in tab.locator(".reading").inner_text()


@pytest.mark.parametrize("reading", ["windows", "link", "throughput"])
def test_points_of_rest_and_lines_of_no_growth_are_the_models(tab: Page, server: str, reading: str) -> None:
    words = {"reading": reading, "flows": 2, "ratio": 1.05, "gamma": 0.7, "link": 130.0}
    values = PAGE.start() | words
    settled = model(values).equilibrium().N.values
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    rows = saved(tab, 1)
    np.testing.assert_allclose([float(x) for x in rows[1][1:]], settled, rtol=1e-4)
    assert rows[1][0] == "equilibrium of all flows"
    alone = [model(values, flows=1, capacity=k).equilibrium().N.item() for k in (100.0, 105.0)]
    np.testing.assert_allclose(
        [[float(x) for x in row[1:]] for row in rows[2:5]], [[alone[0], 0], [0, alone[1]], [0, 0]], rtol=1e-4
    )
    system = compile_system(model(values).ode())
    for flow in (0, 1):
        line = [row for row in rows if row[0] == f"flow {flow + 1} is constant" and "NaN" not in row]
        states = np.array([[float(x) for x in row[1:]] for row in line]).T
        states = states[:, (states > 1).all(axis=0)]
        assert states.shape[1] > 10
        slopes = np.array([system.slope(state[:, None])[flow, 0] for state in states.T])
        assert np.abs(slopes).max() < 1e-3 * values["epsilon"] * states[flow].max()


@pytest.mark.parametrize("reading", list(READINGS))
@pytest.mark.parametrize("flows", [2, 5])
def test_printed_margins_are_the_models(reading: str, flows: int) -> None:
    program, names, _ = next(p for p in PAGE.printed if p.name == "margin").make({"reading": reading, "flows": flows})
    rng = np.random.default_rng(1)
    for _ in range(10):
        point = {"epsilon": rng.uniform(0.1, 4), "gamma": rng.uniform(0, 0.98), "delay": rng.uniform(0, 3)}
        values = PAGE.start() | point | {"reading": reading, "flows": flows}
        expected = model(values, capacity=100.0, **({"link": None} if reading in LINKED else {})).stability_margin()
        with np.errstate(divide="ignore"):  # an arc cosine of -1
            printed = run(program, {k: point[k] for k in names})[0]
        assert printed == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("reading", BOUNDED)
def test_the_boundary_in_the_chart_is_where_roots_cross(tab: Page, server: str, reading: str) -> None:
    words = {"reading": reading, "flows": 4, "gamma": 0.8, "delay": 0.9, "across": "gamma"}
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    rows = [row for row in numbers(tab, 2) if row[0] == "boundary of stability" and "NaN" not in row]
    points = [(float(gamma), float(gain)) for _, gamma, gain in rows if 0.3 < float(gamma)][::15]
    assert len(points) >= 2
    for gamma, gain in points:
        one = model(PAGE.start() | words | {"gamma": gamma, "epsilon": gain})
        if reading in DELAYED:
            assert abs(spectral_abscissa(one).item()) < 1e-3
        else:
            assert abs(spectral_radius(one).item() - 1) < 1e-3


@pytest.mark.parametrize("gain", [1.9, 2.3, 2.5])
def test_where_a_map_ends_up_is_the_librarys(tab: Page, server: str, gain: float) -> None:
    words = {"reading": "map", "ratio": 1.02}
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    shown = long_run(tab)
    nearest = shown[np.abs(shown[:, 0] - gain).argmin(), 0]
    values = PAGE.start() | words | {"epsilon": float(nearest)}
    start = {f"N[{i + 1}]": 100 * share for i, share in enumerate((0.02, 0.3))}
    orbit = bifurcation(model(values), transient=1000, keep=64, start=start)
    expected = np.sort(orbit.N.sum("flow").values.ravel())
    np.testing.assert_allclose(np.sort(shown[shown[:, 0] == nearest, 1]), expected, rtol=1e-6)


def test_where_a_delay_equation_ends_up_is_the_librarys(tab: Page, server: str) -> None:
    words = {"reading": "delayed", "delay": 0.8, "flows": 2}
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    shown = long_run(tab)
    nearest = shown[np.abs(shown[:, 0] - 2.4).argmin(), 0]
    values = PAGE.start() | words | {"epsilon": float(nearest)}
    start = {"N[1]": 2.0, "N[2]": 30.0}
    cycle = bifurcation(model(values), of="total", transient=240.0, keep=60.0, start=start)
    sums = shown[shown[:, 0] == nearest, 1]
    assert sums.max() == pytest.approx(cycle.maxima.values[-1], rel=2e-3)
    assert sums.min() == pytest.approx(cycle.minima.values[-1], rel=2e-3, abs=0.05)
    quiet = shown[shown[:, 0] < 1.8]
    np.testing.assert_allclose(quiet[:, 1], 200 / 1.9, rtol=1e-4)  # small gains have as long as they need


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ({}, "5.3 % more than the 100 packet/s"),
        ({"gamma": "0.5", "flows": "5"}, "67 % more than the 100 packet/s"),
        ({"reading": "throughput", "link": "400"}, ""),
    ],
)
def test_a_sum_above_the_link_is_explained(tab: Page, files: Path, words: dict[str, str], more: str) -> None:
    opened(tab, (files / "lotka-volterra.html").as_uri() + "#" + urlencode(words))
    said = tab.locator(".reading").inner_text()
    assert more in said and ("more than the" in said) == bool(more)


def test_old_points_stay_marked_until_the_new_ones_are_there(tab: Page, server: str) -> None:
    opened(tab, f"{server}/lotka-volterra?reading=map")
    before = long_run(tab)
    # a fast machine has the new ones before a test can look
    tab.evaluate("""() => { globalThis.marked = 0; new MutationObserver((all) => all.forEach(({ target }) => {
        marked += target.matches(".picture.old"); }))
        .observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] }); }""")
    move(tab, "epsilon", 1.0)
    assert tab.evaluate("marked") == 0
    move(tab, "capacity", 200)
    after = long_run(tab)
    assert tab.evaluate("marked") > 0
    assert after[0, 1] == pytest.approx(2 * before[0, 1], rel=1e-6)


@pytest.mark.parametrize("across", ["delay", "gamma"])
def test_the_server_gives_the_boundary_of_unequal_links(tab: Page, server: str, across: str) -> None:
    words = {"reading": "cross-delayed", "flows": 4, "gamma": 0.6, "delay": 1.6, "across": across, "ratio": 1.1}
    opened(tab, f"{server}/lotka-volterra?{urlencode(words)}")
    tab.get_by_text("by exact roots, these access links").wait_for()
    rows = [row for row in saved(tab, 2) if row[0].startswith("by exact roots") and "NaN" not in row]
    assert len(rows) > 5
    for _, x, gain in rows[::7]:
        one = model(PAGE.start() | words | {across: float(x), "epsilon": float(gain)})
        assert abs(spectral_abscissa(one).item()) < 1e-4
    move(tab, "ratio", 1.2)
    tab.get_by_text("old, the new one is being computed").wait_for()
    tab.get_by_text("by exact roots, these access links").wait_for()


def test_flows_are_said_to_settle_where_they_are_drawn_so(tab: Page, server: str) -> None:
    """Within a hundredth of the equilibrium in the last tenth of the time shown."""
    said = set()
    for words in (
        "end=20", "delay=0&end=20", "delay=0&end=400", "delay=0.3&end=120", "delay=0.81&end=200", "delay=0&joins=10",
    ):  # fmt: skip
        opened(tab, f"{server}/lotka-volterra?flows=2&{words}")
        rates = np.array([[float(x) for x in row[1:3]] for row in numbers(tab)[1:]])
        (still,) = ([float(x) for x in row[1:]] for row in numbers(tab, 1)[1:] if row[0] == "equilibrium of all flows")
        late = rates[int(0.9 * len(rates)) :]
        there = bool(np.abs(late - still).max() <= 0.01 * max(still))
        reading = tab.locator(".reading").inner_text()
        assert reading.startswith("They settle in the time shown, to within 1 %") == there, (words, reading)
        said.add(reading.split(",")[0].split(":")[0])
    assert said == {"They settle in the time shown", "The equilibrium is stable", "They do not settle"}


@pytest.mark.parametrize("reading", ["cross-delayed", "map"])
def test_the_boundary_of_unequal_links_is_that_of_the_models_at_any_rate(reading: str) -> None:
    words = PAGE.start() | {"reading": reading, "flows": 4.0, "delay": 1.6, "ratio": 1.1, "across": "gamma"}
    curves = exact_boundary(words)["curves"]
    assert curves == exact_boundary(words | {"capacity": 730.0})["curves"]
    rows = [(x, gain) for across, gains in curves for x, gain in zip(across, gains, strict=True)]
    assert len(rows) > 5
    for x, gain in rows[::9]:  # rounded to six places; the slope of the root is of order one
        one = model(words | {"capacity": 730.0, "gamma": x, "epsilon": gain})
        margin = spectral_radius(one) - 1 if reading == "map" else spectral_abscissa(one)
        assert abs(margin.item()) < 1e-4


def test_a_click_in_the_chart_moves_the_sliders(tab: Page, server: str) -> None:
    opened(tab, f"{server}/lotka-volterra?reading=stale&flows=5")
    tab.locator(".figure").nth(2).locator("> .picture > svg").click()
    tab.wait_for_function("() => location.search.includes('gamma=')")
    assert 0.3 < float(tab.locator("#control-gamma").input_value()) < 0.7
    assert tab.locator("#control-delay").is_hidden()
    assert "settle" in tab.locator(".reading").inner_text()


@pytest.mark.parametrize("reading", list(READINGS))
def test_the_code_gives_the_librarys_motion(reading: str) -> None:
    words = {"reading": reading, "flows": 3.0, "ratio": 1.25, "gamma": 0.5, "epsilon": 0.9, "joins": 7.0, "link": 150.0}
    values = PAGE.start() | words
    code = PAGE.figures[0].code
    assert code is not None
    rates = table_of(code(values)).to_numpy()[:, 1:4]
    np.testing.assert_allclose(rates.T, dataset(values).sent.transpose("flow", "time").values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("gain", "delay"), [(4.0, 1.0), (3.5, 1.5)])
def test_a_swing_does_not_end_and_its_period_is_that_of_the_note(gain: float, delay: float) -> None:
    product = gain * delay
    period = delay * np.exp(product) / product
    times = np.linspace(0.0, 6 * period, 20001)
    motion = trajectory(motion_of(LogisticDelayed(epsilon=gain, delay=delay, capacity=1.0, start=0.3)), times)
    rate = motion.w.values
    ups = times[1:][(rate[:-1] < 1) & (rate[1:] >= 1)]
    assert np.diff(ups)[-1] == pytest.approx(period, rel=0.03)
    assert rate[times > 4 * period].max() > 10
    assert "exp(x)/x" in " ".join(PAGE.notes)
