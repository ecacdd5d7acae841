"""Figures of what decides statements of the paper that it does not draw."""

from __future__ import annotations

import numpy as np

from ..curves import Curve, Curves, evidence
from .findings import BEGINNINGS, ROUTES, estimates

#: Acknowledgements that the figure shows.
SHOWN = 300


@evidence(
    "mtcp.estimator",
    "Section 3.4.3: error of the estimated time there over the first route, and of the round trip; two routes "
    "of 20 and 60 ms there, 70 and 40 ms back",
)
def estimator() -> Curves:
    """Eqs. (4)-(8): round trips become right, one-way times only where they begin right."""
    (there, back) = ROUTES["unlike"]
    curves = []
    for begin in BEGINNINGS:
        course = estimates(there, back, begin, 1, SHOWN)
        course[course < 0] = np.nan  # not measured yet
        acks = np.arange(len(course))
        curves.append(Curve(f"time there, begun {begin}", acks, 1e3 * (course[:, 0] - there[0])))
        sums = course[:, 0] + course[:, 2] - there[0] - back[0]
        curves.append(Curve(f"round trip, begun {begin}", acks, 1e3 * sums, "dash"))
    return Curves("acknowledgements", "estimate less the true time [ms]", tuple(curves))
