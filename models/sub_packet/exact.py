"""The un-aggregated sub-packet chain: each backoff level is a state, up to a cap, for every loss rate below one.

The aggregate states of Chen et al. (Figs. 7 and 8) stand for an outage that climbs through timeouts of T_0, 2 T_0,
4 T_0, ... Here every level is written out. One outage climbs from level k to k + 1 with probability s and ends
otherwise, where s depends on when the backoff collapses:

* m = 1 success: the ACK of the retransmission itself (with timestamps), s = p_r;
* m = 2: the first *new* segment acknowledged (Karn's rule and RFC 2988 to the letter), s = 1 - (1-p_r) q;
* m = 3: the retransmission and both packets of the window of two (the paper's own rule), s = 1 - (1-p_r) q^2.

Results that the paper does not have: silence is finite without a cap only if p < 1 - 2^(-1/m)
(`collapse_threshold`); the lengths of silences follow a discrete power law with exponent log2(1/s).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import UnionType
from typing import TYPE_CHECKING

import numpy as np

from tcpdynamics.errors import shown
from tcpdynamics.solvers.problems import DomainError, Edge, MarkovChain

from ..parameters import Value, broadcast, parameter
from .observed import SubPacketModel
from .windows import some_lost, window_transitions

if TYPE_CHECKING:
    import sympy
    import xarray as xr


@dataclass(frozen=True, kw_only=True)
class SubPacketExact(SubPacketModel, interpretation="exact"):
    """A state for every backoff level; timeouts last min(2^k, 2^K) T_0.

    States: b(k), silent for m_0 2^k - 1 epochs; S1(k), the retransmission; S2(k), the window of two that follows
    it; S2 ... SW. A timeout out of S2 ... SW starts at level 0: entering S3 loses the backoff.

    Examples
    --------
    >>> from tcpdynamics.solvers import stationary
    >>> model = SubPacketExact(loss=0.1)
    >>> model.observe(stationary(model.chain())).silent_fraction.item().__round__(4)
    0.2592
    """

    backoff_cap: int = parameter(
        "K", "1", "doublings of the timeout at most", low=0, high=60, low_open=False, high_open=False, integer=True,
        structural=True, default=6, source="Padhye et al., 1998, section II",
        note="The longest timeout is 2^K T_0; 64 T_0 is that of PFTK and BSD",
    )  # fmt: skip
    collapse: int = parameter(
        "m", "1", "successes in a row that end the backoff", low=1, high=3, low_open=False, high_open=False,
        integer=True, structural=True, default=3, source="Chen et al., section 3.3.3; RFC 2988",
        note="3 is the paper's rule; 2, that of RFC 2988, is nearest to packets",
    )  # fmt: skip

    def chain(self) -> MarkovChain:
        """The chain, with holding times in the silent states."""
        p, p_r, m_0, K = self._p(), self._p_r(), self._m_0(), self.backoff_cap
        moves = window_transitions(p, *self._windows())
        for k in range(K + 1):
            moves[f"b({k})", f"S1({k})"] = p**0
            for target, chance in self._after_retransmission(k, p, p_r).items():
                moves[f"S1({k})", target] = chance
            for target, law in self._after_window_of_two(k, p).items():
                moves[f"S2({k})", target] = _merge(law)
        holding = {f"b({k})": m_0 * 2**k - 1 for k in range(K + 1) if m_0 * 2**k != 2}
        return self._chain(moves, holding)

    def states(self) -> tuple[str, ...]:
        """b(k), S1(k), S2(k) level by level, then S2 ... SW."""
        ladder = [s.format(k) for k in range(self.backoff_cap + 1) for s in ("b({})", "S1({})", "S2({})")]
        return (*ladder, *(f"S{n}" for n in range(2, self.w_max + 1)))

    def _deeper(self, k: int) -> str:
        return f"b({min(k + 1, self.backoff_cap)})"

    def _after_retransmission(self, k: int, p: sympy.Expr, p_r: sympy.Expr) -> dict[str, sympy.Expr]:
        return {f"S2({k})": 1 - p_r, self._deeper(k): p_r}

    def _after_window_of_two(self, k: int, p: sympy.Expr) -> dict[str, dict[int, sympy.Expr]]:
        """Where S2(k) leads, with the packets delivered; a failure after the collapse is a new outage."""
        q = 1 - p
        law: dict[str, dict[int, sympy.Expr]] = {"S3": {2: q**2}}
        if self.collapse == 3:
            failures = [(self._deeper(k), {1: 2 * p * q, 0: p**2})]
        elif self.collapse == 2:  # by then the first packet of the two must have arrived
            failures = [(self._deeper(k), {1: p * q, 0: p**2}), ("b(0)", {1: p * q})]
        else:
            failures = [("b(0)", {1: 2 * p * q, 0: p**2})]
        for target, cell in failures:
            there = law.setdefault(target, {})
            for packets, chance in cell.items():
                there[packets] = there.get(packets, 0) + chance
        return law

    def _timeout_to(self) -> dict[int, str]:
        return {n: "b(0)" for n in range(2, self.w_max + 1)}

    def _ladder_deliveries(self) -> dict[Edge, dict[int, sympy.Expr]]:
        p, p_r = self._p(), self._p_r()
        law: dict[Edge, dict[int, sympy.Expr]] = {}
        for k in range(self.backoff_cap + 1):
            law[f"S1({k})", f"S2({k})"] = {1: 1 - p_r}
            law[f"S1({k})", self._deeper(k)] = {0: p_r}
            law |= {(f"S2({k})", target): cell for target, cell in self._after_window_of_two(k, p).items()}
        return law

    def repeat_probability(self) -> Value:
        """s = P(one more, longer timeout | a timeout) [1]; a number, or a DataArray over the parameters."""
        p, p_r = self._loss_pair()
        return escape(p, p_r, self.collapse)

    def tail_exponent(self) -> Value:
        """alpha = log2(1/s): P(silence > t) falls like t^(-alpha) up to the cap [1]."""
        return -np.log2(self.repeat_probability())

    def mean_silence(self) -> Value:
        """Mean length of a silence [epochs]: sum over levels of (m_0 2^k - 1) P(level k)."""
        law = self.silence_lengths()
        mean = (law.length * law.probability).sum("level")
        return mean.assign_attrs(units="epoch", long_name="mean length of a silence") if mean.ndim else float(mean)

    def silence_lengths(self) -> xr.Dataset:
        """How long silences are: level k with probability (1-s) s^k and m_0 2^k - 1 epochs, all above K at K.

        Returns
        -------
        xarray.Dataset over `level` (0..K) and the parameters
            `length` [epochs], `probability` [1] (sums to one over `level`), `time_fraction` [1]: the same, weighted
            with length (what a random observer of a silent sender sees).
        """
        import xarray as xr

        level = xr.DataArray(np.arange(self.backoff_cap + 1), dims="level", name="level")
        level = level.assign_coords(level=level).assign_attrs(long_name="backoff level of the timeout")
        s = xr.DataArray(self.repeat_probability())
        probability = s**level * (1 - s).where(level < self.backoff_cap, 1.0)
        m_0 = broadcast(self)["base_timeout"]
        length = m_0 * 2.0**level - 1
        time = length * probability
        fraction = time / time.sum("level")
        return xr.Dataset(
            {
                "length": length.assign_attrs(units="epoch", long_name="length of the silence"),
                "probability": probability.assign_attrs(units="1", long_name="probability of the silence"),
                "time_fraction": fraction.assign_attrs(units="1", long_name="fraction of the silent time"),
            },
            attrs={"model": type(self).__name__},
        )

    def silence_at(self, level: int) -> tuple[Value, Value]:
        """Length [epoch] and probability [1] of the silence at one backoff level: one row of `silence_lengths`.

        Of parameters that are SymPy expressions it makes expressions.

        Raises
        ------
        DomainError
            No whole number in [0, `backoff_cap`].

        Examples
        --------
        >>> SubPacketExact(loss=0.5, collapse=1).silence_at(3)
        (15.0, 0.0625)
        """
        if not (_is_number(level, int | np.integer) and 0 <= level <= self.backoff_cap):
            raise DomainError(f"level must be a whole number in [0, {self.backoff_cap}], got {shown(level)}")
        s, m_0 = self.repeat_probability(), broadcast(self)["base_timeout"]
        last = level == self.backoff_cap
        return m_0 * 2**level - 1, s**level * (1 if last else 1 - s)

    def _loss_pair(self) -> tuple[Value, Value]:
        v = broadcast(self)
        return v["loss"], v["loss" if self.retransmission_loss is None else "retransmission_loss"]


def escape(p: Value, p_r: Value, successes: int) -> Value:
    """s = 1 - (1-p_r)(1-p)^(m-1), written without cancellation."""
    return p_r + (1 - p_r) * some_lost(successes - 1, p) if successes > 1 else p_r


def collapse_threshold(successes: int = 3, backoff: float = 2.0) -> float:
    """Loss rate at which silence becomes infinite when timeouts grow without a cap.

    p_c = 1 - (1 - 1/c)^(1/m): the backoff multiplies the timeout by c and collapses after m successes in a row.

    Parameters
    ----------
    successes : int
        m >= 1. 3 is the rule of Chen et al.: 0.2063, not the 0.5 that their aggregated chain allows.
    backoff : float
        c > 1.

    Returns
    -------
    float
        p_c [1].

    Raises
    ------
    DomainError
        A number of successes or a factor outside its range.

    Examples
    --------
    >>> [round(collapse_threshold(m), 4) for m in (1, 2, 3)]
    [0.5, 0.2929, 0.2063]
    """
    if not (_is_number(successes, int | np.integer) and 1 <= successes <= 10**9):
        raise DomainError(f"successes must be a whole number in [1, 1e9], got {shown(successes)}")
    if not (_is_number(backoff, int | float | np.number) and 1 < backoff <= 1e300):
        raise DomainError(f"backoff must be a factor in (1, 1e300], got {shown(backoff)}; TCP uses 2")
    return float(-np.expm1(np.log1p(-1 / backoff) / successes))


def _is_number(value: object, kinds: type | UnionType) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _merge(law: dict[int, sympy.Expr]) -> sympy.Expr:
    return sum(law.values())
