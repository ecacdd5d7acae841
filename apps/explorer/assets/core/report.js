// @ts-check
// The report's page: each figure is drawn when it comes near the screen, and all that are open before printing.
import { showFigure } from "./figure.js";

/** @type {Set<Element>} */
const waiting = new Set(document.querySelectorAll(".drawn"));

/** @param {Element} place */
function draw(place) {
  if (!waiting.delete(place)) return;
  watch.unobserve(place);
  const data = place.querySelector("script");
  if (!data || !(place instanceof HTMLElement)) return;
  place.style.minHeight = "0";
  showFigure(place, JSON.parse(data.text));
}

const watch = new IntersectionObserver(
  (entries) => {
    for (const one of entries) if (one.isIntersecting) draw(one.target);
  },
  { rootMargin: "800px 0px" },
);
for (const place of waiting) watch.observe(place);
addEventListener("beforeprint", () => {
  for (const place of waiting) if (place.getClientRects().length) draw(place);
});

// On a narrow screen each cell of a table says which column it is in.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent || "");
  for (const row of heads.length ? table.tBodies[0].rows : []) {
    [...row.cells].forEach((cell, i) => (cell.dataset.label = heads[i]));
  }
}

/** A link to a statement, a cell or a figure opens what it stands in. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let at = /** @type {HTMLElement | null} */ (target); at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
