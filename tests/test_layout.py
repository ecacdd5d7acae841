"""The layout is what the packaging map says, imports point one way, and importing stays light."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("models", "solvers", "validation", "apps", "paper_figures")

#: What each folder may import of the package; "solvers.problems" is the one module that models see.
ALLOWED = {
    "models": {"solvers.problems"},
    "solvers": set(),
    "validation": {"models", "solvers"},
    "paper_figures": {"models", "solvers", "validation"},
    "apps": {"models", "solvers", "validation", "paper_figures"},
}


def test_every_package_folder_is_declared() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {n.removeprefix("tcpdynamics."): p for n, p in setup["package-dir"].items() if "." in n}
    found = {
        "tcpdynamics." + ".".join(p.parent.relative_to(ROOT).parts)
        for f in folders
        for p in (ROOT / f).rglob("__init__.py")
    }
    assert found <= set(setup["packages"])
    for name, path in folders.items():
        assert (ROOT / "src/tcpdynamics" / name).resolve() == ROOT / path


def test_every_file_of_the_package_is_in_the_wheel() -> None:
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [name for name in setup["packages"] if name.split(".")[1:2] in [[folder] for folder in FOLDERS]]
    places = {name: ROOT / name.removeprefix("tcpdynamics.").replace(".", "/") for name in folders}
    shipped = {path for folder in places.values() for path in folder.glob("*.py")}
    for name, patterns in setup["package-data"].items():
        shipped |= {path for pattern in patterns if name in places for path in places[name].glob(pattern)}
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {ROOT / line for line in listed.stdout.splitlines()} <= shipped


def test_each_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    lines = text[text.index("\ndependencies = [") : text.index("\ndocs = [")].splitlines()
    assert [line for line in lines if ">=" in line and not re.search(r"  # \w+", line)] == []


def test_the_citation_has_all_papers() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    cites = [tomllib.loads(path.read_text())["paper"]["cite"] for path in ROOT.glob("paper_figures/*/claims.toml")]
    assert len(cites) == 5
    for cite in cites:
        authors, title = cite.split(": ", 1)
        assert title in citation
        assert all(f"family-names: {author.split()[-1]}" in citation for author in authors.split(", "))


def _ours(path: Path) -> set[str]:
    """Modules of tcpdynamics that a file imports, as dotted names below the package."""
    here = ("tcpdynamics", *path.relative_to(ROOT).with_suffix("").parts[:-1])
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(here[: len(here) - node.level + 1]) + "." if node.level else ""
            module = base + (node.module or "")
            found |= {f"{module}.{a.name}".replace("..", ".") for a in node.names} | {module}
    return {name.removeprefix("tcpdynamics.") for name in found if name.startswith("tcpdynamics.")}


def _modules() -> dict[str, Path]:
    """Files of the package by the names of their modules, a folder by its own."""
    places = {p: ("tcpdynamics", *p.relative_to(ROOT).parts) for f in FOLDERS for p in (ROOT / f).rglob("*.py")}
    source = ROOT / "src/tcpdynamics"
    own = (*source.glob("*.py"), *source.glob("charts/*.py"))
    places |= {p: ("tcpdynamics", *p.relative_to(source).parts) for p in own}
    names = {p: ".".join(parts).removesuffix(".py").removesuffix(".__init__") for p, parts in places.items()}
    return {name: path for path, name in names.items()}


def _imported(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """Modules that a file imports at any place: at its head, inside functions, for type checkers."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, node.module] if node.module else base)
            imported |= {n if (n := f"{module}.{a.name}") in modules else module for a in node.names}
    return (imported & set(modules)) - {name}


def test_no_modules_import_each_other() -> None:
    """Neither at once nor later: each file can be understood after those that it imports."""
    modules = _modules()
    graph = {name: _imported(name, path, modules) for name, path in modules.items()}
    assert len(graph) > 300
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("folder", FOLDERS)
def test_imports_point_one_way(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for name in _ours(path):
            top = name.split(".")[0]
            if top not in FOLDERS or top == folder:
                continue
            allowed = ALLOWED[folder]
            assert top in allowed or any(name == a or name.startswith(a + ".") for a in allowed), (
                f"{path.relative_to(ROOT)} imports tcpdynamics.{name}"
            )


def test_import_is_light() -> None:
    code = (
        "import sys, tcpdynamics; heavy = {'jax', 'dash', 'sympy', 'numba', 'pandas', 'plotly'} & set(sys.modules); "
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_solvers_and_models_load_without_heavy_libraries() -> None:
    code = (
        "import sys, tcpdynamics.solvers, tcpdynamics.models; "
        "print(sorted({'jax', 'dash', 'sympy', 'numba', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_each_public_solver_has_one_home() -> None:
    """The table that loads solvers on first use, and the imports that type checkers read, say the same."""
    from tcpdynamics import solvers

    tree = ast.parse((ROOT / "solvers/__init__.py").read_text())
    imports = {
        a.asname: "." * n.level + (n.module or "")
        for n in ast.walk(tree)
        if isinstance(n, ast.ImportFrom)
        for a in n.names
        if a.asname
    }
    assert imports == solvers._HOME_OF
    assert all(getattr(solvers, name) is not None for name in dir(solvers))


def test_models_load_no_solver() -> None:
    code = "import sys, tcpdynamics.models; print(*(m for m in sys.modules if m.startswith('tcpdynamics.solvers')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {".".join(m.split(".")[:3]) for m in done.stdout.split()} == {
        "tcpdynamics.solvers",
        "tcpdynamics.solvers.problems",
    }


def test_public_names() -> None:
    """Changes of the public surface are deliberate: this list changes with them."""
    import tcpdynamics
    from tcpdynamics import models, solvers

    assert dir(tcpdynamics) == [
        "__version__", "apps", "charts", "models", "paper_figures", "plot", "solvers", "validation",
    ]  # fmt: skip
    assert set(dir(solvers)) == {
        "ChainError", "DDE", "Delayed", "DomainError", "DynamicsError", "Explanation", "Map",
        "MarkovChain", "ODE", "Reward", "RewardBalance", "StoreError", "basin", "bifurcation",
        "boundary_curves", "characteristic_roots",
        "closed_form", "continuation", "convergence", "eigenvalues", "equilibria", "explain",
        "failures", "first_passage", "lyapunov", "self_consistent", "sensitivity", "sojourn",
        "spectral_abscissa", "spectral_gap", "spectral_radius", "stability_chart", "stationary", "sweep", "sweep_of",
        "tabulated", "trajectory", "transient", "windowed",
    }  # fmt: skip
    public = {n for n in vars(models) if not n.startswith("_") and not _is_module(models, n)}
    assert public == {
        "AimdTcp", "FluidTcpDropTail", "FluidTcpFullQueue", "FluidTcpProportional", "FluidTcpRed",
        "HighSpeedTcp", "LeapTimeout", "LeapTransfer", "Logistic", "LogisticAckClocked", "LogisticDelayed",
        "LogisticMap", "LotkaVolterraCrossDelayed", "LotkaVolterraDelayed", "LotkaVolterraErrors", "LotkaVolterraHeld",
        "LotkaVolterraLink", "LotkaVolterraMap", "LotkaVolterraQueue", "LotkaVolterraStale",
        "LotkaVolterraThroughput", "LotkaVolterraWindows", "MtcpThroughput", "OneWayTimes", "OverloadedStar",
        "PftkApproximate", "PftkFull", "RttCode",
        "ScalableTcp", "SharedLink", "SquareRoot", "SubPacketApproximate", "SubPacketExact",
        "SubPacketFresh", "SubPacketFull", "SubPacketLevels", "TRefwaBiased", "TRefwaContinuous",
        "TRefwaDelayed", "TRefwaGroups", "TRefwaIntegrating", "TRefwaIntegratingDelayed",
        "TRefwaIntegratingSemiImplicit", "TRefwaLimited", "TRefwaLimitedClamped", "TRefwaMeasured",
        "TRefwaMeasuredRtt", "TRefwaMixed", "TRefwaQueueDelayed", "TRefwaTwoLinksCommanded",
        "TRefwaTwoLinksMeasured", "TRefwaWindow", "TcpLinearisation", "Tfrc", "alpha_fair_utility",
        "atkinson", "collapse_threshold", "effective_ack_loss", "entropy", "gini", "hill_number", "hoover", "jain",
        "min_max_ratio", "per_flow", "rfc_table",
    }  # fmt: skip


def _is_module(package: object, name: str) -> bool:
    return type(getattr(package, name)).__name__ == "module" and name not in ("stationary",)


def test_constraints_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert len(pins) > 20
    assert all(re.fullmatch(r"[A-Za-z0-9_.\-]+==[A-Za-z0-9.+!]+", line) for line in pins)
    names = {line.split("==")[0].lower().replace("_", "-") for line in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["dev"] + extras["docs"]
    assert {re.split(r"[<>=~\[]", w)[0].lower() for w in wanted} <= names


PUBLIC = ("solvers", "models", "validation", "validation.packet", "validation.ns2")

#: Public signatures that say Any, and why nothing better is true.
SAYS_ANY = {"tcpdynamics.validation.packet.scenario.flows.Flows.settings": "a value of another type for each field"}


def _public_signatures() -> Iterator[tuple[str, str, ModuleType]]:
    """Signatures of public functions, of public methods of public classes, and types of the classes' fields."""
    for package in PUBLIC:
        module = importlib.import_module(f"tcpdynamics.{package}")
        names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for value in (getattr(module, name) for name in names):
            if inspect.isclass(value):
                for base in value.__mro__:
                    if base.__module__.startswith("tcpdynamics."):
                        yield from _signatures_of_class(base)
            elif inspect.isfunction(value):
                home = sys.modules[value.__module__]
                yield f"{home.__name__}.{value.__qualname__}", str(inspect.signature(value)), home


def _signatures_of_class(cls: type) -> Iterator[tuple[str, str, ModuleType]]:
    home = sys.modules[cls.__module__]
    for key, value in vars(cls).items():
        function = getattr(value, "fget", None) or getattr(value, "func", None)
        function = function or getattr(value, "__func__", value)
        if inspect.isfunction(function) and (not key.startswith("_") or key in ("__init__", "__call__")):
            yield f"{home.__name__}.{cls.__qualname__}.{key}", str(inspect.signature(function)), home
    for key, annotation in vars(cls).get("__annotations__", {}).items():
        if not key.startswith("_"):
            yield f"{home.__name__}.{cls.__qualname__}.{key}", str(annotation), home


def _is_vague(signature: str, home: ModuleType) -> bool:
    """Whether a signature says Any, itself or by an alias of its module. Arrays may hold any kind of number."""
    if re.search(r"\bAny\b", signature):
        return True
    aliases = (vars(home).get(name) for name in re.findall(r"[A-Za-z_]\w*", signature))
    return any(
        value is Any or (isinstance(value, str) and "Any" in re.sub(r"(NDArray|Quantity)\[Any\]", "", value))
        for value in aliases
    )


def test_public_signatures_say_what_may_be_passed() -> None:
    signatures = {name: (signature, home) for name, signature, home in _public_signatures()}
    assert len(signatures) > 500
    vague = {name for name, (signature, home) in signatures.items() if _is_vague(signature, home)}
    assert vague == set(SAYS_ANY), vague ^ set(SAYS_ANY)


def test_the_documentation_names_the_types_of_signatures() -> None:
    sys.path.insert(0, str(ROOT / "docs/_ext"))
    guide = "\n".join(importlib.import_module("tables").types())
    aliases = {
        name
        for _, signature, home in _public_signatures()
        if home.__name__.startswith(("tcpdynamics.models", "tcpdynamics.solvers"))
        for name in re.findall(r"[A-Za-z_]\w*", signature)
        if isinstance(vars(home).get(name), str | UnionType) and not name.isupper()
    }
    assert {"Number", "Parameter", "MotionModel"} <= aliases
    assert {name for name in aliases if f"`{name}`" not in guide} == set()


def test_versions_that_are_printed_are_of_what_every_install_has() -> None:
    """A report ran for minutes, then failed: it printed the version of an extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["charts"]  # without which no report begins
    installed = {re.split(r"[^\w-]", one)[0] for one in needed}
    build, whole = map(importlib.import_module, ("tcpdynamics.apps.report.build", "tcpdynamics.paper_figures.whole"))
    assert {*build._VERSIONS, *whole._LIBRARIES} <= installed
