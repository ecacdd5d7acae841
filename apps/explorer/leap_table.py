"""Table 1 of the LEAP paper: what it prints, and what was recorded for it, sender by sender."""

from __future__ import annotations

from functools import cache
from typing import Any

from tcpdynamics.paper_figures import ledger

#: Word of the page -> sender in the ledger's names.
SENDERS = {"LEAP": "leap", "Reno": "reno", "NewReno": "newreno", "SACK": "sack"}
#: Word of the page -> how often nodes are chosen, in the ledger's words.
NODES = {"alike": "alike", "2-1-1": "2:1:1"}
DENSITIES = (2.5, 2.75, 3.0, 3.25, 3.5)


@cache
def table() -> dict[str, list[dict[str, Any]]]:
    """ "sender/nodes" -> a row for each density: what is `published`, our `packets` and `ns2`, with 95 % intervals.

    An interval is recorded for the interpretation that is shown; for the others only the mean.
    """
    return {f"{sender}/{nodes}": [_row(sender, nodes, density) for density in DENSITIES] for sender in SENDERS
            for nodes in NODES}  # fmt: skip


def _row(sender: str, nodes: str, density: float) -> dict[str, Any]:
    name = f"leap.table1.{SENDERS[sender]}.{f'{density:.2f}'.replace('.', '_')}"
    came: dict[str, Any] = ledger.recorded()["rows"][name]
    first = came["labels"][0] | {"nodes": NODES[nodes]}
    reading, _, mean = came["readings"][came["labels"].index(first)]
    ours = _interval(came["packets"]) if came["shown"] == reading else [mean, None, None]
    ns2 = _interval(came["ns2"]) if nodes == "alike" and came["ns2"] else None  # ns-2 runs the first reading
    return {"density": density, "published": ledger.get_claim(name).published, "packets": ours, "ns2": ns2}


def _interval(one: dict[str, Any]) -> list[float]:
    return [one["mean"], one["low"], one["high"]]
