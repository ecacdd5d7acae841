// @ts-check
import { element } from "../core/dom.js";
import { swing, trajectory } from "../core/motion.js";
import { between, brief, inPackets, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

const FLOWS = [0, 400],
  RTT = [0, 0.6];
// Errors that a step may have: where the queue leaves its buffer's end they grow a millionfold.
const WHILE_MOVING = 1e-5,
  AT_REST = 3e-12;

/** The boundary at a round-trip time: flows, base round-trip time, whether the queue rests inside, period. */
const crossing = ({ run, rows, size }, parameters) => {
  const [beyond, balance, inside, flows, base, period] = [
    "beyond",
    "balance",
    "inside",
    "flows",
    "base_rtt",
    "period",
  ].map((name) => rows.indexOf(name));
  const out = new Float64Array(size),
    x = Float64Array.of(0, 0, ...parameters);
  return (rtt) => {
    let low = 0,
      high = Math.PI;
    x[1] = rtt;
    for (let i = 0; i < 40; i++) {
      x[0] = (low + high) / 2;
      run(x, out);
      if (out[beyond] > 0 || out[balance] > 0) high = x[0];
      else low = x[0];
    }
    return [out[flows], out[base], out[inside] > 0 && out[base] > 0, out[period]];
  };
};

/** How many flows rest where the closed form holds, from the boundary on: all that the chart shows, or fewer. */
const upTo = ({ slopes, signal, rest }, values, flows, base) => {
  const { states, fields } = slopes,
    n = states.length,
    out = new Float64Array(rest.size);
  const now = new Float64Array(n + fields.length),
    signals = new Float64Array(2),
    x = new Float64Array(n + 3 + fields.length),
    speed = new Float64Array(n);
  const rests = (many) => {
    const parameters = fields.map((name) => (name === "flows" ? many : name === "base_rtt" ? base : values[name]));
    rest.run(parameters, out);
    const point = out.subarray(1, 1 + n);
    now.set(point);
    now.set(parameters, n);
    signal.run(now, signals);
    x.set(point);
    x.set([point[0], point[1], signals[0]], n);
    x.set(parameters, n + 3);
    slopes.run(x, speed);
    return (
      point[1] >= 0 &&
      point[1] <= values.buffer * (1 + 1e-12) &&
      Math.abs(speed[0]) * out[0] < 1e-6 * point[0] &&
      Math.abs(speed[1]) < 1e-6 * values.capacity
    );
  };
  let [low, high] = [flows, FLOWS[1]];
  if (low >= high || rests(high)) return high;
  for (let i = 0; i < 12; i++) {
    const middle = (low + high) / 2;
    if (rests(middle)) low = middle;
    else high = middle;
  }
  return low;
};

/** What becomes of a swing, in words. */
const fate = ({ change }) => {
  if (Math.abs(change) < 0.01) return "stays";
  return `${change < 0 ? "shrinks" : "grows"} by ${Math.abs(100 * change).toPrecision(2)} % each time`;
};

const facts = ({ judged, stable, delay, edge, rest, p, rtt, queue, window }) => {
  const height = (one) => (one ? one.high - one.low : NaN),
    one = queue || window;
  return [
    {
      name: "small deviations",
      value: judged ? (stable ? "die out" : "grow") : "no closed form",
      means: "whether the equilibrium is stable, by the exact linearisation",
    },
    { name: "window at equilibrium", value: rest[0], unit: "packet", means: "packets a flow has in flight" },
    { name: "queue at equilibrium", value: rest[1], unit: "packet", means: "packets that wait at the router" },
    { name: "marked at equilibrium", percent: true, value: p, means: "fraction of packets that is marked or lost" },
    { name: "round-trip time at equilibrium", value: rtt, unit: "s", means: "propagation and the wait in the queue" },
    {
      name: "swing of the queue",
      value: height(queue),
      unit: queue ? "packet" : "",
      means: queue
        ? `highest minus lowest in the last swing shown, which ${fate(queue)}`
        : "the queue does not swing at the end of what is shown",
    },
    {
      name: "swing of the window",
      value: height(window),
      unit: window ? "packet" : "",
      means: window
        ? `highest minus lowest in the last swing shown, which ${fate(window)}`
        : "the window does not swing at the end",
    },
    {
      name: "period",
      value: one ? one.period : NaN,
      unit: one ? "s" : "",
      means: one
        ? `from one swing to the next, ${(one.period / delay).toPrecision(3)} round trips`
        : "without a swing there is none",
    },
    {
      name: "period at the stability boundary",
      value: edge,
      unit: "s",
      means: "of the oscillation on the boundary of stability at this round-trip time",
    },
  ];
};

page("fluid-tcp", {
  draws: "twice", // in a hurry while a slider moves, then to the last digit

  draw(values, functions, figures, set, spec, moving) {
    const { slopes, signal, rest } = functions,
      { states, fields } = slopes,
      n = states.length;
    const parameters = fields.map((name) => values[name]);
    const x = new Float64Array(n + 3 + fields.length),
      now = new Float64Array(n + fields.length),
      signals = new Float64Array(2);
    x.set(parameters, n + 3);
    now.set(parameters, n);
    const mark = (state) => {
      now.set(state);
      signal.run(now, signals);
      return signals[0];
    };
    const slope = (t, state, past, out) => {
      x.set(state);
      x.set(past, n);
      slopes.run(x, out);
    };

    const out = new Float64Array(rest.size);
    rest.run(parameters, out);
    const delay = out[0],
      start = states.map((name) => (name === "W" ? 1 : 0));
    const points = Array.from({ length: rest.points }, (_, i) => out.slice(1 + i * n, 1 + (i + 1) * n));
    const still = points.find((point) => {
      const speed = new Float64Array(n);
      slope(0, point, [point[0], point[1], mark(point)], speed);
      return (
        point[1] >= 0 &&
        point[1] <= values.buffer * (1 + 1e-12) &&
        Math.abs(speed[0]) * delay < 1e-6 * point[0] &&
        Math.abs(speed[1]) < 1e-6 * values.capacity
      );
    });
    const [W, q] = still || [NaN, NaN],
      at = crossing(functions.boundary, parameters);
    const judged = still && (points.length === 1 || still === points[0]); // of a full queue with marks, no closed form
    const [critical, , , edge] = at(delay),
      stable = values.flows > critical,
      verdict = judged ? (stable ? ": stable" : ": unstable") : "";

    const times = between(0, values.end * delay, 601);
    const lags = [(t, state) => state[0], (t, state) => state[1], (t, state) => mark(state)].map((of) => ({
      lag: delay,
      of,
    }));
    const error = moving ? WHILE_MOVING : AT_REST;
    const {
      values: motion,
      status,
      reached,
    } = trajectory(slope, start, Array.from(times), { lags, rtol: error, atol: error, maxSteps: 40000 });
    const window = motion.map((s) => (s ? s[0] : NaN)),
      queue = motion.map((s) => (s ? s[1] : NaN));
    const level = (name, value) => ({ name, y: new Float64Array(times.length).fill(value) });
    const atRest = (value) => (still ? [level("at equilibrium", value)] : []);
    const full = Math.max(...queue, q || 0) > 0.3 * values.buffer; // a buffer far above would flatten the curve
    const common = { x: times, xTitle: title("time", "s"), linked: "time" };
    figures.window.show({
      ...common,
      yTitle: title("window", "packet"),
      series: [{ name: "window", y: window }, ...atRest(W)],
    });
    figures.queue.show({
      ...common,
      yTitle: title("queue", "packet"),
      series: [{ name: "queue", y: queue }, ...atRest(q), ...(full ? [level("buffer", values.buffer)] : [])],
    });

    const swings = (row, size) => {
      const s = row.every(Number.isFinite) && swing(times, row);
      return s && s.high - s.low > 1e-3 * size ? s : null;
    };
    const swung = { queue: swings(queue, Math.max(1, q || 0)), window: swings(window, W || 1) };
    const p = still ? mark(still) : NaN;
    figures.facts.show({
      rows: facts({ judged, stable, delay, edge, rest: [W, q], p, rtt: still ? signals[1] : NaN, ...swung }),
    });
    const last = swung.queue || swung.window,
      circle = (row) => (last ? row.slice(last.from, last.to + 1) : []);

    const finite = (row) => row.filter(Number.isFinite),
      most = { queue: Math.max(...finite(queue), q || 0, 1), window: Math.max(...finite(window), W || 0) };
    // else the equilibrium hides it
    const wide = ({ high, low }) => high - low > 0.05 * (swung.queue ? most.queue : most.window);
    figures.plane.show({
      xTitle: title("window", "packet"),
      yTitle: title("queue", "packet"),
      xRange: [0, 1.05 * most.window],
      yRange: [0, 1.05 * most.queue],
      lines: [
        { name: "motion", x: window, y: queue, linked: "time", at: times },
        {
          name: still ? `equilibrium${verdict}` : "no equilibrium in closed form",
          x: still ? [W] : [],
          y: still ? [q] : [],
          points: true,
        },
        ...(last && wide(last) ? [{ name: "last swing", x: circle(window), y: circle(queue) }] : []),
      ],
    });
    const curve = Array.from(between(0.005, 1.5, 120), at).filter(([, , inside]) => inside);
    const stableSide = curve.map(([flows, base]) => [upTo(functions, values, flows, base), base]).reverse();
    figures.chart.show({
      xTitle: "flows",
      yTitle: title("base round-trip time", "s"),
      xRange: FLOWS,
      yRange: RTT,
      lines: [
        ...(curve.length
          ? [
              {
                name: "stable",
                x: [...curve, ...stableSide].map((e) => e[0]),
                y: [...curve, ...stableSide].map((e) => e[1]),
                area: true,
                shade: true,
              },
            ]
          : []),
        { name: "boundary of stability", x: curve.map((e) => e[0]), y: curve.map((e) => e[1]) },
        { name: `the sliders${verdict}`, x: [values.flows], y: [values.base_rtt], points: true },
      ],
      pick: (x1, y1) => set({ flows: x1, base_rtt: y1 }),
      guess: verdict
        ? {
            question: "Does a small disturbance of the equilibrium die out?",
            choices: ["stable", "unstable"],
            answer: verdict.slice(2),
          }
        : undefined,
    });
    const fate = judged
      ? "The equilibrium is " +
        `${stable ? "stable: a small disturbance dies out" : "unstable: a small disturbance grows"}. `
      : "";
    const ended = status === "ok" ? "" : ` The motion is shown until ${brief(reached)} s: there ${status}.`;
    const at_rest = still
      ? `At equilibrium a flow has ${inPackets(W)} in flight and the queue holds ${inPackets(q)}.`
      : "There is no equilibrium in closed form.";
    const advice = ended && "Show fewer round trips.";
    return { says: fate + at_rest + ended, advice, numbers: { window: W, queue: q, critical } };
  },
});
