"""Programs that are kept on disk: read as they were written, and made again where a file holds none."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from tcpdynamics.solvers.programs.on_disk import program_of
from tcpdynamics.solvers.programs.straightline import Builder, Program


def some_program() -> Program:
    b = Builder()
    x = b.input("x")
    whole = b.mul(b.apply("exp", x), b.const(Fraction(-(3**9000), 7)))  # more digits than Python prints
    return b.build([b.apply("max", whole, b.const(0.1)), x, b.const(1)])


def refuse() -> Program:
    raise AssertionError("it is on disk")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "programs"


def test_a_program_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert program_of("one", tmp_path, some_program) == some_program()
    assert program_of("one", tmp_path, refuse) == some_program()
    with pytest.raises(AssertionError, match="on disk"):
        program_of("another", tmp_path, refuse)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"ops": 1, "outputs": []}', '{"ops": [["mul", 0, 0, null]], "outputs": [0]}',
        '{"ops": [["const", -1, -1, "1/0"]], "outputs": [0]}', '{"ops": [["input", -1, -1, "x"]], "outputs": [1]}',
        '{"ops": [["system", 0, 0, null]], "outputs": []}', '{"ops": [["const", -1, -1, "q"]], "outputs": []}',
        "[" * 100_000,
    ],
)  # fmt: skip
def test_a_file_that_holds_no_program_is_written_again(text: str, tmp_path: Path, folder: Path) -> None:
    program_of("one", tmp_path, some_program)
    (file,) = folder.iterdir()
    file.write_text(text)
    assert program_of("one", tmp_path, some_program) == some_program()
    assert program_of("one", tmp_path, refuse) == some_program()


def test_an_edit_of_the_sources_makes_another_program(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(name)
    program_of("one", tmp_path / "first", some_program)
    with pytest.raises(AssertionError, match="on disk"):
        program_of("one", tmp_path / "second", refuse)


def test_where_nothing_can_be_written_programs_are_made_each_time(tmp_path: Path, folder: Path) -> None:
    folder.write_text("a file where the folder would be")
    assert [program_of("one", tmp_path, some_program) for _ in range(2)] == [some_program()] * 2
