// @ts-check
// Elements, and texts with their Greek letters and lower places.

/**
 * An element: attributes (true stands alone, false and undefined are left out), "on..." listeners, children.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string)} children
 * @returns {any}
 */
export const element = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
};

/** Words in lines of at most so many characters; "50 %" stays in one. @param {string} words @param {number} most */
export const broken = (words, most) =>
  words.replace(/(\d) %/g, "$1\u00a0%").match(new RegExp(`\\S.{0,${most - 1}}(?=[ \\n]|$)|\\S{${most}}`, "g")) || [];

/** A place for what is wrong, read aloud when it changes. @param {string} [words] */
export const complaint = (words = "") => element("p", { class: "complaint", role: "status" }, words);

/** What every page begins with. @param {string} title @param {string} question @param {...Node} said */
export const headed = (title, question, ...said) => [
  element("h1", {}, title),
  element("p", { class: "question" }, question),
  ...said,
];

/** What does not belong to the first picture begins when that has been painted. */
export const afterPicture = (root, signal, begin) =>
  root.addEventListener("drawn", () => requestAnimationFrame(() => setTimeout(() => signal.aborted || begin(), 100)), {
    once: true,
    signal,
  });

/** A menu of `details` closes when it is left, and by Escape. @param {HTMLDetailsElement} menu */
export const closing = (menu) => {
  menu.setAttribute("name", "menu"); // one is open at a time: an open one lies over the next picture's
  menu.addEventListener("focusout", (event) => {
    if (!menu.contains(/** @type {Node | null} */ (event.relatedTarget))) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });
  return menu;
};

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element of SVG.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string)} children
 * @returns {any}
 */
export const drawn = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  node.append(...children);
  return node;
};

const GREEK = {
  lambda: "λ",
  varepsilon: "ε",
  epsilon: "ε",
  gamma: "γ",
  phi: "φ",
  psi: "ψ",
  tau: "τ",
  delta: "δ",
  kappa: "κ",
  Upsilon: "ϒ",
};
const WORDS = new RegExp(`\\\\?\\b(${Object.keys(GREEK).join("|")})\\b`, "g");
const PLACES = /((?<=\b(?:[A-Z]{1,3}|[a-z]))_(?:\{\w+\}|\w{1,3}\b)|\^(?:\{\w+\}|\w\b))/;

/**
 * A text with its Greek letters, lower and upper places: "m_0", "p w^2", "\\tau", "gamma" in a sentence.
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export const maths = (text) => {
  const plain = text.replace(WORDS, (_, name) => GREEK[name]).replace(/\\([a-z]+)/g, "$1");
  return plain
    .split(PLACES)
    .filter(Boolean)
    .flatMap((part) => {
      const bare = part.replace(/[{}]/g, "");
      if (/^[_^]\{?\w/.test(part)) return [element(part[0] === "_" ? "sub" : "sup", {}, bare.slice(1))];
      const words = bare.split(/(\S+ %)/).filter(Boolean); // no line ends before a percent sign
      return words.map((word) => (/ %$/.test(word) ? element("span", { class: "one-word" }, word) : word));
    });
};
