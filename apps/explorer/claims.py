"""What the claims page asks for: the papers' statements at once; verdicts and figures when somebody wants them.

An answer takes a second or less, so a request waits for it: it is solved once, and kept for as long as the server runs;
one at a time, since each takes a processor whole. The first of a fresh machine compiles, for half a minute. Figures
with simulated packets take longer, and are jobs.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tcpdynamics import paper_figures
from tcpdynamics.errors import DomainError
from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.registry import TITLES, get_figure
from tcpdynamics.progress import listening

from .jobs import JobKind, Parts, Progress

#: A request waits as long for its turn [s]; then it is told to ask again.
PATIENCE = 1.0
#: Digits of a figure's numbers: more than a screen can show.
DIGITS = 7

_turn = threading.Lock()
_answers: dict[tuple[str, str], Any] = {}


def facts(whole: bool = False) -> dict[str, Any]:
    """The papers and their statements.

    Parameters
    ----------
    whole : bool
        With all answers and figures, solved and drawn now: twenty seconds, and half a minute more where nothing is
        compiled.
    """
    packets = {n.partition(".")[0]: n for n, figure in paper_figures.figures().items() if figure.simulates}
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "paper": one.paper,
            "where": one.where,
            "published": one.published,
            "figure": one.figure,
            "packets": packets.get(one.paper, ""),
            "commands": commands(one),
            "answer": decided(name) if whole else None,
        }
        for name, one in paper_figures.statements().items()
    ]
    figures = {name: drawn(name) for name in sorted({row["figure"] for row in rows} - {""}) if whole}
    return {"papers": TITLES, "verdicts": ledger.VERDICTS, "rows": rows, "figures": figures}


def commands(one: ledger.Statement) -> list[str]:
    """The commands that decide a statement again, and draw its figure."""
    draw = [f"tcpdynamics figures {one.figure} --output figure.html"] if one.figure else []
    return [f"tcpdynamics claims {one.name}", *draw]


def decided(name: str, patience: float = -1) -> dict[str, Any] | None:
    """The answer to a statement, or None if others' answers kept the processor longer than `patience` [s].

    Raises
    ------
    DomainError
        There is no such statement.
    """
    answer: dict[str, Any] | None = _once("claim", name, paper_figures.get_statement(name), patience)
    return answer


def drawn(name: str, patience: float = -1) -> dict[str, Any] | None:
    """A figure of the papers as Plotly draws it, or None as of `decided`.

    Raises
    ------
    DomainError
        There is no such figure, or packets must be simulated for it.
    """
    figure = get_figure(name)
    if figure.simulates:
        raise DomainError(f"{name} needs simulations of minutes; draw it with `tcpdynamics figures {name}`")
    answer: dict[str, Any] | None = _once("figure", figure.name, figure, patience)
    return answer


def read_figure(words: Mapping[str, Any]) -> dict[str, Any]:
    """The name of a figure with simulated packets, from a browser.

    Raises
    ------
    DomainError
        There is no such figure, or it needs no packets.
    """
    name = words.get("name")
    figure = get_figure(name if isinstance(name, str) else "")
    if not figure.simulates:
        raise DomainError(f"{figure.name} needs no packets; open its row")
    return {"name": figure.name}


def draw_with_packets(words: dict[str, Any], progress: Progress) -> Parts:
    """Simulate and draw a figure in its quick setting: half a minute."""
    with listening(progress):
        figure = get_figure(words["name"])(quick=True)
    return {"figure.json": json.dumps(plain(figure)).encode()}


#: Figures that need simulated packets.
WITH_PACKETS = JobKind("paper-figure", read_figure, draw_with_packets)


def _once(kind: str, name: str, solve: Callable[[], Any], patience: float) -> Any:
    key = kind, name
    if key not in _answers:
        if not _turn.acquire(timeout=patience):
            return None
        try:
            if key not in _answers:
                solved = solve()
                _answers[key] = solved.document() if kind == "claim" else plain(solved)
        finally:
            _turn.release()
    return _answers[key]


def plain(figure: Any) -> dict[str, Any]:
    """Traces and layout of a Plotly figure as JSON has them: lists for arrays, None for what is no number."""
    whole = figure.to_dict()
    whole["layout"].pop("template", None)  # the page has colours of its own
    parts: dict[str, Any] = {part: _lists(whole[part]) for part in ("data", "layout")}
    return parts


def _lists(part: Any) -> Any:
    if isinstance(part, dict) and set(part) == {"dtype", "bdata"}:
        return _lists(np.frombuffer(base64.b64decode(part["bdata"]), part["dtype"]))
    if isinstance(part, dict):
        return {key: _lists(value) for key, value in part.items()}
    if isinstance(part, np.ndarray | list | tuple):
        return [_lists(value) for value in part]
    if isinstance(part, float | np.number):
        return float(f"{part:.{DIGITS}g}") if np.isfinite(part) else None
    return part


def add_routes(server: Any) -> None:
    """Let a server answer the page."""
    from flask import Response, abort

    def answered(ask: Callable[[str, float], dict[str, Any] | None], name: str) -> Response:
        try:
            answer = ask(name, PATIENCE)
        except DomainError:
            abort(404)
        return Response(json.dumps(answer), 202 if answer is None else 200, mimetype="application/json")

    @server.get("/claims/answers.json")  # type: ignore[untyped-decorator]
    def claim_answers() -> Response:
        ready = {name: answer for (kind, name), answer in list(_answers.items()) if kind == "claim"}
        return Response(json.dumps(ready), mimetype="application/json")

    @server.get("/claims/answers/<name>.json")  # type: ignore[untyped-decorator]
    def claim_answer(name: str) -> Response:
        return answered(decided, name)

    @server.get("/claims/figures/<name>.json")  # type: ignore[untyped-decorator]
    def claim_figure(name: str) -> Response:
        return answered(drawn, name)
