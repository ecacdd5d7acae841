// @ts-check
// One picture with its main sliders, for other people's pages: notebooks and Dash apps.
import { colouredBy } from "./colours.js";
import { controlsOf, counts } from "./controls.js";
import { complaint, element, maths } from "./dom.js";
import { pictureBox } from "./figure-box.js";
import { stage } from "./stage.js";

/**
 * A live picture; `changed(values, numbers, says)` follows each drawing.
 * @param {Element} root
 * @param {any} spec a page with the one picture, the controls that move it, and their `values`
 * @param {(values: Record<string, any>, numbers: Record<string, number>, says: string) => void} changed
 */
export const live = (root, spec, changed) => {
  const ending = new AbortController(),
    values = { ...spec.values },
    [f] = spec.figures;
  const said = complaint(),
    reading = element("p", { class: "reading", role: "status" }),
    box = pictureBox(f);
  const say = (words) => {
    said.textContent = words;
  };
  const redraw = () => {
    for (const c of spec.moving) controls[c.name].box.hidden = !counts(c, spec, values);
    scene.draw();
  };
  // Two pictures on one page may have the same slider; a label leads to its own.
  const free = (name, k = 1) => (document.getElementById(`control-${name}-${k}`) ? free(name, k + 1) : `${name}-${k}`);
  const moving = spec.moving.map((c) =>
    document.getElementById(`control-${c.name}`) ? { ...c, id: free(c.name) } : c,
  );
  const controls = controlsOf(moving, values, redraw);
  const set = (picked) => {
    for (const [name, x] of Object.entries(picked)) {
      values[name] = x;
      if (controls[name]) controls[name].put(x);
    }
    redraw();
  };
  const holder = element("div", { class: "live" });
  const spoken = ({ says = "", numbers = {} }) => {
    reading.replaceChildren(...maths(says));
    changed({ ...values }, numbers, says);
  };
  const form = element(
    "form",
    { class: "controls", "aria-label": "Parameters", onsubmit: (event) => event.preventDefault() },
    ...spec.moving.map((c) => controls[c.name].box),
  );
  holder.append(element("h2", {}, f.title), form, reading, said, box);
  root.append(holder);
  colouredBy(holder);
  const scene = stage(holder, spec, values, { [f.name]: box }, { signal: ending.signal, say, set, spoken });
  redraw();
  let wide = holder.clientWidth; // a notebook lays its outputs out later
  const sized = new ResizeObserver(() => {
    if (holder.clientWidth === wide) return;
    wide = holder.clientWidth;
    redraw();
  });
  sized.observe(holder);
  return {
    set,
    end: () => {
      ending.abort();
      sized.disconnect();
      holder.remove();
    },
  };
};
