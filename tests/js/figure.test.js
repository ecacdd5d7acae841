// Figures without Plotly: what is drawn, and how numbers are written.
import assert from "node:assert/strict";
import test from "node:test";
import { drawing, figureSvg } from "../../apps/explorer/assets/core/figure.js";
import {
  exactPercent,
  inEnds,
  inFacts,
  inField,
  typedNumber,
  withUnit,
} from "../../apps/explorer/assets/core/numbers.js";
import { numberText, pixel, scaleOf, ticksOf } from "../../apps/explorer/assets/core/ticks.js";
import { dashes, paint, path, scaled } from "../../apps/explorer/assets/core/marks.js";

const ON = { bars: false, points: false, across: true };
const line = (name, y, more = {}) => ({ name, mode: "lines", x: [0, 1, 2], y, ...more });
const count = (text, part) => text.split(part).length - 1;

/** A parser that is strict enough: every tag is closed, in order, and no attribute holds a raw mark. */
function wellFormed(svg) {
  const open = [];
  for (const [, close, name, inside, alone] of svg.matchAll(/<(\/?)([\w:]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g)) {
    if (close) assert.equal(open.pop(), name);
    else if (!alone) open.push(name);
    assert.ok(!/NaN|undefined|Infinity|null/.test(inside), inside);
  }
  assert.deepEqual(open, []);
  assert.equal(svg.replace(/<\/?[\w:]+(?:\s+[\w:-]+="[^"<]*")*\s*\/?>/g, "").match(/[<>]/), null);
}

test("numbers are written as people write them", () => {
  assert.equal(numberText(17363.64), "17,363.6");
  assert.equal(numberText(1234), "1,234");
  assert.equal(numberText(1234567), "1,234,570");
  assert.equal(numberText(-0.5), "\u22120.5");
  assert.equal(numberText(1e-5), "10⁻⁵");
  assert.equal(numberText(2.5e8), "2.5\u202f×\u202f10⁸");
  assert.equal(numberText(-0.001, 1), "0.0");
});

test("ticks are round, percent where the axis is so, powers of ten where it is logarithmic", () => {
  const words = (axis, values, most = 6) => ticksOf(scaleOf(axis, values, ON), axis, most).map((tick) => tick.text);
  assert.deepEqual(words({}, [0, 1]), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
  assert.deepEqual(words({}, [0, 40000], 5), ["0", "10,000", "20,000", "30,000", "40,000"]);
  assert.deepEqual(words({ tickformat: ".0%" }, [0, 0.4], 4), [
    "0\u2009%",
    "10\u2009%",
    "20\u2009%",
    "30\u2009%",
    "40\u2009%",
  ]);
  assert.deepEqual(
    words({ type: "log" }, [1e-6, 1]),
    ["10⁻⁶", "10⁻⁵", "0.0001", "0.001", "0.01", "0.1", "1"].filter((_, i) => i % 2 === 0),
  );
  assert.deepEqual(words({ type: "log" }, [1, 30]), ["1", "2", "5", "10", "20"]);
  assert.deepEqual(words({ tickvals: [5, 50], ticktext: ["few", "many"] }, [0, 100]), ["few", "many"]);
  assert.deepEqual(words({}, ["a", "b", "a"]), ["a", "b"]);
});

test("scales hold what is given and turn round", () => {
  const log = Object.assign(scaleOf({ type: "log", range: [0, 2] }, [3], ON), { from: 0, to: 100 });
  assert.equal(pixel(log, 10), 50);
  const down = Object.assign(scaleOf({ autorange: "reversed" }, ["a", "b"], ON), { from: 0, to: 100 });
  assert.ok(pixel(down, "a") > pixel(down, "b"));
  assert.ok(Number.isNaN(pixel(log, null)));
});

test("lines break at gaps and have steps", () => {
  assert.equal(path([0, 1, NaN, 3], [0, 1, 5, 3]), "M0 0L1 1M3 3");
  assert.equal(path([0, 1], [0, 2], "hv"), "M0 0H1V2");
  assert.equal(dashes("solid", 2), "");
  assert.notEqual(dashes("dash", 2), dashes("dot", 2));
});

test("colours of the dark: known ones map, black becomes ink, clear ones stay", () => {
  assert.equal(paint("#0072B2", true), "#56B4E9");
  assert.equal(paint("black", true), "#e8eaed");
  assert.equal(paint("#0072B2", false), "#0072B2");
  assert.equal(paint("rgba(0,158,115,0.18)", true), "rgba(0,158,115,0.18)");
  assert.equal(
    scaled(
      [
        [0, "#000000"],
        [1, "#ffffff"],
      ],
      0.5,
    ),
    "#808080",
  );
});

test("a figure stands alone, is well formed, and says what it shows", () => {
  const svg = figureSvg(
    { data: [line("a < b & c", [1, 2, 3])], layout: { xaxis: { title: { text: "p<sub>n</sub>" } } } },
    { width: 500, title: "Loss" },
  );
  assert.ok(svg.startsWith('<svg xmlns="http://www.w3.org/2000/svg"'));
  assert.match(svg, /aria-label="Loss: p\w*n: a /);
  assert.match(svg, /font-family=/);
  wellFormed(svg);
});

test("names stand at lines' ends where they are apart, else in a legend with real samples", () => {
  const apart = figureSvg({ data: [line("one", [1, 2, 3]), line("two", [3, 2, 1])] });
  assert.equal(count(apart, "h30"), 0);
  const close = figureSvg({ data: Array.from({ length: 7 }, (_, i) => line(`line ${i}`, [1, 2, 3 + 1e-6 * i])) });
  assert.equal(count(close, "h30"), 7);
  const sorts = figureSvg({
    data: [
      { type: "bar", name: "bars", x: ["u"], y: [1] },
      { ...line("dots", [1, 2, 3]), mode: "markers" },
    ],
  });
  assert.equal(count(sorts, "h30"), 0);
  assert.match(sorts, />bars</);
});

test("lines that colour alone told apart get dashes and widths of their own; given ones stay", () => {
  const styles = (svg) =>
    [...svg.matchAll(/stroke-width="([\d.]+)" stroke-linejoin="round"( stroke-dasharray="[^"]+")?/g)].map(
      ([, width, dash]) => width + dash,
    );
  const data = [1, 2, 3, 4].map((k) => line(`l${k}`, [k, k, k]));
  assert.equal(new Set(styles(figureSvg({ data }))).size, 4);
  const given = styles(figureSvg({ data: [line("a", [1, 2, 3], { line: { dash: "dash" } }), line("b", [3, 2, 1])] }));
  assert.equal(given.filter((style) => style.includes("dasharray")).length, 1);
});

test("bars, error bars, areas, heat maps, tables, panels, shapes and notes are drawn", () => {
  const bars = figureSvg({
    data: [1, 2].map((k) => ({
      type: "bar",
      name: `b${k}`,
      x: ["u", "v"],
      y: [k, -1],
      error_y: { array: [0.1, 0.1] },
    })),
    layout: { barmode: "stack" },
  });
  assert.equal(count(bars, "<rect"), 1 + 4 + 2); // paper, bars, samples
  const area = figureSvg({ data: [line("", [0, 0, 0]), line("band", [1, 1, 1], { fill: "tonexty" })] });
  assert.match(area, /fill-opacity/);
  const heat = drawing({
    data: [
      {
        type: "heatmap",
        x: ["a", "b"],
        y: [1, 2],
        z: [
          [0, 1],
          [1, null],
        ],
        text: [
          ["p", "q"],
          ["r", ""],
        ],
        texttemplate: "%{text}",
      },
    ],
  });
  assert.equal(heat.spots.length, 4);
  assert.match(heat.svg, />q</);
  const table = figureSvg({
    data: [{ type: "table", header: { values: ["k", "v"] }, cells: { values: [["loss"], [12345]] } }],
  });
  assert.match(table, /12,345/);
  const second = {
    xaxis2: { domain: [0.55, 1] },
    xaxis: { domain: [0, 0.45] },
    yaxis2: { matches: "y", showticklabels: false },
  };
  const panels = figureSvg(
    {
      data: [line("one", [1, 2, 3]), line("one", [4, 5, 60], { xaxis: "x2", yaxis: "y2", showlegend: false })],
      layout: {
        ...second,
        annotations: [{ text: "left", x: 0.225, y: 1, xref: "paper", yref: "paper", showarrow: false }],
        shapes: [{ type: "line", x0: 1, x1: 1, xref: "x", yref: "y domain", y0: 0, y1: 1 }],
      },
    },
    { width: 900 },
  );
  assert.match(panels, />left</);
  assert.equal(count(panels, "preserveAspectRatio"), 2);
  for (const svg of [bars, area, heat.svg, table, panels]) wellFormed(svg);
});

test("numbers in base 64 are read, and what is not shown is left out", () => {
  const y = { dtype: "f8", bdata: Buffer.from(new Float64Array([1, 2, 3]).buffer).toString("base64") };
  const { spots } = drawing({
    data: [{ ...line("a", y), mode: "markers" }, line("hidden", [9, 9, 9], { visible: "legendonly" })],
  });
  assert.deepEqual(
    spots.map((spot) => spot.text),
    ["a: 0, 1", "a: 1, 2", "a: 2, 3"],
  );
});

test("a height that is asked for is kept, and a narrow box has its panels below one another", () => {
  const layout = { xaxis: { domain: [0, 0.45] }, xaxis2: { domain: [0.55, 1] } };
  const data = [line("a", [1, 2, 3]), line("b", [1, 2, 3], { xaxis: "x2", yaxis: "y2" })];
  const high = (svg) => Number(/ height="(\d+)"/.exec(svg)[1]);
  assert.ok(Math.abs(high(figureSvg({ data, layout }, { width: 800, height: 300 })) - 300) < 3);
  assert.ok(
    high(figureSvg({ data, layout }, { width: 340 })) > 1.5 * high(figureSvg({ data, layout }, { width: 800 })) - 150,
  );
});

test("a comma that is typed is read by one rule, and said", () => {
  const read = { "1,5": 1.5, "0,125": 0.125, "-2,25": -2.25, "\u22122": -2, "1,5 %": 0.015, ",5": 0.5 };
  for (const [text, x] of Object.entries(read)) assert.equal(typedNumber(text)[0], x, text);
  for (const [text, x] of [
    ["1,500", 1500],
    ["-12,345.5", -12345.5],
    ["1,234,567", 1234567],
  ]) {
    assert.equal(typedNumber(text)[0], x);
    assert.equal(typedNumber(text)[1], `${text} is read as ${x}: a comma before three digits separates thousands.`);
  }
  assert.equal(typedNumber("1,5")[1], "1,5 is read as 1.5: the comma is a decimal one.");
  assert.equal(typedNumber("20,5 ms", "s")[0], 0.0205);
  for (const text of ["1,2,3", "1.500,5", "1,50,000", "", ",", "1,5x"])
    assert.ok(Number.isNaN(typedNumber(text)[0]), text);
  assert.deepEqual(typedNumber("1.5"), [1.5, ""]);
});

test("fractions are in per cent where they are declared so, with all digits of a slider", () => {
  const drop = { meaning: "packet-loss probability", unit: "1", percent: true };
  for (let i = 1; i < 1000; i++)
    assert.equal(typedNumber(inField(drop, i / 1000))[0], Number((i / 1000).toPrecision(12)));
  assert.deepEqual(
    [exactPercent(0.105), withUnit(drop, 0.105), inField({ ...drop, percent: false }, 1e-5)],
    ["10.5 %", "10.5 %", "0.00001"],
  );
  assert.equal(withUnit({ meaning: "dropped data packets", unit: "1" }, 262143), "262,143");
  assert.equal(withUnit({ meaning: "transfers that begin", unit: "1/s" }, 3.5), "3.5 a second");
  const cut = [inEnds([0.002, -0.003, 0.007], " %"), inEnds([0.99, 0.97, 1.01], " %"), inEnds([0.2, -0.3, 0.7])];
  assert.deepEqual(cut, ["0.2 % (0.0 to 0.7)", "99 % (97 to 100)", "0.2 (-0.3 to 0.7)"]);
  const facts = [inFacts(0.12345, true), inFacts(0.12345), inFacts(NaN, true), inFacts(1234.56), inFacts(1, true)];
  assert.deepEqual(facts, ["12.3 %", "0.123", "none", "1,235", "100 %"]);
});

test("a field takes every unit of its dimension, with and without a space, and says which others pass", () => {
  for (const [text, unit, x] of /** @type {[string, string, number][]} */ ([
    ["1.5 Gbit/s", "Mbit/s", 1500],
    ["200kbit/s", "Mbit/s", 0.2],
    ["2 Mbit/s", "Mbit/s", 2],
    ["0.2 s", "ms", 200],
    ["20ms", "ms", 20],
    ["1.5 KB", "byte", 1500],
    ["1 000", "1", 1000],
    ["12\u202f000 ms", "s", 12],
    ["1,5 s", "ms", 1500],
  ]))
    assert.equal(typedNumber(text, unit)[0], x, text);
  for (const [text, unit, word] of [
    ["200k", "Mbit/s", "kbit/s"],
    ["3 kg", "ms", "min"],
    ["2 ms", "byte", "kB"],
  ]) {
    const [x, said] = typedNumber(text, unit);
    assert.ok(Number.isNaN(x) && said.startsWith("Units that may follow a number: ") && said.includes(word), text);
  }
  assert.deepEqual(typedNumber("1.000"), [1, "The point of 1.000 is a decimal one."]);
  assert.deepEqual(typedNumber("0.250"), [0.25, ""]);
});
