"""LEAP in packets beside its closed forms, and beside the numbers that its paper prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import BLACK, BLUE, LEGEND_BELOW, RED
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import LeapTransfer, OverloadedStar
from tcpdynamics.progress import listening, tracked

from ..packet import Bottleneck, Flows, Scenario, replicate
from ..packet.scenario.topologies import star
from ..packet.user_rules import congestion_control
from ..statistics import mean_interval
from .comparison import TOLERANCE, Comparison, Verdict, check_length, counts, grade, grade_tolerance

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Segments of a transfer, as in the paper.
SEGMENTS = 100
PLAIN, LEAP = "plain", "LEAP"
#: Who sends on the path with random losses beside the paper's three: what the closed forms are made for.
ONE = "window of one"
SENDERS = ("reno", "newreno", "sack")

#: The paper's Table 1: finished over generated connections, by density, of Reno, NewReno, SACK and LEAP (on Reno).
TABLE_1 = {
    2.5: (0.993, 0.979, 0.994, 0.985),
    2.75: (0.961, 0.953, 0.948, 0.978),
    3.0: (0.745, 0.783, 0.804, 0.927),
    3.25: (0.624, 0.621, 0.590, 0.858),
    3.5: (0.429, 0.422, 0.392, 0.740),
}

#: How long the paper's runs of the star are [s]; the share that finishes depends on it.
PAPER_DURATION = 3000.0

#: What the paper says, as intervals of numbers: claim -> (where, least, greatest).
CLAIMS = {
    "more finish than with Reno": ("Table 1, 3.5/s: ratio 1.73", 1.0, np.inf),
    "over 120 % of Reno": ("abstract, section 8: finished over Reno's, 3.5/s", 1.2, np.inf),
    "120 % more than Reno": ("the same, read as an increase", 2.2, np.inf),
    "fewer duplicates than Reno": ("Fig. 7, 3.5/s: over Reno's", -np.inf, 1.0),
    "nearly all duplicates gone": ("section 6.1, 3.5/s: at most a tenth of Reno's", -np.inf, 0.1),
    "fewer segments sent than Reno": ("Fig. 6, 3.5/s: over Reno's", -np.inf, 1.0),
    "the same where nothing is congested": ("section 1, 2.5/s: finished over Reno's, to 1 %", 0.99, 1.01),
    "Reno not degraded beside LEAP": ("Fig. 9, half of 100 flows: Reno's goodput over that without LEAP", 0.99, np.inf),
    "goodput grows with LEAP's share": ("Fig. 9: mean goodput of 100 LEAP flows over that of 100 of Reno", 1.0, np.inf),
}

#: LEAP flows among 100 on one link, and for how long at most [s].
SHARES, LONGEST = (0, 50, 100), 300.0


@congestion_control("window_of_one")
def on_ack(f, now, acked):  # type: ignore[no-untyped-def]
    """No growth at all."""
    f.cwnd = 1.0


@dataclass(frozen=True)
class LeapVsPackets(Comparison):
    """Duplicates and transmissions of a transfer against loss; the share that finishes against the density.

    *Path*: transfers of 100 segments, alone on a path that loses each packet, data or acknowledgement, with the same
    probability; beside `LeapTransfer`, which is made for windows of one. *Star*: the network of the paper, whose
    transfers meet each other; beside `OverloadedStar` with the duplicates that were measured, and beside Table 1. *One
    link* of 10 Mbit/s, that loses no acknowledgements: LEAP flows among Reno's, as in Fig. 9.
    Where the paper is silent, senders are as ns-2's were in 2003: timeouts of at least 1 s, 6 s before the first
    measurement.

    Parameters
    ----------
    loss : sequence of float       Loss probabilities on the path [1], in [0.001, 0.4].
    density : sequence of float    Transfers that begin in the star [1/s], in [0.5, 10].
    senders : sequence of str      Among "reno", "newreno", "sack".
    transfers : int                On the path, in each replication.
    duration : float               Of a run of the star [s].
    replications : int             Independent runs, >= 2.
    seed : int

    Examples
    --------
    >>> small = LeapVsPackets(loss=(0.1,), density=(3.5,), senders=("reno",), duration=300.0, replications=2)
    >>> result = small.run()
    >>> result.path_duplicates.dims, bool(result.finished.max() < 1)
    (('loss', 'path_sender', 'kind'), True)
    """

    effect: ClassVar[tuple[str, str, str]] = ("path_gap", "path_gap_low", "path_gap_high")
    rule: ClassVar[str] = (
        f"path, star: agrees where the whole interval lies within {TOLERANCE:.0%} of the law, differs where all of it "
        "lies beyond; Table 1: differs where the interval for one more run misses the printed number, and no answer of "
        f"runs other than {PAPER_DURATION:g} s"
    )
    quick: ClassVar[dict[str, Any]] = {
        "loss": (0.05, 0.2), "density": (2.5, 3.5), "senders": ("reno", "sack"), "transfers": 100, "replications": 3,
        "duration": 1000.0,
    }  # fmt: skip
    loss: Sequence[float] = (0.02, 0.05, 0.1, 0.15, 0.2)
    density: Sequence[float] = tuple(TABLE_1)
    senders: Sequence[str] = SENDERS
    transfers: int = 200
    duration: float = PAPER_DURATION
    replications: int = 6
    seed: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("loss", "density", "senders"):
            check_length(name, getattr(self, name))
        for name in self.senders:
            if name not in SENDERS:
                raise DomainError(f"senders must list some of {', '.join(SENDERS)}, got {shown(name)}")
        for name, low, high in (("loss", 0.001, 0.4), ("density", 0.5, 10.0)):
            if not all(low <= x <= high for x in getattr(self, name)):
                raise DomainError(
                    f"{name} must list numbers in [{low:g}, {high:g}], got {shown(list(getattr(self, name)))}"
                )

    def path(self, sender: str, leap: bool, loss: float) -> Scenario:
        """Transfers that do not meet each other."""
        one = sender == ONE  # without an end, for the last segment has none to leap to
        flow = Flows(
            max(self.transfers // 10, 2) if one else self.transfers, "reno" if one else sender, rtt=0.2,
            control="window_of_one" if one else "reno", segments=None if one else SEGMENTS, packet_size=576, leap=leap,
            window_limit=100, min_rto=1.0, initial_rto=1.0, max_rto=4.0, max_backoff=4, handshake=False,
            delayed_ack=0.0 if one else 0.1, initial_window=1,
        )  # fmt: skip
        return Scenario(
            (flow,), Bottleneck(1e9, None, loss=loss, ack_loss=loss), 2000.0, 0.0, epoch=1.0, slice=2000.0,
            clock="grid", seed=self.seed, name=f"{sender}{' + LEAP' * leap}, loss {loss:g}",
        )  # fmt: skip

    def network(self, sender: str, leap: bool, density: float) -> Scenario:
        """The star of the paper's section 2.1."""
        nodes = ("n0", "n1", "n2")
        flow = Flows(
            int(1.05 * density * self.duration) + 100, sender, source=nodes, target=nodes, packet_size=576,
            segments=SEGMENTS, window_limit=100, delayed_ack=0.1, arrival_rate=density, leap=leap, min_rto=1.0,
            initial_rto=6.0,
        )  # fmt: skip
        return Scenario(
            (flow,), None, self.duration, 0.0, links=star(), epoch=1.0, slice=self.duration, clock="grid",
            seed=self.seed, name=f"{sender}{' + LEAP' * leap}, {density:g}/s",
        )  # fmt: skip

    def shared(self, leaping: int) -> Scenario:
        """100 endless flows on one link, as in the paper's section 6.3; so many leap, the rest are Reno."""
        flows = tuple(
            Flows(
                n, "reno", rtt=0.004, packet_size=576, window_limit=100, delayed_ack=0.1, leap=leap, min_rto=1.0,
                initial_rto=6.0, start_spread=10.0,
            )
            for n, leap in ((100 - leaping, False), (leaping, True)) if n
        )  # fmt: skip
        duration = min(self.duration, LONGEST)
        return Scenario(
            flows, Bottleneck(1e7, 100), duration, duration / 6, epoch=1.0, slice=duration, clock="grid",
            seed=self.seed, name=f"{leaping} of 100 leap",
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset over `loss`, `density`, `sender`, `path_sender`, `kind` ("plain", "LEAP")
            `path_duplicates`, `path_transmissions` a transfer, with the laws `_predicted`, `path_gap` (of duplicates,
            relative) and `path_verdict`; `finished`, `duplicates`, `sent` a finished transfer, `loss_rate`,
            `finished_predicted`, `law_gap`, `law_verdict`; `published`, `table_gap`, `table_verdict`; and over `claim`
            `claim_value` with `claim_verdict`. Each measured number with its 95 % interval, `_low` and `_high`.
        """
        self._check_work()
        parts = [part() for part in tracked([self._on_path, self._in_star], weights=(1, 3))]
        result = xr.merge(parts, combine_attrs="drop")
        result.attrs = self.attributes()
        return result

    def _on_path(self) -> xr.Dataset:
        senders, kinds = (ONE, *self.senders), (PLAIN, LEAP)
        cases = [(p, s, k) for p in self.loss for s in senders for k in kinds]
        shape = (len(self.loss), len(senders), len(kinds))
        measured = [_means(self.path(s, k == LEAP, p), self.replications, _of_transfers) for p, s, k in tracked(cases)]
        dims = ("loss", "path_sender", "kind")
        coords = {"loss": list(self.loss), "path_sender": list(senders), "kind": list(kinds)}
        result = _intervals(measured, shape, dims, coords, "path_")
        for name in ("duplicates", "transmissions"):
            rows = [[getattr(LeapTransfer(p, p), f"{name}_{k}")() for k in ("plain", "leap")] for p in self.loss]
            result[f"path_{name}_predicted"] = (("loss", "kind"), SEGMENTS * np.array(rows, float))
        predicted = result.path_duplicates_predicted
        for edge in ("", "_low", "_high"):
            result[f"path_gap{edge}"] = result[f"path_duplicates{edge}"] / predicted - 1.0
        result["path_verdict"] = _verdict(result, "path_gap")
        return result

    def _in_star(self) -> xr.Dataset:
        kinds = (PLAIN, LEAP)
        cases = [(x, s, k) for x in self.density for s in self.senders for k in kinds]
        shape = (len(self.density), len(self.senders), len(kinds))
        jobs = [(self.network(s, k == LEAP, x), _of_network) for x, s, k in cases]
        jobs += [(self.shared(x), _of_shared) for x in SHARES]
        done = [_means(network, self.replications, measure) for network, measure in tracked(jobs)]
        runs, several = done[: len(cases)], dict(zip(SHARES, done[len(cases) :], strict=True))
        dims = ("density", "sender", "kind")
        coords = {"density": list(self.density), "sender": list(self.senders), "kind": list(kinds)}
        result = _intervals(runs, shape, dims, coords, "")
        share = [
            float(OverloadedStar(density=x, duplicates=float(run["duplicates"].mean()) / SEGMENTS).finished())
            for (x, _, _), run in zip(cases, runs, strict=True)
        ]
        result["finished_predicted"] = (dims, np.array(share).reshape(shape))
        for edge in ("", "_low", "_high"):
            result[f"law_gap{edge}"] = result[f"finished{edge}"] / result.finished_predicted - 1.0
        result["law_verdict"] = _verdict(result, "law_gap")
        published = np.full(shape, np.nan)
        for i, x in enumerate(self.density):
            row = TABLE_1.get(float(x), (np.nan,) * 4)
            for j, s in enumerate(self.senders):
                published[i, j, 0] = row[SENDERS.index(s)]
                if s == "reno":
                    published[i, j, 1] = row[3]
        result["published"] = (dims, published)
        # The paper's number is that of one run: our interval is for one more.
        wider = np.sqrt(1 + self.replications)
        gap = result.finished - result.published
        half = (result.finished_high - result.finished_low) / 2 * wider
        result["table_gap"], result["table_gap_low"], result["table_gap_high"] = gap, gap - half, gap + half
        verdict = grade(result.table_gap_low.values, result.table_gap_high.values)
        if self.duration != PAPER_DURATION:
            verdict = np.full(shape, Verdict.NO_ANSWER.value)
        result["table_verdict"] = (dims, verdict)
        return result.merge(_claims(dict(zip(cases, runs, strict=True)), several))

    def _check_work(self) -> None:
        paths = sum(self.path(s, True, p).count * SEGMENTS for s in (ONE, *self.senders) for p in self.loss)
        stars = sum(self.network("reno", True, x).work for x in self.density) * len(self.senders)
        check_work(
            f"{self.replications} replications of {len(self.density)} densities and {len(self.loss)} losses",
            2.0 * self.replications * (stars + 1000.0 * paths),
            "give fewer densities, losses, senders or replications, or a shorter duration",
        )

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Left: duplicates of a transfer against loss. Right: the share that finishes against the density."""
        from plotly.subplots import make_subplots

        panels = make_subplots(
            rows=1, cols=2, subplot_titles=("path: duplicates a transfer", "star: share that finishes")
        )
        for kind, colour in ((PLAIN, RED), (LEAP, BLUE)):
            part = result.sel(kind=kind)
            panels.add_scatter(
                x=part.loss.values, y=part.path_duplicates_predicted.values, mode="lines", name=f"{kind}: law",
                line={"color": colour, "width": 1.5}, row=1, col=1,
            )  # fmt: skip
            for sender, symbol in zip(part.path_sender.values, ("x", "circle", "square", "diamond"), strict=False):
                panels.add_scatter(
                    **_points(part.sel(path_sender=sender), "loss", "path_duplicates"), name=f"{sender}, {kind}",
                    mode="markers", marker={"color": colour, "symbol": symbol, "size": 7}, row=1, col=1,
                )  # fmt: skip
            for sender, symbol in zip(part.sender.values, ("circle", "square", "diamond"), strict=False):
                panels.add_scatter(
                    **_points(part.sel(sender=sender), "density", "finished"), name=f"{sender}, {kind}",
                    showlegend=False, mode="lines+markers", marker={"color": colour, "symbol": symbol, "size": 7},
                    line={"width": 1}, row=1, col=2,
                )  # fmt: skip
            if "reno" in part.sender.values:
                panels.add_scatter(
                    x=part.density.values, y=part.published.sel(sender="reno").values, mode="lines",
                    name=f"Table 1: {'LEAP' if kind == LEAP else 'Reno'}", row=1, col=2,
                    line={"color": colour, "dash": "dot", "width": 1.5},
                )  # fmt: skip
        densities = np.linspace(float(result.density.min()), float(result.density.max()) + 1e-9, 40)
        panels.add_scatter(
            x=densities, y=np.asarray(OverloadedStar(density=densities).finished()), mode="lines", row=1, col=2,
            name="law without duplicates", line={"color": BLACK, "width": 1.5},
        )  # fmt: skip
        panels.update_xaxes(title_text="loss probability of data and acknowledgements", col=1)
        panels.update_xaxes(title_text="transfers that begin [1/s]", col=2)
        panels.update_layout(height=420, legend=LEGEND_BELOW)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers."""
        one = result.sel(path_sender=ONE)
        last = result.isel(loss=-1, path_sender=slice(1, None))
        rows = [
            f"{s} {float(part.sel(kind=PLAIN)):.1f} and {float(part.sel(kind=LEAP)):.1f}"
            for s in last.path_sender.values
            for part in [last.path_duplicates.sel(path_sender=s)]
        ]
        path = (
            f"Path: with a window of one, duplicates of a transfer differ by {float(one.path_gap.min()):+.1%} to "
            f"{float(one.path_gap.max()):+.1%} from the closed forms ({counts(one.path_verdict)}). Of larger windows a "
            "later acknowledgement makes up for a lost one, but they go back over what had arrived, which LEAP leaves: "
            f"at {float(last.loss):.0%} loss, duplicates a "
            f"transfer without and with LEAP are {', '.join(rows)}; the forms say "
            f"{float(last.path_duplicates_predicted.sel(kind=PLAIN)):.1f} and "
            f"{float(last.path_duplicates_predicted.sel(kind=LEAP)):.1f}."
        )
        busiest = result.isel(density=-1)
        shares = [
            f"{s} {_with_half(busiest.sel(sender=s, kind=PLAIN), 'finished')} and "
            f"{_with_half(busiest.sel(sender=s, kind=LEAP), 'finished')}"
            for s in busiest.sender.values
        ]
        table = _table_in_words(result)
        over = result.law_gap.where(result.finished_predicted < 1)
        law = (
            f" Beyond the critical density the shares differ by {float(over.min()):+.1%} to {float(over.max()):+.1%} "
            "from the law of shared links at the measured duplicates."
            if bool(np.isfinite(over).any())
            else ""
        )
        network = (
            f"Star: at {float(busiest.density):g} transfers a second, the share that finishes without and with LEAP is "
            f"{', '.join(shares)}.{law}{table}"
        )
        said = [
            f"{claim} ({CLAIMS[str(claim)][0]}): {float(row.claim_value):.2f} "
            f"[{float(row.claim_value_low):.2f}, {float(row.claim_value_high):.2f}], {row.claim_verdict.item()}"
            for claim in result.claim.values
            for row in [result.sel(claim=claim)]
        ]
        return "\n\n".join((path, network, "The paper's statements: " + "; ".join(said) + "."))


def _table_in_words(result: xr.Dataset) -> str:
    """Column by column of Table 1: how many cells lie where one more run would, and how far the busiest is off."""
    columns = []
    for sender, kind in [(s, PLAIN) for s in result.sender.values] + [("reno", LEAP)]:
        if sender not in result.sender.values:
            continue
        column = result.sel(sender=sender, kind=kind)
        column = column.isel(density=np.isfinite(column.published.values))
        if not column.sizes["density"]:
            return ""
        if (column.table_verdict == Verdict.NO_ANSWER.value).all():
            return f" Table 1 is of runs of {PAPER_DURATION:g} s; these have another length: no verdict on it."
        last = column.isel(density=-1)
        agree = int((column.table_verdict == Verdict.AGREES.value).sum())
        columns.append(
            f"{LEAP if kind == LEAP else sender} {agree} of {column.sizes['density']} (at {float(last.density):g} "
            f"{float(last.table_gap):+.3f} [{float(last.table_gap_low):+.3f}, {float(last.table_gap_high):+.3f}])"
        )
    return f" Cells of Table 1 that lie where one more run would: {', '.join(columns)}."


def _means(scenario: Scenario, replications: int, measure: Any) -> dict[str, xr.DataArray]:
    """What each replication says."""
    with listening(lambda share: None):
        runs = replicate(scenario, replications)
    return {name: value.drop_vars("seed", errors="ignore") for name, value in measure(runs).items()}


def _of_transfers(runs: xr.Dataset) -> dict[str, xr.DataArray]:
    return {
        name: SEGMENTS * total.sum("flow") / runs.goodput.sum("flow")
        for name, total in (("duplicates", runs.duplicates), ("transmissions", runs.sent))
    }


def _of_network(runs: xr.Dataset) -> dict[str, xr.DataArray]:
    done = np.isfinite(runs.finish)
    return {
        "finished": done.sum("flow") / np.isfinite(runs.start).sum("flow"),
        "finished_number": done.sum("flow").astype(float),
        "duplicates": runs.duplicates.where(done).mean("flow"),
        "sent": runs.sent.where(done).mean("flow"),
        "loss_rate": runs.loss_rate,
    }


def _of_shared(runs: xr.Dataset) -> dict[str, xr.DataArray]:
    """Mean goodput of a flow, and of a Reno flow, which are the first group."""
    return {"all": runs.goodput.mean("flow"), "reno": runs.goodput.where(runs.group == 0).mean("flow")}


_MEANINGS = {
    "duplicates": ("packets", "packets of a transfer received once more"),
    "transmissions": ("packets", "packets sent for a transfer"),
    "finished": ("1", "share of transfers that finish"),
    "finished_number": ("1", "transfers that finish"),
    "sent": ("packets", "packets sent for a finished transfer"),
    "loss_rate": ("1", "data packets lost over those that came to their first link"),
}


def _intervals(runs: Any, shape: Any, dims: Any, coords: Any, prefix: str) -> xr.Dataset:
    """Means over replications of each quantity, with the ends of their 95 % intervals."""
    data = {}
    for name in runs[0]:
        found = [mean_interval(run[name]) for run in runs]
        units, text = _MEANINGS[name]
        for edge, part in (("", "mean"), ("_low", "low"), ("_high", "high")):
            values = np.array([float(interval[part]) for interval in found]).reshape(shape)
            data[f"{prefix}{name}{edge}"] = (dims, values, {"units": units, "long_name": text})
    return xr.Dataset(data, coords)


def _verdict(result: xr.Dataset, name: str) -> Any:
    low, high = result[f"{name}_low"], result[f"{name}_high"]
    return low.copy(data=grade_tolerance(low.values, high.values, TOLERANCE))


def _claims(
    runs: dict[tuple[float, str, str], dict[str, xr.DataArray]], several: dict[int, dict[str, xr.DataArray]]
) -> xr.Dataset:
    """The paper's statements about LEAP on Reno, as ratios by replication."""

    def ratio(name: str, density: float) -> Any:
        both = [runs.get((density, "reno", kind)) for kind in (LEAP, PLAIN)]
        if both[0] is None or both[1] is None:
            return None
        return both[0][name] / both[1][name]

    quantities = dict.fromkeys(CLAIMS, ("finished", 3.5)) | {
        "fewer duplicates than Reno": ("duplicates", 3.5),
        "nearly all duplicates gone": ("duplicates", 3.5),
        "fewer segments sent than Reno": ("sent", 3.5),
        "the same where nothing is congested": ("finished", 2.5),
    }
    beside = {
        "Reno not degraded beside LEAP": several[50]["reno"] / several[0]["reno"],
        "goodput grows with LEAP's share": several[100]["all"] / several[0]["all"],
    }
    columns: dict[str, list[Any]] = {name: [] for name in ("value", "low", "high", "verdict")}
    for claim, (name, density) in quantities.items():
        values = beside.get(claim, ratio(name, density))
        _, least, greatest = CLAIMS[claim]
        interval = None if values is None else mean_interval(values)
        mean, low, high = (
            (np.nan,) * 3 if interval is None else (float(interval[part]) for part in ("mean", "low", "high"))
        )
        holds, fails = low >= least and high <= greatest, high < least or low > greatest
        verdict = Verdict.AGREES if holds else Verdict.DIFFERS if fails else Verdict.UNDECIDED
        for column, value in zip(
            columns.values(), (mean, low, high, verdict if interval is not None else Verdict.NO_ANSWER), strict=True
        ):
            column.append(str(value) if isinstance(value, Verdict) else value)
    ratio_attrs = {"units": "1", "long_name": "LEAP over Reno"}
    return xr.Dataset(
        {
            "claim_value": ("claim", columns["value"], ratio_attrs),
            "claim_value_low": ("claim", columns["low"], ratio_attrs),
            "claim_value_high": ("claim", columns["high"], ratio_attrs),
            "claim_verdict": ("claim", columns["verdict"]),
        },
        {"claim": list(CLAIMS)},
    )


def _points(part: xr.Dataset, along: str, name: str) -> dict[str, Any]:
    """Points with their intervals, as Plotly wants them."""
    return {"x": part[along].values, "y": part[name].values, "error_y": error_bars(part, name)}


def _with_half(part: xr.Dataset, name: str) -> str:
    half = (float(part[f"{name}_high"]) - float(part[f"{name}_low"])) / 2
    return f"{float(part[name]):.3f} ± {half:.3f}"
