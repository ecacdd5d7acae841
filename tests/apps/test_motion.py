"""Trajectories that a page computes are the library's, for every exported model that moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import computed, number
from examples import MODELS, example, views

from tcpdynamics.apps.explorer.bundle import bundle
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.equations import System, compile_system
from tcpdynamics.solvers.problems import DDE, ODE
from tcpdynamics.solvers.programs.javascript import PRELUDE, javascript

COUNT = 21
#: The module, and what it exports as names.
MOTION = bundle("core/motion.js") + "const { trajectory, orbit, swing, spectralRadius } = module_core_motion;\n"


def moving() -> dict[str, System]:
    """Name -> equations of motion that begin at numbers."""
    systems = {}
    for cls in MODELS:
        for problem in views(example(cls)):
            if isinstance(problem, ODE | DDE):
                systems[cls.__name__] = compile_system(problem)
    return systems


def start_of(system: System) -> list[float]:
    known = {k: float(v) for k, v in system.grid.values.items()}
    start = system.problem.start
    return [
        float(e.subs({s: known[s.name] for s in e.free_symbols})) if hasattr(e, "free_symbols") else float(e)
        for e in (start[label] for label in system.labels)
    ]


def script_of(name: str, system: System, times: list[float]) -> str:
    parameters = {k: float(v) for k, v in system.grid.values.items()}
    lags = [float(v) for v in system.lag_values()[:, 0]] if system.delayed else []
    whole = [*system.labels, *system.delayed, "t", *parameters]
    text = [javascript(system.rhs, whole, f"slope{name}")]
    if lags:
        text.append(javascript(system.equations.rest, [*system.labels, "t", *parameters], f"past{name}"))
    of = "".join(
        f"{{lag: {lag!r}, of: (t, s) => {{ const y = []; past{name}([...s, t, ...P], y); return y[{k}]; }}}},"
        for k, lag in enumerate(lags)
    )
    text.append(
        f"{{ const P = {json.dumps(list(parameters.values()))};\n"
        f"answer.{name} = trajectory((t, s, past, out) => slope{name}([...s, ...past, t, ...P], out), "
        f"{json.dumps(start_of(system))}, {json.dumps(times)}, {{lags: [{of}]}}); }}"
    )
    return "\n".join(text)


@pytest.fixture(scope="module")
def motions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[System, list[float], Any]]:
    systems = moving()
    times = {
        name: np.linspace(0, 20 * max(s.lag_values().ravel()) if s.delayed else 10.0, COUNT).tolist()
        for name, s in systems.items()
    }
    script = [PRELUDE, MOTION, "answer = {};"]
    script += [script_of(name, system, times[name]) for name, system in systems.items()]
    answers = computed("\n".join(script), Path(tmp_path_factory.mktemp("motion")))
    return {name: (system, times[name], answers[name]) for name, system in systems.items()}


def test_motions_in_the_page_are_within_a_millionth(motions: dict[str, tuple[System, list[float], Any]]) -> None:
    assert len(motions) >= 15
    for name, (system, times, answer) in motions.items():
        assert answer["status"] == "ok", name
        ours = trajectory(system.problem, times)
        assert (ours.status == 0).all()
        bases = dict.fromkeys(label.partition("[")[0] for label in system.labels)
        rows = np.concatenate(
            [np.moveaxis(ours[b].values, ours[b].dims.index("time"), -1).reshape(-1, COUNT) for b in bases]
        )
        theirs = np.array([[number(x) for x in row] for row in answer["values"]]).T
        size = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-9)
        assert np.abs(theirs - rows).max() <= 1e-6 * size.max() and (abs(theirs - rows) / size).max() <= 1e-6, name


def test_a_motion_that_runs_away_says_so(tmp_path: Path) -> None:
    script = MOTION
    answer = computed(
        f"{script}\nanswer = trajectory((t, s, past, out) => {{ out[0] = s[0] * s[0]; }}, [1], [0, 0.5, 2]);", tmp_path
    )
    assert answer["status"] != "ok"
    assert [None if v is None else number(v[0]) for v in answer["values"]] == [1.0, pytest.approx(2.0, rel=1e-8), None]


def test_a_motion_without_a_direction_says_so(tmp_path: Path) -> None:
    script = MOTION
    answer = computed(
        f"{script}\nanswer = trajectory((t, s, past, out) => {{ out[0] = s[0] > 1 ? -1 : 1; }}, [0], [0, 0.5, 2]);",
        tmp_path,
    )
    assert answer["status"] in ("the steps ran out", "the step became too short")
    assert 0.9 < answer["reached"] < 2


@pytest.mark.parametrize("lag", [0.001, 0.05, 0.3])
def test_steps_longer_than_the_delay_keep_their_digits(tmp_path: Path, lag: float) -> None:
    script = MOTION
    tail = f"{{ lags: [{{ lag: {lag}, of: (t, s) => s[0] }}], history: (t) => [Math.cos(t)], maxSteps: 2000 }}"
    slope = f"(t, s, past, out) => {{ out[0] = -Math.sin(t) - past[0] + Math.cos(t - {lag}); }}"
    answer = computed(f"{script}\nanswer = trajectory({slope}, [1], [0, 1, 10, 50, 100], {tail});", tmp_path)
    assert answer["status"] == "ok"
    shown = [number(v[0]) for v in answer["values"]]
    np.testing.assert_allclose(shown, np.cos([0, 1, 10, 50, 100]), rtol=0, atol=1e-6)
