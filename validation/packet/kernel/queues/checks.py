"""Is a file, or a class, a queue discipline? It is checked when it is registered, not when a run stumbles over it."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError, shown

from ..parameters import Parameter

#: Hook -> its arguments; `prepare` and `refuse` may be missing.
ARGUMENTS = {
    "admits": "w, line, slot, busy", "put": "w, line, slot", "take": "w, line",
    "prepare": "state, lanes, values, way", "refuse": "values, key",
}  # fmt: skip
MAY_BE_MISSING = ("prepare", "refuse")
#: Fields of STATE that can be recorded.
MOST_RECORDED = 4


def check_discipline(name: str, file: Any) -> None:
    """Raise ScenarioError, naming the file and the part of it that is missing or wrong."""
    where = f"queue {name} ({_place_of(file)})"
    for hook, arguments in ARGUMENTS.items():
        function, wanted = getattr(file, hook, None), f"{hook}({arguments})"
        if function is None:
            if hook not in MAY_BE_MISSING:
                raise ScenarioError(f"{where}: the hook `{hook}` is missing; write {wanted}")
            continue
        function = getattr(function, "py_func", function)
        if not inspect.isfunction(function):
            raise ScenarioError(f"{where}: `{hook}` must be a function, got {shown(function, 60)}; write {wanted}")
        count = len(inspect.signature(function).parameters)
        if count != arguments.count(",") + 1:
            raise ScenarioError(
                f"{where}: `{hook}` must take {arguments.count(',') + 1} arguments, got {count}; write {wanted}"
            )
    _check_state(where, file)


def _place_of(file: Any) -> str:
    """The file where a module or a class stands."""
    module = sys.modules.get(getattr(file, "__module__", ""))
    return str(getattr(file, "__file__", None) or getattr(module, "__file__", None) or "no file")


def _check_state(where: str, file: Any) -> None:
    """PARAMETERS, RECORDED and STATE describe each other; a discipline without the first two needs no STATE."""
    parameters, recorded = getattr(file, "PARAMETERS", ()), getattr(file, "RECORDED", {})
    if not isinstance(parameters, tuple) or not all(isinstance(p, Parameter) for p in parameters):
        raise ScenarioError(f"{where}: PARAMETERS must be a tuple of Parameter, got {shown(parameters, 60)}")
    named = isinstance(recorded, dict) and all(isinstance(one, tuple) and len(one) == 2 for one in recorded.values())
    if not named or len(recorded) > MOST_RECORDED:
        raise ScenarioError(
            f"{where}: RECORDED must be a dict of a name to (unit, meaning) with at most {MOST_RECORDED} names, got "
            f"{shown(recorded, 60)}"
        )
    state = getattr(file, "STATE", None)
    if state is None and not parameters and not recorded:
        return
    fields = ", ".join([*recorded, *(p.name for p in parameters)])
    if not isinstance(state, np.dtype) or state.names is None:
        raise ScenarioError(
            f"{where}: STATE must be a NumPy dtype with fields, got {shown(state, 60)}; give it those that hooks read, "
            f"such as {fields or 'current'}"
        )
    first = [name for name in state.names[: len(recorded)] if state[name] == np.float64]
    if first != list(recorded):
        raise ScenarioError(
            f"{where}: the first fields of STATE must be those of RECORDED ({', '.join(recorded)}), as float64, got "
            f"{', '.join(state.names)}"
        )
