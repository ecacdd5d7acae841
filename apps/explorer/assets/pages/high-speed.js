// @ts-check
import { trajectory } from "../core/motion.js";
import { between, brief, title } from "../core/numbers.js";
import { page } from "../core/pages.js";

const decades = (low, high, n) => between(Math.log10(low), Math.log10(high), n).map((x) => 10 ** x);
const NEAR = 1e-6; // [packet] from the jump of a law
const WINDOWS = decades(1, 1e5, 201);

/** From the window after a loss to [window, rounds] at the next loss, 1/p packets later; kept where it repeats. */
const toothOf = (growth, loss) => {
  const slope = (s, [window], past, out) => {
    out[0] = growth(window) / window;
    out[1] = 1 / window;
  };
  let from = NaN,
    end = new Float64Array(2);
  return (low) => {
    if (Math.abs(low - from) <= 1e-12 * low) return end;
    from = low;
    end = trajectory(slope, [low, 0], [0, 1 / loss], { rtol: 1e-11, atol: 1e-12 }).values[1];
    return end;
  };
};

/** Windows at the times, a loss every 1/p packets, and the last peak. */
const sawtooth = ({ growth, share, tooth }, peak, times) => {
  const windows = new Float64Array(times.length),
    climb = (t, [window], past, out) => {
      out[0] = growth(window);
    };
  let at = 0,
    next = 0,
    top = peak,
    low = (1 - share(peak)) * peak;
  while (next < times.length) {
    const [high, rounds] = tooth(low);
    top = high;
    let end = next;
    while (end < times.length && times[end] < at + rounds) end++;
    if (end > next) {
      const { values } = trajectory(
        climb,
        [low],
        Array.from(times.subarray(next, end), (t) => t - at),
        { rtol: 1e-10, atol: 1e-11 },
      );
      values.forEach((state, i) => {
        windows[next + i] = state[0];
      });
    }
    [at, next, low] = [at + rounds, end, (1 - share(high)) * high];
  }
  return { windows, top };
};

/** Peak, mean and rounds of the sawtooth that repeats. */
const repeated = ({ share, tooth }, peak, loss) => {
  let high = peak,
    rounds = 0;
  for (let i = 0, before = 0; i < 300 && Math.abs(high / before - 1) > 1e-9; i++) {
    before = high;
    [high, rounds] = tooth((1 - share(high)) * high);
  }
  return { peak: high, mean: 1 / (loss * rounds), rounds };
};

page("high-speed", {
  draw(values, functions, figures) {
    const laws = ["Reno", "HighSpeed", "Scalable"];
    const {
      losses: [least, most],
      jump,
      size,
    } = functions.HighSpeed;
    const x = Float64Array.of(values.loss, 1, values.a, values.b),
      out = new Float64Array(size);
    const law = (name) => {
      const { run } = functions[name];
      const at = (row, loss, window) => {
        x[0] = loss;
        x[1] = window;
        run(x, out);
        return out[row];
      };
      // the rows of the page's file in Python: response, growth, fraction given up, slope
      const [growth, share, slope] = [1, 2, 3].map((row) => (window) => at(row, values.loss, window));
      return { name, response: (loss) => at(0, loss, 1), growth, share, slope, tooth: toothOf(growth, values.loss) };
    };
    const three = laws.map(law),
      each = (f) => three.map((one) => ({ name: one.name, y: f(one) }));
    const losses = Float64Array.from(new Set([...decades(least, most, 201), values.loss])).sort(),
      rest = three.map((one) => one.response(values.loss));
    const wide = { x: losses, xTitle: "loss rate", xLog: true, log: true, marker: values.loss, linked: "loss" };
    figures.response.show({
      ...wide,
      asks: "What is the window of Reno at each loss rate?",
      yTitle: title("window", "packet"),
      series: each((one) => losses.map(one.response)),
    });
    figures.ratio.show({
      ...wide,
      yTitle: "times Reno's window",
      series: each((one) => losses.map((p) => one.response(p) / three[0].response(p))),
    });

    const marks = { x: WINDOWS, xTitle: title("window", "packet"), xLog: true, marker: rest[1], linked: "window" };
    figures.growth.show({
      ...marks,
      log: true,
      yTitle: title("growth", "packet/RTT"),
      series: each((one) => WINDOWS.map(one.growth)),
    });
    figures.share.show({
      ...marks,
      range: [0, 0.65],
      yTitle: "fraction given up",
      yPercent: true,
      series: each((one) => WINDOWS.map(one.share)),
    });

    // Windows grow below the jump of HighSpeed's law and shrink above it: no equation says what they do on it.
    const stuck = three.find((one) => one.slope(jump - NEAR) > 0 && one.slope(jump + NEAR) < 0 && one === three[1]);
    const times = between(0, values.end, 601),
      common = { x: times, xTitle: title("time", "RTT"), linked: "time", log: true, yTitle: title("window", "packet") };
    const saws = three.map((one, i) => sawtooth(one, rest[i], times));
    figures.teeth.show({ ...common, series: three.map(({ name }, i) => ({ name, y: saws[i].windows })) });
    figures.mean.show({
      ...common,
      series: each((one) => {
        const { values: motion } = trajectory(
          (t, [w], past, slope) => {
            slope[0] = one === stuck && w > jump - NEAR ? 0 : one.slope(w);
          },
          [1],
          Array.from(times),
          { rtol: 1e-8, atol: 1e-8 },
        );
        const until = one === stuck ? motion.findIndex((state) => state && state[0] > jump - NEAR) : -1;
        return motion.map((state, i) => (state && (until < 0 || i < until) ? state[0] : NaN));
      }),
    });

    const teeth = three.map((one, i) => repeated(one, saws[i].top, values.loss));
    figures.facts.show({
      columns: laws,
      rows: [
        { name: "window", unit: "packet", values: rest, means: "by the formula of each protocol at this loss rate" },
        { name: "times Reno's", values: rest.map((w) => w / rest[0]), means: "that window over Reno's" },
        {
          name: "grows by",
          unit: "packet/RTT",
          values: three.map((one, i) => one.growth(rest[i])),
          means: "at that window, in a round trip",
        },
        {
          name: "gives up",
          percent: true,
          values: three.map((one, i) => one.share(rest[i])),
          means: "fraction of that window that a loss takes away",
        },
        {
          name: "peak",
          unit: "packet",
          values: teeth.map((one) => one.peak),
          means: "window at which the loss comes, with one loss every 1/p packets",
        },
        {
          name: "mean",
          unit: "packet",
          values: teeth.map((one) => one.mean),
          means: "over time, with one loss every 1/p packets",
        },
        {
          name: "between losses",
          unit: "RTT",
          values: teeth.map((one) => one.rounds),
          means: "round trips from one loss to the next",
        },
      ],
    });
    const times_reno = rest.map((w) => brief(w / rest[0])),
      packets = `one packet in ${brief(1 / values.loss)}`;
    const says =
      `Where ${packets} is lost, Reno has a window of ${brief(rest[0])} packets, ${laws[1]} ` +
      `${times_reno[1]} times and ${laws[2]} ${times_reno[2]} times as ` +
      `much.${stuck ? ` ${laws[1]}'s growth jumps at ${jump} packets: there its curve ends.` : ""}`;
    return { says, numbers: { reno: rest[0], second: rest[1], third: rest[2] } };
  },
});
