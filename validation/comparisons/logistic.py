"""The delayed logistic equation compared with its trajectories: decay, frequency, critical delay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import critical_points, measured_points, spectrum_lines, two_panels
from tcpdynamics.limits import check_work
from tcpdynamics.models import LogisticDelayed
from tcpdynamics.progress import tracked
from tcpdynamics.solvers import characteristic_roots
from tcpdynamics.solvers.problems import DDE, DomainError
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..fluid import Crowd
from .comparison import PARTS, Comparison, check_length, counts, critical_variables, roots_against
from .oscillation import measure, operations

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Between the samples of a trajectory [RTT].
_STEP = 0.02


@dataclass(frozen=True)
class LogisticVsFluid(Comparison):
    """Small disturbances of one flow with an old measurement: trajectories against the spectrum and the chart.

    Parameters
    ----------
    epsilon : sequence of float   Growth per round trip [1], > 0.
    delay : sequence of float     Age of the measurement [RTT], >= 0; 0 is the differential equation without delay.
    rounds : int                  Divisions of the interval that holds the critical delay, each by eight.
    horizon : float               Length of a trajectory [RTT].

    Examples
    --------
    >>> result = LogisticVsFluid(epsilon=(1.95,), delay=(0.5,), rounds=2).run()
    >>> result.verdict.values.ravel().tolist(), result.critical_verdict.values.tolist()
    (['agrees', 'agrees'], ['agrees'])
    """

    command: ClassVar[str] = "logistic"
    quick: ClassVar[dict[str, Any]] = {"epsilon": (1.95,), "rounds": 2}

    epsilon: Sequence[float] = (0.6, 1.95, 3.0)
    delay: Sequence[float] = (0.0, 0.1, 0.3, 0.5, 0.65, 0.75, 0.85)
    rounds: int = 3
    horizon: float = 40.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("epsilon", self.epsilon)
        check_length("delay", self.delay)
        if min(self.epsilon) <= 0 or min(self.delay) < 0:
            raise DomainError("epsilon must list numbers > 0 and delay numbers >= 0")

    def fluid(self, epsilon: Any, delay: Any) -> DDE:
        """What is simulated."""
        return Crowd(epsilon=epsilon, delay=delay).dde()

    def run(self) -> xr.Dataset:
        """Simulate, measure, compare.

        Returns
        -------
        xarray.Dataset over `epsilon`, `delay` and `quantity` (decay, frequency)
            `measured`, `predicted` [1/RTT], `error`; `gap` in units of |z| with `gap_low`, `gap_high`; `verdict`.
            Over `epsilon`: `critical`, `critical_low`, `critical_high`, by division of an interval;
            `critical_predicted`, where the traced chart ends; `critical_closed`, pi/(2 epsilon); `critical_verdict`.
            `deviation` over `time`: the trajectories.
        """
        self._check_work()
        epsilon, delay = list(self.epsilon), list(self.delay)
        oscillation = measure(self.fluid(epsilon, delay), self.horizon, _STEP)
        oscillation = oscillation.assign_coords(epsilon=epsilon, delay=delay)  # whatever the fluid makes of them
        model = LogisticDelayed(epsilon=epsilon, delay=delay)
        roots = characteristic_roots(model, count=1).characteristic_root.isel(root=0, drop=True)
        result = roots_against(oscillation, roots).assign(deviation=oscillation.deviation.isel(flow=0, drop=True))
        critical = [self._critical(e) for e in tracked(epsilon)]
        result = result.assign(
            critical_variables(critical, self._chart(), {"epsilon": epsilon}, "RTT", "critical delay")
        )
        closed = [float(LogisticDelayed(epsilon=e).critical_delay()) for e in epsilon]
        result["critical_closed"] = ("epsilon", closed, {"units": "RTT", "long_name": "pi/(2 epsilon)"})
        result.attrs = self.attributes()
        return result

    def _check_work(self) -> None:
        """Refuse what takes too long in all, before the first trajectory. Raises LimitError."""
        points, many = len(self.epsilon) * len(self.delay), len(self.epsilon)
        divided = many * self.rounds * operations(PARTS + 1, 1, 80.0, 0.05)
        check_work(
            f"trajectories over {self.horizon:g} RTT at {points:,} points, with {self.rounds:,} rounds,",
            operations(points, 1, self.horizon, _STEP) + divided,
            "give a shorter horizon, or fewer epsilon, delays or rounds",
        )

    def _critical(self, epsilon: float) -> tuple[float, float, float]:
        def rates(delay: Any) -> Any:
            oscillation = measure(self.fluid(epsilon, delay), 80.0 / epsilon, 0.05 / epsilon)
            return oscillation.decay.values, oscillation.error.values

        return self.critical_value(rates, 1.0 / epsilon, 2.2 / epsilon)

    def _chart(self) -> list[float]:
        """Where the chart's boundary is crossed along each epsilon."""
        delays = []
        for e in self.epsilon:
            chart = stability_chart(LogisticDelayed(epsilon=e, delay=np.linspace(0.5, 3.0, 11) / e))
            delays.append(float(chart.boundary_delay.values[0]))
        return delays

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Decay and frequency against delay, and the critical delays: points on lines, or not."""
        panels = two_panels("exponent z of a small disturbance", "critical delay")
        fine = np.linspace(1e-3, float(result.delay.max()), 120)
        for i, e in enumerate(result.epsilon.values):
            lines = characteristic_roots(LogisticDelayed(epsilon=float(e), delay=fine), count=1)
            spectrum_lines(panels, fine, lines.characteristic_root.isel(root=0).values, f"epsilon = {e:g}", i)
            measured_points(panels, result.delay.values, result.sel(epsilon=e), i)
        line = np.linspace(float(result.epsilon.min()) * 0.9, float(result.epsilon.max()) * 1.05, 100)
        critical_points(panels, result.epsilon.values, result, line, np.pi / 2 / line, "pi/(2 epsilon)")
        panels.update_xaxes(title_text="age of the measurement [RTT]", col=1)
        panels.update_xaxes(title_text="epsilon", col=2)
        panels.update_yaxes(title_text="1/RTT", col=1)
        panels.update_yaxes(title_text="RTT", col=2)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""
        worst = float(abs(result.gap).max())
        parts = [
            f"epsilon = {float(e):g}: {float(case.critical):.4f} RTT [{float(case.critical_low):.4f}, "
            f"{float(case.critical_high):.4f}], chart {float(case.critical_predicted):.4f}"
            for e in result.epsilon.values
            for case in (result.sel(epsilon=e),)
        ]
        undelayed = result.sel(delay=0.0, quantity="decay") if 0.0 in result.delay.values else None
        without = ""
        if undelayed is not None:
            rates = [
                f"{float(m):.4f} at {e:g}" for m, e in zip(undelayed.measured, undelayed.epsilon.values, strict=True)
            ]
            beyond = ", also beyond 2" if float(undelayed.epsilon.max()) > 2 else ""
            without = f" Without delay the measured decay rate is epsilon itself{beyond}: {', '.join(rates)}."
        return (
            "Decay rates and frequencies measured on trajectories against the rightmost characteristic root: "
            f"{counts(result.verdict)}; the largest gap is {worst:.1e} of |z|. Critical delay by division of an "
            f"interval of simulations: {'; '.join(parts)} ({counts(result.critical_verdict)}).{without}"
        )
