"""Packets at a point of `my-link`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import DomainError

from .jobs import WORK_PER_SECOND, Parts, Progress
from .numbers_my_link import WINDOW, full_rtt
from .sub_packet_runs import LONGEST, PACKETS, REPLICATIONS, SHORTEST, interval, read_for

if TYPE_CHECKING:
    from tcpdynamics.validation.packet import Scenario

#: Packets of all windows together at most.
WINDOWS = 2_000_000
#: Words of the page -> the simulator's settings by their name in `packets_vs_linux.SIMULATED`; none for BBR.
SENDERS = {
    "linux-reno": "simulator, Linux's rules", "linux-cubic": "simulator, Linux's rules, CUBIC", "linux-bbr": "",
    "rfc-reno": "simulator, RFCs",
}  # fmt: skip


def read(words: Mapping[str, Any]) -> dict[str, Any]:
    """The page's values, checked as in its address.

    Raises
    ------
    InputError
        A value that the page refuses, or a sender that the simulator does not have.
    """
    values = read_for("my-link", words)
    if not SENDERS[values["sender"]]:
        raise DomainError("the packet simulator has no BBR; choose another sender")
    return values


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The link as the comparison with Linux has it: acknowledgements with a random delay of up to a packet's time."""
    from tcpdynamics.validation.comparisons.crowded_links import CrowdedLink
    from tcpdynamics.validation.comparisons.packets_vs_linux import SIMULATED
    from tcpdynamics.validation.packet import Record

    rate, rtt, size = 1e6 * values["rate"], values["base_rtt"] / 1e3, int(values["packet_size"])
    duration = float(np.clip(PACKETS * 8 * size / rate, SHORTEST, LONGEST)) + WINDOW
    queue = {} if values["queue"] == "droptail" else {"queue": values["queue"]}
    link = CrowdedLink((), int(values["users"]), rate, int(values["buffer"]), (rtt, rtt), size, duration, queue=queue)
    # as many packets as pipe and buffer hold: no window of the receiver stands in a sender's way
    pipe = math.ceil(rate * rtt / (8 * size)) + int(values["buffer"])
    sender = SIMULATED[SENDERS[values["sender"]]] | {"window_limit": max(64, min(pipe + 1, WINDOWS // link.flows))}
    epoch = full_rtt(*(values[k] for k in ("rate", "base_rtt", "buffer", "packet_size")))
    return replace(link.simulated(sender), slice=WINDOW, epoch=epoch, record=Record())


def cost(values: Mapping[str, Any], typed: str) -> dict[str, float]:
    """Packets that the runs carry at most, and the seconds of a run by the library's estimate of its work."""
    one = scenario(read(values))
    packets, work = one.duration * one.packet_rate, one.work
    return {"packets": REPLICATIONS * packets, "seconds": REPLICATIONS * work / WORK_PER_SECOND}


def run(words: dict[str, Any], progress: Progress) -> Parts:
    """Simulate: means with Student's 95 % interval over the runs."""
    from tcpdynamics.validation.packet import replicate

    runs = replicate(scenario(words), REPLICATIONS, progress=progress)
    measured = {
        "loss": runs.loss_rate, "silent": runs.epoch_fraction.isel(sent_in_epoch=0),
        "jain": runs.slice_jain.mean("slice"), "nothing": runs.slice_starved.mean("slice"),
        "wait": 1e3 * runs.mean_wait, "use": runs.utilisation,
    }  # fmt: skip
    answer = {name: interval(values) for name, values in measured.items()}
    about = {"runs": REPLICATIONS, "seconds": scenario(words).duration - WINDOW}
    return {"result.json": json.dumps(answer | about, allow_nan=False).encode()}
