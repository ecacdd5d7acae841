"""Numbers that claims name: made of an experiment's result, or predicted by a model."""

from __future__ import annotations

import numpy as np

from tcpdynamics.later import xr
from tcpdynamics.models import Logistic, LogisticMap, LotkaVolterraThroughput, LotkaVolterraWindows, per_flow
from tcpdynamics.solvers import trajectory

from ..deciding import predicted, value
from .figures import ACCESS, EPSILON, GAMMA

#: Beside the proposed one.
OTHERS = ["Reno", "HSTCP", "Scalable"]


@value("logistic.over_quickest")
def over_quickest(data: xr.Dataset, rate: str) -> xr.DataArray:
    """Time of the proposed flow until 99 % of the link is used, over that of the quickest of the others."""
    at = data.filled.sel(rate=rate, drop=True)
    over: xr.DataArray = at.sel(sender="Proposed", drop=True) / at.sel(sender=OTHERS).min("sender")
    return over


@value("logistic.wider_by_errors")
def wider_by_errors(data: xr.Dataset, rate: str) -> xr.DataArray:
    """Distance of a run's time from the mean of all runs [s]: with errors less without."""
    off = _off_mean(data.filled.sel(rate=rate, drop=True))
    return off.sel(error="some", drop=True) - off.sel(error="none", drop=True)


def _off_mean(times: xr.DataArray) -> xr.DataArray:
    return abs(times - times.mean("replication"))


@predicted("logistic.gain_off")
def gain_off(gain: str) -> float:
    """Largest distance of the map per round trip from K, over K, in the end."""
    steps = np.arange(100, 201)
    windows = trajectory(LogisticMap(epsilon=float(gain), capacity=1.0, start=0.01), steps).w.values
    return float(np.abs(windows - 1).max())


@predicted("logistic.printed_time")
def printed_time(rate: str) -> float:
    """T of section 3.2 from 10 to 99 % of K base_rtt [RTT]."""
    return float(Logistic(epsilon=EPSILON).time_to(0.9, 0.99))


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
