"""Logistic control in packets compared with its models (Iguchi, Hasegawa, Murata 2005).

Networks are the paper's (Fig. 3): access links of 5 ms, a link of 40 ms with a drop-tail buffer of twice the
bandwidth-delay product, gamma = 0.9. Where the law does not depend on rates they are smaller than the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import (
    Logistic,
    LogisticMap,
    LotkaVolterraCrossDelayed,
    LotkaVolterraLink,
    LotkaVolterraThroughput,
    per_flow,
)
from tcpdynamics.progress import listening

from ..packet import Flows, Link, Record, Scenario, simulate
from ..packet.kernel.windows import logistic_law
from .comparison import check_length
from .models_vs_packets import Case, ModelsVsPackets

Array = NDArray[np.float64]

#: The paper's weight of other traffic and gain; the gains of its Fig. 1.
GAMMA, EPSILON, GAINS = 0.9, 1.95, (0.6, 1.8, 2.4, 3.0)
MBIT = 1e6
#: A window swings if it leaves its mean by this share; far below the swings that there are (a tenth and more), and far
#: above those that die out (a thousandth and less).
SWINGS = 0.01
#: Seconds and bytes of the paper's network.
RTT, SIZE = 0.1, 1000
#: Rate where it does not matter, and of the access links of Fig. 8 [bit/s].
RATE, ACCESS = 20 * MBIT, (10 * MBIT, 20 * MBIT)
#: Round trips from the link to the sender: all but the first access link.
BACK = 0.95


def network(
    rate: float,
    access: Sequence[float],
    duration: float,
    seed: int,
    parameters: Sequence[dict[str, float]],
    *,
    udp: dict[str, Any] | None = None,
    times: Sequence[tuple[float, float | None]] = (),
    warm_up: float | None = None,
    sampled: float | None = None,
) -> Scenario:
    """The network of Fig. 3: a flow under logistic control for each access link, and perhaps UDP traffic."""
    bdp = rate * RTT / 8 / SIZE
    links = [Link("left", "right", rate, 0.04, buffer=max(2, round(2 * bdp)))]
    flows = []
    for i, own in enumerate(access):
        links += [Link(f"s{i}", "left", own, 0.005), Link("right", f"d{i}", own, 0.005)]
        start, stop = times[i] if times else (0.0, None)
        flows.append(
            Flows(
                rules="rfc", control="logistic", source=f"s{i}", target=f"d{i}", packet_size=SIZE, start=start,
                stop=stop, window_limit=int(8 * bdp) + 50, parameters=dict(parameters[i]),
                start_spread=0.0 if times else 0.1, handshake=False, jitter=0.0,
            )
        )  # fmt: skip
    if udp is not None:
        links += [Link("u", "left", rate, 0.005)]
        flows.append(Flows(sender="cbr", source="u", target="right", packet_size=SIZE, start_spread=0.01, **udp))
    return Scenario(
        tuple(flows), None, duration, duration / 2 if warm_up is None else warm_up, links=tuple(links), seed=seed,
        epoch=1.0, slice=duration / 10, clock="grid", record=Record(windows=sampled), name="logistic control",
    )  # fmt: skip


def windows(result: xr.Dataset, flow: int) -> tuple[Array, Array]:
    """Times [s] and windows [packet] of one flow."""
    own = result.window_flow.values == flow
    return result.window_time.values[own], result.window_cwnd.values[own]


@dataclass(frozen=True)
class LotkaVolterraVsPackets(ModelsVsPackets):
    """Packets under logistic control compared with its models.

    Parameters
    ----------
    rates : sequence of float     Of the link for convergence times [bit/s], in [1e6, 1e9].
    between : sequence of float   Of the link between unlike access links (Fig. 8) [bit/s].
    flows : sequence of int       Numbers of flows that share a link, 2 to 50.
    staleness : sequence of float Round trips by which measurements are late where the largest gain is sought, 0 to 4.
    rounds : int                  Divisions of the interval that holds the largest gain, each by two.
    error : float                 Relative standard deviation of a measurement, 0 to 1, for shares.
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> comparison = LotkaVolterraVsPackets(rates=(1e7,), between=(15e6,), flows=(2,), staleness=(), replications=2)
    >>> result = comparison.run()
    >>> bool((abs(result.gap.sel(case=result.part == "first flow's share")) < 0.05).all())
    True
    """

    command: ClassVar[str] = "lotka-volterra-packets"
    claims: ClassVar[str] = "logistic"
    quick: ClassVar[dict[str, Any]] = {
        "rates": (1e7, 1e8), "between": (5e6, 15e6, 25e6), "flows": (2, 5), "staleness": (1.0,), "rounds": 4,
        "replications": 3,
    }  # fmt: skip

    rates: Sequence[float] = (1e7, 3e7, 1e8, 3e8, 1e9)
    between: Sequence[float] = (5e6, 8e6, 12e6, 15e6, 18e6, 25e6, 30e6)
    flows: Sequence[int] = (2, 5, 10, 20)
    staleness: Sequence[float] = (0.0, 1.0, 2.0)
    rounds: int = 6
    error: float = 0.05
    replications: int = 8
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, values, low, high in (
            ("rates", self.rates, 1e6, 1e9), ("between", self.between, 1e6, 1e9), ("flows", self.flows, 2, 50),
            ("staleness", self.staleness or (0.0,), 0.0, 4.0), ("error", (self.error,), 0.0, 1.0),
            ("rounds", (self.rounds,), 1, 12), ("replications", (self.replications,), 2, 1000),
        ):  # fmt: skip
            check_length(name, values)
            if not all(low <= value <= high for value in values):
                what = "must list numbers" if len(values) > 1 else "must lie"
                raise DomainError(f"{name} {what} in [{low:g}, {high:g}], got {shown(list(values))}")

    def parts(self) -> Sequence[Callable[[], list[Case]]]:
        """One for each kind of case."""
        return [
            self._gains, self._convergence, self._shares, self._sums, self._largest_gains, self._joins, self._udp,
        ]  # fmt: skip

    def _seeds(self) -> range:
        return range(self.seed, self.seed + self.replications)

    def _run(self, *args: Any, **more: Any) -> xr.Dataset:
        with listening(lambda share: None):
            return simulate(network(*args, **more))

    def _gains(self) -> list[Case]:
        """Fig. 1 with the mechanism itself: how far does the window of one flow swing in the end?"""
        rows = []
        for gain in GAINS:
            swings = []
            for seed in self._seeds():
                result = self._run(RATE, (5 * RATE,), 20.0, seed, [{"epsilon": gain}], sampled=RTT / 4)
                time, w = windows(result, 0)
                late = w[time > 10.0]
                swings.append(float((late.max() - late.min()) / late.mean()))
            low, high = LogisticMap(epsilon=gain, capacity=1.0).two_cycle()
            by_map = 0.0 if gain < 2 else float(high) - float(low)  # at epsilon = 3 it is chaos: as a size
            for model, predicted in (("map per round trip", by_map), ("update per acknowledgement", 0.0)):
                rows.append(
                    Case("swing of one window", f"epsilon = {gain:g}", model, swings, predicted, True, gain, "epsilon")
                )
        return rows

    def _convergence(self) -> list[Case]:
        """Fig. 5: UDP takes a fifth; round trips to 99 % of the link, from a tenth of the last window, and in all."""
        rows, axis = [], "rate of the link [bit/s]"
        for rate in self.rates:
            final = (1 - GAMMA * 0.2) * rate * RTT / 8 / SIZE
            target = 0.79 * rate * RTT / 8 / SIZE
            steps, from_start, trains, expected = [], [], [], []
            for seed in self._seeds():
                result = self._run(rate, (rate,), 3.0, seed, [{}], udp={"rate": 0.2 * rate}, sampled=0.0)
                rtt = float(result.mean_rtt[0])
                time, w = windows(result, 0)
                first, last = (_crossing(time, w, level) for level in (0.1 * final, target))
                begun, trip = _by_trains(time, w, target, rate, float(result.base_rtt[0]))
                steps.append((last - first) / rtt)
                from_start.append((last - float(result.start[0])) / rtt)
                trains.append((last - begun) / rtt)
                expected.append(trip / rtt)
            formula = float(Logistic(epsilon=EPSILON * (1 - GAMMA * 0.2)).time_to(0.9, target / final))
            name = f"{rate / MBIT:g} Mbit/s"
            rows += [
                Case("convergence [RTT]", name, "section 3.2", steps, formula, at=rate, along=axis),
                Case(
                    "convergence [RTT]", name, "trains of acks", trains, float(np.mean(expected)), at=rate, along=axis
                ),
                Case("convergence [RTT]", name, "from the start", from_start, at=rate, along=axis),
            ]
        return rows

    def _shares(self) -> list[Case]:
        """Fig. 8: the first flow's share of the link between unlike access links."""
        rows, axis = [], "rate of the link [bit/s]"
        for rate in self.between:
            capacity = [min(rate, own) for own in ACCESS]
            model = {"flows": 2, "gamma": GAMMA, "capacity": per_flow(capacity), "link": rate}
            for offered, kind, name in (
                (0, LotkaVolterraThroughput, "throughput (eq. 9)"), (1, LotkaVolterraLink, "windows"),
            ):  # fmt: skip
                law = {"error": self.error, "offered": offered}
                values, lost = [], 0
                for seed in self._seeds():
                    result = self._run(rate, ACCESS, 60.0, seed, [law, law], warm_up=20.0)
                    values.append(float(result.goodput[0] / result.goodput.sum()))
                    lost += int(result.dropped.sum())
                settled = kind(**model).equilibrium().throughput.values
                case = f"{rate / MBIT:g} Mbit/s"
                rows.append(
                    Case("first flow's share", case, name, values, float(settled[0] / settled.sum()), True, rate, axis)
                )
                rows.append(Case("packets lost", f"unlike access links, {case}", name, [lost] * 2, 0.0, True))
        return rows

    def _sums(self) -> list[Case]:
        """Section 3.2: all windows together, of flows that begin at once, in bandwidth-delay products."""
        rows = []
        for n in self.flows:
            for offered, kind, name in ((0, LotkaVolterraThroughput, "throughput"), (1, LotkaVolterraLink, "windows")):
                values = []
                for seed in self._seeds():
                    law = {"offered": float(offered), "epsilon": 0.5}  # stable with any number of flows here
                    result = self._run(RATE, (RATE,) * n, 60.0, seed, [law] * n, sampled=RTT)
                    late = result.window_time.values > 30.0
                    mean = result.window_cwnd.values[late].mean()
                    values.append(n * mean / (RATE * float(result.base_rtt[0]) / 8 / SIZE))
                settled = float(kind(flows=n, gamma=GAMMA, capacity=1.0, link=1.0).equilibrium().N.sum())
                rows.append(Case("sum of windows [BDP]", f"{n} flows", name, values, settled, at=n, along="flows"))
        return rows

    def _largest_gains(self) -> list[Case]:
        """Five flows that measure each other's windows each quarter of a round trip: the largest gain by bisection.

        Then the paper's gain with a measurement each round trip, of windows and of throughput: does the sum swing?
        """
        n, interval = 5, 0.25
        crowding = 1 + (n - 1) * GAMMA
        one = float(LotkaVolterraCrossDelayed(flows=n, epsilon=1.0, gamma=GAMMA).critical_delay())
        rows, axis = [], "lateness of measurements [RTT]"
        for late in self.staleness:
            # Windows of n/M BDP make a round trip as much longer; the staleness is counted in base round trips.
            age = (BACK + late) * crowding / n + interval / 2
            gains = [self._largest(n, late, interval, one / age, seed) for seed in self._seeds()]
            case = f"{late:g} RTT late"
            rows.append(Case("largest gain", case, "others old (R1)", gains, one / age, at=late, along=axis))
            for offered, name in ((0.0, "throughput: none"), (1.0, "windows: beyond the largest gain")):
                law = {"staleness": late, "interval": 1.0, "offered": offered}
                swings = [self._swing(n, law, seed) for seed in self._seeds()]
                expected = math.nan if offered else 0.0
                rows.append(Case("swing of the sum", case, name, swings, expected, True, late, axis))
        return rows

    def _largest(self, n: int, late: float, interval: float, about: float, seed: int) -> float:
        low, high = 0.5 * about, 1.5 * about
        for _ in range(self.rounds):
            middle = (low + high) / 2
            law = {"epsilon": middle, "staleness": late, "interval": interval, "offered": 1.0}
            low, high = (low, middle) if self._swing(n, law, seed) > SWINGS else (middle, high)
        return (low + high) / 2

    def _swing(self, n: int, law: dict[str, float], seed: int) -> float:
        """Standard deviation of the sum of windows over the last third of 90 s, over its mean."""
        result = self._run(RATE, (RATE,) * n, 90.0, seed, [law] * n, sampled=RTT / 4)
        total = sum(windows(result, i)[1] for i in range(n))
        late = np.asarray(total)[-len(np.asarray(total)) // 3 :]
        return float(late.std() / late.mean())

    def _joins(self) -> list[Case]:
        """Fig. 7 at a fifth of its rate and times: five flows join, 20 s apart; how unlike are they in the end?"""
        times = [(20.0 * i, 100.0 + 10.0 * i) for i in range(5)]
        rows, ratios, lost = [], {0: list[float](), 1: list[float]()}, 0
        for offered in (0, 1):
            for seed in self._seeds():
                law = [{"offered": float(offered), "error": 0.02}] * 5
                result = self._run(RATE, (RATE,) * 5, 150.0, seed, law, times=times, warm_up=5.0, sampled=RTT)
                late = [_mean_between(*windows(result, i), 90.0, 100.0) for i in range(5)]
                ratios[offered].append(late[-1] / late[0])
                lost += int(result.dropped.sum())
        expected = _latecomers(5)
        rows.append(Case("last over first window", "five joins", "throughput, base RTT as met", ratios[0], expected))
        rows.append(Case("last over first window", "five joins", "windows", ratios[1]))
        rows.append(Case("packets lost", "joins and leaves", "", [lost] * 2, 0.0, absolute=True))
        return rows

    def _udp(self) -> list[Case]:
        """Fig. 6 at a fifth of its rate and times: UDP leaves 80, 65, 50 and 80 %."""
        steps = [(0.0, 0.2), (10.0, 0.35), (20.0, 0.5), (30.0, 0.2)]
        udp = {"rate_steps": tuple((time, share * RATE) for time, share in steps)}
        lost, rows = 0, []
        taken: list[list[float]] = [[] for _ in steps]
        for seed in self._seeds():
            result = self._run(RATE, (RATE,), 40.0, seed, [{}], udp=udp, warm_up=1e-3)
            lost += int(result.dropped.sum())
            share_of = result.slice_goodput.isel(flow=0).values * 8 * SIZE / 4.0 / RATE
            for values, slice_ in zip(taken, (1, 3, 6, 8), strict=True):  # of 4 s, from 2 s after a step at least
                values.append(float(share_of[slice_]))
        for (time, share), values in zip(steps, taken, strict=True):
            rows.append(Case("share beside UDP", f"from {time:g} s on", "what UDP leaves", values, 1 - share, True))
        rows.append(Case("packets lost", "changing UDP traffic", "", [lost] * 2, 0.0, absolute=True))
        return rows

    def _check_work(self) -> None:
        each = (
            len(GAINS) * network(RATE, (RATE,), 20.0, 0, [{}]).work
            + sum(network(rate, (rate,), 4.0, 0, [{}], udp={"rate": 0.2 * rate}).work for rate in self.rates)
            + 2 * sum(network(rate, ACCESS, 60.0, 0, [{}, {}]).work for rate in self.between)
            + 2 * sum(network(RATE, (RATE,) * n, 60.0, 0, [{}] * n).work for n in self.flows)
            + len(self.staleness) * (self.rounds + 2) * network(RATE, (RATE,) * 5, 90.0, 0, [{}] * 5).work
        )
        check_work(
            f"{self.replications} replications of packets at up to {max(self.rates) / MBIT:g} Mbit/s",
            self.replications * each,
            "give fewer rates, flows, staleness, rounds or replications",
        )


def _crossing(time: Array, values: Array, level: float) -> float:
    """When values first reach a level, between two samples along a straight line; NaN if never."""
    above = np.flatnonzero(values >= level)
    if not above.size or above[0] == 0:
        return math.nan
    at = int(above[0])
    return float(np.interp(level, values[at - 1 : at + 1], time[at - 1 : at + 1]))


def _by_trains(time: Array, values: Array, last: float, rate: float, rtt: float) -> tuple[float, float]:
    """When the first whole train of acknowledgements under the law comes, and seconds from then to a window.

    A round trip brings as many acknowledgements as the window had before it, one after another at the rate that UDP
    leaves, and each of them applies the law.
    """
    jumps = np.flatnonzero(np.diff(values) > 1.01)  # slow start adds one
    if not jumps.size:
        return math.nan, math.nan
    pauses = jumps[0] + np.flatnonzero(np.diff(time[jumps[0] :]) > 0.3 * rtt)
    if not pauses.size:
        return math.nan, math.nan
    pause = int(pauses[0])
    capacity, w, trips = rate / 8 / SIZE, float(values[pause]), 0
    law = getattr(logistic_law.next_window, "py_func", logistic_law.next_window)
    while True:
        for number in range(max(int(w), 1)):
            w = law(w, EPSILON, GAMMA, capacity, 0.2 * capacity, rtt)
            if w >= last:
                return float(time[pause + 1]), trips * rtt + number / (0.8 * capacity)
        trips += 1


def _mean_between(time: Array, values: Array, begin: float, end: float) -> float:
    return float(values[(time >= begin) & (time < end)].mean())


def _latecomers(n: int) -> float:
    """Last over first of n windows where each flow takes the queue that it meets for part of its base RTT.

    In units of BW and the base RTT: t_i = (1-gamma) b_i/(1 + D - gamma b_i) with b_i = 1 + D as it was before flow i.
    """
    base, delay = [1.0], 0.0
    for _ in range(n - 1):
        base.append(1.0 + delay)
        low, high = max(delay, GAMMA * max(base) - 1.0), 10.0
        for _ in range(100):
            delay = (low + high) / 2
            total = sum((1 - GAMMA) * b / (1 + delay - GAMMA * b) for b in base)
            low, high = (delay, high) if total > 1.0 else (low, delay)
    rates = [b / (1 + delay - GAMMA * b) for b in base]
    return rates[-1] / rates[0]
