// @ts-check
import { COLOURS } from "./colours.js";
import { element } from "./dom.js";
import { sample } from "./legend.js";
import { isPower, nearest, power, ticks } from "./numbers.js";
import { ON_WHITE } from "./palette.js";
import { Picture } from "./picture.js";
import { ticksIn, wordIn } from "./ticks.js";

/** A coordinate of a path; SVG reads no number that is written with an exponent. */
const drawable = (x) => Math.max(-9999, Math.min(9999, x)).toFixed(1);

/** Places of an axis in decades: powers of ten, and numbers between them where these are few. */
const decades = ([low, high]) => {
  const rows = [[1], [1, 3], [1, 2, 5]].map((digits) =>
    Array.from({ length: 40 }, (_, i) => Math.floor(Math.log10(low)) + i).flatMap((p) =>
      digits.map((d) => Number(`${d}e${p}`)),
    ),
  );
  const inside = rows.map((row) => row.filter((x) => x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9)));
  return inside.find((row) => row.length > 2) || ticks([low, high]);
};

/** Round places of an axis, where its ticks are. */
export const roundPlaces = (range, log) => (log ? decades : ticks)(range);

/** The text of a place: on a logarithmic axis long powers of ten as such, of a quantity in per cent so. */
export const placeText = (x, log, percent) => {
  return log && isPower(x) && (x < 1e-3 || x > 1e3) ? power(x) : wordIn(percent, x);
};

/** The fraction of an axis at a value, and the value at a fraction. */
const shareOf = (low, high, log) =>
  log
    ? { of: (x) => Math.log(x / low) / Math.log(high / low), at: (s) => low * (high / low) ** s }
    : { of: (x) => (x - low) / (high - low), at: (s) => low + s * (high - low) };

/**
 * A plane: lines that may turn back, and points. show({xTitle, yTitle, xRange, yRange, xLog, yLog, xPercent, yPercent,
 * lines: [{name, x, y, dash, points, ring, area, linked, at}], pick}).
 *  A line's `at` has the value of the linked quantity at each of its points. */
export class Plane extends Picture {
  // It shares no quantity by keyboard, since its lines are not in order: pointing goes along another picture.

  mark(quantity, value) {
    this.pointed = value === null ? null : [quantity, value];
    const group = this.box.querySelector(".spots");
    if (!group) return;
    const spots = (this.data.lines || [])
      .filter((line) => value !== null && line.linked === quantity)
      .map((line) => [line, nearest(line.at, value)]);
    group.innerHTML = spots
      .filter(([line, k]) => k >= 0 && Number.isFinite(line.y[k]))
      .map(([line, k]) => {
        const [x, y] = this.place(line.x[k], line.y[k]);
        return `<circle class="spot" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="7" fill="none"/>`;
      })
      .join("");
  }

  reading(quantity, value) {
    return this.data.lines
      .filter((line) => line.linked === quantity)
      .map((line) => [line, nearest(line.at, value)])
      .filter(([, k]) => k >= 0)
      .map(
        ([line, k]) =>
          `${line.name}: ${this.data.xTitle} ${wordIn(this.data.xPercent, line.x[k])}, ` +
          `${this.data.yTitle} ${wordIn(this.data.yPercent, line.y[k])}`,
      )
      .join(", ");
  }

  /** Tell the other pictures what is nearest to the pointer, within 30 pixels. */
  tell(x, y) {
    let best = null,
      gap = 30;
    for (const line of this.data.lines) {
      if (!line.linked) continue;
      line.at.forEach((value, k) => {
        const [a, b] = this.place(line.x[k], line.y[k]),
          far = Math.hypot(a - x, b - y);
        if (far < gap && value === value) {
          gap = far;
          best = [line.linked, value];
        }
      });
    }
    const [quantity, value] = best || [this.pointed && this.pointed[0], null];
    if (!best && !this.pointed) return;
    this.mark(quantity, value);
    this.point(quantity, value);
  }

  draw() {
    const { data } = this;
    // letters keep their size
    const [W, H, left, bottom, top, right] = [this.width < 480 ? 350 : 520, Math.min(330, this.height), 58, 46, 8, 20];
    const [xl, xh] = data.xRange,
      [yl, yh] = data.yRange;
    const across = shareOf(xl, xh, data.xLog),
      up = shareOf(yl, yh, data.yLog);
    const px = (x) => left + across.of(x) * (W - left - right),
      py = (y) => H - bottom - up.of(y) * (H - bottom - top);
    const text = (x, y, word, more = "") =>
      `<text x="${x}" y="${y}" font-size="12" fill="currentColor" ${more}>${word}</text>`;
    const clip = (id, room) =>
      `<clipPath id="${id}-${this.spec.name}"><rect x="${left - room}" y="${top - room}" ` +
      `width="${W - left - right + 2 * room}" ` +
      `height="${H - bottom - top + 2 * room}"/></clipPath>`;
    const parts = [clip("in", 0), clip("at", 12)],
      spots = []; // points on the edge are whole
    for (const t of roundPlaces(data.xRange, data.xLog))
      parts.push(
        `<path d="M${px(t)},${top}V${H - bottom}" stroke="var(--line)"/>`,
        text(px(t), H - bottom + 16, placeText(t, data.xLog, data.xPercent), 'text-anchor="middle"'),
      );
    for (const t of roundPlaces(data.yRange, data.yLog))
      parts.push(
        `<path d="M${left},${py(t)}H${W - right}" stroke="var(--line)"/>`,
        text(left - 6, py(t) + 4, placeText(t, data.yLog, data.yPercent), 'text-anchor="end"'),
      );
    parts.push(
      text((left + W - right) / 2, H - 10, data.xTitle, 'text-anchor="middle"'),
      text(0, 0, data.yTitle, `text-anchor="middle" transform="translate(14,${(H - bottom + top) / 2}) rotate(-90)"`),
      `<g clip-path="url(#in-${this.spec.name})">`,
    );
    data.lines.forEach((line, i) => {
      const colour = COLOURS[i % 7];
      if (line.points)
        line.x.forEach((x, k) =>
          spots.push(
            `<circle cx="${px(x).toFixed(1)}" cy="${py(line.y[k]).toFixed(1)}" ` +
              `${line.ring ? `r="9" fill="none" stroke="${colour}" stroke-width="3"` : `r="6" fill="${colour}"`}/>`,
          ),
        );
      else {
        let d = "",
          pen = "M"; // an area is its edge, filled
        for (let k = 0; k < line.x.length; k++) {
          if (!Number.isFinite(line.x[k] + line.y[k])) {
            pen = "M";
            continue;
          }
          d += `${pen}${drawable(px(line.x[k]))},${drawable(py(line.y[k]))}`;
          pen = "L";
        }
        parts.push(
          line.area
            ? `<path d="${d}Z" fill="${colour}" fill-opacity="0.2"/>`
            : `<path d="${d}" fill="none" stroke="${colour}" stroke-width="2" ` +
                `${line.dash ? 'stroke-dasharray="6 4"' : ""}/>`,
        );
      }
    });
    parts.push(`</g><g clip-path="url(#at-${this.spec.name})">${spots.join("")}</g><g class="spots"></g>`);
    this.place = (x, y) => [px(x), py(y)];
    const kindOf = (line) => (line.ring ? "ring" : line.points ? "points" : line.area ? "area" : "line");
    const name = (line, i) => {
      if (!line.x.some(Number.isFinite)) return []; // nothing of it is shown
      const one = { kind: kindOf(line), colour: COLOURS[i % 7], dash: line.dash ? [6, 4] : [] };
      return element("span", { class: "series" }, sample(one), " ", line.name);
    };
    const hint = data.pick ? [element("span", { class: "at" }, "Drag or click to move the sliders.")] : [];
    this.box.innerHTML =
      `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="${this.spec.alt}" ` +
      `xmlns="http://www.w3.org/2000/svg">${parts.join("")}</svg>`;
    this.box.append(element("p", { class: "legend" }, ...data.lines.flatMap(name), ...hint));
    const svg = this.box.firstChild;
    const where = (event) => {
      const box = svg.getBoundingClientRect(),
        scale = Math.max(W / box.width, H / box.height);
      return [
        (event.clientX - box.left - (box.width - W / scale) / 2) * scale,
        (event.clientY - box.top - (box.height - H / scale) / 2) * scale,
      ];
    };
    if (data.pick) {
      Object.assign(svg.style, { cursor: "crosshair", touchAction: "none" });
      const at = (event) => {
        const [x, y] = where(event);
        data.pick(across.at((x - left) / (W - left - right)), up.at((H - bottom - y) / (H - bottom - top)));
      };
      svg.addEventListener("pointerdown", at);
      svg.addEventListener("pointermove", (event) => event.buttons && at(event));
    }
    if (data.lines.some((line) => line.linked)) {
      svg.addEventListener("pointermove", (event) => event.buttons || this.tell(...where(event)));
      svg.addEventListener("pointerleave", () => this.tell(Infinity, Infinity));
    }
    if (this.pointed) this.mark(...this.pointed);
    this.filled();
  }

  rows() {
    const lines = this.data.lines
      .filter((line) => !line.shade)
      .sort((a, b) => Number(Boolean(b.points)) - Number(Boolean(a.points))); // what moves comes first
    return [
      ["line", this.data.xTitle, this.data.yTitle],
      ...lines.flatMap((line) => Array.from(line.x, (x, i) => [line.name, x, line.y[i]])),
    ];
  }

  /** @returns {any} */
  kept() {
    const data = this.data,
      axis = (range, log) => (log ? { type: "log", range: range.map(Math.log10) } : { range });
    return {
      data: data.lines.map((line, i) => ({
        x: Array.from(line.x),
        y: Array.from(line.y),
        name: line.name,
        showlegend: line.x.some(Number.isFinite),
        mode: line.points ? "markers" : "lines",
        fill: line.area ? "toself" : "none",
        line: { color: ON_WHITE[i % 7], dash: line.dash ? "dash" : "solid", ...(line.area ? { width: 0 } : {}) },
        marker: { color: ON_WHITE[i % 7], size: line.ring ? 14 : 9, symbol: line.ring ? "circle-open" : "circle" },
      })),
      layout: {
        title: { text: this.spec.title },
        template: "plotly_white",
        xaxis: { title: { text: data.xTitle }, ...axis(data.xRange, data.xLog), ...ticksIn(data.xPercent) },
        yaxis: { title: { text: data.yTitle }, ...axis(data.yRange, data.yLog), ...ticksIn(data.yPercent) },
        legend: { orientation: "h", y: -0.25 },
      },
    };
  }
}
