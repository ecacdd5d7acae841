"""Numbers that claims name: made of an experiment's result, or predicted by a model."""

from __future__ import annotations

import numpy as np

from tcpdynamics.models import Logistic, LogisticMap, LotkaVolterraThroughput, LotkaVolterraWindows, per_flow
from tcpdynamics.solvers import trajectory

from ..deciding import predicted
from .figures import ACCESS, EPSILON, GAMMA

#: UDP's share of the link in Fig. 5.
UDP = 0.2


@predicted("logistic.gain_off")
def gain_off(gain: str) -> float:
    """Largest distance of the map per round trip from K, over K, in the end."""
    steps = np.arange(100, 201)
    windows = trajectory(LogisticMap(epsilon=float(gain), capacity=1.0, start=0.01), steps).w.values
    return float(np.abs(windows - 1).max())


@predicted("logistic.printed_time")
def printed_time(sender: str, rate: str) -> float:
    """Round trips by the printed T from a tenth of the window's end to 99 % of a link that UDP takes a fifth of.

    Beside UDP eq. (8) is a logistic equation with epsilon (1 - gamma UDP) that ends at (1 - gamma UDP) K base_rtt.
    """
    free = 1 - GAMMA * UDP
    return float(Logistic(epsilon=EPSILON * free).time_to(0.9, (0.99 - UDP) / free))


@predicted("logistic.eq9_share")
def eq9_share(sender: str, rate: str) -> float:
    """Share of the connection with the slower access link if the other's throughput is measured: eq. (9)."""
    link = float(rate)
    capacity = per_flow([min(link, access) for access in ACCESS])
    model = LotkaVolterraThroughput(flows=2, epsilon=EPSILON, gamma=GAMMA, capacity=capacity, link=link)
    settled = model.equilibrium().throughput
    return float(settled[0] / settled.sum())


@predicted("logistic.window_sum")
def window_sum(flows: str) -> float:
    """Sum of the windows over K base_rtt by the paper's own formula."""
    return float(LotkaVolterraWindows(flows=int(flows), gamma=GAMMA, capacity=1.0).equilibrium().N.sum())
