"""What a T-REFWA router tells its flows: the 6-bit code of round-trip times, eq. (1-2), and windows by group, eq. (3).

F_alpha = RTT_alpha Upsilon/sum_j n_j RTT_j. Windows are proportional to round-trip times, so that rates are *equal*;
the abstract's "bandwidth ... in proportion with their RTTs" is a slip of the pen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import former_names
from tcpdynamics.solvers.problems import DomainError

from ..model import Model
from ..parameters import is_labelled, parameter, setting
from .recursion import SOURCE

if TYPE_CHECKING:
    import xarray as xr


#: Eq. (1) takes the logarithm of milliseconds.
MILLISECOND = 1e-3

#: Numbers in the wrapping in which they came.
Wrapped: TypeAlias = "float | NDArray[Any] | xr.DataArray"


@dataclass(frozen=True)
class RttCode(Model):
    """RTTC = min(floor(K log2(RTT in ms)), 63), and back: the middle of the cell.

    Departs from eq. (1) in one point: round-trip times below 1 ms, for which it is negative, get the code 0. From
    1 ms to `longest()` the code errs by `error_bounds()` at most; beyond, the error grows with the RTT.

    References
    ----------
    .. [1] T. Taleb et al., A fair TCP-based congestion avoidance approach for one-to-many private networks,
       section III, eq. (1) and (2)

    Examples
    --------
    >>> code = RttCode()
    >>> code.encode([0.001, 0.1, 1.024, 3.0]).tolist()
    [0, 41, 63, 63]
    >>> round(code.decode(41), 6)
    0.096301
    >>> [round(100 * e, 3) for e in code.error_bounds()]
    [-5.209, 5.815]
    """

    k: float = parameter(
        "K", "1", "codes a doubling", low=0.0, structural=True, source=SOURCE + ", eq. (1)", default=6.3
    )
    top: int = parameter(
        "63",
        "1",
        "largest code",
        low=0,
        low_open=False,
        integer=True,
        structural=True,
        source=SOURCE + ", eq. (1)",
        default=63,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("k", "top"):
            if np.ndim(getattr(self, name)):
                raise DomainError(f"{name} must be one number, got {getattr(self, name)!r}; one code for each")

    @property
    def ratio(self) -> float:
        """r = 2^(1/K): upper over lower end of a cell, 1.116 for K = 6.3."""
        return math.exp2(1 / self.k)

    @overload
    def encode(self, rtt: float) -> int: ...
    @overload
    def encode(self, rtt: Sequence[float] | NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def encode(self, rtt: xr.DataArray) -> xr.DataArray: ...
    def encode(self, rtt: Wrapped | Sequence[float]) -> Wrapped:
        """Code of each round-trip time.

        Parameters
        ----------
        rtt : float, array_like or DataArray   [s], > 0. Ends of cells are as exact as floats.

        Returns
        -------
        int, array of int or DataArray   0 .. top.

        Raises
        ------
        DomainError
            A round-trip time that is not a finite number > 0.
        """
        values = np.asarray(rtt, dtype=float)
        bad = ~(np.isfinite(values) & (values > 0))
        if bad.any():
            raise DomainError(f"rtt must be a finite number > 0 in s, got {values[bad].flat[0]:g}")
        codes = np.clip(np.floor(self.k * np.log2(values / MILLISECOND)), 0, self.top).astype(int)
        return _like(rtt, codes)

    @overload
    def cell(self, code: float) -> tuple[float, float]: ...
    @overload
    def cell(self, code: Sequence[float] | NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]: ...
    @overload
    def cell(self, code: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]: ...
    def cell(self, code: Wrapped | Sequence[float]) -> tuple[Wrapped, Wrapped]:
        """Lower and upper end of the round-trip times with a code [s]."""
        c = self._codes(code)
        low, high = (MILLISECOND * np.exp2((c + i) / self.k) for i in (0, 1))
        return _like(code, low), _like(code, high)

    @overload
    def decode(self, code: float) -> float: ...
    @overload
    def decode(self, code: Sequence[float] | NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def decode(self, code: xr.DataArray) -> xr.DataArray: ...
    def decode(self, code: Wrapped | Sequence[float]) -> Wrapped:
        """RTT_alpha of eq. (2), the middle of the cell [s]."""
        low, high = self.cell(code)
        return (low + high) / 2

    @overload
    def decode_minimax(self, code: float) -> float: ...
    @overload
    def decode_minimax(self, code: Sequence[float] | NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def decode_minimax(self, code: xr.DataArray) -> xr.DataArray: ...
    def decode_minimax(self, code: Wrapped | Sequence[float]) -> Wrapped:
        """The value with the smallest maximum relative error in the cell: 2 l h/(l + h), the harmonic mean [s]."""
        low, high = self.cell(code)
        return 2 * low * high / (low + high)

    def longest(self) -> float:
        """Round-trip time at which the code saturates, the upper end of the last cell [s]."""
        return float(self.cell(self.top)[1])

    # -- accuracy ------------------------------------------------------------------------------------------

    def error_bounds(self) -> tuple[float, float]:
        """Minimum and maximum relative error of `decode` within a cell: -(1 - 1/r)/2 (excluded) and (r - 1)/2."""
        return -(1 - 1 / self.ratio) / 2, (self.ratio - 1) / 2

    def minimax_error(self) -> float:
        """Maximum relative error of `decode_minimax`: (r - 1)/(r + 1), the smallest that any decoder can have."""
        return (self.ratio - 1) / (self.ratio + 1)

    @overload
    def relative_error(self, rtt: float) -> float: ...
    @overload
    def relative_error(self, rtt: Sequence[float] | NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def relative_error(self, rtt: xr.DataArray) -> xr.DataArray: ...
    def relative_error(self, rtt: Wrapped | Sequence[float]) -> Wrapped:
        """decode(encode(rtt))/rtt - 1 [1]. Beyond `longest()` it goes to -1, below 1 ms it grows without bound."""
        values = np.asarray(rtt, dtype=float)
        return _like(rtt, np.asarray(self.decode(self.encode(values))) / values - 1)

    # -- fairness ------------------------------------------------------------------------------------------
    # Windows are proportional to decoded round-trip times, so throughputs are to decode(encode(R))/R.

    def worst_jain(self, flows: int | None = None) -> float:
        """Minimum fairness index of throughputs, over all round-trip times between 1 ms and `longest()`.

        4r/(1 + r)^2 for any number of flows; for a given number, the least over how many of them sit at the upper
        end of a cell and how many at the lower. An infimum: the upper end itself belongs to the next cell.

        Parameters
        ----------
        flows : int, optional   Their number, >= 1.
        """
        r = self.ratio
        if flows is None:
            return 4 * r / (1 + r) ** 2
        if flows < 1:
            raise DomainError(f"flows must be at least 1, got {flows}")
        many = np.arange(flows + 1)
        total, squares = many * r + flows - many, many * r**2 + flows - many
        return float((total**2 / (flows * squares)).min())

    def log_uniform_jain(self) -> float:
        """Fairness index of many flows with log-uniform round-trip times: tanh(L/2)/(L/2), L = ln r.

        Exact over any whole number of cells, in the limit of many flows.
        """
        half = math.log(self.ratio) / 2
        return math.tanh(half) / half

    def _codes(self, code: Wrapped | Sequence[float]) -> NDArray[Any]:
        codes = np.asarray(code)
        bad = (codes != np.floor(codes)) | (codes < 0) | (codes > self.top)
        if bad.any():
            raise DomainError(f"code must be a whole number in [0, {self.top}], got {codes[bad].flat[0]}")
        return codes


def _like(template: Wrapped | Sequence[float], values: NDArray[Any]) -> Wrapped:
    """Values in the wrapping of a template: a number, an array or a DataArray."""
    if is_labelled(template):
        return template.copy(data=values).drop_attrs()
    return np.asarray(values)[()].item() if np.ndim(values) == 0 else values


Array = NDArray[np.float64]


@dataclass(frozen=True)
class TRefwaGroups(Model):
    """Flows by group, as in Table I of Taleb et al.

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

    flows: tuple[int, ...] = setting("n_j, flows of each group, >= 0, some > 0")
    rtt: tuple[float, ...] = setting("their true round-trip times in seconds, > 0")
    code: RttCode | None = setting("how senders report round-trip times; None for exactly", RttCode())

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

    def decoded_rtt(self) -> xr.DataArray:
        """Round-trip time of each group as the router decodes it [s]."""
        return self._by_group(self._seen, "s", "round-trip time decoded by the router")

    rtt_seen = former_names.method("rtt_seen", "decoded_rtt")

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
        counted = self._n if burst is None else self._n * self._counted(burst)
        return self._by_group(self._seen * aggregate / (counted @ self._seen), "packet", "window of one flow")

    def rates(self, aggregate: float) -> xr.DataArray:
        """Throughput of one flow of each group, window over true round-trip time [packet/s]."""
        return self._by_group(self.windows(aggregate).values / self._rtt, "packet/s", "throughput of one flow")

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
        """`delays` and `fractions` of `TRefwaMixed`: RTT_j/RTT_avg in whole intervals, and fractions of the window.

        Examples
        --------
        >>> TRefwaGroups(flows=(2, 1), rtt=(0.25, 1.0), code=None).mix()
        ((0, 2), (0.3333333333333333, 0.6666666666666666))
        """
        delays = np.round(self._rtt / self.average_rtt()).astype(int)
        in_flight = self._n * self._seen
        positive = in_flight > 0
        shares = in_flight[positive] / in_flight.sum()
        return tuple(delays[positive].tolist()), tuple(shares.tolist())

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

    def _by_group(self, values: Array, units: str, meaning: str) -> xr.DataArray:
        import xarray as xr

        coords = {
            "group": ("group", np.arange(1, len(self.rtt) + 1), {"long_name": "group"}),
            "rtt": ("group", self._rtt, {"units": "s", "long_name": "true round-trip time"}),
        }
        return xr.DataArray(values, coords, ("group",), attrs={"units": units, "long_name": meaning})
