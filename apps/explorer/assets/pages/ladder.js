// @ts-check
// The sender's ladder: six rungs from the paper's chain to Linux at one drop probability, and along it.
import { drawn, element } from "../core/dom.js";
import { alone } from "../core/ladder.js";
import { exactPercent, nearest, percent, title } from "../core/numbers.js";
import { KINDS, page } from "../core/pages.js";
import { Picture } from "../core/picture.js";

/** @typedef {{ drop: number, goodput: number[], sent: number[][], distance: number[] }} Row */
/**
 * @typedef {{ name: string, at: number, sent: number[][], distance: number[], goodput: number[], measured: boolean,
 *   step: string }} Rung
 */

const NAMES = ["1 paper", "2 exact", "3 exact, Karn", "4 sender", "5 packets", "6 Linux"];
const PRINTED = ["paper", "exact", "karn"];
const LINUX = { cubic: "CUBIC", reno: "Reno", bbr: "BBR", "reno-options-off": "Reno, options off" };
/** From the rung before to this one: what is given up, what comes instead, and the step in a sentence. */
const STEPS = [
  ["", "", ""],
  ["one wait for deep backoffs", "a state each", "a state for each level of the backoff, up to a cap"],
  ["3 successes end a backoff", "2 successes", "two successes instead of three end a backoff"],
  ["states by hand", "states of the code", "states of the sender's code instead of states by hand"],
  ["chain", "packets", "packets instead of the chain"],
  ["RFCs' rules", "Linux's", "Linux's rules instead of those of the RFCs"],
];
/** How often 0, 1, ..., 6 packets are sent: paper and letters of each part of a bar. */
const FILLS = ["#A63A00", "#DCEBF7", "#B5D5EE", "#86BBE2", "#5A9BD0", "#2A6CA9", "#164F84"],
  INKS = ["#ffffff", "#1b1b1b", "#1b1b1b", "#1b1b1b", "#1b1b1b", "#ffffff", "#ffffff"];
const DROPS = Float64Array.from({ length: 89 }, (_, i) => Number((0.005 * (i + 2)).toFixed(3)));

/** A fraction in percent with one digit behind the point. @param {number} x */
const points = (x) => (100 * x).toFixed(1);

// ---- the picture of the rungs --------------------------------------------------------------------------------
const HEAD = 16,
  BAR = 16,
  STEP = 27,
  SIDE = 4,
  FOOT = 32,
  TICKS = [0, 0.25, 0.5, 0.75, 1]; // of the one scale of bars and distances

/** show({ rungs: Rung[], largest }): the bars of the rungs, and between them what each step costs. */
export class Rungs extends Picture {
  show(data) {
    this.data = data;
    const width = Math.max(300, this.width || 480),
      rung = HEAD + BAR,
      height = data.rungs.length * rung + (data.rungs.length - 1) * STEP + FOOT,
      letter = width < 400 ? 11 : 12;
    const px = (/** @type {number} */ share) => SIDE + Math.max(0, Math.min(1, share)) * (width - 2 * SIDE);
    const text = (x, y, word, more = {}) =>
      drawn("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": letter, fill: "currentColor", ...more }, word);
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": this.spec.alt });
    svg.style.maxHeight = `${height}px`;
    const foot = height - FOOT + 3;
    for (const t of TICKS)
      svg.append(drawn("path", { d: `M${px(t).toFixed(1)},0V${foot + 4}`, stroke: "var(--line)", class: "tick" }));
    data.rungs.forEach((/** @type {Rung} */ one, /** @type {number} */ i) => {
      const top = i * (rung + STEP),
        [silent, low, high] = one.sent[0];
      const where = `, ${width < 340 ? "" : "measured "}at ${percent(one.at)}`,
        silence = `${points(silent)} %`,
        said = letter < 12 && one.measured ? silence : `silent ${silence}`, // there is room for the interval
        right = one.measured ? `${said} (${points(low)} to ${points(high)})` : said;
      svg.append(
        text(SIDE, top + 12, `${i + 1} ${one.name}${one.measured ? where : ""}`, { "font-weight": 600, class: "rung" }),
        text(width - SIDE, top + 12, right, { "text-anchor": "end", class: "silent" }),
        this.bar(one, top + HEAD, px),
      );
      if (one.measured) svg.append(whisker(px(low), px(high), top + HEAD + BAR / 2, BAR - 4));
      if (i) svg.append(this.step(one, i, top - STEP, px, text));
    });
    for (const t of TICKS)
      svg.append(
        text(px(t), foot + 14, `${100 * t} %`, {
          "text-anchor": t === 0 ? "start" : t === 1 ? "end" : "middle",
          "font-size": 11,
        }),
      );
    svg.append(
      text(width / 2, height - 3, "fraction of round trips with 0, 1, 2, … packets", {
        "text-anchor": "middle",
        "font-size": 11,
      }),
    );
    this.box.replaceChildren(svg, legend());
    this.filled();
  }

  /** @param {Rung} one @param {number} top @param {(share: number) => number} px */
  bar(one, top, px) {
    const group = drawn("g", { class: "bar" });
    let from = 0;
    one.sent.forEach(([share], n) => {
      const [x, to] = [px(from), px(from + share)],
        wide = to - x;
      from += share;
      if (wide < 0.2) return;
      group.append(
        drawn(
          "rect",
          {
            x: x.toFixed(2),
            y: top,
            width: wide.toFixed(2),
            height: BAR,
            fill: FILLS[n],
            stroke: "var(--paper)",
            "stroke-width": wide > 3 ? 1 : 0,
          },
          drawn("title", {}, `${one.name}: ${words(n)} in ${percent(share)} of round trips`),
        ),
      );
      if (wide > 16)
        group.append(
          drawn(
            "text",
            { x: (x + wide / 2).toFixed(1), y: top + 12, "font-size": 11, "text-anchor": "middle", fill: INKS[n] },
            String(n),
          ),
        );
    });
    return group;
  }

  /** What a step gives up, and its distance: as a number, and as a length on the bars' own axis. */
  step(/** @type {Rung} */ one, i, top, px, text) {
    const [distance, low, high] = one.distance,
      strong = this.data.largest === i,
      colour = strong ? "var(--state)" : "var(--faint)",
      number = one.measured ? `${distance.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})` : distance.toFixed(3);
    const group = drawn("g", { class: strong ? "step largest" : "step", "data-step": i });
    const line = text(SIDE, top + 14, "", { "font-size": 11 });
    line.append(drawn("tspan", { "font-weight": 700 }, `\u2193 ${number}`), `  ${one.step}`);
    group.append(
      line,
      drawn("rect", {
        x: px(0),
        y: top + 18,
        width: Math.max(1, px(distance) - px(0)).toFixed(2),
        height: 4,
        fill: colour,
        class: "distance",
      }),
    );
    if (one.measured) group.append(whisker(px(low), px(high), top + 20, 8));
    return group;
  }

  rows() {
    const parts = Array.from({ length: 7 }, (_, n) => (n < 6 ? `P(${n} packets)` : `P(${n} packets or more)`));
    const ends = (name) => [name, `${name}, low`, `${name}, high`];
    return [
      ["rung", "drop probability", ...parts.flatMap(ends), ...ends("distance")],
      ...this.data.rungs.map((/** @type {Rung} */ one, /** @type {number} */ i) => [
        NAMES[i],
        one.at,
        ...one.sent.flat(),
        ...one.distance,
      ]),
    ];
  }

  image() {
    return alone(this.box, this.spec.title);
  }
}
KINDS.rungs = Rungs;

/** @param {number} n */
const words = (n) => (n === 0 ? "no packet" : n === 1 ? "1 packet" : `${n} packets${n === 6 ? " or more" : ""}`);

/** An interval along x. */
const whisker = (low, high, y, tall) => {
  const end = (/** @type {number} */ x) => `M${x.toFixed(1)},${y - tall / 2}v${tall}`,
    d = `${end(low)}M${low.toFixed(1)},${y}H${high.toFixed(1)}${end(high)}`;
  return drawn(
    "g",
    { class: "interval", fill: "none" },
    drawn("path", { d, stroke: "var(--paper)", "stroke-width": 3.5 }),
    drawn("path", { d, stroke: "var(--ink)", "stroke-width": 1.5 }),
  );
};

const legend = () =>
  element(
    "p",
    { class: "legend" },
    element("span", {}, "Packets sent in a round trip:"),
    ...FILLS.map((fill, n) =>
      element(
        "span",
        {},
        drawn(
          "svg",
          { width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true" },
          drawn("rect", { width: 12, height: 12, fill }),
        ),
        ` ${n === 0 ? "0 (silent)" : n === 6 ? "6 or more" : n}`,
      ),
    ),
    element("span", {}, "\u2193 Distance from the rung above, and what replaces what; orange: the largest."),
  );

// ---- the numbers ---------------------------------------------------------------------------------------------
/** A Chebyshev series (Clenshaw). @param {number[]} c @param {number} x */
const summed = (c, x) => {
  let [b, after] = [0, 0];
  for (let i = c.length - 1; i > 0; i--) [b, after] = [2 * x * b - after + c[i], b];
  return x * b - after + c[0];
};

/** The fractions of 0, 1, ..., 6 packets and the goodput of the chains, by rung. */
const chainsOf = (functions, { edges, pieces }) => {
  const out = new Float64Array(8);
  return (/** @type {number} */ rung, /** @type {number} */ drop) => {
    if (rung < 3) {
      functions[PRINTED[rung]].run([drop], out);
      return Array.from(out);
    }
    let k = 0;
    while (k < pieces.length - 1 && drop > edges[k + 1]) k++;
    const x = (2 * drop - edges[k] - edges[k + 1]) / (edges[k + 1] - edges[k]);
    return pieces[k].map((/** @type {number[]} */ c) => summed(c, x));
  };
};

const apart = (a, b) => 0.5 * a.reduce((sum, x, n) => sum + Math.abs(x - b[n]), 0);
/** Whether one distance may be as large as another, by their intervals. @param {Rung} one @param {Rung} other */
const reaches = (one, other) =>
  (one.measured ? one.distance[2] : one.distance[0]) >= (other.measured ? other.distance[1] : other.distance[0]);
const alone3 = (x) => [x, NaN, NaN];

/** Curves of the chains do not move with the slider: kept for a sender and a quantity. */
const kept = { key: "", curves: /** @type {number[][]} */ ([]) };
const along = (values, at) => {
  const key = `${values.sender} ${values.quantity}`,
    place = values.quantity === "silence" ? 0 : 7;
  if (kept.key !== key)
    Object.assign(kept, { key, curves: [0, 1, 2, 3].map((rung) => Array.from(DROPS, (p) => at(rung, p)[place])) });
  return kept.curves;
};

page("ladder", {
  draw(values, functions, figures, set, spec) {
    const { senders, drops, kernel } = spec.facts,
      own = senders[values.sender],
      at = chainsOf(functions, own.series),
      near = nearest(drops, values.drop),
      measured = [own.packets[near], own.linux[values.linux][near]],
      release = kernel.replace(/\.\d+$/, ""),
      system = `${release}, ${LINUX[values.linux]}`;
    const labels = [
      "The paper's chain",
      "Exact chain",
      "Exact chain, Karn's rule",
      "Sender's chain",
      "Packets",
      release,
    ];
    const laws = [0, 1, 2, 3].map((rung) => at(rung, values.drop));
    const step = (/** @type {number} */ i) => STEPS[i].slice(0, 2).join(" \u2192 ");
    const ofChain = (law, i) => ({
      name: labels[i],
      at: values.drop,
      sent: law.slice(0, 7).map(alone3),
      goodput: alone3(law[7]),
      distance: alone3(i ? apart(laws[i - 1].slice(0, 7), law.slice(0, 7)) : NaN),
      measured: false,
      step: step(i),
    });
    const ofRow = (/** @type {Row} */ row, /** @type {number} */ k) => ({
      name: labels[4 + k],
      at: row.drop,
      sent: row.sent,
      goodput: row.goodput,
      distance: row.distance,
      measured: true,
      step: step(4 + k),
    });
    /** @type {Rung[]} */
    const rungs = [...laws.map(ofChain), ...measured.map(ofRow)];
    const far = rungs.map((one) => one.distance[0]),
      largest = far.indexOf(Math.max(...far.slice(1)));
    figures.rungs.show({ rungs, largest });

    const silence = values.quantity === "silence",
      curves = along(values, at),
      series = curves.map((y, i) => /** @type {any} */ ({ name: NAMES[i], y: Float64Array.from(y) }));
    [own.packets, own.linux[values.linux]].forEach((/** @type {Row[]} */ rows, i) => {
      const found = new Map(rows.map((row) => [row.drop, silence ? row.sent[0] : row.goodput])),
        part = (k) => Array.from(DROPS, (p) => (found.has(p) ? found.get(p)[k] : null));
      series.push({ name: NAMES[4 + i], kind: "points", y: part(0), low: part(1), high: part(2) });
    });
    figures.curves.show({
      x: DROPS,
      xTitle: "drop probability",
      xPercent: true,
      yPercent: silence,
      yTitle: silence ? "silent fraction of round trips" : title("goodput", "packet per RTT"),
      range: silence ? [0, 1] : [0, 6],
      asks:
        `What ${silence ? "silent fraction of round trips" : "goodput"} does the paper's chain give ` +
        "at each drop probability?",
      xRange: [0, 0.46],
      marker: values.drop,
      series,
      pick: (/** @type {number} */ x) => set({ drop: x }),
    });
    if (figures.curves.plot) {
      figures.curves.plot.over.style.cursor = "ew-resize";
      const { told } = figures.curves; // values beside names above the picture do not move what is held
      if (!told.classList.contains("names-in-place")) told.style.minHeight = "4.8em";
    }

    const [distance, low, high] = rungs[largest].distance,
      interval = `${low.toFixed(2)} to ${high.toFixed(2)}, measured at ${percent(rungs[largest].at)}`,
      cost = `${distance.toFixed(2)}${rungs[largest].measured ? ` (${interval})` : ""}`,
      rivals = rungs.map((one, i) => i).filter((i) => i && i !== largest && reaches(rungs[i], rungs[largest])),
      also = rivals.map((i) => `that to rung ${i + 1} (${far[i].toFixed(2)})`).join(" and "),
      silent = (/** @type {number} */ i) => percent(rungs[i].sent[0][0]),
      [, least, most] = rungs[5].sent[0],
      aside = drops[near] === values.drop ? "" : `, measured at a drop probability of ${percent(drops[near])}`;
    const says =
      `At a drop probability of ${exactPercent(values.drop)}, the largest step leads to rung ${largest + 1}: ` +
      `${STEPS[largest][2]}. Its distance (total variation) is ${cost}: ` +
      `the two rungs differ in at least that fraction of round trips.` +
      `${also ? ` By the intervals, ${also} may be as large.` : ""} ` +
      `A sender is silent in ${silent(0)} of round trips by the paper's chain, in ${silent(3)} by the chain of the ` +
      `simulator's sender, and ` +
      `in ${silent(5)} (${points(least)} to ${points(most)}) in ${system}${aside}.`;
    const numbers = { drop: values.drop, nearest: drops[near], largest, distance, low, high };
    rungs.forEach((one, i) => {
      Object.assign(numbers, { [`silent_${i + 1}`]: one.sent[0][0], [`goodput_${i + 1}`]: one.goodput[0] });
      if (i) numbers[`distance_${i + 1}`] = one.distance[0];
    });
    return { says, numbers };
  },
});
