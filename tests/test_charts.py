"""Every result of a public solver has a figure, drawn from the Dataset alone, also from one that was read back."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
import sympy
import xarray as xr

import tcpdynamics
from tcpdynamics import models, solvers
from tcpdynamics.apps.files import write_netcdf
from tcpdynamics.charts import look
from tcpdynamics.errors import FailureWarning
from tcpdynamics.validation.comparisons.comparison import Verdict
from tcpdynamics.validation.packet import Bottleneck, Flows, Record, Scenario, replicate, simulate

LOSS = np.linspace(0.05, 0.4, 4)
GROWTH = np.linspace(1.5, 2.9, 5)


def full(loss: Any = 0.2) -> models.SubPacketFull:
    return models.SubPacketFull(loss=loss)


#: Public solver -> its result, at one point and along a parameter where it can be either.
RESULTS: dict[str, list[Callable[[], Any]]] = {
    "stationary": [
        lambda: solvers.stationary(full().chain()),
        lambda: solvers.stationary(full(LOSS).chain()),
        lambda: full(LOSS).observe(solvers.stationary(full(LOSS).chain())),
        lambda: full().observe(solvers.stationary(full().chain())),
    ],
    "sensitivity": [lambda: solvers.sensitivity(full().chain())],
    "first_passage": [
        lambda: solvers.first_passage(full(LOSS).chain(), ["b0"]),
        lambda: solvers.first_passage(full().chain(), ["b0"]),
        lambda: solvers.first_passage(full().chain(), ["b0"], times=[1, 5, 25]),
    ],
    "sojourn": [lambda: solvers.sojourn(full(LOSS).chain(), ["b0", "b*"], longest=20)],
    "transient": [lambda: solvers.transient(full().chain(), "S2", [1, 5, 25])],
    "spectral_gap": [lambda: solvers.spectral_gap(full(LOSS).chain())],
    "windowed": [
        lambda: solvers.windowed(full(LOSS).chain(), full(LOSS).delivered(), 10),
        lambda: solvers.windowed(full().chain(), full().delivered(), 10),
    ],
    "self_consistent": [
        lambda: solvers.self_consistent(
            models.SharedLink(flows=[50, 100], capacity=1e6, base_rtt=0.2, buffer=50).balance()
        )
    ],
    "equilibria": [
        lambda: solvers.equilibria(models.Logistic(epsilon=GROWTH)),
        lambda: solvers.equilibria(models.Logistic(epsilon=1.0)),
        lambda: solvers.equilibria(models.LogisticDelayed(epsilon=GROWTH, delay=[0.3, 0.6])),
    ],
    "eigenvalues": [
        lambda: solvers.eigenvalues(models.LogisticMap(epsilon=1.5)),
        lambda: solvers.eigenvalues(models.LogisticMap(epsilon=GROWTH)),
    ],
    "characteristic_roots": [
        lambda: solvers.characteristic_roots(models.LogisticDelayed(epsilon=1.5, delay=0.5), count=3),
        lambda: solvers.characteristic_roots(models.LogisticDelayed(epsilon=GROWTH, delay=0.5), count=3),
    ],
    "convergence": [lambda: solvers.convergence(models.LogisticMap(epsilon=GROWTH))],
    "spectral_radius": [lambda: solvers.spectral_radius(models.LogisticMap(epsilon=GROWTH))],
    "spectral_abscissa": [lambda: solvers.spectral_abscissa(models.LogisticDelayed(epsilon=GROWTH, delay=[0.3, 0.6]))],
    "stability_chart": [
        lambda: solvers.stability_chart(models.LogisticDelayed(epsilon=GROWTH, delay=[0.3, 0.6, 0.9])),
        lambda: solvers.stability_chart(models.LogisticMap(epsilon=GROWTH)),
    ],
    "continuation": [lambda: solvers.continuation(models.LogisticDelayed(epsilon=1.0, delay=0.9), "epsilon", (0.5, 3))],
    "trajectory": [
        lambda: solvers.trajectory(models.Logistic(epsilon=GROWTH), np.linspace(0, 5, 20)),
        lambda: solvers.trajectory(models.Logistic(epsilon=np.linspace(1, 2, 12)), np.linspace(0, 5, 20)),
    ],
    "bifurcation": [lambda: solvers.bifurcation(models.LogisticMap(epsilon=GROWTH))],
    "basin": [
        lambda: solvers.basin(models.LogisticMap(epsilon=2.6), {"w": [1.0, 50.0, 90.0]}),
        lambda: solvers.basin(models.LotkaVolterraMap(flows=2, epsilon=0.5), {"N[1]": [0.1, 0.5], "N[2]": [0.1, 0.5]}),
    ],
    "lyapunov": [
        lambda: solvers.lyapunov(models.LogisticMap(epsilon=GROWTH)),
        lambda: solvers.lyapunov(models.LogisticMap(epsilon=2.9)),
    ],
    "sweep": [lambda: solvers.sweep(solvers.sweep_of(models.LogisticMap(epsilon=GROWTH), solvers.spectral_radius))],
}
#: What is public and has no Dataset of its own: problems, errors, formulas, sentences.
NO_RESULT = {
    "ChainError", "DDE", "Delayed", "DomainError", "DynamicsError", "Explanation", "Map", "MarkovChain", "ODE",
    "Reward", "RewardBalance", "StoreError", "boundary_curves", "closed_form", "explain", "failures", "sweep_of",
    "tabulated",
}  # fmt: skip


@functools.cache
def result(solver: str, index: int) -> Any:
    return RESULTS[solver][index]()


CASES = [(name, i) for name, kinds in RESULTS.items() for i in range(len(kinds))]


def titles(figure: Any) -> list[str]:
    axes = [*figure.select_xaxes(), *figure.select_yaxes()]
    return [a.title.text for a in axes if a.title.text]


def test_every_public_solver_is_drawn() -> None:
    assert set(RESULTS) | NO_RESULT == set(dir(solvers))


@pytest.mark.parametrize(("solver", "index"), CASES)
def test_a_result_has_a_figure_with_named_axes(solver: str, index: int) -> None:
    figure = tcpdynamics.plot(result(solver, index))
    assert len(figure.data) >= 1 and titles(figure)
    assert any(np.size(trace.y) or np.size(trace.z) for trace in figure.data)


@pytest.mark.parametrize(("solver", "index"), CASES)
def test_a_result_from_a_file_has_the_same_figure(solver: str, index: int, tmp_path: Path) -> None:
    made = result(solver, index)
    dataset = made if isinstance(made, xr.Dataset) else made.to_dataset(name=made.name).assign_attrs(made.attrs)
    write_netcdf(tmp_path / "x.nc", dataset)
    with xr.open_dataset(tmp_path / "x.nc") as read:
        assert tcpdynamics.plot(read.load()).to_json() == tcpdynamics.plot(made).to_json()


def test_a_chain_is_drawn_as_it_is() -> None:
    law = result("stationary", 0)
    (bars,) = tcpdynamics.plot(law).data
    np.testing.assert_array_equal(bars.y, law.probability.values)
    assert list(bars.x) == list(law.state.values)


def test_simulations_are_drawn() -> None:
    scenario = Scenario((Flows(count=2),), Bottleneck(1e6, 20), duration=20.0, warm_up=5.0)
    assert tcpdynamics.plot(simulate(scenario)).layout.xaxis.title.text == "packets sent in an epoch"
    runs = replicate(scenario, 3)
    left, right = tcpdynamics.plot(runs).data
    np.testing.assert_allclose(left.y, runs.epoch_fraction.mean("replication"))
    np.testing.assert_allclose(1e6 * right.y, runs.goodput_rate.mean("replication"))  # Mbit/s
    recorded = Scenario((Flows(count=2),), Bottleneck(1e6, 20), duration=20.0, warm_up=5.0, record=Record(windows=0.5))
    assert "window" in tcpdynamics.plot(simulate(recorded)).layout.yaxis.title.text


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (xr.Dataset({"x": 1.0}), "got a Dataset without it"),
        (3, "got a int without it"),
        (xr.Dataset(attrs={"solver": "guess"}), "got solver 'guess'"),
        (xr.Dataset(attrs={"comparison": "Guess"}), "'Guess', which is unknown; known: BbrVsCubic"),
    ],
)
def test_what_is_no_result_is_refused(what: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tcpdynamics.plot(what)


def test_more_parameters_than_a_figure_shows_are_refused() -> None:
    chain = full(LOSS).chain()
    with pytest.raises(ValueError, match=r"shows one point, and 1 was swept \(loss\).*isel\(loss=0\)"):
        tcpdynamics.plot(solvers.transient(chain, "S2", [1, 2]))


def test_of_two_swept_parameters_one_state_may_be_shown() -> None:
    law = solvers.stationary(models.SubPacketFull(loss=LOSS, base_timeout=np.geomspace(2, 16, 4)).chain())
    with pytest.raises(ValueError, match=r"isel\(\w+=0\), or one state: result.sel\(state=\.\.\.\)"):
        tcpdynamics.plot(law)
    image = tcpdynamics.plot(law.sel(state="b0"))
    assert image.layout.title.text == "state b0" and {image.layout.xaxis.type, image.layout.yaxis.type} == {None, "log"}
    line = tcpdynamics.plot(law.sel(state="b0").isel(loss=1))
    assert line.layout.title.text.startswith("loss = 0.1667, state b0") and line.layout.xaxis.type == "log"
    silent = law.sel(state=["b0", "b*"])
    summed = silent.probability.sum("state")
    for drawn in (tcpdynamics.plot(summed), tcpdynamics.plot(silent.sum("state", keep_attrs=True))):
        np.testing.assert_allclose(drawn.data[0].z, summed.transpose(*reversed(law.probability.dims[:-1])))


def test_states_with_different_units_have_panels_of_their_own() -> None:
    x, y, k = sympy.symbols("x y k")
    problem = solvers.ODE(
        rhs={"x": k - x, "y": x - y}, parameters={"k": np.geomspace(0.1, 10, 5)}, start={"x": 1, "y": 1},
        units={"x": "packet", "y": "s"},
    )  # fmt: skip
    for figure in (
        tcpdynamics.plot(solvers.equilibria(problem)),
        tcpdynamics.plot(solvers.continuation(problem, "k", (0.1, 10))),
    ):
        assert [a.title.text for a in figure.select_yaxes()] == ["x [packet]", "y [s]"]
        assert {t.yaxis for t in figure.data if t.name.startswith("y,")} == {"y2"}
    assert {a.type for a in tcpdynamics.plot(solvers.equilibria(problem)).select_xaxes()} == {"log"}


def test_geometric_sweeps_have_logarithmic_axes() -> None:
    growth = np.geomspace(0.5, 2.9, 6)
    for made in (
        solvers.bifurcation(models.LogisticMap(epsilon=growth)),
        solvers.stability_chart(models.LogisticMap(epsilon=growth)),
        solvers.spectral_radius(models.LogisticMap(epsilon=growth)),
        solvers.stability_chart(models.LogisticDelayed(epsilon=growth, delay=[0.3, 0.6, 0.9])),
    ):
        axis = tcpdynamics.plot(made).layout.xaxis
        assert axis.type == "log"
        if axis.range:
            assert axis.range[0] == pytest.approx(np.log10(0.5), abs=0.05)
    assert tcpdynamics.plot(result("bifurcation", 0)).layout.xaxis.type != "log"
    crossing = tcpdynamics.plot(solvers.stability_chart(models.LogisticMap(epsilon=growth))).layout
    assert crossing.annotations[0].x == pytest.approx(np.log10(2)) and crossing.annotations[0].text == "2"
    assert any(shape.x0 == pytest.approx(2) for shape in crossing.shapes)


def test_the_legend_of_a_diagram_names_what_is_drawn() -> None:
    x, y, k = sympy.symbols("x y k")
    radius = x**2 + y**2
    circle = {"x": k * x - y - x * radius, "y": x + k * y - y * radius}
    names = {}
    for word, values in (("cycles", [1.0, 1.5]), ("equilibria", [-1.0, -0.5])):
        problem = solvers.ODE(rhs=circle, parameters={"k": values}, start={"x": 0.3, "y": 0.1})
        figure = tcpdynamics.plot(solvers.bifurcation(problem, transient=60, keep=40, samples=400))
        names[word] = [t.name for t in figure.data if t.showlegend is not False]
    assert names == {"cycles": ["maxima", "minima"], "equilibria": ["equilibrium (solved for)"]}
    open_ = solvers.bifurcation(problem, transient=60, keep=40, samples=400).assign(attractor=("k", [0, 0]))
    grey = [t for t in tcpdynamics.plot(open_).data if t.name == "neither equilibrium nor cycle"]
    assert [t.showlegend for t in grey] == [True, False] and {t.marker.color for t in grey} == {look.GREY}


def test_a_legend_says_how_many_lines_are_left_out() -> None:
    law = solvers.stationary(models.SubPacketExact(loss=LOSS).chain())
    figure = tcpdynamics.plot(law)
    assert figure.layout.legend.title.text == f"10 of {law.sizes['state']} lines of probability"
    assert len(figure.data) == 10 and not tcpdynamics.plot(law.isel(state=slice(0, 10))).layout.legend.title.text


def test_every_verdict_has_a_colour() -> None:
    assert set(look.VERDICT_COLOURS) == {str(verdict) for verdict in Verdict}


def test_the_palette_stands_once() -> None:
    root = Path(tcpdynamics.__file__).parents[2]
    folders = [root / "src/tcpdynamics/charts", root / "validation"]
    files = [p for folder in folders for p in folder.rglob("*.py") if "#0072b2" in p.read_text().lower()]
    assert [p.name for p in files] == ["look.py"]


def test_a_quantity_of_ones_own_is_drawn_with_its_own_name() -> None:
    chain = models.SubPacketFull(loss=LOSS).chain()
    law = solvers.stationary(chain)
    sent = law.probability.sum("state").assign_attrs(long_name="throughput", units="packet/s")
    assert titles(tcpdynamics.plot(sent)) == ["packet-loss probability", "throughput [packet/s]"]
    both = sent * xr.DataArray([1.0, 2.0], {"rate": [1.0, 2.0]}, "rate")
    image = tcpdynamics.plot(both.assign_attrs(sent.attrs))
    assert image.data[0].colorbar.title.text == "throughput [packet/s]"
    wait = solvers.first_passage(chain, ["b0", "b*"])
    one = tcpdynamics.plot(wait.mean_time.sel(state="S2"))
    assert one.layout.yaxis.title.text == "mean time to the target [epoch]" and len(one.data) == 1
    with pytest.raises(ValueError, match=r"over one or two dimensions, such as result\.x\.sum\('state'\)"):
        tcpdynamics.plot(xr.Dataset({"a": ("x", [1.0])}))
    with pytest.raises(ValueError, match="needs numbers over one or two dimensions, got float64 over a, b, c"):
        tcpdynamics.plot(xr.DataArray(np.zeros((1, 1, 1)), dims=("a", "b", "c")))


def test_exact_results_are_drawn_as_floats() -> None:
    exact = solvers.stationary(models.SubPacketFull(loss=Fraction(1, 4)).chain(), exact=True)
    drawn = tcpdynamics.plot(exact)
    assert json.loads(drawn.to_json())["data"][0]["y"] is not None
    assert np.asarray(drawn.data[0].y).dtype == float
    assert exact.probability.dtype == object  # what was handed in stays as it is


def test_first_passages_of_two_parameters_are_an_image_and_name_the_target() -> None:
    model = models.SubPacketFull(loss=LOSS, base_timeout=[2.0, 3.0])
    wait = solvers.first_passage(model.chain(), ["b0", "b*"])
    figure = tcpdynamics.plot(wait.sel(state="S2"))
    assert figure.data[0].z.shape == (2, len(LOSS)) or figure.data[0].z.shape == (len(LOSS), 2)
    assert figure.layout.title.text == "target b0, b*; state S2"
    with pytest.raises(ValueError, match=r"or one state: result\.sel\(state=\.\.\.\)"):
        tcpdynamics.plot(wait)
    times = solvers.first_passage(models.SubPacketFull(loss=0.1).chain(), "b0", times=[10, 100])
    assert {trace.mode for trace in tcpdynamics.plot(times).data} == {"lines+markers"}


def test_a_chart_says_where_stability_jumps_and_why_a_verdict_is_missing() -> None:
    x, k, m = sympy.symbols("x k m")
    step = {"x": (k - 1) * x + sympy.Piecewise((-2 * x, m > 1), (0, True))}
    problem = solvers.ODE(
        rhs=step, parameters={"k": [0.5, 1.5, 2.5], "m": [0.5, 1.5]}, fixed_points=[{"x": sympy.Integer(0)}]
    )
    chart = solvers.stability_chart(problem)
    names = {str(t.name): t.line.dash for t in tcpdynamics.plot(chart).data[1:] if t.mode == "lines"}
    assert names == {"boundary, from the roots": "solid", "boundary, at a jump": "dot"}
    with pytest.warns(FailureWarning, match="6 of 6 points failed"):
        none = solvers.stability_chart(problem.changed(fixed_points=[{"x": sympy.log(k - 2)}]))
    words = [str(t.name) for t in tcpdynamics.plot(none).data]
    assert "unknown everywhere: none of the closed-form points of rest holds here" in words


def test_a_problem_of_ones_own_has_its_name_in_the_title() -> None:
    x, k = sympy.symbols("x k")
    named = solvers.ODE(rhs={"x": -k * x}, parameters={"k": 2.0}, start={"x": 1.0}, name="leaky bucket")
    figure = tcpdynamics.plot(solvers.trajectory(named, [0.0, 1.0]))
    assert figure.layout.title.text == "leaky bucket; k = 2"


def test_a_title_of_several_lines_stands_below_the_edge() -> None:
    one, three = (look.titled(go.Figure(), "word " * n).layout for n in (3, 70))
    assert three.title.text.count("<br>") == 2 and one.title.pad.t < three.title.pad.t
    assert three.margin.t == one.margin.t + 40
