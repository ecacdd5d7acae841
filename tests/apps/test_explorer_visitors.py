"""Three visitors at once or (slow) ten for a minute: nobody meets an error, and the server does not grow."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest
from explorer_tabs import PATIENCE
from playwright.sync_api import Browser

from tcpdynamics.apps.explorer.pages import pages

#: What a server may grow by in half of the time [kB]: the allocator's slack, not an answer kept for each request.
SLACK = 40_000

#: Of a slider, that each visitor makes on a page.
MOVES = 4

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("visitors", "rounds"), [(3, 5), pytest.param(10, 7, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_visitors_at_once(
    browser: Browser, explorer: tuple[str, subprocess.Popen[str]], visitors: int, rounds: int
) -> None:
    address, process = explorer
    said: list[str] = []
    tabs = [browser.new_context().new_page() for _ in range(visitors)]
    for tab in tabs:
        tab.set_default_timeout(PATIENCE)
        tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: said.append(str(error)))
    slugs = [slug for slug, page in pages().items() if page.controls and not page.article]
    places = itertools.cycle(slugs)
    assert visitors % len(slugs) and rounds * visitors >= len(slugs)  # another page in each round, and soon all

    def visit() -> int:
        """Each visitor goes to the next page and stays until it has moved sliders; then all go on."""
        moves = 0
        for _ in range(rounds):
            for tab in tabs:
                tab.goto(f"{address}/{next(places)}", wait_until="commit")
            for tab in tabs:
                tab.wait_for_function("() => document.querySelector('.picture svg, .picture canvas')")
                tab.evaluate(VISIT)
            for tab in tabs:
                tab.wait_for_function(f"() => window.moves >= {MOVES}")
                moves += tab.evaluate("() => window.moves")
        return moves

    visit()  # what is compiled once and kept, for each shape that a slider reaches
    growths = []
    while not growths or (growths[-1] >= SLACK and len(growths) < 3):  # a leak grows each time, a new shape once
        before = memory(process.pid)
        assert visit() >= MOVES * visitors * rounds
        growths.append(memory(process.pid) - before)
    assert said == []
    assert growths[-1] < SLACK, growths
    for tab in tabs:
        tab.context.close()
