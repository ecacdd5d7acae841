"""Numbers that sum up a simulation: of one run, or of each of several replications."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tcpdynamics.errors import ScenarioError, suggestion
from tcpdynamics.jain import measured_jain
from tcpdynamics.later import xr

from .phases import is_of_phases
from .result import Table

#: Name -> (unit, meaning).
MEASURES: dict[str, tuple[str, str]] = {
    "loss_rate": ("1", "loss rate"), "loss_rate_timeout": ("1", "loss rate of timeout retransmissions"),
    "goodput_packets": ("packets/s", "goodput of all flows"), "goodput_bits": ("bit/s", "goodput of all flows"),
    "fairness": ("1", "Jain's index of the goodput of all flows"),
    "slice_fairness": ("1", "Jain's index of the goodput in a slice (mean)"),
    "starved": ("1", "share of flows without goodput in a slice (mean)"),
    "rate_variation": ("1", "coefficient of variation of a flow's goodput over slices (mean over flows)"),
    "utilisation": ("1", "utilisation of the busiest link"),
    "mean_queue": ("packets", "packets waiting at the busiest link (mean)"),
    "mean_wait": ("s", "time that a packet waits at the busiest link (mean)"),
    "median_wait": ("s", "time that a packet waits at the busiest link (median)"),
    "wait_p95": ("s", "time that a packet waits at the busiest link (95th percentile)"),
    "wait_p99": ("s", "time that a packet waits at the busiest link (99th percentile)"),
    "round_trip": ("s", "round trip of acknowledged packets (mean over flows)"),
    "sent_packets": ("packets", "data packets sent"), "repeats": ("packets", "retransmissions"),
    "timeouts": ("1", "retransmission timeouts"), "marked_packets": ("packets", "packets marked, not dropped"),
    "finished": ("1", "flows that finished"), "completion": ("s", "completion time of flows that finished (mean)"),
    "connections": ("1", "connections that finished after the warm-up"),
    "connection_time": ("s", "completion time of connections that finished after the warm-up (mean)"),
    "longest_hang": ("s", "longest hang of a user (mean over users)"),
    "phase_warning": ("1", "fraction of runs with marks of phase effects"),
}  # fmt: skip
#: The same of each group of flows.
OF_GROUPS: dict[str, tuple[str, str]] = {
    "group_goodput": ("bit/s", "goodput of a group of flows"),
    "group_share": ("1", "share of the goodput of all flows that a group has"),
    "group_loss": ("1", "loss rate of a group of flows"),
    "group_rate_variation": ("1", "coefficient of variation of goodput over slices of the flows of a group (mean)"),
}
#: Of these, of the variables of a result and of what is printed of it, the numbers from 0 to 1.
FRACTIONS = {
    "loss_rate", "loss_rate_by_kind", "loss_rate_timeout", "loss_rate_other", "group_loss", "utilisation",
    "link_utilisation", "fairness", "slice_fairness", "slice_jain", "jain", "starved", "slice_starved", "group_share",
    "epoch_fraction", "phase_warning",
}  # fmt: skip


def measure(result: xr.Dataset | Table) -> dict[str, Any]:
    """The measures of one run, as `simulate` gives it: name -> number, or (groups,) array; of several, (runs, ...).

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, simulate
    >>> run = simulate(Scenario((Flows(rtt=0.1),), Bottleneck(1e6, 20), duration=20.0, warm_up=2.0))
    >>> measure(run)["goodput_bits"] == run.goodput_rate.sum().item()
    True
    """
    v = {name: np.asarray(result[name].values) for name in _USED if name in result}
    groups = result["group"].values
    total = int(groups.max()) + 1
    arrived, dropped = (_by_group(v[f"{name}_by_kind"].sum(-1), groups, total) for name in ("arrived", "dropped"))
    counted = (arrived > 0) & (arrived >= dropped)
    sent = v["sent"].sum(-1)
    variation = rate_variation(result)
    warnings = result.warnings if isinstance(result, Table) else (result.attrs["warning"],)
    scalars = {
        "loss_rate": v["loss_rate"], "loss_rate_timeout": v["loss_rate_timeout"],
        "goodput_packets": v["goodput_packet_rate"].sum(-1), "goodput_bits": v["goodput_rate"].sum(-1),
        "fairness": measured_jain(v["goodput_rate"]), "slice_fairness": _mean(v["slice_jain"]),
        "starved": _mean(v["slice_starved"]), "rate_variation": _mean(variation), "utilisation": v["utilisation"],
        "mean_queue": v["mean_queue"], "mean_wait": v["mean_wait"],
        **{name: v[name] for name in ("median_wait", "wait_p95", "wait_p99")}, "round_trip": _mean(v["mean_rtt"]),
        "sent_packets": sent, "repeats": sent - v["sent_by_kind"][..., 0].sum(-1),
        "timeouts": v["timeouts"].sum(-1), "marked_packets": v["link_marked"].sum(-1) if "link_marked" in v else 0,
        "finished": np.isfinite(v["finish"]).sum(-1), "completion": _mean(v["completion_time"]),
        "connections": v["connections_finished"].sum(-1) if "connections_finished" in v else 0,
        "connection_time": _connection_time(result),
        "longest_hang": v["longest_hang"].mean(-1) if "longest_hang" in v else np.nan,
        "phase_warning": [*map(is_of_phases, warnings)] if v["sent"].ndim > 1 else is_of_phases(warnings[0]),
    }  # fmt: skip
    goodput = _by_group(v["goodput_rate"], groups, total)
    all_goodput = goodput.sum(-1, keepdims=True)
    several = v["loss_rate"].shape
    return {
        **{name: np.broadcast_to(np.asarray(value, float), several) if several else float(value)
           for name, value in scalars.items()},
        "group_goodput": goodput,
        "group_share": np.divide(goodput, all_goodput, out=np.full(goodput.shape, np.nan), where=all_goodput > 0),
        "group_loss": np.divide(dropped, arrived, out=np.full(goodput.shape, np.nan), where=counted),
        "group_rate_variation": np.stack([_mean(variation[..., groups == one]) for one in range(total)], axis=-1),
    }  # fmt: skip


def rate_variation(result: xr.Dataset | Table) -> Any:
    """(flows,) standard deviation over mean of a flow's goodput in the slices of which it saw all.

    NaN of a flow with fewer than two such slices, or without goodput.

    Examples
    --------
    >>> import json
    >>> slices = xr.Dataset(
    ...     {"slice_goodput": (("slice", "flow"), [[1, 2], [3, 2]]), "start": ("flow", [0.0, 0.0]),
    ...      "finish": ("flow", [np.nan, np.nan])},
    ...     {"slice": [5.0, 7.0]}, {"scenario": json.dumps({"slice": 2.0})},
    ... )
    >>> rate_variation(slices)
    array([0.5, 0. ])
    """
    begin = result["slice"].values[:, None]
    end = begin + _of_scenario(result, "slice")
    start, finish = (result[name].values[..., None, :] for name in ("start", "finish"))
    there = (start <= begin) & ~(finish < end)  # a flow that has not finished has no finish
    count = there.sum(-2)
    slices = result["slice_goodput"]
    goodput = np.where(there, slices.values if slices.dims[0] == "slice" else slices.values.T, 0.0)
    mean = np.divide(goodput.sum(-2), count, out=np.full(count.shape, np.nan), where=count > 1)
    spread = np.sqrt((np.where(there, goodput - mean[..., None, :], 0.0) ** 2).sum(-2) / np.maximum(count, 1))
    return np.divide(spread, mean, out=np.full(count.shape, np.nan), where=mean > 0)


_USED = (
    "arrived_by_kind", "dropped_by_kind", "sent", "loss_rate", "loss_rate_timeout", "goodput_packet_rate",
    "goodput_rate", "slice_jain", "slice_starved", "utilisation", "mean_queue", "mean_wait", "median_wait", "wait_p95",
    "wait_p99", "mean_rtt", "sent_by_kind",
    "timeouts", "link_marked", "finish", "completion_time", "connections_finished", "longest_hang",
)  # fmt: skip


def _of_scenario(result: xr.Dataset | Table, key: str) -> float:
    if isinstance(result, Table):
        return float(getattr(result.scenario, key))
    return float(json.loads(result.attrs["scenario"])[key])


def _connection_time(result: xr.Dataset | Table) -> Any:
    if "connection_time" not in result:
        return np.nan
    begin = _of_scenario(result, "warm_up")
    return _mean(result["connection_time"].values[result["connection_finish"].values >= begin])


def _by_group(values: Any, groups: Any, total: int) -> Any:
    """Sums over the flows of each group, along the last axis."""
    places = groups + total * np.arange(values.size // len(groups))[:, None]
    sums = np.bincount(places.ravel(), weights=values.ravel(), minlength=places.shape[0] * total)
    return sums.reshape(*values.shape[:-1], total)


def _mean(values: Any) -> Any:
    """Of those that are finite, along the last axis, in the order of one run's sums."""
    values = np.ascontiguousarray(values)
    finite = np.isfinite(values)
    if values.size and finite.all():
        return values.mean(-1)
    places = np.ndindex(values.shape[:-1])
    means = [values[i][finite[i]].mean() if finite[i].any() else np.nan for i in places]
    return np.reshape(means, values.shape[:-1])


def check_quantities(names: tuple[str, ...], result_names: tuple[str, ...]) -> None:
    """Refuse what is neither a measure nor a variable of a result of `simulate`."""
    quantities = [*MEASURES, *OF_GROUPS, *result_names]
    for name in names:
        if name not in quantities:
            raise ScenarioError(
                f"unknown quantity {str(name)[:60]!r}{suggestion(str(name), quantities)}; a sweep keeps "
                f"{', '.join([*MEASURES, *OF_GROUPS])}, and variables of simulate's result"
            )
    if len(set(names)) < len(names):
        raise ScenarioError("quantities names one twice; name each once")
