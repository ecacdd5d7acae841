"""Read what the guest has captured: who sent which segment when, what arrived, what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..ns2.trace import Packets
from .guest import STRIDE
from .plan import LinuxPlan

#: Where things stand in a captured packet, and how they are stored.
LAYOUT = np.dtype(
    {
        "names": ["second", "nanosecond", "total", "id", "source", "target", "sequence", "ack", "offset", "flags"],
        "formats": ["<u4", "<u4", ">u2", ">u2", ">u4", ">u4", ">u4", ">u4", "u1", "u1"],
        "offsets": [4, 8, 98, 100, 108, 112, 120, 124, 128, 129],
        "itemsize": STRIDE,
    }
)  # fmt: skip
SYN = 2


@dataclass(frozen=True)
class Seen:
    """Data packets sent, received and lost, in the order of time; and when all of each flow was acknowledged [s].

    Attributes
    ----------
    repeats : (n,) bool array
        Whether what was sent had been sent before.
    """

    sends: Packets
    receives: Packets
    drops: Packets
    finish: np.ndarray
    repeats: np.ndarray


def read_capture(folder: Path, made: LinuxPlan, origin: int, duration: float) -> Seen:
    """Read the files of a run.

    Parameters
    ----------
    origin : int
        The guest's time at which the scenario begins [ns].
    duration : float
        [s]; what was sent later is left out, and what arrived later has not been lost.
    """
    sent, received = (
        np.concatenate([_packets(path) for path in sorted(folder.glob(f"{name}-*"))])
        for name in ("sent", "received")
    )
    outward = sent["source"] >> 24 == 10
    acks, out = sent[~outward], sent[outward]
    initial = _initial_sequences(out, len(made.flows))
    sends, send_keys = _data(out, made, origin, initial)
    receives, receive_keys = _data(received, made, origin, initial)
    lost = ~np.isin(send_keys, receive_keys)
    delay = np.array([f.to_queue for f in made.flows])
    drops = Packets(sends.time[lost] + delay[sends.flow[lost]], sends.flow[lost], sends.segment[lost])
    return Seen(
        _until(sends, duration), _until(receives, duration), _until(drops, duration),
        _finishes(acks, made, origin, initial), _repeats(sends),
    )  # fmt: skip


def _packets(path: Path) -> np.ndarray:
    return np.fromfile(path, LAYOUT)


def _flow(addresses: np.ndarray) -> np.ndarray:
    """Flow of each address, as `plan` numbers them."""
    a = addresses.astype(np.int64)
    return (a >> 16 & 255) << 14 | (a >> 8 & 127) << 7 | ((a & 255) - 1)


def _time(packets: np.ndarray, origin: int) -> np.ndarray:
    """Times from the origin [s]."""
    nanoseconds = packets["second"].astype(np.int64) * 10**9 + packets["nanosecond"] - origin
    return np.asarray(nanoseconds / 1e9)


def _initial_sequences(out: np.ndarray, flows: int) -> np.ndarray:
    """Sequence number of each flow's SYN."""
    initial = np.zeros(flows, np.int64)
    syns = out[out["flags"] & SYN != 0]
    initial[_flow(syns["source"])] = syns["sequence"]
    return initial


def _data(
    packets: np.ndarray, made: LinuxPlan, origin: int, initial: np.ndarray
) -> tuple[Packets, np.ndarray]:
    """SYNs and packets with data, in the order of time; what tells each from all others of its flow."""
    length = packets["total"].astype(np.int64) - 20 - 4 * (packets["offset"] >> 4).astype(np.int64)
    syn = packets["flags"] & SYN != 0
    packets, length, syn = (x[(length > 0) | syn] for x in (packets, length, syn))
    order = np.argsort(_time(packets, origin), kind="stable")
    packets, length, syn = packets[order], length[order], syn[order]
    flow = _flow(packets["source"])
    payload = np.array([f.payload for f in made.flows])[flow]
    byte = _unwrapped(packets["sequence"].astype(np.int64) - initial[flow], flow)
    segment = np.where(syn, 0, (byte - 1) // payload + 1)
    return Packets(_time(packets, origin), flow, segment), _keys(flow, packets["id"], byte)


def _unwrapped(sequence: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """Bytes since the SYN; sequence numbers begin again at 2^32."""
    bytes_ = sequence % 2**32
    for i in np.unique(flow[bytes_ > 2**31]):
        mine = flow == i
        bytes_[mine] = np.unwrap(bytes_[mine].astype(float), period=2.0**32).astype(np.int64)
    return bytes_


def _keys(flow: np.ndarray, ids: np.ndarray, byte: np.ndarray) -> np.ndarray:
    """Of each packet: flow, its first byte, and the number that IP gave it."""
    keys = np.empty(len(flow), [("flow", np.int64), ("byte", np.int64), ("id", np.int64)])
    keys["flow"], keys["byte"], keys["id"] = flow, byte, ids
    return keys


def _until(packets: Packets, end: float) -> Packets:
    there = packets.time < end
    return Packets(packets.time[there], packets.flow[there], packets.segment[there])


def _repeats(sends: Packets) -> np.ndarray:
    """Whether each packet had been sent before."""
    keys = np.stack([sends.flow, sends.segment])
    first = np.unique(keys, axis=1, return_index=True)[1]
    repeats = np.ones(len(sends.time), bool)
    repeats[first] = False
    return repeats


def _finishes(acks: np.ndarray, made: LinuxPlan, origin: int, initial: np.ndarray) -> np.ndarray:
    """When all that each flow had to send was acknowledged [s]; infinity where it never was."""
    finish = np.full(len(made.flows), np.inf)
    flow = _flow(acks["target"])
    last = np.array([np.inf if f.segments is None else f.segments * f.payload + 1 for f in made.flows])
    bounded = np.isfinite(last[flow])
    acks, flow = acks[bounded], flow[bounded]
    byte = _unwrapped(acks["ack"].astype(np.int64) - initial[flow], flow)
    done = byte >= last[flow]
    np.minimum.at(finish, flow[done], _time(acks[done], origin))
    return finish
