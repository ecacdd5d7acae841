"""Sweeps: every point once and in its place, the same bytes on any executor and after any death, failures kept."""

from __future__ import annotations

import importlib
import math
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import LimitError
from tcpdynamics.models import LotkaVolterraWindows, PftkFull, SubPacketFull, per_flow
from tcpdynamics.solvers import (
    ODE,
    DomainError,
    MarkovChain,
    StoreError,
    explain,
    failures,
    spectral_abscissa,
    stationary,
    sweep,
    sweep_of,
    trajectory,
)
from tcpdynamics.solvers.problems import DynamicsError
from tcpdynamics.solvers.sweeps.blocks import cut
from tcpdynamics.solvers.sweeps.fingerprint import fingerprint

#: A module that another process can import: `work` notes each call in a log, waits, and fails where a = b.
MODULE = """
import os, sys, time
import numpy as np

def work(block, log="", wait=0.0):
    if log:
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, b"%d\\n" % len(block["a"]))
        os.close(handle)
    time.sleep(wait)
    if (block["a"] == block["b"]).any():
        raise ValueError("a is b")
    both = (("point", "flow"), np.stack([np.sin(block["a"]), block["b"]], axis=1), {"units": "1"})
    return {"sum": block["a"] + np.sqrt(block["b"]), "both": both, "whole": block["b"]}

def die(block):
    if (block["a"] == 3).any():
        os._exit(1)
    return {"x": block["a"]}

GRID = {"a": np.linspace(0.0, 9.0, 40), "b": np.arange(6)}

def main():
    from functools import partial
    from tcpdynamics.solvers.sweeps.sweep import sweep
    store, log, wait, version = sys.argv[1:]
    sweep(partial(work, log=log, wait=float(wait)), GRID, store=store, block=24, version=version)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "code").mkdir()
    (tmp_path / "code/swept_work.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path / "code")
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path / "code"), before])))
    sys.modules.pop("swept_work", None)
    yield importlib.import_module("swept_work")
    sys.modules.pop("swept_work", None)


def content(path: Path) -> dict[str, bytes]:
    """Every file of a store."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(f.relative_to(path)): f.read_bytes() for f in sorted(path.rglob("*")) if f.is_file()}


@given(
    shape=st.lists(st.integers(1, 9), min_size=0, max_size=3),
    block=st.one_of(st.none(), st.integers(1, 100)),
    scalar=st.booleans(),
    tied=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_every_point_once_and_in_its_place(shape: list[int], block: int | None, scalar: bool, tied: bool) -> None:
    """Judged by xarray's own broadcasting."""
    parameters: dict[str, Any] = {f"p{i}": 10.0**i * np.arange(1, n + 1) for i, n in enumerate(shape)}
    if scalar or not shape:
        parameters["s"] = 0.5
    if tied and shape:  # a parameter that brings no dimension of its own
        last = f"p{len(shape) - 1}"
        parameters["t"] = xr.DataArray(np.arange(shape[-1]) ** 2 / 1e4, dims=last, coords={last: parameters[last]})
    seen: list[tuple[float, ...]] = []

    def work(values: dict[str, Any]) -> dict[str, Any]:
        assert list(values) == list(parameters) and all(v.ndim == 1 for v in values.values())
        points = list(zip(*values.values(), strict=True))
        assert block is None or len(points) <= block
        seen.extend(points)
        return {"total": sum(values.values())}

    result = sweep(work, parameters, block=block)
    assert len(seen) == len(set(seen)) == math.prod(shape)
    expected: Any = sum(
        v if np.ndim(v) == 0 or isinstance(v, xr.DataArray) else xr.DataArray(v, {k: v}, (k,))
        for k, v in parameters.items()
    )
    assert result.total.dims == tuple(f"p{i}" for i in range(len(shape)))
    np.testing.assert_allclose(result.total.values, np.broadcast_to(expected, tuple(shape)), rtol=1e-14)
    assert (result.status == 0).all()


@given(shape=st.lists(st.integers(1, 40), min_size=1, max_size=4), block=st.integers(1, 500))
@settings(max_examples=200, deadline=None)
def test_blocks_tile_the_grid(shape: list[int], block: int) -> None:
    blocks = cut({f"p{i}": np.arange(float(n)) for i, n in enumerate(shape)}, block)
    assert math.prod(blocks.tile) <= block
    # Not much smaller than asked for: a block holds more than a quarter of what it may, or the whole grid.
    assert math.prod(blocks.tile) * 4 > min(block, blocks.points) or blocks.count == 1
    if blocks.points <= 20_000:
        numbers = np.concatenate([blocks.numbers(i) for i in range(blocks.count)])
        np.testing.assert_array_equal(np.sort(numbers), np.arange(blocks.points))


def test_a_huge_grid_costs_nothing_until_it_is_swept() -> None:
    """1.9e9 points; the judge of values deep inside is NumPy's unravel_index."""
    axes = [np.arange(1900.0), np.arange(1000.0), np.arange(1000.0)]
    tracemalloc.start()
    blocks = cut(dict(zip("abc", axes, strict=True)))
    values, numbers = blocks.values(77_777), blocks.numbers(77_777)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6
    index = np.unravel_index(numbers, blocks.shape)
    for axis, i, name in zip(axes, index, "abc", strict=True):
        np.testing.assert_array_equal(values[name], axis[i])


@pytest.mark.parametrize("store", [None, "x.nc", "x.zarr"])
def test_a_grid_of_ten_billion_points_is_refused(tmp_path: Path, store: str | None) -> None:
    axis = np.arange(100_000.0)
    with pytest.raises(DomainError, match=r"the grid has 10,000,000,000 points \(a 100,000 x b 100,000\), at most"):
        sweep(print, {"a": axis, "b": axis}, store=store and tmp_path / store)
    assert not list(tmp_path.iterdir())


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "kills"),
    [
        ("x.zarr", 1),
        pytest.param("x.nc", 1, marks=SLOW),
        pytest.param("x.zarr", 40, marks=SLOW),
        pytest.param("x.nc", 40, marks=SLOW),
    ],
)
def test_a_killed_sweep_resumes_to_the_same_bytes(tmp_path: Path, module: Any, name: str, kills: int) -> None:
    """Really killed, at random moments, again and again: at most the block in hand is computed twice."""
    log, wait, store = tmp_path / "log", 0.02 if kills < 5 else 0.004, tmp_path / "killed" / name
    (tmp_path / "unbroken").mkdir()
    (tmp_path / "killed").mkdir()
    work = partial(module.work, log=str(log), wait=wait)
    sweep(work, module.GRID, store=tmp_path / "unbroken" / name, block=24, version="1")
    calls = len(log.read_text().splitlines())
    log.unlink()

    def called() -> int:
        return len(log.read_text().splitlines()) if log.exists() else 0

    rng, killed = random.Random(kills), 0
    run = "import swept_work; swept_work.main()"
    command = [sys.executable, "-c", run, str(store), str(log), str(wait), "1"]
    for attempt in range(kills + 1):
        process = subprocess.Popen(command)
        try:
            goal = called() + max(1, calls // (kills + 2))
            while attempt < kills and process.poll() is None and called() < goal:
                time.sleep(0.001)
            if attempt < kills:
                time.sleep(rng.uniform(0, wait))
                process.send_signal(signal.SIGKILL)
            killed += process.wait(120) == -signal.SIGKILL
        finally:
            process.kill()
            process.wait()
        if attempt < kills and store.exists():
            assert explain(store).points == 240
    assert process.returncode == 0 and killed >= min(kills, 5)
    assert content(tmp_path / "killed") == content(tmp_path / "unbroken")
    # The block in hand is one call; one with a point that fails takes 2 log2(24) + 1 = 11 at most.
    assert calls <= called() <= calls + 11 * killed


def test_the_same_bytes_on_every_executor(tmp_path: Path, module: Any) -> None:
    """Serial, threads, spawned processes, two Dask workers; Zarr and NetCDF; the result in memory too."""
    from distributed import Client, LocalCluster

    memory = sweep(module.work, module.GRID, block=24)
    assert [point for point, _ in failures(memory)] == [{"a": 0.0, "b": 0.0}, {"a": 3.0, "b": 3.0}]

    def check(label: str, executor: Executor | None) -> None:
        (tmp_path / label).mkdir()
        for name in ("x.zarr", "x.nc"):
            result = sweep(module.work, module.GRID, block=24, executor=executor, store=tmp_path / label / name)
            xr.testing.assert_identical(result.load(), memory)
        xr.testing.assert_identical(sweep(module.work, module.GRID, block=24, executor=executor), memory)

    check("serial", None)
    with ThreadPoolExecutor(4) as threads:
        check("threads", threads)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        check("processes", processes)
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        check("dask", client.get_executor())
    for label in ("threads", "processes", "dask"):
        assert content(tmp_path / label) == content(tmp_path / "serial"), label


@pytest.mark.slow
def test_a_lost_worker_costs_nothing_and_a_lost_cluster_the_blocks_in_hand(tmp_path: Path, module: Any) -> None:
    """A worker that is killed while it computes; then a scheduler that goes away, and the same call without it."""
    from distributed import Client, LocalCluster

    def stored(name: str, executor: Executor | None) -> None:
        (tmp_path / name).mkdir(exist_ok=True)
        work = partial(module.work, wait=0.2)
        sweep(work, module.GRID, block=24, executor=executor, store=tmp_path / name / "x.zarr")

    def later(call: Callable[[], object]) -> None:
        Timer(0.5, call).start()

    stored("unbroken", None)
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        victim = next(iter(client.run(os.getpid).values()))
        later(partial(os.kill, victim, signal.SIGKILL))
        stored("worker", client.get_executor())
        assert victim not in client.run(os.getpid).values()
        later(cluster.close)
        with pytest.raises(DynamicsError, match="CancelledError; finished blocks are kept"):
            stored("scheduler", client.get_executor())
    stored("scheduler", None)
    assert content(tmp_path / "worker") == content(tmp_path / "scheduler") == content(tmp_path / "unbroken")


class NewestFirst(Executor):
    """Starts when four calls are there, always with the newest, and counts what it holds."""

    def __init__(self) -> None:
        self.held: list[tuple[Future[Any], Any]] = []
        self.most = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.held.append((future, partial(fn, *args, **kwargs)))
        self.most = max(self.most, len(self.held))
        return future

    def run(self) -> None:
        while self.held:
            future, call = self.held.pop()
            future.set_result(call())


def test_few_blocks_are_handed_out_at_a_time_and_may_come_in_any_order(
    tmp_path: Path, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest block first: the layout is still that of the first one."""
    newest, module_of_sweep = NewestFirst(), sys.modules["tcpdynamics.solvers.sweeps.sweep"]
    real = module_of_sweep.wait

    def wait(pending: Any, **options: Any) -> Any:
        newest.run()
        return real(pending, **options)

    monkeypatch.setattr(module_of_sweep, "wait", wait)
    sweep(module.work, module.GRID, block=24, executor=newest, in_flight=4, store=tmp_path / "x.zarr")
    assert newest.most == 4
    sweep(module.work, module.GRID, block=24, store=tmp_path / "y.zarr")
    assert content(tmp_path / "x.zarr") == content(tmp_path / "y.zarr")


def test_a_worker_that_dies_stops_the_sweep_and_loses_nothing_else(tmp_path: Path, module: Any) -> None:
    grid = {"a": np.arange(6.0)}
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
        pytest.raises(DynamicsError, match=r"a worker failed: BrokenProcessPool.*finished blocks are kept"),
    ):
        sweep(module.die, grid, block=1, executor=processes, in_flight=1, store=tmp_path / "x.zarr")
    assert explain(tmp_path / "x.zarr").done == 3
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        with pytest.raises(DynamicsError, match="work must be a function of a module"):
            sweep(lambda block: block, grid, executor=processes)


@given(bad=st.sets(st.integers(0, 29)), block=st.integers(1, 31))
@settings(max_examples=60, deadline=None)
def test_only_the_points_at_fault_fail(bad: set[int], block: int) -> None:
    def work(values: dict[str, Any]) -> dict[str, Any]:
        values["x"][:] += 0.0  # its own to change
        for x in values["x"]:
            if x in bad:
                raise DomainError(f"{x:g} is out") if x % 2 else RuntimeError(f"no luck with {x:g}")
        return {"square": values["x"] ** 2, "count": values["x"].astype(int)}

    result = sweep(work, {"x": np.arange(30.0)}, block=block)
    good = np.array([x not in bad for x in range(30)])
    assert ((result.status == 0).values == good).all()
    told = [
        ({"x": float(x)}, f"DomainError: {x} is out" if x % 2 else f"RuntimeError: no luck with {x}")
        for x in sorted(bad)
    ]
    assert failures(result) == told
    assert all(result.status.values[x] == (1 if x % 2 else 12) for x in bad)
    if len(bad) < 30:
        np.testing.assert_array_equal(result.square.values[good], np.arange(30.0)[good] ** 2)
        assert np.isnan(result.square.values[~good]).all() and (result["count"].values[~good] == 0).all()
    else:
        assert set(result.data_vars) == {"status", "failure_point", "failure_reason"}
    if bad:
        with pytest.raises(DynamicsError, match=r"is out|no luck with"):
            sweep(work, {"x": np.arange(30.0)}, block=block, throw=True)


def test_one_bad_point_costs_few_calls() -> None:
    calls = []

    def work(values: dict[str, Any]) -> dict[str, Any]:
        calls.append(values["x"].size)
        if (values["x"] == 700).any():
            raise ValueError
        return {"y": values["x"]}

    result = sweep(work, {"x": np.arange(1024.0)}, block=1024)
    assert len(calls) == 2 * 10 + 1 and (result.status != 0).sum() == 1
    assert failures(result) == [({"x": 700.0}, "ValueError")]


def test_reasons_hold_no_addresses_and_are_short() -> None:
    def work(values: dict[str, Any]) -> dict[str, Any]:
        raise ValueError(f"{object()}\n  and\tmore {'x' * 1000}")

    ((_, text),) = failures(sweep(work, {"x": 1.0}))
    assert text.startswith("ValueError: <object object> and more xxx") and len(text) == 300


def test_a_status_of_the_works_own_is_kept() -> None:
    def work(values: dict[str, Any]) -> dict[str, Any]:
        return {"y": values["x"], "status": np.where(values["x"] > 1, 6, 0)}

    result = sweep(work, {"x": [1.0, 2.0]})
    assert failures(result) == [({"x": 2.0}, "the iteration did not converge")]


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_failed_points_can_be_tried_again(tmp_path: Path, name: str) -> None:
    """A disk that was away, then an interrupt; the second time only the block at fault and the rest are computed."""
    away, calls = [5.0, 9.0], []

    def work(values: dict[str, Any]) -> dict[str, Any]:
        calls.append(values["x"].tolist())
        if away and away[0] in values["x"]:
            raise OSError("the disk was away")
        if away and away[1] in values["x"]:
            raise KeyboardInterrupt
        return {"y": values["x"] ** 2}

    def run(store: Path, **more: Any) -> xr.Dataset:
        return sweep(work, {"x": np.arange(10.0)}, block=2, version="1", store=store, **more)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / name)
    assert (explain(tmp_path / name).done, explain(tmp_path / name).failed) == (8, 1)
    away.clear()
    calls.clear()
    result = run(tmp_path / name, retry=True)
    assert calls == [[4.0, 5.0], [8.0, 9.0]] and (result.status == 0).all() and "failure_reason" not in result
    result.close()
    run(tmp_path / f"unbroken.{name}")
    assert content(tmp_path / name) == content(tmp_path / f"unbroken.{name}")


def test_earlier_failures_are_raised_on_request(tmp_path: Path, module: Any) -> None:
    sweep(module.work, module.GRID, store=tmp_path / "x.zarr")
    with pytest.raises(DynamicsError, match=r"an earlier run had points that failed: ValueError: a is b; retry=True"):
        sweep(module.work, module.GRID, store=tmp_path / "x.zarr", throw=True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda n: {"y": np.zeros(n + 1)}, "one value a point: y has the dimensions"),
        (lambda n: {"y": 1.0}, "one value a point: y has the shape"),
        (lambda n: {"y": np.zeros((n, 2))}, "name further dimensions"),
        (lambda n: np.zeros(n), "a mapping of variables or a Dataset, got ndarray"),
        (lambda n: {"y": np.array(["a"] * n)}, "holds numbers and truth values"),
        (lambda n: xr.Dataset({"y": ("other", np.zeros(n))}), "a dimension 'point' of length"),
        (lambda n: {"x": np.zeros(n)}, "'x', which is a parameter"),
        (lambda n: {"a/b": np.zeros(n)}, "cannot be the name"),
        (lambda n: {"../y": np.zeros(n)}, "cannot be the name"),
        (lambda n: {"y": (("point", "x"), np.zeros((n, 2)))}, "a dimension that the grid has too"),
        (lambda n: {"y": (("point", "flow"), np.zeros((n, n)))}, "the same for all"),
        (lambda n: {"y": np.zeros(n)} if n == 4 else {"z": np.zeros(n)}, "the same for all"),
        (lambda n: {"y": np.zeros(n, int if n == 4 else float)}, "the same for all"),
        (lambda n: xr.Dataset({"y": (("point", "f"), np.zeros((n, 1)))}, {"f": [n]}), "the same coordinates"),
    ],
)
def test_work_that_gives_something_else_is_told(given: Any, told: str) -> None:
    with pytest.raises(DynamicsError, match=told):
        sweep(lambda values: given(values["x"].size), {"x": np.arange(7.0)}, block=4)


@pytest.mark.parametrize("block", [0, -1, 2.5, True])
def test_impossible_blocks_are_refused(block: Any) -> None:
    with pytest.raises(DomainError, match="block must be a whole number of points >= 1"):
        sweep(print, {"x": [1.0]}, block=block)


def test_names_that_results_use_are_refused() -> None:
    for name in ("point", "status", "time"):
        with pytest.raises(DomainError, match=name):
            sweep(print, {name: [1.0, 2.0]})


def test_progress_counts_points_and_guesses_the_rest(tmp_path: Path) -> None:
    told: list[tuple[int, int, float]] = []

    def work(values: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.01)
        return {"y": values["x"]}

    def note(done: int, points: int, left: float) -> None:
        told.append((done, points, left))
        if done == 6:
            raise KeyboardInterrupt

    for _ in range(2):
        try:
            sweep(work, {"x": np.arange(10.0)}, block=3, store=tmp_path / "x.zarr", progress=note)
        except KeyboardInterrupt:
            assert told[-1][0] == 6
    assert [done for done, _, _ in told] == [3, 6, 9, 10] and {points for _, points, _ in told} == {10}
    assert told[0][2] > told[1][2] >= 0.01 and told[-1][2] == 0.0


def test_sweeping_a_problem_gives_what_its_solver_gives(tmp_path: Path) -> None:
    chain = SubPacketFull(loss=np.linspace(0.05, 0.45, 21)).chain()
    direct = stationary(chain)
    result = sweep(sweep_of(chain, stationary), block=4, store=tmp_path / "x.zarr").load()
    np.testing.assert_allclose(
        result.probability.transpose(*direct.probability.dims).values, direct.probability.values, rtol=1e-14
    )
    assert result.attrs["model"] == direct.attrs["model"] and result.attrs["solver"] == "stationary"
    assert result.attrs["parameters"] == direct.attrs["parameters"]
    np.testing.assert_array_equal(result.state.values, direct.state.values)

    def mean(problem: Any) -> xr.DataArray:
        """One variable, with the status beside it."""
        found = stationary(problem)
        values = (found.probability * np.arange(found.sizes["state"])).sum("state")
        return values.rename("mean").assign_coords(status=found.status)

    # Out of its domain at one point: the others are not lost.
    p = sympy.Symbol("p")
    chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75, 0.3]})
    result = sweep(sweep_of(chain, stationary))
    assert [point for point, _ in failures(result)] == [{"p": 0.75}]
    assert [point for point, _ in failures(sweep(sweep_of(chain, mean)))] == [{"p": 0.75}]


def test_sweeping_a_model() -> None:
    """A closed form of a dataclass, with one of its fields an array."""
    model = PftkFull(rtt=[0.1, 0.2], loss=[0.01, 0.02, 0.05], timeout=1.0)
    result = sweep(sweep_of(model, PftkFull.throughput), block=2)
    expected = model.throughput()
    (name,) = set(result.data_vars) - {"status"}
    np.testing.assert_allclose(result[name].transpose(*expected.dims).values, expected.values, rtol=1e-14)
    assert result.attrs["model"] == "PftkFull"
    with pytest.raises(TypeError, match="a problem with parameters or a model, got int"):
        sweep_of(3, stationary)


def test_initial_values_span_dimensions_too() -> None:
    from tcpdynamics.solvers.equations import compile_system
    from tcpdynamics.solvers.problems import ODE

    w, r = sympy.symbols("w r")
    ode = ODE(rhs={"w": r * w}, parameters={"r": [1.0, 2.0]}, start={"w": np.array([0.1, 0.2, 0.3])})

    def slope(problem: Any) -> xr.Dataset:
        system = compile_system(problem)
        return xr.Dataset({"slope": (system.grid.dims, system.grid.unflatten(system.slope(system.start_values())[0]))})

    result = sweep(sweep_of(ode, slope), block=2)
    assert set(result.slope.dims) == {"r", "start_w"}
    np.testing.assert_allclose(result.slope.sel(r=2.0, start_w=0.3), 0.6)


def test_what_changes_a_fingerprint(module: Any, tmp_path: Path) -> None:
    base = partial(module.work, wait=1.0)
    same = fingerprint(partial(module.work, wait=1.0))
    assert fingerprint(base) == same
    for other in (partial(module.work, wait=2.0), partial(module.work), module.work, partial(module.die, wait=1.0)):
        assert fingerprint(other) != same
    (tmp_path / "code/swept_work.py").write_text(MODULE.replace("np.sin", "np.cos"))
    import linecache

    linecache.clearcache()
    edited = importlib.reload(module)
    assert fingerprint(partial(edited.work, wait=1.0)) != same
    assert fingerprint(partial(edited.work, wait=1.0), source=False) == fingerprint(base, source=False)
    array = np.arange(5.0)
    assert fingerprint(xr.DataArray(array, dims="x")) != fingerprint(xr.DataArray(array, dims="y"))
    assert fingerprint({"a": 1}) != fingerprint({"a": True}) != fingerprint(("a", 1))
    assert fingerprint({1, 2, 3}) == fingerprint({3, 2, 1})
    x = sympy.Symbol("x")
    assert fingerprint(x**2 + 1) == fingerprint(1 + x * x) != fingerprint(x**3)
    for number in (1, 2):
        assert fingerprint(_holding(number)) == fingerprint(_holding(number))
    assert fingerprint(_holding(1)) != fingerprint(_holding(2))


def _holding(number: int) -> Any:
    def work(values: dict[str, Any]) -> dict[str, Any]:
        return {"y": values["x"] * number}

    return work


def test_a_store_begun_with_another_text_of_the_function_is_refused(tmp_path: Path) -> None:
    grid = {"x": np.arange(3.0)}
    sweep(_holding(1), grid, store=tmp_path / "x.zarr")
    with pytest.raises(StoreError, match=r"the text or the settings of .* differ; give another name"):
        sweep(_holding(2), grid, store=tmp_path / "x.zarr")


def test_quantities_are_swept_in_the_unit_of_their_field() -> None:
    pint = pytest.importorskip("pint")
    ureg = pint.UnitRegistry()
    model = PftkFull(rtt=np.array([100, 200]) * ureg.ms, loss=0.01, timeout=1.0 * ureg.s)
    result = sweep(sweep_of(model, PftkFull.throughput))
    plain = sweep(sweep_of(PftkFull(rtt=[0.1, 0.2], loss=0.01, timeout=1.0), PftkFull.throughput))
    np.testing.assert_allclose(result.throughput.values, plain.throughput.values, rtol=1e-14)
    np.testing.assert_allclose(result.rtt.values, [0.1, 0.2])
    assert '"rtt": ["100 millisecond", "200 millisecond"]' in result.attrs["parameters"]
    assert '"timeout": "1.0 second"' in result.attrs["parameters"]
    for value in (model.rtt, model.timeout, xr.DataArray(model.rtt, dims="rtt")):
        with pytest.raises(DomainError, match=r"rtt is a quantity in .*second; give plain numbers in SI units"):
            sweep(lambda block: block, {"rtt": value})


def test_values_per_flow_stay_in_the_model() -> None:
    capacity = per_flow([10.0, 15.0])
    model = LotkaVolterraWindows(flows=2, epsilon=[1, 1.95], capacity=capacity)
    result = sweep(sweep_of(model, spectral_abscissa), block=1)
    assert result.spectral_abscissa.dims == ("epsilon",)
    np.testing.assert_allclose(result.spectral_abscissa.values, spectral_abscissa(model).values, rtol=1e-12)
    swept = per_flow([10.0, xr.DataArray([15.0, 20.0], dims="second")])
    with pytest.raises(DomainError, match="capacity varies over second beside flow; sweep fields that are"):
        sweep(sweep_of(LotkaVolterraWindows(flows=2, capacity=swept), spectral_abscissa))


@pytest.mark.parametrize("code", [-1, 255, 256, 300])
def test_a_status_that_is_no_code_is_refused(code: int) -> None:
    with pytest.raises(DynamicsError, match=f"work gave the status {code}; give codes from 0 to 254"):
        sweep(lambda block: {"y": block["x"], "status": np.where(block["x"] > 1, code, 0)}, {"x": [1.0, 2.0]})


def test_results_that_do_not_fit_in_memory_are_refused_beforehand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first block, which tells how large they are; a store of Zarr holds them."""

    def work(block: dict[str, Any]) -> dict[str, Any]:
        return {"y": (("point", "state"), np.broadcast_to(1.0, (len(block["x"]), 1000)))}

    grid = {"x": np.arange(2_000_000.0)}
    with pytest.raises(LimitError, match=r"2,000,000 points of 8,000 bytes each need about 16 GB of memory, at most 8"):
        sweep(work, grid, block=10)
    with pytest.raises(StoreError, match=r"would hold 16 GB, and NetCDF files are put together in memory"):
        sweep(work, grid, block=10, store=tmp_path / "x.nc")
    monkeypatch.setenv("TCPDYNAMICS_MAX_MEMORY", "1e6")
    with ThreadPoolExecutor(1) as threads:
        more: dict[str, Any] = {"block": 10, "executor": threads, "store": tmp_path / "x.zarr"}
        with pytest.raises(LimitError, match="the results of 20 blocks of 10 points, 8,000 bytes each, need about"):
            sweep(work, {"x": np.arange(300.0)}, in_flight=20, **more)
        assert not list(tmp_path.iterdir())
        sweep(work, {"x": np.arange(300.0)}, in_flight=2, **more)


def test_few_results_wait_for_a_slow_first_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that come before the layout is known count among those that are handed out."""
    most, module_of_sweep = [], sys.modules["tcpdynamics.solvers.sweeps.sweep"]
    late = NewestFirst()
    real = module_of_sweep.wait

    def wait(pending: Any, **options: Any) -> Any:
        """Everything but the first block finishes; that one once nothing else is left to do."""
        most.append(len(pending))
        while len(late.held) > 1:
            future, call = late.held.pop()
            future.set_result(call())
        if not any(future.done() for future in pending):
            late.run()
        return real(pending, **options)

    monkeypatch.setattr(module_of_sweep, "wait", wait)
    done: list[float] = []

    def work(block: dict[str, Any]) -> dict[str, Any]:
        done.append(block["x"][0])
        return {"y": block["x"]}

    sweep(work, {"x": np.arange(20.0)}, block=1, executor=late, in_flight=4)
    assert done.index(0.0) == 3 and len(done) == 20 and max(most) == 4


def test_blocks_of_large_problems_are_small() -> None:
    """By default; 300 states take 5.8 MB of matrices a point. A model counts as its problem does."""
    model = LotkaVolterraWindows(flows=300, epsilon=np.linspace(1.0, 2.0, 1_000_000))
    for problem in (model, model.ode()):
        work = sweep_of(problem, spectral_abscissa)
        assert work.bytes_per_point == 64 * 300**2
        blocks = cut({"epsilon": model.epsilon}, bytes_per_point=work.bytes_per_point)
        assert math.prod(blocks.tile) == 44
    small = sweep_of(LotkaVolterraWindows(flows=2, epsilon=model.epsilon), spectral_abscissa)
    assert cut(small.parameters, bytes_per_point=small.bytes_per_point).tile == (15_625,)
    with pytest.raises(LimitError, match=r"1,000,000 points of 300 states need about 10 GB of memory, at most 8 GB"):
        spectral_abscissa(model)


def test_a_block_that_does_not_fit_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a solver refuses for want of memory is no failed point as long as smaller parts fit."""
    model = LotkaVolterraWindows(flows=3, epsilon=np.linspace(1.0, 1.5, 40))
    expected = sweep(sweep_of(model, spectral_abscissa), block=40)
    monkeypatch.setenv("TCPDYNAMICS_MAX_MEMORY", "3000")
    result = sweep(sweep_of(model, spectral_abscissa), block=40)
    np.testing.assert_array_equal(result.spectral_abscissa.values, expected.spectral_abscissa.values)
    assert (result.status == 0).all()


#: Says when a block is done, then waits to be interrupted in the middle of the next one.
INTERRUPTED = """
import sys, time
from tcpdynamics.solvers.sweeps.sweep import sweep

def work(block):
    if block["x"][0] == 4:
        print("waiting", flush=True)
        while True:
            time.sleep(0.01)
    return {"y": block["x"]}

try:
    sweep(work, {"x": [float(i) for i in range(10)]}, block=2, store=sys.argv[1], version="1")
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_an_interrupt_keeps_finished_blocks(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / name)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert process.wait(60) == 0
    report = explain(tmp_path / name, verify=True)
    assert (report.done, report.blocks_done, report.damaged) == (4, 2, ())


def forced(points: int) -> ODE:
    """Growth at so many rates."""
    rate, w = sympy.symbols("rate w")
    return ODE(rhs={"w": rate * w}, parameters={"rate": np.linspace(-2, -1, points)}, start={"w": 1.0})


def test_a_sweep_is_refused_as_a_whole_before_its_first_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block alone would be allowed; a sweep may do ten times what a request may."""
    work = sweep_of(forced(6400), trajectory, times=np.linspace(0, 1, 51))
    each = 20.0 * 51  # what `trajectory` expects of a point
    blocks: list[int] = []
    for share, refused in ((0.099, True), (0.101, False)):
        monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", repr(share * 6400 * each))
        done = partial(sweep, work, store=tmp_path / "x.zarr", progress=lambda *about: blocks.append(about[0]))
        if refused:
            with pytest.raises(LimitError, match=r"400 times .* need about .* are allowed in a sweep; ask for"):
                done()
            assert not blocks and not any(tmp_path.iterdir())
        else:
            assert not done().status.values.any()
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", "1")  # there is nothing left to be done
    assert not sweep(work, store=tmp_path / "x.zarr").status.values.any()


def test_a_million_points_of_an_hour_in_all_are_begun_and_of_a_year_are_not(tmp_path: Path) -> None:
    problem, ticks = forced(1_000_000), np.linspace(0, 1, 101)

    def stop(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(sweep_of(problem, trajectory, times=ticks), store=tmp_path / "a.zarr", block=10, progress=stop)
    with pytest.raises(LimitError, match="allowed in a sweep"):
        sweep(sweep_of(problem, trajectory, times=np.linspace(0, 1, 10_000_000)), store=tmp_path / "b.zarr")


def test_a_sample_of_a_grid_has_its_points() -> None:
    grid = {"a": np.arange(5.0), "b": np.arange(7), "c": 3.0}
    sample = cut(grid, block=4).sample(20)
    assert {k: v.shape for k, v in sample.items()} == dict.fromkeys("abc", (20,))
    assert len(set(sample["a"])) == 5 and len(set(sample["b"])) > 4 and set(sample["c"]) == {3.0}
    assert cut({"c": 2.0}).sample(1)["c"].tolist() == [2.0]
