// @ts-check
// Fractions of a link that pairs of stacks get, as recorded: a table for each link, and all numbers of a chosen cell.
import { readAddress, rewrite } from "../core/address.js";
import { embedded, written } from "../core/bench.js";
import { complaint, element, headed } from "../core/dom.js";
import { figureParts, headOf } from "../core/figure-box.js";
import { page } from "../core/pages.js";

const percent = (x, digits = 0) => `${(100 * x).toFixed(digits)} %`;
/** Blue for more than half, orange for less, as strong as the division is uneven. */
const tint = (share) =>
  `rgba(${share > 0.5 ? "31, 119, 180" : "255, 127, 14"}, ${(0.58 * Math.abs(share - 0.5) * 2).toFixed(3)})`;

const mount = (root, spec) => {
  const { facts } = spec;
  const choices = {
      link: ["link and queue", facts.links],
      sender: ["the row's sender", facts.senders],
      beside: ["the column's sender", facts.senders],
    },
    controls = Object.entries(choices).map(([name, [meaning, list]]) => ({
      name,
      meaning,
      choices: list,
      start: list[0],
    }));
  controls[2].start = "cubic";
  const [state, complaints] = readAddress({ controls }, written(spec)),
    framed = new URLSearchParams(written(spec)).get("embed") === "1";
  if (framed) embedded();
  const address = () => {
    const text = new URLSearchParams({ ...state, ...(framed ? { embed: "1" } : {}) }).toString();
    rewrite(spec.answers, text);
  };

  if (complaints.length) address();

  const said = complaint(complaints.join(". "));
  const words = () => new URLSearchParams(state).toString();
  const note = () =>
    `Fraction [%] of both flows' goodput that the row's sender gets against the column's; ${state.link}`;
  const numbers = () => facts.cells[state.link].map((row) => row.map((one) => Math.round(100 * one.share)));
  /** The table as a figure, for files. */
  const kept = () => ({
    data: [
      { type: "heatmap", x: facts.senders, y: facts.senders, z: numbers(), zmin: 0, zmax: 100, showscale: false,
        colorscale: [[0, "#ffb36b"], [0.5, "#ffffff"], [1, "#82b5d8"]] },
      { mode: "text", x: facts.senders.flatMap(() => facts.senders),
        y: facts.senders.flatMap((one) => facts.senders.map(() => one)), text: numbers().flat().map(String),
        showlegend: false },
    ],
    layout: { xaxis: { title: { text: "the column's sender" } },
      yaxis: { title: { text: "the row's sender" }, autorange: "reversed" } },
  });
  const rows = () => [
    ["row's sender", "column's sender", "fraction", "fraction low", "fraction high", "use", "loss", "verdict"],
    ...facts.senders.flatMap((a) =>
      facts.senders.map((b) => {
        const one = cell(a, b);
        return [a, b, one.share, one.share_low, one.share_high, one.use, one.loss, one.verdict];
      }),
    ),
  ];
  const code = () =>
    "from tcpdynamics.validation.comparisons import LinuxStacks\n\nresult = LinuxStacks().run()\n" +
    `one = result.sel(link=${JSON.stringify(state.link)})\n` +
    'columns = ["share", "share_low", "share_high", "use", "loss", "verdict"]\n' +
    'print(one[columns].to_dataframe().reset_index()[["sender", "beside", *columns]].to_csv(index=False))\n';

  const sideways = element("p", { class: "note", hidden: true }, "The table scrolls sideways.");
  const /** @type {(() => void)[]} */ codes = [];
  const table = element("table"),
    chosen = element("div", { class: "chosen", role: "status" });
  const cell = (sender, beside) =>
    facts.cells[state.link][facts.senders.indexOf(sender)][facts.senders.indexOf(beside)];
  const choose = (sender, beside) => {
    Object.assign(state, { sender, beside });
    show();
    address();
  };
  const show = () => {
    const button = (a, b) => {
      const one = cell(a, b),
        here = a === state.sender && b === state.beside;
      return element(
        "button",
        {
          type: "button",
          "aria-pressed": String(here),
          "aria-label": `${a} against ${b}: ${percent(one.share)}`,
          onclick: () => choose(a, b),
        },
        (100 * one.share).toFixed(0),
      );
    };
    const row = (a) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, a),
        ...facts.senders.map((b) => element("td", { style: `background: ${tint(cell(a, b).share)}` }, button(a, b))),
      );
    table.replaceChildren(
      element(
        "caption",
        {},
        note(),
      ),
      element(
        "thead",
        {},
        element("tr", {}, element("td", {}), ...facts.senders.map((b) => element("th", { scope: "col" }, b))),
      ),
      element("tbody", {}, ...facts.senders.map(row)),
    );
    const one = cell(state.sender, state.beside),
      [median, high, highest] = one.delay;
    const lines = {
      [`fraction that ${state.sender} gets against ${state.beside}`]:
        `${percent(one.share, 1)}, 95 % interval ${percent(one.share_low, 1)} to ` + `${percent(one.share_high, 1)}`,
      "verdict on equal fractions": `The verdict is "${one.verdict}": ${facts.meanings[one.verdict]}.`,
      ...(state.sender === state.beside
        ? {
            "two flows of the same kind":
              "The fraction is that of the flow that the scenario lists first. Both start at random, so it can " +
              "differ from 50 % only by chance. Of 95 % intervals, one in 20 misses 50 % by chance.",
          }
        : {}),
      "use of the link by both": percent(one.use, 1),
      [`loss of ${state.sender}'s packets`]: percent(one.loss, 2),
      "queueing delay: median, 95 %, 99 %": `${median}, ${high}, ${highest} ms`,
    };
    chosen.replaceChildren(
      element(
        "dl",
        {},
        ...Object.entries(lines).flatMap(([head, text]) => [element("dt", {}, head), element("dd", {}, text)]),
      ),
    );
    for (const fill of codes) fill();
    root.dispatchEvent(new CustomEvent("drawn"));
  };
  const link = element(
    "select",
    {
      id: "link",
      onchange: () => {
        state.link = link.value;
        show();
        address();
      },
    },
    ...facts.links.map((name) => element("option", { value: name, selected: name === state.link }, name)),
  );
  const scroll = element("div", { class: "scroll shares", tabindex: "0" }, table),
    f = {
      ...{ name: "fractions", title: "Fractions of the goodput", alt: "Fractions of the goodput" },
      ...{ kind: "plot", coded: "here", page: true },
    },
    figure = () => ({ kept, rows, code, box: scroll, says: note() });
  const { menu, code: shownCode } = figureParts(
    { ...spec, written: words },
    f,
    figure,
    null,
    (text) => (said.textContent = text),
    codes,
  );
  root.replaceChildren(
    ...headed(spec.title, spec.question, said),
    element(
      "form",
      { class: "controls", "aria-label": "Link", onsubmit: (event) => event.preventDefault() },
      element("div", { class: "control" }, element("label", { for: "link" }, "link and queue"), link),
    ),
    element("section", { class: "figure", "aria-label": f.title }, headOf(f, menu), scroll, sideways, ...shownCode),
    chosen,
    element(
      "p",
      { class: "note" },
      `${facts.seeds} runs of ${facts.measured} measured seconds each, ${facts.linux}. Verdicts on equal fractions:`,
    ),
    element(
      "ul",
      { class: "note" },
      ...Object.entries(facts.meanings).map(([verdict, means]) =>
        element("li", {}, element("strong", {}, verdict), `: ${means}.`),
      ),
    ),
    element(
      "ul",
      { class: "note" },
      ...Object.entries(facts.stacks).map(([name, about]) =>
        element("li", {}, element("strong", {}, name), ` ${about}`),
      ),
    ),
    ...spec.notes.map((note) => element("p", { class: "note" }, note)),
  );
  show();
  new ResizeObserver(([{ target }]) => (sideways.hidden = target.scrollWidth <= target.clientWidth)).observe(
    /** @type {Element} */ (table.parentElement),
  );
};
page("stacks", { mount });
