"""The sender's chain as a model: parameters with units and intervals, a chain, and what an observer counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tcpdynamics import former_names
from tcpdynamics.errors import DomainError, shown
from tcpdynamics.models.model import Model
from tcpdynamics.models.parameters import Number, parameter, setting
from tcpdynamics.solvers.problems import MarkovChain, Reward
from tcpdynamics.solvers.problems.numbers import dimensions

if TYPE_CHECKING:
    import xarray as xr

    from .chain import SenderChain
    from .setting import Setting

#: What `sender` and `rules` may be.
SENDERS = ("tahoe", "reno", "newreno", "sack")
RULES = ("ns2", "rfc")

#: Where a sender's windows have no end, those become one that behave alike through so many halvings; fewer where
#: NewReno's deflation, or SACK's estimator above a window of 5, makes many states of each.
HALVINGS, FEWER_HALVINGS = 2, 1


def _merged(halvings: int) -> str:
    return f"windows that behave alike through {halvings} halving{'s' * (halvings > 1)} are one"


@dataclass(frozen=True, kw_only=True)
class Sender(Model):
    """The chain of the simulator's own sender and receiver: independent losses, constant RTT.

    States and probabilities are not written down here: `sender_chain` finds them by running the sender. One step is a
    round-trip time of sending, or a wait for a timer.

    Examples
    --------
    >>> from tcpdynamics.solvers import stationary
    >>> model = Sender(sender="tahoe", rules="rfc", window=2, loss=0.1)
    >>> model.observe(stationary(model.chain())).sent.values.round(4)
    array([0.2119, 0.1824, 0.6057])
    """

    symbol_names: ClassVar = {"loss": "p", "retransmission_loss": "p_r", "ack_loss": "a"}

    loss: Number = parameter("p", "1", "packet-loss probability", low=0.0, high=1.0)
    sender: str = setting('"tahoe", "reno", "newreno" or "sack"', "sack")
    rules: str = setting('rule book: "ns2" or "rfc"', "ns2")
    window: int = parameter(
        "W", "packet", "advertised window", low=1, high=12, low_open=False, high_open=False, integer=True,
        structural=True, default=4,
    )  # fmt: skip
    timeout: float = parameter(
        "m_0", "1", "minimum retransmission timeout, in RTTs", low=1.0, high=1024.0, low_open=False, high_open=False,
        structural=True, default=2, note="A multiple of 1/8",
    )  # fmt: skip
    backoff_cap: int = parameter(
        "K", "1", "doublings of the timeout at most", low=0, high=16, low_open=False, high_open=False, integer=True,
        structural=True, default=6,
    )  # fmt: skip
    retransmission_loss: Number | None = parameter(
        "p_r", "1", "loss probability of retransmissions", low=0.0, high=1.0, default=None, note="Default: `loss`"
    )
    ack_loss: Number | None = parameter(
        "a", "1", "loss of acknowledgements", low=0.0, high=1.0, default=None, note="Default: none is lost"
    )
    delayed_ack: float = parameter(
        "d", "1", "longest delay of an acknowledgement, in RTTs", low=0.0, high=8.0, low_open=False, high_open=False,
        structural=True, default=0, note="A multiple of 1/8; 0: each packet is answered at once",
    )  # fmt: skip
    tick: float | None = parameter(
        "g", "1", "granularity of the sender's clock, in RTTs", low=0.0, high=8.0, low_open=False, high_open=False,
        structural=True, default=None,
        note="A multiple of 1/8; default: 1/4 where a tick is needed, else 0",
    )  # fmt: skip
    halvings: int | None = parameter(
        "h", "1", "windows that behave alike through so many halvings become one after a fast retransmission", low=0,
        high=6, low_open=False, high_open=False, integer=True, structural=True, default=None,
        note="0: none do. Default: 2 where ns-2's halves of windows have no end (1: NewReno, and SACK above 5), else 0",
    )  # fmt: skip
    most_states: int = parameter(
        "N", "1", "states of the simulator that are explored at most", low=1, high=10**7, low_open=False,
        high_open=False, integer=True, structural=True, default=600_000, note="More are refused; about 20,000 a second",
    )  # fmt: skip
    limited_transmit: bool = setting(
        "a new segment for each of the first two duplicates (RFC 3042); in scenarios it is on", False
    )
    leap: bool = setting(
        "LEAP: a timeout without duplicates sends a new segment instead of the one that timed out", False
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, choices in (("sender", SENDERS), ("rules", RULES)):
            if getattr(self, name) not in choices:
                raise DomainError(f"{name} must be one of {', '.join(choices)}, got {shown(getattr(self, name), 40)}")
        for name in ("window", "timeout", "backoff_cap", "delayed_ack", "tick", "halvings", "most_states"):
            if np.ndim(getattr(self, name)):
                raise DomainError(
                    f"{name} must be one number, got {shown(getattr(self, name))}; each value is a chain of its own: "
                    "sweep it in a loop"
                )
        for name in ("timeout", "delayed_ack", "tick"):
            value = getattr(self, name)
            if value is not None and 8 * value != int(8 * value):
                raise DomainError(f"{name} must be a multiple of 1/8, got {float(value):g}; times stay exact so")

    def setting(self) -> Setting:
        """What the chain is explored of."""
        from .setting import Setting

        with_acks = self.ack_loss is not None or bool(self.delayed_ack)
        tick = self.tick
        if tick is None and with_acks:
            tick = 0.25  # round-trip times are not all alike, and only with a tick the estimator's states are finite
        return Setting(
            sender=self.sender,
            window=int(self.window),
            rules=self.rules,
            timeout=float(self.timeout),
            backoff_cap=int(self.backoff_cap),
            limited_transmit=self.limited_transmit,
            leap=self.leap,
            delayed_ack=float(self.delayed_ack),
            ack_loss=self.ack_loss is not None,
            tick=None if tick is None else float(tick),
            halvings=self.distinct_halvings(),
        )

    def distinct_halvings(self) -> int:
        """Halvings through which windows are distinguished after a fast retransmission; 0: all windows are.

        ns-2 halves windows that are no whole numbers; from a window of 5 on, they have no end (docs/sender_chain.md).

        Examples
        --------
        >>> Sender(loss=0.1, window=5).distinct_halvings(), Sender(loss=0.1, window=5, rules="rfc").distinct_halvings()
        (2, 0)
        """
        if self.halvings is not None:
            return int(self.halvings)
        if self.rules != "ns2" or self.sender == "tahoe" or self.window < 5:
            return 0
        many = self.sender == "newreno" or (self.sender == "sack" and self.window > 5)
        return FEWER_HALVINGS if many else HALVINGS

    told_apart = former_names.method("told_apart", "distinct_halvings")

    def compiled(self) -> SenderChain:
        """The chain with its classes of states, as `sender_chain` makes it; explored once for each setting.

        Raises
        ------
        SenderChainError
            More states than `most_states`, or a sender that cannot be explored.
        """
        from .chain import chain_of

        return chain_of(self.setting(), self.retransmission_loss is None, int(self.most_states))

    def chain(self) -> MarkovChain:
        """The chain, with holding times in its waits."""
        chain = self.compiled().chain()
        return self.problem(
            MarkovChain, transitions=chain.transitions, states=chain.states, holding=chain.holding, name=chain.name
        )

    def about(self) -> str:
        """How many states there are, and what is rounded, in a sentence."""
        chain, halvings = self.compiled(), self.distinct_halvings()
        more = f"; {_merged(halvings)}" if halvings else ""
        burst = max(at.new + at.again for at in chain.instants)
        if burst > self.window:
            more += (
                f"; up to {burst} packets go at once: beside the window of {self.window}, what is sent again or for a "
                "duplicate"
            )
        return (
            f"{chain.explored:,} states of the simulator, of which {chain.recurrent:,} recur, behave like "
            f"{len(chain.instants):,}{more}"
        )

    def words(self) -> str:
        """The setting in force, except for the losses.

        Examples
        --------
        >>> Sender(loss=0.1, window=4).words()
        'timeouts of at least 2 RTT, 6 doublings, clock with a tick of 0.25 RTT'
        """
        made = self.setting()
        parts = [
            (f"timeouts of at least {made.timeout:g} RTT", True),
            (f"{made.backoff_cap} doublings", True),
            (f"clock with a tick of {made.tick:g} RTT", bool(made.tick)),
            (f"acknowledgements delayed by up to {made.delayed_ack:g} RTT", bool(made.delayed_ack)),
            (_merged(made.halvings), bool(made.halvings)),
        ]
        return ", ".join(text for text, differs in parts if differs)

    def heading(self) -> str:
        """What a table of `sent` shows: where instants lie closer than a round trip, several share one.

        Examples
        --------
        >>> own = {"rules": "rfc", "window": 4, "limited_transmit": True, "backoff_cap": 1, "loss": 0.1}
        >>> [Sender(timeout=m, **own).heading()[:8] for m in (2, 2.5)]
        ['Probabil', 'Instants']
        """
        closer = any(step[1] < 1.0 for steps in self.compiled().steps for step in steps)
        counted = (
            "Instants with n packets sent, per RTT (two may share one)"
            if closer
            else "Probability of n packets sent in an epoch (one RTT)"
        )
        return f"{counted}, and the mean number of packets sent per RTT"

    def states(self) -> tuple[str, ...]:
        """`Sn.i` sends n packets, `A.i` only acknowledgements, `b(t).i` waits t RTTs for the timer, `w(t).i` else."""
        return self.compiled().labels

    def sent(self) -> Reward:
        """Packets of data sent in each step, for `windowed`."""
        return self.compiled().sent()

    def delivered(self) -> Reward:
        """Segments that are new to the receiver, in each step, for `windowed`."""
        return self.compiled().delivered()

    def silent(self) -> Sequence[str]:
        """The states that wait for a timer, for `first_passage`, `sojourn` and `windowed`."""
        return self.compiled().silent()

    def observe(self, result: xr.Dataset) -> xr.Dataset:
        """What a stationary distribution of this model's chain means on the wire.

        Parameters
        ----------
        result : Dataset from `solvers.stationary(model.chain())`, floats or exact

        Returns
        -------
        xarray.Dataset
            `sent` (..., packets): fraction of round trips with n packets of data sent (instants with n packets, per
            RTT, where they lie closer: acknowledgements that are lost or delayed, or limited transmit with a timeout
            of no whole number of RTTs); `packets_per_rtt` [packet]; `goodput` [packet]: segments new to the receiver
            per RTT; `silent_fraction` [1]: time in which a timer is waited for.
        """
        return self.compiled().observe(result, self._parameters())

    def observe_along(self) -> xr.Dataset:
        """The same quantities at a million loss rates in about a second, without the distributions themselves.

        Raises
        ------
        DomainError
            More than one loss is an array, or `loss` is none.

        Examples
        --------
        >>> many = Sender(sender="tahoe", rules="rfc", window=2, loss=np.linspace(0.01, 0.5, 100_000))
        >>> counted = many.observe_along()
        >>> counted.sent.shape, counted.sent.values[18367].round(4).tolist()
        ((100000, 3), [0.2119, 0.1824, 0.6057])
        """
        from tcpdynamics.solvers import stationary
        from tcpdynamics.solvers.results import provenance

        from .along import observe_along

        def solved(model: Sender) -> xr.Dataset:
            return model.observe(stationary(model.chain(), throw=True))

        further = [x for x in (self.retransmission_loss, self.ack_loss) if x is not None]
        if dimensions(self.loss) != 1 or any(dimensions(x) for x in further):
            raise DomainError(
                "loss must be the only array where a chain is followed along it; sweep the other losses in a loop"
            )
        loss: Any = self.chain().parameters["p"]  # labelled by `Model`
        if float(loss.min()) == float(loss.max()):
            return solved(self)
        made_of = provenance(self.chain(), "stationary")
        return observe_along(lambda p: solved(replace(self, loss=p)), loss, made_of)
