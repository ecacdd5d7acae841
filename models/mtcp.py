"""M/TCP: what lost acknowledgements cost it, and what its estimator of one-way times can know.

Rojviboonchai and Aida, "An evaluation of multi-path transmission control protocol (M/TCP) with robust acknowledgement
schemes". The paper has no formulas for its throughputs; the closed forms here are ours. The estimator is the paper's
(section 3.4.3, eqs. 4-8), read as a relaxed Kaczmarz iteration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tcpdynamics.errors import shown
from tcpdynamics.solvers.problems import DomainError, Map

from .model import Model
from .parameters import Number, Value, broadcast, is_labelled, parameter
from .throughput_laws import PftkFull

if TYPE_CHECKING:
    import xarray as xr

_PAPER = "Rojviboonchai and Aida, section 3.4.3"

#: How a receiver acknowledges (section 3.6).
SCHEMES = ("immediate", "duplicated", "duplicated_delayed")


def effective_ack_loss(scheme: str, losses: Sequence[float]) -> float:
    """Probability that nothing of an acknowledgement arrives.

    Parameters
    ----------
    scheme : {"immediate", "duplicated", "duplicated_delayed"}
        Over a random route, or over each of them.
    losses : sequence of float
        Loss probability of acknowledgements on each route [1].

    Raises
    ------
    DomainError

    Examples
    --------
    >>> [round(effective_ack_loss(scheme, [0.05, 0.13]), 4) for scheme in SCHEMES]
    [0.09, 0.0065, 0.0065]
    """
    if scheme not in SCHEMES:
        raise DomainError(f"scheme must be one of {', '.join(SCHEMES)}, got {shown(scheme)}")
    if not losses or not all(0.0 <= q <= 1.0 for q in losses):
        raise DomainError(f"losses must list probabilities in [0, 1], got {shown(list(losses))}")
    return sum(losses) / len(losses) if scheme == "immediate" else math.prod(losses)


@dataclass(frozen=True)
class MtcpThroughput(Model):
    """Throughput of M/TCP over equal routes, and of Reno over one of them, where acknowledgements are lost too.

    An acknowledgement that covers the lost ones before it stands for 1/(1 - q) segments on average. So a window that
    grows with each acknowledgement grows by 1/(1 - q) times less: the formula of Padhye et al. with b = 1/(1 - q)
    packets for each acknowledgement, about sqrt(1 - q) of the throughput. With immediate acknowledgements over a random
    route q is the loss rate of one route. Duplicated over n routes it is its n-th power, delayed ones too, each of
    which answers every segment that it is for. Each route is taken for a separate TCP: the one advertised window that
    they share, and segments that wait for those of another route, lower the throughput.

    Timeouts for want of duplicates and repeats for want of replies are left out: both grow with q.

    Examples
    --------
    >>> model = MtcpThroughput(loss=0.02, ack_loss=[0.0, 0.13], rtt=0.073, timeout=0.292)
    >>> model.reno().values.round(1), model.duplicated().values.round(1)
    (array([99.4, 92.5]), array([198.7, 197. ]))
    """

    loss: Number = parameter("p", "1", "loss probability of data", low=0.0, high=1.0)
    rtt: Number = parameter("RTT", "s", "round-trip time", low=0.0)
    timeout: Number = parameter("T_0", "s", "first retransmission timeout", low=0.0)
    ack_loss: Number = parameter(
        "q", "1", "loss probability of acknowledgements on a route", low=0.0, high=1.0, low_open=False, default=0.0
    )
    routes: int = parameter(
        "n", "1", "routes", low=1, high=100, low_open=False, high_open=False, integer=True, structural=True, default=2
    )
    window_limit: Number = parameter(
        "W_m", "packet", "largest window of a route", low=1.0, low_open=False, default=20.0
    )

    def reno(self) -> Value:
        """Packets sent per second by TCP Reno over one route [packet/s]."""
        return self._law(1, broadcast(self)["ack_loss"])

    def immediate(self) -> Value:
        """Packets sent per second with immediate acknowledgements over a random route [packet/s]."""
        return self._law(self.routes, broadcast(self)["ack_loss"])

    def duplicated(self) -> Value:
        """Packets sent per second with acknowledgements over each route, delayed or not [packet/s]."""
        return self._law(self.routes, broadcast(self)["ack_loss"] ** self.routes)

    def immediate_factor(self) -> Value:
        """Fraction of throughput that immediate acknowledgements keep [1]; sqrt(1 - q) by the root formula."""
        return _plain(self.immediate() / self._law(self.routes, 0.0 * broadcast(self)["ack_loss"]))

    def duplicated_factor(self) -> Value:
        """Fraction of throughput that duplicated acknowledgements keep [1]; sqrt(1 - q^n) by the root formula."""
        return _plain(self.duplicated() / self._law(self.routes, 0.0 * broadcast(self)["ack_loss"]))

    def closed_forms(self) -> xr.Dataset:
        """All of the above, labelled."""
        rate, share = "packet/s", "1"
        return _table(self, {
            "reno": (rate, "packets sent per second by Reno over one route"),
            "immediate": (rate, "packets sent per second with immediate acknowledgements"),
            "duplicated": (rate, "packets sent per second with duplicated acknowledgements"),
            "immediate_factor": (share, "share of the throughput that immediate acknowledgements keep"),
            "duplicated_factor": (share, "share of the throughput that duplicated acknowledgements keep"),
        })  # fmt: skip

    def _law(self, routes: int, ack_loss: Any) -> Value:
        v = broadcast(self)
        law = PftkFull(
            loss=v["loss"], rtt=v["rtt"], timeout=v["timeout"], b=1.0 / (1.0 - ack_loss), window_limit=v["window_limit"]
        )
        return _plain(routes * law.throughput())


@dataclass(frozen=True, kw_only=True)
class OneWayTimes(Model):
    """M/TCP's estimates of one-way times over n routes, on the mean over random pairs of routes.

    Each measured round trip over route x there and route y back moves both estimates by half of (1 - alpha) times the
    error of their sum (eqs. 4-8): a step of the randomised Kaczmarz method on the equations f_x + r_y = M_xy, relaxed
    by w = 1 - alpha. Differences between routes are forgotten by 1 - w/(2n) for each acknowledgement, the common error
    of all round trips by 1 - w/n. The sum of all f less the sum of all r never changes, so one-way times themselves
    stay unknown by a constant c, f + c and r - c; the timeouts (9) and (10), made of a time there and one back, are
    right whatever it is. Where acknowledgements come back only over the route of their segment, there is such a
    constant for each route, and max(OWTT_r) is that of one with the other's: the timeouts can be too short.

    Examples
    --------
    >>> model = OneWayTimes(alpha=0.875)
    >>> round(model.difference_factor(), 5), round(model.common_factor(), 5)
    (0.96875, 0.9375)
    >>> model.offset([0.04, 0.06], [0.07, 0.03], [0.05, 0.05], [0.05, 0.05])
    0.0
    """

    time_units: ClassVar[str | None] = "ACK"
    variables: ClassVar[Mapping[str, tuple[str, str]]] = {
        "round_trip": ("s", "mean over all pairs of routes of the estimated round trip"),
        "there": ("s", "estimated difference of two routes' times there"),
        "back": ("s", "estimated difference of two routes' times back"),
    }

    alpha: Number = parameter(
        "alpha", "1", "weight of the past", low=0.0, high=1.0, low_open=False, source=_PAPER, default=0.875
    )
    routes: int = parameter(
        "n", "1", "routes", low=1, high=100, low_open=False, high_open=False, integer=True, structural=True, default=2
    )
    true_round_trip: Number = parameter("M", "s", "mean round trip", low=0.0, default=0.1)
    true_there: Number = parameter("d_f", "s", "difference of two routes' times there", default=0.0)
    true_back: Number = parameter("d_r", "s", "difference of two routes' times back", default=0.0)

    def map(self) -> Map:
        """The mean of the estimates from one acknowledgement to the next, without the constant that nothing changes."""
        s = self.symbols()
        import sympy

        x = {name: sympy.Symbol(name, real=True) for name in self.variables}
        w, n = 1 - s["alpha"], self.routes
        true = {"round_trip": s["true_round_trip"], "there": s["true_there"], "back": s["true_back"]}
        step = {"round_trip": w / n, "there": w / (2 * n), "back": w / (2 * n)}
        return self.problem(
            Map,
            rhs={name: x[name] + step[name] * (true[name] - x[name]) for name in x},
            start={name: 0.0 for name in x},
            fixed_points=[true],
        )

    def difference_factor(self) -> Value:
        """By what differences between routes shrink for each acknowledgement, on the mean [1]: 1 - w/(2n)."""
        return _plain(1 - (1 - broadcast(self)["alpha"]) / (2 * self.routes))

    def common_factor(self) -> Value:
        """By what the common error of all round trips shrinks for each acknowledgement, on the mean [1]: 1 - w/n."""
        return _plain(1 - (1 - broadcast(self)["alpha"]) / self.routes)

    def noise_gain(self) -> Value:
        """Variance of an estimated round trip over that of independent measurements, over one route [1]: w/(2 - w)."""
        w = 1 - broadcast(self)["alpha"]
        return _plain(w / (2 - w))

    @staticmethod
    def offset(
        there: Sequence[float], back: Sequence[float], true_there: Sequence[float], true_back: Sequence[float]
    ) -> float:
        """The constant by which estimates that begin at `there` and `back` [s] end up off the true times [s].

        Added to the times there and taken from those back, if all pairs of routes are measured.
        """
        begin, true = sum(there) - sum(back), sum(true_there) - sum(true_back)
        return (begin - true) / (len(there) + len(back))

    def closed_forms(self) -> xr.Dataset:
        """All factors, labelled."""
        return _table(self, {
            "difference_factor": ("1", "factor of differences between routes for each acknowledgement"),
            "common_factor": ("1", "factor of the common error for each acknowledgement"),
            "noise_gain": ("1", "variance of an estimated round trip over that of a measured one"),
        })  # fmt: skip


def _plain(value: Any) -> Value:
    """A DataArray without the names of what it was made from, or a float."""
    if is_labelled(value):
        array: xr.DataArray = value.rename(None).drop_attrs(deep=False)
        return array
    return float(value) if not hasattr(value, "free_symbols") and not hasattr(value, "magnitude") else value


def _table(model: Any, rows: dict[str, tuple[str, str]]) -> xr.Dataset:
    """What each method says, with its unit and meaning."""
    import xarray as xr

    return xr.Dataset({
        name: xr.DataArray(getattr(model, name)()).assign_attrs({"units": unit, "long_name": meaning})
        for name, (unit, meaning) in rows.items()
    })  # fmt: skip
