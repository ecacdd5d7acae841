"""Laws of the packets that a flow sends in a round trip: of the printed chain, and of the simulator's SACK sender."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.interpolate import BarycentricInterpolator

    from ..sender_chain import SenderChain

#: Packets sent in a round trip: 0, 1, ... up to this number or more, as the printed chain has them.
MOST_SENT = 6
#: The printed chain (Fig. 8), and that of the simulator's SACK sender by the RFCs.
CHAINS = ("printed chain", "sender's chain")
#: The sender's chain is solved at so many losses up to this one.
_NODES, _MOST_LOSS = 24, 0.6


def printed_law(losses: np.ndarray) -> np.ndarray:
    """(loss, 7) P(0, ..., 6 packets sent) by the printed chain; NaN from a loss of 0.5 on, where there is none.

    Examples
    --------
    >>> printed_law(np.array([0.1, 0.6])).sum(axis=1).round(9).tolist()
    [1.0, nan]
    """
    from tcpdynamics.models import SubPacketFull
    from tcpdynamics.solvers import stationary

    there = (losses > 0) & (losses < 0.5)
    model = SubPacketFull(loss=np.where(there, losses, 0.1))
    laws = model.observe(stationary(model.chain())).sent.values
    return np.where(there[:, None], laws, np.nan)


def compiled_law(losses: np.ndarray) -> np.ndarray:
    """(loss, 7) P(0, ..., 6 packets sent) by the chain of the simulator's SACK sender; NaN without a loss in (0, 0.6).

    A law is a rational function of the loss without a pole there: a polynomial through 24 of them is it, to 10^-5.

    Examples
    --------
    >>> compiled_law(np.array([0.1])).sum(axis=1).round(9).tolist()
    [1.0]
    """
    there = (losses > 0) & (losses < _MOST_LOSS)
    return np.where(there[:, None], _laws_of_sender()(np.where(there, losses, 0.1)), np.nan)


def chain_of_sender() -> SenderChain:
    """The chain of the simulator's SACK sender; like Linux, it never forgets the round-trip time."""
    from ..sender_chain import sender_chain

    return sender_chain("sack", MOST_SENT, rules="rfc", backoff_cap=8, clear_rtt_after=65536)


@lru_cache(maxsize=1)
def _laws_of_sender() -> BarycentricInterpolator:
    from scipy.interpolate import BarycentricInterpolator

    chain = chain_of_sender()
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    losses = _MOST_LOSS * (1.0 - np.cos(angles)) / 2
    # SciPy orders the losses by chance, and so rounds: with a seed, always alike.
    return BarycentricInterpolator(losses, np.array([chain.at(p) for p in losses.tolist()]), rng=0)
