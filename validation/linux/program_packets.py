"""Packets of flows that are programs: what their servers sent, what arrived, what was lost; pcap; how they ended."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tcpdynamics.errors import LinuxError, shown

from ..ns2.trace import Packets
from .guest import PLACE, SNAP, SNAP_OF_PROGRAMS, STRIDE
from .plan import LinuxPlan

#: Where things stand in a captured packet: before it the ring's head and the address of its device.
LAYOUT = np.dtype(
    {
        "names": ["second", "nanosecond", "kept", "length", "device", "way", "kind", "v4", "v6", "frame"],
        "formats": ["<u4", "<u4", "<u4", "<u4", "<i4", "u1", ">u2", "V94", "V74", f"V{SNAP_OF_PROGRAMS}"],
        "offsets": [4, 8, 12, 16, 52, 58, PLACE + 12, PLACE + 34, PLACE + 54, PLACE],
        "itemsize": STRIDE - SNAP + SNAP_OF_PROGRAMS,
    }
)
LOOPBACK, OUTGOING, IPV6, TCP, UDP = 1, 4, 0x86DD, 6, 17
#: The head of a pcap file with nanoseconds, and of Ethernet frames.
PCAP = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_OF_PROGRAMS, 1)


@dataclass(frozen=True)
class ProgramPackets:
    """Of all flows that are programs: packets in the order of time, numbered in each flow as they were sent.

    Attributes
    ----------
    sends, receives, drops : Packets
        Of the servers; `segment` is the number of the packet.
    sizes, transit : (n,) float array
        Of each packet received: bytes on the wire, and time from its sending [s].
    repeats : (n,) bool array
        Whether a packet sent carries TCP data that was sent before; false of other protocols, which hide it.
    hidden : set of int
        Flows of which no packet is TCP's.
    """

    sends: Packets
    receives: Packets
    drops: Packets
    sizes: np.ndarray
    transit: np.ndarray
    repeats: np.ndarray
    hidden: frozenset[int]


def read_programs(folder: Path, made: LinuxPlan, origin: int, duration: float) -> ProgramPackets:
    """Read what the guest has captured in the spaces of programs; later packets are left out, as in `read_capture`."""
    parts: dict[str, list[np.ndarray]] = {
        name: [] for name in ("sends", "receives", "drops", "sizes", "transit", "repeats")
    }
    hidden = set()
    for i, flow in enumerate(made.flows):
        if flow.program is None:
            continue
        sent, got = (
            read(folder / f"program-{what}-{host}") for what, host in zip(("sent", "received"), flow.hosts, strict=True)
        )
        sent, got = sent[sent["way"] == OUTGOING], got[got["way"] != OUTGOING]
        at, arrived = (_times(packets, origin) for packets in (sent, got))
        number = _matched(_keys(sent), _keys(got))
        within, there = at < duration, arrived < duration
        lost = np.setdiff1d(np.flatnonzero(within), number)
        parts["sends"].append(_rows(at[within], i, np.flatnonzero(within)))
        paired = there & (number >= 0)
        parts["receives"].append(_rows(arrived[paired], i, number[paired]))
        parts["drops"].append(_rows(at[lost] + flow.routes[0].to_queue, i, lost))
        parts["sizes"].append(got["length"][paired].astype(float))
        parts["transit"].append(arrived[paired] - at[number[paired]])
        repeats, of_tcp = _repeats(sent)
        parts["repeats"].append(repeats[within])
        hidden |= set() if of_tcp else {i}
    joined = {name: np.concatenate(part, axis=-1) for name, part in parts.items()}
    sends, receives, drops = (Packets(*_typed(joined[name])) for name in ("sends", "receives", "drops"))
    return ProgramPackets(
        sends, receives, drops, joined["sizes"], joined["transit"], joined["repeats"].astype(bool), frozenset(hidden)
    )


def read(path: Path) -> np.ndarray:
    """Captured packets of a space, but for those that never left it, in the order of time."""
    packets = np.fromfile(path, LAYOUT)
    packets = packets[packets["device"] != LOOPBACK]
    return np.asarray(packets[np.lexsort((packets["nanosecond"], packets["second"]))])


def _times(packets: np.ndarray, origin: int) -> np.ndarray:
    nanoseconds = packets["second"].astype(np.int64) * 10**9 + packets["nanosecond"] - origin
    return np.asarray(nanoseconds / 1e9)


def _rows(time: np.ndarray, flow: int, segment: np.ndarray) -> np.ndarray:
    return np.stack([time, np.full(time.size, float(flow)), segment.astype(float)])


def _typed(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rows[0], rows[1].astype(np.int64), rows[2].astype(np.int64)


def _keys(packets: np.ndarray) -> np.ndarray:
    """What distinguishes packets: length, and the bytes after the IP header as far as kept, but for the checksum.

    Where a packet is captured the kernel may not have computed its checksum yet.
    """
    v6 = packets["kind"] == IPV6
    keys = np.zeros(len(packets), [("length", np.int64), ("text", "V94")])
    keys["length"] = packets["length"]
    keys["text"] = packets["v4"]
    keys["text"][v6] = packets["v6"][v6].astype("V94")
    content = np.ascontiguousarray(keys["text"]).view(np.uint8).reshape(len(packets), 94)
    for protocol, place in ((TCP, 16), (UDP, 6)):
        content[_protocol(packets) == protocol, place : place + 2] = 0
    keys["text"] = np.ascontiguousarray(content).view("V94").reshape(-1)
    return keys


def _protocol(packets: np.ndarray) -> np.ndarray:
    """Number of the protocol above IP."""
    frame = np.ascontiguousarray(packets["frame"]).view(np.uint8).reshape(len(packets), SNAP_OF_PROGRAMS)
    return np.where(packets["kind"] == IPV6, frame[:, 20], frame[:, 23])


def _matched(sent: np.ndarray, got: np.ndarray) -> np.ndarray:
    """Of each packet that arrived the number of that which was sent, -1 for none; of alike ones in their order."""
    both = np.concatenate([sent, got])
    both = both.view(np.uint8).reshape(len(both), both.dtype.itemsize)
    _, kind = np.unique(both, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    waiting: dict[int, list[int]] = {}
    for place, one in enumerate(kind[: len(sent)].tolist()):
        waiting.setdefault(one, []).append(place)
    return np.array([waiting[one].pop(0) if waiting.get(one) else -1 for one in kind[len(sent) :].tolist()], np.int64)


def _repeats(sent: np.ndarray) -> tuple[np.ndarray, bool]:
    """Which packets carry a sequence number of TCP that was sent with data before; whether any packet is TCP's."""
    v6 = sent["kind"] == IPV6
    frame = np.ascontiguousarray(sent["frame"]).view(np.uint8).reshape(len(sent), SNAP_OF_PROGRAMS)
    tcp = _protocol(sent) == TCP
    begin = np.where(v6, 54, 34)
    rows = np.arange(len(sent))
    head = np.stack([frame[rows, begin + k] for k in range(4, 8)], axis=1).astype(np.int64)
    sequence = head @ (256 ** np.arange(3, -1, -1))
    header = begin + 4 * (frame[rows, begin + 12] >> 4)
    data = tcp & (sent["length"] > header)
    ports = frame[rows, begin + 2].astype(np.int64) << 8 | frame[rows, begin + 3]
    repeats = np.zeros(len(sent), bool)
    key = np.where(data, ports << 32 | sequence, -1 - rows)
    first = np.unique(key, return_index=True)[1]
    repeats[data] = True
    repeats[first] = False
    return repeats, bool(tcp.any())


def write_pcap(packets: np.ndarray, path: Path) -> None:
    """Write captured packets as a pcap file: headers and the first bytes, with times to the nanosecond."""
    with path.open("wb") as file:
        file.write(PCAP)
        for one in packets:
            kept = min(int(one["kept"]), SNAP_OF_PROGRAMS)
            file.write(struct.pack("<4I", one["second"], one["nanosecond"], kept, one["length"]))
            file.write(one["frame"].tobytes()[:kept])


def check_endings(
    made: LinuxPlan, folder: Path, over: Sequence[Sequence[Any]], packets: ProgramPackets, duration: float
) -> None:
    """Raise LinuxError where a program failed, or a server's packets never came; `over` is the guest's list."""
    for i, what, status, _ in over:
        program = shown(getattr(made.flows[i].program, what)[0])
        if isinstance(status, str):
            raise LinuxError(f"flow {i}: the {what} {program} {status}")
        if status == -9:
            raise LinuxError(
                f"flow {i}: the {what} {program} was killed: a program may not take more memory than a flow has, or "
                f"kill itself{_output(folder, i, what)}"
            )
        if status:
            raise LinuxError(f"flow {i}: the {what} {program} ended with status {status}{_output(folder, i, what)}")
    came = set(packets.receives.flow.tolist())
    for i, flow in enumerate(made.flows):
        if flow.program is not None and i not in came and flow.start < duration:
            output = "".join(_output(folder, i, what) for what in ("server", "client"))
            ended = "".join(f"; the {what} ended by itself" for flow_, what, *_ in over if flow_ == i)
            raise LinuxError(f"flow {i}: no packet of the server reached the client{ended}{output}")


def _output(folder: Path, i: int, what: str) -> str:
    path = folder / f"flow{i}-{what}" / "output"
    text = " ".join(path.read_text("utf-8", "replace").split())[-400:] if path.is_file() else ""
    return f"; the {what} printed: ...{text}" if text else f"; the {what} printed nothing"
