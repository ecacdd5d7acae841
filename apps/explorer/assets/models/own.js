// @ts-check
// A model that a reader typed, computed: its right-hand side and its derivatives from a tape, equilibria, their
// leading roots, and the chart of where one is stable.
import { written } from "./equations.js";
import { roots } from "./roots.js";

/** @typedef {import("./equations.js").Node} Node */
/** @typedef {import("./equations.js").Model} Model */

const UNARY = {
  exp: [Math.exp, (a, v) => v],
  log: [Math.log, (a) => 1 / a],
  sqrt: [Math.sqrt, (a, v) => 0.5 / v],
  sin: [Math.sin, (a) => Math.cos(a)],
  cos: [Math.cos, (a) => -Math.sin(a)],
  tanh: [Math.tanh, (a, v) => 1 - v * v],
  abs: [Math.abs, (a) => Math.sign(a)],
  neg: [(a) => -a, () => -1],
};
/** Operations by number, as `run` has them. */
const CODES = ["number", "+", "-", "*", "/", "^", "min", "max", ...Object.keys(UNARY)];
const KINK = 1e-9;
/** How far, in parts of a state, an equilibrium may be unknown where its equations are singular. */
const SINGULAR = 1e-6;
/** Of the chart's largest height, and of the leading root at the sliders: what lies on the boundary. */
const MARGINAL = 1e-7,
  STILL = 1e-9;

/**
 * A tape of a model's expressions. Inputs: t, states, pasts, parameters. `run(x)` gives the outputs; `slopes(x)` also
 * their derivatives by states and pasts, and whether abs, min or max is at its kink.
 * @param {Model} model
 * @param {Node[]} outputs
 */
const tapeOf = (model, outputs) => {
  const n = model.states.length,
    m = model.pasts.length,
    inputs = 1 + n + m + model.parameters.length;
  const steps = /** @type {{ kind: string, a: number, b: number, of: any }[]} */ ([]),
    constants = /** @type {[number, number][]} */ ([]),
    shorts = new Map(),
    numbers = new Map();
  const keep = (kind, a = -1, b = -1) => {
    steps.push({ kind, a, b, of: UNARY[kind] });
    return inputs + steps.length - 1;
  };
  /** @param {Node} node @returns {number} */
  const put = (node) => {
    const [first, second] = node.args || [];
    if (node.kind === "number") {
      if (!numbers.has(node.value)) {
        numbers.set(node.value, keep("number"));
        constants.push([numbers.get(node.value), /** @type {number} */ (node.value)]);
      }
      return numbers.get(node.value);
    }
    if (node.kind === "name") {
      if (node.name === "t") return 0;
      const state = model.states.findIndex((one) => one.name === node.name),
        parameter = model.parameters.findIndex((one) => one.name === node.name);
      if (state >= 0) return 1 + state;
      if (parameter >= 0) return 1 + n + m + parameter;
      if (!shorts.has(node.name)) shorts.set(node.name, put(/** @type {Node} */ (model.short.get(String(node.name)))));
      return shorts.get(node.name);
    }
    if (node.kind === "past") {
      const delay = model.keys.indexOf(written(first)),
        state = model.states.findIndex((one) => one.name === node.name);
      return 1 + n + model.pasts.findIndex((one) => one.state === state && one.delay === delay);
    }
    const a = put(first);
    return keep(node.kind, a, second === undefined ? -1 : put(second));
  };
  const places = outputs.map(put),
    values = new Float64Array(inputs + steps.length),
    out = new Float64Array(places.length);
  for (const [place, value] of constants) values[place] = value;
  const codes = Uint8Array.from(steps, ({ kind }) => CODES.indexOf(kind)),
    firsts = Int32Array.from(steps, ({ a }) => a),
    seconds = Int32Array.from(steps, ({ b }) => b);
  const run = (x) => {
    values.set(x);
    for (let i = 0, k = inputs; i < codes.length; i++, k++) {
      const u = values[firsts[i]],
        v = values[seconds[i]];
      switch (codes[i]) {
        case 0: // a number stands there from the beginning
          break;
        case 1:
          values[k] = u + v;
          break;
        case 2:
          values[k] = u - v;
          break;
        case 3:
          values[k] = u * v;
          break;
        case 4:
          values[k] = u / v;
          break;
        case 5:
          values[k] = u ** v;
          break;
        case 6:
          values[k] = Math.min(u, v);
          break;
        case 7:
          values[k] = Math.max(u, v);
          break;
        default:
          values[k] = UNARY[CODES[codes[i]]][0](u);
      }
    }
    for (let i = 0; i < out.length; i++) out[i] = values[places[i]];
    return out;
  };
  const wide = n + m,
    rows = Array.from({ length: inputs + steps.length }, () => new Float64Array(wide));
  for (let i = 0; i < wide; i++) rows[1 + i][i] = 1;
  const slopes = (x) => {
    run(x);
    let kink = false;
    for (let i = 0, k = inputs; i < steps.length; i++, k++) {
      const { kind, a, b, of } = steps[i],
        [u, v, w] = [values[a], values[b], values[k]],
        row = rows[k];
      if (kind === "number") continue;
      let da = 1,
        db = 0;
      if (of) da = of[1](u, w);
      else if (kind === "+") db = 1;
      else if (kind === "-") db = -1;
      else if (kind === "*") [da, db] = [v, u];
      else if (kind === "/") [da, db] = [1 / v, -w / v];
      else if (kind === "^") [da, db] = [v === 0 ? 0 : v * u ** (v - 1), w === 0 ? 0 : w * Math.log(u)];
      else [da, db] = kind === "min" ? [u <= v ? 1 : 0, u <= v ? 0 : 1] : [u >= v ? 1 : 0, u >= v ? 0 : 1];
      const first = rows[a],
        second = b < 0 ? null : rows[b];
      let moves = false;
      for (let j = 0; j < wide; j++) {
        // what does not move has no part, whatever its factor: 0 times infinity
        row[j] = (first[j] && da * first[j]) + (second && second[j] ? db * second[j] : 0);
        moves ||= first[j] !== 0 || (second !== null && second[j] !== 0);
      }
      if (kind === "abs") kink ||= moves && Math.abs(u) < KINK;
      if (kind === "min" || kind === "max") kink ||= moves && Math.abs(u - v) <= KINK * (Math.abs(u) + Math.abs(v));
    }
    return { values: out, rows: places.map((place) => rows[place]), kink };
  };
  return { run, slopes };
};

/** The solution of a small linear system; null where there is none. */
const solved = (matrix, right) => {
  const n = right.length,
    a = matrix.map((row, i) => [...row, right[i]]);
  for (let k = 0; k < n; k++) {
    let pivot = k;
    for (let i = k + 1; i < n; i++) if (Math.abs(a[i][k]) > Math.abs(a[pivot][k])) pivot = i;
    [a[k], a[pivot]] = [a[pivot], a[k]];
    if (!(Math.abs(a[k][k]) > 0)) return null;
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const f = a[i][k] / a[k][k];
      if (f !== 0) for (let j = k; j <= n; j++) a[i][j] -= f * a[k][j];
    }
  }
  const x = a.map((row, i) => row[n] / row[i]);
  return x.every(Number.isFinite) ? x : null;
};

/** Zero, where rounding alone is left of it. */
const rounded = (state, start) => state.map((x, i) => (Math.abs(x) < 1e-14 * Math.abs(start[i]) ? 0 : x));

/** Where a slope's changes of sign are looked for: decades of the start's size, and places in each. */
const DECADES = 12,
  PLACES = 20;
/** Multiples of the start at which a search for an equilibrium begins. */
const FACTORS = [1, 0.1, 10, 0.01, 100, -1],
  SOME = [0.1, 10, 0.01, 100];

/** How far a state at equilibrium is from its start's side of zero: on it (0), at zero (1) or beyond (2). */
const sideOf = (part) => (part < -1e-9 ? 2 : part <= 1e-9 ? 1 : 0);

/**
 * A model, ready: everything of it is computed at values of its parameters.
 * @param {Model} model
 */
export const ready = (model) => {
  const n = model.states.length,
    m = model.pasts.length;
  const tape = tapeOf(
      model,
      model.states.map((one) => one.slope),
    ),
    still = tapeOf(model, [...model.delays, ...model.states.map((one) => one.start)]);
  const x = new Float64Array(1 + n + m + model.parameters.length);
  const load = (parameters) => x.set(parameters, 1 + n + m);

  /** Delays and starts. @param {ArrayLike<number>} parameters */
  const fixed = (parameters) => {
    load(parameters);
    const all = Array.from(still.run(x));
    return { lags: all.slice(0, model.delays.length), start: all.slice(model.delays.length) };
  };
  const rate = (t, state, past, parameters, out) => {
    load(parameters);
    x[0] = t;
    x.set(state, 1);
    x.set(past, 1 + n);
    out.set(tape.run(x));
  };
  /** The right-hand side where nothing moves, and its derivatives. */
  const resting = (state) => {
    x[0] = 0;
    x.set(state, 1);
    model.pasts.forEach((one, i) => (x[1 + n + i] = state[one.state]));
    return tape.slopes(x);
  };
  /** Newton's step, and how long it is compared with the state. */
  const ahead = (state, start) => {
    const { values, rows } = resting(state),
      jacobian = rows.map((row) => {
        const all = Array.from(row.subarray(0, n));
        model.pasts.forEach((one, i) => (all[one.state] += row[n + i]));
        return all;
      });
    if (!values.every(Number.isFinite)) return null;
    if (values.every((one) => one === 0)) return { step: values, jacobian, length: 0 }; // there, however singular
    const step = solved(jacobian, Array.from(values));
    return step && { step, jacobian, length: measured(step, state, start) };
  };
  const measured = (step, state, start) =>
    Math.max(...step.map((one, i) => Math.abs(one) / (Math.abs(state[i]) + 1e-3 * Math.abs(start[i]) + 1e-12)));
  /** The equilibrium that Newton's method finds from a state; null without one. */
  const newton = (parameters, from, start) => {
    load(parameters);
    let state = Array.from(from),
      now = ahead(state, start);
    for (let turn = 0; now && turn < 60; turn++) {
      if (now.length < 1e-13) return rounded(state, start);
      let factor = 1,
        next = null,
        tried = state;
      for (; factor > 1e-3; factor /= 2) {
        const share = factor;
        tried = state.map((one, i) => one - share * now.step[i]);
        next = ahead(tried, start);
        // the step that the old derivatives would make from there is shorter, or this one goes too far
        const again = next && solved(now.jacobian, Array.from(resting(tried).values));
        if (again && measured(again, state, start) <= (1 - factor / 4) * now.length) break;
      }
      if (!next || factor <= 1e-3) return now.length < SINGULAR ? rounded(state, start) : null;
      [state, now] = [tried, next];
    }
    return now && now.length < SINGULAR ? rounded(state, start) : null;
  };
  /** The matrices at equilibrium, and how long ago they look. */
  const linear = (parameters, rest, lags) => {
    load(parameters);
    const { rows, kink } = resting(rest);
    if (kink) return null;
    const now = rows.map((row) => Array.from(row.subarray(0, n))),
      past = lags.map((lag) => ({ lag, matrix: rows.map(() => new Array(n).fill(0)) }));
    model.pasts.forEach((one, k) =>
      rows.forEach((row, i) => {
        if (lags[one.delay] > 0) past[one.delay].matrix[i][one.state] += row[n + k];
        else now[i][one.state] += row[n + k];
      }),
    );
    return { now, past: past.filter(({ lag }) => lag > 0) };
  };
  /** The rightmost roots at equilibrium; null on a kink. */
  const leading = (parameters, rest, lags, count) => {
    const matrices = linear(parameters, rest, lags);
    return matrices && roots(matrices, count);
  };
  const abscissa = (parameters, rest, lags) => {
    const first = rest && leading(parameters, rest, lags, 1);
    return first ? first[0].re : NaN;
  };
  /** Of one state: the place of each change of sign of its slope, far around the start. */
  const between = (parameters, size) => {
    load(parameters);
    const sides = Array.from({ length: DECADES * PLACES + 1 }, (_, i) => size * 10 ** (i / PLACES - DECADES / 2)),
      places = [...sides.map((one) => -one).reverse(), ...sides],
      slope = (one) => resting([one]).values[0],
      slopes = places.map(slope);
    return places.flatMap((low, i) => {
      const high = places[i + 1],
        [a, b] = [slopes[i], slopes[i + 1]];
      if (!(a < 0 ? b > 0 : a > 0 && b < 0)) return [];
      const share = crossingOf((s) => slope(low + (high - low) * s), a, b);
      return Number.isFinite(share) ? [[low + (high - low) * share]] : [];
    });
  };
  /**
   * Equilibria that are found around the start, the least unstable first; before them those on the start's side of
   * zero, then those with a state at zero.
   */
  const search = (parameters) => {
    const { lags, start } = fixed(parameters);
    if (model.driven || !lags.every((lag) => lag >= 0 && Number.isFinite(lag))) return [];
    const base = start.map((one) => one || 1),
      from = [start, ...FACTORS.map((f) => base.map((one) => f * one))];
    if (n > 1)
      for (let i = 0; i < n; i++) for (const f of SOME) from.push(base.map((one, j) => (i === j ? f * one : one)));
    if (n === 1) from.push(...between(parameters, Math.abs(base[0])));
    const found = /** @type {{ rest: number[], abscissa: number, aside: number }[]} */ ([]);
    load(parameters);
    const residual = (state) => Math.max(...Array.from(resting(state).values, Math.abs)),
      usual = Math.max(...from.map(residual).filter(Number.isFinite)); // how fast it moves elsewhere
    for (const one of from) {
      const rest = newton(parameters, one, base);
      // a derivative without bound stops Newton's method where there is no equilibrium
      if (rest && !(residual(rest) <= 1e-6 * usual)) continue;
      const near = (other) =>
        rest.every((r, i) => Math.abs(r - other.rest[i]) <= 1e-6 * (Math.abs(r) + Math.abs(base[i])));
      if (!rest || found.some(near)) continue;
      const aside = Math.max(...rest.map((r, i) => (start[i] ? sideOf(r / start[i]) : 0)));
      found.push({ rest, abscissa: abscissa(parameters, rest, lags), aside });
    }
    const order = (one) => (Number.isNaN(one.abscissa) ? Infinity : one.abscissa);
    return found.sort((a, b) => a.aside - b.aside || order(a) - order(b));
  };
  /** Whether nothing moves between two equilibria either: then a line of them goes through both. */
  const inLine = (parameters, one, other) => {
    load(parameters);
    return [0.31, 0.77].every((share) => {
      const state = one.map((x, i) => x + share * (other[i] - x)),
        { values, rows } = resting(state),
        sizes = [...state, ...model.pasts.map((past) => state[past.state])].map(Math.abs);
      const most = (row) => sizes.reduce((sum, size, j) => sum + Math.abs(row[j]) * size, 0);
      return values.every((v, i) => Math.abs(v) <= 1e-12 * most(rows[i]));
    });
  };
  return { model, fixed, rate, newton, linear, leading, abscissa, search, inLine };
};

/** Cells of the chart in each direction, and how far apart the places of its passes are. */
export const CELLS = 40,
  PASSES = [4, 2, 1];
/**
 * From the sliders (0) to a place of the chart (1): the first step, the longest (another if one fell on a place where
 * two rests meet), the shortest, one for slopes and the last. A rest that is found off where the steps before lead, by
 * more than JUMP of the step and SLACK of its size, is another one.
 */
const FIRST = 1 / 64,
  LONGEST = [1 / 16, 1 / 27, 1 / 39],
  LEAST = 1 / 4096,
  NEAR = 1e-5,
  END = 1 / 64,
  JUMP = 0.02,
  SLACK = 2e-4;
/** Halvings of an edge of the chart before its last part is taken as straight, and how far its ends' slopes reach. */
const HALVINGS = 14,
  SLOPE = 1e-3;

/** The places of a parameter's axis. */
export const axisOf = ({ low, high, log }) =>
  Float64Array.from({ length: CELLS + 1 }, (_, i) =>
    i === CELLS ? high : log ? low * (high / low) ** (i / CELLS) : low + ((high - low) * i) / CELLS,
  );
/** Zero of f between 0 and 1, where it has fa and fb. */
const crossingOf = (f, fa, fb) => {
  let [a, b] = [0, 1],
    side = 0;
  for (let i = 0; i < 80 && b - a > 1e-12; i++) {
    const c = i % 4 === 3 ? (a + b) / 2 : (a * fb - b * fa) / (fb - fa),
      fc = f(c);
    if (!Number.isFinite(fc)) return NaN;
    if (fc === 0) return c;
    if (fc < 0 === fb < 0) {
      if (side === 1) fa /= 2;
      [b, fb, side] = [c, fc, 1];
    } else {
      if (side === -1) fb /= 2;
      [a, fa, side] = [c, fc, -1];
    }
  }
  return (a + b) / 2;
};

/**
 * The rest at a place of the chart: followed straight from the sliders, each step from where the three points before it
 * lead; null where it ends.
 * @param {ReturnType<typeof ready>} own
 * @param {number[]} values of all parameters
 * @param {number[]} rest at the values
 * @param {number} x @param {number} y of the chart's parameters
 */
export const followed = (own, values, rest, x, y) =>
  LONGEST.reduce(
    (found, longest) => found || walked(own, values, rest, x, y, longest),
    /** @type {number[] | null} */ (null),
  );

const walked = (own, values, rest, x, y, longest) => {
  const { parameters, axes } = own.model,
    [across, up] = axes,
    base = sizes(own, values);
  const at = (s) => {
    const there = [...values];
    there[across] = onEdge(values[across], x, s, parameters[across].log);
    if (up !== undefined) there[up] = onEdge(values[up], y, s, parameters[up].log);
    return there;
  };
  const near = own.newton(at(NEAR), rest, base);
  let now = rest,
    slope = rest.map((one, i) => (near ? (near[i] - one) / NEAR : 0)),
    bend = rest.map(() => 0),
    [s, size, last] = [0, FIRST, 0];
  while (s < 1) {
    const step = Math.min(size, (s < 1 - END ? 1 - END : 1) - s),
      lead = now.map((one, i) => one + step * (slope[i] + (step + last) * bend[i])),
      next = own.newton(at(s + step), lead, base);
    const within = (one, i) =>
      Math.abs(one - lead[i]) <= JUMP * Math.abs(lead[i] - now[i]) + SLACK * (Math.abs(now[i]) + 0.1 * base[i]);
    if (next && next.every(within)) {
      const before = slope,
        since = step + last,
        from = now;
      slope = next.map((one, i) => (one - from[i]) / step);
      bend = slope.map((one, i) => (one - before[i]) / since);
      [now, s, last, size] = [next, s + step, step, Math.min(2 * step, longest)];
    } else if (step > LEAST) size = step / 2;
    else return null;
  }
  return now;
};
/** A size for each state, of those that start at 0, too. */
const sizes = (own, values) => own.fixed(values).start.map((one) => Math.abs(one) || 1);

/**
 * Where on an edge a growth crosses zero, whose two ends have opposite signs. The rests between are looked for where a
 * cubic of the edge leads, so that another that crosses this one there is not taken for it.
 * @param {(s: number, lead: number[]) => number[] | null} restAt
 * @param {(s: number, rest: number[] | null) => number} growthAt
 * @param {number[]} one @param {number[]} other rests at the ends
 * @param {number} fa @param {number} fb growth there
 */
const crossed = (restAt, growthAt, one, other, fa, fb) => {
  const slopes = [restAt(SLOPE, one), restAt(1 - SLOPE, other)];
  const chord = one.map((_, i) => other[i] - one[i]),
    [rise, fall] = slopes.map((near, k) =>
      chord.map((straight, i) => (near ? (k ? other[i] - near[i] : near[i] - one[i]) / SLOPE : straight)),
    );
  const cubic = (s) =>
    one.map((x, i) => x + s * chord[i] + s * (1 - s) * ((1 - s) * (rise[i] - chord[i]) - s * (fall[i] - chord[i])));
  let [a, b, left, right] = [0, 1, one.map(() => 0), one.map(() => 0)]; // how far the rests are off the cubic
  for (let k = 0; k < HALVINGS; k++) {
    const s = (a + b) / 2,
      straight = cubic(s),
      rest = restAt(
        s,
        straight.map((x, i) => x + (left[i] + right[i]) / 2),
      ),
      f = growthAt(s, rest);
    const off = rest ? rest.map((x, i) => x - straight[i]) : right;
    if (f < 0 === fa < 0) [a, fa, left] = [s, f, off];
    else [b, fb, right] = [s, f, off];
  }
  return Number.isFinite(fa - fb) ? a + ((b - a) * fa) / (fa - fb) : (a + b) / 2;
};

/**
 * The chart of two parameters (or of one: its row), pass by pass; yields after each piece of work, with the pass that
 * is done. Each place has the rest that is followed straight from the sliders.
 * @param {ReturnType<typeof ready>} own
 * @param {number[]} values of all parameters
 * @param {number[]} rest at the values
 */
export function* charted(own, values, rest) {
  const [across, up] = own.model.axes,
    xs = axisOf(own.model.parameters[across]),
    ys = up === undefined ? Float64Array.of(NaN) : axisOf(own.model.parameters[up]);
  const size = ys.length,
    rests = /** @type {(number[] | null)[]} */ (new Array(xs.length * size).fill(null)),
    height = new Float64Array(xs.length * size).fill(NaN),
    done = new Uint8Array(xs.length * size);
  const at = (x, y) => {
    const out = [...values];
    out[across] = x;
    if (up !== undefined) out[up] = y;
    return out;
  };
  const [root] = own.leading(values, rest, own.fixed(values).lags, 1) || [],
    still = root ? STILL * Math.hypot(root.re, root.im) : 0;
  const visit = (i, j) => {
    const k = i * size + j;
    if (done[k]) return;
    done[k] = 1;
    const parameters = at(xs[i], ys[j]);
    rests[k] = followed(own, values, rest, xs[i], ys[j]);
    const growth = own.abscissa(parameters, rests[k], own.fixed(parameters).lags);
    height[k] = Math.abs(growth) <= still ? 0 : growth;
  };
  const chart = {
    xs,
    ys,
    height,
    rests,
    step: 0,
    crossings: /** @type {Map<string, number>} */ (new Map()),
    exact: false,
  };
  for (const step of PASSES) {
    for (let i = 0; i <= CELLS; i += step)
      for (let j = 0; j < size; j += step) {
        visit(i, j);
        yield null;
      }
    chart.step = step;
    yield chart;
  }
  const marginal = MARGINAL * height.reduce((most, one) => (Math.abs(one) > most ? Math.abs(one) : most), 0);
  height.forEach((one, k) => Math.abs(one) <= marginal && (height[k] = 0));
  // zero next to a place without an equilibrium: two of them meet and end there, and nothing crosses
  const ends = Array.from(height, (one, k) => {
    const [i, j] = [Math.floor(k / size), k % size],
      neighbours = [
        i && height[k - size],
        i < CELLS && height[k + size],
        j && height[k - 1],
        j < size - 1 && height[k + 1],
      ];
    return one === 0 && neighbours.some((x) => Number.isNaN(x));
  });
  ends.forEach((one, k) => one && (height[k] = NaN));
  // without a stable place, the boundary is that of the unstable ones
  const sign = height.some((one) => one < 0) ? 1 : -1;
  const base = sizes(own, values);
  for (let i = 0; i <= CELLS; i++)
    for (let j = 0; j < size; j++)
      for (const [di, dj] of [
        [1, 0],
        [0, 1],
      ]) {
        if (i + di > CELLS || j + dj >= size) continue;
        const [k, l] = [i * size + j, (i + di) * size + j + dj],
          [a, b] = [height[k], height[l]];
        if (!(sign * a < 0 ? sign * b >= 0 : sign * a >= 0 && sign * b < 0)) continue;
        const place = (s) =>
          at(
            onEdge(xs[i], xs[i + di], s, own.model.parameters[across].log),
            dj ? onEdge(ys[j], ys[j + 1], s, own.model.parameters[up].log) : ys[j],
          );
        const restAt = (s, lead) => own.newton(place(s), lead, base),
          growthAt = (s, rest) => own.abscissa(place(s), rest, own.fixed(place(s)).lags);
        const where = a === 0 ? 0 : b === 0 ? 1 : crossed(restAt, growthAt, rests[k], rests[l], a, b);
        chart.crossings.set(`${k} ${l}`, where);
        yield null;
      }
  chart.exact = true;
  yield chart;
}

/** A place of an edge. */
export const onEdge = (a, b, s, log) => (a === b ? a : log ? a * (b / a) ** s : a + (b - a) * s);

/**
 * The region where the height is below zero: closed loops with it on their left, and the boundary, in places of the
 * axes (whole numbers at grid places). A gap is NaN.
 * @param {any} chart as `charted` yields it, of two parameters
 */
export const regions = ({ height, ys, step, crossings }) => {
  const size = ys.length,
    last = CELLS / step + 1;
  const at = (i, j) =>
    i < 1 || j < 1 || i > last || j > last ? Infinity : height[(i - 1) * step * size + (j - 1) * step];
  const inside = (i, j) => at(i, j) < 0;
  /** Where an edge between an inner and an outer place is crossed, and whether the boundary is there. */
  const point = (i, j, k, l) => {
    const [a, b] = [at(i, j), at(k, l)],
      place = (one) => (one - 1) * step;
    if (a === Infinity || b === Infinity) return a === Infinity ? [place(k), place(l), 0] : [place(i), place(j), 0];
    const own = crossings.get(`${place(i) * size + place(j)} ${place(k) * size + place(l)}`);
    const s = own ?? (Number.isFinite(a + b) ? a / (a - b) : 0.5);
    return [place(i) + (k - i) * step * s, place(j) + (l - j) * step * s, Number.isFinite(a + b + s) ? 1 : 0];
  };
  const next = new Map(),
    points = new Map();
  const join = (one, other) => {
    const key = (edge) => edge.join(" ");
    if (!points.has(key(one))) points.set(key(one), point(...one));
    if (!points.has(key(other))) points.set(key(other), point(...other));
    next.set(key(one), key(other));
  };
  for (let i = 0; i <= last; i++)
    for (let j = 0; j <= last; j++) {
      const corners = [inside(i, j), inside(i + 1, j), inside(i + 1, j + 1), inside(i, j + 1)];
      if (corners.every((one) => one === corners[0])) continue;
      // sides in a turn to the left: below, right, above, left; each from its lower to its higher place
      const sides = [
        [i, j, i + 1, j],
        [i + 1, j, i + 1, j + 1],
        [i, j + 1, i + 1, j + 1],
        [i, j, i, j + 1],
      ];
      const enters = [],
        leaves = [];
      for (let s = 0; s < 4; s++) {
        if (corners[s] && !corners[(s + 1) % 4]) leaves.push(s);
        if (!corners[s] && corners[(s + 1) % 4]) enters.push(s);
      }
      // with the inside on its left a segment runs from where the turn leaves the inside to where it enters it
      for (const s of leaves) {
        const e = enters.length === 1 ? enters[0] : /** @type {number} */ (enters.find((one) => one === (s + 3) % 4));
        join(sides[s], sides[e]);
      }
    }
  const loops = [];
  while (next.size) {
    const [first] = next.keys(),
      loop = [];
    for (let key = first; next.has(key);) {
      loop.push(points.get(key));
      const after = next.get(key);
      next.delete(key);
      key = after;
    }
    loops.push([...loop, loop[0]]);
  }
  return loops;
};
