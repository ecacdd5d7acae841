"""TCP in sub-packet regimes: the Markov chains of Chen, Iyengar, Subramanian and Ford.

`SubPacketApproximate` is their Fig. 7, `SubPacketFull` their Fig. 8 as printed. The figure leaves arrows open;
`SubPacketFresh` and `SubPacketLevels` are the two other readings that its text supports, and `SubPacketExact`
(exact.py) is the chain that the aggregate states stand for.

One step of a chain is an *epoch*, one RTT. "b" states are silent, "S1" states resend one packet after a
timeout, S_n sends a window of n.

References
----------
.. [1] J. Chen, J. Iyengar, L. Subramanian, B. Ford, TCP Behavior in Sub-Packet Regimes, section 3, Figs. 7 and 8.
.. [2] V. Paxson, M. Allman, Computing TCP's Retransmission Timer, RFC 2988.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcpdynamics.solvers.problems import Edge, MarkovChain

from ..parameters import Number, Value, parameter
from .observed import SubPacketModel, loss_parameter, resent_loss_parameter, timeout_parameter
from .windows import some_lost, window_transitions

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, kw_only=True)
class SubPacketApproximate(SubPacketModel, interpretation="approximate"):
    """The approximate model (Fig. 7): one silent state b* stands for all repeated timeouts.

    Valid for p < 1/2 (backoff without a limit); from b* the wait is geometric with mean 1/(1-2p) epochs (eq. 8).

    Examples
    --------
    >>> from tcpdynamics.solvers import stationary
    >>> model = SubPacketApproximate(loss=0.1)
    >>> model.observe(stationary(model.chain())).packets_per_rtt.item().__round__(4)
    2.7052
    """

    loss: Number = loss_parameter(high=0.5)
    base_timeout: Number = timeout_parameter(low=2.0)
    retransmission_loss: Number | None = resent_loss_parameter(high=0.5)

    def chain(self) -> MarkovChain:
        """Fig. 7, for any W."""
        p, p_r, m_0 = self._p(), self._p_r(), self._m_0()
        moves = window_transitions(p, *self._windows())
        moves |= {
            ("S1", "S2"): 1 - p_r,
            ("S1", "b*"): p_r,
            ("b0", "S1"): _one(),
            ("b*", "S1"): 1 / mean_wait(0, p_r, m_0),
        }
        return self._chain(moves, simple_wait(m_0))

    def states(self) -> tuple[str, ...]:
        """b0, b*, S1 ... SW."""
        return ("b0", "b*", *(f"S{n}" for n in range(1, self.w_max + 1)))

    def _timeout_to(self) -> dict[int, str]:
        return {n: "b*" if n <= 3 else "b0" for n in range(2, self.w_max + 1)}

    def _ladder_deliveries(self) -> dict[Edge, dict[int, sympy.Expr]]:
        p_r = self._p_r()
        return {("S1", "S2"): {1: 1 - p_r}, ("S1", "b*"): {0: p_r}}

    def _repairs(self, state: str, n: int) -> bool:
        return n >= 4 or self.early_retransmit


@dataclass(frozen=True, kw_only=True)
class SubPacketFull(SubPacketModel, interpretation="full"):
    """The full model (Fig. 8) as printed, with `stages` repeated-timeout stages: interpretation A.

    After the k-th repeated timeout the sender is in S1(kr), then S2(kr); a loss there leads to b*(kr), whose geometric
    wait has the mean E_k of eq. (11) and stands for all deeper backoffs. A timeout in S2 or S3 leads to b*.

    Valid for p < 1/2. Because the stages are chained *and* each wait already holds all deeper ones, deep
    backoffs are counted
    twice: beyond p = 1 - 2^(-1/3) = 0.206 the silent fraction has no limit as `stages` grows.

    Examples
    --------
    >>> from tcpdynamics.solvers import stationary
    >>> model = SubPacketFull(loss=[0.1, 0.2])
    >>> model.observe(stationary(model.chain())).silent_fraction.values.round(4)
    array([0.2721, 0.6356])
    """

    loss: Number = loss_parameter(high=0.5)
    base_timeout: Number = timeout_parameter(low=2.0)
    retransmission_loss: Number | None = resent_loss_parameter(high=0.5)
    stages: int = parameter(
        "R", "1", "repeated-timeout stages", low=1, high=1000, low_open=False, high_open=False, integer=True,
        structural=True, default=3, source="Chen et al., section 3.3.3",
    )  # fmt: skip

    def chain(self) -> MarkovChain:
        """Fig. 8, for any W and R."""
        p, p_r, m_0, R = self._p(), self._p_r(), self._m_0(), self.stages
        moves = window_transitions(p, *self._windows())
        moves["b0", "S1(1r)"] = _one()
        if "b*" in self._silent():
            moves["b*", "S1(1r)"] = 1 / mean_wait(0, p_r, m_0)
        for k in range(1, R + 1):
            deeper = f"S1({min(k + 1, R)}r)"
            moves |= {
                (f"S1({k}r)", f"S2({k}r)"): 1 - p_r,
                (f"S1({k}r)", f"b*({k}r)"): p_r,
                (f"S2({k}r)", "S3"): (1 - p) ** 2,
                (f"S2({k}r)", f"b*({k}r)"): some_lost(2, p),
                (f"b*({k}r)", deeper): _one() if self._held(k) else 1 / mean_wait(k, p_r, m_0),
            }
        holding = simple_wait(m_0)
        holding |= {f"b*({k}r)": m_0 * 2**k - 1 for k in range(1, R + 1) if self._held(k)}
        return self._chain(moves, holding)

    def states(self) -> tuple[str, ...]:
        """The silent states, S2 ... SW, then S1(kr), S2(kr), b*(kr) stage by stage."""
        windows = [f"S{n}" for n in range(2, self.w_max + 1)]
        ladder = [s.format(k) for k in range(1, self.stages + 1) for s in ("S1({}r)", "S2({}r)", "b*({}r)")]
        return (*self._silent(), *windows, *ladder)

    def _silent(self) -> tuple[str, ...]:
        return ("b0", "b*")

    def _held(self, k: int) -> bool:
        """Whether stage k waits exactly its own timeout instead of a geometric time."""
        return False

    def _timeout_to(self) -> dict[int, str]:
        return {n: "b*" if n <= 3 else "b0" for n in range(2, self.w_max + 1)}

    def _ladder_deliveries(self) -> dict[Edge, dict[int, sympy.Expr]]:
        p, p_r = self._p(), self._p_r()
        law: dict[Edge, dict[int, sympy.Expr]] = {}
        for k in range(1, self.stages + 1):
            law |= {
                (f"S1({k}r)", f"S2({k}r)"): {1: 1 - p_r},
                (f"S1({k}r)", f"b*({k}r)"): {0: p_r},
                (f"S2({k}r)", "S3"): {2: (1 - p) ** 2},
                (f"S2({k}r)", f"b*({k}r)"): {1: 2 * p * (1 - p), 0: p**2},
            }
        return law


@dataclass(frozen=True, kw_only=True)
class SubPacketFresh(SubPacketFull, interpretation="fresh"):
    """Interpretation B of Fig. 8: a timeout in S2 or S3 is a simple one (b0), because no backoff is remembered there.

    By section 3.3.3 of the paper, entering S3 loses the memory, and S2 without a suffix is entered only by fast
    retransmission; so b* is never entered and is left out.

    Examples
    --------
    >>> "b*" in SubPacketFresh(loss=0.1).states()
    False
    """

    def _silent(self) -> tuple[str, ...]:
        return ("b0",)

    def _timeout_to(self) -> dict[int, str]:
        return {n: "b0" for n in range(2, self.w_max + 1)}


@dataclass(frozen=True, kw_only=True)
class SubPacketLevels(SubPacketFresh, interpretation="levels"):
    """Interpretation L of Fig. 8: stages below the last wait exactly their own timeout, the last all deeper ones.

    Tends to the exact chain without a backoff limit as `stages` grows.

    Examples
    --------
    >>> len(SubPacketLevels(loss=0.1, stages=5).states()) - len(SubPacketLevels(loss=0.1, stages=3).states())
    6
    """

    def _held(self, k: int) -> bool:
        return k < self.stages


def mean_wait(k: int, p: Value, m_0: Value) -> Value:
    """E_k, mean idle epochs of an aggregate that starts at backoff 2^k: ((m_0 2^k - 1) q + p) / (1 - 2p).

    eq. (8) for k = 0 and m_0 = 2; eq. (11) for k = 1, whose printed sum has a factor p too many. Without cancellation.

    Examples
    --------
    >>> from fractions import Fraction
    >>> mean_wait(1, Fraction(1, 4), 2)  # (3 - 2p)/(1 - 2p)
    Fraction(5, 1)
    """
    return ((m_0 * 2**k - 1) * (1 - p) + p) / (1 - 2 * p)


def simple_wait(m_0: sympy.Expr) -> dict[str, sympy.Expr]:
    """Time in b0: m_0 - 1 idle epochs; the paper's m_0 = 2 needs no entry."""
    return {} if m_0 == 2 else {"b0": m_0 - 1}


def _one() -> sympy.Expr:
    import sympy

    return sympy.Integer(1)
