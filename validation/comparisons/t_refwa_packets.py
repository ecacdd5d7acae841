"""T-REFWA's router on packets beside the readings of its recursion, and beside what its paper prints.

`t_refwa` compares the readings with a fluid; here packets, whole windows, codes of round-trip times and the rule
of activity have their say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics import models
from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import BLACK, BLUE, COLOURS, GREY, LEGEND_BELOW, RED
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models.fairness import measured_jain
from tcpdynamics.models.t_refwa.feedback import RttCode, TRefwaGroups
from tcpdynamics.progress import listening, tracked

from ..packet import Scenario, replicate, simulate
from ..packet.run import spawn_seeds
from .comparison import TOLERANCE, Comparison, check_length, counts, grade_tolerance, interval_of
from .t_refwa_networks import LINKS, MEANS, PACKET, PROTOCOLS, fig1, fig4, one_link
from .t_refwa_paper import PRINTED, STATEMENTS, judged

if TYPE_CHECKING:
    import plotly.graph_objects as go


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
    "20 to 160 ms, least RTT": (MEANS["90 ms"], _PLAIN | {"phi": 1.0}),
    "20 to 160 ms, smoothed RTT": (MEANS["90 ms"], {"idle": 3.0}),
    "20 to 160 ms, as printed": (MEANS["90 ms"], {}),
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

#: Part -> its cases, in the order of the dimension `case`.
PARTS: dict[str, tuple[str, ...]] = {
    "queue": tuple(READINGS), "cycle": tuple(CYCLES), "fairness": tuple(SHARES),
    "flows in progress": tuple(PROGRESS), "use of L1": tuple(BOTTLENECKS),
}  # fmt: skip


@dataclass(frozen=True)
class TRefwaVsPackets(Comparison):
    """Routers that run T-REFWA on packets against its models (Taleb and others), and against the paper's Table III.

    Five parts: the mean queue at rest [B]; what is left at the end of a run of an alternation of commands at its start;
    Jain's index; the share of flows that counts as in progress, and that of flows which send one burst a round trip;
    how much of L1 is used where L3 limits five of its nine flows.

    Parameters
    ----------
    links : sequence of str
        Of Table II, for Table III: "T3", "OC3", "OC12", "OC48".
    means : sequence of str
        Readings of the round-trip times of Fig. 1: "9.8 ms", "30 ms", "90 ms".
    duration : float            Of a run beside a model [s].
    paper_duration : float      Of a run of the paper [s]; the paper's is 60.
    replications : int          Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> result = TRefwaVsPackets(links=("T3",), means=("90 ms",), duration=10.0, paper_duration=10.0,
    ...     replications=2).run()
    >>> result.sizes["case"], result.utilisation.dims
    (18, ('mean', 'link', 'protocol'))
    """

    rule: ClassVar[str] = f"agrees: the interval lies within {TOLERANCE:g}; differs: beyond; else undecided"
    quick: ClassVar[dict[str, Any]] = {"links": ("T3",), "duration": 20.0, "paper_duration": 20.0, "replications": 3}

    links: Sequence[str] = ("T3", "OC3", "OC12")
    means: Sequence[str] = tuple(MEANS)
    duration: float = 40.0
    paper_duration: float = 60.0
    replications: int = 5
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("links", LINKS), ("means", MEANS)):
            check_length(name, getattr(self, name))
            for value in getattr(self, name):
                if value not in known:
                    raise DomainError(f"{name} must list some of {', '.join(known)}, got {shown(value)}")
        if not 2 <= self.replications <= 1000:
            raise DomainError(f"replications must be in [2, 1000], got {shown(self.replications)}")
        for name in ("duration", "paper_duration"):
            if not 5.0 <= getattr(self, name) <= 1e5:
                raise DomainError(f"{name} must be in [5, 1e5] s, got {shown(getattr(self, name))}")

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset
            Over `case`: `measured`, its interval, `predicted`; `gap` = measured - predicted with its interval;
            `verdict`. Over `mean`, `link` and `protocol`: `fairness`, `utilisation` and `loss` with intervals; what is
            printed, and verdicts. Over `statement`: `holds`, `evidence`. `cycle_window`: the command over time.
        """
        self._check_work()
        parts: list[Callable[[], Any]] = [self._cases, self._table, self._red, self._fig5, self._trace]
        cases, table, red, fig5, trace = (part() for part in tracked(parts, weights=(3, 5, 2, 1, 1)))
        result: xr.Dataset = cases.merge(table).merge(judged(table, red, fig5, cases)).merge(trace)
        result.attrs = self.attributes()
        return result

    def _cases(self) -> xr.Dataset:
        """Beside the models, case by case."""
        measure: dict[str, Callable[[str], tuple[Any, float]]] = {
            "queue": self._queue, "cycle": self._cycle, "fairness": self._fairness,
            "flows in progress": self._in_progress, "use of L1": self._use_of_first,
        }  # fmt: skip
        cases = [(part, case) for part, names in PARTS.items() for case in names]
        rows = [(*interval_of(values), predicted) for values, predicted in
                (measure[part](case) for part, case in tracked(cases))]  # fmt: skip
        mean, low, high, predicted = np.array(rows).T
        result = xr.Dataset(
            {
                name: ("case", values, {"units": "1"})
                for name, values in (
                    ("measured", mean), ("measured_low", low), ("measured_high", high), ("predicted", predicted),
                    ("gap", mean - predicted), ("gap_low", low - predicted), ("gap_high", high - predicted),
                )
            },
            {"case": [case for _, case in cases], "part": ("case", [part for part, _ in cases])},
        )  # fmt: skip
        result["verdict"] = ("case", grade_tolerance(result.gap_low.values, result.gap_high.values, TOLERANCE))
        return result

    # -- beside the models ---------------------------------------------------------------------------------

    def scenario(self, rtts: Sequence[float], router: dict[str, float], **more: Any) -> Scenario:
        """Sixteen flows or more on the link of one bandwidth-delay product."""
        return one_link(
            rtts, -(-FLOWS // len(rtts)), RATE, BUFFER, router, duration=self.duration, warm_up=self.duration / 2,
            seed=self.seed, **more,
        )  # fmt: skip

    def _runs(self, scenario: Scenario) -> xr.Dataset:
        with listening(lambda share: None):
            return replicate(scenario, self.replications)

    def _queue(self, reading: str) -> tuple[Any, float]:
        parameters, model = READINGS[reading]
        measured = self._runs(self.scenario((RTT,), parameters)).mean_queue.values / BUFFER
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
        runs = self._runs(self.scenario(rtts, parameters))
        # Codes of smoothed times hold the wait, codes of least times do not.
        wait = float(runs.mean_queue.mean()) * 8 * PACKET / RATE
        count = tuple(FLOWS // len(rtts) for _ in rtts)
        if parameters.get("measured_rtt", 1.0):
            predicted = TRefwaGroups(flows=count, rtt=tuple(r + wait for r in rtts)).fairness()
        else:
            rates = TRefwaGroups(flows=count, rtt=rtts).rtt_seen().values / (np.array(rtts) + wait)
            predicted = float(measured_jain(rates))
        return measured_jain(runs.goodput_rate.values), predicted

    def _in_progress(self, case: str) -> tuple[Any, float]:
        """Of flows that send one burst a round trip, only a part was heard of within RTT_avg."""
        rtts, shares, waits, averages = np.array(MEANS["90 ms"]), [], [], []
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
        runs = self._runs(
            fig4(router, rate=_FIG4_RATE, rtt=_FIG4_RTT, buffer=buffer, duration=self.duration, seed=self.seed)
        )
        links = model(
            bdp_1=_FIG4_BDP, bdp_3=_FIG4_BDP, buffer_1=float(buffer), buffer_3=float(buffer), phi=router["phi"],
            psi=router.get("psi", 0.5),
        )  # fmt: skip
        return runs.link_utilisation.sel(link="a->b").values, float(links.equilibrium()["utilisation_1"])

    def _trace(self) -> dict[str, xr.DataArray]:
        """Commands of the first replication over time, published gains and queue of now beside smaller ones."""
        lines = {}
        for case in list(CYCLES)[:2]:
            time, window, interval = self._commands(_PLAIN | CYCLES[case][0], self._seeds()[0])
            steps = np.arange(0.0, 60.0) * interval + time[0]
            lines[case] = window[np.searchsorted(time, steps).clip(max=len(time) - 1)] / BUFFER
        values = xr.DataArray(np.array(list(lines.values())), {"gains": list(lines)}, ("gains", "interval"))
        return {"cycle_window": values.assign_attrs(units="1", long_name="aggregate window over B")}

    # -- beside the paper ----------------------------------------------------------------------------------

    def _table(self) -> xr.Dataset:
        """Table III."""
        cells = [(m, link, p) for m in self.means for link in self.links for p in PROTOCOLS]
        shape = (len(self.means), len(self.links), len(PROTOCOLS))
        dims = ("mean", "link", "protocol")
        runs = {
            cell: self._runs(fig1(cell[1], cell[0], cell[2], duration=self.paper_duration, seed=self.seed))
            for cell in tracked(cells)
        }
        data: dict[str, Any] = {}
        measures: dict[str, Callable[[xr.Dataset], Any]] = {
            "fairness": lambda r: measured_jain(r.goodput_rate.values),
            "utilisation": lambda r: r.utilisation.values,
            "loss": lambda r: r.dropped.sum("flow").values / r.sent.sum("flow").values,
        }
        for name, value in measures.items():
            ends = np.array([interval_of(value(runs[cell])) for cell in cells]).T
            for suffix, part in zip(("", "_low", "_high"), ends, strict=True):
                data[name + suffix] = (dims, part.reshape(shape), {"units": "1"})
        groups = np.array(
            [runs[cell].goodput_rate.groupby("group").mean().mean("replication").values for cell in cells]
        )
        data["group_rate"] = ((*dims, "group"), groups.reshape(*shape, -1), {"units": "bit/s"})
        coords = {"mean": list(self.means), "link": list(self.links), "protocol": list(PROTOCOLS)}
        result = xr.Dataset(data, coords)
        for column, name in enumerate(("fairness", "utilisation")):
            printed = np.array([[PRINTED[link][p][column] for p in PROTOCOLS] for link in self.links])
            result[f"{name}_printed"] = (dims[1:], printed, {"units": "1"})
            low, high = result[f"{name}_low"], result[f"{name}_high"]
            verdicts = grade_tolerance((low - printed).values, (high - printed).values, TOLERANCE)
            result[f"{name}_verdict"] = (dims, verdicts)
        return result

    def _red(self) -> xr.DataArray:
        """Fig. 3: goodput of groups over RED [bit/s], on OC3 or the first link."""
        link = "OC3" if "OC3" in self.links else self.links[0]
        rates = [
            self._runs(fig1(link, self.means[0], p, duration=self.paper_duration, red=True, seed=self.seed))
            .goodput_rate.mean("replication").groupby("group").mean().values
            for p in tracked(list(PROTOCOLS)[:3])
        ]  # fmt: skip
        return xr.DataArray(rates, {"protocol": list(PROTOCOLS)[:3]}, ("protocol", "group"), attrs={"link": link})

    def _fig5(self) -> dict[str, xr.Dataset]:
        """Both bottlenecks, with the router and without, group 2 nearer than the others."""
        more: dict[str, Any] = {
            "rate": _FIG4_RATE, "buffer": round(_FIG4_BDP), "rtts": (0.06, 0.02, 0.04), "duration": self.duration,
        }  # fmt: skip
        return {
            name: self._runs(fig4(router, seed=self.seed, **more)) for name, router in (("with", {}), ("without", None))
        }

    def _check_work(self) -> None:
        plain = self.duration * RATE / (8 * PACKET) * len([c for names in PARTS.values() for c in names])
        paper = sum(LINKS[link][0] for link in self.links) * len(self.means) * len(PROTOCOLS) / (8 * PACKET)
        check_work(
            f"{self.replications} replications on {len(self.links)} links",
            600.0 * self.replications * (plain + paper * self.paper_duration),
            "give fewer links, means or replications, or shorter durations",
        )

    # -- what it says --------------------------------------------------------------------------------------

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Cases beside their models; commands that alternate; Table III."""
        from plotly.subplots import make_subplots

        panels = make_subplots(
            2, 2, horizontal_spacing=0.1, vertical_spacing=0.32, specs=[[{"colspan": 2}, None], [{}, {}]],
            subplot_titles=("packets and models", "commands over B, interval by interval", "Table III: fairness"),
        )  # fmt: skip
        names = [f"{part}: {case}" for part, case in zip(result.part.values, result.case.values, strict=True)]
        panels.add_scatter(
            x=names, y=result.predicted.values, mode="markers", name="model", row=1, col=1,
            marker={"color": BLACK, "symbol": "line-ew-open", "size": 18},
        )  # fmt: skip
        panels.add_scatter(
            x=names, y=result.measured.values, mode="markers", name="packets", marker={"color": BLUE, "size": 8},
            error_y=error_bars(result, "measured"),
            row=1, col=1,
        )  # fmt: skip
        for colour, gains in zip((RED, BLUE), result.gains.values, strict=True):
            panels.add_scatter(
                y=result.cycle_window.sel(gains=gains).values, name=str(gains), line={"color": colour}, row=2, col=1
            )
        cells = result.stack(cell=("link", "protocol"))
        places = [f"{link}, {protocol}" for link, protocol in cells.cell.values]
        panels.add_scatter(
            x=places, y=cells.fairness_printed.values, mode="markers", name="printed", row=2, col=2,
            marker={"color": GREY, "symbol": "line-ew-open", "size": 16},
        )  # fmt: skip
        looks = zip(result["mean"].values, COLOURS[2:], ("circle", "square", "diamond"), strict=False)
        for mean, colour, symbol in looks:
            panels.add_scatter(
                x=places, y=cells.fairness.sel(mean=mean).values, mode="markers", name=f"packets, mean RTT {mean}",
                marker={"color": colour, "symbol": symbol, "size": 8}, row=2, col=2,
            )  # fmt: skip
        panels.update_xaxes(title_text="interval", row=2, col=1)
        panels.update_xaxes(tickangle=-35, row=1, col=1)
        panels.update_xaxes(tickangle=-35, row=2, col=2)
        panels.update_layout(height=900, template="plotly_white", margin={"t": 40, "r": 20}, legend=LEGEND_BELOW)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers; an empty line parts paragraphs."""
        parts = []
        for part in PARTS:
            rows = result.isel(case=np.flatnonzero(result.part.values == part))
            cases = "; ".join(
                f"{case} {m:.3f} [{low:.3f}, {high:.3f}], model {p:.3f} ({v})"
                for case, m, low, high, p, v in zip(
                    rows.case.values, rows.measured.values, rows.measured_low.values, rows.measured_high.values,
                    rows.predicted.values, rows.verdict.values, strict=True,
                )
            )  # fmt: skip
            parts.append(f"{part[0].upper()}{part[1:]}: {cases}.")
        both = [f"{mean}: fairness {counts(result.fairness_verdict.sel(mean=mean))}, utilisation "
                f"{counts(result.utilisation_verdict.sel(mean=mean))}" for mean in result["mean"].values]  # fmt: skip
        told = [
            f"{statement} {'holds' if holds else 'fails'} ({evidence})"
            for statement, holds, evidence in zip(
                result.statement.values, result.holds.values, result.evidence.values, strict=True
            )
        ]
        return (
            " ".join(parts)
            + f"\n\nTable III, by the reading of round-trip times, which are in a figure only: {'; '.join(both)}."
            + f"\n\nThe paper's statements: {'; '.join(told)}."
        )


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


__all__ = ["PARTS", "STATEMENTS", "TRefwaVsPackets"]
