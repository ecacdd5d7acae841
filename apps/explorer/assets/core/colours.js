// @ts-check
// Colours of pictures, and Plotly figures in those of the page.
export const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const dark = matchMedia("(prefers-color-scheme: dark)");
/** Series of a picture, on white paper and in the dark. */
export const ON_WHITE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888"];
export const ON_BLACK = ["#56B4E9", "#F08A4B", "#2FC89A", "#E3A0C6", "#F0C04A", "#9AD0F5", "#A0A6AD"];
/** What stands in the dark for colours of lines and regions on white paper. */
const ON_DARK = Object.assign(Object.fromEntries(ON_WHITE.map((colour, i) => [colour, ON_BLACK[i]])), {
  "#000000": "--ink",
  "#000": "--ink",
  black: "--ink",
  "#444": "--faint",
  "#444444": "--faint",
  "#7A3E9D": "#b98ad3",
  "#BFE0F2": "#1c4258",
  "#FBD9B5": "#5c3a1a",
  "#9ADBC0": "#1f5a43",
  "#FFF6E5": "#2b2a27",
  "#F3B58F": "#7a4527",
});

/** Traces and layout for this page: its letters, its lines, nothing black on black. */
export const coloured = (data, layout) => {
  const ink = style("--ink"),
    line = style("--line"),
    clear = "rgba(0,0,0,0)";
  const other = (word, colour) => {
    const chosen = Object.hasOwn(ON_DARK, colour) ? ON_DARK[colour] : null;
    return chosen ? JSON.stringify(chosen.startsWith("--") ? style(chosen) : chosen) : word;
  };
  const text = JSON.stringify([data, layout]);
  const [traces, whole] = JSON.parse(dark.matches ? text.replace(/"(#[0-9A-Fa-f]{3,6}|black)"/g, other) : text);
  for (const key of Object.keys(whole).filter((name) => /^[xy]axis\d*$/.test(name))) {
    whole[key] = { ...whole[key], gridcolor: line, zerolinecolor: line, linecolor: line };
  }
  return [
    traces,
    {
      ...whole,
      paper_bgcolor: clear,
      plot_bgcolor: clear,
      font: { ...whole.font, color: ink, family: "system-ui, sans-serif" },
    },
  ];
};

/** What lays the panels of a drawn figure below one another, as changes of its layout; null of a single panel. */
export const stacked = (figure) => {
  const ys = Object.keys(figure.layout).filter((key) => /^yaxis\d*$/.test(key)),
    count = ys.length;
  if (count < 2) return null;
  const panel = 300,
    height = panel * count + 230,
    part = 1 / count;
  const changes = { height, "margin.t": 60, "legend.y": -70 / (panel * count), "legend.yanchor": "top" };
  ys.forEach((y, i) => {
    const x = y.replace("y", "x"),
      top = 1 - i * part;
    Object.assign(changes, {
      [`${x}.domain`]: [0, 1],
      [`${y}.domain`]: [top - 0.72 * part, top],
      [`${x}.showticklabels`]: true,
      [`${y}.showticklabels`]: true,
    });
    const title = (figure.layout.annotations || [])[i];
    if (!title) return;
    const words = ((figure.titles ||= {})[i] ||= title.text),
      middle = words.indexOf(" ", words.length / 2 - 4);
    const lines = words.length > 34 && middle > 0 ? `${words.slice(0, middle)}<br>${words.slice(middle + 1)}` : words;
    Object.assign(changes, {
      [`annotations[${i}].x`]: 0.5,
      [`annotations[${i}].y`]: top,
      [`annotations[${i}].text`]: lines,
      [`annotations[${i}].font.size`]: 13,
    });
  });
  return changes;
};
export const onChange = (redraw, signal) => dark.addEventListener("change", redraw, { signal });

/** The colours of the page, changed in place where its scheme changes. */
export const COLOURS = [];
const paint = () => COLOURS.splice(0, 7, ...(dark.matches ? ON_BLACK : ON_WHITE));
paint();
dark.addEventListener("change", paint);

/** Dashes of lines by their order, so that they differ without colour. */
export const DASHES = [[], [9, 5], [2, 4], [12, 4, 2, 4], [5, 3], [16, 5], [1, 3]];
