// @ts-check
import { between, brief, inEnds, percent, title } from "../core/numbers.js";
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

/** Table 1 at a sender: published and recorded points, and the model without duplicates. */
const table1 = (figure, rows, share, marker) => {
  const x = between(2, 4, 81),
    at = (row) => Math.round((row.density - 2) / 0.025);
  const series = (name, of, intervals, size = 7) => {
    const part = (k) => {
      const y = new Array(x.length).fill(null);
      rows.forEach((row) => {
        const one = of(row);
        y[at(row)] = one ? one[k] : null;
      });
      return y;
    };
    return { name, kind: "points", y: part(0), ...(intervals ? { low: part(1), high: part(2) } : {}), size };
  };
  figure.show({
    x,
    xTitle: title("transfers that begin", "1/s"),
    yTitle: "share that finishes",
    range: [0, 1.02],
    marker,
    linked: "density",
    series: [
      { name: "model, no duplicates", y: Array.from(x, (d) => share(d, 0)) },
      series("published", (row) => [row.published], false, 13),
      series("packets", (row) => row.packets, true),
      series("ns-2", (row) => row.ns2, true),
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
    const wide = { x: losses, xTitle: "loss of acknowledgements", marker: values.ack_loss, linked: "loss" };
    for (const name of ["duplicates", "transmissions"]) {
      figures[name].show({
        ...wide,
        yTitle: title(name, "packet"),
        series: [
          { name: "without LEAP", y: curve(`${name}_plain`, segments) },
          { name: "with LEAP", y: curve(`${name}_leap`, segments) },
        ],
      });
    }
    figures.causes.show({
      ...wide,
      yTitle: "probability",
      range: [0, 1],
      series: [
        { name: "timeout, each acknowledged", y: curve("ack_share") },
        { name: "nothing back, each acknowledged", y: curve("suspicion_right") },
        { name: "timeout, every second", y: curve("ack_share delayed") },
        { name: "nothing back, every second", y: curve("suspicion_right delayed") },
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
      yTitle: "share that finishes",
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
    table1(figures.table1, printed(values.variant), share, values.density);
    const both = (name) => [segments * of(`${name}_plain`), segments * of(`${name}_leap`)],
      two = repeats.slice(1);
    figures.facts.show({
      columns: ["without LEAP", "with LEAP"],
      rows: [
        {
          name: "duplicates",
          unit: "packet",
          values: both("duplicates"),
          means: "segments of 100 that are received once more",
        },
        { name: "transmissions", unit: "packet", values: both("transmissions"), means: "segments sent for 100" },
        {
          name: "right leaps",
          values: [NaN, of("leaps_right")],
          means: "share of leaps before which the segment had arrived",
        },
        {
          name: "critical density",
          unit: "1/s",
          values: two.map((d) => capacity / (1 + d)),
          means: "from which on not all transfers finish",
        },
        {
          name: "finished",
          values: two.map((d) => share(values.density, d)),
          means: "share of transfers that finish at the chosen density",
        },
      ],
    });
    const [plain, leap] = both("duplicates");
    const says = `Of 100 segments ${brief(plain)} arrive twice without LEAP and ${brief(leap)} with it; ${percent(of("ack_share"))} of the timeouts are caused by lost acknowledgements alone.`;
    const last = printed(values.variant).at(-1);
    const about = {
      causes:
        `Lost acknowledgements alone cause ${percent(of("ack_share"))} of the timeouts; ` +
        `where nothing came back, ${percent(of("suspicion_right"))}.`,
      duplicates: `Of 100 segments ${brief(plain)} arrive twice without LEAP and ${brief(leap)} with it.`,
      finished:
        `At ${brief(values.density)} transfers a second ${percent(share(values.density, two[0]))} finish without LEAP ` +
        `and ${percent(share(values.density, two[1]))} with it.`,
      table1:
        `${values.variant} at 3.5 transfers a second, nodes ${values.nodes}: published ${percent(last.published)}, ` +
        `packets ${inEnds(last.packets, " %")}${last.ns2 ? `, ns-2 ${inEnds(last.ns2, " %")}` : ""}.`,
    };
    return {
      says,
      about,
      numbers: {
        plain,
        leap,
        cause: of("ack_share"),
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
