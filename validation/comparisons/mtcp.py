"""M/TCP in packets beside Table 4 of its paper, its closed forms, and what its estimator of one-way times can know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import BLACK, BLUE, LEGEND_BELOW, ORANGE, RED
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import MtcpThroughput, OneWayTimes
from tcpdynamics.progress import listening, tracked

from ..packet import Flows, Link, Scenario, replicate
from ..packet.scenario.topologies import two_paths
from ..statistics import mean_interval
from .comparison import Comparison, check_length, counts, grade, grade_tolerance

if TYPE_CHECKING:
    import plotly.graph_objects as go

RENO = "reno"
SCHEMES = ("immediate", "duplicated", "duplicated_delayed")
SENDERS = (RENO, *SCHEMES)

#: Table 4: throughput [bit/s] by sender and loss of acknowledgements; the mean of so many runs.
ACK_LOSS = (0.0, 0.05, 0.10, 0.13)
PUBLISHED = {
    RENO: (0.80e6, 0.78e6, 0.76e6, 0.75e6),
    "immediate": (1.35e6, 1.29e6, 1.23e6, 1.22e6),
    "duplicated": (1.40e6, 1.39e6, 1.43e6, 1.39e6),
    "duplicated_delayed": (1.38e6, 1.44e6, 1.39e6, 1.37e6),
}
PUBLISHED_RUNS = 10

#: Table 4: improvements over Reno [1].
IMPROVEMENTS = {
    "immediate": (0.69, 0.66, 0.62, 0.63),
    "duplicated": (0.75, 0.79, 0.88, 0.86),
    "duplicated_delayed": (0.73, 0.84, 0.83, 0.83),
}

#: Readings of the links, which the paper gives in a figure only: rate [bit/s] -> delay [s] with which Reno over one
#: route gets the 0.80 Mbit/s of its first entry (600 runs; within 0.5 %).
DELAYS = {0.9e6: 0.0080, 1e6: 0.0176, 1e7: 0.0314}

#: Readings of the lists of unacknowledged segments.
CUMULATIVE, BY_REPLIES = "cumulative", "replies only"
LISTS = (CUMULATIVE, BY_REPLIES)

#: What the paper says of Table 4 (section 4).
STATEMENTS = {
    "gain": "M/TCP gains at least 62 % over Reno, whatever acknowledgements are lost",
    "immediate suffers": "immediate acknowledgements lose throughput at 13 % loss of acknowledgements",
    "duplicated is robust": "duplicated acknowledgements keep more of their throughput than immediate ones",
    "delayed is robust": "duplicated and delayed acknowledgements keep more than immediate ones",
}
HOLDS, FAILS, OPEN = "holds", "fails", "undecided"

#: Of the network for the estimator: one-way times there and back [s] of two routes, a window too small for duplicates.
THERE, BACK, FAST, FEW = (0.02, 0.06), (0.07, 0.04), 1e9, 4


@dataclass(frozen=True)
class MtcpVsPackets(Comparison):
    """Throughput of M/TCP and of Reno against the loss of acknowledgements, as in Table 4; the estimator of times.

    Two routes lose 2 % of the data; 2000 segments of 1000 bytes, window and first threshold 20 (Table 3). Rates and
    delays of the links are not in the text: for each rate, the delay is the one with which Reno gets the paper's first
    entry, and all others follow. `lists` is what a list of unacknowledged segments heeds: cumulative acknowledgements
    too, or replies only, as section 3.4.1 has it.

    Parameters
    ----------
    rates : sequence of float     Readings of the links' rate [bit/s], among 0.9e6, 1e6 and 1e7.
    lists : sequence of str       Readings of the lists, among "cumulative" and "replies only".
    replications : int            Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> result = MtcpVsPackets(rates=(1e7,), lists=("cumulative",), replications=3).run()
    >>> bool(result.throughput.sel(sender="duplicated", ack_loss=0).item() > 1.2e6)
    True
    """

    rule: ClassVar[str] = (
        "agrees: the interval of the gap to Table 4, its own scatter included, holds zero and reaches 10 % at most; "
        "differs: it misses zero"
    )
    quick: ClassVar[dict[str, Any]] = {"rates": (1e7,), "replications": 20}

    rates: Sequence[float] = tuple(DELAYS)
    lists: Sequence[str] = LISTS
    replications: int = 60
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("rates", self.rates)
        check_length("lists", self.lists)
        for name, values, known in (("rates", self.rates, DELAYS), ("lists", self.lists, LISTS)):
            for value in values:
                if value not in known:
                    raise DomainError(f"{name} must list some of {', '.join(map(str, known))}, got {shown(value)}")
        if not 2 <= self.replications <= 100_000:
            raise DomainError(f"replications must be a whole number in [2, 100000], got {shown(self.replications)}")

    def scenario(self, rate: float, lists: str, sender: str, ack_loss: float) -> Scenario:
        """A transfer of 2 Mbytes; links of `rate`, and the delay that belongs to it."""
        common: dict[str, Any] = {"window_limit": 20, "packet_size": 1000, "segments": 2000}
        if sender == RENO:
            flow = Flows(1, RENO, route=("s", "a1", "a2", "d"), **common)
        else:
            flow = Flows(
                1, "mtcp", routes=_ROUTES, acks=sender, parameters={"cumulative": float(lists == CUMULATIVE)}, **common
            )
        links = two_paths((rate, rate), (DELAYS[rate],) * 2, 50, None, 0.02, ack_loss)
        return Scenario(
            (flow,), None, 400.0, 0.0, links=links, epoch=0.1, slice=400.0, clock="double", seed=self.seed,
            name=f"{sender}, {ack_loss:g}",
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset over `rate`, `lists`, `sender`, `ack_loss`
            `throughput` [bit/s] with `low` and `high`, the 95 % interval of the mean; `published`; `gap` =
            throughput/published - 1 with `gap_low`, `gap_high` and `verdict`; `improvement` over Reno with its
            interval, `improvement_published` and `improvement_verdict`; `kept` = throughput over that without losses of
            acknowledgements, with its interval, and `kept_predicted`. `holds`: what becomes of each `statement`. Over
            `route`: `time_there`, `time_back` [s], estimates without losses, with the true ones; `offset`, what all
            estimates there are off by, and the values that are possible; `rto_gap`, eq. (9) with the estimates
            over eq. (9) with the true times, less one. `needless`, with its interval: fast retransmits for each 1000
            segments over the same two unequal routes, none of which loses anything, with a window of 20.
        """
        self._check_work()
        keys = [(r, m, s, q) for r in self.rates for m in self.lists for s in SENDERS for q in ACK_LOSS]
        cells: dict[Any, Any] = {}
        # Reno has no such lists: it is run once.
        wanted = dict.fromkeys((r, m if s != RENO else self.lists[0], s, q) for r, m, s, q in keys)
        for cell in tracked([*wanted, None]):
            with listening(lambda share: None):
                if cell is not None:
                    cells[cell] = self._throughputs(*cell)
                else:
                    estimates = _estimates(self.seed, self.replications)
        runs = [cells[r, m if s != RENO else self.lists[0], s, q] for r, m, s, q in keys]
        shape = (len(self.rates), len(self.lists), len(SENDERS), len(ACK_LOSS))
        result = _table4(np.reshape(runs, (*shape, self.replications)), self.rates, self.lists)
        result = result.merge(estimates)
        result.attrs = self.attributes()
        return result

    def _throughputs(self, rate: float, lists: str, sender: str, ack_loss: float) -> Any:
        scenario = self.scenario(rate, lists, sender, ack_loss)
        runs = replicate(scenario, self.replications)
        group = scenario.flows[0]
        return 8.0 * (group.segments or 0) * group.packet_size / runs.completion_time.values[:, 0]

    def _check_work(self) -> None:
        # A transfer of 2000 segments, some 10 events each.
        work = len(self.rates) * len(self.lists) * len(SENDERS) * len(ACK_LOSS) * self.replications * 3e6
        check_work(f"{self.replications} replications of Table 4", work, "give fewer rates, lists or replications")

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """A panel for each reading. Points: packets, with intervals; lines: Table 4."""
        from plotly.subplots import make_subplots

        panels = [(r, m) for r in result.rate.values for m in result.lists.values]
        titles = [f"{r / 1e6:g} Mbit/s, {m}" for r, m in panels]
        rows = result.sizes["rate"]
        figure = make_subplots(rows, result.sizes["lists"], subplot_titles=titles, shared_yaxes="all")
        for n, (rate, lists) in enumerate(panels):
            place = {"row": n // result.sizes["lists"] + 1, "col": n % result.sizes["lists"] + 1}
            for sender, colour in zip(SENDERS, (BLACK, RED, BLUE, ORANGE), strict=True):
                part = result.sel(rate=rate, lists=lists, sender=sender)
                name, x = sender.replace("_", " and "), 100 * result.ack_loss.values
                figure.add_scatter(
                    x=x, y=part.published.values / 1e6, mode="lines", line={"color": colour, "width": 1.5},
                    name=f"{name}, Table 4", legendgroup=sender, showlegend=n == 0, **place,
                )  # fmt: skip
                figure.add_scatter(
                    x=x, y=part.throughput.values / 1e6, mode="markers", marker={"color": colour, "size": 7},
                    name=f"{name}, packets", legendgroup=sender, showlegend=n == 0, **place,
                    error_y={
                        "array": ((part.high - part.throughput) / 1e6).values,
                        "arrayminus": ((part.throughput - part.low) / 1e6).values, "thickness": 1,
                    },
                )  # fmt: skip
        figure.update_xaxes(title_text="lost acknowledgements [%]", row=rows)
        figure.update_yaxes(title_text="throughput [Mbit/s]", col=1, rangemode="tozero")
        figure.update_layout(height=120 + 260 * rows, legend=LEGEND_BELOW)
        return figure

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers."""
        return "\n\n".join([_of_levels(result), *_of_statements(result), _of_laws(result), _of_estimates(result)])


_ROUTES = (("s", "a1", "a2", "d"), ("s", "b1", "b2", "d"))


def _table4(runs: Any, rates: Sequence[float], lists: Sequence[str]) -> xr.Dataset:
    """Everything about Table 4, from throughputs (rate, lists, sender, ack_loss, replication) [bit/s]."""
    dims = ("rate", "lists", "sender", "ack_loss")
    bits, share = {"units": "bit/s"}, {"units": "1"}
    coords = {
        "rate": ("rate", list(rates), {"units": "bit/s", "long_name": "rate of the links"}),
        "lists": list(lists), "sender": list(SENDERS),
        "ack_loss": ("ack_loss", list(ACK_LOSS), {"units": "1", "long_name": "loss probability of acknowledgements"}),
    }  # fmt: skip
    each = xr.DataArray(runs, dims=(*dims, "replication"), coords=coords, attrs=bits)
    interval = mean_interval(each)
    published = xr.DataArray([PUBLISHED[s] for s in SENDERS], dims=dims[2:])
    n = each.sizes["replication"]
    # Theirs is a mean of ten runs that scatter as ours do.
    scatter = 1.96 * interval["sd"] * np.sqrt(1 / n + 1 / PUBLISHED_RUNS) / published
    gap = interval["mean"] / published - 1.0
    against_reno = _ratio(each, each.sel(sender=RENO, drop=True))
    printed = xr.DataArray([(np.nan,) * 4, *(IMPROVEMENTS[s] for s in SCHEMES)], dims=dims[2:])
    # Table 4 rounds it to 1 %, of throughputs that are rounded too; both means scatter.
    spread = 1.96 * np.sqrt((against_reno[3] ** 2) * (1 / n + 1 / PUBLISHED_RUNS)) + 0.02
    kept = _ratio(each, each.sel(ack_loss=0.0, drop=True))
    result = xr.Dataset(
        {
            "throughput": interval["mean"].assign_attrs(bits | {"long_name": "mean throughput"}),
            "low": interval["low"], "high": interval["high"],
            "published": published.broadcast_like(gap).transpose(*dims).assign_attrs(bits),
            "gap": gap.assign_attrs(share), "gap_low": gap - scatter, "gap_high": gap + scatter,
            "improvement": against_reno[0] - 1.0, "improvement_low": against_reno[1] - 1.0,
            "improvement_high": against_reno[2] - 1.0,
            "improvement_published": printed.broadcast_like(gap).transpose(*dims),
            "kept": kept[0], "kept_low": kept[1], "kept_high": kept[2],
            "kept_predicted": (dims[2:], _predicted_shares()),
        },
        coords,
    ).drop_attrs(deep=False)  # fmt: skip
    result["verdict"] = (dims, grade(result.gap_low, result.gap_high, 0.1))
    off = (against_reno[0] - 1.0 - printed).transpose(*dims)
    result["improvement_verdict"] = (dims, grade(off - spread, off + spread))
    law = result.kept / result.kept_predicted
    result["kept_verdict"] = (
        dims,
        grade_tolerance(law * result.kept_low / result.kept - 1, law * result.kept_high / result.kept - 1, 0.03),
    )
    return result.assign(holds=_statements(result)).assign_coords(coords)


def _ratio(a: xr.DataArray, b: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray, xr.DataArray]:
    """Ratio of the means of independent runs, its 95 % interval, and its standard deviation for one run each."""
    mean = a.mean("replication") / b.mean("replication")
    relative = (a.std("replication", ddof=1) / a.mean("replication")) ** 2
    relative = relative + (b.std("replication", ddof=1) / b.mean("replication")) ** 2
    single = mean * np.sqrt(relative)
    half = 1.96 * single / np.sqrt(a.sizes["replication"])
    same = abs(mean - 1.0) < 1e-12  # with itself
    return mean, (mean - half).where(~same, 1.0), (mean + half).where(~same, 1.0), single


def _predicted_shares() -> Any:
    """(sender, ack_loss) throughput over that without losses of acknowledgements, by the closed form."""
    model = MtcpThroughput(loss=0.02, ack_loss=list(ACK_LOSS), rtt=0.073, timeout=0.292)
    laws = [np.asarray(law) for law in (model.reno(), model.immediate(), model.duplicated())]
    return np.array([law / law[0] for law in (*laws, laws[-1])])


def _statements(result: xr.Dataset) -> xr.DataArray:
    """Which of the paper's statements hold, for each reading."""
    shape = (result.sizes["rate"], result.sizes["lists"])
    answers = np.full((len(STATEMENTS), *shape), OPEN, dtype=object)
    for place in np.ndindex(shape):
        part = result.isel(rate=place[0], lists=place[1])
        schemes, last = part.sel(sender=list(SCHEMES)), part.isel(ack_loss=-1)
        answers[(0, *place)] = _sign(
            float((schemes.improvement_low - 0.62).min()), float((schemes.improvement_high - 0.62).min())
        )
        least = last.sel(sender="immediate")
        answers[(1, *place)] = _sign(1.0 - float(least.kept_high), 1.0 - float(least.kept_low))
        for row, sender in ((2, "duplicated"), (3, "duplicated_delayed")):
            more = last.sel(sender=sender)
            answers[(row, *place)] = _sign(
                float(more.kept_low - least.kept_high), float(more.kept_high - least.kept_low)
            )
    coords = {"statement": list(STATEMENTS), "rate": result.rate.values, "lists": result.lists.values}
    return xr.DataArray(answers.astype(str), dims=("statement", "rate", "lists"), coords=coords)


def _sign(low: float, high: float) -> str:
    return HOLDS if low > 0.0 else FAILS if high < 0.0 else OPEN


def _estimates(seed: int, replications: int) -> xr.Dataset:
    """One-way times after 1500 segments without losses, over links that no queue delays."""
    links = tuple(
        link
        for name, there, back in zip("ab", THERE, BACK, strict=True)
        for link in (
            Link("s", name, None, 0.0), Link(name, "d", FAST, there, duplex=False),
            Link("d", name, FAST, back, duplex=False),
        )
    )  # fmt: skip

    def simulated(window: int, acks: str) -> xr.Dataset:
        flow = Flows(
            1, "mtcp", routes=(("s", "a", "d"), ("s", "b", "d")), window_limit=window, packet_size=1000,
            segments=1500, start_spread=0.1, acks=acks,
        )  # fmt: skip
        scenario = Scenario((flow,), None, 300.0, 0.0, links=links, epoch=0.1, slice=300.0, clock="double", seed=seed)
        return replicate(scenario, replications).isel(flow=0)

    runs = simulated(FEW, "immediate")
    needless = [mean_interval(1000.0 * simulated(20, acks).fast_recoveries / 1500.0) for acks in SCHEMES]
    there, back = runs.route_time_there.values, runs.route_time_back.values
    true_there = np.array(THERE) + 8000 / FAST
    true_back = np.array(BACK) + 320 / FAST
    offset = (there - true_there).mean(1)
    # The first measured pair is halved: route 0 there, and either one back; a second one too if it shares no route.
    begin = [_first(true_there, true_back, y) for y in (0, 1)] + [([0.0, 0.0], [0.0, 0.0])]
    possible = [OneWayTimes.offset(*pair, true_there.tolist(), true_back.tolist()) for pair in begin]
    right = true_there + true_back.max()
    seconds = {"units": "s"}
    return xr.Dataset(
        {
            "time_there": (("run", "route"), there, seconds),
            "time_back": (("run", "route"), back, seconds),
            "true_there": ("route", true_there, seconds),
            "true_back": ("route", true_back, seconds),
            "offset": ("run", offset, seconds),
            "offset_possible": ("beginning", possible, seconds),
            "rto_gap": (("run", "route"), (there + back.max(1, keepdims=True)) / right - 1.0, {"units": "1"}),
            "needless": ("scheme", [float(x["mean"]) for x in needless]),
            "needless_low": ("scheme", [float(x["low"]) for x in needless]),
            "needless_high": ("scheme", [float(x["high"]) for x in needless]),
        },
        {"scheme": list(SCHEMES)},
    )


def _first(there: Any, back: Any, y: int) -> tuple[list[float], list[float]]:
    """Estimates once each route is measured, if the first measured pair is (0, y)."""
    half = (there[0] + back[y]) / 2
    return [float(there[j] - there[0] + half) for j in (0, 1)], [float(back[j] - back[y] + half) for j in (0, 1)]


def _of_levels(result: xr.Dataset) -> str:
    parts = []
    for rate, lists in _readings(result):
        part = result.sel(rate=rate, lists=lists)
        schemes = part.sel(sender=list(SCHEMES))
        parts.append(
            f"links of {rate / 1e6:g} Mbit/s, lists that heed {_heed(lists)}: throughputs "
            f"{float(part.gap.min()):+.0%} to {float(part.gap.max()):+.0%} from Table 4's 16 "
            f"({counts(part.verdict)}), improvements of {float(schemes.improvement.min()):.0%} to "
            f"{float(schemes.improvement.max()):.0%} over Reno, printed 62 to 88 % "
            f"({counts(schemes.improvement_verdict)})"
        )
    return f"M/TCP over two routes against Table 4. {'; '.join(parts)}."


def _readings(result: xr.Dataset) -> Iterator[tuple[float, str]]:
    for lists in result.lists.values:
        for rate in result.rate.values:
            yield float(rate), str(lists)


def _heed(lists: str) -> str:
    return "cumulative acknowledgements too" if lists == CUMULATIVE else "replies only"


def _of_statements(result: xr.Dataset) -> list[str]:
    lines = []
    for name, text in STATEMENTS.items():
        answers = []
        for lists in result.lists.values:
            each = result.holds.sel(statement=name, lists=lists).values.tolist()
            said = each[0] if len(set(each)) == 1 else ", ".join(
                f"{answer} at {rate / 1e6:g} Mbit/s" for answer, rate in zip(each, result.rate.values, strict=True)
            )  # fmt: skip
            answers.append(f"{said} where lists heed {_heed(str(lists))}")
        lines.append(f"“{text}”: {'; '.join(answers)}.")
    return lines


def _of_laws(result: xr.Dataset) -> str:
    last = result.isel(ack_loss=-1)
    words = []
    for sender in SENDERS:
        kept, law = last.kept.sel(sender=sender), float(last.kept_predicted.sel(sender=sender))
        paper = PUBLISHED[sender][-1] / PUBLISHED[sender][0]
        each = [f"{float(kept.sel(rate=r, lists=m)):.3f}" for r, m in _readings(result)]
        each = list(dict.fromkeys(each))
        words.append(f"{sender.replace('_', ' and ')} {', '.join(each)} (law {law:.3f}, Table 4 {paper:.3f})")
    return (
        f"Throughput kept at {ACK_LOSS[-1]:.0%} loss of acknowledgements, readings in the order above: "
        f"{'; '.join(words)}. The law counts slower growth only: {counts(result.kept_verdict)}, each within 3 % or not."
    )


def _of_estimates(result: xr.Dataset) -> str:
    sums = result.time_there.max("route") + result.time_back.max("route")
    true = float(result.true_there.max() + result.true_back.max())
    error = abs(sums / true - 1.0)
    nearest = abs(result.offset - result.offset_possible).min("beginning")
    return (
        f"One-way times without losses: round trips are right to {float(error.max()):.1e}, one-way times off by one of "
        f"{', '.join(f'{1e3 * float(c):+.1f} ms' for c in result.offset_possible)}, which the first "
        f"measurements decide (to {1e3 * float(nearest.max()):.1g} ms); timeouts (9) are right to "
        f"{float(abs(result.rto_gap).max()):.1e} all the same. But routes that differ so put replies out of order: of "
        "1000 segments with a window of 20, none of which is lost, those taken for lost are "
        + ", ".join(_needless(result.sel(scheme=scheme)) for scheme in SCHEMES)
        + "."
    )


def _needless(each: xr.Dataset) -> str:
    return (
        f"{float(each.needless):.1f} [{float(each.needless_low):.1f}, {float(each.needless_high):.1f}] with "
        f"{str(each.scheme.item()).replace('_', ' and ')} acknowledgements"
    )
