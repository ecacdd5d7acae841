"""Read what the guest has captured: who sent which segment when, what arrived, what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..ns2.trace import Packets
from . import multipath
from .guest import FIRST_ADDRESS, OPTIONS, STRIDE
from .plan import LinuxPlan, LinuxRoute

#: Where things stand in a captured packet, and how they are stored.
FIELDS = {
    "second": ("<u4", 4), "nanosecond": ("<u4", 8), "total": (">u2", 98), "id": (">u2", 100), "source": (">u4", 108),
    "target": (">u4", 112), "sequence": (">u4", 120), "ack": (">u4", 124), "offset": ("u1", 128), "flags": ("u1", 129),
}  # fmt: skip


def layout(with_options: bool) -> np.dtype[Any]:
    """Of a captured packet; with Multipath TCP its `options`, 40 bytes, stand behind it."""
    fields = FIELDS | ({"options": (f"({OPTIONS},)u1", STRIDE)} if with_options else {})
    formats, offsets = zip(*fields.values(), strict=True)
    size = STRIDE + OPTIONS * with_options
    return np.dtype({"names": list(fields), "formats": formats, "offsets": offsets, "itemsize": size})


LAYOUT = layout(False)
SYN = 2
#: Bytes before IP's header.
ETHERNET = 14
#: Routes of a flow at most.
ROUTES = 8


@dataclass(frozen=True)
class Seen:
    """Data packets sent, received and lost, in the order of time; and when all of each flow was acknowledged [s].

    Attributes
    ----------
    repeats : (n,) bool array
        Whether what was sent had been sent before.
    send_routes, receive_routes : (n,) and (m,) int array
        By which of its flow's routes each packet went.
    received : (m,) int array
        Bytes of data in each packet received, 0 in one whose first byte had come before.
    sizes : (m,) int array
        Bytes of each packet received, headers included.
    transit : (m,) float array
        From the sending of each packet to its receipt [s].
    """

    sends: Packets
    receives: Packets
    drops: Packets
    finish: np.ndarray
    repeats: np.ndarray
    send_routes: np.ndarray
    receive_routes: np.ndarray
    received: np.ndarray
    sizes: np.ndarray
    transit: np.ndarray


def read_capture(folder: Path, made: LinuxPlan, origin: int, duration: float) -> Seen:
    """Read the files of a run.

    Parameters
    ----------
    origin : int
        The guest's time at which the scenario begins [ns].
    duration : float
        [s]; what was sent later is left out, and what arrived later has not been lost.
    """
    several = {host for f in made.flows if f.multipath for host in f.hosts}
    sent, received = (_read(folder, name, several) for name in ("sent", "received"))
    outward = sent["source"] >> 24 & 1 == FIRST_ADDRESS & 1
    acks, out = sent[~outward], sent[outward]
    initial = _initial_sequences(out, len(made.flows))
    begins = _data_begins(out, made, initial) if several else np.zeros(len(made.flows), np.uint64)
    sends, receives = (_data(packets, made, origin, initial, begins) for packets in (out, received))
    lost = ~np.isin(sends.keys, receives.keys)
    delay = np.array([[way.to_queue for way in _padded(f.routes)] for f in made.flows])
    flow, segment = sends.packets.flow[lost], sends.packets.segment[lost]
    drops = Packets(sends.packets.time[lost] + delay[flow, sends.route[lost]], flow, segment)
    within, there = sends.packets.time < duration, receives.packets.time < duration
    return Seen(
        _until(sends.packets, duration), _until(receives.packets, duration), _until(drops, duration),
        _finishes(acks, made, origin, initial, begins), _repeats(sends.packets)[within],
        sends.route[within], receives.route[there], _new_bytes(receives)[there],
        receives.size[there], _transit(sends, receives)[there],
    )  # fmt: skip


def _padded(routes: tuple[LinuxRoute, ...]) -> tuple[LinuxRoute, ...]:
    return routes + routes[:1] * (ROUTES - len(routes))


def _read(folder: Path, name: str, several: set[str]) -> np.ndarray:
    """All files of one kind; packets whose options were not written down have none."""
    paths = sorted(folder.glob(f"{name}-*"))
    if not paths:
        return np.empty(0, layout(bool(several)))
    files = [np.fromfile(path, layout(path.name.removeprefix(f"{name}-") in several)) for path in paths]
    return np.concatenate([_widened(file) for file in files] if several else files)


def _widened(packets: np.ndarray) -> np.ndarray:
    """Packets with room for options, empty where they had none."""
    wide = layout(True)
    parts = np.zeros((len(packets), wide.itemsize), np.uint8)
    parts[:, : packets.dtype.itemsize] = packets.view(np.uint8).reshape(len(packets), -1)
    return parts.reshape(-1).view(wide)


def _flow(addresses: np.ndarray) -> np.ndarray:
    """Flow of each address, as `plan` numbers them."""
    a = addresses.astype(np.int64)
    return (a >> 16 & 255) << 14 | (a >> 8 & 127) << 7 | ((a & 255) - 1)


def _route(addresses: np.ndarray) -> np.ndarray:
    """Route of each address."""
    return np.asarray(((addresses >> 24).astype(np.int64) - FIRST_ADDRESS) // 2)


def _time(packets: np.ndarray, origin: int) -> np.ndarray:
    """Times from the origin [s]."""
    nanoseconds = packets["second"].astype(np.int64) * 10**9 + packets["nanosecond"] - origin
    return np.asarray(nanoseconds / 1e9)


def _initial_sequences(out: np.ndarray, flows: int) -> np.ndarray:
    """(flow, route) sequence numbers of SYNs."""
    initial = np.zeros((flows, ROUTES), np.int64)
    syns = out[out["flags"] & SYN != 0]
    initial[_flow(syns["source"]), _route(syns["source"])] = syns["sequence"]
    return initial


def _length(packets: np.ndarray) -> np.ndarray:
    """Bytes of data in each packet."""
    return np.asarray(packets["total"].astype(np.int64) - 20 - 4 * (packets["offset"] >> 4).astype(np.int64))


@dataclass(frozen=True)
class Data:
    """First SYNs and packets with data, in the order of time.

    Attributes
    ----------
    route, byte, length, size : (n,) int array
        Of each its route, its first byte within the connection, its bytes of data, and with headers.
    keys : (n,) array
        What tells each from all others.
    """

    packets: Packets
    route: np.ndarray
    byte: np.ndarray
    length: np.ndarray
    size: np.ndarray
    keys: np.ndarray


def _data(packets: np.ndarray, made: LinuxPlan, origin: int, initial: np.ndarray, begins: np.ndarray) -> Data:
    """Data of captured packets."""
    syn = (packets["flags"] & SYN != 0) & (_route(packets["source"]) == 0)
    there = ((_length(packets) > 0) & (packets["flags"] & SYN == 0)) | syn
    packets, syn = packets[there], syn[there]
    order = np.argsort(_time(packets, origin), kind="stable")
    packets, syn = packets[order], syn[order]
    flow, route = _flow(packets["source"]), _route(packets["source"])
    payload = np.array([f.payload for f in made.flows])[flow]
    within = _unwrapped(packets["sequence"].astype(np.int64) - initial[flow, route], flow * ROUTES + route)
    byte = _in_stream(packets, within, flow, begins)
    segment = np.where(syn, 0, (byte - 1) // payload + 1)
    keys = _keys(flow, route, packets["id"], within)
    sent = Packets(_time(packets, origin), flow, segment)
    size = packets["total"].astype(np.int64) + ETHERNET
    return Data(sent, route, byte, np.where(syn, 0, _length(packets)), size, keys)


def _unwrapped(sequence: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Bytes since the SYN; sequence numbers begin again at 2^32."""
    bytes_ = sequence % 2**32
    for i in np.unique(line[bytes_ > 2**31]):
        mine = line == i
        bytes_[mine] = np.unwrap(bytes_[mine].astype(float), period=2.0**32).astype(np.int64)
    return bytes_


def _in_stream(packets: np.ndarray, within: np.ndarray, flow: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """Byte of the whole connection that each packet begins with, from its byte within a route."""
    if "options" not in (packets.dtype.names or ()):
        return within
    mapped = multipath.mappings(packets["options"])
    offset = (mapped.byte - begins[flow]).astype(np.int64) - mapped.within
    return np.where(mapped.there, within + offset, within)


def _data_begins(out: np.ndarray, made: LinuxPlan, initial: np.ndarray) -> np.ndarray:
    """Number of each connection's byte 0, by its first mapped packet: until then all went by the first route."""
    begins = np.zeros(len(made.flows), np.uint64)
    data = out[_length(out) > 0]
    data = data[np.argsort(_time(data, 0), kind="stable")]
    mapped = multipath.mappings(data["options"])
    flows = _flow(data["source"])
    for i in np.unique(flows[mapped.there]):
        k = int(np.argmax(mapped.there & (flows == i)))
        begins[i] = mapped.byte[k] - mapped.within[k].astype(np.uint64)
    return begins


def _keys(flow: np.ndarray, route: np.ndarray, ids: np.ndarray, byte: np.ndarray) -> np.ndarray:
    """Of each packet: flow, route, its first byte there, and the number that IP gave it."""
    names = ("flow", "route", "byte", "id")
    keys = np.empty(len(flow), [(name, np.int64) for name in names])
    for name, values in zip(names, (flow, route, byte, ids), strict=True):
        keys[name] = values
    return keys


def _until(packets: Packets, end: float) -> Packets:
    there = packets.time < end
    return Packets(packets.time[there], packets.flow[there], packets.segment[there])


def _transit(sends: Data, receives: Data) -> np.ndarray:
    """Time [s] that each packet received took, NaN where its sending was not captured."""
    transit = np.full(len(receives.keys), np.nan)
    _, at_sends, at_receives = np.intersect1d(sends.keys, receives.keys, return_indices=True)
    transit[at_receives] = receives.packets.time[at_receives] - sends.packets.time[at_sends]
    return transit


def _new_bytes(data: Data) -> np.ndarray:
    """Bytes of each packet; 0 if one of the same beginning came before."""
    keys = np.stack([data.packets.flow, data.byte])
    first = np.unique(keys, axis=1, return_index=True)[1]
    new = np.zeros(len(data.byte), np.int64)
    new[first] = data.length[first]
    return new


def _repeats(sends: Packets) -> np.ndarray:
    """Whether each packet had been sent before."""
    keys = np.stack([sends.flow, sends.segment])
    first = np.unique(keys, axis=1, return_index=True)[1]
    repeats = np.ones(len(sends.time), bool)
    repeats[first] = False
    return repeats


def _finishes(acks: np.ndarray, made: LinuxPlan, origin: int, initial: np.ndarray, begins: np.ndarray) -> np.ndarray:
    """When all that each flow had to send was acknowledged [s]; infinity where it never was."""
    finish = np.full(len(made.flows), np.inf)
    flow = _flow(acks["target"])
    last = np.array([np.inf if f.segments is None else f.segments * f.payload + 1 for f in made.flows])
    bounded = np.isfinite(last[flow])
    acks, flow = acks[bounded], flow[bounded]
    route = _route(acks["target"])
    byte = _unwrapped(acks["ack"].astype(np.int64) - initial[flow, route], flow * ROUTES + route)
    if "options" in (acks.dtype.names or ()):
        acknowledged, there = multipath.acknowledged(acks["options"], begins[flow])
        several = np.array([f.multipath for f in made.flows])[flow]
        byte = np.where(several, np.where(there, acknowledged, 0), byte)
    done = byte >= last[flow]
    np.minimum.at(finish, flow[done], _time(acks[done], origin))
    return finish
