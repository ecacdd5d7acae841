"""What the paper on sub-packet regimes says, and what solving its models says, computed now.

The paper gives its results as figures without tables, so what can be checked by number are its formulas, its limits
and the few numbers in its text.
"""

from __future__ import annotations

import itertools

import numpy as np

from tcpdynamics.models import SharedLink, SubPacketExact, SubPacketFull, collapse_threshold
from tcpdynamics.models.sub_packet.aggregated import mean_wait
from tcpdynamics.solvers import self_consistent, stationary

from ..findings import Answer, finding, listed, near
from .evidence import counted, idle_series
from .senders import repairs, waits_of_a_sender


@finding("idle time", "eq. (8)", "the expected idle time after a timeout is 1/(1-2p)", "sub_packet.idle")
def idle_time() -> Answer:
    p = 0.2
    series, waits = idle_series(0, p), waits_of_a_sender()
    return Answer(
        "correct as printed",
        f"at p = {p}: series {series:.6f}, formula {1 / (1 - 2 * p):.6f}; a simulated sender waits "
        f"{listed([w / waits[0] for w in waits], 2)} timeouts",
        abs(series - mean_wait(0, p, 2)) < 1e-9 and near(waits, [1.0, 2.0, 4.0], 2) and repairs() == {3: 1, 6: 0},
        {"series": series, "gap": series - 1 / (1 - 2 * p)},
    )


@finding("repetitive idle time", "eq. (11)", "3p(1-p) + 7p^2(1-p) + ... = (3-2p)/(1-2p)", "sub_packet.idle")
def repetitive_idle_time() -> Answer:
    p = 0.2
    right = idle_series(1, p)
    printed = p * right
    return Answer(
        "the series has a factor p too many; without it the right-hand side is correct",
        f"at p = {p}: printed series {printed:.4f}, right-hand side {mean_wait(1, p, 2):.4f}; without the first factor "
        f"p the series is {right:.4f}",
        abs(right - mean_wait(1, p, 2)) < 1e-9 < abs(printed - right),
        {
            "printed": printed, "right": right, "gap": printed - mean_wait(1, p, 2),
            "second_gap": idle_series(2, p) - (7 - 6 * p) / (1 - 2 * p),
        },
    )  # fmt: skip


@finding("limit", "sections 3.3.2 and 5", "with unlimited backoff TCP is unstable for p > 0.5", "sub_packet.silence")
def limit() -> Answer:
    deep = SubPacketExact(loss=[0.19, 0.23], backoff_cap=60)
    idle = deep.observe(stationary(deep.chain())).silent_fraction.values
    return Answer(
        "only if the retransmission's own ACK ends the backoff; under the paper's rule, three successes, it is for "
        "p > 0.2063",
        f"threshold {collapse_threshold(3):.4f}; with timeouts up to 2^60 T0 the silent fraction is {idle[0]:.3f} at "
        f"p = 0.19 and {idle[1]:.6f} at p = 0.23",
        bool(idle[0] < 0.9 < idle[1] and abs(collapse_threshold(3) - 0.2063) < 5e-5),
        {
            "idle": idle.tolist(),
            "thresholds": [_printed_limit(), *(collapse_threshold(m) for m in (3, 2, 1))],
            "readings": ["the printed chain", *(
                f"back-off ends after {m}" for m in ("three successes", "two successes", "the first ACK")
            )],
        },
    )  # fmt: skip


def _printed_limit() -> float:
    """The loss at which the mean idle time of the printed chain has no end."""
    first, second = (1 / mean_wait(0, p, 2) for p in (0.3, 0.4))  # a straight line in p
    return float(0.3 + 0.1 * first / (first - second))


@finding(
    "equations", "eqs. (1) to (3), (9)", "P(up), P(fast retransmission), P(timeout) of a window", "sub_packet.idle"
)
def equations() -> Answer:
    p = 0.2
    gaps = [np.abs(np.subtract(_outcomes(n, p), _printed(n, p))).max() for n in (2, 4, 5, 6)]
    leaves = 1 / idle_series(0, p)
    return Answer(
        "correct as printed, where each packet is lost independently and a retransmission can be lost too",
        f"at p = {p}, windows of 2, 4, 5, 6: largest gap {max(gaps):.1e}; eq. (9): {leaves:.4f}",
        max(gaps) < 1e-12 and near(leaves, 1 - 2 * p, 9),
        {"gap": float(max(gaps)), "gap_9": leaves - (1 - 2 * p)},
    )  # fmt: skip


def _outcomes(n: int, p: float) -> tuple[float, float, float]:
    """P(no loss), P(repaired), P(timeout) by all 2^(n+1) fates of a window and the first retransmission."""
    up = repaired = 0.0
    for fates in itertools.product((True, False), repeat=n + 1):
        chance = float(np.prod([p if lost else 1 - p for lost in fates]))
        *window, again = fates
        if not any(window):
            up += chance
        elif sum(window) == 1 and n - 1 >= 3 and not again:
            repaired += chance
    return up, repaired, 1 - up - repaired


def _printed(n: int, p: float) -> tuple[float, float, float]:
    """Eqs. (1) to (3)."""
    up, fast = (1 - p) ** n, n * p * (1 - p) ** (n - 1) * (1 - p) if n >= 4 else 0.0
    return up, fast, 1 - up - fast


@finding("shift", "section 3", "repetitive timeouts grow strongly beyond p = 0.1", "sub_packet.silence")
def shift() -> Answer:
    model = SubPacketFull(loss=[0.0001, 0.1, 0.2])
    repeated = _in_repetitive_timeouts(model)
    below, beyond = np.diff(repeated)
    return Answer(
        "the probability of being in a repetitive timeout grows faster from 0.1 to 0.2 than from 0 to 0.1",
        f"full chain: {listed(repeated)} at p = 0, 0.1, 0.2",
        bool(beyond > below),
        {"beyond": float(beyond / below), "repeated": repeated.tolist()},
    )


def _in_repetitive_timeouts(model: SubPacketFull) -> np.ndarray:
    """Probability of the states of a timeout with a timer that is backed off."""
    solved = stationary(model.chain()).probability
    states = [s for s in solved.state.values.tolist() if s.endswith("r)")]
    total: np.ndarray = solved.sel(state=states).sum("state").values
    return total


@finding("rtt", "section 3", "the stationary distribution depends on p only, not on the RTT", "sub_packet.timeout")
def rtt_independence() -> Answer:
    timeouts = (2, 3, 5, 10)
    model = SubPacketExact(loss=0.1, base_timeout=list(timeouts))
    on_the_wire = model.observe(stationary(model.chain()))
    silent = on_the_wire.silent_fraction.values
    by_counting = [counted(0.1, m) for m in timeouts]
    silences = [model.silence_at(k) for k in range(model.backoff_cap + 1)]
    solved = {
        "silent": silent,
        "goodput": on_the_wire.goodput.values,
        "mean_silence": sum(length * share for length, share in silences),
    }
    return Answer(
        "true with T0 = 2 RTT, as the paper assumes; with another multiple the chain is another one",
        "exact chain: silent fraction at p = 0.1 for T0/RTT = 2, 3, 5, 10: " + ", ".join(f"{s:.3f}" for s in silent),
        bool(np.ptp(silent) > 0.1) and all(near(solved[k], [one[k] for one in by_counting], 9) for k in solved),
        {"silent": silent.tolist(), "spread": float(np.ptp(silent))},
    )


@finding(
    "web load",
    "section 2.3.2",
    "200 users with four flows each on 1 Mbit/s, 200 ms, 50 packets: loss 30 %",
    "sub_packet.load",
)
def loss_of_web_load() -> Answer:
    link = SharedLink(flows=800, capacity=1e6, base_rtt=0.2, buffer=50)
    loss = float(self_consistent(link.balance()).root)
    return Answer(
        "the self-consistent loss of the exact chain is within 5 % (absolute), were all 800 flows long",
        f"self-consistent loss {100 * loss:.1f} %", abs(loss - 0.30) < 0.05, {"loss": loss},
    )  # fmt: skip


@finding("arithmetic", "sections 1, 2.3, 2.4 and 6.2", "numbers in the text that follow from others in it")
def arithmetic() -> Answer:
    numbers = {
        "least_rate": float(np.sqrt(1.5)), "three": 30e3 * 0.4 / 4000, "one": 1e6 / 100 * 0.4 / 4000,
        "minutes": 10000 / 60, "longest_rtt": 1e3 * (0.2 + 50 * 4000 / 1e6), "buffer": 1e6 * 0.2 / 4000,
        "delay": 800 * 10 * 8000 / 2e6, "buffer_1000": 1e6 * 0.2 / 8000, "split": 5.0 * 4 + 5,
        "traffic": 1.5e9 * 8 / 7200 / 2e6,
    }  # fmt: skip
    return Answer(
        "consistent, but 10000 seconds are not 17 minutes",
        f"10000 s are {numbers['minutes']:.1f} minutes; 30 kbit/s at 400 ms are {numbers['three']:g} packets",
        round(numbers["minutes"]) != 17, dict(numbers),
    )  # fmt: skip


#: In the order of the report.
FINDINGS = (
    idle_time, repetitive_idle_time, limit, equations, shift, rtt_independence, loss_of_web_load, arithmetic,
)  # fmt: skip
