"use strict";
explorer.page("fluid-tcp", (() => {
  const FLOWS = [0, 400], RTT = [0, 0.6];

  /** The boundary at a round-trip time: flows, base round-trip time, and whether the queue rests inside there. */
  const crossing = ({ run, rows, size }, parameters) => {
    const [beyond, balance, inside, flows, base] = ["beyond", "balance", "inside", "flows", "base_rtt"].map((name) => rows.indexOf(name));
    const out = new Float64Array(size), x = Float64Array.of(0, 0, ...parameters);
    return (rtt) => {
      let low = 0, high = Math.PI;
      x[1] = rtt;
      for (let i = 0; i < 40; i++) {
        x[0] = (low + high) / 2;
        run(x, out);
        if (out[beyond] > 0 || out[balance] > 0) high = x[0]; else low = x[0];
      }
      return [out[flows], out[base], out[inside] > 0 && out[base] > 0];
    };
  };

  return {
    draw(values, functions, figures, set) {
      const { slopes, signal, rest } = functions, { states, fields } = slopes, n = states.length;
      const parameters = fields.map((name) => values[name]);
      const x = new Float64Array(n + 3 + fields.length), now = new Float64Array(n + fields.length), one = new Float64Array(1);
      x.set(parameters, n + 3);
      now.set(parameters, n);
      const mark = (state) => { now.set(state); signal.run(now, one); return one[0]; };
      const slope = (t, state, past, out) => { x.set(state); x.set(past, n); slopes.run(x, out); };

      const out = new Float64Array(rest.size);
      rest.run(parameters, out);
      const delay = out[0], start = states.map((name) => (name === "W" ? 1 : 0));
      const points = Array.from({ length: rest.points }, (_, i) => out.slice(1 + i * n, 1 + (i + 1) * n));
      const still = points.find((point) => {
        const speed = new Float64Array(n);
        slope(0, point, [point[0], point[1], mark(point)], speed);
        return Math.abs(speed[0]) * delay < 1e-6 * point[0] && Math.abs(speed[1]) < 1e-6 * values.capacity;
      });
      const [W, q] = still || [NaN, NaN], at = crossing(functions.boundary, parameters);
      const judged = still && (points.length === 1 || still === points[0]); // of a full queue with marks, no closed form
      const verdict = judged ? (values.flows > at(delay)[0] ? ": stable" : ": unstable") : "";

      const times = explorer.between(0, values.end * delay, 601);
      const lags = [(t, state) => state[0], (t, state) => state[1], (t, state) => mark(state)].map((of) => ({ lag: delay, of }));
      const { values: motion } = trajectory(slope, start, Array.from(times), { lags, rtol: 1e-8, atol: 1e-8, maxSteps: 20000 });
      const window = motion.map((s) => (s ? s[0] : NaN)), queue = motion.map((s) => (s ? s[1] : NaN));
      const level = (name, value) => ({ name, y: new Float64Array(times.length).fill(value) });
      const atRest = (value) => (still ? [level("at rest", value)] : []);
      const common = { x: times, xTitle: explorer.title("time", "s"), linked: "time" };
      figures.window.show({ ...common, yTitle: explorer.title("window", "packet"), series: [{ name: "window", y: window }, ...atRest(W)] });
      figures.queue.show({ ...common, yTitle: explorer.title("queue", "packet"), series: [{ name: "queue", y: queue }, level("buffer", values.buffer), ...atRest(q)] });

      const finite = (row) => row.filter(Number.isFinite);
      figures.plane.show({
        xTitle: explorer.title("window", "packet"), yTitle: explorer.title("queue", "packet"),
        xRange: [0, 1.05 * Math.max(...finite(window), W || 0)], yRange: [0, 1.05 * Math.max(...finite(queue), q || 0, 1)],
        lines: [{ name: "motion", x: window, y: queue }, { name: still ? `point of rest${verdict}` : "no point of rest in closed form", x: still ? [W] : [], y: still ? [q] : [], points: true }],
      });
      const edge = Array.from(explorer.between(0.005, 1.5, 120), at).filter(([, , inside]) => inside);
      figures.chart.show({
        xTitle: "flows", yTitle: explorer.title("base round-trip time", "s"), xRange: FLOWS, yRange: RTT,
        lines: [{ name: "boundary of stability", x: edge.map((e) => e[0]), y: edge.map((e) => e[1]) }, { name: `the sliders${verdict}`, x: [values.flows], y: [values.base_rtt], points: true }],
        pick: (x1, y1) => set({ flows: x1, base_rtt: y1 }),
        guess: verdict ? { question: "Does a small disturbance of the point of rest die out?", choices: ["stable", "unstable"], answer: verdict.slice(2) } : undefined,
      });
    },
  };
})());
