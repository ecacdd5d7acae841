"""Raw result of a run of the compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from .epochs import Checkpoint
from .kernel import records as k

_Record = TypeVar("_Record")

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


@dataclass(frozen=True, eq=False)
class Counted:
    """What a run has counted by its end: at the ends of the warm-up and of the run, and in between.

    `pieces` : (PIECES + 1, 2, N) data packets arrived and lost until each piece of the measured part.
    """

    sim: k.Sim
    before: Checkpoint
    after: Checkpoint
    pieces: NDArray[np.int64]
    base_rtt: NDArray[np.float64]
    stopped: float
    interrupted: bool


def together(runs: Sequence[_Record]) -> _Record:
    """Runs whose arrays have the same shapes as one, with an axis before the others; of `sim`, what tables need."""
    return cast(_Record, _joined(runs, _stacked))


def one_of(run: _Record, i: int) -> _Record:
    """One of runs that are together."""
    return cast(_Record, _joined([run], lambda arrays: arrays[0][i]))


def _joined(records: Sequence[Any], join: Callable[[list[Any]], Any]) -> Any:
    first = records[0]
    if isinstance(first, np.ndarray):
        return join(list(records))
    if isinstance(first, dict):
        return {name: _joined([record[name] for record in records], join) for name in first}
    of_sim = isinstance(first, k.Sim)
    names = OF_TABLES if of_sim else [f.name for f in fields(first)] if is_dataclass(first) else ()
    parts = {name: _joined([getattr(record, name) for record in records], join) for name in names}
    return first._replace(**parts) if of_sim else replace(first, **parts) if parts else first


#: Arrays of `Sim` that tables are made from.
OF_TABLES = (
    "world", "flows", "links", "hops", "events", "counts", "sums", "epochs", "silences", "slices", "waits", "webs",
)  # fmt: skip


def _stacked(arrays: list[Any]) -> Any:
    """As `np.stack`, which looks at each field of records: that takes a thousand times as long."""
    if len(arrays) == 1:
        return arrays[0][None]
    if not arrays[0].size:
        return np.stack(arrays)
    buffers: list[Any] = [np.ascontiguousarray(one) for one in arrays]
    return np.frombuffer(bytearray().join(buffers), arrays[0].dtype).reshape(len(arrays), *arrays[0].shape)
