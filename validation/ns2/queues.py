"""Queue disciplines of ns-2: what a link's queue is told, and what of a scenario ns-2 cannot follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tcpdynamics.errors import ScenarioError

from ..packet.kernel.parameters import read_parameters
from ..packet.kernel.queues import DISCIPLINES
from ..packet.scenario.link import Link

#: ns-2 counts packets, bytes and segments in 32 bits.
LARGEST = 2**31 - 1
#: ns-2's queues always have a limit [packets].
NO_LIMIT = 1_000_000_000

#: Name of a discipline -> the class of ns-2.
CLASSES = {"droptail": "DropTail", "red": "RED", "sfq": "SFQ", "drr": "DRR"}


#: Disciplines of ns-2 that hash flows.
WITH_LANES = ("sfq", "drr")


def parameters(link: Link) -> dict[str, float]:
    """What the discipline of a link is set to, defaults filled in."""
    return read_parameters(DISCIPLINES[link.queue], link.queue_parameters, "links.queue_parameters", link.queue)


def is_random(link: Link) -> bool:
    """Whether the discipline draws numbers, other than those that ns-2 draws with its default seed."""
    return link.queue == "red" and parameters(link)["ns2"] < 2


def refuse_queue(link: Link) -> None:
    """Refuse a discipline that ns-2 does not have, or has in another form."""
    at = f" of link {link.name}"
    if link.priority != "none":
        raise ScenarioError(f'links.priority{at} is "{link.priority}": ns-2 has no such gateway; leave it out')
    if link.queue == "droptail":
        return
    if link.queue not in CLASSES:
        names = ", ".join(f'"{name}"' for name in CLASSES)
        raise ScenarioError(f'links.queue{at} is "{link.queue}"; translated for ns-2 are {names}')
    values = parameters(link)
    if not values["ns2"]:
        raise ScenarioError(f"links.queue_parameters.ns2{at} is 0: ns-2 has its own form of {link.queue}; take ns2 = 1")
    if link.queue == "drr" and link.buffer is not None:
        raise ScenarioError(f"links.buffer{at}: ns-2's DRR counts bytes; give links.buffer_bytes")
    if link.queue != "drr" and link.buffer_bytes is not None:
        raise ScenarioError(f"links.buffer_bytes{at}: ns-2's {link.queue} counts packets; give links.buffer")
    if link.queue == "red" and values["bytes"] and link.buffer is not None:
        raise ScenarioError(f"links.buffer{at}: ns-2's RED with bytes limits them too; leave it out, or bytes = 0")
    if link.queue == "red" and not values["min_threshold"]:
        raise ScenarioError(f"links.queue_parameters.min_threshold{at}: for 0 ns-2 takes one of its own; give more")
    for name in ("perturbation", "lane_limit"):
        if values.get(name):
            raise ScenarioError(f"links.queue_parameters.{name}{at}: ns-2 has no such thing; leave it out")


def settings(link: Link, number: Callable[[float], str]) -> Iterator[tuple[str, str]]:
    """Variables of ns-2's queue of a link, and their values; `number` writes one."""
    values = parameters(link)
    limit = NO_LIMIT if link.buffer is None else link.buffer - 1  # these count without the packet being sent
    if link.queue == "red":
        plain = {"thresh_": "min_threshold", "maxthresh_": "max_threshold", "q_weight_": "weight"}
        yield from ((key, number(values[name])) for key, name in plain.items())
        # A packet is marked where the share is below it, so 1 would lose those whose share is 1.
        yield "mark_p_", number(2.0 if values["mark_p"] == 1.0 else values["mark_p"])
        yield "linterm_", number(1.0 / values["p_max"])
        yield "mean_pktsize_", str(int(values["mean_packet"]))
        truths = {"gentle_": "gentle", "wait_": "wait", "bytes_": "bytes", "queue_in_bytes_": "bytes"}
        yield from ((key, "true" if values[name] else "false") for key, name in truths.items())
        yield "setbit_", "true"
        yield "limit_", str(LARGEST // int(values["mean_packet"]) if values["bytes"] else limit)
    elif link.queue == "sfq":
        yield "buckets_", str(int(values["queues"]))
        yield "maxqueue_", str(limit)
    elif link.queue == "drr":
        yield "buckets_", str(int(values["queues"]))
        yield "quantum_", str(int(values["quantum"]))
        yield "blimit_", str(LARGEST if link.buffer_bytes is None else link.buffer_bytes - 1)


def refuse_other_lanes(
    links: Sequence[Link], ways: Sequence[tuple[int, ...]], ends: Sequence[tuple[int, int]], flows: Sequence[int]
) -> None:
    """Refuse lanes that other flows would share in ns-2, which hashes addresses, than here.

    Parameters
    ----------
    links : sequence of Link
    ways, ends, flows : sequences
        Of each stream of packets: the links that it takes, its source and destination address, its flow.
    """
    for index, link in enumerate(links):
        if link.queue not in WITH_LANES:
            continue
        queues = int(parameters(link)["queues"])
        ours_to_theirs: dict[int, int] = {}
        there: dict[int, int] = {}
        addresses: dict[int, int] = {}
        for way, (source, target), flow in zip(ways, ends, flows, strict=True):
            if index in way:
                hashed = HASHES[link.queue](source, target)
                other = addresses.setdefault(hashed, flow)
                if (other - flow) % queues:
                    raise ScenarioError(
                        f'links.queue of link {link.name} is "{link.queue}": ns-2 hashes the addresses of hosts, so '
                        f"that flows {other} and {flow} share a lane whatever queues is; give each hosts of its own"
                    )
                ours, theirs = flow % queues, hashed % queues
                if ours_to_theirs.setdefault(ours, theirs) != theirs or there.setdefault(theirs, ours) != ours:
                    raise ScenarioError(
                        f"links.queue_parameters.queues of link {link.name} is {queues}: in ns-2 other flows share a "
                        "lane than here; take more"
                    )


HASHES: Mapping[str, Any] = {
    "sfq": lambda source, target: _folded(source + target) % (2**20 - 1),
    "drr": lambda source, target: _folded(source) % (2**24 - 1) + 1,
}


def _folded(word: int) -> int:
    return word + (word >> 8) + ~(word >> 4)
