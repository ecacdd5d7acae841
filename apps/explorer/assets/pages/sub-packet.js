// @ts-check
import { complaint, element, maths } from "../core/dom.js";
import { startJob } from "../core/jobs.js";
import { Ladder } from "../core/ladder.js";
import { brief, exactPercent, inEnds, inFacts, inPackets, percent, readable, shown, title } from "../core/numbers.js";
import { KINDS, page } from "../core/pages.js";
import { ask, get, load } from "../core/server.js";

KINDS.diagram = Ladder;

const CHAINS = ["approximate", "full", "exact"];
const range = (low, n) => Float64Array.from({ length: n }, (_, i) => low + 0.005 * i);
const SHORT = range(0.005, 99),
  LONG = range(0.005, 139);
const out = new Float64Array(1000);
const ids = {};

/** The loss at which the exact chain delivers what each user gets; 0 where they do not fill the link. */
const lossOfLink = (values, functions, at) => {
  const {
      run,
      bounds: [low, high],
    } = functions.share,
    share = new Float64Array(1);
  run([values.users, values.rate, values.base_rtt, values.buffer, values.packet_size], share);
  const goodput = (p) => at("exact", p)[values.w_max + 2];
  if (goodput(low) <= share[0]) return { share: share[0], loss: 0, at: low };
  if (goodput(high) > share[0]) return { share: share[0], loss: NaN, at: high };
  let [a, b] = [Math.log(low / (1 - low)), Math.log(high / (1 - high))];
  for (let i = 0; i < 100 && b - a > 1e-15 * Math.abs(a); i++) {
    const middle = (a + b) / 2;
    if (goodput(1 / (1 + Math.exp(-middle))) > share[0]) a = middle;
    else b = middle;
  }
  const loss = 1 / (1 + Math.exp(-(a + b) / 2));
  return { share: share[0], loss, at: loss };
};

// ---- what stands below the pictures ------------------------------------------------------------------------
const table = (head, rows) =>
  element(
    "table",
    {},
    element("thead", {}, element("tr", {}, ...head.map((w) => element("th", { scope: "col" }, w)))),
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element(
          "tr",
          {},
          ...row.map((x) => element("td", { class: "words" }, ...(typeof x === "string" ? maths(x) : [x]))),
        ),
      ),
    ),
  );
const panel = (name, title, ...nodes) =>
  element("section", { class: "panel", "aria-label": title, id: `panel-${name}` }, element("h2", {}, title), ...nodes);

const holds = (values, functions, loss) => {
  const { limit, holds: rows } = functions.share,
    { threshold } = functions.lengths;
  const says = (fine) => (fine ? "holds here" : "does not hold here");
  const own = { m_0: `m_0 = ${shown(values.base_timeout)} here`, m: `m = ${values.collapse} here` };
  const bounded = [
    [
      `Loss is below ${exactPercent(limit)}: the approximate and the full chain have a mean wait.`,
      says(loss < limit),
      "",
    ],
    [
      `Loss is below ${inFacts(threshold, true)}: silences of the exact chain would have a finite mean ` +
        `without a cap on the backoff (m = ${values.collapse}).`,
      says(loss < threshold),
      "",
    ],
  ];
  ids.holds.replaceChildren(
    table(
      ["the models assume", "at this point", "measured with packets"],
      [...bounded, ...rows.map(([assumed, key, measured]) => [assumed, own[key] || "always assumed", measured])],
    ),
  );
};

// ---- the packet simulator at this point --------------------------------------------------------------------
const measured = { runs: [], job: null }; // what came out during this visit
const wholeKey = (values) => JSON.stringify(values),
  sameFlows = (values) =>
    JSON.stringify(["w_max", "base_timeout", "backoff_cap", "stages", "collapse"].map((k) => values[k]));
const interval = (one, per = "") =>
  !one || one.mean === null ? "not measured" : inEnds([one.mean, one.low, one.high], per);

const showRun = (values) => {
  const run = measured.runs.findLast((one) => one.key === wholeKey(values));
  ids.run.textContent = run ? "Run it again" : "Run the packet simulator here";
  ids.about.textContent =
    values.source === "slider"
      ? "Twenty simulated flows, each with the slider's loss. As in the chains, losses are " +
        "independent, the round trip is constant, and timeouts begin at the base timeout. The " +
        "senders are those of the packet simulator."
      : "The users on a drop-tail link with this rate and buffer, round-trip times spread by 5 % to either side.";
  if (!run) {
    ids.measured.replaceChildren();
    return;
  }
  const { data } = run;
  ids.measured.replaceChildren(
    element(
      "p",
      {},
      `${data.flows} flows, ${data.runs} runs of ${readable(data.seconds)} s each; means with 95 % intervals.`,
    ),
    element(
      "div",
      { class: "scroll wide", tabindex: "0" },
      table(
        ["quantity", "measured with packets"],
        [
          ["loss rate", interval(data.loss, " %")],
          ["goodput [packet per RTT]", interval(data.goodput)],
          ["fraction of round trips without a packet", interval(data.sent[0], " %")],
          ["first timeout [RTT]", interval(data.timer)],
          ["loss of resent packets over that of others", interval(data.resent)],
          ...Object.entries(data.distances).map(([kind, d]) => [
            `distance from the ${kind} chain (total variation)`,
            `${interval(d)}: ${d.verdict}`,
          ]),
        ],
      ),
    ),
  );
};

const simulator = (values) => {
  ids.about = element("p", {});
  ids.told = element("span", { role: "status" });
  ids.measured = element("div", {});
  const stop = () => {
    if (measured.job) measured.job.cancel();
  };
  ids.cancel = element("button", { type: "button", hidden: true, onclick: stop }, "Cancel");
  ids.run = element(
    "button",
    {
      type: "button",
      onclick: () => {
        stop();
        const key = wholeKey(values),
          flows = sameFlows(values),
          words = { ...values };
        ids.cancel.hidden = false;
        measured.job = startJob("sub-packet-packets", words, async (status, job) => {
          if (job !== measured.job) return;
          ids.told.textContent =
            status.state === "running"
              ? `${status.said || "running"}: ${Math.round(100 * status.share)} %`
              : status.state === "done"
                ? ""
                : status.said;
          if (["waiting", "running"].includes(status.state)) return;
          ids.cancel.hidden = true;
          if (status.state !== "done") return;
          const data = await (await get(job.address("result.json"))).json();
          measured.runs.push({ key, flows, data });
          ids.redraw();
        });
      },
    },
    "Run the packet simulator here",
  );
  return [ids.about, element("p", { class: "actions" }, ids.run, ids.cancel, ids.told), ids.measured];
};

/** Measured points over curves: x with the measured losses in it, and series of points that are null elsewhere. */
const withPoints = (losses, runs) => {
  const own = runs.map((run) => run.data.loss.mean).filter((p) => p !== null && p <= losses[losses.length - 1]);
  return own.length ? Float64Array.from(new Set([...losses, ...own])).sort() : losses;
};
const points = (x, runs, of) => {
  const place = (key) =>
    Array.from(x, (p) => {
      const run = runs.findLast((one) => one.data.loss.mean === p);
      return run ? of(run.data)[key] : null;
    });
  return { name: "packets", kind: "points", y: place("mean"), low: place("low"), high: place("high") };
};

const formula = { data: null, key: "" };
const showForm = () => {
  const { data } = formula,
    state = ids.state.value;
  if (!data || !data.states[state]) return;
  const { mathml, latex } = data.states[state];
  const math = (pieces) =>
    pieces.map((piece) => `<math>${piece.startsWith("<mrow>") ? piece : `<mrow>${piece}</mrow>`}</math>`).join(" ");
  ids.math.innerHTML =
    `<p><math><mrow><mi>π</mi><mo>(</mo><mtext>${state}</mtext><mo>)</mo><mo>=</mo>` +
    "<mi>N</mi><mo>/</mo><mi>D</mi></mrow></math></p>" +
    "<p><math><mi>N</mi><mo>=</mo></math> " +
    `${math(mathml)}</p><p><math><mi>D</mi><mo>=</mo></math> ` +
    `${math(data.denominator.mathml)}</p>`;
  ids.latex.value = `\\pi_{\\mathrm{${state.replace("*", "^*")}}} = \\frac{${latex}}{${data.denominator.latex}}`;
};
const setForm = (data) => {
  const before = ids.state.value,
    states = Object.keys(data.states);
  formula.data = data;
  ids.state.replaceChildren(...states.map((s) => element("option", { value: s, selected: s === before }, s)));
  ids.formPanel.classList.remove("old");
  showForm();
};
const askForm = async (spec, values) => {
  const served = Boolean(spec.answers);
  const shape = { full: ["w_max", "stages"], approximate: ["w_max"], exact: ["w_max", "backoff_cap", "collapse"] };
  const kind = served ? values.chain : "approximate",
    timeout = served ? values.base_timeout : 2;
  const key = JSON.stringify([kind, timeout, ...shape[kind].map((k) => values[k])]);
  if (!ids.form.open || key === formula.key) return;
  formula.key = key;
  ids.formWords.textContent =
    `The ${kind} chain with a base timeout of ${shown(timeout)} round trips, as a function ` +
    "of the loss p: the fraction of time in a state." +
    (served ? "" : " The other chains' forms, and other timeouts, are in the served page (tcpdynamics explore).");
  ids.formPanel.classList.add("old");
  try {
    const data = served
      ? await ask(spec, "forms", values)
      : (
          await load(
            spec,
            spec.printed.find((p) => p.name === "form"),
            values,
          )
        ).forms;
    if (formula.key === key) setForm(data);
  } catch (error) {
    if (formula.key === key) {
      ids.formWords.textContent = error.message;
      formula.key = "";
    }
  }
};

// ---- the simulator's own sender: series along the loss rate, from the server -------------------------------
const own = { key: "", series: null };
const senderKey = (values) =>
  JSON.stringify(["sender", "rules", "w_max", "backoff_cap", "base_timeout"].map((k) => values[k]));
/**
 * Its quantities at a loss: fractions of round trips with 0, 1, ..., W packets, then the goodput; null where it is
 * not known.
 */
const ofSender = (values, loss) => {
  const { series } = own;
  if (
    values.sender === "none" ||
    own.key !== senderKey(values) ||
    !series ||
    !(loss >= series.edges[0] && loss <= series.edges.at(-1))
  )
    return null;
  let k = 0;
  while (k < series.pieces.length - 1 && loss > series.edges[k + 1]) k++;
  const low = series.edges[k],
    high = series.edges[k + 1],
    x = (2 * loss - low - high) / (high - low);
  return series.pieces[k].map((c) => {
    // Clenshaw
    let [b, after] = [0, 0];
    for (let i = c.length - 1; i > 0; i--) [b, after] = [2 * x * b - after + c[i], b];
    return x * b - after + c[0];
  });
};
const askSender = async (spec, values) => {
  const key = senderKey(values);
  ids.sender.hidden = values.sender === "none";
  if (ids.sender.hidden || key === own.key) return;
  own.key = key;
  own.series = null;
  ids.sender.textContent = spec.answers
    ? ""
    : "The simulator's own sender is in the served page only (tcpdynamics explore).";
  if (!spec.answers) return;
  const began = performance.now();
  const wait = () => {
    const seconds = Math.round((performance.now() - began) / 1000);
    if (own.key === key)
      ids.sender.textContent =
        `Running the ${values.sender} sender through every pattern of losses: ${seconds} s so ` +
        "far. A first time of all takes up to a minute, since the simulator is compiled; else " +
        "some seconds.";
  };
  wait();
  const clock = setInterval(wait, 1000);
  try {
    const series = await ask(spec, "sender", values);
    clearInterval(clock);
    if (own.key !== key) return;
    own.series = series;
    ids.sender.textContent = `The ${values.sender} sender by the rules ${values.rules}: ${series.about}.`;
    ids.redraw();
  } catch (error) {
    if (own.key === key) {
      ids.sender.textContent =
        error.name === "AbortError" ? "" : `The simulator's own sender is not shown: ${error.message}`;
      if (error.name === "AbortError" || error.silent) own.key = "";
    }
  } finally {
    clearInterval(clock);
  }
};

const askExact = async (spec, values) => {
  ids.fractions.classList.add("old");
  try {
    const { loss, base_timeout, rows } = await ask(spec, "exact", values, ids.typed.value);
    const short = (text) => (text.length > 160 ? `${text.slice(0, 80)} … (${text.length} characters)` : text);
    ids.fractions.replaceChildren(
      element(
        "p",
        {},
        `The ${values.chain} chain at a loss of ${loss}, base timeout ${base_timeout} RTT: exact ` +
          "fractions of time, which sum to one.",
      ),
      element(
        "div",
        { class: "scroll", tabindex: "0" },
        table(
          ["state", "fraction of time, exact", "fraction of time"],
          rows.map(([s, x, y]) => [s, element("span", { title: x.slice(0, 2000) }, short(x)), shown(y)]),
        ),
      ),
    );
  } catch (error) {
    if (error.name === "AbortError") return;
    ids.fractions.replaceChildren(complaint(error.message));
  }
  ids.fractions.classList.remove("old");
};

// ---- what was measured, on the chains' axes ------------------------------------------------------------------
/** Draw the recorded points; numbers of the load whose loss is nearest, by each sender that was measured. */
const beside = (figures, chosen, apart, here, { at, valid, W, loss }) => {
  const own = chosen.flatMap(({ rows }) => rows.map((row) => row.loss[0])),
    losses = Float64Array.from(new Set([...SHORT, ...own])).sort();
  const draw = (figure, place, of, more) => {
    /** @type {any[]} */
    const series = CHAINS.map((name) => ({
      name,
      y: Float64Array.from(losses, (p) => (valid(name, p) ? at(name, p)[place] : NaN)),
      asked: name === "exact",
    }));
    chosen.forEach(({ name, rows }) => {
      const found = new Map(rows.map((row) => [row.loss[0], of(row)])),
        part = (k) => Array.from(losses, (p) => (found.has(p) ? found.get(p)[k] : null));
      series.push({ name, kind: "points", y: part(0), low: part(1), high: part(2) });
    });
    figure.show({ x: losses, xTitle: "loss rate", xPercent: true, marker: loss, linked: "loss", series, ...more });
  };
  draw(figures.measured, 0, (row) => row.sent[0], {
    yTitle: "silent fraction of round trips",
    yPercent: true,
    range: [0, 1],
  });
  draw(figures.measured_goodput, W + 2, (row) => row.goodput, {
    yTitle: title("goodput", "packet per RTT"),
    range: [0, W],
  });
  const far = (row) => Math.abs(row.loss[0] - here),
    [{ name, rows }] = chosen,
    nearest = (all) => all.reduce((best, one) => (far(one) < far(best) ? one : best)),
    row = nearest(rows),
    p = row.loss[0];
  const law = (kind) => (valid(kind, p) ? Array.from(at(kind, p).subarray(0, W + 1)) : new Array(W + 1).fill(null));
  const part = (k) => Array.from({ length: W + 1 }, (_, n) => (row.sent[n] ? row.sent[n][k] : null));
  const bars = CHAINS.map((kind) => ({ name: kind, kind: "bars", y: law(kind) }));
  figures.measured_law.show({
    x: Float64Array.from({ length: W + 1 }, (_, n) => n),
    xTitle: "packets sent in a round trip",
    yTitle: "fraction of round trips",
    yPercent: true,
    series: [...bars, { name, kind: "bars", y: part(0), low: part(1), high: part(2) }],
    range: [0, 1],
    xRange: [-0.6, W + 0.6],
  });
  const ofFull = law("full"),
    all = chosen.flatMap((one) => one.rows),
    [second, third] = chosen.slice(1).map((one) => one.rows.find(({ flows }) => flows === row.flows)),
    /** How many points lie below a chain's curve. */
    below = (kind) => all.filter((one) => valid(kind, one.loss[0]) && one.sent[0][0] < at(kind, one.loss[0])[0]).length;
  return {
    measured_name: name,
    measured_points: all.length,
    below_full: below("full"),
    below_exact: below("exact"),
    measured_flows: row.flows,
    packets_loss: row.loss,
    packets_silent: row.sent[0],
    packets_second_loss: second?.loss ?? NaN,
    packets_second_silent: second?.sent[0] ?? NaN,
    packets_third_loss: third?.loss ?? NaN,
    packets_third_silent: third?.sent[0] ?? NaN,
    packets_again: nearest(apart).again,
    chain_silent: ofFull[0] ?? NaN,
  };
};

/** The words below the measured points: the load that is nearest, by each sender that was measured. */
const aboutOf = ([{ name }, ...others], nearest) => {
  const { measured_flows, packets_loss, packets_silent, chain_silent } = nearest,
    law = Number.isFinite(chain_silent) ? `; the full chain gives ${percent(chain_silent)}` : "",
    more = others.map((one, i) => {
      const [loss, silent] = ["loss", "silent"].map((key) => nearest[`packets_${["second", "third"][i]}_${key}`]);
      return ` ${one.name}: ${inEnds(silent, " %")} at a loss of ${percent(loss[0])}.`;
    });
  const words =
    `${name}, ${measured_flows} flows: at a loss of ${percent(packets_loss[0])}, ` +
    `silent in ${inEnds(packets_silent, " %")} of the round trips, 95 % interval${law}.`;
  return { measured: words + more.join(""), measured_law: words };
};

page("sub-packet", {
  panels(spec, values) {
    ids.spec = spec;
    formula.key = "";
    ids.sender = element("p", { role: "status", id: "own-sender", hidden: true });
    own.key = "";
    ids.holds = element("div", { class: "scroll wide", tabindex: "0" });
    ids.state = element("select", { id: "form-state", onchange: showForm });
    ids.math = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "closed form" });
    ids.latex = element("textarea", { id: "form-latex", readonly: true, rows: 3, spellcheck: "false" });
    ids.formWords = element("p", {});
    ids.formPanel = element(
      "div",
      { class: "picture form" },
      ids.formWords,
      element("p", {}, element("label", { for: "form-state" }, "state "), ids.state),
      ids.math,
      element("p", {}, element("label", { for: "form-latex" }, "LaTeX"), element("br"), ids.latex),
      element(
        "p",
        { class: "actions" },
        element(
          "button",
          {
            type: "button",
            onclick: () => {
              ids.latex.select();
              document.execCommand("copy");
            },
          },
          "Copy the LaTeX",
        ),
      ),
    );
    ids.form = element(
      "details",
      { id: "closed-form", ontoggle: () => ids.current && askForm(spec, values) },
      element("summary", {}, "Show the closed form"),
      ids.formPanel,
    );
    const panels = spec.answers
      ? [ids.sender, panel("packets", "Packets at this point", ...simulator(values))]
      : [ids.sender];
    panels.push(
      panel("holds", "Where the chain holds", ids.holds),
      panel("closed-form", "The stationary distribution in closed form", ids.form),
    );
    if (spec.answers) {
      ids.typed = element("input", { id: "exact-loss", value: "1/10", maxlength: 20, class: "exact" });
      ids.fractions = element("div", { class: "picture words" });
      panels.push(
        panel(
          "exact",
          "Exact rationals",
          element(
            "form",
            {
              class: "actions",
              onsubmit: (event) => {
                event.preventDefault();
                askExact(spec, values);
              },
            },
            element("label", { for: "exact-loss" }, "loss, as a fraction or a decimal"),
            ids.typed,
            element("button", { type: "submit" }, "Exact rationals"),
          ),
          ids.fractions,
        ),
      );
    }
    return panels;
  },

  draw(values, functions, figures, set, spec, moving, redraw) {
    const at = (kind, loss) => {
      functions[kind].run([loss, values.base_timeout], out);
      return out;
    };
    const { limit } = functions.share,
      onLink = values.source !== "slider",
      W = values.w_max;
    const link = onLink ? lossOfLink(values, functions, at) : null;
    const loss = onLink ? link.loss : values.loss,
      here = onLink ? link.at : values.loss;
    const valid = (kind, p) => kind === "exact" || p < limit,
      holdsHere = (kind) => loss > 0 && valid(kind, here); // chains begin above a loss of 0
    const packets = Float64Array.from({ length: W + 1 }, (_, n) => n);
    /** @type {any[]} */
    const bars = CHAINS.map((name) => ({
      name,
      kind: "bars",
      y: holdsHere(name) ? Array.from(at(name, here).subarray(0, W + 1)) : new Array(W + 1).fill(null),
    }));
    const run = measured.runs.findLast((one) => one.key === wholeKey(values)),
      runs = measured.runs.filter((one) => one.flows === sameFlows(values));
    const sender = ofSender(values, loss);
    if (sender) bars.push({ name: "sender", kind: "bars", y: sender.slice(0, W + 1) });
    if (run)
      bars.push({
        name: "packets",
        kind: "bars",
        ...Object.fromEntries(
          [
            ["y", "mean"],
            ["low", "low"],
            ["high", "high"],
          ].map(([to, from]) => [to, run.data.sent.map((one) => one[from])]),
        ),
      });
    figures.packets.show({
      x: packets,
      xTitle: "packets sent in a round trip",
      yTitle: "fraction of round trips",
      yPercent: true,
      series: bars,
      range: [0, 1],
      xRange: [-0.6, W + 0.6],
    });

    const losses = withPoints(onLink ? LONG : SHORT, runs),
      goodput = [],
      silence = [];
    for (const name of CHAINS) {
      const sent = new Float64Array(losses.length).fill(NaN),
        silent = new Float64Array(losses.length).fill(NaN);
      losses.forEach((p, i) => {
        if (valid(name, p)) {
          at(name, p);
          sent[i] = out[W + 2];
          silent[i] = out[0];
        }
      });
      goodput.push({ name, y: sent });
      silence.push({ name, y: silent });
    }
    if (sender) {
      const along = Array.from(losses, (p) => ofSender(values, p));
      goodput.push({ name: "sender", y: Float64Array.from(along, (one) => (one ? one[W + 1] : NaN)) });
      silence.push({ name: "sender", y: Float64Array.from(along, (one) => (one ? one[0] : NaN)) });
    }
    if (onLink) goodput.push({ name: "share of each user", y: new Float64Array(losses.length).fill(link.share) });
    if (runs.length) {
      goodput.push(points(losses, runs, (data) => data.goodput));
      silence.push(points(losses, runs, (data) => data.sent[0]));
    }
    const common = { x: losses, xTitle: "loss rate", xPercent: true, marker: loss, linked: "loss" };
    const asks = "What goodput does the approximate chain give at each loss rate?";
    figures.goodput.show({
      ...common,
      yTitle: title("goodput", "packet per RTT"),
      series: goodput,
      range: [0, W],
      asks,
    });
    figures.silence.show({
      ...common,
      yTitle: "silent fraction of round trips",
      yPercent: true,
      series: silence,
      range: [0, 1],
    });

    const { levels } = functions.lengths,
      law = new Float64Array(2 * levels);
    functions.lengths.run([here, values.base_timeout], law);
    const lengths = Array.from(law.subarray(0, levels)),
      chances = Array.from(law.subarray(levels), (x) => (loss > 0 ? x : NaN));
    const silentTime = chances.map((c, i) => c * lengths[i]),
      whole = silentTime.reduce((a, b) => a + b, 0);
    figures.lengths.show({
      x: Float64Array.from(lengths, (_, i) => i + 1),
      xTitle: title("length of a silence", "RTT"),
      yTitle: "fraction",
      yPercent: true,
      range: [0, 1],
      xRange: [0.4, levels + 0.6],
      labels: lengths.map((x) => readable(Number(x.toPrecision(3)))),
      exact: lengths,
      series: [
        { name: "of silences", kind: "bars", y: chances },
        { name: "of the silent time", kind: "bars", y: silentTime.map((x) => x / whole) },
      ],
    });

    const chosen = spec.facts.points[values.points],
      nearest = beside(figures, chosen, spec.facts.points["rtts-5-percent-apart"][0].rows, here, {
        at,
        valid,
        W,
        loss,
      });

    const chain = functions[values.chain],
      n = chain.states.length,
      fine = holdsHere(values.chain);
    if (fine) at(values.chain, here);
    const ofDiagram = fine
      ? `At a drop probability of ${exactPercent(here)} a flow is silent ` +
        `${percent(out[0])} of the time (${values.chain} chain).`
      : "";
    const cut = (from, length) => Array.from({ length }, (_, i) => (fine ? out[from + i] : NaN));
    figures.diagram.show({
      states: chain.states,
      pi: cut(W + 3, n),
      edges: chain.edges,
      kinds: chain.kinds,
      flows: cut(W + 3 + n, chain.edges.length),
    });

    at("exact", here);
    const words = onLink
      ? loss === 0
        ? `${values.users === 1 ? "The only user" : `Each of ${readable(values.users)} users`} ` +
          `could send ${inPackets(link.share)} per round trip, more than a window of ${W} uses: ` +
          "the link is not full, and nothing is lost."
        : Number.isNaN(loss)
          ? `Each of ${readable(values.users)} users would have ${inPackets(link.share)} per round ` +
            "trip, which the chain does not reach at any loss."
          : `Each of ${readable(values.users)} users has ${inPackets(link.share)} per round trip, so ` +
            `that ${percent(loss)} of the packets are lost, and a user is silent ${percent(out[0])} ` +
            `of the time (exact chain, m = ${values.collapse}).`
      : `At a loss of ${exactPercent(loss)} a flow delivers ${inPackets(out[W + 2])} per round trip ` +
        `and is silent ${percent(out[0])} of the time (exact chain, m = ${values.collapse}).`;
    const says =
      fine || !(loss > 0)
        ? words
        : `${words} The ${values.chain} chain has no stationary distribution at losses of ` +
          `${exactPercent(limit)} and above.`;
    const numbers = {
      loss,
      silent: loss === 0 ? 0 : out[0],
      goodput: out[W + 2],
      share: onLink ? link.share : NaN,
      limit: functions.lengths.threshold,
      ...nearest,
    };
    const about = { ...aboutOf(chosen, nearest), ...(ofDiagram ? { diagram: ofDiagram } : {}) };
    if (ids.spec !== spec) return { says, numbers, about }; // an article has no panels
    ids.current = functions;
    ids.redraw = redraw;
    if (spec.answers) showRun(values);
    holds(values, functions, loss);
    askForm(spec, values);
    askSender(spec, values);
    return { says, numbers, about };
  },
});
