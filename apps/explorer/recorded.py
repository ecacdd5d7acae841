"""Published values and recorded packets of the ledger, as points on the models' axes."""

from __future__ import annotations

from tcpdynamics.paper_figures.ledger import get_claim, record


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
