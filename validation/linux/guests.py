"""Guests as processes: started in a folder of their own, ended at a bound, and nothing left behind."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from tcpdynamics.errors import LinuxError

#: The guest's time at its start [s].
BEGINNING = 1_700_000_000
#: What folders of guests are called.
PREFIX = "tcpdynamics-linux-"
#: What files are called by which guests choose a processor.
PROCESSOR = "tcpdynamics-processor-"
#: What a guest may write into one file [512 bytes], and into its folder what its packets take.
LARGEST_FILE = 8_000_000
#: Waits until whoever holds its input is gone, however; then ends the guest's processes and clears its folder.
#: The guest leads a process group, whose number stands in the file `pid`.
WATCHER = """
cd / || exit 1
trap '' INT TERM HUP
read -r _
if read -r pid < "$1/pid"; then kill -s KILL -- "-$pid"; fi 2>/dev/null
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"""
#: The guest itself: it says who it is before it becomes the kernel.
STARTER = 'echo $$ > "$1/pid" && shift && ulimit -f "$1" && shift && exec "$@"'


@contextmanager
def guest_folder() -> Iterator[Path]:
    """A folder for one guest, cleared with all processes of the guest when this ends, or when the process dies."""
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        watcher = subprocess.Popen(
            ["/bin/sh", "-c", WATCHER, "sh", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True, pass_fds=(lock,),
        )  # fmt: skip
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    finally:
        os.close(lock)  # the watcher has it now, as long as it lives
    try:
        yield folder
    finally:
        assert watcher.stdin is not None
        watcher.stdin.close()
        watcher.wait()


def _sweep() -> None:
    """End and clear what was left by processes that were killed together with their watchers."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, ValueError):
            if folder.stat().st_uid != os.getuid() or time.time() - folder.stat().st_mtime < 10:
                continue
            lock = os.open(folder / "lock", os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with suppress(OSError, ValueError):
                    process = int((folder / "pid").read_text())
                    if os.readlink(f"/proc/{process}/cwd") == str(folder):
                        os.killpg(process, signal.SIGKILL)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


@contextmanager
def processor() -> Iterator[set[int]]:
    """A processor for a guest, which no other guest of this user has; all where none is free.

    Kernel and programs of a guest take turns: on one processor a turn costs a quarter of what it does on two.
    """
    allowed = os.sched_getaffinity(0)
    with ExitStack() as stack:
        for number in sorted(allowed):
            path = Path(tempfile.gettempdir()) / f"{PROCESSOR}{os.getuid()}-{number}"
            with suppress(OSError):
                lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
                stack.callback(os.close, lock)
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                allowed = {number}
                break
        yield allowed


def python() -> str:
    """The interpreter that the guest runs: the one below a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def tool(name: str) -> str:
    """Where the host has a program that the guest needs."""
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if path is None:
        raise LinuxError(f"validation against Linux needs the program {name}; install the Debian package iproute2")
    return path


def boot(
    kernel: Path,
    folder: Path,
    seed: int,
    timeout: float,
    memory: int,
    words: Sequence[str],
    stop: threading.Event,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Run a guest whose folder has `guest.py` and `case.json`, until it ends.

    Parameters
    ----------
    kernel : Path
        Folder with `linux` and `randomness.so`.
    memory : int
        [MB]
    words : sequence of str
        Further words for the kernel's command line.
    stop : threading.Event
        Ends the guest early.
    progress : function, optional
        Is called with the fraction of virtual time that has passed, now and then.

    Raises
    ------
    LinuxError
        If it takes longer than `timeout` [s], or says nothing of a result.
    """
    command = [
        str(kernel / "linux"), f"mem={memory}M", "rootfstype=hostfs", "ro", "init=/proc/self/cwd/guest.py", "con=null",
        "con0=fd:0,fd:1", "quiet", "panic=-1", "time-travel=inf-cpu", f"time-travel-start={BEGINNING * 10**9}",
        "uml_dir=./", "umid=guest", *words,
    ]  # fmt: skip
    environment = {
        "HOME": str(folder), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TCPDYNAMICS_SEED": str(seed % 2**64),
        "LD_PRELOAD": str(kernel / "randomness.so"),
    }  # fmt: skip
    # The kernel takes its command line for randomness too, so no name that changes may stand in it.
    console = folder / "said"
    with console.open("wb") as messages, processor() as chosen:
        allowed = os.sched_getaffinity(0)
        os.sched_setaffinity(0, chosen)  # of this thread, from which the guest has it
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", STARTER, "sh", str(folder), str(LARGEST_FILE + 2048 * memory), *command], cwd=folder,
                env=environment, stdin=subprocess.DEVNULL, stdout=messages, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.sched_setaffinity(0, allowed)
        try:
            late = not _wait(process, timeout, stop, partial(_report, folder / "clock", progress))
        finally:
            _end(process)
    if stop.is_set():
        raise LinuxError("the guest was stopped")
    if late:
        raise LinuxError(f"Linux took longer than {timeout:g} s; shorten duration, or raise timeout{_last(console)}")
    if not (folder / "told.json").exists():
        if refused := _refused(console):
            raise LinuxError(f"Linux cannot make this network: {refused}; look at disciplines, and at the links")
        raise LinuxError(f"Linux ended with status {process.returncode} and without a result{_last(console)}")


def _refused(said: Path) -> str:
    """What `ip` or `tc` said in the guest to what they were told, in a line; "" if it was not they who failed."""
    refusal = re.search(
        r"guest: RuntimeError: ((?:ip|tc) in .*?)(?=Command failed|Traceback|$)",
        said.read_text("utf-8", "replace"),
        re.DOTALL,
    )
    return " ".join(refusal[1].split()) if refusal else ""


def _report(clock: Path, progress: Callable[[float], None] | None) -> None:
    """Report the share of virtual time that has passed, which the guest writes to its file `clock`."""
    with suppress(OSError, ValueError):
        if progress is not None:
            progress(float(clock.read_text()))


def _wait(process: subprocess.Popen[bytes], timeout: float, stop: threading.Event, report: Callable[[], None]) -> bool:
    """Whether a process ended in time."""
    done = threading.Event()

    def watch() -> None:
        process.wait()
        done.set()

    threading.Thread(target=watch, daemon=True).start()
    remaining = timeout
    while not done.wait(min(remaining, 0.2)) and not stop.is_set():
        remaining -= 0.2
        report()
        if remaining <= 0:
            return False
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """End all processes of a guest, also at Ctrl-C; nothing where they have ended."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()


def _last(said: Path) -> str:
    """The last lines of a guest."""
    with said.open("rb") as messages:
        messages.seek(max(said.stat().st_size - 600, 0))
        text = " ".join(messages.read().decode("utf-8", "replace").split())
    return f"; it said: ...{text}" if text else "; it said nothing"
