// @ts-check
// Colours and dashes of pictures, as the page's scheme has them.
import { ON_BLACK, ON_WHITE } from "./palette.js";

let place = document.documentElement;
/** Take the colours of an element from now on: a page of somebody else has its own. @param {HTMLElement} node */
export const colouredBy = (node) => {
  place = node;
};
/** The value of a style's name, as "--ink". @param {string} name */
export const style = (name) => getComputedStyle(place).getPropertyValue(name).trim();
export const dark = matchMedia("(prefers-color-scheme: dark)");
/** The colours of the page, changed in place where its scheme changes. */
export const COLOURS = [];
const paint = () => COLOURS.splice(0, 7, ...(dark.matches ? ON_BLACK : ON_WHITE));
paint();
dark.addEventListener("change", paint);

/** Dashes of lines by their order, so that they differ without colour. */
export const DASHES = [[], [9, 5], [2, 4], [12, 4, 2, 4], [5, 3], [16, 5], [1, 3]];
