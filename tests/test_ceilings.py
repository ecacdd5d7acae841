"""Ceilings of the package's size. A commit that lifts one says why; one that removes code lowers it."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("models", "solvers", "validation", "apps", "paper_figures")

#: Lines of Python in the package, and of the tests.
LINES, LINES_OF_TESTS = 97_124, 53_081
#: Assignments to names that do not name the thing.
UNNAMED = 240
WORDS = {
    "asked", "each", "found", "given", "held", "here", "kept", "known", "least", "left", "made", "met", "most", "near",
    "others", "own", "rest", "said", "seen", "shown", "taken", "told", "whole",
}  # fmt: skip
#: Runs of six lines of code that stand in the package again.
REPEATED = 20
#: Arguments of a function; records count as one. The others take the options of a command or of a public call by name.
ARGUMENTS = 10
TAKE_MORE = {
    "validation/packet/scenario/fields.py:key", "models/parameters.py:parameter", "solvers/sweeps/sweep.py:sweep",
    "solvers/stability/bifurcation.py:bifurcation", "solvers/stability/basin.py:basin",
    "solvers/trajectories/taylor_operations.py:count_apart", "apps/command/simulate.py:simulate",
    "apps/command/figures.py:figures",
    "validation/comparisons/t_refwa_networks.py:one_link", "validation/linux/run.py:run_linux",
}  # fmt: skip


@functools.cache
def _files() -> dict[str, str]:
    """Files of the package by their place, with their text; the links in `src` lead to the folders."""
    paths = [p for folder in FOLDERS for p in (ROOT / folder).rglob("*.py")]
    paths += [p for p in (ROOT / "src/tcpdynamics").glob("*.py")]
    paths += [p for p in (ROOT / "src/tcpdynamics/charts").glob("*.py")]
    return {p.relative_to(ROOT).as_posix(): p.read_text(encoding="utf-8") for p in paths}


@functools.cache
def _tree(text: str) -> ast.Module:
    return ast.parse(text)


def test_the_package_is_no_larger() -> None:
    assert sum(text.count("\n") for text in _files().values()) <= LINES


def test_the_tests_are_no_larger() -> None:
    texts = [p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("*.py")]
    assert sum(text.count("\n") for text in texts) <= LINES_OF_TESTS


def test_names_name_the_thing() -> None:
    stores = Counter(
        node.id
        for text in _files().values()
        for node in ast.walk(_tree(text))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in WORDS
    )
    assert stores.total() <= UNNAMED, stores.most_common()


def _code(text: str) -> list[str]:
    """Lines without indentation; no comments, docstrings, imports, blank lines or lone brackets."""
    left_out: set[int] = set()
    for node in ast.walk(_tree(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in left_out]
    return [line for line in lines if any(map(str.isalnum, line)) and not line.startswith("#")]


def test_code_does_not_repeat_itself() -> None:
    runs: Counter[tuple[str, ...]] = Counter()
    for text in _files().values():
        lines = _code(text)
        runs.update(tuple(lines[i : i + 6]) for i in range(len(lines) - 5))
    repeated = {run: count - 1 for run, count in runs.items() if count > 1}
    assert sum(repeated.values()) <= REPEATED, sorted(run[0] for run in repeated)


def test_functions_take_ten_arguments_at_most() -> None:
    longer = set()
    for place, text in _files().items():
        for node in ast.walk(_tree(text)):
            if isinstance(node, ast.FunctionDef):
                count = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
                if count > ARGUMENTS:
                    longer.add(f"{place}:{node.name}")
    assert longer <= TAKE_MORE, longer - TAKE_MORE
