// @ts-check
import { tabled } from "./table.js";

/** [px] Where nobody sets another. */
const HEIGHT = 300;

/**
 * What every picture has: numbers, a box, and the table behind it. It links to no other picture and draws nothing, so
 * it also stands for a picture that is out of sight.
 */
export class Picture {
  constructor(spec, box) {
    this.spec = spec;
    this.box = box;
    this.data = null;
    this.table = null;
    this.says = ""; // its sentence
    this.pointed = null;
    this.height = HEIGHT;
    this.wide = 0;
    this.far = false; // out of sight: then it is drawn when no slider moves
    this.due = false;
    this.ended = false; // its page is left: what a script computes still is drawn no more
    if (box) new ResizeObserver(() => (this.wide = box.clientWidth)).observe(box);
    this.point = (quantity, value) => {};
  }

  /** [px] Of its box: kept, since a question in the middle of drawing would lay out the whole page anew. */
  get width() {
    return (this.wide ||= this.box.clientWidth);
  }

  show(data) {
    this.data = data;
    this.due = true;
    if (!this.far) this.update();
  }

  /** Where its box is, before anything is drawn: asked of all boxes in a row, the page is laid out once. */
  measure() {
    if (!this.box) return;
    const { top } = this.box.getBoundingClientRect();
    this.wide = this.box.clientWidth;
    this.far = top > innerHeight;
  }

  /** Draw what was shown and not drawn yet. */
  update() {
    if (!this.due || this.ended) return;
    this.due = false;
    this.draw();
  }

  /** Put the numbers into the box. */
  draw() {}

  /** Fill the table, where it is open. */
  filled() {
    if (this.table && this.table.open) this.fill();
  }

  fill() {
    if (this.data) tabled(this.table, this.rows());
  }

  /** The table of its numbers: a head, then a row each. @returns {any[][]} */
  rows() {
    return [[]];
  }

  /** The quantity that it shares with other pictures: its values, and how it is called. @returns {any} */
  shows() {
    return null;
  }

  /** Mark a value that is pointed at elsewhere; null ends it. */
  mark(quantity, value) {}

  /** What stands at a value, in words. */
  reading(quantity, value) {
    return "";
  }

  /** Also out of sight: a picture that is wider than its box would widen the page. */
  resize() {
    this.wide = 0;
    if (!this.box || !this.data) return;
    this.due = true;
    this.update();
  }

  redraw() {
    this.resize();
  }

  destroy() {}
}
