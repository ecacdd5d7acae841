// @ts-check
// A picture of curves, points or bars, drawn by uPlot (under a millisecond for 18 curves).
import { COLOURS, DASHES, style } from "./colours.js";
import { element } from "./dom.js";
import { sample } from "./legend.js";
import { grouped, isPower, nearest, power, readable } from "./numbers.js";
import { ON_WHITE } from "./palette.js";
import { Picture } from "./picture.js";
import { percentText, ticksIn, wordIn } from "./ticks.js";

const LABEL = 12;
const FONT = "13px system-ui, sans-serif";
/** [px] Where names at the ends of the curves leave less than this for the curves, they stand above the picture. */
const LEAST = 220,
  LEAST_NAMED = 150; // where a page wants names beside long curves, too; on a telephone they stand above
/** [px] Of the axis at the left with its title. */
const AXIS = 84;
/** Characters of a name at a curve's end; a longer name breaks after its comma. */
const NAME = 22;
const isBars = ({ kind }) => kind === "bars",
  isPoints = ({ kind }) => kind === "points" || kind === "ring",
  sizeOf = ({ kind, size }) => size || (kind === "ring" ? 10 : 7); // a ring goes around a point
const linesOf = (name) => (name.length > NAME ? name.split(/(?<=,) /) : [name]);

/** The two halves of a text. @param {string} words */
const halves = (words) => {
  const [at] = [...words.matchAll(/ /g)]
    .map(({ index }) => index)
    .sort((a, b) => Math.abs(a - words.length / 2) - Math.abs(b - words.length / 2));
  return at === undefined ? [words] : [words.slice(0, at), words.slice(at + 1)];
};

/** What uPlot writes along an axis: smaller if longer than the axis, and in two lines along a much shorter axis. */
const fitting = (words) => (u, axis) => {
  const { ctx, bbox } = u,
    room = 0.98 * (axis === 0 ? bbox.width : bbox.height),
    size = Number.parseFloat(ctx.font),
    wide = (one) => ctx.measureText(one).width,
    lines = axis === 1 && wide(words) > 1.2 * room ? halves(words) : [words],
    letter = size * Math.min(lines.length > 1 ? 0.8 : 1, room / Math.max(...lines.map(wide)));
  ctx.font = ctx.font.replace(/[\d.]+px/, `${letter}px`); // uPlot has its own again afterwards
  if (lines.length > 1) ctx.fillText(lines[0], 0, -1.1 * letter);
  return lines.at(-1);
};

/** Of an axis in decades: powers of ten where there are two, else the numbers between them. */
const powers = (log, faint, percent) => {
  const plain = (x) => (percent ? percentText(x) : grouped(String(x))); // in any language
  if (!log) return { values: (u, at) => at.map((x) => (x === null ? "" : plain(x))) };
  const decades = (at) => at.filter((x) => x !== null && isPower(x)).length > 1;
  const word = (x, all) => (x === null ? "" : !decades(all) ? readable(x) : isPower(x) ? power(x) : "");
  const filter = (u, at) => at.map((x) => (isPower(x) ? x : null));
  return { values: (u, at) => at.map((x) => word(x, at)), grid: { stroke: faint, width: 1, filter } };
};

/** How a series is drawn: its colour, and a dash of its own where several lines could be taken for one another. */
const strokeOf = (data, i) => {
  const s = data.series[i],
    colour = COLOURS[(s.hue ?? i) % COLOURS.length],
    lines = data.series.filter((one) => !one.kind);
  const dash = s.dash || (lines.length > 1 && !s.kind ? DASHES[lines.indexOf(s) % DASHES.length] : []);
  return { colour: s.pale ? `${colour}60` : colour, dash, width: s.width || (i === 0 ? 2.5 : 2) };
};

/**
 * show({x, xTitle, yTitle, series: [{name, y, kind, width, dash, pale}], marker, log, xLog, linked, xPercent,
 * yPercent}). The last two declare fractions: axes and words have them in per cent, files as they are. Words below
 * bars are `labels`; where they are rounded numbers, `exact` has them whole. A series may have `low` and `high`. With
 * `named` lines and points have their names at their ends at every width.
 */
export class Curves extends Picture {
  constructor(spec, box) {
    super(spec, box);
    this.plot = null;
    this.inside = false; // whether the pointer is over it
    this.key = "";
  }

  /** The quantity along x, its values, and how it is called; nothing where it is not linked. */
  shows() {
    const { data } = this;
    if (!data || !data.linked) return null;
    const word = (x) => wordIn(data.xPercent, x);
    return { quantity: data.linked, values: data.labels || data.x, title: data.xTitle, word };
  }

  /** Mark a value that is pointed at elsewhere; null ends it. */
  mark(quantity, value) {
    const shows = this.shows();
    this.pointed = value === null ? null : [quantity, value];
    this.update(); // it may be out of sight, and not drawn yet
    if (!shows || !this.plot) return;
    const k = this.pointed && shows.quantity === quantity ? nearest(shows.values, value) : -1;
    const left = k < 0 ? -10 : this.plot.valToPos(this.data.x[k], "x");
    this.plot.setCursor({ left: left <= this.plot.over.clientWidth + 0.5 ? left : -10, top: k < 0 ? -10 : 1 }, false);
    this.values(k < 0 ? -1 : k);
  }

  /** A value along y; nothing where there is none. */
  word(y) {
    return Number.isFinite(y ?? NaN) ? wordIn(this.data.yPercent, y) : "";
  }

  /** What stands at a value, in words. */
  reading(quantity, value) {
    const shows = this.shows();
    if (!shows || shows.quantity !== quantity) return "";
    const k = nearest(shows.values, value);
    return k < 0
      ? ""
      : `${this.data.yTitle}: ${this.data.series.map((s) => `${s.name} ${this.word(s.y[k])}`).join(", ")}`;
  }

  draw() {
    const { data } = this,
      series = data.series.map((s) => [s.name, s.kind]);
    const { xTitle, yTitle, log, xLog, range, labels } = data,
      key = JSON.stringify([series, xTitle, yTitle, log, xLog, range, labels, this.height]);
    const rows = data.series.some(isBars)
      ? this.beside(data)
      : [data.x, ...data.series.map(({ y }) => (y.some(Number.isFinite) ? y : new Array(y.length).fill(null)))];
    if (key !== this.key || !this.plot) this.make(key, rows);
    else this.plot.setData(rows);
    if (this.pointed) this.mark(...this.pointed);
    this.filled();
  }

  /** Bars side by side: each at a place of its own around its x. */
  beside(data) {
    const k = data.series.length,
      x = [],
      rows = data.series.map(() => []);
    data.x.forEach((at, i) =>
      data.series.forEach((s, j) => {
        x.push(at + ((j - (k - 1) / 2) * 0.8) / k);
        rows.forEach((row, r) => row.push(r === j ? s.y[i] : null));
      }),
    );
    return [x, ...rows];
  }

  /**
   * Whether names stand at the ends of curves and next to the last points: the page wants it, or there is room. Bars
   * end where others do.
   */
  direct() {
    const { named, series } = this.data;
    const room = this.width - AXIS - this.beyond();
    return named ? room >= LEAST_NAMED : room >= LEAST && series.length > 1 && series.every((s) => s.kind !== "bars");
  }

  /** [px] What the names take at the right of the curves. */
  beyond() {
    const letters = this.data.series.flatMap((s) => linesOf(s.name).map((line) => line.length));
    return Math.min(190, 32 + 6.5 * Math.max(...letters));
  }

  make(key, rows) {
    const { data } = this,
      bars = data.series.some(isBars);
    this.key = key;
    if (this.plot) this.plot.destroy();
    this.box.querySelector(".legend")?.remove();
    const inPlace = this.direct();
    const series = data.series.map((s, i) => {
      const { colour, dash, width } = strokeOf(data, i);
      const one = {
        label: s.name,
        stroke: colour,
        width,
        dash,
        pxAlign: 0,
        points: { show: isPoints(s), size: sizeOf(s), fill: s.kind === "ring" ? "transparent" : colour },
      };
      if (isPoints(s)) return { ...one, paths: () => null };
      if (s.kind !== "bars") return one;
      return { ...one, fill: colour, points: { show: false }, paths: uPlot.paths.bars({ size: [0.9, 60] }) };
    });
    const range = (name) => (data[name] ? () => this.data[name] : undefined);
    this.plot = new uPlot(
      {
        width: this.width || 520,
        height: this.height,
        legend: { show: false },
        padding: [10, inPlace ? this.beyond() : data.xLog || data.xPercent ? 20 : 12, 0, 0],
        scales: {
          x: { time: false, distr: data.xLog ? 3 : 1, range: range("xRange") },
          y: { distr: data.log ? 3 : 1, range: range("range") },
        },
        axes: [
          this.across(bars),
          { ...this.axis(data.yTitle), ...powers(data.log, style("--line"), data.yPercent), size: 60 },
        ],
        series: [{}, ...series],
        cursor: { y: !data.linked, drag: { x: !data.pick, y: false } },
        hooks: { draw: [(u) => this.over(u, bars, inPlace)], setCursor: [(u) => this.at(u)] },
      },
      rows,
      this.box,
    );
    this.legend(inPlace);
    if (data.pick) this.picking();
  }

  axis(label) {
    const faint = style("--line");
    return {
      label: label && fitting(label),
      stroke: style("--ink"),
      grid: { stroke: faint, width: 1 },
      ticks: { stroke: faint },
      labelSize: 24,
      font: FONT,
      labelFont: FONT,
    };
  }

  /** The axis along x: numbers, powers of ten, or words. */
  across(bars) {
    const { data } = this,
      axis = { ...this.axis(data.xTitle), ...powers(data.xLog, style("--line"), data.xPercent) };
    if (!data.xRange) return axis;
    if (bars || data.labels) Object.assign(axis, { incrs: [1, 2, 5, 10, 20, 50, 100] });
    if (!data.labels) return axis;
    const narrow = (this.width - 80) / data.labels.length < 82; // words below bars would touch
    return {
      ...axis,
      space: 10,
      font: `${data.labels.length > 5 ? 11 : 12}px system-ui, sans-serif`,
      ...(narrow ? { rotate: 40, size: 84 } : {}),
      values: (u, at) => at.map((x) => this.data.labels[x - 1] || ""),
    };
  }

  /** What stands over the curves: a line at the slider's value, intervals, and names at the curves' ends. */
  over(u, bars, inPlace) {
    const { ctx, bbox } = u,
      { x, series, marker } = this.data,
      ratio = devicePixelRatio,
      ink = style("--ink");
    ctx.save();
    ctx.strokeStyle = ink;
    const at = marker === undefined ? NaN : Math.round(u.valToPos(marker, "x", true));
    if (at >= bbox.left && at <= bbox.left + bbox.width) {
      ctx.setLineDash([4, 4]);
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.lineWidth = 1.5 * ratio;
    series.forEach(
      (s, j) =>
        s.low &&
        Array.from(s.low).forEach((low, i) => {
          if (low === null || Number.isNaN(low)) return;
          const place = u.valToPos(
            x[i] + (bars ? ((j - (series.length - 1) / 2) * 0.8) / series.length : 0),
            "x",
            true,
          );
          ctx.beginPath();
          ctx.moveTo(place, u.valToPos(low, "y", true));
          ctx.lineTo(place, u.valToPos(s.high[i], "y", true));
          ctx.stroke();
        }),
    );
    if (inPlace) this.names(u, ratio);
    ctx.restore();
  }

  /** Names at the right, each as near to its curve's end as the others let it. */
  names(u, ratio) {
    const { ctx, bbox } = u,
      { x, series } = this.data,
      last = x.length - 1,
      line = 15 * ratio;
    const ends = series
      .map((s, i) => {
        let k = last;
        while (k > 0 && !(Number.isFinite(s.y[k]) && u.valToPos(x[k], "x", true) <= bbox.left + bbox.width + 1)) k--;
        const y = u.valToPos(s.y[k], "y", true);
        const lines = linesOf(s.name);
        return { i, lines, half: (lines.length * line) / 2, y: Number.isFinite(y) ? y : bbox.top };
      })
      .sort((a, b) => a.y - b.y);
    let ceiling = bbox.top - line / 2;
    for (const end of ends) {
      end.y = Math.max(end.y, ceiling + end.half);
      ceiling = end.y + end.half;
    }
    let floor = bbox.top + bbox.height + line / 2;
    for (const end of [...ends].reverse()) {
      end.y = Math.min(end.y, floor - end.half);
      floor = end.y - end.half;
    }
    ctx.font = `${LABEL * ratio}px system-ui, sans-serif`;
    Object.assign(ctx, { textBaseline: "middle", textAlign: "left" });
    const left = bbox.left + bbox.width + 6 * ratio;
    for (const { i, lines, half, y } of ends) {
      const { colour, dash, width } = strokeOf(this.data, i);
      Object.assign(ctx, { strokeStyle: colour, fillStyle: colour, lineWidth: width * ratio });
      ctx.setLineDash(dash.map((d) => d * ratio * 0.7));
      ctx.beginPath();
      if (series[i].kind) {
        ctx.arc(left + 7 * ratio, y, (sizeOf(series[i]) / 2) * ratio, 0, 2 * Math.PI);
        if (series[i].kind === "ring") ctx.stroke();
        else ctx.fill();
      } else {
        ctx.moveTo(left, y);
        ctx.lineTo(left + 14 * ratio, y);
        ctx.stroke();
      }
      ctx.setLineDash([]);
      ctx.fillStyle = style("--ink");
      const begin = left + 18 * ratio;
      lines.forEach((words, k) => ctx.fillText(words, begin, y - half + (k + 0.5) * line, ctx.canvas.width - begin));
    }
  }

  /** Names with samples above the picture, and the values that are pointed at. */
  legend(inPlace) {
    const { series, xTitle } = this.data;
    const values = series.map(() => element("b", { class: "value" }));
    const names = series.map((s, i) =>
      element(
        "span",
        { class: "series" },
        sample({ kind: s.kind, ...strokeOf(this.data, i) }),
        " ",
        s.name,
        " ",
        values[i],
      ),
    );
    const at = element("span", { class: "at" });
    const silent = inPlace || (series.length === 1 && !series[0].low);
    this.told = element("p", { class: `legend${silent ? " names-in-place" : ""}` }, ...names, at);
    Object.assign(this.told, { values, at, xTitle });
    this.box.prepend(this.told);
  }

  /** The pointer is somewhere: its values stand in the legend, and other pictures mark them. */
  at(u) {
    const { data } = this,
      k = u.cursor.left >= 0 ? u.cursor.idx : null;
    const bars = data.series.some(isBars);
    this.values(k === null || k === undefined ? -1 : bars ? Math.floor(k / data.series.length) : k);
    if (data.linked) this.tell(u);
  }

  /** The values of all series at a place of x, in the legend; none at -1. */
  values(i) {
    const { data, told } = this;
    if (!told) return;
    told.classList.toggle("live", i >= 0);
    told.values.forEach((box, j) => {
      box.textContent = i < 0 ? "" : this.word(data.series[j].y[i]);
    });
    told.at.textContent = i < 0 ? "" : `at ${data.labels ? data.labels[i] : wordIn(data.xPercent, data.x[i])}`;
  }

  picking() {
    const { over } = this.plot;
    let held = 0; // what is held stays held while the pointer strays to a neighbour
    const at = (event) => {
      const box = over.getBoundingClientRect(),
        x = this.plot.posToVal(event.clientX - box.left, "x");
      if (event.type === "pointerdown") held = x;
      this.data.pick(x, this.plot.posToVal(event.clientY - box.top, "y"), held);
    };
    over.style.touchAction = "none";
    over.style.cursor = "ns-resize";
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      at(event);
    });
    over.addEventListener("pointermove", (event) => event.buttons && at(event));
  }

  /** The other pictures mark where the pointer is, or once that it is gone: a new plot's cursor is nowhere. */
  tell(u) {
    const { quantity, values } = this.shows(),
      { left } = u.cursor;
    if (left < 0 && !this.inside) return;
    this.inside = left >= 0;
    this.point(quantity, left >= 0 ? values[nearest(this.data.x, u.posToVal(left, "x"))] : null);
  }

  /** A column for each series; of one with intervals, two more. */
  rows() {
    const { x, xTitle, labels, exact, series } = this.data;
    const columns = series.flatMap((s) => [
      [s.name, s.y],
      ...(s.low
        ? [
            [`${s.name}, low`, s.low],
            [`${s.name}, high`, s.high],
          ]
        : []),
    ]);
    return [
      [xTitle, ...columns.map(([name]) => name)],
      ...Array.from(x, (at, i) => [labels ? (exact || labels)[i] : at, ...columns.map(([, y]) => y[i])]),
    ];
  }

  resize() {
    if (this.plot) this.key = "";
    super.resize();
  }
  redraw() {
    if (this.plot) {
      this.key = "";
      this.show(this.data);
    }
  }
  destroy() {
    if (this.plot) this.plot.destroy();
    this.plot = null;
  }

  /** The same numbers as a Plotly figure. @returns {any} */
  kept() {
    const { data } = this,
      x = Array.from(data.x);
    const ends = (range, log) => (range ? (log ? range.map(Math.log10) : range) : undefined);
    const error = (s, ys) => ({
      type: "data",
      symmetric: false,
      color: "#333333",
      array: ys.map((y, i) => s.high[i] - y),
      arrayminus: ys.map((y, i) => y - s.low[i]),
    });
    const at = {
      type: "line",
      x0: data.marker,
      x1: data.marker,
      yref: "paper",
      y0: 0,
      y1: 1,
      line: { color: "#333333", width: 1.5, dash: "dash" },
    };
    const trace = (s, i) => {
      const y = Array.from(s.y),
        colour = ON_WHITE[(s.hue ?? i) % 7],
        { dash, width } = strokeOf(data, i);
      return {
        x,
        y,
        name: s.name,
        type: s.kind === "bars" ? "bar" : "scatter",
        ...(s.low ? { error_y: error(s, y) } : {}),
        mode: isPoints(s) ? "markers" : "lines",
        line: { color: colour, width, dash: dash.map((d) => `${d}px`).join(",") || "solid" },
        marker: {
          color: colour,
          ...(isPoints(s) ? { size: sizeOf(s), symbol: s.kind === "ring" ? "circle-open" : "circle" } : {}),
        },
      };
    };
    return {
      data: data.series.map(trace),
      layout: {
        title: { text: this.spec.title },
        template: "plotly_white",
        shapes: Number.isFinite(data.marker) ? [at] : [],
        xaxis: {
          title: { text: data.xTitle },
          type: data.xLog ? "log" : "linear",
          range: ends(data.xRange, data.xLog),
          automargin: true,
          ...ticksIn(data.xPercent),
          ...(data.labels ? { tickvals: x, ticktext: data.labels } : data.series.some(isBars) ? { tickvals: x } : {}),
        },
        yaxis: {
          title: { text: data.yTitle },
          type: data.log ? "log" : "linear",
          range: ends(data.range, data.log),
          ...ticksIn(data.yPercent),
        },
        legend: { orientation: "h", y: -0.25 },
      },
    };
  }
}
