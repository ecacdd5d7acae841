// @ts-check
// Marks of a figure as SVG text: letters, colours, lines, points, areas.
import { ON_BLACK, ON_WHITE } from "./palette.js";

/** @type {Record<string, string>} */
const ON_DARK = {
  ...Object.fromEntries(ON_WHITE.map((colour, i) => [colour.toLowerCase(), ON_BLACK[i]])),
  "#7a3e9d": "#b98ad3",
  "#bfe0f2": "#1c4258",
  "#fbd9b5": "#5c3a1a",
  "#9adbc0": "#1f5a43",
  "#fff6e5": "#2b2a27",
  "#f3b58f": "#7a4527",
};
/** Colours of series, in order. */
export const SERIES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
/** Plotly's dashes, in units of a line's width. @type {Record<string, number[]>} */
const DASHES = {
  solid: [],
  dot: [1, 1.7],
  dash: [4, 2.2],
  longdash: [8, 2.5],
  dashdot: [5, 2, 1, 2],
  longdashdot: [8, 2, 1, 2],
};
/** @type {Record<string, string[]>} */
const SCALES = {
  Cividis: ["#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838"],
  Viridis: ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"],
};

/** What the paper looks like. @param {boolean} dark */
export const paper = (dark) =>
  dark
    ? { ink: "#e8eaed", paper: "#14171b", line: "#3a4048", faint: "#a7b0bc" }
    : { ink: "#1b1f24", paper: "#ffffff", line: "#d9dee5", faint: "#5a6472" };

/** @param {string} colour #rgb or #rrggbb @returns {number[]} */
const parts = (colour) =>
  colour.length === 4
    ? [1, 2, 3].map((i) => parseInt(colour[i] + colour[i], 16))
    : [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));

/**
 * A colour of white paper as it stands here: greys turn round, dark colours become lighter.
 * @param {any} colour
 * @param {boolean} dark
 * @returns {string}
 */
export function paint(colour, dark) {
  const word = colour === "black" ? "#000000" : String(colour);
  if (!dark || !/^#([0-9a-f]{3}|[0-9a-f]{6})$/i.test(word)) return word;
  const known = ON_DARK[word.toLowerCase()];
  if (known) return known;
  const rgb = parts(word),
    grey = Math.max(...rgb) - Math.min(...rgb) < 24;
  if (grey && rgb[0] < 60) return paper(true).ink;
  const light = 0.21 * rgb[0] + 0.72 * rgb[1] + 0.07 * rgb[2];
  if (light > 110) return grey ? "#a7b0bc" : word;
  return `#${rgb
    .map((x) =>
      Math.round(x + (255 - x) * 0.45)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/**
 * A colour of a scale at a place from 0 to 1.
 * @param {any} scale name, or places with colours
 * @param {number} at
 */
export function scaled(scale, at) {
  const names = SCALES[scale] || SCALES.Cividis;
  /** @type {[number, string][]} */
  const stops = Array.isArray(scale) ? scale : names.map((colour, i) => [i / (names.length - 1), colour]);
  const place = Math.min(1, Math.max(0, at)),
    next = stops.findIndex(([edge]) => edge >= place);
  if (next <= 0) return stops[next < 0 ? stops.length - 1 : 0][1];
  const [[low, first], [high, second]] = [stops[next - 1], stops[next]];
  if (first === second || !/^#/.test(first) || high === low) return second;
  const share = (place - low) / (high - low),
    [a, b] = [parts(first), parts(second)];
  return `#${a
    .map((x, i) =>
      Math.round(x + (b[i] - x) * share)
        .toString(16)
        .padStart(2, "0"),
    )
    .join("")}`;
}

/** @param {any} text */
export const escaped = (text) =>
  String(text)
    .replace(/&(?!(#\d+|\w+);)/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");

/** Plotly's marks of a text; what else stands in angles is text. */
const MARKUP = /<\/?(a|b|em|i|s|span|sub|sup|u)\b[^>]*>/g;
/** Text without Plotly's marks of it. @param {any} text */
export const plain = (text) =>
  String(text ?? "")
    .replace(/<br\s*\/?>/g, " ")
    .replace(MARKUP, "");

/** How wide a text is drawn, about. @param {any} text @param {number} [size] */
export function wide(text, size = 12) {
  let sum = 0;
  for (const letter of plain(text)) {
    sum += /[il.,:;'|!\u2009\u202f]/.test(letter)
      ? 0.3
      : /[frtj()[\] ]/.test(letter)
        ? 0.38
        : /[mwMW—]/.test(letter)
          ? 0.92
          : /[A-Z%]/.test(letter)
            ? 0.7
            : /[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]/.test(letter)
              ? 0.42
              : 0.6;
  }
  return sum * size;
}

/**
 * Text in lines that are at most so wide, broken at spaces.
 * @param {any} text
 * @param {number} width
 * @param {number} [size]
 * @returns {string[]}
 */
export function linesOf(text, width, size = 12) {
  /** @type {string[]} */
  const lines = [];
  for (const given of String(text ?? "").split(/<br\s*\/?>/)) {
    let line = "";
    for (const word of given.split(" ")) {
      if (line && wide(`${line} ${word}`, size) > width) {
        lines.push(line);
        line = word;
      } else line = line ? `${line} ${word}` : word;
    }
    lines.push(line);
  }
  return lines.filter((line, i) => line || i === 0);
}

/** Words with sub- and superscripts as parts of an SVG text. @param {string} text */
function spans(text) {
  return String(text)
    .split(/(<sub>.*?<\/sub>|<sup>.*?<\/sup>)/)
    .map((part) => {
      const low = /^<su([bp])>(.*)<\/su/.exec(part);
      if (!low) return escaped(part.replace(MARKUP, ""));
      const shift = low[1] === "b" ? 3 : -4;
      return `<tspan dy="${shift}" font-size="75%">${escaped(low[2])}</tspan><tspan dy="${-shift}">\u200b</tspan>`;
    })
    .join("");
}

/**
 * @param {number} x
 * @param {number} y of the first line's foot
 * @param {any} text lines, or one
 * @param {{anchor?: string, size?: number, fill?: string, bold?: boolean, turn?: number, halo?: string}} [how]
 */
export function letters(x, y, text, how = {}) {
  const size = how.size || 12,
    at = how.turn ? ` transform="rotate(${how.turn} ${round(x)} ${round(y)})"` : "";
  const style =
    (how.size ? ` font-size="${size}"` : "") +
    (how.anchor ? ` text-anchor="${how.anchor}"` : "") +
    (how.fill ? ` fill="${how.fill}"` : "") +
    (how.bold ? ' font-weight="600"' : "") +
    (how.halo ? ` stroke="${how.halo}" stroke-width="3" paint-order="stroke" stroke-linejoin="round"` : "");
  const lines = Array.isArray(text) ? text : [text];
  const body =
    lines.length === 1
      ? spans(lines[0])
      : lines
          .map((line, i) => `<tspan x="${round(x)}" dy="${i ? round(size * 1.25) : 0}">${spans(line)}</tspan>`)
          .join("");
  return `<text x="${round(x)}" y="${round(y)}"${style}${at}>${body}</text>`;
}

/** @param {number} x */
export const round = (x) => (Number.isFinite(x) ? Number(x.toFixed(1)) : 0);

/**
 * A dash as SVG has it.
 * @param {any} dash Plotly's word, or lengths in pixels
 * @param {number} width
 */
export function dashes(dash, width) {
  const known = DASHES[dash || "solid"],
    gap = String(dash).match(/[\d.]+/g);
  const lengths = known ? known.map((x) => round(x * Math.max(1.5, width))) : (gap || []).map(Number);
  return lengths.length ? ` stroke-dasharray="${lengths.join(" ")}"` : "";
}

/**
 * A path through points, broken where one is no number.
 * @param {number[]} xs
 * @param {number[]} ys
 * @param {string} [shape] linear, hv, vh
 * @param {boolean} [across] whether gaps are joined
 */
export function path(xs, ys, shape = "linear", across = false) {
  let text = "",
    open = false,
    lastX = NaN,
    lastY = NaN;
  for (let i = 0; i < xs.length; i++) {
    const [x, y] = [round(xs[i]), round(ys[i])];
    if (!Number.isFinite(xs[i]) || !Number.isFinite(ys[i])) {
      open = open && across;
      continue;
    }
    if (open && x === lastX && y === lastY) continue;
    if (!open) text += `M${x} ${y}`;
    else if (shape === "hv") text += y === lastY ? `H${x}` : `H${x}V${y}`;
    else if (shape === "vh") text += `V${y}H${x}`;
    else text += `L${x} ${y}`;
    [open, lastX, lastY] = [true, x, y];
  }
  return text;
}

/**
 * A point.
 * @param {number} x
 * @param {number} y
 * @param {any} symbol Plotly's word
 * @param {number} size across
 * @param {string} colour
 * @param {{colour: string, width: number}} edge
 */
export function point(x, y, symbol, size, colour, edge) {
  const word = String(symbol || "circle"),
    open = /-open/.test(word),
    name = word.replace(/-(open|dot)/g, "");
  const r = size / 2,
    at = (corners) => corners.map(([a, b], i) => `${i ? "L" : "M"}${round(x + a * r)} ${round(y + b * r)}`).join("");
  const rim = edge.width ? ` stroke="${edge.colour}" stroke-width="${edge.width}"` : "";
  const ink = open
    ? ` fill="none" stroke="${colour}" stroke-width="${Math.max(1.5, edge.width)}"`
    : ` fill="${colour}"${rim}`;
  const stroke = edge.width && edge.colour ? edge.colour : colour;
  const line = ` fill="none" stroke="${stroke}" stroke-width="${edge.width || 2}"`;
  if (name === "circle") return `<circle cx="${round(x)}" cy="${round(y)}" r="${round(r)}"${ink}/>`;
  if (name === "line-ew")
    return `<path d="${at([
      [-1, 0],
      [1, 0],
    ])}"${line}/>`;
  if (name === "line-ns")
    return `<path d="${at([
      [0, -1],
      [0, 1],
    ])}"${line}/>`;
  if (name.startsWith("x"))
    return `<path d="${at([
      [-0.8, -0.8],
      [0.8, 0.8],
    ])}${at([
      [-0.8, 0.8],
      [0.8, -0.8],
    ])}"${line}/>`;
  if (name.startsWith("cross"))
    return `<path d="${at([
      [-1, 0],
      [1, 0],
    ])}${at([
      [0, -1],
      [0, 1],
    ])}"${line}/>`;
  const star = Array.from({ length: 10 }, (_, i) => [i % 2 ? 0.45 : 1.1, (i * Math.PI) / 5]).map(([far, turn]) => [
    far * Math.sin(turn),
    -far * Math.cos(turn),
  ]);
  /** @type {Record<string, number[][]>} */
  const forms = {
    square: [
      [-0.9, -0.9],
      [0.9, -0.9],
      [0.9, 0.9],
      [-0.9, 0.9],
    ],
    diamond: [
      [0, -1.2],
      [1.1, 0],
      [0, 1.2],
      [-1.1, 0],
    ],
    "triangle-up": [
      [0, -1.1],
      [1.05, 0.85],
      [-1.05, 0.85],
    ],
    "triangle-down": [
      [0, 1.1],
      [1.05, -0.85],
      [-1.05, -0.85],
    ],
    "triangle-left": [
      [-1.1, 0],
      [0.85, 1.05],
      [0.85, -1.05],
    ],
    "triangle-right": [
      [1.1, 0],
      [-0.85, 1.05],
      [-0.85, -1.05],
    ],
    star,
  };
  return `<path d="${at(forms[name] || forms.square)}Z"${ink}/>`;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} wide
 * @param {number} high
 * @param {string} fill
 * @param {string} [rest] more attributes
 */
export const rectangle = (x, y, wide, high, fill, rest = "") =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(wide)}" height="${round(high)}" fill="${fill}"${rest}/>`;
