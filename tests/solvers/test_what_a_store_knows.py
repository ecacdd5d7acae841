# ruff: noqa: E501 (a program a line)
"""A store's fingerprint of a function changes with whatever its numbers hang on: one constant, in many places."""

import importlib
import linecache
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcpdynamics.errors import DynamicsError
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
    "callable that holds a function": "K = @\ndef g(b): return K\nclass C:\n    def __init__(self, f): self.f = f\n    def __call__(self, b): return self.f(b)\nwork = C(g)",
    "method of what holds a function": "K = @\ndef g(b): return K\nclass C:\n    def __init__(self, f): self.f = f\n    def run(self, b): return self.f(b)\nwork = C(g).run",
    "vectorized helper": "K = @\ndef g(b): return K * b\nh = np.vectorize(g)\ndef work(b): return h(b)",
    "partial in a class": "K = @\nclass C:\n    f = functools.partial(max, K)\ndef work(b): return C.f(b)",
    "partial method": "K = @\nclass C:\n    def h(self, b, k): return k\n    f = functools.partialmethod(h, k=K)\ndef work(b): return C().f(b)",
    "one of two lambdas in a line": "several = [lambda b: 0, lambda b: 1, lambda b: 2]; work = several[@]",
    "chosen by type": "K = @\n@functools.singledispatch\ndef h(b): return 0\n@h.register\ndef _(b: float): return K\ndef work(b): return h(b)",
    "class of a class": "K = @\nclass M(type):\n    def f(cls): return K\nclass C(metaclass=M): pass\ndef work(b): return C.f()",
    "descriptor": "class D:\n    def __get__(self, it, kind): return @\nclass C:\n    x = D()\ndef work(b): return C.x",
    "default of a record": "from dataclasses import dataclass\nK = @\ndef make():\n    @dataclass(slots=True)\n    class R:\n        k: int = K\n    return R\nR = make()\ndef work(b): return R().k",
    "factory of a record": "from dataclasses import dataclass, field\nK = @\ndef h(): return K\ndef make():\n    @dataclass\n    class R:\n        k: int = field(default_factory=h)\n    return R\nR = make()\ndef work(b): return R().k",
    "attribute beside the fields": "from dataclasses import dataclass\n@dataclass\nclass R:\n    a: int = 0\nr = R()\nr.k = @\ndef work(b): return r.k",
    "subclass of a dictionary": "K = @\nclass D(dict):\n    def __missing__(self, key): return K\nd = D()\ndef work(b): return d[b]",
    "factory of a dictionary": "from collections import defaultdict\nK = @\nd = defaultdict(lambda: K)\ndef work(b): return d[b]",
    "subclass of a number": "class N(float): pass\nn = N(3)\nn.k = @\ndef work(b): return n.k",
    "mask of an array": "m = np.ma.masked_array([1.0, 2.0, 3.0], mask=np.arange(3) == @)\ndef work(b): return m.sum()",
    "function in an array": "a = np.array([lambda: @], dtype=object)\ndef work(b): return a[0]()",
    "assumption of a symbol": "import sympy\nx = sympy.Symbol('x', positive=bool(@ - 1))\ndef work(b): return sympy.sqrt(x**2)",
    "pattern": "import re\nr = re.compile('a' * @)\ndef work(b): return r.match('aa')",
    "module as a default": "import constants\ndef work(b, m=constants): return m.K",
    "module captured": "import constants\ndef make(m):\n    def work(b): return m.K\n    return work\nwork = make(constants)",
    "module in a dictionary": "import constants\nd = {'m': constants}\ndef work(b): return d['m'].K",
    "module of a class": "import constants\nclass C:\n    m = constants\ndef work(b): return C.m.K",
    "arguments of an installed decorator": "from numba.core.decorators import njit\nK = @\n@njit\ndef h(b): return K\ndef work(b): return h(b)",
    "method of a builtin": "h = ('a' * @).join\ndef work(b): return h(b)",
}


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
    lines = [line if line.strip().startswith("@") else line.replace("@", str(constant)) for line in text.splitlines()]
    return "\n".join(line.replace("(@)", f"({constant})") for line in lines) + "\n"


@pytest.mark.parametrize("place", PLACES)
def test_another_constant_is_another_fingerprint(place: str, digest: Callable[[str, int], str]) -> None:
    assert digest(PLACES[place], 1) == digest(PLACES[place], 1) != digest(PLACES[place], 2)


def test_the_code_that_runs_counts_whatever_its_file_says_by_now(
    digest: Callable[[str, int], str], tmp_path: Path
) -> None:
    before = digest("def work(b): return @", 1)
    module = sys.modules["stored_work"]
    (tmp_path / "stored_work.py").write_text(HEAD + "def work(b): return 2\n")
    linecache.clearcache()
    assert fingerprint(module.work) not in (before, digest("def work(b): return @", 2))


def test_what_cannot_be_seen_is_refused() -> None:
    hidden = np.frompyfunc(lambda x: 2 * x, 1, 1)
    with pytest.raises(DynamicsError, match=r"uses a numpy\.ufunc, which has no lasting form"):
        fingerprint(lambda b: hidden(b))
