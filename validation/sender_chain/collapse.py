"""The loss beyond which a sender falls silent: where doubling outruns the chance of leaving the back-off.

Each timeout doubles the next, and a sender leaves the back-off only by an acknowledgement that Karn's rule lets it
trust. Let rho(p) be the factor by which visits of one level of back-off exceed those of the level below, deep in the
back-off: the spectral radius of the expected numbers of entries, by kind, from one level to the next. Time at level k
goes with (2 rho)^k. As the cap on back-off goes to infinity the silent share of time goes to 1 where 2 rho >= 1.

A sender whose back-off ends with m successes in a row has rho = 1 - (1-p)^m, so p_c(m) = 1 - 2^(-1/m). The
simulator's senders have another rho: with a window of 2, without LEAP, it is 1 - (1-p)^3 (1+p) (derived in
docs/sender_chain.md), and with 3 and 4 the same number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tcpdynamics.errors import check

from .chain import SenderChain, sender_chain

#: Doublings of the timeout: so many levels lie between the ends, where one is as the next.
LEVELS = 16


def visits(chain: SenderChain, loss: float) -> NDArray[np.float64]:
    """Timeouts of each level of back-off, per instant of the chain [1]; the last is that of the cap.

    Examples
    --------
    >>> found = visits(sender_chain("tahoe", 1, rules="rfc", backoff_cap=4), 0.2)
    >>> (found[2:4] / found[1:3]).round(12).tolist()  # with a window of one: 1 - (1-p)^2
    [0.36, 0.36]
    """
    out = np.zeros(chain.setting.backoff_cap + 1)
    for time, count in chain.timeouts(loss).items():
        # Up to a round trip more or less than 2^k timers, where an acknowledgement came in between.
        out[max(0, round(math.log2(time / chain.setting.timeout)))] += count
    return out


def growth(chain: SenderChain, loss: float) -> tuple[float, float]:
    """rho(p), with an estimate of its error, which is no bound: ratios of neighbouring levels, extrapolated (Aitken).

    Examples
    --------
    >>> rho, error = growth(sender_chain("tahoe", 2, rules="rfc", backoff_cap=16), 0.3)
    >>> bool(abs(rho - (1 - 0.7**3 * 1.3)) < 1e-6)
    True
    """
    found = visits(chain, loss)[1:-1]
    ratios = found[1:] / found[:-1]
    steps = np.diff(ratios)
    if abs(steps[-1]) < 1e-14:
        return float(ratios[-1]), 1e-14
    bends = steps[1:] - steps[:-1]
    limits = ratios[2:] - np.divide(steps[1:] ** 2, bends, out=np.zeros_like(bends), where=bends != 0.0)
    return float(limits[-1]), float(abs(limits[-1] - limits[-2]))


def collapse(sender: str = "sack", window: int = 4, **setting: Any) -> float:
    """The loss p_c at which rho(p) = 1/2 [1].

    Parameters
    ----------
    sender, window, **setting : as `sender_chain`; a `backoff_cap` is not heeded.

    Raises
    ------
    SenderChainError
        As `sender_chain`.

    Examples
    --------
    >>> bool(abs(collapse("tahoe", 1, rules="rfc") - (1 - 0.5**0.5)) < 1e-9)  # p_c(2)
    True
    """
    chain = sender_chain(sender, window, **(setting | {"backoff_cap": LEVELS}))
    return float(brentq(lambda p: 2.0 * growth(chain, p)[0] - 1.0, 0.02, 0.6, xtol=1e-12))


def silent_share(sender: str, window: int, loss: float, backoff_cap: int, **setting: Any) -> float:
    """Share of round trips without a packet [1], for a cap on back-off; what `collapse` is the limit of.

    Examples
    --------
    >>> deep = [silent_share("tahoe", 1, 0.4, cap, rules="rfc") for cap in (6, 12)]
    >>> deep[0] < deep[1] < 1
    True
    """
    check("loss", loss, 1e-9, 1.0 - 1e-9, "give a chance")
    return float(sender_chain(sender, window, backoff_cap=backoff_cap, **setting).at(loss)[0])
