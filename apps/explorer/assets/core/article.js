// @ts-check
// An article: steps of text, each with one control in a sentence, beside a picture that stays in sight.
import { pageAddress, readAddress, wordsOf, writtenOf } from "./address.js";
import { begin } from "./bench.js";
import { controlsOf, within } from "./controls.js";
import { afterPicture, complaint, element, headed, maths } from "./dom.js";
import { figureParts, headOf, pictureBox, svgOf } from "./figure-box.js";
import { brief, exactPercent, inEnds, percent, withUnit } from "./numbers.js";
import { stage } from "./stage.js";

const TONES = { holds: "good", "holds with conditions": "fair", "does not hold": "poor" };
const MARKUP = /(\{=?\w+(?: %)?\}|\[\[[\w.]+\]\][.,;:]?|\[[^\]]+\]\([^)]+\))/;

/** [px] Of a picture's height. */
const LEAST = 180;
/** An observer's room around the window: all steps of an article. */
const EVERYWHERE = { rootMargin: "1000000px" };

/**
 * The verdict on a statement, which opens: what the paper says, why, and how to decide it again. The mark that ends the
 * sentence stays with it.
 */
const chip = (spec, one, mark) =>
  element(
    "details",
    { class: "chip" },
    element(
      "summary",
      {},
      element(
        "span",
        { class: `verdict ${TONES[one.verdict] || "open"}` },
        `${one.ours ? "our check" : "paper's claim"} ${one.verdict}`,
      ),
      mark,
    ),
    element(
      "span",
      { class: "chip-body" },
      one.ours ? "Our check: " : "The paper states: ",
      element("b", {}, one.says),
      `${one.ours ? "" : ` (In the paper: ${one.kind}.)`} ${one.measured} ${one.reason} `,
      element("code", {}, one.command),
      " ",
      element("a", { href: pageAddress(spec, "claims", `open=${one.cell}`) }, "rule, numbers and intervals"),
    ),
  );

/** A slider within a sentence, its value in bold before it. */
const inSentence = (c, control, values) => {
  const value = element("output", { for: control.input.id });
  const put = () => {
    value.textContent = c.choices ? "" : withUnit(c, values[c.name]);
  };
  control.input.setAttribute("aria-label", c.meaning);
  return { node: element("span", { class: "in-sentence" }, value, " ", control.input), put };
};

/** A paragraph: text with controls, numbers, verdicts and links. */
const paragraph = (spec, text, placed) =>
  element(
    "p",
    {},
    ...text.split(MARKUP).flatMap((part) => {
      const [, name, per] = /^\{=(\w+)( %)?\}$/.exec(part) || [];
      if (name) {
        const node = element("b", { class: "number" });
        const alone = per ? percent : brief;
        placed.numbers.push({ node, name, format: (x) => (Array.isArray(x) ? inEnds(x, per) : alone(x)) });
        return [node];
      }
      if (/^\{\w+\}$/.test(part)) return [placed.control(part.slice(1, -1))];
      const [, statement, mark] = /^\[\[([\w.]+)\]\](.?)$/.exec(part) || [];
      if (statement) return [chip(spec, spec.facts.statements[statement], mark)];
      const [, words, address] = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part) || [];
      if (!words) return maths(part);
      const [slug, query] = address.split("?");
      return [
        element(
          "a",
          { href: /^https:/.test(address) ? address : pageAddress(spec, slug.replace(/^\//, ""), query) },
          words,
        ),
      ];
    }),
  );

/** A guess before the answer; `reveal` shows what follows it. */
const guessing = (guess, number, reveal) => {
  const { question, low, high, unit } = guess,
    word = (x) => (unit === "%" ? exactPercent(x) : `${brief(x)} ${unit}`.trim());
  const text = element("output"),
    said = element("p", { class: "guess-answer", role: "status" });
  const slider = element("input", {
    type: "range",
    min: low,
    max: high,
    step: guess.step,
    value: (low + high) / 2,
    "aria-label": question,
    autocomplete: "off", // a browser that comes back would move it without a word
  });
  const put = () => {
    text.textContent = word(Number(slider.value));
    slider.setAttribute("aria-valuetext", text.textContent);
  };
  slider.addEventListener("input", put);
  put();
  const button = element(
    "button",
    {
      type: "button",
      onclick: () => {
        const off = Math.abs(Number(slider.value) - number()),
          away = unit === "%" ? `${(100 * off).toFixed(0)} points` : word(off);
        said.textContent =
          `You guessed ${word(Number(slider.value))}; it is ${unit === "%" ? percent(number()) : word(number())}: ` +
          `${off < 0.05 * (high - low) ? "close" : `${away} off`}.`;
        slider.disabled = button.disabled = true;
        reveal();
      },
    },
    "Show the answer",
  );
  return element(
    "div",
    { class: "guess-panel" },
    element("p", {}, element("b", {}, question)),
    element("p", { class: "in-sentence" }, text, " ", slider, " ", button),
    said,
  );
};

/** Where a file finds the functions of another page that it has not yet. */
const packed = (spec, slug) => (spec.answers ? undefined : `assets/${slug}-functions.js`);

const ON_PAPER = { width: 680, height: 340, dark: false };

/** On paper each step has its own picture, drawn aside and laid into its text. */
const printing = (made, sections) => {
  const pictures = [];
  const drawnOf = ({ own, values, step }) => {
    const f = own.figures.find((one) => one.name === step.figure);
    if (!f) return null;
    const aside = element("div", { class: "aside" }, pictureBox(f)),
      end = new AbortController();
    document.body.append(aside);
    const ways = { signal: end.signal, say: () => {}, set: () => {} };
    const scene = stage(element("div"), own, values, { [f.name]: aside.firstElementChild }, ways);
    scene.draw();
    const figure = scene.figures[f.name],
      src = figure.data && `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(figure, ON_PAPER))}`;
    end.abort();
    aside.remove();
    return src ? element("img", { class: "on-paper", src, alt: f.alt }) : null;
  };
  const take = () => pictures.splice(0).forEach((picture) => picture && picture.remove());
  const put = () => {
    take();
    pictures.push(...made.map(drawnOf));
    pictures.forEach((picture, k) => picture && sections[k].append(picture));
  };
  return { put, take };
};

/** Mount an article. */
export const article = (root, spec) => {
  const signal = begin(),
    { facts } = spec,
    steps = facts.steps;
  const said = complaint();
  const holder = element("div", { class: "article-figure" }),
    reading = element("p", { class: "reading", role: "status" });
  const door = element("a", {}, "Move everything");
  let current = -1,
    running = new AbortController(),
    scene = null,
    drawnOnce = false;
  const answered = steps.map((step) => !step.guess),
    made = [];

  /** Put numbers into a step's sentences. */
  const fill = (k, now) => {
    made[k].now = { ...facts.counts, ...now };
    for (const { node, name, format } of made[k].numbers) node.textContent = format(made[k].now[name]);
  };
  let later = 0;
  /** What an address has of a step: its number, and what its controls were moved to. */
  const stepWords = (k) => {
    const { step, values } = made[k],
      moved = step.controls.filter((name) => values[name] !== step.values[name]);
    return `#step=${k + 1}${moved.map((name) => `&${name}=${encodeURIComponent(values[name])}`).join("")}`;
  };
  /** A slider that moves writes its step's address once. */
  const written = (k) => {
    clearTimeout(later);
    later = setTimeout(() => k === current && history.replaceState(null, "", stepWords(k)), 200);
  };
  const show = (k) => {
    if (k === current) return;
    current = k;
    running.abort();
    running = new AbortController();
    const { own, values, step, controls, puts } = made[k],
      f = own.figures.find((one) => one.name === step.figure);
    sections.forEach((node, i) => node.toggleAttribute("data-current", i === k));
    links.forEach((node, i) =>
      i === k ? node.setAttribute("aria-current", "step") : node.removeAttribute("aria-current"),
    );
    if (!f) return;
    const box = pictureBox(f),
      say = (words) => {
        said.textContent = words;
      };
    // what is kept of the picture is that of the page where everything moves; its caption has what the step sets or
    // shows, its link the step in sight, to which a reader may have scrolled
    const bench = {
      ...own,
      slug: step.page || facts.page,
      plotly: "",
      captioned: (c) => step.controls.includes(c.name) || values[c.name] !== c.start,
      link: () => location.href.replace(/[?#].*$/, "") + stepWords(k),
      source: () => `On ${facts.cite}. tcpdynamics explorer, ${spec.slug}${stepWords(k)}`,
    };
    const codes = [];
    const { menu, code } = figureParts(bench, f, () => scene.figures[f.name], values, say, codes);
    const put = () => {
      door.href = pageAddress(spec, bench.slug, writtenOf(own, values));
      codes.forEach((fill) => fill());
    };
    put();
    holder.replaceChildren(headOf(f, menu), box, ...code, reading, element("p", { class: "note" }, door));
    const hide = () => holder.classList.toggle("hidden-answer", !answered[k]);
    hide();
    scene = stage(
      root,
      own,
      values,
      { [f.name]: box },
      {
        signal: running.signal,
        say,
        /** What is picked in the picture moves the step's sliders. */
        set: (picked) => {
          for (const [name, x] of Object.entries(picked)) {
            const c = own.controls.find((one) => one.name === name);
            values[name] = c.choices ? x : within(c, x);
            controls[name]?.put(values[name]);
          }
          scene.draw();
          written(k);
        },
        spoken: ({ says = "", about = {}, numbers: now = {} }) => {
          reading.replaceChildren(...maths(about[f.name] ?? says));
          fill(k, now);
          puts.forEach((put) => put());
          hide();
          put();
        },
      },
    );
    const figure = scene.figures[f.name];
    figure.height = Math.max(LEAST, Math.min(340, innerHeight * (innerWidth < 900 ? 0.28 : 0.5)));
    scene.draw();
    drawnOnce = true;
  };

  const sections = steps.map((step, k) => {
    const whole = step.page ? { ...spec, ...facts.pages[step.page], packed: packed(spec, step.page) } : spec,
      own = { ...whole, controls: whole.controls.map((c) => ({ ...c, ...step.ends[c.name] })) },
      values = { ...step.values },
      numbers = [],
      puts = [];
    const changed = () => {
      show(k);
      scene.draw();
      written(k);
    };
    const controls = controlsOf(
      own.controls.filter((c) => step.controls.includes(c.name)),
      values,
      changed,
    );
    const placed = {
      numbers,
      control: (name) => {
        const c = own.controls.find((one) => one.name === name),
          { node, put } = inSentence(c, controls[name], values);
        controls[name].input.id = `step-${k + 1}-${name}`;
        puts.push(put);
        put();
        return node;
      },
    };
    made.push({ own, values, numbers, puts, step, controls, now: {} });
    const after = element(
      "div",
      { class: "after", hidden: !answered[k] },
      ...step.after.map((text) => paragraph(spec, text, placed)),
    );
    const reveal = () => {
      answered[k] = true;
      after.hidden = false;
      holder.classList.remove("hidden-answer");
    };
    const guess = step.guess ? [guessing(step.guess, () => made[k].now[step.guess.number], reveal)] : [];
    return element(
      "section",
      { class: "step", id: `step=${k + 1}`, "aria-label": step.heading },
      element("h2", {}, step.heading),
      ...step.before.map((text) => paragraph(spec, text, placed)),
      ...guess,
      after,
    );
  });
  /** Back from a step leads to where its link was pressed. */
  const leave = () => history.replaceState({ left: scrollY }, "");
  const links = steps.map((step, k) =>
    element(
      "a",
      { href: `#step=${k + 1}`, title: step.heading, "aria-label": `Step ${k + 1}: ${step.heading}`, onclick: leave },
      String(k + 1),
    ),
  );
  const last = element(
    "p",
    {},
    element("a", { class: "door", href: pageAddress(spec, facts.page) }, `Move everything: ${facts.bench}`),
  );
  sections.at(-1).append(last);
  root.replaceChildren(
    ...headed(facts.heading, facts.finding),
    element(
      "div",
      { class: "article" },
      element(
        "div",
        { class: "article-side" },
        holder,
        said,
        element("nav", { class: "steps", "aria-label": "Steps" }, ...links),
      ),
      element("div", { class: "article-text" }, ...sections),
    ),
  );

  const side = /** @type {HTMLElement} */ (root.querySelector(".article-side"));
  /** How much of the window the picture covers: all of its height on a narrow screen. */
  const covered = () => (innerWidth < 900 ? side.offsetHeight : 0);
  let led = false; // an address brought the window here: its step is shown until somebody scrolls
  /** On a narrow screen half of the window is text: the picture gives way. */
  const giveWay = () => {
    const figure = scene?.figures[steps[current].figure],
      height = figure && Math.max(LEAST, figure.height - Math.max(0, Math.ceil(covered() - innerHeight / 2)));
    if (!(height < figure?.height)) return;
    figure.height = height;
    scene.draw();
  };
  const reach = () => {
    root.style.setProperty("--side", `${covered()}px`);
    sections[current].scrollIntoView();
  };
  /** The step that is nearest to a third of what is free. */
  const place = () => {
    if (led) return;
    const last = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const line = covered() + 0.35 * (innerHeight - covered());
    const k = last ? steps.length - 1 : sections.findLastIndex((node) => node.getBoundingClientRect().top <= line);
    show(Math.max(0, k));
  };
  /**
   * Show the step that the address names, its controls where the address has them; say what is wrong with it.
   * @param {Event} [moved] the address has changed; one without a step is the article's beginning
   */
  const jump = (moved) => {
    const [hash, search] = [location.hash.slice(1), location.search.slice(1)],
      text = hash || search,
      asked = wordsOf(text).filter(([name]) => name === "step"),
      word = asked.length === 1 ? asked[0][1] : undefined,
      k = /^\d{1,9}$/.test(word || "") ? Number(word) - 1 : -1,
      there = k >= 0 && k < steps.length,
      { own, step, values, controls } = made[there ? k : 0],
      start = (c) => ({ ...c, start: step.values[c.name], shown: undefined });
    const some = {
      article: true,
      controls: there ? own.controls.filter((c) => step.controls.includes(c.name)).map(start) : [],
    };
    const [read, complaints] = readAddress(some, text);
    if (hash && search) complaints.push(...readAddress(some, search)[1]);
    if (word !== undefined && !there)
      complaints.push(`this article has no step ${word.slice(0, 20)}; it has steps 1 to ${steps.length}`);
    said.textContent = complaints.join(". ");
    if (!there) {
      if (complaints.length) history.replaceState(null, "", location.pathname);
      if (moved && word === undefined) {
        led = false;
        scrollTo(0, history.state?.left ?? 0);
      }
      if (current < 0)
        show(0); // nothing has scrolled yet, and the text needs no layout before the picture
      else place();
      return;
    }
    led = true;
    for (const [name] of wordsOf(text)) if (name in controls) controls[name].put((values[name] = read[name]));
    if (complaints.length) history.replaceState(null, "", stepWords(k));
    if (k === current) scene.draw();
    show(k);
    reach();
  };
  // a picture or a number that arrives late moves the text below it
  const sized = new ResizeObserver(() => {
    giveWay();
    if (led) reach();
    else root.style.setProperty("--side", `${covered()}px`);
  });
  for (const part of [side, root.querySelector(".article-text")]) sized.observe(/** @type {Element} */ (part));
  history.scrollRestoration = "manual"; // the address has the step
  signal.addEventListener("abort", () => {
    sized.disconnect();
    history.scrollRestoration = "auto";
  });
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(kind, () => (led = false), { signal, passive: true });
  }
  addEventListener("hashchange", jump, { signal });
  addEventListener("scroll", () => place(), { signal, passive: true });
  addEventListener(
    "resize",
    () => {
      const k = current;
      current = -1;
      show(Math.max(0, k));
    },
    { signal },
  );
  /** Steps have their numbers before their picture is drawn: text is searched, printed and read aloud. */
  const ahead = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const k = sections.indexOf(target);
      if (!isIntersecting || k === current) continue;
      ahead.unobserve(target);
      const spoken = ({ numbers = {} }) => k !== current && fill(k, numbers);
      stage(element("div"), made[k].own, made[k].values, {}, { signal, say: () => {}, set: () => {}, spoken }).draw();
    }
  }, EVERYWHERE);
  signal.addEventListener("abort", () => {
    running.abort();
    ahead.disconnect();
  });
  const printed = printing(made, sections);
  addEventListener("beforeprint", printed.put, { signal });
  addEventListener("afterprint", printed.take, { signal });
  const others = () => sections.forEach((node) => ahead.observe(node));
  afterPicture(root, signal, others);
  jump();
  if (!scene) others();
  return drawnOnce;
};
