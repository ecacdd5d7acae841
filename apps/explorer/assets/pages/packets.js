// @ts-check
// The packet simulator: one scenario or two side by side, each with its form, its run in the background, its pictures.
import { rewrite } from "../core/address.js";
import { embedded } from "../core/bench.js";
import { complaint, element, headed } from "../core/dom.js";
import { startJob } from "../core/jobs.js";
import { brief, grouped, shown, typedNumber } from "../core/numbers.js";
import { page } from "../core/pages.js";
import { plotSection } from "../core/plot.js";
import { csv, save } from "../core/save.js";
import { get } from "../core/server.js";

page("packets", {
  mount(root, spec, signal) {
    const SIDES = [
      ["first", "", "scenario"],
      ["second", "beside.", "beside"],
    ];
    const PICTURES = [
      [
        "windows",
        "Windows",
        "Congestion window and, dotted, slow-start threshold, of flows from each group; of TFRC, rate times RTT.",
      ],
      ["queues", "Queues", "Packets that wait at the links, the one being sent excluded."],
      [
        "throughput",
        "Throughput",
        "What receivers get, headers and retransmissions included; for long runs, goodput in each interval.",
      ],
      ["drops", "Losses", "Data packets lost per second; acknowledgements not counted."],
    ];
    /** A picture alone, in another page's frame. */
    const { figure, embed } = spec.values;
    const alone = PICTURES.filter(([name]) => name === (figure ?? name));
    if (embed) embedded();
    const said = complaint((spec.complaints || []).join(". "));
    const sides = new Map();
    const guess = element("input", {
      type: "checkbox",
      id: "guess",
      onchange: () => {
        root.classList.toggle("guess", guess.checked);
        address();
      },
    });

    /** The state of the page as words of an address. */
    const written = () => {
      const words = new URLSearchParams();
      for (const [name, prefix, word] of SIDES) {
        const side = sides.get(name);
        if (!side || side.text !== null) continue;
        if (name === "second" || side.scenario !== spec.values.fresh || Object.keys(side.changes).length)
          words.set(word, side.scenario);
        for (const [key, text] of Object.entries(side.changes)) words.set(prefix + key, text);
      }
      return words.toString();
    };
    const address = () => {
      const kept = [guess.checked && "guess=first", figure && `figure=${figure}`, embed && "embed=1"];
      rewrite(true, [written(), ...kept].filter(Boolean).join("&"));
    };

    // ---- pictures: the library's figures, as titles and lines of numbers --------------------------------------
    /** A picture's lines as a figure, on axes that show all pictures of its kind: two scenarios have the same. */
    const figureOf = (number, data) => {
      const [x, y] = ranges(number);
      const some = data.lines.filter((line) => line.y.some((value) => value)); // a queue that never is, is no line
      return {
        data: (some.length ? some : data.lines).map((line) => ({
          x: line.x,
          y: line.y,
          name: line.name,
          mode: "lines",
          type: "scatter",
          showlegend: line.dash === "solid",
          line: { color: line.color, dash: line.dash, width: line.width, shape: "hv" },
        })),
        layout: {
          title: { text: data.title },
          height: 280,
          xaxis: { title: { text: data.xTitle }, range: part || x },
          yaxis: { title: { text: data.yTitle }, range: y },
        },
      };
    };
    const largest = (values) => values.reduce((a, b) => Math.max(a, b), 0);
    const end = () => largest([...sides.values()].map((side) => (side.result ? side.result.duration : 0)));
    const ranges = (number) => {
      const data = [...sides.values()].map((side) => side.pictures[number].data).filter(Boolean);
      const tops = data.map((one) => one.top ?? 1.05 * largest(one.lines.map((line) => largest(line.y))));
      return [
        [0, end()],
        [0, largest(tops) || 1],
      ];
    };
    const pictures = () => [...sides.values()].flatMap((side) => side.pictures).filter((picture) => picture.data);
    /** The part of the time that all pictures show; null: all of it. */
    let part = null;
    const ends = ["from", "to"].map((word) =>
      element("input", {
        inputmode: "decimal",
        autocomplete: "off",
        id: `time-${word}`,
        "aria-describedby": "time-wrong",
        onchange: () => typed(),
      }),
    );
    const tell = (words, wrong) => {
      timed.textContent = words;
      ends.forEach((input) => input.setAttribute("aria-invalid", String(wrong)));
    };
    const zoom = (range) => {
      part = range;
      tell("", false);
      time.hidden = !end();
      ends.forEach((input, i) => {
        input.value = (range || [0, end()])[i].toPrecision(4) / 1;
      });
      pictures().forEach((picture) => picture.draw());
    };
    const typed = () => {
      const read = ends.map((input) => typedNumber(input.value, "s")),
        [from, to] = read.map(([x]) => x);
      if (!(from >= 0 && to > from && from < end()))
        return tell(`Type two times from 0 to ${brief(end())} s, the earlier one first. The pictures stay.`, true);
      zoom(to - from < end() ? [from, Math.min(to, end())] : null);
      tell(read.map(([, words]) => words).join(" "), false);
    };
    const timed = element("span", { class: "wrong", id: "time-wrong", role: "status" });
    const time = element(
      "p",
      { class: "actions time", hidden: true },
      "Time shown [s]:",
      ...["from", "to"].flatMap((word, i) => [element("label", { for: `time-${word}` }, word), ends[i]]),
      element("button", { type: "button", onclick: () => zoom(null) }, "All of it"),
      element("span", { class: "note" }, "or drag across a picture"),
      timed,
    );

    class Run {
      constructor(side, number) {
        const [name, title, meaning] = alone[number];
        const code = () => side.out.querySelector(".code");
        this.f = { name, title, alt: `${title}: ${meaning}`, kind: "plot", file: "", code };
        const { plot, node } = plotSection({ ...spec, written }, this.f, (words) => side.tell(words, true));
        this.number = number;
        this.data = null;
        this.plot = plot;
        this.node = node;
        this.file = () => `${side.result.name}-${name}`;
        node.setAttribute("aria-label", title + side.which);
        node.querySelector(".figure-head").after(element("p", { class: "note" }, meaning));
        this.note("The run is on its way; the first on a new machine takes about 20 s.");
      }

      /** Words in the place of a picture, of which nothing can be kept. */
      note(words) {
        this.plot.destroy();
        this.plot.box.replaceChildren(element("p", { class: "note" }, words));
        this.node.querySelector(".menu").hidden = this.plot.table.hidden = true;
      }

      show(data) {
        this.data = data;
        if (!data) this.note("This run is too long, or has too many flows, to write this down.");
        else this.node.querySelector(".menu").hidden = this.plot.table.hidden = false;
      }

      draw() {
        this.f.file = this.file();
        const others = () => pictures().filter((picture) => picture !== this);
        const point = (x) => others().forEach((picture) => picture.plot.drawn?.mark(x));
        this.plot.show(figureOf(this.number, this.data), { linked: { point, zoom } });
      }
    }

    // ---- one scenario: form, run, what came out ---------------------------------------------------------------
    class Side {
      constructor(name, state) {
        const { scenario, changes, text = null, groups = null, called = "" } = state;
        this.name = name;
        this.scenario = scenario;
        this.changes = { ...changes };
        this.text = text;
        this.groups = groups;
        this.called = called;
        this.job = null;
        this.result = null;
        this.which = name === "first" ? "" : ", second scenario";
        const id = (word) => `${name}-${word}`;
        this.choice = element(
          "select",
          { id: id("scenario"), onchange: () => this.choice.value && this.choose(this.choice.value) },
          ...Object.keys(spec.scenarios).map((word) =>
            element("option", { value: word, selected: word === this.scenario }, word),
          ),
        );
        this.about = element("p", { class: "note" });
        this.form = element(
          "details",
          { class: "scenario-form" },
          element("summary", {}, "Change it"),
          element("div", {}),
        );
        this.file = element("input", { type: "file", id: id("file"), accept: ".toml", onchange: () => this.load() });
        this.run = element("button", { type: "button", class: "run", onclick: () => this.start() }, "Run");
        this.cancel = element(
          "button",
          { type: "button", onclick: () => this.job && this.job.cancel(), disabled: true },
          "Cancel",
        );
        this.reset = element(
          "button",
          {
            type: "button",
            onclick: () => {
              this.changes = {};
              this.fill();
              address();
              this.start();
            },
          },
          "Undo changes",
        );
        this.bar = element("progress", { max: "1", value: "0", "aria-label": "fraction of the run that is done" });
        this.state = element("p", { class: "state", role: "status" });
        this.note = element("p", { class: "note" });
        this.pictures = alone.map((_, number) => new Run(this, number));
        this.out = element("div", { class: "out" });
        this.node = element(
          "section",
          { class: "side", "aria-label": name === "first" ? "Scenario" : "Second scenario" },
          element("div", { class: "control" }, element("label", { for: id("scenario") }, "scenario"), this.choice),
          this.about,
          element("div", { class: "control" }, element("label", { for: id("file") }, "or load a TOML file"), this.file),
          this.form,
          element("p", { class: "actions" }, this.run, this.cancel, this.reset, this.bar),
          element("div", {}, this.state, this.note),
          element("div", { class: "figures" }, ...this.pictures.map((p) => p.node)),
          this.out,
        );
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
        this.choice.querySelector("[value='']")?.remove();
        if (this.text !== null) this.choice.prepend(element("option", { value: "" }, this.called));
        this.choice.value = this.text === null ? this.scenario : "";
        this.mark();
        this.about.textContent = this.text === null ? known.about : "From a file of yours, which stays in this tab.";
        this.form.lastChild.replaceChildren(...groups.map((group) => this.group(group)));
      }

      mark() {
        this.reset.disabled = !Object.keys(this.changes).length;
      }

      group(group) {
        const rows = spec.keys[group.part];
        const here = rows.filter((row) => row.key in group.values || group.place + row.key in this.changes);
        const more = rows.filter((row) => !here.includes(row));
        return element(
          "fieldset",
          {},
          element("legend", {}, group.title),
          ...here.map((row) => this.field(group, row)),
          ...(more.length
            ? [
                element(
                  "details",
                  {},
                  element("summary", {}, "more keys"),
                  element("div", { class: "fields" }, ...more.map((row) => this.field(group, row))),
                ),
              ]
            : []),
        );
      }

      field(group, row) {
        const key = group.place + row.key,
          own = group.values[row.key] ?? "",
          id = `${this.name}-${key}`;
        const change = (typed) => {
          // a number alone has the unit that the box had
          const [, unit] = /^[\d.]+ ?([a-z/]+)$/i.exec(this.changes[key] ?? own) || [],
            text = unit && /^[\d.]+(e-?\d+)?$/i.test(typed) ? typed + unit : typed;
          input.value = text;
          if (text === own || text === "") delete this.changes[key];
          else this.changes[key] = text;
          this.mark();
          address();
        };
        const enter = (event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          change(input.value.trim());
          this.start();
        };
        const value = this.changes[key] ?? own;
        // A table, of losses or of changes, is longer than a line.
        const box = {
          id,
          maxlength: "200",
          placeholder: "default",
          autocomplete: "off",
          spellcheck: "false",
          onchange: () => change(input.value.trim()),
          onkeydown: enter,
        };
        const input = row.choices.length
          ? element(
              "select",
              { id, onchange: () => change(input.value) },
              ...(own ? [] : [element("option", { value: "" }, "default")]),
              ...row.choices.map((word) => element("option", { value: word, selected: word === value }, word)),
            )
          : value.length > 30
            ? element("textarea", { ...box, rows: String(Math.min(8, Math.ceil(value.length / 60))) }, value)
            : element("input", { ...box, type: "text", value });
        const help = element("small", { id: `${id}-help` }, row.meaning);
        if (row.meaning) input.setAttribute("aria-describedby", `${id}-help`);
        return element(
          "div",
          { class: input.tagName === "TEXTAREA" ? "field table" : "field" },
          element("label", { for: id }, row.key, ...(row.unit ? [` [${row.unit}]`] : [])),
          input,
          help,
        );
      }

      /** A scenario that a file describes: its text is read here, and checked by the library's own reader. */
      async load() {
        const file = this.file.files[0];
        if (!file) return;
        if (file.size > spec.mostBytes) {
          this.tell(
            `The file has ${grouped(String(file.size))} bytes, at most ` +
              `${grouped(String(spec.mostBytes))} are read here: use the command for it.`,
            true,
          );
          return;
        }
        const text = await file.text();
        this.stop();
        this.tell("reading the file");
        this.job = startJob("scenario-form", { text }, async (status, job) => {
          if (job !== this.job || ["waiting", "running"].includes(status.state)) return;
          if (status.state !== "done") {
            this.tell(status.said, true);
            return;
          }
          const form = await (await get(job.address("form.json"))).json();
          Object.assign(this, { text, groups: form.groups, called: file.name, changes: {} });
          this.fill();
          address();
          this.start();
        });
      }

      /** What is simulated, in words: the scenario, and how much of its time is done. */
      running(share) {
        const own = (
          (this.groups || spec.scenarios[this.scenario].groups).find((group) => group.place === "") || { values: {} }
        ).values.duration;
        const duration = this.changes.duration ?? own,
          whole =
            duration && (/^[\d.]+$/.test(duration) ? `${duration} s` : duration.replace(/(\d)\s*([a-z])/, "$1 $2"));
        return (
          `Running ${this.text === null ? this.scenario : this.called}: ${Math.round(100 * share)} ` +
          `% of ${whole || "the simulated time"}`
        );
      }

      tell(words, bad = false) {
        this.state.textContent = words;
        this.state.classList.toggle("complaint", bad);
      }

      stop() {
        if (this.job) this.job.cancel();
        this.job = null;
      }

      start() {
        this.stop();
        const words =
          this.text === null
            ? { scenario: this.scenario, changes: this.changes }
            : { text: this.text, changes: this.changes };
        this.node.classList.add("old"); // the old pictures stay, marked, until the new ones are there
        this.node.dataset.state = "running";
        this.cancel.disabled = false;
        this.tell("starting");
        this.job = startJob("packets", words, (status, job) => job === this.job && this.hear(status, job));
      }

      async hear(status, job) {
        this.bar.value = status.share;
        if (status.state === "running") this.tell(status.said || this.running(status.share));
        if (status.state === "waiting") this.tell(status.said);
        if (["waiting", "running"].includes(status.state)) return;
        this.cancel.disabled = true;
        if (status.state === "done") {
          try {
            const answer = await get(job.address("result.json"));
            const result = await answer.json();
            if (job === this.job) await this.show(result, job);
          } catch (error) {
            this.tell(error.message, true);
          }
        } else this.tell(status.said, status.state !== "ended");
        if (job === this.job) this.node.dataset.state = status.state;
      }

      async show(result, job) {
        this.result = result;
        this.pictures.forEach((picture, i) => picture.show(result.pictures[alone[i][0]]));
        zoom(null);
        this.node.classList.remove("old");
        this.tell(`${result.name}, seed ${result.seed}`);
        this.note.textContent = result.said.map((words) => `Note: ${words}${/[.?]$/.test(words) ? "" : "."}`).join(" ");
        const cell = (x, digits) =>
          x === null ? "none" : digits === undefined ? shown(x) : grouped(x.toFixed(digits));
        const table = (kind, head, rows) =>
          element(
            "table",
            { class: kind },
            element("thead", {}, element("tr", {}, ...head.map((w) => element("th", { scope: "col" }, w)))),
            element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((x) => element("td", {}, x))))),
          );
        const part = (title, words, ...inside) =>
          element(
            "section",
            { class: "part", "aria-label": title + this.which },
            element("h2", {}, title),
            element("p", { class: "note" }, words),
            ...inside,
          );
        const scroll = (inside) => element("div", { class: "scroll", tabindex: "0" }, inside);
        const flows = result.flows;
        const whole = async () => {
          try {
            save(
              `${result.name}.nc`,
              await (await get(job.address("result.nc"))).arrayBuffer(),
              "application/x-netcdf",
            );
          } catch (error) {
            this.tell(error.message, true);
          }
        };
        const file = () =>
          save(
            `${result.name}-flows.csv`,
            csv([flows.columns, ...flows.rows.map((row) => row.map((x) => x ?? ""))]),
            "text/csv",
          );
        this.out.replaceChildren(
          part(
            "What came out",
            result.ended === null
              ? "The last column is the time over which each number is taken."
              : `The last transfer ended at ${brief(result.ended)} s. The last column is the time over which each ` +
                  "number is taken; averages are given until then, too.",
            scroll(
              table(
                "words",
                ["quantity", "value", "time [s]"],
                result.facts.map(([label, x, digits, time]) => [label, cell(x, digits), time]),
              ),
            ),
          ),
          part(
            "Fairness of the goodput",
            result.fairness.length
              ? "Indices of how equal the goodputs of the flows are."
              : "Nothing arrived: there is no goodput to compare.",
            ...(result.fairness.length
              ? [
                  scroll(
                    table(
                      "words meaning",
                      ["index", "value", "meaning"],
                      result.fairness.map(([word, x, meaning]) => [word, cell(x), meaning]),
                    ),
                  ),
                ]
              : []),
          ),
          part(
            "Flows",
            flows.rows.length < flows.all
              ? `The first ${flows.rows.length} of ${flows.all}; NetCDF has all.`
              : "Each flow after the warm-up; start and finish of the whole run.",
            scroll(
              table(
                "",
                flows.columns,
                flows.rows.map((row) => row.map((x) => cell(x))),
              ),
            ),
            element(
              "p",
              { class: "actions" },
              element("button", { type: "button", onclick: file }, "CSV"),
              element("button", { type: "button", onclick: whole }, "NetCDF"),
            ),
          ),
          element(
            "details",
            {},
            element("summary", {}, "What was run"),
            element("pre", { tabindex: "0" }, result.summary),
          ),
          element(
            "details",
            { class: "code" },
            element("summary", {}, "Show the code"),
            element("pre", { tabindex: "0" }, `${result.code}\n\n# or\n# ${result.command}`),
          ),
        );
        root.dispatchEvent(new CustomEvent("drawn"));
      }
    }

    const row = element("div", { class: "sides" });
    const both = element("input", {
      type: "checkbox",
      id: "beside",
      onchange: () => {
        if (both.checked) add("second", sides.get("first"));
        else {
          const side = sides.get("second");
          side.stop();
          side.node.remove();
          sides.delete("second");
          zoom(null);
        }
        row.classList.toggle("two", both.checked);
        address();
      },
    });
    const add = (name, state) => {
      const side = new Side(name, state);
      sides.set(name, side);
      row.append(side.node);
      side.start();
    };
    root.replaceChildren(
      ...headed(spec.title, spec.question, said),
      element(
        "p",
        { class: "guess-first" },
        both,
        element("label", { for: "beside" }, " Compare with a second scenario"),
      ),
      element(
        "p",
        { class: "guess-first" },
        guess,
        element("label", { for: "guess" }, " Guess first: hide the results until you have a guess"),
      ),
      time,
      row,
      ...spec.notes.map((note) => element("p", { class: "note" }, note)),
    );
    guess.checked = new URLSearchParams(location.search).get("guess") === "first";
    root.classList.toggle("guess", guess.checked);
    both.checked = Boolean(spec.values.second);
    row.classList.toggle("two", both.checked);
    for (const [name] of SIDES) if (spec.values[name]) add(name, spec.values[name]);
    if (said.textContent) address(); // a copied link is a good one
  },
});
