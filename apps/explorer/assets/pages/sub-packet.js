"use strict";
explorer.page("sub-packet", (() => {
  const CHAINS = ["approximate", "full", "exact"];
  const losses = explorer.between(0.005, 0.495, 99);
  const out = new Float64Array(1000);

  return {
    draw(values, functions, figures) {
      const at = (kind, loss) => { functions[kind].run([loss, values.base_timeout], out); return out; };
      const W = values.w_max, packets = Float64Array.from({ length: W + 1 }, (_, n) => n);
      const bars = CHAINS.map((name) => ({ name, kind: "bars", y: Array.from(at(name, values.loss).subarray(0, W + 1)) }));
      figures.packets.show({ x: packets, xTitle: "packets sent in an epoch", yTitle: "probability", series: bars, range: [0, 1], xRange: [-0.6, W + 0.6] });
      const goodput = [], silence = [];
      for (const name of CHAINS) {
        const sent = new Float64Array(losses.length), silent = new Float64Array(losses.length);
        losses.forEach((loss, i) => { at(name, loss); sent[i] = out[W + 2]; silent[i] = out[0]; });
        goodput.push({ name, y: sent });
        silence.push({ name, y: silent });
      }
      const common = { x: losses, xTitle: "loss rate", marker: values.loss, linked: "loss" };
      figures.goodput.show({ ...common, yTitle: explorer.title("goodput", "packet per RTT"), series: goodput });
      figures.silence.show({ ...common, yTitle: "share of epochs without a packet", series: silence, range: [0, 1] });
      const { states } = functions.full, { edges } = functions.transitions;
      const pi = Array.from(at("full", values.loss).subarray(W + 3, W + 3 + states.length));
      const chances = new Float64Array(edges.length);
      functions.transitions.run([values.loss, values.base_timeout], chances);
      figures.diagram.show({ states, pi, edges, flows: edges.map(([a], k) => pi[a] * chances[k]) });
    },
  };
})());
