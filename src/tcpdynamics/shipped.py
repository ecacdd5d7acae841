"""Machine code that a wheel brings along: what first runs would compile, for most processors of today.

`make dist` writes it: `python -m tcpdynamics.shipped` compiles for the x86-64-v3 level (AVX2, of 2013 and later) what
a first simulation, trajectory and stability chart need. It is used where the user's own cache has nothing, the
processor has these instructions, and sources, Python and Numba are those of the build; each file lies in a folder that
is named after a hash of the sources. Else the code is compiled, as from a source tree.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("machine_code")
TARGET = FOLDER / "target.json"
#: What processors of the level have, in LLVM's names.
FEATURES = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
LEVEL = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in FEATURES)}
#: Commands whose code is brought along.
COMMANDS = (
    ("simulate", "single_flow"),
    ("simulate", "single_flow", "--set", "flows.0.rules=rfc", "--set", "flows.0.sender=sack"),
    ("trajectory", "lotka_volterra"),
    ("stability", "logistic-delayed", "--delay", "0.1:2:5"),
    ("stability", "t-refwa-continuous", "--phi", "0.1:3:5"),
)
_MAGIC = (
    "import json; from numba.core.registry import cpu_target; "
    "print(json.dumps(cpu_target.target_context.codegen().magic_tuple()))"
)


@cache
def _compiled_for() -> tuple[str, ...] | None:
    """The target of the code in `FOLDER`, as Numba names it; None where it does not run here or is not wanted."""
    from llvmlite import binding
    from numba import config

    if config.BOUNDSCHECK or config.CPU_NAME or not TARGET.exists():
        return None
    target = tuple(json.loads(TARGET.read_text(encoding="utf-8")))
    features = binding.get_host_cpu_features()
    if target[0] != binding.get_process_triple() or not all(features.get(name) for name in FEATURES):
        return None
    return target


def look_also_in(cache: Any, folder: str, stamp: str) -> None:
    """Let a cache of Numba's look into `FOLDER` where it has nothing of its own.

    Parameters
    ----------
    cache : numba.core.caching.FunctionCache
    folder : str
        The function's folder, named after its sources.
    stamp : str
        Hash of these sources.
    """
    from numba.core.caching import IndexDataCacheFile

    target = _compiled_for() if (FOLDER / folder).is_dir() else None
    if target is None:
        return
    file = IndexDataCacheFile(str(FOLDER / folder), cache._impl.filename_base, stamp)
    load_compiled_here = cache._load_overload

    def load(signature: Any, context: Any) -> Any:
        code = load_compiled_here(signature, context)
        if code is None:
            signature, _, bytecode = cache._index_key(signature, context.codegen())
            data = file.load((signature, target, bytecode))
            code = None if data is None else cache._impl.rebuild(context, data)
        return code

    cache._load_overload = load


def main() -> None:
    """Compile into `FOLDER`, in place of what is there: a minute."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | LEVEL | {"NUMBA_CACHE_DIR": folder}
        for command in COMMANDS:
            subprocess.run(
                [sys.executable, "-m", "tcpdynamics", *command], env=env, check=True, stdout=subprocess.DEVNULL
            )
        magic = subprocess.run([sys.executable, "-c", _MAGIC], env=env, check=True, capture_output=True, text=True)
        FOLDER.mkdir()
        for functions in Path(folder).iterdir():
            if len(functions.name) == 20 and not set(functions.name) - set("0123456789abcdef"):
                shutil.copytree(functions, FOLDER / functions.name)
    TARGET.write_text(magic.stdout, encoding="utf-8")
    size = sum(path.stat().st_size for path in FOLDER.rglob("*.nb?"))
    print(f"{FOLDER}: {size / 1e6:.1f} MB for {LEVEL['NUMBA_CPU_NAME']}")


if __name__ == "__main__":
    main()
