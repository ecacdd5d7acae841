// @ts-check
// Traces of a panel as SVG text, and where their values stand.
import { numberText, percentText, pixel } from "./ticks.js";
import { dashes, letters, paint, paper, path, plain, point, rectangle, round, scaled, wide } from "./marks.js";
import { edges, gapOf } from "./traces.js";

/**
 * @typedef {import("./traces.js").Trace} Trace
 * @typedef {import("./traces.js").Panel} Panel
 * @typedef {{x: number, y: number, text: string, colour: string}} Spot where a value stands, and its words
 * @typedef {{look: any, dark: boolean, spots: Spot[], layout: any}} Sheet what is drawn on, and what is found there
 */

/** @param {any} value one, or one for each point @param {number} i */
export const at = (value, i) => (Array.isArray(value) ? value[i] : value);
/** @param {Trace} one @param {number} i */
export const sizeOf = (one, i) => Math.max(2, Number(at(one.marker.size, i) ?? 6));
/** @param {Trace} one @param {number} i @param {boolean} dark */
export const edgeOf = (one, i, dark) => ({
  colour: paint(at(one.marker.line?.color, i) ?? one.colour, dark),
  width: Number(at(one.marker.line?.width, i) ?? 0),
});
/**
 * Colour of a point: one, one for each, or a number on a scale.
 * @param {Trace} one
 * @param {number} i
 * @param {boolean} dark
 */
export function inkOf(one, i, dark) {
  const colour = at(one.marker.color, i) ?? one.colour;
  if (typeof colour !== "number") return paint(colour, dark);
  const numbers = one.marker.color.filter(Number.isFinite),
    low = one.marker.cmin ?? Math.min(...numbers);
  return scaled(one.marker.colorscale, (colour - low) / ((one.marker.cmax ?? Math.max(...numbers)) - low || 1));
}

/** @param {number} px @param {number} py @param {Spot[]} spots @param {string} text @param {string} colour */
function spot(px, py, spots, text, colour) {
  if (Number.isFinite(px) && Number.isFinite(py)) spots.push({ x: px, y: py, text, colour });
}

/** A value in words, of an axis in per cent so. @param {any} value @param {any} [scale] */
const said = (value, scale) =>
  typeof value === "number" ? (scale?.percent ? percentText : numberText)(Number(value.toPrecision(4))) : plain(value);

/** @param {Trace} one @param {any} x @param {any} y @param {Sheet} sheet @param {Panel} panel */
export function scatter(one, x, y, sheet, panel) {
  const { look, dark, spots } = sheet;
  const px = one.xs.map((value) => pixel(x, value)),
    py = one.ys.map((value) => pixel(y, value));
  const colour = paint(one.colour, dark),
    parts = [];
  if (one.fill && one.fill !== "none") parts.push(areaOf(one, px, py, x, y, panel, dark));
  if (one.lines) {
    parts.push(
      `<path d="${path(px, py, one.line.shape, one.connectgaps)}" fill="none" stroke="${colour}" ` +
        `stroke-width="${one.weight}" stroke-linejoin="round"${dashes(one.dash, one.weight)}` +
        `${one.opacity ? ` opacity="${one.opacity}"` : ""}/>`,
    );
  }
  parts.push(errors(one, x, y, px, py, dark));
  const dots = one.points && !(one.error_x || one.error_y) && dotsOf(one, px, py, colour, dark);
  if (dots) parts.push(dots);
  one.xs.forEach((value, i) => {
    if (!Number.isFinite(px[i]) || !Number.isFinite(py[i])) return;
    if (one.points && !dots)
      parts.push(point(px[i], py[i], at(one.symbol, i), sizeOf(one, i), inkOf(one, i, dark), edgeOf(one, i, dark)));
    const words = at(one.text, i);
    if (one.letters && words) {
      const up = /top/.test(one.textposition || "") ? -8 : /bottom/.test(one.textposition || "") ? 16 : 4;
      parts.push(
        letters(px[i], py[i] + up, words, {
          anchor: /right/.test(one.textposition || "") ? "start" : "middle",
          fill: look.ink,
          halo: look.paper,
        }),
      );
    }
    if (one.hoverinfo === "skip" || !(one.lines || one.points || one.letters)) return;
    const error = one.error_y?.array?.[i],
      more = words && !one.letters ? `${plain(words)} ` : "";
    spot(
      px[i],
      py[i],
      spots,
      `${one.name && one.listed !== null ? `${plain(one.name)}: ` : ""}${more}${said(value, x)}, ` +
        said(one.ys[i], y) +
        (error ? ` ± ${said(error, y)}` : ""),
      colour,
    );
  });
  return parts.join("");
}

/**
 * Very many points alike as one path, each place once; nothing where they are few or differ.
 * @param {Trace} one
 * @param {number[]} px
 * @param {number[]} py
 * @param {string} colour
 * @param {boolean} dark
 */
function dotsOf(one, px, py, colour, dark) {
  const symbol = one.symbol || "circle";
  const size = sizeOf(one, 0);
  const edge = one.marker.line || {};
  const varied = [one.symbol, one.marker.size, one.marker.color].some((some) => Array.isArray(some));
  const upright = symbol.startsWith("line-ns");
  if (px.length < 300 || varied || !(upright || (symbol === "circle" && !edge.width))) return "";
  const [up, stroke] = upright ? [size / 2, `v${size}`] : [0, "h0"];
  const places = new Set(
    px.map((x, i) => (Number.isFinite(x + py[i]) ? `M${round(x)} ${round(py[i] - up)}${stroke}` : "")),
  );
  const ink = upright ? paint(edge.color || colour, dark) : inkOf(one, 0, dark);
  return (
    `<path d="${[...places].join("")}" stroke="${ink}" stroke-width="${upright ? edge.width || 2 : size}" ` +
    `${upright ? "" : 'stroke-linecap="round" '}fill="none"/>`
  );
}

/**
 * @param {Trace} one
 * @param {number[]} px
 * @param {number[]} py
 * @param {any} x
 * @param {any} y
 * @param {Panel} panel
 * @param {boolean} dark
 */
function areaOf(one, px, py, x, y, panel, dark) {
  const before = panel.traces[panel.traces.indexOf(one) - 1];
  const kept = px.map((at, i) => [at, py[i]]).filter((pair) => pair.every(Number.isFinite));
  if (!kept.length) return "";
  /** @type {number[][]} */
  let back = [];
  if (one.fill === "tonexty" && before) {
    back = before.xs
      .map((value, i) => [pixel(x, value), pixel(y, before.ys[i])])
      .filter((pair) => pair.every(Number.isFinite))
      .reverse();
  } else if (one.fill === "tozeroy" || one.fill === "tonexty") {
    const zero = Math.min(y.from, Math.max(y.to, pixel(y, y.log ? 1e-300 : 0)));
    back = [
      [kept[kept.length - 1][0], zero],
      [kept[0][0], zero],
    ];
  }
  const all = kept.concat(back),
    shape = one.line.shape || "linear";
  const line = path(
    kept.map((pair) => pair[0]),
    kept.map((pair) => pair[1]),
    shape,
  );
  const rest = path(
    back.map((pair) => pair[0]),
    back.map((pair) => pair[1]),
    shape === "hv" ? "vh" : shape,
  ).replace("M", "L");
  const clear = one.fillcolor ? "" : ' fill-opacity="0.22"';
  return all.length < 3 ? "" : `<path d="${line}${rest}Z" fill="${paint(one.fillcolor || one.colour, dark)}"${clear}/>`;
}

/**
 * @param {Trace} one
 * @param {any} x
 * @param {any} y
 * @param {number[]} px
 * @param {number[]} py
 * @param {boolean} dark
 */
function errors(one, x, y, px, py, dark) {
  let text = "";
  for (const way of ["x", "y"]) {
    const error = one[`error_${way}`],
      scale = way === "x" ? x : y,
      values = way === "x" ? one.xs : one.ys;
    if (!error || error.visible === false || !error.array) continue;
    const marks = values
      .map((value, i) => {
        const up = Number(error.array[i]),
          down = Number((error.arrayminus || error.array)[i]);
        if (!(up > 0 || down > 0) || value === null || !Number.isFinite(px[i]) || !Number.isFinite(py[i])) return "";
        const low = pixel(scale, scale.log && value - down <= 0 ? 1e-300 : value - down),
          high = pixel(scale, value + up);
        const far = (at) => round(Math.max(-50, Math.min(9999, at)));
        return way === "y"
          ? `M${round(px[i])} ${far(low)}V${far(high)}m-3 0h6M${round(px[i] - 3)} ${far(low)}h6`
          : `M${far(low)} ${round(py[i])}H${far(high)}m0 -3v6M${far(low)} ${round(py[i] - 3)}v6`;
      })
      .join("");
    const colour = paint(error.color || one.colour, dark);
    text += `<path d="${marks}" stroke="${colour}" stroke-width="${error.thickness || 1.2}" fill="none"/>`;
  }
  return text;
}

/** @param {Trace} one @param {any} x @param {any} y @param {Sheet} sheet */
export function bars(one, x, y, sheet) {
  const { look, dark, spots, layout } = sheet;
  const along = one.flat ? x : y,
    across = one.flat ? y : x,
    places = one.flat ? one.ys : one.xs;
  const step =
    (Math.abs(across.to - across.from) / Math.abs(across.high - across.low)) * (across.words ? 1 : gapOf(places));
  const thick = Math.min((step * (1 - (layout.bargap ?? 0.2))) / one.many, 90),
    parts = [],
    tips = /** @type {number[]} */ ([]);
  const middles = places.map((place) => pixel(across, place) + (one.among - (one.many - 1) / 2) * thick);
  one.tops.forEach((top, i) => {
    const a = pixel(along, along.log ? 10 ** Math.min(along.low, along.high) : one.bases[i]),
      b = pixel(along, top);
    tips.push(b);
    if (!Number.isFinite(a) || !Number.isFinite(b) || !Number.isFinite(middles[i])) return;
    const colour = inkOf(one, i, dark),
      [low, size] = [Math.min(a, b), Math.abs(b - a)];
    const box = one.flat ? [low, middles[i] - thick / 2, size, thick] : [middles[i] - thick / 2, low, thick, size];
    const rim = one.marker.line?.width
      ? ` stroke="${edgeOf(one, i, dark).colour}" stroke-width="${edgeOf(one, i, dark).width}"`
      : "";
    parts.push(rectangle(box[0], box[1], box[2], box[3], colour, rim));
    const words = at(one.text, i),
      [tx, ty] = one.flat ? [(a + b) / 2, middles[i]] : [middles[i], Math.min(a, b) - 8];
    if (words !== undefined && words !== "")
      parts.push(
        letters(tx, ty + 4, words, { anchor: "middle", fill: readable(one.flat ? colour : look.paper, look, dark) }),
      );
    spot(
      one.flat ? b : middles[i],
      one.flat ? middles[i] : b,
      spots,
      (one.name ? `${plain(one.name)}: ` : "") +
        `${said(places[i])}, ${one.flat ? said(one.xs[i], x) : said(one.ys[i], y)}`,
      colour,
    );
  });
  return (
    parts.join("") +
    errors({ ...one, colour: look.ink }, x, y, one.flat ? tips : middles, one.flat ? middles : tips, dark)
  );
}

/** A scale of colours in those of the page. @param {any} scale @param {boolean} dark */
export const painted = (scale, dark) =>
  Array.isArray(scale) ? scale.map(([place, colour]) => [place, paint(colour, dark)]) : scale;

/** @param {Trace} one */
export function limits(one) {
  const all = one.z.flat().filter((value) => Number.isFinite(value) && value !== null);
  const least = all.reduce((a, b) => Math.min(a, b), Infinity);
  const most = all.reduce((a, b) => Math.max(a, b), -Infinity);
  return [one.zmin ?? least, one.zmax ?? most];
}

/** @param {Trace} one @param {any} x @param {any} y @param {Sheet} sheet */
export function heat(one, x, y, sheet) {
  const { look, dark, spots } = sheet;
  const colours = painted(one.colorscale, dark);
  const [low, high] = limits(one),
    parts = [],
    words = [];
  const ends = (scale, values) =>
    values.every((value) => typeof value === "number")
      ? edges(scale.log ? values.map(Math.log10) : values).map((value) => pixel(scale, scale.log ? 10 ** value : value))
      : Array.from(
          { length: values.length + 1 },
          (_, i) => scale.from + ((i - 0.5 - scale.low) / (scale.high - scale.low)) * (scale.to - scale.from),
        );
  const across = one.x || one.z[0].map((_, i) => i),
    up = one.y || one.z.map((_, i) => i);
  const xe = ends(x, across),
    ye = ends(y, up),
    tell = one.z.length * across.length < 3000 && one.hoverinfo !== "skip";
  one.z.forEach((row, j) => {
    const inks = row.map((value) =>
      value === null || !Number.isFinite(value) ? "none" : scaled(colours, (value - low) / (high - low || 1)),
    );
    for (let i = 0, end; i < inks.length; i = end) {
      for (end = i + 1; end < inks.length && inks[end] === inks[i];) end++;
      const box = [
        Math.min(xe[i], xe[end]),
        Math.min(ye[j], ye[j + 1]),
        Math.abs(xe[end] - xe[i]) + 0.3,
        Math.abs(ye[j + 1] - ye[j]) + 0.3,
      ];
      if (inks[i] !== "none") parts.push(rectangle(box[0], box[1], box[2], box[3], inks[i]));
    }
    row.forEach((value, i) => {
      const [px, py] = [(xe[i] + xe[i + 1]) / 2, (ye[j] + ye[j + 1]) / 2],
        text = one.text?.[j]?.[i];
      if (text && one.texttemplate) {
        const size = Math.max(8, Math.min(12, (Math.abs(xe[i + 1] - xe[i]) - 4) / (wide(text) / 12 || 1)));
        words.push(letters(px, py + 4, text, { anchor: "middle", size, fill: readable(inks[i], look, dark) }));
      }
      if (tell) spot(px, py, spots, `${said(across[i])}, ${said(up[j])}: ${text ? plain(text) : said(value)}`, inks[i]);
    });
  });
  return `<g shape-rendering="crispEdges">${parts.join("")}</g>${words.join("")}`;
}

/** Black or white, whichever is read on a colour. @param {string} ink @param {any} look @param {boolean} dark */
function readable(ink, look, dark) {
  if (!/^#[0-9a-f]{6}$/i.test(ink)) return look.ink;
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(ink.slice(i, i + 2), 16));
  const light = 0.21 * r + 0.72 * g + 0.07 * b > 100;
  return light ? paper(false).ink : dark ? look.ink : "#ffffff";
}
