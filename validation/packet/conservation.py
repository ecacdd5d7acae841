"""Conservation: every packet of a run is in exactly one place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ConservationError

from .kernel import records as k


def under_way(sim: k.Sim) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where packets are that are under way.

    Per flow (N, 3): data not yet received, acknowledgements, of these for data received after the end. Per link
    (L,): packets held or travelling.
    """
    what = sim.events["what"]
    waiting = what == k.WAITING
    on_link = np.bincount(sim.hops["link"][sim.events["hop"][waiting]], minlength=len(sim.links))
    packet = ((what >= 0) & (what <= k.ACKED)) | waiting
    on = sim.events["on"][packet & ~waiting]
    on_link += np.bincount(on[on >= 0], minlength=len(sim.links))
    n, flow, ack = len(sim.flows), sim.events["flow"], sim.events["kind"] == k.ACK
    late = ack & ((sim.events["mark"] & k.AFTER_END) > 0)
    packets = [np.bincount(flow[packet & chosen], minlength=n) for chosen in (~ack, ack, late)]
    return np.stack(packets, axis=1), on_link


def check_conservation(sim: k.Sim) -> NDArray[np.int64]:
    """Check that every packet is in exactly one place; return the data packets under way, per flow.

    Raises
    ------
    ConservationError
        Naming the first flow, or the link, whose books do not balance.
    """
    flying, on_link = under_way(sim)
    c, f, links = sim.counts, sim.flows, sim.links
    in_flight = flying[:, 0] + flying[:, 2]
    at_once = (f["delack"] == 0.0) & (f["algorithm"] < k.CBR)
    rules = {
        "sent = dropped + received + under way": c[:, k.SENT] - c[:, k.DROPPED] - c[:, k.RECEIVED] - in_flight,
        "acknowledgements sent = dropped + back + under way": (
            c[:, k.ACKS_SENT] - c[:, k.ACKS_DROPPED] - c[:, k.ACKS_BACK] - flying[:, 1]
        ),
        "received = acknowledgements sent": np.where(at_once, c[:, k.RECEIVED] + flying[:, 2] - c[:, k.ACKS_SENT], 0),
        # A receiver of a paced sender may report twice on a packet, as ns-2's do.
        "acknowledgements sent <= received": np.maximum(c[:, k.ACKS_SENT] - c[:, k.RECEIVED] - flying[:, 2], 0)
        * (f["algorithm"] < k.CBR),
        "unacknowledged <= next <= sent": np.where((f["una"] <= f["next"]) & (f["next"] <= f["top"]), 0, 1)
        * (f["algorithm"] < k.CBR),
    }
    for rule, difference in rules.items():
        wrong = np.flatnonzero(difference)
        if wrong.size:
            raise ConservationError(f"flow {wrong[0]}: {rule} fails by {difference[wrong[0]]}; please report this run")
    link_rules = {
        "arrived = refused + accepted": links["arrived"] - (links["dropped"] - links["evicted"]) - links["accepted"],
        "accepted = left + evicted + held": links["accepted"] - links["left"] - links["evicted"] - on_link,
    }
    for rule, difference in link_rules.items():
        wrong = np.flatnonzero(difference)
        if wrong.size:
            raise ConservationError(f"link {wrong[0]}: {rule} fails by {difference[wrong[0]]}; please report this run")
    return in_flight
