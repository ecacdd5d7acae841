"""What a long command says while it works, on standard error: a bar on a terminal, lines elsewhere."""

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

from ..choice import Chosen
from ..outputs import solve_to_store

if TYPE_CHECKING:
    import xarray as xr
    from rich.progress import Progress

    from tcpdynamics.solvers.sweeps.sweep_of import Solver, Swept

#: Seconds between two lines of progress, and before the first sign of work whose length is not known.
_EVERY = 10.0
_FIRST = 2.0

#: What is compiled when it is first used: the beginning of a module's name, a name, and seconds on one free core.
_COMPILED = {
    "tcpdynamics.validation.packet": ("the packet simulator", 18),
    "tcpdynamics.solvers.trajectories": ("the integrator of trajectories", 16),
    "tcpdynamics.solvers.markov": ("the solver of Markov chains", 10),
    "tcpdynamics.solvers.stability": ("the solvers of stability", 20),
}


class Silent:
    """A progress line that nobody sees."""

    def __call__(self, share: float) -> None: ...

    def say(self, text: str) -> None: ...


class _Lines(Silent):
    """A line now and then, where standard error is a file."""

    def __init__(self, text: str) -> None:
        self.text, self.next = text, time.monotonic() + _EVERY

    def __call__(self, share: float) -> None:
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + _EVERY
            click.echo(f"{self.text}: {share:.0%}", err=True)

    def say(self, text: str) -> None:
        self.text = text


class _Bar(Silent):
    """A bar on standard error."""

    def __init__(self, bar: Progress, text: str) -> None:
        self.bar, self.task = bar, bar.add_task(text, total=1.0)

    def __call__(self, share: float) -> None:
        self.bar.update(self.task, completed=share)

    def say(self, text: str) -> None:
        self.bar.update(self.task, description=text, completed=0.0)


@contextmanager
def progress_line(text: str) -> Iterator[Silent]:
    """A bar that disappears at the end; a line each ten seconds where standard error is no terminal."""
    if sys.stderr is None:
        yield Silent()
        return
    if not sys.stderr.isatty():
        yield _Lines(text)
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield _Bar(bar, text)


@contextmanager
def working(text: str) -> Iterator[None]:
    """Signs of life for work whose share done is not known: the seconds so far, from the third second on."""
    if sys.stderr is None:
        yield
        return
    done, terminal = threading.Event(), sys.stderr.isatty()

    def report() -> None:
        start, pause = time.monotonic(), _FIRST
        while not done.wait(pause):
            line = f"{text}: {time.monotonic() - start:.0f} s so far"
            click.echo(f"\r{line}" if terminal else line, err=True, nl=not terminal)
            pause = 1.0 if terminal else _EVERY
        if terminal and time.monotonic() - start >= _FIRST:
            click.echo("\r\x1b[K", err=True, nl=False)

    thread = threading.Thread(target=report, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(1.0)


def sweep_to_store(
    path: Path, target: Swept, solver: Solver, chosen: Chosen, **settings: object
) -> xr.Dataset:
    """Solve block by block to a store, with a bar; says how to resume where it is interrupted."""

    def advice() -> str:
        """Once there is a store."""
        return (
            f"the finished blocks are kept in {path}; the same command resumes there" if path.is_dir() else ""
        )

    try:
        with advising(advice), progress_line("sweeping") as line:
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
        for start, (name, seconds) in _COMPILED.items():
            if module.startswith(start) and name not in announced:
                announced.add(name)
                click.echo(f"compiling {name}: about {seconds} s, only this first time", err=True)

    compiled.announce = announce
