"""What the claims page asks for: the ledger as recorded; a claim decided again, or a figure, when somebody wants it.

A figure that a model draws takes a second, so a request waits for it: it is solved once, and kept for as long as the
server runs; one at a time, since each takes a processor whole. The first of a fresh machine compiles, for half a
minute. What simulates packets takes longer, and is a job.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tcpdynamics.errors import DomainError
from tcpdynamics.paper_figures import deciding, ledger
from tcpdynamics.paper_figures.registry import figures, get_figure
from tcpdynamics.paper_figures.rules import VERDICTS
from tcpdynamics.paper_figures.statements import SEVERAL
from tcpdynamics.progress import listening

from .. import ledger_rows
from .jobs import JobKind, Parts, Progress

#: A request waits as long for its turn [s]; then it is told to ask again.
PATIENCE = 1.0
#: Readings that a row lists.
MOST_READINGS = 12
#: What a served page fetches when a row is opened, or words are typed: half of all.
LATER = "lines"
#: Digits of a figure's numbers: more than a screen can show.
DIGITS = 7

_turn = threading.Lock()
_drawn: dict[str, Any] = {}


@cache
def facts(whole: bool = False) -> dict[str, Any]:
    """The papers, their statements and the cells of each, as recorded, what does not hold on top.

    Parameters
    ----------
    whole : bool
        With all figures that models draw, solved now: twenty seconds, and half a minute more where nothing is compiled.
    """
    known, tables = figures(), ledger_rows.tables()
    statements = [{"paper": table["id"], **one} for table in tables for one in table["statements"]]
    by_name = {row["id"]: row for table in tables for row in table["rows"]}
    rows = [claim_facts(by_name[cell]) for one in statements for cell in one["cells"]]
    answers = {name: answer(row) for name, row in by_name.items()}
    papers = {table["id"]: table["title"] for table in tables}
    shown = {row["figure"] for row in rows if row["figure"] and not known[row["figure"]].simulates}
    return {
        "papers": papers,
        "says": {table["id"]: table["says"] for table in tables},
        "counts": {table["id"]: f"{table['counts']}. {table['marks']}" for table in tables},
        "statements": statements,
        "ours": {table["id"]: table["ours"] for table in tables},
        "verdicts": VERDICTS,
        "several": SEVERAL,
        "rows": rows,
        LATER: {name: came["lines"] for name, came in answers.items() if came},
        "figures": {name: drawn(name) for name in sorted(shown)} if whole else {},
    }


def claim_facts(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the ledger as the page has it."""
    claim = ledger.get_claim(row["id"])
    simulates = bool(row["figure"]) and get_figure(row["figure"]).simulates
    draw = [f"tcpdynamics figures {row['figure']} --output figure.html"] if row["figure"] else []
    return {
        "name": row["id"], "paper": row["paper"], "where": row["place"],
        "published": f"{row['quantity']}: {row['published']}".replace("≥ ", "≥\N{NO-BREAK SPACE}"),
        "figure": "" if simulates else row["figure"], "packets": row["figure"] if simulates else "",
        "commands": [row["command"], *draw], "scenario": ledger_rows.scenario_of(claim),
        "verdict": row["verdict"] if row["setting"] else None,
    }  # fmt: skip


def answer(row: dict[str, Any]) -> dict[str, Any] | None:
    """What came out for a claim, in lines with heads; None where nothing is recorded."""
    if not row["setting"]:
        return None
    ours = row["finding"] + (" (not borne out by this run)" if row["supported"] is False else "")
    lines = {
        **{head: row[key] for key, head in ledger_rows.COLUMNS.items() if row[key] != ledger_rows.NONE},
        "interpretations": [row["interpretations"] + _listed(row), *(
            f"{one['interpretation']}: {one['value']}, {one['verdict']}"
            for one in row["each_interpretation"][:MOST_READINGS]
        )] if row["interpretations"] else "",
        "shown": row["shown"], "our finding": ours, "rule": row["rule"], "case": row["case"],
        "decided by": f"{row['experiment']}, {row['setting']} setting", "note": row["note"],
    }  # fmt: skip
    return {"verdict": row["verdict"], "lines": {head: text for head, text in lines.items() if text}}


def _listed(row: dict[str, Any]) -> str:
    several = len(row["each_interpretation"])
    return f"; the first {MOST_READINGS} are listed" if several > MOST_READINGS else ""


def drawn(name: str, patience: float = -1) -> dict[str, Any] | None:
    """A figure of the papers as Plotly draws it, or None if others kept the processor longer than `patience` [s].

    Raises
    ------
    DomainError
        There is no such figure, or packets must be simulated for it.
    """
    figure = get_figure(name)
    if figure.simulates:
        raise DomainError(f"{name} needs simulations of minutes; draw it with `tcpdynamics figures {name}`")
    if name not in _drawn:
        if not _turn.acquire(timeout=patience):
            return None
        try:
            if name not in _drawn:
                _drawn[name] = plain(figure())
        finally:
            _turn.release()
    picture: dict[str, Any] = _drawn[name]
    return picture


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


def read_claim(words: Mapping[str, Any]) -> dict[str, Any]:
    """The id of a claim that is to be decided again, from a browser.

    Raises
    ------
    DomainError
        There is no such claim.
    """
    name = words.get("name")
    return {"name": ledger.get_claim(name if isinstance(name, str) else "").id}


def decide_again(words: dict[str, Any], progress: Progress) -> Parts:
    """Decide a claim at the quick setting: seconds to a minute."""
    claim = ledger.get_claim(words["name"])
    with listening(progress):
        came = ledger.to_read(deciding.decide(claim, "quick", progress=progress).document(), claim)
    return {"answer.json": json.dumps(answer(ledger_rows.row(claim, came))).encode()}


#: A claim decided while somebody waits.
AGAIN = JobKind("claim", read_claim, decide_again)


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

    @server.get(f"/claims/{LATER}.json")  # type: ignore[untyped-decorator]
    def claim_lines() -> Response:
        return Response(json.dumps(facts()[LATER]), mimetype="application/json")

    @server.get("/claims/figures/<name>.json")  # type: ignore[untyped-decorator]
    def claim_figure(name: str) -> Response:
        try:
            figure = drawn(name, PATIENCE)
        except DomainError:
            abort(404)
        return Response(json.dumps(figure), 202 if figure is None else 200, mimetype="application/json")
