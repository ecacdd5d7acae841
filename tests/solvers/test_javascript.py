"""Programs printed as JavaScript compute in the browser what they compute here."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import computed, number
from examples import MODELS, example, views

from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.markov.entries import expressions_of
from tcpdynamics.solvers.markov.stationary import _program
from tcpdynamics.solvers.problems import MarkovChain
from tcpdynamics.solvers.programs.javascript import PRELUDE, javascript
from tcpdynamics.solvers.programs.straightline import Builder, Program, run_blocks

POINTS = 20
#: Kinds that the browser's own library computes.
_LIBRARY = {"exp", "log", "pow", "sin", "cos", "tanh", "atan"}


def programs() -> dict[str, tuple[Program, dict[str, float]]]:
    """Of every exported model: the stationary law, the right-hand side and the outputs, with a point to begin at."""
    by_name: dict[str, tuple[Program, dict[str, float]]] = {}
    for cls in MODELS:
        for index, problem in enumerate(views(example(cls))):
            name = f"{cls.__name__} {index}"
            if isinstance(problem, MarkovChain):
                program = _program(expressions_of(problem))
                by_name[name] = program, {k: float(v) for k, v in problem.parameters.items()}
                continue
            system = compile_system(problem)
            for part, program in (("rhs", system.rhs), ("outputs", system.outputs)):
                known = {k: float(v) for k, v in system.grid.values.items()}
                by_name[f"{name} {part}"] = program, {k: known.get(k, 1.0) for k in program.inputs}
    return by_name


def ulps(a: float, b: float) -> float:
    """How many units in the last place two numbers are apart."""
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / math.ulp(min(abs(a), abs(b))) if math.isfinite(a) and math.isfinite(b) else math.inf


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Program, np.ndarray, list[Any]]]:
    """name -> program, (outputs, POINTS) values here, POINTS lists of values in the browser."""
    rng = np.random.default_rng(1)
    script, here = [PRELUDE, "answer = {};"], {}
    for i, (name, (program, point)) in enumerate(programs().items()):
        names = list(dict.fromkeys(program.inputs))
        values = {k: point[k] * rng.uniform(0.5, 1.5, POINTS) for k in names}
        out = np.empty((len(program.outputs), POINTS))
        run_blocks(program, values, POINTS, out)
        here[name] = program, out
        rows = [[float(values[k][j]) for k in names] for j in range(POINTS)]
        script.append(javascript(program, names, f"f{i}"))
        script.append(
            f"answer[{json.dumps(name)}] = {json.dumps(rows)}.map((x) => "
            f"{{ const y = new Float64Array({len(program.outputs)}); f{i}(x, y); return y; }});"
        )
    there = computed("\n".join(script), tmp_path_factory.mktemp("js"))
    return {name: (*here[name], there[name]) for name in here}


def test_every_exported_model_has_the_same_bits_in_the_browser(
    answers: dict[str, tuple[Program, np.ndarray, list[Any]]],
) -> None:
    plain = 0
    for name, (program, here, there) in answers.items():
        theirs = np.array([[number(x) for x in row] for row in there]).reshape(POINTS, -1).T
        if not any(op.kind in _LIBRARY for op in program.ops):
            plain += 1
            np.testing.assert_array_equal(theirs, here, err_msg=name)
    assert plain > 30


def test_functions_of_the_browsers_library_are_near(tmp_path: Path) -> None:
    """Each function alone, to 2 units in the last place; NumPy's special values."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-30, 30, 200), 10.0 ** rng.uniform(-300, 300, 100), [0.0, np.inf, -np.inf, np.nan]])
    b = Builder()
    a = b.input("x")
    kinds = ("exp", "log", "sin", "cos", "tanh", "atan", "step")
    rows = [
        *(b.apply(kind, a) for kind in kinds),
        b.apply("pow", b.apply("max", a, b.const(0)), b.const(Fraction(7, 3))),
    ]
    program = b.build(rows)
    out = np.empty((len(rows), x.size))
    run_blocks(program, {"x": x}, x.size, out)
    text = [
        "Infinity" if v == np.inf else "-Infinity" if v == -np.inf else "NaN" if np.isnan(v) else repr(float(v))
        for v in x
    ]
    there = computed(
        f"{PRELUDE}{javascript(program, ['x'])}\n"
        f"answer = [{','.join(text)}].map((x) => {{ const y = new Float64Array({len(rows)}); run([x], y); "
        "return y; });",
        tmp_path,
    )
    for j, values in enumerate(there):
        for kind, ours, theirs in zip((*kinds, "pow"), out[:, j], values, strict=True):
            assert ulps(float(ours), number(theirs)) <= 2, (kind, x[j], ours, theirs)


def test_names_of_strangers_are_places() -> None:
    b = Builder()
    text = javascript(b.build([b.input("'); alert(1); //")]), ["'); alert(1); //"])
    assert "alert" not in text
    with pytest.raises(ValueError, match="reads w, which is not among"):
        javascript(b.build([b.input("w")]), [])
    with pytest.raises(ValueError, match="identifier"):
        javascript(b.build([b.const(1)]), [], "a b")
