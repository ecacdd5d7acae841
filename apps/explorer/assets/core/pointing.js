// @ts-check
// What is pointed at. A picture that shows a quantity (`linked`: time, loss, flow, state, ...) tells the others which
// value the pointer is at, and each that shows the same quantity marks it: figure.point(quantity, value),
// figure.mark(quantity, value), with null where nothing is pointed at. Values are numbers, or words where a picture has
// labels.
import { element } from "./dom.js";
import { readable } from "./numbers.js";

/** Let pictures mark what is pointed at in one of them. */
export const link = (pictures) =>
  pictures.forEach((from) => {
    from.point = (quantity, value) => pictures.forEach((to) => to !== from && to.mark(quantity, value));
  });

/** Pointing by keyboard: a slider for each quantity, shown while it has the focus. */
export const pointing = (pictures) => {
  const box = element("div", { class: "pointing" }),
    rows = {};
  const readings = (quantity, value) => pictures.map((p) => p.reading(quantity, value)).filter(Boolean);
  const add = ({ quantity, title, word = readable }) => {
    const values = () => pictures.map((p) => p.shows()).find((one) => one && one.quantity === quantity).values;
    const slider = element("input", { type: "range", id: `point-${quantity}`, min: 0, step: 1, value: 0 });
    const text = element("output", {});
    const spoken = () => {
      const value = values()[Number(slider.value)];
      return typeof value === "string" ? value : word(value);
    };
    const at = () => {
      const value = values()[Number(slider.value)];
      slider.max = values().length - 1;
      pictures.forEach((p) => p.mark(quantity, value));
      text.textContent = [spoken(), ...readings(quantity, value)].join("; ");
      slider.setAttribute("aria-valuetext", text.textContent);
    };
    slider.setAttribute("aria-valuetext", spoken());
    slider.addEventListener("input", at);
    slider.addEventListener("focus", at);
    slider.addEventListener("blur", () => pictures.forEach((p) => p.mark(quantity, null)));
    rows[quantity] = slider;
    box.append(element("div", {}, element("label", { for: slider.id }, `point at ${title} `), slider, text));
  };
  box.update = () => {
    for (const picture of pictures) {
      const shows = picture.shows();
      if (!shows) continue;
      if (!rows[shows.quantity]) add(shows);
      rows[shows.quantity].max = shows.values.length - 1;
    }
  };
  return box;
};
