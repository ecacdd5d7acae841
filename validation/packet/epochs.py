"""What is counted until the end of a part of a run, and the epochs whose lengths are measured in the warm-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .kernel import changes
from .kernel import records as k
from .scenario.scenario import Scenario


def base_rtts(sim: k.Sim, scenario: Scenario) -> NDArray[np.float64]:
    """Propagation and sending time of a data packet there and its acknowledgement back [s], per flow.

    On a bottleneck, propagation only (as its `rtt` says).
    """
    flows = sim.flows
    total = np.array(flows["access"] + flows["back_access"])
    delays_by_hop = sim.hops["delay"] + sim.hops["tx"] if scenario.links else sim.hops["delay"]
    delays = np.concatenate([[0.0], np.cumsum(delays_by_hop)])
    total += delays[flows["back_end"]] - delays[flows["forward_hop"]]
    return total


def epochs_there(
    start: ArrayLike, finish: ArrayLike, latest: ArrayLike, length: ArrayLike, begin: float, end: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First epoch of each flow, and the one behind its last. A flow that has nothing to send is not silent.

    Parameters
    ----------
    start, finish : (flow,) array_like
        Times [s]; infinity for a flow that does not start or finish.
    latest : (flow,) array_like
        The last epoch in which it sent, -1 for none; it counts, though it finished before.
    length : (flow,) array_like
        Of its epochs [s], > 0. A part of an epoch at the end is left out.
    begin, end : float
        What is measured [s].

    Returns
    -------
    (flow,) int array, (flow,) int array
        0 <= first <= behind last <= whole epochs.

    Examples
    --------
    >>> epochs_there([0.0, 11.2], [12.1, np.inf], [1, 9], [0.5, 1.0], begin=10.0, end=20.0)
    (array([0, 1]), array([ 5, 10]))
    """
    lengths = np.asarray(length, float)
    count = ((end - begin) / lengths).astype(np.int64)
    before = np.maximum((np.minimum(start, end) - begin) / lengths, 0.0).astype(np.int64)
    until = np.ceil((np.clip(finish, begin, end) - begin) / lengths).astype(np.int64)
    first = np.minimum(before, count)
    return first, np.clip(np.maximum(until, np.asarray(latest) + 1), first, count)


def close_epochs(sim: k.Sim, end: float) -> None:
    """Count the last whole epoch of each flow; a trailing part of an epoch is left out.

    So are the epochs before a flow's start and after its finish: one that has nothing to send is not silent.
    """
    flows, begin = sim.flows, sim.world["measure_from"].flat[0]
    epoch = np.where(flows["epoch"] > 0.0, flows["epoch"], 1.0)
    count = ((end - begin) / epoch).astype(np.int64)
    index = flows["epoch_index"]
    behind = (flows["epoch"] > 0.0) & (index < count)
    sim.epochs[..., 0] += np.where(behind, count - index - 1, 0)
    begun = (behind & (index >= 0)).nonzero()
    sim.epochs[(*begun, np.minimum(flows["epoch_count"][begun], sim.epochs.shape[-1] - 1))] += 1
    # All whole epochs are counted now, those before the start and after the finish as empty ones.
    first, last = epochs_there(flows["start"], flows["finish"], index, epoch, begin, end)
    idle = count - (last - first)
    sim.epochs[..., 0] -= np.where(flows["epoch"] > 0.0, idle, 0)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    counts: NDArray[np.int64]
    levels: NDArray[np.int64]
    sums: NDArray[np.float64]
    links: dict[str, NDArray[Any]]


def take_checkpoint(sim: k.Sim, part: int) -> Checkpoint:
    """Everything that has happened by now, the end of a part: what is counted less what is ahead of time."""
    links, now = sim.links, float(sim.world["now"][0])
    ahead, of_flows = sim.ahead_links[:, part], sim.ahead_flows[:, part]
    counts = sim.counts.copy()
    counts[:, k.ARRIVED] -= of_flows[:, k.AHEAD_FLOW_ARRIVED]
    counts[:, k.ARRIVED_KIND : k.ARRIVED_KIND + len(k.KINDS)] -= of_flows[:, k.AHEAD_KIND :]
    counts[:, k.ACKS_SENT] -= of_flows[:, k.AHEAD_ACKS_SENT]
    passing = ahead[:, k.AHEAD_ARRIVED].astype(np.int64)
    # A served link adds up waiting times at each change of its queue; add what passed since the last.
    since = np.where(links["served"] == 1, links["waiting"] * (now - links["changed"]), 0.0)
    return Checkpoint(
        counts,
        sim.levels.copy(),
        sim.sums.copy(),
        {
            "arrived": links["arrived"] - passing,
            "dropped": np.array(links["dropped"]),
            "evicted": np.array(links["evicted"]),
            "marked": np.array(links["marked"]),
            "accepted": links["accepted"] - passing,
            "work": links["work_sum"] - ahead[:, k.AHEAD_WORK],
            "bits": _bits_sent(sim, now),
            "wait": links["wait_sum"] + since - ahead[:, k.AHEAD_WAIT],
            "met": np.array(links["met"]),
            "tied": np.array(links["tied"]),
        },
    )


def _bits_sent(sim: k.Sim, now: float) -> NDArray[np.float64]:
    """What links whose rate changes have sent by now [bit], what is left of the packet being sent not included."""
    sent = np.zeros(len(sim.links))
    for i in changes.links_that_change(sim.links):
        link = sim.links[i]
        state, table = changes.state_of(link, sim.queue_state), changes.table_of(link, sim.queue_state)
        unsent = 0.0
        if link["free_at"] > now:
            rates = table if state["by_bits"] else [(0.0, state["rate"])]
            unsent = min(integral(rates, now, float(link["free_at"])), float(state["length"]))
        sent[i] = state["bits"] - unsent
    return sent


def integral(rows: Any, begin: float, end: float) -> float:
    """Bits that rates carry between two times [s].

    Parameters
    ----------
    rows : sequence of (time [s], rate [bit/s], ...)
        From the first time on, in order; the last rate holds on.

    Examples
    --------
    >>> integral([(0.0, 10.0), (2.0, 0.0), (3.0, 5.0)], 1.0, 5.0)
    20.0
    """
    times = np.array([row[0] for row in rows], float)
    rates = np.array([row[1] for row in rows], float)
    edges = np.clip(np.append(times, np.inf), begin, end)
    return float((rates * np.diff(edges)).sum())


def set_epochs(scenario: Scenario, sim: k.Sim, half: Checkpoint, now: Checkpoint) -> None:
    """Fix each flow's epoch at the end of the warm-up."""
    if scenario.epoch != "auto":
        sim.flows["epoch"] = scenario.epoch
        return
    base = base_rtts(sim, scenario)
    if not scenario.links:
        first = sim.hops[sim.flows["forward_hop"]]
        # Jitter is counted at its mean; that it may not reorder a flow makes it a little more.
        sim.flows["epoch"] = base + first["tx"] + _mean_waits(half, now)[0] + first["jitter"] / 2
        return
    timed = (now.counts - half.counts)[:, k.TIMED]
    total = (now.sums - half.sums)[:, k.RTT_SUM]
    # A flow without an acknowledgement in that time, between timeouts or not begun yet, has the round trip that
    # packets had on its way: to take the base RTT would make more of its epochs empty than there are.
    waits = _mean_waits(half, now)[sim.hops["link"]] + sim.hops["jitter"] / 2
    until = np.concatenate([[0.0], np.cumsum(waits)])
    on_the_way = base + until[sim.flows["back_end"]] - until[sim.flows["forward_hop"]]
    mean_rtt = np.divide(total, timed, out=on_the_way, where=timed > 0)
    sim.flows["epoch"] = np.maximum(mean_rtt, 1e-6)


def _mean_waits(half: Checkpoint, now: Checkpoint) -> NDArray[np.float64]:
    """(L,) mean time [s] for which packets waited at each link between two moments (Little's law)."""
    packets = now.links["accepted"] - half.links["accepted"]
    waited = np.array(now.links["wait"] - half.links["wait"])
    mean: NDArray[np.float64] = np.divide(waited, packets, out=np.zeros(len(packets)), where=packets > 0)
    return mean
