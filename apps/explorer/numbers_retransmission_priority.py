"""The numbers of each picture of the page of retransmission priority.

`share` is packets in pipe and buffer per flow; `chain` the link's base timeout, back-off's cap and collapse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from tcpdynamics.models import SharedLink
from tcpdynamics.solvers import self_consistent, stationary

#: What is lost: words of the pictures -> settings of the link.
CASES: dict[str, dict[str, Any]] = {
    "without priority": {},
    "with priority": {"retransmission_ratio": 0.0},
    "resent lost 2x": {"retransmission_ratio": 2.0},
    "resent lost 3x": {"retransmission_ratio": 3.0},
    "suffix bursts": {"suffix_losses": True},
}
#: Packets in pipe and buffer of the link that the pictures take: only their number per flow matters.
PACKETS = 100


def links(shares: Any, chain: dict[str, Any]) -> dict[str, SharedLink]:
    """A link in each case with so many packets in pipe and buffer per flow."""
    link = {"flows": PACKETS / shares, "capacity": 1e6, "base_rtt": 0.2, "buffer": 50}
    return {name: SharedLink(**link, **chain, **more) for name, more in CASES.items()}


def along(share: float) -> Any:
    """Packets per flow of the curves: 2^-4 to 2^2, eight to each doubling, and those of the slider."""
    return np.union1d(2 ** (np.arange(49) / 8 - 4), share)


def lost(link: SharedLink, root: Any) -> Any:
    """The share of all packets sent that is lost."""
    flow = link.flow(root)
    sent = flow.observe(stationary(flow.chain()))
    return 1 - sent.goodput / (sent.packets_per_rtt + sent.fast_retransmitted)


def loss(share: float, chain: dict[str, Any]) -> pd.DataFrame:
    """The share of all packets sent that is lost."""
    shares = along(share)
    columns = {k: lost(link, self_consistent(link.balance()).root).values for k, link in links(shares, chain).items()}
    return pd.DataFrame({"packets per flow [packet/RTT]": shares} | columns)


def repeats(share: float, chain: dict[str, Any]) -> pd.DataFrame:
    """How likely a timeout is followed by another, longer one."""
    shares = along(share)
    flows = {k: link.flow(self_consistent(link.balance()).root) for k, link in links(shares, chain).items()}
    columns = {k: np.asarray(flow.repeat_probability()) for k, flow in flows.items()}
    return pd.DataFrame({"packets per flow [packet/RTT]": shares} | columns | {"mean silence infinite above": 0.5})


def of_slices(quantity: str, share: float, slice: int, chain: dict[str, Any]) -> pd.DataFrame:
    """A quantity of the flows in slices of so many epochs: "idle" time, "jain"'s index, or who gets "nothing"."""
    shares = along(share)
    solved = {k: self_consistent(link.balance(), window=slice) for k, link in links(shares, chain).items()}
    columns = {k: of_link[quantity].values for k, of_link in solved.items()}
    return pd.DataFrame({"packets per flow [packet/RTT]": shares} | columns)


def facts(share: float, slice: int, chain: dict[str, Any]) -> pd.DataFrame:
    """The numbers at this share, and the losses at which the mean silence would be infinite."""
    rows: dict[str, list[float]] = {}
    for link in links(share, chain).values():
        solved, most = self_consistent(link.balance(), window=slice), (1 - 1e-12) / max(link.retransmission_ratio, 1)
        numbers = {
            "loss of new packets": solved.root, "loss of all packets": lost(link, solved.root), "silent": solved.idle,
            "Jain's index": solved.jain, "nothing": solved.nothing,
            "limit": brentq(lambda p, link=link: link.flow(p).repeat_probability() - 0.5, 1e-9, most, xtol=1e-14),
        }  # fmt: skip
        for name, number in numbers.items():
            rows.setdefault(name, []).append(float(number))
    return pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", *CASES])
