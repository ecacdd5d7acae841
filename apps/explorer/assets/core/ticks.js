// @ts-check
// Axes: where their ticks stand and how numbers are written on them.

import { grouped, readable } from "./numbers.js";

/**
 * @typedef {{log: boolean, words: string[] | null, low: number, high: number, from: number, to: number,
 *   percent?: boolean}} Scale
 *   `low` and `high` are decades where the axis is logarithmic, and places in `words` where it has those.
 */

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹",
  THIN = "\u2009",
  MINUS = "\u2212";

/** @param {number} k a power of ten, as people write it */
const power = (k) => `10${k < 0 ? "⁻" : ""}${[...String(Math.abs(k))].map((digit) => RAISED[Number(digit)]).join("")}`;

/**
 * A number with a minus sign and thousands apart; very large and very small ones as powers of ten.
 * @param {number} value
 * @param {number} [digits] after the point; without, what six significant digits need
 * @returns {string}
 */
export function numberText(value, digits) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "" : value > 0 ? "∞" : `${MINUS}∞`;
  const size = Math.abs(value),
    sign = value < 0 ? MINUS : "";
  if (size !== 0 && (size >= 1e7 || size < 0.99999e-4)) {
    const k = Math.floor(Math.log10(size) + 1e-9),
      lead = Number((size / 10 ** k).toPrecision(3));
    return sign + (lead === 1 ? "" : `${lead}\u202f×\u202f`) + power(k);
  }
  const [whole, part] = (digits === undefined ? String(Number(size.toPrecision(6))) : size.toFixed(digits)).split(".");
  return (Number(`${whole}.${part || 0}`) === 0 ? "" : sign) + grouped(part ? `${whole}.${part}` : whole);
}

/**
 * A fraction in per cent, as axes have it.
 * @param {number} value
 * @param {number} [digits] of the fraction, after the point
 */
export const percentText = (value, digits) =>
  `${numberText(100 * value, digits === undefined ? undefined : Math.max(0, digits - 2))}${THIN}%`;

/** A value of a quantity, of one in per cent so. @param {boolean | undefined} percent @param {number} x */
export const wordIn = (percent, x) => (percent ? percentText(Number(x.toPrecision(4))) : readable(x));

/** Of an axis of Plotly's layout, whose quantity may be in per cent. @param {boolean} [percent] */
export const ticksIn = (percent) => (percent ? { tickformat: "~%" } : {});

/**
 * The least round step with at most so many of them.
 * @param {number} span
 * @param {number} most
 */
function roundStep(span, most) {
  const rough = span / Math.max(1, most),
    base = 10 ** Math.floor(Math.log10(rough));
  return base * ([1, 2, 5].find((one) => one * base >= rough * 0.999) || 10);
}

/**
 * Ticks of a scale: places in its own units, with words.
 * @param {Scale} scale
 * @param {any} axis of a Plotly layout
 * @param {number} most
 * @returns {{at: number, text: string}[]}
 */
export function ticksOf(scale, axis, most) {
  const { low, high } = scale,
    slack = 1e-9 * Math.abs(high - low);
  const inside = (at) => at >= Math.min(low, high) - slack && at <= Math.max(low, high) + slack;
  const ends = `${axis.tickprefix || ""}|${axis.ticksuffix || ""}`.split("|");
  const percent = /%$/.test(axis.tickformat || "");
  /** @param {number} value @param {number} [digits] */
  const words = (value, digits) => ends[0] + (percent ? percentText : numberText)(value, digits) + ends[1];
  if (axis.tickvals) {
    return [...axis.tickvals]
      .map((value, i) => {
        const at = scale.words ? scale.words.indexOf(String(value)) : scale.log ? Math.log10(value) : Number(value);
        return {
          at: scale.words && at < 0 ? Number(value) : at,
          text: String(axis.ticktext ? axis.ticktext[i] : words(value)),
        };
      })
      .filter(({ at }) => inside(at));
  }
  if (scale.words) return scale.words.map((text, at) => ({ at, text })).filter(({ at }) => inside(at));
  if (scale.log) return decades(low, high, most, axis).map((at) => ({ at, text: words(10 ** at) }));
  const step = typeof axis.dtick === "number" ? axis.dtick : roundStep(Math.abs(high - low), most);
  const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step) + 1e-9)));
  const exact = Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 ? digits + 1 : digits;
  const first = Math.ceil(Math.min(low, high) / step - 1e-9),
    last = Math.floor(Math.max(low, high) / step + 1e-9);
  return Array.from({ length: Math.max(0, Math.min(200, last - first + 1)) }, (_, i) => {
    const at = (first + i) * step;
    return { at, text: words(at, exact) };
  });
}

/**
 * Round numbers of a logarithmic axis: powers of ten, between them 2 and 5 where there is room.
 * @param {number} low
 * @param {number} high
 * @param {number} most
 * @param {any} axis
 */
function decades(low, high, most, axis) {
  const from = Math.min(low, high) - 1e-9,
    to = Math.max(low, high) + 1e-9,
    span = to - from;
  const every = (leads, step = 1) => {
    const found = [];
    for (let k = Math.floor(from / step) * step; k <= to; k += step) found.push(...leads.map((x) => k + Math.log10(x)));
    return found.filter((at) => at >= from && at <= to);
  };
  if (axis.dtick === 1 || span > 3) return every([1], Math.max(1, Math.ceil(span / Math.max(2, most))));
  const leads = [[1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]].slice(span < 1 ? 0 : 2);
  const choices = leads.map((some) => every(some));
  return choices.find((ticks) => ticks.length <= Math.max(2, most) && ticks.length > 1) || every([1, 2, 5]);
}

/**
 * The scale of an axis over the values that stand on it.
 * @param {any} axis of a Plotly layout
 * @param {any[]} values numbers, words, null
 * @param {{bars: boolean, points: boolean, across: boolean, edge?: number}} on what stands on it; `across`: it is an x
 * @returns {Scale}
 */
export function scaleOf(axis, values, on) {
  const isWord = (value) => typeof value === "string" && !Number.isFinite(Number(value));
  if (axis.type === "category" || (!axis.type && values.some(isWord))) {
    const words = [...new Set((axis.categoryarray || []).concat(values.filter((value) => value !== null)).map(String))];
    const [low, high] = axis.range || [-0.5, words.length - 0.5];
    return turned({ log: false, words, low, high, from: 0, to: 1 }, axis);
  }
  const log = axis.type === "log";
  const numbers = values.filter((x) => x !== null && x !== "").map(Number);
  const kept = (log ? numbers.filter((x) => x > 0).map(Math.log10) : numbers).filter(Number.isFinite);
  let low = Infinity,
    high = -Infinity;
  for (const x of kept) {
    if (x < low) low = x;
    if (x > high) high = x;
  }
  if (low > high) [low, high] = [0, 1];
  if (low === high) {
    const half = log ? 0.3 : Math.abs(low) * 0.1 || 0.5;
    [low, high] = [low - half, high + half];
  }
  const room = on.edge === undefined ? (high - low) * (on.points ? 0.05 : on.across ? 0 : 0.05) : on.edge;
  const [bottom, top] = [low, high];
  [low, high] = [low - room, high + room];
  if (!log && on.bars && !on.across && bottom >= 0) low = 0;
  if (!log && on.bars && !on.across && top <= 0) high = 0;
  if (!log && axis.rangemode === "tozero") [low, high] = [Math.min(bottom < 0 ? low : 0, low), Math.max(0, high)];
  if (!log && axis.rangemode === "tozero" && bottom >= 0) low = 0;
  if (!log && axis.rangemode === "nonnegative") low = Math.max(0, low);
  const given = axis.range || [];
  if (Number.isFinite(given[0] ?? NaN)) low = given[0];
  if (Number.isFinite(given[1] ?? NaN)) high = given[1];
  return turned({ log, words: null, low, high, from: 0, to: 1 }, axis);
}

/** @param {Scale} given @param {any} axis @returns {Scale} */
function turned(given, axis) {
  const scale = { ...given, percent: /%$/.test(axis.tickformat || "") };
  return axis.autorange === "reversed" ? { ...scale, low: scale.high, high: scale.low } : scale;
}

/**
 * The pixel of a value; NaN where the scale has none.
 * @param {Scale} scale
 * @param {any} value
 */
export function pixel(scale, value) {
  if (value === null || value === undefined || value === "") return NaN;
  let at = scale.log ? Math.log10(value) : Number(value);
  if (scale.words) {
    const place = scale.words.indexOf(String(value));
    at = place < 0 ? Number(value) : place;
  }
  return scale.from + ((at - scale.low) / (scale.high - scale.low)) * (scale.to - scale.from);
}
