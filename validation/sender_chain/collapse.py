"""The loss beyond which a sender falls silent: where doubling outruns the chance of leaving the backoff.

Each timeout doubles the next, and a sender leaves the backoff only by an acknowledgement that Karn's rule lets it
trust. Until then what it does is the same at each level, but for the length of its timer. So let, over the states of
one level, A(p) hold the chances of the moves without a timer that stay in the backoff, and B(p) those with one, which
lead to the next level. Visits of one level exceed those of the level below, deep in the backoff, by a factor

    rho(p) = spectral radius of (I - A)^-1 B,

and time at level k goes with (2 rho)^k. As the cap on backoff goes to infinity the silent fraction of time goes to 1
where 2 rho >= 1. A and B are polynomials, so p_c is an algebraic number, found here to rounding.

A sender whose backoff ends with m successes in a row has rho = 1 - (1-p)^m, so p_c(m) = 1 - 2^(-1/m). The
simulator's senders have another rho: 1 - (1-p)^3 (1+p) with a window of 2 and more, without LEAP and limited transmit,
which both make it larger (docs/sender_chain.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tcpdynamics import former_names
from tcpdynamics.errors import ScenarioError, check

from .chain import recurrent, sender_chain
from .explore import explore
from .setting import Setting

__getattr__ = former_names.attributes(__name__, BackOff="Backoff", silent_share="silent_fraction")

#: Doublings of the timeout: the states of the last level lead by a timer to themselves, as each level to the next.
LEVELS = 3


class Backoff:
    """The states of one level of the backoff, and how they lead on.

    Parameters
    ----------
    sender, window, **setting : as `sender_chain`; a `backoff_cap` is not heeded, and acknowledgements are not lost.

    Raises
    ------
    SenderChainError
        As `sender_chain`.

    Examples
    --------
    >>> rho = Backoff("tahoe", 2, rules="rfc").growth(0.3)
    >>> bool(abs(rho - (1 - 0.7**3 * 1.3)) < 1e-14)
    True
    """

    def __init__(self, sender: str = "sack", window: int = 4, **setting: Any) -> None:
        if setting.get("ack_loss"):
            raise ScenarioError("ack_loss must be off: the loss at which a sender collapses is one of its data")
        explored = explore(Setting(sender=sender, window=window, **(setting | {"backoff_cap": LEVELS})))
        last = [i for i in recurrent(explored.moves) if explored.backoffs[i] == 1 << LEVELS]
        place = {state: n for n, state in enumerate(last)}
        self.size = len(last)
        moves = [
            (place[state], place[move.target], move.timeouts, law[0] + law[2], law[1] + law[3], count)
            for state in last
            for move, laws in explored.moves[state].items()
            if move.target in place
            for law, count in laws.items()
        ]
        if any(move[2] > 1 for move in moves):
            raise ScenarioError(f"two timers of {sender} run out in a row without a packet; please report this")
        self._moves = np.array(moves, dtype=np.int64).T

    def matrices(self, loss: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A and B at a loss [1]."""
        check("loss", loss, 0.0, 1.0, "give a chance")
        source, target, timers, lost, passed, count = self._moves
        out = np.zeros((2, self.size, self.size))
        np.add.at(out, (timers, source, target), count * float(loss) ** lost * (1.0 - loss) ** passed)
        return out[0], out[1]

    def growth(self, loss: float) -> float:
        """rho(p): visits of a level of backoff over those of the level below, deep in it [1]."""
        stay, rise = self.matrices(loss)
        return float(np.abs(np.linalg.eigvals(np.linalg.solve(np.eye(self.size) - stay, rise))).max())


def collapse(sender: str = "sack", window: int = 4, **setting: Any) -> float:
    """The loss p_c at which rho(p) = 1/2 [1].

    Parameters
    ----------
    sender, window, **setting : as of `Backoff`

    Raises
    ------
    SenderChainError
        As `sender_chain`.

    Examples
    --------
    >>> bool(abs(collapse("tahoe", 1, rules="rfc") - (1 - 0.5**0.5)) < 1e-14)  # p_c(2)
    True
    """
    backoff = Backoff(sender, window, **setting)
    return float(brentq(lambda p: 2.0 * backoff.growth(p) - 1.0, 0.02, 0.6, xtol=1e-15, rtol=1e-15))


def silent_fraction(sender: str, window: int, loss: float, backoff_cap: int, **setting: Any) -> float:
    """Fraction of round trips without a packet [1], for a cap on backoff; what `collapse` is the limit of.

    Examples
    --------
    >>> deep = [silent_fraction("tahoe", 1, 0.4, cap, rules="rfc") for cap in (6, 12)]
    >>> deep[0] < deep[1] < 1
    True
    """
    check("loss", loss, 1e-9, 1.0 - 1e-9, "give a chance")
    return float(sender_chain(sender, window, backoff_cap=backoff_cap, **setting).at(loss)[0])
