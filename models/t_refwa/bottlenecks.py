"""Two T-REFWA bottlenecks in a row, Fig. 4: group 1 crosses links L1 and L3, group 2 only L1, group 3 only L3.

Each link feeds back f = Upsilon/sum n RTT, a rate per flow, and a flow obeys the smallest feedback on its path. The
link with the smaller unconstrained f0 = (BDP + psi B/(phi + psi))/sum n RTT is tight for group 1; the other link
sees flows that do not take what it offers. Whether group 2 then gets the rest depends on what Upsilon(n-1) in
the bracket of eq. (3) is: the command (`TRefwaTwoLinksCommanded`) or the measured window (`TRefwaTwoLinksMeasured`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tcpdynamics.solvers.problems import Map

from ..model import Model
from ..parameters import Number, Value, parameter
from .recursion import OC3, PHI, PSI, SOURCE, Array, clip, least, numpy_values, over_grid, to_python

if TYPE_CHECKING:
    import sympy
    import xarray as xr

#: Link -> the group that crosses this one only.
_OTHER = {1: "weight_2", 3: "weight_3"}


@dataclass(frozen=True)
class _TwoLinks(Model):
    """Gains, links and groups. Weights are flows times round-trip time; with equal round-trip times, flows."""

    variables: ClassVar = {
        f"{symbol}_{k}": ("1" if symbol == "utilisation" else "packet", f"{meaning} L{k}")
        for k in (1, 3)
        for symbol, meaning in (
            ("Upsilon", "commanded window of"),
            ("f", "feedback per unit of weight of"),
            ("W", "window on"),
            ("Q", "queue of"),
            ("utilisation", "utilisation of"),
        )
    }
    time_units = "interval"

    phi: Number = parameter("\\phi", "1", "gain on spare bandwidth", low=0.0, source=SOURCE, default=PHI)
    psi: Number = parameter("\\psi", "1", "gain on free buffer", low=0.0, low_open=False, source=SOURCE, default=PSI)
    bdp_1: Number = parameter("BDP_1", "packet", "bandwidth-delay product of L1", low=0.0, default=OC3)
    buffer_1: Number = parameter("B_1", "packet", "buffer of L1", low=0.0, low_open=False, default=OC3)
    bdp_3: Number = parameter("BDP_3", "packet", "bandwidth-delay product of L3", low=0.0, default=OC3)
    buffer_3: Number = parameter("B_3", "packet", "buffer of L3", low=0.0, low_open=False, default=OC3)
    weight_1: Number = parameter(
        "m_1", "1", "flows times RTT of group 1", low=0.0, source=SOURCE + ", section IV", default=5
    )
    weight_2: Number = parameter(
        "m_2", "1", "flows times RTT of group 2", low=0.0, source=SOURCE + ", section IV", default=4
    )
    weight_3: Number = parameter(
        "m_3", "1", "flows times RTT of group 3", low=0.0, source=SOURCE + ", section IV", default=6
    )

    # -- closed forms --------------------------------------------------------------------------------------

    def equilibrium(self) -> dict[str, Value]:
        """The fixed point of windows, feedbacks and queues.

        Returns
        -------
        dict
            Upsilon_1, Upsilon_3: commanded aggregates [packets]; f_1, f_3: feedbacks, packets per unit of weight;
            W_1, W_3: windows on the links, Q_1, Q_3: queues [packets]; utilisation_1, utilisation_3: min(1, W/BDP).
            Floats, DataArrays or SymPy expressions.
        """
        v = numpy_values(self)
        up_1, up_3 = self._rest(v)
        variables = {"Upsilon_1": up_1, "Upsilon_3": up_3} | _network(v, up_1, up_3)
        return {k: to_python(x) for k, x in variables.items()}

    def stability_margin(self) -> float | xr.DataArray:
        """> 0 iff small deviations of both links decay (away from a tie of the two feedbacks).

        The tight link has the multiplier 1 - phi - psi, the other lies between that and 1: the condition is that
        of `TRefwaWindow`. A tight link without a buffer has no queue to answer to and the multiplier 1 - phi; then
        either link may decide. Float, or DataArray over the grid of the parameters.
        """

        def margin(v: Mapping[str, Array]) -> Array:
            free = self._unconstrained(v)
            gain: Array = np.where(free[0] <= free[1], self._gain(v, 1, 3), self._gain(v, 3, 1))
            return np.minimum(gain, 2 - gain)

        return over_grid(self, margin, "stability_margin", "stability margin")

    def _gain(self, v: Mapping[str, Array], tight: int, loose: int) -> Array:
        """One less the multiplier that decides."""
        alone = np.maximum(v["phi"], self._loose_gain(v, loose))
        return np.where(v[f"buffer_{tight}"] > 0, v["phi"] + v["psi"], alone)

    def _loose_gain(self, v: Mapping[str, Array], link: int) -> Array:
        """One less the multiplier of the link that is not tight, where the tight one has no buffer."""
        raise NotImplementedError

    def _rest(self, v: dict[str, Value]) -> tuple[Value, Value]:
        """Upsilon_1 and Upsilon_3 at rest."""
        raise NotImplementedError

    def _unconstrained(self, v: Mapping[str, Value]) -> tuple[Value, Value]:
        """f0 of both links: what each would feed back if all its flows obeyed it."""
        spare = v["psi"] / (v["phi"] + v["psi"])
        return (
            (v["bdp_1"] + spare * v["buffer_1"]) / (v["weight_1"] + v["weight_2"]),
            (v["bdp_3"] + spare * v["buffer_3"]) / (v["weight_1"] + v["weight_3"]),
        )

    # -- problem -------------------------------------------------------------------------------------------

    def map(self) -> Map:
        """States Upsilon_1 and Upsilon_3; outputs f, W, Q [packets] and utilisation of both links."""
        import sympy

        v = self.symbols()
        ups = {k: sympy.Symbol(f"Upsilon_{k}", real=True) for k in (1, 3)}
        network = _network(v, ups[1], ups[3])
        return self.problem(
            Map,
            rhs={
                f"Upsilon_{k}": ups[k]
                + v["phi"] * (v[f"bdp_{k}"] - self._fed(ups[k], network[f"W_{k}"]))
                + v["psi"] * (v[f"buffer_{k}"] - network[f"Q_{k}"])
                for k in (1, 3)
            },
            start={"Upsilon_1": 0, "Upsilon_3": 0},
            outputs=network,
            fixed_points=[dict(zip(("Upsilon_1", "Upsilon_3"), self._rest(v), strict=True))],
        )

    def _fed(self, commanded: sympy.Expr, window: sympy.Expr) -> sympy.Expr:
        """What the bracket of eq. (3) holds."""
        raise NotImplementedError


@dataclass(frozen=True)
class TRefwaTwoLinksCommanded(_TwoLinks):
    """Eq. (3) literally: the bracket holds the recursion's own Upsilon, whether flows use it or not.

    If L3 is tight for group 1, with f3 its feedback, S = m1 + m2, and
    m1 f3 + (m2/S)(BDP1 + (psi/phi) B1) <= BDP1, then Q1 = 0, Upsilon1 = BDP1 + (psi/phi) B1 and L1 is *under-used*;
    otherwise Upsilon1 = (phi BDP1 + psi (B1 + BDP1 - m1 f3))/(phi + psi m2/S). So the bandwidth that group 1 leaves is
    not all reclaimed unless buffers are large: see `least_buffer`.

    Examples
    --------
    >>> links = TRefwaTwoLinksCommanded(bdp_1=100.0, bdp_3=100.0, buffer_1=0.0, buffer_3=0.0)
    >>> round(links.equilibrium()["utilisation_1"], 3), round(links.least_buffer(), 3)
    (0.899, 0.386)
    """

    def surplus(self, link: int = 1) -> Value:
        """Window that L1 (or, with 3, L3) would carry with an empty queue, less its BDP [packets].

        The link is full iff this is >= 0; below, its utilisation is 1 + surplus/BDP.
        """
        return to_python(self._surplus(numpy_values(self), link))

    def _surplus(self, v: Mapping[str, Value], link: int) -> Value:
        alone, bdp = v[_OTHER[link]], v[f"bdp_{link}"]
        offered = (bdp + v["psi"] / v["phi"] * v[f"buffer_{link}"]) / (v["weight_1"] + alone)
        return v["weight_1"] * least(*self._unconstrained(v)) + alone * offered - bdp

    def least_buffer(self) -> Value:
        """b = B1/BDP1 = B3/BDP3 from which on L1 is full, if L3 is tight for group 1 [1]; inf for psi = 0.

        The model's own buffers are not used.
        """
        v = numpy_values(self)
        s_1, s_3 = v["weight_1"] + v["weight_2"], v["weight_1"] + v["weight_3"]
        crossing, local = v["weight_1"] * v["bdp_3"] / s_3, v["weight_2"] * v["bdp_1"] / s_1
        slope = crossing * v["psi"] / (v["phi"] + v["psi"]) + local * v["psi"] / v["phi"]
        with np.errstate(divide="ignore"):
            return to_python((v["bdp_1"] - crossing - local) / slope)

    def _rest(self, v: dict[str, Value]) -> tuple[Value, Value]:
        tight = least(*self._unconstrained(v))
        excess = []
        for k, other in _OTHER.items():
            bdp, buffer = v[f"bdp_{k}"], v[f"buffer_{k}"]
            share = v[other] / (v["weight_1"] + v[other])
            empty = bdp + v["psi"] / v["phi"] * buffer
            queued = v["phi"] * bdp + v["psi"] * (buffer + bdp - v["weight_1"] * tight)
            # The command falls with the queue, so that the smaller one is the one that holds.
            excess.append(least(empty, queued / (v["phi"] + v["psi"] * share)))
        return excess[0], excess[1]

    def _fed(self, commanded: sympy.Expr, window: sympy.Expr) -> sympy.Expr:
        return commanded

    def _loose_gain(self, v: Mapping[str, Array], link: int) -> Array:
        weight, buffer = v[_OTHER[link]], v[f"buffer_{link}"]
        queued = (self._surplus(v, link) > 0) & (buffer > 0)
        gain: Array = v["phi"] + v["psi"] * queued * weight / (v["weight_1"] + weight)
        return gain


@dataclass(frozen=True)
class TRefwaTwoLinksMeasured(_TwoLinks):
    """The bracket holds the window that is measured on the link; the command integrates until the link is full.

    W = BDP + psi B/(phi + psi) on both links, so that both are always full; with L3 tight for group 1,
    f1 = (W1 - m1 f3)/m2. If all flows of a link are limited elsewhere its command grows without bound; see
    `windup`.

    Examples
    --------
    >>> TRefwaTwoLinksMeasured(buffer_1=0.0, buffer_3=0.0).equilibrium()["utilisation_1"]
    1.0
    """

    def _rest(self, v: dict[str, Value]) -> tuple[Value, Value]:
        free = self._unconstrained(v)
        tight = least(*free)
        excess = []
        for f0, other in zip(free, _OTHER.values(), strict=True):
            total = v["weight_1"] + v[other]
            # (W - m1 f)/m2 (m1 + m2), written so that it is W itself on the tight link
            excess.append(total * (f0 + v["weight_1"] / v[other] * (f0 - tight)))
        return excess[0], excess[1]

    def _fed(self, commanded: sympy.Expr, window: sympy.Expr) -> sympy.Expr:
        return window

    def _loose_gain(self, v: Mapping[str, Array], link: int) -> Array:
        weight = v[_OTHER[link]]
        return (v["phi"] + v["psi"] * (v[f"buffer_{link}"] > 0)) * weight / (v["weight_1"] + weight)


def _network(v: dict[str, Value], up_1: Value, up_3: Value) -> dict[str, Value]:
    """What two commands make of the network, in numbers or symbols."""
    f = {1: up_1 / (v["weight_1"] + v["weight_2"]), 3: up_3 / (v["weight_1"] + v["weight_3"])}
    obeyed = least(f[1], f[3])
    window = {k: v["weight_1"] * obeyed + v[_OTHER[k]] * f[k] for k in (1, 3)}
    network = {f"f_{k}": f[k] for k in (1, 3)} | {f"W_{k}": window[k] for k in (1, 3)}
    for k in (1, 3):
        over = window[k] - v[f"bdp_{k}"]
        network[f"Q_{k}"] = _clipped(over, v[f"buffer_{k}"])
    for k in (1, 3):
        network[f"utilisation_{k}"] = least(1 + 0 * window[k], window[k] / v[f"bdp_{k}"])
    return network


def _clipped(x: Value, high: Value) -> Value:
    if hasattr(x, "free_symbols"):
        return clip(x, 0, high)
    return -least(-least(x, high), 0 * x)
