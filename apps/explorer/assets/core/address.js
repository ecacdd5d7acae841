// @ts-check
// Values from a page's address, as apps/explorer/page.py reads them; a test holds the two against each other.
import { number } from "./numbers.js";

export const MAX_ADDRESS = 4096,
  MAX_WORDS = 100;
/** Names of a page that a complaint lists. */
const MOST_NAMED = 8;
const NOT_EMBEDDED = "this page cannot be embedded; Home, Packets, Stacks, claims' figures and pages with sliders can";
/** Words of an address that are no controls, and what each may be: hidden answers, a frame, one picture, a step. */
const othersOf = ({ figures = [], article = false }) =>
  new Map(
    Object.entries({
      ...(article ? { step: null } : { embed: ["1"] }),
      ...(figures.length && !article ? { guess: ["first"], figure: figures.map((f) => f.name) } : {}),
    }),
  );

/** What Python does not print. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
/** A character by its code, as Python writes it. @param {string} one */
const byCode = (one) => {
  const code = /** @type {number} */ (one.codePointAt(0));
  const [letter, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return SHORT[one] || `\\${letter}${code.toString(16).padStart(digits, "0")}`;
};

/** The first words of a text, as Python would show them in quotes. @param {string} text */
const quoted = (text) => {
  const words = cut(text),
    quote = words.includes("'") && !words.includes('"') ? '"' : "'",
    plain = words.replace(/\\/g, "\\\\").replace(HIDDEN, byCode);
  return quote + plain.replaceAll(quote, quote === "'" && words.includes('"') ? "\\'" : quote) + quote;
};
/** Its first characters. @param {string} text */
const cut = (text) => [...text.slice(0, 80)].slice(0, 40).join("");

/**
 * A sentence of what is wrong with the value of a control, or null; `name` and `range` as the reader sees them: those
 * of an address, or of a field.
 */
export const refusal = (
  c,
  x,
  text,
  name = c.meaning ? `${c.meaning} (\`${c.name}\`)` : `\`${c.name}\``,
  range = c.range,
) => {
  const got = `got ${quoted(text)}`,
    whole = c.step === 1;
  if (c.lines) return [...text].length > c.longest ? `${name} must have at most ${c.longest} characters` : null;
  if (c.choices) return c.choices.includes(text) ? null : `${name} must be one of ${c.choices.join(", ")}, ${got}`;
  if (x >= c.low && x <= c.high && !(whole && x !== Math.floor(x))) return null;
  return `${name} must be a ${whole ? "whole " : ""}number ${range}, ${got}`;
};

/** Names and texts of an address: those after ? or, of a file, after #. */
export const wordsOf = (written) => [...new URLSearchParams(written)];

/**
 * Values of the controls, and a sentence for each word that was refused (its default is taken). A page without sliders
 * has no `others`.
 * @param {{ controls: any[], figures?: any[], article?: boolean }} spec
 * @param {string} written
 * @returns {[Record<string, any>, string[]]}
 */
export const readAddress = (spec, written, others = othersOf(spec)) => {
  const values = Object.fromEntries(spec.controls.map((c) => [c.name, c.start])),
    complaints = [];
  const words = wordsOf(written);
  if (written.length > MAX_ADDRESS)
    return [values, [`the address is longer than ${MAX_ADDRESS} characters and was not read`]];
  if (written.split("&").length > MAX_WORDS)
    return [values, [`the address has more than ${MAX_WORDS} words and was not read`]];
  const twice = words.map(([name]) => name).find((name, i, all) => all.indexOf(name) < i);
  if (twice !== undefined) return [values, [`the address has ${cut(twice)} twice and was not read`]];
  const known = new Map(words);
  for (const c of spec.controls) {
    const text = known.get(c.name);
    if (text === undefined) continue;
    const x = c.choices || c.lines ? text : text.search(HIDDEN) < 0 ? number(text, c.unit) : NaN,
      why = refusal(c, x, text);
    if (why) complaints.push(`${why}; ${c.shown || c.start} is shown`);
    else values[c.name] = x;
    known.delete(c.name);
  }
  for (const [name, may] of others) {
    const text = known.get(name);
    if (may && text !== undefined && !may.includes(text))
      complaints.push(`\`${name}\` must be ${may.length > 1 ? "one of " : ""}${may.join(", ")}, got ${quoted(text)}`);
    known.delete(name);
  }
  const strange = [...known.keys()].sort()[0];
  if (strange !== undefined) {
    const names = spec.article ? [] : spec.controls.map((c) => c.name);
    names.sort((a, b) => Number(b.includes(strange)) - Number(a.includes(strange))); // base_rtt first for rtt
    const listed = names.slice(0, MOST_NAMED).join(", ") + (names.length > MOST_NAMED ? ", ..." : ""),
      has = names.length ? `; it has ${listed}` : "";
    complaints.push(strange === "embed" ? NOT_EMBEDDED : `this page has no ${quoted(strange)}${has}`);
  }
  return [values, complaints];
};

/** A value in an address; what may stand there stays as it is, since a model is long. @param {any} value */
const encoded = (value) =>
  encodeURIComponent(value)
    .replace(/%(3D|2F|2C|3A)/g, (code) => decodeURIComponent(code))
    .replaceAll("%20", "+");

/** The words of values that differ from a fresh page's. */
export const writtenOf = (spec, values) =>
  spec.controls
    .filter((c) => values[c.name] !== c.start)
    .map((c) => `${c.name}=${encoded(values[c.name])}`)
    .join("&");

/** Change the words of the page's address: a served page's after ?, a file's after #. */
export const rewrite = (served, words) =>
  history.replaceState(null, "", served ? location.pathname + (words ? `?${words}` : "") : `#${words}`);

/** The address of a page of the explorer, from a served page or a file. */
export const pageAddress = (spec, slug, words = "") => {
  const first = slug === "home";
  if (spec.answers) return `/${first ? "" : slug}${words ? `?${words}` : ""}`;
  return `${first ? "index" : slug}.html${words ? `#${words}` : ""}`;
};
