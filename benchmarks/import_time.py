"""How long `import tcpdynamics` takes, and the command's first word, beside a bare interpreter."""

from __future__ import annotations

import os
import subprocess
import sys

from .clocks import Taken, median


def seconds(code: str, repeats: int = 7) -> Taken:
    """Median times of a fresh interpreter that runs `code`, byte code cached."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    return median(lambda: subprocess.run(command, check=True, env=environment), repeats)[0]


def main() -> None:
    bare = seconds("pass")
    for name in ("tcpdynamics", "tcpdynamics.solvers, tcpdynamics.models", "tcpdynamics.apps.command.main"):
        taken = seconds(f"import {name}")
        wall, cpu = taken.wall - bare.wall, taken.cpu - bare.cpu
        print(f"import {name:42s} wall {wall:6.3f} s, CPU {cpu:6.3f} s (bare {bare.wall:.3f} and {bare.cpu:.3f} s)")


if __name__ == "__main__":
    main()
