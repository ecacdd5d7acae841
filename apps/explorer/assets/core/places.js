// @ts-check
// Where everything of a figure stands: the grid of panels, their ticks, legends, names at lines' ends. In pixels.
import { pixel, ticksOf } from "./ticks.js";
import { linesOf, plain, wide } from "./marks.js";

/** @typedef {import("./traces.js").Panel} Panel */

export const LINE = 15;
export const SAMPLE = 30;
/** The room of names at lines' ends. @param {number} width */
const labelWide = (width) => Math.min(260, 0.28 * width);

/**
 * Whether lines of a single panel can have their names at their ends.
 * @param {any[]} entries
 * @param {Panel[]} panels
 */
export const directly = (entries, panels) =>
  panels.length === 1 &&
  entries.length > 0 &&
  entries.length < 9 &&
  entries.filter((one) => one.parts[0].lines).every((one) => one.width < 330) &&
  entries.some((one) => one.parts[0].lines);
/**
 * The grid of panels, in pixels; `named`: the entries that have their names at their lines' ends.
 * @param {any} frame
 * @param {any[]} named
 */
export function placed(frame, named) {
  const { width, layout, look, top } = frame;
  const ends = named.filter((one) => one.parts[0].lines);
  const right = ends.length ? Math.max(...ends.map((one) => Math.min(one.width, labelWide(width)))) + 28 : 10;
  const rest = frame.entries.filter((one) => !ends.includes(one));
  const legend = legendRows(rest, width - 16);
  const head = 6 + top.length * 18 + legend.height;
  const hint = frame.height || layout.height || 450,
    count = 1 + Math.max(...frame.panels.map((p) => p.row));
  const guess = Math.max(100, (hint - 100) / count - (count > 1 ? 25 : 0));
  let grid = gridOf(frame, right, head, guess);
  if (frame.height) grid = gridOf(frame, right, head, Math.max(40, guess + (frame.height - grid.height) / grid.rows));
  return { grid: { ...grid, look }, legend };
}

/**
 * @param {any} frame
 * @param {number} right
 * @param {number} head where the first row begins
 * @param {number} inner height of a row's panels
 */
function gridOf(frame, right, head, inner) {
  const { width, scales } = frame,
    many = frame.panels.length;
  const given = 1 + Math.max(...frame.panels.map((one) => one.col));
  // Words along an axis need more room than numbers do.
  const worded = frame.panels.some(
    (one) => (scales.get(one.y).words && one.ya.showticklabels !== false) || (scales.get(one.x).words || []).length > 3,
  );
  const cols = Math.max(1, Math.min(given, Math.floor(width / (many >= 4 && !(worded && width < 600) ? 168 : 250))));
  const flows = cols < given;
  /** @type {Panel[]} */
  const panels = frame.panels.map((one, i) =>
    flows ? { ...one, col: i % cols, row: Math.floor(i / cols) } : { ...one },
  );
  const rows = 1 + Math.max(...panels.map((one) => one.row));
  const weigh = (k, way) => {
    const one = panels.find((panel) => (way === "x" ? panel.col : panel.row) === k);
    return flows || !one ? 1 : way === "x" ? one.xd[1] - one.xd[0] : one.yd[1] - one.yd[0];
  };
  const colWeights = Array.from({ length: cols }, (_, k) => weigh(k, "x")),
    rowWeights = Array.from({ length: rows }, (_, k) => weigh(k, "y"));
  const mean = rowWeights.reduce((sum, one) => sum + one, 0) / rows;
  let plot = (width - right - 60 * cols) / cols;
  for (const one of panels) {
    one.high = inner * (rowWeights[one.row] / mean);
    if (!frame.height) one.high = Math.min(one.high, Math.max(150, plot * 0.95));
    const scale = scales.get(one.y);
    if (scale.words && !frame.height) one.high = Math.max(one.high, 17 * Math.abs(scale.high - scale.low));
  }
  const rowHigh = rowWeights.map((_, k) => Math.max(...panels.filter((one) => one.row === k).map((one) => one.high)));
  for (const one of panels) {
    one.high = rowHigh[one.row];
    const quiet = one.ya.showticklabels === false && !flows;
    one.yTicks = ticksOf(scales.get(one.y), one.ya, one.high / 34);
    one.yTicks.forEach((tick) => {
      tick.lines = quiet ? [] : linesOf(tick.text, Math.max(90, (width * 0.3) / cols));
    });
    const words = one.ya.title?.text;
    one.yTitle = words && !(flows && many >= 4 && one.col) ? linesOf(words, one.high) : [];
    one.yWide = Math.max(0, ...one.yTicks.flatMap((tick) => tick.lines.map((line) => wide(line))));
    one.left = (quiet ? 6 : one.yWide + 11) + one.yTitle.length * LINE + (one.yTitle.length ? 5 : 0);
    one.bar = one.traces.find((trace) =>
      trace.type === "heatmap" ? trace.showscale !== false : trace.marker.showscale || trace.marker.colorbar,
    );
    one.right = one.bar ? 72 : 0;
  }
  const most = (key, col) => Math.max(0, ...panels.filter((one) => one.col === col).map((one) => one[key]));
  const lefts = colWeights.map((_, k) => most("left", k)),
    rights = colWeights.map((_, k) => most("right", k));
  const sum = (some) => some.reduce((a, b) => a + b, 0);
  const free = Math.max(40 * cols, width - right - 8 - sum(lefts) - sum(rights) - 16 * (cols - 1));
  const wides = colWeights.map((one) => (free * one) / sum(colWeights));
  const starts = wides.map(
    (_, k) => 4 + sum(lefts.slice(0, k + 1)) + sum(wides.slice(0, k)) + sum(rights.slice(0, k)) + 16 * k,
  );
  let y = head;
  for (let row = 0; row < rows; row++) {
    const mine = panels.filter((one) => one.row === row);
    for (const one of mine) {
      [one.at, one.wide] = [starts[one.col], wides[one.col]];
      one.titleLines = one.title ? linesOf(one.title, one.wide + 4, 13.5) : [];
      xTicks(one, scales.get(one.x), flows);
    }
    y += Math.max(...mine.map((one) => one.titleLines.length)) * 16 + 8;
    for (const one of mine) one.top = y;
    y += rowHigh[row] + Math.max(...mine.map((one) => one.foot)) + (row < rows - 1 ? 10 : 2);
  }
  return { panels, rows, height: y + 4, width };
}

/**
 * Ticks of a panel's x axis that fit below it: in lines, else turned.
 * @param {Panel} panel
 * @param {any} scale
 * @param {boolean} flows
 */
function xTicks(panel, scale, flows) {
  const quiet = panel.xa.showticklabels === false && !flows;
  let most = panel.wide / (panel.wide > 500 ? 85 : 55),
    ticks = ticksOf(scale, panel.xa, most);
  const room = () => panel.wide / Math.max(1, ticks.length - (scale.words ? 0 : 1)) - 6;
  const widest = () => Math.max(0, ...ticks.map((tick) => wide(tick.text)));
  while (!panel.xa.tickvals && !scale.words && ticks.length > 3 && widest() > room())
    ticks = ticksOf(scale, panel.xa, (most *= 0.7));
  const spelled = scale.words || (panel.xa.ticktext && ticks.some((tick) => /[a-z]{3}/i.test(tick.text)));
  panel.turn = 0;
  panel.ticks = ticks.map((tick) => ({ ...tick, lines: [tick.text] }));
  let high = 16;
  if (spelled) {
    panel.ticks.forEach((tick) => {
      tick.lines = linesOf(tick.text, room());
    });
    const fits = panel.ticks.every(
      (tick) => tick.lines.length < 4 && tick.lines.every((line) => wide(line) <= room() + 4),
    );
    high = 4 + 14 * Math.max(1, ...panel.ticks.map((tick) => tick.lines.length));
    if (!fits) {
      // A slanted first word must not reach beyond the picture's edge.
      panel.turn = room() > 20 && widest() * 0.82 < panel.at + room() / 2 ? -35 : -90;
      panel.ticks.forEach((tick) => {
        tick.lines = [plain(tick.text)];
      });
      high = 10 + widest() * (panel.turn === -90 ? 1 : 0.6);
    }
  } else if (!quiet) {
    let last = -Infinity;
    const at = (tick) => ((tick.at - scale.low) / (scale.high - scale.low)) * panel.wide;
    panel.ticks
      .sort((a, b) => at(a) - at(b))
      .forEach((tick) => {
        if (at(tick) - wide(tick.text) / 2 < last + 5) tick.lines = [];
        else last = at(tick) + wide(tick.text) / 2;
      });
  }
  if (quiet)
    panel.ticks.forEach((tick) => {
      tick.lines = [];
    });
  panel.xTitle = panel.xa.title?.text ? linesOf(panel.xa.title.text, panel.wide + 30) : [];
  panel.tickHigh = quiet ? 4 : high;
  panel.foot = panel.tickHigh + panel.xTitle.length * LINE + 6;
}

/** Point a panel's scales to its pixels. @param {Panel} panel @param {Map<string, any>} scales */
export function aim(panel, scales) {
  Object.assign(scales.get(panel.x), { from: panel.at, to: panel.at + panel.wide });
  Object.assign(scales.get(panel.y), { from: panel.top + panel.high, to: panel.top });
}

/**
 * Names at lines' ends, moved apart a little; null where they would leave their lines.
 * @param {any[]} entries
 * @param {any} grid
 * @param {Map<string, any>} scales
 * @param {Panel} panel
 */
export function endLabels(entries, grid, scales, panel) {
  aim(panel, scales);
  const x = scales.get(panel.x),
    y = scales.get(panel.y),
    edge = panel.at + panel.wide;
  /** @type {any[]} */
  const labels = [];
  for (const one of entries.filter((entry) => entry.parts[0].lines)) {
    const trace = one.parts[0];
    let last = trace.xs.length - 1;
    const seen = () => Number.isFinite(pixel(x, trace.xs[last])) && Number.isFinite(pixel(y, trace.ys[last]));
    while (last >= 0 && !seen()) last--;
    if (last < 0 || pixel(x, trace.xs[last]) < edge - 0.12 * panel.wide) return null;
    const lines = linesOf(one.name, labelWide(grid.width)),
      at = Math.min(panel.top + panel.high, Math.max(panel.top, pixel(y, trace.ys[last])));
    labels.push({
      x: edge + 6,
      wish: at,
      y: at,
      lines,
      colour: trace.colour,
      weight: trace.weight,
      dash: trace.dash,
      high: lines.length * 14,
    });
  }
  labels.sort((a, b) => a.wish - b.wish);
  for (let round = 0; round < 60; round++) {
    for (let i = 1; i < labels.length; i++) {
      const [a, b] = [labels[i - 1], labels[i]],
        short = (a.high + b.high) / 2 - (b.y - a.y);
      if (short > 0.1) {
        a.y -= short / 2;
        b.y += short / 2;
      }
    }
  }
  const far = labels.some((one) => Math.abs(one.y - one.wish) > 16 || one.y > panel.top + panel.high + 8);
  labels.forEach((one) => {
    one.y -= (one.high - 14) / 2;
  });
  return far ? null : labels;
}

/** @param {any[]} entries @param {number} width */
function legendRows(entries, width) {
  let x = 0,
    y = 0,
    high = LINE + 3;
  const items = entries.map((one) => {
    const lines = linesOf(one.name, width - SAMPLE - 10),
      long = SAMPLE + 6 + Math.max(...lines.map((line) => wide(line))) + 16;
    if (x && x + long - 16 > width) {
      x = 0;
      y += high;
      high = LINE + 3;
    }
    high = Math.max(high, lines.length * LINE + 3);
    const item = { ...one, lines, x, y };
    x += long;
    return item;
  });
  return { items, height: items.length ? y + high + 4 : 0 };
}
