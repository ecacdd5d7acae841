// @ts-check
import { element } from "../core/dom.js";
import { brief, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

page("fairness", {
  draw(values, functions, figures, set) {
    const n = values.flows,
      names = functions.indices.indices,
      out = new Float64Array(functions.indices.size);
    const x = Array.from({ length: n }, (_, i) => values[`x${i + 1}`]);
    functions.indices.run(x, out);
    const nobody = x.every((v) => v === 0);
    const flows = Float64Array.from({ length: n }, (_, i) => i + 1);
    figures.flows.show({
      x: flows,
      xTitle: "flow",
      yTitle: title("throughput", "Mbit/s"),
      series: [{ name: "throughput", kind: "bars", y: x }],
      range: [0, 10],
      xRange: [0.4, n + 0.6],
      linked: "flow",
      pick: (at, y, held) => set({ [`x${Math.min(n, Math.max(1, Math.round(held)))}`]: y }),
    });
    const places = Float64Array.from(names, (_, i) => i + 1);
    figures.indices.show({
      x: places,
      xTitle: "index",
      labels: names,
      yTitle: "value",
      series: [{ name: "value", kind: "bars", y: Array.from(out.subarray(0, names.length)) }],
      range: [0, 1],
      xRange: [0.4, names.length + 0.6],
    });
    const { least, jainMost, giniMost, alone } = Object.fromEntries(
      ["least", "jainMost", "giniMost", "alone"].map((name, i) => [name, out[names.length + i]]),
    );
    const ordered = Array.from(out.subarray(names.length + 4)),
      total = ordered.reduce((a, b) => a + b, 0);
    const shares = [0],
      apart = [0];
    ordered.forEach((v, i) => {
      shares.push(shares.at(-1) + v / total);
      apart.push((i + 1) / n - shares.at(-1));
    });
    const poorest = Array.from(x, (_, i) => i).sort((a, b) => x[a] - x[b]),
      even = shares.map((_, i) => i / n),
      most = apart.indexOf(Math.max(...apart));
    figures.lorenz.show({
      asks: "What fraction of the throughput does each fraction of the flows get, poorest first?",
      xTitle: "fraction of the flows, poorest first",
      yTitle: "fraction of the throughput",
      xPercent: true,
      yPercent: true,
      xRange: [0, 1],
      yRange: [0, 1],
      lines: [
        { name: "Lorenz curve", x: even, y: shares, linked: "flow", at: [NaN, ...poorest.map((i) => i + 1)] },
        { name: "equality", x: [0, 1], y: [0, 1], dash: true },
        { name: "half of the Gini coefficient", x: [...even, 0], y: [...shares, 0], area: true },
        {
          name: "Hoover's index",
          x: total > 0 ? [even[most], even[most]] : [],
          y: total > 0 ? [shares[most], even[most]] : [],
        },
      ],
    });
    const [jain, ratio, entropy, gini, hoover, atkinson] = out;
    figures.facts.show({
      columns: ["at least", "value", "at most"],
      rows: [
        {
          name: "Jain's index",
          values: [Math.max(least, alone), jain, jainMost],
          means: "at least 4r/(1 + r)² and 1/n; at most n^entropy/n",
        },
        {
          name: "1 - Gini",
          values: [giniMost, gini, hoover],
          means: "with Hoover's index h: at least (1 - h)², at most 1 - h",
        },
        {
          name: "1 - Atkinson",
          values: [ratio, atkinson, 1],
          means: "the geometric mean over the mean: at least smallest over largest",
        },
        {
          name: "entropy",
          values: [0, entropy, 1],
          means: "over that of equal throughputs: 0 where one flow gets all",
        },
      ],
    });
    figures.bounds.show({
      x: Float64Array.of(1, 2, 3),
      xTitle: "bound",
      labels: ["Jain's index", "4r/(1 + r)²", "1/n"],
      yTitle: "value",
      series: [{ name: "value", kind: "bars", y: [jain, least, alone] }],
      range: [0, 1],
      xRange: [0.4, 3.6],
    });
    const says = nobody
      ? "Nobody has anything: no index of fairness is defined."
      : `Jain's index is ${brief(jain)}: the flows share as if ${brief(jain * n)} of ${n} had ` +
        "equal throughputs and the others none.";
    return { says, advice: nobody ? "Drag a bar up." : "", numbers: { jain, gini: 1 - gini } };
  },
});
