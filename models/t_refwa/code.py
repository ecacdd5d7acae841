"""The 6-bit code of round-trip times of T-REFWA, eq. (1-2), and what it costs in accuracy and fairness.

Cells of equal ratio r = 2^(1/K): code c stands for r^c <= RTT < r^(c+1) milliseconds. There are 64 codes, 0 to 63,
and so 64 rows of the router's table; the paper's text says 63.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tcpdynamics.solvers.problems import DomainError

from ..parameters import check_parameters, parameter
from .model import SOURCE

#: Eq. (1) takes the logarithm of milliseconds.
MILLISECOND = 1e-3


@dataclass(frozen=True)
class RttCode:
    """RTTC = min(floor(K log2(RTT in ms)), 63), and back: the middle of the cell.

    Departs from eq. (1) in one point: round-trip times below 1 ms, for which it is negative, get the code 0. From
    1 ms to `longest()` the code errs by `error_bounds()` at most; beyond, the error grows with the RTT.

    Parameters
    ----------
    k : float    K, codes a doubling [1], > 0; published 6.3.
    top : int    Largest code [1], >= 0; published 63.

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

    k: float = parameter("K", "1", "codes a doubling", low=0.0, source=SOURCE + ", eq. (1)", default=6.3)
    top: int = parameter(
        "63",
        "1",
        "largest code",
        low=0,
        low_open=False,
        integer=True,
        source=SOURCE + ", eq. (1)",
        default=63,
    )

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("k", "top"):
            if np.ndim(getattr(self, name)):
                raise DomainError(
                    f"{name} must be one number, got {getattr(self, name)!r}; one code for each"
                )

    @property
    def ratio(self) -> float:
        """r = 2^(1/K): upper over lower end of a cell, 1.116 for K = 6.3."""
        return math.exp2(1 / self.k)

    def encode(self, rtt: Any) -> Any:
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

    def cell(self, code: Any) -> tuple[Any, Any]:
        """Lower and upper end of the round-trip times with a code [s]."""
        c = self._codes(code)
        low, high = (MILLISECOND * np.exp2((c + i) / self.k) for i in (0, 1))
        return _like(code, low), _like(code, high)

    def decode(self, code: Any) -> Any:
        """RTT_alpha of eq. (2), the middle of the cell [s]."""
        low, high = self.cell(code)
        return (low + high) / 2

    def decode_minimax(self, code: Any) -> Any:
        """The value with the least largest relative error in the cell: 2 l h/(l + h), the harmonic mean [s]."""
        low, high = self.cell(code)
        return 2 * low * high / (low + high)

    def longest(self) -> float:
        """Round-trip time at which the code saturates, the upper end of the last cell [s]."""
        return float(self.cell(self.top)[1])

    # -- accuracy ------------------------------------------------------------------------------------------

    def error_bounds(self) -> tuple[float, float]:
        """Least and largest relative error of `decode` within a cell: -(1 - 1/r)/2 (excluded) and (r - 1)/2."""
        return -(1 - 1 / self.ratio) / 2, (self.ratio - 1) / 2

    def minimax_error(self) -> float:
        """Largest relative error of `decode_minimax`: (r - 1)/(r + 1), the least that any decoder can have."""
        return (self.ratio - 1) / (self.ratio + 1)

    def relative_error(self, rtt: Any) -> Any:
        """decode(encode(rtt))/rtt - 1 [1]. Beyond `longest()` it goes to -1, below 1 ms it grows without bound."""
        values = np.asarray(rtt, dtype=float)
        return _like(rtt, np.asarray(self.decode(self.encode(values))) / values - 1)

    # -- fairness ------------------------------------------------------------------------------------------
    # Windows are proportional to decoded round-trip times, so throughputs are to decode(encode(R))/R.

    def worst_jain(self, flows: int | None = None) -> float:
        """Least fairness index of throughputs, over all round-trip times between 1 ms and `longest()`.

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

    def _codes(self, code: Any) -> Any:
        codes = np.asarray(code)
        bad = (codes != np.floor(codes)) | (codes < 0) | (codes > self.top)
        if bad.any():
            raise DomainError(f"code must be a whole number in [0, {self.top}], got {codes[bad].flat[0]}")
        return codes


def _like(given: Any, values: Any) -> Any:
    """Values in the wrapping of what was given: a number, an array or a DataArray."""
    if hasattr(given, "dims"):
        return given.copy(data=values).drop_attrs()
    return np.asarray(values)[()].item() if np.ndim(values) == 0 else values
