"""A live picture elsewhere: as a widget of a notebook, and as a component of somebody's Dash app."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from explorer_tabs import move, wait_for
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.widget import figure
from tcpdynamics.errors import DomainError

APP = """
from dash import Dash, Input, Output, html
from tcpdynamics.apps.dash_figure import Figure
app = Dash()
app.layout = html.Div([Figure("leap", "duplicates", id="chart", values={"ack_loss": 0.2}), html.P(id="out"),
                       html.Button("more", id="more"), Figure("leap", "transmissions", id="other")])
@app.callback(Output("out", "children"), Input("chart", "numbers"))
def show(numbers):
    return str(numbers and numbers["leap"])
@app.callback(Output("chart", "values"), Input("more", "n_clicks"), prevent_initial_call=True)
def press(_):
    return {"ack_loss": 0.4}
app.run(port=PORT)
"""


def expected(ack_loss: float) -> float:
    """Duplicates of 100 segments with LEAP, by the library."""
    page = pages()["leap"]
    assert page.dataset is not None
    values = page.start() | {"ack_loss": ack_loss}
    return float(page.dataset(values).duplicates_leap.sel(ack_loss=ack_loss, method="nearest")) * 100


def test_a_dash_app_shows_it_and_gets_its_numbers(tab: Page, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    file = tmp_path / "app.py"
    file.write_text(APP.replace("PORT", str(port)))
    process = subprocess.Popen([sys.executable, file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/")
        tab.goto(f"http://127.0.0.1:{port}/")
        tab.locator(".live canvas").nth(1).wait_for()
        said = []
        # Two figures with the same sliders: each label leads to its own.
        ids = tab.evaluate("() => [...document.querySelectorAll('.live [id]')].map((node) => node.id)")
        assert len(ids) == len(set(ids)) and len(ids) > 4
        named = tab.evaluate("() => [...document.querySelectorAll('.live label')].map((label) => label.control?.id)")
        assert None not in named and len(named) == len(set(named))
        for act in (lambda: None, lambda: move(tab, "ack_loss", 0.3), lambda: tab.locator("#more").click()):
            before = tab.locator("#out").inner_text()
            act()
            tab.wait_for_function(
                "(t) => { const out = document.getElementById('out').textContent; return out && (out !== t || !t); }",
                arg=before if said else "",
            )
            said.append(float(tab.locator("#out").inner_text()))
        assert tab.locator("#control-ack_loss").input_value() == "0.4"
        assert said == pytest.approx([expected(x) for x in (0.2, 0.3, 0.4)], rel=0.02)
    finally:
        process.kill()
        process.wait()


HOST = """<!doctype html><meta charset="utf-8"><body><div id="out"></div><script type="module">
const widget = await import("./widget.js");
const state = STATE, heard = {};
const model = { get: (name) => state[name], save_changes() {
  // as marimo does: one name at a time, and the widget's own changes are reported to it, too
  if (heard["change:values"]) heard["change:values"]();
  document.getElementById("out").textContent = JSON.stringify(state.numbers); },
  set: (name, now) => { if (typeof name !== "string") throw new Error("one name at a time"); state[name] = now; },
  on: (name, f) => { heard[name] = f; }, off: (name) => delete heard[name] };
window.change = (values) => { state.values = values; heard["change:values"](); };
// as marimo and Jupyter do: below a shadow root, and laid out after it is rendered
const host = document.createElement("div"), el = document.createElement("div"), style = document.createElement("style");
style.textContent = STYLE;
window.end = widget.default.render({ model, el });
document.body.append(host);
host.attachShadow({ mode: "open" }).append(style, el);
</script></body>"""


def test_a_widget_draws_follows_and_ends(tab: Page, tmp_path: Path) -> None:
    import functools
    import http.server
    import json
    import threading

    chart = figure("leap", "duplicates", ack_loss=0.2)
    assert chart.values["ack_loss"] == 0.2
    state = json.dumps({"spec": chart.spec, "values": chart.values})
    (tmp_path / "index.html").write_text(HOST.replace("STATE", state).replace("STYLE", json.dumps(str(chart._css))))
    (tmp_path / "widget.js").write_text(str(chart._esm))
    (tmp_path / "favicon.ico").write_bytes(b"")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        tab.goto(f"http://127.0.0.1:{host.server_address[1]}/index.html")
        tab.wait_for_function(
            "() => document.querySelector('div:last-child')?.shadowRoot?.querySelector('canvas')?.clientWidth > 200"
        )
        ink = "(node) => getComputedStyle(node).getPropertyValue('--ink').trim()"
        assert tab.locator(".live").evaluate(ink).startswith("#")
        first = json.loads(tab.locator("#out").inner_text())["leap"]
        tab.evaluate("() => window.change({ ack_loss: 0.4 })")
        second = json.loads(tab.locator("#out").inner_text())["leap"]
        assert [first, second] == pytest.approx([expected(0.2), expected(0.4)], rel=0.02)
        tab.evaluate("() => window.end()")
        assert tab.locator(".live").count() == 0
        host.shutdown()


def test_wrong_words_are_refused_in_a_sentence() -> None:
    for words, said in (
        (("nothing", "silence"), "there is no page 'nothing' with figures"),
        (("leap", "silence"), "the page leap has no figure 'silence'"),
    ):
        with pytest.raises(DomainError, match=said):
            figure(*words)
    with pytest.raises(DomainError, match=r"\(`ack_loss`\) must be a number from"):
        figure("leap", "duplicates", ack_loss=2)
