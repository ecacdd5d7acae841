// @ts-check
// A model that a reader typed, as the lines of Python that solve it with the library.
import { parsed, written, Wrong } from "./equations.js";

/** @typedef {import("./equations.js").Node} Node */
/** @typedef {import("./equations.js").Model} Model */

const BINDING = { "+": 1, "-": 1, neg: 2, "*": 2, "/": 2, "^": 4 };
const SYMPY = { abs: "Abs", min: "Min", max: "Max" };

/** A number of Python: whole ones below a million stay whole, so that powers are exact. @param {number} x */
const numeral = (x) => (Number.isInteger(x) && Math.abs(x) >= 1e6 && !/e/.test(`${x}`) ? `${x}.0` : `${x}`);

/** Abbreviations that the equations need, each after those that it needs. @param {Model} model */
const inOrder = ({ short, states }) => {
  const ordered = /** @type {Set<string>} */ (new Set());
  /** @param {any} node */
  const need = (node) => {
    if (node.kind === "name" && short.has(node.name) && !ordered.has(node.name)) {
      need(short.get(node.name));
      ordered.add(node.name);
    }
    if (node.kind !== "past") (node.args || []).forEach(need);
  };
  for (const { slope } of states) need(slope);
  return [...ordered];
};

/**
 * The lines that make a model as a problem of the library.
 * @param {Model} model
 * @param {string[]} reserved names that the lines around them need
 * @param {ArrayLike<number>} start of each state, a number
 */
export const problemOf = (model, reserved, start) => {
  const kind = model.pasts.length ? "DDE" : "ODE",
    parameters = model.parameters.map((one) => one.name),
    states = model.states.map((one) => one.name);
  const used = new Set([...states, ...parameters, ...model.short.keys()]);
  const free = (name, but) => {
    while (but.has(name)) name += "_";
    used.add(name);
    return name;
  };
  const pasts = model.pasts.map(({ state, delay }) => {
    const { kind: of, name } = model.delays[delay];
    return free(`${states[state]}_${of === "name" ? name : "past"}`, used);
  });
  const out = new Set(reserved),
    renamed = new Map(
      [...used].map((name) => [name, out.has(name) ? free(name, new Set([...reserved, ...used])) : name]),
    );
  const named = (name) => renamed.get(name) || name;
  /** @param {Node} node @returns {string} */
  const text = (node, binding = 0) => {
    const [first, second] = node.args || [];
    if (node.kind === "number") {
      const value = Number(node.value);
      return value < 0 && binding ? `(${numeral(value)})` : numeral(value);
    }
    if (node.kind === "name") return named(node.name);
    if (node.kind === "past") {
      const delay = model.keys.indexOf(written(first));
      return named(pasts[model.pasts.findIndex((one) => one.delay === delay && states[one.state] === node.name)]);
    }
    const strength = BINDING[node.kind];
    if (!strength)
      return `sympy.${SYMPY[node.kind] || node.kind}(${(node.args || []).map((one) => text(one)).join(", ")})`;
    const sign = strength === 1 ? ` ${node.kind} ` : node.kind;
    const out =
      node.kind === "neg"
        ? `-${text(first, 3)}`
        : node.kind === "^"
          ? `${text(first, 5)}**${text(second, 5)}`
          : `${text(first, strength)}${sign}${text(second, strength + 1)}`;
    return strength < binding ? `(${out})` : out;
  };
  const symbols = [...states, ...pasts, ...parameters, ...(model.driven ? ["t"] : [])];
  const dictionary = (names, values) => `{${names.map((name, i) => `"${name}": ${numeral(values[i])}`).join(", ")}}`;
  const delayed = model.pasts.map(
    ({ state, delay }, i) => `        "${pasts[i]}": Delayed("${states[state]}", ${text(model.delays[delay])}),`,
  );
  return [
    ...symbols.map((name) => `${named(name)} = sympy.Symbol("${name}")`),
    ...inOrder(model).map((name) => `${named(name)} = ${text(/** @type {Node} */ (model.short.get(name)))}`),
    `problem = ${kind}(`,
    "    rhs={",
    ...model.states.map(({ name, slope }) => `        "${name}": ${text(slope)},`),
    "    },",
    ...(delayed.length ? ["    delayed={", ...delayed, "    },"] : []),
    `    parameters=${dictionary(
      parameters,
      model.parameters.map((one) => one.value),
    )},`,
    `    start=${dictionary(states, start)},`,
    ")",
  ].join("\n");
};

/** What a picture's function takes beside the problem. @type {Record<string, (model: Model) => string>} */
const MORE = { motion: (model) => `, ${numeral(model.end)}`, roots: () => "" };
const axes = (model) => {
  const ends = model.axes.map((i) => model.parameters[i]);
  const tuple = ({ low, high, log }) => `(${numeral(low)}, ${numeral(high)}, ${log ? "True" : "False"})`;
  return `, {${ends.map((one) => `"${one.name}": ${tuple(one)}`).join(", ")}}`;
};

/**
 * The program that gives a picture's numbers.
 * @param {string} said what was typed
 * @param {string} name of the picture, and of the function that gives its numbers
 * @param {{ functions: Record<string, string>, reserved: string[] }} facts what the functions are made of
 * @param {(model: Model) => ArrayLike<number>} startOf
 */
export const programOf = (said, name, { functions, reserved }, startOf) => {
  let model, start;
  try {
    model = parsed(said);
    start = Array.from(startOf(model));
    if (!start.every(Number.isFinite)) throw new Wrong("a start is no finite number");
  } catch (error) {
    if (error instanceof Wrong) return `# ${error.message}\n`;
    throw error;
  }
  const needs = `import sympy\nfrom tcpdynamics.solvers import ${model.pasts.length ? "DDE, Delayed" : "ODE"}`;
  const call = `table = ${name}(problem${(MORE[name] || axes)(model)})\nprint(table.to_csv(index=False))\n`;
  return [`${needs}\n${functions[name]}`, problemOf(model, reserved, start), call].join("\n\n\n");
};
