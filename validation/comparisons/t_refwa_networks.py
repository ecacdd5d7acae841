"""The networks of the T-REFWA paper (Taleb and others), as scenarios: one bottleneck (Fig. 1) and two (Fig. 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..packet import Flows, Link, Record, Scenario

#: Data packets [byte]: the paper's 1 kB.
PACKET = 1000

#: Table II: link -> rate [bit/s], buffer [packets], flows.
LINKS = {"T3": (44e6, 50, 8), "OC3": (155e6, 190, 32), "OC12": (622e6, 760, 128), "OC48": (2400e6, 2930, 512)}

#: Round-trip times of the eight groups [s]. Fig. 1's delays are not in the text. "9.8 ms" is the mean with which the
#: buffers of Table II are bandwidth-delay products, as section IV says; with longer ones links are idle at times.
MEANS: dict[str, tuple[float, ...]] = {
    "9.8 ms": tuple(2.8e-3 + 2e-3 * j for j in range(8)),
    "30 ms": tuple(9e-3 + 6e-3 * j for j in range(8)),
    "90 ms": tuple(20e-3 + 20e-3 * j for j in range(8)),
}

#: A sender of the paper's runs waits at random before it sends, up to so many sending times of the bottleneck. Without
#: that, flows fall in step: Jain's index of Reno is then 0.2 to 0.8, and 0.5 to 0.96 with it.
OVERHEAD = 4.0

#: Protocol -> sender, window rule, whether the link has the router.
PROTOCOLS = {
    "Reno": ("reno", "reno", False), "NewReno": ("newreno", "reno", False), "Westwood": ("newreno", "westwood", False),
    "T-REFWA": ("newreno", "reno", True),
}  # fmt: skip

#: Our links' own delay [s]; the rest of a round trip is on the way to the receivers.
_NEAR = 0.5e-3


def one_link(
    rtts: Sequence[float],
    count: int,
    rate: float,
    buffer: int,
    router: Mapping[str, float] | None,
    *,
    duration: float,
    warm_up: float,
    sender: str = "newreno",
    control: str = "reno",
    queue: Mapping[str, Any] | None = None,
    rules: str = "rfc",
    overhead: float = 0.0,
    record: float | None = None,
    seed: int = 1,
) -> Scenario:
    """A server, one link, and groups of `count` receivers at round-trip times `rtts`; without `router` a plain link."""
    way: dict[str, Any] = dict(queue or {})
    if router is not None:
        way |= {"router": "t_refwa", "router_parameters": dict(router)}
    links = [Link("server", "router", None, 0.0), Link("router", "users", rate, _NEAR, buffer, **way)]
    links += [Link("users", f"group{j}", None, rtt / 2 - _NEAR) for j, rtt in enumerate(rtts)]
    window = int(max(4 * (rate / (8 * PACKET) * max(rtts) + buffer) / (count * len(rtts)), 1000))
    more: dict[str, Any] = {"timer_granularity": 1e-4, "overhead": overhead} if rules == "ns2" else {}
    flows = tuple(
        Flows(
            count, sender, rules, source="server", target=f"group{j}", packet_size=PACKET, control=control,
            window_limit=min(window, 20_000), start_spread=min(1.0, warm_up / 4), jitter=0.0, **more,
        )
        for j in range(len(rtts))
    )  # fmt: skip
    return Scenario(
        flows, None, duration, warm_up, links=tuple(links), epoch=1.0, slice=duration - warm_up, seed=seed,
        clock="grid", record=Record(queues=record) if record else Record(),
    )  # fmt: skip


def fig1(link: str, mean: str, protocol: str, *, duration: float, red: bool = False, seed: int = 1) -> Scenario:
    """The eight groups of Fig. 1 on a link of Table II, the first tenth of the run left out."""
    rate, buffer, flows = LINKS[link]
    sender, control, routed = PROTOCOLS[protocol]
    thresholds = {"min_threshold": buffer / 4, "max_threshold": 0.75 * buffer}
    return one_link(
        MEANS[mean], flows // 8, rate, buffer, {} if routed else None, duration=duration, warm_up=duration / 10,
        sender=sender, control=control, queue={"queue": "red", "queue_parameters": thresholds} if red else None,
        rules="ns2", overhead=OVERHEAD * 8 * PACKET / rate, seed=seed,
    )  # fmt: skip


def fig4(
    router: Mapping[str, float] | None,
    *,
    rate: float = 20e6,
    rtt: float = 0.04,
    buffer: int = 100,
    rtts: tuple[float, float, float] | None = None,
    duration: float = 40.0,
    seed: int = 1,
) -> Scenario:
    """Five flows over L1 and L3, four over L1 alone, six over L3 alone; rates and delays of Fig. 4 are not in the text.

    L2 joins the two. All round trips take `rtt`, or those of the three groups are `rtts`.
    """
    gains: dict[str, Any] = {} if router is None else {"router": "t_refwa", "router_parameters": dict(router)}
    near = 1e-3
    links = (
        Link("a", "b", rate, near, buffer, **gains), Link("b", "c", None, near),
        Link("c", "d", rate, near, buffer, **gains),
    )  # fmt: skip
    ways = {1: ("a", "d", 3 * near), 2: ("a", "b", near), 3: ("c", "d", near)}
    flows: list[Flows] = []
    ends: list[Link] = []
    for group, (first, last, inside) in ways.items():
        trip = rtt if rtts is None else rtts[group - 1]
        ends += [Link(f"s{group}", first, None, 0.0), Link(last, f"d{group}", None, trip / 2 - inside)]
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
