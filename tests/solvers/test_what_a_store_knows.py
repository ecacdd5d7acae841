# ruff: noqa: E501 (a program a line)
"""A store's fingerprint of a function changes with whatever its numbers hang on: one constant, in many places."""

import importlib
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcpdynamics.solvers.sweeps.fingerprint import fingerprint

HEAD = "import functools\nimport numpy as np\nfrom contextlib import contextmanager\n"
#: Where the constant @ stands -> the module, whose `work` uses it.
PLACES = {
    "global": "K = @\ndef work(b): return K",
    "entry of a large array": "K = np.zeros(2000); K[1000] = @\ndef work(b): return K[1000]",
    "helper of a helper": "K = @\ndef g(): return K\ndef h(): return g()\ndef work(b): return h()",
    "default": "def work(b, k=@): return k",
    "keyword default": "def h(*, k=@): return k\ndef work(b): return h()",
    "partial": "def h(b, k): return k\nwork = functools.partial(h, k=@)",
    "lambda": "h = lambda: @\ndef work(b): return h()",
    "captured": "def make(k):\n    def work(b): return k\n    return work\nwork = make(@)",
    "captured by a helper": "def make(k):\n    def h(): return k\n    def work(b): return h()\n    return work\nwork = make(@)",
    "class": "class C:\n    K = @\ndef work(b): return C.K",
    "method": "K = @\nclass C:\n    def f(self): return K\ndef work(b): return C().f()",
    "base class": "class B:\n    def f(self): return @\nclass C(B): pass\ndef work(b): return C().f()",
    "property": "K = @\nclass C:\n    @property\n    def f(self): return K\ndef work(b): return C().f",
    "bound method": "class C:\n    def __init__(self, k): self.k = k\n    def f(self, b): return self.k\nwork = C(@).f",
    "callable": "class C:\n    def __init__(self, k): self.k = k\n    def __call__(self, b): return self.k\nwork = C(@)",
    "cached helper": "K = @\n@functools.lru_cache\ndef h(): return K\ndef work(b): return h()",
    "decorator": "def deco(f):\n    @functools.wraps(f)\n    def g(b): return f(b) * @\n    return g\n@deco\ndef work(b): return b",
    "decorator's argument": (
        "def deco(k):\n    def wrap(f):\n        @functools.wraps(f)\n        def g(b): return f(b) * k\n        return g\n"
        "    return wrap\n@deco(@)\ndef work(b): return b"
    ),
    "below a decorator": "def deco(f):\n    @functools.wraps(f)\n    def g(b): return f(b)\n    return g\n@deco\ndef work(b): return @",
    "below an installed decorator": "@contextmanager\ndef h():\n    yield @\ndef work(b):\n    with h() as k: return k",
    "attribute": "def work(b): return work.k\nwork.k = @",
    "attribute of a helper": "def h(): return h.k\nh.k = @\ndef work(b): return h()",
    "made by exec": "d = {}\nexec('def h(): return @', d)\nh = d['h']\ndef work(b): return h()",
    "module": "import constants\ndef work(b): return constants.f()",
    "name of a module": "from constants import f\ndef work(b): return f()",
    "import within": "def work(b):\n    import constants\n    return constants.f()",
    "name imported within": "def work(b):\n    from constants import K\n    return K",
    "import within, of a package": "def work(b):\n    import pack.sub\n    return pack.sub.K",
    "import within, by another name": "def work(b):\n    import pack.sub as other\n    return other.K",
}  # fmt: skip


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], str]:
    """The fingerprint of a module's `work`, as a new process has it."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()

    def of(text: str, constant: int) -> str:
        files: dict[str, Any] = {
            "stored_work.py": HEAD + text + "\n",
            "constants.py": "K = @\ndef g(): return K\ndef f(): return g()\n",
            "pack/sub.py": "K = @\n",
        }
        for name, content in files.items():
            (tmp_path / name).write_text(_filled(content, constant))
        for name in ("stored_work", "constants", "pack", "pack.sub"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.clearcache()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return fingerprint(importlib.import_module("stored_work").work)

    return of


def _filled(text: str, constant: int) -> str:
    lines = [
        line if line.strip().startswith("@") else line.replace("@", str(constant))
        for line in text.splitlines()
    ]
    return "\n".join(line.replace("(@)", f"({constant})") for line in lines) + "\n"


@pytest.mark.parametrize("place", PLACES)
def test_another_constant_is_another_fingerprint(place: str, digest: Callable[[str, int], str]) -> None:
    assert digest(PLACES[place], 1) == digest(PLACES[place], 1) != digest(PLACES[place], 2)
