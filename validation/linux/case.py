"""From a plan to what the guest's program reads: commands for `ip` and `tc`, and its flows' sockets."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tcpdynamics.errors import ScenarioError

from ..packet.scenario.program import PLACES
from ..packet.scenario.scenario import Scenario
from . import dualpi2
from .plan import LinuxFlow, LinuxPlan, Wire
from .refusals import HEADERS

#: Longest time that what waits at the end is given to leave [s].
MOST_EMPTYING = 10_000.0
#: So many wires carry packets at once when they are set up.
AT_ONCE = 350
#: Least memory of a socket's buffer, and what a packet takes there beside its own size [byte].
LEAST_BUFFER, OVERHEAD = 1 << 16, 2048
#: The guest's memory without any flow, and the most that it gets [MB]. Only what is used is taken.
LEAST_MEMORY, MOST_MEMORY = 256, 16384
#: What the two programs of a flow may take of it, with the files that they write [MB].
PROGRAM_MEMORY = 384
#: The port of flow 0 where it is a program; that of others follows.
FIRST_PORT = 6000


def case(scenario: Scenario, made: LinuxPlan) -> dict[str, Any]:
    """What the guest is told.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> from .plan import plan
    >>> from .switches import OLD
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50))
    >>> told = case(scenario, plan(scenario, 1, OLD))
    >>> told["batches"][-1]
    ('tc', 'd', ['qdisc add dev d3 root netem delay 100000.0us limit 100000000'])
    """
    buffer = max(LEAST_BUFFER, 2 * max(f.window[1] * (f.packet_size + OVERHEAD) for f in made.flows))
    if 2 * buffer >= 1 << 31:
        raise ScenarioError(
            f"flows.window_limit: Linux's sockets hold at most {1 << 30:,} bytes, and such windows take {buffer:,} "
            "here; lower it, or flows.packet_size"
        )
    programs = sum(f.program is not None for f in made.flows)
    memory = LEAST_MEMORY + 3 * buffer * len(made.flows) // 10**6 + PROGRAM_MEMORY * programs
    if memory > MOST_MEMORY:
        raise ScenarioError(
            f"flows.window_limit: {len(made.flows)} flows with such windows take {memory:,} MB in Linux, at most "
            f"{MOST_MEMORY:,} are given; lower it, or flows.count"
        )
    queue = max((wire_time(made, i) for i in range(len(made.wires))), default=0.0)
    return {
        "spaces": made.spaces | {name: _host(made, name, buffer) for name in made.spaces if name[0] in "ab"},
        "batches": _batches(made),
        "disciplines": list(_by_netlink(made)),
        "senders": [name for name in made.spaces if name[0] == "a"],
        "receivers": [name for name in made.spaces if name[0] == "b"],
        "multipath": [f.hosts[1] for f in made.flows if f.multipath],
        "plugs": [(w.source, f"e{i}") for i, w in enumerate(made.wires) if w.source[0] == "a"],
        "relays": [
            {"ends": list(zip((w.source, w.target), _devices(made, i), strict=True)), "lost": w.lost}
            for i, w in enumerate(made.wires)
            if w.lost is not None
        ],
        "queues": [(w.source, f"d{i}") for i, w in enumerate(made.wires) if w.link is not None],
        "flows": [_flow(f, made) | _program(i, f, scenario.duration) for i, f in enumerate(made.flows)],
        "program_memory": PROGRAM_MEMORY,
        "ipv6": any(f.program is not None and f.program.ipv6 for f in made.flows),
        "duration": nanoseconds(scenario.duration),
        "warm_up": nanoseconds(scenario.warm_up),
        "settle": settling(len(made.wires)),
        "drain": nanoseconds(1.0 + queue + sum(link.delay for link in made.links) + _longest_rtt(scenario)),
        "buffer": buffer,
        "memory": memory,
        "lazy": all(f.quick for f in made.flows),
    }


def settling(wires: int) -> int:
    """Whole seconds from the setting up to the scenario's time 0, which cost nothing.

    Linux switches on about a hundred devices a second, two of each wire; a few hundred are on at once.

    Examples
    --------
    >>> settling(300), settling(1000)
    (2, 52)
    """
    return 2 if wires <= AT_ONCE else 2 + wires // 20


def nanoseconds(seconds: float) -> int:
    """A time in whole nanoseconds."""
    return round(1e9 * seconds)


def wire_time(made: LinuxPlan, i: int) -> float:
    """How long [s] a queue takes to run empty that holds what its buffer, or all windows, let it."""
    link = made.links[made.wires[i].link or 0]
    if made.wires[i].link is None or link.rate is None:
        return 0.0
    largest = max(f.packet_size for f in made.flows)
    queued = link.buffer_bytes or (math.inf if link.buffer is None else link.buffer * largest)
    windows = sum(f.window[1] * f.packet_size for f in made.flows) + len(made.flows) * HEADERS
    time = 8 * min(queued, windows) / link.rate
    if time > MOST_EMPTYING:
        raise ScenarioError(
            f"links.buffer: what waits at the end may take {time:,.0f} s to leave, and the run of Linux waits at most "
            f"{MOST_EMPTYING:,.0f} s for it; take a smaller buffer or flows.window_limit, or a higher rate"
        )
    return time


def _longest_rtt(scenario: Scenario) -> float:
    return max((max(group.rtts()) for group in scenario.flows), default=0.0)


def _host(made: LinuxPlan, name: str, buffer: int) -> dict[str, str]:
    """Settings of a space with hosts; those of programs have Linux's own buffers."""
    if any(name in f.hosts for f in made.flows if f.program is not None):
        return made.spaces[name] | {"ipv4/tcp_rmem": "4096 131072 33554432", "ipv4/tcp_wmem": "4096 16384 4194304"}
    limits = f"4096 {buffer} {2 * buffer}"
    fixed = {"ipv4/tcp_rmem": limits, "ipv4/tcp_wmem": limits, "ipv4/tcp_moderate_rcvbuf": "0"}
    return made.spaces[name] | fixed


def _flow(f: LinuxFlow, made: LinuxPlan) -> dict[str, Any]:
    return {
        "space": f.hosts[0], "source": f.routes[0].addresses[0], "target": f.routes[0].addresses[1],
        "routes": len(f.routes), "start": nanoseconds(f.start),
        "stop": None if f.stop is None else nanoseconds(f.stop),
        "bytes": None if f.segments is None else f.segments * f.payload, "control": f.control,
        "mss": f.packet_size - HEADERS, "payload": f.payload, "window": f.window[1] * f.payload, "paced": made.paced,
        "max_rto": None if f.max_rto is None else round(1e3 * f.max_rto),
    }  # fmt: skip


def _program(i: int, f: LinuxFlow, duration: float) -> dict[str, Any]:
    """The command lines of a flow that is a program."""
    if f.program is None:
        return {}
    address, client = (ipv6(text) if f.program.ipv6 else text for text in f.routes[0].addresses)
    host = f"[{address}]" if f.program.ipv6 else address
    values = (address, host, str(FIRST_PORT + i), client, f"{duration - f.start:g}")
    places = dict(zip(PLACES, values, strict=True))

    def filled(arguments: Iterable[str]) -> list[str]:
        out = []
        for argument in arguments:
            for place, value in places.items():
                argument = argument.replace(place, value)
            out.append(argument)
        return out

    refused = [number for number, allowed in ((103, f.program.gso), (104, f.program.gro)) if not allowed]
    programs = {"server": filled(f.program.server), "client": filled(f.program.client)}
    return programs | {"far": f.hosts[1], "refused": refused}


def ipv6(address: str) -> str:
    """The address of IPv6 that belongs to one of IPv4.

    >>> ipv6("10.0.1.73")
    'fd00::10:0:1:73'
    """
    return f"fd00::{address.replace('.', ':')}"


def _batches(made: LinuxPlan) -> list[tuple[str, str, list[str]]]:
    """(tool, space, lines): all wires, then each space's addresses and routes, then its queues."""
    mtu = max(f.packet_size for f in made.flows) - 14
    wires = []
    for i, wire in enumerate(made.wires):
        if wire.lost is not None:
            continue  # the guest's program makes it, and carries its packets
        # Both ends have one address, so that each takes what comes, and nobody asks for it.
        address = f"address 02:00:00:{i >> 16 & 255:02x}:{i >> 8 & 255:02x}:{i & 255:02x}"
        a, b = _devices(made, i)
        wires.append(
            f"link add {a} netns {wire.source} {address} type veth peer name {b} netns {wire.target} {address}"
        )
    lines: dict[str, list[str]] = {name: ["link set lo up"] for name in made.spaces}
    for i, wire in enumerate(made.wires):
        for space, device in zip((wire.source, wire.target), _devices(made, i), strict=True):
            lines[space].append(f"link set {device} arp off mtu {max(mtu, 576)} gso_max_segs 1 txqueuelen 10000 up")
    for f in made.flows:
        _add_flow(lines, made, f)
    queues: dict[str, list[str]] = defaultdict(list)
    for i, wire in enumerate(made.wires):
        queues[wire.source] += [line.replace("DEV", f"d{i}") for line in wire.lines if not _is_for_guest(line)]
    return [
        ("ip", "", wires),
        *(("ip", space, text) for space, text in lines.items()),
        *(("tc", space, text) for space, text in queues.items() if text),
    ]


def _by_netlink(made: LinuxPlan) -> Iterator[dict[str, Any]]:
    """Disciplines that the guest's program makes itself, under a token bucket, since `tc` may not know the word."""
    for i, wire in enumerate(made.wires):
        for line in wire.lines:
            if _is_for_guest(line):
                words = line.split(": ")[-1]
                message = {"kind": dualpi2.KIND, "parent": 0x10000, "handle": 0x100000}
                yield message | {"space": wire.source, "device": f"d{i}", "options": dualpi2.options(words).hex()}


def _is_for_guest(line: str) -> bool:
    return f" {dualpi2.KIND} " in f"{line} "


def _devices(made: LinuxPlan, i: int) -> tuple[str, str]:
    """Names of a wire's ends; a host's is called e."""
    wire = made.wires[i]
    return (f"{'e' if wire.source[0] == 'a' else 'd'}{i}", f"{'e' if wire.target[0] == 'b' else 'u'}{i}")


def _add_flow(lines: dict[str, list[str]], made: LinuxPlan, f: LinuxFlow) -> None:
    """Addresses of a flow's ends and the routes in every space that it passes."""
    (a, b), way = f.hosts, f.routes[0]
    first, last = made.wires[way.wires_there[0]].source, made.wires[way.wires_there[-1]].target
    plugs = [made.wires.index(Wire(*ends)) for ends in ((a, first), (last, b))]
    (out, into), (out_far, into_far) = (_devices(made, plug) for plug in plugs)
    window = f"initcwnd {f.window[0]} rto_min {round(1e3 * f.min_rto)}ms"
    answer = f"window {f.window[1] * f.payload} advmss {f.packet_size - HEADERS} quickack {int(f.quick)}"
    if f.program is not None:
        window = answer = ""  # a program's sockets are Linux's as they come
    for way in f.routes:
        source, target, bits, at_once = *way.addresses, 32, ""
        if f.program is not None and f.program.ipv6:
            source, target, bits, at_once = ipv6(source), ipv6(target), 128, " nodad"
        lines[a].append(f"addr add {source}/{bits} dev lo{at_once}")
        lines[b].append(f"addr add {target}/{bits} dev lo{at_once}")
        lines[a].append(f"route add {target}/{bits} dev {out} src {source} {window}")
        for i in way.wires_there:
            lines[made.wires[i].source].append(f"route add {target}/{bits} dev {_devices(made, i)[0]}")
        lines[last].append(f"route add {target}/{bits} dev {out_far}")
        lines[b].append(f"route add {source}/{bits} dev {into_far} src {target} {answer}")
        for i in way.wires_back:
            lines[made.wires[i].source].append(f"route add {source}/{bits} dev {_devices(made, i)[0]}")
        lines[first].append(f"route add {source}/{bits} dev {into}")
    if f.multipath:
        subflows = len(f.routes) - 1
        for host in (a, b):
            lines[host].append(f"mptcp limits set subflows {subflows} add_addr_accepted {subflows}")
        lines[b] += [f"mptcp endpoint add {way.addresses[1]} signal" for way in f.routes[1:]]
