"""Stores: what they hold is plain Zarr or NetCDF, no crash hurts them, and nothing foreign is overwritten."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tcpdynamics.solvers import StoreError, explain, sweep
from tcpdynamics.solvers.sweeps.zarr_format import (
    array_json,
    chunk_bytes,
    chunk_name,
    chunk_size,
    chunk_values,
    group_json,
    text_bytes,
)

GRID = {
    "a": np.arange(1.0, 6.0),
    "b": xr.DataArray([1, 2, 3], dims="row", coords={"row": [10, 20, 30]}),
    "k": 2.5,
}


def work(block: dict[str, Any]) -> dict[str, Any]:
    """Numbers of every kind; the point (4, 2) fails."""
    a, b = block["a"], block["b"]
    if ((a == 4) & (b == 2)).any():
        raise ValueError("four and two")
    both = (("point", "flow"), np.stack([a, a * b], axis=1), {"units": "packet", "long_name": "two numbers"})
    return {"sum": a + b * block["k"], "both": both, "whole": b * 2, "large": a > 2, "root": a * 1j}


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, or the one file."""
    if folder.is_file():
        return {"": folder.read_bytes()}
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


@given(
    values=hnp.arrays(
        dtype=st.sampled_from(
            [np.float64, np.float32, np.int64, np.int16, np.uint8, np.bool_, np.complex128]
        ),
        shape=hnp.array_shapes(min_dims=0, max_dims=3, max_side=7),
    ),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_zarr_reads_what_is_written(tmp_path_factory: Any, values: Any, data: Any) -> None:
    """The zarr package is the judge of chunks and metadata written by hand."""
    path = tmp_path_factory.mktemp("zarr") / "x.zarr"
    chunk = [data.draw(st.integers(1, n)) for n in values.shape]
    dims = [f"d{i}" for i in range(values.ndim)]
    head = array_json(values.shape, chunk, values.dtype, dims, {"units": "1", "flags": np.arange(2)})
    files = {"v/zarr.json": head, "zarr.json": group_json({"model": "m"}, {"v": head})}
    for place in np.ndindex(*(-(-n // c) for n, c in zip(values.shape, chunk, strict=True))):
        window = tuple(slice(i * c, (i + 1) * c) for i, c in zip(place, chunk, strict=True))
        files[f"v/{chunk_name(place)}"] = packed = chunk_bytes(values[window], chunk, values.dtype.type(0))
        assert len(packed) == chunk_size(chunk, values.dtype)
        back = chunk_values(packed, chunk, values.dtype)
        np.testing.assert_array_equal(back[tuple(slice(0, n) for n in values[window].shape)], values[window])
    for name, packed in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(packed)
    with xr.open_zarr(path, chunks=None) as found:
        assert found.v.dims == tuple(dims) and found.v.dtype == values.dtype
        assert found.v.attrs == {"units": "1", "flags": [0, 1]}
        np.testing.assert_array_equal(found.v.values, values)


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1))
@settings(max_examples=30, deadline=None)
def test_zarr_reads_text(tmp_path_factory: Any, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("zarr") / "t"
    path.mkdir()
    (path / "zarr.json").write_bytes(array_json([len(texts)], [len(texts)], None, ["d"], {}))
    (path / "c.0").write_bytes(text_bytes(texts))
    array: Any = zarr.open_array(path, mode="r")
    assert [str(t) for t in array[:]] == texts


def test_a_damaged_chunk_is_noticed_when_it_is_read(tmp_path: Path) -> None:
    result = sweep(work, GRID, store=tmp_path / "x.zarr", block=6)
    file = tmp_path / "x.zarr/sum/c.0.0"
    packed = bytearray(file.read_bytes())
    packed[3] ^= 1
    file.write_bytes(packed)
    with pytest.raises(ValueError, match="checksum"):
        result.load()


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_stores_give_back_what_memory_holds(tmp_path: Path, name: str) -> None:
    expected = sweep(work, GRID, block=6)
    for found in (
        sweep(work, GRID, block=6, store=tmp_path / name) for _ in range(2)
    ):  # the second time: as it is
        found = found.load()
        if name == "x.nc":
            found["root"] = (found.root_real + 1j * found.root_imag).assign_attrs(expected.root.attrs)
            found = found.drop_vars(["root_real", "root_imag"])
        xr.testing.assert_identical(found, expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_anyone_can_read_the_files(tmp_path: Path) -> None:
    sweep(work, GRID, block=6, store=tmp_path / "x.zarr")
    with xr.open_zarr(tmp_path / "x.zarr", chunks=None) as data:
        assert set(data.coords) == {"a", "b", "k", "row"}
        assert data.both.sel(a=5, row=30).values.tolist() == [5, 15]
    sweep(work, GRID, block=6, store=tmp_path / "x.nc")
    with xr.open_dataset(tmp_path / "x.nc", engine="h5netcdf") as data:
        assert data["sum"].sel(a=5, row=30).item() == 12.5


class Killed(BaseException):
    """In place of a signal."""


class Crash:
    """Stops the program at one of its file operations: before it, after it, or half way through what it writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, when: str) -> None:
        self.left, self.when = at, when
        for name in ("replace", "rename", "makedirs"):
            monkeypatch.setattr(os, name, self.wrapped(getattr(os, name)))
        monkeypatch.setattr(shutil, "rmtree", self.wrapped(shutil.rmtree))
        for name in ("unlink", "write_bytes"):
            monkeypatch.setattr(Path, name, self.wrapped(getattr(Path, name)))

    def wrapped(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            mine = self.left == 0  # operations call each other
            if mine and self.when == "before":
                raise Killed
            if mine and self.when == "half" and isinstance(args[-1], bytes):
                operation(args[0], args[-1][: len(args[-1]) // 2])
                raise Killed
            result = operation(*args, **kwargs)
            if mine:
                raise Killed
            return result

        return run


@pytest.mark.parametrize(
    ("name", "stride"),
    [("x.zarr", 2), ("x.nc", 5), *(pytest.param(n, 1, marks=pytest.mark.slow) for n in ("x.zarr", "x.nc"))],
)
def test_no_moment_to_die_hurts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, stride: int
) -> None:
    """Die at each file operation in turn, resume, and compare all bytes with an unbroken run."""
    calls: list[int] = []

    def counted(block: dict[str, Any]) -> dict[str, Any]:
        calls.append(len(block["a"]))
        found = work(block)
        return {"both": found["both"], "whole": found["whole"]}

    def run(folder: Path) -> None:
        grid = {"a": [1.0, 4.0, 5.0], "b": GRID["b"], "k": 1.0}
        sweep(counted, grid, store=folder / name, block=3, version="1")

    (tmp_path / "unbroken").mkdir()
    run(tmp_path / "unbroken")
    unbroken, once = content(tmp_path / "unbroken"), sum(calls)
    for offset, when in enumerate(("before", "after", "half")):
        for at in itertools.count(1 + offset % stride, stride):
            folder = tmp_path / f"{when}{at}"
            folder.mkdir()
            died = False
            calls.clear()
            with monkeypatch.context() as patch:
                crash = Crash(patch, at, when)
                try:
                    run(folder)
                except Killed:
                    died = True
            if (folder / "x.zarr").exists():
                explain(folder / "x.zarr")
            run(folder)
            assert content(folder) == unbroken, f"{when} operation {at}"
            # Once more the block in hand, at most: 3 points, or 3 + 1 + 2 + 1 + 1 for the one that is halved.
            assert sum(calls) <= once + 8
            shutil.rmtree(folder)
            if not died:
                assert crash.left > 0
                break
        assert at > 20


@pytest.mark.parametrize("name", ["x.zarr", "x.nc.parts"])
def test_truncated_stores_are_refused(tmp_path: Path, name: str) -> None:
    """Every file in turn: cut short, emptied, removed. Nothing is changed, or the block is computed again."""
    store = tmp_path / name.removesuffix(".parts")
    with pytest.raises(Killed):
        sweep(work, GRID, store=store, block=6, progress=_stop_after(2))
    before = content(tmp_path / name)
    assert 10 < len(before)
    for file in before:
        for cut in (-1, 0, None):
            path = tmp_path / name / file
            path.unlink() if cut is None else path.write_bytes(before[file][:cut])
            hurt = content(tmp_path)
            if file.startswith("status/c.") and cut is None:
                continue_from = explain(store).done
                assert continue_from == explain(store).points - explain(store).missing
            elif file.startswith("status/reasons"):
                pass  # read at the end
            else:
                with pytest.raises(StoreError) as caught:
                    sweep(work, GRID, store=store, block=6)
                assert _is_one_sentence(str(caught.value)) and str(tmp_path) in str(caught.value)
                assert content(tmp_path) == hurt
            path.write_bytes(before[file])
    sweep(work, GRID, store=store, block=6)


def test_a_truncated_netcdf_file_is_refused(tmp_path: Path) -> None:
    store = tmp_path / "x.nc"
    sweep(work, GRID, store=store, block=6)
    whole = store.read_bytes()
    for keep in (0, 100, len(whole) // 2, len(whole) - 1):
        store.write_bytes(whole[:keep])
        for use in (lambda: sweep(work, GRID, store=store, block=6), lambda: explain(store)):
            with pytest.raises(StoreError, match="not a whole NetCDF file") as caught:
                use()
            assert _is_one_sentence(str(caught.value))
        assert store.read_bytes() == whole[:keep] and not (tmp_path / "x.nc.parts").exists()


def other(block: dict[str, Any]) -> dict[str, Any]:
    """Another function."""
    return {"sum": block["a"]}


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
@pytest.mark.parametrize("done", [1, 5], ids=["begun", "complete"])
def test_another_sweeps_store_is_refused(tmp_path: Path, name: str, done: int) -> None:
    store = tmp_path / name
    about = {"model": "Logistic", "parameters": '{"gamma": 1}'}
    given: dict[str, Any] = {"work": work, "parameters": GRID, "block": 6, "about": about, "version": "1"}
    if done == 1:
        with pytest.raises(Killed):
            sweep(**given, store=store, progress=_stop_after(1))
    else:
        sweep(**given, store=store)
    before = content(tmp_path)
    for change, told in (
        ({"work": other}, "its function is .*work, this one's is .*other"),
        ({"about": {**about, "model": "Lotka"}}, "its model is Logistic, this one's is Lotka"),
        ({"about": {**about, "version": "0.0.1"}}, "its version of tcpdynamics is"),
        ({"about": {**about, "parameters": "{}"}}, "what it says about itself differs"),
        ({"version": "2"}, "its version of the function is 1, this one's is 2"),
        ({"parameters": {**GRID, "a": [1.0, 2.0]}}, "its dimensions are|its dimensions is a 5 x row 3"),
        ({"parameters": {**GRID, "a": [1.0, 2.0, 3.0, 4.0, 5.5]}}, "the parameter values differ"),
        ({"parameters": {**GRID, "k": 2.6}}, "the parameter values differ"),
        ({"block": 3}, "its blocks are"),
        ({"resume": False}, "is there already"),
    ):
        with pytest.raises(StoreError, match=told) as caught:
            sweep(**(given | change), store=store)
        assert _is_one_sentence(str(caught.value))
        assert content(tmp_path) == before


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.zarr").mkdir()
    (tmp_path / "file.zarr").write_text("mine")
    (tmp_path / "text.nc").write_text("mine")
    (tmp_path / "folder.nc").mkdir()
    (tmp_path / "mine.nc.parts").mkdir()
    (tmp_path / "mine.nc.parts/diary.txt").write_text("mine")
    xr.Dataset({"x": 1.0}).to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    zarr.create_group(tmp_path / "plain.zarr", attributes={"model": "m"})
    before = content(tmp_path)
    for name, told in (
        ("empty.zarr", "is not a Zarr store"),
        ("file.zarr", "is not a Zarr store"),
        ("text.nc", "not a whole NetCDF file"),
        ("folder.nc", "not a whole NetCDF file"),
        ("mine.nc", "parts is not a Zarr store"),
        ("plain.nc", "was not written by a sweep"),
        ("plain.zarr", "was not written by a sweep"),
        ("no/x.zarr", "the folder .* does not exist; create it first"),
        ("no/x.nc", "the folder .* does not exist; create it first"),
        ("x.csv", "a name that ends in .zarr or .nc"),
        ("", "a name that ends in .zarr or .nc"),
    ):
        with pytest.raises(StoreError, match=told) as caught:
            sweep(work, GRID, store=tmp_path / name)
        assert _is_one_sentence(str(caught.value))
        assert content(tmp_path) == before


def test_a_store_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    told = []

    def again(*_: float) -> None:
        with pytest.raises(StoreError) as caught:
            sweep(work, GRID, store=tmp_path / "x.zarr", block=6)
        told.append(str(caught.value))

    sweep(work, GRID, store=tmp_path / "x.zarr", block=6, progress=again)
    assert len(told) == 3 and all("is being written by another process" in text for text in told)
    sweep(work, GRID, store=tmp_path / "x.zarr", block=6)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was finished before is kept."""

    def full(at: int) -> Callable[..., Any]:
        left = iter(range(at))
        replace = os.replace

        def run(*args: Any) -> None:
            if next(left, None) is None:
                raise OSError(28, "No space left on device")
            replace(*args)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full(8))
        with pytest.raises(
            StoreError, match=r"cannot write .*: No space left on device; the blocks before it are kept"
        ):
            sweep(work, GRID, store=tmp_path / "x.zarr", block=6)
    assert explain(tmp_path / "x.zarr").blocks_done == 1
    xr.testing.assert_identical(
        sweep(work, GRID, store=tmp_path / "x.zarr", block=6).load(), sweep(work, GRID, block=6)
    )


def _stop_after(blocks: int) -> Callable[..., None]:
    left: Iterator[int] = iter(range(blocks - 1))

    def stop(*_: float) -> None:
        if next(left, None) is None:
            raise Killed

    return stop


def _is_one_sentence(text: str) -> bool:
    return "\n" not in text and len(text) < 500 and "Traceback" not in text


#: Run in an interpreter of its own: there a fork is safe, as no library has started threads.
RACE = """
from multiprocessing import get_context
import sys
from tcpdynamics.solvers.sweeps.sweep import sweep

def work(block):
    return {"sum": block["a"] + block["b"]}

def alone(store):
    sweep(work, {"a": [1.0, 2.0, 3.0, 4.0], "b": [5.0, 6.0, 7.0]}, store=store, block=3, version="1")

def racer(store, barrier, told):
    barrier.wait()
    try:
        alone(store)
        told.put("")
    except BaseException as error:
        told.put(f"{type(error).__name__}: {error}")

context = get_context("fork")
folder, name = sys.argv[1:]
alone(f"{folder}/alone/{name}")
for number in range(10):
    barrier, told = context.Barrier(2), context.Queue()
    pair = [context.Process(target=racer, args=(f"{folder}/{number}/{name}", barrier, told)) for _ in range(2)]
    for process in pair:
        process.start()
    answers = [told.get(timeout=60) for _ in pair]
    for process in pair:
        process.join()
    print("|".join(answers).replace(chr(10), " "))
"""


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_processes_that_start_together_do_not_hurt_a_new_store(tmp_path: Path, name: str) -> None:
    """One writes; the other is refused or comes later and finds the same."""
    for folder in ("alone", *map(str, range(10))):
        (tmp_path / folder).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RACE, str(tmp_path), name],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    rounds = [line.split("|") for line in done.stdout.splitlines()]
    assert len(rounds) == 10, done.stderr
    for number, answers in enumerate(rounds):
        assert "" in answers
        assert all(not a or "is being written by another process; wait for it" in a for a in answers)
        assert content(tmp_path / str(number)) == content(tmp_path / "alone")


def test_what_dead_processes_left_is_removed(tmp_path: Path) -> None:
    for stale in ("x.zarr.unfinished", "x.zarr.unfinished-1-0123abcd"):
        (tmp_path / stale / "status").mkdir(parents=True)
    (tmp_path / "x.zarr.unfinished-mine").mkdir()
    with pytest.raises(Killed):
        sweep(work, GRID, store=tmp_path / "x.zarr", block=6, progress=_stop_after(2))
    (tmp_path / "x.zarr/status/unfinished-1-0123abcd").write_bytes(b"half")
    sweep(work, GRID, store=tmp_path / "x.zarr", block=6)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.zarr", "x.zarr.unfinished-mine"]
    assert [p.name for p in (tmp_path / "x.zarr/status").iterdir() if "unfinished" in p.name] == []


@pytest.mark.parametrize(("file", "done"), [("status/c.0.0", 9), ("status/c.0.0", 1), ("sum/c.0.0", 1)])
def test_a_flipped_byte_is_noticed_when_a_store_is_taken_up(tmp_path: Path, file: str, done: int) -> None:
    store = tmp_path / "x.zarr"
    if done == 1:
        with pytest.raises(Killed):
            sweep(work, GRID, store=store, block=6, progress=_stop_after(1))
    else:
        sweep(work, GRID, store=store, block=6)
    packed = bytearray((store / file).read_bytes())
    packed[0] ^= 1
    (store / file).write_bytes(packed)
    with pytest.raises(StoreError, match=r"checksum is wrong\); remove .*status/c.0.0") as caught:
        sweep(work, GRID, store=store, block=6)
    assert _is_one_sentence(str(caught.value))
    (store / "status/c.0.0").unlink()
    xr.testing.assert_identical(sweep(work, GRID, store=store, block=6).load(), sweep(work, GRID, block=6))
