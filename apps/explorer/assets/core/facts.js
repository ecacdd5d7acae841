// @ts-check
import { element, maths } from "./dom.js";
import { inFacts, title } from "./numbers.js";
import { Picture } from "./picture.js";

/** Numbers, each with its unit and a sentence: show({rows: [{name, value, unit, means}]}), or several in a row:
 *  show({columns: ["one", "two"], rows: [{name, values, unit, means}]}). Fractions of a row that is `percent` are
 *  shown in per cent; files have them as they are. */
export class Facts extends Picture {
  show(data) {
    this.data = data;
    if (data.columns) return this.compare(data);
    const said = ({ value, unit, percent }) =>
      typeof value === "number" && !Number.isFinite(value)
        ? "none"
        : (typeof value === "string" ? value : inFacts(value, percent)) + (unit && unit !== "1" ? ` ${unit}` : "");
    this.box.replaceChildren(
      element(
        "dl",
        { class: "facts" },
        ...data.rows.map((row) =>
          element(
            "div",
            {},
            element("dt", {}, row.name),
            element("dd", {}, element("b", {}, said(row)), " ", element("span", {}, ...maths(row.means))),
          ),
        ),
      ),
    );
    this.filled();
  }

  compare({ columns, rows }) {
    const table = element(
      "table",
      { class: "compared" },
      element(
        "thead",
        {},
        element("tr", {}, element("td", {}), ...columns.map((name) => element("th", { scope: "col" }, name))),
      ),
      element(
        "tbody",
        {},
        ...rows.map((row) =>
          element(
            "tr",
            {},
            element("th", { scope: "row" }, title(row.name, row.unit), element("span", {}, ...maths(row.means))),
            ...row.values.map((x) => element("td", {}, inFacts(x, row.percent))),
          ),
        ),
      ),
    );
    this.box.replaceChildren(element("div", { class: "scroll wide", tabindex: "0" }, table));
    this.filled();
  }

  rows() {
    if (this.data.columns)
      return [
        ["quantity", ...this.data.columns, "unit", "meaning"],
        ...this.data.rows.map((row) => [row.name, ...row.values, row.unit || "1", row.means]),
      ];
    return this.named();
  }

  named() {
    return [
      ["quantity", "value", "unit", "meaning"],
      ...this.data.rows.map((row) => [row.name, row.value, row.unit || "1", row.means]),
    ];
  }
  /** @returns {any} */
  kept() {
    const [header, ...rows] = this.rows(),
      said = (x, row) => (typeof x === "number" ? inFacts(x, row.percent) : x === "1" ? "" : x),
      columns = header.map((_, i) => rows.map((cells, k) => said(cells[i], this.data.rows[k])));
    return {
      data: [
        {
          type: "table",
          columnwidth: header.map((name) => (name === "meaning" ? 4 : name === "quantity" ? 2 : 1)),
          header: { values: header, align: "left" },
          cells: { values: columns, align: "left", height: 30 },
        },
      ],
      layout: { title: { text: this.spec.title }, template: "plotly_white" },
    };
  }
}
