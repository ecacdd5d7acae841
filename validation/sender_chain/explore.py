"""Explore the states of the simulator's own sender and receiver: every pattern of losses from every state.

A node is the state just before an instant at which packets meet a chance of being lost. From there each pattern of
losses leads, through instants without chance, to the next node, after a time that the pattern says.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numba import config

from tcpdynamics.errors import ScenarioError, check
from tcpdynamics.progress import tell

from ..packet.kernel import loop
from ..packet.kernel import records as k
from ..packet.kernel.views import bind
from ..packet.setup import add_events, build
from ..packet.user_rules import sources
from . import kernel
from .rules import objection
from .setting import RTT, Setting
from .windows import alike

#: So many different congestion windows are taken for endlessly many.
MOST_WINDOWS = 2000

#: So many of them beyond the advertised window, where a rule of congestion control does not stop there.
MOST_BEYOND = 100

#: By how much a rule's clock is put forward to see whether it looks at it [s].
_LATER = 4096.0

#: More packets at one instant than this are too many patterns.
MOST_AT_ONCE = 12

#: More states than this are refused, unless another bound is given: some 2 GB, and a minute.
MOST_STATES = 600_000

#: Instants without a chance of loss in a row, at most.
_PATIENCE = 10_000

#: Patterns of losses that are followed by one call.
_AT_ONCE = 64


class SenderChainError(ScenarioError):
    """A sender whose states cannot be explored, with the reason."""


def _plain(records: Any, kind: Any) -> Any:
    """The same records without attributes, which take time; interpreted, the kernels need them."""
    return records if config.DISABLE_JIT else records.view(kind, np.ndarray)


#: Powers of p, 1 - p (new data), p_r, 1 - p_r (data sent again), a, 1 - a (acknowledgements).
Weight = tuple[int, int, int, int, int, int]


class Move(NamedTuple):
    """Where a pattern of losses leads: the next node, after so many RTTs, so many timers and new segments received."""

    target: int
    time: float
    timeouts: int
    delivered: int


class Instant(NamedTuple):
    """What meets a chance of loss at an instant: new data, data sent again, acknowledgements."""

    new: int
    again: int
    acks: int


@dataclass
class Explored:
    """Nodes 0, 1, ...; `moves[i]` says with how many patterns of each weight node i moves where.

    `windows[i]`: congestion window, threshold and flight before its instant; `backoffs[i]`: by how much the timeout is
    multiplied then. `paths[i]`, where asked for, has the same
    as `moves[i]`, pattern by pattern, in the order of `itertools.product((False, True), ...)` over its packets (data
    first, in their order; True: lost).
    """

    setting: Setting
    instants: list[Instant] = field(default_factory=list)
    moves: list[dict[Move, dict[Weight, int]]] = field(default_factory=list)
    paths: list[list[Move]] = field(default_factory=list)
    windows: list[tuple[float, float, int]] = field(default_factory=list)
    backoffs: list[int] = field(default_factory=list)
    runs: int = 0

    @property
    def size(self) -> int:
        return len(self.moves)


class Machine:
    """The compiled loop with one flow, put into any state and run on from there."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        scenario = setting.scenario(
            0.5, 0.5 if setting.ack_loss else 0.0, scheduler="heap", duration=1e5, warm_up=1.0, slice=1e5
        )
        sim = build(scenario, 1)
        loop.start(sim.world)
        sim = add_events(sim, 64)
        self._rows = np.full((MOST_AT_ONCE, 5), -2, np.int64)
        sim = bind(sim._replace(drops=self._rows))
        sim.links["loss"] = 0.0
        w = sim.world
        w["drops"] = 1
        w["measure_from"] = 0.0
        w["edge"] = w["end"] = np.inf
        w["slice"] = 1e-9
        self.sim = sim
        self._world = _plain(sim.world, k.WORLD)
        self._events = _plain(sim.events, k.EVENT)
        self._links = _plain(sim.links, k.LINK)
        self.flows = _plain(sim.flows, k.FLOW)
        words = sim.flows.view(np.int64).reshape(1, -1)
        self._arrays = kernel.Arrays(
            self._world, self.flows, words, self._events, sim.blocks, sim.heap, sim.orders, sim.sacked, sim.received,
            sim.stack, self._links, sim.counts, self._rows,
        )  # fmt: skip
        edges, middles = alike(setting.window, setting.halvings, setting.sender == "newreno")
        self._rules = kernel.Rules(RTT, edges, middles, setting.ack_loss, _PATIENCE)
        self._now, self._times, self._arrived = (self._world["now"], self._events["time"], self._links["arrived"])
        words_of_state = kernel.FLOW_WORDS + 16 + 200 * kernel.EVENT_WORDS
        self._words = np.zeros(words_of_state, np.int64)
        self.outcome = kernel.Outcome(
            np.zeros(6, np.int64), np.zeros(2), np.zeros((_AT_ONCE, 6), np.int64), np.zeros(_AT_ONCE),
            np.zeros((_AT_ONCE, words_of_state), np.int64),
        )  # fmt: skip

    def pack(self) -> bytes:
        """The state now, made relative; the machine itself is unusable until the next `unpack`."""
        n = kernel.pack(self._arrays, self._rules, self._words)
        if n < 0:
            raise SenderChainError(_REASONS[n].format(self.setting))
        return self._words[:n].tobytes()

    def unpack(self, state: bytes) -> None:
        kernel.unpack(self._arrays, np.frombuffer(state, np.int64))

    def advance(self) -> float:
        """Run all events of the next instant; its time."""
        time = float(self._times[self.sim.heap[0]])
        status = loop.advance(self._world, math.nextafter(time, math.inf), 100_000)
        if status != k.DONE:
            raise SenderChainError(f"the simulator's loop came back with {status} at an instant")
        self._now[0] = time  # the loop leaves it at where it was to stop
        return time

    def branch(self, state: bytes, first: int) -> int:
        """Follow patterns of losses from a state, from `first` on; how many. `kernel.branch` says where they stand."""
        n = kernel.branch(self._arrays, self._rules, np.frombuffer(state, np.int64), first, self.outcome)
        if n < 0:
            raise SenderChainError(_REASONS[n].format(self.setting))
        return int(n)

    def check_rule(self, state: bytes, packets: list[tuple[int, int]]) -> None:
        """Refuse a rule of which the same state makes another at another time, or the next time."""
        for pattern in product((False, True), repeat=len(packets)):
            lost = [packet for packet, is_lost in zip(packets, pattern, strict=True) if is_lost]
            led_to = self._after(state, lost, 0.0)
            for later, reason in ((0.0, "draws random numbers, or remembers more than its flow's record"),
                                  (_LATER, "reads the clock")):  # fmt: skip
                if self._after(state, lost, later) != led_to:
                    raise SenderChainError(_refused(self.setting, reason))

    def _after(self, state: bytes, lost: list[tuple[int, int]], later: float) -> bytes:
        """The state after an instant with these losses, where the same state stands at a later time [s]."""
        self.unpack(state)
        kernel.postpone(self._arrays, later)
        self.drop(lost)
        self.advance()
        return self.pack()

    def drop(self, rows: list[tuple[int, int]]) -> None:
        """Lose the packets (number, link) of the next instant."""
        self._rows[:, 4] = -2
        for row, (number, link) in enumerate(rows):
            self._rows[row] = (k.BY_PACKET, -1, number, 0, link)

    def arrived(self) -> tuple[int, ...]:
        """Packets that have come to the links that lose, data and acknowledgements, since `unpack`."""
        links = self._arrived
        return (int(links[0]), int(links[1]) if self.setting.ack_loss else 0)

    def counts(self) -> list[int]:
        """What was counted since `unpack`."""
        counted: list[int] = self.sim.counts[0].tolist()
        return counted


_REASONS = {
    kernel.UNKNOWN_EVENT: "an event is under way whose part in what follows is not known",
    kernel.BOOKS_WRONG: "the sender's scoreboard does not hold what its count says; please report this",
    kernel.RTT_VARIES: (
        "a round-trip time was measured that is not one RTT (acknowledgements are lost or delayed), so the sender's "
        "estimator has no finite number of states; give `tick`, such as 0.5"
    ),
    kernel.TOO_LONG: "too many packets are under way",
    kernel.LOOP_STOPPED: "the simulator's loop came back early at an instant",
    kernel.NO_PACKET: f"{_PATIENCE:,} instants in a row without a packet",
    kernel.OTHER_PACKETS: "a loss changed what was sent at the same instant; please report this",
    kernel.OTHER_LOSSES: "not all chosen packets were lost; please report this",
}


def _refused(setting: Setting, reason: str) -> str:
    return (
        f"control {setting.control!r} {reason}, so what it does does not follow from a state that could come again; "
        "take a rule of windows and acknowledgements alone"
    )


def _endless(setting: Setting, largest: float) -> str:
    text = (
        f"the congestion window of {setting.sender} ({setting.rules}, control {setting.control!r}) with window "
        f"{setting.window} takes more than"
    )
    if largest > setting.window:
        return (
            f"{text} {MOST_BEYOND:,} values beyond the advertised one, up to {largest:g}, and each makes states of its "
            "own; let the rule stop there, with f.cwnd = min(f.cwnd, f.window)"
        )
    if setting.control != "reno":
        return f"{text} {MOST_WINDOWS:,} values, up to {largest:g}; let the rule round its window, such as to 1/64"
    return (
        f"{text} {MOST_WINDOWS:,} values, up to {largest:g}, and no end is in sight: each fast retransmission halves "
        "what is no whole number; give `halvings`, such as 2, so that windows that behave alike for so long become one"
    )


def explore(setting: Setting, most_states: int = MOST_STATES, paths: bool = False) -> Explored:
    """All nodes that a sender reaches; with `paths`, also where each single pattern leads.

    Raises
    ------
    SenderChainError
        More nodes than `most_states`, or a sender that cannot be explored.
    """
    if reason := objection(sources(setting.control)):
        raise SenderChainError(_refused(setting, reason))
    check("most_states", most_states, 1, 10**9, "count states", whole=True)
    machine = Machine(setting)
    numbers: dict[bytes, int] = {}
    states: list[bytes | None] = []
    result = Explored(setting)
    congestion_windows: set[float] = set()
    beyond = 0
    bound = setting.window if setting.control == "reno" else math.inf

    def number_of(state: bytes) -> int:
        name = hashlib.blake2b(state, digest_size=16).digest()
        number = numbers.setdefault(name, len(states))
        if number == len(states):
            states.append(state)
            if len(states) > most_states:
                coarser = ", fewer halvings" if setting.halvings > 1 else ""
                raise SenderChainError(
                    f"{setting.sender} ({setting.rules}) with window {setting.window} has more than {most_states:,} "
                    f"states (after {result.runs:,} patterns of losses); take a smaller window{coarser}, or "
                    "raise `most_states`"
                )
        return number

    number_of(_settled(machine))
    place = 0
    while place < len(states):
        state = states[place]
        assert state is not None
        states[place] = None
        first = machine.branch(state, 0)
        data, acks, new, again, flight, backoff = machine.outcome.facts.tolist()
        window, threshold = machine.outcome.windows.tolist()
        result.windows.append((window, threshold, flight))
        result.backoffs.append(backoff)
        if not math.isfinite(window):
            raise SenderChainError(f"control {setting.control!r} makes a congestion window of {window}, no number")
        if min(window, bound) not in congestion_windows:
            congestion_windows.add(min(window, bound))
            beyond += window > setting.window and bound == math.inf
        if beyond > MOST_BEYOND or (len(congestion_windows) > MOST_WINDOWS and not setting.halvings):
            raise SenderChainError(_endless(setting, max(congestion_windows)))
        if data + acks > MOST_AT_ONCE:
            raise SenderChainError(
                f"{data + acks} packets at one instant have 2^{data + acks} patterns of losses, more than 2^"
                f"{MOST_AT_ONCE}; take a smaller window"
            )
        moves: dict[Move, dict[Weight, int]] = {}
        path: list[Move] = []
        for weight, move in _moves(machine, state, first, number_of):
            law = moves.setdefault(move, {})
            law[weight] = law.get(weight, 0) + 1
            if paths:
                path.append(move)
        result.runs += 1 << (data + acks)
        if setting.control != "reno":
            machine.check_rule(state, [(j, 0) for j in range(data)] + [(j, 1) for j in range(acks)])
        result.moves.append(moves)
        result.paths.append(path)
        result.instants.append(Instant(new, again, acks))
        place += 1
        if place % 500 == 0:
            tell(f"exploring {setting.name}: {len(states):,} states so far, {place:,} of them followed")
    tell(f"lumping {len(states):,} states of {setting.name} that behave alike")
    return result


def _settled(machine: Machine) -> bytes:
    """State after a lossless start, at the first instant at which a packet may be lost."""
    for _ in range(12 + 4 * machine.setting.window):
        machine.advance()
    for _ in range(_PATIENCE):
        state = machine.pack()
        machine.unpack(state)
        machine.advance()
        if any(machine.arrived()):
            break
    return state


def _moves(
    machine: Machine, state: bytes, first: int, number_of: Callable[[bytes], int]
) -> Iterator[tuple[Weight, Move]]:
    """Weight and move of each loss pattern; the `first` patterns have been followed already."""
    data, acks, new, again, *_ = machine.outcome.facts.tolist()
    done = 0
    while True:
        numbers = machine.outcome.numbers[: first - done].tolist()
        for words, waited, row in zip(machine.outcome.nodes, machine.outcome.waited.tolist(), numbers, strict=False):
            lost_new, lost_again, lost_acks, delivered, timeouts, size = row
            weight = (lost_new, new - lost_new, lost_again, again - lost_again, lost_acks, acks - lost_acks)
            yield weight, Move(number_of(words[:size].tobytes()), waited / RTT, timeouts, delivered)
        done = first
        if done == 1 << (data + acks):
            return
        first += machine.branch(state, first)
