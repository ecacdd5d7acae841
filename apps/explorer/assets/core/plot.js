// @ts-check
// Figures in Plotly's JSON as pictures of a page: drawn by `figure.js`, with their numbers and what a reader keeps.
import { figureSection, pictureBox } from "./figure-box.js";
import { showFigure } from "./figure.js";
import { Picture } from "./picture.js";

const named = (axis, name) => axis?.title?.text || name;

/** A picture whose data is a figure; nothing is drawn until `show`. */
export class Plot extends Picture {
  show(figure, options = {}) {
    this.destroy();
    this.data = figure;
    this.drawn = showFigure(this.box, figure, { name: this.spec.alt, title: "", ...options });
    this.filled();
  }

  /** The figure for a file, whose title stands above it. */
  kept() {
    return this.data;
  }

  /** The numbers of all traces, with the panel of each where there are several. */
  rows() {
    const { data, layout } = this.data;
    const titles = layout.yaxis2 && layout.annotations ? layout.annotations.map((one) => one.text) : null;
    const panel = (t) => (titles ? [titles[Number((t.yaxis || "y").slice(1) || 1) - 1] || ""] : []);
    return [
      [...(titles ? ["panel"] : []), "line", named(layout.xaxis, "x"), named(layout.yaxis, "y")],
      ...data.flatMap((t) => (t.x || []).map((x, i) => [...panel(t), t.name || "", x ?? "", t.y[i] ?? ""])),
    ];
  }

  resize() {} // `showFigure` draws again by itself

  destroy() {
    if (this.drawn) this.drawn.end();
    this.drawn = null;
  }
}

/**
 * A figure with its heading, the menu "Save" and the table of its numbers.
 * @param {any} spec of the page
 * @param {{ name: string, title: string, alt: string, kind: string, file?: string, code?: () => any }} f; `code` finds
 *   the element that shows the code of it
 * @param {(words: string) => void} say
 */
export const plotSection = (spec, f, say) => {
  const box = pictureBox(f),
    plot = new Plot(f, box);
  const { node, table } = figureSection(spec, f, box, () => plot, null, say, []);
  plot.table = table;
  return { plot, node };
};
