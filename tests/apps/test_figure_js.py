"""Figures without Plotly: the script's own tests under node, and the figures of the library drawn by it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tcpdynamics.charts.chains import sent_against_loss
from tcpdynamics.models import SubPacketFull
from tcpdynamics.paper_figures.logistic import figures as logistic
from tcpdynamics.paper_figures.t_refwa import figures as t_refwa
from tcpdynamics.solvers import stationary

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "apps" / "explorer" / "assets"
FIGURE = ASSETS / "core" / "figure.js"


@pytest.fixture(scope="module")
def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.skip("no node")
    return path


def test_the_scripts_own_tests_pass(node):
    done = subprocess.run([node, "--test", ROOT / "tests" / "js"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def test_types_of_all_scripts_agree():
    tsc = shutil.which("tsc")
    if tsc is None:
        pytest.skip("no tsc")
    done = subprocess.run([tsc, "-p", ASSETS / "jsconfig.json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    scripts = [file for folder in ("core", "models", "pages") for file in (ASSETS / folder).glob("*.js")]
    assert len(scripts) > 50 and all(file.read_text().startswith("// @ts-check\n") for file in scripts)


def test_figures_of_the_library_are_drawn_whole(node, tmp_path):
    """As XML, with a path for each line and no value that is not a number."""
    chain = SubPacketFull(loss=np.linspace(0.01, 0.45, 45))
    figures = {
        "chain": sent_against_loss(chain.observe(stationary(chain.chain()))),
        "iguchi1": logistic.draw_fig1(logistic.fig1()),
        "t_refwa": t_refwa.draw(t_refwa.charts(21)),
    }
    for name, figure in figures.items():
        (tmp_path / f"{name}.json").write_text(figure.to_json())
    script = f"""import {{ figureSvg }} from {json.dumps(FIGURE.as_uri())}; import fs from "node:fs";
    for (const name of {json.dumps(list(figures))}) for (const dark of [false, true]) for (const width of [360, 1000])
      fs.writeFileSync(`{tmp_path}/${{name}}_${{dark}}_${{width}}.svg`,
        figureSvg(JSON.parse(fs.readFileSync(`{tmp_path}/${{name}}.json`)), {{ dark, width }}));"""
    subprocess.run([node, "--input-type=module"], input=script, text=True, timeout=60, check=True)
    drawn = sorted(tmp_path.glob("*.svg"))
    assert len(drawn) == 4 * len(figures)
    for file in drawn:
        text = file.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        lines = [t for t in figures[file.name.split("_true")[0].split("_false")[0]].data if t.type == "scatter"]
        assert len(root.findall(".//{*}path")) >= len(lines) and "NaN" not in text and "undefined" not in text
