"""Read what the script has written."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .plan import Plan
from .sources import NAMES


@dataclass(frozen=True)
class Packets:
    """What happened to data packets, in the order of time.

    Attributes
    ----------
    time : (n,) float array [s]
    flow, segment : (n,) int array
    """

    time: np.ndarray
    flow: np.ndarray
    segment: np.ndarray


def read_trace(path: Path, made: Plan) -> tuple[Packets, Packets, Packets, Packets]:
    """Data packets sent, received, and lost anywhere; acknowledgements lost anywhere.

    A line of the tagged format reads, with single spaces and these places when split::

        + 0.16 -s 1 -d 0 -p tcp -e 500 -c 3 -i 7 -a 3 -x {1.0 4.0 12 ------- null}
        0 1    2  3 4  5 6  7   8  9   10 11 ..        17     18  19
    """
    ids = {name: str(i) for i, name in enumerate(made.nodes)}

    def ends(link: int) -> tuple[str, str]:
        return ids[made.links[link].source], ids[made.links[link].target]

    # Where other flows start or end, packets only pass.
    place = {
        event: {str(i): ends(flow.there[end]) for i, flow in enumerate(made.flows)}
        for event, end in (("+", 0), ("r", -1))
    }
    packets = {event: (array("d"), array("q"), array("q")) for event in "+rda"}  # 24 bytes a packet; there are millions
    with path.open() as lines:
        for line in lines:
            word = line.split(" ", 20)
            if len(word) < 20:
                continue
            event, owner = word[0], word[11]
            if word[7] not in NAMES:
                if event != "d" or word[7] != "ack":
                    continue
                event = "a"
            elif event != "d" and (word[3], word[5]) != place[event][owner]:
                continue
            times, flows, segments = packets[event]
            times.append(float(word[1]))
            flows.append(int(owner))
            segments.append(int(word[19]))
    sends, receives, drops, acks = (Packets(*map(np.array, packets[event])) for event in "+rda")
    return sends, receives, drops, acks


def read_timeouts(path: Path, flows: int) -> np.ndarray:
    """Timeouts of each flow between the end of the warm-up and that of the run."""
    table = {"warm": np.zeros(flows, np.int64), "end": np.zeros(flows, np.int64)}
    for line in path.read_text().splitlines():
        when, flow, timeouts = line.split()
        if when in table:
            table[when][int(flow)] = int(timeouts)
    return table["end"] - table["warm"]


def read_finishes(path: Path, flows: int) -> np.ndarray:
    """When all that each flow had to send was acknowledged [s]; infinity where it never was."""
    finish = np.full(flows, np.inf)
    for line in path.read_text().splitlines():
        what, flow, time = line.split()
        if what == "over":
            finish[int(flow)] = min(finish[int(flow)], float(time))
    return finish


def read_windows(path: Path) -> np.ndarray:
    """Rows of time [s], flow, cwnd and ssthresh [packets]; none where nothing was recorded."""
    return np.loadtxt(path, ndmin=2) if path.exists() and path.stat().st_size else np.empty((0, 4))
