"""Pages in a real browser: every figure is drawn, and nothing is fetched."""

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


def drawn(browser, page, profile):
    """The page as the browser has it after its scripts have run."""
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--virtual-time-budget=10000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


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
