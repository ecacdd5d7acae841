"""Sweeps in blocks: on any executor, to a store as the blocks finish, and resumed where they were killed."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import whole
from tcpdynamics.limits import SweepLimitError, check_memory, parts_of_sweep

from ..grid import MAX_POINTS
from ..problems import DynamicsError, Parameter
from ..problems.kinds import check_mapping, check_text
from .blocks import MAX_STORED, Blocks, cut
from .fingerprint import fingerprint, name_of
from .layout import Header, header_of
from .plain_files import local_path
from .store import Store, open_store
from .sweep_of import ProblemWork
from .work import Layout, Outcome, Work, check_alike, run_block

#: Most points at which the work of a sweep is estimated.
_SAMPLE = 16

#: Called with points done, points in all, and the seconds that the rest will take at the speed so far.
Progress = Callable[[int, int, float], None]


def sweep(
    work: Work,
    parameters: Mapping[str, Parameter] | None = None,
    *,
    store: str | Path | None = None,
    block: int | None = None,
    executor: Executor | None = None,
    in_flight: int | None = None,
    resume: bool = True,
    retry: bool = False,
    progress: Progress | None = None,
    throw: bool = False,
    about: Mapping[str, object] | None = None,
    version: str = "",
) -> xr.Dataset:
    """Call `work` for every block of a grid and collect what it gives.

    Parameters
    ----------
    work : callable
        Called as `work(block)` with a dict parameter -> (points,) array; gives a mapping variable -> (points,) array,
        or a Dataset (or mapping of DataArrays or tuples) with the dimension "point" for variables with further
        dimensions. A function of a module or a `functools.partial` of one, if another process is to run it. Where it
        raises, the block is halved until only the points at fault are left out.
    parameters : mapping name -> number, 1-D array or DataArray
        Spans the grid as everywhere. May be left out where `work` brings them (`sweep_of`).
    store : path, optional
        `x.zarr`, written block by block; or `x.nc`, put together from the folder `x.nc.parts` in the end. Without,
        the results stay in memory.
    block : int, optional
        Most points in a block, which is what a killed run loses. By default a 64th of the grid, at most 16 384, and
        fewer for problems of more than 15 states: a block's matrices take 256 MB at most.
    executor : concurrent.futures.Executor, optional
        Threads, processes (by spawn: a fork after JAX has started may hang) or Dask's `Client.get_executor()`. By
        default this process does the work.
    in_flight : int, optional
        Blocks handed out at a time; by default twice the executor's workers as far as they are known.
    resume : bool
        Take up a store that is there. If False, a store that is there is an error.
    retry : bool
        Compute blocks with points that raised an error again.
    progress : callable, optional
        `progress(points done, points in all, seconds left)` after each block.
    throw : bool
        Raise DynamicsError at the first point that raised, instead of marking it.
    about : mapping, optional
        Attributes of the result: "model" and what else is to be known.
    version : str
        Of `work`, kept in the store. By default the text of `work` and all that it reaches show whether it changed:
        globals, captured values, helpers and what these use, as far as they are Python and not of an installed package.
        What C extensions, files, environment variables and other processes hold, and names that are looked up as text
        (`globals()["K"]`) cannot be seen: where these change, change `version`.

    Returns
    -------
    xarray.Dataset over the grid's dimensions
        The variables, NaN where a point failed (0 for whole numbers), and `status`: 0, a code of the work's own, or
        why the point has no result. With failed points also `failure_point` and `failure_reason`, the first
        100 000. From a Zarr store the values are read when they are needed. A stability chart (`sweep_of(model,
        stability_chart)`) has its boundary, too; the store keeps it.

    Raises
    ------
    StoreError
        A store that holds another sweep, or whose headers are damaged. Nothing is overwritten.
    LimitError
        More work than a day's (`sweep_of`: the solver's own estimate, at a few points of the grid), refused before the
        first block; results that need more memory than one request may have, before the second.
    DomainError, DynamicsError
        A grid that is too large; work that does not give one value a point.

    Warns
    -----
    UserWarning
        Blocks of the store that were damaged, and are computed again.

    Examples
    --------
    >>> def area(block):
    ...     return {"area": block["width"] * block["height"]}
    >>> result = sweep(area, {"width": [1.0, 2.0, 3.0], "height": [1.0, 10.0]}, block=4)
    >>> result.area.sel(width=3, height=10).item()
    30.0
    """
    grid = getattr(work, "parameters", None) if parameters is None else parameters
    if grid is None:
        raise DynamicsError("give parameters: a mapping of names to numbers or arrays")
    if in_flight is not None:
        in_flight = whole("in_flight", in_flight, 1, error=DynamicsError)
    check_text("version", version, DynamicsError)
    check_mapping("about", {} if about is None else about, DynamicsError)
    path = None if store is None else local_path(store)
    limit = MAX_STORED if path is not None and path.suffix == ".zarr" else MAX_POINTS
    blocks = cut(grid, block, limit, int(getattr(work, "bytes_per_point", 0)))
    header = _header(work, blocks, dict(about or getattr(work, "about", {})), version)
    target = open_store(path, blocks, header, resume, retry)
    try:
        _check_total(work, blocks, ~target.done)
        clock = _Clock(blocks, target.done, progress)
        for number, outcome in _in_order_of_layout(work, blocks, target, executor, in_flight):
            target.write(number, outcome)
            clock.tick(number)
            if throw and outcome.reasons:
                raise DynamicsError(_first_reason(blocks, number, outcome))
        result = target.finish(getattr(work, "whole", None))
        if throw and "failure_reason" in result:
            reason = str(result.failure_reason.values[0])
            raise DynamicsError(f"an earlier run had points that failed: {reason}; retry=True tries them again")
    finally:
        target.close()
    return result


def _header(work: Work, blocks: Blocks, about: dict[str, Any], version: str) -> Header:
    from tcpdynamics import __version__

    description = {"model": name_of(work), "version": __version__, **about}
    digest = fingerprint(work, source=not version)
    return header_of(blocks, description, name_of(work), version, digest)


def _check_total(work: Work, blocks: Blocks, missing: Any) -> None:
    """Refuse more work than one sweep may do, by what the solver itself expects at a few points of the grid.

    Solves those few, one in 64 at most: an estimate may need what comes before. Raises SweepLimitError.
    """
    points = blocks.points * float(np.mean(missing))
    few = min(_SAMPLE, int(points // 64))
    if few and isinstance(work, ProblemWork):
        try:
            with parts_of_sweep(points / few), warnings.catch_warnings(action="ignore"):
                work(blocks.sample(few))
        except SweepLimitError:
            raise
        except Exception:  # the blocks will say it, point by point
            return


def _in_order_of_layout(
    work: Work, blocks: Blocks, target: Store, executor: Executor | None, in_flight: int | None
) -> Iterator[tuple[int, Outcome]]:
    """Blocks as they finish, but none before the layout is known.

    The layout is that of the first block in order with a result, whichever comes first: on one worker or many, the
    store has the same bytes.
    """
    order = [int(n) for n in np.flatnonzero(~target.done)]
    early: dict[int, Outcome] = {}
    ahead = 0
    for number, outcome in _outcomes(work, blocks, order, executor, in_flight, early):
        if target.layout is not None:
            if outcome.layout is not None:
                check_alike(target.layout, outcome.layout)
            yield number, outcome
            continue
        early[number] = outcome
        while ahead < len(order) and order[ahead] in early and target.layout is None:
            layout = early[order[ahead]].layout
            ahead += 1
            if layout is not None:
                waiting = 1 if executor is None else in_flight or 2 * _workers(executor)
                _check_blocks(blocks, layout.bytes_per_point, waiting)
                target.begin(layout)
        if target.layout is not None:
            yield from _checked(target.layout, early)
            early.clear()
    if target.layout is None:  # every point failed
        target.begin(Layout())
        yield from early.items()


def _checked(layout: Layout, early: Mapping[int, Outcome]) -> Iterator[tuple[int, Outcome]]:
    for number, outcome in early.items():
        if outcome.layout is not None:
            check_alike(layout, outcome.layout)
        yield number, outcome


def _outcomes(
    work: Work,
    blocks: Blocks,
    order: list[int],
    executor: Executor | None,
    in_flight: int | None,
    early: Mapping[int, Outcome],
) -> Iterator[tuple[int, Outcome]]:
    """Blocks as they finish, with a bounded number handed out; results that came `early` count too."""
    if executor is None:
        for number in order:
            values = blocks.values(number)
            yield number, run_block(work, values, _size(blocks, number))
        return
    limit = in_flight or 2 * _workers(executor)
    todo = iter(order)
    pending: dict[Future[Outcome], int] = {}
    try:
        while True:
            stored = sum(bool(outcome.arrays) for outcome in early.values())
            for number in islice(todo, max(0 if pending else 1, limit - len(pending) - stored)):
                values = blocks.values(number)
                pending[executor.submit(run_block, work, values, _size(blocks, number))] = number
            if not pending:
                return
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                yield pending.pop(future), _result(future)
    finally:
        for future in pending:
            future.cancel()


def _workers(executor: Executor) -> int:
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


def _check_blocks(blocks: Blocks, each: int, number: int) -> None:
    """Refuse results of blocks that do not fit in memory side by side. Raises LimitError."""
    points, number = math.prod(blocks.tile), min(number, blocks.count)
    what = f"the results of {number:,} blocks of {points:,} points, {each:,} bytes each,"
    check_memory(what, float(number) * points * each, "give a smaller block=, or a smaller in_flight=")


def _size(blocks: Blocks, number: int) -> int:
    return int(np.prod(blocks.sides(number), dtype=np.int64))


def _result(future: Future[Outcome]) -> Outcome:
    try:
        return future.result()
    except DynamicsError:
        raise
    except Exception as error:  # what `work` raises is in the outcome: this is the executor's
        what = ": ".join(filter(None, (type(error).__name__, str(error))))
        raise DynamicsError(
            f"a worker failed: {what}; finished blocks are kept in the store, if there is "
            "one (work must be a function of a module to reach another process)"
        ) from error


class _Clock:
    """Counts points and guesses how long the rest takes."""

    def __init__(self, blocks: Blocks, done: Any, progress: Progress | None) -> None:
        self.blocks, self.progress = blocks, progress
        self.began = time.perf_counter()
        self.before = sum(_size(blocks, int(n)) for n in np.flatnonzero(done))
        self.now = 0

    def tick(self, number: int) -> None:
        self.now += _size(self.blocks, number)
        if self.progress is not None:
            done, points = self.before + self.now, self.blocks.points
            self.progress(done, points, (time.perf_counter() - self.began) / self.now * (points - done))


def _first_reason(blocks: Blocks, number: int, outcome: Outcome) -> str:
    first, text = min((runs[0][0], text) for text, runs in outcome.reasons.items())
    point = {name: values[first].item() for name, values in blocks.values(number).items()}
    return f"{text} (at {', '.join(f'{k} = {v:g}' for k, v in point.items())})"
