"""What the explorer's server answers to requests that no page of it sends: codes of 4xx and one sentence."""

from __future__ import annotations

import errno
import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from explorer_tabs import move, opened
from playwright.sync_api import Browser, Page, Route

from tcpdynamics.apps.explorer import server as module
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.server import address_of, check_place, make_app, name_of, spec_of, words_of
from tcpdynamics.errors import InputError


@pytest.fixture(scope="module")
def app() -> Any:
    app = make_app()
    yield app
    app.server.extensions["jobs"].close()


@pytest.fixture
def client(app: Any) -> Any:
    return app.server.test_client()


MANY = "&".join(f"a{i}=1" for i in range(120))
BODIES = (b"", b"{}", b"[]", b"null", b"1", b'"x"', b"[" * 200_000, b'{"output": 1}',
          json.dumps({"output": "spec.data", "outputs": {"id": "spec", "property": "data"}, "changedPropIds": [],
                      "inputs": [{"id": "address", "property": "pathname", "value": 123},
                                 {"id": "address", "property": "search", "value": ""}]}).encode())  # fmt: skip


@pytest.mark.parametrize("number", range(len(BODIES)))
def test_strange_callbacks_are_refused(client: Any, number: int, caplog: pytest.LogCaptureFixture) -> None:
    answer = client.post("/_dash-update-component", data=BODIES[number], content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert "Traceback" not in caplog.text and len(caplog.text.splitlines()) <= 1


@pytest.mark.parametrize("path", ["os/path.py", "dash/../../x", "nonsense/x.js", "dcc/x"])
def test_files_of_other_modules_are_refused(client: Any, path: str) -> None:
    assert 400 <= client.get(f"/_dash-component-suites/{path}").status_code < 500


@pytest.mark.parametrize("where", ["code", "netcdf", "answers"])
@pytest.mark.parametrize(
    "words", [MANY, "x1=7&pad=" + "9" * 4200, "x1=", "x1=99"], ids=["many", "long", "blank", "high"]
)
def test_addresses_that_are_not_read_are_told_so(client: Any, where: str, words: str) -> None:
    paths = {"answers": "/answers/sub-packet/forms", "code": "/code/fairness/flows", "netcdf": "/netcdf/fairness"}
    path = paths[where]
    answer = client.get(f"{path}?{words}")
    assert answer.status_code == 400
    assert 10 < len(answer.text) < 400 and "\n" not in answer.text and "shown" not in answer.text


def test_a_page_says_what_of_its_address_was_not_read() -> None:
    page = pages()["fairness"]
    assert "more than 100 words" in spec_of(page, f"?x1=3&{MANY}")["complaints"][0]
    assert "x1" in spec_of(page, "?x1=")["complaints"][0]
    assert spec_of(page, "?x1=3")["values"]["x1"] == 3.0
    with pytest.raises(InputError, match="longer than 4096"):
        words_of("x" * 5000)


@pytest.mark.parametrize(
    "path", ["/answers/sub-packet/forms", "/code/fairness/flows", "/netcdf/fairness", "/claims/answers.json"]
)
def test_pages_of_other_sites_cannot_ask(client: Any, path: str) -> None:
    assert client.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_heavy_answers_wait_for_their_turn(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    go, inside = threading.Event(), threading.Semaphore(0)

    def slow(values: Any, typed: str) -> dict[str, int]:
        inside.release()
        assert go.wait(60)
        return {"done": 1}

    monkeypatch.setitem(pages()["sub-packet"].answers, "slow", slow)  # type: ignore[index]
    answers: list[Any] = []
    path = "/answers/sub-packet/slow"
    threads = [threading.Thread(target=lambda: answers.append(client.get(path))) for _ in range(module.ANSWERS_AT_ONCE)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert inside.acquire(timeout=60)
    busy = client.get(path)
    assert busy.status_code == 202 and "ask again" in busy.json["busy"]
    go.set()
    for thread in threads:
        thread.join(60)
    assert [a.json for a in answers] == [{"done": 1}] * len(threads)
    assert client.get(path).json == {"done": 1}


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:8050", "127.0.0.1"),
        ("[::1]:8050", "::1"),
        ("[::1]", "::1"),
        ("localhost", "localhost"),
        ("[evil", ""),
    ],
)
def test_names_of_hosts_are_read(client: Any, host: str, name: str) -> None:
    assert name_of(host) == name
    assert client.get("/code/fairness/flows", headers={"Host": host}).status_code == (200 if name else 403)


def test_addresses_of_ipv6_stand_in_brackets() -> None:
    assert [address_of(host, 80) for host in ("::1", "[::1]", "127.0.0.1")] == [
        "http://[::1]:80/", "http://[::1]:80/", "http://127.0.0.1:80/",
    ]  # fmt: skip


def test_a_host_that_is_not_this_machine_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"--host 'nonsense\.invalid' is no name"):
        check_place("nonsense.invalid", 8050)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="choose another with --port"):
            check_place("127.0.0.1", taken.getsockname()[1])

    def elsewhere(self: Any, place: Any) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "not here")

    monkeypatch.setattr(module.socket, "socket", type("Probe", (socket.socket,), {"bind": elsewhere}))
    with pytest.raises(InputError, match=r"--host '8\.8\.8\.8' is no address of this machine"):
        check_place("8.8.8.8", 8050)


def test_folders_that_cannot_be_written_are_refused(refused: Callable[..., str], tmp_path: Any) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    assert "a link to nothing" in refused("explore", "--export", str(tmp_path / "link"))
    (tmp_path / "file").touch()
    assert "Errno" not in refused("explore", "--export", str(tmp_path / "file"))
    assert "needs the name of a folder" in refused("explore", "--export", "")


@pytest.mark.parametrize("link", [{"users": 1.0}, {"users": 1000.0, "rate": 0.1, "base_rtt": 0.01, "buffer": 0.0}])
def test_code_of_a_link_without_bars_runs_and_says_why(client: Any, link: dict[str, float]) -> None:
    page = pages()["sub-packet"]
    answer = client.get(f"/code/sub-packet/packets?{urlencode({'source': 'users-on-a-link'} | link)}")
    assert answer.status_code == 200 and "# no command: " in answer.text
    printed: list[Any] = []
    exec(answer.text, {"print": lambda *values: printed.extend(values)})  # lines that the page wrote itself
    head, *rows = (row.split(",") for row in printed[-1].strip().split("\n"))
    bars = {name: any(row[i] for row in rows) for i, name in enumerate(head[-3:], len(head) - 3)}
    assert bars == {"approximate": False, "full": False, "exact": link["users"] > 1}
    assert len(printed) == 1 or not 0 < printed[0] < 1
    assert page.dataset is not None
    assert page.dataset(page.start() | {"source": "users-on-a-link"} | link).sizes["loss"] >= 139


def test_nobody_with_anything_is_said_so(client: Any) -> None:
    words = "&".join(f"x{i}=0" for i in range(1, 9))
    assert client.get(f"/netcdf/fairness?{words}").status_code == 400
    assert "nobody has anything" in client.get(f"/code/fairness/indices?{words}").text


@pytest.mark.parametrize("seed", ["1.5", "x", "[1]"])
def test_a_seed_that_is_no_number_is_told_so_in_words(seed: str) -> None:
    (said,) = spec_of(pages()["packets"], "?" + urlencode({"seed": seed}))["complaints"]
    assert "seed must be a whole number, got" in said and "Input" not in said


def test_a_refused_download_stays_in_the_page(browser: Browser, server: str) -> None:
    tab = browser.new_page()
    opened(tab, f"{server}/fairness?flows=2&x1=0&x2=0")
    assert "Nobody has anything" in tab.locator(".reading").inner_text()
    tab.get_by_role("button", name="NetCDF of the model's own results").click()
    tab.get_by_text("must not all be 0").wait_for()
    move(tab, "x1", 3.0)
    assert tab.locator(".reading").inner_text().startswith("Jain's index is 0.5")
    with tab.expect_download() as download:
        tab.get_by_role("button", name="NetCDF of the model's own results").click()
    assert download.value.suggested_filename == "fairness.nc"
    assert tab.locator(".complaint").inner_text() == ""
    tab.close()


def test_a_page_asks_again_while_the_server_is_busy(tab: Page, server: str) -> None:
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            route.fulfill(status=202, json={"busy": "ask again"})
        else:
            route.continue_()

    tab.route("**/answers/sub-packet/exact**", answer)
    opened(tab, f"{server}/sub-packet?w_max=4&chain=approximate")
    tab.get_by_role("button", name="Exact rationals").click()
    tab.get_by_text("which sum to one").wait_for()
    assert len(asked) == 2


def test_files_say_what_of_their_address_was_not_read(tab: Page, files: Path) -> None:
    for words, said in (
        ("&".join(f"a{i}=1" for i in range(90)), "this page has no 'a0'"),
        ("&".join(f"a{i}=1" for i in range(101)), "more than 100 words"),
        ("x1=" + "9" * 5000, "longer than 4096"), ("x1=", "(`x1`) must be a number"),
    ):  # fmt: skip
        tab.goto("about:blank")
        opened(tab, (files / "fairness.html").as_uri() + f"#{words}")
        complaint = tab.locator(".complaint").inner_text()
        assert said in complaint and len(complaint) < 300
