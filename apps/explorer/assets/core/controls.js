// @ts-check
// Sliders and choices, with the exact value beside each slider.
import { refusal } from "./address.js";
import { element, maths } from "./dom.js";
import { exactPercent, inField, title, typedNumber, withUnit } from "./numbers.js";

/** Names within the words of an address, as people write them. */
const NAMES = {
  bbr: "BBR",
  codel: "CoDel",
  cubic: "CUBIC",
  droptail: "drop-tail",
  fq_codel: "FQ-CoDel",
  linux: "Linux",
  newreno: "NewReno",
  ns2: "ns-2",
  red: "RED",
  reno: "Reno",
  rfc: "RFC",
  rtt: "RTT",
  rtts: "RTTs",
  sack: "SACK",
  sfq: "SFQ",
  tahoe: "Tahoe",
};

/** A word of an address as people write it: "users on a link", "RTTs 5 percent apart"; names keep their hyphens. */
export const spaced = (word) =>
  word.replace(/(?<!^(?:cross|drop|semi))-(?=[a-z]|\d+-[a-z])/gi, " ").replace(/\w+/g, (part) => NAMES[part] || part);

const chooser = (c, values, changed) => {
  const id = `control-${c.id || c.name}`,
    means = element("small", { id: `${id}-means` });
  const list = element(
    "select",
    {
      id,
      onchange: () => {
        values[c.name] = list.value;
        put(list.value);
        changed();
      },
    },
    ...c.choices.map((word) => element("option", { value: word, selected: word === values[c.name] }, spaced(word))),
  );
  const put = (word) => {
    list.value = word;
    means.textContent = c.meanings[word] || "";
  };
  put(values[c.name]);
  const box = element(
    "div",
    { class: "control", "data-control": c.name },
    element("label", { for: id }, c.meaning),
    list,
    ...(Object.keys(c.meanings).length ? [means] : []),
  );
  return { box, put, input: list };
};

const sliding = (c, values, changed) => {
  const id = `control-${c.id || c.name}`;
  const scale = c.log ? Math.log10 : (x) => x,
    back = c.log ? (x) => 10 ** x : (x) => x;
  const [low, high] = [scale(c.low), scale(c.high)];
  const slider = element("input", {
    type: "range",
    id,
    min: low,
    max: high,
    step: c.log ? ((high - low) / 500) * (1 - 1e-9) : c.step,
    value: scale(values[c.name]),
  });
  const exact = element("input", {
    type: "text", // one for numbers drops a comma without a word
    inputmode: c.low < 0 ? "text" : "decimal",
    autocomplete: "off",
    class: "exact",
    value: inField(c, values[c.name]),
    "aria-label": `${c.meaning}, exact value`,
    "aria-describedby": `${id}-wrong`,
  });
  const said = element("p", { class: "wrong", id: `${id}-wrong`, role: "status" });
  /** What is said of the field stands below it, until the value changes. */
  const say = (words, wrong = false) => {
    said.textContent = words;
    exact.setAttribute("aria-invalid", String(wrong));
  };
  /** A slider in decades stands at a power of ten; what is read aloud is the value. */
  const aloud = () => slider.setAttribute("aria-valuetext", withUnit(c, values[c.name]));
  const put = (x) => {
    exact.value = inField(c, x);
    slider.value = scale(x);
    say("");
    aloud();
  };
  aloud();
  slider.addEventListener("input", () => {
    const x = back(Number(slider.value));
    values[c.name] = c.step === 1 ? Math.round(x) : Number(x.toPrecision(6));
    exact.value = inField(c, values[c.name]);
    say("");
    aloud();
    changed(true);
  });
  exact.addEventListener("change", () => {
    const typed = exact.value.trim(),
      per = c.percent && !/[%/]|^$/.test(typed) ? " %" : "", // a number without a unit has the field's
      [x, comma] = typedNumber(typed + per, c.unit),
      read = per && x <= 0.01 ? `${comma} ${typed} is read as ${exactPercent(x)}.`.trim() : comma,
      ends = `from ${inField(c, c.low)} to ${withUnit(c, c.high)}`,
      why = refusal(c, x, typed, c.meaning, ends);
    if (why) return say(`${why}. ${read} Type another; ${withUnit(c, values[c.name])} is used.`, true);
    values[c.name] = x;
    put(x);
    say(read);
    changed();
  });
  const label = element("label", { for: id }, title(c.meaning, c.unit), " ", element("i", {}, ...maths(c.symbol)));
  return {
    box: element("div", { class: "control", "data-control": c.name }, label, slider, exact, said),
    put,
    input: slider,
  };
};

/** Lines that a reader types; below them is room for what the page's own script makes of them. */
const textual = (c, values, changed) => {
  const id = `control-${c.id || c.name}`;
  const area = element("textarea", {
    id,
    rows: c.lines,
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
  });
  const put = (text) => {
    if (area.value !== text) area.value = text;
  };
  put(values[c.name]);
  area.addEventListener("input", () => {
    values[c.name] = area.value;
    changed(true);
  });
  const wrong = element("p", { class: "complaint", id: `${id}-wrong`, role: "status" });
  area.setAttribute("aria-describedby", wrong.id);
  const label = element("label", { for: id }, c.meaning),
    made = element("div", { class: "made", id: `${id}-made` });
  return {
    box: element("div", { class: "control text", "data-control": c.name }, label, area, wrong, made),
    put,
    input: area,
  };
};

/**
 * Controls by name: { box, put(value), input }. `changed(moving)` follows each change of `values`.
 * @param {any[]} controls
 */
export const controlsOf = (controls, values, changed) =>
  Object.fromEntries(
    controls.map((c) => [c.name, (c.lines ? textual : c.choices ? chooser : sliding)(c, values, changed)]),
  );

/** Whether a control counts at values: of a choice that is made, and from a value of another control on. */
export const counts = (c, spec, values) => {
  const chosen = spec.controls.filter((one) => one.choices).map((one) => values[one.name]);
  if (c.only && c.only.length && !c.only.some((word) => chosen.includes(word))) return false;
  return !(c.shown_from && values[c.shown_from[0]] < c.shown_from[1]);
};

/** The nearest value that a control can have. */
export const within = (c, x) => {
  if (c.lines) return x;
  const inside = Math.min(c.high, Math.max(c.low, x));
  return c.step === 1 ? Math.round(inside) : Number(inside.toPrecision(4));
};
