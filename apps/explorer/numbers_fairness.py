"""The numbers of each picture of the fairness page; `x` is what each flow has."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpdynamics.models import fairness


def flows(x: list[float]) -> pd.DataFrame:
    """What each flow has."""
    return pd.DataFrame({"flow": range(1, len(x) + 1), "throughput": x})


def indices(x: list[float]) -> pd.DataFrame:
    """The indices by the page's names, each 1 where all are equal; none where nobody has anything."""
    if not any(x):
        return pd.DataFrame()
    values = {
        "Jain": fairness.jain(x), "min/max": fairness.min_max_ratio(x), "entropy": fairness.entropy(x) / np.log(len(x)),
        "1 - Gini": 1 - fairness.gini(x), "1 - Hoover": 1 - fairness.hoover(x),
        "1 - Atkinson": 1 - fairness.atkinson(x, 1.0),
    }  # fmt: skip
    return pd.DataFrame(values.items(), columns=["index", "value"])


def lorenz(x: list[float]) -> pd.DataFrame:
    """The Lorenz curve, and what it is compared with."""
    if not any(x):
        return pd.DataFrame()
    shares = np.insert(np.cumsum(np.sort(x)) / np.sum(x), 0, 0.0)
    even = np.linspace(0, 1, len(x) + 1)
    most = np.argmax(even - shares)
    lines = {
        "Lorenz curve": (even, shares), "equality": ([0, 1], [0, 1]),
        "half of the Gini coefficient": ([*even, 0], [*shares, 0]),
        "Hoover's index": ([even[most], even[most]], [shares[most], even[most]]),
    }  # fmt: skip
    names = "fraction of the flows, poorest first", "fraction of the throughput"
    return pd.concat([pd.DataFrame({"line": line, names[0]: a, names[1]: b}) for line, (a, b) in lines.items()])


def bounds(x: list[float]) -> pd.DataFrame:
    """Jain's index, the least that the ratio allows, and 1/n."""
    if not any(x):
        return pd.DataFrame()
    r = fairness.min_max_ratio(x)
    values = {"Jain's index": fairness.jain(x), "4r/(1 + r)²": 4 * r / (1 + r) ** 2, "1/n": 1 / len(x)}
    return pd.DataFrame(values.items(), columns=["bound", "value"])


def facts(x: list[float]) -> pd.DataFrame:
    """Each index between its bounds."""
    if not any(x):
        return pd.DataFrame()
    n, r, h = len(x), fairness.min_max_ratio(x), fairness.hoover(x)
    rows = {
        "Jain's index": (max(4 * r / (1 + r) ** 2, 1 / n), fairness.jain(x), np.exp(fairness.entropy(x)) / n),
        "1 - Gini": ((1 - h) ** 2, 1 - fairness.gini(x), 1 - h),
        "1 - Atkinson": (r, 1 - fairness.atkinson(x, 1.0), 1),
        "entropy": (0, fairness.entropy(x) / np.log(n), 1),
    }
    columns = ["quantity", "at least", "value", "at most"]
    return pd.DataFrame([(name, *row) for name, row in rows.items()], columns=columns)
