// Trajectories in the page: the pair of Dormand and Prince (5(4), 1980) with step control, delays by its own
// dense output. What it gives is held within 1e-6 of the library's Taylor series by a test.
"use strict";

const STAGES = [
  [],
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const NODES = [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1];
// Differences of the fifth and the fourth order's weights.
const ERROR = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];
// Shampine's fourth-order interpolant between the ends of a step.
const DENSE = [
  -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
  701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
];

/**
 * States at the given times.
 *
 * slope(t, state, past, out): the right-hand side; past[k] is the k-th delayed value.
 * lags: [{lag, of(t, state)}], history(t): states before time 0. Steps are no longer than `longest`; at times in
 * `stops` the right-hand side may jump.
 * Returns {values: one array of states a time, status: "ok" or what stopped the motion}.
 */
function trajectory(slope, start, times, { lags = [], history = () => start, rtol = 1e-9, atol = 1e-12,
  maxSteps = 100000, longest = Infinity, stops = [] } = {}) {
  const n = start.length, end = times[times.length - 1];
  const moving = lags.filter((d) => d.lag > 0);
  const shortest = Math.min(longest, ...moving.map((d) => d.lag), Infinity);
  const pieces = []; // {t, h, state, dense: four rows}
  const past = new Float64Array(lags.length);
  let state = Float64Array.from(start), t = 0, steps = 0, next = 0, seek = 0;

  const scratch = new Float64Array(n); // of the past, for as long as `of` looks at it
  const inside = ({ state: from, dense: [c1, c2, c3, c4] }, theta, into) => {
    for (let i = 0; i < n; i++) into[i] = from[i] + theta * (c1[i] + (1 - theta) * (c2[i] + theta * (c3[i] + (1 - theta) * c4[i])));
    return into;
  };
  const stateAt = (time) => {
    if (time < 0 || !pieces.length) return time < 0 ? history(time) : start;
    let low = 0, high = pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (pieces[middle].t <= time) low = middle; else high = middle - 1;
    }
    return inside(pieces[low], (time - pieces[low].t) / pieces[low].h, scratch);
  };
  const look = (time, at) => {
    let last = 0, then = at; // neighbours with one lag share a state
    lags.forEach((d, k) => {
      if (d.lag !== last) then = d.lag > 0 ? stateAt(time - d.lag) : at;
      last = d.lag;
      past[k] = d.of(time - d.lag, then);
    });
    return past;
  };

  const values = times.map(() => null);
  const k = STAGES.map(() => new Float64Array(n));
  const at = new Float64Array(n), after = new Float64Array(n);
  slope(t, state, look(t, state), k[0]);
  let scale = 0, rate = 0;
  for (let i = 0; i < n; i++) { scale = Math.max(scale, Math.abs(state[i])); rate = Math.max(rate, Math.abs(k[0][i])); }
  let h = Math.min(end || 1, shortest, rate > 0 ? 0.01 * Math.max(scale, 1e-6) / rate : 0.01 * (end || 1));
  // Bends of the past reach the motion after each delay, and after sums of them: a step ends there.
  const bends = [];
  for (const from of [0, ...stops]) {
    if (from > 0 && from < end) bends.push(from);
    for (const d of moving) for (let m = 1; m <= 5 && from + m * d.lag < end; m++) if (from + m * d.lag > 0) bends.push(from + m * d.lag);
  }
  bends.sort((x, y) => x - y);
  while (next < times.length && times[next] <= 0) values[next++] = Float64Array.from(state);
  while (next < times.length) {
    if (++steps > maxSteps) return { values, status: "the steps ran out" };
    while (seek < bends.length && bends[seek] <= t * (1 + 1e-14)) seek++;
    h = Math.min(h, shortest, end - t, seek < bends.length ? bends[seek] - t : Infinity);
    if (!(h > 1e-14 * Math.max(1, t))) return { values, status: "the step became too short" };
    for (let s = 1; s < 7; s++) {
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let j = 0; j < s; j++) sum += STAGES[s][j] * k[j][i];
        at[i] = state[i] + h * sum;
      }
      if (s === 6) after.set(at);
      slope(t + NODES[s] * h, at, look(t + NODES[s] * h, at), k[s]);
    }
    let error = 0;
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j < 7; j++) sum += ERROR[j] * k[j][i];
      const size = atol + rtol * Math.max(Math.abs(state[i]), Math.abs(after[i]));
      error = Math.max(error, Math.abs(h * sum) / size);
    }
    if (!(error <= 1)) { // NaN, too
      h *= error < Infinity ? Math.max(0.2, 0.9 * error ** -0.2) : 0.2;
      continue;
    }
    const dense = [0, 1, 2, 3].map(() => new Float64Array(n));
    for (let i = 0; i < n; i++) {
      const change = after[i] - state[i], bend = h * k[0][i] - change;
      let sum = 0;
      for (let j = 0; j < 7; j++) sum += DENSE[j] * k[j][i];
      dense[0][i] = change;
      dense[1][i] = bend;
      dense[2][i] = change - h * k[6][i] - bend;
      dense[3][i] = h * sum;
    }
    const piece = { t, h, state, dense };
    if (moving.length) pieces.push(piece);
    while (next < times.length && times[next] <= t + h * (1 + 1e-14)) {
      const theta = (times[next] - t) / h;
      values[next++] = theta >= 1 ? Float64Array.from(after) : inside(piece, theta, new Float64Array(n));
    }
    t = next < times.length && Math.abs(end - t - h) < 1e-14 * end ? end : t + h;
    state = Float64Array.from(after);
    k[0].set(k[6]);
    if (!state.every(Number.isFinite)) return { values, status: "the state grew beyond floating-point numbers" };
    h *= Math.min(5, Math.max(0.2, 0.9 * Math.max(error, 1e-10) ** -0.2));
  }
  return { values, status: "ok" };
}

/** States of a map at whole steps 0..steps. */
function orbit(next, start, steps) {
  const values = [Float64Array.from(start)];
  for (let i = 0; i < steps; i++) {
    const state = new Float64Array(start.length);
    next(i, values[i], [], state);
    values.push(state);
  }
  return values;
}

/**
 * The swing in which a motion ends, from its samples: its lowest and highest value, its period, and by which share its
 * height changes from one swing to the next (below zero where it dies out). Null where it does not swing.
 */
function swing(times, values) {
  const half = values.length >> 1, tail = values.slice(half);
  const middle = (Math.max(...tail) + Math.min(...tail)) / 2, rises = [];
  for (let i = 2; i < values.length; i++) {
    const [a, b] = [values[i - 1] - middle, values[i] - middle];
    if (a < 0 && b >= 0) rises.push({ i, t: times[i - 1] + ((times[i] - times[i - 1]) * a) / (a - b) });
  }
  if (rises.length < 3) return null;
  const ends = (k) => {
    let low = Infinity, high = -Infinity;
    for (let i = rises[k - 1].i - 1; i <= rises[k].i; i++) {
      const [a, b, c] = [values[i - 1], values[i], values[Math.min(i + 1, values.length - 1)]];
      const bend = a - 2 * b + c, top = (b - a) * (c - b) < 0 && bend !== 0 ? b - (c - a) ** 2 / (8 * bend) : b;
      low = Math.min(low, top);
      high = Math.max(high, top);
    }
    return [low, high];
  };
  const last = rises.length - 1, [low, high] = ends(last), [before, beyond] = ends(last - 1);
  return { low, high, period: rises[last].t - rises[last - 1].t, change: (high - low) / (beyond - before) - 1, from: rises[last - 1].i - 1, to: rises[last].i };
}

/**
 * The largest modulus of the eigenvalues of an n by n matrix, row by row: the limit of |A^k|^(1/k), by squaring.
 * With 40 squarings k is 10^12, and what the norm adds to the power is below rounding.
 */
function spectralRadius(matrix, n) {
  let a = Float64Array.from(matrix), next = new Float64Array(n * n), log = 0;
  for (let k = 0, share = 1; k < 40; k++, share /= 2) {
    let size = 0;
    for (const x of a) size = Math.max(size, Math.abs(x));
    if (!(size > 0) || size === Infinity) return size; // 0 where all powers vanish; NaN stays
    log += share * Math.log(size);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let m = 0; m < n; m++) sum += (a[i * n + m] / size) * (a[m * n + j] / size);
        next[i * n + j] = sum;
      }
    }
    [a, next] = [next, a];
  }
  return Math.exp(log);
}
