// Run by node --test: what a reader types, read and refused; the chart of stability against closed forms.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parsed, withChart, withValues, written } from "../../apps/explorer/assets/models/equations.js";
import { CELLS, axisOf, charted, onEdge, ready, regions } from "../../apps/explorer/assets/models/own.js";
import { programOf } from "../../apps/explorer/assets/models/script.js";

const GROWTH = "x' = r*x*(1 - x(t-T))\nr = 1 in 0.1..3 # growth\nT = 1 in 0.1..3\nx(0) = 0.1";
const refused = (text) => {
  try {
    parsed(text);
  } catch (error) {
    return error.message;
  }
  return "";
};
const valuesOf = (model) => model.parameters.map((one) => one.value);
const last = (own) => {
  const values = valuesOf(own.model);
  let chart = /** @type {any} */ (null);
  for (const step of charted(own, values, own.search(values)[0].rest)) if (step) chart = step;
  return chart;
};

test("a text is read: states, pasts, parameters with their notes, the time", () => {
  const model = parsed(`${GROWTH}\nt in 0..9`);
  assert.deepEqual(
    model.states.map((one) => one.name),
    ["x"],
  );
  assert.deepEqual(model.pasts, [{ state: 0, delay: 0 }]);
  assert.deepEqual(
    model.parameters.map(({ name, low, high, log, means }) => [name, low, high, log, means]),
    [
      ["r", 0.1, 3, false, "growth"],
      ["T", 0.1, 3, false, ""],
    ],
  );
  assert.deepEqual([model.end, model.axes], [9, [0, 1]]);
});

test("where nothing grows or dies out anywhere, a chart has no stable place and no boundary", () => {
  for (const scale of ["", "1e-6*", "1e6*"]) {
    const text = `x' = ${scale}(a*x - x*y)\ny' = ${scale}(x*y - m*y)\na = 1 in 0.5..2\nm = 1 in 0.5..2\nx(0) = 0.5`,
      chart = last(ready(parsed(text)));
    assert.ok(chart.height.every((growth) => growth === 0));
    assert.equal(chart.crossings.size, 0);
  }
});

test("what cannot be read is refused with its line and column", () => {
  assert.equal(refused("x' = -x*(2\nk = 1 in 0..2"), "line 1, column 11: ) is expected here");
  assert.equal(
    refused("x' = -a*x\nk = 1 in 0..2"),
    "line 1, column 7: a has no line; give it one, as in a = 1 in 0..2",
  );
  assert.equal(
    refused("x' = r*x*(1-x(t-T))\nr = 1 in 0..2"),
    "line 1, column 17: T has no line; give it one, as in T = 1 in 0..2",
  );
  assert.match(refused("x' = q*x"), /column 6: q has no line/);
  assert.equal(refused("x' = -x"), "no line gives a parameter and its range, as in k = 1 in 0..2");
  assert.equal(refused("x' = -k*x\nk = 3 in 0..2"), "line 2, column 5: this lies outside its range");
  assert.equal(refused("x' = x;\nk = 1 in 0..2"), "line 1, column 7: this character means nothing here");
  assert.equal(refused("x' = 9^9^9^9\nk = 1 in 0..2"), "line 1, column 9: this is no finite number");
  assert.equal(refused("p = q\nq = p\nx' = k*p\nk = 1 in 0..2"), "line 2, column 5: p is defined by itself");
  assert.match(refused(`x' = ${"(".repeat(900)}`), /^line 1, column \d+: at most 30 parentheses/);
  assert.match(refused(`x' = ${Array(500).fill("x").join("+")}\nk = 1 in 0..2`), /more than 400 operations/);
  assert.match(refused("x".repeat(2001)), /the text has 2001 characters; at most 2000 are read/);
  assert.match(refused("x' = constructor(x)\nk = 1 in 0..2"), /column 6: constructor is no function; there are exp, /);
  assert.equal(
    refused("x' = -k*x(t+1)\nk = 1 in 0..2"),
    "line 1, column 12: a past is written with a delay, as in x(t - 1)",
  );
  assert.equal(refused("x' = -k*x\nk = 1 in 0...2"), "line 2, column 11: a range has two dots, as in 0..2");
  assert.match(refused("x' = __proto__\nk = 1 in 0..2"), /means nothing here/);
  assert.equal(refused("x' = x\nk = 1 in 0..2"), "k stands in no equation; leave its line out");
  assert.match(refused("x' = constructor\nk = 1 in 0..2"), /constructor has no line/);
});

test("other ways of writing are read, or the accepted one is said", () => {
  const [{ slope }] = parsed("x' = -k*x\nk = 1.5 in -2..2").states;
  for (const text of ["dx/dt = -k*x\nk = 1.5 in -2..2", "x' = \u2212k*x\nk = 1.5 in \u22122..2"]) {
    const model = parsed(text);
    assert.equal(written(model.states[0].slope), written(slope));
    assert.deepEqual([model.parameters[0].low, model.parameters[0].value], [-2, 1.5]);
    assert.equal(withValues(text, { k: 2 }), text.replace("1.5", "2"));
  }
  for (const [text, column, between] of /** @type {[string, number, string][]} */ ([
    ["x' = 2 x", 8, "2 and x"],
    ["x' = -k*2x", 10, "2 and x"],
    ["x' = (1 - x)(2)", 13, ") and ("],
    ["x' = (x + 1) k", 14, ") and k"],
    ["x' = exp(k x)", 12, "k and x"],
    ["x' = x(t - 2k)", 13, "2 and k"],
  ]))
    assert.equal(refused(text), `line 1, column ${column}: a * is missing between ${between}`);
  for (const text of ["x'(t) = -k*x(t)\nk = 1.5 in -2..2", "x'(t)=-k*x\nk = 1.5 in -2..2"])
    assert.equal(written(parsed(text).states[0].slope), written(slope));
  const late = parsed("x' = -k*x(t - d)\nd = 2*e\ne = 1\nk = 1 in 0..2\nx(0) = e");
  assert.deepEqual(ready(late).fixed([1]), { lags: [2], start: [1] });
  assert.ok(programOf("x' = -k*x(t - d)\nd = 1\nk = 1 in 0..2", "roots", { functions: {}, reserved: [] }, () => [1]).includes('Delayed("x", 1)'));
  assert.equal(
    refused("x' = -k*x(t - d)\nd = 2*x\nk = 1 in 0..2"),
    "line 2, column 7: only numbers and parameters can stand in a delay or a start",
  );
  assert.equal(refused("x' = -x*k(t)\nk = 1 in 0..2"), "line 1, column 9: k is no state; write it without (t)");
  assert.match(refused("x'(s) = -k*x"), /^line 1, column 4: a slope is written x' = ... or x'\(t\) = ...$/);
  const doubled = ["d e", "e f", "f g"].map((two) => `${two[0]} = ${Array(40).fill(two[2]).join("+")}`);
  assert.match(refused(["x' = -k*x(t - d)", ...doubled, "g = k", "k = 1 in 0..2"].join("\n")), /more than 400 operations/);
  assert.equal(refused("x' = -x(t-\u03c4)"), "line 1, column 11: names have letters from a to z, as in tau");
  assert.equal(refused("x' = x**2"), "line 1, column 7: a power is written with ^, as in x^2");
  for (const text of ["k = 1,5 in 0..2\nx' = k*x", "k = 1 in 0..1,5\nx' = k*x", "x' = 1,5*x", "x' = exp(1,5)*x"])
    assert.match(refused(text), /^line 1, column \d+: a decimal number has a point, as in 1\.5$/);
  for (const [text, meant] of [
    ["x\u2019 = -x", "'"],
    ["x' = 2\u00b7x", "\\*"],
    ["x' = 2\u00d7x", "\\*"],
    ["x' = x\u00b2", "\\^2"],
  ])
    assert.match(refused(text), new RegExp(`^line 1, column \\d+: write ${meant} instead of .$`));
  assert.match(refused("x'' = -x"), /^line 1, column 3: write two equations of first order, as in x' = v and v' = -x$/);
  assert.match(refused("dt/dt = x"), /t has a meaning of its own/);
});

test("sliders write into the text, and nothing else of it moves", () => {
  assert.equal(withValues(GROWTH, { T: 2.5 }), GROWTH.replace("T = 1 in", "T = 2.5 in"));
  assert.equal(withChart(GROWTH, "T", "r"), `${GROWTH}\nchart T, r`);
  assert.equal(withChart(withChart(GROWTH, "T", "r"), "r", "T"), `${GROWTH}\nchart r, T`);
});

test("Hutchinson: the boundary is rate times delay = pi/2", () => {
  const own = ready(parsed(GROWTH)),
    chart = last(own);
  assert.ok(chart.exact && chart.crossings.size > 60);
  for (const [edge, s] of chart.crossings) {
    const [k, l] = edge.split(" ").map(Number),
      size = CELLS + 1,
      [i, j] = [Math.floor(k / size), k % size];
    const r = l === k + 1 ? chart.xs[i] : onEdge(chart.xs[i], chart.xs[i + 1], s, false),
      T = l === k + 1 ? onEdge(chart.ys[j], chart.ys[j + 1], s, false) : chart.ys[j];
    assert.ok(Math.abs(r * T - Math.PI / 2) < 1e-9, `${r * T}`);
  }
});

test("the stable region is closed, on the left of its boundary", () => {
  const chart = last(ready(parsed(GROWTH))),
    [loop] = regions(chart);
  const area = loop.reduce((sum, [x, y], k) => {
    const [u, v] = loop[(k + 1) % loop.length];
    return sum + (x * v - u * y) / 2;
  }, 0);
  const cells = CELLS / 2.9; // of a unit
  const wanted =
    2.9 * (Math.PI / 2 / 3 - 0.1) + (Math.PI / 2) * Math.log(9 / (Math.PI / 2) / 1) - 0.1 * (3 - Math.PI / 2 / 3);
  assert.ok(Math.abs(area / cells ** 2 - wanted) < 2e-3, `${area / cells ** 2} against ${wanted}`);
});

test("Kelly's rate control: gain times delay below pi/2", () => {
  const text = "x' = k*(1 - x(t-T)*x(t-T)^4)\nk = 0.5 in 0.05..5 log\nT = 0.2 in 0.02..1\nchart T, k";
  const own = ready(parsed(text)),
    chart = last(own);
  for (const [edge, s] of chart.crossings) {
    const [k, l] = edge.split(" ").map(Number),
      size = CELLS + 1,
      [i, j] = [Math.floor(k / size), k % size];
    const T = l === k + 1 ? chart.xs[i] : onEdge(chart.xs[i], chart.xs[i + 1], s, false),
      gain = l === k + 1 ? onEdge(chart.ys[j], chart.ys[j + 1], s, true) : chart.ys[j];
    assert.ok(Math.abs(5 * gain * T - Math.PI / 2) < 1e-9, `${gain * T}`);
  }
  assert.ok(axisOf(own.model.parameters[0])[CELLS] === 5);
});

test("where two rests meet: every edge that their line crosses has its place, and no other", () => {
  const models = [
    ["I' = b*I*(1-I) - g*I\nb = 2 in 0.1..4\ng = 1 in 0.1..3\nI(0) = 0.1", (b, g) => b - g],
    ["x' = r*x*(1-x) - h*x\nr = 1 in 0.1..2\nh = 0.5 in 0..2\nx(0) = 0.5", (r, h) => r - h],
    [
      "S' = 0.05*(1-S) - b*S*I\nI' = b*S*I - (g+0.05)*I\nb = 2 in 0.3..4\ng = 0.7 in 0.1..2\nS(0) = 0.9\nI(0) = 0.05",
      (b, g) => b - g - 0.05,
    ],
  ];
  for (const [text, beyond] of /** @type {[string, (x: number, y: number) => number][]} */ (models)) {
    const chart = last(ready(parsed(text))),
      size = CELLS + 1,
      at = (k, l, s) => [
        onEdge(chart.xs[Math.floor(k / size)], chart.xs[Math.floor(l / size)], s, false),
        onEdge(chart.ys[k % size], chart.ys[l % size], s, false),
      ];
    for (let k = 0; k < size * size; k++) {
      const there = beyond(chart.xs[Math.floor(k / size)], chart.ys[k % size]);
      if (Math.abs(there) > 1e-9) assert.equal(Math.sign(chart.height[k]), -Math.sign(there), `${text} ${k}`);
      for (const l of [k + size, ...((k + 1) % size ? [k + 1] : [])])
        if (l < size * size && beyond(...at(k, l, 0)) * beyond(...at(k, l, 1)) < -1e-9) {
          const s = /** @type {number} */ (chart.crossings.get(`${k} ${l}`));
          assert.ok(Math.abs(beyond(...at(k, l, s))) < 1e-9, `${text}: ${at(k, l, s)}`);
        }
    }
  }
});

test("a rest on a switch, without rest, or driven by time: no verdict, and no error", () => {
  const search = (text) => {
    const own = ready(parsed(text));
    return own.search(valuesOf(own.model));
  };
  assert.ok(Number.isNaN(search("x' = -k*abs(x)\nk = 1 in 0..2\nx(0) = 0")[0].abscissa));
  assert.deepEqual(search("x' = k\nk = 1 in 0.5..2"), []);
  assert.deepEqual(search("x' = sin(t) - k*x\nk = 1 in 0.5..2"), []);
  assert.deepEqual(search("x' = k/(x - x)\nk = 1 in 0.5..2"), []);
});

test("of several rests the least unstable one on the start's side is found, wherever a state starts", () => {
  for (const start of [0.01, 0.5, 1.5, 40, 2000]) {
    const own = ready(
      parsed(`x' = b*x(t-T)/(1 + x(t-T)^10) - x/10\nb = 0.2 in 0.1..0.4\nT = 6 in 1..30\nx(0) = ${start}`),
    );
    const [first] = own.search(valuesOf(own.model));
    assert.ok(Math.abs(first.rest[0] - 1) < 1e-12, `${start}: ${first.rest}`);
    assert.ok(Math.abs(first.abscissa - 0.02416) < 1e-5, `${start}: ${first.abscissa}`);
  }
  // zero is on no side: it comes after an equilibrium that is more unstable
  for (const start of [1.2, -1.2])
    for (const T of [2, 17, 30]) {
      const own = ready(parsed(`x' = x(t-T)/(5 + 5*x(t-T)^10) - x/10\nT = ${T} in 0..30\nx(0) = ${start}`));
      assert.ok(Math.abs(own.search(valuesOf(own.model))[0].rest[0] - Math.sign(start)) < 1e-9, `${T} ${start}`);
    }
});

test("the lines of Python keep the order of operations and give way to names that they need", () => {
  const facts = { functions: { roots: "import numpy as np" }, reserved: ["np", "lambda", "problem"] };
  const text =
    "x' = -(a - (b - x))/(2/x)^-2 - q\nq = p*x(t-lambda)\np = -3*np^2\na = 1 in 0..2\nb = 2 in 1..3\n" +
    "np = 1e7 in 1e6..1e8 log\nlambda = 1 in 0..2\nx(0) = a/3";
  const said = programOf(text, "roots", facts, () => [1 / 3]);
  for (const line of [
    "import numpy as np",
    'np_ = sympy.Symbol("np")',
    'lambda_ = sympy.Symbol("lambda")',
    "p = (-3)*np_**2",
    "q = p*x_lambda",
    '        "x": -(a - (b - x))/(2/x)**(-2) - q,',
    '        "x_lambda": Delayed("x", lambda_),',
    '    parameters={"a": 1, "b": 2, "np": 10000000.0, "lambda": 1},',
    '    start={"x": 0.3333333333333333},',
    "table = roots(problem)",
  ])
    assert.ok(said.split("\n").includes(line), `${line}\n${said}`);
  assert.equal(
    programOf("x' = ", "roots", facts, () => [1]),
    "# line 1, column 5: a number, a name or ( is expected here\n",
  );
  assert.equal(
    programOf("x' = -k*x\nk = 1 in 0..2", "roots", facts, () => [NaN]),
    "# a start is no finite number\n",
  );
});
