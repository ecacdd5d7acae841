"""The half of the report that solves equations, in a process of its own beside the simulations.

Run as `python -m tcpdynamics.apps.report.equations`; it writes pickled messages to standard output.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from .steps import Tell

if TYPE_CHECKING:
    from .sections import Section

#: The sections without packets, by name.
Equations: TypeAlias = "dict[str, Section]"


def equations(quick: bool, tell: Tell) -> Equations:
    """All that needs no packets."""
    from .stability import sections

    return sections(quick, tell)


@contextmanager
def beside(quick: bool, tell: Tell) -> Iterator[Callable[[], Equations]]:
    """`equations` in another process, which ends with this one; the value waits for its result.

    Raises
    ------
    RuntimeError
        The process ended without a result; its own message stands on standard error.
    """
    words = [sys.executable, "-m", "tcpdynamics.apps.report.equations", *(["--quick"] if quick else [])]
    places = os.pathsep.join(place or os.getcwd() for place in sys.path)
    with (
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": places}
        ) as process,
        ThreadPoolExecutor(1) as reader,
    ):
        result = reader.submit(_read, cast(BinaryIO, process.stdout), tell)
        try:
            yield result.result
        finally:
            process.kill()


def _read(stream: BinaryIO, tell: Tell) -> Equations:
    """Pass messages on until the result comes."""
    while True:
        try:
            kind, content = pickle.load(stream)
        except EOFError:
            raise RuntimeError("the process that solves the report's equations ended early") from None
        if kind == "result":
            return cast("Equations", content)
        tell(*content)


def _main() -> None:
    from tcpdynamics.apps.command.progress import announce_compilation

    quick = "--quick" in sys.argv[1:]
    announce_compilation()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    turn = threading.Lock()

    def send(kind: str, content: Any) -> None:
        with turn:
            sys.stdout.buffer.write(pickle.dumps((kind, content)))
            sys.stdout.buffer.flush()

    send("result", equations(quick, lambda name, part: send("step", (name, part))))


def _end_with_parent() -> None:
    """Nobody waits for the result of a process whose parent is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    _main()
