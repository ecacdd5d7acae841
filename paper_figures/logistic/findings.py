"""What the paper on logistic and Lotka-Volterra control says, and what solving its models says, computed now."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from tcpdynamics.models import (
    Logistic,
    LogisticAckClocked,
    LogisticDelayed,
    LogisticMap,
    LotkaVolterraCrossDelayed,
    LotkaVolterraErrors,
    LotkaVolterraHeld,
    LotkaVolterraLink,
    LotkaVolterraMap,
    LotkaVolterraStale,
    LotkaVolterraThroughput,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.solvers import eigenvalues, trajectory
from tcpdynamics.solvers.problems import OdeModel
from tcpdynamics.solvers.stability.bifurcation import bifurcation
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..findings import Answer, finding, listed, near
from .figures import EPSILON, GAMMA, JOINS, fig2

#: How the equations of section 2 may be stepped, and what A_i may be: eq. (6)'s rates, or what gets through the link.
STEPPED = ["map per unit of time", "differential equation"]
RATES = ["throughput", "windows"]  # as the experiments' axis "others": R3 and R1


@finding("figure 1", "Fig. 1", "N converges to K for epsilon = 0.6 and 1.8, not for 2.4 and 3.0", "logistic.fig1")
def figure_one() -> Answer:
    numbers: dict[str, Any] = {"readings": STEPPED, "axis": "equations"}
    settled = {}
    steps, times = np.arange(61), np.linspace(0.0, 60.0, 601)
    for gain in (0.6, 1.8, 2.4, 3.0):
        both = [
            trajectory(LogisticMap(epsilon=gain, capacity=1.0, start=0.01), steps).w.values,
            trajectory(Logistic(epsilon=gain, capacity=1.0, start=0.01), times).w.values,
        ]
        label = f"{gain:g}".replace(".", "_") if gain != 3.0 else "3_0"
        numbers[f"off_{label}"] = [float(np.abs(w[len(w) // 2 :] - 1).max()) for w in both]
        numbers[f"over_{label}"] = [float(w.max() - 1) for w in both]
        settled[gain] = [float(t[_last_beyond(w, 0.05)]) for t, w in zip((steps, times), both, strict=True)]
    numbers["faster"] = [fast / slow for fast, slow in zip(settled[1.8], settled[0.6], strict=True)]
    grown: list[list[float]] = [[], []]
    for start in (0.1, 0.05):
        one = {"epsilon": 0.6, "capacity": 1.0, "start": start}
        grown[0].append(float(trajectory(LogisticMap(**one), [1]).w.values[-1]) - start)
        grown[1].append(float(trajectory(Logistic(**one), [1e-3]).w.values[-1]) - start)
    numbers["growth"] = [fast / slow for fast, slow in grown]
    offs = np.array([numbers[f"off_{label}"] for label in ("0_6", "1_8", "2_4", "3_0")])
    return Answer(
        "true of the map only: the differential equation converges for all four, without overshoot",
        f"largest distance from K in the end: map {listed(offs[:, 0])}, differential equation {listed(offs[:, 1])}",
        bool((offs[:2] < 0.05).all() and (offs[2:, 0] > 0.05).all() and (offs[2:, 1] < 0.05).all()), numbers,
    )  # fmt: skip


def _last_beyond(values: Any, share: float) -> int:
    """Where values are last further from one than that."""
    return int(np.flatnonzero(np.abs(values - 1) > share).max())


@finding("time", "section 3.2", "T = ln(cb/((1-c)(1-b)))/epsilon, whatever K", "logistic.time")
def convergence_time() -> Answer:
    flow = Logistic(epsilon=EPSILON, capacity=1.0, start=0.1)
    time = float(flow.time_to(0.9, 0.99))
    reached = float(trajectory(flow, [time]).w.values[-1])
    times = np.linspace(0.0, 8.0, 81)
    printed = 0.1 / (0.1 + 0.9 * np.exp(-EPSILON * times))
    gap = float(np.abs(trajectory(flow, times).w.values - printed).max())
    at = [_reaches(capacity, 0.1, 0.99) for capacity in (100.0, 10000.0)]
    rate = Logistic(epsilon=EPSILON, capacity=20.0, base_rtt=0.05, start=0.1)  # eq. (7): rates, in seconds
    in_seconds = trajectory(rate.rate_ode(), 0.05 * times).N.values
    return Answer(
        "correct as printed; 3.483 RTT for epsilon = 1.95, b = 0.9, c = 0.99",
        f"T = {time:.3f} RTT; the integrated equation is then at {reached:.6f} K",
        near(time, 3.483) and abs(reached - 0.99) < 1e-7 and near(in_seconds, 20 * printed, 5),
        {"time": time, "reached": reached, "solution_gap": gap, "of_k": at[1] / at[0]},
    )


@finding("per ACK", "section 3.1", "Delta w for each ACK integrates to eq. (8)", "logistic.time")
def per_ack() -> Answer:
    packets, udp = (125.0, 12500.0), 0.2  # 10 Mbit/s and 1 Gbit/s; UDP of Fig. 5
    gaps = []
    for capacity in packets:
        one: dict[str, Any] = {"epsilon": EPSILON, "capacity": capacity, "start": 0.1 * capacity}
        law = LogisticAckClocked(**one, gamma=GAMMA, cross_traffic=udp * capacity).ack_map()
        w = trajectory(law, np.arange(8 * int(capacity))).w.values
        times = np.concatenate([[0.0], np.cumsum(1 / w[:-1])])  # w ACKs in a round trip
        free = 1 - GAMMA * udp
        equation = Logistic(epsilon=free * EPSILON, capacity=free * capacity, start=0.1 * capacity)
        gaps.append(float(np.abs(w - trajectory(equation, times).w.values).max() / capacity))
    return Answer(
        "correct, up to steps of an ACK, which are the coarser the smaller the window",
        f"largest gap over K base_rtt: {listed(gaps, 5)} with K base_rtt of 125 and 12500 packets",
        gaps[1] < 0.02 * gaps[0] < 0.02 * 0.05, {"gap": gaps[0], "gaps": gaps},
    )  # fmt: skip


def _reaches(capacity: float, start: float, end: float) -> float:
    """When the integrated equation has come from one share of K to another [RTT]."""
    flow = Logistic(epsilon=EPSILON, capacity=capacity, start=start * capacity)

    def missing(time: float) -> float:
        return float(trajectory(flow, [time]).w.values[-1]) / capacity - end

    return float(brentq(missing, 0.1, 20.0, xtol=1e-9))


@finding(
    "map", "sections 2.1 and 3.2, Fig. 1", "epsilon < 2 is a characteristic of the logistic equation", "logistic.fig1"
)
def rule_of_the_map() -> Answer:
    gains = [1.95, 2.4, 3.0]
    radius = np.abs(eigenvalues(LogisticMap(epsilon=gains)).eigenvalue.values[:, 0])
    rates = eigenvalues(Logistic(epsilon=gains)).eigenvalue.values[:, 0].real
    edge = float(stability_chart(LogisticMap(epsilon=np.linspace(1.5, 2.6, 12))).boundary_epsilon.values[0])
    times = np.linspace(0, 20, 400)
    curves = trajectory(Logistic(epsilon=gains, capacity=1.0, start=0.01), times).w.values
    over = float(curves.max())
    return Answer(
        "of the map per round trip only: the differential equation, from which T is taken, is stable and free "
        "of overshoot "
        "for every epsilon > 0",
        f"map: stable up to {edge:.6f}, multipliers of modulus {listed(radius, 2)} at 1.95, 2.4, 3; differential "
        f"equation: eigenvalues {listed(rates, 2)}, largest value {over:.6f} K",
        abs(edge - 2) < 1e-8 and near(radius, [0.95, 1.4, 2.0], 9) and near(rates, [-1.95, -2.4, -3.0], 9)
        and over <= 1 + 1e-7,
        {"edge": edge, "over": over, "edges": [edge, _edge_of_ode()], "readings": STEPPED, "axis": "equations"},
    )  # fmt: skip


def _edge_of_ode() -> float:
    """Largest epsilon with which the differential equation is stable: no limit, or the least tried one that is not."""
    gains = np.geomspace(0.1, 1000.0, 41)
    values = eigenvalues(Logistic(epsilon=gains)).eigenvalue.values[:, 0].real
    return float(gains[values >= 0][0]) if (values >= 0).any() else float("inf")


@finding("two", "sections 2.1 and 3.2", "epsilon must be less than 2.0; elsewhere epsilon <= 2", "logistic.two")
def at_two() -> Answer:
    steps = np.array([5000, 20000])
    w = trajectory(LogisticMap(epsilon=2.0, capacity=1.0, start=0.1), steps).w.values
    off = np.abs(w - 1)
    power = float(np.log(off[1] / off[0]) / np.log(steps[1] / steps[0]))
    return Answer(
        "at 2 the fixed point still attracts, but only like t^(-1/2): 0.25 % off after 20000 steps",
        f"{100 * off[1]:.3f} % off after 20000 steps, exponent {power:.4f}",
        near(100 * off[1], 0.25, 2) and abs(power + 0.5) < 0.01, {"off": float(off[1]), "power": power},
    )  # fmt: skip


@finding(
    "overshoot",
    "section 2.1",
    "convergence at the expense of some overshoot; no loss (section 3.2)",
    "logistic.overshoot",
)
def overshoot() -> Answer:
    starts = np.linspace(0.001, 1.0, 4000)
    orbit = trajectory(LogisticMap(epsilon=EPSILON, capacity=1.0).map(), np.arange(30), start={"w": starts}).w.values
    peak = float(orbit.max())
    return Answer(
        "the map overshoots by up to (1+epsilon)^2/(4 epsilon) = 1.1157 K at 1.95, which needs 11.6 % of the "
        "bandwidth-delay product as buffer for one flow",
        f"largest window over 4000 starts {peak:.4f} K",
        near(peak, 1.1157, 4) and near(100 * (peak - 1), 11.6, 1), {"peak": peak},
    )  # fmt: skip


@finding("doubling", "Fig. 1", "for epsilon = 2.4 and 3.0, N does not converge", "logistic.doubling")
def doubling() -> Answer:
    gains = [2.44, 2.455, 2.566]
    diagram = bifurcation(LogisticMap(epsilon=gains, capacity=1.0, start=0.3), transient=20000)
    periods = [int(p) for p in diagram.cycle_length.values]
    return Answer(
        "at 2.4 it is a 2-cycle; period 4 begins at sqrt(6) = 2.449, chaos at 2.569946",
        f"periods at {', '.join(f'{g:g}' for g in gains)}: {', '.join(map(str, periods))}",
        periods[:2] == [2, 4] and periods[2] in (8, 16, 32), {"periods": periods},
    )  # fmt: skip


@finding("delay", "section 3.1", "A_i is measured every 1 to 4 RTT; its age is not stated", "logistic.delay")
def critical_delay() -> Answer:
    chart = stability_chart(LogisticDelayed(epsilon=EPSILON, delay=np.linspace(0.2, 2.0, 19)))
    critical = float(chart.boundary_delay.values[0])
    five = stability_chart(LotkaVolterraMap(flows=5, gamma=GAMMA, epsilon=np.linspace(0.5, 1.5, 11), lag=1))
    step = float(five.boundary_epsilon.values[0])
    return Answer(
        "a measurement tau old destabilises from epsilon tau = pi/2 on: at 1.95 it may be 0.806 RTT old; with one "
        "round trip of age, updates per round trip need epsilon < 1",
        f"critical delay at 1.95 {critical:.4f} RTT (five flows, all one round trip old: epsilon < {step:.6f})",
        near(critical, 0.806) and abs(step - 1) < 1e-7, {"delay": critical, "step": step},
    )  # fmt: skip


@finding(
    "others", "section 3.1", "assumed here: a flow knows its own rate, the others' are measured", "logistic.others"
)
def delayed_others() -> Answer:
    delays = []
    for n in (3, 5, 10):
        model = LotkaVolterraCrossDelayed(flows=n, epsilon=EPSILON, gamma=GAMMA, delay=np.linspace(0.5, 3.0, 11))
        delays.append(float(stability_chart(model).boundary_delay.values[0]))
    two = float(LotkaVolterraCrossDelayed(flows=2, epsilon=EPSILON, gamma=GAMMA).critical_delay())
    return Answer(
        "then two flows are stable at any delay; n = 3, 5, 10 at 2.07, 1.26, 0.98 RTT at most",
        f"critical delays {listed(delays, 2)} RTT; two flows: {'no limit' if np.isinf(two) else f'{two:.2f}'}",
        near(delays, [2.07, 1.26, 0.98], 2) and bool(np.isinf(two)), {"delays": delays},
    )  # fmt: skip


@finding("held", "section 3.1", "an update per ACK, with A_i measured once per RTT or less often", "logistic.gains")
def held_measurement() -> Answer:
    flows, gains = (3, 5, 10), []
    for n in flows:
        model = LotkaVolterraHeld(flows=n, gamma=GAMMA, epsilon=np.linspace(1.8, 4.0, 12))
        gains.append(float(stability_chart(model).boundary_epsilon.values[0]))
    two = eigenvalues(LotkaVolterraHeld(flows=2, gamma=GAMMA, epsilon=[2.0, 10.0, 100.0])).eigenvalue
    radius = float(np.abs(two.values).max())
    return Answer(
        "with A_i held for a round trip, stable iff M(1 - exp(-epsilon/M)) < 2, M = 1 + (n-1) gamma: any epsilon for "
        "n = 2; below 3.508, 2.625, 2.258 for n = 3, 5, 10",
        f"from the exact map: {listed(gains)}; n = 2: radius at most {radius:.3f} up to epsilon = 100",
        near(gains, [3.508, 2.625, 2.258]) and radius < 1, {"gains": gains},
    )  # fmt: skip


@finding(
    "stale", "section 4", "epsilon = 1.95 for any number of connections (here three and more, A_i a round trip old)",
    "logistic.gains",
)  # fmt: skip
def stale_measurement() -> Answer:
    gains = [_stale(n) for n in (3, 5, 10)]
    return Answer(
        "with A_i one round trip old, stable only for epsilon < M/((n-1) gamma): 1.556, 1.278, 1.123 for n = "
        "3, 5, 10, so "
        "1.95 is unstable from three flows on",
        f"from the roots: {listed(gains)}", near(gains, [1.556, 1.278, 1.123]) and max(gains) < EPSILON,
        {"gains": gains},
    )  # fmt: skip


@finding(
    "stale two", "section 4", "epsilon = 1.95 for any number of connections (here two, A_i a round trip old)",
    "logistic.gains",
)  # fmt: skip
def stale_measurement_of_two() -> Answer:
    gain = _stale(2)
    return Answer(
        "two flows bear 2M/(1+gamma) = 2: their difference flips there, before their sum spirals out at "
        "M/((n-1) gamma) = 2.111",
        f"{gain:.6f} from the roots", near(gain, 2.0, 6) and near(_stale(1), 2.0, 6), {"gain": gain},
    )  # fmt: skip


def _stale(n: int) -> float:
    model = LotkaVolterraStale(flows=n, gamma=GAMMA, epsilon=np.linspace(0.8, 2.9, 22))
    return float(stability_chart(model).boundary_epsilon.values[0])


@finding("survival", "eq. (3) and (6)", "gamma < 1 keeps both connections alive", "logistic.survival")
def who_survives() -> Answer:
    pair = LotkaVolterraWindows(flows=2, epsilon=EPSILON, gamma=GAMMA, capacity=per_flow([10.0, 15.0]))
    last = trajectory(pair, [400.0]).N.values[:, -1]
    return Answer(
        "only for equal capacities: with gamma = 0.9 and K = (10, 15) connection 1 dies out",
        f"rates after 400 round trips: {last[0]:.1e} and {last[1]:.4f}",
        bool(last[0] < 1e-6 and abs(last[1] - 15) < 1e-5) and near(pair.equilibrium().N, last, 5), {
            "rates": last.tolist(), "edge_first": _edge(15.0, 10.0), "edge_second": _edge(10.0, 15.0),
            "edge_equal": _edge(10.0, 10.0),
        },
    )  # fmt: skip


def _edge(there: float, comes: float) -> float:
    """Largest gamma with which a few of a species grow beside another that is at its K, by integrating eq. (1), (2)."""

    def growth(gamma: float) -> float:
        def slope(_: float, n: Any) -> list[float]:
            return [EPSILON * (1 - n[0] / there) * n[0], EPSILON * (1 - (np.exp(n[1]) + gamma * n[0]) / comes)]

        few = np.log(1e-9)
        return float(solve_ivp(slope, (0.0, 5.0), [there, few], rtol=1e-10, atol=1e-12).y[1, -1] - few)

    return float(brentq(growth, 0.01, 5.0, xtol=1e-9))


@finding(
    "eq9", "eq. (9), Fig. 8", "the link is shared in proportion to K_i: 6 and 9 of 15 for K = (10, 15)", "logistic.fig8"
)
def equation_nine() -> Answer:
    K = per_flow([10.0, 15.0])
    common = {"flows": 2, "epsilon": EPSILON, "gamma": GAMMA, "capacity": K}
    models: dict[str, OdeModel] = {
        "R1": LotkaVolterraWindows(**common),
        "R2": LotkaVolterraLink(**common, link=15.0),
        "R3": LotkaVolterraThroughput(**common, link=15.0),
    }
    rates = {}
    for name, model in models.items():
        run = trajectory(model, [600.0])
        rates[name] = run["throughput" if name == "R3" else "N"].values[:, -1]
    return Answer(
        "that follows only if A_i is the link less what the others really get through it (R3); with the others' window "
        "rates it gives (0, 15) by eq. (6) (R1) and 5.263, 10.263 for A_i = BW - sum of N_j (R2)",
        "; ".join(f"{name}: {listed(values)}" for name, values in rates.items()),
        near(rates["R1"], [0, 15]) and near(rates["R2"], [5.263, 10.263]) and near(rates["R3"], [6, 9]),
        {
            **{k: v.tolist() for k, v in rates.items()},
            "first_over_eq9": [float(rates[name][0]) / 6.0 for name in ("R3", "R1", "R2")],
            "readings": [*RATES, "link less windows"],
            "axis": "others",
        },
    )


@finding("lossless", "section 3.2", "the sum of windows stays below K base_rtt/gamma", "logistic.sum")
def lossless_bound() -> Answer:
    flows = (2, 10, 100)
    r1, r3 = (
        [float(kind(flows=n, gamma=GAMMA, capacity=1.0).equilibrium().N.sum()) for n in flows]
        for kind in (LotkaVolterraWindows, LotkaVolterraThroughput)
    )
    many = [  # the link's own product, and what waits
        1 + float(kind(flows=100000, gamma=GAMMA, capacity=1.0).required_buffer())
        for kind in (LotkaVolterraThroughput, LotkaVolterraWindows)
    ]
    return Answer(
        "true of interpretation R1 only; under R3, the only one with eq. (9), the sum is K(n(1-gamma) + gamma), "
        "without bound. "
        "The two statements contradict each other",
        f"sum over K at n = 2, 10, 100: R1 {listed(r1)}, R3 {listed(r3)}; 1/gamma = {1 / GAMMA:.3f}",
        max(r1) < 1 / GAMMA < r3[1] and near(r3, [n * (1 - GAMMA) + GAMMA for n in flows], 9),
        {
            "r1": r1, "r3": r3, "readings": RATES, "axis": "others",
            **{f"sum_{n}": [r3[i], r1[i]] for i, n in enumerate(flows[:2])}, "sum_many": many,
        },
    )  # fmt: skip


@finding(
    "buffer",
    "sections 3.2 and 4",
    "no loss, if the buffer (two bandwidth-delay products) is large enough",
    "logistic.sum",
)
def buffer_of_two_products() -> Answer:
    need = [float(LotkaVolterraThroughput(flows=n, gamma=GAMMA, capacity=1.0).equilibrium().queue) for n in (21, 22)]
    hundred = [
        float(kind(flows=100, gamma=GAMMA, capacity=1.0).equilibrium().queue)
        for kind in (LotkaVolterraThroughput, LotkaVolterraWindows)
    ]
    largest = float(LotkaVolterraWindows(flows=100000, gamma=GAMMA, capacity=1.0).required_buffer())
    return Answer(
        "R1 needs at most 11.1 % of one for any n; R3 needs 10 % more for each flow and exhausts the paper's buffer at "
        "n = 21",
        f"queue in bandwidth-delay products: R3 {need[0]:.3f} with 21 flows, {need[1]:.3f} with 22; R1 "
        f"{largest:.4f} with 100000",
        near(need, [2.0, 2.1], 6) and near(100 * largest, 11.1, 1),
        {"r3": need, "r1": largest, "queue": hundred, "readings": RATES, "axis": "others"},
    )


@finding("fairness", "sections 2.2 and 4", "rates converge quickly to the same value", "logistic.fairness")
def speed_of_fairness() -> Answer:
    slow, alike = [], []
    starts = per_flow([0.01, 0.02, 0.05, 0.1, 0.2])
    for kind in (LotkaVolterraWindows, LotkaVolterraThroughput):
        z = eigenvalues(kind(flows=5, epsilon=EPSILON, gamma=GAMMA)).eigenvalue.values.real
        slow.append(float(-1 / z.max()))
        model = kind(flows=5, epsilon=EPSILON, gamma=GAMMA, capacity=1.0, start=starts)
        last = trajectory(model, [1000.0]).N.values[:, -1]
        alike.append(float(last.min() / last.max()))
    many = float(LotkaVolterraWindows(flows=100, epsilon=EPSILON, gamma=GAMMA).fairness_time())
    return Answer(
        "differences fall to 1/e in M/(epsilon(1-gamma)) under R1: 23.6 round trips for 5 flows, 462 for 100; "
        "under R3 in "
        "5.1, whatever n",
        f"5 flows: R1 {slow[0]:.1f}, R3 {slow[1]:.2f} round trips; 100 flows: R1 {many:.0f}",
        near(slow[0], 23.6, 1) and near(slow[1], 1 / (EPSILON * (1 - GAMMA)), 6) and near(many, 462, 0),
        {
            "r1": slow[0],
            "r3": slow[1],
            "many": many,
            "slow": slow[::-1],
            "least_over_largest": alike[::-1],
            "readings": RATES,
            "axis": "others",
        },
    )


@finding("figure 2", "Fig. 2", "the second species reaches the same value quickly", "logistic.fig2")
def figure_two() -> Answer:
    drawn = fig2()
    lates, ratios = [], []
    for run, time in ((drawn["map"], drawn.step.values), (drawn.ode, drawn.time.values)):
        apart = np.abs(run.values[0] - run.values[1])
        lates.append(float(time[np.flatnonzero(np.nan_to_num(apart, nan=np.inf) > 5.0).max()] - JOINS))
        ratios.append(float(run.values[1, -1] / run.values[0, -1]))
    late = lates[1]
    return Answer(
        "after it joined, the two differ by more than 5 % of K for several times the 9.7 units of the slow mode",
        f"for {late:.1f} units of time", bool(late > 2 * 1.9 / (EPSILON * (1 - GAMMA))),
        {"late": late, "lates": lates, "ratio": ratios, "readings": STEPPED, "axis": "equations"},
    )  # fmt: skip


@finding("error of K", "section 2.3", "the effect of the measurement error of K is negligible", "logistic.error_of_K")
def error_of_capacity() -> Answer:
    flows, eq6, eq7 = (2, 5, 10, 100), [], []
    for n in flows:
        model = LotkaVolterraErrors(flows=n, gamma=GAMMA)
        eq6.append(100 * float(model.capacity_tolerance_of_sum()))
        eq7.append(100 * float(model.capacity_tolerance()))
    with_error, died = _rates_with_error(0.02), []
    low = LotkaVolterraErrors(flows=5, gamma=GAMMA, capacity_error=per_flow([-0.05] + [0.0] * 4))
    solved = eigenvalues(low).eigenvalue.values.real
    for kappa in (eq7[1] * 0.98, eq7[1] * 1.02):
        off = per_flow([-kappa / 100] + [0.0] * 4)
        equilibrium = LotkaVolterraErrors(flows=5, gamma=GAMMA, capacity_error=off).equilibrium()
        died.append(not bool(equilibrium.survives.values[0]))
    for kappa in (eq6[1] * 0.98, eq6[1] * 1.02):
        K = per_flow([100 * (1 - kappa / 100)] + [100.0] * 4)
        died.append(not bool(LotkaVolterraWindows(flows=5, gamma=GAMMA, capacity=K).equilibrium().survives.values[0]))
    return Answer(
        "not so: a flow that takes K too low dies out beyond (1-gamma)/(1+(n-2)gamma) where it knows the "
        "others' sum (eq. 6): "
        "10 %, 2.7 %, 1.2 %, 0.11 % for n = 2, 5, 10, 100; where A_i is measured by itself (eq. 7), beyond "
        "ten times as "
        "much",
        f"eq. 6: {', '.join(f'{x:.3g}' for x in eq6)} %; eq. 7: {', '.join(f'{x:.3g}' for x in eq7)} %; five "
        f"flows, 2 % to "
        f"either side of the limits: dies {', '.join('yes' if d else 'no' for d in died)}",
        near(eq6[:3], [10, 2.7, 1.2], 1) and near(eq6[3], 0.11, 2) and near(np.divide(eq7, eq6), [10] * 4, 6)
        and died == [False, True, False, True] and near(with_error[1], _measured_by_itself(0.02), 5)
        and near(np.sort(solved), np.sort(low.spectrum()), 9),
        {
            "eq6": eq6, "eq7": eq7, "rate_with_error": [with_error[2], with_error[1], with_error[0]],
            "readings": [*RATES, "sum of windows known (eq. 6)"], "axis": "others",
        },
    )  # fmt: skip


def _rates_with_error(low: float) -> list[float]:
    """Steady throughput of one of five flows that takes K so much too low, over that without the error."""
    K = per_flow([100 * (1 - low)] + [100.0] * 4)
    off = per_flow([-low] + [0.0] * 4)
    common: dict[str, Any] = {"flows": 5, "gamma": GAMMA}
    models = (
        LotkaVolterraWindows(**common, capacity=K),
        LotkaVolterraErrors(**common, capacity=100.0, capacity_error=off),
        LotkaVolterraThroughput(**common, capacity=K, link=100.0),
    )
    alike = LotkaVolterraWindows(**common, capacity=100.0)
    settled = alike.equilibrium().N
    right = float(settled[0] / settled.sum())
    out = []
    for model in models:
        settled = model.equilibrium()["throughput" if model is models[2] else "N"]
        out.append(float(settled[0] / settled.sum()) / right)
    return out


def _measured_by_itself(low: float) -> float:
    """The second of `_rates_with_error` by integrating eq. (7): each K as it is taken, each A_i as it is."""
    K, measured = 100.0, 100.0 * (1 - low * (np.arange(5) == 0))

    def slope(_: float, n: Any) -> Any:
        available = K - (n.sum() - n)
        return EPSILON * (1 - (n + GAMMA * (measured - available)) / measured) * n

    last = solve_ivp(slope, (0.0, 3000.0), np.full(5, 20.0), rtol=1e-9, atol=1e-12, method="LSODA").y[:, -1]
    return float(5 * last[0] / last.sum())


@finding("gain", "section 4", "epsilon = 1.95 for any number of connections", "logistic.gains")
def gain() -> Answer:
    five: dict[str, Any] = {"flows": 5, "gamma": GAMMA}
    readings = {
        "held for 1 RTT": float(LotkaVolterraHeld(**five).critical_gain()),
        "known at once, any time": float("inf"),
        "known at once, a step each RTT": float(LotkaVolterraMap(**five).critical_gain()),
        "of others 1 RTT old": float(LotkaVolterraStale(**five).critical_gain()),
        "all 1 RTT old": float(LotkaVolterraMap(**five, lag=1).critical_gain()),
    }
    solved = [held_measurement().numbers["gains"][1], stale_measurement().numbers["gains"][1]]
    return Answer(
        "stable where A_i is known at once or held for a round trip; with a round trip of age it is not",
        "; ".join(f"{name}: {value:.3f}" for name, value in readings.items()),
        near([readings["held for 1 RTT"], readings["of others 1 RTT old"]], solved, 5)
        and near(readings["all 1 RTT old"], critical_delay().numbers["step"], 5)
        and held_measurement().supported
        and stale_measurement().supported
        and stale_measurement_of_two().supported,
        {"largest": list(readings.values()), "readings": list(readings), "axis": "age of A_i"},
    )


#: In the order of the report.
FINDINGS = (
    figure_one,
    convergence_time,
    per_ack,
    rule_of_the_map,
    at_two,
    overshoot,
    doubling,
    critical_delay,
    delayed_others,
    held_measurement,
    stale_measurement,
    stale_measurement_of_two,
    who_survives,
    equation_nine,
    lossless_bound,
    buffer_of_two_products,
    speed_of_fairness,
    figure_two,
    error_of_capacity,
    gain,
)
