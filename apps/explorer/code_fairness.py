"""The lines of Python that give the numbers of each picture of the fairness page."""

from __future__ import annotations

from collections.abc import Callable

from .page import Values
from .tables import PLANE

_HEAD = "import numpy as np\nimport pandas as pd\nfrom tcpdynamics.models import fairness\n\nx = {x!r}\n"


def _head(values: Values) -> str:
    return _HEAD.format(x=[values[f"x{i + 1}"] for i in range(int(values["flows"]))])


def _of_some(code: Callable[[Values], str]) -> Callable[[Values], str]:
    """No index is defined where nobody has anything."""

    def said(values: Values) -> str:
        if any(values[f"x{i + 1}"] for i in range(int(values["flows"]))):
            return code(values)
        why = "nobody has anything: no index of fairness is defined"
        return f"import pandas as pd\n\ntable = pd.DataFrame()  # {why}\nprint(table)\n"

    return said


def flows(values: Values) -> str:
    """What each flow has."""
    return _head(values) + ('table = pd.DataFrame({"flow": range(1, len(x) + 1), "throughput": x})\nprint(table)\n')


@_of_some
def indices(values: Values) -> str:
    """The indices by the page's names, each 1 where all are equal."""
    return _head(values) + (
        "indices = {\n"
        '    "Jain": fairness.jain(x), "min/max": fairness.min_max_ratio(x), "entropy": '
        "fairness.entropy(x) / np.log(len(x)),\n"
        '    "1 - Gini": 1 - fairness.gini(x), "1 - Hoover": 1 - fairness.hoover(x), "1 - '
        'Atkinson": 1 - fairness.atkinson(x, 1.0),\n'
        "}\n"
        'table = pd.DataFrame(indices.items(), columns=["index", "value"])\n'
        "print(table)\n"
    )


@_of_some
def lorenz(values: Values) -> str:
    """The Lorenz curve, and what it is compared with."""
    return (
        _head(values)
        + (
            "shares = np.insert(np.cumsum(np.sort(x)) / np.sum(x), 0, 0.0)\n"
            "even = np.linspace(0, 1, len(x) + 1)\n"
            "most = np.argmax(even - shares)\n"
            "lines = {\n"
            '    "Lorenz curve": (even, shares), "equality": ([0, 1], [0, 1]),\n'
            '    "half of the Gini coefficient": ([*even, 0], [*shares, 0]),\n'
            '    "Hoover\'s index": ([even[most], even[most]], [shares[most], even[most]]),\n'
            "}"
        )
        + PLANE.format(x="share of the flows, poorest first", y="share of the throughput")
    )


@_of_some
def bounds(values: Values) -> str:
    """Jain's index, the least that the ratio allows, and 1/n."""
    return _head(values) + (
        "r = fairness.min_max_ratio(x)\n"
        'bounds = {"Jain\'s index": fairness.jain(x), "4r/(1 + r)²": 4 * r / (1 + r) ** 2, "1/n": 1 / len(x)}\n'
        'table = pd.DataFrame(bounds.items(), columns=["bound", "value"])\n'
        "print(table)\n"
    )


@_of_some
def facts(values: Values) -> str:
    """Each index between its bounds."""
    return _head(values) + (
        "n, r, h = len(x), fairness.min_max_ratio(x), fairness.hoover(x)\n"
        "rows = {\n"
        '    "Jain\'s index": (max(4 * r / (1 + r) ** 2, 1 / n), fairness.jain(x), np.exp(fairness.entropy(x)) / n),\n'
        '    "1 - Gini": ((1 - h) ** 2, 1 - fairness.gini(x), 1 - h),\n'
        '    "1 - Atkinson": (r, 1 - fairness.atkinson(x, 1.0), 1),\n'
        '    "entropy": (0, fairness.entropy(x) / np.log(n), 1),\n'
        "}\n"
        "table = pd.DataFrame([(name, *row) for name, row in rows.items()], "
        'columns=["quantity", "at least", "value", "at most"])\n'
        "print(table)\n"
    )
