// @ts-check
// What pages, printed functions and the server call.
import { article } from "./article.js";
import { begin, bench } from "./bench.js";
import { closing, element } from "./dom.js";
import { live } from "./live.js";
import { drawingOf } from "./pages.js";
import { register, unpacked } from "./server.js";

/** Fill a page: its own shape, or pictures beside sliders. */
export const mount = async (root, spec) => {
  if (spec.packedFacts) spec.facts = JSON.parse(await unpacked(spec.packedFacts, `${spec.slug} facts`));
  if (spec.article) return article(root, spec);
  const { mount: fill } = drawingOf(spec.script);
  return fill ? fill(root, spec, begin()) : bench(root, spec);
};

/** Dash's own scripts, which a served document has: one after another, after the first picture. */
const dash = async () => {
  const template = /** @type {HTMLTemplateElement | null} */ (document.getElementById("dash"));
  if (document.body.classList.contains("embedded")) return;
  for (const node of template ? template.content.querySelectorAll("script") : []) {
    const script = element("script");
    for (const { name, value } of node.attributes) script.setAttribute(name, value);
    script.textContent = node.textContent;
    const loaded = node.src ? new Promise((done) => script.addEventListener("load", done)) : null;
    document.body.append(script);
    await loaded;
  }
};
/** The first picture of a simulation comes when it has run. */
const later = () =>
  document.querySelector("[data-state=running], [data-state=waiting]") ? setTimeout(later, 500) : dash();
addEventListener("load", () => setTimeout(later, 500));
document.querySelectorAll("header details").forEach(closing);
// The address is the page's: the link's own `#page` would be read as its settings.
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("page")?.focus();
});

window["explorer"] = { register, mount, live, packs: {} };
