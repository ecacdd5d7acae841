"""The numbers of each picture of the page `my-link`: users on one link, by the exact sub-packet chain.

`rate` is in Mbit/s, `base_rtt` in ms, `buffer` in packets, `packet_size` in bytes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.models import SharedLink
from tcpdynamics.solvers import self_consistent, stationary

#: Largest window of the chain [packet], doublings of its timeout at most, successes that end the backoff.
W_MAX, CAP, SUCCESSES = 12, 6, 3
CHAIN = {"w_max": W_MAX, "backoff_cap": CAP, "collapse": SUCCESSES}
#: [s] In which a user gets something or nothing; Linux's least timeout beyond a round trip.
WINDOW, LEAST_TIMEOUT = 20.0, 0.2
#: Share of round trips at the largest window up to which the chain describes a sender that has none.
MOST_AT_TOP = 0.05
#: Users of the curves; all numbers of users that are recorded are among them.
USERS = (
    1, 2, 3, 5, 7, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 800, 1000,
)  # fmt: skip
#: What scripts compute with.
CONSTANTS = {"w_max": W_MAX, "window": WINDOW, "least_timeout": LEAST_TIMEOUT, "most_at_top": MOST_AT_TOP}


def full_rtt(rate: float, base_rtt: float, buffer: float, packet_size: float) -> float:
    """[s] A round trip with a full buffer."""
    return base_rtt / 1e3 + buffer * 8 * packet_size / (1e6 * rate)


def by_chain(users: Any, rate: float, base_rtt: float, buffer: float, packet_size: float) -> Any:
    """Loss, silence, fairness and users with nothing where the loss is self-consistent; NaN where the chain ends."""
    rtt = full_rtt(rate, base_rtt, buffer, packet_size)
    link = SharedLink(
        flows=users, capacity=1e6 * rate, base_rtt=base_rtt / 1e3, buffer=buffer, packet_size=packet_size, w_max=W_MAX,
        base_timeout=max(2, math.floor(1.5 + LEAST_TIMEOUT / rtt)), backoff_cap=CAP, collapse=SUCCESSES,
    )  # fmt: skip
    solved = self_consistent(link.balance(), window=max(1, math.floor(0.5 + WINDOW / rtt)))
    flow = link.flow(np.maximum(solved.root.values, 1e-9))
    at_top = flow.observe(stationary(flow.chain())).sent.isel(packets=-1).values
    there = (solved.root.values > 0) & (at_top <= MOST_AT_TOP)
    named = {"loss": solved.root, "silent": solved.idle, "jain": solved.jain, "nothing": solved.nothing}
    return {name: np.where(there, numbers.values, np.nan) for name, numbers in named.items()}


def results(users: float, rate: float, base_rtt: float, buffer: float, packet_size: float, covered: bool) -> Any:
    """The chain's column: fractions, Jain's index, and the wait in a full buffer; none for other senders and queues."""
    came = by_chain(users, rate, base_rtt, buffer, packet_size)
    rows = {name: float(value) if covered else np.nan for name, value in came.items()}
    rows["wait"] = np.nan if np.isnan(rows["loss"]) else 1e3 * full_rtt(rate, 0.0, buffer, packet_size)
    rows["use"] = np.nan  # the chain does not say
    return pd.DataFrame({"quantity": rows.keys(), "chain": rows.values()})


def along(rate: float, base_rtt: float, buffer: float, packet_size: float, covered: bool) -> pd.DataFrame:
    """The chain's fractions against the number of users; none for other senders and queues."""
    came = by_chain(USERS, rate, base_rtt, buffer, packet_size)
    names = {"loss": "chain: loss", "silent": "chain: time silent", "nothing": "chain: nothing in 20 s"}
    return pd.DataFrame({"users": USERS} | {word: came[name] for name, word in names.items() if covered})
