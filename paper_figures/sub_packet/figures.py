"""Chen, Iyengar, Subramanian, Ford, *TCP Behavior in Sub-Packet Regimes*: its figures and claims, produced again.

The paper gives its results as figures without tables, so what can be checked by number are its formulas, its
limits and the few
numbers in its text. Each claim below is recomputed here; nothing is copied from the paper but the number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tcpdynamics.models import SharedLink, SubPacketExact, SubPacketFull, collapse_threshold
from tcpdynamics.models.sub_packet.aggregated import mean_wait
from tcpdynamics.solvers import self_consistent, stationary
from tcpdynamics.validation.comparisons import SubPacketChainVsPackets

PAPER = "J. Chen, J. Iyengar, L. Subramanian, B. Ford, TCP Behavior in Sub-Packet Regimes"


@dataclass(frozen=True)
class Claim:
    """One published statement and what we find.

    Attributes
    ----------
    where : str       Section, figure or equation.
    published : str   What the paper says.
    found : str       What the computation says.
    verdict : str     "confirmed", "differs" or "erratum".
    """

    where: str
    published: str
    found: str
    verdict: str


def fig9(quick: bool = False) -> SubPacketChainVsPackets:
    """Fig. 9: 1 Mbit/s, 200 ms, 50 packets of 500 bytes, SACK."""
    return SubPacketChainVsPackets(**_length(quick))


def fig10(quick: bool = False) -> list[SubPacketChainVsPackets]:
    """Fig. 10: slower links, buffers of one RTT, loads scaled so that the packets per flow are as in Fig. 9."""
    return [
        SubPacketChainVsPackets(
            rate=rate,
            buffer=round(rate * 0.2 / 4000),
            flows=_scaled(rate, quick),
            **_length(quick, flows=False),
        )
        for rate in (250e3, 500e3)
    ]


def fig11(quick: bool = False) -> SubPacketChainVsPackets:
    """Fig. 11: eight groups of flows with RTTs between 200 and 400 ms."""
    return SubPacketChainVsPackets(base_rtt=(0.2, 0.4), **_length(quick))


def _length(quick: bool, flows: bool = True) -> dict[str, Any]:
    """The paper runs 5000 s; the quick setting is for a look, with wider intervals."""
    if not quick:
        return {"duration": 5000.0, "warm_up": 200.0, "replications": 8}
    short: dict[str, Any] = {"duration": 600.0, "warm_up": 100.0, "replications": 5}
    return short | ({"flows": (20, 50, 100, 200, 300)} if flows else {})


def _scaled(rate: float, quick: bool) -> tuple[int, ...]:
    loads = (40, 100, 300) if quick else (40, 80, 100, 200, 300)
    return tuple(round(n * rate / 1e6) for n in loads)


def claims() -> list[Claim]:
    """The statements of the paper that a computation can check, recomputed now."""
    return [
        _idle_time(),
        _repetitive_idle_time(),
        _limit(),
        _shift(),
        _rtt_independence(),
        _loss_of_web_load(),
    ]


def _idle_time() -> Claim:
    p = 0.2
    series = sum((2 ** (k + 1) - 1) * p**k * (1 - p) for k in range(200))
    return Claim(
        "eq. (8)",
        "expected idle time after a timeout is 1/(1-2p)",
        f"at p = {p}: series {series:.6f}, formula {1 / (1 - 2 * p):.6f}",
        _verdict(abs(series - mean_wait(0, p, 2)) < 1e-9),
    )


def _repetitive_idle_time() -> Claim:
    p = 0.2
    right = sum((2 ** (k + 2) - 1) * p**k * (1 - p) for k in range(200))
    printed = p * right
    return Claim(
        "eq. (11)",
        "3p(1-p) + 7p^2(1-p) + ... = (3-2p)/(1-2p)",
        f"at p = {p}: printed series {printed:.4f}, right-hand side {mean_wait(1, p, 2):.4f}; "
        f"without the first factor p "
        f"the series is {right:.4f}",
        "erratum" if abs(right - mean_wait(1, p, 2)) < 1e-9 < abs(printed - right) else "confirmed",
    )


def _limit() -> Claim:
    deep = SubPacketExact(loss=[0.19, 0.23], backoff_cap=60)
    idle = deep.observe(stationary(deep.chain())).silent_fraction.values
    return Claim(
        "sections 3.3.2 and 5",
        "with unlimited backoff TCP is unstable for p > 0.5",
        f"only if the retransmission's own ACK ends the backoff; under the paper's rule (three successes) for "
        f"p > {collapse_threshold(3):.4f}: with timeouts up to 2^60 T0 the silent fraction is "
        f"{idle[0]:.3f} at p = 0.19 and "
        f"{idle[1]:.6f} at p = 0.23",
        "differs" if idle[0] < 0.9 < idle[1] else "confirmed",
    )


def _shift() -> Claim:
    edge = 1 - 0.75 ** (1 / 3)
    model = SubPacketFull(loss=[0.05, 0.1, 0.2])
    silent = model.observe(stationary(model.chain())).silent_fraction.values
    return Claim(
        "section 3",
        "repetitive timeouts grow strongly beyond p = 0.1",
        f"full chain: silent fraction {silent[0]:.3f}, {silent[1]:.3f}, {silent[2]:.3f} at p = 0.05, 0.1, 0.2; "
        f"the variance of a silence "
        f"becomes infinite at p = {edge:.4f}",
        _verdict(bool(silent[1] > 2 * silent[0] and abs(edge - 0.1) < 0.01)),
    )


def _rtt_independence() -> Claim:
    model = SubPacketExact(loss=0.1, base_timeout=[2, 3, 5, 10])
    silent = model.observe(stationary(model.chain())).silent_fraction.values
    return Claim(
        "section 3",
        "the stationary distribution depends on p only, not on the RTT",
        "only while the timeout is the same multiple of the RTT. Exact chain: "
        "silent fraction at p = 0.1 for T0/RTT = 2, 3, 5, 10: " + ", ".join(f"{s:.3f}" for s in silent),
        "differs" if np.ptp(silent) > 0.1 else "confirmed",
    )


def _loss_of_web_load() -> Claim:
    link = SharedLink(flows=800, capacity=1e6, base_rtt=0.2, buffer=50)
    loss = float(self_consistent(link.balance()).root)
    return Claim(
        "section 2.3.2",
        "200 users with four flows each on 1 Mbit/s, 200 ms, 50 packets: loss 30 %",
        f"self-consistent loss of the exact chain {100 * loss:.1f} %, were all 800 flows long "
        "(confirmed if within 5 %)",
        _verdict(abs(loss - 0.30) < 0.05),
    )


def _verdict(holds: bool) -> str:
    return "confirmed" if holds else "differs"
