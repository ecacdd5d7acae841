"""What the sweep engine costs a point, with and without a store, beside a plain call and beside xyzpy.

The work is one addition, so that all of a time is overhead. xyzpy's ways: its `Harvester` (a file in the end) and its
`Crop` (a file a run, resumable). CPU time of the row with two processes is that of the first process alone.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.solvers import sweep

from .compare import Route, compare


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


def in_a_folder(work: Callable[[Path], Any]) -> None:
    """Each call has a folder of its own, which goes with it."""
    with tempfile.TemporaryDirectory(prefix="tcpdynamics-sweep-") as folder:
        work(Path(folder))


def crop(grid: dict[str, Any], folder: Path) -> None:
    field = _runner().Crop(name="crop", parent_dir=str(folder), batchsize=1)
    with contextlib.redirect_stderr(io.StringIO()):
        field.sow_combos(grid, verbosity=0)
        field.grow_missing(verbosity=0)
        field.reap()


def harvester(grid: dict[str, Any], folder: Path) -> None:
    import xyzpy

    xyzpy.Harvester(_runner(), str(folder / "x.nc")).harvest_combos(grid, verbosity=0)


def _runner() -> Any:
    import xyzpy

    return xyzpy.Runner(plain, var_names=["total"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, nargs="+", default=[100_000, 1_000_000])
    few = axes(900)
    for wanted in parser.parse_args().points:
        grid = axes(wanted)
        points = grid["a"].size * grid["b"].size

        def stored(folder: Path, grid: Any = grid, **options: Any) -> Any:
            return sweep(add, grid, store=folder / "x.zarr", **options)

        with (
            tempfile.TemporaryDirectory() as done,
            ThreadPoolExecutor(2) as threads,
            ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        ):
            stored(Path(done)).close()
            ways: dict[str, Callable[[Path], Any]] = {
                "ours, stored": stored,
                "ours, in memory": lambda _, grid=grid: sweep(add, grid),
                "ours, resume of a complete store": lambda _, done=done, stored=stored: stored(Path(done)),
                "ours, two threads": partial(stored, executor=threads),
                "ours, two processes": partial(stored, executor=processes),
            }
            routes = [Route(name, partial(in_a_folder, way), points) for name, way in ways.items()]
            peers: dict[str, Callable[[dict[str, Any], Path], Any]] = {
                "xyzpy Crop, resumable, 900 points": crop,
                "xyzpy Harvester, 900 points": harvester,
            }
            for name, peer in peers.items():
                routes.append(Route(name, partial(in_a_folder, partial(peer, few)), 900, package="xyzpy"))
            compare(f"sweep with a store, {points:,} points", "a point", routes)


if __name__ == "__main__":
    main()
