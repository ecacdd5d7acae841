"""Published values and recorded packets of the ledger, as points on the models' axes."""

from __future__ import annotations

from typing import Any

from tcpdynamics.paper_figures.ledger import get_claim, record


def ends(runs: Any, digits: int = 4, fraction: bool = True) -> list[float | None]:
    """Mean over replications, by default of a fraction, and the ends of its 95 % interval; None of what no run has.

    Examples
    --------
    >>> ends([0.1, 0.1, 0.1])
    [0.1, 0.1, 0.1]
    """
    import numpy as np
    import xarray as xr

    from tcpdynamics.validation.statistics import mean_interval

    values_of = xr.DataArray(np.asarray(runs, dtype=float), dims="replication")
    interval = mean_interval(values_of, fraction=fraction)
    values = (float(interval[end]) for end in ("mean", "low", "high"))
    return [float(f"{x:.{digits}g}") if x == x else None for x in values]


def published(name: str) -> float:
    """The value that a paper prints."""
    return get_claim(name).number


def interval(name: str) -> tuple[float, float, float]:
    """Mean of the packets of a claim's recorded reading, and its 95 % interval."""
    came = record(name.partition(".")[0])["rows"][name]["packets"]
    return came["mean"], came["low"], came["high"]


def over_readings(name: str, **labels: str) -> tuple[float, float, float]:
    """Of the recorded readings with these labels: mean of the first, least mean, largest mean.

    Examples
    --------
    >>> mean, least, largest = over_readings("mtcp.table4.immediate.13")
    >>> least < mean < largest
    True
    """
    came = record(name.partition(".")[0])["rows"][name]
    pairs = zip(came["readings"], came["labels"], strict=True)
    means = [mean for (_, _, mean), setting in pairs if labels.items() <= setting.items()]
    return means[0], min(means), max(means)
