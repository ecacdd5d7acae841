"""The command within this process: what it answers, and how it refuses."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli, main
from tcpdynamics.apps.report.build import build
from tcpdynamics.interrupts import heard


@pytest.fixture(scope="session")
def answer() -> Callable[..., str]:
    """Standard output of a command that succeeds."""

    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture(scope="session")
def quick_report() -> str:
    """The page of `report --quick`."""
    return build(quick=True)


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one sentence with which a command refuses."""

    def end(code: int) -> None:
        raise AssertionError(f"the command succeeded with code {code}")

    def run(*words: str) -> str:
        heard.clear()  # interrupts of other tests in this process
        monkeypatch.setattr(os, "_exit", end)
        monkeypatch.setattr(sys, "argv", ["tcpdynamics", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        assert (stop.value.code, out) == (2, "")
        assert len(err.splitlines()) == 1, err
        assert err.startswith("Error: ")
        return err

    return run
