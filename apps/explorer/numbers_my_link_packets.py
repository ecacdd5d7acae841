"""The packets' column of the page `my-link`, in the units of `numbers_my_link`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.numbers_my_link import WINDOW, full_rtt
from tcpdynamics.apps.explorer.sub_packet_runs import LONGEST, PACKETS, REPLICATIONS, SHORTEST, interval
from tcpdynamics.validation.comparisons.crowded_links import CrowdedLink
from tcpdynamics.validation.comparisons.packets_vs_linux import SIMULATED
from tcpdynamics.validation.packet import Record, Scenario, replicate

#: Packets of all windows together at most.
WINDOWS = 2_000_000
#: Words of the page -> the simulator's settings by their name in `SIMULATED`.
SENDERS = {
    "linux-reno": "simulator, Linux's rules", "linux-cubic": "simulator, Linux's rules, CUBIC",
    "rfc-reno": "simulator, RFCs",
}  # fmt: skip


def scenario(
    users: float, rate: float, base_rtt: float, buffer: float, packet_size: float, sender: str, queue: str
) -> Scenario:
    """The link as the comparison with Linux has it: acknowledgements with a random delay of up to a packet's time."""
    bits, rtt, size, places, flows = 1e6 * rate, base_rtt / 1e3, int(packet_size), int(buffer), int(users)
    duration = float(np.clip(PACKETS * 8 * size / bits, SHORTEST, LONGEST)) + WINDOW
    queues = {} if queue == "droptail" else {"queue": queue}
    link = CrowdedLink((), flows, bits, places, (rtt, rtt), size, duration, queue=queues)
    # as many packets as pipe and buffer hold: no window of the receiver stands in a sender's way
    pipe = math.ceil(bits * rtt / (8 * size)) + places
    rules = SIMULATED[SENDERS[sender]] | {"window_limit": max(64, min(pipe + 1, WINDOWS // flows))}
    epoch = full_rtt(rate, base_rtt, buffer, packet_size)
    return replace(link.simulated(rules), slice=WINDOW, epoch=epoch, record=Record())


def packets(progress: Callable[[float], None] | None = None, **link: Any) -> pd.DataFrame:
    """Means of a link's runs, with Student's 95 % interval."""
    runs = replicate(scenario(**link), REPLICATIONS, progress=progress)
    measured = {
        "loss": runs.loss_rate, "silent": runs.epoch_fraction.isel(sent_in_epoch=0),
        "jain": runs.slice_jain.mean("slice"), "nothing": runs.slice_starved.mean("slice"),
        "wait": 1e3 * runs.mean_wait, "use": runs.utilisation,
    }  # fmt: skip
    rows = [interval(values, name != "wait") for name, values in measured.items()]
    names = {"mean": "packets", "low": "packets, low", "high": "packets, high"}
    return pd.DataFrame(rows, index=pd.Index(measured, name="quantity")).rename(columns=names).reset_index()
