"""The sub-packet paper's Figs. 2, 3 and 8 to 12 on Linux's TCP, compared with the simulator and the chains.

The paper's senders are ns-2's. Here its links carry Linux with the switches off, Linux as it comes with Reno, CUBIC and
BBR, and the simulator's senders by both rule books. What Linux has not, a gateway that sends retransmissions first
(Fig. 12), is left to the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work

from ..statistics import distribution_distance
from .comparison import AGREES, CLOSE, check_length, counts, grade_distance, interval_text
from .crowded_figures import fairness
from .crowded_laws import CHAINS, MOST_SENT, compiled_law, printed_law
from .crowded_links import LAW, LINKS, QUANTITIES, CrowdedLink, quantities
from .engines import LINUX, PACKETS, Cell, Engine
from .packets_vs_linux import LINUX_SENDERS, PAIRS, SIMULATED
from .study import Study, difference, means

if TYPE_CHECKING:
    import plotly.graph_objects as go

RECORD = "linux_sub_packet_recorded.json"
#: Of the simulator: those of `packets_vs_linux` without the longer timeouts.
OURS = {name: SIMULATED[name] for name in ("simulator, RFCs", "simulator, ns-2")}
SENDERS = (*LINUX_SENDERS, *OURS)
#: Our senders by Linux's rules -> the Linux that each is set against.
BY_LINUX = {ours: linux for ours, linux in PAIRS.items() if "Linux's rules" in ours}


@dataclass(frozen=True)
class LinuxSubPacket(Study):
    """The links of the paper's figures with four Linux senders and two of the simulator's.

    Parameters
    ----------
    links : sequence of str     Among `crowded_links.LINKS`.
    seeds : int                 Runs of Linux on each, at least two.
    ours : int                  Runs of the simulator on each, at least two.
    seed : int
    workers : int               Guests of Linux at a time.
    timeout : float             Longest wall time of one of them [s].

    Examples
    --------
    >>> LinuxSubPacket(links=("1 Mbit/s, 100 flows",), seeds=2, ours=2).seeds
    2
    """

    command: ClassVar[str] = "linux-sub-packet"
    effect: ClassVar[tuple[str, str, str]] = ("distance", "distance_low", "distance_high")
    rule: ClassVar[str] = (
        "95 % interval of the distance of the law of packets per round trip from the chain at the measured loss: "
        f"agrees up to {AGREES}, close up to {CLOSE}, differs beyond; undecided: it reaches both sides of {CLOSE}"
    )
    quick: ClassVar[dict[str, Any]] = {"ours": 3}
    salt: ClassVar[int] = 17
    record_name: ClassVar[str] = RECORD
    quantities: ClassVar[Mapping[str, str]] = QUANTITIES
    digits: ClassVar[int] = 5

    links: Sequence[str] = tuple(LINKS)
    seeds: int = 20
    ours: int = 20
    seed: int = 1
    workers: int = 2
    timeout: float = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("links", self.links)
        for name in self.links:
            if name not in LINKS:
                raise DomainError(f"links must list some of {'; '.join(LINKS)}, got {shown(name)}")

    def check_request(self) -> None:
        work = sum(LINKS[name].scenario({}).work for name in self.links)
        check_work(
            f"{self.ours} runs on {len(self.links)} links",
            self.ours * (len(OURS) + len(BY_LINUX)) * work,
            "give fewer of either",
        )

    def replications_of(self, engine: Engine) -> int:
        return self.ours if engine is PACKETS else self.seeds

    def cells(self) -> dict[tuple[str, str], Cell]:
        """(Link, sender) -> what is run; without links that Linux has not, also of our senders by its rules.

        Examples
        --------
        >>> cells = LinuxSubPacket(links=("gateway, SFQ", "gateway, SFQ, priority"), seeds=2).cells()
        >>> sorted(link for link, sender in cells if sender in LINUX_SENDERS)
        ['gateway, SFQ', 'gateway, SFQ', 'gateway, SFQ', 'gateway, SFQ']
        """
        cells = {}
        for name in self.links:
            link, simulated = LINKS[name], OURS
            if link.discipline is not None:
                for sender, (switches, control) in LINUX_SENDERS.items():
                    cells[name, sender] = Cell(link.scenario({}), LINUX, switches, (control,), link.discipline, name)
                simulated = OURS | {sender: SIMULATED[sender] for sender in BY_LINUX}
            cells |= {(name, sender): Cell(link.simulated(how), PACKETS) for sender, how in simulated.items()}
        return cells

    def measure(self, run: xr.Dataset, label: tuple[str, str], cell: Cell) -> list[float]:
        values = quantities(run, LINKS[label[0]])
        return self.packed(values) if cell.engine is LINUX else values

    def compare(self, runs: Mapping[tuple[str, str], xr.DataArray]) -> xr.Dataset:
        """All senders on all links, compared with the chains at the measured losses.

        Returns
        -------
        xarray.Dataset
            Over `link`, `sender`, `quantity` (see `crowded_links.QUANTITIES`): `mean` with its 95 % interval
            `mean_low`, `mean_high`, of `runs` runs. Over `link`, `sender`, `chain`: `distance`, the total-variation
            distance of the distribution of packets sent in a round trip from the chain's at that run's loss [1], with
            its 95 % interval `distance_low`, `distance_high` and its `verdict`; over these and `packets`, `predicted`,
            the chain's distribution at the mean loss.
            Over `link` and `sender`: `jain_predicted`, `locked_out_predicted`, for 20 s by the exact chain at the mean
            loss. Over `link`, `pair`, `quantity`: `difference`, Linux less our sender by its rules (`BY_LINUX`),
            with its 95 % interval `low`, `high`. Along `link`: `flows`, `rate` [bit/s], `share` [kbit/s], `measured`
            [s] and the paper's `figures`.
            NaN where Linux has no such link.
        """
        parts = [self._link(name, runs) for name in self.links]
        result = xr.concat(parts, xr.Variable("link", list(self.links)))
        low, high = result.distance_low, result.distance_high
        result["verdict"] = (high.dims, grade_distance(low, high, AGREES, CLOSE))
        links = [LINKS[name] for name in self.links]
        return result.assign_coords(self.unit_coordinate | {
            "flows": ("link", [link.flows for link in links]),
            "rate": ("link", [link.rate for link in links], {"units": "bit/s"}),
            "share": ("link", [link.share / 1e3 for link in links], {"units": "kbit/s"}),
            "measured": ("link", [link.duration - link.warm_up for link in links], {"units": "s"}),
            "figures": ("link", [" ".join(map(str, link.figures)) for link in links]),
        })  # fmt: skip

    def _link(self, name: str, runs: Mapping[tuple[str, str], xr.DataArray]) -> xr.Dataset:
        """One link: its senders beside the chains, and Linux less our senders by its rules."""
        of_link = {sender: runs.get((name, sender), self.absent()) for sender in (*SENDERS, *BY_LINUX)}
        senders = []
        for measured in (of_link[sender] for sender in SENDERS):
            count = int(np.isfinite(measured.sel(quantity="loss rate")).sum())
            senders.append(means(measured, QUANTITIES).assign(runs=((), count)).merge(_chains(measured)))
        result = xr.concat(senders, xr.Variable("sender", list(SENDERS)))
        losses = result["mean"].sel(quantity="loss rate", drop=True)
        pairs = [difference(of_link[linux], of_link[ours]) for ours, linux in BY_LINUX.items()]
        apart = xr.concat(pairs, xr.Variable("pair", list(BY_LINUX))).drop_vars("verdict")
        return result.assign(_windows(LINKS[name], losses)).merge(apart)

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Fig. 2: Jain's index in 20 s against the fair share; `crowded_figures` has the others."""
        return fairness(result)

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        parts = [
            f"{link}: " + "; ".join(_in_words(result.sel(link=link, sender=sender)) for sender in _there(result, link))
            for link in map(str, result.link.values)
        ]
        return (
            f"Linux {result.attrs['linux']}. Means with 95% intervals of the loss, of the share of round trips in "
            "silence, of Jain's index and of the share of flows that get nothing, both in 20 s.\n\n"
            + "\n\n".join(f"{part}." for part in parts)
            + "\n\nPackets sent in a round trip, against the printed chain: "
            + "; ".join(f"{sender} {_verdicts(result, sender)}" for sender in map(str, result.sender.values))
            + ".\n\nOf the quantities, those of which the difference between Linux and our sender by its rules has an "
            "interval that holds zero: "
            + "; ".join(_alike(result, link) for link in map(str, result.link.values) if _alike(result, link))
            + "."
        )


def _alike(result: xr.Dataset, link: str) -> str:
    one = result.sel(link=link)
    known = np.isfinite(one.difference)
    if not known.any():
        return ""
    agree = (one.low <= 0) & (one.high >= 0) & known
    counted = [f"{int(a)} of {int(n)}" for a, n in zip(agree.sum("quantity"), known.sum("quantity"), strict=True)]
    return f"{link}: {', '.join(counted)}"


def _chains(runs: xr.DataArray) -> xr.Dataset:
    """Distances of the runs' laws from the chains at each run's loss, and the chains' laws at the mean loss."""
    losses = runs.sel(quantity="loss rate").values
    laws = runs.sel(quantity=list(LAW)).values
    out = []
    for law_of in (printed_law, compiled_law):
        gap = xr.DataArray(laws - law_of(losses), dims=("replication", "packets"))
        far = distribution_distance(gap, "packets")
        out.append(xr.Dataset({
            "distance": far["distance"], "distance_low": far["low"], "distance_high": far["high"],
            "predicted": ("packets", law_of(np.array([losses.mean()]))[0], {"units": "1"}),
        }))  # fmt: skip
    return xr.concat(out, xr.Variable("chain", list(CHAINS))).assign_coords(packets=np.arange(MOST_SENT + 1))


def _windows(link: CrowdedLink, losses: xr.DataArray) -> dict[str, Any]:
    """Jain's index and lock-out in 20 s, by the exact chain at the loss of each sender; NaN without any."""
    from tcpdynamics.models import SubPacketExact
    from tcpdynamics.solvers import windowed

    there = (losses > 0) & (losses < 0.5)
    model = SubPacketExact(loss=losses.where(there, 0.1).values)
    over = windowed(model.chain(), model.delivered(), round(20.0 / float(link.epochs.mean())))
    return {
        name: ("sender", np.where(there, over[which].values, np.nan), {"units": "1"})
        for name, which in (("jain_predicted", "jain"), ("locked_out_predicted", "nothing"))
    }


def _there(result: xr.Dataset, link: str) -> list[str]:
    """Senders that were run on a link."""
    known = result["mean"].sel(link=link, quantity="loss rate")
    return [str(name) for name in known.sender.values[np.isfinite(known.values)]]


def _in_words(part: xr.Dataset) -> str:
    named = {"loss rate": "loss", "0 sent": "silent", "Jain's index, 20 s": "Jain", "locked out for 20 s": "locked out"}
    numbers = [f"{word} {interval_text(part.sel(quantity=quantity))}" for quantity, word in named.items()]
    return f"{part.sender.values!s}: {', '.join(numbers)}"


def _verdicts(result: xr.Dataset, sender: str) -> str:
    part = result.verdict.sel(sender=sender, chain=CHAINS[0])
    return counts(part[np.isfinite(result.distance.sel(sender=sender, chain=CHAINS[0]).values)])
