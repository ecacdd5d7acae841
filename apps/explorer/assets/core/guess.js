// @ts-check
// Guess first: with the switch on, pictures hide until the reader has drawn a curve, by pointer or by values at a few
// places, or chosen an answer. Then the answer is laid over the guess. A page offers choices by what it shows:
//   figures.chart.show({ ..., guess: { question: "Does it settle?", choices: ["yes", "no"], answer: "yes" } })
// A curve to draw has its question in words, and its quantity where the axis has several:
//   figures.users.show({ ..., asks: "What fraction is lost?", quantity: "fraction lost" })
import { element } from "./dom.js";
import { between, brief, percent } from "./numbers.js";
import { picture } from "./pages.js";
import { placeText, roundPlaces } from "./plane.js";

const PLACES = 61;
/** A value as a length on its axis, and the value of a length. */
const scaleOf = (log) => (log ? [Math.log10, (at) => 10 ** at] : [(x) => x, (at) => at]);
const finite = (row) => Array.from(row).filter(Number.isFinite);
const rises = (x) => x.length > 1 && Array.from(x).every((v, i) => Number.isFinite(v) && (i === 0 || v > x[i - 1]));

/** y at a place between the points of a curve. */
export const interpolated = (x, y, at) => {
  let i = 0;
  while (i < x.length - 2 && x[i + 1] < at) i++;
  return y[i] + ((y[i + 1] - y[i]) * (at - x[i])) / (x[i + 1] - x[i]);
};
/** From the least to the greatest value, with some room; from zero where that is near on a linear axis. */
const room = (values, log) => {
  const [length, value] = scaleOf(log),
    lengths = finite(values.map(length)),
    low = Math.min(...lengths),
    high = Math.max(...lengths),
    size = high - low || Math.abs(high) || 1;
  return [!log && low >= 0 && low < 0.5 * high ? 0 : low - 0.1 * size, high + 0.1 * size].map(value);
};

/**
 * The first curve that can be guessed, of one picture that which is marked `asked`: {figure, curves: what is guessed
 * first, ranges, titles}; none on a page without.
 */
const question = (figures) => {
  for (const figure of figures) {
    const { data } = figure,
      lines = (data.series || []).filter((s) => !s.kind);
    if (figure.spec.kind !== "curves" || !lines.length || !rises(data.x)) continue;
    const ordered = [...lines].sort((a, b) => Number(Boolean(b.asked)) - Number(Boolean(a.asked)));
    const curves = ordered.map((s) => ({ name: s.name, x: data.x, y: s.y }));
    return {
      figure,
      curves,
      asks: data.asks,
      quantity: data.quantity,
      xTitle: data.xTitle,
      yTitle: data.yTitle,
      xPercent: data.xPercent,
      yPercent: data.yPercent,
      xLog: data.xLog,
      yLog: data.log,
      xRange: [data.x[0], data.x[data.x.length - 1]],
      yRange:
        data.range ||
        room(
          curves.flatMap((c) => finite(c.y)),
          data.log,
        ),
    };
  }
  for (const figure of figures) {
    const curves = (figure.data.lines || []).filter((line) => !line.points && !line.area && rises(line.x));
    if (curves.length) return { figure, curves, ...figure.data };
  }
  return null;
};

/**
 * Mean distance of a guess from a curve over the places that both have, and the ends of these places; on a logarithmic
 * axis the distance is a factor.
 */
export const distance = (places, values, { x, y }, log = false) => {
  const gaps = [],
    [length, value] = scaleOf(log);
  places.forEach((at, i) => {
    const gap = Math.abs(length(values[i]) - length(interpolated(x, y, at)));
    if (Number.isFinite(gap)) gaps.push([at, gap]);
  });
  return gaps.length
    ? { mean: value(gaps.reduce((sum, [, gap]) => sum + gap, 0) / gaps.length), from: gaps[0][0], to: gaps.at(-1)[0] }
    : null;
};

/** A panel to draw in: axes without the answer, values at a few places, and the answer on demand. */
const drawing = (asked, reveal) => {
  const {
    curves: [curve],
    curves,
    xTitle,
    yTitle,
    xPercent,
    yPercent,
    xLog,
    yLog,
    xRange,
    yRange,
  } = asked;
  const unit = (/\[(.*)\]$/.exec(yTitle) || ["", ""])[1],
    quantity = asked.quantity || yTitle.replace(/ \[.*\]$/, ""),
    inUnits = (x) => (yPercent ? percent(x) : `${brief(Number(x.toPrecision(3)))}${unit ? ` ${unit}` : ""}`);
  const at = (x) => placeText(x, xLog, xPercent),
    [, across, of] = /^(.*?)(?: \[(.*)\])?$/.exec(xTitle);
  const [xLength, xValue] = scaleOf(xLog),
    [yLength, yValue] = scaleOf(yLog),
    [left, right] = xRange.map(xLength),
    [bottom, top] = yRange.map(yLength),
    /** The place that is nearest to an x. */
    nearest = (x) =>
      Math.max(0, Math.min(PLACES - 1, Math.round(((xLength(x) - left) / (right - left)) * (PLACES - 1)))),
    lengths = Array.from(between(left, right, PLACES)),
    round = roundPlaces(xRange, xLog).map((x) => [nearest(x), x]);
  for (const [place, x] of round) lengths[place] = xLength(x);
  const places = lengths.map(xValue),
    known = new Map(); // place -> length on the y axis
  const box = element("div", { class: "guess-picture" }),
    said = element("p", { class: "guess-answer", role: "status" });
  const plane = picture("plane", box, {
    name: "guess",
    title: "Your guess",
    alt: `Axes to draw in: ${asked.quantity || yTitle} against ${xTitle}`,
  });
  let last = null,
    answered = false;

  /** The guess at each place: straight between those that are known, none beyond them. */
  const values = () => {
    const at = [...known.keys()].sort((a, b) => a - b);
    return lengths
      .map((_, i) =>
        at.length > 1 && i >= at[0] && i <= at.at(-1)
          ? interpolated(
              at.map((k) => lengths[k]),
              at.map((k) => known.get(k)),
              lengths[i],
            )
          : (known.get(i) ?? NaN),
      )
      .map(yValue);
  };
  const show = () =>
    plane.show({
      xTitle,
      yTitle: answered ? yTitle : asked.quantity || yTitle,
      xPercent,
      yPercent,
      xLog,
      yLog,
      xRange,
      yRange,
      pick: answered ? undefined : pick,
      lines: [...(answered ? curves : []), { name: "your guess", x: places, y: values(), dash: answered }],
    });
  const pick = (x, y) => {
    const i = nearest(x),
      value = Math.max(bottom, Math.min(top, yLength(y)));
    if (last)
      for (let k = Math.min(i, last[0]) + 1; k < Math.max(i, last[0]); k++)
        known.set(k, last[1] + ((value - last[1]) * (k - last[0])) / (i - last[0]));
    known.set(i, value);
    last = [i, value];
    show();
    handles.forEach(({ slider, place }) => known.has(place) && (slider.value = known.get(place)));
  };
  box.addEventListener(
    "pointerdown",
    () => {
      last = null;
    },
    true,
  );

  const handles = round.map(([place, x], h) => {
    const id = `guess-${h}`,
      neighbours = [round[h - 1]?.[0] ?? -1, round[h + 1]?.[0] ?? PLACES];
    const slider = element("input", {
      type: "range",
      id,
      min: bottom,
      max: top,
      step: (top - bottom) / 100,
      value: (bottom + top) / 2,
      oninput: () => {
        // A value by hand holds until the next place; what was drawn between the two gives way.
        for (const k of [...known.keys()]) if (k !== place && k > neighbours[0] && k < neighbours[1]) known.delete(k);
        known.set(place, Number(slider.value));
        slider.setAttribute("aria-valuetext", `${inUnits(yValue(Number(slider.value)))}`);
        show();
      },
    });
    slider.setAttribute("aria-valuetext", "no guess yet");
    return {
      place,
      slider,
      row: element(
        "div",
        { class: "control" },
        element("label", { for: id }, `${quantity} at ${across} ${at(x)}${of ? ` ${of}` : ""}`),
        slider,
      ),
    };
  });
  const button = element(
    "button",
    {
      type: "button",
      onclick: () => {
        if (answered) return restart();
        const off = distance(places, values(), curve, yLog);
        if (!off) {
          said.textContent = "Draw a curve first, or choose values.";
          return;
        }
        answered = true;
        show();
        const over =
          off.from > places[0] || off.to < places.at(-1)
            ? `, from ${at(off.from)} to ${at(off.to)}${of ? ` ${of}` : ""} where you drew it`
            : "";
        const far = yLog ? `a factor of ${brief(Number(off.mean.toPrecision(3)))}` : inUnits(off.mean);
        said.textContent = `Your guess is ${far} from the answer (${curve.name}) on average${over}.`;
        button.textContent = "Guess again";
        reveal();
      },
    },
    "Show the answer",
  );
  const restart = () => asked.restart();
  const panel = element(
    "div",
    { class: "guess-panel" },
    element(
      "p",
      {},
      `${asked.asks || `What is the ${quantity} at each ${across}?`} Draw it with the pointer, or choose values:`,
    ),
    box,
    element(
      "form",
      { class: "guess-handles", "aria-label": "Values of your guess", onsubmit: (event) => event.preventDefault() },
      ...handles.map((h) => h.row),
    ),
    element("p", { class: "actions" }, button),
    said,
  );
  return { panel, show, figure: asked.figure };
};

/** A panel with words to choose from. */
const choosing = ({ question: text, choices, answer }, reveal, restart) => {
  const said = element("p", { class: "guess-answer", role: "status" });
  let answered = false;
  const buttons = choices.map((word, i) =>
    element("input", { type: "radio", name: "guess-choice", id: `guess-${i}`, value: word }),
  );
  const button = element(
    "button",
    {
      type: "button",
      onclick: () => {
        if (answered) return restart();
        const chosen = buttons.find((one) => one.checked);
        if (!chosen) {
          said.textContent = "Choose one first.";
          return;
        }
        answered = true;
        said.textContent =
          chosen.value === answer ? `Right: ${answer}.` : `You chose ${chosen.value}; the answer is ${answer}.`;
        button.textContent = "Guess again";
        reveal();
      },
    },
    "Show the answer",
  );
  const panel = element(
    "fieldset",
    { class: "guess-panel" },
    element("legend", {}, text),
    ...buttons.map((one, i) => element("p", {}, one, element("label", { for: one.id }, ` ${choices[i]}`))),
    element("p", { class: "actions" }, button),
    said,
  );
  return { panel, show() {}, figure: null };
};

/** Where there is no curve and no choice: the answer on demand. */
const bare = (reveal) => {
  const shown = () => {
    reveal();
    panel.remove();
  };
  const button = element("button", { type: "button", onclick: shown }, "Show the answer");
  const panel = element(
    "div",
    { class: "guess-panel" },
    element("p", {}, "Say what you expect, then look."),
    element("p", { class: "actions" }, button),
  );
  return { panel, show() {}, figure: null };
};

/** Whether an address has the switch on. */
const inAddress = () => new URLSearchParams(location.search || location.hash.slice(1)).get("guess") === "first";

/** The switch of a page, to be put above its pictures; `changed` follows each turn of it. */
export const first = (root, figures, changed, signal) => {
  const all = Object.values(figures);
  let open = null;
  const close = () => {
    if (!open) return;
    open.panel.remove();
    if (open.figure) {
      open.figure.box.hidden = false;
      open.figure.resize(); // the window may have changed meanwhile
    }
    open = null;
  };
  const reveal = () => root.classList.remove("guess");
  const start = () => {
    close();
    root.classList.toggle("guess", box.checked);
    if (!box.checked) return;
    const chosen = all.find((figure) => figure.data && figure.data.guess),
      asked = chosen ? null : question(all);
    if (chosen) open = choosing(chosen.data.guess, reveal, start);
    else if (asked) open = drawing({ ...asked, restart: start }, reveal);
    else open = bare(reveal);
    if (open.figure) {
      open.figure.box.before(open.panel);
      open.figure.box.hidden = true;
    } else line.after(open.panel);
    open.show();
  };
  const box = element("input", {
    type: "checkbox",
    id: "guess",
    checked: inAddress(),
    onchange: () => {
      start();
      changed();
    },
  });
  const line = element(
    "p",
    { class: "guess-first" },
    box,
    element("label", { for: "guess" }, " Guess first: hide the answers until you have a guess"),
  );
  root.addEventListener("drawn", () => box.checked && start(), { signal }); // other parameters, another question
  addEventListener("resize", () => open && open.show(), { signal });
  return line;
};
