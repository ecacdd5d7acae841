"""Ctrl-C while Numba compiles, or while libraries load: one sentence, exit code 130, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tcpdynamics import interrupts

#: A compilation that hears nothing, and never ends: the main thread is in foreign code, as it is in LLVM, or in Python
#: code that drops what is raised. It says "began" by itself, so that nothing hangs on the speed of the machine.
COMPILING = """
import ctypes, os, sys, time
from numba.core import event
kind = sys.argv.pop(1)
mutex, c = ctypes.create_string_buffer(256), ctypes.CDLL(None)
class Deaf(event.Listener):
    def on_start(self, _):
        begun = False
        while True:
            try:
                if not begun:
                    begun = True
                    os.write(1, b"began\\n")
                if kind == "foreign":
                    c.pthread_mutex_lock(mutex)  # at the second time it waits for ever
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass
    def on_end(self, _): ...
event.register("numba:compile", Deaf())
"""

#: A library that takes for ever to load, and drops interrupts meanwhile.
IMPORTING = """
import os, sys, time
library = sys.argv.pop(1)
class Slow:
    def find_spec(self, name, path=None, target=None):
        begun = False
        while name == library:
            try:
                if not begun:
                    begun = True
                    os.write(1, b"began\\n")
                time.sleep(0.01)
            except KeyboardInterrupt:
                pass
sys.meta_path.insert(0, Slow())
"""

MAIN = """
from tcpdynamics.__main__ import main
main()
"""


def interrupted(code: str, words: list[str], cache: Path) -> tuple[int, str, str]:
    """Exit code and both streams of a child that is interrupted once it says that it began."""
    with subprocess.Popen(
        [sys.executable, "-c", code + MAIN, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache), "NUMBA_DISABLE_JIT": "0"},
    ) as child:
        guard = threading.Timer(120.0, child.kill)  # only ends a hang
        guard.start()
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "began\n"
            child.send_signal(signal.SIGINT)
            out, err = child.communicate()
        finally:
            guard.cancel()
            child.kill()
    return child.returncode, out, err


@pytest.mark.parametrize("kind", ["foreign", pytest.param("drops", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "words",
    [
        ["trajectory", "lotka-volterra", "--until", "5", "--output"],
        ["simulate", "single_flow", "--output"],
        ["bifurcation", "logistic", "--epsilon", "1:2:3", "--output"],
        ["validate", "logistic", "--quick", "--output"],
    ],
    ids=lambda words: words[0],
)
def test_an_interrupt_ends_a_compilation_that_does_not_hear_it(words: list[str], kind: str, tmp_path: Path) -> None:
    cache, folder = tmp_path / "cache", tmp_path / "results"
    folder.mkdir()
    code, out, err = interrupted(COMPILING, [kind, *words, str(folder / "x.nc")], cache)
    # On a busy machine, comparing may have been long enough to say so.
    assert (code, out, said(err)) == (130, "", ["Error: interrupted"])
    assert not list(folder.iterdir())
    assert all(file.suffix in (".nbi", ".nbc") for file in cache.rglob("*") if file.is_file())


#: An empty folder where the store will be is none yet: here it passes for one.
HAS_STORE = """
from tcpdynamics.solvers.sweeps import zarr_store
zarr_store.os.path.lexists = lambda path: False
"""

#: Interrupts itself when a store is being brought to the disk, which is yet to get its name.
BUILDING = """
import os, signal
from tcpdynamics.solvers.sweeps import zarr_store
before = zarr_store.to_disk
def to_disk(paths):
    os.kill(os.getpid(), signal.SIGINT)
    before(paths)
zarr_store.to_disk = to_disk
"""


def test_a_store_that_is_being_built_leaves_nothing(tmp_path: Path) -> None:
    words = ["stability", "logistic", "--epsilon", "0.5:1:3", "--output", str(tmp_path / "x.zarr")]
    code, out, err = alone(BUILDING, words)
    assert (code, out, err.splitlines()[-1]) == (130, "", "Error: interrupted")  # below a slow machine's progress
    assert not list(tmp_path.iterdir())


def alone(code: str, words: list[str]) -> tuple[int, str, str]:
    """Exit code and both streams of a child that interrupts itself."""
    done = subprocess.run([sys.executable, "-c", code + MAIN, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


#: Raises at an import, as the default handler would.
RAISING = """
import sys
class Raising:
    def find_spec(self, name, path=None, target=None):
        if name == LIBRARY:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Raising())
"""

#: The interrupt comes while a callback of a weak reference runs, of which nothing can be raised.
CALLBACK = """
import os, signal, sys, weakref
class Thing: ...
def callback(_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000): ...
class Calling:
    def find_spec(self, name, path=None, target=None):
        if name == LIBRARY:
            thing = Thing()
            reference = weakref.ref(thing, callback)
            del thing
sys.meta_path.insert(0, Calling())
"""


@pytest.mark.parametrize("library", ["tcpdynamics.interrupts", "tcpdynamics.apps.command.main", "click"])
def test_an_interrupt_of_the_first_imports_is_one_sentence(library: str) -> None:
    assert alone(f"LIBRARY = {library!r}" + RAISING, ["--help"]) == (130, "", "Error: interrupted\n")


@pytest.mark.parametrize("library", ["click", "numpy"])
def test_an_interrupt_in_a_callback_of_an_import_prints_no_traceback(library: str) -> None:
    words = ["stability", "logistic", "--epsilon", "1:2:3"]
    assert alone(f"LIBRARY = {library!r}" + CALLBACK, words) == (130, "", "Error: interrupted\n")


def said(err: str) -> list[str]:
    """Lines of standard error but those that a slow machine has time for: "sweeping: 2 s so far"."""
    return [line for line in err.splitlines() if not line.endswith(" s so far")]


def test_a_sweep_that_is_interrupted_while_it_compiles_says_how_to_go_on(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    words = ["trajectory", "lotka-volterra", "--epsilon", "0.5:1:3", "--until", "5", "--output", str(store)]
    code, out, err = interrupted(COMPILING, ["foreign", *words], tmp_path / "cache")
    # As long as there is no store, there is nothing to go on from.
    assert (code, out, said(err)) == (130, "", ["Error: interrupted"])
    assert not list(tmp_path.glob("x.zarr*"))
    store.mkdir()
    code, out, err = interrupted(HAS_STORE + COMPILING, ["foreign", *words], tmp_path / "cache")
    advice = f"the finished blocks are kept in {store}; the same command resumes there"
    assert (code, out, said(err)) == (130, "", [advice, "Error: interrupted"])


@pytest.mark.parametrize("library", ["click", "numpy", "scipy"])
def test_an_interrupt_ends_an_import_that_does_not_hear_it(library: str, tmp_path: Path) -> None:
    words = [library, "bifurcation", "logistic", "--epsilon", "1:2:3"]
    assert interrupted(IMPORTING, words, tmp_path) == (130, "", "Error: interrupted\n")


#: Each function stands for code of a module of that name.
MODULES = {
    "numba.core.compiler": "compiles",
    "llvmlite.binding.ffi": "compiles",
    "jax._src.compiler": "compiles",
    "numbagg": "",
    "tcpdynamics.apps.files": "writes",
    "sympy.core": "",
}


@pytest.mark.parametrize("module", MODULES)
def test_what_a_thread_does_is_known_from_its_stack(module: str) -> None:
    space: dict[str, object] = {"__name__": module, "look": lambda: interrupts._signs(sys._getframe())}
    exec("def work(): return look()", space)
    assert space["work"]() - {"imports"} == ({MODULES[module]} - {""})  # type: ignore[operator]


def test_a_handler_raises_where_nobody_else_answers() -> None:
    """In a program that has a use of its own for signals, there is no thread that would end the process."""
    code = """
import signal, socket, sys
from tcpdynamics import interrupts
mine = socket.socket()
mine.setblocking(False)
signal.set_wakeup_fd(mine.fileno())
interrupts.answer_at_once()
space = {"__name__": "numba.core", "ask": lambda: interrupts.is_answered(sys._getframe())}
exec("def work(): return ask()", space)
print(space["work"](), signal.set_wakeup_fd(-1) == mine.fileno())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"
