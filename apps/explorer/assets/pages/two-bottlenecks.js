// @ts-check
import { orbit } from "../core/motion.js";
import { brief, percent, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

const INPUTS = ["phi", "psi", "bdp_1", "buffer_1", "bdp_3", "buffer_3", "weight_1", "weight_2", "weight_3"];

const STYLES = [{ width: 9, pale: true }, { width: 4 }, { width: 3, dash: [8, 8] }, { width: 3, dash: [0, 10, 4, 2] }];

/** Utilisation of both links at equilibrium, in both interpretations, at buffers of the same fraction of both links. */
const used = ({ run, rows, buffers }, values) => {
  const x = INPUTS.map((name) => values[name]),
    out = new Float64Array(rows.length),
    curves = rows.map(() => []);
  for (const share of buffers) {
    x[INPUTS.indexOf("buffer_1")] = share * values.bdp_1;
    x[INPUTS.indexOf("buffer_3")] = share * values.bdp_3;
    run(x, out);
    rows.forEach((_, k) => curves[k].push(out[k]));
  }
  // lines may lie on each other
  return rows.map((name, k) => ({ name: name.replace(/(\w+) (\d)/, "L$2, $1"), y: curves[k], ...STYLES[k] }));
};

page("two-bottlenecks", {
  draw(values, functions, figures) {
    const { run, rows, states } = functions.recursion,
      n = states.length;
    const x = new Float64Array(n + INPUTS.length),
      out = new Float64Array(rows.length);
    x.set(
      INPUTS.map((name) => values[name]),
      n,
    );
    const at = (state) => {
      x.set(state);
      run(x, out);
      return Object.fromEntries(rows.map((name, k) => [name, out[k]]));
    };
    const begin = at([0, 0]),
      rest = at(states.map((name) => begin[`rest ${name}`]));
    const motion = orbit(
      (i, state, past, next) => {
        const now = at(state);
        next.set(states.map((name) => now[`next ${name}`]));
      },
      [0, 0],
      values.commands,
    ).map(at);

    const times = Float64Array.from(motion, (_, i) => i),
      row = (name, word) => ({ name, y: motion.map((m) => m[word]) });
    const level = (name, value) => ({ name, y: new Float64Array(times.length).fill(value) });
    const common = { x: times, xTitle: title("command", "interval"), linked: "interval" };
    const bdp =
      values.bdp_1 === values.bdp_3
        ? [level("bandwidth-delay product of both", values.bdp_1)]
        : [level("BDP of L1", values.bdp_1), level("BDP of L3", values.bdp_3)];
    figures.windows.show({
      ...common,
      asks: "What window does each command give on link L1?",
      yTitle: title("window", "packet"),
      series: [
        { ...row("L1", "W_1"), width: 4 },
        { ...row("L3", "W_3"), dash: [6, 5] },
        ...bdp.map((one) => ({ ...one, width: 1.5, dash: [2, 4] })),
      ],
    });
    figures.queues.show({
      ...common,
      yTitle: title("queue", "packet"),
      series: [
        { ...row("L1", "Q_1"), width: 4 },
        { ...row("L3", "Q_3"), dash: [6, 5] },
      ],
    });
    figures.shares.show({
      ...common,
      yTitle: title("window", "packet"),
      series: [
        { name: "group 1, both links", y: motion.map((m) => Math.min(m.f_1, m.f_3)), width: 9, pale: true },
        row("group 2, L1", "f_1"),
        row("group 3, L3", "f_3"),
      ],
    });
    figures.used.show({
      x: Float64Array.from(functions.used.buffers),
      xTitle: "buffer over bandwidth-delay product",
      yTitle: "utilisation",
      yPercent: true,
      linked: "buffer",
      marker: values.buffer_1 / values.bdp_1,
      series: used(functions.used, values),
    });
    const pair = (word) => [rest[`${word}_1`], rest[`${word}_3`]];
    figures.facts.show({
      columns: ["L1", "L3"],
      rows: [
        {
          name: "utilisation",
          percent: true,
          values: pair("utilisation"),
          means: "window over bandwidth-delay product, at most 100 %",
        },
        { name: "window", unit: "packet", values: pair("W"), means: "what the flows of the link have in flight" },
        {
          name: "command",
          unit: "packet",
          values: states.map((name) => begin[`rest ${name}`]),
          means: "what the router would let them have",
        },
        { name: "queue", unit: "packet", values: pair("Q"), means: "packets that wait at the router" },
        {
          name: "feedback",
          unit: "packet",
          values: pair("f"),
          means: "command per unit of weight; group 1 obeys the smaller one",
        },
      ],
    });
    const [first, third] = pair("utilisation"),
      [q1, q3] = pair("Q");
    const says =
      `At equilibrium link L1 is used to ${percent(first)} and link L3 to ${percent(third)}; ` +
      `${brief(q1)} and ${brief(q3)} packets wait in their queues.`;
    return { says, numbers: { first, third } };
  },
});
