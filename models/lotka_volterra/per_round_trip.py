"""Lotka-Volterra control in steps: one update per round trip, or per ACK with a measurement that is held.

For flows alike the deviations are the sum (once) and differences (n - 1 times), so each condition is that of two
scalar recursions. M = 1 + (n-1) gamma throughout, and the reading is R1 (eq. 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.solvers.problems import Delayed, DomainError, Map
from tcpdynamics.solvers.problems.numbers import dimensions

from ..formulas import at_least, exp, log, named
from ..logistic import held_growth
from ..parameters import Number, Value, broadcast, parameter
from .competition import Competition, total_of
from .equilibrium import fixed_points

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraMap(Competition, interpretation="map"):
    """N_i <- N_i + epsilon (1 - (N_i + gamma sum_{j != i} N_j)/K_i) N_i per round trip.

    What is in the brackets may be `lag` steps old. Stable where epsilon < 2 cos(lag pi/(2 lag + 1)): 2 without lag, 1
    with one round trip, 0.618, 0.445, ... after that, for every n and gamma, and wherever all flows survive for unequal
    capacities too.

    Examples
    --------
    >>> [round(LotkaVolterraMap(lag=d).critical_gain(), 3) for d in (0, 1, 2, 3)]
    [2.0, 1.0, 0.618, 0.445]
    """

    time_units = "step"

    lag: Number = parameter(
        "d", "1", "age of the measurement in round trips", low=0, low_open=False, integer=True, structural=True,
        default=0,
    )  # fmt: skip

    def map(self) -> Map:
        """The map; one step is one round trip."""
        lag = self._lag()
        rates, gamma, epsilon = self._rates(), self._symbol("gamma"), self._symbol("epsilon")
        past = self._rates("_d") if lag else rates
        total = total_of(past)
        rhs = {
            N.name: N + epsilon * N * (K - (1 - gamma) * old - gamma * total) / K
            for N, old, K in zip(rates, past, self._symbols("capacity"), strict=True)
        }
        delayed = {d.name: Delayed(N.name, lag) for N, d in zip(rates, past, strict=True)} if lag else {}
        return _map(self, rhs, delayed)

    def stability_margin(self) -> Value:
        """2 cos(lag pi/(2 lag + 1)) - epsilon: stable where > 0."""
        return named(self.critical_gain() - broadcast(self)["epsilon"], "margin", "1", "stability margin")

    def critical_gain(self) -> Value:
        """2 cos(lag pi/(2 lag + 1)), the largest stable epsilon."""
        lag = broadcast(self)["lag"]
        return named(2 * np.cos(lag * np.pi / (2 * lag + 1)), "epsilon", "1", "critical gain")

    def _lag(self) -> int:
        return whole("lag", self.lag)


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraStale(Competition, interpretation="stale"):
    """The map with the own rate current and the others' one round trip old.

    That is what a sender can know that measures once per round trip. For flows alike, stable where
    epsilon < M min(1/(gamma (n-1)), 2/(1 + gamma)). Where gamma > 1/(2n-3) the sum spirals out first (the first bound);
    for two flows always the difference between them flips first.

    Examples
    --------
    >>> [round(LotkaVolterraStale(flows=n).critical_gain(), 3) for n in (1, 2, 3, 5, 10)]
    [2.0, 2.0, 1.556, 1.278, 1.123]
    """

    time_units = "step"

    def map(self) -> Map:
        """The map; one step is one round trip."""
        rates, past, gamma, epsilon = (self._rates(), self._rates("_d"), self._symbol("gamma"), self._symbol("epsilon"))
        total = total_of(past)
        rhs = {
            N.name: N + epsilon * N * (K - N + gamma * old - gamma * total) / K
            for N, old, K in zip(rates, past, self._symbols("capacity"), strict=True)
        }
        if len(rates) == 1:  # nobody else to measure
            N, K = rates[0], self._symbols("capacity")[0]
            return _map(self, {N.name: N + epsilon * N * (K - N) / K}, {})
        return _map(self, rhs, {d.name: Delayed(N.name, 1) for N, d in zip(rates, past, strict=True)})

    def stability_margin(self) -> Value:
        """Critical gain - epsilon: stable where > 0. For flows alike."""
        return named(
            self.critical_gain() - self._alike("stability_margin")["epsilon"], "margin", "1", "stability margin"
        )

    def critical_gain(self) -> Value:
        """M min(1/(gamma (n-1)), 2/(1+gamma)), the largest stable epsilon; 2 for one flow. For flows alike."""
        v = self._alike("critical_gain")
        n, gamma = v["flows"], v["gamma"]
        limit = at_least(gamma * (n - 1), (1 + gamma * (1 * (n > 1))) / 2)
        return named(self.crowding() / limit, "epsilon", "1", "critical gain")


@dataclass(frozen=True, kw_only=True)
class LotkaVolterraHeld(Competition, interpretation="held"):
    """An update per ACK, with the others' rates measured every `period` round trips and held in between.

    Between two measurements each flow follows a logistic equation with the capacity k_i = K_i - gamma sum_{j != i} N_j,
    so that N_i <- k_i N_i/(N_i + (k_i - N_i) e^(-h epsilon k_i/K_i)) exactly. For flows alike, stable where
    M (1 - e^(-h epsilon/M)) < 2: always for M <= 2, else for h epsilon < -M ln(1 - 2/M). All measure at one moment.

    Examples
    --------
    >>> [round(LotkaVolterraHeld(flows=n).critical_gain(), 3) for n in (2, 3, 5, 10)]
    [inf, 3.508, 2.625, 2.258]
    """

    time_units = "step"

    period: Number = parameter("h", "1", "round trips per measurement", low=0.0, default=1.0)

    def map(self) -> Map:
        """The exact map from one measurement to the next; one step is `period` round trips."""
        rates, gamma = self._rates(), self._symbol("gamma")
        rate = self._symbol("period") * self._symbol("epsilon")
        total = total_of(rates)
        rhs = {
            N.name: held_growth(N / K, (K + gamma * N - gamma * total) / K, rate) * K
            for N, K in zip(rates, self._symbols("capacity"), strict=True)
        }
        return _map(self, rhs, {})

    def sum_multiplier(self) -> Value:
        """e^(-rho) - gamma (n-1)(1 - e^(-rho)), rho = h epsilon/M: what a period does to a deviation of the sum."""
        v, decay = self._kept("sum_multiplier")
        return named(decay - v["gamma"] * (v["flows"] - 1) * (1 - decay), "multiplier", "1", "multiplier of the sum")

    def difference_multiplier(self) -> Value:
        """e^(-rho) + gamma (1 - e^(-rho)), in (0, 1): what a period does to a difference between flows."""
        v, decay = self._kept("difference_multiplier")
        return named(decay + v["gamma"] * (1 - decay), "multiplier", "1", "multiplier of differences")

    def stability_margin(self) -> Value:
        """2 - M (1 - e^(-h epsilon/M)): stable where > 0. For flows alike."""
        _, decay = self._kept("stability_margin")
        return named(2 - self.crowding() * (1 - decay), "margin", "1", "stability margin")

    def critical_gain(self) -> Value:
        """-M ln(1 - 2/M)/h, the largest stable epsilon; inf for M <= 2. For flows alike."""
        v = self._alike("critical_gain")
        M = np.maximum(self.crowding(), 2.0)
        with np.errstate(divide="ignore"):
            return named(-M * log(1 - 2 / M) / v["period"], "epsilon", "1", "critical gain")

    def _kept(self, what: str) -> tuple[dict[str, Value], Value]:
        v = self._alike(what)
        return v, exp(-v["period"] * v["epsilon"] / self.crowding())


def whole(name: str, value: Any) -> int:
    """A structural number: one, not an array."""
    if dimensions(value):
        raise DomainError(f"{name} must be one whole number here, got {value!r}; make one model for each")
    return int(value)


def _map(model: Competition, rhs: dict[str, sympy.Expr], delayed: dict[str, Delayed]) -> Map:
    return model.problem(
        Map,
        rhs=rhs,
        delayed=delayed,
        start=model._start(),
        fixed_points=fixed_points(model),
        outputs={"total": total_of(model._rates())},
    )
