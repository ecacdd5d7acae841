"""Where compiled code is kept, also where Numba finds no place of its own."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import FunctionCache

from tcpdynamics import compiled

ROOT = Path(__file__).resolve().parents[1]

SOLVE = (
    "import numpy as np; from tcpdynamics.solvers.markov.dense import stationary_dense; "
    "print(stationary_dense(np.array([[0.5, 0.5], [0.25, 0.75]])).round(6).tolist())"
)


def _copy_package(site: Path) -> None:
    """A copy in which no folder for compiled code can be made."""
    shutil.copytree(ROOT / "src/tcpdynamics", site / "tcpdynamics", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path for path in site.rglob("*") if path.is_dir()]:
        (folder / "__pycache__").touch()


def _solve(site: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    """A chain solved by a copy of the package, by a process that has no home."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_", "PYTHONPATH"))}
    # Not even root can make a folder where a file stands.
    blocked = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONDONTWRITEBYTECODE": "1"}
    setting = keep | blocked | {"TMPDIR": str(temporary), "PYTHONPATH": str(site)}
    return subprocess.run([sys.executable, "-c", SOLVE], env=setting, capture_output=True, text=True)


def test_an_installation_that_is_read_only_keeps_compiled_code_in_a_private_folder(tmp_path: Path) -> None:
    site, temporary = tmp_path / "site", tmp_path / "tmp"
    temporary.mkdir()
    _copy_package(site)
    first, second = _solve(site, temporary), _solve(site, temporary)
    for done in (first, second):
        assert (done.returncode, done.stdout.strip()) == (0, "[0.333333, 0.666667]"), done.stderr
    (line,) = first.stderr.splitlines()
    assert "NUMBA_CACHE_DIR" in line and second.stderr == ""  # said once
    (folder,) = temporary.glob("tcpdynamics-*")
    assert folder.stat().st_mode & 0o077 == 0
    assert list(folder.rglob("*.nbc"))


@pytest.mark.slow
def test_without_a_home_no_folder_is_made_where_the_process_stands(tmp_path: Path) -> None:
    """Of a user who is in no list of users, the home folder is "~", a name below the current folder."""
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    setting = keep | {"HOME": "~", "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(tmp_path / "site")}
    (tmp_path / "tmp").mkdir()
    (tmp_path / "here").mkdir()
    _copy_package(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-c", SOLVE], env=setting, cwd=tmp_path / "here", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "here").iterdir()) and list((tmp_path / "tmp").rglob("*.nbc"))


@pytest.mark.parametrize(
    "planted", ["folder", *(pytest.param(name, marks=pytest.mark.slow) for name in ("link", "file"))]
)
def test_a_folder_that_others_could_fill_is_not_used(planted: str, tmp_path: Path) -> None:
    """Cached code is unpickled and run: a name that somebody else took first must not be trusted."""
    site, temporary = tmp_path / "site", tmp_path / "tmp"
    temporary.mkdir()
    _copy_package(site)
    name = temporary / f"tcpdynamics-{os.getuid()}"
    if planted == "folder":
        name.mkdir()
        name.chmod(0o777)
    elif planted == "link":
        (tmp_path / "elsewhere").mkdir()
        name.symlink_to(tmp_path / "elsewhere")
    else:
        name.write_text("taken")
    done = _solve(site, temporary)
    assert (done.returncode, done.stdout.strip()) == (0, "[0.333333, 0.666667]"), done.stderr
    assert not list(name.rglob("*.nbc"))
    assert not list((tmp_path / "elsewhere").rglob("*"))


@pytest.mark.slow
def test_an_edit_of_another_file_that_is_compiled_in_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "callee.py").write_text("from numba import njit\n@njit\ndef value():\n    return 1\n")
    (tmp_path / "caller.py").write_text(
        "from pathlib import Path\nfrom tcpdynamics.compiled import kept_on_disk, stamp_of\n"
        "from callee import value\ndef twice():\n    return 2 * value()\n"
        "twice = kept_on_disk(twice, stamp_of(Path(__file__).parent.glob('*.py')))\n"
        "print(twice(), len(twice.stats.cache_hits))\n"
    )
    setting = os.environ | {
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }  # fmt: skip

    def run() -> str:
        command = [sys.executable, "-c", "import caller"]
        return subprocess.run(command, env=setting, capture_output=True, text=True, check=True).stdout

    assert run().split() == ["2", "0"]
    assert run().split() == ["2", "1"]
    (tmp_path / "callee.py").write_text("from numba import njit\n@njit\ndef value():\n    return 21\n")
    assert run().split() == ["42", "0"]


@pytest.mark.slow
def test_two_checkouts_of_the_same_sources_share_machine_code(tmp_path: Path) -> None:
    text = (
        "from pathlib import Path\nfrom tcpdynamics.compiled import kept_on_disk, stamp_of\n"
        "def value():\n    return 1\nvalue = kept_on_disk(value, stamp_of([Path(__file__)]))\n"
        "print(value(), len(value.stats.cache_hits))\n"
    )
    for checkout, source, printed in (
        ("first", text, "1 0"), ("second", text, "1 1"), ("edited", text.replace("return 1", "return 2"), "2 0"),
        ("second", text, "1 1"),
    ):  # fmt: skip
        folder = tmp_path / checkout
        folder.mkdir(exist_ok=True)
        (folder / "shared_module.py").write_text(source)
        setting = os.environ | {
            "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{folder}", "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", "import shared_module"], env=setting, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == printed, checkout


def _compiled_in(entry: Any) -> set[Path]:
    """Files of all that is compiled into a function, followed through the names that each of them reads."""
    pending, reached, files = [entry], set(), set()
    while pending:
        part = pending.pop()
        function = getattr(part, "py_func", getattr(part, "_defn", None))
        if function is None or id(part) in reached:
            continue
        reached.add(id(part))
        names = dict(function.__globals__) | inspect.getclosurevars(function).nonlocals
        used = [names.get(name) for name in (*function.__code__.co_names, *function.__code__.co_freevars)]
        modules = [value for value in used if inspect.ismodule(value) and value.__name__.startswith("tcpdynamics")]
        files |= {Path(function.__code__.co_filename), *(Path(str(module.__file__)) for module in modules)}
        pending += [getattr(module, name, None) for module in modules for name in function.__code__.co_names]
        pending += used
    return {path.resolve() for path in files}


def _kept_on_disk(folder: str) -> dict[str, Any]:
    """Functions of a folder's modules whose machine code is kept, by name."""
    functions: dict[str, Any] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if not re.search(r"\b(kept_on_disk|kept_with|jit)\b", path.read_text()):
            continue
        place = path.relative_to(ROOT).with_suffix("").parts
        module = importlib.import_module(".".join(("tcpdynamics", *place)).removesuffix(".__init__"))
        kept = [f for f in vars(module).values() if isinstance(getattr(f, "_cache", None), FunctionCache)]
        functions |= {f"{f.__module__}.{f.__name__}": f for f in kept}
    return functions


@pytest.mark.parametrize(("folder", "least"), [("solvers", 50), ("validation", 5)])
def test_an_edit_of_any_file_that_is_compiled_in_changes_the_stamp(folder: str, least: int) -> None:
    """Numba itself looks at the date of one file: machine code would be stale where a function of another changed."""
    functions = _kept_on_disk(folder)
    assert len(functions) >= least
    for name, function in functions.items():
        stamp = function._cache._cache_file._source_stamp
        assert isinstance(stamp, str), f"{name} has no stamp"
        files = set().union(*(paths for part, paths in compiled.STAMPED.items() if part in stamp))
        assert _compiled_in(function) <= files, name


def test_compilation_is_said_once_and_only_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled._say_once.cache_clear()
    monkeypatch.delattr(sys, "ps1", raising=False)
    compiled.say_to_people("tcpdynamics.solvers.markov.kernels")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    for module in ("numpy", "tcpdynamics.solvers.markov.kernels", "tcpdynamics.validation.packet"):
        compiled.say_to_people(module)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("tcpdynamics: compiling")
    compiled._say_once.cache_clear()
