"""What the paper on sub-packet regimes says, and what solving its models says, computed now.

The paper gives its results as figures without tables, so what can be checked by number are its formulas, its limits
and the few numbers in its text.
"""

from __future__ import annotations

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
            "idle": idle.tolist(), "thresholds": [collapse_threshold(m) for m in (3, 2, 1)],
            "readings": [f"back-off ends after {m}" for m in ("three successes", "two successes", "the first ACK")],
        },
    )  # fmt: skip


@finding("shift", "section 3", "repetitive timeouts grow strongly beyond p = 0.1", "sub_packet.silence")
def shift() -> Answer:
    edge = 1 - 0.75 ** (1 / 3)
    model = SubPacketFull(loss=[0.05, 0.1, 0.2])
    silent = model.observe(stationary(model.chain())).silent_fraction.values
    return Answer(
        "the silent fraction more than doubles from p = 0.05 to 0.1, and the variance of a silence becomes infinite "
        "close to 0.1",
        f"full chain: silent fraction {silent[0]:.3f}, {silent[1]:.3f}, {silent[2]:.3f} at p = 0.05, 0.1, 0.2; "
        f"infinite variance from p = {edge:.4f}",
        bool(silent[1] > 2 * silent[0] and abs(edge - 0.1) < 0.01),
        {"silent": silent.tolist(), "edge": edge, "beyond": float(silent[2] / silent[1])},
    )


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
        "only while the timeout is the same multiple of the RTT",
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
    }  # fmt: skip
    return Answer(
        "consistent, but 10000 seconds are not 17 minutes",
        f"10000 s are {numbers['minutes']:.1f} minutes; 30 kbit/s at 400 ms are {numbers['three']:g} packets",
        round(numbers["minutes"]) != 17, dict(numbers),
    )  # fmt: skip


#: In the order of the report.
FINDINGS = (idle_time, repetitive_idle_time, limit, shift, rtt_independence, loss_of_web_load, arithmetic)
