"""What of a scenario's flows, records and drops Linux cannot follow; its queues are in `queues`."""

from __future__ import annotations

from collections.abc import Iterator

from tcpdynamics.errors import ScenarioError
from tcpdynamics.quantities import numbered

from ..packet.scenario.fields import refused_by
from ..packet.scenario.flows import NOT_IN_LINUX, Flows
from ..packet.scenario.scenario import Scenario
from .switches import SENDERS

#: Bytes of a data packet that are not data: Ethernet, IP, TCP.
HEADERS = 14 + 20 + 20
#: Linux takes no segments below 88 bytes, options included, nor above 32,767.
LEAST_PACKET, MOST_PACKET = HEADERS + 88, HEADERS + 32_767
#: Addresses tell so many flows apart.
MOST_FLOWS = 2**20


def refuse(scenario: Scenario) -> None:
    """Refuse what Linux cannot follow, but for its queues, by the name of the key."""
    for key in ("receives", "drops", "windows", "queues"):
        if getattr(scenario.record, key) not in (None, False):
            raise ScenarioError(f"record.{key}: of Linux only sends are written down; leave it out")
    for drop in scenario.drops:
        if drop.link == "acknowledgements" and scenario.bottleneck is not None:
            raise ScenarioError("drops.link: on Linux's way back none is counted; take links, or the bottleneck")
    for index, group in enumerate(scenario.flows):
        for text in (*_refusals(group), *_jitter_refusals(group, scenario)):
            raise numbered(ScenarioError(text), "flows", index, len(scenario.flows))
    if scenario.count > MOST_FLOWS:
        raise ScenarioError(f"flows.count: Linux's addresses here are for {MOST_FLOWS:,} flows")


def _refusals(group: Flows) -> Iterator[str]:
    """What of a group of flows Linux cannot follow."""
    if group.sender not in SENDERS:
        yield (
            f'flows.sender = "{group.sender}": Linux has no such sender; take "sack", or "newreno" for Linux without '
            "SACK"
        )
    if group.routes:
        yield from _refusals_of_routes(group)
    yield from refused_by("linux", group, "flows.")
    if group.router_aware:
        yield f"flows.router_aware: {NOT_IN_LINUX}"
    if group.handshake is False:
        yield "flows.handshake = false: Linux always begins with one; leave it out"
    if not group.limited_transmit:
        yield "flows.limited_transmit = false: Linux always does; leave it out"
    if group.window_limit < 2:
        yield "flows.window_limit = 1: Linux's receivers advertise more; take 2 or more"
    if group.sender == "newreno" and group.sack:
        yield 'flows.sack = true: Linux\'s sender heeds what its receiver reports; take sender "sack"'
    if group.max_backoff != 64 or group.clear_rtt_after != 8:
        yield "flows.max_backoff and flows.clear_rtt_after: Linux has its own; leave them out"
    if group.max_rto is not None and not 1 <= group.max_rto <= 120:
        yield f"flows.max_rto: Linux takes 1 to 120 s, got {group.max_rto:g}"
    if group.min_rto is not None and (
        group.min_rto < 1e-3 or abs(1e3 * group.min_rto - round(1e3 * group.min_rto)) > 1e-6
    ):
        yield f"flows.min_rto: Linux counts whole milliseconds, at least one, got {group.min_rto:g} s"
    if not LEAST_PACKET <= group.packet_size <= MOST_PACKET:
        yield f"flows.packet_size: Linux takes {LEAST_PACKET} to {MOST_PACKET:,} bytes, got {group.packet_size:,}"


def _jitter_refusals(group: Flows, scenario: Scenario) -> Iterator[str]:
    """In Linux it is acknowledgements that are late by chance, so that what stands in no queue keeps its order.

    A link spaces them by a packet's sending time: with no more jitter than that none overtakes another.
    """
    link = scenario.bottleneck
    if not group.jitter:
        return
    if link is None or link.rate is None or scenario.links:
        yield "flows.jitter: translated for Linux with a bottleneck of some rate only; leave it out"
    elif group.jitter > 8 * group.packet_size / link.rate * (1 + 1e-9):
        yield (
            f"flows.jitter: in Linux it is that of acknowledgements, which would overtake each other; take at most the "
            f"sending time of a packet, {8 * group.packet_size / link.rate:g} s, got {group.jitter:g}"
        )


def _refusals_of_routes(group: Flows) -> Iterator[str]:
    """What of a group with several routes Multipath TCP cannot follow."""
    if group.acks != "immediate":
        yield (
            f'flows.acks = "{group.acks}": Linux acknowledges once, over the route by which a segment came; leave it '
            "out"
        )
    if group.parameters:
        yield "flows.parameters: Linux has its own; leave them out"
    if group.max_rto is not None:
        yield "flows.max_rto: Linux does not take one for several routes; leave it out"
    if group.stop is not None:
        yield "flows.stop: not translated for several routes; leave it out"
