"""A prediction, of a model of one's own for example, beside packets: effects with intervals and verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr

from tcpdynamics import __version__
from tcpdynamics.charts.look import BLACK, GREY, VERDICT_COLOURS, axis_title, break_lines, coordinate
from tcpdynamics.errors import DomainError, shown, suggestion
from tcpdynamics.jain import measured_jain

from ..packet.measures import FRACTIONS
from ..statistics import distribution_distance, mean_interval
from .comparison import Comparison, counts, grade_tolerance

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: A number, numbers with labels, the observed law of a model, or a function that gives one of these for the runs.
Prediction = float | xr.DataArray | xr.Dataset | Callable[[xr.Dataset], Any]
Quantity = str | Callable[[xr.Dataset], xr.DataArray]


def _goodput(runs: xr.Dataset) -> xr.DataArray:
    rate: xr.DataArray = runs.goodput.sum("flow") / _measured_seconds(runs)
    return rate.assign_attrs(units="packets/s", long_name="goodput of all flows together")


def _timeouts(runs: xr.Dataset) -> xr.DataArray:
    rate: xr.DataArray = runs.timeouts.sum("flow") / _measured_seconds(runs)
    return rate.assign_attrs(units="1/s", long_name="timeouts of all flows together")


def _sends_per_epoch(runs: xr.Dataset) -> xr.DataArray:
    name = "epoch_share" if "epoch_share" in runs else "epoch_fraction"  # the first one in older files
    fractions: xr.DataArray = runs[name].rename(sent_in_epoch="packets")
    return fractions.assign_attrs(units="1", long_name="probability of so many packets in an epoch")


def _jain(runs: xr.Dataset) -> xr.DataArray:
    index: xr.DataArray = xr.apply_ufunc(measured_jain, runs.goodput, input_core_dims=[["flow"]])
    return index.assign_attrs(units="1", long_name="Jain's index of the goodput of the flows")


def _measured_seconds(runs: xr.Dataset) -> float:
    scenario = json.loads(runs.attrs.get("scenario", "{}"))
    if "duration" not in scenario:
        raise DomainError(
            "runs must bear their scenario for a rate per second, got a Dataset without the attribute scenario; "
            "pass what replicate(...) returned, or give quantity as a function of the runs"
        )
    return float(scenario["duration"] - scenario["warm_up"])


#: Quantities with a name of their own; every other name is that of a variable of the runs.
QUANTITIES: dict[str, Callable[[xr.Dataset], xr.DataArray]] = {
    "goodput": _goodput,
    "jain": _jain,
    "sends_per_epoch": _sends_per_epoch,
    "timeouts": _timeouts,
}
#: What `model.observe(...)` calls a quantity of the runs.
_OBSERVED = {"sends_per_epoch": "sent"}


@dataclass(frozen=True)
class PredictionVsPackets(Comparison):
    """A prediction against replications of a packet simulation; `compare` is this in one call.

    See `compare` for the parameters.
    """

    prediction: Prediction
    runs: xr.Dataset
    quantity: Quantity
    tolerance: float = 0.05
    level: float = 0.95
    name: str = ""

    effect: ClassVar[tuple[str, str, str]] = ("effect", "effect_low", "effect_high")
    rule: ClassVar[str] = (
        "agrees: the whole interval of the effect lies within the tolerance; differs: the whole interval lies beyond "
        "it; undecided: the interval reaches both sides, so run more replications"
    )

    def __post_init__(self) -> None:
        if not 0 < self.tolerance < np.inf:
            raise DomainError(f"tolerance must be a finite number > 0, got {self.tolerance!r}; 0.05 is 5 %")
        if not 0 < self.level < 1:
            raise DomainError(f"level must lie in (0, 1), got {self.level!r}; a percentage? divide by 100")
        if not isinstance(self.runs, xr.Dataset) or "replication" not in self.runs.dims:
            raise DomainError(
                f"runs must be a Dataset with the dimension replication, got {shown(type(self.runs).__name__)}; "
                "replicate(scenario, 8) returns one"
            )

    def run(self) -> xr.Dataset:
        """Compare; see `compare`."""
        measured = self._measure()
        predicted = self._predict(measured)
        # A prediction that is missing in one replication is missing: the others alone would be another sample.
        missing = predicted.isnull().any([d for d in predicted.dims if d in ("replication", "packets")])
        data: dict[str, Any] = {}
        if self._is_law(measured):
            measured = _fold(measured, predicted)
            gap = measured - predicted
            self._check_share(True)
            far = distribution_distance(gap.where(~missing), "packets", level=self.level)
            of_law = ("distance", "low", "high", "noise")
            data |= {name: far[part] for name, part in zip((*self.effect, "effect_noise"), of_law, strict=True)}
            relative = True
            words = "total-variation distance between the measured mean distribution and the predicted one"
            low_high = {"measured": measured, "gap": gap.where(~missing)}
        else:
            gap = measured - predicted
            relative = not bool((predicted == 0).any())
            self._check_share(relative)
            effect = gap / abs(predicted) if relative else gap
            words = "measured - predicted" + (", over predicted" if relative else "")
            low_high = {"effect": effect.where(~missing), "measured": measured, "gap": gap.where(~missing)}
        for name, values in low_high.items():
            fraction = name == "measured" and (self._is_law(measured) or self.quantity in FRACTIONS)
            interval = mean_interval(values, level=self.level, fraction=fraction)
            parts = (("mean", name), ("low", f"{name}_low"), ("high", f"{name}_high"))
            data |= {label: interval[part] for part, label in parts}
        mean = predicted.mean("replication") if "replication" in predicted.dims else predicted
        data["predicted"] = mean
        data["verdict"] = self._grade(data["effect_low"], data["effect_high"])
        units = {"units": measured.attrs.get("units", "1")}
        for name in ("measured", "measured_low", "measured_high", "predicted", "gap", "gap_low", "gap_high"):
            data[name] = data[name].assign_attrs(units, long_name=self._name(measured))
        for name in (*self.effect, "effect_noise"):
            if name not in data:
                continue
            data[name] = data[name].assign_attrs(units="1" if relative else units["units"], long_name=words)
        label = self._quantity_name(measured)
        return xr.Dataset(data).drop_vars("seed", errors="ignore").assign_attrs(self.attributes(label))

    def _check_share(self, relative: bool) -> None:
        if relative and self.tolerance >= 1:
            raise DomainError(
                f"tolerance must lie in (0, 1), for the effect is relative, got {self.tolerance!r}; a percentage? "
                "divide by 100"
            )

    def attributes(self, label: str = "") -> dict[str, Any]:
        """What was compared, by which rule, on how many replications of which scenario."""
        settings = {"quantity": label or self._quantity_name(), "tolerance": self.tolerance, "level": self.level}
        replications = self.runs.sizes["replication"]
        return {
            "comparison": type(self).__name__, "version": __version__, "parameters": json.dumps(settings),
            "verdicts": self.rule, "replications": replications,
            "scenario": self.runs.attrs.get("scenario", ""), "name": self.runs.attrs.get("name", "runs"),
        }  # fmt: skip

    def _quantity_name(self, measured: xr.DataArray | None = None) -> str:
        """What the quantity is called: as the caller says, by its own name, or by what was measured."""
        own = self.quantity if isinstance(self.quantity, str) else getattr(self.quantity, "__name__", "")
        if self.name or own not in ("", "<lambda>"):
            return self.name or own
        attrs = {} if measured is None else measured.attrs
        return str(attrs.get("long_name") or getattr(measured, "name", None) or "quantity")

    def _name(self, measured: xr.DataArray) -> str:
        return str(measured.attrs.get("long_name", self._quantity_name()))

    def _measure(self) -> xr.DataArray:
        """The quantity in each replication."""
        runs, quantity = self.runs, self.quantity
        if callable(quantity):
            values = quantity(runs)
        elif quantity in QUANTITIES:
            values = QUANTITIES[quantity](runs)
        elif quantity in runs:
            values = runs[quantity]
        else:
            known = [*QUANTITIES, *sorted(str(k) for k, v in runs.data_vars.items() if "replication" in v.dims)]
            close = suggestion(str(quantity), known)
            raise DomainError(
                f"quantity must be a function of the runs or one of {', '.join(known)}, got {shown(quantity)}{close}"
            )
        if not isinstance(values, xr.DataArray) or "replication" not in values.dims:
            raise DomainError(
                f"quantity must be a DataArray with the dimension replication, got {shown(type(values).__name__)} "
                f"for {self._quantity_name()}; reduce over other dimensions only"
            )
        return values.astype(float)

    def _predict(self, measured: xr.DataArray) -> xr.DataArray:
        """The prediction as an array over the dimensions of what was measured, or some of them."""
        value = self.prediction(self.runs) if callable(self.prediction) else self.prediction
        if isinstance(value, xr.Dataset):
            asked = self.quantity if isinstance(self.quantity, str) else self._quantity_name(measured)
            name = _OBSERVED.get(asked, asked)
            if name not in value:
                raise DomainError(
                    f"prediction must have the variable {name}, got a Dataset with "
                    f"{', '.join(map(str, value.data_vars))}; give one of them as a DataArray"
                )
            value = value[name]
        self._check_units(value, measured)
        try:
            array = xr.DataArray(value).reset_coords(drop=True).astype(float)
        except (TypeError, ValueError):
            raise DomainError(
                f"prediction must be numbers, or a function of the runs that returns some, got "
                f"{shown(type(value).__name__)}; solve a model first, for example with stationary(...)"
            ) from None
        unknown = [str(d) for d in array.dims if d not in measured.dims]
        if self._is_law(measured) and len(unknown) == 1:  # states of a chain, in the order of packets
            array, unknown = array.rename({unknown[0]: "packets"}), []
        if unknown:
            raise DomainError(
                f"prediction must be one number for each value of {', '.join(map(str, measured.dims))}, got the "
                f"dimension {', '.join(unknown)} too; choose a point, or give a function of the runs that does"
            )
        if self._is_law(measured) and "packets" not in array.dims:
            raise DomainError(
                "prediction must hold a probability for each number of packets, got a number; give a DataArray over "
                "packets = 0, 1, 2, ..., whose last entry counts all larger numbers"
            )
        for dim in set(array.dims) & set(measured.dims) - {"packets"}:
            both = dim in array.indexes and dim in measured.indexes
            if both and not array.indexes[dim].equals(measured.indexes[dim]):
                raise DomainError(
                    f"prediction must have the same values of {dim} as the runs, got "
                    f"{shown(array[dim].values.tolist())}; select them, or leave out the coordinate"
                )
        if self._is_law(measured):
            array = _tail(array, measured.sizes["packets"])
        return array.drop_vars("packets", errors="ignore")

    def _check_units(self, value: Any, measured: xr.DataArray) -> None:
        """Refuse packets per round trip where packets per second were measured."""
        units = getattr(value, "attrs", {}).get("units"), measured.attrs.get("units")
        singular = [str(u).replace("packets", "packet") for u in units]
        if None not in units and singular[0] != singular[1]:
            name = self._quantity_name(measured)
            both = isinstance(self.quantity, str) and self.quantity in QUANTITIES and self.quantity in self.runs
            raise DomainError(
                f"prediction must be in {units[1]}, as {name} is, got {units[0]}; convert it, or, if "
                f"it is in {units[1]}, label it: .assign_attrs(units={str(units[1])!r})"
                + (f"; the count of each flow is the quantity lambda runs: runs.{self.quantity}" if both else "")
            )

    def _is_law(self, measured: xr.DataArray) -> bool:
        return "packets" in measured.dims

    def _grade(self, low: xr.DataArray, high: xr.DataArray) -> xr.DataArray:
        verdicts = grade_tolerance(low.values, high.values, self.tolerance)
        return low.copy(data=verdicts).assign_attrs(units="", long_name="verdict")

    @staticmethod
    def figure(result: xr.Dataset) -> go.Figure:
        """Measured means with intervals, coloured by verdict, and the prediction."""
        from tcpdynamics.charts.drawing import make_subplots

        settings = json.loads(result.attrs["parameters"])
        measured = result.measured
        if measured.ndim > 1:
            raise ValueError(
                f"the figure of a comparison shows one dimension, and there are {measured.ndim} "
                f"({', '.join(map(str, measured.dims))}); choose values with result.isel({measured.dims[0]}=0)"
            )
        dim = str(measured.dims[0]) if measured.ndim else ""
        x = coordinate(result, dim) if dim else np.array([settings["quantity"]])
        meaning = str(measured.attrs.get("long_name", settings["quantity"])).partition(";")[0]
        units = measured.attrs.get("units", "1")
        panels = make_subplots(1, 2, column_widths=[0.62, 0.38], horizontal_spacing=0.14)
        _points(panels, 1, x, result, ("measured", "measured_low", "measured_high"))
        predicted = np.broadcast_to(result.predicted.values, measured.shape)
        style = {"symbol": "line-ew", "size": 26, "line": {"color": BLACK, "width": 3}}
        panels.add_scatter(
            x=x, y=np.atleast_1d(predicted), name="predicted", mode="markers", marker=style, row=1, col=1
        )
        title = break_lines(meaning, 45) + (f" [{units}]" if units != "1" else "")
        panels.update_yaxes(title_text=title, rangemode="tozero", row=1, col=1)
        one = not result.effect.ndim
        _points(
            panels, 2, np.array([settings["quantity"]]) if one else x, result, PredictionVsPackets.effect, legend=False
        )
        band = float(settings["tolerance"])
        least = 0.0 if "effect_noise" in result else -band
        panels.add_hrect(
            y0=least, y1=band, fillcolor=GREY, opacity=0.2, line_width=0, row=1, col=2,
            annotation={"text": f"tolerance {band:g}", "font": {"size": 11}}, annotation_position="top left",
        )  # fmt: skip
        panels.add_hline(y=0.0, line={"width": 1, "color": BLACK}, row=1, col=2)
        words = break_lines(f"effect: {result.effect.attrs['long_name']}", 45)
        unit = result.effect.attrs.get("units", "1")
        panels.update_yaxes(title_text=words + (f" [{unit}]" if unit != "1" else ""), row=1, col=2)
        across = "packets sent in an epoch" if dim == "packets" else axis_title(dim, _attrs(result, dim))
        for column in (1,) if one else (1, 2):
            panels.update_xaxes(title_text=across, **_scale(x), row=1, col=column)
        if dim == "packets":
            ticks = [*map(str, x[:-1]), f"{x[-1]} or more"]
            panels.update_xaxes(tickvals=x, ticktext=ticks, row=1, col=1)
        heading = f"{settings['quantity']} of {result.attrs['name']}: {PredictionVsPackets._verdict_words(result)}"
        return panels.update_layout(
            template="plotly_white", height=480, title={"text": heading, "font": {"size": 14}},
            legend={"orientation": "h", "y": -0.25}, showlegend=True,
        )  # fmt: skip

    @staticmethod
    def paragraph(result: xr.Dataset) -> str:
        """Effect, interval and verdict in a sentence or two."""
        settings = json.loads(result.attrs["parameters"])
        return (
            f"{settings['quantity']} of {result.attrs['name']}, {result.attrs['replications']} replications: "
            f"{PredictionVsPackets._verdict_words(result)} ({settings['level']:.0%} interval, tolerance "
            f"{settings['tolerance']:g}). The effect is {result.effect.attrs['long_name']}."
        )

    @staticmethod
    def _verdict_words(result: xr.Dataset) -> str:
        if result.effect.ndim:
            return counts(result.verdict)
        effect, low, high = (float(result[k]) for k in PredictionVsPackets.effect)
        return f"{result.verdict.item()}, effect {effect:+.3g} [{low:+.3g}, {high:+.3g}]"


def _scale(x: Any) -> dict[str, Any]:
    """A logarithmic axis for parameters that span a factor of ten or more; counts from 0 on stay as they are."""
    values = np.asarray(x)
    wide = values.dtype.kind == "f" and values.size > 1 and values.min() > 0 and values.max() >= 10 * values.min()
    return {"type": "log", "exponentformat": "power"} if wide else {}


def _attrs(result: xr.Dataset, dim: str) -> dict[str, Any]:
    return dict(result[dim].attrs) if dim in result.coords else {}


def _points(
    panels: go.Figure, column: int, x: Any, result: xr.Dataset, names: tuple[str, str, str], legend: bool = True
) -> None:
    """Means with intervals, a trace for each verdict, so that the legend explains the colours."""
    middle, low, high = (np.atleast_1d(result[name].values) for name in names)
    verdicts = np.broadcast_to(np.atleast_1d(result.verdict.values), middle.shape)
    for verdict, colour in VERDICT_COLOURS.items():
        mine = np.flatnonzero(verdicts == verdict)
        if mine.size:
            panels.add_scatter(
                x=np.asarray(x)[mine], y=middle[mine], mode="markers", name=f"packets, mean with interval: {verdict}",
                legendgroup=verdict, showlegend=legend, marker={"color": colour, "size": 10}, row=1, col=column,
                error_y={
                    "array": (high - middle)[mine], "arrayminus": (middle - low)[mine], "symmetric": False,
                    "thickness": 1, "color": colour,
                },
            )  # fmt: skip


def _tail(predicted: xr.DataArray, size: int) -> xr.DataArray:
    """Probabilities of 0, 1, 2, ... packets in at most so many categories; the last counts all larger numbers."""
    labels = predicted["packets"].values.tolist() if "packets" in predicted.coords else ()
    counts = labels == () or [str(label).removesuffix(".0") for label in labels] == [str(i) for i in range(len(labels))]
    if predicted.sizes["packets"] <= size or not counts:
        return predicted
    last = predicted.isel(packets=slice(size - 1, None)).sum("packets", skipna=False)
    first = predicted.isel(packets=slice(0, size - 1)).drop_vars("packets", errors="ignore")
    return xr.concat([first, last], "packets").transpose(*predicted.dims)


def _fold(measured: xr.DataArray, predicted: xr.DataArray) -> xr.DataArray:
    """Measured probabilities in as many categories as the prediction has; the last counts all larger numbers."""
    size, most = predicted.sizes["packets"], measured.sizes["packets"]
    if not 2 <= size <= most:
        raise DomainError(
            f"prediction must hold 2 to {most} probabilities, got {size}; give those of 0, 1, 2, ... packets in a row, "
            f"the last one the sum of {most - 1} and more"
        )
    if bool((predicted < 0).any()):
        raise DomainError(
            f"prediction must hold no negative probability, got {float(predicted.min()):.6g}; check the chain"
        )
    total = predicted.sum("packets", skipna=False)
    worst = float(total.values.flat[np.nan_to_num(abs(total.values - 1)).argmax()])
    if abs(worst - 1) > 1e-6:
        raise DomainError(
            f"prediction must hold probabilities that sum to 1, got a sum of {worst:.6g}; "
            "divide by it, or add the category that is missing"
        )
    tail = measured.isel(packets=slice(size - 1, None)).sum("packets", skipna=False)
    first = measured.isel(packets=slice(0, size - 1)).transpose(..., "packets").values
    folded = np.concatenate([first, tail.values[..., None]], axis=-1)
    dims = [d for d in measured.dims if d != "packets"]
    return xr.DataArray(folded, dims=[*dims, "packets"], coords={"packets": np.arange(size)}, attrs=measured.attrs)


def compare(
    prediction: Prediction,
    runs: xr.Dataset,
    quantity: Quantity,
    *,
    tolerance: float = 0.05,
    level: float = 0.95,
    name: str = "",
) -> xr.Dataset:
    """A prediction against packets, in one call: effect, interval, verdict.

    Parameters
    ----------
    prediction : number, DataArray, Dataset or callable
        A number; numbers over dimensions of the quantity (flow, packets, ...); what a model observes
        (`model.observe(stationary(model.chain()))`); or a function that takes the runs and returns one of these, for
        example a law at the loss that each replication measured. Of "sends_per_epoch", a probability for each state of
        a chain whose states are 0, 1, 2, ... packets; the last one counts all larger numbers, and those beyond the
        last entry of the runs are added up.
    runs : Dataset
        What `replicate(scenario, n)` returned, or another Dataset with the dimension `replication`; at least 2.
    quantity : str or callable
        "goodput" [packets/s] and "timeouts" [1/s] of all flows together, "jain" (of the flows' goodput),
        "sends_per_epoch" (P(n packets sent in an epoch)), any variable of the runs, such as "loss_rate" or
        "utilisation", or a function of the runs that keeps `replication`.
    tolerance : float
        Effect that does not matter, > 0; a share below 1 where the effect is relative.
    level : float
        Confidence level of the intervals [1], in (0, 1).
    name : str
        What pictures and words call the quantity; by default its own name, or the `long_name` of what was measured.

    Returns
    -------
    Dataset
        `effect` with `effect_low`, `effect_high`: (measured - predicted)/predicted; where a prediction is 0, the
        difference itself, in the unit of the quantity; of "sends_per_epoch" the total-variation distance of the mean
        distribution, the largest error of the probability of any event, with the interval of
        `statistics.distribution_distance`, and `effect_noise`, a true model's mean distance with such runs. `verdict`:
        "agrees" where the interval lies within the tolerance, "differs" where it lies beyond, else "undecided" (run
        more replications); "no answer" where a number is missing. `measured` and `gap` = measured - predicted with
        intervals, `predicted`.
        `tcpdynamics.plot(result)` draws it; `comparisons.PredictionVsPackets.paragraph(result)` says it in words.

    Raises
    ------
    DomainError
        The runs have no replications, the quantity is unknown, or the prediction has other dimensions.

    Examples
    --------
    >>> runs = xr.Dataset({"loss_rate": ("replication", [0.101, 0.100, 0.099, 0.100])})
    >>> result = compare(0.1, runs, "loss_rate")
    >>> result.verdict.item(), abs(result.effect.item()) < 1e-9
    ('agrees', True)
    >>> compare(lambda runs: 2 * runs.loss_rate, runs, "loss_rate").verdict.item()
    'differs'
    """
    return PredictionVsPackets(prediction, runs, quantity, tolerance, level, name).run()
