"""N TCP flows on one full link: the loss rate that is consistent with what they then send.

A link of C packets/s, base round-trip time R_0 and a buffer of B packets that is always full has
RTT = R_0 + B/C. It carries all that arrives when N D(p)/RTT = C, where D(p) is what one flow delivers per RTT
at loss p. So D(p) = phi with phi = (C R_0 + B)/N: the loss depends on the link only through the packets
per flow that fit into the pipe and the buffer. D falls with p, so the loss is unique; where phi exceeds W,
the flows do not fill the link and the loss is zero.

A mean-field argument: independent losses, a buffer that never empties, all flows alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import shown
from tcpdynamics.solvers.problems import DomainError, MarkovChain, Reward, RewardBalance
from tcpdynamics.solvers.problems.numbers import dimensions

from ..formulas import with_labels
from ..model import Model
from ..parameters import Number, Value, as_parameter, is_labelled, parameter, setting
from .exact import SubPacketExact
from .observed import check_structure

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, kw_only=True)
class SharedLink(Model):
    """Self-consistent loss p(N, C, R_0, B).

    Examples
    --------
    >>> from tcpdynamics.solvers import self_consistent
    >>> link = SharedLink(flows=[100, 200], capacity=1e6, base_rtt=0.2, buffer=50, packet_size=500)
    >>> link.share().values
    array([1. , 0.5])
    >>> self_consistent(link.balance()).root.values.round(3)
    array([0.164, 0.213])
    """

    flows: Number = parameter("N", "1", "flows in progress", low=0.0)
    capacity: Number = parameter("C", "bit/s", "link rate", low=0.0)
    base_rtt: Number = parameter("R_0", "s", "round-trip time without queueing", low=0.0, high=100.0)
    buffer: Number = parameter("B", "packet", "buffer", low=0.0, low_open=False)
    packet_size: float = parameter("S", "byte", "packet size", low=0.0, structural=True, default=500.0)
    w_max: int = parameter(
        "W",
        "packet",
        "largest window",
        low=4,
        high=1000,
        low_open=False,
        high_open=False,
        integer=True,
        structural=True,
        default=6,
    )
    base_timeout: float = parameter(
        "m_0", "1", "timeout before backoff, in RTTs", low=1.0, high=1e6, low_open=False, default=2
    )
    backoff_cap: int = parameter(
        "K",
        "1",
        "doublings of the timeout at most",
        low=0,
        high=60,
        low_open=False,
        high_open=False,
        integer=True,
        structural=True,
        default=6,
    )
    collapse: int = parameter(
        "m", "1", "successes in a row that collapse the backoff", low=1, high=3, low_open=False, high_open=False,
        integer=True, structural=True, default=3,
    )  # fmt: skip
    retransmission_ratio: float = parameter(
        "p_r/p",
        "1",
        "loss of timeout retransmissions relative to other packets",
        low=0.0,
        low_open=False,
        structural=True,
        default=1.0,
        note="How much likelier the packet that a timeout retransmits is lost; 0 is a link that gives it priority",
    )
    suffix_losses: bool = setting("a drop also drops all later packets of the same window, S2 ... SW", False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_structure(self)
        for name in ("packet_size", "retransmission_ratio"):
            if np.ndim(getattr(self, name)):
                raise DomainError(f"{name} must be one number, got {shown(getattr(self, name))}; sweep it in a loop")

    def share(self) -> Value:
        """phi = (C R_0 + B)/N [packets per flow]: a DataArray over the grid of all array parameters.

        Of parameters that are SymPy expressions it makes an expression.
        """
        v: dict[str, Any] = {name: self._to_dataarray(name) for name in ("flows", "capacity", "base_rtt", "buffer")}
        packets: Value = v["capacity"] / (8 * self.packet_size) * v["base_rtt"] + v["buffer"]
        share = packets / v["flows"]
        if not is_labelled(share):
            return share
        return with_labels(share, "share", "packet", "packets in pipe and buffer per flow")

    def flow(self, loss: Number = 0.1) -> SubPacketExact:
        """The chain of one of the flows at a loss rate, and at that of retransmissions that goes with it.

        Examples
        --------
        >>> link = SharedLink(flows=100, capacity=1e6, base_rtt=0.2, buffer=50, retransmission_ratio=2)
        >>> link.flow([0.1, 0.2]).repeat_probability().values.round(3)
        array([0.352, 0.616])
        """
        # labelled, so that each loss has its own of retransmissions, and no grid of both
        labelled: Any = as_parameter("loss", loss, "1", "") if dimensions(loss) else loss
        again: Any = self.retransmission_ratio * labelled if self.retransmission_ratio else 0.0
        return SubPacketExact(
            loss=labelled,
            w_max=self.w_max,
            base_timeout=self.base_timeout,
            backoff_cap=self.backoff_cap,
            collapse=self.collapse,
            retransmission_loss=None if self.retransmission_ratio == 1 else again,
            suffix_losses=self.suffix_losses,
        )

    def balance(self, flow: SubPacketExact | None = None) -> RewardBalance:
        """The problem for `solvers.self_consistent`.

        Parameters
        ----------
        flow : SubPacketExact, optional
            The chain of each flow, at any loss, in the place of `flow()`: with settings that a link has not, such as
            `early_retransmit`.
        """
        from_model = flow is None
        flow = self.flow(0.1 / max(self.retransmission_ratio, 1)) if flow is None else flow
        chain, delivered = flow.chain(), flow.delivered()
        if from_model and self.retransmission_ratio not in (0, 1):
            chain, delivered = _tie(chain, delivered, self.retransmission_ratio)
        chain = replace(chain, name=type(self).__name__, provenance=self.provenance())
        idle = [s for s, packets in flow.packets().items() if packets == 0]
        high = 1 / max(self.retransmission_ratio, 1.0)
        share: Any = self.share()
        return RewardBalance(chain, "p", delivered, share, (1e-12, high * (1 - 1e-6)), idle)


def _tie(chain: MarkovChain, reward: Reward, ratio: float) -> tuple[MarkovChain, Reward]:
    """Replace the symbol p_r by ratio * p."""
    import sympy

    p_r = {s: sympy.Rational(ratio) * sympy.Symbol("p", positive=True) for s in _symbols(chain) if s.name == "p_r"}
    transitions = {edge: sympy.sympify(e).subs(p_r) for edge, e in chain._expressions.items()}
    joint = {edge: {r: sympy.sympify(e).subs(p_r) for r, e in law.items()} for edge, law in reward.joint.items()}
    parameters = {k: v for k, v in chain.parameters.items() if k != "p_r"}
    domain = {"p": (0.0, 1 / max(ratio, 1.0))}
    return replace(chain, transitions=transitions, parameters=parameters, domain=domain), replace(reward, joint=joint)


def _symbols(chain: MarkovChain) -> set[sympy.Symbol]:
    return {s for e in chain._expressions.values() for s in getattr(e, "free_symbols", ())}
