"""What a long command says while it works: a bar on a terminal, lines elsewhere, nothing without standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

#: Seconds between two lines of progress.
_EVERY = 10.0


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

    def __init__(self, bar: Any, text: str) -> None:
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
