// @ts-check
// What happens on a link that users share: by the chain, by packets, by recorded Linux and recorded stacks.
import { DASHES } from "../core/colours.js";
import { element } from "../core/dom.js";
import { Facts } from "../core/facts.js";
import { startJob } from "../core/jobs.js";
import { apart, brief, listed, readable } from "../core/numbers.js";
import { KINDS, page } from "../core/pages.js";
import { ask, get } from "../core/server.js";
import { neighboursOf, percent, usersOf } from "../models/link.js";
import { described, nearest, ofLink, where } from "../models/records.js";

const ms = (x, more = 0) => `${more ? readable(Number(x.toPrecision(3 + more))) : brief(Number(x.toPrecision(3)))} ms`,
  two = (x, more = 0) => x.toFixed(2 + more);
/**
 * What is read of a link: its name in the tables, and how a number of it is written.
 * @type {Record<string, [string, (x: number, more?: number) => string]>}
 */
const QUANTITIES = {
  loss: ["packets lost", percent],
  silent: ["time silent", percent],
  jain: ["fairness (Jain, 20 s)", two],
  nothing: ["users with nothing in 20 s", percent],
  wait: ["waiting time, mean", ms],
  use: ["link used", percent],
};
const METHODS = ["chain", "packets", "Linux", "stacks"];
const HEADS = ["Chain", "Packets", "Linux, recorded", "Stacks, recorded"];
const NOT = "not covered";

/** A range, its ends as `write` has them and the unit once; one number where they are the same. */
const fromTo = (low, high, write) => {
  const exact = apart(low, high, write);
  return low === high ? write(low) : `${exact(low).replace(/ (%|ms)$/, "")} to ${exact(high)}`;
};

/** A mean with its interval, each as `write` has it. */
const withInterval = (ends, write) => {
  if (!ends || ends.mean === null || ends.mean === undefined) return "not measured";
  const { mean, low, high } = ends;
  if (low === null || low === high) return write(mean);
  return `${apart(low, high, write)(mean)} (${fromTo(low, high, write).replace(/ (%|ms)$/, "")})`;
};
const ends = ([mean, low, high]) => ({ mean, low, high });
/** What the second picture shows of each number of users. @type {Record<string, string>} */
const ALONG = { loss: "loss", silent: "time silent", nothing: "nothing in 20 s" };
/** A quantity has its colour, and its curve a dash, whatever else the link shows. @param {number} k */
const looks = (k) => ({ hue: k, dash: DASHES[k], width: 2 });

/** The table: a row for each quantity and a column for each method; on a narrow screen, a list for each quantity. */
class Methods extends Facts {
  show(data) {
    this.data = data;
    this.box.removeAttribute("role"); // a table is no image
    this.box.removeAttribute("aria-label");
    const cell = (parts, i) =>
      element(
        "td",
        { class: parts[0] === NOT ? "words faint" : "words" },
        element("i", {}, data.heads[i]),
        element("span", {}, ...parts),
      );
    const row = (name, cells) =>
      element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((one, i) => cell([one].flat(), i)));
    this.box.replaceChildren(
      element(
        "table",
        { class: "methods" },
        element(
          "thead",
          {},
          element("tr", {}, element("td", {}), ...data.heads.map((head) => element("th", { scope: "col" }, head))),
        ),
        element(
          "tbody",
          {},
          ...data.rows.map(({ key, cells }) => row(QUANTITIES[key][0], cells)),
          row("where it holds", data.holds),
        ),
      ),
    );
    this.filled();
  }

  /** The table as it stands on the page. */
  kept() {
    const text = (parts) =>
      [parts]
        .flat()
        .map((one) => one.textContent ?? one)
        .join("");
    const { rows, heads, holds } = this.data,
      lines = [...rows.map(({ key, cells }) => [QUANTITIES[key][0], ...cells]), ["where it holds", ...holds]];
    const { data, layout } = super.kept();
    Object.assign(data[0].header, { values: ["", ...heads] });
    Object.assign(data[0], { columnwidth: [1, ...heads.map(() => 1)] });
    data[0].cells.values = ["", ...heads].map((_, i) => lines.map((line) => text(line[i])));
    return { data, layout };
  }

  rows() {
    const named = METHODS.map((name, i) => name + this.data.at[i]);
    const head = named.flatMap((name) => (name === "chain" ? [name] : [name, `${name}, low`, `${name}, high`]));
    return [["quantity", ...head], ...this.data.rows.map(({ key, numbers }) => [key, ...numbers])];
  }
}
KINDS.methods = Methods;

// ---- the packet simulator at this point --------------------------------------------------------------------
const ids = { spec: null, redraw: () => {}, simulator: null, price: () => {}, below: element("div") };
const measured = { runs: [], job: null };
const keyOf = (values) => JSON.stringify(values);
/** What the reader's tab keeps of its runs: a page that is loaded again has them. */
const KEPT = "tcpdynamics my-link runs",
  MOST = 20;
const keepRuns = () => {
  const runs = measured.runs.filter((one) => !one.recorded).slice(-MOST);
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(runs));
  } catch {} // a browser may refuse to keep anything
};
const keptRuns = () => {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) || "[]");
  } catch {
    return [];
  }
};
/** Recorded runs, of the page's first link and the paper's. They come first: a reader's run replaces its record. */
const takeRecords = ({ controls, facts }) => {
  const start = Object.fromEntries(controls.map((c) => [c.name, c.start])),
    take = (runs, link) =>
      Object.entries(runs).forEach(([n, data]) =>
        measured.runs.push({ key: keyOf({ ...link, users: Number(n) }), users: Number(n), data, recorded: true }),
      );
  take(facts.packets, { ...start, ...facts.village });
  take(facts.today, start);
  measured.runs.push(...keptRuns());
};
const runOf = (values) => measured.runs.findLast((one) => one.key === keyOf(values));

/** How much is done, and what is left at the same speed; `began` is when the run started [ms]. */
const left = (share, began) => {
  const rest = ((performance.now() - began) * (1 - share)) / share / 1e3;
  return `${Math.round(100 * share)} %${share > 0 ? `, about ${Math.ceil(rest)} s left` : ""}`;
};

/** Said until a run of the reader is done. */
const FIRST_RUN = " The first run after an installation takes up to a minute more.";

const simulator = (values) => {
  const told = element("span", { role: "status" }),
    cost = element("span", { class: "note" });
  /** What a run would take; nothing where there is none. */
  ids.price = () =>
    ask(ids.spec, "cost", values).then(
      ({ packets, seconds }) =>
        (cost.textContent =
          `It simulates at most ${brief(Number(packets.toPrecision(2)))} packets, ` +
          `in about ${Math.ceil(seconds)} s.${measured.runs.some((one) => !one.recorded) ? "" : FIRST_RUN}`),
      ({ name }) => name === "AbortError" || (cost.textContent = ""),
    );
  const stop = () => measured.job && measured.job.cancel();
  const cancel = element("button", { type: "button", hidden: true, onclick: stop }, "Cancel");
  const run = () => {
    stop();
    const key = keyOf(values),
      users = values.users;
    let began = NaN;
    cancel.hidden = false;
    cost.hidden = true;
    measured.job = startJob("my-link-packets", { ...values }, async (status, job) => {
      if (job !== measured.job) return;
      const { state, said, share } = status;
      if (state === "running" && !(began <= performance.now())) began = performance.now();
      told.textContent =
        state === "running" ? `${said || "running"}: ${left(share, began)}` : state === "done" ? "" : said;
      if (["waiting", "running"].includes(state)) return;
      cancel.hidden = true;
      cost.hidden = false;
      if (state !== "done") return;
      measured.runs.push({ key, users, data: await (await get(job.address("result.json"))).json() });
      keepRuns();
      ids.redraw();
    });
  };
  const button = element("button", { type: "button", onclick: run }, "Run packets");
  return element("p", { class: "actions" }, button, cancel, told, cost);
};

// ---- what each method says, and where it holds -------------------------------------------------------------
/** [byte] Packets below are those of a study, or of speech. */
const SMALL = 1000;
/** [points] From which on the chain is no guide: where a comparison with packets calls them different. */
const FAR = 10;

/**
 * How far the chain's silence is from Linux's [points] at the links that are recorded, in a sentence; and whether that
 * makes it no guide.
 */
const fromLinux = (chain, facts) => {
  const links = facts.points.filter((p) => facts.of_chain.includes(p.sender) && p.queue === "droptail" && p.silent);
  const off = links.map((p) => Math.abs(100 * (usersOf(chain, p, facts).solved(p.users).silent - p.silent[0])));
  const [low, high] = [Math.min(...off), Math.max(...off)].map(Math.round);
  const says = ` At ${links.length} recorded links its silence is ${low} to ${high} points from Linux's: run packets.`;
  return { says, off: high > FAR };
};
/** It does not move with the sliders. */
const kept = { chain: null, far: { says: "", off: false } };

/** Of the fractions outside a method's interval, the one that is farthest from its mean, and how far [points]. */
const farthest = (now, other) =>
  ["loss", "silent", "nothing"]
    .map((key) => ({ key, at: now[key], of: other(key) }))
    .filter(({ at, of }) => of && (at < of.low || at > of.high))
    .map(({ key, at, of }) => /** @type {[string, number]} */ ([key, Math.round(100 * (at - of.mean))]))
    .reduce((a, b) => (Math.abs(b[1]) > Math.abs(a[1]) ? b : a), ["", 0]);

/** Where the chain holds, or why it does not; and how far it is from packets, or from Linux, on this very link. */
const chainHolds = (values, facts, now, run, linux) => {
  if (!facts.of_chain.includes(values.sender)) return "Not here: its windows are Reno's.";
  if (values.queue !== "droptail") return "Not here: its queue drops what arrives when it is full.";
  const each = `Packets per round trip and user: ${brief(Number(now.each.toPrecision(3)))}`;
  if (!now.loss) return `Not here. ${each}. Its windows end at ${facts.w_max}.`;
  const top = `${percent(now.top)} of round trips are at its largest window, ${facts.w_max}`;
  if (!now.covered) return `Not here: ${top}. It holds up to ${percent(facts.most_at_top)}.`;
  const [key, off] = farthest(now, (one) => (run ? run.data[one] : linux && linux[one] && ends(linux[one])));
  const nearer = run ? "packets" : "Linux";
  const from = key
    ? ` Largest difference from ${nearer}: ${QUANTITIES[key][0]}, ${Math.abs(off)} points ` +
      (off > 0 ? "more" : "less") +
      `${Math.abs(off) > FAR ? `; use the numbers of ${nearer} instead` : ""}.`
    : run || linux
      ? ""
      : kept.far.says;
  return `${each}. It takes losses for independent, and the buffer for always full.${from}`;
};

const packetsHold = (spec, values, run, linux) => {
  if (values.sender === "linux-bbr") return "Not here: the packet simulator has no BBR.";
  if (!run) return spec.answers ? "Not run on this link yet." : "It needs the served page (tcpdynamics explore).";
  const { runs, seconds } = run.data;
  const elsewhere = " The simulator was compared with Linux on other links only (docs, How far to trust it).";
  return `${runs} runs of ${brief(seconds)} s.${linux ? "" : elsewhere}`;
};

/** The six stacks at a link: the least and the greatest mean. */
const ofStacks = (points, key) => {
  const means = points.map((p) => p[key][0]);
  return [Math.min(...means), Math.max(...means)];
};

page("my-link", {
  panels(spec, values) {
    ids.spec = spec;
    ids.simulator = spec.answers ? simulator(values) : null;
    return [(ids.below = element("p", { class: "note" }))];
  },

  draw(values, functions, figures, set, spec, moving, redraw) {
    if (ids.spec === spec) {
      ids.redraw = redraw;
      if (ids.simulator) ids.price();
      usualBuffer(values);
      const reading = document.querySelector(".seen > .reading");
      if (ids.simulator && reading && reading.nextSibling !== ids.simulator) reading.after(ids.simulator);
    }
    if (!measured.runs.length) takeRecords(spec);
    const { facts } = spec,
      { rtt, solved } = usersOf(functions.chain, values, facts);
    const now = solved(values.users, true),
      fits = facts.of_chain.includes(values.sender) && values.queue === "droptail",
      covered = fits && now.covered,
      wait = 1e3 * (rtt - values.base_rtt / 1e3);
    const chain = covered ? { ...now, wait } : {};
    const run = runOf(values);
    const linux = nearest(facts.points, values, (p) => p.sender === values.sender);
    const other = (p) => !/^linux-/.test(p.sender),
      stack = nearest(facts.points, values, other);
    const stacks = stack
      ? facts.points.filter((p) => other(p) && p.queue === stack.queue && p.buffer === stack.buffer)
      : [];
    const ofLinux = ofLink(facts.points, values, (p) => p.sender === values.sender),
      linuxAt = (n) => ofLinux.find((p) => p.users === n);
    if (kept.chain !== functions.chain)
      Object.assign(kept, { chain: functions.chain, far: fromLinux(functions.chain, facts) });

    const recorded = (key) => {
      if (!linux) return null;
      if (key === "wait" && linux.median_wait)
        return [ends(linux.median_wait), `${withInterval(ends(linux.median_wait), ms)} median`];
      return linux[key]
        ? [ends(linux[key]), withInterval(ends(linux[key]), QUANTITIES[key][1])]
        : [null, "not recorded"];
    };
    const ofAll = (key) => {
      const own = key === "wait" ? "median_wait" : key;
      if (!stacks.length) return null;
      if (!stacks[0][own]) return [null, "not recorded"];
      const write = QUANTITIES[key][1],
        [low, high] = ofStacks(stacks, own);
      return [{ mean: null, low, high }, `${fromTo(low, high, write)}${own === key ? "" : " median"}`];
    };
    const rows = Object.entries(QUANTITIES).map(([key, [, write]]) => {
      const l = recorded(key),
        s = ofAll(key),
        p = run ? run.data[key] : null;
      const cells = [
        key in chain ? write(chain[key]) : NOT,
        p
          ? withInterval(p, write)
          : values.sender === "linux-bbr"
            ? NOT
            : spec.answers
              ? "not run"
              : "needs the served page",
        l ? l[1] : NOT,
        s ? s[1] : NOT,
      ];
      const three = (e) => (e ? [e.mean ?? NaN, e.low ?? NaN, e.high ?? NaN] : [NaN, NaN, NaN]);
      const numbers = [chain[key] ?? NaN, ...three(p), ...three(l && l[0]), ...three(s && s[0])];
      return { key, cells, numbers };
    });
    const holds = [
      chainHolds(values, facts, now, run, linuxAt(values.users)),
      packetsHold(spec, values, run, linux),
      linux ? `${facts.kernel}. ${described(linux, values)}` : "No record near this link.",
      stacks.length
        ? `${stacks.length} stacks, each compared with itself. ${described(stack, values)}`
        : "No record near this link.",
    ];
    const at = ["", "", linux ? where(linux, values) : "", stack ? where(stack, values) : ""];
    figures.results.show({ rows, heads: HEADS.map((head, i) => head + at[i]), at, holds });

    // the table's rows are the chain's, and those of the reader's own runs
    const runs = runsNear(values),
      points = runs.filter((one) => !one.recorded || facts.users.includes(one.users));
    const x = [...new Set([...facts.users, ...points.map((one) => one.users)])].sort((a, b) => a - b);
    const along = x.map((n) => (fits ? solved(n) : { covered: false }));
    const curve = (key) => ({ y: along.map((at) => (at.covered ? at[key] : NaN)) });
    const place = (kind, found) => {
      const there = x.map(found),
        all = (end) => there.map((one) => one?.[end] ?? null);
      return { kind, dash: [], y: all("mean"), low: all("low"), high: all("high") };
    };
    const methods = {
      chain: curve,
      packets: (key) => place("points", (n) => points.findLast((one) => one.users === n)?.data[key]),
      Linux: (key) => place("ring", (n) => linuxAt(n)?.[key] && ends(linuxAt(n)[key])),
    };
    const series = Object.entries(methods)
      .flatMap(([method, by]) =>
        Object.entries(ALONG).map(([key, word], k) => ({ name: `${method}: ${word}`, ...looks(k), ...by(key) })),
      )
      .filter(({ y }) => y.some(Number.isFinite));
    const measuredAt = x.filter(linuxAt);
    figures.users.show({
      x: Float64Array.from(x),
      xTitle: "users",
      xLog: true,
      xRange: [1, 1000],
      yTitle: "fraction",
      yPercent: true,
      range: [0, 1],
      marker: values.users,
      asks: "What fraction of the packets is lost, at 1 to 1,000 users?",
      quantity: "fraction of the packets lost",
      series,
    });
    const runnable = spec.answers && values.sender !== "linux-bbr";
    const says = sentence(values, chain, runs, ofLinux, linux, stacks, runnable);
    const recordedAt = measuredAt.length
      ? `The record of Linux covers this link at ${listed(measuredAt)} users.`
      : "The record of Linux does not cover this link at any number of users.";
    if (ids.spec === spec)
      ids.below.textContent =
        `${recordedAt} ${linkOf(values, rtt, now)}` +
        (values.packet_size < SMALL ? " Most transfers have packets of 1,500 bytes." : "");
    return {
      says,
      advice: covered || run || linux || !runnable ? "" : "Run its packets.",
      about: { users: `${says} ${recordedAt}` },
      numbers: { loss: chain.loss, silent: chain.silent, jain: chain.jain, nothing: chain.nothing, wait: chain.wait },
    };
  },
});

/** Below the field of the buffer, what is usual there: what the link holds without a queue. */
const usualBuffer = ({ rate, base_rtt, packet_size }) => {
  const box = document.querySelector("[data-control=buffer]"),
    usual = box?.querySelector(".usual") || element("p", { class: "usual", id: "buffer-usual" });
  if (!box) return;
  usual.textContent = `usual: ${brief(Math.ceil((1e3 * rate * base_rtt) / (8 * packet_size)))}, rate times round trip`;
  if (usual.parentNode === box) return;
  box.append(usual);
  box.querySelector("[type=range]").setAttribute("aria-describedby", usual.id);
};

/** Runs of packets on this link, with any number of users. */
const runsNear = (values) => {
  const but = (text) => JSON.stringify({ ...JSON.parse(text), users: 0 });
  return measured.runs.filter((one) => but(one.key) === but(keyOf(values)));
};

/** A link in words: what each quantity is. @type {Record<string, (x: string) => string>} */
const WORDS = {
  loss: (x) => `${x} of the packets are dropped.`,
  silent: (x) => `Users are silent in ${x} of the round trips.`,
  nothing: (x) => `${x} of the users get nothing in 20 s.`,
  jain: (x) => `Fairness is ${x} by Jain's index, at most 1.`,
  wait: (x) => `A packet waits ${x} on average.`,
  median_wait: (x) => `The median packet waits ${x}.`,
};

/**
 * What several results of a link are in words, from the least to the greatest: each gives its number of a quantity. One
 * result alone has its interval.
 */
const inWords = (results) =>
  Object.entries(WORDS)
    .map(([key, write]) => ({ key, write, each: results.map((one) => one(key)) }))
    .map((one) => ({ ...one, all: one.each.map((x) => x?.mean ?? x) }))
    .filter(({ all }) => all.every(Number.isFinite))
    .map(({ key, write, each: [first], all }) => {
      const word = (QUANTITIES[key] || QUANTITIES.wait)[1],
        alone = all.length === 1 && typeof first === "object";
      return write(alone ? withInterval(first, word) : fromTo(Math.min(...all), Math.max(...all), word));
    })
    .join(" ");

const ofRun = (run) => (key) => run.data[key];
const ofRecord = (point) => (key) => point[key] && ends(point[key]);

/** Of results with other numbers of users, the two on both sides; nothing where a side has none. */
const bothSides = (results, n) => {
  const near = neighboursOf(
    results.map((one) => one.users).sort((a, b) => a - b),
    n,
  );
  return near.length === 2 ? near.map((users) => results.findLast((one) => one.users === users)) : [];
};

/**
 * What happens on the link: by packets or a record of this very link, or else of both numbers of users around, or
 * else by the chain. The record of another link is the last; the words name its link. Other stacks follow.
 */
const sentence = (values, chain, runs, ofLinux, linux, stacks, runnable) => {
  const { users } = values,
    here = (results) => results.filter((one) => one.users === users).slice(-1),
    around = (pair) => ` at ${listed(pair.map((one) => brief(one.users)))} users:`;
  const packets = bothSides(runs, users),
    recorded = bothSides(ofLinux, users);
  const warning = kept.far.off ? ` The chain may be far off here${runnable ? ": run packets" : ""}.` : "";
  const ways = [
    ["By simulated packets,", here(runs).map(ofRun)],
    ["By recorded Linux,", here(ofLinux).map(ofRecord)],
    [`By packets, simulated${around(packets)}`, packets.map(ofRun)],
    [`By Linux, recorded${around(recorded)}`, recorded.map(ofRecord)],
    ["By the chain,", Number.isFinite(chain.loss) ? [(key) => chain[key]] : [], warning],
    [`By Linux, recorded${linux && where(linux, values)}:`, linux ? [ofRecord(linux)] : []],
  ];
  const [by, results, more = ""] = ways.find(([, some]) => some.length) || [];
  const first = by ? `${by} ${inWords(results)}${more}` : "No result covers this link yet.";
  if (!stacks.length) return first;
  const names = listed(stacks.map((one) => one.sender));
  return `${first} By ${names}, recorded${where(stacks[0], values)}: ${inWords(stacks.map(ofRecord))}`;
};

/** The link itself: what an equal part of it is. */
const linkOf = (values, rtt, now) => {
  const each = brief(Number(now.each.toPrecision(3))),
    who = values.users === 1 ? "the only user" : `each of ${brief(values.users)} users`;
  return (
    `An equal part of the rate is ${brief((1e3 * values.rate) / values.users)} kbit/s. Pipe and buffer hold ${each} ` +
    `${each === "1" ? "packet" : "packets"} of ${brief(values.packet_size)} bytes for ` +
    `${who}; a round trip takes up to ${ms(1e3 * rtt)}.`
  );
};
