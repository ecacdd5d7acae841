"""T-REFWA's interval maps compared with a router that acts every RTT_avg on a real queue, by interpretation.

The fluids differ in what a command is (a window in flight, clocked by ACKs, or a rate) and in how long it takes to
act; each is disturbed a little, and the multiplier by which the disturbance changes from one interval to the
next is compared with the largest multiplier of every reading.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics import models
from tcpdynamics.charts.look import BLACK, COLOURS
from tcpdynamics.errors import shown
from tcpdynamics.limits import check_work
from tcpdynamics.models.t_refwa.recursion import PHI, PSI
from tcpdynamics.progress import tracked
from tcpdynamics.solvers import characteristic_roots, eigenvalues
from tcpdynamics.solvers.problems import DomainError
from tcpdynamics.solvers.stability.stability_chart import stability_chart

from ..fluid import SampledWindow
from .comparison import PARTS, Comparison, check_length, counts, critical_variables, grade
from .oscillation import SAFETY, measure, operations, slowest

if TYPE_CHECKING:
    import plotly.graph_objects as go


#: Fluid -> lags [RTT_avg], whether it is paced, and the reading that should describe it.
FLUIDS: dict[str, tuple[tuple[float, ...], bool, str]] = {
    "windows, half an RTT": ((0.5,), False, "window"),
    "windows, a full RTT": ((1.0,), False, "delayed"),
    "windows, half and 1.5 RTT": ((0.5, 1.5), False, "mixed"),
    "rates, at once": ((1e-9,), True, "semi-implicit"),
    "rates, half an RTT": ((0.5,), True, ""),
    "rates, a full RTT": ((1.0,), True, "integrating"),
    "rates, two RTT": ((2.0,), True, "integrating, delayed"),
    "continuous control": ((1.0,), True, "continuous"),
}
READINGS: dict[str, Any] = {
    "window": models.TRefwaWindow,
    "delayed": models.TRefwaDelayed,
    "mixed": models.TRefwaMixed,
    "measured": models.TRefwaMeasured,
    "semi-implicit": models.TRefwaIntegratingSemiImplicit,
    "integrating": models.TRefwaIntegrating,
    "integrating, delayed": models.TRefwaIntegratingDelayed,
    "continuous": models.TRefwaContinuous,
}
#: Disturbance, and the share of it below which rounding takes over.
SIZE, SMALLEST = 1e-3, 1e-8
#: Length of a trajectory of the continuous control, and between its samples [RTT_avg].
_CONTINUOUS = 40.0, 0.02
#: Halvings of the interval that holds a reach.
_HALVINGS = 40


@dataclass(frozen=True)
class TRefwaMapVsFluid(Comparison):
    """Interpretations of eq. (3) and a fluid simulation in continuous time.

    Parameters
    ----------
    gains : sequence of (phi, psi)
        Where multipliers are compared.
    psi : float
        Gain at which the critical phi is sought.
    bdp, buffer : float
        [packet]
    lags : sequence of float
        Between command and effect, for which the reach of the window variant is measured [RTT_avg], in (0, 1).
    rounds : int
        Divisions of the interval that holds the critical phi, each by eight.
    intervals : int
        Length of a run.

    Examples
    --------
    >>> result = TRefwaMapVsFluid(gains=((1.0, 0.5),), rounds=1).run()
    >>> result.best.values.tolist()[:3]
    ['window', 'delayed', 'mixed']
    """

    command: ClassVar[str] = "t-refwa"
    effect: ClassVar[tuple[str, str, str]] = ("distance", "distance_low", "distance_high")
    rule: ClassVar[str] = "differs: the multipliers are further apart than the error of the measurement"
    quick: ClassVar[dict[str, Any]] = {"gains": ((1.5, 0.5), (1.0, 0.5)), "rounds": 2}

    gains: Sequence[tuple[float, float]] = ((1.5, 0.5), (1.0, 0.5), (0.8, 0.3), (1.2, 0.6))
    psi: float = 0.5
    bdp: float = 190.0
    buffer: float = 190.0
    lags: Sequence[float] = (0.2, 0.4, 0.6, 0.8, 0.95)
    rounds: int = 3
    intervals: int = 80

    def __post_init__(self) -> None:
        super().__post_init__()
        check_length("gains", self.gains)
        check_length("lags", self.lags)
        if any(phi < 0 or psi <= 0 for phi, psi in self.gains):
            raise DomainError(f"gains must list pairs with phi >= 0 and psi > 0, got {shown(list(self.gains))}")

    def fluid(self, name: str, phi: float, psi: float, room: float | None = None) -> SampledWindow:
        """The simulation of a case; `room` is what the buffer really holds [packet]."""
        lags, paced, _ = FLUIDS[name]
        return SampledWindow(phi=phi, psi=psi, bdp=self.bdp, buffer=self.buffer, lags=lags, paced=paced, room=room)

    def run(self) -> xr.Dataset:
        """Simulate, measure, compare.

        Returns
        -------
        xarray.Dataset over `fluid`, `gains` and `interpretation`
            `measured`, the multiplier with the positive imaginary part, as real and imaginary `part`, and its `error`;
            `predicted`; `distance` between the two with `distance_low`, `distance_high`; `verdict`, "differs" where
            the distance exceeds the error. Over `fluid`: `best`, the variant that agrees at all gains ("none", or the
            first of several); `expected`, the one that should; `critical` phi with its interval,
            `critical_predicted` and `critical_verdict`;
            `settled`, Q/B at the end of a stable run; `lost`, packets lost [BDP] from a half-full buffer at the
            published gains, when B is all that fits. Over `lag`: `reach`, the largest start above Q* [B] whose queue
            the window map gives, with `reach_predicted`. Over `step`: `cycle`, the queue [B] at the published gains
            from an empty network.
        """
        self._check_work()
        gains = xr.DataArray([f"({a:g}, {b:g})" for a, b in self.gains], dims="gains")
        names, readings = list(FLUIDS), list(READINGS)
        pairs = [[self._multiplier(name, *g) for g in self.gains] for name in names]
        coords = {"fluid": names, "gains": gains.values, "interpretation": readings}
        measured = xr.DataArray(
            [[p[0] for p in row] for row in pairs], coords=[names, gains.values], dims=["fluid", "gains"]
        )
        error = measured.copy(data=[[p[1] for p in row] for row in pairs])
        predicted = xr.DataArray(
            [[self._predicted(r, *g) for r in readings] for g in self.gains], dims=["gains", "interpretation"]
        ).assign_coords(gains=gains.values, interpretation=readings)
        distance = abs(measured - predicted)
        verdicts = distance.copy(data=grade(distance - error, distance + error))
        result = xr.Dataset(
            {
                "measured": _parts(measured), "error": error, "predicted": _parts(predicted), "distance": distance,
                "distance_low": np.maximum(distance - error, 0.0), "distance_high": distance + error,
                "verdict": verdicts,
            },
            coords,
        )  # fmt: skip
        whole = (result.verdict == "agrees").all("gains")
        best = ["none" if not w.any() else readings[int(np.argmax(w))] for w in whole.values]
        result["best"] = ("fluid", best)
        result["expected"] = ("fluid", [FLUIDS[n][2] or "none" for n in names])
        result = result.assign(self._critical(names))
        result["settled"] = ("fluid", [self._settled(n) for n in names], {"units": "1", "long_name": "settled Q/B"})
        result["lost"] = ("fluid", [self._lost(n) for n in names], {"units": "1", "long_name": "lost [BDP]"})
        result = result.assign(self._reach()).assign(self._cycle())
        result.attrs = self.attributes()
        return result

    def _check_work(self) -> None:
        """Refuse what takes too long in all, before the first simulation. Raises LimitError."""
        runs = len(self.gains) + self.rounds * (PARTS + 1)
        routers = len(FLUIDS) - 1
        intervals = routers * (runs * self.intervals + 500.0) + len(self.lags) * _HALVINGS * 7.0 + 200.0
        fits = routers * runs * float(self.intervals) ** 3
        continuous = runs * operations(1, 2, *_CONTINUOUS)
        check_work(
            f"{runs:,} runs of {self.intervals:,} intervals on {routers} routers, and {len(self.lags):,} lags,",
            3e5 * intervals + fits + continuous,
            "give fewer intervals, gains, lags or rounds",
        )

    def _multiplier(self, name: str, phi: float, psi: float) -> tuple[complex, float]:
        if name == "continuous control":
            model = models.TRefwaContinuous(phi=phi, psi=psi, bdp=self.bdp, buffer=self.buffer)
            oscillation = measure(model.dde(), *_CONTINUOUS, scale={"e": self.buffer, "Q": self.buffer})
            z = complex(-float(oscillation.decay), float(oscillation.frequency))
            return complex(np.exp(z)), float(oscillation.error) * float(np.exp(z.real))
        moved = self._moved(name, phi, psi)
        size = np.abs(moved).max(axis=0)
        tail = np.maximum.accumulate(size[::-1])[::-1]
        end = int(np.searchsorted(-tail, -SMALLEST * size[0]))
        if (size > 0.1).any():  # still far from an empty and from a full buffer
            end = min(end, int(np.argmax(size > 0.1)))
        parts = [np.exp(slowest(moved[:, low:end], 1.0)) for low in (0, 1, 2)]
        spread = max(abs(p - parts[0]) for p in parts[1:])
        return complex(parts[0]), max(SAFETY * spread, 1e-7)

    def _moved(self, name: str, phi: float, psi: float) -> Any:
        """Deviations of command and queue from rest [B], interval by interval."""
        paced = FLUIDS[name][1]
        e, q = (0.0, self.buffer) if paced else (psi * self.buffer / (phi + psi),) * 2
        by = SIZE * self.buffer
        router = self.fluid(name, phi, psi, 2 * self.buffer)
        run = router.run(excess=e + by, queue=q + 0.3 * by if paced else None, intervals=self.intervals)
        return np.stack([run.excess - e, run.queue - q]) / self.buffer

    def _model(self, reading: str, **gains: Any) -> Any:
        return READINGS[reading](**gains, bdp=self.bdp, buffer=self.buffer)

    def _predicted(self, reading: str, phi: float, psi: float) -> complex:
        model = self._model(reading, phi=phi, psi=psi)
        if reading == "continuous":
            multiplier = np.exp(characteristic_roots(model, count=1).characteristic_root.values.ravel()[0])
        else:
            multiplier = eigenvalues(model).eigenvalue.values.ravel()[0]
        return complex(multiplier.real, abs(multiplier.imag))

    def _critical(self, names: list[str]) -> dict[str, xr.DataArray]:
        critical, expected = [], []
        for name in tracked(names):

            def rates(phis: Any, name: str = name) -> Any:
                both = [self._multiplier(name, float(phi), self.psi) for phi in phis]
                return (np.array([-np.log(abs(m)) for m, _ in both]), np.array([e / abs(m) for m, e in both]))

            low, high = (0.9, 1.6) if name == "continuous control" else (0.93, 3.13)
            critical.append(self.critical_value(rates, low, high))
            expected.append(self._critical_phi(name, low, high))
        return critical_variables(critical, expected, {"fluid": names}, "1", "critical phi")

    def _critical_phi(self, name: str, low: float, high: float) -> float:
        """From the chart of the reading; between the two integrating readings, from the polynomial of the mixture."""
        lags, _, reading = FLUIDS[name]
        if not reading:
            # Q' = Q + L e + (1-L) e': z^2 - (2 - phi - psi (1-L)) z + 1 - phi + psi L has the root -1.
            return 2 - self.psi * (1 - 2 * lags[0]) / 2
        chart = stability_chart(self._model(reading, phi=np.linspace(low, high, 23), psi=self.psi))
        return float(chart.boundary_phi.values[0])

    def _settled(self, name: str) -> float:
        if name == "continuous control":
            return float(self._model("continuous").equilibrium()["Q"]) / self.buffer
        run = self.fluid(name, 1.0, 0.5, 2 * self.buffer).run(excess=0.0, queue=0.0, intervals=400)
        return float(run.queue[-1]) / self.buffer

    def _lost(self, name: str) -> float:
        if name == "continuous control":
            return float("nan")
        run = self.fluid(name, PHI, PSI).run(
            excess=0.0 if FLUIDS[name][1] else self.buffer / 2, queue=self.buffer / 2, intervals=100
        )
        return run.lost / self.bdp

    def _reach(self) -> dict[str, Any]:
        """How far above rest a start may be for the window map to hold, at phi = 1, psi = 1/2."""
        phi, psi = 1.0, 0.5
        rest = psi * self.buffer / (phi + psi)
        reach = []
        for lag in self.lags:
            router = SampledWindow(phi=phi, psi=psi, bdp=self.bdp, buffer=self.buffer, lags=(lag,))
            low, high = 0.0, self.buffer - rest
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                run = router.run(excess=rest + middle, intervals=6)
                e, gap = rest + middle, 0.0
                for simulated in run.queue:
                    queue = min(max(e, 0.0), self.buffer)
                    gap, e = max(gap, abs(simulated - queue)), (1 - phi) * e + psi * (self.buffer - queue)
                low, high = (middle, high) if gap < 1e-9 * self.buffer else (low, middle)
            reach.append(low / self.buffer)
        # The link drains (1 - lag) BDP between effect and reading; the first command takes back (phi+psi) of the start.
        drained = [(1 - lag) * self.bdp / (phi + psi) / self.buffer for lag in self.lags]
        largest = (self.buffer - rest) / self.buffer
        return {
            "reach": xr.DataArray(reach, {"lag": list(self.lags)}, "lag", attrs={"units": "1"}),
            "reach_predicted": xr.DataArray(np.minimum(drained, largest), {"lag": list(self.lags)}, "lag"),
        }

    def _cycle(self) -> dict[str, Any]:
        router = self.fluid("windows, half an RTT", PHI, PSI)
        run = router.run(excess=-self.bdp * 0.999, intervals=200)
        return {"cycle": xr.DataArray(run.queue / self.buffer, dims="step", attrs={"units": "1"})}

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Distances between fluids and variants, and how far the window variant reaches."""
        from tcpdynamics.charts.drawing import go, make_subplots

        panels = make_subplots(
            1, 2, column_widths=[0.66, 0.34], horizontal_spacing=0.12,
            subplot_titles=("distance of multipliers, largest over the gains", "reach of the window map"),
        )  # fmt: skip
        worst = result.distance.max("gains").transpose("fluid", "interpretation")
        holds = (result.verdict == "agrees").all("gains").transpose("fluid", "interpretation").values
        text = [
            [("agrees" if ok else f"{d:.2f}") for ok, d in zip(*row, strict=True)]
            for row in zip(holds, worst.values, strict=True)
        ]
        panels.add_trace(
            go.Heatmap(
                x=list(worst.interpretation.values), y=list(worst.fluid.values),
                z=np.where(holds, -0.25, np.minimum(worst.values, 1.5)),
                zmin=-0.25, zmax=1.5, showscale=False, text=text, texttemplate="%{text}",
                colorscale=[[0, "#9ADBC0"], [0.14, "#9ADBC0"], [0.15, "#FFF6E5"], [1, "#F3B58F"]],
            ),
            row=1, col=1,
        )  # fmt: skip
        panels.update_yaxes(autorange="reversed", automargin=True, row=1, col=1)
        panels.update_xaxes(tickangle=-35, row=1, col=1)
        panels.add_trace(
            go.Scatter(x=result.lag.values, y=result.reach_predicted.values, mode="lines",
                       name="what the link can drain",
                       line={"color": BLACK, "width": 1.5}),
            row=1, col=2,
        )  # fmt: skip
        panels.add_trace(
            go.Scatter(x=result.lag.values, y=result.reach.values, mode="markers", name="from simulations",
                       marker={"color": COLOURS[2], "size": 9}),
            row=1, col=2,
        )  # fmt: skip
        panels.update_xaxes(title_text="lag of the command [RTT]", range=[0, 1], row=1, col=2)
        panels.update_yaxes(title_text="start above Q* [B]", rangemode="tozero", row=1, col=2)
        panels.update_layout(
            height=470, template="plotly_white", margin={"t": 50, "r": 20},
            legend={"orientation": "h", "y": -0.3, "x": 1, "xanchor": "right"},
        )  # fmt: skip
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """The result in words, made from its numbers; an empty line separates paragraphs."""
        cases = []
        for name in result.fluid.values:
            case = result.sel(fluid=name)
            described = "no interpretation" if case.best == "none" else f"the interpretation “{case.best.item()}”"
            cases.append(
                f"{name}: {described} (critical phi {float(case.critical):.3f}, "
                f"expected {float(case.critical_predicted):.3f})"
            )
        gap = float(abs(result.reach - result.reach_predicted).max())
        first, last = (float(x) for x in result.cycle.values[-2:])
        parameters = json.loads(result.attrs["parameters"])
        paced = [n for n in result.fluid.values if n.startswith("rates")]
        lost = ", ".join(f"{float(result.lost.sel(fluid=n)):.2f} ({n})" for n in paced)
        window = result.sel(fluid="windows, half an RTT")
        published = [f"({a:g}, {b:g})" for a, b in parameters["gains"]].index("(1.5, 0.5)") if [1.5, 0.5] in [
            list(g) for g in parameters["gains"]
        ] else None  # fmt: skip
        at_published = ""
        if published is not None:
            multiplier = float(window.measured.sel(part="real")[published])
            at_published = (
                f"At (1.5, 0.5) the measured multiplier is {multiplier:+.4f}, and an empty network ends in a queue "
                f"that alternates between {min(first, last):.3f} B and {max(first, last):.3f} B. "
            )
        return (
            f"The valid interpretation of eq. (3) depends on what a command is and when it acts: {'; '.join(cases)}. "
            f"Critical gains: {counts(result.critical_verdict)}.\n\nWindows in flight leave their excess in the queue, "
            f"so that it settles at {float(window.settled):.3f} B (phi = 1, psi = 1/2); rates add theirs up, and it "
            f"settles at {float(result.settled.sel(fluid='rates, a full RTT')):.3f} B, at the buffer's end. "
            f"{at_published}From a half-full buffer of B, rates lose, at the published gains and in units of the "
            f"bandwidth-delay product: {lost}. The window map stops holding where a command takes back more than "
            "the link drains between its effect and the next reading, (1 - lag) BDP: measured reach and this bound are "
            f"apart by at most {gap:.1e} B."
        )


def _parts(values: xr.DataArray) -> xr.DataArray:
    """NetCDF has no complex numbers: real and imaginary parts along a dimension."""
    return xr.concat([values.real, values.imag], xr.Variable("part", ["real", "imaginary"]))
