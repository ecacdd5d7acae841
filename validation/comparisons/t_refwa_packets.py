"""T-REFWA's router on packets compared with the interpretations of its recursion.

`t_refwa` compares the readings with a fluid; here packets, whole windows, codes of round-trip times and the rule
of activity have their say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tcpdynamics import models
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.jain import measured_jain
from tcpdynamics.limits import check_work
from tcpdynamics.models.t_refwa.feedback import RttCode, TRefwaGroups
from tcpdynamics.progress import tracked

from ..packet import Scenario, simulate
from ..packet.run import spawn_seeds
from .models_vs_packets import Case, ModelsVsPackets
from .t_refwa_networks import PACKET, RTTS, fig4, one_link

#: Flows, rate [bit/s], round-trip time [s] and buffer [packets], a bandwidth-delay product, of cases with one group.
FLOWS, RATE, RTT, BUFFER = 16, 100e6, 0.1, 1250

#: What the readings take for granted: codes of least round-trip times, and all flows in progress.
_PLAIN = {"measured_rtt": 0.0, "idle": 3.0}

#: Reading -> parameters of the router, and the model.
READINGS: dict[str, tuple[dict[str, float], Any]] = {
    "window": (_PLAIN | {"queue_age": 0.0, "phi": 1.0}, models.TRefwaWindow(phi=1.0, bdp=1250.0, buffer=1250.0)),
    "delayed": (_PLAIN | {"queue_age": 1.0}, models.TRefwaDelayed(bdp=1250.0, buffer=1250.0)),
    "measured": (
        _PLAIN | {"queue_age": 0.0, "measured_window": 1.0, "phi": 0.3, "psi": 0.2},
        models.TRefwaMeasured(phi=0.3, psi=0.2, delay=0, bdp=1250.0, buffer=1250.0),
    ),
    "measured-rtt": ({"idle": 3.0}, models.TRefwaMeasuredRtt(bdp=1250.0, buffer=1250.0)),
    "measured-rtt, with the code": ({"idle": 3.0}, models.TRefwaMeasuredRtt(bdp=1250.0, buffer=1250.0)),
}

#: Gains and age of the queue -> what is left of an alternation from one interval to the next, by the window map, where
#: any start in [0, B/2] is on a cycle of two, and by the delayed one.
CYCLES: dict[str, tuple[dict[str, float], float]] = {
    "(1.5, 0.5), queue of now": ({"queue_age": 0.0}, 1.0),
    "(1, 0.5), queue of now": ({"queue_age": 0.0, "phi": 1.0}, 0.0),
    "(1.5, 0.5), queue of before": ({"queue_age": 1.0}, 0.0),
    "(1, 0.5), queue of before": ({"queue_age": 1.0, "phi": 1.0}, 0.0),
}

#: Slow start is over [s].
_SETTLED = 5.0

#: An alternation below this part of the buffer is none: windows are whole packets.
_NONE = 0.005

#: Round-trip times [s], just above the lower ends and just below the upper ends of cells of the code, at 50 and 100 ms.
_CELLS = tuple(float(end * (1.01 if i == 0 else 0.99)) for c in (35, 42) for i, end in enumerate(RttCode().cell(c)))

#: Case -> round-trip times of groups [s], and parameters. In short queues a code of least round-trip times says all.
SHARES: dict[str, tuple[tuple[float, ...], dict[str, float]]] = {
    "ends of cells, least RTT": (_CELLS, _PLAIN | {"phi": 1.0}),
    "20 to 160 ms, least RTT": (RTTS, _PLAIN | {"phi": 1.0}),
    "20 to 160 ms, smoothed RTT": (RTTS, {"idle": 3.0}),
    "20 to 160 ms, as printed": (RTTS, {}),
}

#: Case -> parameters. A smoothed round-trip time holds the wait in the queue, with a least one RTT_avg is too short.
PROGRESS: dict[str, dict[str, float]] = {"smoothed RTT": {}, "least RTT": {"measured_rtt": 0.0, "phi": 1.0}}

#: Case -> parameters, model and buffer in bandwidth-delay products of two bottlenecks alike.
_COMMANDED = _PLAIN | {"queue_age": 0.0, "phi": 1.0}
_MEASURED = READINGS["measured"][0]
BOTTLENECKS: dict[str, tuple[dict[str, float], Any, float]] = {
    "commanded, B = 0.1 BDP": (_COMMANDED, models.TRefwaTwoLinksCommanded, 0.1),
    "commanded, B = BDP": (_COMMANDED, models.TRefwaTwoLinksCommanded, 1.0),
    "measured, B = BDP": (_MEASURED, models.TRefwaTwoLinksMeasured, 1.0),
}
_FIG4_RATE, _FIG4_RTT, _FIG4_BDP = 100e6, 0.04, 500.0

#: Part -> its cases.
PARTS: dict[str, Mapping[str, Any]] = {
    "mean queue [B]": READINGS, "alternation that is left": CYCLES, "Jain's index": SHARES,
    "flows in progress": PROGRESS, "use of L1": BOTTLENECKS,
}  # fmt: skip


@dataclass(frozen=True)
class TRefwaVsPackets(ModelsVsPackets):
    """Routers that run T-REFWA on packets against its models (Taleb and others).

    Five parts: the mean queue in equilibrium [B]; what is left at the end of a run of an alternation of commands at its
    start; Jain's index; the fraction of flows that counts as in progress, and of flows that send one burst a round
    trip; how much of L1 is used where L3 limits five of its nine flows.

    Parameters
    ----------
    duration : float            Of a run [s].
    replications : int          Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> TRefwaVsPackets(duration=10.0, replications=2).run().sizes["case"]
    18
    """

    command: ClassVar[str] = "t-refwa-packets"
    claims: ClassVar[str] = "t_refwa"
    quick: ClassVar[dict[str, Any]] = {"duration": 20.0, "replications": 3}

    duration: float = 40.0
    replications: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replications > 1000:
            raise DomainError(f"replications must be in [2, 1000], got {shown(self.replications)}")
        if not 5.0 <= self.duration <= 1e5:
            raise DomainError(f"duration must lie in [5, 100000] s, got {shown(self.duration)}")

    def parts(self) -> Sequence[Callable[[], Iterator[Case]]]:
        """One for each part of the table."""
        measures = (self._queue, self._cycle, self._fairness, self._in_progress, self._use_of_first)

        def cases(part: str, measure: Callable[[str], tuple[Any, float]]) -> Iterator[Case]:
            for case in tracked(list(PARTS[part])):
                values, predicted = measure(case)
                yield Case(part, case, "", values, predicted, absolute=True)

        return [partial(cases, part, measure) for part, measure in zip(PARTS, measures, strict=True)]

    def scenario(self, rtts: Sequence[float], router: dict[str, float], **more: Any) -> Scenario:
        """Sixteen flows or more on the link of one bandwidth-delay product."""
        return one_link(
            rtts, -(-FLOWS // len(rtts)), RATE, BUFFER, router, duration=self.duration, warm_up=self.duration / 2,
            seed=self.seed, **more,
        )  # fmt: skip

    def _queue(self, reading: str) -> tuple[Any, float]:
        parameters, model = READINGS[reading]
        measured = self.replicated(self.scenario((RTT,), parameters)).mean_queue.values / BUFFER
        if reading.endswith("code"):
            rests = with_code()
            return measured, float(rests[np.abs(rests - measured.mean()).argmin()])
        return measured, float(model.equilibrium()["Q"]) / BUFFER

    def _cycle(self, case: str) -> tuple[Any, float]:
        """Of one flow, whose round-trip time is drawn: its slow start ends in an alternation, larger or smaller."""
        gains, predicted = CYCLES[case]
        return [self._left(_PLAIN | gains, seed) for seed in self._seeds()], predicted

    def _left(self, router: dict[str, float], seed: int) -> float:
        time, window, interval = self._commands(router, seed)
        step = round(interval / (time[1] - time[0]))

        def alternation(first: float, last: float) -> float:
            part = window[(time > first) & (time <= last)] / BUFFER
            return float(np.abs(part[step:] - part[:-step]).mean())

        early, late = alternation(_SETTLED, _SETTLED + 2.0), alternation(self.duration - 2.0, self.duration)
        return late / early if early > _NONE else late

    def _commands(self, router: dict[str, float], seed: int) -> tuple[Any, Any, float]:
        rtt = RTT * (0.9 + 0.2 * np.random.default_rng(seed).random())
        scenario = one_link(
            (rtt,), 1, RATE, BUFFER, router, duration=self.duration, warm_up=1.0, record=RTT / 40, seed=seed
        )
        result = simulate(scenario)
        mine = result.queue_link.values == list(result.link.values).index("router->users")
        mine &= result.router_window.values > 0
        return (
            result.queue_time.values[mine], result.router_window.values[mine],
            float(result.router_rtt.values[mine][-1]),
        )  # fmt: skip

    def _seeds(self) -> list[int]:
        return spawn_seeds(self.seed, self.replications)

    def _fairness(self, case: str) -> tuple[Any, float]:
        rtts, parameters = SHARES[case]
        runs = self.replicated(self.scenario(rtts, parameters))
        # Codes of smoothed times hold the wait, codes of least times do not.
        wait = float(runs.mean_queue.mean()) * 8 * PACKET / RATE
        count = tuple(FLOWS // len(rtts) for _ in rtts)
        if parameters.get("measured_rtt", 1.0):
            predicted = TRefwaGroups(flows=count, rtt=tuple(r + wait for r in rtts)).fairness()
        else:
            rates = TRefwaGroups(flows=count, rtt=rtts).decoded_rtt().values / (np.array(rtts) + wait)
            predicted = float(measured_jain(rates))
        return measured_jain(runs.goodput_rate.values), predicted

    def _in_progress(self, case: str) -> tuple[Any, float]:
        """Of flows that send one burst a round trip, only a part was heard of within RTT_avg."""
        rtts, shares, waits, averages = np.array(RTTS), [], [], []
        for seed in self._seeds():
            result = simulate(self.scenario(rtts.tolist(), PROGRESS[case], record=RTT / 5), seed)
            mine = result.queue_link.values == list(result.link.values).index("router->users")
            mine &= result.queue_time.values > self.duration / 2
            shares.append(float(result.router_flows.values[mine].mean()) / result.sizes["flow"])
            averages.append(float(result.router_rtt.values[mine].mean()))
            waits.append(float(result.mean_queue) * 8 * PACKET / RATE)
        predicted = np.minimum(1.0, np.mean(averages) / (rtts + np.mean(waits)))
        return shares, float(predicted.mean())

    def _use_of_first(self, case: str) -> tuple[Any, float]:
        router, model, share = BOTTLENECKS[case]
        buffer = round(share * _FIG4_BDP)
        runs = self.replicated(
            fig4(router, rate=_FIG4_RATE, rtt=_FIG4_RTT, buffer=buffer, duration=self.duration, seed=self.seed)
        )
        links = model(
            bdp_1=_FIG4_BDP, bdp_3=_FIG4_BDP, buffer_1=float(buffer), buffer_3=float(buffer), phi=router["phi"],
            psi=router.get("psi", 0.5),
        )  # fmt: skip
        return runs.link_utilisation.sel(link="a->b").values, float(links.equilibrium()["utilisation_1"])

    def _check_work(self) -> None:
        packets = self.duration * RATE / (8 * PACKET) * sum(map(len, PARTS.values()))
        check_work(
            f"{self.replications} replications of {self.duration:g} s", 600.0 * self.replications * packets,
            "give fewer replications, or a shorter duration",
        )  # fmt: skip


def with_code() -> Any:
    """Queues at which the reading of smoothed round-trip times rests, if these are rounded to codes [B], ascending.

    The code's error moves Bw RTT_avg, and phi/psi as much the queue: in each cell of the code the recursion has one
    rest, (psi B + phi (Bw RTT_c - BDP))/(phi + psi), which counts if its round-trip time is in the cell.
    """
    code, (phi, psi), capacity = RttCode(), (1.5, 0.5), RATE / (8 * PACKET)
    codes = np.arange(code.top + 1)
    queue = (psi * BUFFER + phi * capacity * (code.decode(codes) - RTT)) / (phi + psi)
    possible = (queue > 0) & (queue < BUFFER)
    own = code.encode(RTT + queue[possible] / capacity) == codes[possible]
    return queue[possible][own] / BUFFER
