"""Fluid TCP on a marking link near its critical gain, compared with two linearisations: the exact one and Hollot's.

Three fluids: ``proportional``, the nonlinear model with the delay of the operating point; ``varying delay``, the same
with old values as old as the queue makes them; ``RED``, with an averaged queue. In all three the operating point has
one round-trip time, whatever the gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import measured_points, spectrum_lines, two_panels
from tcpdynamics.charts.look import COLOURS
from tcpdynamics.errors import shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import FluidTcpProportional, FluidTcpRed, TcpLinearisation
from tcpdynamics.progress import tracked
from tcpdynamics.solvers import characteristic_roots
from tcpdynamics.solvers.problems import DomainError

from ..fluid import MarkedFlows
from .comparison import PARTS, Comparison, against, check_length, counts, roots_against
from .oscillation import SIZE, exponents, measure, operations

if TYPE_CHECKING:
    import plotly.graph_objects as go

FLUIDS = ("proportional", "varying delay", "RED")
PREDICTIONS = ("exact", "simplified")
#: Samples of a trajectory in a round trip.
_PER_RTT = 20


@dataclass(frozen=True)
class MisraVsLinearisation(Comparison):
    """Small disturbances of N TCP flows and a queue: nonlinear trajectories against the linearisations.

    Parameters
    ----------
    flows, capacity, rtt, buffer : float
        N, C [packet/s], R at the operating point [s], B [packet].
    ratio : sequence of float
        Gains as fractions of the exact critical gain.
    averaging : float
        Pole of RED's filter [1/s].
    rounds : int
        Divisions of the interval that holds the critical gain, each by eight.
    horizon : float
        Length of a trajectory [s], 0.6 times that with a varying delay.

    Examples
    --------
    >>> result = MisraVsLinearisation(ratio=(0.9,), rounds=2, horizon=20.0).run()
    >>> result.critical_verdict.sel(fluid="proportional").values.tolist()
    ['agrees', 'differs']
    """

    command: ClassVar[str] = "misra"
    quick: ClassVar[dict[str, Any]] = {"ratio": (0.8, 1.1), "rounds": 2, "horizon": 25.0}

    flows: float = 60.0
    capacity: float = 3750.0
    rtt: float = 0.246
    buffer: float = 800.0
    ratio: Sequence[float] = (0.6, 0.8, 0.95, 1.01, 1.1, 1.25)
    averaging: float = 5.0
    rounds: int = 3
    horizon: float = 40.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("ratio", self.ratio)
        if min(self.ratio) <= 0:
            raise DomainError(f"ratio must list numbers > 0, got {shown(list(self.ratio))}")

    def linearisation(self, fluid: str) -> TcpLinearisation:
        """Transfer functions at the operating point."""
        linearised = TcpLinearisation(flows=self.flows, capacity=self.capacity, rtt=self.rtt)
        return replace(linearised, averaging=self.averaging) if fluid == "RED" else linearised

    def model(self, fluid: str, gain: Any) -> Any:
        """The nonlinear model with this slope of marking [1/packet]; an array has the dimension `gain` (`p_max`)."""
        link = {"rtt": self.rtt, "flows": self.flows, "capacity": self.capacity, "buffer": self.buffer}
        if fluid != "RED":
            return FluidTcpProportional.at_rtt(gain=gain, **link)
        low, high = 10.0, 610.0
        return FluidTcpRed.at_rtt(
            min_threshold=low, max_threshold=high, p_max=np.asarray(gain) * (high - low),
            averaging=self.averaging, **link,
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate, measure, compare.

        Returns
        -------
        xarray.Dataset over `fluid`, `prediction` (exact, simplified), `ratio` and `quantity` (decay, frequency)
            `measured`, `error`, `predicted` [1/s]; `gap` in units of |z| with `gap_low`, `gap_high`; `verdict`.
            Over `fluid`: `gain` and `critical` [1/packet] with `critical_low`, `critical_high`; over `prediction` too:
            `critical_predicted`, `critical_gap` (relative) and its interval, `critical_verdict`; `hollot_gain`, the
            largest gain of Hollot's sufficient condition.
        """
        self._check_work()
        parts = [self._fluid(fluid) for fluid in tracked(FLUIDS)]
        result = xr.concat(parts, xr.Variable("fluid", list(FLUIDS)))
        result.attrs = self.attributes()
        return result

    def _check_work(self) -> None:
        """Refuse what takes too long in all, before the first trajectory. Raises LimitError."""
        points, runs = len(self.ratio) + self.rounds * (PARTS + 1), 1 + self.rounds
        step = self.rtt / _PER_RTT
        varying = 2.5 * 0.6 * self.horizon / step * (1e5 * runs + 350.0 * points)  # as measured
        check_work(
            f"trajectories over {self.horizon:g} s at {points:,} gains, with round trips of {self.rtt:g} s,",
            operations(points, 2 + 3, self.horizon, step) + varying,
            "give a shorter horizon, or fewer ratios or rounds",
        )

    def _fluid(self, fluid: str) -> xr.Dataset:
        near = self.linearisation(fluid)
        exact = float(near.critical_gain())
        gains = exact * np.asarray(self.ratio, float)
        oscillation = self._measure(fluid, gains)
        roots = self._roots(fluid, gains)
        data = roots_against(oscillation, roots).assign_coords(ratio=list(self.ratio))

        def rates(ratio: Any) -> Any:
            oscillation = self._measure(fluid, exact * ratio)
            return oscillation.decay.values, oscillation.error.values

        value, low, high = (exact * x for x in self.critical_value(rates, 0.75, 1.3))
        expected = xr.DataArray(
            [exact, float(near.critical_gain_simplified())], {"prediction": list(PREDICTIONS)}, "prediction"
        )
        compared = against(xr.DataArray((low + high) / 2), xr.DataArray((high - low) / 2), expected, expected)
        data["gain"] = ("ratio", gains, {"units": "1/packet", "long_name": "slope of marking"})
        for name, number in (("critical", value), ("critical_low", low), ("critical_high", high)):
            data[name] = ((), number, {"units": "1/packet", "long_name": "critical slope, from simulations"})
        data["critical_predicted"] = expected
        data["critical_gap"] = value / expected - 1
        return data.assign(
            critical_gap_low=compared["gap_low"], critical_gap_high=compared["gap_high"],
            critical_verdict=compared["verdict"], hollot_gain=((), float(near.hollot_gain())),
        )  # fmt: skip

    def _measure(self, fluid: str, gains: Any) -> xr.Dataset:
        """Decay and frequency over `ratio` at these gains."""
        if fluid == "varying delay":
            exponent, error = self._measure_varying(gains)
            return xr.Dataset(
                {
                    k: ("ratio", v)
                    for k, v in (("decay", -exponent.real), ("frequency", exponent.imag), ("error", error))
                }
            )
        oscillation = measure(self.model(fluid, gains).dde(), self.horizon, self.rtt / _PER_RTT)
        oscillation = oscillation[["decay", "frequency", "error"]].reset_coords(drop=True)
        dim = oscillation.decay.dims[0]
        return oscillation.drop_vars(dim).rename({dim: "ratio"})

    def _measure_varying(self, gains: Any) -> tuple[Any, Any]:
        link = self.model("proportional", gains)
        rest = link.equilibrium()
        W, q, T = (np.broadcast_to(np.asarray(x), len(gains)) for x in (rest.window, rest.queue, link.base_rtt))
        flows = MarkedFlows(flows=self.flows, capacity=self.capacity, base_rtt=T, gain=gains)

        def runs(per_rtt: int, size: float) -> Any:
            step = self.rtt / per_rtt
            _, window, queue = flows.run(W=W * (1 + size), q=q * (1 + size), horizon=0.6 * self.horizon, step=step)
            every = per_rtt // 10
            return np.stack([window / W[:, None] - 1, queue / q[:, None] - 1])[..., ::every]

        step = self.rtt / 10
        exponent, error = exponents(runs(_PER_RTT, SIZE), runs(_PER_RTT, SIZE / 2), step)
        coarse = runs(_PER_RTT // 2, SIZE / 2)
        rough, _ = exponents(coarse, coarse, step)
        return exponent, np.maximum(error, np.abs(exponent - rough))

    def _roots(self, fluid: str, gains: Any) -> xr.DataArray:
        from scipy.optimize import newton

        near = self.linearisation(fluid)
        problem = self.model("RED" if fluid == "RED" else "proportional", gains).dde()
        exact = characteristic_roots(problem, count=1).characteristic_root.values.ravel()
        simple = [
            newton(lambda s, k=k: near.characteristic_simplified(s, k), z, x1=z * 1.001, tol=1e-13)
            for z, k in zip(exact, gains, strict=True)
        ]
        return xr.DataArray([exact, simple], {"prediction": list(PREDICTIONS)}, ("prediction", "ratio"))

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Exponents against the gain, and critical gains against both predictions."""
        from tcpdynamics.charts.drawing import go

        panels = two_panels(
            "exponent z of a small disturbance, proportional marking", "critical gain, relative to exact"
        )
        part = result.sel(fluid="proportional")
        for i, name in enumerate(PREDICTIONS):
            roots = part.sel(prediction=name)
            z = -roots.predicted.sel(quantity="decay").values + 1j * roots.predicted.sel(quantity="frequency").values
            spectrum_lines(panels, roots.ratio.values, z, name, i)
        measured_points(panels, part.ratio.values, part.sel(prediction="exact"), 2)
        exact = result.critical_predicted.sel(prediction="exact")
        bars = {"array": (result.critical_high - result.critical) / exact,
                "arrayminus": (result.critical - result.critical_low) / exact, "symmetric": False}  # fmt: skip
        shown = {k: v.values if hasattr(v, "values") else v for k, v in bars.items()}
        panels.add_trace(
            go.Scatter(x=result.fluid.values, y=(result.critical / exact).values, mode="markers", error_y=shown,
                       name="from simulations", marker={"size": 10, "color": COLOURS[2]}),
            row=1, col=2,
        )  # fmt: skip
        for i, name in enumerate(PREDICTIONS):
            line = (result.critical_predicted.sel(prediction=name) / exact).values
            style = {"symbol": "line-ew", "size": 26, "line": {"color": COLOURS[i], "width": 3}}
            panels.add_trace(
                go.Scatter(x=result.fluid.values, y=line, mode="markers", name=f"predicted, {name}", marker=style),
                row=1, col=2,
            )  # fmt: skip
        panels.update_xaxes(title_text="gain over exact critical gain", col=1)
        panels.update_yaxes(title_text="1/s", col=1)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        parts = []
        for fluid in result.fluid.values:
            case = result.sel(fluid=fluid)
            exact, simple = (case.sel(prediction=p) for p in PREDICTIONS)
            parts.append(
                f"{fluid}: {float(case.critical):.4e} [{float(case.critical_low):.4e}, "
                f"{float(case.critical_high):.4e}], "
                f"exact {float(exact.critical_predicted):.4e} ({exact.critical_verdict.item()}), simplified "
                f"{float(simple.critical_predicted):.4e} ({simple.critical_verdict.item()}, measured "
                f"{float(simple.critical_gap):+.2%}), sufficient condition {float(case.hollot_gain):.2e}"
            )
        exact, simple = (result.verdict.sel(prediction=p) for p in PREDICTIONS)
        same = bool((exact.sel(fluid="varying delay") == "agrees").all())
        moving = f"That the delay moves with the queue {'changes nothing' if same else 'matters'} to first order."
        return (
            f"Decay rates and frequencies of nonlinear trajectories: {counts(exact)} with the exact quasi-polynomial, "
            f"{counts(simple)} with the simplified one. Critical gains from simulations [1/packet]: "
            f"{'; '.join(parts)}. {moving}"
        )
