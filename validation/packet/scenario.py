"""What to simulate: frozen descriptions, readable from TOML, checked before anything runs."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from .units import ScenarioError, check, quantity

#: Bounds that keep a typing error from becoming a lost night or a full memory.
MAX_FLOWS = 1_000_000
MAX_PACKETS = 1e10
MAX_MEMORY = 4e9  # bytes

_FORBID = {"extra": "forbid"}


def _in(unit: str, **options: Any) -> Any:
    return field(metadata={"unit": unit}, **options)


@dataclass(frozen=True)
class Bottleneck:
    """The one link where packets wait and are lost; all other parts of a path are pure delay.

    Attributes
    ----------
    rate : float
        Line rate [bit/s], > 0. In TOML also "1Mbit/s".
    buffer : int or None
        Most packets held by the link, *including* the one being sent: a packet that finds `buffer` packets is
        dropped (drop-tail). This is what ns-2.35 does with `queue-limit`: its DropTail refuses a packet when
        waiting + 1 >= limit, and the packet in transmission no longer waits. None: no limit.
    loss : float
        Probability [1], in [0, 1), with which each arriving packet is lost independently, before it
        meets the queue. With `buffer` None this is the loss that the Markov chains assume.
    """

    rate: float = _in("bit/s", default=1e6)
    buffer: int | None = None
    loss: float = _in("1", default=0.0)

    __pydantic_config__ = _FORBID

    def __post_init__(self) -> None:
        check("bottleneck.rate", self.rate, 1.0, 1e13, 'give bit/s, or text such as "1Mbit/s"')
        if self.buffer is not None:
            check(
                "bottleneck.buffer",
                self.buffer,
                1,
                10_000_000,
                "count packets; leave out for no limit",
                whole=True,
            )
        check("bottleneck.loss", self.loss, 0.0, 0.999, "a probability; divide per cent by 100")


@dataclass(frozen=True)
class Flows:
    """A group of long-lived flows that differ in RTT only. Defaults mostly follow ns-2.35.

    Attributes
    ----------
    count : int
        Number of flows, >= 1.
    sender : {"sack", "newreno"}
        RFC 6675 scoreboard and pipe, or RFC 6582 (impatient variant).
    rtt : float or (float, float)
        Round-trip *propagation* time [s]; a pair spreads the flows evenly from the first value to the second.
    packet_size : int
        Size on the wire [byte], headers included; acknowledgements take no time on a link.
    jitter : float
        Each packet is delayed further by a uniform draw in [0, jitter] [s] on its way to the bottleneck,
        without overtaking within its flow. Breaks phase effects. (ns-2's `overhead_` instead holds back the
        sender's decisions, and not those after duplicates, so some phase effects survive it.)
    start, start_spread : float
        A flow starts at a uniform draw in [start, start + start_spread] [s].
    window_limit : int
        Advertised window [packets].
    initial_window : int
        [packets]
    limited_transmit : bool
        RFC 3042: new data on the first two duplicates. On by default as in ns-2.35 (`singledup_`); the
        paper's chain assumes that it is off.
    min_rto, max_rto, initial_rto : float
        Floor (before back-off), ceiling (after back-off) and first value of the retransmission timeout [s].
    max_backoff : int
        Largest factor of the exponential back-off, a power of two.
    timer_granularity : float
        Tick [s] of the clock that measures RTTs, and least variance term of the timeout; 0 for an exact
        clock.
    clear_rtt_after : int
        Above this back-off factor the RTT estimate is forgotten (allowed by RFC 6298, section 5; BSD and
        ns-2: 8).
    """

    count: int = 1
    sender: Literal["sack", "newreno"] = "sack"
    rtt: float | tuple[float, float] = _in("s", default=0.2)
    packet_size: int = _in("B", default=500)
    jitter: float = _in("s", default=0.0)
    start: float = _in("s", default=0.0)
    start_spread: float = _in("s", default=1.0)
    window_limit: int = 64
    initial_window: int = 2
    limited_transmit: bool = True
    min_rto: float = _in("s", default=0.2)
    max_rto: float = _in("s", default=64.0)
    initial_rto: float = _in("s", default=3.0)
    max_backoff: int = 64
    timer_granularity: float = _in("s", default=0.01)
    clear_rtt_after: int = 8

    __pydantic_config__ = _FORBID

    def __post_init__(self) -> None:
        check("flows.count", self.count, 1, MAX_FLOWS, "simulate fewer flows on a slower link", whole=True)
        if self.sender not in ("sack", "newreno"):
            raise ScenarioError(f'flows.sender must be "sack" or "newreno", got {self.sender!r}')
        for rtt in self.rtts():
            check("flows.rtt", rtt, 1e-6, 1e3, 'give seconds, or text such as "200ms"')
        check("flows.packet_size", self.packet_size, 1, 1_000_000, "count bytes", whole=True)
        check(
            "flows.jitter", self.jitter, 0.0, 1e3, "give seconds; one packet's sending time is a good choice"
        )
        check("flows.start", self.start, 0.0, 1e9, "give seconds")
        check("flows.start_spread", self.start_spread, 0.0, 1e9, "give seconds")
        check("flows.window_limit", self.window_limit, 1, 1_000_000, "count packets", whole=True)
        check("flows.initial_window", self.initial_window, 1, self.window_limit, "count packets", whole=True)
        if not isinstance(self.limited_transmit, bool):
            raise ScenarioError(
                f"flows.limited_transmit must be true or false, got {self.limited_transmit!r}"
            )
        check("flows.min_rto", self.min_rto, 0.0, 1e6, "give seconds")
        check("flows.max_rto", self.max_rto, max(self.min_rto, 1e-3), 1e6, "it must not lie below min_rto")
        check("flows.initial_rto", self.initial_rto, 1e-3, self.max_rto, "it must not exceed max_rto")
        check("flows.max_backoff", self.max_backoff, 1, 65536, "a power of two, such as 64", whole=True)
        if self.max_backoff & (self.max_backoff - 1):
            raise ScenarioError(f"flows.max_backoff must be a power of two, got {self.max_backoff}; try 64")
        check(
            "flows.timer_granularity", self.timer_granularity, 0.0, 10.0, "give seconds; 0 for an exact clock"
        )
        check("flows.clear_rtt_after", self.clear_rtt_after, 1, 65536, "a factor, such as 8", whole=True)

    def rtts(self) -> tuple[float, float]:
        """Least and greatest base RTT of the group [s]."""
        if isinstance(self.rtt, tuple):
            if len(self.rtt) != 2:
                raise ScenarioError(f"flows.rtt must be one value or a pair [first, last], got {self.rtt!r}")
            return self.rtt
        return (self.rtt, self.rtt)


@dataclass(frozen=True)
class Drop:
    """Lose the `transmission`-th transmission (from 1) of segment `segment` (from 0) of flow `flow`.

    For experiments with a known answer; given next to any other loss.
    """

    flow: int
    segment: int
    transmission: int = 1

    __pydantic_config__ = _FORBID

    def __post_init__(self) -> None:
        check("drops.flow", self.flow, 0, MAX_FLOWS, "flows are numbered from 0", whole=True)
        check("drops.segment", self.segment, 0, 1e15, "segments are numbered from 0", whole=True)
        check(
            "drops.transmission", self.transmission, 1, 1e6, "transmissions are numbered from 1", whole=True
        )


@dataclass(frozen=True)
class Scenario:
    """One dumbbell, what runs on it, for how long, and what is written down.

    Attributes
    ----------
    flows : tuple of Flows
        Numbered through in this order. A group appended at the end leaves the random draws of the others
        alone.
    bottleneck : Bottleneck
    duration : float
        Simulated time [s].
    warm_up : float
        Time [s] left out of every statistic, < duration.
    seed : int
        >= 0. The same scenario and seed give the same result to the last bit.
    epoch : float or "auto"
        Length [s] of the epochs in which sent packets are counted. "auto": each flow's own mean RTT, i.e.
        base RTT + sending time + mean wait at the bottleneck during the second half of the warm-up.
    slice : float
        Length [s] of the slices in which goodput is counted (the paper's 20 s).
    drops : tuple of Drop
        At most 1000.
    trace : bool
        Keep the time, flow, segment and kind of every transmission.

    Examples
    --------
    >>> scenario = Scenario(flows=(Flows(count=2, rtt=0.1),), duration=10.0, warm_up=1.0)
    >>> scenario.bottleneck.rate
    1000000.0
    """

    flows: tuple[Flows, ...] = (Flows(),)
    bottleneck: Bottleneck = Bottleneck()
    duration: float = _in("s", default=1000.0)
    warm_up: float = _in("s", default=100.0)
    name: str = "scenario"
    seed: int = 1
    epoch: float | Literal["auto"] = _in("s", default="auto")
    slice: float = _in("s", default=20.0)
    drops: tuple[Drop, ...] = ()
    trace: bool = False

    __pydantic_config__ = _FORBID

    def __post_init__(self) -> None:
        check("duration", self.duration, 1e-3, 1e9, 'give seconds, or text such as "1000s"')
        check("warm_up", self.warm_up, 0.0, 1e9, 'give seconds, or text such as "100s"')
        if self.warm_up >= self.duration:
            raise ScenarioError(
                f"warm_up must lie below duration = {self.duration:g} s, got {self.warm_up:g} s"
            )
        check("seed", self.seed, 0, 2**128, "give a whole number", whole=True)
        if self.epoch == "auto":
            if self.warm_up == 0:
                raise ScenarioError(
                    'epoch = "auto" is measured in the warm-up, which is 0 s; give one or the other'
                )
        else:
            check("epoch", self.epoch, 1e-6, 1e9, 'give seconds, or "auto" for the mean RTT of each flow')
        check("slice", self.slice, 1e-3, 1e9, 'give seconds, or text such as "20s"')
        check("flows", len(self.flows), 1, 100_000, "list at least one group", whole=True)
        check("drops", len(self.drops), 0, 1000, "use bottleneck.loss for many losses", whole=True)
        check(
            "flows.count (sum)", self.count, 1, MAX_FLOWS, "simulate fewer flows on a slower link", whole=True
        )
        for drop in self.drops:
            check("drops.flow", drop.flow, 0, self.count - 1, "flows are numbered from 0", whole=True)
        packets = self.duration * self.packet_rate
        if packets > MAX_PACKETS:
            raise ScenarioError(
                f"duration = {self.duration:g} s at bottleneck.rate = {self.bottleneck.rate:g} bit/s is "
                f"up to {packets:.1g} packets, more than {MAX_PACKETS:.0g}; shorten the run or slow the link"
            )
        if self.memory > MAX_MEMORY:
            raise ScenarioError(
                f"{self.count} flows with windows up to {self.ring // 2} packets and {self.slices} "
                f"slices need about {self.memory / 1e9:.1f} GB, more than {MAX_MEMORY / 1e9:g} GB; "
                "lower flows.count or flows.window_limit, or lengthen slice"
            )

    @property
    def count(self) -> int:
        """Number of flows."""
        return sum(group.count for group in self.flows)

    @property
    def packet_rate(self) -> float:
        """Most packets per second: what the link carries, or what the windows allow if that is less."""
        line = self.bottleneck.rate / (8 * min(group.packet_size for group in self.flows))
        return min(line, sum(group.count * group.window_limit / min(group.rtts()) for group in self.flows))

    @property
    def ring(self) -> int:
        """Segments of a flow that scoreboard and receiver can hold: a power of two above any window."""
        return max(64, 1 << (max(group.window_limit for group in self.flows) + 4).bit_length())

    @property
    def slices(self) -> int:
        """Whole slices in the measured part."""
        return int((self.duration - self.warm_up) / self.slice * (1 + 1e-12))

    @property
    def memory(self) -> float:
        """Rough need of a run [byte], traces excluded."""
        per_flow = 4 * self.ring + 8 * (self.slices + SILENCE_BINS) + 1500
        return self.count * per_flow + 8.0 * (self.bottleneck.buffer or 0)


#: Silences are counted by length 0..511 epochs; the last bin holds 512 and more.
SILENCE_BINS = 513


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario from a TOML file; see the ready ones for the shape.

    Raises
    ------
    ScenarioError
        For a file that is not TOML, an unknown key, a unit that is not known, or a value out of bounds.
    OSError
        If the file cannot be read.
    """
    try:
        return parse_scenario(tomllib.loads(Path(path).read_text("utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not TOML: {error}") from error


def parse_scenario(table: Mapping[str, Any]) -> Scenario:
    """Build a scenario from nested mappings with units as text, such as a TOML table.

    Examples
    --------
    >>> parse_scenario({"duration": "10s", "warm_up": "1s", "flows": [{"rtt": "200ms"}]}).flows[0].rtt
    0.2
    """
    from pydantic import TypeAdapter, ValidationError  # slow to import, so only here

    plain = _plain(Scenario, table, "")
    for key, part in (("bottleneck", Bottleneck), ("flows", Flows), ("drops", Drop)):
        value = plain.get(key)
        if isinstance(value, Mapping):
            plain[key] = _plain(part, value, f"{key}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            plain[key] = tuple(_plain(part, v, f"{key}.") if isinstance(v, Mapping) else v for v in value)
    try:
        return TypeAdapter(Scenario).validate_python(plain)
    except ValidationError as error:
        raise ScenarioError(_explain(error.errors()[0])) from error


def _plain(part: type, table: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Texts with units become numbers, booleans where numbers belong are refused, lists become tuples."""
    units = {f.name: f.metadata.get("unit") for f in dataclasses.fields(part)}
    plain: dict[str, Any] = {}
    for key, value in table.items():
        unit = units.get(key)
        if unit and not (key == "epoch" and value == "auto"):
            several = isinstance(value, Sequence) and not isinstance(value, str)
            numbers = tuple(quantity(v, unit, prefix + key) for v in (value if several else [value]))
            value = numbers if several else numbers[0]
        if isinstance(value, bool) and key not in ("limited_transmit", "trace"):
            raise ScenarioError(f"{prefix}{key} must be a number or text, got {value!r}")
        plain[key] = value
    return plain


def _explain(error: Any) -> str:
    """One sentence from pydantic's first complaint."""
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "unexpected_keyword_argument":
        known = "docs/scenarios.md lists the known ones"
        return f"unknown key {place}; {known}"
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "value_error":
        return str(message)
    return f"{place}: {message}, got {error['input']!r}"


def ready_scenarios() -> dict[str, Path]:
    """The scenarios that come with the package: name -> path of its TOML file.

    Examples
    --------
    >>> sorted(ready_scenarios())[:2]
    ['mixed_rtt', 'sub_packet']
    """
    folder = Path(str(resources.files("tcpdynamics.validation.packet") / "scenarios"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
