"use strict";
explorer.page("fairness", {
  draw(values, functions, figures, set) {
    const n = values.flows, names = functions.indices.indices, out = new Float64Array(functions.indices.size);
    const x = Array.from({ length: n }, (_, i) => values[`x${i + 1}`]);
    functions.indices.run(x, out);
    const flows = Float64Array.from({ length: n }, (_, i) => i + 1);
    figures.flows.show({
      x: flows, xTitle: "flow", yTitle: explorer.title("throughput", "Mbit/s"), series: [{ name: "throughput", kind: "bars", y: x }],
      range: [0, 10], xRange: [0.4, n + 0.6],
      pick: (flow, y) => set({ [`x${Math.min(n, Math.max(1, Math.round(flow)))}`]: y }),
    });
    const places = Float64Array.from(names, (_, i) => i + 1);
    figures.indices.show({
      x: places, xTitle: "index", labels: names, yTitle: "value",
      series: [{ name: "value", kind: "bars", y: Array.from(out.subarray(0, names.length)) }], range: [0, 1], xRange: [0.4, names.length + 0.6],
    });
    const ordered = Array.from(out.subarray(names.length + 1)), total = ordered.reduce((a, b) => a + b, 0);
    const shares = [0];
    ordered.forEach((v) => shares.push(shares.at(-1) + v / total));
    figures.lorenz.show({
      xTitle: "share of the flows, poorest first", yTitle: "share of the throughput", xRange: [0, 1], yRange: [0, 1],
      lines: [{ name: "Lorenz curve", x: shares.map((_, i) => i / n), y: shares }, { name: "equality", x: [0, 1], y: [0, 1], dash: true }],
    });
    figures.bounds.show({
      x: Float64Array.of(1, 2, 3), xTitle: "bound", labels: ["Jain's index", "4r/(1 + r)²", "1/n"], yTitle: "value",
      series: [{ name: "value", kind: "bars", y: [out[0], out[names.length], 1 / n] }], range: [0, 1], xRange: [0.4, 3.6],
    });
  },
});
