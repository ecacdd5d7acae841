"""Raw result of a run of the compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
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


def together(runs: Sequence[Run]) -> Run:
    """Runs whose arrays have the same shapes as one, with an axis before the others; of `sim`, what tables need."""
    first = runs[0]
    several: dict[str, Any] = {
        f.name: _stacked([getattr(run, f.name) for run in runs])
        for f in fields(Run)
        if isinstance(getattr(first, f.name), np.ndarray)
    }
    arrays = {name: _stacked([getattr(run.sim, name) for run in runs]) for name in _OF_TABLES}
    links = {name: _stacked([run.links[name] for run in runs]) for name in first.links}
    return replace(first, sim=first.sim._replace(**arrays), links=links, **several)


_OF_TABLES = ("world", "flows", "links", "hops", "epochs", "silences", "slices", "waits", "webs")


def _stacked(arrays: list[Any]) -> Any:
    """As `np.stack`, which looks at each field of records: that takes a thousand times as long."""
    if len(arrays) == 1:
        return arrays[0][None]
    if not arrays[0].size:
        return np.stack(arrays)
    # What is transposed stays so: sums over an axis depend on which of them is next to each other in memory.
    transposed = not arrays[0].flags.c_contiguous
    rows = [one.T for one in arrays] if transposed else arrays
    stacked = np.frombuffer(b"".join(rows), rows[0].dtype).reshape(len(rows), *rows[0].shape)
    return np.swapaxes(stacked, -1, -2) if transposed else stacked
