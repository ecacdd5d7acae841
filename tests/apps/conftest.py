"""The command within this process, what it answers and how it refuses; the explorer in a browser."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import chromium
from click.testing import CliRunner

from tcpdynamics.apps.command.main import cli, main
from tcpdynamics.apps.report.build import build
from tcpdynamics.interrupts import heard

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page


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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tabs."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        instance = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield instance
        instance.close()


@contextmanager
def running() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """An explorer's address and process, which ends well when it is interrupted."""
    from explorer_tabs import wait_for

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tcpdynamics", "explore", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None and str(port) in process.stdout.readline()
    address = f"http://127.0.0.1:{port}"
    wait_for(address)
    yield address, process
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.fixture(scope="module")
def explorer() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """An explorer of a file's own, whose process is looked at."""
    with running() as pair:
        yield pair


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of the explorer that the files share."""
    with running() as (address, _):
        yield address


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The exported pages."""
    from tcpdynamics.apps.explorer.export import export

    folder = tmp_path_factory.mktemp("site") / "pages"
    export(folder)
    return folder


@contextmanager
def lent(browser: Browser, idle: list[Page]) -> Iterator[Page]:
    """A tab that no other test uses; what its console says at the level of an error fails the test.

    Tests use the same tabs one after another: a fresh one takes a second, its first page another half.
    """
    from explorer_tabs import PATIENCE

    page = idle.pop() if idle else browser.new_context(accept_downloads=True).new_page()
    page.set_default_timeout(PATIENCE)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light")
    said: list[str] = []

    def heard(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(message.text)

    def failed(error: Error) -> None:
        said.append(str(error))

    def asked(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    listeners: dict[Any, Any] = {"console": heard, "pageerror": failed, "dialog": asked}
    for event, listener in listeners.items():
        page.on(event, listener)
    yield page
    page.unroute_all()
    page.goto("about:blank")
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    idle.append(page)  # one that does not even leave its page is not used again
    assert said == []


@pytest.fixture(scope="session")
def idle() -> list[Page]:
    """Tabs that no test uses now."""
    return []


@pytest.fixture
def tab(browser: Browser, idle: list[Page]) -> Iterator[Page]:
    with lent(browser, idle) as page:
        yield page


@pytest.fixture
def other(browser: Browser, idle: list[Page], tab: Page) -> Iterator[Page]:
    """A second tab, which shares no cookies, cache or storage with the first: somebody else's browser."""
    with lent(browser, idle) as page:
        yield page
