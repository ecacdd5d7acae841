// @ts-check
// A picture with its heading, what a reader may keep of it, the table behind it and the code.
import { pageAddress, writtenOf } from "./address.js";
import { counts, spaced } from "./controls.js";
import { broken, closing, drawn, element, maths } from "./dom.js";
import { figureSvg } from "./figure.js";
import { KINDS } from "./pages.js";
import { netcdf } from "./netcdf.js";
import { withUnit } from "./numbers.js";
import { csv, save, savePng } from "./save.js";
import { get, plotly } from "./server.js";

const SIZE = { width: 900, height: 560, dark: false };

/** The picture as SVG that stands alone. */
export const svgOf = (figure, size = SIZE) => {
  figure.update?.(); // one that is out of sight may be old
  return figure.image ? figure.image() : figureSvg(figure.kept(), size);
};

/**
 * SVG text with what a slide needs below it: its sentence, the settings, where it is from.
 * @param {string} text
 * @param {string[]} below
 */
const captioned = (text, below) => {
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const [x, y, width, height] = (svg.getAttribute("viewBox") || "").split(" ").map(Number),
    pixel = width / Number(svg.getAttribute("width")),
    rows = below.flatMap((words) => broken(words, Math.floor(width / (6.2 * pixel)))),
    more = (8 + 15 * rows.length) * pixel;
  svg.setAttribute("viewBox", [x, y, width, height + more].join(" "));
  svg.setAttribute("height", String((height + more) / pixel));
  const style = { x: x + 8 * pixel, "font-size": 11 * pixel, fill: "#5a6472" };
  svg.append(
    drawn("rect", { x, y: y + height - 0.5 * pixel, width, height: more + pixel, fill: "#ffffff" }),
    ...rows.map((row, k) => drawn("text", { ...style, y: y + height + (13 + 15 * k) * pixel }, row)),
  );
  return new XMLSerializer().serializeToString(svg);
};

/** The values of a page's controls, in words. */
const settings = (spec, values) =>
  spec.controls
    .filter((c) => counts(c, spec, values) && (!spec.captioned || spec.captioned(c)))
    .map((c) => {
      const x = values[c.name];
      return `${c.meaning}: ${c.lines ? x : c.choices ? spaced(x) : withUnit(c, x)}`;
    })
    .join("; ");

/** The address of a page's state; `spec.written` writes that of a page without controls. */
const linkOf = (spec, values, more = "") => {
  const words = [spec.written ? spec.written() : writtenOf(spec, values), more].filter(Boolean).join("&");
  return new URL(pageAddress(spec, spec.slug, words), location.href).href;
};

/** A frame becomes as high as its picture. */
const TALL =
  '<script>addEventListener("message", (said) => { for (const one of document.querySelectorAll("iframe")) ' +
  "if (one.contentWindow === said.source && said.data.tcpdynamics) one.height = said.data.tcpdynamics; });</script>";
/** A server that nobody else reaches. */
const LOCAL = /^(localhost|127\.|\[::1\])/;

const copied = async (text, say) => {
  const here = LOCAL.test(location.host)
    ? " The address opens on this machine only; export the pages for others (tcpdynamics explore --export)."
    : "";
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied.${here}`);
  } catch {
    say(text);
  } // a page from disk may not write into the clipboard: its reader can
};

/** A box for a picture. */
export const pictureBox = (f) =>
  f.kind === "facts"
    ? element("div", { class: "picture numbers" })
    : f.kind === "strip" // what is in it can be pressed
      ? element("div", { class: "picture" })
      : element("div", { class: "picture", role: "img", "aria-label": f.alt });

/** Open the code below a picture. */
const shownCode = (code) => {
  code.open = true;
  code.scrollIntoView({ block: "nearest" });
  code.querySelector("summary").focus();
};

const saveMenu = (spec, f, figureOf, values, say, code) => {
  const file = (end) => `${f.file || `${spec.slug}-${f.name}`}.${end}`;
  /** The sentence, the settings, and the page and its state. */
  const caption = (figure) => {
    const words = values ? writtenOf(spec, values) : location.search.slice(1);
    return [
      element("p", {}, ...maths(figure.says || "")).textContent,
      values ? settings(spec, values) : "",
      // a model's address is no line to read; its equations stand above
      spec.source
        ? spec.source()
        : `tcpdynamics explorer, ${spec.slug}${words && words.length < 120 ? `?${words}` : ""}`,
    ];
  };
  const attempt = (job) => async () => {
    menu.open = false;
    menu.querySelector("summary").focus(); // what was pressed is hidden
    try {
      say("");
      await job(figureOf());
    } catch (error) {
      say(error.message);
    }
  };
  const links = {
    "Copy a link": () => copied(spec.link ? spec.link() : linkOf(spec, values), say),
    "Copy to embed": () =>
      copied(
        `<iframe src="${linkOf(spec, values, `${f.page ? "" : `figure=${f.name}&`}embed=1`)}" width="640" ` +
          `height="560" title="${f.title}"></iframe>\n${TALL}`,
        say,
      ),
  };
  const jobs = {
    PNG: (figure) => savePng(file("png"), captioned(svgOf(figure), caption(figure))),
    SVG: (figure) => save(file("svg"), captioned(svgOf(figure), caption(figure)), "image/svg+xml"),
    CSV: (figure) => save(file("csv"), csv(figure.rows()), "text/csv"),
    NetCDF: (figure) => save(file("nc"), netcdf(figure.rows(), f.title), "application/x-netcdf"),
    ...(values || (spec.written && f.embed !== false) ? links : { "Copy a link": () => copied(location.href, say) }),
    ...(code || f.code ? { "Show the code": () => shownCode(code || f.code()) } : {}),
    ...(spec.plotly && KINDS[f.kind]?.prototype.kept ? { "Open as a Plotly figure": (figure) => opened(figure) } : {}),
  };
  const opened = async (figure) => {
    const library = await plotly(spec),
      { data, layout } = figure.kept();
    const box = element("div", { class: "plotly", role: "group", "aria-label": f.alt });
    if (figure.box.nextSibling?.classList?.contains("plotly")) figure.box.nextSibling.remove(); // it is of older values
    figure.box.after(box);
    await library.newPlot(
      box,
      data,
      { ...layout, autosize: true, height: 420 },
      { responsive: true, displaylogo: false },
    );
    box.scrollIntoView({ block: "nearest" });
  };
  const menu = element(
    "details",
    { class: "menu", ontoggle: () => menu.open && menu.lastChild.scrollIntoView({ block: "nearest" }) },
    element("summary", {}, "Save"),
    element(
      "ul",
      {},
      ...Object.entries(jobs).map(([word, job]) =>
        element("li", {}, element("button", { type: "button", onclick: attempt(job) }, word)),
      ),
    ),
  );
  return closing(menu);
};

/**
 * The menu of what a reader may keep of a picture, and its code where it has any; `codes` gets what shows the code
 * again.
 * @param {any} spec
 */
export const figureParts = (spec, f, figureOf, values, say, codes) => {
  let code = null;
  if (f.coded === "here" || (spec.code && f.coded)) {
    const text = element("pre", { tabindex: "0" });
    const fill = async () => {
      if (!details.open) return;
      if (f.coded === "here") {
        text.textContent = figureOf().code();
        return;
      }
      const address = `${spec.code}${spec.slug}/${f.name}?${writtenOf(spec, values)}`;
      text.dataset.address = address;
      const lines = await get(address)
        .then((answer) => answer.text())
        .catch((error) => error.message);
      if (text.dataset.address === address) text.textContent = lines;
    };
    const details = (code = element(
      "details",
      { class: "code", ontoggle: fill },
      element("summary", {}, "Show the code"),
      text,
    ));
    codes.push(fill);
  }
  return { menu: saveMenu(spec, f, figureOf, values, say, code), code: code ? [code] : [] };
};

/** What stands above a picture. */
export const headOf = (f, menu) => element("div", { class: "figure-head" }, element("h2", {}, f.title), menu);

/**
 * The section of a picture; `codes` as of `figureParts`.
 * @param {any} spec
 */
export const figureSection = (spec, f, box, figureOf, values, say, codes) => {
  const table = element(
    "details",
    { class: "table", ontoggle: () => table.open && figureOf().fill() },
    element("summary", {}, "Numbers"),
    element("div", { class: "scroll", tabindex: "0" }, element("table")),
  );
  const { menu, code } = figureParts(spec, f, figureOf, values, say, codes);
  const node = element(
    "section",
    { class: "figure", "data-figure": f.name, "aria-label": f.title },
    headOf(f, menu),
    box,
    table,
    ...code,
  );
  return { node, table };
};
