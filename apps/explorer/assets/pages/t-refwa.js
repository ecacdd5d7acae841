"use strict";
explorer.page("t-refwa", (() => {
  const PUBLISHED = [1.5, 0.5], TOP = 3;

  return {
    draw(values, functions, figures, set) {
      const { run, rows, states, closed: [phi, low, high], exact } = functions.recursion;
      const n = states.length, x = new Float64Array(n + 4), out = new Float64Array(rows.length);
      x.set([values.phi, values.psi, values.bdp, values.buffer], n);
      const at = (state) => { x.set(state); run(x, out); return out; };
      const named = (word) => Float64Array.from(states, (s) => out[rows.indexOf(`${word} ${s}`)]);

      at(new Float64Array(n));
      const start = named("start"), rest = named("rest");
      const observed = (state) => {
        at(state);
        const queue = states.includes("Q") ? state[states.indexOf("Q")] : out[rows.indexOf("Q")];
        return [out[rows.indexOf("Upsilon")], queue];
      };
      const motion = orbit((i, state, past, next) => { next.set(at(state).subarray(0, n)); }, start, values.commands).map(observed);
      const [window, queue] = observed(rest);
      const times = Float64Array.from(motion, (_, i) => i), level = (value) => new Float64Array(times.length).fill(value);
      const common = { x: times, xTitle: explorer.title("command", "interval"), linked: "interval" };
      figures.window.show({ ...common, yTitle: explorer.title("window", "packet"), series: [
        { name: "commanded window", y: motion.map((o) => o[0]) }, { name: "at rest", y: level(window) }, { name: "bandwidth-delay product", y: level(values.bdp) }] });
      figures.queue.show({ ...common, yTitle: explorer.title("queue", "packet"), series: [
        { name: "queue", y: motion.map((o) => o[1]) }, { name: "at rest", y: level(queue) }, { name: "buffer", y: level(values.buffer) }] });

      const { groups, worst } = functions.groups, shares = new Float64Array(2 * groups + 1);
      functions.groups.run([values.rtt_low, values.rtt_high], shares);
      figures.groups.show({
        x: shares.slice(0, groups), xTitle: explorer.title("round-trip time", "s"), yTitle: "rate over the mean rate", series: [
          { name: "a flow", y: shares.slice(groups, 2 * groups), kind: "points" },
          { name: "Jain's index", y: new Float64Array(groups).fill(shares[2 * groups]) },
          { name: "its least within the code", y: new Float64Array(groups).fill(worst) }],
      });

      figures.chart.show({
        xTitle: "gain φ on spare bandwidth", yTitle: "gain ψ on free buffer", xRange: [0, TOP], yRange: [0, TOP],
        lines: [
          { name: "stable by the closed form", x: [...phi, ...[...phi].reverse()], y: [...low, ...[...high].reverse()], area: true },
          { name: "boundary by exact roots", x: exact.flatMap(([px]) => [...px, NaN]), y: exact.flatMap(([, py]) => [...py, NaN]) },
          { name: "the paper's gains", x: [PUBLISHED[0]], y: [PUBLISHED[1]], points: true, ring: true },
          { name: "the sliders", x: [values.phi], y: [values.psi], points: true },
        ],
        pick: (x1, y1) => set({ phi: x1, psi: y1 }),
      });
    },
  };
})());
