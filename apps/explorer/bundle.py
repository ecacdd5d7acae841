"""The pages' ES modules as one classic script: browsers refuse to load modules from a file's address.

A module has its imports on top, one a line, by name (`import { a, b } from "./x.js";`), and exports what it declares
(`export const`, `function`, `async function`, `class`). Each becomes a function that is called once, in the order in
which they need each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
#: It needs every module that all pages have.
CORE = "core/main.js"
#: Plain formats of numbers and times: the library makes its own when it is loaded, in 20 ms, and no page uses them.
_PLAIN = "{ NumberFormat: class { format = String }, DateTimeFormat: class { resolvedOptions() { return {}; } } }"
_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "(\.{1,2}/[\w./-]+\.js)";$', re.M)
_EXPORT = re.compile(r"^export (?=(?:const|let|class|(?:async )?function\*?) (\w+))", re.M)


def needs(module: str) -> list[str]:
    """What a module imports, by their places in `assets/`.

    Examples
    --------
    >>> needs("core/numbers.js")
    []
    """
    folder = (ASSETS / module).parent
    imports = _IMPORT.findall(_text(module))
    return [(folder / place).resolve().relative_to(ASSETS.resolve()).as_posix() for _, place in imports]


def bundle(*modules: str) -> str:
    """Modules, and those that they need, as one script; each stands once, after those that it imports.

    Parameters
    ----------
    modules : str
        Places in `assets/`.

    Raises
    ------
    ValueError
        Two modules need each other.
    """
    return _script(_order(modules))


@cache
def core_script() -> str:
    """The library that draws curves, and every module that all pages have."""
    library = (ASSETS / "vendor" / "uPlot.iife.min.js").read_text(encoding="utf-8")
    return f"var uPlot = ((Intl) => {{\n{library}\nreturn uPlot;\n}})({_PLAIN});\n{_script(_order([CORE]))}"


#: What pages, the report and the table of claims share.
LOOK = ("colours.css", "look.css")


@cache
def page_script(*slugs: str) -> str:
    """The modules of pages that `core_script` lacks; comes after it. Scripts of two pages may both have a module."""
    core = _order([CORE])
    modules = [module for module in _order(f"pages/{slug}.js" for slug in slugs) if module not in core]
    return '"use strict";\n{\n' + "".join(map(_wrapped, modules)) + "}\n"


@cache
def style_sheet(*names: str) -> str:
    """These style sheets, in order, without comments and indents; those of all pages, without a name."""
    names = names or ("vendor/uPlot.min.css", *LOOK, "style.css")
    return re.sub(r"(?s)/\*.*?\*/|\n\s+", "\n", "\n".join((ASSETS / name).read_text("utf-8") for name in names))


def _script(modules: list[str]) -> str:
    return '"use strict";\n' + "".join(_wrapped(module) for module in modules)


def _order(modules: Iterable[str]) -> list[str]:
    order: list[str] = []
    _visit(modules, order, [])
    return order


def _visit(modules: Iterable[str], order: list[str], path: list[str]) -> None:
    for module in modules:
        if module in path:
            raise ValueError(f"modules need each other: {' -> '.join([*path, module])}")
        if module not in order:
            _visit(needs(module), order, [*path, module])
            order.append(module)


@cache
def _text(module: str) -> str:
    return (ASSETS / module).read_text(encoding="utf-8")


def _name(module: str) -> str:
    return "module_" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _wrapped(module: str) -> str:
    text, folder = _text(module), (ASSETS / module).parent
    exported = _EXPORT.findall(text)

    def taken(match: re.Match[str]) -> str:
        place = (folder / match[2]).resolve().relative_to(ASSETS.resolve()).as_posix()
        return f"const {{ {match[1]} }} = {_name(place)};"

    body = _EXPORT.sub("", _IMPORT.sub(taken, text))
    return f"// {module}\nvar {_name(module)} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();\n"
