"""Where browsers ask for jobs.

POST /jobs, GET /jobs, GET /jobs/<name>, GET /jobs/<name>/<part>, POST /jobs/<name>/end.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tcpdynamics.errors import InputError

from .jobs import JobKind, Jobs

#: Bytes of a request for a job.
MAX_REQUEST = 200_000


def add_job_routes(server: Any, kinds: Mapping[str, JobKind]) -> Jobs:
    """Let a Flask server answer for jobs of these kinds; they end with `close()`."""
    from flask import Response, abort, jsonify, request, send_file

    jobs = Jobs(kinds)

    def refuse(code: int, said: str) -> Any:
        abort(Response(said, code, mimetype="text/plain"))

    def refuse_other_sites() -> None:
        """A page of another site can make a browser send a request here, but not hide where it comes from."""
        origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site", "same-origin")
        try:
            foreign = origin is not None and urlsplit(origin).netloc != request.host
        except ValueError:  # no address at all
            foreign = True
        if foreign or site not in ("same-origin", "none"):
            refuse(403, "only pages of this explorer may ask for jobs")

    @server.post("/jobs")  # type: ignore[untyped-decorator]
    def start() -> Any:
        refuse_other_sites()
        if request.mimetype != "application/json":
            refuse(415, "a job is asked for in JSON")
        body = request.stream.read(MAX_REQUEST + 1)
        if len(body) > MAX_REQUEST:
            refuse(413, f"a request for a job has at most {MAX_REQUEST:,} bytes; ask for less")
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        match asked:
            case {"kind": str(kind), "words": dict(words)}:
                pass
            case _:
                refuse(400, 'a job is asked for as {"kind": ..., "words": {...}}')
        try:
            return jsonify(job=jobs.start(kind, words)), 201
        except InputError as error:  # nothing is wrong with the request: browsers would write an error into the console
            return jsonify(refused=str(error))

    @server.get("/jobs")  # type: ignore[untyped-decorator]
    def summary() -> Any:
        return jobs.summary(), {"Content-Type": "text/plain", "Cache-Control": "no-store"}

    @server.get("/jobs/<name>")  # type: ignore[untyped-decorator]
    def status(name: str) -> Any:
        known = jobs.status(name)
        if known is None:
            return refuse(404, "this job is not known any more; start it again")
        answer = jsonify(known)
        answer.headers["Cache-Control"] = "no-store"
        return answer

    @server.get("/jobs/<name>/<part>")  # type: ignore[untyped-decorator]
    def part(name: str, part: str) -> Any:
        content = jobs.part(name, part)
        if content is None:
            return refuse(404, "this result is not kept any more; run it again")
        kind = "application/json" if part.endswith(".json") else "application/octet-stream"
        return send_file(io.BytesIO(content), kind, kind != "application/json", part)

    @server.post("/jobs/<name>/end")  # type: ignore[untyped-decorator]
    def end(name: str) -> Any:
        refuse_other_sites()
        return ("", 204) if jobs.end(name) else refuse(404, "this job is not known any more")

    return jobs
