"""The simulator's own sender on the sub-packet page: its chain along the loss rate, handed over as series."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import DomainError

from .page import Values

if TYPE_CHECKING:
    from tcpdynamics.validation.sender_chain import Sender

#: The page's words: no sender, or whose.
NONE = "none"
SENDERS = (NONE, "sack", "newreno", "reno", "tahoe")
RULES = ("rfc", "ns2")
MEANING = "A chain that is compiled from the simulator's code; some seconds when it is new."
#: Largest window that the page explores, by rule book: some seconds. The command takes more.
LARGEST = {"rfc": 6, "ns2": 5}
#: Loss rates between which the sender is followed.
LOWEST, HIGHEST = 0.005, 0.695


def fields(values: Values) -> dict[str, Any]:
    """What the model is made of, but for the loss.

    Raises
    ------
    DomainError
        The page explores no such chain.
    """
    window, rules, timeout = int(values["w_max"]), values["rules"], values["base_timeout"]
    command = "tcpdynamics stationary sender takes larger ones"
    if window > LARGEST[rules]:
        raise DomainError(
            f"a window of {window} has too many states for this page, which explores up to {LARGEST[rules]} by the "
            f"rules {rules}; {command}"
        )
    if 8 * timeout != int(8 * timeout):
        raise DomainError(
            f"a base timeout of {timeout:g} round trips is no multiple of 1/8, and a sender's states need one"
        )
    return {
        "sender": values["sender"], "rules": rules, "window": window, "timeout": float(timeout),
        "backoff_cap": int(values["backoff_cap"]),
    }  # fmt: skip


def has_law(values: Values) -> bool:
    """Whether a sender is chosen of which the page explores the chain."""
    try:
        return values["sender"] != NONE and bool(fields(values))
    except DomainError:
        return False


def model(values: Values, loss: Any) -> Sender:
    """The sender's chain."""
    from tcpdynamics.validation.sender_chain import Sender

    return Sender(loss=loss, **fields(values))


def law(values: Values, typed: str = "") -> dict[str, Any]:
    """An answer: Chebyshev series of what an observer counts, along the loss rate.

    `edges` are the ends of pieces; `pieces[k][i]` has the coefficients of the i-th quantity on piece k: the shares of
    round trips with 0, 1, ..., W packets, then segments delivered per round trip. `about` says how many states there
    are.

    Raises
    ------
    DomainError
        No sender is chosen, or the page explores no such chain.
    """
    if values["sender"] == NONE:
        raise DomainError("no sender is chosen; choose one")
    return _law(**fields(values))


@lru_cache(maxsize=64)
def _law(**chosen: Any) -> dict[str, Any]:
    from tcpdynamics.solvers import stationary
    from tcpdynamics.solvers.markov.curves import curve
    from tcpdynamics.validation.sender_chain import Sender

    width = chosen["window"] + 1

    def observed(loss: Any) -> Any:
        one = Sender(loss=loss, **chosen)
        seen = one.observe(stationary(one.chain(), throw=True))
        sent = seen.sent.transpose(..., "packets").values[:, :width]
        sent = np.pad(sent, ((0, 0), (0, width - sent.shape[1])))
        return np.column_stack([sent, seen.goodput.values])

    made = curve(observed, LOWEST, HIGHEST)
    return {
        "edges": made.edges.tolist(),
        "pieces": made.coefficients.transpose(0, 2, 1).tolist(),
        "about": Sender(loss=0.1, **chosen).about(),
    }
