// @ts-check
import { element } from "../core/dom.js";
import { percent, title } from "../core/numbers.js";
import { page } from "../core/pages.js";
import { flow, sums, zero } from "../models/flow.js";

/** Sums of all slices, once the slice has moved: those of one slice take half of the time. */
const kept = { sums: new Map(), slice: 0, every: false };
/** While a slider moves, one point of so many is drawn. */
const COARSE = 4;

const remembered = (store, key, make) => {
  if (!store.has(key)) {
    if (store.size > 40) store.clear();
    store.set(key, make());
  }
  return store.get(key);
};

page("retransmission-priority", {
  panels(spec) {
    const link = element(
      "a",
      { href: "packets?scenario=retransmission_priority" },
      "Packets: 50 flows on a link that sends retransmissions first",
    );
    return spec.netcdf ? [element("p", { class: "reading" }, link)] : [];
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
    kept.every ||= (kept.slice ||= L) !== L;
    const key = JSON.stringify([timer, values.backoff_cap, values.collapse, kept.every]);
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
        return { ...own, ...(kept.every ? sums(chain, out, timer, largest) : sums(chain, out, timer, L, L)) };
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
    figures.loss.show({
      ...wide,
      yTitle: "fraction of packets",
      yPercent: true,
      range: [0, 0.6],
      series: each("lost"),
      asks: "What fraction of packets is lost without priority, at each number of packets per flow?",
    });
    figures.repeats.show({
      ...wide,
      yTitle: "probability",
      yPercent: true,
      series: [
        ...each("repeat"),
        { name: "mean silence infinite above", y: new Float64Array(shares.length).fill(0.5), dash: [4, 4] },
      ],
    });
    figures.silent.show({ ...wide, yTitle: "fraction of time", yPercent: true, series: each("silent") });
    figures.jain.show({ ...wide, yTitle: "Jain's index", series: each("jain") });
    figures.nothing.show({ ...wide, yTitle: "fraction of flows", yPercent: true, series: each("nothing") });
    const row = (name, word, means) => ({
      name,
      percent: word !== "jain",
      values: all.map((case_) => (word === "limit" ? case_.limit : case_.now[word])),
      means,
    });
    figures.facts.show({
      columns: cases.map(([name]) => name),
      rows: [
        row("loss of new packets", "p", "at which flows deliver what the link carries"),
        row("loss of all packets", "lost", "those sent again too"),
        row("silent", "silent", "fraction of time in which a flow sends nothing"),
        row("Jain's index", "jain", "of what flows get in a slice"),
        row("nothing", "nothing", "fraction of flows that get nothing in a slice"),
        row("limit", "limit", "loss of new packets above which the mean silence is infinite without a cap"),
      ],
    });
    const [plain, first] = all.map((case_) => case_.now);
    const says =
      `Priority takes the flows with nothing in ${L} round trips from ` +
      `${percent(plain.nothing)} to ${percent(first.nothing)} and Jain's index from ` +
      `${plain.jain.toFixed(2)} to ${first.jain.toFixed(2)}; of all packets ` +
      `${percent(plain.lost)} are lost without and ${percent(first.lost)} with it.`;
    return { says, numbers: { plain: plain.nothing, first: first.nothing, jain: plain.jain, jain_first: first.jain } };
  },
});
