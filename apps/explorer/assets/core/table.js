// @ts-check
// The table behind a picture.
import { element } from "./dom.js";
import { shown } from "./numbers.js";

const MOST_ROWS = 400;

/** The first rows in the table behind a picture; where there are more, a sentence says so. */
export const tabled = (details, rows) => {
  const all = rows.length - 1,
    box = details.querySelector(".scroll");
  const cell = (x) => element("td", {}, typeof x === "number" ? shown(x) : String(x ?? ""));
  details
    .querySelector("table")
    .replaceChildren(
      element("thead", {}, element("tr", {}, ...rows[0].map((w) => element("th", { scope: "col" }, w)))),
      element("tbody", {}, ...rows.slice(1, MOST_ROWS + 1).map((row) => element("tr", {}, ...row.map(cell)))),
    );
  if (!details.querySelector(".note")) box.before(element("p", { class: "note" }));
  const more = `The first ${MOST_ROWS} of ${all.toLocaleString("en")} rows; the CSV has all.`;
  details.querySelector(".note").textContent = all > MOST_ROWS ? more : "";
};
