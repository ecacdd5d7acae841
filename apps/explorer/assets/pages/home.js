// @ts-check
// The first page: what this is, three doors, users of one link as lights, cards of the articles, and all pages.
import { pageAddress, readAddress, rewrite, writtenOf } from "../core/address.js";
import { embedded, written } from "../core/bench.js";
import { afterPicture, complaint, drawn, element } from "../core/dom.js";
import { figureParts, pictureBox } from "../core/figure-box.js";
import { apart, listed } from "../core/numbers.js";
import { drawingOf, page } from "../core/pages.js";
import { functionsOf, script } from "../core/server.js";
import { stage } from "../core/stage.js";
import { started, uniform } from "../models/flow.js";
import { neighboursOf, percent, usersOf } from "../models/link.js";

const DOTS = 100,
  SIDE = 10;
/** Of a light: while it sends, soon after, and long after it got something; a dark one has an outline alone. */
const LIT = [255, 214, 102],
  GLOW = [176, 122, 44],
  DIM = [74, 58, 38],
  NIGHT = "#10151c",
  OUTLINE = "#6b7684";

const mix = (from, to, t) => `rgb(${from.map((x, i) => Math.round(x + (to[i] - x) * t)).join(",")})`;

/** A share with its interval: 32 % (29 to 35 %). @param {number[]} ends mean, low, high */
const interval = ([mean, low, high]) => {
  const write = apart(low, high, percent);
  return high > low ? `${write(mean)} (${write(low).replace(" %", "")} to ${write(high)})` : write(mean);
};

/** What has records, and how they were made. */
const RECORDED = { packets: "Packets were simulated", Linux: "Linux was measured" };

const near = (table, n) => neighboursOf(Object.keys(table).map(Number), n);

/** The sentences under the figure, in parts: plain words, and numbers in bold. A record has its own number of users. */
const sentence = (facts, n, model) => {
  const tables = { packets: facts.packets, Linux: facts.linux },
    here = Object.keys(tables).filter((name) => n in tables[name]),
    parts = [`Of ${n} users, `, percent(model)];
  let words = " get nothing in 20 s by the model";
  here.forEach((name, i) => {
    parts.push(`${words}${i === here.length - 1 ? " and " : ", "}`, interval(tables[name][n]));
    words = ` by ${name}`;
  });
  words += ".";
  for (const name of Object.keys(tables).filter((one) => !here.includes(one))) {
    words += ` ${RECORDED[name]} with ${listed(Object.keys(tables[name]))} users. With `;
    for (const users of near(tables[name], n)) {
      parts.push(`${words}${users}, `, interval(tables[name][users]));
      words = " got nothing; with ";
    }
    words = " got nothing.";
  }
  return [...parts, words];
};

/**
 * Users as runs of the chain: each has its own clock within a round trip, and its own seed, the same for every
 * load.
 */
class Village {
  constructor(chain, constants) {
    this.chain = chain;
    this.constants = constants;
    this.flows = [];
  }

  /** So many users at a time [round trips]: the first hundred are shown, and have a history as long as the window. */
  settle(solved, timer, epochs, n, time) {
    this.epochs = epochs;
    this.flows = Array.from({ length: Math.min(n, DOTS) }, (_, i) => {
      const random = uniform(7919 * (i + 1)),
        phase = random();
      const one = { next: started(this.chain, solved.out, timer, random), phase, sent: 0, got: -Infinity, at: 0 };
      one.at = Math.floor(time + phase) - epochs;
      return one;
    });
    this.move(time);
  }

  move(time) {
    for (const one of this.flows) {
      const now = Math.floor(time + one.phase);
      for (; one.at < now; one.at++) {
        const [sent, delivered] = one.next();
        one.sent = sent;
        if (delivered) one.got = one.at + 1;
      }
    }
  }

  /** How long ago [window] a user got something; 1 and more: nothing in the window. */
  since(one) {
    return (one.at - one.got) / this.epochs;
  }

  dark() {
    return this.flows.filter((one) => this.since(one) >= 1).length;
  }
}

/**
 * The lights in a square: places, radii and colours; a dark one has none.
 * @param {Village} village @param {number} size
 */
const lightsOf = (village, size) => {
  const step = size / (SIDE + 0.6);
  return village.flows.map((one, i) => {
    const since = village.since(one);
    return {
      x: step * ((i % SIDE) + 0.8),
      y: step * (Math.floor(i / SIDE) + 0.8),
      r: 0.34 * step * (one.sent ? 1.15 : 1),
      fill: one.sent ? mix(LIT, GLOW, 0) : since < 1 ? mix(GLOW, DIM, since) : null,
    };
  });
};

const paint = (canvas, village) => {
  const size = canvas.clientWidth,
    scale = devicePixelRatio || 1;
  if (!size) return;
  if (canvas.width !== Math.round(size * scale)) {
    canvas.width = canvas.height = Math.round(size * scale);
  }
  const pen = canvas.getContext("2d");
  pen.fillStyle = NIGHT;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.lineWidth = Math.max(1, scale);
  pen.strokeStyle = OUTLINE;
  for (const { x, y, r, fill } of lightsOf(village, canvas.width)) {
    pen.beginPath();
    pen.arc(x, y, r, 0, 2 * Math.PI);
    if (fill) pen.fillStyle = fill;
    if (fill) pen.fill();
    else pen.stroke();
  }
};

/** [px] The side of the lights in a file, and a line of text. */
const SQUARE = 480,
  LINE = 20;

/** What the lights mean: class, words, and the colour in a file. */
const KEYS = [
  ["lit", "sends now", mix(LIT, GLOW, 0)],
  ["dim", "got data in the last 20 s", mix(GLOW, DIM, 0.5)],
  ["out", "nothing for 20 s", null],
];

/**
 * The lights as SVG that stands alone, their legend and sentences below.
 * @param {Village} village @param {string[]} lines
 */
const imageOf = (village, lines) => {
  const height = SQUARE + LINE * (lines.length + 1.5),
    at = [8, 110, 310]; // of the words of the legend
  const svg = drawn(
    "svg",
    { viewBox: `0 0 ${SQUARE} ${height}`, width: SQUARE, height, "font-family": "sans-serif", "font-size": 13 },
    drawn("rect", { width: SQUARE, height, fill: "#ffffff" }),
    drawn("rect", { width: SQUARE, height: SQUARE, fill: NIGHT }),
    ...lightsOf(village, SQUARE).map(({ x, y, r, fill }) =>
      drawn("circle", { cx: x, cy: y, r, fill: fill || "none", stroke: fill ? false : OUTLINE }),
    ),
    ...lines.map((line, i) => drawn("text", { x: 8, y: SQUARE + LINE * (i + 2) }, line)),
    drawn(
      "g",
      { class: "legend", "font-size": 12 },
      ...KEYS.flatMap(([, words, fill], i) => [
        drawn("circle", { cx: at[i] + 6, cy: SQUARE + LINE - 4, r: 5, fill: fill || NIGHT, stroke: OUTLINE }),
        drawn("text", { x: at[i] + 16, y: SQUARE + LINE }, words),
      ]),
    ),
  );
  return new XMLSerializer().serializeToString(svg);
};

/** The head of the table that is kept: of each method the users who get nothing, and the ends of its interval. */
const HEAD = ["method", "users", "nothing in 20 s", "low", "high"];

/** The living figure: nodes, and its beginning. */
const living = (spec, values, chain, signal, say) => {
  const { facts } = spec,
    still = matchMedia("(prefers-reduced-motion: reduce)");
  const { rtt, timer, epochs, solved } = usersOf(chain, facts.link, facts);
  const village = new Village(chain, facts);
  const canvas = element("canvas", { class: "village", role: "img" }),
    now = element("output", { class: "dark-now" }),
    says = element("p", { class: "reading", role: "status" });
  const c = spec.controls[0],
    shown = element("output", { for: "control-users" });
  const slider = element("input", {
    type: "range",
    id: "control-users",
    min: c.low,
    max: c.high,
    step: c.step,
    value: values.users,
    list: "recorded-users",
  });
  const marks = Object.keys(facts.linux).map((n) => element("option", { value: n }));
  let time = 0,
    last = 0,
    frame = 0,
    plays = !still.matches,
    visible = true;

  const put = () => {
    paint(canvas, village);
    const dots = village.flows.length,
      dark = village.dark();
    const some = dots < values.users,
      who = some ? `${dots} of ${values.users} users` : `${dots} users`;
    now.textContent = `${some ? `${who} shown, ` : ""}${dark} of ${dots} dark by the model`;
    canvas.setAttribute("aria-label", `${who} as dots, lit while they send; ${dark} got nothing for 20 s`);
  };
  const tick = (stamp) => {
    frame = 0;
    if (!plays || !visible || signal.aborted) return;
    time += Math.min(0.5, (stamp - last) / 1e3) / rtt;
    last = stamp;
    village.move(time);
    put();
    frame = requestAnimationFrame(tick);
  };
  const play = () => {
    button.textContent = plays ? "Pause" : "Play";
    one.hidden = plays;
    last = performance.now();
    if (plays && !frame) frame = requestAnimationFrame(tick);
  };
  const button = element("button", { type: "button", onclick: () => ((plays = !plays), play()) }, "Pause");
  const one = element(
    "button",
    {
      type: "button",
      onclick: () => {
        time += 1;
        village.move(time);
        put();
      },
    },
    "One round trip",
  );
  const numbers = { model: NaN, loss: NaN };
  const draw = () => {
    const n = values.users,
      came = solved(n);
    shown.textContent = String(n);
    numbers.model = came.nothing;
    numbers.loss = came.loss;
    village.settle(came, timer, epochs, n, time);
    const parts = sentence(facts, n, came.nothing);
    says.replaceChildren(...parts.map((part, i) => (i % 2 ? element("b", {}, part) : part)));
    put();
    codes.forEach((fill) => fill());
    node.dispatchEvent(new CustomEvent("drawn", { bubbles: true, detail: { at: performance.now(), numbers } }));
  };
  slider.addEventListener("input", () => {
    values.users = Number(slider.value);
    draw();
  });
  still.addEventListener("change", () => ((plays = !still.matches), play()), { signal });
  addEventListener("resize", put, { signal });
  const watch = new IntersectionObserver(([entry]) => ((visible = entry.isIntersecting), play()));
  watch.observe(canvas);
  signal.addEventListener("abort", () => {
    watch.disconnect();
    cancelAnimationFrame(frame);
  });

  const file = "users-of-one-link",
    f = { name: "users", title: "Users of one link", alt: "", file, coded: "here", page: true };
  /** What is kept: the lights, the numbers of the sentence, and the lines that give the model's. */
  const figure = {
    image: () => imageOf(village, [now.textContent, ...says.textContent.split(/(?<=by the model,?|[.;]) /)]),
    rows: () => {
      const recorded = (name, table) => near(table, values.users).map((n) => [name, n, ...table[n]]);
      return [
        HEAD,
        ["model", values.users, numbers.model, numbers.model, numbers.model],
        ...recorded("packets", facts.packets),
        ...recorded("Linux", facts.linux),
      ];
    },
    code: () => facts.code.replace(/users=[\d.]+/, `users=${values.users}`),
  };
  const codes = [],
    { menu, code } = figureParts({ ...spec, plotly: "" }, f, () => figure, values, say, codes);
  const { rate, base_rtt, buffer, packet_size } = facts.link;
  const key = (kind, words) => element("span", {}, element("i", { class: `light ${kind}` }), words);
  const node = element(
    "section",
    { class: "living", "aria-label": "Users of one link" },
    canvas,
    element("p", { class: "legend" }, ...KEYS.map(([kind, words]) => key(kind, words)), now),
    element(
      "p",
      { class: "control-line" },
      element("label", { for: "control-users" }, "users ", shown),
      slider,
      element("datalist", { id: "recorded-users" }, ...marks),
      button,
      one,
      menu,
    ),
    ...code,
    says,
    element(
      "p",
      { class: "note" },
      "TCP has no window below one packet: a user whose part is smaller waits for a timer. ",
      `They share ${rate} Mbit/s with a round trip of ${base_rtt} ms and ${buffer} packets of ` +
        `buffer, ${packet_size} bytes each. `,
      "Marks below the slider: numbers of users with which Linux was measured. ",
      "Model: the exact sub-packet chain, which also moves the dots. Packets: Reno by Linux's " +
        "rules, as on My link. ",
      `Linux: ${facts.kernel} with Reno. In brackets: 95 % intervals.`,
    ),
  );
  return { node, draw, play };
};

/** A card of an article, whose picture is drawn when it comes into sight. */
const card = (root, spec, one, signal) => {
  const f = one.spec.figures.find((each) => each.name === one.figure),
    box = f ? pictureBox(f) : element("div"); // the words stand without a picture
  const node = element(
    "a",
    { class: "card", href: pageAddress(spec, one.slug) },
    element("b", {}, one.title),
    element("div", { class: "thumbnail", "aria-hidden": "true", inert: true }, box),
    element("span", {}, one.finding),
  );
  const own = {
    ...one.spec,
    script: one.spec.slug,
    functions: spec.functions,
    packed: spec.answers ? undefined : `assets/${one.spec.slug}-functions.js`,
  };
  const fill = async () => {
    const slug = own.script;
    if (!drawingOf(slug)) await script(spec.scripts.replace("{}", slug), () => drawingOf(slug));
    if (signal.aborted) return;
    const scene = stage(node, own, { ...one.values }, { [f.name]: box }, { signal, say: () => {}, set: () => {} });
    const figure = scene.figures[f.name],
      show = figure.show.bind(figure);
    figure.height = 150;
    // a thumbnail has no room for titles
    figure.show = (data) => show({ ...data, xTitle: undefined, yTitle: undefined });
    scene.draw();
  };
  const watch = new IntersectionObserver(
    ([entry]) => {
      if (!entry.isIntersecting) return;
      watch.disconnect();
      fill().catch(() => {
        node.classList.add("without");
        node.append(element("small", { role: "status" }, "Its picture did not come. Load this page again."));
      });
    },
    { rootMargin: "200px" },
  );
  if (f) afterPicture(root, signal, () => watch.observe(node));
  else node.classList.add("without");
  return node;
};

/** A way in: a heading that is a link, and what is behind it. */
const door = (href, title, ...nodes) =>
  element("section", { class: "way" }, element("h2", {}, element("a", { href }, title)), ...nodes);

const TONES = ["good", "fair", "poor", "open"];

/** How many statements have each verdict, as a bar with its numbers. */
const bar = (verdicts) =>
  element(
    "ul",
    { class: "verdict-bar" },
    ...verdicts.map(([words, count], i) =>
      element("li", { class: TONES[i], style: `flex-grow: ${count}` }, element("b", {}, String(count)), ` ${words}`),
    ),
  );

page("home", {
  mount(root, spec, signal) {
    const [values, complaints] = readAddress(spec, written(spec)),
      { facts } = spec;
    const { functions, missing } = functionsOf(spec, values);
    const said = complaint(complaints.join(". "));
    const place = element("div", { class: "living" }, element("div", { class: "village" }));
    const all = facts.verdicts.reduce((sum, [, count]) => sum + count, 0);
    const [first] = facts.cards;
    const others = spec.listed.filter(({ slug }) => !facts.cards.some((one) => one.slug === slug));
    const entry = ({ slug, title, question }) =>
      element(
        "div",
        {},
        element("dt", {}, element("a", { href: pageAddress(spec, slug) }, title)),
        element("dd", {}, question),
      );
    root.replaceChildren(
      said,
      element(
        "div",
        { class: "home" },
        element(
          "div",
          { class: "what" },
          element("h1", {}, "Five papers on TCP congestion control, tested"),
          element(
            "p",
            { class: "question" },
            "Move their models. See where packets and Linux agree with them, and where they do not.",
          ),
        ),
        place,
        element(
          "div",
          { class: "ways" },
          ...(first
            ? [
                door(
                  pageAddress(spec, first.slug),
                  "Teach",
                  element("p", {}, "An article for each paper: guess first, then move the figure."),
                ),
              ]
            : []),
          door(
            pageAddress(spec, "claims"),
            "Check a paper",
            element("p", {}, `The papers make ${all} statements. Each has a rule that decides it.`),
            bar(facts.verdicts),
          ),
          door(
            pageAddress(spec, "my-link"),
            "My link",
            element(
              "p",
              {},
              "Enter rate, round trip, buffer and users. Read loss, silence, fairness and waiting time.",
            ),
          ),
        ),
      ),
      ...(first
        ? [
            element("h2", { id: "articles" }, "Articles"),
            element("div", { class: "cards" }, ...facts.cards.map((one) => card(root, spec, one, signal))),
          ]
        : []),
      element("h2", {}, "Pages of pictures and sliders"),
      element("dl", { class: "contents all" }, ...others.map(entry)),
    );
    const framed = new URLSearchParams(written(spec)).get("embed") === "1";
    // a copied link is a good one
    if (complaints.length)
      rewrite(spec.answers, [writtenOf(spec, values), framed && "embed=1"].filter(Boolean).join("&"));
    if (framed) {
      embedded();
      root.replaceChildren(said, place);
    }
    const begin = (chain) => {
      const figure = living(spec, values, chain, signal, (words) => (said.textContent = words));
      place.replaceWith(figure.node);
      figure.draw();
      figure.play();
    };
    if (missing.length)
      Promise.all(missing).then(
        ([chain]) => signal.aborted || begin(chain),
        (error) => {
          said.textContent = error.message;
          root.dispatchEvent(new CustomEvent("drawn")); // the cards do not wait for it
        },
      );
    else begin(functions.chain);
  },
});
