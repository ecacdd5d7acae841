"""Pages in a real browser: every figure is drawn, and nothing is fetched."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

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
    done = CliRunner().invoke(cli, ["simulate", "one_loss", "--output", str(page)])
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


#: A window of any width: the browser's own cannot be as narrow as a phone's.
FRAME = """<body style="margin: 0"><iframe src="report.html" style="border: 0; width: {}px; height: 900px"></iframe>
<script>onmessage = message => {{
  const result = document.createElement("div");
  Object.assign(result, {{ id: "measured", textContent: message.data }});
  document.body.append(result);
}};</script></body>"""
MEASURE = Path(__file__).with_name("measure_page.js").read_text()


def measured(browser, folder, text, width, dark):
    """What `measure_page.js` says of a page, and what is on the console."""
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
    # The first screen of a laptop has the three findings with their pictures whole.
    assert page["found"] <= (720 if width == 1280 else 5000)
    # Panels side by side where there is room, else below one another, small ones in pairs.
    assert len(page["columns"]) > 15 and min(page["columns"]) == 1
    assert max(page["columns"]) == (2 if width == 390 else 4)


def test_the_report_is_light(quick_report):
    """At most 1.5 MB, and nothing of Plotly."""
    assert len(quick_report.encode()) < 1.5e6
    assert "Plotly.newPlot" not in quick_report


def test_the_report_prints_on_a_few_pages(browser, tmp_path, quick_report):
    """A4, from the browser's own printer; figures are drawn for it."""
    page, printed = tmp_path / "report.html", tmp_path / "report.pdf"
    page.write_text(quick_report, encoding="utf-8")
    shown(browser, page, tmp_path / "profile", f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    assert 4 <= len(re.findall(rb"/Type\s*/Page[^s]", printed.read_bytes())) <= 14
