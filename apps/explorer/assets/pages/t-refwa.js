// @ts-check
import { COLOURS } from "../core/colours.js";
import { drawn, element } from "../core/dom.js";
import { alone } from "../core/ladder.js";
import { orbit, spectralRadius } from "../core/motion.js";
import { brief, inEnds, inPackets, percent, title } from "../core/numbers.js";
import { KINDS, page } from "../core/pages.js";
import { Plane } from "../core/plane.js";

const PUBLISHED = [1.5, 0.5],
  TOP = 3;

/** Whether gains lie inside a region ("settles"), on its edge, or outside; a region is [phi, low psi, high psi]. */
const within = ([columns, low, high], phi, psi) => {
  const NEAR = 2e-3;
  const k = columns.findIndex((x, i) => i > 0 && columns[i - 1] <= phi + 1e-9 && phi <= x + 1e-9);
  if (k < 0) return "does not";
  const part = (phi - columns[k - 1]) / (columns[k] - columns[k - 1]),
    at = (row) => row[k - 1] + part * (row[k] - row[k - 1]);
  const inside = Math.min(psi - at(low), at(high) - psi);
  if (Math.abs(inside) < NEAR) return at(low) < NEAR && psi < NEAR ? "settles" : "edge";
  return inside > 0 ? "settles" : "does not";
};

/** A small plane for each reading, with one mark in all of them: show({regions, phi, psi, top, pick}). */
class Charts extends Plane {
  draw() {
    const { data } = this;
    const names = Object.keys(data.regions),
      narrow = this.width < 480;
    const [across, W, H] = [4, narrow ? 88 : 132, narrow ? 88 : 132],
      head = 28,
      rows = Math.ceil(names.length / across);
    const place = (k) => [(k % across) * W, Math.floor(k / across) * (H + head)];
    const svg = drawn("svg", {
      viewBox: `0 0 ${across * W} ${rows * (H + head)}`,
      role: "img",
      "aria-label": this.spec.alt,
      style: "cursor: crosshair; touch-action: none",
    });
    const side = W - 8,
      px = (x) => 4 + (x / data.top) * side,
      py = (y) => head + H - 4 - (y / data.top) * side;
    names.forEach((name, k) => {
      const [x, low, high] = data.regions[name],
        [left, top] = place(k),
        state = within(data.regions[name], data.phi, data.psi);
      const edge = [...x.map((v, i) => [v, low[i]]), ...x.map((v, i) => [v, high[i]]).reverse()];
      const colour = { settles: COLOURS[2], edge: COLOURS[4], "does not": COLOURS[1] }[state];
      svg.append(
        drawn(
          "g",
          { transform: `translate(${left},${top})` },
          drawn(
            "text",
            { x: 4, y: 11, "font-size": narrow ? 10 : 11, fill: "currentColor" },
            narrow ? name.replace("integrating", "integr.") : name,
          ),
          drawn(
            "text",
            { x: 4, y: 23, "font-size": narrow ? 9.5 : 11, fill: "currentColor", "font-weight": 700 },
            { settles: "settles", edge: "on the edge", "does not": "does not settle" }[state],
          ),
          drawn("rect", {
            x: 4,
            y: head + H - 4 - side,
            width: side,
            height: side,
            fill: "none",
            stroke: "var(--line)",
          }),
          drawn("path", {
            d: `M${edge.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join("L")}Z`,
            fill: COLOURS[0],
            "fill-opacity": 0.25,
          }),
          drawn("circle", {
            cx: px(data.phi),
            cy: py(data.psi),
            r: narrow ? 4 : 5,
            fill: colour,
            stroke: "currentColor",
          }),
        ),
      );
    });
    this.place = (x, y) => [px(x), py(y)];
    const at = (event) => {
      const box = svg.getBoundingClientRect(),
        scale = Math.max((across * W) / box.width, (rows * (H + head)) / box.height);
      const x = (event.clientX - box.left - (box.width - (across * W) / scale) / 2) * scale,
        y = (event.clientY - box.top - (box.height - (rows * (H + head)) / scale) / 2) * scale;
      const [u, v] = [x % W, y % (H + head)];
      data.pick(((u - 4) / side) * data.top, ((head + H - 4 - v) / side) * data.top);
    };
    svg.addEventListener("pointerdown", at);
    svg.addEventListener("pointermove", (event) => event.buttons && at(event));
    const words = "across: φ, up: ψ, 0 to 3 each; shaded: settles";
    this.box.replaceChildren(svg, element("p", { class: "legend" }, words));
    this.filled();
  }

  lines() {
    const { regions, phi, psi } = this.data;
    return [
      { name: "the sliders", x: [phi], y: [psi], points: true },
      ...Object.entries(regions).map(([name, [x, low, high]]) => ({
        name,
        x: [...x, ...[...x].reverse()],
        y: [...low, ...[...high].reverse()],
        area: true,
      })),
    ];
  }
  image() {
    return alone(this.box, this.spec.title);
  }
  mark() {}
  reading() {
    return "";
  }
  rows() {
    return [
      ["line", "gain φ on spare bandwidth", "gain ψ on free buffer"],
      ...this.lines().flatMap((line) => Array.from(line.x, (x, i) => [line.name, x, line.y[i]])),
    ];
  }
  kept() {
    const box = this.data;
    const plane = Object.assign(Object.create(Plane.prototype), this, {
      data: {
        lines: this.lines(),
        xTitle: "gain φ on spare bandwidth",
        yTitle: "gain ψ on free buffer",
        xRange: [0, box.top],
        yRange: [0, box.top],
      },
    });
    return plane.kept();
  }
}
KINDS["charts"] = Charts;

const PROTOCOLS = ["Reno", "NewReno", "Westwood", "T-REFWA"];

/** Table III of a link, printed and in packets. */
const showTable = (figure, rows) => {
  const both = ["fairness", "utilisation"].flatMap((measure) => [
    { name: `${measure}, the paper`, kind: "bars", y: rows[`${measure}, the paper`] },
    {
      name: `${measure}, packets`,
      kind: "bars",
      y: rows[`${measure}, packets`],
      low: rows[`${measure}, packets, low`],
      high: rows[`${measure}, packets, high`],
    },
  ]);
  figure.show({
    x: PROTOCOLS.map((_, i) => i + 1),
    labels: PROTOCOLS,
    exact: PROTOCOLS,
    xTitle: "protocol",
    xRange: [0.5, 4.5],
    range: [0, 1.05],
    yTitle: "index, fraction of the link",
    series: both,
  });
};

/** The determinant of A - z over what it could be at most: 0 where z is a multiplier. */
const residue = (matrix, n, z) => {
  const a = Array.from({ length: n }, (_, i) =>
    Array.from(matrix.slice(i * n, (i + 1) * n), (x, j) => x - (i === j ? z : 0)),
  );
  let share = 1;
  for (let i = 0; i < n; i++) {
    const size = Math.max(Math.abs(z), ...a[i].map(Math.abs)),
      p = a.slice(i).reduce((best, row, k) => (Math.abs(row[i]) > Math.abs(a[best][i]) ? i + k : best), i);
    [a[i], a[p]] = [a[p], a[i]];
    share *= Math.abs(a[i][i]) / (size || 1);
    if (!share) return 0;
    for (let k = i + 1; k < n; k++) {
      const f = a[k][i] / a[i][i];
      for (let j = i; j < n; j++) a[k][j] -= f * a[i][j];
    }
  }
  return share;
};
/** Whether a multiplier of the largest modulus is positive, negative, or neither: then the deviation swings. */
const turn = (matrix, n, radius) => {
  if (!(radius > 0) || radius === Infinity) return "";
  return residue(matrix, n, -radius) < 1e-7 ? "negative" : residue(matrix, n, radius) < 1e-7 ? "positive" : "complex";
};
const fate = (radius, sign) => {
  if (!Number.isFinite(radius)) return "nothing: there is no equilibrium";
  const marginal = Math.abs(radius - 1) < 1e-9,
    word = marginal ? "persist" : radius < 1 ? "die out" : "grow";
  if (sign === "negative") return `${word}, changing sign every interval`;
  return marginal && sign === "positive" ? "stay as they are" : sign === "complex" ? `${word}, swinging` : word;
};

/** What the groups get of a window at equilibrium, and what the code of round-trip times does to it. */
const shares = (
  values,
  { run, size, groups, worst, bounds, longest, rtt, error },
  figures,
  window,
  radius,
  sign,
  said,
) => {
  const out = new Float64Array(size),
    part = (k) => out.slice(k * groups, (k + 1) * groups);
  run([values.rtt_low, values.rtt_high, values.group_flows, window], out);
  const [times, errors, rates, throughputs] = [0, 1, 2, 3].map(part),
    index = out[4 * groups];
  const sum = throughputs.reduce((a, b) => a + b, 0),
    even = sum / groups;
  const rate = values.bdp / (times.reduce((a, b) => a + b, 0) / groups); // of the link [packet/s]
  const top = 1.05 * Math.max(values.rtt_high, values.rtt_low),
    common = { xTitle: title("round-trip time", "s"), linked: "round trip", xRange: [0, top] };
  figures.groups.show({
    ...common,
    x: times,
    yTitle: title("rate", "packet/s"),
    range: [0, 1.1 * Math.max(...throughputs.filter(Number.isFinite), rate / groups)],
    series: [
      { name: "a group", y: throughputs, kind: "points" },
      { name: "their mean", y: new Float64Array(groups).fill(even) },
      { name: "equal parts of the link", y: new Float64Array(groups).fill(rate / groups), dash: [6, 4] },
    ],
  });
  const at = new Map([
    ...rtt.map((x, i) => [x, [error[i], null]]),
    ...Array.from(times, (x, g) => [x, [errors[g], errors[g]]]),
  ]);
  const x = Float64Array.from(at.keys())
      .sort()
      .filter((t) => t <= top),
    percent = (k) => Array.from(x, (t) => (at.get(t)[k] === null ? null : 100 * at.get(t)[k]));
  figures.code.show({
    ...common,
    x,
    xLog: true,
    xRange: [0.001, Math.max(top, 0.002)],
    yTitle: title("error", "%"),
    series: [
      { name: "6-bit code", y: percent(0) },
      { name: "a group", y: percent(1), kind: "points" },
    ],
  });
  const most = [Math.max(...rates), Math.min(...rates)];
  figures.facts.show({
    rows: [
      {
        name: "small deviations",
        value: said || fate(radius, sign),
        means: "from equilibrium, by the exact linearisation",
      },
      {
        name: "modulus of the largest multiplier",
        value: radius,
        means:
          "factor of a small deviation in an interval" +
          ({ negative: `; the multiplier is ${brief(-radius)}`, complex: "; the multiplier is complex" }[sign] || "") +
          (radius < 1 && radius > 0 ? `; halved in ${(Math.LN2 / -Math.log(radius)).toPrecision(2)} intervals` : ""),
      },
      {
        name: "window at equilibrium",
        value: window,
        unit: "packet",
        means: "of all flows together, in the interpretation that is chosen",
      },
      {
        name: "sum of the rates",
        value: sum / rate,
        unit: "1",
        means:
          `of all flows, over the link's rate of ${brief(rate)} packet/s (bandwidth-delay product ` +
          "over mean round-trip time); above 1 where packets wait in the queue, which the rates " +
          "leave out",
      },
      {
        name: "a flow's rate, largest",
        value: most[0],
        unit: "packet/s",
        means: "of the group that the code favours most",
      },
      {
        name: "a flow's rate, smallest",
        value: most[1],
        unit: "packet/s",
        means: "of the group that the code favours least",
      },
      { name: "Jain's index", value: index, means: "of all flows' rates; 1 where they are equal" },
      {
        name: "least possible Jain's index",
        value: worst,
        means: `what the index cannot fall below while round trips lie between 1 ms and ${longest.toPrecision(3)} s`,
      },
      {
        name: "errors within a cell",
        value: `${(100 * bounds[0]).toPrecision(3)} to ${(100 * bounds[1]).toPrecision(3)}`,
        unit: "%",
        means: "of the round-trip time that a router decodes, over the true one",
      },
    ],
  });
  return { index, load: sum / rate };
};

page("t-refwa", {
  draw(values, functions, figures, set, spec) {
    const {
      run,
      rows,
      states,
      closed: [phi, low, high],
      exact,
    } = functions.recursion;
    const n = states.length,
      x = new Float64Array(n + 4),
      out = new Float64Array(rows.length);
    x.set([values.phi, values.psi, values.bdp, values.buffer], n);
    const at = (state) => {
      x.set(state);
      run(x, out);
      return out;
    };
    const named = (word) => Float64Array.from(states, (s) => out[rows.indexOf(`${word} ${s}`)]);

    at(new Float64Array(n));
    const start = named("start"),
      rest = named("rest");
    /** Whether the states on either side of the equilibrium stay, too: then no window is special. */
    const anywhere = () =>
      [-1, 1].every((shift) => {
        const near = rest.map((v, i) => (states[i].startsWith("Q") ? Math.max(0, v + shift) : v + shift));
        at(near);
        return near.every((v, i) => Math.abs(out[rows.indexOf(`next ${states[i]}`)] - v) < 1e-9 * (1 + Math.abs(v)));
      });
    const observed = (state) => {
      at(state);
      const queue = states.includes("Q") ? state[states.indexOf("Q")] : out[rows.indexOf("Q")];
      return [out[rows.indexOf("Upsilon")], queue];
    };
    const motion = orbit(
      (i, state, past, next) => {
        next.set(at(state).subarray(0, n));
      },
      start,
      values.commands,
    ).map(observed);
    const all = anywhere(),
      [window, queue] = all ? [NaN, NaN] : observed(rest);
    const times = Float64Array.from(motion, (_, i) => i),
      level = (value) => new Float64Array(times.length).fill(value);
    const common = { x: times, xTitle: title("command", "interval"), linked: "interval" };
    figures.window.show({
      ...common,
      asks: "What window does each command give?",
      yTitle: title("window", "packet"),
      series: [
        { name: "commanded window", y: motion.map((o) => o[0]) },
        { name: "at equilibrium", y: level(window) },
        { name: "bandwidth-delay product", y: level(values.bdp) },
      ],
    });
    figures.queue.show({
      ...common,
      yTitle: title("queue", "packet"),
      series: [
        { name: "queue", y: motion.map((o) => o[1]) },
        { name: "at equilibrium", y: level(queue) },
        { name: "buffer", y: level(values.buffer) },
      ],
    });

    const slopes = new Float64Array(n * n);
    const radius = (shift) => {
      x.set(rest.map((v) => v + shift * (1 + Math.abs(v))));
      functions.tangent.run(x, slopes);
      return spectralRadius(slopes, n);
    };
    const [below, above, here] = [-1e-9, 1e-9, 0].map(radius); // the last leaves the slopes at equilibrium
    // the buffer is just full: either side has a multiplier of its own
    const bent = !all && !(Math.abs(above - below) < 1e-6 * (1 + below));
    const { index, load } = shares(
      values,
      functions.groups,
      figures,
      window,
      bent ? NaN : here,
      bent ? "" : turn(slopes, n, here),
      bent ? "undecided: the buffer is just full" : all ? "stay as they are: every window is an equilibrium" : "",
    );

    figures.chart.show({
      xTitle: "gain φ on spare bandwidth",
      yTitle: "gain ψ on free buffer",
      xRange: [0, TOP],
      yRange: [0, TOP],
      lines: [
        {
          name: "stable by the closed form",
          x: [...phi, ...[...phi].reverse()],
          y: [...low, ...[...high].reverse()],
          area: true,
        },
        {
          name: "boundary by exact roots",
          x: exact.flatMap(([px]) => [...px, NaN]),
          y: exact.flatMap(([, py]) => [...py, NaN]),
        },
        { name: "the paper's gains", x: [PUBLISHED[0]], y: [PUBLISHED[1]], points: true, ring: true },
        { name: "the sliders", x: [values.phi], y: [values.psi], points: true },
      ],
      pick: (x1, y1) => set({ phi: x1, psi: y1 }),
    });
    const { regions } = functions.regions,
      pick = (x1, y1) => set({ phi: x1, psi: y1 });
    figures.readings.show({ regions, phi: values.phi, psi: values.psi, top: TOP, pick });
    const fates = Object.values(regions).map((one) => within(one, values.phi, values.psi)),
      error = Math.max(...functions.groups.bounds.map(Math.abs));
    const printed = spec.facts.table[values.line],
      last = PROTOCOLS.length - 1;
    showTable(figures.table, printed);
    const end = bent
      ? "are undecided: the buffer is just full"
      : all
        ? "stay as they are: every window is an equilibrium"
        : fate(here, turn(slopes, n, here));
    const says = Number.isFinite(window)
      ? `Small deviations from equilibrium ${end}. At equilibrium all flows together have a ` +
        `window of ${inPackets(window)}; the queue holds ${inPackets(queue)}.`
      : `Small deviations ${end}.`;
    const of = (word) => fates.filter((one) => one === word).length;
    const measured = (row) => ["", ", low", ", high"].map((end) => printed[`fairness, packets${end}`][row]);
    return {
      says,
      about: {
        readings:
          `At φ = ${brief(values.phi)} and ψ = ${brief(values.psi)}, ${of("settles")} of ` +
          `${fates.length} interpretations ${of("settles") === 1 ? "settles" : "settle"}, ${of("does not")} ` +
          `${of("does not") === 1 ? "does" : "do"} not, ${of("edge")} ` +
          `${of("edge") === 1 ? "is" : "are"} on the edge.`,
        groups:
          `Jain's index of the rates is ${brief(index)}, by the six-bit code of round-trip times. ` +
          "The rates leave out " +
          `the wait in the queue: together they are ${percent(load)} of the link.`,
        code:
          `Within the code a decoded time is off by at most ${percent(error)}; beyond ` +
          `${brief(functions.groups.longest)} s the code ends.`,
        table:
          `On ${values.line} T-REFWA has a fairness of ${inEnds(measured(last))} in packets, and ` +
          `Reno ${inEnds(measured(0))}; 95 % intervals.`,
      },
      numbers: {
        window,
        queue,
        radius: here,
        settled: of("settles"),
        edge: of("edge"),
        readings: fates.length,
        filled: queue / values.buffer,
        index,
        worst: functions.groups.worst,
        error,
        longest: functions.groups.longest,
        packets_move: spec.facts.moves,
        fair_printed: printed["fairness, the paper"][last],
        packets_fair: measured(last),
        reno_printed: printed["fairness, the paper"][0],
        packets_reno: measured(0),
      },
    };
  },
});
