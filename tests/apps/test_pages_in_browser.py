"""Pages in a real browser: every figure is drawn, and nothing is fetched."""

import html
import json
import re
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no chromium")
    return found


def shown(browser, page, profile, *options):
    """The page as the browser has it after its scripts have run, and what they wrote to the console."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--enable-logging=stderr", "--v=0", *options,
        f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def drawn(browser, page, profile):
    return shown(browser, page, profile)[0]


def test_the_plot_page_draws_four_figures(browser, tmp_path):
    page = tmp_path / "page.html"
    done = CliRunner().invoke(cli, ["simulate", "one_loss", "--plot", str(page)])
    assert done.exit_code == 0, done.output
    dom = drawn(browser, page, tmp_path / "profile")
    titles = re.findall(r'class="gtitle"[^>]*>([^<]*)', dom)
    assert [title.split(":")[0].split(" (")[0] for title in titles] == [
        "Windows",
        "Queues",
        "Throughput",
        "Segments of flow 0",
    ]
    # A line was drawn in each, not only axes.
    assert len(re.findall(r'class="(?:js-line|point)"|class="js-line"', dom)) >= 4
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', dom)


#: A window as narrow as a phone's, which the browser's own cannot be.
FRAME = """<body style="margin: 0"><iframe src="report.html" style="border: 0; width: {}px; height: 900px"></iframe>
<script>onmessage = message => {{
  const result = document.createElement("div"); result.id = "measured"; result.textContent = message.data; document.body.append(result);
}};</script></body>"""

#: Measures the page: what reaches beyond it, columns of panels, and the least contrast of a text with its background.
MEASURE = """
const wide = document.documentElement.clientWidth;
for (const part of document.querySelectorAll("details")) part.open = true;
const holder = element => element.closest(".wide, pre");
const visible = element => element.getClientRects().length && !element.closest("script, style, .modebar, #js-plotly-tester");
const beyond = [...document.body.querySelectorAll("*")].filter(visible).filter(element => {
  const box = element.getBoundingClientRect(), room = holder(element);
  return !room && !element.closest("defs, clipPath, .plot-container g.plot") && box.width > 0 && (box.right > wide + 1 || box.left < -1);
}).map(element => `${element.tagName}.${element.getAttribute("class")}: ${element.textContent.slice(0, 60)}`);
const scrolls = [...document.querySelectorAll(".wide")].filter(box => box.scrollWidth > box.clientWidth + 1)
  .map(box => box.textContent.slice(0, 60));
const number = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const back = element => {
  for (; element; element = element.parentElement) {
    const colour = number(getComputedStyle(element).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.5) return colour;
  }
  return [255, 255, 255];
};
const contrasts = [...document.querySelectorAll("p, li, td, th, h1, h2, h3, summary, a, code, pre, dd, dt, caption, .plot text")]
  .filter(visible).map(element => {
    const style = getComputedStyle(element), svg = element.tagName === "text";
    const a = light(number(svg ? style.fill : style.color)), b = light(back(svg ? element.closest("div") : element));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
parent.postMessage(JSON.stringify({
  wide, beyond, scrolls, over: [...document.querySelectorAll(".js-plotly-plot")].filter(figure =>
    figure.querySelector(".main-svg").getBoundingClientRect().bottom > figure.closest(".plot").getBoundingClientRect().bottom + 1)
    .map(figure => figure.id), contrast: Math.min(...contrasts), page: light(number(getComputedStyle(document.body).backgroundColor)),
  columns: [...document.querySelectorAll(".js-plotly-plot")].map(figure => new Set(
    [...Object.keys(figure._fullLayout)].filter(key => /^xaxis\\d*$/.test(key)).map(key => figure._fullLayout[key].domain[0])).size),
}), "*");
"""

def measured(browser, folder, text, width, dark):
    """What `MEASURE` says of a page, and what is on the console."""
    script = f"<script>addEventListener('load', () => setTimeout(() => {{ {MEASURE} }}, 2000))</script></body>"
    (folder / "report.html").write_text(text.replace("</body>", script), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width))
    scheme = [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    dom, console = shown(browser, frame, folder / "profile", "--window-size=1400,1000", "--hide-scrollbars", *scheme)
    return json.loads(html.unescape(re.search(r'<div id="measured">(.*?)</div>', dom, re.S)[1])), console


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_the_report_fits_and_is_legible(browser, tmp_path, quick_report, width, dark):
    """Nothing is clipped, text stands apart from its background (4.5: WCAG's AA), and the console stays empty."""
    page, console = measured(browser, tmp_path, quick_report, width, dark)
    assert console == []
    assert page["wide"] == width and (page["page"] < 0.1) == dark
    assert page["beyond"] == [] and page["scrolls"] == [] and page["over"] == []
    assert page["contrast"] >= 4.5
    # Panels side by side where there is room, else below one another.
    assert set(page["columns"]) == {1} if width == 390 else max(page["columns"]) == 4


def test_the_report_is_light(quick_report):
    """Less than 2 MB beside Plotly."""
    from plotly.offline import get_plotlyjs

    assert len(quick_report.encode()) - len(get_plotlyjs().encode()) < 2e6
