"""The explorer's server: a Dash shell around the pages, and what a page asks the library for."""

from __future__ import annotations

import io
import ipaddress
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tcpdynamics.errors import InputError

from . import claims
from .job_routes import add_job_routes
from .page import Page
from .pages import pages
from .tables import dataset_of

ASSETS = Path(__file__).parent / "assets"
#: Longest address that is read.
MAX_ADDRESS = 4096
#: Bytes of a request's body that are taken in at all.
MAX_BODY = 1_000_000
#: What a reader may type beside the controls.
MAX_TYPED = 200
TITLE = "tcpdynamics explorer"


def words_of(search: str) -> dict[str, str]:
    """The words of an address's query; of one that is too long, none."""
    return dict(parse_qsl(search.lstrip("?"), max_num_fields=100)) if len(search) <= MAX_ADDRESS else {}


def spec_of(page: Page, search: str = "") -> dict[str, Any]:
    """What the page's script needs from a server: the page, the values of its address, and where to ask."""
    try:
        values, complaints = page.read(words_of(search))
    except ValueError:  # more fields than a page can have
        values, complaints = page.start(), []
    if len(search) > MAX_ADDRESS:
        complaints = [f"the address is longer than {MAX_ADDRESS} characters and was not read"]
    places = {name: f"/{name}/" for name in ("functions", "answers", "code", "netcdf")} | {
        "plotly": "/plotly.min.js"
    }
    return page.spec() | places | {"values": values, "complaints": complaints}


@lru_cache(maxsize=256)
def function_script(slug: str, key: str) -> str | None:
    """A printed function as a script, or None for a key that the page does not have."""
    page = pages().get(slug)
    if page is None:
        return None
    for printed in page.printed:
        for values in page.shapes(printed):
            if printed.key(values) == key:
                return printed.script(slug, values)
    return None


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def make_app(local_only: bool = True) -> Any:
    """The Dash app.

    Parameters
    ----------
    local_only : bool
        Whether requests by any name but this machine's own are refused: a page of another site cannot ask by a name
        that it makes point here.
    """
    from dash import ClientsideFunction, Dash, Input, Output, dcc, html

    app = Dash(__name__, assets_folder=str(ASSETS), title=TITLE, update_title="", serve_locally=True)
    app.index_string = app.index_string.replace("<html>", '<html lang="en">')
    listed = pages()
    links = [html.A(p.title, href=f"/{p.slug}", id=f"to-{p.slug}") for p in listed.values()]
    app.layout = html.Div(
        [
            dcc.Location(id="address", refresh=False),
            dcc.Store(id="spec"),
            dcc.Store(id="mounted"),
            html.Header(html.Nav([html.Strong(TITLE), *links])),
            html.Main(id="page"),
        ],
        lang="en",
    )  # fmt: skip

    @app.callback(Output("spec", "data"), Input("address", "pathname"), Input("address", "search"))  # type: ignore[untyped-decorator]
    def open_page(pathname: str | None, search: str | None) -> dict[str, Any]:
        slug = (pathname or "/").strip("/") or next(iter(listed))
        if slug not in listed:
            return {"missing": f"there is no page {slug[:40]!r}; choose one above"}
        return spec_of(listed[slug], search or "")

    app.clientside_callback(
        ClientsideFunction("explorer", "open"), Output("mounted", "data"), Input("spec", "data")
    )
    _routes(app.server, local_only)
    claims.add_routes(app.server)
    kinds = {kind.name: kind for page in listed.values() for kind in page.jobs}
    app.server.extensions["jobs"] = add_job_routes(app.server, kinds)
    return app


def _routes(server: Any, local_only: bool) -> None:
    from flask import Response, abort, jsonify, request, send_file

    @server.before_request  # type: ignore[untyped-decorator]
    def refuse_other_names() -> None:
        if local_only and not is_loopback(request.host.rpartition(":")[0] or request.host):
            abort(403, "this server answers to 127.0.0.1 and localhost only")

    @server.get("/functions/<slug>/<key>.js")  # type: ignore[untyped-decorator]
    def functions(slug: str, key: str) -> Response:
        script = function_script(slug, key) if len(key) <= 80 else None
        return Response(script, mimetype="text/javascript") if script else abort(404)

    @server.get("/plotly.min.js")  # type: ignore[untyped-decorator]
    def plotly() -> Response:
        from plotly.offline import get_plotlyjs

        return Response(get_plotlyjs(), mimetype="text/javascript")

    def values_here(slug: str, *but: str) -> tuple[Any, dict[str, Any]]:
        page = pages().get(slug) or abort(404)
        words = words_of(request.query_string.decode("utf-8", "replace"))
        values, complaints = page.read({k: w for k, w in words.items() if k not in but})
        if complaints:
            abort(400, complaints[0])
        return page, values

    @server.get("/answers/<slug>/<name>")  # type: ignore[untyped-decorator]
    def answers(slug: str, name: str) -> Any:
        page, values = values_here(slug, "typed")
        answer = page.answers.get(name) or abort(404)
        try:
            return jsonify(answer(values, request.args.get("typed", "")[:MAX_TYPED]))
        except InputError as error:
            return jsonify({"refused": str(error)})  # what is typed may be wrong; the request is not

    def figure_here(slug: str, name: str) -> tuple[Any, dict[str, Any]]:
        page, values = values_here(slug)
        figure = next((f for f in page.figures if f.name == name and f.code), None)
        return figure or abort(404), values

    @server.get("/code/<slug>/<name>")  # type: ignore[untyped-decorator]
    def code(slug: str, name: str) -> Response:
        figure, values = figure_here(slug, name)
        return Response(figure.text(values), mimetype="text/plain")

    @server.get("/netcdf/<slug>")  # type: ignore[untyped-decorator]
    def netcdf(slug: str) -> Any:
        page, values = values_here(slug)
        return sent(slug, page.dataset or abort(404), values)

    @server.get("/netcdf/<slug>/<name>")  # type: ignore[untyped-decorator]
    def netcdf_of_figure(slug: str, name: str) -> Any:
        figure, values = figure_here(slug, name)
        return sent(f"{slug}-{name}", lambda v: dataset_of(figure.code(v), figure.title), values)

    def sent(name: str, make: Any, values: dict[str, Any]) -> Any:
        from tcpdynamics.apps.files import write_netcdf

        try:
            dataset = make(values)
        except InputError as error:  # values that are refused together
            abort(400, str(error))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "data.nc"
            write_netcdf(file, dataset)
            return send_file(io.BytesIO(file.read_bytes()), "application/x-netcdf", True, f"{name}.nc")


def serve(host: str, port: int) -> None:
    """Answer until interrupted. Waitress, since Dash's own server is for development."""
    from waitress import create_server

    app = make_app(local_only=is_loopback(host))
    server = create_server(
        app.server, host=host, port=port, threads=8, ident=None, max_request_body_size=MAX_BODY
    )
    try:
        server.run()
    finally:
        app.server.extensions["jobs"].close()
        server.close()
