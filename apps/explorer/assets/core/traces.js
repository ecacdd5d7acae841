// @ts-check
// What a figure holds: its traces with every choice that Plotly would make, its panels, its scales.
import { scaleOf } from "./ticks.js";
import { SERIES, plain, wide } from "./marks.js";

/**
 * @typedef {any} Trace Plotly's, and `xs`, `ys`, `lines`, `points`, `colour`, `weight`, `dash`, `key`, `listed`
 * @typedef {{x: string, y: string, xa: any, ya: any, traces: Trace[], xd: number[], yd: number[], row: number,
 *   col: number, title: string, [more: string]: any}} Panel
 */

const ARRAYS = {
  f8: Float64Array,
  f4: Float32Array,
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
};

/** Numbers as lists, also those that Plotly's Python writes in base 64. @param {any} value @returns {any} */
export function listed(value) {
  if (ArrayBuffer.isView(value)) return Array.from(/** @type {any} */ (value));
  if (Array.isArray(value)) return value.map((one) => (typeof one === "object" && one ? listed(one) : one));
  if (!value || typeof value !== "object") return value;
  if (value.bdata === undefined)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, listed(one)]));
  const bytes = Uint8Array.from(atob(value.bdata), (letter) => letter.charCodeAt(0));
  const flat = Array.from(new /** @type {any} */ (ARRAYS)[value.dtype](bytes.buffer));
  const shape = String(value.shape || "")
    .split(",")
    .map(Number);
  if (shape.length < 2) return flat;
  return Array.from({ length: shape[0] }, (_, i) => flat.slice(i * shape[1], (i + 1) * shape[1]));
}

/**
 * Traces as they are drawn.
 * @param {any} figure
 * @param {any} layout
 * @returns {Trace[]}
 */
export function tracesOf(figure, layout) {
  const shown = figure.data.filter((one) => one.visible !== false && one.visible !== "legendonly");
  const ways = layout.colorway || SERIES;
  const traces = shown.map((given, i) => {
    const one = listed(given),
      type = one.type === "scattergl" ? "scatter" : one.type || "scatter";
    const marker = one.marker || {},
      line = one.line || {},
      count = (one.x || one.y || []).length;
    const mode =
      one.mode ||
      (type !== "scatter" ? "" : one.error_y || count >= 20 || one.fill === "toself" ? "lines" : "lines+markers");
    const solid = [type === "bar" ? marker.color : line.color, marker.color, line.color, marker.line?.color];
    return {
      ...one,
      type,
      marker,
      line,
      xa: one.xaxis || "x",
      ya: one.yaxis || "y",
      flat: one.orientation === "h",
      xs: one.x || (one.y || []).map((_, k) => k),
      ys: one.y || (one.x || []).map((_, k) => k),
      lines: type === "scatter" && (!given.mode && type === "scatter" ? true : /lines/.test(mode)) && line.width !== 0,
      points: type === "scatter" && /markers/.test(mode),
      letters: /text/.test(mode),
      colour: solid.find((colour) => typeof colour === "string") || ways[i % ways.length],
      weight: line.width ?? 2,
      dash: line.dash,
      symbol: marker.symbol,
      key: one.legendgroup || one.name || `trace ${i}`,
      listed: one.showlegend !== false && layout.showlegend !== false && Boolean(one.name) && type !== "heatmap",
    };
  });
  return told(traces);
}

/**
 * Lines and points that colour alone tells apart get dashes, widths and forms of their own.
 * @param {Trace[]} traces
 */
function told(traces) {
  const keys = (some) => [...new Set(some.map((one) => one.key))];
  const lines = traces.filter((one) => one.lines),
    points = traces.filter((one) => one.points && one.listed);
  const several = keys(lines.filter((one) => one.listed));
  const alike = lines.every((one) => !one.dash && !one.points && one.line.shape !== "hv");
  if (alike && several.length > 1 && several.length <= SERIES.length) {
    const styles = [
      ["solid", 2.4],
      ["dash", 2],
      ["dot", 2.6],
      ["solid", 1.2],
      ["dashdot", 2],
      ["longdash", 1.5],
      ["dot", 1.4],
    ];
    for (const one of lines) {
      const at = several.indexOf(one.key);
      if (at >= 0) [one.dash, one.weight] = styles[at];
    }
  }
  const sorts = keys(points);
  if (
    sorts.length > 1 &&
    sorts.length <= 6 &&
    traces.every((one) => !one.points || !sorts.includes(one.key) || !one.symbol)
  ) {
    const symbols = ["circle", "square", "diamond", "triangle-up", "x", "triangle-down"];
    for (const one of traces) if (one.points && sorts.includes(one.key)) one.symbol = symbols[sorts.indexOf(one.key)];
  }
  return traces;
}

/** @param {any} layout @param {string} id x, x2, y, ... */
export const axisOf = (layout, id) => layout[id[0] + "axis" + id.slice(1)] || {};

/** @param {number[]} numbers each once, to a thousandth */
const once = (numbers) => [...new Set(numbers.map((x) => Math.round(x * 1e3)))].sort((a, b) => a - b);

/**
 * Panels with their place in the grid, and the titles that stand above them.
 * @param {Trace[]} traces
 * @param {any} layout
 * @returns {{panels: Panel[], notes: any[]}}
 */
export function panelsOf(traces, layout) {
  /** @type {Map<string, Panel>} */
  const found = new Map();
  for (const one of traces) {
    const key = `${one.xa} ${one.ya}`,
      xa = axisOf(layout, one.xa),
      ya = axisOf(layout, one.ya);
    if (!found.has(key)) {
      found.set(key, {
        x: one.xa,
        y: one.ya,
        xa,
        ya,
        traces: [],
        xd: xa.domain || [0, 1],
        yd: ya.domain || [0, 1],
        row: 0,
        col: 0,
        title: "",
      });
    }
    /** @type {Panel} */ (found.get(key)).traces.push(one);
  }
  const panels = [...found.values()];
  const cols = once(panels.map((one) => one.xd[0])),
    rows = once(panels.map((one) => one.yd[0])).reverse();
  for (const one of panels) {
    one.col = cols.indexOf(Math.round(one.xd[0] * 1e3));
    one.row = rows.indexOf(Math.round(one.yd[0] * 1e3));
  }
  panels.sort((a, b) => a.row - b.row || a.col - b.col);
  const notes = (layout.annotations || []).filter((note) => {
    if (note.xref !== "paper" || note.yref !== "paper" || note.showarrow !== false) return true;
    const under = panels.find(
      (one) =>
        !one.title && Math.abs(one.yd[1] - note.y) < 0.02 && Math.abs((one.xd[0] + one.xd[1]) / 2 - note.x) < 0.02,
    );
    if (under) under.title = String(note.text);
    return !under;
  });
  return { panels, notes };
}

/** Values of a trace along an axis, with what its bars and areas reach. @param {Trace} one @param {"x" | "y"} way */
function reach(one, way) {
  const values = way === "x" ? one.xs : one.ys,
    error = one[`error_${way}`];
  const along = one.type === "bar" && (way === "x") === one.flat;
  if (along) return [0, ...values, ...(one.tops || [])].concat(spread(values, error));
  if (one.type === "heatmap" && values.every((value) => typeof value === "number")) return edges(values);
  return values.concat(error && error.visible !== false ? spread(values, error) : []);
}

/** @param {any[]} values @param {any} error */
const spread = (values, error) =>
  error && error.array
    ? values.flatMap((value, i) =>
        typeof value !== "number"
          ? []
          : [value + (error.array[i] || 0), value - ((error.arrayminus || error.array)[i] || 0)],
      )
    : [];

/** Edges of cells around their middles. @param {number[]} at */
export function edges(at) {
  if (at.length < 2) return [at[0] - 0.5, at[0] + 0.5];
  const middle = at.slice(1).map((x, i) => (x + at[i]) / 2),
    last = at.length - 1;
  return [2 * at[0] - middle[0], ...middle, 2 * at[last] - middle[last - 1]];
}

/**
 * A scale for each axis; those that match have one range.
 * @param {Trace[]} traces
 * @param {any} layout
 * @returns {Map<string, import("./ticks.js").Scale>}
 */
export function scalesOf(traces, layout) {
  /** @param {string} id @returns {string} */
  const root = (id) => {
    const next = axisOf(layout, id).matches;
    return next && next !== id ? root(next) : id;
  };
  const scales = new Map();
  const ids = [...new Set(traces.flatMap((one) => [one.xa, one.ya]))];
  for (const id of ids) {
    const way = /** @type {"x" | "y"} */ (id[0]),
      first = root(id);
    const on = traces.filter((one) => root(one[`${way}a`]) === first);
    const axis = { ...axisOf(layout, first), ...axisOf(layout, id) };
    axis.range ||= axisOf(layout, first).range;
    const bars = on.some((one) => one.type === "bar"),
      along = on.some((one) => one.type === "bar" && (way === "x") === one.flat);
    const values = on.flatMap((one) => reach(one, way));
    /** @type {number | undefined} */
    let edge;
    if (on.every((one) => one.type === "heatmap")) edge = 0;
    if (bars && !along) edge = gapOf(values) * 0.6;
    const points = on.some((one) => one.points || one.letters);
    scales.set(id, scaleOf(axis, values, { bars: along, points, across: way === "x" && !along, edge }));
  }
  return scales;
}

/** The least distance of numbers. @param {any[]} values */
export function gapOf(values) {
  const sorted = [...new Set(values.filter((x) => typeof x === "number"))].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((x, i) => x - sorted[i]);
  return gaps.length ? Math.min(...gaps) : 1;
}

/**
 * Entries of a legend: one for each group that has a name.
 * @param {Trace[]} traces
 * @returns {{key: string, name: string, parts: Trace[], width: number}[]}
 */
export function entriesOf(traces) {
  const entries = new Map();
  for (const one of traces.filter((trace) => trace.listed)) {
    const name = plain(one.name),
      key = `${one.key} ${name}`;
    if (!entries.has(key)) entries.set(key, { key: one.key, name: String(one.name), parts: [], width: wide(name) });
    entries.get(key).parts.push(one);
  }
  return [...entries.values()];
}

/** Bars beside or on one another. @param {Trace[]} traces @param {any} layout */
export function stack(traces, layout) {
  const bars = traces.filter((one) => one.type === "bar"),
    mode = layout.barmode || "group";
  const heaps = new Map(),
    keys = [...new Set(bars.map((one) => one.offsetgroup || one.key))];
  for (const one of bars) {
    const values = one.flat ? one.xs : one.ys,
      places = one.flat ? one.ys : one.xs;
    one.bases = values.map((value, i) => {
      const given = Array.isArray(one.base) ? one.base[i] : one.base || 0;
      if (mode !== "stack" && mode !== "relative") return given;
      const heap = `${one.xa} ${one.ya} ${places[i]} ${value < 0}`,
        under = heaps.get(heap) || 0;
      heaps.set(heap, under + (value || 0));
      return under;
    });
    one.tops = values.map((value, i) => one.bases[i] + value);
    [one.among, one.many] = mode === "group" ? [keys.indexOf(one.offsetgroup || one.key), keys.length] : [0, 1];
  }
}
