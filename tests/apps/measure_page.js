// Measures a page within a frame, with all its tables and details open, and sends the numbers to the frame's parent.
const wide = document.documentElement.clientWidth;
for (const part of document.querySelectorAll("details")) part.open = true;
// Draws every figure that is open, in light colours, and then in those of the page.
dispatchEvent(new Event("beforeprint"));
dispatchEvent(new Event("afterprint"));

const shown = element =>
  element.getClientRects().length && !element.closest("script, style");

// What reaches beyond the window. What lies in a box that scrolls is judged by the box; a panel clips its lines itself.
const beyond = [...document.body.querySelectorAll("*")].filter(shown).filter(element => {
  if (element.closest(".wide, pre, svg svg")) return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && (box.right > wide + 1 || box.left < -1);
}).map(element => `${element.tagName}.${element.getAttribute("class")}: ${element.textContent.slice(0, 60)}`);
const scrolls = [...document.querySelectorAll(".wide")]
  .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.slice(0, 60));

// Contrast of a text with its background, as WCAG 2 defines it.
const number = text => (text.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const linear = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const back = element => {
  for (; element; element = element.parentElement) {
    const colour = number(getComputedStyle(element).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.5) return colour;
  }
  return [255, 255, 255];
};
const texts = "p, li, td, th, h1, h2, h3, summary, a, code, pre, dd, dt, caption, .plot text";
const contrasts = [...document.querySelectorAll(texts)].filter(shown).map(element => {
  const style = getComputedStyle(element), drawn = element.tagName === "text";
  const a = light(number(drawn ? style.fill : style.color));
  const b = light(back(drawn ? element.closest(".drawn") : element));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
});

// Figures that are higher than their place, words of figures beyond them, and how many columns of panels each has.
const figures = [...document.querySelectorAll(".drawn")].filter(shown);
const box = element => element.getBoundingClientRect();
const over = figures.filter(figure => {
  const [place, drawn] = [box(figure.closest(".plot")), box(figure.querySelector("svg"))];
  const words = [...figure.querySelectorAll("text")].map(box);
  const cut = words.some((word) => word.right > drawn.right + 2 || word.left < drawn.left - 2);
  return drawn.bottom > place.bottom + 1 || cut;
});
const columns = figures.map(figure =>
  new Set([...figure.querySelectorAll("svg svg")].map(panel => Math.round(panel.getAttribute("x")))).size);

parent.postMessage(JSON.stringify({
  wide, beyond, scrolls, columns, over: over.map(figure => figure.id), contrast: Math.min(...contrasts),
  found: Math.max(...[...document.querySelectorAll(".found .drawn")].map(figure => box(figure).bottom + scrollY)),
  page: light(number(getComputedStyle(document.body).backgroundColor)),
}), "*");
