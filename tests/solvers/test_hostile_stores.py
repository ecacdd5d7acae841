"""Stores from elsewhere: nothing that they declare is run, followed, waited for or allocated; no damage is silent."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import shutil
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray as xr

from tcpdynamics.solvers import StoreError, explain, sweep
from tcpdynamics.solvers.problems import DynamicsError
from tcpdynamics.solvers.sweeps.layout import RECORDS
from tcpdynamics.solvers.sweeps.netcdf_rules import seal
from tcpdynamics.solvers.sweeps.records import FIRST, SKELETON, hash_json, sealed

GRID: dict[str, Any] = {"a": [1.0, 4.0, 5.0], "b": xr.DataArray([1, 2, 3], {"word": ("b", ["x", "y", "zz"])}, ("b",))}


def work(block: dict[str, Any]) -> xr.Dataset:
    """Two variables, one with a labelled dimension; a = 4 fails."""
    if (block["a"] == 4).any():
        raise ValueError("four")
    both = np.stack([block["a"], block["a"] * block["b"]], axis=1)
    return xr.Dataset(
        {"sum": ("point", block["a"] + block["b"]), "both": (("point", "flow"), both)}, {"flow": ["one", "two"]}
    )


def run(store: Path) -> xr.Dataset:
    """The sweep that the stores here are of."""
    return sweep(work, GRID, store=store, block=3, version="1", about={"model": "M", "solver": "s"})


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete store, one that was begun, and a NetCDF file."""
    folder = tmp_path_factory.mktemp("templates")
    run(folder / "whole.zarr")
    run(folder / "whole.nc")

    def stop(*_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(work, GRID, store=folder / "begun.zarr", block=3, version="1", about={"model": "M", "solver": "s"},
              progress=stop)  # fmt: skip
    return folder


def refused(store: Path, told: str = ".") -> None:
    """Both readers give one short sentence."""
    for use in (lambda: explain(store), lambda: explain(store, verify=True), lambda: run(store)):
        with pytest.raises(StoreError, match=told) as caught:
            use()
        text = str(caught.value)
        assert "\n" not in text and len(text) < 700 and text.isprintable()


class Evil:
    """Leaves a trace where it is unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, (os.environ["TRACE"],))


#: A version 2 array whose compressor is pickle: numcodecs before 0.16.6 unpickled it.
PICKLED = {
    "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": "", "order": "C", "filters": [{"id": "vlen-utf8"}],
    "compressor": {"id": "pickle", "protocol": 4}, "zarr_format": 2, "dimension_separator": ".",
    "attributes": {"_ARRAY_DIMENSIONS": ["a"]},
}  # fmt: skip


def _edited(head: Any, keys: tuple[Any, ...], value: Any) -> Any:
    inner = head
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return head


INLINE = ("consolidated_metadata", "metadata")

#: Edits of the group's header: keys and a new value.
ROOTS: list[tuple[tuple[Any, ...], Any]] = [
    ((*INLINE, "sum"), PICKLED),
    ((*INLINE, "x"), PICKLED),
    ((*INLINE, "failure_reason"), PICKLED),
    ((*INLINE, "failure_reason", "codecs"), [{"name": "numcodecs.pickle"}, {"name": "crc32c"}]),
    ((*INLINE, "sum", "codecs"), [{"name": "bytes"}, {"name": "gzip", "configuration": {"level": 5}}]),
    ((*INLINE, "sum", "shape"), [10**12, 3]),
    (("consolidated_metadata",), {"kind": "reference", "must_understand": True, "metadata": {}}),
    (("consolidated_metadata",), [PICKLED]),
    (("zarr_format",), 2),
    (("zarr_format",), True),
    (("node_type",), "array"),
    (("storage",), "elsewhere"),
    (("attributes",), []),
    (("attributes", "model"), ["x" * 100_000]),
    (("attributes", "sweep"), "[" * 100_000),
    (("attributes", "sweep"), "{}"),
    (("attributes", "more"), json.loads("[" * 100 + "]" * 100)),
    (("attributes", "coordinates"), "../../etc"),
]

#: Edits of what the header says of the sweep.
SWEEPS: list[tuple[tuple[Any, ...], Any]] = [
    (("format",), 1),
    (("format",), "x" * 10_000),
    (("dims",), {"a": 10**6, "b": 10**6}),
    (("dims",), {"a": 10**400}),
    (("dims",), [3, 3]),
    (("dims", "a"), -3),
    (("dims", "a"), 3.0),
    (("dims", "a"), True),
    (("block",), [0, 0]),
    (("block",), [1, 10**9]),
    (("variables",), {"../../sum": {"dtype": "<f8", "dims": [], "shape": [], "attrs": {}}}),
    (("variables",), {"/sum": {"dtype": "<f8", "dims": [], "shape": [], "attrs": {}}}),
    (("variables", "sum", "dtype"), "O"),
    (("variables", "sum", "dtype"), "<f8,O"),
    (("variables", "sum", "dtype"), "<M8[s]"),
    (("variables", "sum", "dtype"), "(" * 1000),
    (("variables", "sum", "shape"), [10**12]),
    (("variables", "both", "shape"), [10**9]),
    (("coords",), None),
    (("labels",), ["status"]),
    (("labels",), ["..", "a"]),
    (("labels",), 7),
]

#: Edits of an array's header.
HEADS: list[tuple[tuple[Any, ...], Any]] = [
    (("data_type",), "float32"),
    (("data_type",), "variable_length_bytes"),
    (("data_type",), {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}),
    (("codecs",), [{"name": "numcodecs.pickle", "configuration": {}}]),
    (("codecs",), [{"name": "bytes", "configuration": {"endian": "big"}}, {"name": "crc32c"}]),
    (("codecs",), [{"name": "sharding_indexed", "configuration": {}}]),
    (("codecs",), []),
    (("chunk_key_encoding",), {"name": "v2", "configuration": {"separator": "/"}}),
    (("chunk_grid", "configuration", "chunk_shape"), [1, 1]),
    (("storage_transformers",), [{"name": "x"}]),
    (("shape",), [10**6, 10**6]),
    (("fill_value",), {"pickle": "x"}),
    (("dimension_names",), [None, None]),
    (("zarr_format",), 2),
    (("attributes", "scale_factor"), 2.0),
]


@pytest.mark.parametrize("keys, value", ROOTS)
def test_headers_of_groups_that_no_sweep_writes(
    tmp_path: Path, templates: Path, monkeypatch: pytest.MonkeyPatch, keys: Any, value: Any
) -> None:
    monkeypatch.setenv("TRACE", str(tmp_path / "trace"))
    store = shutil.copytree(templates / "whole.zarr", tmp_path / "x.zarr")
    head = json.loads((store / "zarr.json").read_bytes())
    (store / "zarr.json").write_text(json.dumps(_edited(head, keys, copy.deepcopy(value))))
    for chunk in ("sum/0", "sum/0.0", "failure_reason/0", "failure_reason/c.0"):
        (store / chunk).write_bytes(pickle.dumps(Evil()))
    refused(store)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("keys, value", SWEEPS)
def test_headers_of_sweeps_that_no_sweep_writes(tmp_path: Path, templates: Path, keys: Any, value: Any) -> None:
    store = shutil.copytree(templates / "whole.zarr", tmp_path / "x.zarr")
    head = json.loads((store / "zarr.json").read_bytes())
    told = _edited(json.loads(head["attributes"]["sweep"]), keys, value)
    head["attributes"]["sweep"] = json.dumps(told)
    (store / "zarr.json").write_text(json.dumps(head))
    refused(store, "store format" if keys == ("format",) else ".")


@pytest.mark.parametrize("keys, value", HEADS)
@pytest.mark.parametrize("inline", [False, True], ids=["alone", "and inline"])
def test_headers_of_arrays_that_no_sweep_writes(
    tmp_path: Path, templates: Path, keys: Any, value: Any, inline: bool
) -> None:
    store = shutil.copytree(templates / "whole.zarr", tmp_path / "x.zarr")
    head = _edited(json.loads((store / "sum/zarr.json").read_bytes()), keys, value)
    (store / "sum/zarr.json").write_text(json.dumps(head))
    if inline:
        root = json.loads((store / "zarr.json").read_bytes())
        (store / "zarr.json").write_text(json.dumps(_edited(root, (*INLINE, "sum"), head)))
    refused(store)


#: Edits that are refused whatever the hashes of the headers say.
FORGED = [
    *HEADS[:-1],
    *(((key,), value) for key, value in [("fill_value", 3.0), ("fill_value", "NaN "), ("fill_value", True)]),
    *(((key,), value) for key, value in [("zarr_format", 3.0), ("attributes", []), ("more", 1)]),
]


@pytest.mark.parametrize("name", ["sum", "status", "a", "word"])
@pytest.mark.parametrize("keys, value", FORGED)
def test_headers_whose_hashes_are_made_to_fit_are_refused(
    tmp_path: Path, templates: Path, name: str, keys: Any, value: Any
) -> None:
    """Who knows how a store is sealed can seal any header."""
    store = shutil.copytree(templates / "whole.zarr", tmp_path / "x.zarr")
    head = _edited(json.loads((store / name / "zarr.json").read_bytes()), keys, copy.deepcopy(value))
    (store / name / "zarr.json").write_text(json.dumps(head))
    root = json.loads((store / "zarr.json").read_bytes())
    (store / "zarr.json").write_text(json.dumps(_edited(root, (*INLINE, name), head)))
    skeleton = json.loads((store / RECORDS / SKELETON).read_bytes())
    del skeleton["seal"]
    skeleton["heads"][name] = hash_json(head)
    (store / RECORDS / SKELETON).write_bytes(sealed(FIRST, skeleton)[0])
    # The type of a coordinate is known from its header alone; its values do not fit another one.
    with pytest.raises(StoreError, match=f"{name}/(zarr.json|c.0 has 28 bytes, 16 are expected)"):
        explain(store)


def _link(store: Path) -> None:
    (store / "sum/c.0.0").rename(store.parent / "elsewhere")
    (store / "sum/c.0.0").symlink_to(store.parent / "elsewhere")


def _folder_link(store: Path) -> None:
    (store / "sum").rename(store.parent / "elsewhere")
    (store / "sum").symlink_to(store.parent / "elsewhere")


def _head_link(store: Path) -> None:
    (store / "zarr.json").rename(store.parent / "elsewhere")
    (store / "zarr.json").symlink_to(store.parent / "elsewhere")


def _record_link(store: Path) -> None:
    (store / "status/records").rename(store.parent / "elsewhere")
    (store / "status/records").symlink_to(store.parent / "elsewhere")


def _pipe(name: str) -> Callable[[Path], None]:
    def edit(store: Path) -> None:
        (store / name).unlink()
        os.mkfifo(store / name)

    return edit


def _huge(name: str) -> Callable[[Path], None]:
    def edit(store: Path) -> None:
        with open(store / name, "r+b") as file:
            file.truncate(10**11)  # takes no room on the disk

    return edit


def _more(name: str, content: bytes = b"{}") -> Callable[[Path], None]:
    def edit(store: Path) -> None:
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_bytes(content)

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        _link, _folder_link, _head_link, _record_link, _pipe("sum/c.0.0"), _pipe("zarr.json"), _pipe("sum/zarr.json"),
        _pipe("status/records/skeleton.json"), _huge("zarr.json"), _huge("sum/zarr.json"), _huge("a/c.0"),
        _huge("word/c.0"), _huge("status/records/skeleton.json"), _more(".zgroup"), _more("sum/.zarray"),
        _more("other/zarr.json"), _more("sum/c/0/0"), _more("zarr.json", b"[" * 10**6), _more("a/c.0", b"\xff" * 28),
        _more("word/c.0", b"\xff" * 28), _more("zarr.json", b'{"a": ' + b"9" * 10**6 + b"}"),
        _more("zarr.json", b"\xff\xfe"), _more("zarr.json", b"null"),
    ],
)  # fmt: skip
def test_files_that_no_sweep_writes(tmp_path: Path, templates: Path, edit: Callable[[Path], None]) -> None:
    """Links, pipes (nobody waits for them), other formats, files of 100 GB that take no room."""
    store = shutil.copytree(templates / "whole.zarr", tmp_path / "x.zarr")
    edit(store)
    tracemalloc.start()
    refused(store)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e7


def test_what_is_not_a_folder_or_file_is_refused(tmp_path: Path, templates: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zarr", "w") as archive:
        for file in (templates / "whole.zarr").rglob("*"):
            archive.write(file, file.relative_to(templates / "whole.zarr"))
    os.mkfifo(tmp_path / "pipe.nc")
    for name in ("http://localhost/x.zarr", "s3://bucket/x.zarr", "zip::s3://b/x.zarr", "memory://x.zarr",
                 "/dev/zero", tmp_path / "pipe.nc", tmp_path / "x.zarr", tmp_path, "", "a\0b", "x" * 5000):  # fmt: skip
        with pytest.raises(StoreError) as caught:
            explain(name)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 700
    for name in ("x.zarr", "pipe.nc"):
        with pytest.raises(StoreError):
            run(tmp_path / name)
    for name in ("http://localhost/x.zarr", "s3://bucket/x.nc"):
        with pytest.raises(StoreError, match="is an address"):
            sweep(work, GRID, store=name)


def test_a_store_of_the_format_before_is_refused_by_its_name(tmp_path: Path, templates: Path) -> None:
    store = shutil.copytree(templates / "whole.zarr", tmp_path / "x.zarr")
    head = json.loads((store / "zarr.json").read_bytes())
    told = json.loads(head["attributes"]["sweep"])
    head["attributes"]["sweep"] = json.dumps({**told, "format": 1})
    (store / "zarr.json").write_text(json.dumps(head))
    refused(store, "has the store format 1, this version reads and writes 2; ")


def test_a_huge_store_takes_no_memory(tmp_path: Path) -> None:
    """1.9e9 points, of which one block is there."""

    def stop(*_: float) -> None:
        raise KeyboardInterrupt

    grid = {"a": np.arange(1900.0), "b": np.arange(1000.0), "c": np.arange(1000.0)}
    with pytest.raises(KeyboardInterrupt):
        sweep(lambda block: {"y": block["a"]}, grid, store=tmp_path / "x.zarr", block=1000, progress=stop)
    tracemalloc.start()
    report = explain(tmp_path / "x.zarr", verify=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (report.points, report.done, report.blocks) == (1_900_000_000, 1000, 1_900_000)
    assert peak < 2e7


# NetCDF files


def _bomb(file: Any) -> None:
    file.create_dataset("x", (8 * 10**8,), "f8", chunks=(10**6,), compression="gzip", fillvalue=1.0)


def _external(file: Any) -> None:
    file["x"] = h5py.ExternalLink("/etc/passwd", "/x")


def _soft(file: Any) -> None:
    file["x"] = h5py.SoftLink("/y")


def _stored_elsewhere(file: Any) -> None:
    file.create_dataset("x", (10,), "u1", external=[("/etc/passwd", 0, 10)])


def _virtual(file: Any) -> None:
    layout = h5py.VirtualLayout((10,), "f8")
    layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (10,))
    file.create_virtual_dataset("x", layout)


def _references(file: Any) -> None:
    file.create_dataset("x", (2,), h5py.ref_dtype)


def _ragged(file: Any) -> None:
    file.create_dataset("x", (2,), h5py.vlen_dtype(np.float64))


def _compound(file: Any) -> None:
    file.create_dataset("x", (2,), np.dtype([("p", "f8"), ("q", "i4")]))


def _group(file: Any) -> None:
    file.create_group("x")["loop"] = file["/"]


def _long_chunk(file: Any) -> None:
    file.create_dataset("x", (1,), "f8", maxshape=(None,), chunks=(5 * 10**8,), fillvalue=0.0)


def _wide_text(file: Any) -> None:
    file.create_dataset("x", (10**4,), "S10000000", chunks=(1,))


UNPACKED = {
    _bomb: "would unpack to 6,408,000,000, more than 100 times as many",
    _long_chunk: "would unpack to 4,000,000,008, more than 100 times as many",
    _wide_text: "need about 100 GB of memory, at most 8 GB are allowed",
}


@pytest.mark.parametrize(
    "edit",
    [_bomb, _external, _soft, _stored_elsewhere, _virtual, _references, _ragged, _compound, _group, _long_chunk,
     _wide_text],
)  # fmt: skip
@pytest.mark.parametrize("sealed", [False, True])
def test_netcdf_files_that_this_package_does_not_write(
    tmp_path: Path, edit: Callable[[Any], None], sealed: bool
) -> None:
    """Small files that unpack to gigabytes, or that point elsewhere."""
    path = tmp_path / "x.nc"
    with h5py.File(path, "w") as file:
        file.attrs["model"], file.attrs["version"] = "m", "1"
        edit(file)
    if sealed:
        path.write_bytes(path.read_bytes() + seal(path.read_bytes()))
    tracemalloc.start()
    refused(path, UNPACKED.get(edit, "."))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e7


@pytest.mark.parametrize("name", ["scale_factor", "add_offset", "_FillValue", "missing_value", "dtype"])
def test_attributes_that_change_values_are_refused(name: str) -> None:
    with pytest.raises(DynamicsError, match="by which readers change values"):
        sweep(lambda block: {"y": ("point", block["x"], {name: 2.0})}, {"x": [1.0, 2.0]})


def test_units_of_time_stay_numbers(tmp_path: Path) -> None:
    for name in ("x.zarr", "x.nc"):
        y = sweep(lambda b: {"y": ("point", b["x"], {"units": "seconds"})}, {"x": [1.5]}, store=tmp_path / name).y
        assert y.values.tolist() == [1.5] and y.attrs["units"] == "seconds"


# Fuzz


def _mutate(folder: Path, rng: random.Random) -> str:
    """One or two changes of a store's files."""
    changes = []
    for _ in range(rng.choice((1, 1, 2))):
        files = sorted(f for f in folder.rglob("*") if f.is_file())
        if not files:
            break
        file = rng.choice(files)
        content = bytearray(file.read_bytes())
        kind = rng.choice(("flip", "flip", "cut", "delete", "swap", "copy", "json", "json", "insert", "zeros"))
        changes.append(f"{kind} {file.relative_to(folder)}")
        if kind == "flip" and content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            file.write_bytes(content)
        elif kind == "cut":
            file.write_bytes(content[: rng.randrange(len(content) + 1)])
        elif kind == "delete":
            file.unlink()
        elif kind == "insert":
            at = rng.randrange(len(content) + 1)
            file.write_bytes(content[:at] + rng.randbytes(rng.randrange(1, 20)) + content[at:])
        elif kind == "zeros":
            at = rng.randrange(len(content) + 1)
            file.write_bytes(content[:at] + bytes(len(content) - at))
        elif kind in ("swap", "copy"):
            other = rng.choice(files)
            there = other.read_bytes()
            if kind == "swap":
                other.write_bytes(content)
            file.write_bytes(there)
        elif kind == "json" and file.suffix == ".json":
            try:
                file.write_text(json.dumps(_mutated(json.loads(content), rng)))
            except ValueError:
                pass
    return ", ".join(changes)


_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 3, 10**12, 10**400, 1.5, float("nan"), "", "sum", "../x", "x" * 5000, [], {}, [[]],
    [10**12], {"name": "gzip"}, "\x1b[2J", "\ud800",
)  # fmt: skip


def _mutated(value: Any, rng: random.Random) -> Any:
    """JSON with something deep inside replaced, removed or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        if key == "sweep" and isinstance(value[key], str) and rng.random() < 0.8:
            return {**value, key: json.dumps(_mutated(json.loads(value[key]), rng))}
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.1:
            return {**value, rng.choice(("x", "sum", "", "__proto__")): value[key]}
        return {**value, key: _mutated(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], _mutated(value[at], rng), *value[at + 1 :]]
    return rng.choice(_VALUES)


def _tried(templates: Path, folder: Path, names: list[str], seeds: Iterator[int]) -> dict[str, int]:
    """Change stores; each reader gives the right result or a StoreError of one sentence."""
    counts: dict[str, int] = {}
    expected = sweep(work, GRID, block=3, version="1", about={"model": "M", "solver": "s"})
    reports = {name: explain(templates / name) for name in names}
    for seed in seeds:
        rng = random.Random(seed)
        name = rng.choice(names)
        place = folder / "tried"
        place.mkdir()
        store = place / name
        if name.endswith(".zarr"):
            shutil.copytree(templates / name, store)
            label = _mutate(store, rng)
        else:
            shutil.copy(templates / name, store)
            label = _mutate(place, rng)
        for verify in (False, True):
            outcome = _explained(store, verify, reports[name], f"{seed}: {label}")
            counts[outcome] = counts.get(outcome, 0) + 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                result = run(store).load()
        except StoreError as error:
            assert len(str(error)) < 700 and "\n" not in str(error), (seed, label)
            counts["sweep refused"] = counts.get("sweep refused", 0) + 1
        else:
            assert result.identical(expected), (seed, label)
            assert explain(store, verify=True).verified and not explain(store).resumable
            counts["sweep right"] = counts.get("sweep right", 0) + 1
        shutil.rmtree(place)
    return counts


def _explained(store: Path, verify: bool, before: Any, label: str) -> str:
    try:
        report = explain(store, verify=verify)
    except StoreError as error:
        assert len(str(error)) < 700 and "\n" not in str(error), label
        return f"explain {verify} refused"
    assert (report.model, report.dims, report.parameters, report.variables) == (
        before.model, before.dims, before.parameters, before.variables), label  # fmt: skip
    assert report.done + report.missing == report.points == 9 and report.done <= before.done, label
    assert report.failed <= before.failed and len(str(report)) < 10_000, label
    return f"explain {verify} right"


def test_changed_stores_are_right_or_refused(templates: Path, tmp_path: Path) -> None:
    counts = _tried(templates, tmp_path, ["whole.zarr", "begun.zarr", "whole.nc"], iter(range(60)))
    assert min(counts.values()) > 5, counts


@pytest.mark.slow
def test_many_changed_stores_are_right_or_refused(templates: Path, tmp_path: Path) -> None:
    counts = _tried(templates, tmp_path, ["whole.zarr", "begun.zarr", "whole.nc"], iter(range(1000, 3000)))
    assert min(counts.values()) > 100, counts
