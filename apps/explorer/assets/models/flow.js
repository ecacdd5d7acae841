// @ts-check
// A flow by the exact sub-packet chain, from a function that the library printed (`event_program`): its numbers at a
// loss, the loss at which it delivers a rate, sums over many round trips, and runs of it.

/** Zero of a falling function between two points, by false position with halved ends (Illinois). */
export const zero = (f, a, b) => {
  let fa = f(a),
    fb = f(b),
    side = 0;
  for (let i = 0; i < 200 && Math.abs(b - a) > 1e-14 * Math.max(1, Math.abs(a)); i++) {
    const c = i % 4 === 3 ? (a + b) / 2 : (a * fb - b * fa) / (fb - fa),
      fc = f(c);
    if (fc === 0) return c;
    if (fc > 0) {
      a = c;
      fa = fc;
      if (side === 1) fb /= 2;
      side = 1;
    } else {
      b = c;
      fb = fc;
      if (side === -1) fa /= 2;
      side = -1;
    }
    if (Math.abs(fc) < 1e-14) return c;
  }
  return (a + b) / 2;
};

/** What one case of losses makes of a chain: its numbers at a loss, and the loss at which it delivers a share. */
export const flow = (chain, ratio, low, timer) => {
  const out = new Float64Array(chain.size),
    x = new Float64Array(3);
  const at = (p) => {
    x[0] = p;
    x[1] = ratio * p;
    x[2] = timer;
    chain.run(x, out);
    return out;
  };
  const high = (1 - 1e-6) / Math.max(ratio, 1),
    odds = (p) => Math.log(p / (1 - p)),
    chance = (y) => 1 / (1 + Math.exp(-y));
  const root = (share) => chance(zero((y) => at(chance(y))[0] / share - 1, odds(low), odds(high)));
  return { at, root };
};

/**
 * Jain's index and the fraction of flows with nothing over L round trips, for all L from a least to a largest one, of a
 * flow whose numbers are in `out`.
 *
 * Backwards in time: what is still earned from each state with n round trips left, its square, and the chance of
 * nothing. A silence of h round trips is looked up h steps back, at the retransmission that ends it.
 */
export const sums = ({ states: size, events, waits }, out, timer, largest, least = 1) => {
  const pi = 2,
    chances = 2 + size,
    room = (largest + 1) * size; // n round trips left begin at n * size
  const lengths = waits.map(([, , doubled]) => timer * doubled - 1),
    silent = new Set(waits.map((wait) => wait[0]));
  const awake = Int32Array.from({ length: size }, (_, i) => i).filter((i) => !silent.has(i));
  const from = Int32Array.from(events.map((one) => one[0])),
    next = Int32Array.from(events.map((one) => one[1])),
    packets = Float64Array.from(events.map((one) => one[2]));
  const [first, second, none] = [0, 1, 2].map(() => new Float64Array(room));
  none.fill(1, 0, size);
  for (let n = 1; n <= largest; n++) {
    const at = n * size,
      before = at - size;
    for (let i = 0; i < from.length; i++) {
      const a = at + from[i],
        b = before + next[i],
        r = packets[i],
        c = out[chances + i];
      first[a] += c * (r + first[b]);
      second[a] += c * (r * (r + 2 * first[b]) + second[b]);
      if (r === 0) none[a] += c * none[b];
    }
    for (let k = 0; k < waits.length; k++) {
      const b = at + waits[k][0],
        to = Math.max(n - lengths[k], 0) * size + waits[k][1];
      first[b] = first[to];
      second[b] = second[to];
      none[b] = none[to];
    }
  }
  // An observer comes at each round trip of a silence alike: sums over the round trips before, from their beginning.
  const before = [first, second, none].map((row) =>
    waits.map(([, to]) => {
      const sum = new Float64Array(largest + 1);
      for (let n = 0; n < largest; n++) sum[n + 1] = sum[n] + row[n * size + to];
      return sum;
    }),
  );
  const jain = new Float64Array(largest + 1),
    nothing = new Float64Array(largest + 1);
  for (let L = least; L <= largest; L++) {
    const [mean, square, zero] = [first, second, none].map((row, which) => {
      let sum = 0;
      for (let i = 0; i < awake.length; i++) sum += out[pi + awake[i]] * row[L * size + awake[i]];
      waits.forEach(([b], k) => {
        const c = out[pi + b] / lengths[k],
          ends = Math.min(lengths[k], L);
        sum += c * (before[which][k][L] - before[which][k][L - ends]);
        if (row === none) sum += c * (lengths[k] - ends);
      });
      return sum;
    });
    jain[L] = (mean * mean) / square;
    nothing[L] = zero;
  }
  return { jain, nothing };
};

/** The share of flows with nothing over L round trips alone: as by `sums`, in a quarter of the time. */
export const nothing = ({ states: size, events, waits }, out, timer, L) => {
  const pi = 2,
    chances = 2 + size;
  const dry = events.flatMap(([a, b, r], i) => (r === 0 ? [[a, b, out[chances + i]]] : []));
  const lengths = waits.map(([, , doubled]) => timer * doubled - 1);
  const from = Int32Array.from(dry.map((one) => one[0])),
    next = Int32Array.from(dry.map((one) => one[1])),
    chance = Float64Array.from(dry.map((one) => one[2]));
  const none = new Float64Array((L + 1) * size).fill(1, 0, size);
  for (let n = 1; n <= L; n++) {
    const at = n * size,
      before = at - size;
    for (let i = 0; i < from.length; i++) none[at + from[i]] += chance[i] * none[before + next[i]];
    for (let k = 0; k < waits.length; k++)
      none[at + waits[k][0]] = none[Math.max(n - lengths[k], 0) * size + waits[k][1]];
  }
  const silent = new Set(waits.map((wait) => wait[0]));
  let sum = 0;
  for (let i = 0; i < size; i++) if (!silent.has(i)) sum += out[pi + i] * none[L * size + i];
  waits.forEach(([b, to], k) => {
    const c = out[pi + b] / lengths[k],
      ends = Math.min(lengths[k], L);
    for (let j = 1; j <= ends; j++) sum += c * none[(L - j) * size + to];
    sum += c * (lengths[k] - ends);
  });
  return sum;
};

/** Uniform numbers in [0, 1), the same for a seed (mulberry32). @param {number} seed */
export const uniform = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
  t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

/**
 * A run of one flow from its stationary law; `next()` is a round trip, and gives [packets sent, packets delivered].
 * @param {any} chain
 * @param {ArrayLike<number>} out its numbers at a loss, by `flow`
 * @param {number} timer round trips of the first timeout
 * @param {() => number} random
 */
export const started = ({ states, events, waits, windows }, out, timer, random) => {
  const pi = 2,
    chances = 2 + states;
  const silent = new Map(waits.map(([b, to, doubled]) => [b, [to, timer * doubled - 1]]));
  const leaving = Array.from({ length: states }, () => /** @type {number[]} */ ([]));
  events.forEach(([from], i) => leaving[from].push(i));
  let state = states - 1,
    left = 0;
  let x = random();
  for (let i = 0; i < states; i++) {
    x -= out[pi + i];
    if (x < 0) {
      state = i;
      break;
    }
  }
  const wait = silent.get(state);
  if (wait) left = Math.ceil(random() * wait[1]); // an observer comes at each round trip of a silence alike
  return () => {
    if (silent.has(state)) {
      const [to, length] = silent.get(state);
      if (!left) left = length;
      if (--left === 0) state = to;
      return [0, 0];
    }
    const sent = windows[state];
    let y = random();
    for (const i of leaving[state]) {
      y -= out[chances + i];
      if (y < 0 || i === leaving[state].at(-1)) {
        state = events[i][1];
        left = 0;
        return [sent, events[i][2]];
      }
    }
    return [sent, 0];
  };
};
