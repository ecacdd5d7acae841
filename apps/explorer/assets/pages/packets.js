// The packet simulator: one scenario or two side by side, each with its form, its run in the background, its pictures.
"use strict";
explorer.page("packets", {
  mount(root, spec) {
    const { element, csv, save, plotly, shown } = explorer;
    const SIDES = [["first", "", "scenario"], ["second", "beside.", "beside"]];
    const PICTURES = [
      ["windows", "Windows: congestion window and, dotted, slow-start threshold of the first flows"],
      ["queues", "Queues: packets that wait at the links, the one being sent excluded"],
      ["throughput", "Throughput: what receivers get, headers and repeats included"],
      ["drops", "Losses: data packets lost, and acknowledgements apart"],
    ];
    const said = element("p", { class: "complaint", role: "status" }, (spec.complaints || []).join(". "));
    const sides = new Map();

    const address = () => {
      const words = new URLSearchParams();
      for (const [name, prefix, word] of SIDES) {
        const side = sides.get(name);
        if (!side || side.text !== null) continue;
        if (name === "second" || side.scenario !== spec.values.fresh || Object.keys(side.changes).length) words.set(word, side.scenario);
        for (const [key, text] of Object.entries(side.changes)) words.set(prefix + key, text);
      }
      const text = words.toString();
      history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
    };

    // ---- pictures: the library's figures, as titles and lines of numbers --------------------------------------
    const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const traces = (picture) => picture.lines.map((line) => ({
      x: line.x, y: line.y, name: line.name, mode: "lines", type: "scatter",
      line: { color: line.color, dash: line.dash, width: line.width, shape: "hv" },
    }));
    const layout = (picture, ink, line, paper) => {
      const axis = { gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true };
      return {
        paper_bgcolor: paper, plot_bgcolor: paper, font: { color: ink, family: "system-ui, sans-serif", size: 12 },
        height: 330, margin: { t: 10, r: 12, b: 40, l: 50 }, hovermode: "x", showlegend: true,
        legend: { orientation: "h", y: -0.22, font: { size: 11 } },
        xaxis: { ...axis, title: { text: picture.xTitle } },
        yaxis: { ...axis, title: { text: picture.yTitle }, rangemode: "tozero", range: picture.top ? [0, picture.top] : undefined },
      };
    };

    class Picture {
      constructor(side, name, title) {
        this.box = element("div", { class: "picture", role: "img", "aria-label": title });
        this.table = element("details", { ontoggle: () => this.table.open && this.fill() },
          element("summary", {}, "Numbers"), element("div", { class: "scroll", tabindex: "0" }, element("table")));
        const file = () => `${side.result ? side.result.name : "run"}-${name}`;
        const image = (format) => async () => {
          if (!this.data) return;
          const kept = { data: traces(this.data), layout: { ...layout(this.data, "#1b1f24", "#d9dee5", "#ffffff"), title: { text: this.data.title }, margin: { t: 60 } } };
          (await plotly(spec)).downloadImage(kept, { format, filename: file(), width: 900, height: 560 });
        };
        const rows = () => this.data && save(`${file()}.csv`, csv(this.rows()), "text/csv");
        this.node = element("section", { class: "figure", "aria-label": title }, element("h2", {}, title), this.box,
          element("p", { class: "actions" },
            element("button", { type: "button", onclick: image("png") }, "PNG"),
            element("button", { type: "button", onclick: image("svg") }, "SVG"),
            element("button", { type: "button", onclick: rows }, "CSV")), this.table);
      }

      async show(data) {
        this.data = data;
        if (!data) { this.box.replaceChildren(element("p", { class: "note" }, "This run was too long, or had too many flows, to write this down.")); return; }
        const library = await plotly(spec);
        if (this.data !== data) return;
        this.box.querySelector(".note")?.remove();
        await library.react(this.box, traces(data), layout(data, style("--ink"), style("--line"), style("--paper")), { responsive: true, displaylogo: false, displayModeBar: false });
        if (this.table.open) this.fill();
      }

      rows() { return [["line", this.data.xTitle, this.data.yTitle], ...this.data.lines.flatMap((line) => line.x.map((x, i) => [line.name, x, line.y[i]]))]; }

      fill() {
        if (!this.data) return;
        const rows = this.rows();
        this.table.querySelector("table").replaceChildren(
          element("thead", {}, element("tr", {}, ...rows[0].map((w) => element("th", { scope: "col" }, w)))),
          element("tbody", {}, ...rows.slice(1, 401).map((row) => element("tr", {}, ...row.map((x) => element("td", {}, typeof x === "number" ? shown(x) : String(x)))))));
      }
    }

    // ---- one scenario: form, run, what came out ---------------------------------------------------------------
    class Side {
      constructor(name, state) {
        Object.assign(this, { name, scenario: state.scenario, changes: { ...state.changes }, text: null, groups: null, job: null, result: null });
        const id = (word) => `${name}-${word}`;
        this.choice = element("select", { id: id("scenario"), onchange: () => this.choose(this.choice.value) },
          ...Object.keys(spec.scenarios).map((word) => element("option", { value: word, selected: word === this.scenario }, word)));
        this.about = element("p", { class: "note" });
        this.form = element("details", { class: "form" }, element("summary", {}, "Change it"), element("div", {}));
        this.file = element("input", { type: "file", id: id("file"), accept: ".toml", onchange: () => this.load() });
        this.run = element("button", { type: "button", class: "run", onclick: () => this.start() }, "Run");
        this.cancel = element("button", { type: "button", onclick: () => this.job && this.job.cancel(), disabled: true }, "Cancel");
        this.bar = element("progress", { max: "1", value: "0", "aria-label": "share of the run that is done" });
        this.state = element("p", { class: "state", role: "status" });
        this.pictures = PICTURES.map(([word, title]) => new Picture(this, word, title));
        this.out = element("div", { class: "out" });
        this.node = element("section", { class: "side", "aria-label": name === "first" ? "Scenario" : "Second scenario" },
          element("div", { class: "control" }, element("label", { for: id("scenario") }, "scenario"), this.choice),
          this.about, this.form,
          element("div", { class: "control" }, element("label", { for: id("file") }, "or load a TOML file"), this.file),
          element("p", { class: "actions" }, this.run, this.cancel, this.bar), this.state,
          element("div", { class: "figures" }, ...this.pictures.map((p) => p.node)), this.out);
        this.fill();
      }

      /** A ready scenario, as it is. */
      choose(name) {
        Object.assign(this, { scenario: name, changes: {}, text: null, groups: null });
        this.file.value = "";
        this.fill();
        address();
        this.start();
      }

      /** The form of the scenario, by its groups of keys. */
      fill() {
        const known = spec.scenarios[this.scenario];
        const groups = this.groups || known.groups;
        this.about.textContent = this.text === null ? known.about : "From a file of yours, which stays in this tab.";
        this.form.lastChild.replaceChildren(...groups.map((group) => this.group(group)));
      }

      group(group) {
        const rows = spec.keys[group.part];
        const here = rows.filter((row) => row.key in group.values || group.place + row.key in this.changes);
        const more = rows.filter((row) => !here.includes(row));
        return element("fieldset", {}, element("legend", {}, group.title), ...here.map((row) => this.field(group, row)),
          ...(more.length ? [element("details", {}, element("summary", {}, "more keys"), ...more.map((row) => this.field(group, row)))] : []));
      }

      field(group, row) {
        const key = group.place + row.key, own = group.values[row.key] ?? "", id = `${this.name}-${key}`;
        const change = (text) => {
          if (text === own || text === "") delete this.changes[key]; else this.changes[key] = text;
          address();
        };
        const value = this.changes[key] ?? own;
        const input = row.choices.length
          ? element("select", { id, onchange: () => change(input.value) }, ...(own ? [] : [element("option", { value: "" }, "default")]),
            ...row.choices.map((word) => element("option", { value: word, selected: word === value }, word)))
          : element("input", { id, type: "text", value, maxlength: "200", placeholder: "default", autocomplete: "off", spellcheck: "false", onchange: () => change(input.value.trim()) });
        const help = element("small", { id: `${id}-help` }, row.meaning);
        if (row.meaning) input.setAttribute("aria-describedby", `${id}-help`);
        return element("div", { class: "field" }, element("label", { for: id }, row.key, ...(row.unit ? [` [${row.unit}]`] : [])), input, help);
      }

      /** A scenario that a file describes: its text is read here, and checked by the library's own reader. */
      async load() {
        const file = this.file.files[0];
        if (!file) return;
        if (file.size > spec.mostBytes) { this.tell(`the file has ${file.size} bytes, at most ${spec.mostBytes} are read here; take the command for it`, true); return; }
        const text = await file.text();
        this.stop();
        this.tell("reading the file");
        this.job = explorer.jobs.start("scenario-form", { text }, async (status, job) => {
          if (job !== this.job || ["waiting", "running"].includes(status.state)) return;
          if (status.state !== "done") { this.tell(status.said, true); return; }
          const form = await (await fetch(job.address("form.json"))).json();
          Object.assign(this, { text, groups: form.groups, changes: {} });
          this.fill();
          address();
          this.start();
        });
      }

      tell(words, bad = false) { this.state.textContent = words; this.state.classList.toggle("complaint", bad); }

      stop() { if (this.job) this.job.cancel(); this.job = null; }

      start() {
        this.stop();
        const words = this.text === null ? { scenario: this.scenario, changes: this.changes } : { text: this.text, changes: this.changes };
        this.node.classList.add("old"); // the old pictures stay, marked, until the new ones are there
        this.node.dataset.state = "running";
        this.cancel.disabled = false;
        this.tell("starting");
        this.job = explorer.jobs.start("packets", words, (status, job) => job === this.job && this.hear(status, job));
      }

      async hear(status, job) {
        this.bar.value = status.share;
        if (status.state === "running") this.tell(status.said || `${Math.round(100 * status.share)} % of the simulated time is done`);
        if (status.state === "waiting") this.tell(status.said);
        if (["waiting", "running"].includes(status.state)) return;
        this.cancel.disabled = true;
        if (status.state === "done") {
          try {
            const answer = await fetch(job.address("result.json"));
            if (!answer.ok) throw new Error(await answer.text());
            const result = await answer.json();
            if (job === this.job) await this.show(result, job);
          } catch (error) { this.tell(error.message, true); }
        } else this.tell(status.said, status.state !== "ended");
        if (job === this.job) this.node.dataset.state = status.state;
      }

      async show(result, job) {
        this.result = result;
        await Promise.all(this.pictures.map((picture, i) => picture.show(result.pictures[PICTURES[i][0]])));
        this.node.classList.remove("old");
        this.tell([`${result.name}, seed ${result.seed}`, ...result.said].join(". "));
        const cell = (x, digits) => (x === null ? "none" : digits === undefined ? shown(x) : x.toFixed(digits));
        const table = (head, rows) => element("table", {}, element("thead", {}, element("tr", {}, ...head.map((w) => element("th", { scope: "col" }, w)))),
          element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((x) => element("td", {}, x))))));
        const part = (title, words, ...inside) => element("section", { class: "part", "aria-label": title }, element("h2", {}, title),
          element("p", { class: "note" }, words), ...inside);
        const scroll = (inside) => element("div", { class: "scroll", tabindex: "0" }, inside);
        const flows = result.flows;
        const file = () => save(`${result.name}-flows.csv`, csv([flows.columns, ...flows.rows.map((row) => row.map((x) => x ?? ""))]), "text/csv");
        this.out.replaceChildren(
          part("What came out", "Of the time after the warm-up.", scroll(table(["quantity", "value"], result.facts.map(([label, x, digits]) => [label, cell(x, digits)])))),
          part("Fairness of the goodput", result.fairness.length ? "Indices of how evenly the flows share." : "Nothing arrived, so there is nothing to share.",
            ...(result.fairness.length ? [scroll(table(["index", "value", "meaning"], result.fairness.map(([word, x, meaning]) => [word, cell(x), meaning])))] : [])),
          part("Flows", flows.rows.length < flows.all ? `The first ${flows.rows.length} of ${flows.all}; NetCDF has all.` : "Each flow after the warm-up; start and finish of the whole run.",
            scroll(table(flows.columns, flows.rows.map((row) => row.map((x) => cell(x))))),
            element("p", { class: "actions" }, element("button", { type: "button", onclick: file }, "CSV"),
              element("a", { class: "button", href: job.address("result.nc"), download: `${result.name}.nc` }, "NetCDF"))),
          element("details", {}, element("summary", {}, "What was run"), element("pre", { tabindex: "0" }, result.summary)),
          element("details", { class: "code" }, element("summary", {}, "Show the code"), element("pre", { tabindex: "0" }, `${result.code}\n\n# or\n# ${result.command}`)),
        );
        root.dispatchEvent(new CustomEvent("drawn"));
      }
    }

    const row = element("div", { class: "sides" });
    const both = element("input", { type: "checkbox", id: "beside", onchange: () => {
      if (both.checked) add("second", { scenario: sides.get("first").scenario, changes: sides.get("first").changes });
      else { const side = sides.get("second"); side.stop(); side.node.remove(); sides.delete("second"); }
      row.classList.toggle("two", both.checked);
      address();
    } });
    const add = (name, state) => {
      const side = new Side(name, state);
      sides.set(name, side);
      row.append(side.node);
      side.start();
    };
    root.replaceChildren(element("h1", {}, spec.title), element("p", { class: "question" }, spec.question), said,
      element("p", { class: "guess-first" }, both, element("label", { for: "beside" }, " A second scenario beside it")),
      row, ...spec.notes.map((note) => element("p", { class: "note" }, note)));
    both.checked = Boolean(spec.values.second);
    row.classList.toggle("two", both.checked);
    for (const [name] of SIDES) if (spec.values[name]) add(name, spec.values[name]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => sides.forEach((side) => side.pictures.forEach((p) => p.data && p.show(p.data))));
  },
});
