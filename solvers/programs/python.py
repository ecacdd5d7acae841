"""Programs as Python: one line an operation, so that compiled code computes what the library does, bit by bit.

What is printed is text for a file, which Numba compiles like any other; nothing is evaluated here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .straightline import Op, Program

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
#: Steps that read alike in Python and in NumPy for single numbers.
_CALLS = {"min": "min", "max": "max"} | {name: f"math.{name}" for name in ("exp", "log", "sin", "cos", "tanh", "atan")}


def python(program: Program, inputs: Sequence[str], name: str, about: str) -> str:
    """A function `name` of the inputs, in this order, that returns the program's only output.

    Parameters
    ----------
    program : Program
        With one output.
    inputs : sequence of str
        Names of the arguments: identifiers.
    name : str
        An identifier.
    about : str
        The function's docstring, one line.

    Raises
    ------
    ValueError
        The program reads an input that is not there, a name is no identifier, or there is a step that Python's numbers
        lack.

    Examples
    --------
    >>> from tcpdynamics.solvers.programs.straightline import Builder
    >>> b = Builder()
    >>> w = b.input("w")
    >>> print(python(b.build([b.div(w, b.add(w, b.const(1)))]), ["w"], "share", "Half at one."))
    def share(w: Any) -> Any:
        \"""Half at one.\"""
        a2 = w + 1.0
        a3 = w / a2
        return a3
    """
    for word in (name, *inputs):
        if not word.isidentifier():
            raise ValueError(f"a Python function needs names that are identifiers, got {word!r}")
    missing = sorted(set(program.inputs) - set(inputs))
    if missing:
        raise ValueError(f"the program reads {', '.join(missing)}, which is not among the inputs")
    if len(program.outputs) != 1:
        raise ValueError(f"the program must have one output, got {len(program.outputs)}")
    words = [_word(op, i) for i, op in enumerate(program.ops)]
    lines = [
        f"    {words[i]} = {_operation(op, words)}"
        for i, op in enumerate(program.ops)
        if op.kind not in ("const", "input")
    ]
    head = f"def {name}({', '.join(f'{word}: Any' for word in inputs)}) -> Any:"
    return "\n".join([head, f'    """{about}"""', *lines, f"    return {words[program.outputs[0]]}"])


def _word(op: Op, place: int) -> str:
    if op.kind == "const":
        return _number(op.value)
    return str(op.value) if op.kind == "input" else f"a{place}"


def _operation(op: Op, words: Sequence[str]) -> str:
    if op.kind in _SIGNS:
        return f"{words[op.a]} {_SIGNS[op.kind]} {words[op.b]}"
    if op.kind not in _CALLS:
        raise ValueError(f"the program has a step {op.kind!r}, which is not printed")
    return f"{_CALLS[op.kind]}({words[op.a] if op.b < 0 else f'{words[op.a]}, {words[op.b]}'})"


def _number(value: Any) -> str:
    """The nearest float, in brackets where it has a sign."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"the program has the constant {number}, which is not printed")
    return f"({number!r})" if math.copysign(1.0, number) < 0 else repr(number)
