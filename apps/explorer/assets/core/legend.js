// @ts-check
// Samples beside names: a line with its dash and width, a point, a ring, an area, a bar.
import { drawn, element } from "./dom.js";

/**
 * @param {{ kind?: string, colour: string, dash?: number[], width?: number }} one
 * @returns {Element}
 */
export const sample = ({ kind = "line", colour, dash = [], width = 2 }) => {
  const shapes = {
    bars: () => drawn("rect", { x: 5, width: 14, height: 10, fill: colour }),
    area: () => drawn("rect", { width: 24, height: 10, fill: colour, "fill-opacity": 0.25 }),
    points: () => drawn("circle", { cx: 12, cy: 5, r: 4, fill: colour }),
    ring: () => drawn("circle", { cx: 12, cy: 5, r: 4, fill: "none", stroke: colour, "stroke-width": 2 }),
    line: () =>
      drawn("path", { d: "M0,5H24", stroke: colour, "stroke-width": width, "stroke-dasharray": dash.join(" ") }),
  };
  const picture = drawn("svg", { width: 24, height: 10, viewBox: "0 0 24 10" }, shapes[kind]());
  return element("span", { class: "sample", "aria-hidden": "true" }, picture);
};
