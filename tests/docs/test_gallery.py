"""Scripts of the gallery are short, and end in a number and a figure; the build of the site runs all of them."""

import ast
import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tcpdynamics.validation.packet import load_scenario, ready_scenarios

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
import thumbnails  # noqa: E402

SCRIPTS = sorted((DOCS / "gallery").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_asks_asserts_and_has_a_figure(script):
    text = script.read_text("utf-8")
    assert 15 <= text.count("\n") <= 40
    tree = ast.parse(text)
    assert ast.get_docstring(tree).endswith(("?", "."))
    assert any(isinstance(node, ast.Assert) for node in tree.body)
    assert any("print(" in ast.unparse(node) for node in tree.body)
    assert "figure" in "".join(ast.unparse(node) for node in tree.body[-4:])


@pytest.mark.parametrize("name", ["classic_formulas", "full_buffer", "interpretations"])
def test_a_script_runs_and_its_figure_has_a_thumbnail(name, capsys):
    figure = runpy.run_path(str(DOCS / "gallery" / f"{name}.py"))["figure"]
    assert capsys.readouterr().out
    root = ET.fromstring(thumbnails.of_figure(figure))
    lines = {"classic_formulas": 3, "full_buffer": 1, "interpretations": 0}[name]
    assert len(root.findall(".//{*}polyline")) == lines
    assert len(root.findall("{*}svg")) == (4 if name == "interpretations" else 1)  # panels


@pytest.mark.parametrize("name", ready_scenarios())
def test_a_ready_scenario_has_a_thumbnail_of_its_network(name):
    scenario = load_scenario(ready_scenarios()[name])
    root = ET.fromstring(thumbnails.of_network(scenario))
    nodes = {node for link in scenario.links for node in (link.source, link.target)}
    if nodes:
        assert len(root.findall("{*}circle")) == len(nodes)
    rate, flows = (text.text for text in root.findall("{*}text"))
    assert rate.endswith("bit/s")
    assert flows.split()[0] == str(sum(one.count for one in scenario.flows))
