"""How long `import tcpdynamics` takes, and the command's first word, beside a bare interpreter."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time


def seconds(code: str, repeats: int = 7) -> float:
    """Median wall time of a fresh interpreter that runs `code`, byte code cached."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def main() -> None:
    bare = seconds("pass")
    for name in ("tcpdynamics", "tcpdynamics.solvers, tcpdynamics.models", "tcpdynamics.apps.command.main"):
        print(f"import {name:42s} {seconds(f'import {name}') - bare:6.3f} s (bare interpreter {bare:.3f} s)")


if __name__ == "__main__":
    main()
