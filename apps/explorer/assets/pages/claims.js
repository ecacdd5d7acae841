// @ts-check
// The papers' claims with what was recorded of each, at once; a figure for the row that is opened;
// a claim decided again, or packets simulated, on request.
import { readAddress, rewrite } from "../core/address.js";
import { embedded, written } from "../core/bench.js";
import { complaint, element, headed } from "../core/dom.js";
import { startJob } from "../core/jobs.js";
import { page } from "../core/pages.js";
import { plotSection } from "../core/plot.js";
import { get } from "../core/server.js";

const TONES = { holds: "good", "holds with conditions": "fair", "does not hold": "poor" };
const LONGEST = 200,
  ANY = "all",
  ALONE = "`embed` needs `open`, the name of a claim with a figure";
const later = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Words of the address: a filter's, text to search for, the cell that is open, and whether its figure stands alone. */
const read = (facts, byName, text) => {
  const chosen = (name, list) => ({ name, choices: [ANY, ...list], start: ANY }),
    typed = (name) => ({ name, lines: 1, longest: LONGEST, start: "" });
  const controls = [
    chosen("paper", Object.keys(facts.papers)),
    chosen("verdict", facts.verdicts),
    typed("words"),
    typed("open"),
  ];
  const [state, complaints] = readAddress({ controls }, text, new Map([["embed", ["1"]]]));
  if (state.open && !byName.has(state.open)) {
    complaints.push(`no claim has the name ${state.open.slice(0, 40)}`);
    state.open = "";
  }
  const framed = new URLSearchParams(text).get("embed") === "1" && Boolean(byName.get(state.open)?.figure);
  if (!framed && new URLSearchParams(text).get("embed") === "1") complaints.push(ALONE);
  return { state, complaints, framed };
};

const mount = (root, spec, signal) => {
  const served = Boolean(spec.values),
    { facts } = spec,
    byName = new Map(facts.rows.map((row) => [row.name, row]));
  const figures = { ...facts.figures };
  const { state, complaints, framed } = read(facts, byName, written(spec));

  const address = () => {
    const words = Object.entries(state).filter(([, word]) => word && word !== ANY);
    rewrite(served, new URLSearchParams(words).toString());
  };

  /** A figure from the server, asked for again while it is busy with others' figures; null from disk. */
  const ask = async (name) => {
    for (; served; await later(1000)) {
      const answer = await get(`/claims/figures/${name}.json`);
      if (answer.status === 200) return answer.json();
    }
    return null;
  };

  /** What was recorded of each row, in lines: with the page from disk, else from the server at the first need. */
  let coming = null;
  const recorded = async () =>
    (facts.lines ||= await (coming ||= get("/claims/lines.json")
      .then((answer) => answer.json())
      .finally(() => (coming = null))));

  // ---- a row -----------------------------------------------------------------------------------------------
  const items = new Map();
  const badge = (word) =>
    element("span", { class: `verdict ${TONES[word] || (facts.verdicts.includes(word) ? "" : "open")}` }, word);
  const draw = async (row, box) => {
    if (!row.figure) return;
    const figure = (figures[row.figure] ||= await ask(row.figure));
    if (figure) drawFigure(figure, row.figure, box, row);
  };
  const plots = new Map();
  const commandsOf = (row) =>
    element(
      "details",
      { class: "code", open: !framed },
      element(
        "summary",
        {},
        row.commands.length > 1 ? "Decide it again and draw its figure: commands" : "Decide it again: the command",
      ),
      element("pre", { tabindex: "0" }, row.commands.join("\n")),
    );
  const drawFigure = (figure, name, box, row) => {
    const said = complaint(),
      title = figure.layout.title?.text || `Figure ${name}`;
    const f = {
      ...{ name, title, kind: "plot", alt: `Figure ${name}; its numbers are below`, file: name.replace(".", "-") },
      page: true,
      embed: name === row.figure, // what must be simulated is no figure of an address
      code: () => (framed ? root : items.get(row.name).body).querySelector(".code"),
    };
    const own = new URLSearchParams({ open: row.name }).toString();
    const alone = { ...spec, written: () => own, source: () => `tcpdynamics explorer, claims?${own}` };
    const { plot, node } = plotSection(alone, f, (words) => {
      said.textContent = words;
    });
    plots.get(name)?.destroy();
    plots.set(name, plot);
    box.replaceChildren(node, said);
    const verdict = row.verdict ? `, ${row.verdict}` : "";
    figure.says ||= `${facts.papers[row.paper]}, ${row.where}${verdict}: ${row.published}`;
    plot.says = figure.says;
    plot.show(figure);
  };
  /** A job with a button, progress and cancel; `ended(its)` when it is done. */
  const background = (label, kind, name, ended) => {
    const said = element("span", { role: "status" });
    const cancel = element("button", { type: "button", hidden: true, onclick: () => job && job.cancel() }, "Cancel");
    let job = null;
    const tell = async ({ state, share, said: words }, its) => {
      const over = !["waiting", "running"].includes(state);
      button.disabled = !over;
      cancel.hidden = over;
      said.textContent = state === "done" ? "" : words || `${Math.round(100 * share)} %`;
      if (state === "done") await ended(its);
    };
    const button = element(
      "button",
      {
        type: "button",
        onclick: () => {
          tell({ state: "running", share: 0, said: "working" });
          job = startJob(kind, { name }, tell);
        },
      },
      label,
    );
    return element("p", { class: "actions" }, button, cancel, said);
  };
  const packets = (row) => {
    const box = element("div", { class: "claim-figure" });
    if (figures[row.packets]) drawFigure(figures[row.packets], row.packets, box, row);
    return [
      background(`Simulate packets for ${row.packets} (a minute)`, "paper-figure", row.packets, async (its) => {
        figures[row.packets] = await (await get(its.address("figure.json"))).json();
        drawFigure(figures[row.packets], row.packets, box, row);
      }),
      box,
    ];
  };
  const listed = (lines) =>
    element(
      "dl",
      {},
      ...Object.entries(lines).flatMap(([head, text]) => [
        element("dt", {}, head),
        Array.isArray(text)
          ? element("dd", {}, element("ul", {}, ...text.map((one) => element("li", {}, one))))
          : element("dd", {}, text),
      ]),
    );
  const fill = async (row) => {
    const { body } = items.get(row.name),
      came = element("div", {}),
      box = element("div", { class: "claim-figure" }),
      now = element("div", { class: "claim-again" });
    const again = served
      ? [
          background("Decide it again (quick setting)", "claim", row.name, async (its) => {
            const answer = await (await get(its.address("answer.json"))).json();
            now.replaceChildren(
              element("p", {}, element("strong", {}, `Now: ${answer.verdict}`)),
              listed(answer.lines),
            );
          }),
          now,
        ]
      : [];
    body.replaceChildren(
      came,
      box,
      ...(served && row.packets ? packets(row) : []),
      ...again,
      commandsOf(row),
      ...(row.scenario
        ? [
            element(
              "details",
              {},
              element("summary", {}, "The scenario that decides it"),
              element("pre", { tabindex: "0" }, row.scenario),
            ),
          ]
        : []),
    );
    try {
      came.replaceChildren(
        row.verdict
          ? listed((await recorded())[row.name])
          : element("p", {}, "It was not decided yet; the command decides it."),
      );
      await draw(row, box);
    } catch (error) {
      const again = () => fill(row);
      body.append(
        complaint(`Not all is here: ${error.message}.`),
        element("p", {}, element("button", { type: "button", onclick: again }, "Try again")),
      );
    }
    root.dispatchEvent(new CustomEvent("drawn"));
  };
  for (const row of facts.rows) {
    const body = element("div", { class: "claim-body" });
    const box = element(
      "details",
      {
        class: "claim",
        id: row.name,
        ontoggle: () => {
          if (box.open) {
            for (const other of items.values()) if (other.box !== box) other.box.open = false;
            state.open = row.name;
            fill(row);
          } else if (state.open === row.name) state.open = "";
          address();
        },
      },
      element(
        "summary",
        {},
        badge(row.verdict || "not decided yet"),
        element("span", { class: "published" }, row.published),
        element("span", { class: "where" }, row.where),
      ),
      body,
    );
    items.set(row.name, { body, box });
  }

  // ---- a statement: its cells are rows ----------------------------------------------------------------------
  const statements = facts.statements.map((one) => {
    const cells = `${one.cells.length} ${one.cells.length === 1 ? "cell" : "cells"}`;
    const where = [
      `${facts.papers[one.paper]}; ${one.weight} ${one.kind}, ${cells}`,
      one.condition && `Holds ${one.condition}`,
      one.reason && `Why: ${one.reason}`,
      one.missing && `Not printed: ${one.missing}`,
      one.sensitivity && `Check of the software: ${one.sensitivity}`,
    ].filter(Boolean);
    const box = element(
      "details",
      { class: "statement", id: `statement-${one.id}` },
      element(
        "summary",
        {},
        badge(one.verdict),
        element("span", { class: "published" }, one.says),
        element("span", { class: "where" }, where.map((part) => part.replace(/\.?$/, ".")).join(" ")),
      ),
      ...one.cells.map((name) => items.get(name).box),
    );
    return { one, box };
  });

  // ---- filters ---------------------------------------------------------------------------------------------
  const statementOf = new Map(facts.statements.flatMap((one) => one.cells.map((name) => [name, one])));
  const shown = () =>
    facts.rows.filter(
      (row) =>
        (state.paper === ANY || row.paper === state.paper) &&
        (state.verdict === ANY || statementOf.get(row.name).verdict === state.verdict) &&
        state.words
          .toLowerCase()
          .split(/\s+/)
          .every((word) => text(row).includes(word)),
    );
  const text = (row) =>
    [
      row.name,
      facts.papers[row.paper],
      row.where,
      row.published,
      ...Object.values((facts.lines && facts.lines[row.name]) || {}),
    ]
      .join(" ")
      .toLowerCase();
  const counted = element("p", { class: "counted", role: "status" });
  const show = () => {
    if (state.words && !facts.lines)
      recorded().then(show, (error) => {
        said.textContent = `The words of the results are not here: ${error.message}.`;
      });
    const rows = shown(),
      names = new Set(rows.map((row) => row.name)),
      open = rows.filter((row) => !row.verdict).length;
    for (const [name, { box }] of items) box.hidden = !names.has(name);
    for (const { one, box } of statements) {
      box.hidden = !one.cells.some((name) => names.has(name));
      if (state.words) box.open = !box.hidden;
    }
    const counts = facts.verdicts.map((v) => [rows.filter((row) => row.verdict === v).length, v]).filter(([n]) => n);
    if (open) counts.push([open, "not decided yet"]);
    const whole = new Set(rows.map((row) => statementOf.get(row.name)));
    const each = counts.map(([n, v]) => `${n} ${n === 1 ? v : (facts.several[v] ?? v)}`).join(", ");
    counted.textContent =
      `${whole.size} of ${facts.statements.length} statements, ` +
      `${rows.length} of ${facts.rows.length} cells${each ? `: ${each}` : ""}.`;
  };
  const filter = (name, label, choices) => {
    const list = element(
      "select",
      {
        id: `filter-${name}`,
        onchange: () => {
          state[name] = list.value;
          changed();
        },
      },
      ...choices.map(([value, word]) => element("option", { value, selected: value === state[name] }, word)),
    );
    return element("div", { class: "control" }, element("label", { for: `filter-${name}` }, label), list);
  };
  const words = element("input", {
    type: "search",
    id: "filter-words",
    maxlength: LONGEST,
    value: state.words,
    oninput: () => {
      state.words = words.value;
      changed();
    },
  });
  const changed = () => {
    show();
    address();
  };
  const said = complaint(complaints.join(". "));
  signal.addEventListener("abort", () => plots.forEach((plot) => plot.destroy()));
  if (framed) {
    const row = byName.get(state.open),
      box = element("div", { class: "claim-figure" });
    embedded();
    root.replaceChildren(said, box, commandsOf(row));
    draw(row, box)
      .catch((error) => box.append(complaint(`The figure is not here: ${error.message}.`)))
      .finally(() => root.dispatchEvent(new CustomEvent("drawn")));
    return;
  }
  if (complaints.length) address();
  const list = element("div", { class: "claims" }, ...statements.map(({ box }) => box));
  root.replaceChildren(
    ...headed(spec.title, spec.question, said),
    element(
      "p",
      { class: "note" },
      `The papers make ${facts.statements.length} statements. A table or a figure is one statement, with a cell for ` +
        `each number that it gives: ${facts.rows.length} cells in all.`,
    ),
    element(
      "details",
      {},
      element("summary", {}, "What the words on this page mean"),
      ...spec.notes.map((note) => element("p", { class: "note" }, note)),
    ),
    element(
      "form",
      { class: "controls", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
      filter("paper", "paper", [[ANY, "all papers"], ...Object.entries(facts.papers)]),
      filter("verdict", "verdict on the statement", [[ANY, "all verdicts"], ...facts.verdicts.map((v) => [v, v])]),
      element("div", { class: "control" }, element("label", { for: "filter-words" }, "words"), words),
    ),
    counted,
    list,
    element(
      "ul",
      { class: "papers" },
      ...Object.entries(facts.papers).map(([name, title]) =>
        element(
          "li",
          {},
          element("strong", {}, title),
          ` ${facts.says[name]} ${facts.counts[name]}.`,
          ...(facts.ours[name].length
            ? [
                element(
                  "ul",
                  {},
                  ...facts.ours[name].map((one) => element("li", {}, `We were wrong: ${one.said} ${one.true}`)),
                ),
              ]
            : []),
        ),
      ),
    ),
  );
  show();
  if (state.open) {
    items.get(state.open).box.parentElement.open = true;
    items.get(state.open).box.open = true;
    items.get(state.open).box.scrollIntoView();
  }
};
page("claims", { mount });
