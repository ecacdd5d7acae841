"""Our senders compared with Linux's, packet by packet: single flows on a link without congestion, with chosen losses.

The first send that differs has a cause, which is found by rule and counted. What else Linux does is turned on one at a
time. A difference is a measured size and no fault: our senders by the RFCs keep to these, Linux has rules of its own.
Those by Linux's rules should have none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.errors import DomainError

from ..linux import OLD, TODAY, LinuxSwitches
from ..packet import Bottleneck, Drop, Flows, Record, Scenario
from .comparison import Verdict
from .engines import LINUX, PACKETS, Cell, Engine
from .send_difference import RTT, Difference, Kind, Losses, Sends, difference
from .study import Study

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Name -> sender and control of `Flows`.
SENDERS: dict[str, dict[str, Any]] = {
    f"{control}, {sender}": {"sender": sender, "control": control}
    for control in ("reno", "cubic")
    for sender in ("sack", "newreno")
}
_RFC: dict[str, Any] = {"rules": "rfc", "handshake": True, "max_backoff": 65536}
#: Ours beside Linux: by the RFCs, also with the timeout that Linux has where round trips do not vary; by its own rules.
OURS: dict[str, dict[str, Any]] = {
    "RFCs": _RFC | {"min_rto": 0.2},
    "RFCs, least timeout 0.3 s": _RFC | {"min_rto": 0.3},
    "Linux's rules": {"rules": "linux", "clock_phase": 1.008, "min_rto": 0.2},
}
#: Switch -> what our senders by Linux's rules are given for it; the others are not theirs.
SWITCHED: dict[str, dict[str, Any]] = {
    "tail loss probes": {"loss_probes": True}, "F-RTO": {"frto": True}, "time stamps": {"timestamps": True},
    "DSACK": {}, "compressed acknowledgements": {}, "first window of 10": {"initial_window": 10},
    "slow start after idle": {}, "least timeout of 1 s": {"min_rto": 1.0},
}  # fmt: skip
#: What is turned on alone, from the switches off; and all at once.
SWITCHES: dict[str, LinuxSwitches] = {
    "tail loss probes": replace(OLD, tlp=True), "F-RTO": replace(OLD, frto=True),
    "time stamps": replace(OLD, timestamps=True), "DSACK": replace(OLD, dsack=True),
    "compressed acknowledgements": replace(OLD, sack_compression=True), "HyStart": replace(OLD, hystart=True),
    "first window of 10": replace(OLD, initial_window=10),
    "slow start after idle": replace(OLD, slow_start_after_idle=True),
    "delayed acknowledgements": replace(OLD, delayed_ack=True), "pacing": replace(OLD, pacing=True),
    "least timeout of 1 s": replace(OLD, min_rto=1.0), "as it comes": TODAY,
}  # fmt: skip
RATE = 1e7
SIZE = 1000
SEGMENTS = 100


def drawn(lists: int, seed: int) -> list[Losses]:
    """Lists of losses, of four kinds and two windows in turn.

    Examples
    --------
    >>> [(one.kind, one.window) for one in drawn(5, 1)][::4]
    [('scattered', 20), ('scattered', 64)]
    """
    return [_draw(i, np.random.default_rng([seed, 16, i])) for i in range(lists)]


def _draw(i: int, rng: np.random.Generator) -> Losses:
    kind = ("scattered", "adjacent", "retransmission", "tail")[i % 4]
    window = (20, 64)[i // 4 % 2]
    first = int(rng.integers(3, SEGMENTS - 5))
    if kind == "scattered":
        chosen = rng.choice(np.arange(1, SEGMENTS + 1), rng.integers(1, 7), replace=False).tolist()
    elif kind == "adjacent":
        chosen = list(range(first, first + int(rng.integers(2, 6))))
    elif kind == "tail":
        chosen = list(range(SEGMENTS + 1 - int(rng.integers(1, 5)), SEGMENTS + 1))
    else:  # where a third duplicate has it sent again: in slow start, at a full window, at the end
        chosen = [first, min(2 * first + 3, first + window, SEGMENTS + 1)]
    return Losses(kind, window, tuple(sorted(int(n) for n in chosen)))


@dataclass(frozen=True)
class LinuxSends(Study):
    """One flow of 100 segments of 1000 bytes on 10 Mbit/s, 0.1 s, a buffer that never fills, with chosen losses.

    Parameters
    ----------
    lists : int            Lists of losses.
    switched : int         The first so many are run again with each switch turned on.
    seed : int
    timeout : float        Longest wall time of a run of Linux [s].

    Examples
    --------
    >>> LinuxSends().scenario("reno, sack", drawn(1, 1)[0]).count
    1
    """

    command: ClassVar[str] = "linux-sends"
    effect: ClassVar[tuple[str, str, str]] = ("differing", "low", "high")
    rule: ClassVar[str] = (
        "agrees: no list differs; differs: one does; intervals of the share at 95 % (Clopper and Pearson)"
    )
    quick: ClassVar[dict[str, Any]] = {"lists": 8, "switched": 4}
    record_name: ClassVar[str] = "linux_sends_recorded.json"

    lists: int = 32
    switched: int = 8
    seed: int = 1
    timeout: float = 120.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.switched <= self.lists <= 1000:
            raise DomainError(
                f"switched and lists must be 1 <= switched <= lists <= 1000, got {self.switched} and {self.lists}"
            )

    def scenario(self, sender: str, losses: Losses, ours: dict[str, Any] | None = None) -> Scenario:
        """A flow with its losses: of Linux, or of ours with what it is given.

        In Linux the acknowledgement that ends the handshake passes the bottleneck too, so that packets count one more.
        """
        more: dict[str, Any] = {}
        if ours is not None:
            more = {"initial_window": 2} | ours
        flow = Flows(
            rtt=RTT, packet_size=SIZE, segments=SEGMENTS, window_limit=losses.window, max_rto=120.0,
            **SENDERS[sender], **more,
        )  # fmt: skip
        lost = tuple(Drop(link="bottleneck", packet=n + (ours is None)) for n in losses.packets)
        return Scenario(
            (flow,), Bottleneck(RATE, 1000), 30.0, 0.0, "chosen losses", self.seed, epoch=1.0, slice=30.0,
            drops=lost, record=Record(sends=True),
        )  # fmt: skip

    def roots(self, engine: Engine = LINUX) -> list[int]:
        """One run of each list."""
        return [self.seed]

    def cells(self) -> dict[tuple[str, str, int], Cell]:
        """(Sender, what runs it, number of the list) -> what is run: Linux, also with each switch, and ours."""
        lists = drawn(self.lists, self.seed)
        linux = {"Linux": OLD} | SWITCHES
        followed = {f"ours, {name}": OURS["Linux's rules"] | more for name, more in SWITCHED.items()}
        ours = OURS | followed
        cells: dict[tuple[str, str, int], Cell] = {}
        for sender in SENDERS:
            for i, losses in enumerate(lists):
                switched = i < self.switched
                cells |= {
                    (sender, name, i): Cell(self.scenario(sender, losses), LINUX, switches)
                    for name, switches in linux.items()
                    if switched or name == "Linux"
                }
                cells |= {
                    (sender, name, i): Cell(self.scenario(sender, losses, how), PACKETS)
                    for name, how in ours.items()
                    if switched or name in OURS
                }
        return cells

    def measure(self, run: xr.Dataset, label: Any, cell: Cell) -> Sends:
        return Sends.of(run)

    def packed(self, measured: Sends) -> str:
        return measured.packed()

    def unpacked(self, record: str) -> Sends:
        return Sends.unpacked(record)

    def gathered(self, runs: list[Sends]) -> Sends:
        return runs[0]

    def compare(self, runs: Mapping[tuple[str, str, int], Sends]) -> xr.Dataset:
        """Send by send, list by list.

        Returns
        -------
        xarray.Dataset
            Over `sender`, `ours`, `list`: `prefix`, `kind`, `size`, `offset`, `ticks`, `same_segments`, as of
            `Difference`. Over `sender`, `ours`: `differing`, the fraction of lists that differ, with its interval
            `low`, `high` and its `verdict`. Over `switch`, `sender`: `changed`, the fraction of the switched lists in
            which the switch changes what Linux sends. `followed` is that in which ours by Linux's rules send as Linux
            with the switch (not a number: not theirs). Over `list`: `losses`, in words, and `window`.
        """
        lists = drawn(self.lists, self.seed)
        later = {name: RTT + 0.2 - how["min_rto"] for name, how in OURS.items() if how["rules"] != "linux"}

        def against(sender: str, one: str, other: str, i: int) -> Difference:
            return difference(runs[sender, one, i], runs[sender, other, i], lists[i], later.get(one, 0.0))

        def alike(sender: str, one: str, other: str) -> float:
            """Share of the switched lists in which both send the same."""
            kinds = [against(sender, one, other, i).kind for i in range(self.switched)]
            return kinds.count(Kind.NONE) / self.switched

        differences = [
            [[against(sender, name, "Linux", i) for i in range(self.lists)] for name in OURS] for sender in SENDERS
        ]
        changed = [[1.0 - alike(sender, "Linux", name) for sender in SENDERS] for name in SWITCHES]
        followed = [
            [alike(sender, f"ours, {name}", name) if name in SWITCHED else float("nan") for sender in SENDERS]
            for name in SWITCHES
        ]
        result = _dataset(differences, lists)
        result["changed"] = (("switch", "sender"), np.array(changed), {"units": "1"})
        result["followed"] = (("switch", "sender"), followed, {"units": "1"})
        return result.assign_coords(switch=list(SWITCHES))

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """What decides the first difference, in how many lists, of each sender."""
        from tcpdynamics.charts.drawing import go, make_subplots

        names = [str(name) for name in result.ours.values]
        panels = make_subplots(1, len(names), subplot_titles=[f"ours: {name}" for name in names], shared_yaxes=True)
        for column, name in enumerate(names, 1):
            kinds = result.kind.sel(ours=name)
            for kind, colour in zip(Kind, [*COLOURS, *COLOURS], strict=False):
                panels.add_trace(
                    go.Bar(
                        x=result.sender.values, y=(kinds == kind.value).sum("list").values, name=str(kind),
                        legendgroup=str(kind), showlegend=column == 1, marker_color=colour,
                    ),
                    row=1, col=column,
                )  # fmt: skip
        panels.update_yaxes(title_text="lists of losses", col=1)
        panels.update_layout(
            height=460, template="plotly_white", barmode="stack", legend=LEGEND_BELOW | {"y": -0.2}, margin={"t": 40}
        )
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        n = result.sizes["list"]
        parts = []
        for ours in map(str, result.ours.values):
            for sender in map(str, result.sender.values):
                part = result.sel(ours=ours, sender=sender)
                agree, segments = (int(x.sum()) for x in (part.kind == Kind.NONE.value, part.same_segments))
                share = float(part["prefix"].sum() / part.sends.sum())
                parts.append(
                    f"{sender}, ours by {ours}: {agree} of {n} lists agree send by send, {segments} in their segments; "
                    f"{share:.0%} of all sends come before the first difference"
                )
        last = result.sel(ours="RFCs, least timeout 0.3 s")
        sizes = []
        for kind in Kind:
            here = last.kind.values == kind.value
            if kind is Kind.NONE or not here.any():
                continue
            late = 1e3 * last["size"].values[here]
            late = late[np.isfinite(late)]
            words = (
                f", Linux later by {late.min():.0f} to {late.max():.0f} ms, median {np.median(late):.0f}"
                if late.size
                else ""
            )
            sizes.append(f"{kind} ({int(here.sum())} of {here.size}{words})")
        settings = json.loads(result.attrs["parameters"])
        switches = [
            f"{name} {round(float(result.changed.sel(switch=name).sum()) * settings['switched'])}"
            for name in map(str, result.switch.values)
        ]
        total = f"{settings['switched']} lists with each of {result.sizes['sender']} senders"
        followed = [
            f"{name} {round(float(result.followed.sel(switch=name).sum()) * settings['switched'])}" for name in SWITCHED
        ]
        return (
            f"Linux {result.attrs['linux']}, {n} lists of lost packets for each sender.\n\n"
            + "\n\n".join(f"{part}." for part in parts)
            + f"\n\nWhat decides the first difference (ours by {last.ours.item()}): {'; '.join(sizes)}.\n\n"
            f"Timeouts come up to {1e3 * float(last.ticks.max()):.0f} ms late by the timer wheel; all else of what "
            f"agrees is within {1e6 * float((last.offset - last.ticks).max()):.0f} microseconds.\n\n"
            f"Of the first {total}, the runs in which Linux sends otherwise with one switch on: "
            f"{', '.join(switches)}.\n\n"
            f"Of the same, the runs in which ours by Linux's rules, with the switch, send as Linux: "
            f"{', '.join(followed)}."
        )


def _dataset(found: list[list[list[Difference]]], lists: Sequence[Losses]) -> xr.Dataset:
    """Differences, and of each sender the share of lists that differ."""
    from scipy.stats import binomtest

    dims = ("sender", "ours", "list")
    units = {"size": "s", "offset": "s", "ticks": "s"}
    out: dict[str, Any] = {
        name: (
            dims,
            np.array([[[getattr(one, name) for one in row] for row in part] for part in found]),
            {"units": units.get(name, "1")},
        )
        for name in ("prefix", "size", "offset", "ticks", "sends", "same_segments")
    }
    kinds = np.array([[[one.kind.value for one in row] for row in part] for part in found])
    differ = (kinds != Kind.NONE.value).sum(axis=-1)
    tests = [[binomtest(int(k), len(lists)).proportion_ci(0.95) for k in row] for row in differ]
    out |= {
        "kind": (dims, kinds),
        "differing": (dims[:2], differ / len(lists), {"units": "1"}),
        "low": (dims[:2], [[one.low for one in row] for row in tests], {"units": "1"}),
        "high": (dims[:2], [[one.high for one in row] for row in tests], {"units": "1"}),
        "verdict": (dims[:2], np.where(differ, Verdict.DIFFERS.value, Verdict.AGREES.value)),
        "losses": ("list", [f"{one.kind} {' '.join(map(str, one.packets))}" for one in lists]),
        "window": ("list", [one.window for one in lists], {"units": "packets"}),
    }
    coords = {"sender": list(SENDERS), "ours": list(OURS), "list": range(len(lists))}
    return xr.Dataset(out, coords)
