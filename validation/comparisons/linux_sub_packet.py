"""The sub-packet paper's Figs. 2, 3 and 8 to 12 on Linux's TCP, with the simulator and the chains beside them.

The paper's senders are ns-2's. Here its links carry Linux with the switches off, Linux as it comes with Reno, CUBIC and
BBR, and the simulator's senders by both rule books. What Linux has not, a gateway that sends retransmissions first
(Fig. 12), is left to the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.limits import check_work
from tcpdynamics.progress import tracked

from ..linux import run_linux
from ..packet import simulate
from ..statistics import law_distance, mean_interval, two_sample
from .comparison import Comparison, check_length, counts, grade_distance
from .crowded_links import LAW, LINKS, MOST_SENT, QUANTITIES, CrowdedLink, quantities
from .linux_record import kernel, keys, of_key
from .packets_vs_linux import LINUX, PAIRS, SIMULATED

if TYPE_CHECKING:
    import plotly.graph_objects as go
    from scipy.interpolate import BarycentricInterpolator

RECORD = "linux_sub_packet_recorded.json"
#: Of the simulator: those of `packets_vs_linux` without the longer timeouts.
OURS = {name: SIMULATED[name] for name in ("simulator, RFCs", "simulator, ns-2")}
SENDERS = (*LINUX, *OURS)
#: Our senders by Linux's rules -> the Linux that each is set against.
BY_LINUX = {ours: linux for ours, linux in PAIRS.items() if "Linux's rules" in ours}
#: The printed chain (Fig. 8), and that of the simulator's SACK sender by the RFCs.
CHAINS = ("printed chain", "sender's chain")
AGREES, CLOSE = 0.05, 0.10
#: The sender's chain is solved at so many losses up to this one.
_NODES, _MOST_LOSS = 24, 0.6


@dataclass(frozen=True)
class LinuxSubPacket(Comparison):
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

    effect: ClassVar[tuple[str, str, str]] = ("distance", "distance_low", "distance_high")
    rule: ClassVar[str] = (
        "95 % interval of the distance of the law of packets per round trip from the chain at the measured loss: "
        f"agrees up to {AGREES}, close up to {CLOSE}, differs beyond; undecided: it reaches both sides of {CLOSE}"
    )
    quick: ClassVar[dict[str, Any]] = {"ours": 3}

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

    def run(self, live: bool = False) -> xr.Dataset:
        """Run all senders on all links, and the chains at the losses that were measured.

        Parameters
        ----------
        live : bool
            Run Linux now; else take what it gave where it was last run.

        Returns
        -------
        xarray.Dataset
            Over `link`, `sender`, `quantity` (see `crowded_links.QUANTITIES`): `mean` with its 95 % interval
            `mean_low`, `mean_high`, of `runs` runs. Over `link`, `sender`, `chain`: `distance`, the total-variation
            distance of the law of packets sent in a round trip from the chain's at the loss of the same run [1], with
            its 95 % interval `distance_low`, `distance_high` and its `verdict`; over these and `packets`, `predicted`,
            the chain's law at the mean loss.
            Over `link` and `sender`: `jain_predicted`, `locked_out_predicted`, for 20 s by the exact chain at the mean
            loss. Over `link`, `pair`, `quantity`: `difference`, Linux less our sender by its rules (`BY_LINUX`),
            with its 95 % interval `low`, `high`. Along `link`: `flows`, `rate` [bit/s], `share` [kbit/s], `measured`
            [s] and the paper's `figures`.
            NaN where Linux has no such link.

        Raises
        ------
        LinuxError
            If the kernel is not built, fails or takes too long.
        NoRecordError
            If it is not to be run and there is no record of just these runs.
        """
        work = sum(LINKS[name].scenario({}).work for name in self.links)
        check_work(
            f"{self.ours} runs on {len(self.links)} links",
            self.ours * (len(OURS) + len(BY_LINUX)) * work,
            "give fewer of either",
        )
        theirs = self._linux(live)
        parts = []
        for name in tracked(self.links):
            of_link = xr.concat(
                [self._sender(LINKS[name], sender, theirs.get((name, sender))) for sender in SENDERS],
                xr.Variable("sender", list(SENDERS)),
            )
            losses = of_link["mean"].sel(quantity="loss rate", drop=True)
            here = {sender: theirs[name, sender] for sender in LINUX if (name, sender) in theirs}
            parts.append(
                of_link.assign(_windows(LINKS[name], losses)).merge(self._by_linux(LINKS[name], here))
            )
        result = xr.concat(parts, xr.Variable("link", list(self.links)))
        low, high = result.distance_low, result.distance_high
        result["verdict"] = (high.dims, grade_distance(low, high, AGREES, CLOSE))
        said = "run for this comparison" if live else f"as recorded with {kernel(RECORD)}"
        result = result.assign_coords(self._coordinates())
        result.attrs = self.attributes() | {"linux": said}
        return result

    def _coordinates(self) -> dict[str, Any]:
        links = [LINKS[name] for name in self.links]
        return {
            "quantity_unit": ("quantity", list(QUANTITIES.values())),
            "flows": ("link", [link.flows for link in links]),
            "rate": ("link", [link.rate for link in links], {"units": "bit/s"}),
            "share": ("link", [link.share / 1e3 for link in links], {"units": "kbit/s"}),
            "measured": ("link", [link.duration - link.warm_up for link in links], {"units": "s"}),
            "figures": ("link", [" ".join(map(str, link.figures)) for link in links]),
        }

    def cells(self) -> dict[tuple[str, str], list[tuple[str, int]]]:
        """(Link, sender) of Linux -> key of its record and seed, of each run; without links that Linux has not.

        Examples
        --------
        >>> cells = LinuxSubPacket(links=("gateway, SFQ", "gateway, SFQ, priority"), seeds=2).cells()
        >>> sorted({link for link, _ in cells}), len(cells)
        (['gateway, SFQ'], 4)
        """
        seeds = self._seeds(self.seeds)
        return {
            (name, sender): list(
                zip(keys(LINKS[name].scenario({}), how[0], (how[1],), seeds), seeds, strict=True)
            )
            for name in self.links
            if LINKS[name].discipline is not None
            for sender, how in LINUX.items()
        }

    def _seeds(self, count: int) -> list[int]:
        children = np.random.SeedSequence([self.seed, 17]).spawn(count)
        return [int(child.generate_state(1)[0]) for child in children]

    def _linux(self, live: bool) -> dict[tuple[str, str], xr.DataArray]:
        """Quantities of Linux's runs, over `replication` and `quantity`."""
        if not live:
            return {
                cell: _of_runs([of_key(name, f"{cell[0]} with seed {seed}", RECORD) for name, seed in runs])
                for cell, runs in self.cells().items()
            }
        with ThreadPoolExecutor(self.workers) as pool:
            jobs = {
                cell: [pool.submit(self._live, *cell, seed) for _, seed in runs]
                for cell, runs in self.cells().items()
            }
            try:
                return {
                    cell: _of_runs([run.result()[0].values for run in runs])
                    for cell, runs in tracked(list(jobs.items()))
                }
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _live(self, link: str, sender: str, seed: int) -> tuple[xr.DataArray, dict[str, str]]:
        (switches, control), one = LINUX[sender], LINKS[link]
        queues = {"bottleneck": one.discipline} if one.discipline else None
        run = run_linux(one.scenario({}), seed, self.timeout, switches, (control,), queues)
        told = {"kernel": run.attrs["simulator"], "options": run.attrs["kernel"]}
        return quantities(run, one).pipe(_rounded), told

    def _sender(self, link: CrowdedLink, sender: str, runs: xr.DataArray | None) -> xr.Dataset:
        """One link and sender, from Linux's runs or ours."""
        if sender in OURS:
            runs = self._ours(link, OURS[sender])
        elif runs is None:
            runs = _of_runs(np.full((2, len(QUANTITIES)), np.nan))
        means = mean_interval(runs)
        out = {
            "mean": means["mean"], "mean_low": means["low"], "mean_high": means["high"],
            "runs": ((), int(np.isfinite(runs.sel(quantity="loss rate")).sum())),
        }  # fmt: skip
        return xr.Dataset(out).merge(_chains(runs))

    def _ours(self, link: CrowdedLink, sender: dict[str, Any]) -> xr.DataArray:
        scenario = link.simulated(sender)
        return _of_runs([quantities(simulate(scenario, s), link).values for s in self._seeds(self.ours)])

    def _by_linux(self, link: CrowdedLink, theirs: dict[str, xr.DataArray]) -> xr.Dataset:
        """Linux less our senders by its rules, where Linux has the link."""
        nothing = _of_runs(np.full((2, len(QUANTITIES)), np.nan))
        parts = []
        for ours, linux in BY_LINUX.items():
            there = linux in theirs
            parts.append(
                two_sample(theirs[linux], self._ours(link, SIMULATED[ours]))
                if there
                else two_sample(nothing, nothing)
            )
        two = xr.concat(parts, xr.Variable("pair", list(BY_LINUX)))
        return xr.Dataset({"difference": two["difference"], "low": two["low"], "high": two["high"]})

    def record(self) -> dict[str, Any]:
        """Run Linux alone on all links; what `linux_sub_packet_recorded.json` is to hold of them."""
        told: dict[str, Any] = {}
        runs: dict[str, list[float]] = {}
        with ThreadPoolExecutor(self.workers) as pool:
            jobs = {
                name: pool.submit(self._live, *cell, seed)
                for cell, each in self.cells().items()
                for name, seed in each
            }
            for name, job in tracked(list(jobs.items())):
                values, of_kernel = job.result()
                told, runs[name] = of_kernel, values.values.tolist()
        return told | {"runs": dict(sorted(runs.items()))}

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Fig. 2: Jain's index in 20 s against the fair share; `crowded_figures` has the others."""
        from .crowded_figures import fairness

        return fairness(result)

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """What the comparison says, in words made from its numbers."""
        parts = [
            f"{link}: "
            + "; ".join(_in_words(result.sel(link=link, sender=sender)) for sender in _there(result, link))
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
    counted = [
        f"{int(a)} of {int(n)}" for a, n in zip(agree.sum("quantity"), known.sum("quantity"), strict=True)
    ]
    return f"{link}: {', '.join(counted)}"


def _of_runs(runs: Any) -> xr.DataArray:
    """Quantities of runs, over `replication` and `quantity`."""
    return xr.DataArray(np.array(runs), {"quantity": list(QUANTITIES)}, ("replication", "quantity"))


def _rounded(values: xr.DataArray) -> xr.DataArray:
    """To five digits, as they are recorded."""
    return values.copy(data=[float(f"{x:.5g}") for x in values.values])


def _chains(runs: xr.DataArray) -> xr.Dataset:
    """Distances of the runs' laws from the chains at each run's loss, and the chains' laws at the mean loss."""
    losses = runs.sel(quantity="loss rate").values
    laws = runs.sel(quantity=list(LAW)).values
    out = []
    for law_of in (printed_law, compiled_law):
        gap = xr.DataArray(laws - law_of(losses), dims=("replication", "packets"))
        far = law_distance(gap, "packets")
        out.append(xr.Dataset({
            "distance": far["distance"], "distance_low": far["low"], "distance_high": far["high"],
            "predicted": ("packets", law_of(np.array([losses.mean()]))[0], {"units": "1"}),
        }))  # fmt: skip
    return xr.concat(out, xr.Variable("chain", list(CHAINS))).assign_coords(packets=np.arange(MOST_SENT + 1))


def printed_law(losses: np.ndarray) -> np.ndarray:
    """(loss, 7) P(0, ..., 6 packets sent) by the printed chain; NaN from a loss of 0.5 on, where there is none.

    Examples
    --------
    >>> printed_law(np.array([0.1, 0.6])).sum(axis=1).round(9).tolist()
    [1.0, nan]
    """
    from tcpdynamics.models import SubPacketFull
    from tcpdynamics.solvers import stationary

    there = (losses > 0) & (losses < 0.5)
    model = SubPacketFull(loss=np.where(there, losses, 0.1))
    laws = model.observe(stationary(model.chain())).sent.values
    return np.where(there[:, None], laws, np.nan)


def compiled_law(losses: np.ndarray) -> np.ndarray:
    """(loss, 7) P(0, ..., 6 packets sent) by the chain of the simulator's SACK sender; NaN without a loss in (0, 0.6).

    A law is a rational function of the loss without a pole there: a polynomial through 24 of them is it, to 10^-5.

    Examples
    --------
    >>> compiled_law(np.array([0.1])).sum(axis=1).round(9).tolist()
    [1.0]
    """
    there = (losses > 0) & (losses < _MOST_LOSS)
    return np.where(there[:, None], _laws_of_sender()(np.where(there, losses, 0.1)), np.nan)


@lru_cache(maxsize=1)
def _laws_of_sender() -> BarycentricInterpolator:
    from scipy.interpolate import BarycentricInterpolator

    from ..sender_chain import sender_chain

    # Linux never forgets the round-trip time.
    chain = sender_chain("sack", MOST_SENT, rules="rfc", backoff_cap=8, clear_rtt_after=65536)
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    losses = _MOST_LOSS * (1.0 - np.cos(angles)) / 2
    return BarycentricInterpolator(losses, np.array([chain.at(p) for p in losses.tolist()]))


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
    named = {
        "loss rate": "loss",
        "0 sent": "silent",
        "Jain's index, 20 s": "Jain",
        "locked out for 20 s": "locked out",
    }
    numbers = [f"{word} {interval_text(part.sel(quantity=quantity))}" for quantity, word in named.items()]
    return f"{part.sender.values!s}: {', '.join(numbers)}"


def interval_text(part: xr.Dataset, digits: int = 3) -> str:
    """A mean with its interval.

    Examples
    --------
    >>> interval_text(xr.Dataset({"mean": 0.25, "mean_low": 0.2, "mean_high": 0.3}))
    '0.250 [0.200, 0.300]'
    """
    mean, low, high = (f"{float(part[name]):.{digits}f}" for name in ("mean", "mean_low", "mean_high"))
    return f"{mean} [{low}, {high}]"


def _verdicts(result: xr.Dataset, sender: str) -> str:
    part = result.verdict.sel(sender=sender, chain=CHAINS[0])
    return counts(part[np.isfinite(result.distance.sel(sender=sender, chain=CHAINS[0]).values)])
