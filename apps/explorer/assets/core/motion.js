// @ts-check
// Trajectories in the page: the pair of Dormand and Prince (5(4), 1980) with step control, delays by its own
// dense output. What it gives is held within 1e-6 of the library's Taylor series by a test.

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
  -12715105075 / 11282082432,
  0,
  87487479700 / 32700410799,
  -10690763975 / 1880347072,
  701980252875 / 199316789632,
  -1453857185 / 822651844,
  69997945 / 29380423,
];

/** Slopes of STAGES and ERROR without their zeros: [row, weight] pairs. */
const WEIGHTS = STAGES.map((row) => row.map((w, j) => [j, w]).filter(([, w]) => w !== 0));
/** Rounds after which a step that reaches into its own past is made shorter instead. */
const ROUNDS = 6;
/** Jumps in a row, one upon the other, after which a motion has no direction any more. */
const JUMPS = 20;

/**
 * States at the given times.
 *
 * slope(t, state, past, out): the right-hand side; past[k] is the k-th delayed value.
 * lags: [{lag, of(t, state)}], history(t): states before time 0. Steps are no longer than `longest`; at times in
 * `stops` the right-hand side may jump. A step longer than a lag looks into itself: it is repeated until what it sees
 * there is what it gives. onStep(t, h, at): after each step, where at(theta) is the state within it.
 * Returns {values: one array of states a time, status: "ok" or what stopped the motion, reached: until when it went}.
 */
export function trajectory(
  slope,
  start,
  times,
  {
    lags = [],
    history = /** @type {(t: number) => any} */ (() => start),
    rtol = 1e-9,
    atol = 1e-12,
    maxSteps = 100000,
    longest = Infinity,
    stops = [],
    onStep = null,
  } = {},
) {
  const n = start.length,
    end = times[times.length - 1];
  const moving = lags.filter((d) => d.lag > 0);
  const shortest = Math.min(...moving.map((d) => d.lag), Infinity),
    oldest = Math.max(...moving.map((d) => d.lag), 0);
  let pieces = []; // {t, h, state, dense: four rows}
  const past = new Float64Array(lags.length);
  let state = Float64Array.from(start),
    t = 0,
    steps = 0,
    next = 0,
    seek = 0,
    place = 0;
  let current = null; // the step that is being made, where it looks into itself

  const scratch = new Float64Array(n); // of the past, for as long as `of` looks at it
  const inside = ({ state: from, dense }, theta, into) => {
    const rest = 1 - theta;
    for (let i = 0, j = 0; i < n; i++, j += 4)
      into[i] = from[i] + theta * (dense[j] + rest * (dense[j + 1] + theta * (dense[j + 2] + rest * dense[j + 3])));
    return into;
  };
  const stateAt = (time) => {
    if (time < 0 || !pieces.length) return time < 0 ? history(time) : start;
    if (current && time > t) return inside(current, (time - current.t) / current.h, scratch);
    while (place > 0 && pieces[place].t > time) place--; // what is asked for moves on with time
    while (place + 1 < pieces.length && pieces[place + 1].t <= time) place++;
    return inside(pieces[place], (time - pieces[place].t) / pieces[place].h, scratch);
  };
  const look = (time, at) => {
    let last = 0,
      then = at; // neighbours with one lag share a state
    for (let k = 0; k < lags.length; k++) {
      const d = lags[k];
      if (d.lag !== last) then = d.lag > 0 ? stateAt(time - d.lag) : at;
      last = d.lag;
      past[k] = d.of(time - d.lag, then);
    }
    return past;
  };

  const values = times.map(() => null);
  const k = STAGES.map(() => new Float64Array(n));
  const at = new Float64Array(n),
    after = new Float64Array(n),
    sizes = new Float64Array(n);
  /** The slopes of a step from t; `after` is where it ends. */
  const stages = (h) => {
    for (let s = 1; s < 7; s++) {
      const weights = WEIGHTS[s];
      at.fill(0);
      for (let j = 0; j < weights.length; j++) {
        const row = k[weights[j][0]],
          weight = weights[j][1];
        for (let i = 0; i < n; i++) at[i] += weight * row[i];
      }
      for (let i = 0; i < n; i++) at[i] = state[i] + h * at[i];
      if (s === 6) after.set(at);
      const time = t + NODES[s] * h;
      slope(time, at, look(time, at), k[s]);
    }
  };
  /** The largest error of a step over what is allowed. */
  const errorOf = (h) => {
    let error = 0;
    for (let i = 0; i < n; i++) {
      let sum = 0;
      for (let j = 0; j < 7; j++) sum += ERROR[j] * k[j][i];
      sizes[i] = atol + rtol * Math.max(Math.abs(state[i]), Math.abs(after[i]));
      const one = Math.abs(h * sum) / sizes[i];
      if (!(one <= error)) error = one; // NaN, too
    }
    return error;
  };
  const denseOf = (h) => {
    const dense = new Float64Array(4 * n);
    for (let i = 0; i < n; i++) {
      const change = after[i] - state[i],
        bend = h * k[0][i] - change;
      let sum = 0;
      for (let j = 0; j < 7; j++) sum += DENSE[j] * k[j][i];
      dense[4 * i] = change;
      dense[4 * i + 1] = bend;
      dense[4 * i + 2] = change - h * k[6][i] - bend;
      dense[4 * i + 3] = h * sum;
    }
    return dense;
  };
  /** How far two courses of a step are apart, over what is allowed. */
  const apart = (one, other) => {
    let most = 0;
    for (const theta of [0.25, 0.5, 0.75, 1]) {
      const a = inside(one, (t + theta * one.h - one.t) / one.h, at),
        b = inside(other, (t + theta * one.h - other.t) / other.h, scratch);
      for (let i = 0; i < n; i++)
        if (!(Math.abs(a[i] - b[i]) / sizes[i] <= most)) most = Math.abs(a[i] - b[i]) / sizes[i];
    }
    return most;
  };
  slope(t, state, look(t, state), k[0]);
  let scale = 0,
    rate = 0;
  for (let i = 0; i < n; i++) {
    scale = Math.max(scale, Math.abs(state[i]));
    rate = Math.max(rate, Math.abs(k[0][i]));
  }
  let h = Math.min(end || 1, longest, shortest, rate > 0 ? (0.01 * Math.max(scale, 1e-6)) / rate : 0.01 * (end || 1));
  // Bends of the past reach the motion after each delay, and after sums of them: a step ends there.
  const bends = [];
  for (const from of [0, ...stops]) {
    if (from > 0 && from < end) bends.push(from);
    for (const d of moving)
      for (let m = 1; m <= 5 && from + m * d.lag < end; m++) if (from + m * d.lag > 0) bends.push(from + m * d.lag);
  }
  bends.sort((x, y) => x - y);
  const jumps = [];
  const stopped = (status) => ({ values, status, reached: t, last: Array.from(state) });
  while (next < times.length && times[next] <= 0) values[next++] = Float64Array.from(state);
  while (next < times.length) {
    if (++steps > maxSteps) return stopped("the steps ran out");
    const least = 4e-14 * Math.max(1, t);
    while (seek < bends.length && bends[seek] - t <= least) seek++;
    h = Math.min(
      h,
      longest,
      end - t,
      seek < bends.length ? bends[seek] - t : Infinity,
      pieces.length && seek >= 5 ? Infinity : shortest,
    );
    const jump = !(h > least) && end - t > least; // the right-hand side jumps here: a step goes across
    if (jump && (!(h > 0) || (jumps.push(t) > JUMPS && t - jumps[jumps.length - JUMPS] < 1e-6 * end)))
      return stopped("the step became too short");
    if (jump) h = least;
    const overlaps = h > shortest;
    current = overlaps ? pieces[pieces.length - 1] : null;
    stages(h);
    let error = errorOf(h),
      piece = /** @type {any} */ (null),
      rounds = 1;
    if (overlaps && error < 1e6) {
      for (let gap = Infinity; ; rounds++) {
        piece = { t, h, state, dense: denseOf(h) };
        const before = gap;
        gap = apart(piece, current);
        if (gap <= 0.1) break;
        if (rounds === ROUNDS || !(gap < 1e8) || (rounds > 1 && gap > 0.5 * before)) {
          gap = Infinity;
          rounds = ROUNDS;
          error = 32;
          break;
        }
        current = piece;
        stages(h);
        error = errorOf(h);
      }
    }
    current = null;
    if (!(error <= 1 || (jump && error < Infinity))) {
      // NaN, too
      h *= error < Infinity ? Math.max(0.2, 0.9 * error ** -0.2) : 0.2;
      continue;
    }
    piece = piece || {
      t,
      h,
      state,
      dense: moving.length || onStep || times[next] <= t + h * (1 + 1e-14) ? denseOf(h) : null,
    };
    if (moving.length) {
      pieces.push(piece);
      if (pieces.length > 4096 && place > 2048) {
        pieces = pieces.slice(place - 1);
        place = 1;
      }
    }
    if (onStep) onStep(t, h, (theta) => (theta >= 1 ? after : inside(piece, theta, scratch)));
    while (next < times.length && times[next] <= t + h * (1 + 1e-14)) {
      const theta = (times[next] - t) / h;
      values[next++] = theta >= 1 ? Float64Array.from(after) : inside(piece, theta, new Float64Array(n));
    }
    t = next < times.length && Math.abs(end - t - h) < 1e-14 * end ? end : t + h;
    state = Float64Array.from(after);
    k[0].set(k[6]);
    if (!state.every(Number.isFinite)) return stopped("the state grew beyond floating-point numbers");
    h *= rounds > 3 ? 1 : Math.min(5, Math.max(0.2, 0.9 * Math.max(error, 1e-10) ** -0.2));
  }
  return { values, status: "ok", reached: t };
}

/** States of a map at whole steps 0..steps. */
export function orbit(next, start, steps) {
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
export function swing(times, values) {
  const half = values.length >> 1,
    tail = values.slice(half);
  const middle = (Math.max(...tail) + Math.min(...tail)) / 2,
    rises = [];
  for (let i = 2; i < values.length; i++) {
    const [a, b] = [values[i - 1] - middle, values[i] - middle];
    if (a < 0 && b >= 0) rises.push({ i, t: times[i - 1] + ((times[i] - times[i - 1]) * a) / (a - b) });
  }
  if (rises.length < 3) return null;
  const ends = (k) => {
    let low = Infinity,
      high = -Infinity;
    for (let i = rises[k - 1].i - 1; i <= rises[k].i; i++) {
      const [a, b, c] = [values[i - 1], values[i], values[Math.min(i + 1, values.length - 1)]];
      const bend = a - 2 * b + c,
        top = (b - a) * (c - b) < 0 && bend !== 0 ? b - (c - a) ** 2 / (8 * bend) : b;
      low = Math.min(low, top);
      high = Math.max(high, top);
    }
    return [low, high];
  };
  const last = rises.length - 1,
    [low, high] = ends(last),
    [before, beyond] = ends(last - 1);
  return {
    low,
    high,
    period: rises[last].t - rises[last - 1].t,
    change: (high - low) / (beyond - before) - 1,
    from: rises[last - 1].i - 1,
    to: rises[last].i,
  };
}

/**
 * The largest modulus of the eigenvalues of an n by n matrix, row by row: the limit of |A^k|^(1/k), by squaring.
 * With 40 squarings k is 10^12, and what the norm adds to the power is below rounding.
 */
export function spectralRadius(matrix, n) {
  let a = Float64Array.from(matrix),
    next = new Float64Array(n * n),
    log = 0;
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
