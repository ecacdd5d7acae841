"""What the paper on sub-packet regimes says, and what solving its models says, computed now.

The paper gives its results as figures without tables, so what can be checked by number are its formulas, its limits
and the few numbers in its text.
"""

from __future__ import annotations

import itertools

import numpy as np

from tcpdynamics.models import (
    SharedLink,
    SubPacketExact,
    SubPacketFresh,
    SubPacketFull,
    SubPacketLevels,
    collapse_threshold,
)
from tcpdynamics.models.sub_packet.aggregated import mean_wait
from tcpdynamics.solvers import self_consistent, stationary

from ..findings import Answer, finding, listed, near
from .evidence import counted, idle_series
from .senders import repairs, timeouts_after_losses, waits_of_a_sender


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
            "right_gap": right - mean_wait(1, p, 2), "second_gap": idle_series(2, p) - (7 - 6 * p) / (1 - 2 * p),
        },
    )  # fmt: skip


@finding("repetitions", "section 3.3.3", "the third repetition waits 16 RTTs at least", "sub_packet.idle")
def repetitions() -> Answer:
    waits = waits_of_a_sender(4)
    least = [2 * wait / waits[0] for wait in waits[1:]]  # T0 = 2 RTT
    return Answer(
        "as printed: 4, 8 and 16 RTTs, with T0 = 2 RTT",
        f"a simulated sender that loses one segment again and again waits {listed(least, 2)} RTTs, with T0 = 2 RTT",
        near(least, [4.0, 8.0, 16.0], 1), {"first": least[0], "second": least[1], "third": least[2]},
    )  # fmt: skip


@finding("levels", "eqs. (5) to (7)", "P(next back-off level) is p, P(first level) is 1 - p", "sub_packet.silence")
def levels() -> Answer:
    p = 0.1
    one, three = (_levels(p, successes) for successes in (1, 3))
    gaps = {
        "ratio_gap": one[1] / one[0] - p, "sum_gap": sum(one) - 1, "first_gap": one[0] - (1 - p),
        "full_gap": three[1] / three[0] - p,
    }  # fmt: skip
    return Answer(
        "correct where the retransmission's own ACK ends the back-off, as in Fig. 7; by the rule of section 3.3.3, "
        "which eq. (11) is for, the ratio is 1 - (1-p)^3",
        f"un-aggregated chain at p = {p}: ratio {one[1] / one[0]:.4f} and {three[1] / three[0]:.4f}",
        abs(gaps["ratio_gap"]) < 1e-9 and near(three[1] / three[0], 1 - (1 - p) ** 3, 9), dict(gaps),
    )  # fmt: skip


def _levels(p: float, successes: int) -> list[float]:
    """P(back-off level | timeout) of the chain with every level a state."""
    model = SubPacketExact(loss=p, backoff_cap=60, collapse=successes)
    solved = stationary(model.chain()).probability
    tries = np.array([float(solved.sel(state=f"S1({k})")) for k in range(61)])
    shares: list[float] = (tries / tries.sum()).tolist()
    return shares


@finding(
    "few states", "sections 1 and 3.3", "few aggregate states predict the stationary distribution", "sub_packet.silence"
)
def few_states() -> Answer:
    loss = [0.1, 0.2]
    capped, longer, deep = (_silent(SubPacketExact(loss=loss, backoff_cap=k)) for k in (6, 7, 60))
    first, last = (_silent(SubPacketExact(loss=loss, backoff_cap=k, collapse=1)) for k in (6, 60))
    arrows = [_silent(kind(loss=loss)) for kind in (SubPacketFull, SubPacketFresh, SubPacketLevels)]
    gaps = [(one - other).tolist() for other in (capped, longer) for one in arrows]
    names = ["as in Fig. 7", "as section 3.3.3 says", "with waits of their own"]
    return Answer(
        "near the chain whose timeouts end at 64 T0; without an end it is the same where a retransmission that arrives "
        "ends a timeout, and another one at p = 0.2 by the rule of section 3.3.3",
        f"silent share at p = 0.1 and 0.2: printed chain {listed(arrows[0])}, un-aggregated {listed(capped)}, "
        f"without an end {listed(deep)}",
        bool(abs(np.array(gaps)).max() < 0.12 < deep[1] - capped[1] and last[1] - first[1] < 0.001),
        {
            "gap_10": [one[0] for one in gaps], "gap_20": [one[1] for one in gaps],
            "readings": [f"{name}, at most {cap} T0" for cap in (64, 128) for name in names],
            "axis": "arrows of Fig. 8 and longest timeout",
            "endless_10": float(last[0] - first[0]), "endless_20": float(last[1] - first[1]),
        },
    )  # fmt: skip


def _silent(model: SubPacketFull | SubPacketExact) -> np.ndarray:
    silent: np.ndarray = model.observe(stationary(model.chain())).silent_fraction.values
    return silent


@finding("losses in a window", "section 3.2", "two losses in a window of 4 to 6 are a timeout, one is none")
def losses_in_a_window() -> Answer:
    rules = ("ns-2", "ns-2, least RTO 1 s", "RFC")
    several = {
        (sender, lost): [timeouts_after_losses(sender, lost, kind, least) for kind, least in
                         (("ns2", 0.2), ("ns2", 1.0), ("rfc", 1.0))]
        for sender in ("sack", "newreno") for lost in (1, 2)
    }  # fmt: skip
    return Answer(
        "one loss is repaired; whether two are hangs on the sender",
        "share of windows of 4, 5 and 6 with a timeout, two losses: "
        + "; ".join(f"{sender} {listed(several[sender, 2], 2)}" for sender in ("sack", "newreno")),
        max(several["sack", 1]) == 0.0,
        {f"{sender}_{lost}": shares for (sender, lost), shares in several.items()}
        | {"readings": list(rules), "axis": "senders"},
    )


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
            "readings": ["as in the printed chain", "three successes", "two successes", "the first ACK"],
            "axis": "end of the back-off",
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
    silence = SubPacketFull(loss=[0.05, 0.1, 0.2])
    at = _in_repetitive_timeouts(SubPacketFull(loss=[0.005, 0.1, 0.2]))
    below, beyond = np.diff(at)
    return Answer(
        "the probability of being in a repetitive timeout grows faster from 0.1 to 0.2 than from 0 to 0.1",
        f"full chain: {listed(at)} at p = 0.005, 0.1, 0.2",
        bool(beyond > below),
        {"beyond": float(at[2] / at[1]), "repeated": at.tolist(), "silent": _silent(silence).tolist()},
    )


def _in_repetitive_timeouts(model: SubPacketFull) -> np.ndarray:
    """Probability of the idle states b*(kr) of a timeout with a timer that is backed off."""
    solved = stationary(model.chain()).probability
    states = [s for s in solved.state.values.tolist() if s.startswith("b*(")]
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
    idle_time, repetitive_idle_time, repetitions, levels, few_states, limit, equations, losses_in_a_window, shift,
    rtt_independence, loss_of_web_load, arithmetic,
)  # fmt: skip
