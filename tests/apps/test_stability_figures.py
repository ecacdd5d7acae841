"""Figures of stability: what is drawn, where, and how the axes are named."""

from __future__ import annotations

import numpy as np
import pytest

from tcpdynamics.charts.motion import bifurcation_figure, trajectory_figure
from tcpdynamics.charts.stability import spectrum_figure, stability_figure
from tcpdynamics.models import LogisticDelayed, LogisticMap, LotkaVolterraWindows, TRefwaIntegrating
from tcpdynamics.solvers import characteristic_roots, eigenvalues, trajectory
from tcpdynamics.solvers.stability.bifurcation import bifurcation
from tcpdynamics.solvers.stability.stability_chart import stability_chart

GRID = {"phi": np.linspace(0, 3, 16), "psi": np.linspace(0, 2, 11)}


def _trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_both_boundaries_of_a_chart_lie_on_its_lines():
    figure = stability_figure(
        stability_chart(TRefwaIntegrating(**GRID)), marks=[{"phi": 1.5, "psi": 0.5, "name": "published"}]
    )
    lines = {name: _trace(figure, f"boundary, {name}") for name in ("from the roots", "in closed form")}
    for name, tolerance in (("from the roots", 1e-9), ("in closed form", 0.2)):  # the latter is linear in a cell
        x, y = (np.asarray(v, float) for v in (lines[name].x, lines[name].y))
        at = np.isfinite(x)
        off = np.min([abs(y), abs(x - y), abs(4 - 2 * x + y)], axis=0)[at]
        assert off.max() < tolerance
    assert lines["in closed form"].line.dash == "dash"
    mark = _trace(figure, "published")
    assert (mark.x, mark.y) == ((1.5,), (0.5,))
    assert figure.layout.yaxis.title.text == "gain on free buffer"


def test_the_closed_form_is_exact_where_its_margin_is_linear_along_edges():
    for n in (5, 21):
        grid = {"epsilon": np.linspace(0.5, 3, n), "delay": np.linspace(0.3, 2, n)}
        figure = stability_figure(stability_chart(LogisticDelayed(**grid), trace=False))
        line = _trace(figure, "boundary, in closed form")
        product = np.asarray(line.x, float) * np.asarray(line.y, float)
        assert np.isfinite(product).sum() >= n // 2
        # crossings are found to 1e-6 of an edge
        assert np.nanmax(abs(product - np.pi / 2)) < 3 * 1e-6 * 2.5


def test_one_parameter_is_a_line_with_its_crossing():
    figure = stability_figure(stability_chart(LogisticMap(epsilon=np.linspace(0.1, 3, 12))), marks=[{"epsilon": 1.95}])
    lines = [s for s in figure.layout.shapes if s.x0 == s.x1]
    assert [s.line.dash for s in lines] == [None, "dash"]  # from the roots, in closed form
    assert [s.x0 for s in lines] == pytest.approx([2, 2], abs=1e-9)
    assert _trace(figure, "marked").y[0] == pytest.approx(0.95, abs=0.1)


@pytest.mark.parametrize("word, gains", [("stable", [0.5, 1.5]), ("unstable", [2.2, 3.0])])
@pytest.mark.parametrize("more", [{}, {"capacity": [10.0, 20.0]}])
def test_a_chart_of_one_verdict_has_a_legend(word, gains, more):
    figure = stability_figure(stability_chart(LogisticMap(epsilon=gains, **more)))
    assert figure.layout.showlegend
    assert [trace.name for trace in figure.data if trace.name] == [f"{word} everywhere"]


def test_pictures_refuse_more_than_they_can_show():
    chart = stability_chart(TRefwaIntegrating(**GRID, buffer=[100.0, 200.0]), trace=False)
    with pytest.raises(ValueError, match="3 were swept"):
        stability_figure(chart)
    run = trajectory(LogisticMap(epsilon=[1.0, 2.0], capacity=[10.0, 20.0]), [0, 1])
    with pytest.raises(ValueError, match="2 were swept"):
        trajectory_figure(run)
    with pytest.raises(ValueError, match="one swept parameter"):
        bifurcation_figure(bifurcation(LogisticMap(epsilon=2.2)))


def test_trajectories_by_unit_by_value_and_as_an_image():
    times = np.linspace(0, 10, 21)
    each = trajectory_figure(trajectory(LotkaVolterraWindows(flows=2), times))
    assert [t.name.partition(":")[0] for t in each.data] == ["N[1]", "N[2]", "total"]
    assert each.layout.yaxis.title.text == "N, total [packet/s]"
    few = trajectory_figure(trajectory(LogisticMap(epsilon=[1.0, 1.95]), np.arange(9)))
    assert [t.name for t in few.data] == ["w, epsilon = 1", "w, epsilon = 1.95"]
    many = trajectory_figure(trajectory(LogisticMap(epsilon=np.linspace(1, 2, 30)), np.arange(9)))
    assert many.data[0].z.shape == (30, 9)


def test_a_diagram_shows_each_value_of_a_cycle_once():
    figure = bifurcation_figure(bifurcation(LogisticMap(epsilon=[1.5, 2.2, 2.5])))
    x = np.asarray(figure.data[0].x)
    assert [(x == e).sum() for e in (1.5, 2.2, 2.5)] == [1, 2, 4]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_diagram_leaves_out_orbits_that_escape():
    result = bifurcation(TRefwaIntegrating(phi=np.linspace(1, 3, 20)))
    y = np.asarray(bifurcation_figure(result).data[0].y)
    assert y.size
    assert abs(y).max() < 1e6


def test_roots_beside_the_line_or_the_circle():
    circle = spectrum_figure(eigenvalues(LogisticMap(epsilon=1.5)))
    assert {t.name for t in circle.data} == {"unit circle", "roots"}
    line = spectrum_figure(characteristic_roots(LogisticDelayed(epsilon=1.5, delay=1.0), count=4))
    assert [t.name for t in line.data] == ["roots"]
    assert line.layout.xaxis.title.text == "real part [1/RTT]"
