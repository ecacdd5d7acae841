import { element } from "../core/dom.js";
import { percent, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

const kept = { sums: new Map() };
/** While a slider moves, one point of so many is drawn. */
const COARSE = 4;

const remembered = (store, key, make) => {
  if (!store.has(key)) {
    if (store.size > 40) store.clear();
    store.set(key, make());
  }
  return store.get(key);
};

/** Zero of a falling function between two points, by false position with halved ends (Illinois). */
const zero = (f, a, b) => {
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
const flow = (chain, ratio, low, timer) => {
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
 * Jain's index and the share of flows with nothing over L round trips, for all L up to a largest one, of a flow whose
 * numbers are in `out`.
 *
 * Backwards in time: what is still earned from each state with n round trips left, its square, and the chance of
 * nothing. A silence of h round trips is looked up h steps back, at the retransmission that ends it.
 */
const sums = ({ states: size, events, waits }, out, timer, largest) => {
  const pi = 2,
    chances = 2 + size,
    room = (largest + 1) * size; // n round trips left begin at n * size
  const lengths = waits.map(([, , doubled]) => timer * doubled - 1),
    silent = new Set(waits.map(([b]) => b));
  const from = Int32Array.from(events, ([a]) => a),
    next = Int32Array.from(events, ([, b]) => b),
    packets = Float64Array.from(events, ([, , r]) => r);
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
  for (let L = 1; L <= largest; L++) {
    const [mean, square, zero] = [first, second, none].map((row, which) => {
      let sum = 0;
      for (let i = 0; i < size; i++) if (!silent.has(i)) sum += out[pi + i] * row[L * size + i];
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

page("retransmission-priority", {
  panels(spec) {
    const link = element(
      "a",
      { href: "packets?scenario=retransmission_priority" },
      "Packets: 50 flows on a link that sends retransmissions first",
    );
    return spec.netcdf ? [element("p", { class: "note" }, link)] : [];
  },

  draws: "twice", // on a coarser grid while a slider moves

  draw(values, functions, figures, set, spec, moving) {
    const {
        run,
        cases,
        powers: [least, most, steps],
        low,
      } = functions.repeat,
      { base_timeout: timer, slice: L } = values,
      largest = spec.controls.find((c) => c.name === "slice").high;
    const key = JSON.stringify([timer, values.backoff_cap, values.collapse]);
    const coarse = moving && !cases.every(([name]) => kept.sums.has(`${key} ${name}`)),
      apart = coarse ? COARSE : 1;
    const grid = Float64Array.from(
      { length: (steps * (most - least)) / apart + 1 },
      (_, i) => 2 ** ((apart * i) / steps + least),
    );
    const shares = Float64Array.from(new Set([...grid, values.share])).sort();
    const one = new Float64Array(1),
      repeat = (p, again) => {
        run(Float64Array.of(p, again), one);
        return one[0];
      };
    const all = cases.map(([name, ratio, suffix]) => {
      const chain = functions[suffix ? "suffix" : "even"],
        { at, root } = flow(chain, ratio, low, timer);
      const about = (p) => {
        const out = at(p),
          { states, waits } = chain;
        const own = {
          p,
          lost: 1 - out[0] / out[1],
          silent: waits.reduce((sum, [b]) => sum + out[2 + b], 0),
          repeat: repeat(p, ratio * p),
        };
        return { ...own, ...sums(chain, out, timer, largest) };
      };
      const curve = remembered(kept.sums, `${key} ${name}${coarse ? " coarse" : ""}`, () =>
        Array.from(grid, (share) => about(root(share))),
      );
      const at_L = (point) => ({ ...point, jain: point.jain[L], nothing: point.nothing[L] });
      const now = at_L(about(root(values.share))),
        own = new Map(curve.map((point, i) => [grid[i], at_L(point)])).set(values.share, now);
      const limit = zero((p) => 0.5 - repeat(p, ratio * p), 1e-9, (1 - 1e-12) / Math.max(ratio, 1));
      return { name, curve: Array.from(shares, (share) => own.get(share)), now, limit };
    });
    const wide = {
      x: shares,
      xTitle: title("packets per flow", "packet/RTT"),
      xLog: true,
      marker: values.share,
      linked: "share",
      range: [0, 1],
      xRange: [shares[0], shares[shares.length - 1]],
    };
    const each = (word) => all.map(({ name, curve }) => ({ name, y: curve.map((at) => at[word]) }));
    figures.loss.show({ ...wide, yTitle: "share of packets", range: [0, 0.6], series: each("lost") });
    figures.repeats.show({
      ...wide,
      yTitle: "probability",
      series: [
        ...each("repeat"),
        { name: "mean silence infinite above", y: new Float64Array(shares.length).fill(0.5), dash: [4, 4] },
      ],
    });
    figures.silent.show({ ...wide, yTitle: "share of time", series: each("silent") });
    figures.jain.show({ ...wide, yTitle: "Jain's index", series: each("jain") });
    figures.nothing.show({ ...wide, yTitle: "share of flows", series: each("nothing") });
    const row = (name, word, means) => ({
      name,
      values: all.map((case_) => (word === "limit" ? case_.limit : case_.now[word])),
      means,
    });
    figures.facts.show({
      columns: cases.map(([name]) => name),
      rows: [
        row("loss of new packets", "p", "at which flows deliver what the link carries"),
        row("loss of all packets", "lost", "those sent again too"),
        row("silent", "silent", "share of time in which a flow sends nothing"),
        row("Jain's index", "jain", "of what flows get in a slice"),
        row("nothing", "nothing", "share of flows that get nothing in a slice"),
        row("limit", "limit", "loss of new packets above which the mean silence is infinite without a cap"),
      ],
    });
    const [plain, first] = all.map((case_) => case_.now);
    const says = `Priority takes the flows with nothing in ${L} round trips from ${percent(plain.nothing)} to ${percent(first.nothing)} and Jain's index from ${plain.jain.toFixed(2)} to ${first.jain.toFixed(2)}; of all packets ${percent(plain.lost)} are lost without and ${percent(first.lost)} with it.`;
    return { says, numbers: { plain: plain.nothing, first: first.nothing, jain: plain.jain, jain_first: first.jain } };
  },
});
