"""Set up a run of the compiled loop, enlarge what fills up, check that every packet is accounted for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernel as k
from .scenario import MAX_MEMORY, SILENCE_BINS, Scenario
from .units import ScenarioError

_WORD = (1 << 64) - 1


class ConservationError(RuntimeError):
    """A packet was counted twice or lost by the engine itself: a defect, never a property of the scenario."""


@dataclass(frozen=True, eq=False)
class Run:
    """Raw outcome of a run, counts of the measured part (N flows).

    `totals`, `counts` : (N, kernel.COUNTS) int arrays of the whole run and of the measured part. `sums` : (N,
    kernel.SUMS)
    seconds. `in_flight` : (N,) packets under way at the end. `work` : seconds in which the link was
    busy in the measured part; `wait` : seconds waited by the packets that it accepted in that part.
    """

    sim: k.Sim
    totals: NDArray[np.int64]
    counts: NDArray[np.int64]
    levels: NDArray[np.int64]
    sums: NDArray[np.float64]
    in_flight: NDArray[np.int64]
    epoch: NDArray[np.float64]
    work: float
    wait: float


def execute(scenario: Scenario, seed: int) -> Run:
    """Run a scenario with a seed; raises ConservationError if the books do not balance at the end."""
    # Interpreted, NumPy's scalars would warn of the wrap-around that the random streams want.
    with np.errstate(over="ignore"):
        sim = build(scenario, seed)
        half = scenario.warm_up / 2
        sim = _run(sim, half)
        before = _mean_wait(sim)
        sim = _run(sim, scenario.warm_up)
        world = sim.world[0]
        _set_epochs(scenario, sim, before)
        counts, levels = sim.counts.copy(), sim.levels.copy()
        work, wait = float(world.work_sum) - _backlog(world), float(world.wait_sum)
        sim = _run(sim, scenario.duration)
        k.close_epochs(sim)
        in_flight = check_conservation(sim)
    world = sim.world[0]
    measured = sim.counts - counts
    # These two are counted inside the measured part from the beginning.
    measured[:, [k.DELIVERED, k.GOODPUT]] = sim.counts[:, [k.DELIVERED, k.GOODPUT]]
    return Run(
        sim=sim,
        totals=sim.counts,
        counts=measured,
        levels=sim.levels - levels,
        sums=sim.sums,
        in_flight=in_flight,
        epoch=np.array(sim.flows["epoch"]),
        work=float(world.work_sum) - _backlog(world) - work,
        wait=float(world.wait_sum) - wait,
    )


def build(scenario: Scenario, seed: int) -> k.Sim:
    """Allocate and fill the arrays of a run, with every flow's start scheduled."""
    n, ring = scenario.count, scenario.ring
    bottleneck = scenario.bottleneck
    longest = max(group.window_limit for group in scenario.flows)
    flows = _records(n, k.FLOW)
    fill_flows(scenario, seed, flows)
    # One packet per bucket at full speed. The width is forgiving: a factor of four either way costs nothing.
    width = 1.0 / scenario.packet_rate
    buckets = _bucket_count(scenario, width)
    limit = -1 if bottleneck.buffer is None else bottleneck.buffer - 1
    world = _records(1, k.WORLD)
    world["limit"] = limit
    world["mask"] = buckets - 1
    world["free_event"] = -1
    world["margin"] = longest + 8
    world["tracing"] = scenario.trace
    world["trace_margin"] = longest + 8
    world["inv_width"] = 1.0 / width
    world["loss"] = bottleneck.loss
    world["measure_from"] = scenario.warm_up
    world["end"] = scenario.duration
    world["slice"] = scenario.slice
    copies = (n, ring) if scenario.drops else (1, 1)
    sim = k.Sim(
        world=world,
        flows=flows,
        events=_records(0, k.EVENT),
        buckets=np.full(buckets, -1, np.int32),
        sacked=np.zeros((n, ring), np.uint8),
        received=np.zeros((n, ring), np.uint8),
        queue=np.zeros(max(limit, 1)),
        counts=np.zeros((n, k.COUNTS), np.int64),
        sums=np.zeros((n, k.SUMS)),
        levels=np.zeros((n, k.LEVELS), np.int64),
        epochs=np.zeros((n, k.EPOCH_BINS), np.int64),
        silences=np.zeros((n, SILENCE_BINS), np.int64),
        slices=np.zeros((scenario.slices, n), np.int64),
        drops=np.array([(d.flow, d.segment, d.transmission) for d in scenario.drops], np.int64).reshape(
            -1, 3
        ),
        copies=np.zeros(copies, np.int64),
        trace_time=np.zeros(4 * longest + 64 if scenario.trace else 0),
        trace_what=np.zeros((4 * longest + 64 if scenario.trace else 0, 3), np.int64),
    )
    sim = _more_events(sim, 8 * n + 4 * longest + 64)
    w = sim.world[0]
    for i in np.argsort(flows["last_sent"], kind="stable"):
        k.schedule(sim, w, flows["last_sent"][i], k.START, i, 0, 0, 0, 0, 0.0)
    return sim


def fill_flows(scenario: Scenario, seed: int, flows: Any) -> None:
    """Write each flow's parameters, its random streams and its starting time (kept in `last_sent`)."""
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    first = 0
    for group in scenario.flows:
        part = slice(first, first + group.count)
        rtt = np.linspace(*group.rtts(), group.count)
        for name, value in {
            "algorithm": k.SACK if group.sender == "sack" else k.NEWRENO,
            "window": group.window_limit,
            "limited": group.limited_transmit,
            "max_backoff": group.max_backoff,
            "clear_after": group.clear_rtt_after,
            "access": rtt / 4,
            "forward": rtt / 4,
            "reverse": rtt / 2,
            "tx": 8 * group.packet_size / scenario.bottleneck.rate,
            "jitter": group.jitter,
            "min_rto": group.min_rto,
            "max_rto": group.max_rto,
            "tick": group.timer_granularity,
            "cwnd": group.initial_window,
            "ssthresh": group.window_limit,
            "base_rto": group.initial_rto,
        }.items():
            flows[name][part] = value
        for name in ("access", "forward", "reverse", "tx"):
            flows[name][part] = np.round(flows[name][part] * k.GRID) / k.GRID
        for i in range(first, first + group.count):
            flows["jitter_key"][i] = stream(word, k.JITTER, i)
            flows["loss_key"][i] = stream(word, k.LOSS, i)
            flows["phase"][i] = group.timer_granularity * k.uniform(stream(word, k.CLOCK, i), np.uint64(0))
            late = k.uniform(stream(word, k.STARTING, i), np.uint64(0))
            flows["last_sent"][i] = k.on_grid(group.start + group.start_spread * late)
        first += group.count
    flows["backoff"] = 1
    flows["recover"] = -2  # one before "nothing acknowledged", so that the loss of segment 0 counts
    flows["deadline"] = math.inf
    flows["due"] = math.inf
    flows["epoch_index"] = -1


def stream(word: int, purpose: int, flow: int) -> np.uint64:
    """Key of the random stream of one (seed, purpose, flow).

    Examples
    --------
    >>> bool(stream(1, 0, 0) != stream(1, 0, 1)), bool(stream(1, 0, 0) == stream(1, 0, 0))
    (True, True)
    """
    key = word
    for part in (purpose, flow):
        key = (key + (part + 1) * 0x9E3779B97F4A7C15) & _WORD
        key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & _WORD
        key ^= key >> 31
    return np.uint64(key)


def check_conservation(sim: k.Sim) -> NDArray[np.int64]:
    """Check that every packet is in exactly one place; return the number under way, per flow.

    Raises
    ------
    ConservationError
        Naming the first flow, or the link, whose books do not balance.
    """
    held = np.zeros((len(sim.flows), 3), np.int64)
    k.pending(sim, held)
    c = sim.counts
    in_flight = held[:, 0] + held[:, 2]
    rules = {
        "sent = dropped + acknowledged + under way": c[:, k.SENT]
        - (c[:, k.DROPPED] + c[:, k.ACKED] + held[:, 0] + held[:, 1]),
        "sent = dropped + received + in flight": c[:, k.SENT]
        - (c[:, k.DROPPED] + c[:, k.RECEIVED] + in_flight),
        "arrived = dropped + accepted": c[:, k.ARRIVED] - (c[:, k.DROPPED] + c[:, k.ACCEPTED]),
    }
    for rule, difference in rules.items():
        wrong = np.flatnonzero(difference)
        if wrong.size:
            raise ConservationError(
                f"flow {wrong[0]}: {rule} fails by {difference[wrong[0]]}; please report this run"
            )
    link = int(sim.world["link_accepted"][0]) - int(c[:, k.ACCEPTED].sum())
    if link:
        raise ConservationError(
            f"the link accepted {link} packets more than its flows; please report this run"
        )
    return in_flight


def _records(n: int, dtype: Any) -> Any:
    """Zeroed records with fields as attributes, which the interpreted kernel needs."""
    return np.zeros(n, dtype).view(np.recarray)


def _bucket_count(scenario: Scenario, width: float) -> int:
    """Enough buckets for one round trip with a full queue, within bounds that keep the calendar in cache."""
    longest = max(max(group.rtts()) for group in scenario.flows)
    wanted = longest / width + (scenario.bottleneck.buffer or 0)
    return 1 << min(max(int(wanted).bit_length(), 8), 15)


def _run(sim: k.Sim, until: float) -> k.Sim:
    """Advance to `until`, enlarging the pool of events and the trace when they run low."""
    while (status := k.advance(sim, until)) != k.DONE:
        if status == k.GROW_EVENTS:
            sim = _more_events(sim, len(sim.events))
        elif status == k.GROW_TRACE:
            _refuse_above(2 * sim.trace_time.nbytes * 4, "the trace", "shorten the run or switch trace off")
            sim = sim._replace(
                trace_time=np.concatenate([sim.trace_time, np.zeros_like(sim.trace_time)]),
                trace_what=np.concatenate([sim.trace_what, np.zeros_like(sim.trace_what)]),
            )
        else:
            raise ConservationError("a segment left the receiver's window; please report this run")
    return sim


def _more_events(sim: k.Sim, more: int) -> k.Sim:
    """Append `more` free slots to the pool of events."""
    old = len(sim.events)
    _refuse_above(
        (old + more) * k.EVENT.itemsize, "packets under way", "limit bottleneck.buffer or the windows"
    )
    events = _records(old + more, k.EVENT)
    events[:old] = sim.events
    # Link the new slots in front of the free list.
    events["next"][old:] = np.arange(old + 1, old + more + 1)
    events["next"][-1] = sim.world["free_event"][0]
    sim.world["free_event"] = old
    sim.world["free_count"] += more
    return sim._replace(events=events)


def _refuse_above(need: float, what: str, advice: str) -> None:
    if need > MAX_MEMORY:
        raise ScenarioError(f"{what} need {need / 1e9:.1f} GB, more than {MAX_MEMORY / 1e9:g} GB; {advice}")


def _mean_wait(sim: k.Sim) -> tuple[float, int]:
    return float(sim.world["wait_sum"][0]), int(sim.world["link_accepted"][0])


def _backlog(world: Any) -> float:
    """Seconds of accepted work that the link has still to do."""
    return max(float(world.free_at) - float(world.now), 0.0)


def _set_epochs(scenario: Scenario, sim: k.Sim, before: tuple[float, int]) -> None:
    """Fix each flow's epoch at the end of the warm-up."""
    if scenario.epoch != "auto":
        sim.flows["epoch"] = scenario.epoch
        return
    wait, accepted = _mean_wait(sim)
    packets = accepted - before[1]
    mean = (wait - before[0]) / packets if packets else 0.0
    base = sim.flows["access"] + sim.flows["forward"] + sim.flows["reverse"]
    # Jitter is counted at its mean; that it may not reorder a flow makes it a little more.
    sim.flows["epoch"] = base + sim.flows["tx"] + mean + sim.flows["jitter"] / 2
