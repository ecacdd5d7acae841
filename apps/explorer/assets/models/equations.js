// @ts-check
// Equations that a reader types, by a grammar of their own; nothing of a text is run.

export const LIMITS = {
  characters: 2000,
  states: 4,
  delays: 4,
  parameters: 6,
  operations: 400,
  depth: 30,
  nested: 5,
  name: 20,
};
/** Functions, and how many arguments they have. */
export const FUNCTIONS = { exp: 1, log: 1, sqrt: 1, sin: 1, cos: 1, tanh: 1, abs: 1, min: 2, max: 2 };
/** Names with a meaning in a text, or in the library's results. */
const WORDS =
  "t in chart state time length packets level flow root equilibrium step crossing direction iterate extremum"
    .split(" ")
    .concat("cycle", "status", Object.keys(FUNCTIONS));
const TOKEN = new RegExp(
  "[ \\t\\r]*(?:([0-9]+(?:\\.(?!\\.)[0-9]*)?(?:[eE][-+]?[0-9]+)?|\\.[0-9]+(?:[eE][-+]?[0-9]+)?)|" +
    "([A-Za-z][A-Za-z0-9_]*)|(\\.\\.|[-+*/^()=',]))",
  "y",
);
/** Characters of printed texts, and what stands for them here. */
const TYPOGRAPHIC = /** @type {const} */ ([
  ["\u2019\u2018\u2032\u00b4`", "'"],
  ["\u00b7\u00d7\u22c5\u2217", "*"],
  ["\u00f7\u2215", "/"],
  ["\u00b2", "^2"],
  ["\u00b3", "^3"],
]);
/** Of a delay and of a start. */
const CONSTANT = "only numbers and parameters can stand in a delay or a start";
/** Time that is shown where a text says none. */
const END = 50;

/**
 * A part of an expression: a number, `t`, a state, a parameter, an abbreviation (by name), a state's past, or an
 * operation.
 * @typedef {{ kind: string, value?: number, name?: string, args?: Node[], at?: Token, present?: boolean }} Node
 * @typedef {{ kind: string, text: string, line: number, from: number, to: number, column: number }} Token
 * @typedef {{ name: string, value: number, low: number, high: number, log: boolean, from: number, to: number,
 *   means: string }} Parameter
 * @typedef {{ states: { name: string, slope: Node, start: Node }[], parameters: Parameter[],
 *   short: Map<string, Node>, delays: Node[], keys: string[], pasts: { state: number, delay: number }[], end: number,
 *   axes: number[], driven: boolean }} Model
 */

/** What is wrong with a text, in a sentence. */
export class Wrong extends Error {}

/** @param {string} said @param {Token} [token] @returns {never} */
const refuse = (said, token) => {
  throw new Wrong(token ? `line ${token.line}, column ${token.column}: ${said}` : said);
};

/** @param {string} kind @param {number[]} args */
const computed = (kind, [a, b]) => {
  const ways = { "+": () => a + b, "-": () => a - b, "*": () => a * b, "/": () => a / b, "^": () => a ** b };
  return kind === "neg" ? -a : (ways[kind] || (() => Math[kind](a, ...(b === undefined ? [] : [b]))))();
};

/** The words of a line, and its end. @param {string} text @param {number} line @param {number} from */
const tokensOf = (text, line, from) => {
  const tokens = /** @type {Token[]} */ ([]),
    code = text
      .split("#")[0]
      .replace(/[ \t\r]+$/, "")
      .replace(/[\u2212\u2013]/g, "-"); // minus signs as texts have them
  const token = (kind, word, at) => ({
    kind,
    text: word,
    line,
    from: from + at,
    to: from + at + word.length,
    column: at + 1,
  });
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < code.length;) {
    const before = TOKEN.lastIndex,
      found = TOKEN.exec(code);
    if (!found) {
      const at = before + /** @type {any} */ (/^[ \t\r]*/.exec(code.slice(before)))[0].length;
      const letter = /^\p{L}/u.test(code.slice(at)),
        meant = TYPOGRAPHIC.find(([signs]) => signs.includes(code[at]));
      if (meant) refuse(`write ${meant[1]} instead of ${code[at]}`, token("", code[at], at));
      refuse(
        letter ? "names have letters from a to z, as in tau" : "this character means nothing here",
        token("", code[at], at),
      );
    }
    if (code.startsWith("...", TOKEN.lastIndex - 2))
      refuse("a range has two dots, as in 0..2", token("", "...", TOKEN.lastIndex - 2));
    const [, number, name, sign] = found,
      word = number ?? name ?? sign;
    tokens.push(token(number ? "number" : name ? "name" : "sign", word, TOKEN.lastIndex - word.length));
    if (name && name.length > LIMITS.name) refuse(`a name has at most ${LIMITS.name} characters`, tokens.at(-1));
  }
  return [...tokens, token("end", "", code.length)];
};

/** Reads the words of one line. */
class Reader {
  /** @param {Token[]} tokens @param {{ operations: number }} count */
  constructor(tokens, count) {
    this.tokens = tokens;
    this.count = count;
    this.place = 0;
    this.depth = 0;
  }

  get next() {
    return this.tokens[this.place];
  }

  is(text) {
    return this.next.kind !== "end" && this.next.text === text;
  }

  take() {
    return this.tokens[this.next.kind === "end" ? this.place : this.place++];
  }

  /** @param {string} text */
  expect(text) {
    if (!this.is(text)) this.refuse(`${text} is expected here`);
    return this.take();
  }

  name() {
    if (this.next.kind !== "name") refuse("a name is expected here", this.next);
    return this.take();
  }

  /** The state of a line that begins with dx/dt instead of x'; null of any other line. */
  quotient() {
    const [first, line, last] = this.tokens.slice(this.place);
    if (!/^d./.test(first.text) || line?.text !== "/" || last?.text !== "dt") return null;
    this.place += 3;
    return { ...first, text: first.text.slice(1), from: first.from + 1, column: first.column + 1 };
  }

  /** A name that a line defines: the next word, or the state of a quotient. */
  own(token = this.name()) {
    if (WORDS.includes(token.text)) refuse(`${token.text} has a meaning of its own; choose another name`, token);
    return token;
  }

  end() {
    if (this.next.kind !== "end") this.refuse("the line should end here");
  }

  /** What is wrong with the next word: after a number, a comma was meant as a decimal one. @param {string} said */
  refuse(said) {
    const before = this.tokens[this.place - 1],
      after = this.tokens[this.place + 1];
    const comma = this.is(",") && before?.kind === "number" && after.kind === "number";
    refuse(comma ? `a decimal number has a point, as in ${before.text}.${after.text}` : said, this.next);
  }

  /** A number with its sign, and the words that it is made of. */
  number() {
    const first = this.next,
      minus = this.is("-") && this.take();
    if (this.next.kind !== "number") refuse("a number is expected here", this.next);
    const token = this.take();
    return { value: (minus ? -1 : 1) * finite(token), token: first, from: first.from, to: token.to };
  }

  /** An operation; of numbers alone, its number. @param {string} kind @param {Node[]} args @param {Token} at */
  made(kind, args, at) {
    if (++this.count.operations > LIMITS.operations) tooMany();
    if (args.some((one) => one.kind !== "number")) return { kind, args, at };
    const value = computed(
      kind,
      args.map((one) => one.value),
    );
    if (!Number.isFinite(value)) refuse("this is no finite number", at);
    return { kind: "number", value, at };
  }

  /** @returns {Node} */
  sum() {
    if (++this.depth > LIMITS.depth) refuse(`at most ${LIMITS.depth} parentheses stand in one another`, this.next);
    let left = this.product();
    while (this.is("+") || this.is("-")) {
      const sign = this.take();
      left = this.made(sign.text, [left, this.product()], sign);
    }
    this.depth--;
    return left;
  }

  product() {
    let left = this.signed();
    while (this.is("*") || this.is("/")) {
      const sign = this.take();
      if (sign.text === "*" && this.is("*")) refuse("a power is written with ^, as in x^2", sign);
      left = this.made(sign.text, [left, this.signed()], sign);
    }
    const { kind, text } = this.next;
    if ((kind === "name" && text !== "in") || kind === "number" || this.is("("))
      refuse(`a * is missing between ${this.tokens[this.place - 1].text} and ${text}`, this.next);
    return left;
  }

  /** @returns {Node} */
  signed() {
    if (!this.is("-")) return this.power();
    const sign = this.take();
    if (++this.depth > LIMITS.depth) refuse(`at most ${LIMITS.depth} parentheses stand in one another`, sign);
    const node = this.made("neg", [this.signed()], sign);
    this.depth--;
    return node;
  }

  power() {
    const base = this.atom();
    if (!this.is("^")) return base;
    const sign = this.take();
    if (++this.depth > LIMITS.depth) refuse(`at most ${LIMITS.depth} parentheses stand in one another`, sign);
    const node = this.made("^", [base, this.signed()], sign);
    this.depth--;
    return node;
  }

  atom() {
    const token = this.next;
    if (this.is("(")) {
      this.take();
      const inside = this.sum();
      this.expect(")");
      return inside;
    }
    if (token.kind === "number") return { kind: "number", value: finite(this.take()), at: token };
    if (token.kind !== "name") refuse("a number, a name or ( is expected here", token);
    this.take();
    if (Object.hasOwn(FUNCTIONS, token.text)) return this.call(token);
    return this.is("(") ? this.past(token) : { kind: "name", name: token.text, at: token };
  }

  /** @param {Token} token */
  call(token) {
    this.expect("(");
    const args = [this.sum()];
    for (let i = 1; i < FUNCTIONS[token.text]; i++) {
      this.expect(",");
      args.push(this.sum());
    }
    this.expect(")");
    return this.made(token.text, args, token);
  }

  /** A state's past, x(t - delay), or x(t); more terms after the delay count as they stand. @param {Token} token */
  past(token) {
    this.expect("(");
    const functions = Object.keys(FUNCTIONS).join(", ");
    if (!this.is("t")) refuse(`${token.text} is no function; there are ${functions}; a past is x(t - 1)`, token);
    this.take();
    if (this.is(")")) {
      this.take();
      return { kind: "name", name: token.text, at: token, present: true };
    }
    if (!this.is("-")) refuse("a past is written with a delay, as in x(t - 1)", this.next);
    this.take();
    let delay = this.product();
    while (this.is("+") || this.is("-")) {
      const sign = this.take();
      delay = this.made(sign.text === "-" ? "+" : "-", [delay, this.product()], sign);
    }
    this.expect(")");
    return { kind: "past", name: token.text, args: [delay], at: token };
  }
}

/** @param {Token} token */
const finite = (token) => {
  const value = Number(token.text);
  return Number.isFinite(value) ? value : refuse("this is no finite number", token);
};
const tooMany = () => refuse(`the equations have more than ${LIMITS.operations} operations`);

/** An expression as a text by which two of them are the same. @param {Node} node @returns {string} */
export const written = (node) =>
  node.kind === "number"
    ? String(node.value)
    : `${node.kind}(${node.name || ""}${(node.args || []).map(written).join(",")})`;

/** What the lines of a text say, each by itself. @param {string} text */
const linesOf = (text) => {
  const count = { operations: 0 },
    lines = { slopes: [], starts: [], parameters: [], short: [], end: END, chart: /** @type {Token[]} */ ([]) },
    seen = new Set();
  const once = (token, name = token.text) => {
    if (seen.has(name)) refuse(`${token.text} has two lines of this kind`, token);
    seen.add(name);
  };
  let from = 0;
  text.split("\n").forEach((line, i) => {
    const read = new Reader(tokensOf(line, i + 1, from), count);
    from += line.length + 1;
    if (read.next.kind === "end") return;
    if (read.is("t") || read.is("chart")) {
      const word = read.take();
      once(word);
      if (word.text === "chart") {
        lines.chart.push(read.name());
        read.expect(",");
        lines.chart.push(read.name());
      } else {
        read.expect("in");
        const start = read.number();
        if (start.value !== 0) refuse("time begins at 0, as in t in 0..50", start.token);
        read.expect("..");
        const last = read.number();
        if (!(last.value > 0)) refuse("time ends after 0", last.token);
        lines.end = last.value;
      }
      read.end();
      return;
    }
    const state = read.quotient(),
      name = read.own(state || undefined);
    if (state || read.is("'")) {
      once(name);
      if (!state) read.take();
      if (read.is("'"))
        refuse(`write two equations of first order, as in ${name.text}' = v and v' = -${name.text}`, read.next);
      if (read.is("(")) {
        read.take();
        if (!read.is("t")) refuse(`a slope is written ${name.text}' = ... or ${name.text}'(t) = ...`, read.next);
        read.take();
        read.expect(")");
      }
      read.expect("=");
      lines.slopes.push({ name, node: read.sum() });
    } else if (read.is("(")) {
      once(name, `${name.text}(0)`);
      read.take();
      const zero = read.number();
      if (zero.value !== 0) refuse("a start is written x(0) = ...", zero.token);
      read.expect(")");
      read.expect("=");
      lines.starts.push({ name, node: read.sum() });
    } else {
      once(name);
      if (!read.is("=")) refuse("= or ' is expected here", read.next);
      read.take();
      const ahead = read.tokens.slice(read.place + (read.is("-") ? 1 : 0));
      if (ahead.length > 1 && ahead[0].kind === "number" && ahead[1].text === "in")
        lines.parameters.push(parameterOf(read, name, line));
      else lines.short.push({ name, node: read.sum() });
    }
    read.end();
  });
  return lines;
};

/** @param {Reader} read @param {Token} name @param {string} line @returns {Parameter} */
const parameterOf = (read, name, line) => {
  const value = read.number();
  read.expect("in");
  const low = read.number();
  read.expect("..");
  const high = read.number(),
    log = read.is("log");
  if (!(low.value < high.value)) refuse("a range ends above its beginning", high.token);
  if (log && !(low.value > 0)) refuse("a range with log begins above 0", low.token);
  if (!(low.value <= value.value && value.value <= high.value)) refuse("this lies outside its range", value.token);
  if (log) read.take();
  const note = line.includes("#") ? line.slice(line.indexOf("#") + 1).trim() : "";
  const ends = { low: low.value, high: high.value, log };
  return { name: name.text, value: value.value, ...ends, from: value.from, to: value.to, means: note };
};

/**
 * The model that a text says; throws `Wrong` with a sentence.
 * @param {string} text
 * @returns {Model}
 */
export const parsed = (text) => {
  const length = [...text].length;
  if (length > LIMITS.characters) refuse(`the text has ${length} characters; at most ${LIMITS.characters} are read`);
  const { slopes, starts, parameters, short, end, chart } = linesOf(text);
  if (!slopes.length) refuse("no line says how a state changes, as in x' = -k*x");
  if (slopes.length > LIMITS.states) refuse(`there are ${slopes.length} states; at most ${LIMITS.states} are read`);
  if (parameters.length > LIMITS.parameters)
    refuse(`there are ${parameters.length} parameters; at most ${LIMITS.parameters} are read`);

  const stateOf = new Map(slopes.map((one, i) => [one.name.text, i])),
    known = new Set(parameters.map((one) => one.name)),
    shorts = new Map(short.map((one) => [one.name.text, one.node]));
  const delays = /** @type {Node[]} */ ([]),
    keys = /** @type {string[]} */ ([]),
    pasts = /** @type {{ state: number, delay: number }[]} */ ([]),
    sizes = new Map(),
    fixedSizes = new Map(),
    used = new Set();
  let driven = false;
  /** Checks names; how many operations there are, with abbreviations written out. @returns {number} */
  const size = (node, constant, open) => {
    if (node.kind === "number") return 0;
    if (node.kind === "name") return named(node, constant, open);
    if (node.kind === "past") {
      if (constant) refuse(CONSTANT, node.at);
      if (!stateOf.has(node.name)) refuse(`${node.name} is no state, which alone have a past`, node.at);
      node.args[0] = fixed(node.args[0]);
      const words = written(node.args[0]),
        state = stateOf.get(node.name);
      if (!keys.includes(words)) {
        keys.push(words);
        delays.push(node.args[0]);
        if (delays.length > LIMITS.delays) refuse(`at most ${LIMITS.delays} delays are read`, node.at);
      }
      const delay = keys.indexOf(words);
      if (!pasts.some((one) => one.state === state && one.delay === delay)) pasts.push({ state, delay });
      return 0;
    }
    return node.args.reduce((sum, one) => sum + size(one, constant, open), 1);
  };
  const named = (node, constant, open) => {
    if (node.present && !stateOf.has(node.name)) refuse(`${node.name} is no state; write it without (t)`, node.at);
    if (known.has(node.name)) {
      used.add(node.name);
      return 0;
    }
    const moves = node.name === "t" || stateOf.has(node.name);
    if (!moves && !shorts.has(node.name))
      refuse(`${node.name} has no line; give it one, as in ${node.name} = 1 in 0..2`, node.at);
    if (moves && constant) refuse(CONSTANT, node.at);
    if (node.name === "t") driven = true;
    if (moves) return 0;
    if (open.includes(node.name)) refuse(`${node.name} is defined by itself`, node.at);
    if (open.length === LIMITS.nested) refuse(`at most ${LIMITS.nested} abbreviations stand in one another`, node.at);
    const sizesHere = constant ? fixedSizes : sizes;
    if (!sizesHere.has(node.name))
      sizesHere.set(node.name, size(shorts.get(node.name), constant, [...open, node.name]));
    return sizesHere.get(node.name);
  };
  /** An expression of numbers and parameters, with the abbreviations of such written out. @param {Node} node */
  const fixed = (node) => {
    if (size(node, true, []) > LIMITS.operations) tooMany();
    /** @param {Node} one @returns {Node} */
    const out = (one) => {
      if (one.kind === "name" && shorts.has(one.name)) return out(shorts.get(one.name));
      return one.args ? { ...one, args: one.args.map(out) } : one;
    };
    return out(node);
  };
  const all = slopes.reduce((sum, one) => sum + size(one.node, false, []), 0);
  if (!parameters.length) refuse("no line gives a parameter and its range, as in k = 1 in 0..2");
  if (all > LIMITS.operations) tooMany();
  for (const { name } of parameters) if (!used.has(name)) refuse(`${name} stands in no equation; leave its line out`);
  for (const one of short) named({ kind: "name", name: one.name.text, at: one.name }, false, []);
  const states = slopes.map((one) => ({
    name: one.name.text,
    slope: one.node,
    start: /** @type {Node} */ ({ kind: "number", value: 1 }),
  }));
  for (const { name, node } of starts) {
    const i = stateOf.get(name.text);
    if (i === undefined) refuse(`${name.text} is no state`, name);
    states[/** @type {number} */ (i)].start = fixed(node);
  }
  const axes = chart.map((token) => {
    const i = parameters.findIndex((one) => one.name === token.text);
    return i < 0 ? refuse(`${token.text} is no parameter`, token) : i;
  });
  if (axes.length && axes[0] === axes[1]) refuse("a chart has two different parameters", chart[1]);
  const across = axes.length ? axes : parameters.slice(0, 2).map((_, i) => i);
  return { states, parameters, short: shorts, delays, keys, pasts, end, axes: across, driven };
};

/** A number as a text has it, short. @param {number} x */
export const typed = (x) => String(Number(x.toPrecision(6)));

/** The text with other values of parameters (by name). @param {string} text @param {Record<string, number>} values */
export const withValues = (text, values) =>
  parsed(text)
    .parameters.filter((one) => Object.hasOwn(values, one.name))
    .sort((a, b) => b.from - a.from)
    .reduce((out, one) => out.slice(0, one.from) + typed(values[one.name]) + out.slice(one.to), text);

/** The text with a chart of two other parameters. @param {string} text @param {string} x @param {string} y */
export const withChart = (text, x, y) => {
  const lines = text.split("\n"),
    i = lines.findIndex((line) => /^[ \t]*chart[ \t]/.test(line));
  if (i < 0) lines.push(`chart ${x}, ${y}`);
  else lines[i] = `chart ${x}, ${y}`;
  return lines.join("\n");
};
