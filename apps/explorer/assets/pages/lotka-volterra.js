"use strict";
explorer.page("lotka-volterra", (() => {
  return {
    draw(values, functions, figures, set) {
      const { run, shares, gains, critical_delay } = functions.slopes;
      const n = shares.length, x = new Float64Array(2 * n + 3);
      x.set([values.epsilon, values.gamma, values.capacity], 2 * n);
      const slope = (t, state, past, out) => { x.set(state); x.set(past, n); run(x, out); };
      const times = explorer.between(0, values.end, 400);
      const start = shares.map((share) => share * values.capacity);
      const lags = start.map((_, i) => ({ lag: values.delay, of: (t, state) => state[i] }));
      const { values: motion } = trajectory(slope, start, Array.from(times), { lags, rtol: 1e-7, atol: 1e-9 * values.capacity, maxSteps: 20000 });
      const rate = (i) => motion.map((state) => (state ? state[i] : NaN));
      const unit = explorer.title("rate", "packet/s");
      figures.rates.show({ x: times, xTitle: explorer.title("time", "RTT"), yTitle: unit, series: start.map((_, i) => ({ name: `flow ${i + 1}`, y: rate(i) })) });

      const { capacity: K, gamma } = values;
      const even = K / (1 + gamma * (n - 1)), top = Math.max(K, ...rate(0).filter(Number.isFinite), ...rate(n - 1).filter(Number.isFinite)) * 1.05;
      const across = explorer.between(0, top, 60), rest = (n - 2) * even;
      figures.plane.show({
        xTitle: explorer.title("flow 1", "packet/s"), yTitle: explorer.title(`flow ${n}`, "packet/s"), xRange: [0, top], yRange: [0, top],
        lines: [
          { name: "motion", x: rate(0), y: rate(n - 1) },
          { name: "flow 1 stands still", x: across, y: across.map((a) => (K - gamma * rest - a) / gamma), dash: true },
          { name: `flow ${n} stands still`, x: across, y: across.map((a) => K - gamma * (rest + a)), dash: true },
          { name: "point of rest", x: [even], y: [even], points: true },
        ],
      });
      figures.chart.show({
        xTitle: explorer.title("delay τ", "RTT"), yTitle: "gain ε", xRange: [0, 3], yRange: [0, 4],
        lines: [{ name: "boundary of stability", x: critical_delay, y: gains }, { name: "the sliders", x: [values.delay], y: [values.epsilon], points: true }],
        pick: (delay, epsilon) => set({ delay, epsilon }),
      });
    },
  };
})());
