// @ts-check
// A model that a reader types: its motion, its equilibrium, the roots there and the chart of stability.
import { MAX_ADDRESS, writtenOf } from "../core/address.js";
import { controlsOf } from "../core/controls.js";
import { element } from "../core/dom.js";
import { trajectory } from "../core/motion.js";
import { between, brief, readable } from "../core/numbers.js";
import { KINDS, page } from "../core/pages.js";
import { Plane } from "../core/plane.js";
import { parsed, withChart, withValues, Wrong } from "../models/equations.js";
import { CELLS, charted, followed, onEdge, ready, regions } from "../models/own.js";
import { programOf } from "../models/script.js";

const TIMES = 401,
  ROOTS = 6,
  PIECE = 6; // [ms] of the chart at a time
// What a step of the motion may be wrong by, and how many there may be.
const WHILE_MOVING = { rtol: 1e-4, atol: 1e-7, maxSteps: 1500 },
  AT_REST = { rtol: 1e-10, atol: 1e-13, maxSteps: 40000 };

/**
 * A plane whose table has the boundary in the order of the chart's edges. What is saved has all of it; an open table
 * shows what is computed so far.
 */
class Chart extends Plane {
  rows() {
    if (!this.filling) this.data.finish();
    return this.data.table;
  }

  fill() {
    this.filling = true;
    super.fill();
    this.filling = false;
  }

  kept() {
    this.data.finish();
    return super.kept();
  }
}
KINDS.chart = Chart;

/** What a page has beside its text: the sliders, the model, its chart, and the work on the chart. */
const states = new WeakMap();
const stateOf = (figures) => {
  if (!states.has(figures))
    states.set(figures, { sliders: "", text: "", form: "", key: "", shape: "", chart: null, work: null, next: null });
  return states.get(figures);
};

/** Sliders of the parameters and choices of the chart's axes, below the text. */
const showSliders = (state, model, text, set) => {
  const room = document.getElementById("control-model-made");
  if (!room) return;
  const names = model.parameters.map((one) => one.name);
  const key = JSON.stringify([
    model.parameters.map(({ name, low, high, log, means }) => [name, low, high, log, means]),
  ]);
  state.text = text;
  if (key !== state.sliders || !room.firstChild) {
    const values = Object.fromEntries(model.parameters.map((one) => [`own-${one.name}`, one.value]));
    const controls = model.parameters.map(({ name, low, high, log, means, value }) => ({
      name: `own-${name}`,
      meaning: means || name,
      symbol: means ? name : "",
      unit: "",
      step: (high - low) / 500,
      ...{ low, high, log, start: value },
    }));
    const moved = () => {
      const now = Object.fromEntries(names.map((name) => [name, values[`own-${name}`]])),
        before = Object.fromEntries(parsed(state.text).parameters.map((one) => [one.name, one.value]));
      const changed = Object.fromEntries(Object.entries(now).filter(([name, x]) => x !== before[name]));
      state.set({ model: withValues(state.text, changed) });
    };
    state.made = controlsOf(controls, values, moved);
    state.values = values;
    state.axes = ["across", "up"].map((way, i) => {
      const list = element(
        "select",
        { onchange: () => state.set({ model: withChart(state.text, ...axes(i, list.value)) }) },
        ...names.map((name) => element("option", { value: name }, name)),
      );
      return { list, label: element("label", {}, `chart ${way} `, list) };
    });
    /** Two different parameters: where both would be one, they change places. */
    const axes = (i, name) => {
      const now = state.axes.map(({ list }, k) => (k === i ? name : list.dataset.now));
      if (now[0] === now[1]) now[1 - i] = state.axes[i].list.dataset.now;
      return now;
    };
    const choices = names.length > 2 ? [element("p", { class: "axes" }, ...state.axes.map(({ label }) => label))] : [];
    room.replaceChildren(...Object.values(state.made).map(({ box }) => box), ...choices);
    state.sliders = key;
  }
  state.set = set;
  for (const one of model.parameters) {
    const name = `own-${one.name}`;
    if (state.values[name] === one.value) continue;
    state.values[name] = one.value;
    state.made[name].put(one.value);
  }
  state.axes.forEach(({ list }, i) => {
    list.value = list.dataset.now = names[model.axes[i]] || "";
  });
};

/** The motion from the start: the values of each state, and until when they go. */
const motion = (own, parameters, { lags, start }, moving) => {
  const { model } = own,
    times = between(0, model.end, TIMES);
  const past = model.pasts.map((one) => ({ lag: lags[one.delay], of: (t, state) => state[one.state] }));
  const slope = (t, state, pasts, out) => own.rate(t, state, pasts, parameters, out);
  const first = new Float64Array(start.length);
  slope(
    0,
    start,
    model.pasts.map((one) => start[one.state]),
    first,
  );
  if (!first.every(Number.isFinite)) return { times, values: times.map(() => NaN), status: "start", reached: 0 };
  const settings = { lags: past, history: () => start, ...(moving ? WHILE_MOVING : AT_REST) };
  return { times, ...trajectory(slope, start, Array.from(times), settings) };
};

const pointOf = (model, rest) => model.states.map(({ name }, i) => `${name} = ${brief(rest[i])}`).join(", ");
const period = (root) => (root && root.im !== 0 ? (2 * Math.PI) / Math.abs(root.im) : NaN);

const timed = (x) => (Number.isFinite(x) ? "time" : "");

/** The verdict on a leading root: a word of the chart. */
const verdictOf = (leading) => {
  if (!leading) return "";
  const small = 1e-9 * Math.hypot(leading.re, leading.im);
  return leading.re < -small ? "stable" : leading.re > small ? "unstable" : "on the boundary";
};

/** What is seen, in a sentence. */
const sentence = (model, rest, leading, smooth, line) => {
  if (model.driven) return "The equations depend on t: there is no equilibrium, and only the motion is shown.";
  if (!rest) return "No equilibrium was found around the start; only the motion is shown.";
  const place = `The equilibrium ${pointOf(model, rest)}`;
  if (line)
    return (
      `${place} is one of a line of equilibria: a disturbance along the line stays. A chart ` +
      "needs an equilibrium that stands alone."
    );
  if (!leading && smooth) return `${place} was found, but not the roots there.`;
  if (!leading) return `${place} lies where abs, min or max switches: no linear equation holds around it.`;
  const swings = leading.im ? ` and swings with a period of ${brief(period(leading))}` : "",
    verdict = verdictOf(leading);
  if (verdict === "on the boundary")
    return `${place} is on the boundary of stability: a small disturbance stays${swings}.`;
  const fate = verdict === "stable" ? "dies out" : "grows";
  const rate = Number(leading.re.toPrecision(3));
  return `${place} is ${verdict}: a small disturbance ${fate} like exp(${rate} t)${swings}.`;
};

/** From what size on a state at a motion's last step is one that grows without bound. */
const UNBOUNDED = 1e6;
/** What stopped a motion, in a sentence; empty where nothing did. */
const ended = (model, { status, reached, last = [] }) => {
  if (status === "ok") return "";
  if (status === "start")
    return " At the start a right-hand side is no finite number: a division by zero or an overflow.";
  const grown = model.states.filter((_, i) => !(Math.abs(last[i] ?? 0) < UNBOUNDED)).map(({ name }) => name);
  const why = grown.length ? `${grown.join(", ")} grow${grown.length > 1 ? "" : "s"} without bound` : status;
  return ` The motion is shown until t = ${readable(reached)}: there ${why}.`;
};

/** Crossings of the boundary as rows of a table, in the order of the chart's edges. */
const crossingsOf = (model, { xs, ys, crossings }) => {
  const [across, up] = model.axes.map((i) => model.parameters[i]),
    size = ys.length;
  const rows = Array.from(crossings, ([edge, s]) => {
    const [k, l] = edge.split(" ").map(Number),
      [i, j] = [Math.floor(k / size), k % size],
      along = l === k + 1 && size > 1;
    const x = along ? xs[i] : onEdge(xs[i], xs[i + 1], s, across.log),
      y = along ? onEdge(ys[j], ys[j + 1], s, up.log) : size > 1 ? ys[j] : 0;
    return { x, y, order: along ? [1, i, y] : [0, j, x] };
  });
  rows.sort((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1] || a.order[2] - b.order[2]);
  return rows.filter(({ x, y }) => Number.isFinite(x + y)).map(({ x, y }) => [x, y]);
};

/** The place on an axis that is no whole number. */
const along = (axis, i, log) => {
  const k = Math.min(CELLS - 1, Math.floor(i));
  return onEdge(axis[k], axis[k + 1], i - k, log);
};

/** The stable region, its boundary and the rows of the table, as far as a chart is known. */
const outlined = (model, chart, across, up) => {
  const pass = `${chart.step} ${chart.exact}`;
  if (chart.outline && chart.outline.pass === pass) return chart.outline;
  const onAxes = ([i, j]) => [along(chart.xs, i, across.log), along(chart.ys, j, up.log)],
    loops = up ? regions(chart) : [],
    gap = [NaN, NaN];
  const shade = loops.flatMap((loop) => [...loop.map(onAxes), gap]),
    edge = loops.flatMap((loop) => [...loop.map((one) => (one[2] ? onAxes(one) : gap)), gap]);
  return (chart.outline = { pass, shade, edge, spots: crossingsOf(model, chart) });
};

/** Draw the chart as far as it is known. */
const showChart = (figure, model, leading, state, set, text) => {
  const { chart } = state,
    verdict = verdictOf(leading),
    [across, up] = model.axes.map((i) => model.parameters[i]),
    two = up !== undefined;
  const mark = { name: `the sliders${verdict ? `: ${verdict}` : ""}`, points: true },
    { shade, edge, spots } = chart ? outlined(model, chart, across, up) : { shade: [], edge: [], spots: [] };
  const column = (rows, i) => rows.map((row) => row[i]);
  const growth =
    chart && !two ? Array.from(chart.xs, (x, i) => [x, chart.height[i]]).filter((row) => row[1] === row[1]) : [];
  const height = two ? up.value : leading ? leading.re : NaN;
  const rates = [...column(growth, 1), 0, ...(height === height ? [height] : [])],
    high = Math.max(...rates),
    low = Math.min(...rates),
    room = 0.05 * (high - low || 1);
  const yTitle = two ? up.name : "spectral abscissa [1/time]",
    named = ({ name, means }) => (means ? `${means}: ${name}` : name);
  figure.show({
    xTitle: named(across),
    yTitle: two ? named(up) : yTitle,
    xRange: [across.low, across.high],
    yRange: two ? [up.low, up.high] : [low - room, high + room],
    xLog: across.log,
    yLog: two && up.log,
    lines: two
      ? [
          { name: "stable", x: column(shade, 0), y: column(shade, 1), area: shade.length > 0, shade: true },
          { name: "boundary of stability", x: column(edge, 0), y: column(edge, 1) },
          { ...mark, x: [across.value], y: [up.value] },
        ]
      : [
          { name: "spectral abscissa", x: column(growth, 0), y: column(growth, 1) },
          { name: "boundary of stability", x: [across.low, across.high], y: [0, 0], dash: true, shade: true },
          ...(height === height ? [{ ...mark, x: [across.value], y: [height] }] : []),
        ],
    table: [
      ["line", across.name, yTitle],
      [mark.name, across.value, height],
      ...growth.map(([x, y]) => ["spectral abscissa", x, y]),
      ...spots.map(([x, y]) => ["boundary of stability", x, y]),
    ],
    finish: () => finish(state),
    pick: (x, y) => {
      const inside = (one, at) => Math.min(one.high, Math.max(one.low, at));
      const picked = { [across.name]: inside(across, x), ...(two ? { [up.name]: inside(up, y) } : {}) };
      set({ model: withValues(text, picked) });
    },
  });
};

/** Later, when nothing is to be painted. */
const whenIdle = (job) =>
  globalThis.requestIdleCallback ? requestIdleCallback(job, { timeout: 100 }) : setTimeout(job, 0);

/** One step of the chart in work; whether there is more of it to show. */
const stepped = (state) => {
  const { value, done } = state.work.steps.next();
  if (done) {
    state.work = null;
    if (!state.next) state.check();
  }
  if (done || !value) return false;
  state.work.seen = true;
  if (state.work.shape !== state.shape) return false;
  state.chart = Object.assign(value, { key: state.work.key });
  return true;
};

/** All of the newest chart, at once. */
const finish = (state) => {
  if (!state.work && !state.next) return;
  while (state.work || state.next) {
    if (state.next) Object.assign(state, { work: state.next, next: null });
    stepped(state);
  }
  state.show();
};

/** Work on charts in pieces, so that nothing waits: a first pass is finished, then the newest chart goes on. */
const work = (state, figure) => {
  if (state.working) return;
  state.working = true;
  const piece = () => {
    const until = performance.now() + PIECE;
    while (performance.now() < until) {
      if (state.next && (!state.work || state.work.seen)) {
        state.work = state.next;
        state.next = null;
      }
      if (!state.work || !figure.box.isConnected) {
        state.working = false;
        return;
      }
      if (stepped(state)) {
        state.show();
        break;
      }
    }
    whenIdle(piece);
  };
  whenIdle(piece);
};

/** Whether a chart's equilibria belong to the equilibrium at the sliders. */
const sameRest = (own, chart, parameters, rest) => {
  const size = chart.ys.length,
    [across, up] = own.model.axes;
  let best = -1,
    gap = Infinity;
  chart.rests.forEach((one, k) => {
    const [i, j] = [Math.floor(k / size), k % size];
    const share = (axis, index, m) =>
      m === undefined ? 0 : Math.abs(axis[index] - parameters[m]) / (axis[CELLS] - axis[0]);
    const far = share(chart.xs, i, across) + share(chart.ys, j, up);
    if (one && far < gap) [best, gap] = [k, far];
  });
  const start = ones(own.fixed(parameters).start);
  const there = best < 0 ? null : own.newton(parameters, chart.rests[best], start);
  return Boolean(there) && there.every((x, i) => Math.abs(x - rest[i]) <= 1e-6 * (Math.abs(x) + Math.abs(start[i])));
};

const factsOf = (model, { rest, leading, edge, computing }) => {
  const verdict = verdictOf(leading),
    none = model.driven ? "the equations depend on t" : "no equilibrium was found";
  return [
    {
      name: "small deviations",
      value: { stable: "die out", unstable: "grow", "on the boundary": "stay" }[verdict] || "no verdict",
      means: "around the equilibrium, by the linear equation there",
    },
    ...model.states.map(({ name }, i) => ({
      name: `${name} at equilibrium`,
      value: rest ? rest[i] : NaN,
      means: rest ? "where it does not change" : none,
    })),
    {
      name: "spectral abscissa",
      value: leading ? leading.re : NaN,
      unit: leading ? "1/time" : "",
      means: "the largest real part of the roots: the rate at which a disturbance grows",
    },
    {
      name: "period",
      value: period(leading),
      unit: timed(period(leading)),
      means: "of the swing that the leading root makes",
    },
    {
      name: "period on the boundary",
      value: computing ? "computing …" : period(edge && edge.root),
      unit: timed(period(edge && edge.root)),
      means: `where a grid line crosses the boundary nearest to the sliders${edge ? `: ${edge.place}` : ""}`,
    },
  ];
};

/** The place on the boundary that is nearest to the sliders, in words, and the leading root there. */
const nearestEdge = (own, chart, parameters, rest) => {
  const [across, up] = own.model.axes.map((i) => own.model.parameters[i]),
    share = ({ low, high, log }, x) => (log ? Math.log(x / low) / Math.log(high / low) : (x - low) / (high - low));
  const far = ([x, y]) =>
    (share(across, x) - share(across, across.value)) ** 2 + (up ? (share(up, y) - share(up, up.value)) ** 2 : 0);
  const { spots } = outlined(own.model, chart, across, up);
  if (!spots.length) return null;
  const [x, y] = spots.reduce((a, b) => (far(b) < far(a) ? b : a)),
    there = [...parameters];
  there[own.model.axes[0]] = x;
  if (up) there[own.model.axes[1]] = y;
  const still = followed(own, parameters, rest, x, y),
    found = still && own.leading(there, still, own.fixed(there).lags, 1);
  const place = [across, up].map((one, i) => one && `${one.name} = ${brief([x, y][i])}`);
  return found ? { root: found[0], place: place.filter(Boolean).join(", ") } : null;
};

page("own-model", {
  draws: "twice", // in a hurry while something moves

  draw(values, functions, figures, set, spec, moving) {
    for (const [name, figure] of Object.entries(figures))
      figure.code = () => programOf(values.model, name, spec.facts, startOf);
    const state = stateOf(figures),
      wrong = document.getElementById("control-model-wrong");
    let text = values.model,
      model;
    try {
      model = parsed(text);
      if (wrong)
        wrong.textContent =
          writtenOf(spec, values).length > MAX_ADDRESS - 100
            ? "The text is too long for an address: no link holds it."
            : "";
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      if (wrong) wrong.textContent = error.message;
      // the complaint below the text says what is wrong, once
      const said = wrong ? "" : `The text cannot be read: ${error.message}. `;
      if (state.read) return { says: `${said}The pictures are those of the last text that could be read.` };
      text = spec.controls[0].start;
      model = parsed(text);
      draw(state, text, model, figures, set, moving);
      return { says: `${said}The pictures are those of a fresh page.` };
    }
    state.read = true;
    return draw(state, text, model, figures, set, moving);
  },
});

/** Where a model starts at its own values. */
const startOf = (model) => ready(model).fixed(model.parameters.map((one) => one.value)).start;

/** A size for each state, of those that start at 0, too. */
const ones = (start) => start.map((one) => one || 1);

const draw = (state, text, model, figures, set, moving) => {
  showSliders(state, model, text, set);
  state.text = text;
  const own = ready(model),
    parameters = model.parameters.map((one) => one.value),
    fixed = own.fixed(parameters);
  if (!fixed.lags.every((lag) => lag >= 0 && Number.isFinite(lag)))
    return { says: "A delay is below 0 or no finite number at these values; the pictures are old." };
  if (!fixed.start.every(Number.isFinite))
    return { says: "A start is no finite number at these values; the pictures are old." };
  /** The equations, whatever the values. */
  const form = withValues(text, Object.fromEntries(model.parameters.map(({ name, low }) => [name, low]))),
    next = moving && state.rest && state.form === form ? own.newton(parameters, state.rest, ones(fixed.start)) : null,
    found = next ? [] : own.search(parameters),
    rest = next || (found[0] || { rest: null }).rest,
    all = (rest && own.leading(parameters, rest, fixed.lags, ROOTS)) || [],
    leading = all[0] || null;
  if (!next) {
    state.line = found.some((one) => one !== found[0] && own.inLine(parameters, rest, one.rest));
    state.many = found.length > 1 && !state.line ? ` ${found.length} equilibria were found; this one is charted.` : "";
  }
  Object.assign(state, { rest, form });
  const course = motion(own, parameters, fixed, moving);
  figures.motion.show({
    asks: `What is ${model.states[0].name} at each time?`,
    x: course.times,
    xTitle: "time",
    yTitle: model.states.map(({ name }) => name).join(", "),
    series: model.states.map(({ name }, i) => ({
      name,
      y: Float64Array.from(course.values, (one) => (one ? one[i] : NaN)),
    })),
  });
  showRoots(figures.roots, all);
  const facts = (edge, computing = false) =>
    figures.facts.show({ rows: factsOf(model, { rest, leading, edge, computing }) });
  const { box } = figures.chart,
    ranges = model.axes.map((i) => model.parameters[i]).map(({ name, low, high, log }) => [name, low, high, log]);
  const shape = JSON.stringify(ranges);
  if (shape !== state.shape || !rest) state.chart = null;
  state.shape = shape;
  state.show = () => {
    const exact = rest && state.chart && state.chart.exact && state.chart.key === state.key;
    showChart(figures.chart, model, leading, state, set, text);
    box.toggleAttribute("data-computing", Boolean(rest) && !exact);
    facts(exact ? nearestEdge(own, state.chart, parameters, rest) : null, Boolean(rest) && !exact);
  };
  const smooth = !rest || own.linear(parameters, rest, fixed.lags),
    said = sentence(model, rest, leading, smooth, state.line) + state.many + ended(model, course);
  if (!box) {
    facts(null);
    return { says: said, numbers: {} };
  }
  if (!rest) {
    state.key = "";
    state.next = null;
    state.show();
    return { says: said, numbers: {} };
  }
  const lows = Object.fromEntries(model.axes.map((i) => [model.parameters[i].name, model.parameters[i].low])),
    key = withValues(text, lows);
  const anew = () => Object.assign(state, { key, next: { steps: charted(own, parameters, rest), key, shape } });
  /** A chart is of other equilibria than that at the sliders: once a draw, it is made anew. */
  state.check = () => {
    const { chart } = state;
    if (chart && chart.exact && chart.key === key && !sameRest(own, chart, parameters, rest)) anew();
    state.check = () => {};
  };
  if (key !== state.key) anew();
  else if (!state.work && !state.next) state.check();
  state.show();
  work(state, figures.chart);
  const numbers = Object.fromEntries(model.states.map(({ name }, i) => [name, rest[i]]));
  return { says: said, numbers: { ...numbers, abscissa: leading ? leading.re : NaN, period: period(leading) } };
};

const showRoots = (figure, all) => {
  const [first] = all,
    leads = all.filter((one) => first && one.re === first.re && Math.abs(one.im) === Math.abs(first.im)),
    others = all.filter((one) => !leads.includes(one));
  const wide = Math.max(...all.map((one) => Math.abs(one.re)), 1e-9),
    high = Math.max(...all.map((one) => Math.abs(one.im)), 0.3 * wide);
  const right = Math.max(...all.map((one) => one.re), 0),
    left = Math.min(...all.map((one) => one.re), 0),
    room = 0.12 * (right - left || 1);
  const points = (name, rows) => ({ name, x: rows.map((one) => one.re), y: rows.map((one) => one.im), points: true });
  figure.show({
    xTitle: "real part [1/time]",
    yTitle: "imaginary part [1/time]",
    xRange: [left - room, right + room],
    yRange: [-1.1 * high, 1.1 * high],
    lines: [
      points("leading", leads),
      { name: "boundary of stability", x: [0, 0], y: [-1.1 * high, 1.1 * high], dash: true, shade: true },
      points("others", others),
    ],
  });
};
