"""Run the compiled loop in parts: enlarge what fills up, stop when the user asks, take what is counted."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import ConservationError

from .conservation import check_books, check_lines
from .conservation import check_conservation as check_conservation
from .epochs import Checkpoint, base_rtts, close_epochs, set_epochs, take_checkpoint
from .kernel import loop
from .kernel import records as k
from .kernel.views import bind
from .run_record import PIECES, Counted, Run
from .scenario.scenario import Scenario, refuse_above
from .setup import Blank, add_events, build

_PATIENCE = 0.1  # seconds between two looks at the keyboard
_BUDGET = 1_000_000  # most events between them: what is slow from one event to the next is noticed in time
_SETTLING = 0.5  # seconds that a stopped run may take to catch up with what it has counted ahead


def execute(
    scenario: Scenario, seed: int, progress: Callable[[float], None] | None = None, stop: threading.Event | None = None
) -> Run:
    """Run a scenario with a seed; raises ConservationError if the books do not balance at the end.

    As `counted`.
    """
    return finished(counted(scenario, seed, progress, stop))


def counted(
    scenario: Scenario,
    seed: int,
    progress: Callable[[float], None] | None = None,
    stop: threading.Event | None = None,
    blank: Blank | None = None,
) -> Counted:
    """Run a scenario with a seed.

    Ctrl-C, or `stop` from another thread, ends the run at once; what was measured until then is returned, with
    `interrupted` set. With the scenario's `blank`, setting up takes a fifth of the time.
    """
    # Interpreted, NumPy's scalars would warn of the wrap-around that the random streams want.
    with np.errstate(over="ignore"):
        try:
            return _execute(scenario, seed, True, progress, stop, blank)
        except _UndecidedError:
            return _execute(scenario, seed, False, progress, stop)


class _UndecidedError(Exception):
    """Two events of a run come at the same time, and only an event at the end of each transmission orders them."""


def _execute(
    scenario: Scenario,
    seed: int,
    keyed: bool,
    progress: Callable[[float], None] | None,
    stop: threading.Event | None,
    blank: Blank | None = None,
) -> Counted:
    sim = build(scenario, seed, keyed) if blank is None else blank.begin(seed)
    loop.start(sim.world)
    pieces = np.zeros((PIECES + 1, 2, scenario.count), np.int64)
    sim, half, stopped = _run_part(sim, scenario, 0, progress, stop)
    before, after = half, half
    if not stopped:
        sim, before, stopped = _run_part(sim, scenario, 1, progress, stop)
        after = before
    set_epochs(scenario, sim, half, before)
    if not stopped:
        sim, after, stopped = _run_part(sim, scenario, 2, progress, stop, pieces)
    check_lines(sim)
    return Counted(sim, before, after, pieces, base_rtts(sim, scenario), float(sim.world["now"][0]), stopped)


def finished(counted: Counted) -> Run:
    """Close the books of a run, or of runs `together`."""
    sim, before, after = counted.sim, counted.before, counted.after
    close_epochs(sim, counted.stopped)
    in_flight = check_books(sim)
    pieces = np.diff(counted.pieces, axis=-3)
    measured = after.counts - before.counts
    # These are counted inside the measured part from the beginning.
    received, first = slice(k.DELIVERED, k.HANDSHAKES + 1), slice(k.FIRST_RTO_SUM, k.FIRST_SILENCE_SUM + 1)
    measured[..., received] = sim.counts[..., received]
    sums = after.sums - before.sums
    sums[..., first] = sim.sums[..., first]
    return Run(
        sim=sim, totals=sim.counts, counts=measured, levels=after.levels - before.levels, sums=sums,
        arrived=pieces[..., 0, :].mT, dropped=pieces[..., 1, :].mT, in_flight=in_flight,
        epoch=np.array(sim.flows["epoch"]), base_rtt=counted.base_rtt,
        links={name: after.links[name] - before.links[name] for name in after.links},
        stopped=counted.stopped, interrupted=counted.interrupted,
    )  # fmt: skip


def _run(
    sim: k.Sim, scenario: Scenario, until: float, progress: Callable[[float], None] | None, stop: threading.Event | None
) -> tuple[k.Sim, bool]:
    """Advance to `until`, enlarging what runs low; True beside it if the user has stopped the run."""
    budget = min(20_000, _BUDGET)
    try:
        while True:
            began = time.perf_counter()
            status = loop.advance(sim.world, until, budget)
            if status == k.DONE:
                break
            if status == k.GROW_EVENTS:
                sim = add_events(sim, len(sim.events))
            elif status == k.GROW_TRACE:
                sim = bind(sim._replace(trace_time=_double(sim.trace_time), trace_what=_double(sim.trace_what)))
            elif status == k.GROW_WINDOWS:
                sim = bind(sim._replace(windows=_double(sim.windows)))
            elif status == k.GROW_QUEUES:
                sim = bind(sim._replace(queues=_double(sim.queues)))
            elif status == k.GROW_CONNECTIONS:
                sim = bind(sim._replace(connections=_double(sim.connections)))
            elif status == k.UNDECIDED:
                raise _UndecidedError
            elif status == k.BROKEN:
                raise ConservationError("a segment left the receiver's window; please report this run")
            else:
                if stop is not None and stop.is_set():
                    return sim, True
                budget = _next_budget(budget, time.perf_counter() - began)
                if progress is not None:
                    progress(float(sim.world["now"][0]) / scenario.duration)
    except KeyboardInterrupt:
        return sim, True
    return sim, False


def _run_part(
    sim: k.Sim,
    scenario: Scenario,
    part: int,
    progress: Callable[[float], None] | None,
    stop: threading.Event | None,
    pieces: NDArray[np.int64] | None = None,
) -> tuple[k.Sim, Checkpoint, bool]:
    """Advance to the end of a part; what is counted until then; True if the user has stopped the run before.

    With `pieces`, (PIECES + 1, 2, N), packets arrived and lost are written down in between.
    """
    sim.world["part"] = part
    sim.world["edge"] = sim.edges[part]
    stopped = False
    if pieces is not None:
        pieces[0] = sim.counts[:, k.ARRIVED : k.DROPPED + 1].T
        for i, until in enumerate(np.linspace(scenario.warm_up, scenario.duration, PIECES + 1)[1:-1], 1):
            if not stopped:
                sim, stopped = _run(sim, scenario, float(until), progress, stop)
            pieces[i] = sim.counts[:, k.ARRIVED : k.DROPPED + 1].T
    if not stopped:
        sim, stopped = _run(sim, scenario, float(sim.edges[part]), progress, stop)
    if pieces is not None:
        pieces[-1] = sim.counts[:, k.ARRIVED : k.DROPPED + 1].T
    if stopped:
        sim = _settle(sim, scenario, part)
    return sim, take_checkpoint(sim, part), stopped


def _settle(sim: k.Sim, scenario: Scenario, part: int) -> k.Sim:
    """Run on until all that is counted has happened, at most a round trip: shortcuts count ahead of time.

    From there on nothing is counted, as if the run had been meant to end there.
    """
    what, times = sim.events["what"], sim.events["time"]
    latest = times[(what >= 0) & (what <= k.ACKED)].max(initial=float(sim.world["now"][0]))
    edge = float(np.nextafter(latest, math.inf))
    sim.world["keyed"] = 0  # who has stopped a run waits for no second one: a tie of these moments is as scheduled
    if edge < sim.edges[part]:
        _close_at(sim, part, edge)
    at_once = threading.Event()
    at_once.set()
    began = time.perf_counter()
    while time.perf_counter() - began < _SETTLING:
        sim, unsettled = _run(sim, scenario, float(sim.edges[part]), None, at_once)
        if not unsettled:
            break
    return sim


def _close_at(sim: k.Sim, part: int, edge: float) -> None:
    """Let a part of a run that is under way end at `edge`, an instant after all that is counted."""
    sim.edges[part:] = edge
    sim.world["edge"] = edge
    sim.world["end"] = edge
    sim.ahead_links[:] = 0.0
    sim.ahead_flows[:] = 0
    links = sim.links
    sim.ahead_links[:, part, k.AHEAD_WORK] = np.maximum(links["free_at"] - edge, 0.0)
    for i in np.flatnonzero((links["served"] == 0) & (links["free_at"] > edge)):
        row = links[i]
        if row["capacity"] == 0 and row["limit"] < 0:
            # Nobody remembers who waits in a queue without a limit.
            sim.ahead_links[i, part, k.AHEAD_WAIT] = math.nan
            continue
        places = row["first"] + (row["head"] + np.arange(row["waiting"])) % max(row["capacity"], 1)
        sim.ahead_links[i, part, k.AHEAD_WAIT] = np.maximum(sim.queue_time[places] - edge, 0.0).sum()


def _next_budget(budget: int, seconds: float) -> int:
    """Events until the next look at the keyboard, after `budget` have taken `seconds`."""
    wanted = int(budget * min(_PATIENCE / max(seconds, 1e-9), 4.0))
    return min(max(wanted, 1000), _BUDGET)


def _double(array: Any) -> Any:
    refuse_above(2.0 * array.nbytes, "the recordings", "shorten the run or record less")
    return np.concatenate([array, np.zeros_like(array)])
