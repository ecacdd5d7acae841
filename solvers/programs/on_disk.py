"""Programs kept on disk: the steps of one chain serve all of its structure, without its expressions and without SymPy.

A program is data, and so is its file: kinds of steps, their places and constants. It is named after its structure and
after a hash of the sources that made it, SymPy's version among them; it stands beside compiled code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tcpdynamics.compiled import stamp_of

from .straightline import KINDS, Op, Program

#: Steps of a program that is kept: 2 MB.
MOST_STEPS = 50_000


def program_of(structure: str, sources: Path, make: Callable[[], Program]) -> Program:
    """The program of a structure, read from disk, or made and kept there.

    Parameters
    ----------
    structure : str
        What the program depends on beside sources.
    sources : Path
        The folder of the model's sources, in that of all models.
    make : callable
        Makes the program where the disk has none.
    """
    name = sha256(f"{_stamp(sources)}\n{structure}".encode()).hexdigest()
    files = [folder / f"{name}.json" for folder in _folders()]
    for file in files:
        try:
            return _program(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            continue  # not there, or no program
    program = make()
    if len(program.ops) <= MOST_STEPS:
        any(_written(file, program) for file in files)
    return program


@cache
def _stamp(sources: Path) -> str:
    solvers = Path(__file__).parents[1]
    files = [file for folder in ("markov", "problems", "programs") for file in (solvers / folder).glob("*.py")]
    spec = find_spec("sympy")  # found, not imported
    release = [Path(spec.origin).with_name("release.py")] if spec and spec.origin else []
    return stamp_of([*files, *sources.glob("*.py"), *sources.parent.glob("*.py"), *release])


def _folders() -> list[Path]:
    """As for compiled code: the folder that the user named, else beside the source or in the user's cache."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(chosen, "programs")]
    user = os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache")
    return [Path(__file__).with_name("__pycache__"), *([Path(user, "tcpdynamics")] if os.path.isabs(user) else [])]


def _written(file: Path, program: Program) -> bool:
    """Whether the file could be written; it appears as a whole."""
    rows = [[op.kind, op.a, op.b, _text(op.value)] for op in program.ops]
    part = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"ops": rows, "outputs": program.outputs}), encoding="utf-8")
        os.replace(part, file)
    except OSError:
        return False
    return True


def _text(value: Any) -> Any:
    """Fractions in hexadecimal digits, of which there may be any number."""
    return f"{value.numerator:x}/{value.denominator:x}" if isinstance(value, Fraction) else value


def _program(document: Any) -> Program:
    ops = tuple(_op(i, *row) for i, row in enumerate(document["ops"]))
    outputs = tuple(document["outputs"])
    if not all(type(place) is int and 0 <= place < len(ops) for place in outputs):
        raise ValueError("no such step")
    return Program(ops, outputs)


def _op(at: int, kind: str, a: int, b: int, value: Any) -> Op:
    if kind == "const":
        return Op(kind, value=value if isinstance(value, float) else Fraction(*(int(n, 16) for n in value.split("/"))))
    if kind == "input":
        return Op(kind, value=str(value))
    operands = (a, b) if KINDS[kind] == 2 else (a,)
    if not all(type(place) is int and 0 <= place < at for place in operands):
        raise ValueError("a step uses earlier steps only")
    return Op(kind, a, b)
