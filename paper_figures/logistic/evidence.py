"""What decides statements of the paper on logistic and Lotka-Volterra control, as curves."""

from __future__ import annotations

import numpy as np

from tcpdynamics.models import (
    Logistic,
    LogisticDelayed,
    LogisticMap,
    LotkaVolterraCrossDelayed,
    LotkaVolterraErrors,
    LotkaVolterraHeld,
    LotkaVolterraStale,
    LotkaVolterraThroughput,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.stability.bifurcation import bifurcation

from ..curves import Curve, Curves, evidence
from .figures import EPSILON, GAMMA

#: Numbers of flows.
FLOWS = tuple(range(2, 21))
EPSILON_AXIS = "gain ε per round trip"
#: The paper's gain, for comparison.
PAPER = f"the paper's ε = {EPSILON}"


@evidence("logistic.time", "A window on its way from 10 % to 99 % of the capacity")
def time() -> Curves:
    """The differential equation for three gains, and where the printed T says that it reaches 99 %."""
    gains, times = (1.0, EPSILON, 3.0), np.linspace(0.0, 8.0, 161)
    flows = {e: Logistic(epsilon=e, capacity=1.0, start=0.1) for e in gains}
    curves = [Curve(f"ε = {e:g}", times, trajectory(flow, times).w.values) for e, flow in flows.items()]
    marks = [float(flow.time_to(0.9, 0.99)) for flow in flows.values()]
    return Curves("time [RTT]", "window over capacity", (
        *curves, Curve("T by the printed formula", marks, [0.99] * len(marks), "markers"),
    ))  # fmt: skip


@evidence("logistic.two", "Distance of the map from its fixed point, at ε = 1.9, 1.95 and 2")
def two() -> Curves:
    """At 2 it falls like t^(-1/2), below geometrically."""
    steps = np.unique(np.geomspace(1, 3000, 150).astype(int))
    curves = []
    for e in (1.9, EPSILON, 2.0):
        off = np.abs(trajectory(LogisticMap(epsilon=e, capacity=1.0, start=0.1), steps).w.values - 1)
        curves.append(Curve(f"ε = {e:g}", steps[off > 1e-12], off[off > 1e-12]))
    return Curves("round trip", "distance from the fixed point [K]", tuple(curves), log="xy")


@evidence("logistic.overshoot", "Largest window of the map, against where it starts, at ε = 1.95")
def overshoot() -> Curves:
    """Over 30 round trips; K is the bandwidth-delay product."""
    starts = np.linspace(0.001, 1.0, 400)
    model = LogisticMap(epsilon=EPSILON, capacity=1.0).map()
    orbit = trajectory(model, np.arange(30), start={"w": starts}).w.values
    return Curves("first window [K]", "largest window [K]", (
        Curve("largest window", starts, orbit.max(axis=1)), Curve("the capacity", [0.0, 1.0], [1.0, 1.0], "dash"),
    ))  # fmt: skip


@evidence("logistic.doubling", "Windows at which the map ends, against its gain")
def doubling() -> Curves:
    """The bifurcation diagram; the gains of the paper's Fig. 1 are dashed."""
    gains = np.linspace(1.8, 3.0, 181)
    ends = bifurcation(LogisticMap(epsilon=gains, capacity=1.0, start=0.3), transient=2000).w.values[:, -24:]
    marks = tuple(Curve(f"ε = {e:g}", [e, e], [0.0, 1.4], "dash") for e in (2.4, 3.0))
    points = Curve("ends of the map", np.repeat(gains, ends.shape[1]), ends.ravel(), "markers")
    return Curves(EPSILON_AXIS, "window [K]", (points, *marks))


@evidence("logistic.delay", "Largest age of a measurement at which one flow is stable, against its gain")
def delay() -> Curves:
    """pi/(2 epsilon), and the paper's measurement interval of one round trip."""
    gains = np.linspace(0.5, 3.0, 126)
    critical = LogisticDelayed(epsilon=gains).critical_delay()
    mine = float(LogisticDelayed(epsilon=EPSILON).critical_delay())
    return Curves(EPSILON_AXIS, "age of the measurement [RTT]", (
        Curve("critical age", gains, np.asarray(critical)), Curve(PAPER, [EPSILON], [mine], "markers"),
        Curve("one round trip", [0.5, 3.0], [1.0, 1.0], "dash"),
    ))  # fmt: skip


@evidence("logistic.others", "Largest age of the others' rates at which flows are stable, against their number")
def others() -> Curves:
    """The own rate is known at once; two flows are stable at any age."""
    ages = [float(LotkaVolterraCrossDelayed(flows=n, epsilon=EPSILON, gamma=GAMMA).critical_delay()) for n in FLOWS[1:]]
    return Curves("flows", "age of the measurement [RTT]", (
        Curve("critical age of the others' rates", FLOWS[1:], ages),
        Curve("one round trip", [FLOWS[1], FLOWS[-1]], [1.0, 1.0], "dash"),
    ))  # fmt: skip


@evidence("logistic.gains", "Largest stable gain against the number of flows, by how A_i is measured")
def gains() -> Curves:
    """A_i held for a round trip, or one round trip old."""
    limits = [float(LotkaVolterraHeld(flows=n, gamma=GAMMA).critical_gain()) for n in FLOWS]
    stale = [float(LotkaVolterraStale(flows=n, gamma=GAMMA).critical_gain()) for n in FLOWS]
    return Curves("flows", "gain ε per round trip", (
        Curve("held for a round trip", FLOWS[1:], limits[1:]), Curve("one round trip old", FLOWS, stale),
        Curve(PAPER, [FLOWS[0], FLOWS[-1]], [EPSILON, EPSILON], "dash"),
    ))  # fmt: skip


@evidence("logistic.survival", "Two connections with K = 10 and 15: one dies out")
def survival() -> Curves:
    """Reading R1, by eq. (6)."""
    pair = LotkaVolterraWindows(flows=2, epsilon=EPSILON, gamma=GAMMA, capacity=per_flow([10.0, 15.0]))
    times = np.linspace(0.0, 60.0, 241)
    first, second = trajectory(pair, times).N.values
    return Curves("time [RTT]", "rate [packet/s]", (
        Curve("connection 1, K = 10", times, first), Curve("connection 2, K = 15", times, second),
    ))  # fmt: skip


@evidence("logistic.sum", "Sum of the windows against the number of flows, by the reading of A_i")
def windows() -> Curves:
    """What is above one is in the buffer."""
    r1, r3 = (
        [float(kind(flows=n, gamma=GAMMA, capacity=1.0).equilibrium().N.sum()) for n in range(2, 31)]
        for kind in (LotkaVolterraWindows, LotkaVolterraThroughput)
    )
    n = list(range(2, 31))
    return Curves("flows", "sum of the windows [bandwidth-delay product]", (
        Curve("R1", n, r1), Curve("R3", n, r3), Curve("the paper's bound, 1/gamma", [2, 30], [1 / GAMMA] * 2, "dash"),
        Curve("link and the paper's buffer", [2, 30], [3.0, 3.0], "dash"),
    ))  # fmt: skip


@evidence("logistic.fairness", "Time in which differences between flows fall to 1/e, against their number")
def fairness() -> Curves:
    """By the reading of A_i."""
    r1, r3 = (
        [float(kind(flows=n, epsilon=EPSILON, gamma=GAMMA).fairness_time()) for n in FLOWS]
        for kind in (LotkaVolterraWindows, LotkaVolterraThroughput)
    )
    return Curves("flows", "time [RTT]", (Curve("R1", FLOWS, r1), Curve("R3", FLOWS, r3)))


@evidence("logistic.error_of_K", "By how much a flow may take K too low before it dies out")
def error_of_capacity() -> Curves:
    """Where the others' sum is known (eq. 6), and where A_i is measured by itself (eq. 7)."""
    n = np.unique(np.geomspace(2, 100, 40).astype(int))
    models = [LotkaVolterraErrors(flows=int(k), gamma=GAMMA) for k in n]
    return Curves("flows", "tolerated error of K [%]", (
        Curve("eq. (6)", n, [100 * float(m.capacity_tolerance_of_sum()) for m in models]),
        Curve("eq. (7)", n, [100 * float(m.capacity_tolerance()) for m in models]),
    ), log="xy")  # fmt: skip
