"""The tutorial's outputs are the outputs."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli

DOCS = Path(__file__).parents[2] / "docs"
DOCTESTS = [path for path in sorted(DOCS.glob("*.md")) if "\n>>> " in path.read_text("utf-8")]
SINGLE = [DOCS / "install.md", DOCS / "choose_sender_rules.md", DOCS.parent / "README.md"]
PAGES = [*sorted((DOCS / "tutorial").glob("*.md")), *SINGLE, *DOCTESTS]


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_commands_print_what_the_page_shows(path):
    for block in re.findall(r"^```console\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE):
        command, _, shown = block.removeprefix("$ ").partition("\n")
        name, *words = shlex.split(command)
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert (name, done.exit_code, done.stdout) == ("tcpdynamics", 0, shown)


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_python_gives_what_the_page_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(path), module_relative=False)
    assert result.failed == 0 and (result.attempted > 0 or path.stem in ("index", "install", "choose_sender_rules"))
