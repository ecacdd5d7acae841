"""A window of n packets: what arrives, what is repaired, what times out.

Notation of Chen, Iyengar, Subramanian and Ford (section 3): p packet loss, q = 1 - p, S_n a window of n
packets, W the largest window. Every probability is written as a sum of non-negative terms, so that no
digit is lost however small p is:

* all n packets arrive: a_n = q^n (eq. 1);
* exactly one is lost and its fast retransmission arrives: f_n = n p q^n for n >= 4 (eq. 2), for n >= 2 with
  Early Retransmit;
* timeout, the rest (eq. 3): 1 - a_n - f_n = p^2 (1 + 2q + 3q^2 + ... + n q^(n-1)) where there is a fast
  retransmission, and 1 - a_n = p (1 + q + ... + q^(n-1)) where there is none.

Where losses come in bursts that take a suffix of the window, p is the chance that a packet is lost when all before it
arrived, and what follows it is lost too. Then a_n is the same; exactly one is lost where that is the last, f_n = p q^n
(a copy is sent for it, as for any other); the timeout is p (1 + q + ... + q^(n-2)) + p^2 q^(n-1).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import TYPE_CHECKING

from tcpdynamics.solvers.problems import Edge

from ..parameters import Value

if TYPE_CHECKING:
    import sympy

#: Terms of a nested sum.
_BLOCK = 64


def grows_to(n: int, w_max: int) -> int:
    """The window after all of n packets arrived."""
    return min(n + 1, w_max)


def halves_to(n: int) -> int:
    """The window after a fast retransmission."""
    return max(n // 2, 2)


def recovers(n: int, early_retransmit: bool) -> bool:
    """Whether a window of n can repair one loss without a timeout (three duplicate ACKs; RFC 5827 needs fewer)."""
    return n >= 4 or (early_retransmit and n >= 2)


def one_lost(n: int, p: Value, suffix: bool = False) -> Value:
    """P(exactly one of n packets is lost); of losses that take a suffix, that is the last one."""
    return (1 if suffix else n) * p * (1 - p) ** (n - 1)


def before_a_loss(n: int, p: Value, suffix: bool = False) -> Value:
    """Mean number of a window's packets whose loss is decided each by itself: all, or those up to the first lost."""
    return sum((1 - p) ** j for j in range(n)) if suffix else n


def timeout_chance(n: int, p: Value, early_retransmit: bool = False, suffix: bool = False) -> Value:
    """P(timeout | a window of n packets is sent), without cancellation.

    Examples
    --------
    >>> timeout_chance(4, 0.5)  # 1 - q^4 - 4 p q^4
    0.8125
    """
    q = 1 - p
    if recovers(n, early_retransmit) and suffix:
        return some_lost(n - 1, p) + p**2 * q ** (n - 1)
    if recovers(n, early_retransmit):
        return p**2 * sum(j * q ** (j - 1) for j in range(1, n + 1))
    return some_lost(n, p)


def some_lost(n: int, p: Value) -> Value:
    """1 - q^n = P(at least one of n packets is lost), without cancellation."""
    return p * sum((1 - p) ** j for j in range(n))


def window_transitions(
    p: sympy.Expr, w_max: int, early_retransmit: bool, timeout_to: Mapping[int, str], suffix: bool = False
) -> dict[Edge, sympy.Expr]:
    """Transitions out of S_2 ... S_W; `timeout_to[n]` is the state that a timeout in S_n leads to."""
    q = 1 - p
    moves: dict[Edge, sympy.Expr] = {}
    weighted = _partial_sums([j * q ** (j - 1) for j in range(1, w_max + 1)])
    for n in range(2, w_max + 1):
        state = f"S{n}"
        if n < w_max:
            moves[state, f"S{grows_to(n, w_max)}"] = q**n
        if recovers(n, early_retransmit) and halves_to(n) != n:
            moves[state, f"S{halves_to(n)}"] = (1 if suffix else n) * p * q**n
        repaired = recovers(n, early_retransmit)
        if suffix:
            moves[state, timeout_to[n]] = timeout_chance(n, p, early_retransmit, suffix)
            continue
        moves[state, timeout_to[n]] = p**2 * weighted[n - 1] if repaired else some_lost(n, p)
    return moves


def _partial_sums(terms: list[sympy.Expr]) -> list[sympy.Expr]:
    """Running sums that SymPy does not flatten: each is an addition or two more than the last, so W windows cost O(W).

    In blocks, for SymPy walks nested sums by recursion.
    """
    import sympy

    def nested(total: sympy.Expr, term: sympy.Expr) -> sympy.Expr:
        return sympy.Add(total, term, evaluate=False)

    sums: list[sympy.Expr] = []
    before, inside = None, None
    for i, term in enumerate(map(sympy.sympify, terms)):
        inside = nested(inside, term) if i % _BLOCK else term
        sums.append(inside if before is None else nested(before, inside))
        if i % _BLOCK == _BLOCK - 1:
            before = sums[-1]
    return sums


def window_deliveries(
    p: sympy.Expr, w_max: int, early_retransmit: bool, timeout_to: Mapping[int, str], suffix: bool = False
) -> dict[Edge, dict[int, sympy.Expr]]:
    """Joint law of the next state and the packets that arrive, out of S_2 ... S_W.

    A copy sent by fast retransmit counts where it arrives, so that a window which loses one packet and
    repairs it delivers n.
    """
    q = 1 - p
    law: dict[Edge, dict[int, sympy.Expr]] = {}

    def add(source: str, target: str, packets: int, chance: sympy.Expr) -> None:
        cell = law.setdefault((source, target), {})
        cell[packets] = cell.get(packets, 0) + chance

    for n in range(2, w_max + 1):
        state, out = f"S{n}", timeout_to[n]
        add(state, f"S{grows_to(n, w_max)}", n, q**n)
        last = one_lost(n, p, suffix)
        if recovers(n, early_retransmit):
            add(state, f"S{halves_to(n)}", n, last * q)
            add(state, out, n - 1, last * p)
        else:
            add(state, out, n - 1, last)
        for k in range(n - 1):
            add(state, out, k, p * q**k if suffix else comb(n, k) * q**k * p ** (n - k))
    return law
