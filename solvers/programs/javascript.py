"""Programs as JavaScript: one line an operation, so that a page computes what the library does, bit by bit.

Sums, differences, products and quotients of floats are the same in JavaScript and NumPy. `exp`, `log`, `pow` and the
circular functions come from the browser's own library, within 2 units in the last place of NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .straightline import Op, Program

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

#: What stands before the first printed function: NumPy's meaning where JavaScript's differs.
PRELUDE = """\
const step = (x) => (x >= 0 ? 1 : x < 0 ? 0 : NaN);
const pow = (x, y) => (x === 1 ? 1 : x === -1 && Math.abs(y) === Infinity ? 1 : Math.pow(x, y));
const { min, max, exp, log, sin, cos, tanh, atan } = Math;
"""


def javascript(program: Program, inputs: Sequence[str], name: str = "run") -> str:
    """A function `name(x, y)` that reads the inputs from the array x and writes the outputs to the array y.

    Parameters
    ----------
    program : Program
    inputs : sequence of str
        Names of the inputs in the order of x. Names reach the text as places only, so they may be anything.
    name : str
        An identifier.

    Raises
    ------
    ValueError
        The program reads an input that is not there, or the name is no identifier.

    Examples
    --------
    >>> from tcpdynamics.solvers.programs.straightline import Builder
    >>> b = Builder()
    >>> w = b.input("w")
    >>> print(javascript(b.build([b.div(w, b.add(w, b.const(1)))]), ["w"], "share"))
    function share(x, y) {
    const a0 = x[0];
    const a2 = a0 + 1.0;
    const a3 = a0 / a2;
    y[0] = a3;
    }
    """
    if not name.isidentifier():
        raise ValueError(f"a JavaScript function needs a name that is an identifier, got {name!r}")
    missing = sorted(set(program.inputs) - set(inputs))
    if missing:
        raise ValueError(f"the program reads {', '.join(missing)}, which is not among the inputs")
    place = {label: i for i, label in enumerate(inputs)}
    words = [_number(op.value) if op.kind == "const" else f"a{i}" for i, op in enumerate(program.ops)]
    lines = [f"const a{i} = {_operation(op, words, place)};" for i, op in enumerate(program.ops) if op.kind != "const"]
    outputs = [f"y[{row}] = {words[i]};" for row, i in enumerate(program.outputs)]
    return "\n".join([f"function {name}(x, y) {{", *lines, *outputs, "}"])


def _operation(op: Op, words: Sequence[str], place: dict[str, int]) -> str:
    if op.kind == "input":
        return f"x[{place[op.value]}]"
    if op.kind in _SIGNS:
        return f"{words[op.a]} {_SIGNS[op.kind]} {words[op.b]}"
    arguments = words[op.a] if op.b < 0 else f"{words[op.a]}, {words[op.b]}"
    return f"{op.kind}({arguments})"


def _number(value: Any) -> str:
    """The nearest float, in brackets where it has a sign."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        return "NaN"
    word = "Infinity" if math.isinf(number) else repr(abs(number))
    return f"(-{word})" if math.copysign(1.0, number) < 0 else word
