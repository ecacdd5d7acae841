"""Other stacks against each other and against Linux's TCP: two flows on one link, their fractions of it.

Servers and clients that others wrote run unmodified in virtual time, on four links that differ by their queue alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.errors import DomainError, shown

from ..linux import TODAY
from ..linux.stacks import flow, stacks
from ..packet import Bottleneck, Scenario
from ..statistics import mean_interval
from .comparison import AGREES, CLOSE, Verdict, check_length, counts, grade_distance, interval_text
from .engines import LINUX, Cell, stored
from .study import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

RECORD = "linux_stacks_recorded.json"
#: Controls of the kernel's own flows.
KERNEL = ("reno", "cubic", "bbr")
#: Name -> buffer [packets], and the queue as an option of `tc`; the bandwidth-delay product has 33 packets. With
#: Linux's defaults CoDel drops the packets that it selects, and FQ-CoDel marks those whose senders support ECN.
LINKS: Mapping[str, tuple[int, str]] = {
    "drop-tail, 0.5 BDP": (17, ""), "drop-tail, 2 BDP": (66, ""), "CoDel": (1000, "codel limit 1000"),
    "FQ-CoDel": (1000, "fq_codel limit 1000"),
}  # fmt: skip
#: Of one run.
QUANTITIES: Mapping[str, str] = {
    "share": "1", "use of the link": "1", "loss, first": "1", "loss, second": "1", "queueing delay, median": "s",
    "queueing delay, 95 %": "s", "queueing delay, 99 %": "s",
}  # fmt: skip
#: Verdict -> what it means of the 95 % interval of a fraction, as the end of a sentence.
MEANINGS: Mapping[str, str] = {
    Verdict.AGREES: f"all of the 95 % interval lies within {100 * AGREES:g} percentage points of 50 %",
    Verdict.CLOSE: f"all of the 95 % interval lies within {100 * CLOSE:g} percentage points of 50 %, not all within "
    f"{100 * AGREES:g}",
    Verdict.DIFFERS: f"all of the 95 % interval lies more than {100 * CLOSE:g} percentage points from 50 %",
    Verdict.UNDECIDED: f"the 95 % interval lies partly within {100 * CLOSE:g} percentage points of 50 %, partly beyond",
}


@dataclass(frozen=True)
class LinuxStacks(Study):
    """Pairs of senders, each on four links of 10 Mbit/s and 40 ms.

    Parameters
    ----------
    links : sequence of str       Among `LINKS`.
    senders : sequence of str     Ready stacks, and controls of Linux among `KERNEL`.
    seeds : int                   Runs of each pair on each link, at least two.
    duration, warm_up : float     [s]
    seed : int
    workers : int                 Guests of Linux at a time.
    timeout : float               Longest wall time of one of them [s].

    Examples
    --------
    >>> len(LinuxStacks(senders=("quinn", "cubic"), links=("CoDel",)).cells())
    3
    """

    command: ClassVar[str] = "linux-stacks"
    effect: ClassVar[tuple[str, str, str]] = ("share", "share_low", "share_high")
    rule: ClassVar[str] = "; ".join(f"{verdict}: {meaning}" for verdict, meaning in MEANINGS.items())
    salt: ClassVar[int] = 19
    record_name: ClassVar[str] = RECORD
    quantities: ClassVar[Mapping[str, str]] = QUANTITIES
    digits: ClassVar[int] = 5

    links: Sequence[str] = tuple(LINKS)
    senders: Sequence[str] = ("aioquic", "ngtcp2", "quic-go", "quinn", "iperf3", "nginx", *KERNEL)
    seeds: int = 10
    duration: float = 20.0
    warm_up: float = 5.0
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("links", tuple(LINKS)), ("senders", (*stacks(), *KERNEL))):
            chosen = getattr(self, name)
            check_length(name, chosen)
            if unknown := [one for one in chosen if one not in known]:
                raise DomainError(f"{name} must list some of {'; '.join(known)}, got {shown(unknown[0])}")

    def cells(self) -> dict[tuple[str, str, str], Cell]:
        """(Link, first sender, second sender) -> what is run; each pair once."""
        cells = {}
        for link in self.links:
            discipline = LINKS[link][1]
            for pair in combinations_with_replacement(self.senders, 2):
                controls = tuple(sender if sender in KERNEL else "cubic" for sender in pair)
                name = f"{pair[0]} beside {pair[1]} on {link}"
                scenario = self.scenario(link, pair)
                cells[link, *pair] = Cell(
                    scenario, LINUX, TODAY, controls, discipline, name, (*controls, discipline)
                )  # fmt: skip
        return cells

    def scenario(self, link: str, pair: Sequence[str]) -> Scenario:
        """Two flows that start at random within a second. The kernel's acknowledge as Linux does by itself."""
        groups = [flow(sender, start_spread=1.0) for sender in pair]
        bottleneck = Bottleneck(1e7, LINKS[link][0])
        name = f"{pair[0]} and {pair[1]}, {link}"
        return Scenario(tuple(groups), bottleneck, self.duration, self.warm_up, name, self.seed, epoch=1.0)

    def measure(self, run: xr.Dataset, label: Any, cell: Cell) -> list[float]:
        rates = run["goodput_rate"].values
        losses = run["dropped"].values / run["sent"].values
        assert cell.scenario.bottleneck is not None
        use = rates.sum() / cell.scenario.bottleneck.rate
        return [rates[0] / rates.sum(), use, *losses, *run["queueing_delay"].values.mean(axis=0)]

    def record(self) -> dict[str, Any]:
        """Run all; what the file `record_name` is to hold, with the versions of the stacks."""
        document = super().record()
        return {"stacks": versions(self.senders)} | document

    def compare(self, runs: Mapping[tuple[str, str, str], xr.DataArray]) -> xr.Dataset:
        """Over `link`, `sender` and `beside`: the first's fraction of both goodputs.

        Returns
        -------
        xarray.Dataset
            `share` [1] with its 95 % interval `share_low`, `share_high` and the `verdict` on an equal share; `use`, of
            the link's rate by both [1]; `loss`, of the sender's packets [1]; over `quantile`, `queueing_delay` [s],
            the mean of both.
        """
        names, place = list(self.senders), {sender: i for i, sender in enumerate(self.senders)}
        # Of each pair the numbers as its first sender has them, and as the second has them.
        first = np.full((len(self.links), len(names), len(names), self.seeds, len(QUANTITIES)), np.nan)
        for (link, *pair), measured in runs.items():
            i, (a, b) = list(self.links).index(link), (place[sender] for sender in pair)
            first[i, b, a] = _turned(measured.values)
            first[i, a, b] = measured.values
        dims = ("link", "sender", "beside", "replication", "quantity")
        coords = {"link": list(self.links), "sender": names, "beside": names, "quantity": list(QUANTITIES)}
        every = xr.DataArray(first, coords, dims)
        ends = mean_interval(every.sel(quantity="share", drop=True)).drop_attrs(deep=False)
        means = every.mean("replication")
        delays = [name for name in QUANTITIES if name.startswith("queueing")]
        result = xr.Dataset({
            "share": ends["mean"].assign_attrs(units="1"),
            "share_low": ends["low"].clip(0.0), "share_high": ends["high"].clip(max=1.0),
            "use": means.sel(quantity="use of the link", drop=True),
            "loss": means.sel(quantity="loss, first", drop=True),
            "queueing_delay": ((*dims[:3], "quantile"), means.sel(quantity=delays).values, {"units": "s"}),
        }, {"quantile": [0.5, 0.95, 0.99]})  # fmt: skip
        low, high = ends["low"] - 0.5, ends["high"] - 0.5
        nearest, farthest = np.maximum(np.maximum(low, -high), 0.0), np.maximum(abs(low), abs(high))
        result["verdict"] = (ends["low"].dims, grade_distance(nearest, farthest, AGREES, CLOSE))
        return result.assign_attrs(stacks=json.dumps(stored(RECORD)["stacks"]))

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Fractions as a square for each link: the row's sender against the column's."""
        from tcpdynamics.charts.drawing import make_subplots

        links = [str(name) for name in result.link.values]
        picture = make_subplots(
            (len(links) + 1) // 2, min(len(links), 2), subplot_titles=links, vertical_spacing=0.14,
            horizontal_spacing=0.14,
        )  # fmt: skip
        for i, link in enumerate(links):
            shares = result.share.sel(link=link).transpose("sender", "beside")
            picture.add_heatmap(
                z=100 * shares.values, x=list(map(str, shares.beside.values)), y=list(map(str, shares.sender.values)),
                texttemplate="%{z:.0f}", zmin=0, zmax=100, colorscale="PuOr", showscale=i == 0,
                colorbar={"title": "fraction [%]"}, row=i // 2 + 1, col=i % 2 + 1,
                hovertemplate="%{y} against %{x}: %{z:.1f} %<extra></extra>",
            )  # fmt: skip
        picture.update_yaxes(autorange="reversed")
        picture.update_layout(height=480 * ((len(links) + 1) // 2), template="plotly_white", margin={"t": 50})
        return picture

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in sentences, made from its numbers."""
        parts = []
        for link in map(str, result.link.values):
            one = result.sel(link=link)
            alike = one.sel(sender=one.sender, beside=xr.DataArray(one.sender.values, dims="sender"))
            apart = alike.isel(sender=np.flatnonzero((alike.share_low > 0.5) | (alike.share_high < 0.5)))
            named = [
                f"{name} {interval_text(apart.sel(sender=name), 'share')}" for name in map(str, apart.sender.values)
            ]
            parts.append(
                f"{link}. Pairs of unlike senders with equal fractions: {counts(_pairs(one))}. Of two alike senders "
                f"the interval of the first's fraction holds one half, but for: {'; '.join(named) or 'none'}."
            )
        return f"Linux {result.attrs['linux']}.\n\n" + "\n\n".join(parts)


def table(result: xr.Dataset) -> list[str]:
    """Lines of text: for each link the fraction [%] of the row's sender against the column's, with its 95 % interval.

    Examples
    --------
    >>> pair = ("link", "sender", "beside")
    >>> shares = xr.Dataset({"share": (pair, [[[0.5]]]), "share_high": (pair, [[[0.62]]])})
    >>> print(*table(shares.assign_coords(link=["CoDel"], sender=["reno"], beside=["reno"])), sep="; ")
    CoDel;             reno; reno       50±12
    """
    lines: list[str] = []
    for link in map(str, result.link.values):
        one = 100 * result[["share", "share_high"]].sel(link=link).transpose("sender", "beside")
        lines += ["", link] if lines else [link]
        lines.append(" " * 8 + "".join(f"{name!s:>8}" for name in one.beside.values))
        for name, shares, ends in zip(one.sender.values, one.share.values, one.share_high.values, strict=True):
            cells = (f"{share:.0f}±{end - share:.0f}" for share, end in zip(shares, ends, strict=True))
            lines.append(f"{name!s:8}" + "".join(f"{cell:>8}" for cell in cells))
    return lines


def versions(senders: Sequence[str]) -> dict[str, str]:
    """Of the ready stacks among some senders, what they are and the version of a package that is not pinned."""
    texts = {}
    for name in senders:
        if name in stacks():
            facts = json.loads((stacks()[name].folder / "manifest.json").read_text())
            texts[name] = "; ".join(filter(None, (facts["about"], facts["version"].replace("\t", " "))))
    return texts


def _turned(runs: np.ndarray) -> np.ndarray:
    """Quantities of runs with the two senders exchanged."""
    share, use, first, second, *delays = runs.T
    return np.stack([1 - share, use, second, first, *delays], axis=1)


def _pairs(one: xr.Dataset) -> xr.DataArray:
    """Verdicts of pairs of unlike senders, each pair once."""
    upper = np.triu(np.ones((one.sizes["sender"],) * 2, bool), 1)
    return xr.DataArray(one.verdict.transpose("sender", "beside").values[upper])
