"""Ctrl-C while a compiler works, or libraries load: a thread answers, since the main thread cannot.

Python raises KeyboardInterrupt between two steps of the main thread. A compiler takes seconds for one step, and where
it calls back into Python, it drops what is raised there. Elsewhere the main thread hears by itself, and saves what it
has: this thread then stays out of its way.

Belongs to no room: every folder may import it, and it imports none of them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

#: Exit code of a command that was interrupted.
INTERRUPTED = 130

#: Libraries whose Python code, while it is on a thread's stack, compiles or loads what was compiled.
_COMPILERS = ("numba", "llvmlite", "jax", "jaxlib")

#: Modules that have files half written while their code is on the stack: they are let finish, or clean up.
_WRITERS = (
    "numba.core.caching",
    "tcpdynamics.apps.files",
    "tcpdynamics.apps.packet_outputs",
    "tcpdynamics.solvers.sweeps.netcdf_store",
    "tcpdynamics.solvers.sweeps.plain_files",
    "tcpdynamics.solvers.sweeps.zarr_store",
    "tcpdynamics.validation.linux.guests",
    "tcpdynamics.validation.ns2.run",
)

#: Functions that do, in modules that also do other things: a sweep runs below one of these, and must hear.
_WRITING = (("tcpdynamics.apps.outputs", "write_outputs"),)

#: What the main thread writes to the watching thread, beside the numbers of signals that Python writes.
_END = 255

_ends = threading.RLock()
_advice: list[Callable[[], str]] = []
_watched: list[int] = []

#: Interrupts that `hear` has heard.
heard: list[int] = []

#: Of these, the ones that were raised in the main thread: it saves what there is, and may import on the way.
_raised: list[int] = []


def answer_at_once() -> None:
    """From now on, an interrupt that the main thread would not hear ends the process, with one sentence.

    Does nothing outside the main thread, and where a program has a use of its own for signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)
        return
    _watched.append(writing)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, hear)
    threading.Thread(target=_watch, args=(reading,), name="interrupts", daemon=True).start()


def hear(number: int, frame: FrameType | None) -> None:
    """A handler of interrupts that raises KeyboardInterrupt where it will be heard."""
    heard.append(number)
    if not is_answered(frame):
        _raised.append(number)
        raise KeyboardInterrupt


def is_answered(frame: FrameType | None) -> bool:
    """For a handler of interrupts: whether the thread ends the process, so that nothing is to be raised.

    So it is while the main thread compiles, which would drop an exception, or leave a half-written file behind; and
    while it imports: of what is raised in the callbacks of importlib, Python prints a traceback and goes on.
    """
    if not _watched or not {"compiles", "imports"} & _signs(frame):
        return False
    os.write(_watched[0], bytes([_END]))
    return True


def claim_end() -> None:
    """Call before the last words of a process: whoever is first says them, the other thread waits for the end."""
    _ends.acquire()


@contextmanager
def advising(advice: Callable[[], str]) -> Iterator[None]:
    """A line that an interrupted command says before its last sentence, as it is then; none if it is empty."""
    _advice.append(advice)
    try:
        yield
    finally:
        _advice.remove(advice)


def _watch(reading: int) -> None:
    """Wait for interrupts, and end the process at one that the main thread cannot hear."""
    first, raised = True, 0
    while numbers := os.read(reading, 1):
        if numbers[0] not in (signal.SIGINT, _END):
            continue
        while "writes" in (signs := _signs_of_all()):
            time.sleep(0.002)
        if len(_raised) > raised:  # the main thread has this interrupt, whatever it does by now
            raised = len(_raised)
        elif numbers[0] == _END or "compiles" in signs or ("imports" in signs and first):
            _end()
        first = False


def _signs_of_all() -> set[str]:
    """What keeps the process from hearing an interrupt: only the main thread's imports, but compilers in any."""
    current, main = threading.get_ident(), threading.main_thread().ident
    signs: set[str] = set()
    for thread, frame in sys._current_frames().items():
        if thread != current:
            signs |= _signs(frame) - (set() if thread == main else {"imports"})
    return signs


def _signs(frame: FrameType | None) -> set[str]:
    """What a thread does, by the code on its stack: "compiles", "imports", "writes"."""
    signs = set()
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module in _WRITERS or (module, frame.f_code.co_name) in _WRITING:
            signs.add("writes")
        if module.partition(".")[0] in _COMPILERS:
            signs.add("compiles")
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            signs.add("imports")
        frame = frame.f_back
    return signs


def _end() -> None:
    claim_end()
    lines = [*filter(None, (advice() for advice in _advice)), "Error: interrupted"]
    try:
        clear = b"\r\x1b[2K\x1b[?25h" if os.isatty(2) else b""  # a progress bar, which hides the cursor
        os.write(2, clear + "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    except OSError:  # nobody listens
        pass
    os._exit(INTERRUPTED)
