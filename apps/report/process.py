"""The half of the report that is mostly Python, in a process of its own beside the long simulations.

These run without the interpreter's lock, which equations and short simulations hold. Run as
`python -m tcpdynamics.apps.report.process`; it writes pickled messages to standard output.
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

#: By name.
Sections: TypeAlias = "dict[str, Section]"


@contextmanager
def beside(quick: bool, tell: Tell) -> Iterator[Callable[[], Sections]]:
    """`papers.sections` in another process, which ends with this one; the value waits for its result.

    Raises
    ------
    RuntimeError
        The process ended without a result; its own message stands on standard error.
    """
    words = [sys.executable, "-m", "tcpdynamics.apps.report.process", *(["--quick"] if quick else [])]
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


def _read(stream: BinaryIO, tell: Tell) -> Sections:
    """Pass messages on until the result comes."""
    while True:
        try:
            kind, content = pickle.load(stream)
        except EOFError:
            raise RuntimeError("the process that makes the report's sections ended early") from None
        if kind == "result":
            return cast("Sections", content)
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

    from .papers import sections

    send("result", sections(quick, lambda name, part: send("step", (name, part))))


def _end_with_parent() -> None:
    """Nobody waits for the result of a process whose parent is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    _main()
