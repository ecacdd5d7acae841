// @ts-check
// Figures in Plotly's JSON as SVG, without Plotly: lines, points, bars, areas, heat maps, tables, panels, legends.
// `figureSvg` is a pure function: its text stands alone, as a file too. `showFigure` keeps it in a box of a page.
import { dashes, escaped, letters, linesOf, paint, paper, plain, round } from "./marks.js";
import { axisOf, entriesOf, listed, panelsOf, scalesOf, stack, tracesOf } from "./traces.js";
import { aim, directly, endLabels, placed } from "./places.js";
import { legendOf, noteOf, panelOf, tableOf } from "./panels.js";

/** [px] Of plain letters as wide as the heading's, which are bold. */
const BOLD = 15.4;

/**
 * @typedef {{data: any[], layout?: any}} Figure
 * @typedef {{width?: number, height?: number, dark?: boolean, title?: string}} Options
 * @typedef {import("./draw.js").Spot} Spot
 * @typedef {{from: number, to: number, low: number, high: number, top: number, foot: number}} Frame of the one panel:
 *   its edges in pixels, and the ends of a linear x axis
 * @typedef {{svg: string, spots: Spot[], label: string, frame?: Frame | null}} Drawing
 * @typedef {{point: (x: number | null) => void, zoom: (range: number[] | null) => void}} Linked what other figures
 *   show too: the value of x that is pointed at, the range that is dragged
 * @typedef {import("./traces.js").Trace} Trace
 * @typedef {import("./traces.js").Panel} Panel
 */

/**
 * A figure as SVG text that stands alone.
 * @param {Figure} figure
 * @param {Options} [options] `title` stands above it; without, the figure's own does
 * @returns {string}
 */
export const figureSvg = (figure, options) => drawing(figure, options).svg;

/**
 * A figure as SVG, its values' places, and what it shows in words.
 * @param {Figure} figure
 * @param {Options} [options]
 * @returns {Drawing}
 */
export function drawing(figure, options = {}) {
  const { width = 720, height, dark = false, title } = options;
  const layout = listed(figure.layout || {}),
    traces = tracesOf(figure, layout),
    look = paper(dark);
  const heading = title ?? (layout.title?.text || "");
  const label = labelOf(heading, traces, layout);
  if (traces[0]?.type === "table") return whole(tableOf(traces[0], width, look, heading), width, look, label, []);
  stack(traces, layout);
  const { panels, notes } = panelsOf(traces, layout),
    scales = scalesOf(traces, layout);
  const top = heading ? linesOf(heading, width - 16, BOLD) : [];
  const entries = entriesOf(traces);
  const frame = { width, height, layout, panels, scales, top, look, dark, entries, labels: /** @type {any[]} */ ([]) };
  const first = width >= 480 && directly(entries, panels) ? placed(frame, entries) : null;
  const labels = first ? endLabels(entries, first.grid, scales, first.grid.panels[0]) : null;
  const { grid, legend } = labels && first ? first : placed(frame, []);
  const spots = /** @type {Spot[]} */ ([]);
  const parts = [top.length ? letters(8, 19, top, { size: 14, bold: true }) : "", legendOf(legend, grid, look, dark)];
  for (const panel of grid.panels) {
    aim(panel, scales);
    parts.push(panelOf(panel, scales, { layout, look, dark, spots }));
  }
  for (const one of labels || []) {
    // In ink, which is read on paper; a piece of the line before it says whose it is.
    const stroke = `stroke="${paint(one.colour, dark)}" stroke-width="${one.weight}"${dashes(one.dash, one.weight)}`;
    parts.push(`<path d="M${round(one.x)} ${round(one.y)}h14" fill="none" ${stroke}/>`);
    parts.push(letters(one.x + 18, one.y + 4, one.lines));
  }
  parts.push(...notes.map((note) => noteOf(note, grid, scales, look, dark)));
  const drawn = whole({ body: parts.join("\n"), height: grid.height }, width, look, label, spots);
  return { ...drawn, frame: grid.panels.length === 1 ? frameOf(grid.panels[0], scales.get(grid.panels[0].x)) : null };
}

/** @param {Panel} panel @param {any} x its scale @returns {Frame | null} */
const frameOf = ({ at, wide, top, high }, x) =>
  x.log || x.words ? null : { from: at, to: at + wide, low: x.low, high: x.high, top, foot: top + high };

/**
 * @param {{body: string, height: number}} drawn
 * @param {number} width
 * @param {any} look
 * @param {string} label
 * @param {Spot[]} spots
 */
function whole({ body, height }, width, look, label, spots) {
  const high = Math.ceil(height);
  const svg =
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${high}" viewBox="0 0 ${width} ${high}" ` +
    `role="img" aria-label="${escaped(label)}" font-family="system-ui, sans-serif" font-size="12" fill="${look.ink}">` +
    `<rect width="${width}" height="${high}" fill="${look.paper}"/>\n${body}\n</svg>`;
  return { svg, spots, label };
}

/** @param {string} heading @param {Trace[]} traces @param {any} layout */
function labelOf(heading, traces, layout) {
  const axis = (id) => plain(axisOf(layout, id).title?.text || "");
  const ways = ["x", "y"].map((way) =>
    [...new Set(traces.map((one) => axis(one[`${way}a`])).filter(Boolean))].join(" and "),
  );
  const names = entriesOf(traces)
    .map((one) => plain(one.name))
    .join("; ");
  const against = ways[1] && ways[0] ? `${ways[1]} against ${ways[0]}` : ways[1] || ways[0];
  return [plain(heading), against, names].filter(Boolean).join(": ") || "figure";
}

/**
 * Keep a figure in a box: drawn again when the box or the colours change, light on paper; a value at the pointer.
 * @param {HTMLElement} box
 * @param {Figure} figure
 * @param {{title?: string, height?: number, name?: string, linked?: Linked}} [options] `name`: for screen readers
 * @returns {{end: () => void, mark: (x: number | null) => void}} `mark`: a line at a value of x
 */
export function showFigure(box, figure, options = {}) {
  const end = new AbortController(),
    { signal } = end,
    scheme = matchMedia("(prefers-color-scheme: dark)");
  const tip = document.createElement("div"),
    ring = document.createElement("div"),
    rule = document.createElement("div"),
    place = document.createElement("div");
  tip.style.cssText =
    "position:absolute;pointer-events:none;background:var(--paper,#fff);color:var(--ink,#111);border:1px solid;" +
    "border-radius:4px;padding:1px 6px;font-size:.8rem;max-width:16rem;z-index:2";
  ring.style.cssText =
    "position:absolute;pointer-events:none;width:14px;height:14px;margin:-7px;border:2px solid;border-radius:50%";
  rule.style.cssText = "position:absolute;pointer-events:none;background:var(--faint,#666);opacity:.35;min-width:1px";
  rule.hidden = true;
  /** @type {Drawing} */
  let drawn = { svg: "", spots: [], label: "" };
  let width = 0;
  const draw = (dark = scheme.matches) => {
    width = Math.floor(box.clientWidth) || width || 720;
    drawn = drawing(figure, { width, dark, title: options.title, height: options.height });
    place.innerHTML = drawn.svg;
    const svg = /** @type {SVGElement} */ (place.firstElementChild);
    svg.style.cssText = "display:block;max-width:100%;height:auto";
    if (options.name) svg.setAttribute("aria-label", options.name);
    tip.hidden = ring.hidden = rule.hidden = true;
  };
  /** A line at a value, or a band from one to another. @param {number | null} x @param {number} [other] */
  const mark = (x, other = Number(x)) => {
    const frame = drawn.frame;
    rule.hidden = x === null || !frame || x < frame.low || x > frame.high;
    if (rule.hidden || !frame) return;
    const pixels = (value) => frame.from + ((value - frame.low) / (frame.high - frame.low)) * (frame.to - frame.from);
    const [left, right] = [pixels(x), pixels(other)].sort((a, b) => a - b);
    const [width, height] = [right - left, frame.foot - frame.top];
    Object.assign(rule.style, { left: `${left}px`, top: `${frame.top}px`, width: `${width}px`, height: `${height}px` });
  };
  /** The value of x at the pointer; null beside the panel. @param {PointerEvent | MouseEvent} event */
  const valueAt = ({ clientX }) => {
    const frame = drawn.frame,
      part = frame ? (clientX - place.getBoundingClientRect().left - frame.from) / (frame.to - frame.from) : -1;
    return frame && part >= 0 && part <= 1 ? frame.low + part * (frame.high - frame.low) : null;
  };
  const show = (event) => {
    const frame = place.getBoundingClientRect(),
      x = event.clientX - frame.left,
      y = event.clientY - frame.top;
    let best = /** @type {Spot | null} */ (null),
      least = 30;
    for (const one of drawn.spots) {
      const far = Math.hypot(one.x - x, one.y - y);
      if (far < least) [best, least] = [one, far];
    }
    tip.hidden = ring.hidden = !best;
    if (!best) return;
    tip.textContent = best.text;
    tip.style.left = `${Math.max(0, Math.min(best.x + 10, frame.width - tip.offsetWidth))}px`;
    tip.style.top = `${best.y > 40 ? best.y - tip.offsetHeight - 8 : best.y + 12}px`;
    Object.assign(ring.style, { left: `${best.x}px`, top: `${best.y}px`, color: best.colour });
  };
  box.style.position = "relative";
  box.replaceChildren(place, rule, tip, ring);
  draw();
  box.addEventListener("pointermove", show, { signal });
  box.addEventListener("pointerdown", show, { signal });
  box.addEventListener(
    "pointerleave",
    () => {
      tip.hidden = ring.hidden = true;
    },
    { signal },
  );
  if (options.linked) link(box, options.linked, { valueAt, mark, signal });
  scheme.addEventListener("change", () => draw(), { signal });
  addEventListener("beforeprint", () => draw(false), { signal });
  addEventListener("afterprint", () => draw(), { signal });
  const watch = new ResizeObserver(() => {
    if (box.clientWidth && Math.floor(box.clientWidth) !== width) draw();
  });
  watch.observe(box);
  return {
    mark,
    end: () => {
      end.abort();
      watch.disconnect();
    },
  };
}

/**
 * Other figures point at the same x; a mouse that is dragged chooses a range, a double click all of it.
 * @param {HTMLElement} box
 * @param {Linked} linked
 * @param {{valueAt: (event: MouseEvent) => number | null, mark: (x: number | null, other?: number) => void,
 *   signal: AbortSignal}} ways
 */
function link(box, { point, zoom }, { valueAt, mark, signal }) {
  let from = /** @type {number | null} */ (null);
  const moved = (event) => {
    const x = valueAt(event);
    if (from === null) point(x);
    else if (x !== null) mark(from, x);
  };
  const dropped = (event) => {
    const x = valueAt(event),
      start = from;
    from = null;
    if (start === null || x === null) return;
    mark(null);
    if (Math.abs(event.clientX - began) > 8) zoom([start, x].sort((a, b) => a - b));
  };
  let began = 0;
  box.addEventListener("pointermove", moved, { signal });
  box.addEventListener("pointerleave", () => point(null), { signal });
  box.addEventListener(
    "pointerdown",
    (event) => {
      if (event.pointerType !== "mouse" || event.button) return;
      [from, began] = [valueAt(event), event.clientX];
      event.preventDefault(); // no text is chosen
    },
    { signal },
  );
  addEventListener("pointerup", dropped, { signal });
  box.addEventListener("dblclick", () => zoom(null), { signal });
}
