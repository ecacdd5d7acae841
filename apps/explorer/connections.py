"""Connections of visitors: where many are open, one that has waited long for a whole request makes room for the next.

Waitress takes no more connections than its limit, and closes none from which a byte came in the last minutes. So some
hundred half-sent requests would keep everybody out.
"""

from __future__ import annotations

import time
from typing import Any

from waitress.channel import HTTPChannel

#: Connections that are open at once; a browser holds six.
ROOM = 200
#: Settings of waitress that belong to it: its own limit, which only requests that are being answered can reach;
#: seconds until an idle connection is closed, and between two looks; bytes of an answer that wait for their reader,
#: more than any answer has, so that no thread waits for somebody who does not read.
SETTINGS = {
    "connection_limit": ROOM + 100, "channel_timeout": 60, "cleanup_interval": 5, "outbuf_high_watermark": 100_000_000,
}  # fmt: skip


class Connection(HTTPChannel):  # type: ignore[misc]
    """A visitor's connection.

    Attributes
    ----------
    since : float
        When it began to wait for what it waits for: the rest of a request, the next request, a reader [s].
    """

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        self.since = time.monotonic()
        super().__init__(server, sock, addr, adj, map)
        idle = [one for one in self._map.values() if isinstance(one, Connection) and not one.requests]
        if len(self._map) > ROOM and len(idle) > 1:
            min(idle, key=lambda one: one.since).handle_close()

    def received(self, data: bytes) -> bool:
        """Take in a part of a request; one that goes on drop by drop waits since its first byte."""
        if self.request is None:
            self.since = time.monotonic()
        return bool(super().received(data))

    def service(self) -> None:
        """Answer a request."""
        super().service()
        self.since = time.monotonic()
