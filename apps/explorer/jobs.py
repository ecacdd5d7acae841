"""Long work of a page, in a process of its own: it says how far it is, can be cancelled, and ends with its tab.

A page lists its kinds of jobs (`Page.jobs`). A browser starts one by the kind's name and checked words, asks again and
again how far it is, and fetches what came out; `job_routes.py` has the addresses, `assets/core/jobs.js` the browser's
part.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import IO, Any, cast

from tcpdynamics.errors import InputError, TcpDynamicsError, shown

#: Jobs that run at once, and that may wait for their turn.
AT_ONCE, WAITING = 2, 6
#: Seconds after which a job ends that no browser has asked about, and that a job may take.
UNASKED, LONGEST = 15.0, 600.0
#: Jobs that have ended and are kept, bytes of what came out of them all, and for how many seconds after the last
#: question. Small results of one visitor do not drive out another's.
KEPT, KEPT_BYTES, KEPT_FOR = 1000, 320_000_000, 600.0
#: Bytes of what comes out of one job, and of what it holds in memory, libraries included.
MAX_RESULT, MAX_MEMORY = 60_000_000, 4_000_000_000
#: Elementary operations of the library's estimates that a second does, about.
WORK_PER_SECOND = 1e9
#: What the library may estimate of a job before it starts: elementary operations (some five minutes), bytes.
BOUNDS = {"TCPDYNAMICS_MAX_WORK": 300 * WORK_PER_SECOND, "TCPDYNAMICS_MAX_MEMORY": 2e9}
#: Longest line of a job's process.
_LINE = 10_000
#: States in which a job stays.
_ENDED = ("done", "refused", "failed", "ended")

Progress = Callable[[float], None]
#: Name with its ending (".json", ".nc") -> content.
Parts = dict[str, bytes]


class BusyError(InputError):
    """Too many jobs wait already."""


@dataclass(frozen=True)
class JobKind:
    """What a page may have done in the background.

    Attributes
    ----------
    name : str
        By which a browser asks for it.
    read : callable
        Words of the browser (whatever JSON can hold) -> checked words, as JSON. In the server: quick, and bounded;
        an `InputError` is the sentence that the browser shows.
    run : callable
        Checked words and `progress(share)` -> what came out, by names such as "result.nc". In a process of its own, so
        a function of a module; an `InputError` refuses there too.
    prepare : callable, optional
        What a process can do before it knows the words, such as loading libraries; a function of a module. When a job
        of this kind has ended, one process prepares itself for the next.

    Raises
    ------
    ValueError
        `run` or `prepare` is no function of a module.

    Examples
    --------
    >>> JobKind("size", dict, lambda words, progress: {})
    Traceback (most recent call last):
    ...
    ValueError: run of the job 'size' must be a function of a module, so that another process can import it
    """

    name: str
    read: Callable[[Mapping[str, Any]], dict[str, Any]]
    run: Callable[[dict[str, Any], Progress], Parts]
    prepare: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        for word, function in (("run", self.run), ("prepare", self.prepare)):
            if function is not None and "<" in function.__qualname__:
                raise ValueError(
                    f"{word} of the job {self.name!r} must be a function of a module, so that another process can "
                    "import it"
                )


@dataclass(eq=False)
class _Job:
    kind: JobKind
    words: dict[str, Any]
    asked: float
    state: str = "waiting"
    share: float = 0.0
    said: str = ""
    began: float = 0.0
    parts: Parts = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None


class Jobs:
    """The jobs of one server.

    Parameters
    ----------
    kinds : mapping name -> JobKind
    clock : callable
        Seconds, for tests.

    Examples
    --------
    >>> Jobs({}).start("size", {})
    Traceback (most recent call last):
    ...
    tcpdynamics.errors.InputError: there is no job 'size'; reload the page
    """

    def __init__(self, kinds: Mapping[str, JobKind], clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds, self._clock = kinds, clock
        self._jobs: dict[str, _Job] = {}
        self._queue: deque[_Job] = deque()
        self._turn = threading.RLock()
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None
        self._spare: tuple[JobKind, subprocess.Popen[bytes], float] | None = None

    def start(self, kind: str, words: Mapping[str, Any]) -> str:
        """Check the words and start a job, or let it wait for its turn.

        Returns
        -------
        str
            The job's name, which nobody guesses.

        Raises
        ------
        InputError
            No such kind, words that it refuses, or (`BusyError`) too many jobs that wait.
        """
        if kind not in self._kinds:
            raise InputError(f"there is no job {shown(kind, 40)}; reload the page")
        checked = self._kinds[kind].read(words)
        with self._turn:
            if len(self._queue) >= WAITING or self._closed.is_set():
                raise BusyError(f"{AT_ONCE} jobs run and {len(self._queue)} wait; try again when some have ended")
            job = _Job(self._kinds[kind], checked, self._clock())
            name = secrets.token_urlsafe(18)
            self._jobs[name] = job
            self._queue.append(job)
            self._next()
            if self._watch is None:
                self._watch = threading.Thread(target=self._tidy_up, name="jobs", daemon=True)
                self._watch.start()
        return name

    def status(self, name: str) -> dict[str, Any] | None:
        """State, share done and what to tell the user; None of a job that is not, or no longer, known."""
        with self._turn:
            job = self._jobs.get(name)
            if job is None:
                return None
            job.asked = self._clock()
            said = job.said
            if job.state == "waiting":
                place = self._queue.index(job) + 1
                said = f"{AT_ONCE} jobs run at once; this one waits for its turn, in place {place}"
            return {"state": job.state, "share": job.share, "said": said, "parts": sorted(job.parts)}

    def part(self, name: str, part: str) -> bytes | None:
        """What came out under a name; None where there is nothing."""
        with self._turn:
            job = self._jobs.get(name)
            if job is None:
                return None
            job.asked = self._clock()
            return job.parts.get(part)

    def end(self, name: str, why: str = "cancelled") -> bool:
        """End a job at once; False of one that is not known."""
        with self._turn:
            job = self._jobs.get(name)
            if job is not None:
                self._finish(job, "ended", why)
            return job is not None

    def summary(self) -> str:
        """How many jobs run and wait; empty without any."""
        with self._turn:
            states = [job.state for job in self._jobs.values()]
        running, waiting = states.count("running"), states.count("waiting")
        return f"runs in progress: {running}, waiting: {waiting}" if running + waiting else ""

    def tidy_up(self) -> None:
        """End what nobody asks about or what takes too long, and forget what ended long ago."""
        with self._turn:
            now = self._clock()
            for job in self._jobs.values():
                if now - job.asked > UNASKED:
                    self._finish(job, "ended", "its page was closed")
                elif job.state == "running" and now - job.began > LONGEST:
                    self._finish(job, "ended", f"it took more than {LONGEST:g} s; ask for less")
            ended = [name for name, job in self._jobs.items() if job.state in _ENDED]
            ended.sort(key=lambda name: self._jobs[name].asked)
            size = 0
            for i, name in enumerate(reversed(ended)):  # the last that were asked about stay
                job = self._jobs[name]
                size += sum(map(len, job.parts.values()))
                if i >= KEPT or size > KEPT_BYTES or now - job.asked > KEPT_FOR:
                    del self._jobs[name]
            if self._spare is not None and now - self._spare[2] > KEPT_FOR:
                self._dismiss()

    def close(self) -> None:
        """End all jobs; no more are started."""
        self._closed.set()
        with self._turn:
            for job in self._jobs.values():
                self._finish(job, "ended", "the explorer has ended")
            self._dismiss()

    def _tidy_up(self) -> None:
        while not self._closed.wait(0.5):
            self.tidy_up()

    def _next(self) -> None:
        """Start those whose turn it is."""
        running = sum(job.state == "running" for job in self._jobs.values())
        while self._queue and running < AT_ONCE:
            job = self._queue.popleft()
            try:
                job.process = process = self._take(job.kind)
            except OSError as error:
                self._finish(job, "failed", f"no process can be started ({error.strerror}); try again later")
                continue
            job.state, job.began = "running", self._clock()
            threading.Thread(target=self._listen, args=(job, process), name="job", daemon=True).start()
            running += 1

    def _take(self, kind: JobKind) -> subprocess.Popen[bytes]:
        """A process for a job: the one that has prepared itself for its kind, or a fresh one."""
        if self._spare is not None and self._spare[0] is kind and self._spare[1].poll() is None:
            process, self._spare = self._spare[1], None
            return process
        return _process()

    def _prepare(self, kind: JobKind) -> None:
        """Let a process prepare itself for the next job of a kind; there is one such process at most."""
        if kind.prepare is None or self._closed.is_set():
            return
        if self._spare is not None and self._spare[0] is kind and self._spare[1].poll() is None:
            return
        self._dismiss()
        with suppress(OSError):
            process = _process()
            _hand(process, {"prepare": _name(kind.prepare)})
            self._spare = (kind, process, self._clock())

    def _dismiss(self) -> None:
        """End the process that has prepared itself."""
        if self._spare is not None:
            _end(self._spare[1])
            self._spare = None

    def _listen(self, job: _Job, process: subprocess.Popen[bytes]) -> None:
        """Hand a process its words, then hear what it says until its end."""
        assert process.stdout is not None
        said: tuple[str, str, Parts] = ("failed", "", {})
        try:
            _hand(process, {"run": _name(job.kind.run), "words": job.words})
            while (note := _note(process.stdout)) is not None:
                if "state" in note:
                    said = (note["state"], note["said"], _parts(process.stdout, note["parts"]))
                    break
                self._progress(job, note)
        except (OSError, ValueError):  # it was ended meanwhile
            pass
        finally:
            code = _end(process)
        state, words, parts = said
        if state == "failed" and not words:
            words = f"its process ended with code {code}, perhaps for want of memory; ask for less"
        with self._turn:
            if state == "done":
                self._prepare(job.kind)
            self._finish(job, state, words, parts)

    def _progress(self, job: _Job, note: Mapping[str, Any]) -> None:
        """Take in how far a job is; what its process said before it was ended does not replace why it was."""
        with self._turn:
            if job.state in _ENDED:
                return
            if "share" in note:
                job.share, job.said = max(job.share, float(note["share"])), ""
            else:
                job.said = str(note["said"])

    def _finish(self, job: _Job, state: str, said: str, parts: Parts | None = None) -> None:
        if job.state in _ENDED:
            return
        job.state, job.said, job.parts = state, said, parts or {}
        job.share = 1.0 if state == "done" else job.share
        job.words = {}
        if job in self._queue:
            self._queue.remove(job)
        if job.process is not None:
            _kill(job.process)
            job.process = None
        if not self._closed.is_set():
            self._next()


def _process() -> subprocess.Popen[bytes]:
    """A fresh Python that waits for its task; it ends when this process does, for then its input ends."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        **{name: str(min(bound, _number(os.environ.get(name), bound))) for name, bound in BOUNDS.items()},
    }
    code = f"from {__name__} import work; work()"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        start_new_session=True,  # Ctrl-C in the server's terminal is the server's
    )


def _number(text: str | None, default: float) -> float:
    try:
        return float(text or default)
    except ValueError:
        return default


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def _hand(process: subprocess.Popen[bytes], task: dict[str, Any]) -> None:
    """Tell a process what to do."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(task).encode() + b"\n")
    process.stdin.flush()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a process with all below it; its exit code."""
    _kill(process)
    code = process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # words that nobody reads any more
            if stream is not None:
                stream.close()
    return code


def _note(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next line of a process; None at its end."""
    line = stream.readline(_LINE)
    return dict(json.loads(line)) if line else None


def _parts(stream: IO[bytes], sizes: list[tuple[str, int]]) -> Parts:
    parts = {name: stream.read(size) for name, size in sizes}
    if any(len(parts[name]) < size for name, size in sizes):
        raise ValueError("the process ended before its last word")
    return parts


# ---- in the job's own process --------------------------------------------------------------------------------------


def work() -> None:
    """Do the one task that stands on standard input, and say how far it is on standard output."""
    notes = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no note
    _be_modest()
    last = 0.0

    def say(**note: Any) -> None:
        notes.write(json.dumps(note).encode() + b"\n")
        notes.flush()

    def progress(share: float) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 0.1:
            last = now
            say(share=min(max(float(share), 0.0), 1.0))

    _announce(say)
    task = _next_task()
    if "prepare" in task:
        with suppress(Exception):  # the task itself will say what is wrong
            _function(task["prepare"])()
        task = _next_task()
    threading.Thread(target=_end_with_server, name="server", daemon=True).start()
    parts: Parts = {}
    state, said = "done", ""
    try:
        parts = _function(task["run"])(task["words"], progress)
        size = sum(map(len, parts.values()))
        if size > MAX_RESULT:
            raise InputError(f"the result has {size:,} bytes, at most {MAX_RESULT:,} are kept; ask for less")
    except TcpDynamicsError as error:
        parts, state, said = {}, "refused", str(error)[:2000]
    except MemoryError:
        parts, state, said = ({}, "refused", f"it needs more than {MAX_MEMORY / 1e9:g} GB of memory; ask for less")
    except Exception as error:
        import traceback

        traceback.print_exc()
        parts, state, said = {}, "failed", f"a defect stopped it ({type(error).__name__}); please report it"
    say(state=state, said=said, parts=[(name, len(content)) for name, content in parts.items()])
    notes.writelines(parts.values())
    notes.flush()
    os._exit(0)


def _next_task() -> dict[str, Any]:
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        os._exit(1)  # the server has ended
    return dict(json.loads(line))


def _function(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    return cast(Callable[..., Any], getattr(import_module(module), function))


def _end_with_server() -> None:
    """Standard input ends when the server does, however it ended."""
    while os.read(0, 4096):
        pass
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)  # with whatever it has started
    os._exit(1)


def _be_modest() -> None:
    """Leave the server its turn, and hold no more memory than allowed."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        os.nice(5)
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))


def _announce(say: Callable[..., None]) -> None:
    """Say once that something is compiled, because no cache on disk has it."""
    from tcpdynamics import compiled

    def announce(module: str) -> None:
        compiled.announce = None
        say(said="compiling, only this first time")

    compiled.announce = announce
