// @ts-check
// A page with all its sliders and pictures: at most four main sliders, the others under "More".
import { readAddress, rewrite, writtenOf } from "./address.js";
import { controlsOf, counts, within } from "./controls.js";
import { complaint, element, headed, maths } from "./dom.js";
import { figureSection, pictureBox } from "./figure-box.js";
import { first } from "./guess.js";
import { title } from "./numbers.js";
import { link, pointing } from "./pointing.js";
import { drawingOf } from "./pages.js";
import { get } from "./server.js";
import { save } from "./save.js";
import { stage } from "./stage.js";

const RESTS = 200; // [ms] after the last move, until the address follows

/** The words of an address: a served page's after ?, a file's after #, or after ? in a link of a served page. */
export const written = (spec) => (!spec.answers && location.hash.slice(1)) || location.search.slice(1);

/** What is mounted: its end removes listeners, timers and pictures. */
let mounted = new AbortController();

/** A signal for what is mounted now; what was there before ends. */
export const begin = () => {
  mounted.abort();
  mounted = new AbortController();
  return mounted.signal;
};

/** The sliders: the main ones, the others below "More"; on a telephone one at a time, which stays in sight. */
const asideOf = (spec, controls, values, buttons) => {
  const boxes = (names) => names.map((name) => controls[name].box);
  const rest = spec.controls.map((c) => c.name).filter((name) => !spec.main.includes(name));
  const moved = (name) => values[name] !== spec.controls.find((c) => c.name === name).start;
  const more = element(
    "details",
    { class: "more", open: rest.some(moved) },
    element("summary", {}, `More (${rest.length})`),
    ...boxes(rest),
  );
  const shown = spec.main.map((name) => spec.controls.find((c) => c.name === name));
  const which = element(
    "select",
    { class: "which", "aria-label": "Parameter that is shown", onchange: () => choose(which.value) },
    ...shown.map((c) => element("option", { value: c.name }, title(c.meaning, c.unit))),
    element("option", { value: "" }, "all parameters"),
  );
  const choose = (name) => {
    form.classList.toggle("all", name === "");
    for (const c of spec.controls) controls[c.name].box.classList.toggle("current", c.name === name);
  };
  const form = element(
    "form",
    { class: "controls", "aria-label": "Parameters", onsubmit: (event) => event.preventDefault() },
    ...(spec.main.length > 1 ? [which] : []),
    ...boxes(spec.main),
    ...(rest.length ? [more] : []),
    buttons,
  );
  const first = shown.find((c) => !c.choices && counts(c, spec, values)) || shown[0];
  if (first) {
    which.value = first.name;
    choose(shown.length > 1 ? first.name : "");
  }
  return form;
};

/** A picture in another page's frame: no menu, and its height is told to that page. */
export const embedded = () => {
  document.body.classList.add("embedded");
  const tell = () => parent.postMessage({ tcpdynamics: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
  new ResizeObserver(tell).observe(document.body);
};

/** Mount a page of pictures and sliders. */
export const bench = (root, spec) => {
  const asked = new URLSearchParams(written(spec)),
    only = spec.figures.find((f) => f.name === asked.get("figure"));
  const pictures = only ? [only] : spec.figures;
  const framed = asked.get("embed") === "1";
  if (framed) embedded();
  const signal = begin(),
    drawing = drawingOf(spec.script);
  const [values, complaints] = readAddress(spec, written(spec));
  const said = complaint(complaints.join(". "));
  const say = (words) => {
    said.textContent = words;
  };
  const reading = element("p", { class: "reading", role: "status" });
  const past = [{ ...values }],
    codes = [],
    /** @type {Record<string, Element>} */ boxes = {},
    figures = {};
  let timer = 0,
    own = location.hash;
  if (!spec.answers) addEventListener("hashchange", () => location.hash !== own && bench(root, spec), { signal });

  const address = () => {
    const guesses = root.querySelector("#guess").checked ? "guess=first" : "";
    const kept = [only && `figure=${only.name}`, framed && "embed=1"];
    const words = [writtenOf(spec, values), guesses, ...kept].filter(Boolean).join("&");
    if (spec.answers) rewrite(true, words);
    else {
      // a file's address keeps its path
      own = words ? `#${words}` : "";
      if (location.hash !== own) location.replace(own || "#");
    }
    codes.forEach((fill) => fill());
  };
  const changed = (moves = false) => {
    const moving = moves && drawing.draws === "twice";
    showControls();
    scene.draw(moving);
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (signal.aborted) return;
      if (moving) scene.draw();
      if (JSON.stringify(past.at(-1)) !== JSON.stringify(values)) past.push({ ...values });
      address();
    }, RESTS);
  };
  /** Move sliders to values that were picked in a picture, or that a preset names. */
  const set = (picked) => {
    for (const [name, x] of Object.entries(picked)) {
      const c = spec.controls.find((one) => one.name === name);
      values[name] = c.choices ? x : within(c, x);
      controls[name].put(values[name]);
    }
    changed(true);
  };
  const restore = (state) => {
    Object.assign(values, state);
    for (const c of spec.controls) controls[c.name].put(values[c.name]);
    changed();
  };
  const start = Object.fromEntries(spec.controls.map((c) => [c.name, c.start]));
  const controls = controlsOf(spec.controls, values, changed);
  const showControls = () => {
    for (const c of spec.controls) controls[c.name].box.hidden = !counts(c, spec, values);
    const more = /** @type {HTMLElement | null} */ (aside.querySelector(".more"));
    if (more) more.hidden = !more.querySelector(".control:not([hidden])"); // those of a strip are moved by clicks
    undo.disabled = JSON.stringify(values) === JSON.stringify(past[0]) && past.length < 2;
  };
  const undo = element(
    "button",
    {
      type: "button",
      onclick: () => {
        if (past.length > 1) past.pop();
        restore(past.at(-1));
      },
    },
    "Undo",
  );
  const reset = element("button", { type: "button", onclick: () => restore(start) }, "Reset");
  const presets = spec.presets.length
    ? [
        element(
          "select",
          {
            "aria-label": "Presets",
            onchange: (event) => {
              const chosen = spec.presets[event.target.selectedIndex - 1];
              if (chosen) restore({ ...start, ...chosen.values });
              event.target.selectedIndex = 0;
            },
          },
          element("option", {}, "Presets …"),
          ...spec.presets.map((one) => element("option", {}, one.name)),
        ),
      ]
    : [];
  const aside = asideOf(spec, controls, values, element("p", { class: "actions" }, ...presets, undo, reset));

  const grid = element("div", { class: "figures" });
  for (const f of pictures) boxes[f.name] = pictureBox(f);
  const scene = stage(root, spec, values, boxes, {
    signal,
    say,
    set,
    spoken: ({ says = "" }) => {
      if (reading.textContent !== says) reading.replaceChildren(...maths(says));
      if (pointer) pointer.update();
    },
  });
  for (const f of pictures) {
    const { node, table } = figureSection(spec, f, boxes[f.name], () => scene.figures[f.name], values, say, codes);
    scene.figures[f.name].table = table;
    grid.append(node);
  }
  Object.assign(figures, scene.figures);
  link(Object.values(figures));
  const pointer = pointing(Object.values(figures));
  grid.prepend(pointer);
  const whole = async () => {
    try {
      const answer = await get(`${spec.netcdf}${spec.slug}?${writtenOf(spec, values)}`);
      save(`${spec.slug}.nc`, await answer.blob(), "application/x-netcdf");
      say("");
    } catch (error) {
      say(error.message);
    }
  };
  const lacking = [
    ...(spec.figures.some((f) => f.coded === "served") ? ["The code of each picture"] : []),
    ...spec.served,
  ];
  const results = element(
    "p",
    { class: "actions" },
    element("button", { type: "button", onclick: whole }, "NetCDF of the model's own results"),
  );
  const below = spec.netcdf
    ? spec.results
      ? [results]
      : []
    : [
        element(
          "p",
          { class: "note" },
          "This page opens from disk, without a server. " +
            `${lacking.length ? `${lacking.join(", ")}: see the served page (tcpdynamics explore).` : ""}`,
        ),
      ];
  root.replaceChildren(
    ...headed(spec.title, spec.question, said),
    element(
      "div",
      { class: "bench" },
      aside,
      element(
        "div",
        { class: "seen" },
        reading,
        first(root, figures, address, signal),
        grid,
        ...(drawing.panels ? drawing.panels(spec, values) : []),
        ...below,
        ...spec.notes.map((note) => element("p", { class: "note" }, ...maths(note))),
      ),
    ),
  );
  showControls();
  scene.draw();
  if (complaints.length) address(); // a copied link is a good one
  signal.addEventListener("abort", () => clearTimeout(timer));
  return values;
};
