// @ts-check
import { alongAckLoss, between, brief, inEnds, percent, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

/**
 * The root below one of x = exp(-rho (1 - x)); 1 up to rho = 1.
 * By Newton's method from 0, where the curve is convex.
 */
const finished = (rho) => {
  if (rho <= 1 + 1e-7) return 1;
  let x = 0;
  for (let i = 0; i < 100; i++) {
    const e = Math.exp(-rho * (1 - x)),
      next = x - (x - e) / (1 - rho * e);
    if (!(Math.abs(next - x) > 1e-15)) break;
    x = next;
  }
  return x;
};

/** Table 1 of two senders: published and recorded points, and the model without duplicates. */
const table1 = (figure, senders, rowsOf, share, marker) => {
  const x = between(2, 3.6, 65); // the last points lie near the end, where the names stand
  const points = (sender, hue) => {
    const rows = rowsOf(sender);
    const series = (kind, of, look) => {
      const part = (k) => {
        const y = new Array(x.length).fill(null);
        for (const row of rows) y[Math.round((row.density - 2) / 0.025)] = of(row)?.[k] ?? null;
        return y;
      };
      const ends = kind === "published" ? {} : { low: part(1), high: part(2) };
      return rows.some(of) ? [{ name: `${sender}, ${kind}`, kind: "points", y: part(0), ...ends, hue, ...look }] : [];
    };
    return [
      ...series("published", (row) => [row.published], { size: 13, pale: true }),
      ...series("packets", (row) => row.packets, {}),
      ...series("ns-2", (row) => row.ns2, { hue: hue + 2 }),
    ];
  };
  figure.show({
    x,
    xTitle: title("transfers that begin", "1/s"),
    yTitle: "fraction of transfers that finish",
    yPercent: true,
    range: [0, 1.02],
    xRange: [2, 3.6],
    marker,
    linked: "density",
    named: true,
    series: [
      { name: "model, no duplicates", y: Array.from(x, (d) => share(d, 0)) },
      ...senders.flatMap((sender, i) => points(sender, i + 1)),
    ],
  });
};

page("leap", {
  draw(values, functions, figures, set, spec) {
    const {
      run,
      rows,
      losses: [low, high, n],
      densities: [least, most, m],
      capacity,
      segments,
    } = functions.forms;
    const at = (p, a) => {
      const out = new Float64Array(rows.length);
      run(Float64Array.of(p, a), out);
      return out;
    };
    const losses = between(low, high, n),
      curves = Array.from(losses, (a) => at(values.data_loss, a));
    const curve = (name, factor = 1) => curves.map((row) => factor * row[rows.indexOf(name)]);
    const wide = alongAckLoss(losses, values.ack_loss);
    for (const name of ["duplicates", "transmissions"]) {
      figures[name].show({
        ...wide,
        yTitle: `${name} of ${segments} segments`,
        asks: `How many ${name} do ${segments} segments have without LEAP, at each drop probability of ACKs?`,
        series: [
          { name: "without LEAP", y: curve(`${name}_plain`, segments) },
          { name: "with LEAP", y: curve(`${name}_leap`, segments) },
        ],
      });
    }
    figures.causes.show({
      ...wide,
      yTitle: "probability that only ACKs were lost",
      yPercent: true,
      range: [0, 1],
      named: true,
      series: [
        { name: "given a timeout, every packet ACKed", y: curve("ack_fraction") },
        { name: "given no ACK at all, every packet ACKed", y: curve("suspicion_right") },
        { name: "given a timeout, delayed ACKs", y: curve("ack_fraction delayed") },
        { name: "given no ACK at all, delayed ACKs", y: curve("suspicion_right delayed") },
      ],
    });
    const now = at(values.data_loss, values.ack_loss),
      of = (name) => now[rows.indexOf(name)];
    const repeats = [0, of("duplicates_plain"), of("duplicates_leap")],
      densities = between(least, most, m);
    const share = (density, d) => finished((density * (1 + d)) / capacity);
    figures.finished.show({
      x: densities,
      xTitle: title("transfers that begin", "1/s"),
      yTitle: "fraction of transfers that finish",
      yPercent: true,
      range: [0, 1.02],
      marker: values.density,
      linked: "density",
      series: ["no duplicates", "without LEAP", "with LEAP"].map((name, i) => ({
        name,
        y: Array.from(densities, (x) => share(x, repeats[i])),
      })),
    });
    const printed = (sender) => spec.facts.table[`${sender}/${values.nodes}`],
      [reno, own] = ["Reno", "LEAP"].map((sender) => printed(sender).at(-1));
    const other = values.variant === "LEAP" ? "Reno" : "LEAP";
    table1(figures.table1, [values.variant, other], printed, share, values.density);
    const both = (name) => [segments * of(`${name}_plain`), segments * of(`${name}_leap`)],
      two = repeats.slice(1);
    figures.facts.show({
      columns: ["without LEAP", "with LEAP"],
      rows: [
        {
          name: "duplicates",
          unit: "packet",
          values: both("duplicates"),
          means: "packets that 100 segments cause beyond the first of each to arrive",
        },
        { name: "transmissions", unit: "packet", values: both("transmissions"), means: "segments sent for 100" },
        {
          name: "right leaps",
          percent: true,
          values: [NaN, of("leaps_right")],
          means: "fraction of leaps before which the segment had arrived",
        },
        {
          name: "critical density",
          unit: "1/s",
          values: two.map((d) => capacity / (1 + d)),
          means: "from which on not all transfers finish",
        },
        {
          name: "finished",
          percent: true,
          values: two.map((d) => share(values.density, d)),
          means: "fraction of transfers that finish at the chosen density",
        },
      ],
    });
    const [plain, leap] = both("duplicates");
    const says =
      `100 segments cause ${brief(plain)} duplicates without LEAP and ${brief(leap)} with it; ` +
      `in ${percent(of("ack_fraction"))} of the timeouts only ACKs were lost.`;
    const said = (sender) => {
      const last = printed(sender).at(-1);
      const ns2 = last.ns2 ? `, ns-2 ${inEnds(last.ns2, " %")}` : "";
      return `${sender} published ${percent(last.published)}, packets ${inEnds(last.packets, " %")}${ns2}`;
    };
    const about = {
      causes:
        `The probability that only ACKs were lost is ${percent(of("ack_fraction"))} given a timeout, ` +
        `and ${percent(of("suspicion_right"))} given no ACK at all.`,
      duplicates: `100 segments cause ${brief(plain)} duplicates without LEAP and ${brief(leap)} with it.`,
      finished:
        `At ${brief(values.density)} transfers a second ` +
        `${percent(share(values.density, two[0]))} finish without LEAP ` +
        `and ${percent(share(values.density, two[1]))} with it.`,
      table1: `At 3.5 transfers a second, nodes ${values.nodes}: ${said(values.variant)}; ${said(other)}.`,
    };
    return {
      says,
      about,
      numbers: {
        plain,
        leap,
        cause: of("ack_fraction"),
        right: of("leaps_right"),
        finished: share(values.density, two[0]),
        finished_leap: share(values.density, two[1]),
        capacity,
        published_reno: reno.published,
        published_leap: own.published,
        packets_reno: reno.packets,
        packets_leap: own.packets,
      },
    };
  },
});
