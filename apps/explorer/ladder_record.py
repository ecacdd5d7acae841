"""What stands beside the chains on the page `ladder`: the sender's chain, its packets and Linux, with intervals.

`ladder_recorded.json` has them; `python -m` with this module's name makes it again, in twenty minutes. Packets are
dropped each by itself, the round trip is constant, the window at most six packets, and an RTO lasts two round trips.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.validation.linux import OLD, TODAY, LinuxSwitches, run_linux_many
from tcpdynamics.validation.packet import Flows, Link, Scenario, replicate
from tcpdynamics.validation.sender_chain import sender_chain
from tcpdynamics.validation.statistics import distribution_distance

from . import sub_packet_sender
from .recorded import ends

FILE = Path(__file__).with_name("ladder_recorded.json")
#: Digits of a measured number, and of the chain's series.
DIGITS, OF_SERIES = 6, 13
#: Of every sender: largest window [packet], least RTO [RTT], doublings of the RTO at most.
WINDOW, TIMEOUT, BACKOFF = 6, 2, 6
#: Drop probabilities at which packets and Linux are measured.
DROPS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
SENDERS = ("sack", "newreno")
#: Of Linux: word -> control of the kernel, and its switches.
LINUX: dict[str, tuple[str, LinuxSwitches]] = {
    "cubic": ("cubic", TODAY), "reno": ("reno", TODAY), "bbr": ("bbr", TODAY), "reno-options-off": ("reno", OLD),
}  # fmt: skip
RUNS = 20
#: [RTT] of the simulator's one flow, as the comparison `ladder` has it.
LONG, BEGINNING = 60_000.0, 500.0
#: Of Linux: round trip [s], flows that share nothing, measured time and what is left out before it [s].
RTT, FLOWS, DURATION, WARM_UP = 0.2, 10, 300.0, 100.0


@cache
def recorded() -> dict[str, Any]:
    """The file."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def on_linux(sender: str, drop: float) -> Scenario:
    """Flows on a link that takes no time to send and drops each data packet by itself.

    Linux adds its least RTO to the round trip, so that an RTO lasts `TIMEOUT` round trips.
    """
    there = Link("sender", "receiver", rate=None, delay=RTT / 2, loss=drop, duplex=False)
    back = Link("receiver", "sender", rate=None, delay=RTT / 2, duplex=False)
    flows = Flows(
        FLOWS, sender, source="sender", target="receiver", window_limit=WINDOW, packet_size=1500, jitter=0.0,
        min_rto=(TIMEOUT - 1) * RTT, max_rto=TIMEOUT * 2**BACKOFF * RTT, start=0.05, start_spread=RTT,
    )  # fmt: skip
    return Scenario(
        (flows,), links=(there, back), duration=WARM_UP + DURATION, warm_up=WARM_UP, epoch=RTT, most_in_epoch=2 * WINDOW
    )


def _lumped(share: np.ndarray) -> np.ndarray:
    """Shares of round trips with 0, 1, ..., `WINDOW` or more packets."""
    return np.concatenate([share[:, :WINDOW], share[:, WINDOW:].sum(axis=1, keepdims=True)], axis=1)


def _row(drop: float, law: np.ndarray, before: np.ndarray, goodput: Any) -> dict[str, Any]:
    """A measured rung: goodput [packet/RTT], its distribution, and how far that is from the rung before."""
    far = distribution_distance(xr.DataArray(law - before, dims=("replication", "packets")), "packets")
    return {
        "drop": drop, "goodput": ends(goodput, DIGITS, False), "sent": [ends(one, DIGITS) for one in law.T],
        "distance": [float(f"{float(far[end]):.{DIGITS}g}") for end in ("distance", "low", "high")],
    }  # fmt: skip


def _shortened(coefficients: Sequence[float]) -> list[float]:
    """Coefficients of a series to the decimals that it is exact to, without those that are zero then at its end."""
    kept = [round(c, OF_SERIES) for c in coefficients]
    return kept[: max((k for k, c in enumerate(kept) if c), default=0) + 1]


def record(
    workers: int = 2,
    runs: int = RUNS,
    long: float = LONG,
    drops: Sequence[float] = DROPS,
    senders: Sequence[str] = SENDERS,
    linux: Sequence[str] = tuple(LINUX),
) -> dict[str, Any]:
    """Compile, simulate and run Linux: what the file is to hold; `workers` guests of Linux at a time."""
    kernel, out = "", {}
    for sender in senders:
        chain = sender_chain(sender, WINDOW, rules="rfc", backoff_cap=BACKOFF)
        fields = {"sender": sender, "rules": "rfc", "w_max": WINDOW, "base_timeout": TIMEOUT, "backoff_cap": BACKOFF}
        series = sub_packet_sender.law(fields)
        pieces = [[_shortened(of) for of in piece] for piece in series["pieces"]]
        one: dict[str, Any] = {
            "series": series | {"pieces": pieces}, "packets": [], "linux": {word: [] for word in linux}
        }  # fmt: skip
        for drop in drops:
            scenario = chain.setting.scenario(drop, duration=BEGINNING + long, warm_up=BEGINNING, slice=long, seed=1)
            flows = replicate(scenario, runs)
            law = _lumped(flows.epoch_fraction.values)
            one["packets"].append(_row(drop, law, chain.at(drop), flows.goodput_packet_rate.mean("flow").values))
            for word in linux:
                control, switches = LINUX[word]
                options: dict[str, Any] = {"switches": switches, "controls": (control,), "timeout": 600.0}
                results = run_linux_many(on_linux(sender, drop), range(1, runs + 1), workers, **options)
                of_linux = _lumped(np.array([run.epoch_fraction.values for run in results]))
                goodput = [RTT * float(run.goodput_packet_rate.mean()) for run in results]
                one["linux"][word].append(_row(drop, of_linux, law, goodput))
                kernel = results[0].attrs["simulator"]
        out[sender] = one
    return {"kernel": kernel, "window": WINDOW, "drops": list(drops), "senders": out}


if __name__ == "__main__":
    print(json.dumps(record(), separators=(",", ":")))
