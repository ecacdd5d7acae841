"""The progress of a long command, on standard error: a line that changes on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpdynamics.interrupts import advising
from tcpdynamics.progress import hearing, listening

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.solvers.sweeps.sweep_of import Solver, Swept

    from ..choice import Chosen

#: Seconds between two lines of progress, and before the first.
_EVERY = 10.0
_FIRST = 2.0

#: What is compiled when it is first used: the beginning of a module's name, a name, and seconds on one free core.
_COMPILED = {
    "tcpdynamics.validation.packet.kernel.loop": ("the packet simulator", 11),
    "tcpdynamics.validation.packet.kernel.senders.as_linux": ("senders by Linux's rules", 6),
    "tcpdynamics.validation.packet": ("a further mechanism of the packet simulator", 2),
    "tcpdynamics.solvers.trajectories": ("the integrator of trajectories", 14),
    "tcpdynamics.solvers.markov": ("the solver of Markov chains", 10),
    "tcpdynamics.solvers.stability": ("the solvers of stability", 20),
}


class Silent:
    """A progress line that nobody sees."""

    def __call__(self, share: float) -> None: ...

    def say(self, text: str) -> None: ...


class _Line(Silent):
    """The share done, once it is known, and the seconds so far: now and then, and on a terminal each second anew."""

    def __init__(self, text: str, terminal: bool = False) -> None:
        self.text, self.terminal, self.share = text, terminal, ""
        self.start = time.monotonic()
        self.next, self.turn = self.start + _FIRST, threading.Lock()

    def __call__(self, share: float) -> None:
        self.share = f"{share:.0%} done, "
        if not self.terminal:
            self.beat()

    def say(self, text: str) -> None:
        self.text = text

    def beat(self) -> None:
        """Write the line, if it is time to."""
        with self.turn:
            now = time.monotonic()
            if now < self.next:
                return
            self.next = now + (1.0 if self.terminal else _EVERY)
            line = f"{self.text}: {self.share}{now - self.start:.0f} s so far"
            click.echo(f"\r{line}\x1b[K" if self.terminal else line, err=True, nl=not self.terminal)

    def erase(self) -> None:
        """Clear what a terminal shows."""
        if self.terminal and self.next > self.start + _FIRST:
            click.echo("\r\x1b[K", err=True, nl=False)


@contextmanager
def _beating(line: _Line) -> Iterator[_Line]:
    """A thread writes the line, whatever the main thread is busy with."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(max(0.02, line.next - time.monotonic())):
            line.beat()

    thread = threading.Thread(target=beat, name="signs of life", daemon=True)
    thread.start()
    try:
        yield line
    finally:
        done.set()
        thread.join(1.0)
        line.erase()


@contextmanager
def progress_line(text: str) -> Iterator[Silent]:
    """The fraction done: a line that disappears at the end; lines, ten seconds apart, where no terminal shows them."""
    if sys.stderr is None:
        yield Silent()
        return
    with _beating(_Line(text, sys.stderr.isatty())) as line:
        yield line


@contextmanager
def working(text: str) -> Iterator[None]:
    """Signs of life from the third second on: the seconds so far and, where loops are `tracked`, the share done.

    What the work itself tells (`tcpdynamics.progress.tell`) stands in the place of the text.
    """
    if sys.stderr is None:
        yield
        return
    with (
        _beating(_Line(text, sys.stderr.isatty())) as line,
        listening(line),
        hearing(lambda told: line.say(told or text)),
    ):
        yield


class Steps:
    """A line for each step of a long command when it begins, and each ten seconds, with the share of the whole."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self.next = 0.0

    def __call__(self, share: float, step: str) -> None:
        if step not in self.begun or time.monotonic() >= self.next:
            self.begun.add(step)
            self.next = time.monotonic() + _EVERY
            click.echo(f"  {share:4.0%}  {step} ...", err=True)


def sweep_to_store(path: Path, target: Swept, solver: Solver, chosen: Chosen, **settings: object) -> xr.Dataset:
    """Solve block by block to a store, with the fraction done; prints how to resume where it is interrupted."""

    def advice() -> str:
        """Once there is a store."""
        return f"the finished blocks are kept in {path}; the same command resumes there" if path.is_dir() else ""

    try:
        with advising(advice), progress_line("sweeping") as line:
            from ..outputs import solve_to_store

            return solve_to_store(path, target, solver, chosen, line, **settings)
    except KeyboardInterrupt:
        if advice():
            click.echo(advice(), err=True)
        raise


def announce_compilation() -> None:
    """From now on, say once what is compiled because no cache on disk has it yet."""
    from tcpdynamics import compiled

    announced: set[str] = set()

    def announce(module: str) -> None:
        start = next((start for start in _COMPILED if module.startswith(start)), "")
        # The loop calls functions of other files, which are compiled with it.
        if not start or any(known.startswith(start) for known in announced):
            return
        announced.add(start)
        name, seconds = _COMPILED[start]
        click.echo(f"compiling {name}: about {seconds} s, only this first time", err=True)

    compiled.announce = announce
