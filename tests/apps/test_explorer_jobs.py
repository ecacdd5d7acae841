"""Background jobs of the explorer: they run apart, say how far they are, and end when nobody wants them any more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from explorer_job_kinds import FAIL, HOLD, READY

from tcpdynamics.apps.explorer import jobs as module
from tcpdynamics.apps.explorer.job_routes import MAX_REQUEST, add_job_routes
from tcpdynamics.apps.explorer.jobs import AT_ONCE, KEPT, KEPT_FOR, LONGEST, UNASKED, WAITING, BusyError, Jobs
from tcpdynamics.errors import InputError

#: Seconds after which a test has failed; nothing is measured by it.
PATIENCE = 120.0


def until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return value


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has asked about yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids(folder: Path) -> list[int]:
    until((folder / "pids").exists)
    return [int(word) for word in (folder / "pids").read_text().split()]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jobs(clock: Clock) -> Iterator[Jobs]:
    """Jobs whose clock stands still."""
    made = Jobs({"hold": HOLD, "fail": FAIL}, clock)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    def make(name: str) -> Path:
        (tmp_path / name).mkdir()
        return tmp_path / name

    return make


def ended(jobs: Jobs, name: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        status = jobs.status(name)
        assert status is not None
        return status if status["state"] not in ("waiting", "running") else None

    return dict(until(look))


def test_a_job_says_how_far_it_is_and_what_came_out(jobs: Jobs, folder: Callable[[str], Path]) -> None:
    at = folder("a")
    name = jobs.start("hold", {"folder": str(at), "size": 1_000_000})
    until(lambda: (jobs.status(name) or {})["share"] == 0.25)
    assert jobs.part(name, "answer.json") is None
    (at / "go").touch()
    assert ended(jobs, name) == {"state": "done", "share": 1.0, "said": "", "parts": ["answer.json", "answer.nc"]}
    assert jobs.part(name, "answer.json") == b"[1, 2]" and jobs.part(name, "answer.nc") == bytes(1_000_000)
    assert jobs.part(name, "other") is None and jobs.part("other", "answer.nc") is None
    until(lambda: not any(map(lives, pids(at))))


def test_a_cancelled_job_ends_with_all_its_processes(jobs: Jobs, folder: Callable[[str], Path]) -> None:
    at = folder("a")
    name = jobs.start("hold", {"folder": str(at)})
    assert all(map(lives, pids(at)))
    assert jobs.end(name)
    assert (jobs.status(name) or {})["said"] == "cancelled"
    until(lambda: not any(map(lives, pids(at))))
    assert not jobs.end("other")


def test_the_next_job_waits_in_its_place_and_too_many_are_refused(jobs: Jobs, folder: Callable[[str], Path]) -> None:
    places = [folder(f"{i}") for i in range(AT_ONCE + WAITING)]
    names = [jobs.start("hold", {"folder": str(at)}) for at in places]
    states = [(jobs.status(name) or {})["state"] for name in names]
    assert states == ["running"] * AT_ONCE + ["waiting"] * WAITING
    said = f"{AT_ONCE} jobs run at once; this one waits for its turn, in place 2"
    assert (jobs.status(names[AT_ONCE + 1]) or {})["said"] == said
    with pytest.raises(BusyError, match=f"{AT_ONCE} jobs run and {WAITING} wait; try again"):
        jobs.start("hold", {"folder": "/"})
    jobs.end(names[AT_ONCE])
    assert (jobs.status(names[AT_ONCE + 1]) or {})["said"].endswith("in place 1")
    jobs.end(names[0])
    assert (jobs.status(names[AT_ONCE + 1]) or {})["state"] == "running"
    assert (jobs.status(names[1]) or {})["state"] == "running"


def test_a_job_that_nobody_asks_about_ends(jobs: Jobs, clock: Clock, folder: Callable[[str], Path]) -> None:
    one, other = folder("one"), folder("other")
    closed, watched = (jobs.start("hold", {"folder": str(at)}) for at in (one, other))
    processes = pids(one)
    for _ in range(3):
        clock.now += 0.6 * UNASKED
        assert jobs.status(watched)
        jobs.tidy_up()
    until(lambda: not any(map(lives, processes)))
    assert (jobs.status(watched) or {})["state"] == "running"
    status = jobs.status(closed) or {}
    assert (status["state"], status["said"]) == ("ended", "its page was closed")


def test_late_news_of_an_ended_job_do_not_replace_why_it_ended(jobs: Jobs, folder: Callable[[str], Path]) -> None:
    name = jobs.start("hold", {"folder": str(folder("a"))})
    job = jobs._jobs[name]
    jobs.end(name, "its page was closed")
    before = jobs.status(name)
    for note in ({"share": 0.9}, {"said": "still at work"}):
        jobs._progress(job, note)
    assert jobs.status(name) == before and (before or {})["said"] == "its page was closed"


def test_a_job_that_takes_too_long_ends(jobs: Jobs, clock: Clock, folder: Callable[[str], Path]) -> None:
    name = jobs.start("hold", {"folder": str(folder("a"))})
    clock.now += 1.01 * LONGEST
    jobs.status(name)
    jobs.tidy_up()
    assert "took more than" in (jobs.status(name) or {})["said"]


def test_results_are_kept_for_a_bounded_time_and_number(
    jobs: Jobs, clock: Clock, folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert KEPT >= 100  # trivial jobs of one visitor do not drive out another's result
    monkeypatch.setattr(module, "KEPT", 3)
    at = folder("a")
    (at / "go").touch()
    names = []
    for _ in range(3 + 2):
        clock.now += 1
        names.append(jobs.start("hold", {"folder": str(at)}))
        ended(jobs, names[-1])
    jobs.tidy_up()
    assert [jobs.status(name) is not None for name in names] == [False, False] + [True] * 3
    clock.now += 1.01 * KEPT_FOR
    jobs.tidy_up()
    assert [jobs.status(name) for name in names] == [None] * len(names)


SAID = {
    "refused": ("refused", "loss must lie in [0, 1], got 2"),
    "defect": ("failed", "a defect stopped it (KeyError); please report it"),
    "killed": ("failed", "its process ended with code -9, perhaps for want of memory; ask for less"),
    "memory": ("refused", "it needs more than 4 GB of memory; ask for less"),
}


@pytest.mark.parametrize("how", SAID)
def test_a_job_that_does_not_succeed_says_why(jobs: Jobs, how: str) -> None:
    status = ended(jobs, jobs.start("fail", {"folder": "", "how": how}))
    assert (status["state"], status["said"]) == SAID[how]


def test_a_result_has_a_bound(jobs: Jobs, folder: Callable[[str], Path]) -> None:
    at = folder("a")
    (at / "go").touch()
    status = ended(jobs, jobs.start("hold", {"folder": str(at), "size": module.MAX_RESULT + 1}))
    assert status["state"] == "refused" and f"at most {module.MAX_RESULT:,} are kept" in status["said"]


def test_words_and_kinds_are_checked_before_anything_starts(jobs: Jobs) -> None:
    with pytest.raises(InputError, match=r"there is no job 'os\.system'; reload the page"):
        jobs.start("os.system", {})
    with pytest.raises(InputError, match="folder must be a text"):
        jobs.start("hold", {"folder": ["/"]})


def test_names_are_random() -> None:
    jobs = Jobs({"hold": HOLD})
    try:
        names = {jobs.start("hold", {"folder": "/nowhere"}) for _ in range(AT_ONCE + 2)}
    finally:
        jobs.close()
    assert len(names) == AT_ONCE + 2 and all(len(name) == 24 for name in names)
    with pytest.raises(BusyError):
        jobs.start("hold", {"folder": "/nowhere"})


BOUNDS = {"1e6": "1000000.0", "1e20": "300000000000.0", "much": "300000000000.0"}


@pytest.mark.parametrize("text", BOUNDS)
def test_jobs_are_bounded_by_what_the_user_allows(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", text)
    status = ended(jobs, jobs.start("fail", {"folder": "", "how": "bounds"}))
    assert status["said"] == f"{BOUNDS[text]} operations, {module.MAX_MEMORY} bytes, a group of its own: True"


def test_a_process_prepares_itself_for_the_next_job_of_a_kind(clock: Clock) -> None:
    jobs = Jobs({"ready": READY, "fail": FAIL}, clock)

    def answer() -> tuple[bool, int]:
        name = jobs.start("ready", {"folder": ""})
        assert ended(jobs, name)["state"] == "done"
        ready, pid = json.loads(jobs.part(name, "answer.json") or b"")
        return ready, pid

    def spare() -> int:
        assert jobs._spare is not None and lives(jobs._spare[1].pid)
        return jobs._spare[1].pid

    assert not answer()[0]
    first = spare()
    ended(jobs, jobs.start("fail", {"folder": "", "how": "refused"}))
    assert spare() == first  # it is for its own kind only
    assert answer() == (True, first)
    os.kill(spare(), signal.SIGKILL)  # for want of memory, say
    until(lambda: jobs._spare is not None and jobs._spare[1].poll() is not None)
    assert not answer()[0]
    second = spare()
    clock.now += 1.01 * KEPT_FOR
    jobs.tidy_up()
    until(lambda: not lives(second))
    assert not answer()[0]
    last = spare()
    jobs.close()
    until(lambda: not lives(last))


def test_compiling_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from tcpdynamics import compiled

    notes: list[dict[str, Any]] = []
    monkeypatch.setattr(compiled, "announce", None)
    module._announce(lambda **note: notes.append(note))
    assert compiled.announce is not None
    compiled.announce("tcpdynamics.validation.packet")
    assert notes == [{"said": "compiling, only this first time"}] and compiled.announce is None


ALONE = """
import sys, time
from explorer_job_kinds import HOLD
from tcpdynamics.apps.explorer.jobs import Jobs
jobs = Jobs({"hold": HOLD})
jobs.start("hold", {"folder": sys.argv[1]})
time.sleep(1000)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_server(folder: Callable[[str], Path], how: signal.Signals) -> None:
    at = folder("a")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with subprocess.Popen([sys.executable, "-c", ALONE, str(at)], env=environment, stderr=subprocess.DEVNULL) as server:
        processes = pids(at)
        assert all(map(lives, processes))
        server.send_signal(how)
        server.wait(PATIENCE)
    until(lambda: not any(map(lives, processes)))


@pytest.fixture
def client() -> Iterator[Any]:
    """A server with these jobs, without a network."""
    from flask import Flask

    app = Flask("jobs")
    made = add_job_routes(app, {"hold": HOLD})
    yield app.test_client()
    made.close()


def test_browsers_ask_by_name_and_do_not_disturb_each_other(client: Any, folder: Callable[[str], Path]) -> None:
    places = [folder("one"), folder("other")]
    names = [
        client.post("/jobs", json={"kind": "hold", "words": {"folder": str(at), "size": 3}}).json["job"]
        for at in places
    ]
    processes = pids(places[1])
    assert client.post(f"/jobs/{names[1]}/end", data=b"").status_code == 204
    until(lambda: not any(map(lives, processes)))
    (places[0] / "go").touch()
    until(lambda: client.get(f"/jobs/{names[0]}").json["state"] == "done")
    assert client.get(f"/jobs/{names[1]}").json["state"] == "ended"
    answer = client.get(f"/jobs/{names[0]}/answer.json")
    assert answer.json == [1, 2] and answer.mimetype == "application/json"
    file = client.get(f"/jobs/{names[0]}/answer.nc")
    assert file.data == bytes(3) and "attachment" in file.headers["Content-Disposition"]


STRANGE = (
    (b"", 400), (b"[1]", 400), (b'"text"', 400), (b"{", 400), (b'{"kind": "hold"}', 400), (b"\xff\xfe", 400),
    (b'{"kind": ["hold"], "words": {}}', 400), (b'{"kind": "hold", "words": []}', 400), (b"[" * 150_000, 400),
    (b'{"kind": "os.system", "words": {}}', 200), (b'{"kind": "hold", "words": {"folder": NaN}}', 200),
    (b'{"kind": "' + b"x" * 150_000 + b'", "words": {}}', 200), (b" " * (MAX_REQUEST + 1), 413),
    (b'{"kind": "' + b"9" * 900_000, 413),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(STRANGE)))
def test_strange_requests_are_refused_in_one_sentence(client: Any, number: int) -> None:
    body, code = STRANGE[number]
    answer = client.post("/jobs", data=body, content_type="application/json")
    assert answer.status_code == code
    said = answer.json["refused"] if code == 200 else answer.text
    assert 10 < len(said) < 200 and "\n" not in said and "<" not in said


@pytest.mark.parametrize("name", ["x", "..%2f..%2fetc", "%00", "x" * 5000, "__proto__", "%F0%9F%98%80"])
def test_strange_names_are_not_known(client: Any, name: str) -> None:
    assert client.get(f"/jobs/{name}").status_code == 404
    assert client.get(f"/jobs/{name}/answer.nc").status_code == 404
    assert client.post(f"/jobs/{name}/end").status_code == 404


FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "http://example.org"}, {"Origin": "null"}, {"Origin": "http://localhost:1"}, {"Origin": ""},
    {"Origin": "http://[evil"}, {"Origin": "http://localhost.example.org"}, {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)  # fmt: skip


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_pages_of_other_sites_cannot_ask(client: Any, headers: dict[str, str]) -> None:
    task = {"kind": "hold", "words": {"folder": "/nowhere"}}
    for answer in (client.post("/jobs", json=task, headers=headers), client.post("/jobs/x/end", headers=headers)):
        assert answer.status_code == 403
        assert answer.text == "only pages of this explorer may ask for jobs"
    own = client.post("/jobs", json=task, headers={"Origin": "http://localhost"})
    assert own.status_code == 201


def test_a_form_of_another_site_cannot_ask(client: Any) -> None:
    """What a form can send without leave is no JSON by its type."""
    body = '{"kind": "hold", "words": {"folder": "/nowhere"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post("/jobs", data=body, content_type=kind).status_code == 415


def test_too_many_jobs_are_told_to_wait(client: Any, folder: Callable[[str], Path]) -> None:
    task = {"kind": "hold", "words": {"folder": str(folder("a"))}}
    answers = [client.post("/jobs", json=task) for _ in range(AT_ONCE + WAITING + 1)]
    assert [a.status_code for a in answers] == [201] * (AT_ONCE + WAITING) + [200]
    assert answers[-1].json["refused"].endswith("try again when some have ended")
