"""Pages that are written from the code: models with equations and parameters, public names."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sympy

from tcpdynamics import models
from tcpdynamics.charts.state_graphs import with_stays
from tcpdynamics.models.model import Model
from tcpdynamics.models.parameters import describe
from tcpdynamics.solvers import Map, MarkovChain

HERE = Path(__file__).parents[1] / "reference" / "written"
#: Values of parameters without a default, for the equations alone, which hold symbols.
NEEDED = {
    "ack_loss": 0.1, "base_rtt": 0.2, "buffer": 800.0, "capacity": 3750.0, "data_loss": 0.1, "density": 1.0,
    "flows": 60.0, "gain": 2e-4, "loss": 0.1, "max_threshold": 120.0, "min_threshold": 40.0, "p_max": 0.1, "rtt": 0.1,
    "timeout": 0.4, "averaging": 0.002,
}  # fmt: skip
#: Packages whose public names have a page each, and what they are for.
PUBLIC = {
    "tcpdynamics.solvers": "Solvers",
    "tcpdynamics.validation.packet": "Packet simulator",
    "tcpdynamics.validation.statistics": "Statistics",
    "tcpdynamics.validation.comparisons": "Comparisons of models with packets",
    "tcpdynamics.validation.sender_chain": "Chains compiled from a sender",
    "tcpdynamics.validation.ns2": "ns-2",
    "tcpdynamics.validation.linux": "Linux",
}
#: What users may rely on.
STABLE = (
    "These names are stable: name, arguments and meaning stay in all versions 0.1.x. A name that changes later is "
    "accepted under its old name for one more release, and the changelog lists it. Anything else may change."
)


def _models() -> Iterator[type[Model]]:
    listed = [getattr(models, name) for name in dir(models)]
    yield from (one for one in listed if isinstance(one, type) and issubclass(one, Model))


def _problem(model: type[Model]) -> Any:
    """The equations of a model: a chain, or a motion; None for closed forms."""
    ways = [name for name in ("chain", "ode", "dde", "map") if hasattr(model, name)]
    names = inspect.signature(model).parameters
    without = (inspect.Parameter.empty, None)
    needed = {name: value for name, value in NEEDED.items() if name in names and names[name].default in without}
    return getattr(model(**needed), ways[0])() if ways else None


def _latex(model: type[Model], expression: Any) -> str:
    """An expression in the paper's symbols."""
    symbols = {one["name"]: one["symbol"] for one in describe(model)} | dict(model.symbol_names or {})
    found = sympy.sympify(expression).free_symbols
    return sympy.latex(expression, symbol_names={one: symbols[one.name] for one in found if one.name in symbols})


def _label(state: Any) -> str:
    return r"\text{" + str(state).replace("_", r"\_") + "}"


def _equations(model: type[Model]) -> list[str]:
    problem = _problem(model)
    if problem is None:
        return []
    latex = functools.partial(_latex, model)
    if isinstance(problem, MarkovChain):
        return [rf"P({_label(a)} \to {_label(b)}) = {latex(p)}" for (a, b), p in with_stays(problem).items()]
    mark = lambda name: sympy.latex(sympy.Symbol(name))  # noqa: E731
    change = r"{{{}}}'" if isinstance(problem, Map) else r"\dot{{{}}}"
    rows = [f"{change.format(mark(name))} = {latex(right)}" for name, right in problem.rhs.items()]
    for name, past in getattr(problem, "delayed", {}).items():
        by = sympy.sympify(past.by)
        delay = rf"\left({latex(by)}\right)" if by.is_Add else latex(by)
        rows.append(f"{mark(name)} = {mark(past.of)}(t - {delay})")
    return rows


def _text(model: type[Model]) -> list[str]:
    about = (inspect.getdoc(model) or "").split("\n\n")[0].replace("\n", " ")
    lines = [f"## {model.__name__}", "", about, ""]
    for equation in _equations(model):
        lines += ["$$", equation, "$$", ""]
    lines += ["| parameter | meaning | unit | default | domain |", "|---|---|---|---|---|"]
    for one in describe(model):
        default = "needed" if one["required"] else "" if one["default"] is None else f"{one['default']}"
        cells = (f"`{one['name']}` ${one['symbol']}$", one["meaning"], one["unit"], default, one["interval"])
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def _names(package: str) -> list[str]:
    module = importlib.import_module(package)
    found = getattr(module, "__all__", None) or [name for name in dir(module) if name[0] != "_"]
    return [
        name for name in found
        if (inspect.isclass(one := getattr(module, name)) or callable(one)) and not inspect.ismodule(one)
        and str(getattr(one, "__module__", "")).startswith("tcpdynamics")
    ]  # fmt: skip


def _listed(package: str, title: str, names: list[str]) -> list[str]:
    return [f"## {title}", "", f"`{package}`", "", "```{eval-rst}", f".. currentmodule:: {package}", ".. autosummary::",
            "   :toctree: api", "", *(f"   {name}" for name in names), "```", ""]  # fmt: skip


def write(app: Any) -> None:
    """Write all pages, each only where it has changed."""
    HERE.mkdir(parents=True, exist_ok=True)
    pages = {
        "models.md": ["# Models and their equations", "", *(line for one in _models() for line in _text(one))],
        "api.md": [
            "# Public names", "", STABLE, "",
            *_listed("tcpdynamics.models", "Models", [one.__name__ for one in _models()]),
            *(line for package, title in PUBLIC.items() for line in _listed(package, title, _names(package))),
        ],
    }  # fmt: skip
    for name, lines in pages.items():
        text = "\n".join(lines)
        if not (HERE / name).exists() or (HERE / name).read_text(encoding="utf-8") != text:
            (HERE / name).write_text(text, encoding="utf-8")


def _escaped(app: Any, what: str, name: str, one: Any, options: Any, lines: list[str]) -> None:
    """Bars and stars of formulas in docstrings mean themselves; examples stay as they are."""
    for i, line in enumerate(lines):
        if line.strip() == "Examples":
            return
        if "``" not in line:
            lines[i] = re.sub(r"(?<!\\)(\||\*(?=\w)|(?<=\w)_(?=[\s,.)]))", r"\\\1", line)


def setup(app: Any) -> dict[str, bool]:
    """For Sphinx."""
    app.connect("autodoc-process-docstring", _escaped, priority=400)
    app.connect("config-inited", lambda app, config: write(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
