// @ts-check
// Numbers as text, and text as numbers.

/** @param {number} x */
export const shown = (x) => (Number.isFinite(x) ? String(Number(x.toPrecision(5))) : String(x));

/** Digits in groups of three, with a comma between, as the library's own texts have them. @param {string} text */
export const grouped = (text) => {
  const [whole, rest] = text.split(".");
  if (/e/.test(text)) return text;
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? `.${rest}` : "");
};

/** A number as a picture has it, thousands apart; tables and files have it plain. @param {number} x */
export const readable = (x) => written(grouped(shown(x)));

/** Whether a number is a power of ten. @param {number} x */
export const isPower = (x) => Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-9;

/** A power of ten as people write it. @param {number} x */
export const power = (x) => {
  const digits = [...String(Math.round(Math.log10(x)))].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);
  return `10${digits.join("")}`;
};

/** "1.5e-7" as people write it. @param {string} text */
const written = (text) => {
  const [digits, exponent] = text.split("e");
  return exponent ? `${digits === "1" ? "" : `${digits} × `}${power(Number(`1e${exponent}`))}` : text;
};

/** A number in a sentence or among facts: three digits, or all before the point; files have more. @param {number} x */
export const brief = (x) => {
  if (Number.isFinite(x)) return written(grouped(Math.abs(x) < 100 ? String(Number(x.toPrecision(3))) : x.toFixed(0)));
  return Number.isNaN(x) ? "none" : String(x);
};

/**
 * A measured number and its ends, with as many digits as their distance supports; alone where it has none.
 * @param {(number | null)[]} ends mean, low, high
 * @param {string} [per] " %" for a probability, whose ends lie in 0 to 1
 */
export const inEnds = ([mean, low, high], per = "") => {
  const [x, from, to] = [mean, low, high].map((one) =>
      per ? 100 * Math.min(1, Math.max(0, Number(one))) : Number(one),
    ),
    half = low === null ? 0 : (to - from) / 2,
    places = Math.max(0, -Math.floor(Math.log10(half)));
  if (mean === null) return "none";
  const word = (one) => (half > 0 ? one.toFixed(places) : String(Number(one.toPrecision(2))));
  return `${word(x)}${per}${half > 0 ? ` (${word(from)} to ${word(to)})` : ""}`;
};

/** So many packets, in a sentence. @param {number} x */
export const inPackets = (x) => `${brief(x)} packet${brief(x) === "1" ? "" : "s"}`;

/** A probability as people write it: 12 %, 3.4 %, 0.2 %. @param {number} x */
export const percent = (x) => {
  if (x >= 0.0995) return `${(100 * x).toFixed(0)} %`;
  return x === 0 ? "0 %" : `${Number((100 * x).toPrecision(x >= 0.001 ? 2 : 1))} %`;
};

/**
 * `write` with the digits that tell the ends of an interval apart.
 * @param {number} low @param {number} high @param {(x: number, more?: number) => string} write
 * @returns {(x: number) => string}
 */
export const apart = (low, high, write) => {
  const more = [0, 1, 2].find((digits) => low === high || write(low, digits) !== write(high, digits));
  return (x) => write(x, more ?? 3);
};

/** A number with all digits that a slider or a field gives it. @param {number} x */
const entire = (x) => String(Number(x.toPrecision(6)));

/** A probability that a reader chose, with all its digits: 10.5 %. @param {number} x */
export const exactPercent = (x) => `${entire(100 * x)} %`;

/** A number among facts, of a quantity in per cent so. */
export const inFacts = (/** @type {number} */ x, per = false) =>
  per && Number.isFinite(x) ? `${brief(100 * x)} %` : brief(x);

/** The value of a slider in its field: with all digits, a fraction in per cent. @param {any} c @param {number} x */
export const inField = (c, x) => (c.percent ? exactPercent(x) : entire(x));

/** The value of a slider with its unit, in a sentence and for a screen reader. @param {any} c @param {number} x */
export const withUnit = (c, x) => {
  if (c.unit === "1/s") return `${grouped(inField(c, x))} a second`;
  const unit =
    c.unit && c.unit !== "1" ? ` ${c.unit}${/^(byte|interval|packet)$/.test(c.unit) && x !== 1 ? "s" : ""}` : "";
  return grouped(inField(c, x)) + unit;
};

/** The title of an axis. @param {string} name @param {string} [unit] */
export const title = (name, unit) => (unit && unit !== "1" ? `${name} [${unit}]` : name);

/** x from low to high in n values, both ends included. @param {number} low @param {number} high @param {number} n */
export const between = (low, high, n) => Float64Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

/** The x axis along the drop probability of ACKs, with the slider's mark. */
export const alongAckLoss = (/** @type {Float64Array} */ x, /** @type {number} */ marker) => ({
  x,
  xTitle: "drop probability of ACKs",
  xPercent: true,
  marker,
  linked: "loss",
});

/** Places of an axis, at round numbers. @param {[number, number]} range @returns {number[]} */
export const ticks = ([low, high]) => {
  const rough = (high - low) / 5,
    unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * /** @type {number} */ ([1, 2, 5, 10].find((m) => m * unit >= rough));
  const from = Math.ceil(low / step - 1e-9),
    to = Math.floor(high / step + 1e-9);
  return Array.from({ length: to - from + 1 }, (_, i) => (from + i) * step);
};

/**
 * Where a value stands in a row: the nearest number, or the same word (-1 without one). @param {ArrayLike<any>}
 * row @param {any} value
 */
export const nearest = (row, value) => {
  if (typeof value === "string") return Array.prototype.indexOf.call(row, value);
  let best = -1,
    gap = Infinity;
  for (let i = 0; i < row.length; i++) {
    if (Math.abs(row[i] - value) < gap) {
      gap = Math.abs(row[i] - value);
      best = i;
    }
  }
  return best;
};

/**
 * Seconds in a unit, as a factor and a divisor: dividing by a whole number is exact where multiplying by 0.001 is
 * not.
 */
const SECONDS = {
  ns: [1, 1e9],
  us: [1, 1e6],
  "\u00b5s": [1, 1e6],
  ms: [1, 1e3],
  s: [1, 1],
  min: [60, 1],
  h: [3600, 1],
};
const NUMBER = /^([-+]?)(\d+\.?\d*|\.\d+)(e[-+]?\d+)?(?:\/(\d+))?\s*(.*)$/i;

/**
 * The number that a text says in a unit, by the rules of the library's `only_number`; NaN where it says none.
 * @param {string} text
 * @param {string} [unit]
 */
export const number = (text, unit = "1") => {
  const words = text
    .split(",")
    .map((word) => word.trim())
    .filter(Boolean);
  if (words.length !== 1 || words[0].length > 60) return NaN;
  const [, sign, digits, power, below, rest] = NUMBER.exec(words[0]) || [];
  const fraction = below !== undefined;
  if (digits === undefined || (fraction && (power || digits.includes(".") || Number(below) === 0))) return NaN;
  if (power && Math.abs(Number(power.slice(1))) > 400) return NaN;
  const scaled = (tens) => Number(`${sign}${digits}e${Number((power || "e0").slice(1)) + tens}`) / Number(below || 1);
  const said = Math.abs(scaled(0)) <= 1e18 ? scaled(0) : NaN;
  if (!rest || rest === unit || rest === `${unit}s` || rest === unit.replace("packet", "packets")) return said;
  if (unit === "1" && rest === "%") return said === said ? scaled(-2) : NaN;
  if (unit !== "s" || below || !Object.hasOwn(SECONDS, rest)) return NaN;
  return (said * SECONDS[rest][0]) / SECONDS[rest][1];
};

/** Units of a dimension, in the first of them, as the library's `quantities.py` has them, and KB. */
const DIMENSIONS = [
  Object.fromEntries(Object.entries(SECONDS).map(([word, [times, by]]) => [word, times / by])),
  { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12, bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9 },
  { B: 1, byte: 1, bytes: 1, kB: 1e3, KB: 1e3 },
];

/**
 * The number of a text, in any unit of the field's dimension; where it is none, the units that may stand there.
 * @param {string} text @param {string} unit @returns {[number, string]}
 */
const converted = (text, unit) => {
  const x = number(text, unit),
    units = DIMENSIONS.find((one) => Object.hasOwn(one, unit)),
    [, digits, word] = /^([-+\d.]+(?:e[-+]?\d+)?)\s*(\D\S*)$/i.exec(text) || [];
  if (x === x || !units) return [x, ""];
  if (!Object.hasOwn(units, word)) return [NaN, `Units that may follow a number: ${Object.keys(units).join(", ")}.`];
  return [Number(((number(digits) * units[word]) / units[unit]).toPrecision(12)), ""];
};

/**
 * What a reader typed into a field: its number, NaN where it is none, and a sentence where a comma or a
 * point had to be interpreted, or on the units that may stand there. A minus may be the typographic one.
 * @param {string} text
 * @param {string} [unit]
 * @returns {[number, string]}
 */
export const typedNumber = (text, unit = "1") => {
  const plain = text.trim().replace(/^[\u2212\u2013]/, "-"),
    [spaces] = /^[-+]?[1-9]\d{0,2}([ \u00a0\u202f]\d{3})+(?!\d)/.exec(plain) || [""],
    [figures] = /^[-+\d.,]*/.exec(plain) || [""];
  if (spaces) return converted(spaces.replace(/\s/g, "") + plain.slice(spaces.length), unit);
  if (!figures.includes(",")) {
    const [x, units] = converted(plain, unit),
      point = /^[-+]?[1-9]\d{0,2}\.\d\d0$/.test(figures) ? `The point of ${figures} is a decimal one.` : "";
    return [x, units || point];
  }
  const thousands = /^[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(figures);
  if (!thousands && !/^[-+]?\d*,\d+$/.test(figures)) return [NaN, ""];
  const meant = thousands ? figures.replaceAll(",", "") : figures.replace(",", "."),
    why = thousands ? "a comma before three digits separates thousands" : "the comma is a decimal one";
  return [converted(meant + plain.slice(figures.length), unit)[0], `${figures} is read as ${meant}: ${why}.`];
};

/** Numbers in a sentence: 5; 5, 7 and 10; of many the first and the last. @param {any[]} numbers */
export const listed = (numbers) =>
  numbers.length > 6
    ? `${numbers[0]} to ${numbers.at(-1)}`
    : [numbers.slice(0, -1).join(", "), numbers.at(-1)].filter((one) => one !== "").join(" and ");
