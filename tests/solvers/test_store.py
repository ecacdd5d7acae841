"""Stores: what they hold is plain Zarr or NetCDF, no crash hurts them, and nothing foreign is overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tcpdynamics.solvers import StoreError, explain, sweep, sweep_of
from tcpdynamics.solvers.sweeps.headers import array_header, examine, in_bytes
from tcpdynamics.solvers.sweeps.layout import NUMBERS, Array
from tcpdynamics.solvers.sweeps.records import read_array

GRID = {"a": np.arange(1.0, 6.0), "b": xr.DataArray([1, 2, 3], dims="row", coords={"row": [10, 20, 30]}), "k": 2.5}


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
            [np.float64, np.float32, np.float16, np.int64, np.int16, np.uint8, np.bool_, np.complex128, np.complex64]
        ),
        shape=hnp.array_shapes(min_dims=1, max_dims=3, max_side=5),
    ),
    block=st.integers(1, 6),
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=4),
    numbers=st.integers(0, 2**32),
)
@settings(max_examples=20, deadline=None)
def test_anyone_reads_what_is_written(
    tmp_path_factory: Any, values: Any, block: int, texts: list[str], numbers: int
) -> None:
    """xarray and the zarr package judge numbers of every type, text, attributes; our reader of labels agrees."""
    path = tmp_path_factory.mktemp("zarr") / "x.zarr"
    inner = [f"d{i}" for i in range(1, values.ndim)]

    def work(block: dict[str, Any]) -> Any:
        out = xr.Dataset({"v": (["point", *inner], values[block["i"]], {"units": "1", "flags": np.arange(2)})})
        out["text"] = ("point", "word"), np.zeros((len(block["i"]), len(texts)))
        return out.assign_coords(word=np.array(texts), number=("word", np.arange(len(texts)) * numbers))

    result = sweep(work, {"i": np.arange(len(values))}, store=path, block=block)
    with xr.open_zarr(path, chunks=None) as data:
        assert data.v.dims == ("i", *inner) and data.v.dtype == values.dtype
        assert data.v.attrs == {"units": "1", "flags": [0, 1]}
        np.testing.assert_array_equal(data.v.values, values)
        assert data.word.values.tolist() == texts
    np.testing.assert_array_equal(result.v.values, values)
    arrays = examine(path).arrays
    assert read_array(path, "word", arrays["word"]).tolist() == texts
    np.testing.assert_array_equal(read_array(path, "number", arrays["number"]), np.arange(len(texts)) * numbers)
    group: Any = zarr.open_group(path, mode="r")
    np.testing.assert_array_equal(group["v"][...], values)


@pytest.mark.parametrize("data_type", [*sorted(NUMBERS), "string"])
def test_headers_are_worded_as_the_zarr_package_words_them(data_type: str) -> None:
    """So that a header of any of its versions is compared with the same text; NaN where a type has it."""
    dtype = None if data_type == "string" else np.dtype(data_type).newbyteorder("<")
    fills = [""] if dtype is None else [dtype.type(0), dtype.type(1)]
    if dtype is not None and dtype.kind in "fc":
        fills.append(dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan))
    endian = None if dtype is None or dtype.itemsize == 1 else "little"
    for fill, dims in [(fill, dims) for fill in fills for dims in ((), ("a",), ("a", "b c"))]:
        files: dict[str, Any] = {}
        shape = (3,) * len(dims)
        zarr.create_array(
            zarr.storage.MemoryStore(files),
            shape=shape,
            chunks=shape,
            dtype=str if dtype is None else dtype,
            fill_value=fill,
            serializer=zarr.codecs.VLenUTF8Codec() if dtype is None else zarr.codecs.BytesCodec(endian=endian),
            compressors=[zarr.codecs.Crc32cCodec()],
            filters=None,
            chunk_key_encoding={"name": "default", "separator": "."},
            dimension_names=dims,
            attributes={"units": "1"},
        )
        made = array_header(Array(shape, shape, dtype, dims, {"units": "1"}, fill))
        assert in_bytes(made) == files["zarr.json"].to_bytes()


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
    for found in (sweep(work, GRID, block=6, store=tmp_path / name) for _ in range(2)):  # the second time: as it is
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


#: Run in an interpreter of its own, where a fork is safe. Each run is a process that kills itself (signal 9) in front
#: of one of its operations on files, which the interpreter announces to an audit hook.
KILLS = """
import json, os, pathlib, random, shutil, signal, sys, warnings
import h5netcdf, h5py, numcodecs, xarray.backends, zarr.codecs, zarr.storage
from tcpdynamics.solvers.sweeps.explain import explain
from tcpdynamics.solvers.sweeps.sweep import sweep

warnings.simplefilter("error")
folder, name, moments = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = []

def work(block):
    calls.append(len(block["a"]))
    if (block["a"] == 4).any():
        raise ValueError("four")
    return {"sum": block["a"] + block["b"], "whole": block["b"]}

def run(place):
    sweep(work, {"a": [1.0, 4.0, 5.0], "b": [1, 2, 3]}, store=place / name, block=3, version="1")

def apart(action):
    child = os.fork()
    if child == 0:
        try:
            action()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]

def content(place):
    return {str(f.relative_to(place)): f.read_bytes() for f in sorted(place.rglob("*")) if f.is_file()}

def counted(place, last, note):
    count = 0
    def hook(event, given):
        nonlocal count
        writes = event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR)
        if not (writes or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir")):
            return
        if isinstance(given[0], int) or str(place) not in os.fsdecode(given[0]):
            return
        count += 1
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    run(place)
    note.write_text(json.dumps([count, sum(calls)]))

(folder / "unbroken").mkdir()
note = folder / "note"
assert apart(lambda: counted(folder / "unbroken", 0, note)) == 0
count, once = json.loads(note.read_text())
expected = content(folder / "unbroken")
drawn = range(1, count + 1)
if moments < count:
    drawn = sorted(random.Random(name).sample(drawn, moments))
for last in drawn:
    place = folder / str(last)
    place.mkdir()
    assert apart(lambda: counted(place, last, note)) == signal.SIGKILL, last

    def resume():
        done = explain(place / name).done if (place / name).exists() else 0
        run(place)
        if name.endswith(".zarr"):
            assert explain(place / name, verify=True).verified and sum(calls) <= once - done
    assert apart(resume) == 0, last
    assert content(place) == expected, last
    shutil.rmtree(place)
print(count, len(drawn))
"""


@pytest.mark.parametrize(
    ("name", "moments"),
    [("x.zarr", 1), ("x.nc", 1), *(pytest.param(n, 1000, marks=pytest.mark.slow) for n in ("x.zarr", "x.nc"))],
)
def test_no_moment_to_be_killed_hurts(tmp_path: Path, name: str, moments: int) -> None:
    """Killed in front of drawn operations on files (slow: of each in turn), resumed: the bytes of an unbroken run."""
    done = subprocess.run(
        [sys.executable, "-c", KILLS, str(tmp_path), name, str(moments)],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-2000:]
    count, drawn = map(int, done.stdout.split())
    assert count > 30 and drawn == min(count, moments)


SMALL: dict[str, Any] = {"a": [1.0, 4.0, 5.0], "b": [1, 2, 3]}


def small(block: dict[str, Any]) -> dict[str, Any]:
    """One number a point; a = 4 fails."""
    if (block["a"] == 4).any():
        raise ValueError("four")
    return {"sum": block["a"] + block["b"]}


def run_small(store: Path, **more: Any) -> xr.Dataset:
    return sweep(small, SMALL, block=3, version="1", store=store, **more)


def _flipped(before: bytes) -> bytes:
    return before[: len(before) // 2] + bytes([before[len(before) // 2] ^ 16]) + before[len(before) // 2 + 1 :]


#: What a loss of power, a bad disk or a person leaves of a file.
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda before: None,
    "empty": lambda before: b"",
    "cut": lambda before: before[:-1],
    "zeros": lambda before: bytes(len(before)),
    "flipped": _flipped,
    "longer": lambda before: before + b"x",
}


def _is_skeleton(file: str) -> bool:
    """Whether the bytes belong to headers or coordinates rather than to a block or the table of failures."""
    if file.startswith(("failure_", "status/records/c")):
        return False
    return file.endswith(("zarr.json", "skeleton.json")) or file.startswith(("a/", "b/"))


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["x.zarr", "x.nc.parts"])
def test_every_damaged_file_is_noticed(tmp_path: Path, name: str, every: bool) -> None:
    """Each file in turn is torn: headers are refused and stay as they are; blocks are computed again, and said so."""
    store = tmp_path / name.removesuffix(".parts")
    if name == "x.zarr":
        run_small(store)
    else:
        with pytest.raises(Killed):
            run_small(store, progress=_stop_after(2))
    before = content(tmp_path / name)
    assert len(before) > 12
    for number, file in enumerate(before):
        kinds = list(DAMAGES) if every else [list(DAMAGES)[number % len(DAMAGES)]]
        for kind in kinds:
            path, after = tmp_path / name / file, DAMAGES[kind](before[file])
            path.unlink() if after is None else path.write_bytes(after)
            hurt = content(tmp_path)
            block = file.startswith(("sum/c", "status/c", "status/records/c."))
            lost = kind == "missing" and file.startswith("status/records/c.")
            if _is_skeleton(file):
                for use in (lambda: run_small(store), lambda: explain(store)):
                    with pytest.raises(StoreError) as caught:
                        use()
                    assert _is_one_sentence(str(caught.value)) and str(tmp_path) in str(caught.value)
                assert content(tmp_path) == hurt
                path.write_bytes(before[file])
                continue
            report = explain(store, verify=True)
            assert len(report.damaged) == (block and not lost) and report.verified == (not report.damaged)
            assert block <= report.resumable and (report.done + report.missing == 9)
            if name == "x.zarr":
                with pytest.warns(UserWarning, match="1 damaged block of 3") if block and not lost else nullcontext():
                    run_small(store)
                assert content(tmp_path / name) == before, (file, kind)
                assert explain(store, verify=True).verified
            else:
                path.write_bytes(before[file])
    run_small(store)


@pytest.mark.parametrize("file", ["sum/c.{}.0", "status/records/c.{}.0.json"])
def test_blocks_in_each_others_place_are_noticed(tmp_path: Path, file: str) -> None:
    """Whole chunks and whole records, but exchanged, or from another sweep of the same shape."""
    store = tmp_path / "x.zarr"
    run_small(store)
    before = content(store)
    one, other = store / file.format(0), store / file.format(2)
    one.write_bytes(before[file.format(2)])
    other.write_bytes(before[file.format(0)])
    assert len(explain(store, verify=True).damaged) == 2
    with pytest.warns(UserWarning, match="2 damaged blocks of 3, computed again now: "):
        run_small(store)
    assert content(store) == before
    sweep(small, SMALL | {"b": [1, 2, 4]}, block=3, version="1", store=tmp_path / "y.zarr")
    shutil.copyfile(tmp_path / "y.zarr" / file.format(0), one)
    assert len(explain(store, verify=True).damaged) == 1
    with pytest.warns(UserWarning, match="1 damaged block of 3"):
        run_small(store)
    assert content(store) == before


def test_what_is_finished_has_reached_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file and folder of a store, and the folder around it, after it was written last."""
    synced: dict[int, int] = {}
    fsync = os.fsync

    def noted(handle: int) -> None:
        fsync(handle)
        synced[os.fstat(handle).st_ino] = os.fstat(handle).st_mtime_ns

    monkeypatch.setattr(os, "fsync", noted)
    with pytest.raises(Killed):
        run_small(tmp_path / "x.zarr", progress=_stop_after(2))
    for _ in range(2):
        for path in [*tmp_path.rglob("*"), tmp_path]:
            assert synced[path.stat().st_ino] == path.stat().st_mtime_ns, path
        run_small(tmp_path / "x.zarr")
    run_small(tmp_path / "x.nc")
    assert synced[(tmp_path / "x.nc").stat().st_ino] and synced[tmp_path.stat().st_ino]


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
        ({"about": {**about, "parameters": "{}"}}, "its parameter 'gamma' is 1, this one's is not given"),
        ({"about": {**about, "parameters": '{"gamma": 2}'}}, "its parameter 'gamma' is 1, this one's is 2"),
        ({"about": {**about, "parameters": "["}}, "what it says about itself differs"),
        ({"about": {**about, "settings": '{"rtol": 1}'}}, "its setting 'rtol' is not given, this one's is 1"),
        ({"about": {**about, "who": "me"}}, "what it says about itself differs"),
        ({"version": "2"}, "its version of the function is 1, this one's is 2"),
        ({"parameters": {**GRID, "a": [1.0, 2.0]}}, "its dimensions are|its dimensions is a 5 x row 3"),
        (
            {"parameters": {**GRID, "a": [1.0, 2.0, 3.0, 4.0, 5.5]}},
            "its parameter 'a' is '1 to 5, 5 values', this one's is '1 to 5.5, 5 values'",
        ),
        ({"parameters": {**GRID, "a": [1.0, 2.0, 3.5, 4.0, 5.0]}}, "the parameter values differ"),
        ({"parameters": {**GRID, "k": 2.6}}, "its parameter 'k' is '2.5', this one's is '2.6'"),
        ({"parameters": {"a": GRID["a"], "b": GRID["b"], "j": 2.5}}, "it has the parameter 'k', this one has not"),
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
    """Wherever it happens; what was finished before is kept."""
    replace, calls = os.replace, []

    def full(room: float) -> Callable[..., Any]:
        calls.clear()

        def run(*args: Any) -> None:
            calls.append(args)
            if len(calls) > room:
                raise OSError(28, "No space left on device")
            replace(*args)

        return run

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full(np.inf))
        run_small(tmp_path / "unbroken.zarr")
    kept = set()
    for room in range(0, len(calls), 3):
        store = tmp_path / f"{room}.zarr"
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", full(room))
            with pytest.raises(StoreError, match=r"cannot write .*: No space left on device") as caught:
                run_small(store)
            assert _is_one_sentence(str(caught.value))
        if store.exists():
            assert "the blocks before it are kept" in str(caught.value)
            assert explain(store, verify=True).damaged == ()
            kept.add(explain(store).blocks_done)
        run_small(store)
        assert content(store) == content(tmp_path / "unbroken.zarr")
    assert kept >= {0, 3}


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
folder, name = sys.argv[1:3]
alone(f"{folder}/alone/{name}")
for number in range(int(sys.argv[3])):
    barrier, told = context.Barrier(2), context.Queue()
    pair = [context.Process(target=racer, args=(f"{folder}/{number}/{name}", barrier, told)) for _ in range(2)]
    for process in pair:
        process.start()
    answers = [told.get(timeout=60) for _ in pair]
    for process in pair:
        process.join()
    print("|".join(answers).replace(chr(10), " "))
"""


@pytest.mark.parametrize("races", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_processes_that_start_together_do_not_hurt_a_new_store(tmp_path: Path, name: str, races: int) -> None:
    """One writes; the other is refused or comes later and finds the same."""
    for folder in ("alone", *map(str, range(races))):
        (tmp_path / folder).mkdir()
    done = subprocess.run(
        [sys.executable, "-c", RACE, str(tmp_path), name, str(races)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    rounds = [line.split("|") for line in done.stdout.splitlines()]
    assert len(rounds) == races, done.stderr
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
    for folder in (".", "status", "status/records", "sum"):
        (tmp_path / "x.zarr" / folder / f"c.0.{'0123456789abcdef' * 2}.partial").write_bytes(b"half")
    sweep(work, GRID, store=tmp_path / "x.zarr", block=6)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.zarr", "x.zarr.unfinished-mine"]
    assert list((tmp_path / "x.zarr").rglob("*.partial")) == []


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_a_store_of_another_problem_says_which_parameter_differs(tmp_path: Path, name: str) -> None:
    @dataclass(frozen=True)
    class Growth:
        rate: Any = 1.0
        gain: Any = 0.5

    def margin(model: Growth, scale: float = 1.0) -> xr.Dataset:
        return xr.Dataset({"margin": model.rate * model.gain * scale})

    def begin(gain: float, rate: list[float], **settings: Any) -> None:
        sweep(sweep_of(Growth(rate, gain), margin, **settings), store=tmp_path / name)

    begin(0.5, [0.1, 0.2])
    for change, told in (
        (lambda: begin(0.7, [0.1, 0.2]), "its parameter 'gain' is 0.5, this one's is 0.7"),
        (lambda: begin(0.5, [0.1, 0.3]), r"its parameter 'rate' is \[0.1, 0.2\], this one's is \[0.1, 0.3\]"),
        (lambda: begin(0.5, [0.1, 0.2], scale=2.0), "its setting 'scale' is not given, this one's is 2.0"),
    ):
        with pytest.raises(StoreError, match=told):
            change()
