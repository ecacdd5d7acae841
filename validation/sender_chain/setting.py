"""One sender alone, losses independent, round trips all alike: the scenario that a sender's chain is compiled from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tcpdynamics.errors import ScenarioError, check, shown

from ..packet import Flows, Link, Scenario

#: Round-trip time [s]: a power of two, so that sums of times are exact and equal instants coincide.
RTT = 1.0

#: Longest timeout that is followed [RTT], and most halvings through which windows are told apart.
LONGEST, MOST_HALVINGS = 1e6, 6

#: Start of the flow [s], off the edges of epochs.
START = 0.25


@dataclass(frozen=True)
class Setting:
    """What a sender's chain is made of; everything in round-trip times and packets.

    Attributes
    ----------
    sender : {"tahoe", "reno", "newreno", "sack"}
    window : int
        Advertised window [packet].
    rules : {"ns2", "rfc"}
    control : str
        Congestion control, as `Flows.control`.
    timeout : float
        Minimum retransmission timeout [RTT], a multiple of 1/8 and at least 1; it lasts whole ticks.
    backoff_cap : int
        Doublings of the timeout at most.
    clear_rtt_after : int
        Above this backoff the RTT estimate is discarded, as `Flows.clear_rtt_after`: 8 in ns-2 and in the simulator.
        65536: it never is, as in Linux, with a third of the states.
    limited_transmit, leap : bool
        As of `Flows`, but that both are off by default: there, as in ns-2.35, limited transmit is on.
    delayed_ack : float
        Longest delay of an acknowledgement [RTT], a multiple of 1/8; 0: each packet is answered at once.
    ack_loss : bool
        Whether acknowledgements are lost, too.
    tick : float, optional
        Granularity of the sender's clock [RTT], 0 for an exact one; default 0, with "ns2", which needs a tick, 1/4.
        Where RTTs as measured are not all alike (acknowledgements are lost or delayed) the estimator's state matters,
        and only with a tick is it finite.
    halvings : int
        After each fast retransmission, congestion windows become one that behave alike through this many more halvings
        (`windows.alike`); 0: each stays the number that the code makes of it. ns-2 halves windows that are no whole
        numbers, so that from window 5 on the numbers have no end (docs/sender_chain.md). Of Reno's window alone.
    """

    sender: str = "sack"
    window: int = 6
    rules: str = "ns2"
    control: str = "reno"
    parameters: tuple[float, ...] = ()
    timeout: float = 2.0
    backoff_cap: int = 6
    clear_rtt_after: int = 8
    limited_transmit: bool = False
    leap: bool = False
    delayed_ack: float = 0.0
    ack_loss: bool = False
    tick: float | None = None
    halvings: int = 0

    def __post_init__(self) -> None:
        if self.sender not in ("tahoe", "reno", "newreno", "sack"):
            raise ScenarioError(f'sender must be "tahoe", "reno", "newreno" or "sack", got {self.sender!r}')
        if self.rules not in ("ns2", "rfc"):
            raise ScenarioError(
                f'rules must be "ns2" or "rfc", got {shown(self.rules)}; of senders by other rules no chain is known'
            )
        check("window", self.window, 1, 12, "count packets; more at once have too many patterns of losses", whole=True)
        check("backoff_cap", self.backoff_cap, 0, 16, "count doublings", whole=True)
        check("timeout", self.timeout, 1.0, 1024.0, "in round-trip times")
        if self.tick is None:
            object.__setattr__(self, "tick", 0.25 if self.rules == "ns2" else 0.0)
        check("tick", self.tick, 0.0, 8.0, "in round-trip times")
        check("delayed_ack", self.delayed_ack, 0.0, 8.0, "in round-trip times")
        check("halvings", self.halvings, 0, MOST_HALVINGS, "0: windows are kept as they are", whole=True)
        if self.halvings and self.control != "reno":
            raise ScenarioError(
                f"halvings are those of Reno's window, got control {self.control!r}; let the rule round its window"
            )
        longest = self.timeout * 2.0**self.backoff_cap
        if longest > LONGEST:
            raise ScenarioError(
                f"timeout = {self.timeout:g} RTT doubled backoff_cap = {self.backoff_cap} times is {longest:g} RTT, at "
                f"most {LONGEST:g} are followed; lower one of them"
            )
        if self.rules == "ns2" and self.tick == 0.0:
            raise ScenarioError('tick must be above 0 with rules "ns2", whose clock has one; try 1/4')
        if (self.tick or 0.0) > self.timeout:
            raise ScenarioError(
                f"tick must be at most the timeout of {self.timeout:g} RTT, which a coarser clock would round up, got "
                f"{self.tick:g}"
            )
        if self.leap and self.sender == "tahoe":
            raise ScenarioError("leap is a change to Reno, NewReno and SACK; Tahoe has no such sender")
        for name in ("timeout", "delayed_ack", "tick"):
            value = 8.0 * getattr(self, name)
            if value != int(value):
                raise ScenarioError(
                    f"{name} must be a multiple of 1/8 RTT, so that times stay exact, got {getattr(self, name):g}"
                )
        self.flows()

    @property
    def name(self) -> str:
        """What distinguishes it from other senders, in words.

        >>> Setting(window=3, leap=True).name
        'sack (ns2), window 3, LEAP'
        """
        more = [("limited transmit", self.limited_transmit), ("LEAP", self.leap)]
        words = [f"{self.sender} ({self.rules})", f"window {self.window}", *(text for text, on in more if on)]
        return ", ".join(words if self.control == "reno" else [*words, f"control {self.control}"])

    def flows(self) -> Flows:
        """The sender."""
        min_rto = self.timeout * RTT
        return Flows(
            sender=self.sender,
            rules=self.rules,
            control=self.control,
            parameters=self.parameters,
            source="sender",
            target="receiver",
            window_limit=self.window,
            limited_transmit=self.limited_transmit,
            leap=self.leap,
            delayed_ack=self.delayed_ack * RTT,
            min_rto=min_rto,
            initial_rto=min_rto,
            max_rto=min_rto * 2**self.backoff_cap,
            max_backoff=2**self.backoff_cap,
            timer_granularity=(self.tick or 0.0) * RTT,
            clear_rtt_after=self.clear_rtt_after,
            clock_phase=0.0,
            start=START,
            start_spread=0.0,
        )

    def scenario(self, loss: float, ack_loss: float = 0.0, **more: Any) -> Scenario:
        """The same sender for `simulate`: links that take no time to send and lose packets independently.

        Parameters
        ----------
        loss, ack_loss : float
        more : other fields of `Scenario`, such as `duration`, `warm_up`, `seed`
        """
        there = Link("sender", "receiver", rate=None, delay=RTT / 2, loss=loss, duplex=False)
        back = Link("receiver", "sender", rate=None, delay=RTT / 2, loss=ack_loss, duplex=False)
        chosen: dict[str, Any] = {"clock": "grid", "epoch": RTT, "most_in_epoch": 2 * self.window} | more
        return Scenario(flows=(self.flows(),), links=(there, back), **chosen)
