// @ts-check
import { element } from "../core/dom.js";
import { alongAckLoss, between, brief, exactPercent, percent, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

const SCHEMES = { reno: "Reno", immediate: "immediate", duplicated: "duplicated", duplicated_delayed: "delayed" };

/** Table 4 at a printed loss: printed, by the model over two routes, and in packets over all interpretations. */
const showTable = (figure, told, next, row, of, routes) => {
  const names = Object.keys(SCHEMES),
    whole = names.map((name) => told.packets[name][next]);
  const law = names.map((name) => of(row, name.startsWith("duplicated") ? "duplicated" : name));
  figure.show({
    x: names.map((_, i) => i + 1),
    labels: Object.values(SCHEMES),
    exact: Object.values(SCHEMES),
    xTitle: "scheme",
    xRange: [0.5, 4.5],
    range: [0, 2.6],
    yTitle: title("throughput", "Mbit/s"),
    series: [
      { name: "printed", kind: "bars", y: names.map((name) => told.printed[name][next]) },
      { name: "model", kind: "bars", y: law.map((rate) => told.packet * rate) },
      {
        name: "packets",
        kind: "bars",
        y: whole.map((one) => one[0]),
        low: whole.map((one) => one[1]),
        high: whole.map((one) => one[2]),
      },
    ],
  });
};

/** One-way times and the round trips that they make: true, and where the estimates end. */
const showClocks = (figure, ways, { true_round_trip: M, true_there: f, true_back: r, asymmetry: a }) => {
  const all = (there, back) => [
    M / 2 + (there + f / 2),
    M / 2 + (there - f / 2),
    M / 2 + (back + r / 2),
    M / 2 + (back - r / 2),
  ];
  const pairs = (x) => [...x, x[0] + x[2], x[0] + x[3], x[1] + x[2], x[1] + x[3]];
  figure.show({
    x: ways.map((_, i) => i + 1),
    labels: ways,
    exact: ways,
    xTitle: "time",
    xRange: [0.4, 8.6],
    range: [Math.min(0, ...pairs(all(a / 2, -a / 2))), 1.1 * Math.max(0.01, ...pairs(all(a / 2, -a / 2)), M)],
    yTitle: title("time", "s"),
    series: [
      { name: "true", kind: "bars", y: pairs(all(a / 2, -a / 2)) },
      { name: "estimated", kind: "bars", y: pairs(all(0, 0)) },
    ],
  });
};

page("mtcp", {
  panels(spec) {
    if (!spec.answers) return [];
    const link = element("a", { href: "/packets?scenario=mtcp_two_routes" }, "Simulate two routes packet by packet");
    return [element("p", { class: "reading" }, link)];
  },

  draw(values, functions, figures, set, spec) {
    const {
        run,
        rows,
        inputs,
        losses: [low, high, n],
        acks,
      } = functions.forms,
      routes = values.routes;
    const at = (q) => {
      const out = new Float64Array(rows.length);
      run(Float64Array.from(inputs.map((name) => (name === "ack_loss" ? q : values[name]))), out);
      return out;
    };
    const losses = between(low, high, n),
      curves = Array.from(losses, at);
    const curve = (name) => curves.map((row) => row[rows.indexOf(name)]),
      schemes = ["immediate", "duplicated, delayed or not"];
    const by = (curves) => schemes.map((name, i) => ({ name, y: curves[i] }));
    const wide = alongAckLoss(losses, values.ack_loss);
    figures.losses.show({
      ...wide,
      yTitle: "probability",
      yPercent: true,
      series: by([Array.from(losses), Array.from(losses, (q) => q ** routes)]),
    });
    const told = spec.facts.recorded,
      mbit = (rates) => rates.map((rate) => told.packet * rate);
    const place = (q) => told.losses.findIndex((one) => Math.abs(one - q) < 1e-9);
    const printed = (name, scheme) => ({
      name: `Table 4, ${name}`,
      kind: "points",
      y: Array.from(losses, (q) => (place(q) < 0 ? null : told.printed[scheme][place(q)])),
    });
    figures.throughput.show({
      ...wide,
      asks: "What throughput do immediate acknowledgements give at each drop probability of ACKs?",
      yTitle: title("throughput", "Mbit/s"),
      series: [
        ...by([mbit(curve("immediate")), mbit(curve("duplicated"))]),
        { name: "Reno, one route", y: mbit(curve("reno")) },
        { ...printed("immediate", "immediate"), hue: 0 },
        { ...printed("duplicated", "duplicated"), hue: 1 },
        { ...printed("Reno", "reno"), hue: 2 },
      ],
    });
    const next = told.losses.reduce((best, q, i) => {
      return Math.abs(q - values.ack_loss) < Math.abs(told.losses[best] - values.ack_loss) ? i : best;
    }, 0);
    showTable(figures.table4, told, next, at(told.losses[next]), (row, name) => row[rows.indexOf(name)], routes);
    showClocks(figures.clocks, told.ways, values);
    const now = at(values.ack_loss),
      of = (name) => now[rows.indexOf(name)];
    const common = of("common_factor"),
      difference = of("difference_factor"),
      k = between(0, acks, acks + 1);
    const round = { x: k, xTitle: "acknowledgements", linked: "ack" };
    const level = (y) => Array.from(k, () => y);
    for (const [name, apart, more] of [
      ["there", values.true_there, values.asymmetry],
      ["back", values.true_back, -values.asymmetry],
    ]) {
      const true_ = (values.true_round_trip + more) / 2;
      const estimate = (sign) =>
        Array.from(k, (i) => (values.true_round_trip * (1 - common ** i) + sign * apart * (1 - difference ** i)) / 2);
      figures[name].show({
        ...round,
        yTitle: title("time", "s"),
        series: [
          { name: "route 1", y: estimate(1) },
          { name: "route 2", y: estimate(-1) },
          { name: "true, route 1", y: level(true_ + apart / 2), dash: [6, 6] },
          { name: "true, route 2", y: level(true_ - apart / 2), dash: [6, 6] },
        ],
      });
    }
    figures.errors.show({
      ...round,
      yTitle: "fraction of an error",
      log: true,
      range: [1e-6, 2],
      series: [
        { name: "mean round trip", y: Array.from(k, (i) => common ** i) },
        { name: "between routes", y: Array.from(k, (i) => difference ** i) },
        { name: "there against back", y: level(1) },
      ],
    });
    const sent = [of("immediate"), of("duplicated")];
    figures.schemes.show({
      columns: schemes,
      rows: [
        {
          name: "lost whole",
          percent: true,
          values: [values.ack_loss, values.ack_loss ** routes],
          means: "probability that nothing of an acknowledgement arrives",
        },
        { name: "throughput", unit: "packet/s", values: sent, means: "sent over all routes" },
        {
          name: "over Reno",
          values: sent.map((x) => x / of("reno")),
          means: "times the throughput of Reno over one route",
        },
        {
          name: "fraction kept",
          percent: true,
          values: [of("immediate_factor"), of("duplicated_factor")],
          means: "fraction of the throughput without lost acknowledgements",
        },
      ],
    });
    const needed = (factor) => Math.ceil(Math.log(0.01) / Math.log(factor));
    figures.facts.show({
      columns: ["value"],
      rows: [
        { name: "common factor", values: [common], means: "of the mean round trip's error, for each acknowledgement" },
        { name: "difference factor", values: [difference], means: "of the error of differences between routes" },
        {
          name: "mean to 1 %",
          unit: "ACK",
          values: [needed(common)],
          means: "until 1 % of the mean round trip's error is left",
        },
        {
          name: "differences to 1 %",
          unit: "ACK",
          values: [needed(difference)],
          means: "until 1 % of the error of differences is left",
        },
        {
          name: "noise gain",
          values: [of("noise_gain")],
          means: "variance of an estimated round trip over that of a measured one",
        },
        {
          name: "constant there",
          unit: "s",
          values: [-values.asymmetry / 2],
          means: "by which times there end up off; times back by its opposite",
        },
        { name: "directions not measured", values: [1], means: "of the estimates: there + c, back - c" },
        { name: "directions measured", values: [2 * routes - 1], means: "all others" },
      ],
    });
    const says =
      `An acknowledgement that is sent over all ${routes} routes is lost with probability ` +
      `${percent(values.ack_loss ** routes)} instead of ${exactPercent(values.ack_loss)}; ` +
      `the throughput rises from ${brief(told.packet * sent[0])} to ` +
      `${brief(told.packet * sent[1])} Mbit/s. The clocks' offset cannot be measured: ` +
      `${brief(Math.abs(values.asymmetry) / 2)} s of error never go away.`;
    return {
      says,
      about: {
        throughput:
          `At a drop probability of ${exactPercent(values.ack_loss)} for ACKs the model has ` +
          `${brief(told.packet * sent[0])} Mbit/s with immediate and ` +
          `${brief(told.packet * sent[1])} with duplicated ones, and Reno over one route ` +
          `${brief(told.packet * of("reno"))}.`,
        losses:
          "A duplicated acknowledgement is lost with probability " +
          `${percent(values.ack_loss ** routes)}, an immediate one with ` +
          `${exactPercent(values.ack_loss)}.`,
        table4:
          `At the printed loss of ${percent(told.losses[next])}: the thin lines of the packets ` +
          "reach over all settings that the paper leaves open.",
        clocks:
          `Estimated times there and back are off by ${brief(Math.abs(values.asymmetry) / 2)} s. ` +
          `All four round trips are right. "1 and 2" goes there over route 1 and comes back over ` +
          "route 2.",
        errors:
          `The mean round trip is right to 1 % after ${needed(common)} ` +
          `acknowledgements, differences between routes after ${needed(difference)}; ` +
          "the constant stays.",
      },
      numbers: {
        immediate: told.packet * sent[0],
        duplicated: told.packet * sent[1],
        reno: told.packet * of("reno"),
        gain: sent[0] / of("reno") - 1,
        gain_duplicated: sent[1] / of("reno") - 1,
        lost: values.ack_loss ** routes,
        kept: of("immediate_factor"),
        kept_duplicated: of("duplicated_factor"),
        reno_kept: of("reno") / at(0)[rows.indexOf("reno")],
        offset: Math.abs(values.asymmetry) / 2,
        mean_to: needed(common),
        apart_to: needed(difference),
        known: 2 * routes - 1,
        printed: told.printed.immediate[next],
        printed_duplicated: told.printed.duplicated[next],
        printed_gain: told.printed.immediate[next] / told.printed.reno[next] - 1,
        packets_immediate: told.packets.immediate[next],
      },
    };
  },
});
