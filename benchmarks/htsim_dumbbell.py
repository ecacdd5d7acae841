"""The dumbbell of the packet benchmark in htsim, whose sources stand in the folder that `HTSIM` names."""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from pathlib import Path

from .clocks import Taken, once

MISSING = "HTSIM=.../csg-htsim/sim, built there by make libhtsim.a"
_PROGRAM = Path(__file__).with_suffix(".cpp")
_SWITCHES = ("-std=c++11", "-O3", "-march=native", "-w")


def installed() -> bool:
    """Does `HTSIM` name a folder with the library?"""
    return (Path(os.environ.get("HTSIM", "")) / "libhtsim.a").is_file()


@functools.cache
def _program() -> str:
    """Compile our program against the library; it is deleted when this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="htsim-")
    _kept.append(folder)
    htsim, made = Path(os.environ["HTSIM"]), Path(folder.name) / "dumbbell"
    subprocess.run(["g++", *_SWITCHES, f"-I{htsim}", _PROGRAM, htsim / "libhtsim.a", "-o", made], check=True)
    return str(made)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def run(*arguments: object) -> tuple[Taken, int]:
    """What one run took, start-up included, and the segments acknowledged in it."""
    command = [_program(), *map(str, arguments)]
    taken, done = once(lambda: subprocess.run(command, capture_output=True, text=True, timeout=300, check=True))
    return taken, int(done.stdout.split()[-1])
