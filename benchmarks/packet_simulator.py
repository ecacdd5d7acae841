"""How fast is the packet simulator? `python benchmarks/packet_simulator.py`

Prints the time of a first run in a fresh process with an empty cache of compiled code (compile) and with a
filled one (cached start), then packets delivered per second of one thread, best and median of five runs.

Measured on one core of an AMD EPYC server, Numba 0.68: compile 9.5 s, cached start 0.6 s, 8 M packets/s for
100 SACK flows on 1 Mbit/s. ns-2.35 needs 1.6 s for the same 250 k packets (0.15 M packets/s, with its queue
trace).
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

FIRST = """
import time
start = time.perf_counter()
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
imported = time.perf_counter()
simulate(Scenario((Flows(count=2),), Bottleneck(buffer=10), duration=2.0, warm_up=1.0))
print(imported - start, time.perf_counter() - imported)
"""


def first_run(cache: str) -> tuple[float, float]:
    """Seconds to import, and to the end of a tiny first run, in a fresh process."""
    env = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", FIRST], env=env, capture_output=True, text=True, check=True)
    imported, ran = map(float, done.stdout.split())
    return imported, ran


def speeds(scenario: object, runs: int = 5) -> list[float]:
    """Packets through the link per second of wall time, warm-up of the simulation included."""
    from tcpdynamics.validation.packet import engine, kernel

    rates = []
    for seed in range(runs):
        start = time.perf_counter()
        run = engine.execute(scenario, seed)
        rates.append(run.totals[:, kernel.RECEIVED].sum() / (time.perf_counter() - start))
    return rates


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as cache:
        for label in ("compile", "cached start"):
            imported, ran = first_run(cache)
            print(f"{label:<24}{ran:8.2f} s   (import {imported:.2f} s)")

    from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, load_scenario, ready_scenarios

    cases = {name: load_scenario(path) for name, path in ready_scenarios().items()}
    wide = Flows(count=32, sender="newreno", rtt=(0.02, 0.16), packet_size=1000, window_limit=2000)
    cases["155 Mbit/s, NewReno"] = Scenario((wide,), Bottleneck(155e6, 190), duration=30.0, warm_up=5.0)
    speeds(cases["mixed_rtt"], 1)  # loads the compiled code
    for name, scenario in cases.items():
        rates = speeds(scenario)
        print(
            f"{name:<24}{max(rates) / 1e6:8.2f} M packets/s best, "
            f"{statistics.median(rates) / 1e6:.2f} median of 5"
        )


if __name__ == "__main__":
    main()
