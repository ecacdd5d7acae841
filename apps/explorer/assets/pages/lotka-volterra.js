// @ts-check
import { element } from "../core/dom.js";
import { trajectory } from "../core/motion.js";
import { between, brief, percent, shown, title } from "../core/numbers.js";
import { page } from "../core/pages.js";
import { ask } from "../core/server.js";

const TOP = 4,
  MAP_TOP = 3, // above it the sum of a map leaves every interval
  ALWAYS = { joins: -1, leaves: 1e9 };
const STEPS = { before: 1000, kept: 64, gains: 190 },
  SPAN = { before: 240, kept: 60, gains: 48 };
const LEAST = 1e-290; // [packet/s], of which a share is still a number
const BOUNDED = ["delayed", "cross-delayed", "map", "stale", "held"]; // readings that can lose their stability
const exact = { key: "", curves: [], timer: 0 };
const ids = {},
  ends = { key: "", data: null, timer: 0, turn: 0 };

/** The flows' equations at values: slope(t, state, past, out), start, and what is printed beside them. */
const equations = (values, functions, begin = [values.begin_1, values.begin_n]) => {
  const { run, shares, inputs, delayed, map, lag } = functions.flows,
    n = shares.length;
  const names = inputs.slice(n + delayed + 1),
    x = new Float64Array(inputs.length),
    y = new Float64Array(functions.sent.inputs.length);
  const out = new Float64Array(functions.sent.size);
  const set = (more) => {
    const numbers = names.map((k) => (k in more ? more[k] : values[k]));
    x.set(numbers, n + delayed + 1);
    y.set(numbers, n + 1);
  };
  set({});
  const apart = (begin[1] - begin[0]) / (n - 1); // as NumPy's linspace, bit by bit
  return {
    n,
    map,
    lag,
    delayed,
    set,
    start: Float64Array.from(shares, (_, i) => (i < n - 1 ? i * apart + begin[0] : begin[1]) * values.capacity),
    slope: (t, state, past, to) => {
      x.set(state);
      if (delayed) x.set(past, n);
      x[n + delayed] = t;
      run(x, to);
    },
    lags: Array.from({ length: delayed }, () => ({ lag: values.delay })),
    /** Rates sent, and the model's fixed points. */
    sent: (t, state) => {
      y.set(state);
      y[n] = t;
      functions.sent.run(y, out);
      return Array.from(out.subarray(0, n));
    },
    rest: () => {
      functions.sent.run(y, out);
      return Array.from({ length: functions.sent.points }, (_, i) =>
        Array.from(out.subarray(n * (i + 1), n * (i + 2))),
      );
    },
  };
};

/**
 * States at times, of a map at its steps: {states, status, reached}, as `trajectory` gives them.
 *
 * The logarithms of the rates move, each within `error` a step: rates fall by hundreds of powers of ten in a trough,
 * and when they come back every digit of what they fell to counts. onStep(t, h, at): at(theta) is a state in a step.
 */
const moved = (flows, times, stops, { error = 1e-9, maxSteps = 20000, onStep = null } = {}) => {
  const { n } = flows;
  if (!flows.map) {
    const rates = new Float64Array(n),
      rated = (logs) => {
        for (let i = 0; i < n; i++) rates[i] = Math.exp(logs[i]);
        return rates;
      };
    const slope = (t, logs, past, to) => {
      // a share of itself, however small it is
      for (let i = 0; i < n; i++) rates[i] = Math.max(Math.exp(logs[i]), LEAST);
      flows.slope(t, rates, past, to);
      for (let i = 0; i < n; i++) to[i] /= rates[i];
    };
    const lags = flows.lags.map(({ lag }, i) => ({ lag, of: (t, logs) => Math.exp(logs[i]) }));
    const tell = onStep && ((t, h, at) => onStep(t, h, (theta) => rated(at(theta))));
    const { values, status, reached } = trajectory(slope, flows.start.map(Math.log), Array.from(times), {
      lags,
      rtol: 0,
      atol: error,
      maxSteps,
      stops,
      onStep: tell,
    });
    return { states: values.map((logs) => logs && logs.map(Math.exp)), status, reached };
  }
  const states = [flows.start];
  for (let i = 0; i + 1 < times.length; i++) {
    const next = new Float64Array(n);
    flows.slope(i, states[i], states[Math.max(0, i - flows.lag)], next);
    states.push(next);
  }
  return { states, status: "ok", reached: times[times.length - 1] };
};

/** One flow alone, from where flow 1 begins. */
const alone = (values, functions, times, isMap, first, error) => {
  const { run, inputs, delayed } = functions.alone,
    x = new Float64Array(inputs.length);
  x.set([values.epsilon, values.capacity], 2);
  const slope = (t, state, past, to) => {
    x[0] = state[0];
    x[1] = delayed ? past[0] : 0;
    run(x, to);
  };
  const flows = {
    n: 1,
    map: isMap,
    lag: 0,
    start: Float64Array.of(first),
    slope,
    lags: delayed ? [{ lag: values.delay }] : [],
  };
  return moved(flows, times, [], { error });
};

/** What of a motion is not drawn, or beyond numbers, in a sentence. */
const unfinished = ({ status, reached }, sent, times, far) => {
  if (status !== "ok") return ` The motion is shown until ${shown(reached)} RTT: there ${status}.`;
  const lost = sent.findIndex((rates) => rates.some((r) => !(Math.abs(r) < far)));
  return lost < 0
    ? ""
    : ` From ${shown(times[lost])} RTT on the rates are beyond what a link can carry and are not shown.`;
};

const halved = (low, high, positive) => {
  // where a sign changes, from positive at low
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (positive(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
};

/** Where flow i neither grows nor shrinks in the plane of the first and the last flow, the others at equilibrium. */
const nullclines = (flows, rest, top) => {
  const n = flows.n,
    state = Float64Array.from(rest),
    to = new Float64Array(n),
    places = between(1e-6 * top, top, 60);
  flows.set(ALWAYS);
  const grows = (i, a, b) => {
    state[0] = a;
    state[n - 1] = b;
    flows.slope(0, state, state, to);
    return (flows.map ? to[i] - state[i] : to[i]) > 0;
  };
  const line = (i, at) =>
    places.map((place) =>
      at(i, place, 1e-9 * top) ? halved(0, 4 * top, (z) => at(i, place, Math.max(z, 1e-9 * top))) : NaN,
    );
  const first = line(0, (i, b, a) => grows(i, a, b)),
    last = line(n - 1, (i, a, b) => grows(i, a, b));
  flows.set({});
  return { places, first, last };
};

/** Gains at which stability ends, across the chart; the top where it does not. */
const boundary = (values, functions, across, places) => {
  const point = { gamma: values.gamma, delay: values.delay },
    out = new Float64Array(1);
  return places.map((x) => {
    point[across] = x;
    const stable = (epsilon) => {
      functions.margin.run([epsilon, point.gamma, point.delay], out);
      return out[0] > 0;
    };
    return stable(2 * TOP) ? 2 * TOP : halved(1e-6, 2 * TOP, stable);
  });
};

/** Asks the server for the boundary by exact roots, a while after the last move; calls `show` when it is there.
 *  Not for flows alike: there the closed form is exact. */
const askBoundary = (spec, values, across, show) => {
  if (!spec.answers || !spec.served.length || values.ratio === 1 || !BOUNDED.includes(values.reading)) {
    Object.assign(exact, { key: "", curves: [] });
    clearTimeout(exact.timer);
    return;
  }
  const names = [
    "reading",
    "flows",
    "capacity",
    "ratio",
    ...(across === "delay" ? ["gamma"] : values.reading.endsWith("delayed") ? ["delay"] : []),
  ];
  const key = JSON.stringify([across, ...names.map((k) => values[k])]);
  if (key === exact.key) return;
  exact.key = key;
  exact.old = true;
  clearTimeout(exact.timer);
  const own = { ...values };
  exact.timer = setTimeout(async () => {
    let curves = [];
    try {
      ({ curves } = await ask(spec, "boundary", own));
    } catch {
      // without the curve, the closed form stands alone, until it is asked for again
      if (key === exact.key) exact.key = "";
    }
    if (key !== exact.key) return;
    Object.assign(exact, { curves, old: false });
    show();
  }, 300);
};

// ---- where the sum ends up, in slices of time so that sliders answer ----------------------------------------
/** The largest value of f between two places that hold one top, by golden sections. */
const top = (f, low, high) => {
  const part = (Math.sqrt(5) - 1) / 2;
  let [a, b] = [high - part * (high - low), low + part * (high - low)],
    [fa, fb] = [f(a), f(b)];
  for (let i = 0; i < 20; i++) {
    if (fa > fb) {
      [high, b, fb] = [b, a, fa];
      a = high - part * (high - low);
      fa = f(a);
    } else {
      [low, a, fa] = [a, b, fb];
      b = low + part * (high - low);
      fb = f(b);
    }
  }
  return Math.max(fa, fb);
};

/** What the sum ends in; a small gain takes `slow` times as long. */
const sumAfter = function (flows, capacity, slow) {
  const sum = (state) => state.reduce((a, b) => a + b, 0);
  if (flows.map) {
    let [state, before, next] = [
      Float64Array.from(flows.start),
      Float64Array.from(flows.start),
      new Float64Array(flows.n),
    ];
    const kept = [];
    const first = Math.ceil(slow * STEPS.before);
    for (let i = 0; i < first + STEPS.kept; i++) {
      flows.slope(i, state, flows.lag ? before : state, next);
      [before, state, next] = [state, next, before];
      const total = sum(state);
      if (!(Math.abs(total) < 100 * capacity)) return [];
      if (i >= first) kept.push(total);
    }
    return kept;
  }
  // The least and the largest value: what does not hang on when the motion swings.
  const from = slow * SPAN.before,
    best = [Infinity, -Infinity];
  const onStep = (t, h, at) => {
    if (t + h < from) return;
    const low = Math.max(0, (from - t) / h),
      place = (k) => low + (k * (1 - low)) / 4,
      of = (theta) => sum(at(theta));
    const samples = [0, 1, 2, 3, 4].map((k) => of(place(k)));
    [-1, 1].forEach((sign, i) => {
      const k = samples.reduce((most, v, j) => (sign * v > sign * samples[most] ? j : most), 0);
      if (sign * samples[k] < sign * best[i] - 0.1 * Math.abs(best[i])) return;
      best[i] =
        sign *
        Math.max(
          sign * best[i],
          sign * samples[k],
          top((theta) => sign * of(theta), place(Math.max(0, k - 1)), place(Math.min(4, k + 1))),
        );
    });
  };
  const { status } = moved(flows, [from + SPAN.kept], [], { error: 1e-10, maxSteps: 200000, onStep });
  return status === "ok" ? best : [];
};

/** The flows of the picture of ends: from the shares that they begin with there, all of them always active. */
const toEnds = (values, functions) => {
  const flows = equations(values, functions, [functions.flows.shares[0], functions.flows.shares.at(-1)]);
  flows.set(ALWAYS);
  return flows;
};

/** The next slice, some time after the last move. */
const later = () => {
  clearTimeout(ends.timer);
  ends.timer = setTimeout(ends.slice, 150);
};

const showEnds = (values, functions, figures) => {
  const names = ["reading", "flows", "gamma", "capacity", "ratio", "delay", "link"],
    figure = figures.ends;
  if (!figure.box) return;
  const key = JSON.stringify(names.map((k) => values[k]));
  const show = (marker) =>
    figure.show({
      ...ends.data,
      marker,
      range: [0, 1.05 * ends.data.y],
      xRange: [0, functions.flows.map ? MAP_TOP : TOP],
      xTitle: "gain ε",
      yTitle: title("sum of the rates", "packet/s"),
    });
  if (ends.box !== figure.box)
    Object.assign(ends, {
      box: figure.box,
      key: "",
      data: ends.data || { x: [0, TOP], series: [{ name: "sum of the rates", kind: "points", y: [NaN, NaN] }], y: 1 },
    });
  show(values.epsilon);
  if (key === ends.key) {
    if (ends.slice) later(); // a slider that moves comes first
    return;
  }
  ends.key = key;
  const turn = ++ends.turn;
  figure.box.classList.add("old");
  const own = { ...values },
    isMap = functions.flows.map;
  const gains = between(0.05, TOP, isMap ? STEPS.gains : SPAN.gains),
    x = [],
    y = [];
  const flows = toEnds(own, functions);
  let at = 0;
  const slice = () => {
    if (turn !== ends.turn) return;
    const until = performance.now() + 12;
    while (at < gains.length && performance.now() < until) {
      flows.set({ ...ALWAYS, epsilon: gains[at] });
      for (const total of sumAfter(flows, own.capacity, Math.max(1, 1 / gains[at]))) {
        x.push(gains[at]);
        y.push(total);
      }
      at++;
    }
    if (at < gains.length) {
      ends.timer = setTimeout(slice, 0);
      return;
    }
    ends.slice = null;
    ends.data = { x, series: [{ name: "sum of the rates", kind: "points", size: 4, y }], y: Math.max(1e-9, ...y) };
    figure.box.classList.remove("old");
    show(figure.data.marker);
  };
  ends.slice = slice;
  later();
};

/** Why all together send more than the link carries, where they do. */
const surplus = (values, sum) => {
  const link =
    values.reading === "link" || values.reading === "throughput"
      ? values.link
      : values.ratio === 1
        ? values.capacity
        : NaN;
  if (!(sum > 1.0005 * link)) return "";
  return (
    ` That is ${Number((100 * (sum / link - 1)).toPrecision(2))} % more than the ` +
    `${brief(link)} packet/s of the link: with a weight γ below 1 each flow leaves room for ` +
    "a fraction of the others only, and the surplus waits in the queue or is lost."
  );
};

/** Of the largest rate at equilibrium: so near to it the flows have settled. */
const CLOSE = 0.01;

/** The least delay at which the flows do not settle, as the margin has it. */
const criticalDelay = (values, functions) => {
  const out = new Float64Array(1);
  const settles = (delay) => {
    functions.margin.run([values.epsilon, values.gamma, delay], out);
    return out[0] > 0;
  };
  return settles(20) ? NaN : halved(1e-6, 20, settles);
};

/** What all flows send over the link, and packets where they were simulated. */
const showSums = (values, figures, { counts, windows, throughput }) => {
  const { gamma } = values,
    n = between(1, 20, 20),
    there = Math.abs(gamma - 0.9) < 1e-9;
  const by = { windows: (k) => k / (1 + (k - 1) * gamma), throughput: (k) => k * (1 - gamma) + gamma };
  const column = (rows, i) => Array.from(n, (k) => (there && counts.includes(k) ? rows[counts.indexOf(k)][i] : null));
  const packets = (name, rows) => ({
    name: `packets, ${name}`,
    kind: "points",
    y: column(rows, 0),
    low: column(rows, 1),
    high: column(rows, 2),
  });
  figures.sums.show({
    x: n,
    xTitle: "flows",
    yTitle: "sum of the rates over the link",
    marker: values.flows,
    series: [
      { name: "others' windows", y: Array.from(n, by.windows) },
      { name: "others' throughput", y: Array.from(n, by.throughput) },
      { name: "the paper's bound 1/γ", y: Array.from(n, () => (gamma ? 1 / gamma : NaN)) },
      packets("windows", windows),
      packets("throughput", throughput),
    ],
  });
  return {
    windows20: by.windows(20),
    throughput20: by.throughput(20),
    bound: 1 / gamma,
    packets_windows20: windows.at(-1),
    packets_throughput20: throughput.at(-1),
    packets_windows10: windows.at(-2),
  };
};

/** What the first of two flows gets in the network of Fig. 8: behind 10 Mbit/s, the other one behind 20. */
const showShares = (values, flows, figures, { links, shares, text, said }) => {
  const rates = between(5, 30, 51),
    scale = values.capacity / 10,
    tight = (rate) => [Math.min(rate, 10), Math.min(rate, 20)];
  const part = (rate) => {
    const [a, b] = tight(rate);
    flows.set({ ...ALWAYS, capacity: scale * a, ratio: b / a, link: scale * rate });
    const [settled] = flows.rest();
    return settled[0] / (settled[0] + settled[flows.n - 1]);
  };
  const column = (of) => Array.from(rates, (rate) => (links.includes(rate) ? of(links.indexOf(rate)) : null));
  figures.shares.show({
    x: rates,
    xTitle: title("rate of the link", "Mbit/s"),
    yTitle: "fraction of the first flow",
    yPercent: true,
    range: [0, 0.6],
    series: [
      { name: "at equilibrium", y: Array.from(rates, part) },
      {
        name: "eq. (9)",
        y: Array.from(rates, (rate) => {
          const [a, b] = tight(rate);
          return a / (a + b);
        }),
      },
      {
        name: "packets",
        kind: "points",
        y: column((i) => shares[i][0]),
        low: column((i) => shares[i][1]),
        high: column((i) => shares[i][2]),
      },
      {
        name: "the paper's text",
        kind: "points",
        y: Array.from(rates, (rate) => (text.includes(rate) ? said[text.indexOf(rate)] : null)),
      },
    ],
  });
  const at = part(12);
  flows.set({});
  return at;
};

page("lotka-volterra", {
  draws: "twice",

  draw(values, functions, figures, set, spec, moving) {
    const flows = equations(values, functions),
      { n, map } = flows,
      { capacity: K } = values;
    const times = map ? Float64Array.from({ length: values.end + 1 }, (_, i) => i) : between(0, values.end, 400);
    const stops = [values.joins, values.leaves];
    const error = moving ? 1e-7 : 1e-9;
    const motion = moved(flows, times, stops, { error }),
      sent = motion.states.map((state, i) => (state ? flows.sent(times[i], state) : new Array(n).fill(NaN)));
    const far = map ? 20 * K * values.ratio : Infinity; // a map that left its interval does not come back
    const lost = sent.findIndex((rates) => rates.some((r) => !(Math.abs(r) < far)));
    const rate = (i) => sent.map((rates, k) => (lost < 0 || k < lost ? rates[i] : NaN));
    const single = alone(values, functions, times, map, flows.start[0], error),
      one = single.states.map((state) => (state && Math.abs(state[0]) < far ? state[0] : NaN));
    figures.rates.show({
      x: times,
      xTitle: title("time", "RTT"),
      yTitle: title("rate", "packet/s"),
      linked: "time",
      asks: "What is the rate of flow 1 at each time?",
      series: [
        ...flows.start.reduce((all, _, i) => [...all, { name: `flow ${i + 1}`, y: rate(i) }], []),
        { name: "a flow alone (logistic)", y: one },
      ],
    });

    flows.set(ALWAYS);
    const [settled, solo, lone] = flows.rest();
    flows.set({});
    const [first, last] = [rate(0), rate(n - 1)];
    const top =
      1.05 *
      Math.max(
        K * values.ratio,
        ...first.filter(Number.isFinite).map((v) => Math.min(v, 3 * K * values.ratio)),
        ...last.filter(Number.isFinite).map((v) => Math.min(v, 3 * K * values.ratio)),
      );
    const { places, first: still, last: stillLast } = nullclines(flows, settled, top);
    figures.plane.show({
      xTitle: title("flow 1", "packet/s"),
      yTitle: title(`flow ${n}`, "packet/s"),
      xRange: [-0.06 * top, top],
      yRange: [-0.06 * top, top],
      lines: [
        {
          name: "motion",
          x: first,
          y: last.map((y, i) => (Number.isFinite(first[i]) ? y : NaN)),
          linked: "time",
          at: Array.from(times),
        },
        {
          name: "flow 1 is constant",
          x: still,
          y: Array.from(places, (p, i) => (Number.isFinite(still[i]) ? p : NaN)),
          dash: true,
        },
        { name: `flow ${n} is constant`, x: places, y: stillLast, dash: true },
        { name: "equilibrium of all flows", x: [settled[0]], y: [settled[n - 1]], points: true },
        {
          name: `flow 1 alone; flow ${n} alone; no flow`,
          x: [solo[0], 0, 0],
          y: [0, lone[n - 1], 0],
          points: true,
          ring: true,
        },
        { name: "start", x: [values.begin_1 * K], y: [values.begin_n * K], points: true },
      ],
      pick: (x, y) => set({ begin_1: x / K, begin_n: y / K }),
    });

    const delayed = values.reading.endsWith("delayed"),
      across = values.across === "delay" && delayed ? "delay" : "gamma";
    const high = across === "delay" ? 3 : 0.98,
      columns = Array.from(between(across === "delay" ? 0.02 : 0, high, 81)),
      edge = boundary(values, functions, across, columns);
    ids.showChart = () =>
      figures.chart.show({
        xTitle: across === "delay" ? title("delay τ", "RTT") : "weight of the others γ",
        yTitle: "gain ε",
        xRange: [0, across === "delay" ? 3 : 1],
        yRange: [0, TOP],
        lines: [
          {
            name: "stable, flows alike",
            x: [columns[0], ...columns, columns[80]],
            y: [0, ...edge.map((e) => Math.min(e, 1.02 * TOP)), 0],
            area: true,
          },
          {
            name: edge.some((e) => e < TOP) ? "boundary of stability" : "no boundary: always stable",
            x: columns,
            y: edge.map((e) => (e > 1.5 * TOP ? NaN : e)),
          },
          { name: "the sliders", x: [values[across]], y: [values.epsilon], points: true },
          ...(exact.key
            ? [
                {
                  name: exact.old
                    ? "by exact roots: old, the new one is being computed"
                    : `by exact roots, these access links${exact.curves.length ? "" : ": no boundary here"}`,
                  x: exact.curves.flatMap(([x]) => [...x, NaN]),
                  y: exact.curves.flatMap(([, y]) => [...y, NaN]),
                  dash: true,
                },
              ]
            : []),
        ],
        pick: (x, epsilon) => set({ [across]: x, epsilon }),
      });
    askBoundary(spec, values, across, () => ids.showChart());
    ids.showChart();

    const margin = new Float64Array(1);
    functions.margin.run([values.epsilon, values.gamma, values.delay], margin);
    const dead = settled.filter((r) => r <= 0).length,
      sum = settled.reduce((a, b) => a + b, 0),
      close = CLOSE * Math.max(...settled),
      there = sent
        .slice(Math.floor(0.9 * sent.length))
        .every((r) => r.every((v, i) => Math.abs(v - settled[i]) <= close)),
      alike = values.ratio === 1 ? "" : " (by the closed form for flows alike)";
    const fate = there
      ? `They settle in the time shown, to within ${percent(CLOSE)} of the equilibrium`
      : margin[0] > 0
        ? `The equilibrium is stable${alike}, but the flows do not reach it in the time shown`
        : `They do not settle: they move about the equilibrium${alike}`;
    const says =
      `${fate}. ` +
      `At equilibrium the first flow sends ${brief(settled[0])} packet/s, the last one ${brief(settled[n - 1])}, ` +
      `all together ${brief(sum)}${dead ? `; ${dead} of ${n} die out` : ""}.${surplus(values, sum)}` +
      unfinished(motion, sent, times, far);
    showEnds(values, functions, figures);
    const told = spec.facts.recorded,
      sums = showSums(values, figures, told),
      part = showShares(values, flows, figures, told);
    const late = first.slice(Math.floor(times.length / 2)).filter(Number.isFinite),
      [lowest, most] = [Math.min(...late), Math.max(...late)],
      least = lowest < 1e-6 * K ? 0 : lowest; // nothing, at the scale of the picture
    const brieflySaid = `${says.split(". That is")[0].replace(/\.$/, "")}.`,
      swings =
        ` In the second half of the time shown the first flow moves between ${brief(least)} and ` +
        `${brief(most)} packet/s.`;
    return {
      says,
      about: {
        rates:
          values.joins > values.end
            ? `Flow 1 is alone in the time shown. It ends at ${brief(first.at(-1))} packet/s.`
            : there || margin[0] > 0
              ? brieflySaid
              : `They do not settle.${swings}`,
        plane: brieflySaid,
        sums:
          `With a weight of ${brief(values.gamma)} twenty flows send ${brief(sums.windows20)} ` +
          `times the link where they measure windows, and ${brief(sums.throughput20)} times where ` +
          "they measure throughput.",
        shares:
          `In the model the flow behind 10 Mbit/s gets ${percent(part)} of a link of 12 Mbit/s; ` +
          `eq. (9) gives ${percent(10 / 22)}.`,
        ends:
          `At a gain of ${brief(values.epsilon)} the sum ` +
          (map && !sumAfter(toEnds(values, functions), K, 1).length
            ? "is not bounded, and no value is shown."
            : `${margin[0] > 0 ? "ends in one value" : "does not settle"}: the points on the dashed ` +
              "line are the values that it visits."),
      },
      numbers: {
        first: settled[0],
        last: settled[n - 1],
        sum,
        over: sum / K,
        fill: Math.log((0.99 / 0.01) * (0.9 / 0.1)) / values.epsilon,
        critical: criticalDelay(values, functions),
        low: least,
        high: most,
        part,
        ...sums,
      },
    };
  },
});
