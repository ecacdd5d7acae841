"""Every figure of the papers is listed, has a caption, and can be drawn by its name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from explorer_tabs import bare

from tcpdynamics import paper_figures
from tcpdynamics.apps.command.main import cli
from tcpdynamics.errors import DomainError
from tcpdynamics.paper_figures.registry import get_figure

#: Those that take longest run with the slow tests.
LONG = ("logistic.fig4", "logistic.fig6", "logistic.fig7")
SOLVED = [
    pytest.param(name, marks=pytest.mark.slow if name in LONG else [])
    for name, figure in paper_figures.figures().items()
    if not figure.simulates
]


@pytest.mark.parametrize("name", SOLVED)
def test_a_figure_is_drawn_by_its_name(name: str) -> None:
    figure = paper_figures.figures()[name]
    drawing = figure(**({"points": 11} if name == "t_refwa.stability" else {}))
    assert len(drawing.data) >= 2 and drawing.layout.xaxis.title.text
    assert bare(drawing.to_plotly_json()["layout"]) == []
    assert figure.caption and not figure.caption.endswith(".")


def test_unknown_names_are_one_sentence() -> None:
    with pytest.raises(DomainError, match=r"no figure 'logistic.fig99' .did you mean 'logistic.fig"):
        get_figure("logistic.fig99")
    with pytest.raises(DomainError, match="paper must be one of sub_packet, logistic, t_refwa, leap, mtcp, got 'x'"):
        paper_figures.claims("x")


def test_the_command_lists_and_draws(tmp_path: Path) -> None:
    run = CliRunner().invoke
    for words in (["figures"], ["figures", "--list"]):
        listing = run(cli, words).output.splitlines()
        assert [line.split()[0] for line in listing if line[0] != " "] == list(paper_figures.figures())
        assert max(map(len, listing)) <= 80
    page = tmp_path / "fig1.html"
    assert run(cli, ["figures", "logistic.fig1", "--output", str(page)]).exit_code == 0
    assert "ε = 2.4, map" in page.read_text() or "\\u03b5 = 2.4, map" in page.read_text()
    missing = run(cli, ["figures", "logistic.fig1"])
    assert missing.exit_code == 2 and "--output is missing" in missing.output


def test_fig9_takes_the_parameters_of_the_chains() -> None:
    figure = paper_figures.figures()["sub_packet.fig9"]
    assert {"w_max", "collapse", "flows", "rate"} <= set(figure.parameters) and "quick" not in figure.parameters
    small = {"flows": [40], "duration": 60.0, "warm_up": 20.0, "replications": 2}
    drawing = figure(quick=True, w_max=8, **small)
    assert drawing.layout.title.text == "Chains with w_max = 8"
    assert drawing.layout.annotations[7].text == "7 packets sent"
