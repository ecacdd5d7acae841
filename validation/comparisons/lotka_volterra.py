"""n flows under Lotka-Volterra control with old measurements, compared with fluid simulations of their link.

Three fluids, from the model's own assumptions to a link:

* ``all old``: all rates are `delay` old (`LotkaVolterraDelayed`);
* ``others old``: a sender knows its own rate (`LotkaVolterraCrossDelayed`);
* ``queue``: the same on a first-in-first-out link with a queue; what is measured of the others is what they got through
  it (reading R3). No model has this with a delay: it is compared with its own linearisation, and its critical delay
  stands beside that of ``others old``, interpretation R1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import two_panels
from tcpdynamics.charts.look import BLACK, COLOURS, VERDICT_COLOURS
from tcpdynamics.errors import shown
from tcpdynamics.limits import check_work
from tcpdynamics.models import LotkaVolterraCrossDelayed, LotkaVolterraDelayed
from tcpdynamics.models.formulas import delay_roots
from tcpdynamics.progress import tracked
from tcpdynamics.solvers import characteristic_roots
from tcpdynamics.solvers.problems import DomainError
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..fluid import Crowd
from .comparison import PARTS, Comparison, check_length, counts, critical_value, critical_variables, roots_against
from .oscillation import measure, operations

if TYPE_CHECKING:
    import plotly.graph_objects as go

FLUIDS = ("all old", "others old", "queue")
#: Disturbances: all flows alike, and flow 1 against flow 2.
MODES = ("sum", "difference")
#: Delays between which the critical one is sought [RTT].
SHORTEST, LONGEST = 0.2, 6.0
#: Length of the trajectories that tell whether it is, and between the samples of any [RTT].
_LONG, _STEP = 80.0, 0.05


@dataclass(frozen=True)
class LotkaVolterraVsFluid(Comparison):
    """Small disturbances of n flows: trajectories against spectrum and chart.

    Parameters
    ----------
    flows : sequence of int   Numbers of flows, >= 2.
    epsilon, gamma : float    As in the models.
    delay : float             Age of the measurement for decay and frequency [RTT], >= 0.
    rounds : int              Divisions of the interval that holds the critical delay, each by eight.
    horizon : float           Length of a trajectory [RTT].

    Examples
    --------
    >>> result = LotkaVolterraVsFluid(flows=(3,), rounds=2).run()
    >>> print(result.critical_verdict.squeeze().values.tolist())
    ['agrees', 'agrees', 'agrees']
    """

    command: ClassVar[str] = "lotka-volterra"
    quick: ClassVar[dict[str, Any]] = {"flows": (2, 5), "rounds": 2}

    flows: Sequence[int] = (2, 3, 5, 10)
    epsilon: float = 1.95
    gamma: float = 0.9
    delay: float = 0.5
    rounds: int = 3
    horizon: float = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("flows", self.flows)
        if min(self.flows) < 2:
            raise DomainError(f"flows must list whole numbers >= 2, got {shown(list(self.flows))}")

    def fluid(self, name: str, flows: int, delay: Any) -> Crowd:
        """What is simulated."""
        return Crowd(
            flows=flows, epsilon=self.epsilon, gamma=self.gamma, delay=delay,
            own_old=name == "all old", queue=name == "queue",
        )  # fmt: skip

    def run(self) -> xr.Dataset:
        """Simulate, measure, compare.

        Returns
        -------
        xarray.Dataset over `fluid`, `flows`, `mode` (sum, difference) and `quantity` (decay, frequency)
            `measured`, `predicted` [1/RTT], `error`; `gap` in units of |z| with `gap_low`, `gap_high`; `verdict`.
            Over `fluid`, `flows`: `critical`, `critical_low`, `critical_high` by division of an interval (NaN where
            nothing grows up to 6 RTT), `critical_predicted` from the traced chart (inf where it has no boundary),
            `critical_verdict`; `critical_r1`, its closed form by interpretation R1.
        """
        self._check_work()
        rows, critical, expected, r1 = [], [], [], []
        for name in tracked(FLUIDS):
            for n in tracked(self.flows):
                rows.append(self._modes(name, n))
                critical.append(self._critical(name, n))
                expected.append(self._chart(name, n))
                r1.append(self._closed(name, n))
        shape = (len(FLUIDS), len(self.flows))
        dims: dict[str, Any] = {"fluid": list(FLUIDS), "flows": list(self.flows)}
        many = len(self.flows)
        result = xr.concat(
            [
                xr.concat(rows[i * many : (i + 1) * many], xr.Variable("flows", list(self.flows)))
                for i in range(len(FLUIDS))
            ],
            xr.Variable("fluid", list(FLUIDS)),
        )
        variables = critical_variables(np.array(critical).reshape(*shape, 3), expected, dims, "RTT", "critical delay")
        result = result.assign(variables)
        result["critical_r1"] = (
            ("fluid", "flows"), np.reshape(r1, shape), {"units": "RTT", "long_name": "critical delay by R1"},
        )  # fmt: skip
        result.attrs = self.attributes()
        return result

    def _check_work(self) -> None:
        """Refuse what takes too long in all, before the first trajectory. Raises LimitError."""
        each = [
            len(MODES) * operations(1, n, self.horizon, _STEP)
            + (self.rounds + 1) * operations(PARTS + 1, n, _LONG, _STEP)
            + 5e5 * float(n) ** 3  # the chart, as measured
            for n in self.flows
        ]
        check_work(
            f"trajectories of up to {max(self.flows):,} flows over {self.horizon:g} RTT, with {self.rounds:,} rounds,",
            len(FLUIDS) * sum(each),
            "give fewer flows or rounds, or a shorter horizon",
        )

    def _modes(self, name: str, n: int) -> xr.Dataset:
        crowd = self.fluid(name, n, self.delay)
        apart = {"N[1]": 1.0, "N[2]": -1.0}
        both = [
            measure(crowd.dde(), self.horizon, _STEP, direction=direction)[["decay", "frequency", "error"]]
            for direction in (None, apart)
        ]
        oscillation = xr.concat([b.reset_coords(drop=True) for b in both], xr.Variable("mode", list(MODES)))
        return roots_against(oscillation, self._roots(name, n, crowd))

    def _roots(self, name: str, n: int, crowd: Crowd) -> xr.DataArray:
        if name == "queue":
            together = characteristic_roots(crowd.alike_dde(), count=1).characteristic_root.values.ravel()[0]
            itself = self.epsilon * (1 - self.gamma + self.gamma / n)  # epsilon N/K
            other = self.epsilon * self.gamma / n  # epsilon gamma t/K
            apart = delay_roots(-itself, other, self.delay, 1).values.ravel()[0]
            roots = [together, apart]
        else:
            kind = LotkaVolterraDelayed if name == "all old" else LotkaVolterraCrossDelayed
            model = kind(flows=n, epsilon=self.epsilon, gamma=self.gamma, delay=self.delay)
            roots = [complex(model.spectrum(count=1).sel(mode=m).values.ravel()[0]) for m in MODES]
        return xr.DataArray(roots, {"mode": list(MODES)}, "mode")

    def _critical(self, name: str, n: int) -> tuple[float, float, float]:
        def rates(delay: Any) -> Any:
            oscillation = measure(self.fluid(name, n, delay).dde(), _LONG, _STEP)
            return oscillation.decay.values, oscillation.error.values

        return critical_value(rates, SHORTEST, LONGEST, rounds=self.rounds + 1)

    def _chart(self, name: str, n: int) -> float:
        """Where a chart of all flows together ends along the delay."""
        delays = np.linspace(SHORTEST, LONGEST, 12)
        chart = stability_chart(self.fluid(name, n, delays).dde())
        crossed = np.asarray(chart.boundary_delay.values)
        return float(crossed.min()) if crossed.size else float("inf")

    def _closed(self, name: str, n: int) -> float:
        kind = LotkaVolterraDelayed if name == "all old" else LotkaVolterraCrossDelayed
        return float(kind(flows=n, epsilon=self.epsilon, gamma=self.gamma).critical_delay())

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Decay of both disturbances, and critical delays, against the number of flows."""
        from tcpdynamics.charts.drawing import go

        delay = json.loads(result.attrs["parameters"])["delay"]
        panels = two_panels(f"decay rate at a delay of {delay:g} RTT", "critical delay")
        flows = result.flows.values
        for i, name in enumerate(result.fluid.values):
            part, colour = result.sel(fluid=name), COLOURS[i]
            for mode, dash in zip(MODES, ("solid", "dot"), strict=True):
                decay = part.sel(mode=mode, quantity="decay")
                panels.add_trace(
                    go.Scatter(x=flows, y=decay.predicted.values, mode="lines", name=f"{name}: {mode}",
                               line={"color": colour, "dash": dash, "width": 1.5}, legendgroup=f"{name}"),
                    row=1, col=1,
                )  # fmt: skip
                panels.add_trace(
                    go.Scatter(x=flows, y=decay.measured.values, mode="markers", showlegend=False,
                               marker={"color": [VERDICT_COLOURS[v] for v in decay.verdict.values], "size": 8},
                               text=[str(v) for v in decay.verdict.values],
                               error_y={"array": decay.error.values, "color": BLACK}),
                    row=1, col=1,
                )  # fmt: skip
            known = part.critical_predicted.where(np.isfinite(part.critical_predicted))
            panels.add_trace(
                go.Scatter(x=flows, y=known.values, mode="lines", showlegend=False, legendgroup=f"{name}",
                           line={"color": colour, "width": 1.5}),
                row=1, col=2,
            )  # fmt: skip
            panels.add_trace(
                go.Scatter(x=flows, y=part.critical.values, mode="markers", showlegend=False,
                           marker={"color": [VERDICT_COLOURS[v] for v in part.critical_verdict.values], "size": 9},
                           text=[f"{name}: {v}" for v in part.critical_verdict.values]),
                row=1, col=2,
            )  # fmt: skip
        panels.update_xaxes(title_text="flows", tickvals=flows)
        panels.update_yaxes(title_text="1/RTT", type="log", tickvals=[0.01, 0.03, 0.1, 0.3, 1, 3], col=1)
        panels.update_yaxes(title_text="RTT", rangemode="tozero", col=2)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers."""

        def value(case: xr.Dataset) -> str:
            if np.isfinite(case.critical):
                return f"{float(case.critical):.3f}"
            return f"none up to {LONGEST:g}"

        parts = []
        for name in result.fluid.values:
            cells = ", ".join(f"{value(result.sel(fluid=name, flows=n))} for {n} flows" for n in result.flows.values)
            parts.append(f"{name}: {cells}")
        queue = result.sel(fluid="queue", flows=result.flows.values[-1])
        with_queue = float(queue.critical) if np.isfinite(queue.critical) else float(queue.critical_low)
        slow = result.sel(mode="difference", quantity="decay", flows=result.flows.values[-1]).measured
        longer = "more than " if not np.isfinite(queue.critical) else ""
        return (
            f"Measured decay rates and frequencies against characteristic roots: {counts(result.verdict)}. Critical "
            f"delays from simulations [RTT]: {'; '.join(parts)} ({counts(result.critical_verdict)} with the traced "
            f"charts). On a link with a queue, {int(queue.flows)} flows bear a delay of {longer}{with_queue:.3f} RTT "
            f"where interpretation R1 gives {float(queue.critical_r1):.3f}, and differences between them vanish at "
            f"{float(slow.sel(fluid='queue')):.4f} per RTT instead of {float(slow.sel(fluid='others old')):.4f}."
        )
