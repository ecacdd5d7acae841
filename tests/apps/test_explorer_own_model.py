"""A chart of one's own: what the page computes against the lines of Python that it prints, the page itself."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
import sympy
from explorer_tabs import legible, numbers, opened, table_of
from playwright.sync_api import Page

from tcpdynamics.apps.explorer import numbers_own_model
from tcpdynamics.apps.explorer.bundle import bundle
from tcpdynamics.apps.explorer.fluid_boundary import boundary
from tcpdynamics.apps.explorer.page import program_of
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.errors import DynamicsError
from tcpdynamics.solvers import DDE
from tcpdynamics.solvers.programs.straightline import run

NODE = shutil.which("node")
TEXTS = [preset.values.get("model", pages()["own-model"].start()["model"]) for preset in pages()["own-model"].presets]
LAGS = ["T", "0.5", "2*T", "T-0.1", "T+1"]
BLANK = ["", " ", "  ", "\t"]
ODD = [*"()+-*/^,'=.#;é9eatx \n", "..", "in", "1e999", "log", "sin("]


#: A page's facts of own models; what the functions for its pictures need, and the grammar's functions.
FACTS = pages()["own-model"].spec()["facts"]
FUNCTIONS = {"exp": 1, "log": 1, "sqrt": 1, "sin": 1, "cos": 1, "tanh": 1, "abs": 1, "min": 2, "max": 2}


def call(script: str, asked: Any, path: Path) -> Any:
    """What the page's modules answer in Node."""
    if NODE is None:
        pytest.skip("node is not installed")
    file = path / "ask.js"
    file.write_text(bundle("models/own.js", "models/script.js") + script, encoding="utf-8")
    done = subprocess.run([NODE, file], input=json.dumps(asked), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def expression(chance: random.Random, names: list[str], states: list[str], depth: int) -> str:
    """A drawn right-hand side."""
    if depth == 0 or chance.random() < 0.15:
        kind = chance.random()
        if kind < 0.2:
            return chance.choice(["1", "2", "0.5", "3e-1", ".25", "1.", "12", "1E1", "7"])
        if kind < 0.5 and states:
            return f"{chance.choice(states)}(t{chance.choice(BLANK)}-{chance.choice(LAGS)})"
        return chance.choice(names)
    one = expression(chance, names, states, depth - 1)
    kind = chance.random()
    if kind < 0.2:
        word = chance.choice([name for name, count in FUNCTIONS.items() if count == 1])
        return f"{word}({one})"
    if kind < 0.3:
        return f"{chance.choice(['min', 'max'])}({one},{expression(chance, names, states, depth - 1)})"
    if kind < 0.4:
        return f"-{one}"
    if kind < 0.5:
        return f"({one})^{chance.choice(['2', '3', '-1', '0.5', '(a)', '2^2'])}"
    sign, blank = chance.choice("+-*/"), chance.choice(BLANK)
    return f"({one}{blank}{sign}{blank}{expression(chance, names, states, depth - 1)})"


def text(chance: random.Random, wrong: bool) -> str:
    """A drawn model; where it is `wrong`, with some characters changed."""
    states = ["x", "y", "z", "w", "v"][: chance.choice([1, 1, 2, 2, 3, 4, 5 if wrong else 2])]
    names = [*states, "a", "T", "p", *["t"] * (chance.random() < 0.2)]
    lines = [f"{name}' = {expression(chance, names, states, chance.randint(1, 4))}" for name in states]
    if chance.random() < 0.9:
        lines[0] += " - a*x/T"
    lines += ["a = 0.7 in 0.1..2", "T = 1.3 in 0.5..4 log # delay", f"p = {expression(chance, [*states, 'a'], [], 2)}"]
    if chance.random() < 0.5:
        lines.append(f"{states[0]}(0) = {chance.choice(['2', 'a', '-a/2', '1+T'])}")
    if chance.random() < 0.3:
        lines.append(chance.choice(["t in 0..20", "chart T, a", "chart a,T", "# a note"]))
    chance.shuffle(lines)
    out = "\n".join(lines)
    for _ in range(chance.randint(1, 3) if wrong else 0):
        at = chance.randrange(len(out) + 1)
        out = out[:at] + chance.choice(ODD) + out[at + chance.randint(0, 3) :]
    return out


#: Of each text: its complaint, or its rates at points (all of t, four states and the pasts drawn) and its script.
RHS = """
const { cases, facts } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { parsed } = module_models_equations, { ready } = module_models_own, { programOf } = module_models_script;
const startOf = (model) => ready(model).fixed(model.parameters.map((one) => one.value)).start;
process.stdout.write(JSON.stringify(cases.map(([text, points]) => {
  let model;
  try { model = parsed(text); } catch (error) { return error.message; }
  const own = ready(model), n = model.states.length, parameters = model.parameters.map((one) => one.value);
  const { lags, start } = own.fixed(parameters);
  const pasts = model.pasts.map((one) => [model.states[one.state].name, lags[one.delay]]);
  return { pasts, start, axes: model.axes, end: model.end, code: programOf(text, "chart", facts, startOf),
    rates: points.map((x) => {
      const out = new Float64Array(n);
      own.rate(x[0], x.slice(1, 1 + n), x.slice(5, 5 + model.pasts.length), parameters, out);
      return Array.from(out, (one) => Number.isFinite(one) ? one : null);
    }) };
})));
"""


def scripted(code: str) -> Any:
    """The problem that a printed program makes; its functions are not called."""
    names: dict[str, Any] = {}
    exec(code.partition("\n\n\ntable = ")[0], names)  # lines that the page wrote itself
    return names["problem"]


def pages_answers(texts: list[str], path: Path, points: int = 0) -> list[Any]:
    """What the page makes of texts."""
    chance = random.Random(4)
    cases = [(one, [[chance.uniform(0.2, 2) for _ in range(25)] for _ in range(points)]) for one in texts]
    answers = call(RHS, {"cases": cases, "facts": FACTS}, path)
    return [
        one if isinstance(one, str) else one | {"points": case[1]} for one, case in zip(answers, cases, strict=True)
    ]


SENTENCE = re.compile(r"(line \d+, column \d+: )?[^\n]{10,100}")


def test_the_page_computes_what_its_script_says(tmp_path: Path) -> None:
    chance = random.Random(31)
    texts = [text(chance, i % 3 > 0) for i in range(3000)] + TEXTS
    refused = compared = 0
    for said, answer in zip(texts, pages_answers(texts, tmp_path, 2), strict=True):
        if isinstance(answer, str):
            assert SENTENCE.fullmatch(answer), said
            refused += 1
            continue
        if compared >= 600 and said not in TEXTS:
            continue
        if not all(map(_number, answer["start"])):
            assert answer["code"] == "# a start is no finite number\n"
            continue
        try:
            problem = scripted(answer["code"])
        except (DynamicsError, ArithmeticError, TypeError, ValueError) as error:
            if "stands in no expression" in str(error):
                continue  # SymPy found that it does not count
            # a number that is none: at once for SymPy, which divides by y - y; for the page where it counts
            assert "nan" in str(error) or None in [x for row in answer["rates"] for x in row], (said, error)
            continue
        compared += 1
        values, states = dict(problem.parameters), list(problem.rhs)
        assert [float(x) for x in problem.start.values()] == answer["start"]
        pasts = problem.delayed if isinstance(problem, DDE) else {}
        assert [one.of for one in pasts.values()] == [state for state, _ in answer["pasts"]], said
        for one, (_, lag) in zip(pasts.values(), answer["pasts"], strict=True):
            by = sympy.sympify(one.by).subs(values)
            assert lag is None or float(by) == pytest.approx(lag, rel=1e-14), said
        program = program_of(problem.rhs)
        for x, rates in zip(answer["points"], answer["rates"], strict=True):
            at = values | dict(zip(states, x[1:5], strict=False)) | {"t": x[0]} | dict(zip(pasts, x[5:], strict=False))
            with np.errstate(all="ignore"):
                own = [math.nan if np.iscomplexobj(one) else float(one) for one in run(program, at)]  # powers of -x
            for mine, other in zip(own, rates, strict=True):
                if other is not None and math.isfinite(mine) and abs(other) < 1e12:
                    assert mine == pytest.approx(other, rel=1e-10, abs=1e-11), (said, x)
    assert refused > 600 and compared >= 600


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and math.isfinite(x)


ROOTS = """
const { cases } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { parsed } = module_models_equations, { ready } = module_models_own;
process.stdout.write(JSON.stringify(cases.map((text) => {
  const own = ready(parsed(text)), parameters = own.model.parameters.map((one) => one.value);
  const [first] = own.search(parameters), { lags } = own.fixed(parameters);
  const roots = own.leading(parameters, first.rest, lags, 4);
  return [first.rest, roots.map((z) => [z.re, z.im])];
})));
"""


def test_roots_of_drawn_models_are_the_librarys(tmp_path: Path) -> None:
    chance = random.Random(5)
    cases = []
    for _ in range(60):
        n = chance.choice([1, 2, 2, 3, 4])
        names = ["x", "y", "z", "w"][:n]
        lines = []
        for name in names:
            terms = [
                f"{chance.uniform(-1.5, 1.5):.3f}*tanh({other}{chance.choice(['', '(t-T)', '(t-0.4)'])})"
                for other in names
            ]
            lines.append(f"{name}' = 0.3 - {chance.uniform(0.2, 2):.3f}*{name} + " + " + ".join(terms))
        lines[0] += " - 0.1*x(t-T)"
        cases.append("\n".join([*lines, f"T = {chance.uniform(0.1, 4):.3f} in 0.05..5"]))
    compared = 0
    codes = [one["code"] for one in pages_answers(cases, tmp_path)]
    for code, (rest, roots) in zip(codes, call(ROOTS, {"cases": cases}, tmp_path), strict=True):
        problem = scripted(code)
        at = dict(zip(problem.rhs, rest, strict=True))
        found = numbers_own_model.leading(problem, at, 4)
        if len(found) < 4 or np.isnan(found).any():
            continue
        compared += 1
        size = abs(found[0]) + 0.1
        assert roots[0][0] == pytest.approx(found[0].real, abs=1e-9 * size), code
        assert roots[0][1] == pytest.approx(found[0].imag, abs=1e-9 * size), code
        np.testing.assert_allclose([re for re, _ in roots], found.real[: len(roots)], atol=1e-7)
    assert compared > 40


def test_an_equilibrium_at_zero_comes_after_one_on_the_starts_side(tmp_path: Path) -> None:
    texts = [f"x' = x(t-T)/(5 + 5*x(t-T)^n) - x/10\nT = {lag} in 0..30\nn = 10 in 1..12\nx(0) = {start}"
             for lag in (2, 17) for start in (1.2, -1.2)]  # fmt: skip
    answers = pages_answers(texts, tmp_path)
    for answer, (rest, _) in zip(answers, call(ROOTS, {"cases": texts}, tmp_path), strict=True):
        found = numbers_own_model.resting(scripted(answer["code"]))["x"]
        assert [found] == pytest.approx(rest) and abs(found) == pytest.approx(1)


def test_the_fluids_chart_is_that_of_its_page(tmp_path: Path) -> None:
    (answer,) = pages_answers([TEXTS[1]], tmp_path)
    edge = table_of(answer["code"]).query("line == 'boundary of stability'")
    assert len(edge) > 30
    closed = boundary("proportional", edge.R, capacity=3750.0, base_rtt=0.2, buffer=800.0, flows=60.0, gain=2e-4)
    np.testing.assert_allclose(edge.N, closed[:, 0], rtol=1e-6)


def test_names_of_python_are_no_hindrance(tmp_path: Path) -> None:
    said = "lambda' = -problem*lambda(t-np) + pd\nproblem = 1 in 0..2\nnp = 1 in 0..2\npd = sum*np_\nsum = 1 in 0..2"
    said += "\nnp_ = 2 in 1..3"
    (answer,) = pages_answers([said], tmp_path)
    problem = scripted(answer["code"])
    assert isinstance(problem, DDE) and list(problem.rhs) == ["lambda"]
    assert problem.parameters == {"problem": 1, "np": 1, "sum": 1, "np_": 2}
    assert str(next(iter(problem.delayed.values())).by) == "np"


def test_texts_that_would_grow_are_refused(tmp_path: Path) -> None:
    texts = ["x' = (2*a*x)^9^9^9\na = 1 in 0..2", "\n".join(["x' = a*p9", "p0 = sin(x)", "a = 1 in 0..2"] +
             [f"p{i + 1} = p{i}*p{i} + sin(p{i})" for i in range(9)])]  # fmt: skip
    deep = "x' = a*" + "+".join(["x"] * 398) + "\na = 1 in 0..2"
    *refused, answer = pages_answers([*texts, deep], tmp_path)
    assert all(isinstance(one, str) for one in refused)
    assert run(program_of(scripted(answer["code"]).rhs), {"x": 2.0, "a": 3.0}) == [3 * 2 + 397 * 2]


#: Susceptible and infected, with births and deaths.
EPIDEMIC = """S' = m - b*S*I(t-T) - m*S
I' = b*S*I(t-T) - g*I - m*I
b = 2 in 0.1..5
g = 0.5 in 0.1..2
m = 0.1 in 0.01..1
T = 1 in 0..5
"""
#: Without births and deaths: each number of susceptible is an equilibrium.
OUTBREAK = """S' = -b*S*I(t-T)
I' = b*S*I(t-T) - g*I
b = 2 in 0.1..5
g = 0.5 in 0.1..2
T = 1 in 0..5
"""


def drawn(tab: Page) -> None:
    tab.wait_for_function("() => document.querySelector('.picture svg') && !document.querySelector('[data-computing]')")


def test_a_text_with_an_error_keeps_the_pictures_and_says_what_is_wrong(tab: Page, server: str) -> None:
    opened(tab, f"{server}/own-model")
    drawn(tab)
    area, wrong = tab.locator("#control-model"), tab.locator("#control-model-wrong")
    before = tab.locator("[data-figure=chart] svg[role=img]").inner_html()
    area.fill("x' = -k*x(t-1\nk = 1 in 0..3")
    assert wrong.inner_text() == "line 1, column 14: ) is expected here"
    # what is wrong stands there once
    assert tab.locator(".reading").inner_text() == "The pictures are those of the last text that could be read."
    assert tab.locator("[data-figure=chart] svg[role=img]").inner_html() == before
    area.fill("x' = -k*x(t-1)\nk = 1 in 0..3")
    assert wrong.inner_text() == ""
    drawn(tab)
    reading = tab.locator(".reading").inner_text()
    assert "The equilibrium x = 0 is stable: a small disturbance dies out like exp(-0.318 t)" in reading
    tab.wait_for_url("**model=*")
    assert "k+=+1+in+0..3" in tab.url
    tab.reload()
    drawn(tab)
    assert area.input_value() == "x' = -k*x(t-1)\nk = 1 in 0..3"
    tab.get_by_role("button", name="Reset").click()
    assert area.input_value() == TEXTS[0]


def test_sliders_write_into_the_text(tab: Page, files: Path) -> None:
    opened(tab, (files / "own-model.html").as_uri())
    drawn(tab)
    slider = tab.get_by_label("growth rate r", exact=True)
    slider.focus()
    tab.keyboard.press("End")
    assert "r = 3 in 0.1..3" in tab.locator("#control-model").input_value()
    assert slider.get_attribute("aria-valuetext") == "3"
    assert "is unstable" in tab.locator(".reading").inner_text()
    drawn(tab)  # while it is computed, it is drawn anew
    chart = tab.locator("[data-figure=chart] svg[role=img]")
    box = chart.bounding_box()
    assert box is not None
    tab.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.7 * box["height"])
    assert "r = 3 in" not in tab.locator("#control-model").input_value()
    assert "is stable" in tab.locator(".reading").inner_text()
    tab.wait_for_function("() => location.hash.includes('model=')")
    tab.get_by_label("chart across").select_option("K")
    assert "chart K, T" in tab.locator("#control-model").input_value()


#: Types a text, and saves the chart's table once it is drawn, before its boundary can be there.
SAVED_AT_ONCE = """async (text) => {
  const area = document.getElementById("control-model"), made = URL.createObjectURL, { click } = HTMLAnchorElement.prototype;
  Object.assign(area, { value: text }).dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  let kept = null;
  URL.createObjectURL = (blob) => { kept = blob; return "blob:null"; };
  HTMLAnchorElement.prototype.click = () => {};
  [...document.querySelectorAll("[data-figure=chart] .menu button")].find((b) => b.textContent === "CSV").click();
  await new Promise((saved) => setTimeout(saved));
  Object.assign(URL, { createObjectURL: made });
  HTMLAnchorElement.prototype.click = click;
  return kept.text();
}"""  # noqa: E501


def test_a_table_that_is_saved_at_once_has_the_boundary(tab: Page, server: str) -> None:
    opened(tab, f"{server}/own-model?{urlencode({'model': OUTBREAK})}")
    drawn(tab)
    early = [line.split(",") for line in tab.evaluate(SAVED_AT_ONCE, EPIDEMIC).splitlines()]
    drawn(tab)
    late = numbers(tab)
    assert len(early) == len(late) > 20
    assert not tab.locator("[data-figure=chart] [data-computing]").count()


def test_the_legend_names_what_is_shown(tab: Page, server: str) -> None:
    for model, has_edge in (("x' = -k*x - a*x\nk = 1 in 0.5..2\na = 1 in 0.5..2", False), (EPIDEMIC, True)):
        opened(tab, f"{server}/own-model?{urlencode({'model': model})}")
        drawn(tab)
        legend = tab.locator("[data-figure=chart] .legend").inner_text()
        assert "the sliders" in legend and ("boundary" in legend) == has_edge


def test_a_long_line_wraps_on_a_telephone(tab: Page, server: str) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    long = "x' = -k*x # " + " ".join(["words"] * 40) + "-" * 90 + "\nk = 1 in 0.5..2"
    opened(tab, f"{server}/own-model?{urlencode({'model': long})}")
    wide = "(area) => area.scrollWidth - area.clientWidth"
    assert tab.locator("#control-model").evaluate(wide) <= 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390


#: Models with several equilibria.
SEVERAL = [
    "x' = k*x*(1-x)*(x-0.3)\nk = 1 in 0.1..3\nx(0) = 0.6",
    "x' = k*x - x(t-T)^3\nk = 1 in 0.1..3\nT = 0.4 in 0..2",
]
#: Whether an element is whole in the window, with nothing over its first and its last line.
WHOLE = """(one) => { const b = one.getBoundingClientRect();
  const range = document.createRange(); range.selectNodeContents(one); const all = [...range.getClientRects()];
  return b.top >= 0 && b.bottom <= innerHeight && all.every((r) => one.contains(
    document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2))); }"""


@pytest.mark.parametrize("size", [pytest.param((1280, 720), marks=pytest.mark.slow), (390, 844)])
@pytest.mark.parametrize(
    "model", [pytest.param(m, marks=[pytest.mark.slow] if k % 3 else []) for k, m in enumerate([*TEXTS, *SEVERAL])]
)
def test_the_verdict_is_whole_with_equilibrium_and_period(
    tab: Page, server: str, model: str, size: tuple[int, int]
) -> None:
    tab.set_viewport_size({"width": size[0], "height": size[1]})
    opened(tab, f"{server}/own-model?{urlencode({'model': model})}")
    reading = tab.locator(".reading")
    said = reading.inner_text()
    assert model not in SEVERAL or re.search(r"[23] equilibria were found; this one is charted", said)
    assert re.match(r"The equilibrium \w+ = .+ is (stable|unstable|on the boundary of stability): ", said)
    roots = tab.locator("[data-figure=facts] dl").inner_text()
    period = re.search(r"period\s+([\d.,]+) time", roots)
    assert not period or f"with a period of {period[1]}" in said
    assert reading.evaluate(WHOLE)
    if size[0] < 900:  # a slider that is moved below has it in sight, too
        for figure in tab.locator(".figure").all():
            figure.evaluate("(one) => one.scrollIntoView()")
            assert reading.evaluate(WHOLE)


def test_what_has_no_verdict_is_said(tab: Page, server: str) -> None:
    for said, words in (
        ("x' = k\nk = 1 in 0.5..2", "No equilibrium was found"),
        ("x' = sin(t) - k*x\nk = 1 in 0.5..2", "The equations depend on t"),
        ("x' = -abs(x) - k*0\nk = 1 in 0..2\nx(0) = 0", "switches"),
        ("x' = k*x^2\nk = 1 in 0..2", "The motion is shown until t = 1: there x grows without bound."),
        ("x' = k/(x-1)\nk = 1 in 0..2", "a division by zero or an overflow"),
        ("x' = -x(t-k)\nk = 0 in -1..1\n", "The equilibrium x = 0 is stable"),
        ("x' = k - x^0.5\nk = -1 in -2..2\nx(0) = 1", "No equilibrium was found"),
        (OUTBREAK, "one of a line of equilibria"),
    ):
        opened(tab, f"{server}/own-model?{urlencode({'model': said})}")
        assert words in tab.locator(".reading").inner_text(), said
    tab.locator("#control-model").fill("x' = -x(t-k)\nk = -1 in -1..1\n")
    assert "A delay is below 0" in tab.locator(".reading").inner_text()


def test_a_text_that_is_typed_gives_the_chart_of_its_address(tab: Page, server: str) -> None:
    """Typed after another model of the same states, whose equilibrium is not the one at the sliders."""
    charts = []
    for texts in ((EPIDEMIC,), (OUTBREAK, EPIDEMIC)):
        opened(tab, f"{server}/own-model?{urlencode({'model': texts[0]})}")
        for text in texts[1:]:
            tab.locator("#control-model").fill(text)
        drawn(tab)
        charts.append([row for row in numbers(tab) if row[0] == "boundary of stability"])
    assert charts[0] == charts[1] and len(charts[0]) > 20


def test_a_link_with_a_text_that_cannot_be_read_shows_a_fresh_page(tab: Page, server: str) -> None:
    opened(tab, f"{server}/own-model?{urlencode({'model': 'x = ('})}")
    assert "The pictures are those of a fresh page" in tab.locator(".reading").inner_text()
    assert tab.locator("#control-model").input_value() == "x = ("
    tab.locator("[data-figure=roots] details.code > summary").click()
    tab.locator("[data-figure=roots] details.code pre").get_by_text("# line 1, column 6").wait_for()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_the_page_is_legible(tab: Page, server: str, width: int, scheme: str) -> None:
    legible(tab, width, scheme, lambda: opened(tab, f"{server}/own-model"))


def test_a_text_that_no_address_holds_says_so(tab: Page, server: str) -> None:
    opened(tab, f"{server}/own-model")
    area = tab.locator("#control-model")
    area.fill("x' = -k*x\nk = 1 in 0..2\n#" + "+" * 1900)
    assert "no link holds it" in tab.locator("#control-model-wrong").inner_text()
    area.fill("x' = -k*x\nk = 1 in 0..2\n")
    assert tab.locator("#control-model-wrong").inner_text() == ""
