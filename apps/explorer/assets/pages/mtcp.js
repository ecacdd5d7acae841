import { element } from "../core/dom.js";
import { between, brief, percent, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

page("mtcp", {
  panels(spec) {
    if (!spec.answers) return [];
    const link = element("a", { href: "/packets?scenario=mtcp_two_routes" }, "Simulate two routes packet by packet");
    return [element("p", { class: "reading" }, link)];
  },

  draw(values, functions, figures) {
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
      run(
        Float64Array.from(inputs, (name) => (name === "ack_loss" ? q : values[name])),
        out,
      );
      return out;
    };
    const losses = between(low, high, n),
      curves = Array.from(losses, at);
    const curve = (name) => curves.map((row) => row[rows.indexOf(name)]),
      schemes = ["immediate", "duplicated, delayed or not"];
    const by = (curves) => schemes.map((name, i) => ({ name, y: curves[i] }));
    const wide = { x: losses, xTitle: "loss of acknowledgements", marker: values.ack_loss, linked: "loss" };
    figures.losses.show({
      ...wide,
      yTitle: "probability",
      series: by([Array.from(losses), Array.from(losses, (q) => q ** routes)]),
    });
    figures.throughput.show({
      ...wide,
      yTitle: title("throughput", "packet/s"),
      series: [...by([curve("immediate"), curve("duplicated")]), { name: "Reno, one route", y: curve("reno") }],
    });
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
      yTitle: "share of an error",
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
          name: "share kept",
          values: [of("immediate_factor"), of("duplicated_factor")],
          means: "share of the throughput without lost acknowledgements",
        },
      ],
    });
    const needed = (factor) => Math.log(0.01) / Math.log(factor);
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
        { name: "unknown directions", values: [1], means: "of the estimates: there + c, back - c" },
        { name: "known directions", values: [2 * routes - 1], means: "all others" },
      ],
    });
    const says =
      `An acknowledgement that is sent over all ${routes} routes is lost with probability ${percent(values.ack_loss ** routes)} instead of ${percent(values.ack_loss)}; ` +
      `the throughput rises from ${brief(sent[0])} to ${brief(sent[1])} packet/s. The clocks' offset cannot be known: ${brief(Math.abs(values.asymmetry) / 2)} s of error stay for ever.`;
    return {
      says,
      numbers: { immediate: sent[0], duplicated: sent[1], reno: of("reno"), lost: values.ack_loss ** routes },
    };
  },
});
