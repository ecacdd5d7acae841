// @ts-check
// Panels, their axes and titles; legends, lines and words across panels, tables: as SVG text.
import { numberText, pixel, ticksOf } from "./ticks.js";
import { dashes, letters, linesOf, paint, plain, point, rectangle, round, scaled } from "./marks.js";
import { at, bars, edgeOf, heat, inkOf, limits, painted, scatter, sizeOf } from "./draw.js";
import { LINE, SAMPLE, aim } from "./places.js";

/**
 * @typedef {import("./traces.js").Trace} Trace
 * @typedef {import("./traces.js").Panel} Panel
 * @typedef {import("./draw.js").Sheet} Sheet
 */

/**
 * Real samples: a line with its dash and width, a point, a bar.
 * @param {any} legend
 * @param {any} grid
 * @param {any} look
 * @param {boolean} dark
 */
export function legendOf(legend, grid, look, dark) {
  const top =
    grid.panels[0].top -
    8 -
    legend.height -
    Math.max(...grid.panels.filter((one) => one.row === 0).map((one) => one.titleLines.length)) * 16;
  return legend.items
    .map((item) => {
      const x = 8 + item.x,
        y = top + item.y + 9,
        middle = x + SAMPLE / 2;
      const drawn = item.parts
        .slice(0, 2)
        .map((one) => {
          const colour = paint(one.colour, dark),
            edge = edgeOf(one, 0, dark);
          const fill = one.fill && one.fill !== "none" ? paint(one.fillcolor || one.colour, dark) : "";
          if (one.type === "bar" || (fill && !one.lines && !one.points)) {
            const rim = one.marker.pattern ? ` stroke="${colour}"` : "";
            return `<rect x="${middle - 9}" y="${y - 6}" width="18" height="11" fill="${fill || colour}"${rim}/>`;
          }
          const line = one.lines
            ? `<path d="M${x} ${round(y)}h${SAMPLE}" stroke="${colour}" stroke-width="${one.weight}" ` +
              `fill="none"${dashes(one.dash, one.weight)}/>`
            : "";
          return (
            line +
            (one.points
              ? point(middle, y, at(one.symbol, 0), Math.min(10, sizeOf(one, 0)), inkOf(one, 0, dark), edge)
              : "")
          );
        })
        .join("");
      return drawn + letters(x + SAMPLE + 6, y + 4, item.lines);
    })
    .join("\n");
}
/**
 * @param {Panel} panel
 * @param {Map<string, any>} scales
 * @param {Sheet} sheet
 */
export function panelOf(panel, scales, sheet) {
  const { layout, look, dark } = sheet;
  const x = scales.get(panel.x),
    y = scales.get(panel.y),
    { at: left, wide: across, top, high } = panel,
    foot = top + high;
  /** @type {string[]} */
  const grid = [],
    words = [],
    marks = [],
    above = [];
  for (const tick of panel.ticks) {
    const place = left + ((tick.at - x.low) / (x.high - x.low)) * across;
    if (!x.words) grid.push(`M${round(place)} ${round(top)}V${round(foot)}`);
    if (!tick.lines.length) continue;
    words.push(
      panel.turn
        ? letters(place + 4, foot + 13, tick.lines, { anchor: "end", turn: panel.turn })
        : letters(place, foot + 14, tick.lines, { anchor: "middle" }),
    );
  }
  for (const tick of panel.yTicks) {
    const place = foot - ((tick.at - y.low) / (y.high - y.low)) * high;
    if (!y.words) grid.push(`M${round(left)} ${round(place)}H${round(left + across)}`);
    words.push(
      tick.lines.length
        ? letters(left - 6, place + 4 - (tick.lines.length - 1) * 7, tick.lines, { anchor: "end" })
        : "",
    );
  }
  for (const one of panel.traces) {
    const into = one.cliponaxis === false ? above : marks;
    if (one.type === "heatmap") into.push(heat(one, x, y, sheet));
    else if (one.type === "bar") into.push(bars(one, x, y, sheet));
    else into.push(scatter(one, x, y, sheet, panel));
  }
  const shapes = (layout.shapes || [])
    .filter((shape) => near(shape, panel, scales))
    .map((shape) => shapeOf(shape, x, y, panel, dark));
  const title = panel.titleLines.length
    ? letters(left, top - 7 - (panel.titleLines.length - 1) * 15, panel.titleLines, { size: 12.5, bold: true })
    : "";
  const below = panel.xTitle.length
    ? letters(left + across / 2, foot + panel.tickHigh + 13, panel.xTitle, { anchor: "middle" })
    : "";
  const beside = panel.yTitle.length
    ? letters(left - panel.yWide - 15 - (panel.yTitle.length - 1) * LINE, top + high / 2, panel.yTitle, {
        anchor: "middle",
        turn: -90,
      })
    : "";
  // A picture within the picture clips without a name, which two figures of a page could share.
  const frame = [left, top, across, high].map(round);
  const place = `x="${frame[0]}" y="${frame[1]}" width="${frame[2]}" height="${frame[3]}"`;
  return (
    `<path d="${grid.join("")}" stroke="${look.line}" fill="none"/>` +
    `<svg ${place} viewBox="${frame.join(" ")}" preserveAspectRatio="none">` +
    `${marks.join("\n")}${shapes.join("")}</svg>${above.join("")}` +
    `<path d="M${round(left)} ${round(top)}V${round(foot)}H${round(left + across)}" ` +
    `stroke="${look.faint}" fill="none"/>` +
    words.join("") +
    title +
    below +
    beside +
    (panel.bar ? barOf(panel, look, dark) : "")
  );
}
/** A colour bar to the right of its panel. @param {Panel} panel @param {any} look @param {boolean} dark */
function barOf(panel, look, dark) {
  const one = panel.bar,
    numbers = one.type === "heatmap" ? limits(one) : [one.marker.cmin, one.marker.cmax];
  const values = one.type === "heatmap" ? [] : one.marker.color.filter(Number.isFinite);
  const [low, high] = [numbers[0] ?? Math.min(...values), numbers[1] ?? Math.max(...values)];
  const scale = painted(one.type === "heatmap" ? one.colorscale : one.marker.colorscale, dark),
    bar = (one.type === "heatmap" ? one.colorbar : one.marker.colorbar) || {};
  const x = panel.at + panel.wide + 12,
    count = 24,
    step = panel.high / count;
  const cells = Array.from({ length: count }, (_, i) =>
    rectangle(x, panel.top + panel.high - (i + 1) * step, 11, step + 0.4, scaled(scale, (i + 0.5) / count)),
  );
  const ticks = ticksOf({ log: false, words: null, low, high, from: 0, to: 1 }, bar, panel.high / 40).map((tick) =>
    letters(x + 15, panel.top + panel.high * (1 - (tick.at - low) / (high - low || 1)) + 4, tick.text, { size: 11 }),
  );
  const title = bar.title?.text
    ? letters(x + 55, panel.top + panel.high / 2, linesOf(bar.title.text, panel.high), {
        anchor: "middle",
        turn: -90,
        size: 11,
        fill: look.faint,
      })
    : "";
  return cells.join("") + ticks.join("") + title;
}
/** Whether a shape stands in a panel. @param {any} shape @param {Panel} panel @param {Map<string, any>} scales */
function near(shape, panel, scales) {
  const mine = (ref, id) =>
    !ref || ref === "paper" || String(ref).split(" ")[0] === id || !scales.has(String(ref).split(" ")[0]);
  return mine(shape.xref || "x", panel.x) && mine(shape.yref || "y", panel.y);
}

/**
 * A place of a shape or note: in data, or as a share of the panel.
 * @param {any} ref
 * @param {any} value
 * @param {any} scale
 */
const spotOf = (ref, value, scale) =>
  ref === "paper" || /domain/.test(ref || "")
    ? scale.from + value * (scale.to - scale.from)
    : pixel(scale, scale.log && typeof value === "number" ? value : value);

/** @param {any} shape @param {any} x @param {any} y @param {Panel} panel @param {boolean} dark */
function shapeOf(shape, x, y, panel, dark) {
  const [x0, x1] = [spotOf(shape.xref, shape.x0, x), spotOf(shape.xref, shape.x1, x)];
  const [y0, y1] = [spotOf(shape.yref, shape.y0, y), spotOf(shape.yref, shape.y1, y)];
  const line = shape.line || {},
    width = line.width ?? 1.5,
    colour = paint(line.color || "#444444", dark);
  if (shape.type === "rect") {
    const rest = ` opacity="${shape.opacity ?? 1}"${width ? ` stroke="${colour}" stroke-width="${width}"` : ""}`;
    return rectangle(
      Math.min(x0, x1),
      Math.min(y0, y1),
      Math.abs(x1 - x0),
      Math.abs(y1 - y0),
      paint(shape.fillcolor || "none", dark),
      rest,
    );
  }
  const rest = `stroke-width="${width}" fill="none"${dashes(line.dash, width)}`;
  return `<path d="M${round(x0)} ${round(y0)}L${round(x1)} ${round(y1)}" stroke="${colour}" ${rest}/>`;
}

/** @param {any} note @param {any} grid @param {Map<string, any>} scales @param {any} look @param {boolean} dark */
export function noteOf(note, grid, scales, look, dark) {
  const id = (ref, way) => (scales.has(String(ref).split(" ")[0]) ? String(ref).split(" ")[0] : way);
  const panel = grid.panels.find((one) => one.x === id(note.xref, one.x) && one.y === id(note.yref, one.y));
  if (!panel) return "";
  aim(panel, scales);
  const anchor = /** @type {any} */ ({ left: "start", right: "end" })[note.xanchor] || "middle";
  const place = (value, scale, ref) =>
    scale.log && !/paper|domain/.test(ref || "") ? spotOf(ref, 10 ** value, scale) : spotOf(ref, value, scale);
  const x = place(note.x, scales.get(panel.x), note.xref),
    y = place(note.y, scales.get(panel.y), note.yref);
  const up = note.yanchor === "top" ? 13 : note.yanchor === "bottom" ? -4 : 4;
  return letters(x, y + up, linesOf(note.text, panel.wide), {
    anchor,
    fill: paint(note.font?.color || look.ink, dark),
    halo: look.paper,
  });
}

/** A table of words. @param {Trace} one @param {number} width @param {any} look @param {string} heading */
export function tableOf(one, width, look, heading) {
  const heads = one.header.values.map((value) => plain(value)),
    weights = heads.map((_, i) => at(one.columnwidth, i) || 1);
  const sum = weights.reduce((a, b) => a + b, 0),
    wides = weights.map((w) => ((width - 16) * w) / sum);
  const starts = wides.map((_, i) => 8 + wides.slice(0, i).reduce((a, b) => a + b, 0));
  let y = heading ? 34 : 8,
    body = heading ? letters(8, 20, heading, { size: 14, bold: true }) : "";
  const rows = [heads, ...(one.cells.values[0] || []).map((_, i) => one.cells.values.map((column) => column[i]))];
  rows.forEach((row, k) => {
    const cells = row.map((value, i) => linesOf(typeof value === "number" ? numberText(value) : value, wides[i] - 10));
    const high = Math.max(...cells.map((lines) => lines.length)) * LINE + 8;
    body += cells.map((lines, i) => letters(starts[i], y + 15, lines, { bold: k === 0 })).join("");
    y += high;
    body += `<path d="M8 ${round(y)}H${width - 8}" stroke="${k ? look.line : look.faint}"/>`;
  });
  return { body, height: y + 6 };
}
