"""Break random operators, numbers and comparisons, and count how many breaks the tests notice.

    python tests/drawn_mutants.py FILE ... [--count N] [--seed S] [--tests FILE ...] [--matching WORDS]
                                   [--timeout SECONDS]

N random breaks of each file are tried, each in a copy of the source. All share a folder of machine code, which lies by
a hash of the sources that it is made of, so a break is compiled anew. A break is noticed if a test fails. The tests are
those of the file's own test file, test_NAME.py, else those of the test files that import it; `--tests` names others,
and `--matching` takes of them those with these words in their names, as pytest's -k does.
The output has a line for each break and the count for each file. A break that no test notices may be equivalent to the
original: check before writing a test.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutants import FOLDERS, ROOT

#: Operators, and what stands in their place.
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def places(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that can be broken, and how; annotations, error messages and formatted texts are left out."""
    texts = {id(n) for node in ast.walk(tree) for n in ast.walk(getattr(node, "annotation", None) or ast.Pass())}
    texts |= {id(n) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr | ast.Raise) for n in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in texts:
            continue
        if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in OPERATORS:
            yield node, f"{type(node.op).__name__} -> {OPERATORS[type(node.op)].__name__}"
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
            yield node, f"{type(node.ops[0]).__name__} -> {OPERATORS[type(node.ops[0])].__name__}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            value = node.value
            yield node, f"{value} -> {not value if isinstance(value, bool) else value + 1}"


def break_at(text: str, number: int) -> tuple[str, str]:
    """The text with one place broken, and what was done."""
    tree = ast.parse(text)
    node, words = list(places(tree))[number]
    changed: Any = node
    if isinstance(node, ast.Compare):
        changed.ops[0] = OPERATORS[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        changed.value = not node.value if isinstance(node.value, bool) else changed.value + 1
    else:
        changed.op = OPERATORS[type(changed.op)]()
    return ast.unparse(tree), f"line {changed.lineno}: {words}"


def tests_of(file: Path) -> list[Path]:
    """The test file named after a file, or else the test files that import its module."""

    def name(path: Path) -> str:
        return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    def importing(module: str, paths: list[Path]) -> list[Path]:
        last = module.rpartition(".")[2]
        return [p for p in paths if module in (text := p.read_text()) or f"import {last}" in text]

    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    named = [path for path in tests if path.stem == f"test_{file.stem}"]
    return named or importing(name(file), tests)


def is_noticed(file: Path, text: str, tests: list[Path], machine_code: str, options: argparse.Namespace) -> bool:
    """Whether a test fails, or does not end, with this text in the file's place."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        for folder in (*FOLDERS, "tests"):
            shutil.copytree(ROOT / folder, copy / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        (copy / file.relative_to(ROOT)).write_text(text)
        environment = os.environ | {"PYTHONPATH": str(copy / "src"), "NUMBA_CACHE_DIR": machine_code}
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", options.matching]
        try:
            done = subprocess.run(
                [*command, *(str(copy / t.relative_to(ROOT)) for t in tests)],
                cwd=copy, env=environment, capture_output=True, timeout=options.timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", nargs="+", type=Path)
    parser.add_argument("--matching", default="")
    parser.add_argument("--timeout", type=float, default=600.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as machine_code:
        for name in options.files:
            draw(name, options, machine_code)


def draw(name: Path, options: argparse.Namespace, machine_code: str) -> None:
    """Break a file as often as the options say, and print what was noticed."""
    file = name.resolve()
    text = file.read_text(encoding="utf-8")
    tests = [t.resolve() for t in options.tests or tests_of(file)]
    if not tests:
        print(f"{name}: no test file imports it; name some with --tests")
        return
    if is_noticed(file, text, tests, machine_code, options):
        print(f"{name}: its tests fail, or take too long, without a break")
        return
    number = len(list(places(ast.parse(text))))
    drawn = random.Random(options.seed).sample(range(number), min(options.count, number))
    noticed = 0
    for place in sorted(drawn):
        broken, words = break_at(text, place)
        is_found = is_noticed(file, broken, tests, machine_code, options)
        noticed += is_found
        print(f"{name} {words}: {'noticed' if is_found else 'NOT noticed'}", flush=True)
    print(f"{name}: {noticed} of {len(drawn)} noticed by {len(tests)} test files", flush=True)


if __name__ == "__main__":
    main()
