// @ts-check
// What pages register: their drawing, and kinds of pictures.
import { Curves } from "./curves.js";
import { Facts } from "./facts.js";
import { Plane } from "./plane.js";

/** Kinds of pictures; a page's script may add its own. */
export const KINDS = { curves: Curves, plane: Plane, facts: Facts };

const drawings = {};

/**
 * A page's own script says what is computed:
 *   page(slug, { draw(values, functions, figures, set, spec, moving, redraw) {...}, panels(spec, values) {...} })
 * `draw` returns { says, advice, about, numbers }: a sentence of what is seen, what a reader may do on the page (a
 * saved picture has none of it), sentences for single pictures (by name), and the
 * numbers that an article names. With
 * `draws: "twice"` it is drawn while a slider moves (`moving`), and again when it rests. `panels`, if there, gives what
 * stands below the pictures. A page that has a shape of its own fills it alone: page(slug, { mount(root, spec,
 * signal) })
 */
export const page = (slug, drawing) => {
  drawings[slug] = drawing;
};

export const drawingOf = (slug) => drawings[slug];

/** A picture of a kind ("curves", "diagram", "plane") in a box, for pages of their own shape. */
export const picture = (kind, box, spec) => new KINDS[kind](spec, box);
