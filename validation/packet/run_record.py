"""Raw result of a run of the compiled loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernel import records as k

#: Equal pieces of the measured part; losses that chance deals out are independent between them.
PIECES = 8


@dataclass(frozen=True, eq=False)
class Run:
    """Raw outcome of a run (N flows, L links); `counts`, `sums`, `levels`, `links` are of the measured part.

    `totals`, `counts` : (N, records.COUNTS). `sums` : (N, records.SUMS) seconds. `in_flight` : (N,) data packets
    under way at the end. `arrived`, `dropped` : (N, PIECES) data packets at the first link of their way, lost
    on any, in equal pieces of the measured part. `links` : name -> (L,) array. `stopped` : simulated time reached [s].
    """

    sim: k.Sim
    totals: NDArray[np.int64]
    counts: NDArray[np.int64]
    levels: NDArray[np.int64]
    sums: NDArray[np.float64]
    arrived: NDArray[np.int64]
    dropped: NDArray[np.int64]
    in_flight: NDArray[np.int64]
    epoch: NDArray[np.float64]
    base_rtt: NDArray[np.float64]
    links: dict[str, NDArray[Any]]
    stopped: float
    interrupted: bool
