"""aioquic's controller through its `now` arguments: as a server and a client, and by hand over one link with losses.

Runs with the interpreter of the stack, not with ours: `PAIR server PORT`, `PAIR client ADDRESS PORT`, or `PAIR`, with a
request on its input and the server's datagrams, [time, bytes], on its output.
"""

from __future__ import annotations

import datetime
import heapq
import importlib.util
import itertools
import json
import math
import select
import socket
import ssl
import sys
import time
from typing import Any

from aioquic.buffer import Buffer  # type: ignore[import-not-found]
from aioquic.quic.configuration import QuicConfiguration  # type: ignore[import-not-found]
from aioquic.quic.connection import QuicConnection  # type: ignore[import-not-found]
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived  # type: ignore[import-not-found]
from aioquic.quic.packet import pull_quic_header  # type: ignore[import-not-found]
from cryptography import x509  # type: ignore[import-not-found]
from cryptography.hazmat.primitives.asymmetric import ed25519  # type: ignore[import-not-found]

#: Of Ethernet, IP and UDP [byte].
HEADERS = 42
#: What a look at the guest's clock costs [s]; the end that waits takes one, `select` four; a handshake of the server's
#: takes many, for its random numbers. `select` counts microseconds, and may last a thousandth longer.
LOOK, HANDSHAKE, LATE = 256e-9, 49, 1.001


def certificate() -> Any:
    """A certificate whose signatures have one length, unlike those of the pair's."""
    key, moment = ed25519.Ed25519PrivateKey.generate(), datetime.datetime(2020, 1, 1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(moment).not_valid_after(moment.replace(year=2049))
    return builder.sign(key, None), key


class End:
    """One end: its connection, its timers, and what it has to send."""

    def __init__(self, pair: Any, is_client: bool) -> None:
        self.pair, self.is_client = pair, is_client
        self.settings = QuicConfiguration(is_client=is_client, congestion_control_algorithm="cubic")
        if is_client:
            self.settings.verify_mode = ssl.CERT_NONE
            self.settings.max_data = self.settings.max_stream_data = 10**12
        else:
            self.settings.certificate, self.settings.private_key = certificate()
        self.quic: Any = None
        self.timers: dict[str, float] = {}
        self.stream: int | None = None
        self.out: list[bytes] = []

    def start(self, now: float) -> None:
        self.quic = QuicConnection(configuration=self.settings)
        self.quic.connect(("::", 1), now=now)
        self.transmit(now)

    def receive(self, data: bytes, now: float) -> None:
        if self.quic is None:
            head = pull_quic_header(Buffer(data=data), host_cid_length=8)
            self.quic = QuicConnection(
                configuration=self.settings, original_destination_connection_id=head.destination_cid
            )
        self.quic.receive_datagram(data, ("::", 1), now=now)
        ready = self.events(now)
        self.transmit(now)
        if ready:
            stream = self.quic.get_next_available_stream_id()
            self.quic.send_stream_data(stream, b"go")
            self.quic.send_stream_data(stream, b"", end_stream=True)
            self.transmit(now)

    def events(self, now: float) -> bool:
        """Whether the client may send its request; the server begins to send when it receives one."""
        ready = False
        while (event := self.quic.next_event()) is not None:
            ready |= self.is_client and isinstance(event, HandshakeCompleted)
            if not self.is_client and isinstance(event, StreamDataReceived) and event.end_stream:
                self.stream = event.stream_id
                self.fill(now)
        return ready

    def fill(self, now: float) -> None:
        sender = self.quic._streams[self.stream].sender
        while sender._buffer_stop - sender._buffer_start < self.pair.WAITING:
            self.quic.send_stream_data(self.stream, self.pair.CHUNK)
        self.transmit(now)
        self.timers["fill"] = now + self.pair.EVERY

    def transmit(self, now: float) -> None:
        self.out += [data for data, _ in self.quic.datagrams_to_send(now=now)]
        self.timers.pop("quic", None)
        if (at := self.quic.get_timer()) is not None:
            self.timers["quic"] = at

    def wake(self, data: bytes | None, now: float) -> None:
        """First what came, then the timers that were due before."""
        due = {name: at for name, at in self.timers.items() if at < now + 1e-9}
        if data is not None:
            self.receive(data, now)
        for name, at in sorted(due.items(), key=lambda item: item[1]):
            if self.timers.get(name) != at:
                continue
            del self.timers[name]
            if name == "fill":
                self.fill(now)
            else:
                self.quic.handle_timer(now=max(at, now))
                self.events(now)
                self.transmit(now)

    def next_wake(self, now: float) -> tuple[float, float]:
        """From when on it waits, and until when."""
        if not self.timers:
            return now, math.inf
        wait = math.ceil(max(min(self.timers.values()) - now - LOOK, 0.0) * 1e6) * 1e-6
        return now + 3 * LOOK, now + 2 * LOOK + LATE * wait


def serve(end: End, one: socket.socket, far: Any) -> None:
    """Drive one end by the machine's clock and a socket."""
    while True:
        for data in end.out:
            one.sendto(data, far)
        end.out = []
        wait = None if not end.timers else max(min(end.timers.values()) - time.monotonic(), 0.0)
        data = None
        if select.select([one], [], [], wait)[0]:
            data, far = one.recvfrom(1 << 16)
        end.wake(data, time.monotonic())


def run(pair: Any, rate: float, rtt: float, lost: set[int], until: float) -> list[tuple[float, int]]:
    """The datagrams that the server sends until a time [s] after the client's first."""
    client, server = End(pair, True), End(pair, False)
    base, order, sent = 300.0, itertools.count(), []
    arrivals: dict[End, list[tuple[float, int, bytes]]] = {client: [], server: []}
    free, number = 0.0, 0
    client.start(base)
    times = {client: base + 2 * LOOK, server: base}
    acting, now = client, base
    while True:
        for data in acting.out:
            at = now + rtt / 2
            if acting is server:
                sent.append((now - base, len(data)))
                place, number = number, number + 1
                if place in lost:
                    continue
                free = max(now + rtt / 4, free) + 8 * (len(data) + HEADERS) / rate
                at = free + rtt / 4
            heapq.heappush(arrivals[client if acting is server else server], (at, next(order), data))
        acting.out = []
        wakes = {}
        for end in (client, server):
            begin, wake = end.next_wake(times[end])
            first = arrivals[end][0][0] if arrivals[end] else math.inf
            wakes[end] = max(begin, min(first, wake)) + 2 * LOOK
        acting = min(wakes, key=lambda one: wakes[one])
        now = wakes[acting]
        if now - base > until:
            return sent
        data = heapq.heappop(arrivals[acting])[2] if arrivals[acting] and arrivals[acting][0][0] <= now else None
        fresh = acting.quic is None
        acting.wake(data, now)
        now += HANDSHAKE * LOOK * fresh
        times[acting] = now


if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("pair", sys.argv[1])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if len(sys.argv) > 2:
        one = socket.socket(type=socket.SOCK_DGRAM)
        end = End(module, sys.argv[2] == "client")
        if end.is_client:
            end.start(time.monotonic())
            serve(end, one, (sys.argv[3], int(sys.argv[4])))
        one.bind(("", int(sys.argv[3])))
        serve(end, one, None)
    request = json.load(sys.stdin)
    print(json.dumps(run(module, request["rate"], request["rtt"], set(request["lost"]), request["until"])))
