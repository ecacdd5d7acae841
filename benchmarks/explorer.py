"""Slider to picture, in a real browser: every page of the explorer beside a plain Dash page of the same numbers.

A move is timed from the slider's event to the frame that shows its picture. The plain page has a slider, a callback on
the server that asks the library for the page's dataset, and a Plotly figure of it.

`--sliders` times every slider of every page instead, without the plain page: the script of a move, the frame that shows
it, and tasks of more than 50 ms.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import numpy as np

#: Times every move, from the event to the frame that shows it.
_SCRIPT = """async ([id, values]) => {
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  const times = [];
  PREPARE
  for (const value of values) {
    const drawn = new Promise((done) => DRAWN);
    const began = performance.now();
    MOVE
    await drawn;
    await painted();
    times.push(performance.now() - began);
    await new Promise((done) => setTimeout(done, 20));
  }
  return times;
}"""


def script(prepare: str, drawn: str, move: str) -> str:
    """The script with its three places filled."""
    return _SCRIPT.replace("PREPARE", prepare).replace("DRAWN", drawn).replace("MOVE", move)


OURS = script(
    'const slider = document.getElementById(id), root = document.getElementById("page");',
    'root.addEventListener("drawn", done, { once: true })',
    'slider.value = value; slider.dispatchEvent(new Event("input"));',
)
PLAIN = script(
    'const graph = document.querySelector(".js-plotly-plot");',
    'graph.once("plotly_afterplot", done)',
    'dash_clientside.set_props("moved", { data: value });',
)


#: Times the script of every move, beside the frame; counts long tasks.
ALONE = """async ([id, values]) => {
  const slider = document.getElementById(id), root = document.getElementById("page"), out = { script: [], long: 0 };
  new PerformanceObserver((list) => { out.long += list.getEntries().length; }).observe({ type: "longtask" });
  out.frames = await (async (OURS) => OURS([id, values]))(OURS_HERE);
  for (const value of values) {
    slider.value = value;
    const began = performance.now();
    slider.dispatchEvent(new Event("input"));
    out.script.push(performance.now() - began);
    await new Promise(requestAnimationFrame);
  }
  return out;
}""".replace("OURS_HERE", OURS)


def figure(dataset: Any) -> Any:
    """Every variable of a dataset as lines over its last dimension, at most 18 of them."""
    import plotly.graph_objects as go

    lines = []
    for name, variable in dataset.data_vars.items():
        if variable.ndim and variable.dtype.kind == "f":
            x = variable.coords.get(variable.dims[-1], np.arange(variable.shape[-1]))
            x = x.values if hasattr(x, "values") else x
            rows = variable.values.reshape(-1, variable.shape[-1])
            lines += [go.Scatter(x=x, y=y, name=f"{name} {i}") for i, y in enumerate(rows)]
    return go.Figure(lines[:18])


@contextmanager
def answering(app: Any) -> Iterator[str]:
    """A server for an app, in a thread of this process."""
    from waitress import create_server

    server = create_server(app.server, host="127.0.0.1", port=0, threads=8, ident=None)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()


def plain_app(page: Any, name: str) -> Any:
    """A page of plain Dash callbacks: one value in, one figure out."""
    from dash import Dash, Input, Output, dcc, html

    app = Dash("plain", serve_locally=True)
    app.layout = html.Div([dcc.Store(id="moved"), dcc.Graph(id="graph")])

    @app.callback(Output("graph", "figure"), Input("moved", "data"))  # type: ignore[untyped-decorator]
    def draw(value: float | None) -> Any:
        moved = {} if value is None else {name: value}
        return figure(page.dataset(page.start() | moved))

    return app


def shares(moves: int) -> Any:
    """Places to and fro over the middle of a reach."""
    return 0.1 + 0.8 * ((np.arange(moves) * 37) % 101) / 101


def slider_values(control: Any, moves: int) -> tuple[list[float], list[float]]:
    """(positions of the slider, values of the control), to and fro over the middle of its reach."""
    low, high = (np.log10([control.low, control.high])) if control.log else (control.low, control.high)
    at = low + shares(moves) * (high - low)
    return at.tolist(), (10**at if control.log else at).tolist()


def row(times: list[float]) -> str:
    return f"{statistics.median(times):8.1f} {np.percentile(times, 95):8.1f}"


def every_slider(browser: Any, address: str, moves: int, alone: str | None) -> None:
    """A line for each slider of each page."""
    from tcpdynamics.apps.explorer.page import Text
    from tcpdynamics.apps.explorer.pages import pages

    heads = f"{'median':>8s} {'95 %':>8s} ms"
    print(f"{'page':24s} {'slider':16s} script {heads}   frame {heads}   long tasks")
    for slug, page in pages().items():
        if page.article or slug != (alone or slug):
            continue
        typed = [c.name for c in page.controls if isinstance(c, Text)]
        models = (
            [{typed[0]: one.values.get(typed[0], page.start()[typed[0]])} for one in page.presets] if typed else [{}]
        )
        for words in models:
            for name, only in sliders_of(browser, address, slug, page, words):
                tab = opened(browser, f"{address}/{slug}?{urlencode(words | only)}")
                slider = tab.locator(f"#control-{name}")
                if slider.count():
                    low, high = (float(slider.get_attribute(end) or 0) for end in ("min", "max"))
                    at = low + (high - low) * shares(moves)
                    tab.evaluate(OURS, [f"control-{name}", at[:3].tolist()])
                    came = tab.evaluate(ALONE, [f"control-{name}", at.tolist()])
                    cells = f"script {row(came['script'])} ms   frame {row(came['frames'])} ms   {came['long']}"
                    print(f"{slug:24s} {name:16s} {cells}", flush=True)
                tab.close()


def opened(browser: Any, address: str) -> Any:
    """A tab with a page whose pictures are there."""
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.set_default_timeout(120_000)
    tab.goto(address)
    tab.wait_for_function("() => document.querySelector('.picture :is(svg, canvas, table)')")
    return tab


def sliders_of(browser: Any, address: str, slug: str, page: Any, words: dict[str, str]) -> list[tuple[str, Any]]:
    """(name, what the address needs beside it) of each slider; those of a model that is typed are the page's own."""
    from tcpdynamics.apps.explorer.page import Control

    if words:
        tab = opened(browser, f"{address}/{slug}?{urlencode(words)}")
        found = tab.locator("#control-model-made input[type=range]").evaluate_all("(all) => all.map((one) => one.id)")
        tab.close()
        return [(name.removeprefix("control-"), {}) for name in found]
    return [
        (one.name, {c.name: one.only[0] for c in page.controls if set(one.only) & set(getattr(c, "choices", ()))})
        for one in page.controls if isinstance(one, Control)
    ]  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    from playwright.sync_api import sync_playwright

    from tcpdynamics.apps.explorer.page import Control
    from tcpdynamics.apps.explorer.pages import pages
    from tcpdynamics.apps.explorer.server import make_app

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=120)
    parser.add_argument("--plain-moves", type=int, default=20)
    parser.add_argument("--sliders", action="store_true")
    parser.add_argument("--page", help="this one alone")
    options = parser.parse_args(argv)
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        sys.exit("no chromium: install it to time the explorer")
    print(f"{'page':16s} {'median':>8s} {'95 %':>8s} ms   plain Dash {'median':>8s} {'95 %':>8s} ms   ratio of medians")
    with sync_playwright() as playwright, answering(make_app()) as address:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        if options.sliders:
            every_slider(browser, address, options.moves, options.page)
            return

        def timed(where: str, ready: str, script: str, name: str, values: list[float]) -> list[float]:
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.set_default_timeout(120_000)
            tab.goto(where)
            tab.wait_for_function(ready)
            tab.evaluate(script, [name, values[:3]])  # what is fetched and compiled once
            times: list[float] = tab.evaluate(script, [name, values])
            tab.close()
            return times

        for slug, page in pages().items():
            controls = [c for c in page.controls if isinstance(c, Control) and c.step != 1 and not c.only]
            if not controls or page.dataset is None:
                continue
            control = controls[0]
            at, values = slider_values(control, options.moves)
            drawn = "() => document.querySelector('.picture svg, .picture canvas')"
            ours = timed(f"{address}/{slug}", drawn, OURS, f"control-{control.name}", at)
            with answering(plain_app(page, control.name)) as other:
                plotted = "() => document.querySelector('.js-plotly-plot .main-svg')"
                plain = timed(other, plotted, PLAIN, control.name, values[: options.plain_moves])
            ratio = statistics.median(plain) / statistics.median(ours)
            print(f"{slug:16s} {row(ours)} ms   plain Dash {row(plain)} ms   {ratio:6.1f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
