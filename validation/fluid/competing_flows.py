"""Flows under Lotka-Volterra control on one link, with old measurements, and with a real queue if wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tcpdynamics.limits import check_work
from tcpdynamics.solvers.problems import DDE, Delayed, DomainError


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """n flows alike that grow by dN_i/dt = epsilon (1 - (own + gamma others)/K) N_i.

    Time in base round trips, rates in packets per round trip, so that a rate is also a window.

    Parameters
    ----------
    flows : int
        n.
    epsilon, gamma : float or array
        Growth per round trip, > 0, and weight of the others, in [0, 1).
    capacity : float
        K, rate of the link [packet/RTT].
    delay : float or array
        Age of what is measured [RTT], >= 0.
    own_old : bool
        Whether the own rate is as old as the others'; else the sender knows it.
    queue : bool
        What the others' rates are. False: N_j itself. True: what they get through a first-in-first-out link whose
        queue q >= 0 is a state, t_j = N_j/(1 + q/K); q' = sum t - K.

    Examples
    --------
    >>> sorted(Crowd(flows=2, own_old=False, queue=True).dde().rhs)
    ['N[1]', 'N[2]', 'q']
    """

    flows: int = 1
    epsilon: Any = 1.95
    gamma: Any = 0.9
    capacity: float = 1.0
    delay: Any = 0.5
    own_old: bool = True
    queue: bool = False

    def __post_init__(self) -> None:
        if self.flows < 1 or (self.queue and self.flows < 2):
            raise DomainError(
                f"flows must be at least 1, with a queue at least 2 (one flow leaves it empty), got {self.flows}"
            )
        if self.queue and self.own_old:
            raise DomainError("with a queue the own rate is known; give own_old=False")

    def dde(self) -> DDE:
        """The delay differential equations; the queue, where there is one, is the state "q"."""
        import sympy

        n = self.flows
        check_work(f"equations of {n:,} flows", 1e5 * float(n) ** 2, "give fewer flows, or use alike_dde()")
        now = [sympy.Symbol(f"N[{i}]", positive=True) for i in range(1, n + 1)]
        old = [sympy.Symbol(f"N_d[{i}]", positive=True) for i in range(1, n + 1)]
        return self._dde(now, old, 1)

    def alike_dde(self) -> DDE:
        """The motion in which all flows are equal, as one state "N[1]" (and the queue)."""
        import sympy

        return self._dde([sympy.Symbol("N[1]", positive=True)], [sympy.Symbol("N_d[1]", positive=True)], self.flows)

    def _dde(self, now: list[Any], old: list[Any], copies: int) -> DDE:
        """Equations of flows of which each stands for as many as `copies`."""
        import sympy

        n = self.flows
        e, g, K, delay = (sympy.Symbol(s, positive=True) for s in ("epsilon", "gamma", "capacity", "delay"))
        q, q_old = sympy.symbols("q q_d", real=True)
        share = 1 / (1 + q_old / K) if self.queue else 1
        own = old if self.own_old else now
        rhs: dict[str, Any] = {
            N.name: e * N * (1 - (own[i] + g * share * (copies * sympy.Add(*old) - old[i])) / K)
            for i, N in enumerate(now)
        }
        delayed = {o.name: Delayed(N.name, delay) for o, N in zip(old, now, strict=True)}
        equilibrium = K * (1 - g + g / n) if self.queue else K / (1 + (n - 1) * g)
        point = dict.fromkeys([N.name for N in now], equilibrium)
        if self.queue:
            over = copies * sympy.Add(*now) / (1 + q / K) - K
            rhs["q"] = sympy.Piecewise((over, q > 0), (sympy.Max(over, 0), True))
            delayed["q_d"] = Delayed("q", delay)
            point["q"] = n * equilibrium - K
        return DDE(
            rhs=rhs,
            delayed=delayed,
            parameters={"epsilon": self.epsilon, "gamma": self.gamma, "capacity": self.capacity, "delay": self.delay},
            fixed_points=[point],
            units={"N": "packet/RTT", "q": "packet"} if self.queue else {"N": "packet/RTT"},
            time_units="RTT",
            domain={"epsilon": (0.0, np.inf), "gamma": (-1e-300, 1.0), "capacity": (0.0, np.inf)},
            name=type(self).__name__,
        )
