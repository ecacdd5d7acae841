"""What flows over several routes did on each, with the names that `simulate` has of M/TCP."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..packet.scenario.scenario import Scenario
from .capture import Seen
from .plan import LinuxPlan


def of_routes(scenario: Scenario, made: LinuxPlan, seen: Seen, end: list[Any]) -> dict[str, Any]:
    """Variables over `flow` and `route`, NaN where a flow has no such route; nothing where none has several.

    Parameters
    ----------
    end : list
        Of each flow and route: timeouts and retransmissions of the whole run.
    """
    routes = max(len(f.routes) for f in made.flows)
    if routes == 1:
        return {}
    shape = (len(made.flows), routes)
    there = np.array([[f.multipath and n < len(f.routes) for n in range(routes)] for f in made.flows])
    late = seen.receives.time >= scenario.warm_up
    data = seen.sends.segment > 0
    timeouts = np.zeros(shape)
    for i, rows in enumerate(end):
        timeouts[i, : len(rows)] = [row[0] for row in rows]
    values = {
        "sent": (
            _count(seen.sends.flow[data], seen.send_routes[data], shape),
            "packets",
            "data packets sent over the route, warm-up included",
        ),
        "timeouts": (timeouts, "1", "timeouts of the route, warm-up included"),
        "goodput_rate": (
            _count(seen.receives.flow[late], seen.receive_routes[late], shape, new_bits(made, seen)[late])
            / (scenario.duration - scenario.warm_up),
            "bit/s",
            "data received first over the route over the measured time, headers included",
        ),
    }
    return {
        f"route_{name}": (("flow", "route"), np.where(there, table, np.nan), {"units": unit, "long_name": text})
        for name, (table, unit, text) in values.items()
    } | {"route": np.arange(routes)}


def new_bits(made: LinuxPlan, seen: Seen) -> np.ndarray:
    """Bits of new data in each packet received, with the headers of full packets: a segment may go in parts."""
    per_byte = np.array([8.0 if f.program else 8.0 * f.packet_size / f.payload for f in made.flows])
    return np.asarray(per_byte[seen.receives.flow] * seen.received)


def _count(
    flow: np.ndarray, route: np.ndarray, shape: tuple[int, int], weights: np.ndarray | None = None
) -> np.ndarray:
    places = flow * shape[1] + route
    return np.bincount(places, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
