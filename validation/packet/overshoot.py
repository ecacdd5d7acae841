"""NewReno by the RFCs that times out for ever: its own threshold lets slow start overrun the link, again and again.

Fast recovery inflates the window by a segment per duplicate, up to the advertised window. When the timer runs out
before the repair is done, the threshold becomes half of what is outstanding (RFC 5681, equation 4), which is then half
of the advertised window. Where that is more than the link and its buffer hold, slow start up to it loses hundreds of
packets at once, which NewReno repairs one in a round trip, until the timer runs out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.errors import bare

from .kernel import records as k
from .scenario.scenario import Scenario

if TYPE_CHECKING:
    from .run_record import Run

#: Timeouts of one flow that repeat, and the utilisation below which they cost much.
MANY, IDLE = 10, 0.7


def overshoot_warning(scenario: Scenario, run: Run) -> str:
    """What such a run shows, in words; empty where nothing does.

    Only where a link has a fixed rate, a drop-tail queue and no losses of its own, the advertised window is larger than
    what the way of the flow holds, and the flow timed out time and again while the link was not used.
    """
    if run.interrupted or run.stopped <= scenario.warm_up:
        return ""
    group = np.repeat(np.arange(len(scenario.flows)), [g.count for g in scenario.flows])
    flows, hops = run.sim.flows, run.sim.hops
    utilisation = run.links["work"] / (run.stopped - scenario.warm_up)
    for i in np.flatnonzero(run.counts[:, k.TIMEOUTS] >= MANY):
        flow = scenario.flows[group[i]]
        if (flow.sender, flow.rules, flow.control) != ("newreno", "rfc", "reno"):
            continue
        way = hops["link"][int(flows["forward_hop"][i]) : int(flows["forward_end"][i])]
        links = [scenario.ways[int(j)] for j in way]
        if any(link.loss != 0.0 or link.ack_loss or link.changes for link in links):
            continue
        limited = [
            (link.rate, link.buffer, int(j))
            for j, link in zip(way, links, strict=True)
            if link.rate is not None and link.buffer is not None and link.queue == "droptail"
        ]
        if not limited:
            continue
        rate, buffer, number = min(limited)
        room = rate * float(run.base_rtt[i]) / (8.0 * flow.packet_size) + buffer
        if flow.window_limit <= room or utilisation[number] >= IDLE:
            continue
        return (
            f"flow {i} timed out {int(run.counts[i, k.TIMEOUTS])} times on a link without losses of its own, "
            f"{bare(scenario.link_names[number])}, which was used to {utilisation[number]:.0%}: a timeout in fast "
            f"recovery leaves a threshold of half of what is outstanding (RFC 5681), up to half of window_limit = "
            f"{flow.window_limit}, and slow start up to it overruns the {room:.0f} packets that link and buffer hold, "
            f'again and again. sender = "sack" repairs that, and so does window_limit = {int(room)} or less'
        )
    return ""
