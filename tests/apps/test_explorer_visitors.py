"""Ten visitors at once, for a while or (slow) for a minute: nobody meets an error, and the server does not grow."""

from __future__ import annotations

import itertools
import subprocess
import time
from pathlib import Path

import pytest
from explorer_tabs import PATIENCE
from playwright.sync_api import Browser

from tcpdynamics.apps.explorer.pages import pages

VISITORS = 10
#: What a server may grow by in half of the time [kB]: the allocator's slack, not an answer kept for each request.
SLACK = 40_000

#: A visitor that moves sliders and asks for the code until its page is left.
VISIT = """() => {
  const root = document.getElementById("page"), pause = (ms) => new Promise((done) => setTimeout(done, ms));
  window.moves = 0;
  (async () => {
    for (;;) {
      const sliders = [...document.querySelectorAll(".controls input[type=range]")].filter((s) => s.offsetParent);
      const slider = sliders[window.moves % sliders.length];
      const low = Number(slider.min), high = Number(slider.max);
      slider.value = low + Math.random() * (high - low);
      slider.dispatchEvent(new Event("input"));
      while (root.classList.contains("old")) await pause(20);
      window.moves += 1;
      if (window.moves % 4 === 0) root.querySelector("details.code > summary").click();
      await pause(30);
    }
  })();
}"""


def memory(pid: int) -> int:
    """Resident memory of a process [kB]."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_ten_visitors_at_once(
    browser: Browser, explorer: tuple[str, subprocess.Popen[str]], seconds: float
) -> None:
    address, process = explorer
    said: list[str] = []
    tabs = [browser.new_context().new_page() for _ in range(VISITORS)]
    for tab in tabs:
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: said.append(str(error)))
    slugs = [slug for slug, page in pages().items() if page.controls]
    places = itertools.cycle(slugs)

    def visit(duration: float) -> int:
        """Each visitor goes to the next page and stays until it has moved sliders; then all go on."""
        moves, began = 0, time.monotonic()
        while time.monotonic() - began < duration:
            for tab in tabs:
                tab.goto(f"{address}/{next(places)}", wait_until="commit")
            for tab in tabs:
                tab.wait_for_function("() => document.querySelector('.picture svg, .picture canvas')")
                tab.evaluate(VISIT)
            for tab in tabs:
                tab.wait_for_function("() => window.moves >= 8")
                moves += tab.evaluate("() => window.moves")
            next(places)  # another page for each visitor in the next round
        return moves

    visit(seconds / 2)  # what is compiled once and kept, for each shape that a slider reaches
    before = memory(process.pid)
    assert visit(seconds / 2) >= 8 * VISITORS
    assert said == []
    assert memory(process.pid) - before < SLACK
    for tab in tabs:
        tab.context.close()
