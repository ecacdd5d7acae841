"""What decides statements of the paper on sub-packet regimes, as curves."""

from __future__ import annotations

from itertools import product

import numpy as np

from tcpdynamics.models import SharedLink, SubPacketExact, SubPacketFull
from tcpdynamics.models.sub_packet.aggregated import mean_wait
from tcpdynamics.solvers import self_consistent, stationary

from ..curves import Curve, Curves, evidence

LOSS = np.linspace(0.01, 0.49, 97)
SILENT = "fraction of epochs without a packet"
LOSS_AXIS = "packet-loss probability"


def idle_series(level: int, loss: float) -> float:
    """Mean idle epochs from a backoff level on, as the paper's series sums them; level 1 without its factor p.

    Examples
    --------
    >>> round(idle_series(0, 0.2), 6)
    1.666667
    """
    return float(sum((2 ** (k + 1 + level) - 1) * loss**k * (1 - loss) for k in range(200)))


def counted(loss: float, base_timeout: int, cap: int = 6, w_max: int = 6) -> dict[str, float]:
    """Silent share of epochs, goodput and mean silence of the exact chain's sender, by counting each packet's fate.

    A second method, of nothing that `models` has: every pattern of lost packets, then one linear system.

    Examples
    --------
    >>> round(counted(0.1, 2)["silent"], 4)
    0.2592
    """
    ladder = [(name, k) for k in range(cap + 1) for name in ("retry", "two")]
    places = {state: i for i, state in enumerate([*ladder, *(("window", n) for n in range(2, w_max + 1))])}
    size = len(places)
    moves, waits, arrived = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for (name, n), i in places.items():
        packets = {"retry": 1, "two": 2}.get(name, n)
        for fate in product((True, False), repeat=packets):
            lost = packets - sum(fate)
            weight = loss**lost * (1 - loss) ** sum(fate)
            ways = [(weight, lost, sum(fate))]
            if name == "window" and lost == 1 and n >= 4:  # three duplicates: the copy decides
                ways = [(weight * (1 - loss), 0, n), (weight * loss, 1, n - 1)]
            for share, missing, got in ways:
                arrived[i] += share * got
                if missing:  # a timeout: the next level while the back-off lasts, else the first
                    level = 0 if name == "window" else min(n + 1, cap)
                    moves[i, places["retry", level]] += share
                    waits[i] += share * (base_timeout * 2**level - 1)
                elif lost:
                    moves[i, places["window", max(n // 2, 2)]] += share
                else:
                    after = {"retry": ("two", n), "two": ("window", 3)}.get(name, ("window", min(n + 1, w_max)))
                    moves[i, places[after]] += share
    system = np.vstack([moves.T - np.eye(size), np.ones(size)])
    visits = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    silence, timeouts = (
        float(visits @ waits),
        float(visits @ moves[:, [places["retry", k] for k in range(cap + 1)]].sum(1)),
    )
    epochs = 1.0 + silence
    return {"silent": silence / epochs, "goodput": float(visits @ arrived) / epochs, "mean_silence": silence / timeouts}


@evidence("sub_packet.idle", "Mean idle time after a timeout: the paper's series and its closed forms")
def idle() -> Curves:
    """Eq. (8) and (11), each as printed and as its series sums."""
    p, few = np.linspace(0.0, 0.4, 81), np.linspace(0.0, 0.4, 17)
    right = np.array([idle_series(1, x) for x in few])
    return Curves(LOSS_AXIS, "mean idle time [epochs]", (
        Curve("eq. (8), closed form", p, mean_wait(0, p, 2)),
        Curve("eq. (11), closed form", p, mean_wait(1, p, 2)),
        Curve("eq. (8), series", few, [idle_series(0, x) for x in few], "markers"),
        Curve("eq. (11), series as printed", few, few * right, "markers"),
        Curve("eq. (11), series without the factor p", few, right, "markers"),
    ), percent="x")  # fmt: skip


@evidence("sub_packet.silence", "Silent epochs against loss: printed chain, and exact chain with deep backoff")
def silence() -> Curves:
    """Where silence takes over depends on what ends a backoff; deep: timeouts up to 2^60 T0."""
    models: dict[str, SubPacketFull | SubPacketExact] = {
        "printed chain (Fig. 8)": SubPacketFull(loss=LOSS),
        "deep backoff, three successes end it": SubPacketExact(loss=LOSS, backoff_cap=60),
        "deep backoff, the first ACK ends it": SubPacketExact(loss=LOSS, backoff_cap=60, collapse=1),
    }
    return Curves(LOSS_AXIS, SILENT, tuple(Curve(n, LOSS, _silent(m)) for n, m in models.items()), percent="xy")


@evidence("sub_packet.timeout", "Silent epochs against loss for four timeouts in round-trip times")
def timeout() -> Curves:
    """The exact chain for T0/RTT = 2, 3, 5, 10."""
    return Curves(LOSS_AXIS, SILENT, tuple(
        Curve(f"T0/RTT = {ratio}", LOSS, _silent(SubPacketExact(loss=LOSS, base_timeout=ratio)))
        for ratio in (2, 3, 5, 10)
    ), percent="xy")  # fmt: skip


@evidence("sub_packet.load", "Self-consistent loss against the number of flows on 1 Mbit/s")
def load() -> Curves:
    """The exact chain, 200 ms and 50 packets of buffer; the paper's web load is 800 flows."""
    flows = np.arange(100.0, 1201.0, 50.0)
    loss = self_consistent(SharedLink(flows=flows, capacity=1e6, base_rtt=0.2, buffer=50).balance()).root
    return Curves("flows on the link", LOSS_AXIS, (
        Curve("self-consistent loss", flows, loss.values), Curve("the paper: 30 %", [800.0], [0.30], "markers"),
    ), percent="y")  # fmt: skip


def _silent(model: SubPacketFull | SubPacketExact) -> np.ndarray:
    silent: np.ndarray = model.observe(stationary(model.chain())).silent_fraction.values
    return silent
