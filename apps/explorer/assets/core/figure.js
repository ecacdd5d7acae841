// @ts-check
// Figures in Plotly's JSON as SVG, without Plotly: lines, points, bars, areas, heat maps, tables, panels, legends.
// `figureSvg` is a pure function: its text stands alone, as a file too. `showFigure` keeps it in a box of a page.
import { dashes, escaped, letters, linesOf, paint, paper, plain, round } from "./marks.js";
import { axisOf, entriesOf, listed, panelsOf, scalesOf, stack, tracesOf } from "./traces.js";
import { aim, directly, endLabels, placed } from "./places.js";
import { legendOf, noteOf, panelOf, tableOf } from "./panels.js";

/**
 * @typedef {{data: any[], layout?: any}} Figure
 * @typedef {{width?: number, height?: number, dark?: boolean, title?: string}} Options
 * @typedef {import("./draw.js").Spot} Spot
 * @typedef {{svg: string, spots: Spot[], label: string}} Drawing
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
export function drawing(figure, { width = 720, height, dark = false, title } = {}) {
  const layout = listed(figure.layout || {}),
    traces = tracesOf(figure, layout),
    look = paper(dark);
  const heading = title ?? (layout.title?.text || "");
  const label = labelOf(heading, traces, layout);
  if (traces[0]?.type === "table") return whole(tableOf(traces[0], width, look, heading), width, look, label, []);
  stack(traces, layout);
  const { panels, notes } = panelsOf(traces, layout),
    scales = scalesOf(traces, layout);
  const top = heading ? linesOf(heading, width - 16, 14) : [];
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
  return whole({ body: parts.join("\n"), height: grid.height }, width, look, label, spots);
}

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
 * @param {{title?: string, height?: number, name?: string}} [options] `name`: what a screen reader says
 * @returns {() => void} ends it
 */
export function showFigure(box, figure, options = {}) {
  const end = new AbortController(),
    { signal } = end,
    scheme = matchMedia("(prefers-color-scheme: dark)");
  const tip = document.createElement("div"),
    ring = document.createElement("div"),
    place = document.createElement("div");
  tip.style.cssText =
    "position:absolute;pointer-events:none;background:var(--paper,#fff);color:var(--ink,#111);border:1px solid;" +
    "border-radius:4px;padding:1px 6px;font-size:.8rem;max-width:16rem;z-index:2";
  ring.style.cssText =
    "position:absolute;pointer-events:none;width:14px;height:14px;margin:-7px;border:2px solid;border-radius:50%";
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
    tip.hidden = ring.hidden = true;
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
  box.replaceChildren(place, tip, ring);
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
  scheme.addEventListener("change", () => draw(), { signal });
  addEventListener("beforeprint", () => draw(false), { signal });
  addEventListener("afterprint", () => draw(), { signal });
  const watch = new ResizeObserver(() => {
    if (box.clientWidth && Math.floor(box.clientWidth) !== width) draw();
  });
  watch.observe(box);
  return () => {
    end.abort();
    watch.disconnect();
  };
}
