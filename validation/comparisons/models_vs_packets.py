"""Numbers of packets beside those of models, case by case: one table, one figure, one sentence for all of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import xarray as xr

from tcpdynamics.charts.comparisons import error_bars
from tcpdynamics.charts.look import COLOURS, LEGEND_BELOW
from tcpdynamics.progress import listening, tracked

from ..packet import Scenario, replicate
from .comparison import TOLERANCE, Comparison, Verdict, counts, grade_tolerance, interval_of

if TYPE_CHECKING:
    import plotly.graph_objects as go


#: Parts whose numbers are fractions: their intervals end at 0 and 1 where they are read; verdicts are by whole ones.
FRACTIONS = {"fraction of transfers that finish", "Jain's index", "use of L1"}


class Case(NamedTuple):
    """One number of packets beside a model's.

    Attributes
    ----------
    part, case : str           What is measured, with its unit where it has one; and of which case.
    series : str               The model, or who sends: the curve of the case in its part.
    values : sequence of float One a replication.
    predicted : float          By the model; NaN where there is none.
    absolute : bool            Whether the gap is a difference, not a share of what is predicted.
    at, along                  What the case varies: its value, and the title of the axis; "" where cases are names.
                               A value is a fraction where the title ends in "[%]".
    """

    part: str
    case: str
    series: str
    values: Any
    predicted: float = np.nan
    absolute: bool = False
    at: float = np.nan
    along: str = ""


class ModelsVsPackets(Comparison, listed=False):
    """Base of comparisons of models with packets: a member gives `parts`, each of which simulates and gives cases."""

    rule: ClassVar[str]
    #: A paper, or an experiment, whose claims in packets are decided beside.
    claims: ClassVar[str] = ""
    #: The gap that does not matter.
    tolerance: ClassVar[float] = TOLERANCE
    replications: int

    def __init_subclass__(cls, listed: bool = True) -> None:
        super().__init_subclass__(listed)
        cls.rule = f"agrees: the interval of the gap lies within {cls.tolerance:g}; differs: beyond; else undecided"

    @abstractmethod
    def parts(self) -> Sequence[Callable[[], Iterable[Case]]]:
        """What is simulated, one after another, each to cases."""

    @abstractmethod
    def _check_work(self) -> None:
        """Refuse more work than one request may ask for. Raises LimitError."""

    def run(self) -> xr.Dataset:
        """Simulate and compare.

        Returns
        -------
        xarray.Dataset over `case`
            `part`, `series`, `at`, `along`; `measured`, `measured_low`, `measured_high`, the mean over replications
            with its 95 % interval; `predicted`; `absolute`; `gap` = measured/predicted - 1, or the difference where
            `absolute` says so, with `gap_low`, `gap_high`; `verdict`, "no answer" where nothing is predicted.
        """
        self._check_work()
        simulated = [case for part in tracked(self.parts()) for case in part()]
        order = list(dict.fromkeys(case.part for case in simulated))
        cases = sorted(simulated, key=lambda case: order.index(case.part))
        mean, low, high = np.array([interval_of(case.values) for case in cases]).T
        predicted, absolute = (np.array([getattr(case, n) for case in cases]) for n in ("predicted", "absolute"))
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = [np.where(absolute, x - predicted, x / predicted - 1.0) for x in (mean, low, high)]
        numbers = {"measured": mean, "measured_low": low, "measured_high": high, "predicted": predicted}
        numbers |= {"gap": gaps[0], "gap_low": gaps[1], "gap_high": gaps[2], "absolute": absolute}
        numbers |= {
            name: np.array([getattr(case, name) for case in cases]) for name in ("part", "series", "at", "along")
        }
        numbers["verdict"] = grade_tolerance(gaps[1], gaps[2], self.tolerance)
        names = [", ".join(filter(None, (case.part, case.case, case.series))) for case in cases]
        return xr.Dataset({k: ("case", v) for k, v in numbers.items()}, {"case": names}, self.attributes())

    def replicated(self, scenario: Scenario) -> xr.Dataset:
        """Replications of a scenario, without a progress of their own."""
        with listening(lambda share: None):
            return replicate(scenario, self.replications)

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """A panel for each part. Points: packets, with intervals; lines, or dashes: models."""
        from tcpdynamics.charts.drawing import make_subplots

        parts = list(dict.fromkeys(result.part.values.tolist()))
        rows = -(-len(parts) // 2)
        panels = make_subplots(rows, 2, subplot_titles=parts, vertical_spacing=min(0.3, 0.5 / rows))
        colours = dict(zip(dict.fromkeys(result.series.values.tolist()), 9 * COLOURS, strict=False))
        for number, part in enumerate(parts):
            place = {"row": number // 2 + 1, "col": number % 2 + 1}
            of_part = result.isel(case=np.flatnonzero(result.part.values == part))
            along = str(of_part.along.values[0])
            for series in dict.fromkeys(of_part.series.values.tolist()):
                cases = of_part.isel(case=np.flatnonzero(of_part.series.values == series))
                look: dict[str, Any] = {"legendgroup": series, "name": series or part, **place}
                names = [str(name).removeprefix(f"{part}, ").removesuffix(f", {series}") for name in cases.case.values]
                x = cases["at"].values * (100 if along.endswith("[%]") else 1) if along else names
                line = {"mode": "lines"} if along and len(names) > 1 else {"mode": "markers"}
                panels.add_scatter(
                    x=x, y=cases.predicted.values, showlegend=False, line={"color": colours[series], "width": 1.5},
                    marker={"color": colours[series], "symbol": "line-ew-open", "size": 18}, **line, **look,
                )  # fmt: skip
                panels.add_scatter(
                    x=x, y=cases.measured.values, mode="markers", error_y=error_bars(cases, "measured"),
                    marker={"color": colours[series], "size": 7}, showlegend=_is_first(panels, series), **look,
                )  # fmt: skip
            panels.update_xaxes(title_text=along, **place)
        panels.update_layout(height=120 + 300 * rows, legend=LEGEND_BELOW)
        return panels

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """How many cases agree with their model, in all and by part."""
        judged = result.isel(case=np.flatnonzero(np.isfinite(result.predicted.values)))
        agree = judged.verdict.values == Verdict.AGREES
        parts = (
            f"{part} {int(agree[of_part].sum())} of {int(of_part.sum())}"
            for part in dict.fromkeys(judged.part.values.tolist())
            for of_part in [judged.part.values == part]
        )
        return f"Packets beside models: {counts(judged.verdict)}. Those that agree, by part: {'; '.join(parts)}."


def _is_first(panels: go.Figure, series: str) -> bool:
    return not any(trace.showlegend and trace.legendgroup == series for trace in panels.data)


def table(result: xr.Dataset) -> list[dict[str, str]]:
    """Rows of a table: case, packets with their interval, model, gap with its interval, verdict."""
    rows = []
    for i in range(result.sizes["case"]):
        one = result.isel(case=i)
        known = bool(np.isfinite(one.predicted))
        form = "+.3f" if bool(one.absolute) else "+.1%"
        low, high = float(one.measured_low), float(one.measured_high)
        if str(one.part.item()) in FRACTIONS:
            low, high = max(low, 0.0), min(high, 1.0)
        rows.append(
            {
                "part": str(one.part.item()),
                "case": str(one.case.item()).removeprefix(f"{one.part.item()}, "),
                "packets": f"{float(one.measured):.4g} [{low:.4g}, {high:.4g}]",
                "model": f"{float(one.predicted):.4g}" if known else "none",
                "gap": f"{float(one.gap_low):{form}} to {float(one.gap_high):{form}}" if known else "",
                "verdict": str(one.verdict.item()) if known else "",
            }
        )
    return rows
