// @ts-check
// The pictures of a page at values: loaded, drawn, marked as old while something is on its way.
import { dark } from "./colours.js";
import { drawingOf, KINDS } from "./pages.js";
import { Picture } from "./picture.js";
import { functionsOf } from "./server.js";

const WAITED = 1500,
  AGAIN = 2000; // [ms] until a page says that it waits, and until it asks again
const STILL = 150; // [ms] after the last move, until pictures out of sight are drawn

/**
 * A stage: its `figures` by name, and draw(moving).
 * @param {Element} root marked `old` while the pictures are, and told when they are drawn (an event "drawn")
 * @param {any} spec the page
 * @param {Record<string, any>} values of the controls; changed by whoever owns them
 * @param {Record<string, Element>} boxes of the pictures that are seen
 * @param {{ signal: AbortSignal, say: (words: string) => void, set: (picked: any) => void,
 *   spoken?: (drawn: any) => void }} ways
 */
export const stage = (root, spec, values, boxes, { signal, say, set, spoken = () => {} }) => {
  const drawing = drawingOf(spec.script),
    figures = {};
  for (const f of spec.figures) {
    figures[f.name] = boxes[f.name] ? new KINDS[f.kind](f, boxes[f.name]) : new Picture(f, null);
  }
  const all = Object.values(figures);
  let late = false,
    again = 0,
    slow = 0,
    turn = 0,
    later = 0,
    measured = false;

  // A move draws what is in sight; the others follow when no slider moves, one at a time.
  const others = () => {
    const next = all.find((f) => f.due);
    next?.update();
    later = next ? setTimeout(others, 0) : 0;
  };
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const one = all.find((f) => f.box === target);
      one.far = !isIntersecting;
      if (isIntersecting) one.update();
    }
  });
  all.forEach((f) => f.box && watch.observe(f.box));

  const wait = (missing) => {
    root.classList.add("old"); // the old picture stays, marked, until the answer is there
    const mine = ++turn,
      gone = () => mine !== turn || signal.aborted;
    const still = (words) => {
      if (!gone()) {
        late = true;
        say(`The pictures are old: ${words}.`);
      }
    };
    slow = setTimeout(() => still("the explorer has not answered yet"), WAITED);
    Promise.all(missing).then(
      () => gone() || draw(),
      (error) => {
        if (gone()) return;
        clearTimeout(slow);
        still(error.message);
        if (spec.answers) again = setTimeout(draw, AGAIN);
      },
    );
  };
  const draw = (moving = false) => {
    if (signal.aborted) return;
    const { functions, missing } = functionsOf(spec, values);
    [again, slow, later].forEach(clearTimeout);
    if (missing.length) {
      wait(missing);
      return;
    }
    turn++;
    if (!measured) all.forEach((f) => f.measure());
    measured = true;
    if (late) say("");
    late = false;
    root.classList.remove("old");
    const came = drawing.draw(values, functions, figures, set, spec, moving, () => draw()) || {};
    for (const f of all) f.says = came.about?.[f.spec.name] ?? came.says ?? "";
    spoken({ ...came, says: [came.says, came.advice].filter(Boolean).join(" ") });
    later = setTimeout(others, STILL);
    root.dispatchEvent(new CustomEvent("drawn", { detail: performance.now() }));
  };

  addEventListener("beforeprint", () => all.forEach((f) => f.update()), { signal });
  addEventListener("resize", () => all.forEach((f) => f.resize()), { signal });
  dark.addEventListener("change", () => all.forEach((f) => f.redraw()), { signal });
  signal.addEventListener("abort", () => {
    [again, slow, later].forEach(clearTimeout);
    watch.disconnect();
    for (const f of all) {
      f.ended = true;
      f.destroy();
    }
  });
  return { figures, draw };
};
