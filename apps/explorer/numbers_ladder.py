"""The numbers of the pictures of the page `ladder`: six rungs between the paper's chain and Linux.

`drop` is the drop probability; `sender` and `linux` are words of the page's choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.ladder_record import BACKOFF, TIMEOUT, WINDOW, recorded
from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.solvers import stationary
from tcpdynamics.validation.sender_chain import Sender

RUNGS = ("1 paper", "2 exact", "3 exact, Karn", "4 sender", "5 packets", "6 Linux")
#: The four chains; what is measured comes after.
CHAINS, PACKETS, ON_LINUX = RUNGS[:4], RUNGS[4], RUNGS[5]


def chain(rung: str, drop: Any, sender: str) -> Any:
    """The chain of a rung."""
    if rung == RUNGS[0]:
        return SubPacketFull(loss=drop, w_max=WINDOW, base_timeout=TIMEOUT)
    if rung == RUNGS[3]:
        return Sender(loss=drop, sender=sender, rules="rfc", window=WINDOW, timeout=float(TIMEOUT), backoff_cap=BACKOFF)
    successes = 3 if rung == RUNGS[1] else 2
    return SubPacketExact(loss=drop, w_max=WINDOW, base_timeout=TIMEOUT, backoff_cap=BACKOFF, collapse=successes)


def along(rung: str, drops: Any, sender: str) -> tuple[np.ndarray, np.ndarray]:
    """Of a chain at drop probabilities: how often 0, 1, ... packets are sent in a round trip, and the goodput."""
    model = chain(rung, np.asarray(drops, dtype=float), sender)
    observed = model.observe(stationary(model.chain()))
    return observed.sent.transpose(..., "packets").values[:, : WINDOW + 1], observed.goodput.values


def measured(rung: str, sender: str, linux: str) -> list[dict[str, Any]]:
    """The recorded rows of a rung, one for each drop probability."""
    one = recorded()["senders"][sender]
    rows: list[dict[str, Any]] = one["packets"] if rung == PACKETS else one["linux"][linux]
    return rows


def rungs(drop: float, sender: str, linux: str) -> pd.DataFrame:
    """A row for each rung: packets sent in a round trip, and the distance from the rung before (total variation).

    What is measured stands at the nearest drop probability that was measured, with 95 % intervals.
    """
    lines, before = [], None
    for rung in RUNGS:
        at, interval = drop, [np.nan, np.nan]
        if rung in CHAINS:
            law = along(rung, [drop], sender)[0][0]
            sent = [[share, np.nan, np.nan] for share in law]
            distance = [np.nan if before is None else 0.5 * float(abs(law - before).sum()), *interval]
            before = law
        else:
            row = min(measured(rung, sender, linux), key=lambda one: abs(one["drop"] - drop))
            at, sent, distance = row["drop"], row["sent"], row["distance"]
        line: dict[str, Any] = {"rung": rung, "drop probability": at}
        for n, three in enumerate(sent):
            name = f"P({n} packets)" if n < WINDOW else f"P({n} packets or more)"
            line |= {name: three[0], f"{name}, low": three[1], f"{name}, high": three[2]}
        line |= dict(zip(("distance", "distance, low", "distance, high"), distance, strict=True))
        lines.append(line)
    return pd.DataFrame(lines)


def curves(quantity: str, sender: str, linux: str) -> pd.DataFrame:
    """ "silence" or "goodput" of each rung against the drop probability."""
    drops = np.round(0.005 * np.arange(2, 91), 3)
    table = pd.DataFrame({"drop probability": drops})
    for rung in CHAINS:
        law, goodput = along(rung, drops, sender)
        table[rung] = law[:, 0] if quantity == "silence" else goodput
    for rung in (PACKETS, ON_LINUX):
        rows = {one["drop"]: one for one in measured(rung, sender, linux)}
        values = {at: one["sent"][0] if quantity == "silence" else one["goodput"] for at, one in rows.items()}
        for column, part in ((rung, 0), (f"{rung}, low", 1), (f"{rung}, high", 2)):
            table[column] = [values[at][part] if at in values else np.nan for at in drops]
    return table
