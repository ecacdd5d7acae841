"""The explorer's server: a Dash shell around the pages, and what a page asks the library for."""

from __future__ import annotations

import errno
import io
import ipaddress
import socket
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import BoundedSemaphore, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tcpdynamics.errors import InputError, shown

from . import claims
from .bundle import ASSETS, core_script, page_script, style_sheet
from .home import HOME
from .job_routes import add_job_routes
from .page import Page
from .pages import pages
from .shell import FIRST, TITLE, Places, document, first_page, mounted, plain, version

#: Longest address that is read.
MAX_ADDRESS = 4096
#: Words of an address that are read.
MAX_WORDS = 100
#: Answers that are computed at once: some take seconds, and pages need the server's other threads.
ANSWERS_AT_ONCE = 2
#: Addresses that pages of other sites may not ask for, as by an image.
OWN = ("/answers/", "/code/", "/netcdf/", "/claims/")
#: Bytes of a request's body that are taken in at all.
MAX_BODY = 1_000_000
#: As in assets/core/server.js.
SILENT = "the explorer does not answer; start it again"
SLOW = "the explorer has not answered for a second; it is busy, or hangs"
#: Functions that one request asks for.
MAX_FUNCTIONS = 10
#: [ms] How often a page asks how many runs there are.
RUNS_EVERY = 1_000
#: What a page shows of them.
RUNS = f"""async () => {{
  try {{ return await (await fetch("/jobs", {{ signal: AbortSignal.timeout(900) }})).text(); }}
  catch (error) {{ return error.name === "TimeoutError" ? "{SLOW}" : "{SILENT}"; }}
}}"""
#: What a reader may type beside the controls.
MAX_TYPED = 200
#: [s] A file whose address names its content stays in a browser.
FOR_EVER = 31_536_000


def words_of(search: str) -> dict[str, str]:
    """The words of an address's query.

    Raises
    ------
    InputError
        It is too long, has too many words, or has one twice.
    """
    if len(search) > MAX_ADDRESS:
        raise InputError(f"the address is longer than {MAX_ADDRESS} characters and was not read")
    try:
        pairs = parse_qsl(search.lstrip("?"), keep_blank_values=True, max_num_fields=MAX_WORDS)
    except ValueError:
        raise InputError(f"the address has more than {MAX_WORDS} words and was not read") from None
    words = dict(pairs)
    if len(words) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"the address has {twice[:40]} twice and was not read")
    return words


def spec_of(page: Page, search: str = "") -> dict[str, Any]:
    """What the page's script needs from a server: the page, the values of its address, and where to ask."""
    try:
        values, complaints = page.read(words_of(search))
    except InputError as error:
        values, complaints = page.start(), [str(error)]
    places = {name: f"/{name}/" for name in ("functions", "answers", "code", "netcdf")} | {"plotly": "/plotly.min.js"}
    spec = page.spec() | places | {"values": values, "complaints": complaints}
    return spec | {"facts": {k: v for k, v in spec["facts"].items() if k != page.later}} if page.later else spec


class Compressed(dict[str, bytes]):
    """What stands below an address that names its content, compressed once."""

    def set(self, key: str, content: bytes) -> None:
        """Keep it."""
        if ";/site/" in key:
            self[key] = content


def places() -> Places:
    """Where a served document finds what it loads."""
    folder = f"/site/{version()}"
    return Places(f"{folder}/style.css", f"{folder}/core.js", f"{folder}/{{}}.js", "/{}", "/")


def page_of(path: str, search: str, end: str = "") -> str:
    """The document at a path; `end` stands below the page."""
    listed, slug = pages(), path.strip("/")
    if slug and slug not in listed:
        head = f"Object.assign(document.createElement('h1'), {{textContent: {plain(missing(slug))}}})"
        sentence = f'document.getElementById("page").replaceChildren({head});'
        return document(places(), listed.values(), sentence, end=end)
    page = listed[slug] if slug else HOME
    spec = spec_of(page, search)
    step = spec["facts"]["steps"][0] if page.article else {"page": "", "values": spec["values"]}
    first = listed[step["page"]] if step["page"] else page  # whose picture comes first
    keys = "+".join(printed.key(step["values"]) for printed in first.printed if not printed.lazy)
    scripts = [f"/functions/{first.script or first.slug}/{keys}.js"] if keys else []
    call = mounted(spec) if slug else first_page(listed.values(), places(), spec)
    return document(places(), listed.values(), call, page, scripts, end)


def missing(slug: str) -> str:
    """What is said where there is no such page."""
    return f"There is no page {slug[:40]!r}; choose one above"


@lru_cache(maxsize=256)
def function_script(slug: str, key: str) -> str | None:
    """A printed function as a script, or None for a key that the page does not have."""
    page = (pages() | {FIRST: HOME}).get(slug)
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


def name_of(host: str) -> str:
    """The name or the address in a request's `Host`; empty where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def make_app(local_only: bool = True) -> Any:
    """The Dash app.

    Parameters
    ----------
    local_only : bool
        Whether requests by any name but this machine's own are refused: a page of another site cannot ask by a name
        that it makes point here.
    """
    import flask_compress  # noqa: F401 - Dash's own error does not name the extra
    from dash import Dash, Input, Output, dcc, html
    from flask import Flask, request

    class Explorer(Dash):  # type: ignore[misc]
        """Its documents are those that open from disk, too; Dash's own scripts come after the first picture."""

        def interpolate_index(self, **parts: Any) -> str:
            late = f'<template id="dash">{parts["config"]}{parts["scripts"]}{parts["renderer"]}</template>'
            return page_of(request.path, request.query_string.decode("utf-8", "replace"), parts["app_entry"] + late)

    server = Flask(__name__)
    server.config.update(
        COMPRESS_ZSTD_LEVEL=9, COMPRESS_BR_LEVEL=5,  # 8 % smaller, in 8 ms
        COMPRESS_CACHE_BACKEND=Compressed, COMPRESS_CACHE_KEY=lambda request: request.path,
    )  # fmt: skip
    app = Explorer(
        __name__, server=server, assets_folder=str(ASSETS), assets_ignore=".*", title=TITLE, update_title="",
        serve_locally=True, compress=True,
    )  # fmt: skip
    app.layout = html.Footer([dcc.Interval(id="tick", interval=RUNS_EVERY), html.Span(id="runs", role="status")])

    # In the browser: a server that has stopped does not answer a callback, and its last sentence would stay.
    app.clientside_callback(RUNS, Output("runs", "children"), Input("tick", "n_intervals"))
    _guard(app.server, local_only)
    _routes(app.server)
    claims.add_routes(app.server)
    kinds = {kind.name: kind for page in pages().values() for kind in page.jobs}
    app.server.extensions["jobs"] = add_job_routes(app.server, kinds)
    return app


def _guard(server: Any, local_only: bool) -> None:
    """Who may ask, and what is said of a path or a request that means nothing."""
    from flask import Response, abort, request
    from werkzeug.exceptions import HTTPException

    @server.before_request  # type: ignore[untyped-decorator]
    def refuse_others() -> None:
        if local_only and not is_loopback(name_of(request.host)):
            abort(403, "this server answers to 127.0.0.1 and localhost only")
        if request.path.startswith(OWN) and request.headers.get("Sec-Fetch-Site") == "cross-site":
            abort(403, "only pages of this explorer may ask for this")

    @server.after_request  # type: ignore[untyped-decorator]
    def no_such_page(answer: Response) -> Response:
        """Dash answers to every path with its shell, which opens the page that the path names."""
        slug = request.path.strip("/")
        if request.endpoint == "/<path:path>" and answer.status_code == 200 and slug not in pages():
            answer.status_code = 404
        return answer

    @server.errorhandler(Exception)  # type: ignore[untyped-decorator]
    def strange_request(error: Exception) -> Any:
        """Dash trusts what a browser sends it."""
        if isinstance(error, HTTPException):
            return error
        if not request.path.startswith("/_dash"):
            raise error
        server.logger.warning("a strange request for %s: %s", request.path[:80], type(error).__name__)
        return "this is no request of a page of the explorer", 400


def _routes(server: Any) -> None:
    """Functions, answers and datasets of the pages."""
    from flask import Response, abort, jsonify, request, send_file

    turns = BoundedSemaphore(ANSWERS_AT_ONCE)

    def refuse(code: int, said: str) -> Any:
        abort(Response(said, code, mimetype="text/plain"))

    def kept(text: str, kind: str, seconds: int = 0) -> Response:
        """A text that a browser keeps: for some seconds, or until it has changed."""
        answer = Response(text, mimetype=kind)
        answer.add_etag()
        answer.cache_control.max_age = seconds
        return answer.make_conditional(request)

    @server.get("/site/<made>/<name>")  # type: ignore[untyped-decorator]
    def site(made: str, name: str) -> Response:
        slugs = (pages().keys() | {FIRST}) & {name.removesuffix(".js")}
        text = {"core.js": core_script, "style.css": style_sheet}.get(name) or (slugs and (lambda: page_script(*slugs)))
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return kept(text(), kind, FOR_EVER) if text and made == version() else abort(404)

    @server.get("/functions/<slug>/<keys>.js")  # type: ignore[untyped-decorator]
    def functions(slug: str, keys: str) -> Response:
        listed = keys.split("+")[:MAX_FUNCTIONS]
        texts = [function_script(slug, key) if len(key) <= 80 else None for key in listed]
        return abort(404) if None in texts else kept("".join(map(str, texts)), "text/javascript")

    @server.get("/plotly.min.js")  # type: ignore[untyped-decorator]
    def plotly() -> Response:
        from plotly.offline import get_plotlyjs

        return kept(get_plotlyjs(), "text/javascript", FOR_EVER)

    def values_here(slug: str, *but: str) -> tuple[Any, dict[str, Any]]:
        page = pages().get(slug) or abort(404)
        try:
            words = words_of(request.query_string.decode("utf-8", "replace"))
        except InputError as error:
            refuse(400, str(error))
        values, complaints = page.read({k: w for k, w in words.items() if k not in but}, shows=False)
        if complaints:
            refuse(400, complaints[0])
        return page, values

    @server.get("/answers/<slug>/<name>")  # type: ignore[untyped-decorator]
    def answers(slug: str, name: str) -> Any:
        page, values = values_here(slug, "typed")
        answer = page.answers.get(name) or abort(404)
        if not turns.acquire(blocking=False):
            busy = jsonify({"busy": f"{ANSWERS_AT_ONCE} answers are being computed; ask again in a moment"})
            return (busy, 202, {"Retry-After": "1"})  # no code of an error: browsers would write it into the console
        try:
            return jsonify(answer(values, request.args.get("typed", "")[:MAX_TYPED]))
        except InputError as error:
            return jsonify({"refused": str(error)})  # what is typed may be wrong; the request is not
        finally:
            turns.release()

    @server.get("/code/<slug>/<name>")  # type: ignore[untyped-decorator]
    def code(slug: str, name: str) -> Response:
        page, values = values_here(slug)
        figure = {f.name: f for f in page.figures if f.code}.get(name) or abort(404)
        return Response(figure.text(values), mimetype="text/plain")

    @server.get("/netcdf/<slug>")  # type: ignore[untyped-decorator]
    def netcdf(slug: str) -> Any:
        from tcpdynamics.apps.files import write_netcdf

        page, values = values_here(slug)
        if page.dataset is None:
            abort(404)
        if not turns.acquire(timeout=1.0):
            refuse(503, f"{ANSWERS_AT_ONCE} answers are being computed; ask again in a moment")
        try:
            dataset = page.dataset(values)
        except InputError as error:  # values that are refused together
            refuse(400, str(error))
        finally:
            turns.release()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "data.nc"
            write_netcdf(file, dataset)
            return send_file(io.BytesIO(file.read_bytes()), "application/x-netcdf", True, f"{slug}.nc")


def address_of(host: str, port: int) -> str:
    """What a browser is told; an address of IPv6 stands in brackets."""
    bare = host.strip("[]")
    return f"http://{f'[{bare}]' if ':' in bare else bare}:{port}/"


def check_place(host: str, port: int) -> None:
    """Refuse a host that is not this machine, or a port that is taken or not allowed.

    Raises
    ------
    InputError
        In a sentence.
    """
    try:
        places = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError(f"--host {shown(host, 60)} is no name or address that is known here; try 127.0.0.1") from None
    family, kind, protocol, _, place = places[0]
    try:
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise InputError(f"--host {shown(host, 60)} is no address of this machine; try 127.0.0.1") from None
        raise InputError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from None


def serve(host: str, port: int, ready: Callable[[str], None] = print) -> None:
    """Answer until interrupted. Waitress, since Dash's own server is for development.

    Parameters
    ----------
    host, port
        Where.
    ready : callable
        Is told the explorer's address when it answers there.

    Raises
    ------
    InputError
        No address of this machine, or a port that cannot be used.
    """
    from waitress import create_server

    from .connections import SETTINGS, Connection

    check_place(host, port)
    app = make_app(local_only=is_loopback(host))
    sockets: dict[int, Any] = {}
    server = create_server(
        app.server, sockets, host=host.strip("[]"), port=port, threads=8, ident=None, max_request_body_size=MAX_BODY,
        **SETTINGS,
    )  # fmt: skip
    for one in sockets.values():
        if hasattr(one, "channel_class"):
            one.channel_class = Connection
    ready(address_of(host, port))
    Thread(target=page_of, args=("", ""), daemon=True).start()  # reads records that the first visitor would wait for
    try:
        server.run()
    finally:
        app.server.extensions["jobs"].close()
        server.close()
