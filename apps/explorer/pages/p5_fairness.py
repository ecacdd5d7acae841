"""How fairly is a link shared, and do the indices agree?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tcpdynamics.errors import DomainError
from tcpdynamics.models import fairness
from tcpdynamics.solvers.programs.straightline import Builder, Program

from .. import numbers_fairness as numbers
from ..page import Control, Figure, Page, Preset, Printed, Values
from ..shown import shown

MOST = 8
#: What each flow has on a fresh page.
FRESH = (8.0, 4.0, 2.0, 1.0, 3.0, 5.0, 6.0, 7.0)
#: The indices of the page, each 1 where all are equal, in the order of the program's outputs.
INDICES = ("Jain", "min/max", "entropy", "1 - Gini", "1 - Hoover", "1 - Atkinson")
#: Below this a share has no logarithm; its term of the entropy is 0.
TINY = 1e-300


def _sort(b: Builder, values: list[int]) -> list[int]:
    """Ascending, by comparing neighbours: a network of min and max."""
    row = list(values)
    for last in range(len(row) - 1, 0, -1):
        for i in range(last):
            row[i], row[i + 1] = b.apply("min", row[i], row[i + 1]), b.apply("max", row[i], row[i + 1])
    return row


def _indices(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The indices, their bounds, then the allocations in ascending order.

    Bounds: the least Jain's index that the ratio allows; the largest that the entropy allows, as Hill numbers fall with
    their order; the least 1 - Gini that Hoover's index h allows, (1 - h)^2, since the Lorenz curve lies above its
    tangent of slope 1 at the mean and above 0; and 1/n.
    """
    n = int(values["flows"])
    b = Builder()
    names = tuple(f"x{i + 1}" for i in range(n))
    x = [b.input(name) for name in names]
    one, count = b.const(1), b.const(n)
    total, ordered = b.total(x), _sort(b, x)
    jain = b.div(b.mul(total, total), b.mul(count, b.total(b.mul(v, v) for v in x)))
    ratio = b.div(ordered[0], ordered[-1])
    shares = [b.div(v, total) for v in x]
    terms = [b.mul(s, b.apply("log", b.apply("max", s, b.const(TINY)))) for s in shares]
    entropy = b.div(b.sub(b.const(0), b.total(terms)), b.const(math.log(n)))
    weighted = b.total(b.mul(b.const(2 * i - n - 1), v) for i, v in enumerate(ordered, 1))
    gini = b.div(weighted, b.mul(count, total))
    mean = b.div(total, count)
    apart = [b.sub(b.apply("max", v, mean), b.apply("min", v, mean)) for v in x]
    hoover = b.div(b.total(apart), b.mul(b.const(2), total))
    logs = b.div(b.total(b.apply("log", v) for v in x), count)
    geometric = b.div(b.apply("exp", logs), mean)
    least = b.div(b.mul(b.const(4), ratio), b.power(b.add(one, ratio), 2))
    jain_most = b.div(b.apply("exp", b.mul(entropy, b.const(math.log(n)))), count)
    even = b.sub(one, hoover)
    bounds = (least, jain_most, b.power(even, 2), b.div(one, count))
    outputs = [jain, ratio, entropy, b.sub(one, gini), even, geometric, *bounds, *ordered]
    return b.build(outputs), names, {"indices": INDICES}


def _allocations(values: Values) -> list[float]:
    return [values[f"x{i + 1}"] for i in range(int(values["flows"]))]


def _code(numbers_of: Callable[..., Any]) -> Callable[[Values], str]:
    return shown(numbers_of, x=_allocations)


def dataset(values: Values) -> Any:
    """The indices of these allocations, by the library's own functions."""
    import xarray as xr

    x = _allocations(values)
    if not any(x):
        raise DomainError("x1, x2, ... must not all be 0: nobody has anything, and no index of fairness is defined")
    return xr.Dataset(
        {
            "allocation": ("flow", x, {"long_name": "what a flow has"}),
            "jain": ((), fairness.jain(x)),
            "min_max_ratio": ((), fairness.min_max_ratio(x)),
            "entropy": ((), fairness.entropy(x), {"units": "nat"}),
            "gini": ((), fairness.gini(x)),
            "hoover": ((), fairness.hoover(x)),
            "atkinson": ((), fairness.atkinson(x, 1.0)),
        },
        coords={"flow": np.arange(1, len(x) + 1)},
    )


PAGE = Page(
    slug="fairness",
    title="Fairness",
    question="How fairly is the link shared, and do the indices agree?",
    controls=(
        Control("flows", "n", "1", "flows", 2, MOST, 4, 1),
        *(
            Control(f"x{i + 1}", f"x_{i + 1}", "Mbit/s", f"throughput of flow {i + 1}", 0.0, 10.0, x, 0.01,
                shown_from=("flows", float(i + 1)))
            for i, x in enumerate(FRESH)
        ),
    ),
    main=("flows", "x1", "x2", "x3"),
    presets=(
        Preset("equal throughputs", {f"x{i + 1}": 4.0 for i in range(MOST)}),
        Preset("one flow has nearly all", {"x1": 10.0, "x2": 0.1, "x3": 0.1, "x4": 0.1}),
        Preset("half of eight flows get nothing", {
            "flows": 8.0, **{f"x{i + 1}": 5.0 if i < 4 else 0.0 for i in range(MOST)}
        }),
    ),
    figures=(
        Figure(
            "flows", "Throughput of each flow", "Bars: throughput of each flow; drag them", code=_code(numbers.flows)
        ),
        Figure(
            "indices", "Indices, each 1 where all are equal", "Bars: six indices of fairness",
            code=_code(numbers.indices),
        ),
        Figure(
            "lorenz", "Lorenz curve", "The fraction that the poorest flows get, below the line of equality",
            "plane", _code(numbers.lorenz),
        ),
        Figure(
            "bounds", "Jain's index and its lower bounds",
            "Bars: Jain's index, its least value at this ratio of smallest to largest, and 1/n",
            code=_code(numbers.bounds),
        ),
        Figure(
            "facts", "Inequalities between them", "Numbers: each index between its bounds",
            "facts", _code(numbers.facts),
        ),
    ),
    printed=(Printed("indices", ("flows",), _indices),),
    dataset=dataset,
    notes=(
        "n times Jain's index is the number of flows that would give the same index if they shared equally and the "
        "others got nothing. At a ratio r of the smallest to the "
        "largest it is at least 4r/(1 + r)^2 (Schweitzer), and always at least 1/n.",
        "Entropy is divided by ln n; Atkinson's index has aversion 1. The Gini coefficient is twice the "
        "area between the Lorenz curve and the line of equality; Hoover's is the largest distance between them.",
    ),
)  # fmt: skip
