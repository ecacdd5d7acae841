// The pages' common part: controls, pictures, the address, downloads. A page's own script says what is computed:
//   explorer.page(slug, { draw(values, functions, figures, set, spec, moving) {...}, panels(spec, values) {...} })
// With `draws: "twice"` it is drawn while a slider moves (`moving`), and again when it rests.
// `panels`, if there, gives what stands below the pictures. A page that has a shape of its own fills it alone:
//   explorer.page(slug, { mount(root, spec) {...} })
// Pictures that move are drawn by uPlot (under a millisecond for 18 curves; Plotly takes 20 to 110); what is kept
// (PNG, SVG) by Plotly, from the same numbers.
"use strict";

const explorer = (() => {
  const drawings = {}, printed = {}, waiting = {};
  const { ON_WHITE, ON_BLACK } = look;
  const COLOURS = [];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => COLOURS.splice(0, 7, ...(dark.matches ? ON_BLACK : ON_WHITE));
  paint();

  const element = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  };

  const GREEK = { lambda: "λ", varepsilon: "ε", epsilon: "ε", gamma: "γ", phi: "φ", psi: "ψ", tau: "τ", delta: "δ", kappa: "κ", Upsilon: "ϒ" };
  const WORDS = new RegExp(`\\\\?\\b(${Object.keys(GREEK).join("|")})\\b`, "g");
  /** A text with its Greek letters, lower and upper places: "m_0", "p w^2", "\\tau", "gamma" in a sentence. */
  const maths = (text) => {
    const plain = text.replace(WORDS, (_, name) => GREEK[name]).replace(/\\([a-z]+)/g, "$1");
    return plain.split(/((?<=\b(?:[A-Z]{1,3}|[a-z]))_(?:\{\w+\}|\w{1,3}\b)|\^(?:\{\w+\}|\w\b))/).filter(Boolean)
      .map((part) => (/^[_^]\{?\w/.test(part) ? element(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/[{}]/g, "")) : part.replace(/[{}]/g, "")));
  };
  const shown = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(5))) : String(x));
  /** A number in a sentence or among facts: four digits; tables and files have more. */
  const brief = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(4))) : Number.isNaN(x) ? "none" : String(x));
  const title = (name, unit) => (unit && unit !== "1" ? `${name} [${unit}]` : name);

  // ---- functions that the library printed --------------------------------------------------------------------
  const register = (slug, key, made) => {
    printed[`${slug}/${key}`] = made;
  };
  const keyOf = (p, values) => [p.name, ...p.shape.map((k) => String(values[k]))].join("-");
  const SILENT = "the explorer does not answer; start it again";
  /** An answer of the server; throws an Error with the server's sentence, or, where there is none, with ours (`silent`). */
  const get = async (address, options) => {
    const answer = await fetch(address, options).catch((error) => { throw error.name === "AbortError" ? error : Object.assign(new Error(SILENT), { silent: true }); });
    if (!answer.ok) throw new Error(await answer.text());
    return answer;
  };
  /** A script, once it has run and `there` says that it did its work; the next call tries again. */
  const script = (src, there) => new Promise((resolve, reject) => {
    const failed = () => { node.remove(); reject(new Error(location.protocol === "file:" ? `${src} cannot be read; export the pages again` : SILENT)); };
    const node = element("script", { src, onload: () => (there() ? resolve() : failed()), onerror: failed });
    document.head.append(node);
  });
  /** The function, at once where it is there, else a promise of it. */
  const load = (spec, p, values) => {
    const key = keyOf(p, values), whole = `${spec.slug}/${key}`;
    if (printed[whole]) return printed[whole];
    waiting[whole] ||= script(`${spec.functions}${spec.slug}/${key}.js`, () => printed[whole])
      .then(() => printed[whole]).finally(() => delete waiting[whole]);
    return waiting[whole];
  };

  // ---- what is pointed at ------------------------------------------------------------------------------------
  // A picture that shows a quantity (`linked`: time, loss, flow, state, ...) tells the others which value the pointer is
  // at, and each that shows the same quantity marks it: figure.point(quantity, value), figure.mark(quantity, value),
  // with null where nothing is pointed at. Values are numbers, or words where a picture has labels.

  /** Where a value stands in a row: the nearest number, or the same word (-1 without one). */
  const nearest = (row, value) => {
    if (typeof value === "string") return row.indexOf(value);
    let best = -1, gap = Infinity;
    row.forEach((x, i) => { if (Math.abs(x - value) < gap) { gap = Math.abs(x - value); best = i; } });
    return best;
  };

  /** Let pictures mark what is pointed at in one of them. */
  const link = (pictures) => pictures.forEach((from) => {
    from.point = (quantity, value) => pictures.forEach((to) => to !== from && to.mark(quantity, value));
  });

  /** Pointing by keyboard: a slider for each quantity, shown while it has the focus. */
  const pointing = (pictures) => {
    const box = element("div", { class: "pointing" }), rows = {};
    box.update = () => {
      for (const picture of pictures) {
        const shows = picture.shows();
        if (!shows || rows[shows.quantity]) continue;
        const { quantity } = shows;
        const values = () => pictures.map((p) => p.shows()).find((one) => one && one.quantity === quantity).values;
        const slider = element("input", { type: "range", id: `point-${quantity}`, min: 0, step: 1, value: 0 }), text = element("output", {});
        const at = () => {
          const value = values()[Number(slider.value)];
          slider.max = values().length - 1;
          pictures.forEach((p) => p.mark(quantity, value));
          const read = [typeof value === "string" ? value : shown(value), ...pictures.map((p) => p.reading(quantity, value)).filter(Boolean)].join("; ");
          text.textContent = read;
          slider.setAttribute("aria-valuetext", read);
        };
        slider.addEventListener("input", at);
        slider.addEventListener("focus", at);
        slider.addEventListener("blur", () => pictures.forEach((p) => p.mark(quantity, null)));
        rows[quantity] = slider;
        box.append(element("div", {}, element("label", { for: slider.id }, `point at ${shows.title} `), slider, text));
      }
      for (const picture of pictures) {
        const shows = picture.shows();
        if (shows) rows[shows.quantity].max = shows.values.length - 1;
      }
    };
    return box;
  };

  // ---- pictures ----------------------------------------------------------------------------------------------
  const MOST_ROWS = 400; // of a table behind a picture
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  /** A picture of curves, points or bars: show({x, xTitle, yTitle, series: [{name, y, kind, width, dash, pale}], marker, log, xLog, linked}).
   *  Words below bars are `labels`; where they are rounded numbers, `exact` has them whole. A series may have `low` and `high`. */
  class Curves {
    constructor(spec, box) { this.spec = spec; this.box = box; this.plot = null; this.key = ""; this.pointed = null; this.point = () => {}; }

    /** The quantity along x, its values, and how it is called; nothing where it is not linked. */
    shows() {
      const { data } = this;
      return data && data.linked ? { quantity: data.linked, values: data.labels || data.x, title: data.xTitle } : null;
    }

    /** Mark a value that is pointed at elsewhere; null ends it. */
    mark(quantity, value) {
      const shows = this.shows();
      this.pointed = value === null ? null : [quantity, value];
      if (!shows || !this.plot) return;
      const k = this.pointed && shows.quantity === quantity ? nearest(shows.values, value) : -1;
      const left = k < 0 ? -10 : this.plot.valToPos(this.data.x[k], "x");
      this.plot.setCursor({ left: left <= this.plot.over.clientWidth + 0.5 ? left : -10, top: k < 0 ? -10 : 1 }, false);
    }

    /** What stands at a value, in words. */
    reading(quantity, value) {
      const shows = this.shows();
      if (!shows || shows.quantity !== quantity) return "";
      const k = nearest(shows.values, value);
      return k < 0 ? "" : `${this.data.yTitle}: ${this.data.series.map((s) => `${s.name} ${shown(s.y[k])}`).join(", ")}`;
    }

    show(data) {
      this.data = data;
      const key = JSON.stringify([data.series.map((s) => [s.name, s.kind]), data.xTitle, data.yTitle, data.log, data.xLog, data.range, data.labels]);
      const rows = data.series.some((s) => s.kind === "bars") ? this.beside(data) : [data.x, ...data.series.map((s) => s.y)];
      if (key !== this.key || !this.plot) this.make(key, rows);
      else this.plot.setData(rows);
      if (this.pointed) this.mark(...this.pointed);
      if (this.table && this.table.open) this.fill();
    }

    /** Bars side by side: each at a place of its own around its x. */
    beside(data) {
      const k = data.series.length, x = [], rows = data.series.map(() => []);
      data.x.forEach((at, i) => data.series.forEach((s, j) => {
        x.push(at + ((j - (k - 1) / 2) * 0.8) / k);
        rows.forEach((row, r) => row.push(r === j ? s.y[i] : null));
      }));
      return [x, ...rows];
    }

    make(key, rows) {
      const data = this.data, figure = this;
      this.key = key;
      if (this.plot) this.plot.destroy();
      const series = data.series.map((s, i) => {
        const colour = COLOURS[i % COLOURS.length];
        const one = { label: s.name, stroke: s.pale ? `${colour}60` : colour, width: s.width || 2, dash: s.dash, points: { show: s.kind === "points", size: s.size || 7, fill: colour } };
        if (s.kind === "points") one.paths = () => null;
        if (s.kind === "bars") {
          one.fill = colour;
          one.points = { show: false };
          one.paths = uPlot.paths.bars({ size: [0.9, 60] });
        }
        return one;
      });
      const ink = style("--ink"), faint = style("--line");
      const whole = (x) => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9;
      const power = (x) => `10${[...String(Math.round(Math.log10(x)))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
      const decades = (at) => at.filter((x) => x !== null && whole(x)).length > 1; // else numbers stand between them, all alike
      const powers = (log) => (log ? { values: (u, at) => at.map((x) => (x === null ? "" : !decades(at) ? shown(x) : whole(x) ? power(x) : "")), grid: { stroke: faint, width: 1, filter: (u, at) => at.map((x) => (whole(x) ? x : null)) } } : {});
      const axis = (label) => ({ label, stroke: ink, grid: { stroke: faint, width: 1 }, ticks: { stroke: faint }, labelSize: 24, font: "13px sans-serif", labelFont: "13px sans-serif" });
      const mark = (u) => {
        const x = figure.data.marker;
        if (x === undefined) return;
        const at = Math.round(u.valToPos(x, "x", true));
        if (at < u.bbox.left || at > u.bbox.left + u.bbox.width) return;
        u.ctx.save();
        u.ctx.strokeStyle = ink;
        u.ctx.setLineDash([4, 4]);
        u.ctx.beginPath();
        u.ctx.moveTo(at, u.bbox.top);
        u.ctx.lineTo(at, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
        u.ctx.restore();
      };
      const bars = data.series.some((s) => s.kind === "bars");
      /** Intervals: of a series with `low` and `high`, a line at each place from one to the other. */
      const intervals = (u) => {
        const { x, series: all } = figure.data;
        u.ctx.save();
        u.ctx.strokeStyle = ink;
        u.ctx.lineWidth = 1.5 * devicePixelRatio;
        all.forEach((s, j) => s.low && s.low.forEach((low, i) => {
          if (low === null || Number.isNaN(low)) return;
          const at = u.valToPos(x[i] + (bars ? ((j - (all.length - 1) / 2) * 0.8) / all.length : 0), "x", true);
          u.ctx.beginPath();
          u.ctx.moveTo(at, u.valToPos(low, "y", true));
          u.ctx.lineTo(at, u.valToPos(s.high[i], "y", true));
          u.ctx.stroke();
        }));
        u.ctx.restore();
      };
      const narrow = data.labels && (this.box.clientWidth - 80) / data.labels.length < 82; // words below bars would touch
      this.plot = new uPlot({
        width: this.box.clientWidth || 520, height: 300,
        scales: { x: { time: false, distr: data.xLog ? 3 : 1, range: data.xRange ? () => figure.data.xRange : undefined }, y: { distr: data.log ? 3 : 1, range: data.range ? () => figure.data.range : undefined } },
        axes: [data.xRange ? { ...axis(data.xTitle), ...powers(data.xLog), ...(bars ? { incrs: [1, 2, 5, 10, 20, 50, 100] } : {}), ...(data.labels ? { space: 10, font: `${data.labels.length > 5 ? 11 : 12}px sans-serif`, ...(narrow ? { rotate: 40, size: 84 } : {}), values: (u, at) => at.map((x) => figure.data.labels[x - 1] || "") } : {}) } : { ...axis(data.xTitle), ...powers(data.xLog) }, { ...axis(data.yTitle), ...powers(data.log), size: 64 }],
        series: [{ label: data.xTitle, value: (u, v) => (v === null ? "" : data.labels ? figure.data.labels[Math.round(v) - 1] || "" : shown(v)) }, ...series.map((s) => ({ ...s, value: (u, v) => (v === null || v === undefined ? "" : shown(v)) }))],
        cursor: { y: !data.linked, drag: { x: !data.pick, y: false } },
        hooks: { draw: [mark, intervals], setCursor: data.linked ? [(u) => this.tell(u)] : [] },
      }, rows, this.box);
      const { over } = this.plot;
      let held = 0; // what is held stays held while the pointer strays to a neighbour
      const at = (event) => {
        const box = over.getBoundingClientRect(), x = this.plot.posToVal(event.clientX - box.left, "x");
        if (event.type === "pointerdown") held = x;
        figure.data.pick(x, this.plot.posToVal(event.clientY - box.top, "y"), held);
      };
      if (!data.pick) return;
      over.style.touchAction = "none";
      over.addEventListener("pointerdown", (event) => { over.setPointerCapture(event.pointerId); at(event); });
      over.addEventListener("pointermove", (event) => event.buttons && at(event));
    }

    /** Tell the other pictures where the pointer is. */
    tell(u) {
      const { quantity, values } = this.shows(), { left } = u.cursor;
      this.point(quantity, left >= 0 ? values[nearest(this.data.x, u.posToVal(left, "x"))] : null);
    }

    /** A column for each series; of one with intervals, two more. */
    rows() {
      const columns = this.data.series.flatMap((s) => [[s.name, s.y], ...(s.low ? [[`${s.name}, low`, s.low], [`${s.name}, high`, s.high]] : [])]);
      return [[this.data.xTitle, ...columns.map(([name]) => name)],
        ...Array.from(this.data.x, (x, i) => [this.data.labels ? (this.data.exact || this.data.labels)[i] : x, ...columns.map(([, y]) => y[i])])];
    }

    resize() { if (this.plot) this.plot.setSize({ width: this.box.clientWidth, height: 300 }); }
    redraw() { if (this.plot) { this.key = ""; this.show(this.data); } }

    /** The same numbers as a Plotly figure. */
    kept() {
      const data = this.data, x = Array.from(data.x), ends = (range, log) => (range ? (log ? range.map(Math.log10) : range) : undefined);
      const interval = (s, ys) => (s.low ? { error_y: { type: "data", symmetric: false, color: "#333333", array: ys.map((y, i) => s.high[i] - y), arrayminus: ys.map((y, i) => y - s.low[i]) } } : {});
      const words = data.labels ? { tickvals: x, ticktext: data.labels } : {};
      const marker = data.marker === undefined || !Number.isFinite(data.marker) ? [] : [{ type: "line", x0: data.marker, x1: data.marker, yref: "paper", y0: 0, y1: 1, line: { color: "#333333", width: 1.5, dash: "dash" } }];
      return {
        data: data.series.map((s, i) => ({
          x, y: Array.from(s.y), name: s.name, type: s.kind === "bars" ? "bar" : "scatter", ...interval(s, Array.from(s.y)),
          mode: s.kind === "points" ? "markers" : "lines", marker: { color: ON_WHITE[i % 7], ...(s.kind === "points" ? { size: s.size || 7 } : {}) }, line: { color: ON_WHITE[i % 7] },
        })),
        layout: { title: { text: this.spec.title }, template: "plotly_white", shapes: marker,
          xaxis: { title: { text: data.xTitle }, type: data.xLog ? "log" : "linear", range: ends(data.xRange, data.xLog), automargin: true, ...words },
          yaxis: { title: { text: data.yTitle }, type: data.log ? "log" : "linear", range: ends(data.range, data.log) }, legend: { orientation: "h", y: -0.25 } },
      };
    }

    /** Keep the picture as a file: the same numbers, drawn by Plotly. */
    async keep(format, filename) { await (await library()).downloadImage(this.kept(), { format, filename, width: 900, height: 560 }); }

    fill() { tabled(this.table, this.rows()); }
  }

  /** The first rows in the table behind a picture; where there are more, a sentence says so. */
  const tabled = (details, rows) => {
    const all = rows.length - 1, box = details.querySelector(".scroll");
    details.querySelector("table").replaceChildren(
      element("thead", {}, element("tr", {}, ...rows[0].map((w) => element("th", { scope: "col" }, w)))),
      element("tbody", {}, ...rows.slice(1, MOST_ROWS + 1).map((row) => element("tr", {}, ...row.map((x) => element("td", {}, typeof x === "number" ? shown(x) : String(x)))))),
    );
    if (!details.querySelector(".note")) box.before(element("p", { class: "note" }));
    details.querySelector(".note").textContent = all > MOST_ROWS ? `The first ${MOST_ROWS} of ${all.toLocaleString("en")} rows; the CSV has all.` : "";
  };

  const ticks = ([low, high]) => {
    const rough = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 5, 10].find((m) => m * unit >= rough);
    return Array.from({ length: Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1 }, (_, i) => (Math.ceil(low / step - 1e-9) + i) * step);
  };

  /** A coordinate of a path; SVG reads no number that is written with an exponent. */
  const drawable = (x) => Math.max(-9999, Math.min(9999, x)).toFixed(1);

  /** A plane: lines that may turn back, and points. show({xTitle, yTitle, xRange, yRange, lines: [{name, x, y, dash, points, ring, area, linked, at}], pick}).
   *  A line's `at` has the value of the linked quantity at each of its points. */
  class Plane extends Curves {
    shows() { return null; } // its lines are not in order: pointing by keyboard goes along another picture

    mark(quantity, value) {
      this.pointed = value === null ? null : [quantity, value];
      const group = this.box.querySelector(".spots");
      if (!group) return;
      const spots = (this.data.lines || []).filter((line) => value !== null && line.linked === quantity).map((line) => [line, nearest(line.at, value)]);
      group.innerHTML = spots.filter(([line, k]) => k >= 0 && Number.isFinite(line.y[k]))
        .map(([line, k]) => { const [x, y] = this.place(line.x[k], line.y[k]); return `<circle class="spot" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="7" fill="none"/>`; }).join("");
    }

    reading(quantity, value) {
      return this.data.lines.filter((line) => line.linked === quantity).map((line) => [line, nearest(line.at, value)]).filter(([, k]) => k >= 0)
        .map(([line, k]) => `${line.name}: ${this.data.xTitle} ${shown(line.x[k])}, ${this.data.yTitle} ${shown(line.y[k])}`).join(", ");
    }

    /** Tell the other pictures what is nearest to the pointer, within 30 pixels. */
    tell(x, y) {
      let best = null, gap = 30;
      for (const line of this.data.lines) {
        if (!line.linked) continue;
        line.at.forEach((value, k) => {
          const [a, b] = this.place(line.x[k], line.y[k]), far = Math.hypot(a - x, b - y);
          if (far < gap && value === value) { gap = far; best = [line.linked, value]; }
        });
      }
      const [quantity, value] = best || [this.pointed && this.pointed[0], null];
      if (!best && !this.pointed) return;
      this.mark(quantity, value);
      this.point(quantity, value);
    }

    show(data) {
      this.data = data;
      const [W, H, left, bottom, top, right] = [this.box.clientWidth < 480 ? 350 : 520, 330, 58, 46, 8, 16]; // letters keep their size
      const [xl, xh] = data.xRange, [yl, yh] = data.yRange;
      const px = (x) => left + ((x - xl) / (xh - xl)) * (W - left - right), py = (y) => H - bottom - ((y - yl) / (yh - yl)) * (H - bottom - top);
      const text = (x, y, word, more = "") => `<text x="${x}" y="${y}" font-size="12" fill="currentColor" ${more}>${word}</text>`;
      const clip = (id, room) => `<clipPath id="${id}-${this.spec.name}"><rect x="${left - room}" y="${top - room}" width="${W - left - right + 2 * room}" height="${H - bottom - top + 2 * room}"/></clipPath>`;
      const parts = [clip("in", 0), clip("at", 12)], spots = []; // points on the edge are whole
      for (const t of ticks(data.xRange)) parts.push(`<path d="M${px(t)},${top}V${H - bottom}" stroke="var(--line)"/>`, text(px(t), H - bottom + 16, shown(t), 'text-anchor="middle"'));
      for (const t of ticks(data.yRange)) parts.push(`<path d="M${left},${py(t)}H${W - right}" stroke="var(--line)"/>`, text(left - 6, py(t) + 4, shown(t), 'text-anchor="end"'));
      parts.push(text((left + W - right) / 2, H - 10, data.xTitle, 'text-anchor="middle"'), text(0, 0, data.yTitle, `text-anchor="middle" transform="translate(14,${(H - bottom + top) / 2}) rotate(-90)"`), `<g clip-path="url(#in-${this.spec.name})">`);
      data.lines.forEach((line, i) => {
        const colour = COLOURS[i % 7];
        if (line.points) line.x.forEach((x, k) => spots.push(`<circle cx="${px(x).toFixed(1)}" cy="${py(line.y[k]).toFixed(1)}" ${line.ring ? `r="9" fill="none" stroke="${colour}" stroke-width="3"` : `r="6" fill="${colour}"`}/>`));
        else {
          let d = "", pen = "M"; // an area is its edge, filled
          for (let k = 0; k < line.x.length; k++) {
            if (!Number.isFinite(line.x[k] + line.y[k])) { pen = "M"; continue; }
            d += `${pen}${drawable(px(line.x[k]))},${drawable(py(line.y[k]))}`;
            pen = "L";
          }
          parts.push(line.area ? `<path d="${d}Z" fill="${colour}" fill-opacity="0.2"/>`
            : `<path d="${d}" fill="none" stroke="${colour}" stroke-width="2" ${line.dash ? 'stroke-dasharray="6 4"' : ""}/>`);
        }
      });
      parts.push(`</g><g clip-path="url(#at-${this.spec.name})">${spots.join("")}</g><g class="spots"></g>`);
      this.place = (x, y) => [px(x), py(y)];
      const legend = data.lines.map((line, i) => `<span><i style="background:${COLOURS[i % 7]}"></i>${line.name}</span>`).join("");
      this.box.innerHTML = `<svg viewBox="0 0 ${W} ${H}" role="img" aria-label="${this.spec.alt}" xmlns="http://www.w3.org/2000/svg">${parts.join("")}</svg><p class="legend">${legend}</p>`;
      const svg = this.box.firstChild;
      const where = (event) => {
        const box = svg.getBoundingClientRect(), scale = Math.max(W / box.width, H / box.height);
        return [(event.clientX - box.left - (box.width - W / scale) / 2) * scale, (event.clientY - box.top - (box.height - H / scale) / 2) * scale];
      };
      if (data.pick) {
        Object.assign(svg.style, { cursor: "crosshair", touchAction: "none" });
        const at = (event) => {
          const [x, y] = where(event);
          data.pick(xl + ((x - left) / (W - left - right)) * (xh - xl), yl + ((H - bottom - y) / (H - bottom - top)) * (yh - yl));
        };
        svg.addEventListener("pointerdown", at);
        svg.addEventListener("pointermove", (event) => event.buttons && at(event));
      }
      if (data.lines.some((line) => line.linked)) {
        svg.addEventListener("pointermove", (event) => event.buttons || this.tell(...where(event)));
        svg.addEventListener("pointerleave", () => this.tell(Infinity, Infinity));
      }
      if (this.pointed) this.mark(...this.pointed);
      if (this.table && this.table.open) this.fill();
    }

    rows() {
      const lines = this.data.lines.filter((line) => !line.shade).sort((a, b) => Boolean(b.points) - Boolean(a.points)); // what moves comes first
      return [["line", this.data.xTitle, this.data.yTitle], ...lines.flatMap((line) => Array.from(line.x, (x, i) => [line.name, x, line.y[i]]))];
    }

    resize() { if (this.data) this.show(this.data); }
    redraw() { this.resize(); }
    kept() {
      const data = this.data;
      return {
        data: data.lines.map((line, i) => ({ x: Array.from(line.x), y: Array.from(line.y), name: line.name, mode: line.points ? "markers" : "lines", fill: line.area ? "toself" : "none", line: { color: ON_WHITE[i % 7], dash: line.dash ? "dash" : "solid" }, marker: { color: ON_WHITE[i % 7], size: line.ring ? 14 : 9, symbol: line.ring ? "circle-open" : "circle" } })),
        layout: { title: { text: this.spec.title }, template: "plotly_white", xaxis: { title: { text: data.xTitle }, range: data.xRange }, yaxis: { title: { text: data.yTitle }, range: data.yRange }, legend: { orientation: "h", y: -0.25 } },
      };
    }
  }

  const KINDS = { curves: Curves, plane: Plane }; // a page's script may add its own

  // ---- what the server is asked for --------------------------------------------------------------------------
  const asked = {}, later = (ms) => new Promise((done) => setTimeout(done, ms));
  /** The JSON of an answer of the page; throws an Error with the server's sentence. A question ends the one before it of
   *  the same name (an AbortError), and waits while the server is busy. */
  const ask = async (spec, name, values, typed = "") => {
    const key = `${spec.slug}/${name}`, mine = new AbortController();
    if (asked[key]) asked[key].abort();
    asked[key] = mine;
    for (let wait = 120; ; wait = 1000) {
      await later(wait); // a slider that moves asks once
      const answer = await get(`${spec.answers}${key}?${new URLSearchParams({ ...values, typed })}`, { signal: mine.signal });
      const json = await answer.json();
      if (json.refused) throw new Error(json.refused);
      if (!json.busy) return json;
    }
  };

  // ---- downloads ---------------------------------------------------------------------------------------------
  const save = (name, text, type) => {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const csv = (rows) => rows.map((row) => row.map((x) => (/[",\n]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : x)).join(",")).join("\r\n") + "\r\n";
  let drawn = null; // the page's, which knows where the library lies
  const library = () => plotly(drawn);
  const plotly = async (spec) => {
    if (!window.Plotly) await (waiting.plotly ||= script(spec.plotly, () => window.Plotly).finally(() => delete waiting.plotly));
    return window.Plotly;
  };

  /** Numbers, each with its unit and a sentence: show({rows: [{name, value, unit, means}]}), or several in a row:
   *  show({columns: ["one", "two"], rows: [{name, values, unit, means}]}). */
  KINDS.facts = class extends Curves {
    show(data) {
      this.data = data;
      if (data.columns) return this.compare(data);
      const said = ({ value, unit }) => (typeof value === "string" ? value : Number.isFinite(value) ? brief(value) : "none") + (unit && unit !== "1" ? ` ${unit}` : "");
      this.box.replaceChildren(element("dl", { class: "facts" }, ...data.rows.map((row) => element("div", {}, element("dt", {}, row.name), element("dd", {}, element("b", {}, said(row)), " ", element("span", {}, ...maths(row.means)))))));
      if (this.table && this.table.open) this.fill();
    }

    compare({ columns, rows }) {
      const table = element("table", { class: "compared" },
        element("thead", {}, element("tr", {}, element("td", {}), ...columns.map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, ...rows.map((row) => element("tr", {}, element("th", { scope: "row" }, title(row.name, row.unit), element("span", {}, ...maths(row.means))), ...row.values.map((x) => element("td", {}, brief(x)))))));
      this.box.replaceChildren(columns.length > 3 ? element("div", { class: "scroll wide", tabindex: "0" }, table) : table); // a telephone has room for three
      if (this.table && this.table.open) this.fill();
    }

    shows() { return null; }
    mark() {}
    reading() { return ""; }
    rows() {
      if (this.data.columns) return [["quantity", ...this.data.columns, "unit", "meaning"], ...this.data.rows.map((row) => [row.name, ...row.values, row.unit || "1", row.means])];
      return this.named();
    }

    named() { return [["quantity", "value", "unit", "meaning"], ...this.data.rows.map((row) => [row.name, row.value, row.unit || "1", row.means])]; }
    resize() {}
    redraw() {}
    kept() {
      const [header, ...rows] = this.rows(), columns = header.map((_, i) => rows.map((row) => (typeof row[i] === "number" ? shown(row[i]) : row[i])));
      return { data: [{ type: "table", columnwidth: header.map((name) => (name === "meaning" ? 4 : name === "quantity" ? 2 : 1)), header: { values: header, align: "left" }, cells: { values: columns, align: "left", height: 30 } }], layout: { title: { text: this.spec.title }, template: "plotly_white" } };
    }
  };

  // ---- a page ------------------------------------------------------------------------------------------------
  /** Seconds in a unit, as a factor and a divisor: dividing by a whole number is exact where multiplying by 0.001 is not. */
  const SECONDS = { ns: [1, 1e9], us: [1, 1e6], "\u00b5s": [1, 1e6], ms: [1, 1e3], s: [1, 1], min: [60, 1], h: [3600, 1] };

  /** The number that a text says in a unit, by the rules of the library's `only_number`; NaN where it says none. */
  const number = (text, unit = "1") => {
    const words = text.split(",").map((word) => word.trim()).filter(Boolean);
    if (words.length !== 1 || words[0].length > 60) return NaN;
    const [, sign, digits, power, below, rest] = /^([-+]?)(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(?:\/(\d+))?\s*(.*)$/i.exec(words[0]) || [];
    if (digits === undefined || (below !== undefined && (power || digits.includes(".") || Number(below) === 0))) return NaN;
    if (power && Math.abs(Number(power.slice(1))) > 400) return NaN;
    const scaled = (tens) => Number(`${sign}${digits}e${Number((power || "e0").slice(1)) + tens}`) / Number(below || 1);
    const said = Math.abs(scaled(0)) <= 1e18 ? scaled(0) : NaN;
    if (!rest || rest === unit || rest === `${unit}s` || rest === unit.replace("packet", "packets")) return said;
    if (unit === "1" && rest === "%") return said === said ? scaled(-2) : NaN;
    if (unit !== "s" || below || !Object.hasOwn(SECONDS, rest)) return NaN;
    return (said * SECONDS[rest][0]) / SECONDS[rest][1];
  };

  const readAddress = (spec) => {
    const values = Object.fromEntries(spec.controls.map((c) => [c.name, c.start]));
    const complaints = [], written = location.search || location.hash.slice(1), words = [...new URLSearchParams(written)];
    if (written.length > 4096) return [values, ["the address is longer than 4096 characters and was not read"]];
    if (words.length > 100) return [values, ["the address has more than 100 words and was not read"]];
    const twice = words.map(([name]) => name).find((name, i, all) => all.indexOf(name) < i);
    if (twice !== undefined) return [values, [`the address has ${twice.slice(0, 40)} twice and was not read`]];
    for (const [name, word] of words) {
      if (name === "guess") continue; // the switch's
      const c = spec.controls.find((one) => one.name === name);
      if (c && c.choices) {
        if (c.choices.includes(word)) values[name] = word;
        else complaints.push(`${name} must be one of ${c.choices.join(", ")}, got ${word.slice(0, 40)}; ${c.start} is shown`);
        continue;
      }
      const x = c ? number(word, c.unit) : NaN;
      if (!c && complaints.some((one) => one.startsWith("this page has no"))) continue;
      if (!c) complaints.push(`this page has no ${name.slice(0, 40)}; it has ${spec.controls.map((one) => one.name).join(", ")}`);
      else if (!(x >= c.low && x <= c.high) || (c.step === 1 && x !== Math.floor(x))) {
        complaints.push(`${name} must be a ${c.step === 1 ? "whole " : ""}number in [${c.low}, ${c.high}], got ${word.slice(0, 40)}; ${c.start} is shown`);
      } else values[name] = x;
    }
    return [values, complaints];
  };

  /** What is mounted: its end removes listeners, timers and pictures. */
  let mounted = new AbortController();
  const WAITED = 1500, AGAIN = 2000; // [ms] until a page says that it waits, and until it asks again
  const mount = (root, spec) => {
    const drawing = drawings[spec.slug];
    drawn = spec;
    mounted.abort();
    const { signal } = mounted = new AbortController();
    if (drawing.mount) return drawing.mount(root, spec, signal); // a page of its own shape
    const [values, complaints] = spec.values ? [{ ...spec.values }, spec.complaints] : readAddress(spec);
    const said = element("p", { class: "complaint", role: "status" }, complaints.join(". "));
    const figures = {}, outputs = {};
    const controls = element("form", { class: "controls", "aria-label": "Parameters", onsubmit: (event) => event.preventDefault() });
    let late = "", timer = 0, again = 0, slow = 0, turn = 0, own = location.hash;
    if (!spec.values) addEventListener("hashchange", () => location.hash !== own && mount(root, spec), { signal });

    const address = () => {
      const changed = spec.controls.filter((c) => values[c.name] !== c.start).map((c) => `${c.name}=${values[c.name]}`);
      if (root.querySelector("#guess").checked) changed.push("guess=first");
      const words = changed.join("&");
      if (spec.values) history.replaceState(null, "", location.pathname + (words ? `?${words}` : ""));
      else { // a file's address keeps its path
        own = words ? `#${words}` : "";
        if (location.hash !== own) location.replace(own || "#");
      }
    };
    const where = (place, name) => `${place}${spec.slug}/${name}?${new URLSearchParams(values)}`;
    const codes = []; // of pictures whose code is open
    const showCode = () => codes.filter(([details]) => details.open).forEach(async ([, text, name]) => {
      const address = text.dataset.address = where(spec.code, name);
      const lines = await get(address).then((answer) => answer.text()).catch((error) => error.message);
      if (text.dataset.address === address) text.textContent = lines;
    });
    /** The lines of Python, and the command, that give a picture's numbers. */
    const codeOf = (f) => {
      const text = element("pre", { tabindex: "0" }), details = element("details", { class: "code", ontoggle: () => details.open && showCode() }, element("summary", {}, "Show the code"), text);
      codes.push([details, text, f.name]);
      return details;
    };
    const draw = (moving = false) => {
      if (signal.aborted) return;
      const functions = {}, missing = [];
      for (const p of spec.printed.filter((one) => !one.lazy)) {
        const f = load(spec, p, values);
        if (f instanceof Promise) missing.push(f); else functions[p.name] = f;
      }
      const mine = ++turn;
      [again, slow].forEach(clearTimeout);
      if (missing.length) {
        root.classList.add("old"); // the old picture stays, marked, until the answer is there
        const still = (words) => { if (mine === turn && !signal.aborted) said.textContent = late = `The pictures are old: ${words}.`; };
        slow = setTimeout(() => still("the explorer has not answered yet"), WAITED);
        Promise.all(missing).then(() => mine === turn && draw(), (error) => {
          if (mine !== turn || signal.aborted) return;
          clearTimeout(slow);
          still(error.message);
          if (spec.values) again = setTimeout(draw, AGAIN);
        });
        return;
      }
      if (late && said.textContent === late) said.textContent = "";
      late = "";
      root.classList.remove("old");
      drawing.draw(values, functions, figures, set, spec, moving);
      root.dispatchEvent(new CustomEvent("drawn", { detail: performance.now() }));
      pointer.update();
    };
    const boxes = {}, explain = {};
    const showControls = () => {
      const chosen = spec.controls.filter((c) => c.choices).map((c) => values[c.name]);
      for (const say of Object.values(explain)) say();
      for (const c of spec.controls) boxes[c.name].hidden = (Boolean(c.only && c.only.length) && !c.only.some((word) => chosen.includes(word))) || Boolean(c.shown_from && values[c.shown_from[0]] < c.shown_from[1]);
    };
    const changed = (moves = false) => {
      const moving = moves && drawing.draws === "twice";
      showControls();
      draw(moving);
      clearTimeout(timer);
      timer = setTimeout(() => { if (signal.aborted) return; if (moving) draw(); address(); showCode(); }, 200);
    };

    /** Move sliders to values that were picked in a picture, within their bounds. */
    const set = (picked) => {
      for (const [name, x] of Object.entries(picked)) {
        const c = spec.controls.find((one) => one.name === name);
        const within = Math.min(c.high, Math.max(c.low, x));
        values[name] = c.step === 1 ? Math.round(within) : Number(within.toPrecision(4));
        outputs[name](values[name]);
      }
      changed(true);
    };

    for (const c of spec.controls) {
      const id = `control-${c.name}`;
      if (c.choices) {
        const list = element("select", { id, onchange: () => { values[c.name] = list.value; showControls(); changed(); } },
          ...c.choices.map((word) => element("option", { value: word, selected: word === values[c.name] }, word)));
        const means = element("small", { id: `${id}-means` });
        boxes[c.name] = element("div", { class: "control" }, element("label", { for: id }, c.meaning), list, ...(Object.keys(c.meanings).length ? [means] : []));
        explain[c.name] = () => { means.textContent = c.meanings[values[c.name]] || ""; };
        outputs[c.name] = (word) => { list.value = word; };
        continue;
      }
      const scale = c.log ? Math.log10 : (x) => x, back = c.log ? (x) => 10 ** x : (x) => x;
      const [low, high] = [scale(c.low), scale(c.high)];
      const slider = element("input", { type: "range", id, min: low, max: high, step: c.log ? (high - low) / 500 : c.step, value: scale(values[c.name]) });
      const number = element("input", { type: "number", class: "exact", min: c.low, max: c.high, step: "any", value: values[c.name], "aria-label": `${c.meaning}, exact value` });
      /** A slider in decades stands at a power of ten; what is read aloud is the value. */
      const aloud = () => slider.setAttribute("aria-valuetext", `${shown(values[c.name])}${c.unit && c.unit !== "1" ? ` ${c.unit}` : ""}`);
      aloud();
      slider.addEventListener("input", () => {
        const x = back(Number(slider.value));
        values[c.name] = c.step === 1 ? Math.round(x) : Number(x.toPrecision(6));
        number.value = values[c.name];
        aloud();
        changed(true);
      });
      number.addEventListener("change", () => {
        const x = Number(number.value);
        if (number.value === "" || !(x >= c.low && x <= c.high) || (c.step === 1 && x !== Math.floor(x))) {
          said.textContent = `${c.name} must be a ${c.step === 1 ? "whole " : ""}number in [${c.low}, ${c.high}]`;
          number.value = values[c.name];
          return;
        }
        said.textContent = "";
        values[c.name] = x;
        slider.value = scale(x);
        aloud();
        changed();
      });
      boxes[c.name] = element("div", { class: "control" },
        element("label", { for: id }, title(c.meaning, c.unit), " ", element("i", {}, ...maths(c.symbol))), slider, number);
      outputs[c.name] = (x) => { number.value = x; slider.value = scale(x); aloud(); };
    }
    controls.append(...Object.values(boxes));
    showControls();

    const grid = element("div", { class: "figures" });
    for (const f of spec.figures) {
      const box = f.kind === "facts" ? element("div", { class: "picture numbers" }) : element("div", { class: "picture", role: "img", "aria-label": f.alt });
      const figure = new KINDS[f.kind](f, box);
      figures[f.name] = figure;
      figure.table = element("details", { ontoggle: () => figure.table.open && figure.fill() },
        element("summary", {}, "Numbers"), element("div", { class: "scroll", tabindex: "0" }, element("table")));
      const name = `${spec.slug}-${f.name}`;
      const image = (format) => () => figure.keep(format, name).catch((error) => { said.textContent = error.message; });
      grid.append(element("section", { class: "figure", "data-figure": f.name, "aria-label": f.title }, element("h2", {}, f.title), box,
        element("p", { class: "actions" },
          element("button", { type: "button", onclick: image("png") }, "PNG"),
          element("button", { type: "button", onclick: image("svg") }, "SVG"),
          element("button", { type: "button", onclick: () => save(`${name}.csv`, csv(figure.rows()), "text/csv") }, "CSV"),
          element("button", { type: "button", onclick: () => save(`${name}.nc`, netcdf(figure.rows(), f.title), "application/x-netcdf") }, "NetCDF")),
        figure.table, ...(spec.code && f.coded ? [codeOf(f)] : [])));
    }
    link(Object.values(figures));
    const pointer = pointing(Object.values(figures));
    grid.prepend(pointer);
    const whole = async () => {
      try {
        const answer = await get(`${spec.netcdf}${spec.slug}?${new URLSearchParams(values)}`);
        save(`${spec.slug}.nc`, await answer.blob(), "application/x-netcdf");
        said.textContent = "";
      } catch (error) { said.textContent = error.message; }
    };
    const below = spec.netcdf ? element("p", { class: "actions" }, element("button", { type: "button", onclick: whole }, "NetCDF of the model's own results"))
      : element("p", { class: "note" }, `This page opens from disk, without a server. ${["The code of each picture", ...spec.served].join(", ")}: see the served page (tcpdynamics explore).`);
    root.replaceChildren(
      element("h1", {}, spec.title), element("p", { class: "question" }, spec.question), said, controls,
      guess.first(root, figures, address, signal),
      grid, ...(drawing.panels ? drawing.panels(spec, values) : []), below,
      ...spec.notes.map((note) => element("p", { class: "note" }, ...maths(note))),
    );
    draw();
    addEventListener("resize", () => Object.values(figures).forEach((f) => f.resize()), { signal });
    dark.addEventListener("change", () => { paint(); Object.values(figures).forEach((f) => f.redraw()); }, { signal });
    signal.addEventListener("abort", () => {
      [timer, again, slow].forEach(clearTimeout);
      Object.values(figures).forEach((f) => f.plot && f.plot.destroy());
    });
    return values;
  };

  /** x from low to high in n values, both ends included. */
  const between = (low, high, n) => Float64Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

  /** A picture of a kind ("curves", "diagram", "plane") in a box, for pages of their own shape. */
  const picture = (kind, box, spec) => new KINDS[kind](spec, box);

  /** The first page: what each of the others asks; listed: [{title, question, address}]. */
  const contents = (root, listed) => root.replaceChildren(element("h1", {}, "tcpdynamics explorer"),
    element("p", { class: "question" }, "Models of TCP congestion control, moved by sliders. Each page opens with a question."),
    element("dl", { class: "contents" }, ...listed.map(({ title: name, question, address }) => element("div", {}, element("dt", {}, element("a", { href: address }, name)), element("dd", {}, question)))));

  return { page: (slug, drawing) => { drawings[slug] = drawing; }, register, mount, between, title, ask, load, get, element, picture, save, csv, plotly, tabled, number, shown, brief, maths, contents, link, pointing, Curves, KINDS };
})();

// What Dash calls when the address changes.
window.dash_clientside = Object.assign({}, window.dash_clientside, {
  explorer: {
    open(spec) {
      const root = document.getElementById("page");
      if (!spec || !root) return null;
      document.title = spec.title ? `${spec.title} - tcpdynamics explorer` : spec.missing ? "no such page - tcpdynamics explorer" : "tcpdynamics explorer";
      document.querySelectorAll("header a").forEach((a) => (a.id === `to-${spec.slug}` ? a.setAttribute("aria-current", "page") : a.removeAttribute("aria-current")));
      if (spec.missing) root.textContent = spec.missing;
      else if (spec.contents) explorer.contents(root, spec.contents);
      else explorer.mount(root, spec);
      return spec.slug || "";
    },
  },
});
