// @ts-check
// What a page asks a server for: answers, and functions that the library printed.
import { element } from "./dom.js";

export const SILENT = "the explorer does not answer; start it again";
const printed = {},
  waiting = {};

/**
 * An answer of the server; throws an Error with the server's sentence, or, where there is none, with ours (`silent`).
 * @param {string} address
 * @param {RequestInit} [options]
 */
export const get = async (address, options) => {
  const answer = await fetch(address, options).catch((error) => {
    throw error.name === "AbortError" ? error : Object.assign(new Error(SILENT), { silent: true });
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer;
};

/** A script, once it has run and `there` says that it did its work; the next call tries again. */
export const script = (src, there) =>
  new Promise((resolve, reject) => {
    const failed = () => {
      node.remove();
      reject(new Error(location.protocol === "file:" ? `${src} cannot be read; export the pages again` : SILENT));
    };
    const node = element("script", { src, onload: () => (there() ? resolve() : failed()), onerror: failed });
    document.head.append(node);
  });

/** What a printed function's script calls. */
export const register = (slug, key, made) => {
  printed[`${slug}/${key}`] = made;
};

const keyOf = (p, values) => [p.name, ...p.shape.map((k) => String(values[k]))].join("-");

/** The text of a packed file, which puts itself under a name. @param {string} src @param {string} name */
export const unpacked = async (src, name) => {
  const packs = window["explorer"].packs;
  await script(src, () => packs[name]);
  const bytes = Uint8Array.from(atob(packs[name]), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

/** A page's functions of all shapes, packed into one file. */
const unpack = async (spec) => {
  const text = await unpacked(spec.packed, spec.script);
  const address = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  await script(address, () => true);
  URL.revokeObjectURL(address);
};

/** The function, at once where it is there, else a promise of it. */
export const load = (spec, p, values) => {
  const key = keyOf(p, values),
    whole = `${spec.script}/${key}`;
  if (printed[whole]) return printed[whole];
  const asked = spec.packed ? spec.script : whole;
  waiting[asked] ||= (
    spec.packed ? unpack(spec) : script(`${spec.functions}${spec.script}/${key}.js`, () => printed[whole])
  ).finally(() => delete waiting[asked]);
  return waiting[asked].then(() => printed[whole]);
};

/** Functions that the values need: those that are there by name, and promises of the others. */
export const functionsOf = (spec, values) => {
  const functions = {},
    missing = [];
  for (const p of spec.printed.filter((one) => !one.lazy)) {
    const f = load(spec, p, values);
    if (f instanceof Promise) missing.push(f);
    else functions[p.name] = f;
  }
  return { functions, missing };
};

const asked = {},
  later = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * The JSON of an answer of the page; throws an Error with the server's sentence. A question ends the one before it of
 * the same name (an AbortError), and waits while the server is busy.
 */
export const ask = async (spec, name, values, typed = "") => {
  const key = `${spec.slug}/${name}`,
    mine = new AbortController();
  if (asked[key]) asked[key].abort();
  asked[key] = mine;
  for (let wait = 120; ; wait = 1000) {
    await later(wait); // a slider that moves asks once
    const answer = await get(`${spec.answers}${key}?${new URLSearchParams({ ...values, typed })}`, {
      signal: mine.signal,
    });
    const json = await answer.json();
    if (json.refused) throw new Error(json.refused);
    if (!json.busy) return json;
  }
};

/** Plotly, for a figure that a reader opens with zoom and hover: the one that the Python package has. */
export const plotly = async (spec) => {
  const there = () => window["Plotly"];
  if (!there()) await (waiting.plotly ||= script(spec.plotly, there).finally(() => delete waiting.plotly));
  return window["Plotly"];
};
