// @ts-check
// The states of a chain as a ladder: windows along x, levels of the backoff along y, arrows for transitions.
import { COLOURS } from "./colours.js";
import { broken, drawn, element } from "./dom.js";
import { percent } from "./numbers.js";
import { ON_WHITE } from "./palette.js";
import { Picture } from "./picture.js";

const LETTER = 11,
  LETTER_WIDE = 6, // a letter of that size, in what is saved
  LEFT = 68,
  FOOT = 34,
  TOP = 8,
  LABELLED = 9;

/**
 * Column and row of a state; waits stand left of the windows, and a wait of its own for a first timeout.
 * @param {string} name as the library writes it: S4, S2(1r), b*(1r), b0, b(3)
 * @returns {[number, number]} column: -2, -1 (waits) or a window; row: 0 without backoff, then its levels
 */
export const placeOf = (name) => {
  const [, kind, level = "", repeated = ""] = /** @type {string[]} */ (/^(b0|b\*?|S\d+)(?:\((\d+)(r?)\))?$/.exec(name)),
    known = level !== "",
    k = Number(level);
  if (kind === "b0") return [-1, 1];
  if (kind === "b*") return [-2, known ? k + 1 : 1];
  if (kind === "b") return [-2, k + 1];
  const window = Number(kind.slice(1));
  if (!known) return [window, window === 1 ? 1 : 0];
  return [window, repeated ? k : k + 1];
};

/** What a row is called: the timeout that is waited for there. */
const rowName = (row, exact) => {
  if (row === 0) return "no backoff";
  const times = row === 1 ? "" : `${2 ** (row - 1)} `;
  return `${exact ? "" : "≥ "}${times}RTO`;
};

/** [px] Of what is saved: its title, and a line of its legend. */
const TITLE = 30,
  KEY = 16;

/** The legend of a picture in lines of SVG: the samples and words of its parts. @param {Element} legend */
const keysOf = (legend, width) => {
  const nodes = /** @type {Element[]} */ ([]);
  let [x, y] = [4, KEY];
  for (const part of legend.children.length ? legend.children : [legend]) {
    const sample = /** @type {Element | undefined} */ (part.querySelector("svg")?.cloneNode(true)),
      words = part.textContent.trim(),
      room = sample ? Number(sample.getAttribute("width")) + 4 : 0,
      rows = broken(words, Math.floor((width - 8 - room) / LETTER_WIDE)),
      wide = room + LETTER_WIDE * Math.max(...rows.map((row) => row.length)) + 12;
    if (x > 4 && x + wide > width) [x, y] = [4, y + KEY];
    if (sample) {
      sample.setAttribute("x", String(x));
      sample.setAttribute("y", String(y - 9));
      nodes.push(sample);
    }
    rows.forEach((row, k) =>
      nodes.push(drawn("text", { x: x + room, y: y + k * KEY, "font-size": LETTER, fill: "currentColor" }, row)),
    );
    y += (rows.length - 1) * KEY;
    x = rows.length > 1 ? width : x + wide;
  }
  return { nodes, height: y + 6 };
};

/**
 * The picture of a box on white paper with its title and its legend, as text that stands alone.
 * @param {Element} box @param {string} title
 */
export const alone = (box, title) => {
  const copy = /** @type {SVGElement} */ (box.querySelector("svg")?.cloneNode(true)),
    [x, y, w, h] = (copy.getAttribute("viewBox") || "").split(" ").map(Number),
    keys = keysOf(/** @type {Element} */ (box.querySelector(".legend")), w),
    high = TITLE + h + keys.height;
  copy.removeAttribute("style");
  copy.prepend(
    drawn("rect", { x, y: y - TITLE, width: w, height: high, fill: "#ffffff" }),
    drawn("text", { x: x + w / 2, y: y - 10, "text-anchor": "middle", "font-size": 15, fill: "currentColor" }, title),
  );
  copy.append(drawn("g", { class: "legend", transform: `translate(${x},${y + h})` }, ...keys.nodes));
  const width = Math.min(1040, 1.5 * w),
    whole = { viewBox: `${x} ${y - TITLE} ${w} ${high}`, width, height: (width * high) / w };
  for (const [name, value] of Object.entries({ ...whole, "font-family": "sans-serif" }))
    copy.setAttribute(name, String(value));
  const words = {
    ...Object.fromEntries(COLOURS.map((colour, i) => [colour, ON_WHITE[i]])),
    currentColor: "#1b1b1b",
    "var(--paper)": "#ffffff",
    "var(--line)": "#d5d8dc",
    "var(--faint)": "#666666",
    "var(--ink)": "#1b1b1b",
    "var(--arrow)": "#0072B2",
    "var(--state)": "#D55E00",
  };
  return new XMLSerializer().serializeToString(copy).replace(
    new RegExp(
      Object.keys(words)
        .map((word) => word.replace(/[()]/g, "\\$&"))
        .join("|"),
      "g",
    ),
    (word) => words[word],
  );
};

/**
 * show({ states, pi, edges, flows, kinds }): circles by the fraction of time, arrows by the flow between states;
 * `kinds` describes each kind of state in words.
 */
export class Ladder extends Picture {
  show(data) {
    this.data = data;
    const { states, edges, kinds } = data,
      [pi, flows] = [data.pi, data.flows].map((row) => row.map((x) => x || 0)), // without a distribution none has any
      cells = states.map(placeOf),
      exact = states.includes("b(0)");
    const columns = [...new Set(cells.map(([column]) => column))].sort((a, b) => a - b),
      rows = 1 + Math.max(...cells.map(([, row]) => row));
    const width = Math.max(300, this.width || 520),
      height = Math.max(this.height, rows * (innerWidth < 900 ? 31 : 42) + FOOT + TOP + 14);
    const wide = (width - LEFT - 4) / columns.length,
      high = (height - TOP - FOOT - 14) / rows;
    const letter = wide < 44 ? 9 : LETTER; // names of neighbours do not touch
    const centre = ([column, row]) => [
      LEFT + wide * (columns.indexOf(column) + 0.5),
      TOP + high * (rows - row - 0.5) - 4,
    ];
    const place = cells.map(centre),
      most = Math.min(wide, high - LETTER) / 2 - 3,
      size = pi.map((p) => 3 + Math.max(0, most - 3) * Math.sqrt(Math.max(0, Math.min(1, p))));
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": this.spec.alt });
    svg.style.maxHeight = `${height}px`;
    const word = (x, y, text, more = {}) =>
      drawn("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": letter, fill: "currentColor", ...more }, text);

    for (let row = 0; row < rows; row++) {
      const y = centre([columns[0], row])[1];
      svg.append(
        drawn("path", { d: `M${LEFT},${y}H${width}`, stroke: "var(--line)", "stroke-dasharray": "2 4" }),
        word(LEFT - 6, y + 4, rowName(row, exact), { "text-anchor": "end", fill: "var(--faint)", class: "level" }),
      );
    }
    columns.forEach((column) => {
      const text = column > 0 ? String(column) : column === -1 ? "1st wait" : "wait";
      svg.append(
        word(centre([column, 0])[0], height - FOOT + 16, text, { "text-anchor": "middle", fill: "var(--faint)" }),
      );
    });
    svg.append(word(width - 4, height - 4, "window [packet]", { "text-anchor": "end", fill: "var(--faint)" }));

    const largest = Math.max(...flows, 1e-300),
      strongest = new Set([...edges.keys()].sort((a, b) => flows[b] - flows[a]).slice(0, LABELLED)),
      words = [],
      taken = place.flatMap(([x, y], i) => [
        [x, y, size[i], size[i]],
        [x, y + size[i] + LETTER - 4, 0.28 * letter * states[i].length, 5],
      ]); // where no number may stand
    edges.forEach(([a, b], k) => {
      const line = arrow(place[a], place[b], cells[a], cells[b], size[a], size[b], high),
        thick = Math.max(0.4, 4 * Math.sqrt(flows[k] / largest));
      const group = drawn(
        "g",
        { class: "arrow", fill: "var(--arrow)", stroke: "var(--arrow)", "data-from": states[a], "data-to": states[b] },
        drawn("title", {}, `${states[a]} to ${states[b]}: ${percent(flows[k])} of round trips`),
        drawn("path", { d: line.d, fill: "none", "stroke-opacity": 0.55, "stroke-width": thick.toFixed(2) }),
        drawn("polygon", { points: line.head(3.5 + 0.8 * thick), "fill-opacity": 0.8, stroke: "none" }),
      );
      svg.append(group);
      if (strongest.has(k)) words.push({ k, at: line.at });
    });
    states.forEach((name, i) => {
      const [x, y] = place[i];
      svg.append(
        drawn(
          "circle",
          {
            cx: x.toFixed(1),
            cy: y.toFixed(1),
            r: size[i].toFixed(1),
            class: "state-circle",
            fill: "var(--state)",
            "data-state": name,
          },
          drawn("title", {}, `${name}: ${percent(pi[i])} of the time`),
        ),
        word(x, y + size[i] + LETTER, name, { "text-anchor": "middle", class: "state-name", ...halo }),
      );
    });
    words.sort((a, b) => flows[b.k] - flows[a.k]);
    for (const { k, at } of words) {
      const text = percent(flows[k]),
        half = 3.1 * text.length,
        free = ([x, y]) =>
          x > LEFT + half &&
          x < width - half &&
          taken.every(([cx, cy, w, h]) => Math.abs(cx - x) > w + half + 2 || Math.abs(cy - y) > h + 7);
      const spot = [0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.2, 0.8].map(at).find(free);
      if (!spot) continue; // its title says it
      taken.push([spot[0], spot[1], half, 6]);
      svg.append(word(spot[0], spot[1] + 4, text, { class: "flow", "text-anchor": "middle", ...halo }));
    }
    this.box.replaceChildren(
      svg,
      element(
        "p",
        { class: "legend" },
        element(
          "span",
          {},
          "Circles: fraction of time. Arrows: transitions per round trip, the strongest in numbers. " +
            "RTO: retransmission timeout.",
        ),
        ...kinds.map((words) => element("span", { class: "kind" }, words)),
      ),
    );
    this.filled();
  }

  rows() {
    const { states, pi, edges, flows } = this.data;
    return [
      ["state or transition", "fraction of time or transitions per round trip"],
      ...states.map((s, i) => [s, pi[i]]),
      ...edges.map(([a, b], k) => [`${states[a]} to ${states[b]}`, flows[k]]),
    ];
  }
  image() {
    return alone(this.box, this.spec.title);
  }
}

const halo = { stroke: "var(--paper)", "stroke-width": 2.5, "paint-order": "stroke", "stroke-linejoin": "round" };

/** A point as a path has it. */
const written = (point) => point.map((x) => x.toFixed(1)).join();

/** The curve of an arrow between two circles: its path, its head, and the point at a share of the way. */
const arrow = ([x1, y1], [x2, y2], [column1, row1], [column2, row2], from, to, high) => {
  let cx = (x1 + x2) / 2,
    cy = (y1 + y2) / 2;
  const same = row1 === row2;
  if (same && column2 < column1 && column2 > 0)
    cy = y1 + 0.62 * high; // half of the window: below the row
  else if (same && Math.abs(x2 - x1) > 1.5 * high && row1 > 0) cy = y1 - 0.35 * high;
  else if (!same) {
    const bend = 0.12;
    cx += bend * (y2 - y1);
    cy -= bend * (x2 - x1);
  }
  const trimmed = (x, y, far) => {
    const long = Math.hypot(cx - x, cy - y) || 1;
    return [x + ((cx - x) / long) * far, y + ((cy - y) / long) * far, (cx - x) / long, (cy - y) / long];
  };
  const [ax, ay] = trimmed(x1, y1, from + 1),
    [bx, by, ux, uy] = trimmed(x2, y2, to + 1);
  const head = (long) => {
    const ex = bx + ux * long,
      ey = by + uy * long;
    return [
      [bx, by],
      [ex - uy * long * 0.5, ey + ux * long * 0.5],
      [ex + uy * long * 0.5, ey - ux * long * 0.5],
    ]
      .map(written)
      .join(" ");
  };
  const at = (t) => [
    (1 - t) ** 2 * ax + 2 * t * (1 - t) * cx + t * t * bx,
    (1 - t) ** 2 * ay + 2 * t * (1 - t) * cy + t * t * by,
  ];
  const end = [bx + ux * 4, by + uy * 4];
  const d = `M${written([ax, ay])}Q${written([cx, cy])} ${written(end)}`;
  return { d, head, at };
};
