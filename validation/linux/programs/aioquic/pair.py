"""A QUIC server and client by aioquic: `server PORT CONTROL` sends without end, `client ADDRESS PORT` receives."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

#: What is waiting to be sent is filled up to so many bytes, this often [s].
WAITING, EVERY = 4_000_000, 0.02
CHUNK = bytes(1_000_000)


def certificate() -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """A certificate that this server signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    )
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    return builder.sign(key, hashes.SHA256()), key


class Sender(QuicConnectionProtocol):
    """Answers a request with data without end."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self.stream = event.stream_id
            self.fill()

    def fill(self) -> None:
        """Keep enough to send."""
        stream = self._quic._streams.get(self.stream)
        if stream is None:
            return
        while stream.sender._buffer_stop - stream.sender._buffer_start < WAITING:
            self._quic.send_stream_data(self.stream, CHUNK)
        self.transmit()
        asyncio.get_running_loop().call_later(EVERY, self.fill)


async def server(port: int, control: str) -> None:
    settings = QuicConfiguration(is_client=False, congestion_control_algorithm=control)
    settings.certificate, settings.private_key = certificate()
    await serve("::", port, configuration=settings, create_protocol=Sender)
    await asyncio.Future()


async def client(address: str, port: int) -> None:
    settings = QuicConfiguration(verify_mode=ssl.CERT_NONE, max_data=10**12, max_stream_data=10**12)
    if ipaddress.ip_address(address).version == 4:
        address = f"::ffff:{address}"
    async with connect(address, port, configuration=settings) as connection:
        reader, writer = await connection.create_stream()
        writer.write(b"go")
        writer.write_eof()
        while await reader.read(1 << 16):
            pass


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    asyncio.run(server(int(words[0]), words[1]) if what == "server" else client(words[0], int(words[1])))
