"""What the sweep engine costs a point, with and without a store, beside a plain call and beside xyzpy.

The work is one addition, so that all but the plain vectorised call is overhead. xyzpy is used where it is installed
(`pip install xyzpy`): its `Runner`, its `Harvester` (a file in the end) and its `Crop` (a file a run, resumable) on
fewer points. First calls are not counted: xyzpy's takes about 0.3 s, whatever the number of points. CPU time is that of
this process: of the row with two processes, what they take comes on top.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.solvers import sweep

from .clocks import Taken, middle, once


def add(block: dict[str, Any]) -> dict[str, Any]:
    """The work."""
    return {"total": block["a"] + block["b"]}


def plain(a: Any, b: Any) -> Any:
    """The same, for xyzpy."""
    return a + b


def axes(points: int) -> dict[str, Any]:
    """Two axes whose product has about so many points."""
    side = round(points**0.5)
    return {"a": np.linspace(0.0, 1.0, side), "b": np.linspace(1.0, 2.0, side)}


def seconds(work: Callable[[Path], Any], repeats: int) -> Taken:
    """Median times of `work(fresh folder)`, after one call that is not counted."""
    runs = []
    for _ in range(repeats + 1):
        folder = Path(tempfile.mkdtemp(prefix="tcpdynamics-sweep-"))
        try:
            runs.append(once(partial(work, folder))[0])
        finally:
            shutil.rmtree(folder)
    return middle(runs[1:])


def xyzpy_routes() -> dict[str, Callable[[dict[str, Any], Path], Any]]:
    """The peer's ways, or none if it is not installed."""
    try:
        import xyzpy
    except ImportError:
        print("xyzpy is not installed: no peer in this run")
        return {}

    def crop(grid: dict[str, Any], folder: Path) -> None:
        field = xyzpy.Runner(plain, var_names=["total"]).Crop(name="crop", parent_dir=str(folder), batchsize=1)
        with contextlib.redirect_stderr(io.StringIO()):
            field.sow_combos(grid, verbosity=0)
            field.grow_missing(verbosity=0)
            field.reap()

    def runner() -> Any:
        return xyzpy.Runner(plain, var_names=["total"])

    return {
        "xyzpy Runner": lambda grid, _: runner().run_combos(grid, verbosity=0),
        "xyzpy Harvester": lambda grid, folder: xyzpy.Harvester(runner(), str(folder / "x.nc")).harvest_combos(
            grid, verbosity=0
        ),
        "xyzpy Crop (resumable)": crop,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{'route':30s} {'points':>12s} {'CPU [s]':>10s} {'us a point':>11s} {'wall [s]':>10s} {'us a point':>11s}")

    def row(name: str, points: int, taken: Taken) -> None:
        each = taken.over(points / 1e6)
        print(f"{name:30s} {points:12,} {taken.cpu:10.4f} {each.cpu:11.3f} {taken.wall:10.4f} {each.wall:11.3f}")

    for wanted in options.points:
        grid = axes(wanted)
        points = grid["a"].size * grid["b"].size
        flat = {k: v.ravel() for k, v in zip("ab", np.meshgrid(*grid.values(), indexing="ij"), strict=True)}
        row("one vectorised call", points, seconds(lambda _, flat=flat: add(flat), options.repeats))
        row("sweep, in memory", points, seconds(lambda _, grid=grid: sweep(add, grid), options.repeats))
        for suffix in ("zarr", "nc"):

            def stored(folder: Path, grid: Any = grid, suffix: str = suffix) -> Any:
                return sweep(add, grid, store=folder / f"x.{suffix}")

            row(f"sweep to x.{suffix}", points, seconds(stored, options.repeats))
        folder = Path(tempfile.mkdtemp(prefix="tcpdynamics-sweep-"))
        sweep(add, grid, store=folder / "x.zarr").close()
        again = seconds(lambda _, grid=grid, folder=folder: sweep(add, grid, store=folder / "x.zarr"), options.repeats)
        shutil.rmtree(folder)
        row("resume of a complete x.zarr", points, again)
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for name, pool in (("two threads", threads), ("two processes", processes)):
            taken = seconds(
                lambda folder, pool=pool, grid=grid: sweep(add, grid, store=folder / "x.zarr", executor=pool),
                options.repeats,
            )
            row(f"sweep to x.zarr, {name}", points, taken)
    for name, route in xyzpy_routes().items():
        for wanted in (900,) if "Crop" in name else (900, 10_000, 100_000):
            few = axes(wanted)
            points = few["a"].size * few["b"].size
            row(name, points, seconds(lambda folder, route=route, few=few: route(few, folder), 3))


if __name__ == "__main__":
    main()
