"""Machine code that a wheel brings along: used where it fits, and only there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: A package of one function, which says whether it was compiled in this process.
MODULE = """
from tcpdynamics import shipped
from pathlib import Path
shipped.FOLDER, shipped.TARGET = Path({folder!r}), Path({folder!r}, "target.json")
from numba.core import event
from tcpdynamics.compiled import kept_with

class Compilations(event.Listener):
    def on_start(self, event): print("compiled")
    def on_end(self, event): pass

event.register("numba:compile", Compilations())

@kept_with(__file__)
def double(x):
    return 2 * x + {more}

print(double(21))
"""
MAGIC = """
import json
from numba.core.registry import cpu_target
print(json.dumps(cpu_target.target_context.codegen().magic_tuple()))
"""


def run(module: Path, cache: Path, **env: str) -> list[str]:
    """What the module prints, with a cache of its own."""
    setting = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(module.parent)} | env
    done = subprocess.run([sys.executable, str(module)], env=setting, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module whose code is in a folder beside it, as `python -m tcpdynamics.shipped` leaves it."""
    from tcpdynamics.shipped import LEVEL

    root = tmp_path_factory.mktemp("site")
    module, folder = root / "doubled.py", root / "machine_code"
    module.write_text(MODULE.format(folder=str(folder), more=0))
    assert run(module, folder, **LEVEL) == ["compiled", "42"]
    magic = subprocess.run([sys.executable, "-c", MAGIC], env=os.environ | LEVEL, capture_output=True, text=True)
    (folder / "target.json").write_text(magic.stdout)
    return module


def test_code_that_fits_is_not_compiled(brought: Path, tmp_path: Path) -> None:
    assert run(brought, tmp_path) == ["42"]


def test_another_source_is_compiled(brought: Path, tmp_path: Path) -> None:
    other = brought.with_name("other.py")
    other.write_text(MODULE.format(folder=str(brought.with_name("machine_code")), more=1))
    assert run(other, tmp_path) == ["compiled", "43"]


@pytest.mark.parametrize("setting", [{"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_CPU_NAME": "generic"}])
def test_code_is_compiled_where_the_user_chooses_how(brought: Path, tmp_path: Path, setting: dict[str, str]) -> None:
    assert run(brought, tmp_path, **setting) == ["compiled", "42"]


def test_code_for_another_system_is_compiled(brought: Path, tmp_path: Path) -> None:
    target = brought.with_name("machine_code") / "target.json"
    kept = target.read_text()
    target.write_text(json.dumps(["aarch64-apple-darwin", *json.loads(kept)[1:]]))
    try:
        assert run(brought, tmp_path) == ["compiled", "42"]
    finally:
        target.write_text(kept)
