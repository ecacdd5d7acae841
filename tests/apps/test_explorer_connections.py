"""Hundreds of connections that ask for nothing whole keep no visitor out."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tcpdynamics.apps.explorer.connections import ROOM

#: What a connection sends before it waits: nothing, a part of a request, or a whole one whose answer nobody reads.
BEGUN = {
    "nothing": b"",
    "half a line": b"GET /plotly.m",
    "half a head": b"GET /_dash-layout HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "half a body": b"POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{",
    "a whole request": b"GET /assets/style.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}
#: Seconds in which a visitor has an answer, on a busy machine.
SOON = 10.0


@contextmanager
def crowd(port: int, begun: bytes, drip: bool) -> Iterator[None]:
    """More connections than the server has room for; with `drip` more and more, each with a byte now and then."""
    held: list[socket.socket] = []
    ended = threading.Event()

    def one_more() -> None:
        with suppress(OSError):
            one = socket.create_connection(("127.0.0.1", port), timeout=5)
            held.append(one)
            one.sendall(begun)

    def go_on() -> None:
        while drip and not ended.wait(0.02):
            one_more()
            for one in held[-2 * ROOM :: 20]:
                with suppress(OSError):
                    one.send(b" ")

    for _ in range(ROOM + 20):
        one_more()
    others = threading.Thread(target=go_on)
    others.start()
    try:
        yield
    finally:
        ended.set()
        others.join()
        for one in held:
            one.close()


@pytest.mark.parametrize("begun", BEGUN)
def test_half_sent_requests_keep_no_visitor_out(explorer: tuple[str, subprocess.Popen[str]], begun: str) -> None:
    address, process = explorer
    port = int(address.rpartition(":")[2])
    with crowd(port, BEGUN[begun], drip=begun != "a whole request"):
        for _ in range(3):
            start = time.monotonic()
            visitor = http.client.HTTPConnection("127.0.0.1", port, timeout=SOON)
            visitor.request("GET", "/_dash-layout")
            assert visitor.getresponse().status == 200
            assert time.monotonic() - start < SOON
            visitor.close()
        assert len(os.listdir(f"/proc/{process.pid}/fd")) < ROOM + 150
