"""Jobs for tests, in a module that another process can import: they wait for files instead of seconds."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tcpdynamics.apps.explorer.jobs import JobKind, Parts, Progress
from tcpdynamics.errors import InputError


def read(words: Any) -> dict[str, Any]:
    if not isinstance(words.get("folder"), str):
        raise InputError("folder must be a text")
    return dict(words)


def hold(words: dict[str, Any], progress: Progress) -> Parts:
    """Write down the process, and of a process below it; end when there is a file `go`."""
    folder = Path(words["folder"])
    below = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    (folder / "part").write_text(f"{os.getpid()} {below.pid}")
    (folder / "part").rename(folder / "pids")
    progress(0.25)
    while not (folder / "go").exists():
        time.sleep(0.02)
    below.kill()
    below.wait()
    return {"answer.json": b"[1, 2]", "answer.nc": bytes(words.get("size", 0))}


def fail(words: dict[str, Any], progress: Progress) -> Parts:
    print("this is no note")
    match words["how"]:
        case "refused":
            raise InputError("loss must lie in [0, 1], got 2")
        case "bounds":
            held, alone = resource.getrlimit(resource.RLIMIT_DATA)[0], os.getpgid(0) == os.getpid()
            work = os.environ["TCPDYNAMICS_MAX_WORK"]
            raise InputError(f"{work} operations, {held} bytes, a group of its own: {alone}")
        case "defect":
            raise KeyError("x")
        case "killed":
            os.kill(os.getpid(), 9)
        case "memory":
            bytearray(200_000_000_000)
    return {}


HOLD, FAIL = JobKind("hold", read, hold), JobKind("fail", read, fail)
