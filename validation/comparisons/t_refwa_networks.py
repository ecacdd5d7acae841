"""The networks of the T-REFWA paper (Taleb and others), as scenarios: one bottleneck (Fig. 1) and two (Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..packet import Flows, Link, Record, Scenario

#: Data packets [byte]: the paper's 1 kB.
PACKET = 1000

#: Round-trip times of the eight groups [s]; the delays of Fig. 1 are not in the text.
RTTS = tuple(20e-3 + 20e-3 * j for j in range(8))

#: Our links' own delay [s]; the rest of a round trip is on the way to the receivers.
_NEAR = 0.5e-3


def one_link(
    rtts: Sequence[float],
    count: int,
    rate: float,
    buffer: int,
    router: Mapping[str, float],
    *,
    duration: float,
    warm_up: float,
    record: float | None = None,
    seed: int = 1,
) -> Scenario:
    """A server, one link with the router, and groups of `count` receivers at round-trip times `rtts`."""
    way: dict[str, Any] = {"router": "t_refwa", "router_parameters": dict(router)}
    links = [Link("server", "router", None, 0.0), Link("router", "users", rate, _NEAR, buffer, **way)]
    links += [Link("users", f"group{j}", None, rtt / 2 - _NEAR) for j, rtt in enumerate(rtts)]
    window = int(max(4 * (rate / (8 * PACKET) * max(rtts) + buffer) / (count * len(rtts)), 1000))
    flows = tuple(
        Flows(
            count, "newreno", source="server", target=f"group{j}", packet_size=PACKET,
            window_limit=min(window, 20_000), start_spread=min(1.0, warm_up / 4), jitter=0.0, rules="rfc",
        )
        for j in range(len(rtts))
    )  # fmt: skip
    return Scenario(
        flows, None, duration, warm_up, links=tuple(links), epoch=1.0, slice=duration - warm_up, seed=seed,
        clock="grid", record=Record(queues=record) if record else Record(),
    )  # fmt: skip


def fig4(
    router: Mapping[str, float],
    *,
    rate: float = 20e6,
    rtt: float = 0.04,
    buffer: int = 100,
    duration: float = 40.0,
    seed: int = 1,
) -> Scenario:
    """Five flows over L1 and L3, four over L1 alone, six over L3 alone; rates and delays of Fig. 4 are not in the text.

    L2 joins the two. All round trips take `rtt`.
    """
    gains: dict[str, Any] = {"router": "t_refwa", "router_parameters": dict(router)}
    near = 1e-3
    links = (
        Link("a", "b", rate, near, buffer, **gains), Link("b", "c", None, near),
        Link("c", "d", rate, near, buffer, **gains),
    )  # fmt: skip
    ways = {1: ("a", "d", 3 * near), 2: ("a", "b", near), 3: ("c", "d", near)}
    flows: list[Flows] = []
    ends: list[Link] = []
    for group, (first, last, inside) in ways.items():
        ends += [Link(f"s{group}", first, None, 0.0), Link(last, f"d{group}", None, rtt / 2 - inside)]
        flows.append(
            Flows(
                {1: 5, 2: 4, 3: 6}[group], "newreno", "rfc", source=f"s{group}", target=f"d{group}", packet_size=PACKET,
                window_limit=2000, start_spread=1.0, jitter=0.0,
            )
        )  # fmt: skip
    return Scenario(
        tuple(flows), None, duration, duration / 4, links=(*links, *ends), epoch=1.0, slice=duration, seed=seed,
        clock="grid",
    )  # fmt: skip
