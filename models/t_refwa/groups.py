"""Groups of flows at a T-REFWA router: the window of each, eq. (3), and what the coded round-trip times make of it.

F_alpha = RTT_alpha Upsilon/sum_j n_j RTT_j. Windows are proportional to round-trip times, so that rates are *equal*;
the abstract's "bandwidth ... in proportion with their RTTs" is a slip of the pen.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.solvers.problems import DomainError

from .code import RttCode

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TRefwaGroups:
    """Flows by group, as in Table I of Taleb et al.

    Parameters
    ----------
    flows : tuple of int        n_j, flows of each group [1], >= 0, some > 0.
    rtt : tuple of float        Their true round-trip times [s], > 0.
    code : RttCode, optional    How senders report them; None for exactly.

    Raises
    ------
    DomainError
        Lengths that differ, flows that are no whole numbers >= 0, round-trip times that are not > 0.

    Examples
    --------
    >>> groups = TRefwaGroups(flows=(4, 4), rtt=(0.02, 0.2), code=None)
    >>> groups.windows(88.0).values
    array([ 2., 20.])
    >>> groups.rates(88.0).values
    array([100., 100.])
    """

    flows: tuple[int, ...]
    rtt: tuple[float, ...]
    code: RttCode | None = RttCode()

    def __post_init__(self) -> None:
        if len(self.flows) != len(self.rtt):
            raise DomainError(f"flows and rtt must be as many, got {len(self.flows)} and {len(self.rtt)}")
        for n in self.flows:
            if isinstance(n, bool) or not isinstance(n, Integral) or n < 0:
                raise DomainError(f"flows must be whole numbers >= 0, got {n!r}")
        if not sum(self.flows):
            raise DomainError(f"flows must hold at least one flow, got {self.flows}")
        for r in self.rtt:
            if not 0 < r < np.inf:
                raise DomainError(f"rtt must be a finite number > 0 in s, got {r!r}")

    def codes(self) -> xr.DataArray:
        """RTTC of each group. Raises DomainError without a code."""
        if self.code is None:
            raise DomainError("code must be an RttCode to have codes, got None")
        return self._by_group(self.code.encode(self._rtt), "1", "RTT code")

    def rtt_seen(self) -> xr.DataArray:
        """Round-trip time of each group as the router decodes it [s]."""
        return self._by_group(self._seen, "s", "round-trip time seen by the router")

    def average_rtt(self) -> float:
        """Mean of the true round-trip times of all flows [s]."""
        return float(self._n @ self._rtt / self._n.sum())

    def average_error(self) -> float:
        """Relative error of RTT_avg as the router decodes it: `rtt_error` of `TRefwaBiased` [1]."""
        return float(self._n @ self._seen / (self._n @ self._rtt)) - 1

    def windows(self, aggregate: float, burst: float | None = None) -> xr.DataArray:
        """F_alpha, window of one flow of each group [packets].

        Parameters
        ----------
        aggregate : float          Upsilon [packets], >= 0.
        burst : float, optional    Given, n_j is what the router counts with bursts of this length, see `counted`.
        """
        if not 0 <= aggregate < np.inf:
            raise DomainError(f"aggregate must be a finite number >= 0 in packets, got {aggregate!r}")
        seen = self._n if burst is None else self._n * self._counted(burst)
        return self._by_group(self._seen * aggregate / (seen @ self._seen), "packet", "window of one flow")

    def rates(self, aggregate: float) -> xr.DataArray:
        """Throughput of one flow of each group, window over true round-trip time [packet/s]."""
        return self._by_group(
            self.windows(aggregate).values / self._rtt, "packet/s", "throughput of one flow"
        )

    def share_error(self) -> xr.DataArray:
        """Relative error of a flow's rate against the mean over all flows, which is what the code is to blame for."""
        rates = self._seen / self._rtt
        mean = self._n @ rates / self._n.sum()
        return self._by_group(rates / mean - 1, "1", "relative error of a flow's share")

    def fairness(self) -> float:
        """Jain's index of the rates of all flows [1]; at least `RttCode.worst_jain()` in the range of the code."""
        rates = self._seen / self._rtt
        return float((self._n @ rates) ** 2 / (self._n.sum() * (self._n @ rates**2)))

    def counted(self, burst: float = 0.0) -> xr.DataArray:
        """Fraction of time for which a flow that sends one burst an RTT counts as in progress.

        A flow is in progress if it was idle for less than RTT_avg: min(1, (RTT_avg + burst)/RTT). So flows with
        longer round-trip times than the mean are under-counted.

        Parameters
        ----------
        burst : float   Length of a burst [s], >= 0.
        """
        return self._by_group(self._counted(burst), "1", "fraction of time counted as in progress")

    def over_allocation(self, burst: float = 0.0) -> float:
        """Sum of all windows over Upsilon when n_j is under-counted, >= 1."""
        return float(self._n @ self._seen / ((self._n * self._counted(burst)) @ self._seen))

    def mix(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """`delays` and `shares` of `TRefwaMixed`: RTT_j/RTT_avg in whole intervals, and shares of the window.

        Examples
        --------
        >>> TRefwaGroups(flows=(2, 1), rtt=(0.25, 1.0), code=None).mix()
        ((0, 2), (0.3333333333333333, 0.6666666666666666))
        """
        delays = np.round(self._rtt / self.average_rtt()).astype(int)
        held = self._n * self._seen
        kept = held > 0
        shares = held[kept] / held.sum()
        return tuple(delays[kept].tolist()), tuple(shares.tolist())

    @property
    def _n(self) -> Array:
        return np.asarray(self.flows, dtype=float)

    @property
    def _rtt(self) -> Array:
        return np.asarray(self.rtt, dtype=float)

    @property
    def _seen(self) -> Array:
        if self.code is None:
            return self._rtt
        return np.asarray(self.code.decode(self.code.encode(self._rtt)))

    def _counted(self, burst: float) -> Array:
        if not 0 <= burst < np.inf:
            raise DomainError(f"burst must be a finite number >= 0 in s, got {burst!r}")
        return np.minimum(1.0, (self.average_rtt() + burst) / self._rtt)

    def _by_group(self, values: Any, units: str, meaning: str) -> xr.DataArray:
        import xarray as xr

        coords = {
            "group": ("group", np.arange(1, len(self.rtt) + 1), {"long_name": "group"}),
            "rtt": ("group", self._rtt, {"units": "s", "long_name": "true round-trip time"}),
        }
        return xr.DataArray(values, coords, ("group",), attrs={"units": units, "long_name": meaning})
