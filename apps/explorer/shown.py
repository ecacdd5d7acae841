"""The code of a picture: the function that gives its numbers, as it stands, with what it needs and a call of it."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tcpdynamics.models.model import Model

from .page import Values


def shown(function: Callable[..., Any], *names: str, **more: Callable[[Values], Any]) -> Callable[[Values], str]:
    """For `Figure.code`: the lines that call a function with these values of the page, and with what `more` makes.

    Parameters
    ----------
    function : callable
        Of a module whose imports are absolute; gives the table of a picture's CSV.
    names : str
        Controls whose values it takes by the same name.
    more : name -> callable of the page's values
        Other arguments.
    """

    def code(values: Values) -> str:
        return code_of(function, {k: values[k] for k in names} | {k: make(values) for k, make in more.items()})

    return code


def code_of(function: Callable[..., Any], arguments: dict[str, Any]) -> str:
    """Imports, constants and functions that a function needs, and its call.

    Examples
    --------
    >>> from tcpdynamics.apps.explorer import numbers_fairness
    >>> print(code_of(numbers_fairness.flows, {"x": [3.0, 1.0]}))
    import pandas as pd
    <BLANKLINE>
    <BLANKLINE>
    def flows(x: list[float]) -> pd.DataFrame:
        \"\"\"What each flow has.\"\"\"
        return pd.DataFrame({"flow": range(1, len(x) + 1), "throughput": x})
    <BLANKLINE>
    <BLANKLINE>
    table = flows(x=[3.0, 1.0])
    print(table.to_csv(index=False))
    <BLANKLINE>
    """
    module = inspect.getmodule(function)
    assert module is not None
    needed, values = _needed(module, function.__name__), ", ".join(f"{k}={_said(v)}" for k, v in arguments.items())
    models = [v if isinstance(v, type) else type(v) for v in arguments.values() if _is_model(v)]
    imports, parts = [f"from tcpdynamics.models import {model.__name__}" for model in dict.fromkeys(models)], []
    for node, text in _statements(module):
        names = _defines(node)
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [alias for alias in node.names if (alias.asname or alias.name) in needed]
            imports += [ast.unparse(node)] if node.names else []
        elif names & needed:
            parts.append(text)
    call = f"table = {function.__name__}({values})\nprint(table.to_csv(index=False))\n"
    return "\n\n\n".join(["\n".join(imports), *parts, call])


def _is_model(value: Any) -> bool:
    return issubclass(value, Model) if isinstance(value, type) else isinstance(value, Model)


def _said(value: Any) -> str:
    """An argument as Python: a model as its call."""
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, Model):
        return f"{type(value).__name__}({', '.join(f'{k}={v!r}' for k, v in value.provenance().items())})"
    return repr(value)


def _statements(module: ModuleType) -> list[tuple[ast.stmt, str]]:
    """Those at the top of a module, with their source; new nodes each time, since the caller changes them."""
    source = _source(module)
    return [(node, ast.get_source_segment(source, node) or "") for node in ast.parse(source).body]


@functools.cache
def _source(module: ModuleType) -> str:
    return inspect.getsource(module)


def _defines(node: ast.stmt) -> set[str]:
    """Names that a statement gives a meaning."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


@functools.cache
def _needed(module: ModuleType, name: str) -> frozenset[str]:
    """Names of a module that a function needs, its own among them."""
    uses = {
        word: {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        for node, _ in _statements(module)
        for word in _defines(node)
    }
    needed, pending = set[str](), {name}
    while pending:
        needed |= pending
        pending = {word for used in pending for word in uses[used] if word in uses} - needed
    return frozenset(needed)
