// @ts-check
// A time-sequence strip: each packet of one transfer as a line, time along x, sequence number along y. A click, or
// Enter on a packet that the arrow keys found, drops it.
import { COLOURS } from "./colours.js";
import { drawn, element } from "./dom.js";
import { alone } from "./ladder.js";
import { readable, ticks } from "./numbers.js";
import { Picture } from "./picture.js";

const LETTER = 12,
  LEFT = 46,
  TOP = 22,
  FOOT = 34,
  GAP = 14,
  REACH = 24, // of the pointer around a packet [px]
  TARGET = 27, // of what a touch or a reader of the screen finds a packet in [px], also where the picture is smaller
  SIDE_BY_SIDE = 560;
/** What a reader can do with the picture; `all` says that a drop is in each of several transfers. */
const keys = (all) => [
  `Click a packet or an ACK to drop it${all}, or to let it pass. `,
  element("span", { class: "by-keys" }, "The arrow keys go from one to the next, and Enter drops it."),
];
/** What a data packet is sent for, in words. */
export const KINDS_OF_SEND = {
  new: "new data",
  fast: "sent again after three duplicate ACKs",
  timeout: "sent again after a timeout",
  repeat: "sent again",
  leap: "LEAP: new data instead of what timed out",
};

/**
 * show({ panels: [{ name, title, sends, acks, timeouts }], segments, end, toggle(kind, numbers), may(kind, numbers) }):
 * panels beside or below each other; `toggle` drops a packet, or lets it pass again.
 */
export class Strip extends Picture {
  show(data) {
    this.data = data;
    this.all = data.panels.length > 1 ? " in both transfers" : "";
    const width = Math.max(300, this.width || 520),
      beside = width >= SIDE_BY_SIDE,
      panels = data.panels.length,
      height = beside ? Math.max(this.height, 220) : Math.max(this.height, 232);
    const wide = beside ? (width - GAP * (panels - 1)) / panels : width,
      high = beside ? height : (height - GAP * (panels - 1)) / panels;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": this.spec.alt });
    svg.style.maxHeight = `${height}px`;
    svg.style.touchAction = "manipulation";
    const held = this.box.contains(document.activeElement) ? this.current : null,
      listed = document.activeElement === this.list;
    this.packets = [];
    data.panels.forEach((panel, i) => {
      const group = drawn("g", {
        transform: `translate(${beside ? i * (wide + GAP) : 0},${beside ? 0 : i * (high + GAP)})`,
      });
      svg.append(group);
      this.panel(group, panel, i, wide, high, [beside ? i * (wide + GAP) : 0, beside ? 0 : i * (high + GAP)]);
    });
    svg.addEventListener("click", (event) => {
      const one = this.nearest(svg, event);
      if (one) this.drop(one);
    });
    svg.addEventListener("pointermove", (event) => {
      const near = this.nearest(svg, event);
      for (const one of this.packets) one.node.classList.toggle("near", one === near);
      svg.style.cursor = near ? "pointer" : "";
    });
    svg.addEventListener("keydown", (event) => this.typed(event));
    const hint = this.packets.length ? keys(this.all) : [];
    this.chosen = element("p", { class: "chosen-packet", role: "status" }, ...hint);
    this.list = this.packets.length ? this.listOf() : "";
    this.box.replaceChildren(svg, this.legends(), element("div", { class: "pick" }, this.list, this.chosen));
    this.reach(
      this.packets.findIndex((one) => one.key === this.current),
      Boolean(held) && !listed,
    );
    if (listed) this.list.focus();
    this.filled();
  }

  panel(group, { name, title, sends, acks, timeouts, note }, i, wide, high, [dx, dy]) {
    const { segments, end, may } = this.data,
      right = wide - 6,
      foot = high - FOOT;
    const px = (t) => LEFT + (Math.min(t, end) / end) * (right - LEFT),
      py = (n) => foot - ((n - 0.4) / (segments + 0.7)) * (foot - TOP);
    const text = (x, y, word, more = {}) =>
      drawn("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": LETTER, fill: "currentColor", ...more }, word);
    group.append(text(LEFT, 13, title || name, { "font-weight": 600 }));
    if (note) group.append(text(right, 13, note, { "text-anchor": "end" }));
    const every = (foot - TOP) / segments < 13 ? 2 : 1;
    for (let n = 1; n <= segments; n++) {
      group.append(
        drawn("path", { d: `M${LEFT},${py(n).toFixed(1)}H${right}`, stroke: "var(--line)", "stroke-width": 0.6 }),
      );
      if ((n - 1) % every === 0)
        group.append(text(LEFT - 6, py(n) + 4, String(n), { "text-anchor": "end", "font-size": 11 }));
    }
    for (const t of ticks([0, end]))
      group.append(text(px(t), foot + 15, readable(t), { "text-anchor": "middle", "font-size": 11 }));
    const middle = (TOP + foot) / 2;
    group.append(
      text(10, middle, "packet", { "text-anchor": "middle", "font-size": 11, transform: `rotate(-90 10 ${middle})` }),
    );
    group.append(text(right, high - 3, "time [s]", { "text-anchor": "end", "font-size": 11 }));
    for (const at of timeouts.filter((t) => t <= end))
      group.append(
        drawn("path", { d: `M${px(at).toFixed(1)},${TOP}V${foot}`, stroke: "var(--faint)", "stroke-dasharray": "3 3" }),
        text(px(at) + 3, TOP + 7, "timeout", { "font-size": 10, fill: "var(--faint)" }),
      );
    for (const one of sends) {
      if (one.time > end) continue;
      const again = one.arrives !== null && !one.fresh,
        lost = one.lost,
        y = py(one.segment + 1),
        colour = one.kind === "leap" ? COLOURS[2] : COLOURS[0];
      const stop = lost ? px(one.time) + 0.45 * (px(one.time + this.data.way) - px(one.time)) : px(one.arrives ?? end);
      this.packet(group, [px(one.time), y, stop, y - 3], {
        key: `${i}/data/${one.segment}/${one.transmission}`,
        kind: "data",
        numbers: [one.segment, one.transmission],
        press: may("data", [one.segment, one.transmission]),
        offset: [dx, dy],
        lost,
        colour: again ? COLOURS[1] : colour,
        thick: 2.5,
        mark: lost ? "lost" : again ? "again" : "fresh",
        label:
          `${name}: data packet ${one.segment + 1}, ${KINDS_OF_SEND[one.kind]}, sent at ${readable(one.time)} s` +
          (lost ? ", dropped" : again ? ", a duplicate" : ""),
      });
    }
    for (const one of acks) {
      if (one.time > end) continue;
      const y = py(one.asks + 0.55),
        lost = one.lost;
      const stop = lost ? px(one.time) + 0.45 * (px(one.time + this.data.way) - px(one.time)) : px(one.arrives ?? end);
      this.packet(group, [px(one.time), y, stop, y - 2], {
        key: `${i}/ack/${one.number}`,
        kind: "ack",
        numbers: [one.number],
        press: may("ack", [one.number]),
        offset: [dx, dy],
        lost,
        colour: COLOURS[6],
        thick: 1.5,
        mark: lost ? "lost" : "ack",
        label:
          `${name}: ACK, next expected packet ${one.asks + 1}, sent at ${readable(one.time)} s` +
          (lost ? ", dropped" : ""),
      });
    }
  }

  packet(group, [x1, y1, x2, y2], { colour, thick, mark, label, lost, press, offset, ...more }) {
    const line = { stroke: colour, "stroke-width": thick, fill: "none", "stroke-linecap": "round" };
    const parts = [
      drawn("path", {
        d: `M${x1.toFixed(1)},${y1.toFixed(1)}L${x2.toFixed(1)},${y2.toFixed(1)}`,
        ...line,
        "stroke-dasharray": mark === "lost" ? "3 3" : false,
      }),
    ];
    if (mark === "lost")
      parts.push(
        drawn("path", {
          d: `M${x2 - 4},${y2 - 4}l8,8m0,-8l-8,8`,
          stroke: "var(--ink)",
          "stroke-width": 2,
          class: "dropped",
        }),
      );
    if (mark === "fresh") parts.push(drawn("circle", { cx: x2, cy: y2, r: 3.5, fill: colour }));
    if (mark === "again")
      parts.push(
        drawn("circle", {
          cx: x2,
          cy: y2,
          r: 4.5,
          fill: "var(--paper)",
          stroke: colour,
          "stroke-width": 2,
          class: "duplicate",
        }),
      );
    if (mark === "ack")
      parts.push(drawn("path", { d: `M${x2 - 5},${y2 - 3}L${x2},${y2}L${x2 - 5},${y2 + 3}`, ...line }));
    const node = drawn(
      "g",
      {
        class: `packet ${more.kind}`,
        role: press ? "button" : "img",
        "aria-label": label,
        "aria-pressed": press ? String(Boolean(lost)) : false,
        tabindex: press ? -1 : false,
        "data-packet": more.key,
      },
      drawn("title", {}, `${label}${press ? `; click or Enter ${lost ? "lets it pass" : "drops it"}${this.all}` : ""}`),
      drawn("path", {
        d: `M${x1.toFixed(1)},${y1.toFixed(1)}L${x2.toFixed(1)},${y2.toFixed(1)}`,
        stroke: "transparent",
        "stroke-width": 9,
      }),
      ...(press ? [around(x1, y1, x2, y2)] : []),
      ...parts,
    );
    group.append(node);
    if (press)
      this.packets.push({
        ...more,
        label: this.all ? label.slice(label.indexOf(": ") + 2) : label,
        node,
        from: [x1 + offset[0], y1 + offset[1]],
        to: [x2 + offset[0], y2 + offset[1]],
      });
  }

  /** All packets as a list: lines in the picture are nearer to each other than a finger is wide. */
  listOf() {
    const names = this.packets.map((one) => `${one.kind} ${one.numbers}`),
      each = this.packets.filter((_, k) => names.indexOf(names[k]) === k); // a packet is in both transfers
    const list = element(
      "select",
      {
        "aria-label": `Drop a packet${this.all}, or let it pass`,
        onchange: () => list.selectedIndex && this.drop(each[list.selectedIndex - 1]),
      },
      element("option", {}, "Drop a packet …"),
      ...each.map(({ label }) => element("option", {}, label)),
    );
    return list;
  }

  /** One packet takes the focus of the keyboard; arrow keys go from one to the next. */
  reach(k, focus) {
    if (!this.packets.length) return;
    const at = Math.max(0, Math.min(this.packets.length - 1, k));
    this.packets.forEach((one, i) => one.node.setAttribute("tabindex", i === at ? "0" : "-1"));
    this.current = this.packets[at].key;
    if (!focus) return;
    this.packets[at].node.focus();
    this.chosen.textContent = this.packets[at].node.firstChild.textContent;
  }

  typed(event) {
    const k = this.packets.findIndex((one) => one.key === this.current),
      step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step || event.key === "Home" || event.key === "End") {
      event.preventDefault();
      this.reach(event.key === "Home" ? 0 : event.key === "End" ? Infinity : k + step, true);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.drop(this.packets[k]);
    }
  }

  /** The packet that the pointer means: the nearest one within reach. */
  nearest(svg, event) {
    const place = svg.getScreenCTM(),
      { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(place.inverse());
    let best = null,
      gap = REACH / place.a;
    for (const one of this.packets) {
      const far = distance([x, y], one.from, one.to);
      if (far < gap) [best, gap] = [one, far];
    }
    return best;
  }

  drop(one) {
    this.current = one.key;
    this.data.toggle(one.kind, one.numbers);
  }

  legends() {
    const sample = (colour, word, shape) =>
      element(
        "span",
        {},
        drawn(
          "svg",
          { width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" },
          drawn("path", { d: "M0,5H19", stroke: colour, "stroke-width": 2 }),
          shape,
        ),
        ` ${word}`,
      );
    return element(
      "p",
      { class: "legend" },
      sample(COLOURS[0], "data", drawn("circle", { cx: 20, cy: 5, r: 3.5, fill: COLOURS[0] })),
      sample(
        COLOURS[1],
        "duplicate",
        drawn("circle", { cx: 20, cy: 5, r: 4, fill: "none", stroke: COLOURS[1], "stroke-width": 2 }),
      ),
      ...(this.data.panels.some(({ leaps }) => leaps)
        ? [sample(COLOURS[2], "leap", drawn("circle", { cx: 20, cy: 5, r: 3.5, fill: COLOURS[2] }))]
        : []),
      sample(COLOURS[6], "ACK", drawn("path", { d: "M15,2L20,5L15,8", stroke: COLOURS[6], fill: "none" })),
      sample(
        "var(--faint)",
        "dropped",
        drawn("path", { d: "M17,1l7,7m0,-7l-7,7", stroke: "currentColor", "stroke-width": 2 }),
      ),
    );
  }

  rows() {
    return [
      ["sender", "packet", "sent at [s]", "segment, or the next expected one", "dropped"],
      ...this.data.panels.flatMap(({ name, sends, acks }) => [
        ...sends.map((one) => [name, "data", one.time, one.segment + 1, one.lost ? "yes" : "no"]),
        ...acks.map((one) => [name, "ACK", one.time, one.asks + 1, one.lost ? "yes" : "no"]),
      ]),
    ];
  }
  image() {
    return alone(this.box, this.spec.title);
  }
}

/** A packet's box, which takes no click: the nearest packet has it, however boxes overlap. */
const around = (x1, y1, x2, y2) => {
  const span = (a, b) => [(a + b - Math.max(TARGET, Math.abs(b - a))) / 2, Math.max(TARGET, Math.abs(b - a))],
    [x, width] = span(x1, x2),
    [y, height] = span(y1, y2);
  return drawn("rect", { x, y, width, height, fill: "none", "pointer-events": "none" });
};

/** How far a point is from a line between two. */
const distance = ([x, y], [ax, ay], [bx, by]) => {
  const long = (bx - ax) ** 2 + (by - ay) ** 2,
    t = long ? Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / long)) : 0;
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay));
};
