"""From the raw counts of a run to a dataset with names, units and provenance."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics import __version__

from . import kernel as k
from .engine import Run
from .scenario import Scenario

#: What is fixed in the engine, for the "what you ran" of every result.
ENGINE = {
    "acknowledgements": "one per packet, never delayed, lost or queued",
    "queue": "drop-tail; buffer counts the packet being sent too (as ns-2.35's queue-limit)",
    "loss process": "independent per packet, applied on arrival, before the queue",
    "path": "base RTT split 1/4 sender to bottleneck, 1/4 on to the receiver, 1/2 back",
    "ssthresh": "half of min(cwnd, window_limit) in whole packets, at least 2, at losses and timeouts",
    "cwnd after fast retransmit": "half of min(cwnd, window_limit), at least 1 (as ns-2.35; RFC 5681: 2)",
    "fast retransmit": "3 duplicates, and only once all data sent before the last loss event is acknowledged",
    "sack": "RFC 6675 pipe, NextSeg rules 1 and 2; a lost retransmission waits for the timer",
    "newreno": "RFC 6582, impatient: only the first partial acknowledgement restarts the timer",
    "after a timeout": "scoreboard cleared (RFC 2018), sending resumes from the first unacknowledged segment",
    "RTT sample": "one at a time, of new data only, cancelled by any retransmission",
    "back-off": "kept until an RTT sample of new data (Karn)",
    "RTT estimator": "RFC 6298 in Jacobson's integer arithmetic on the tick; exact if timer_granularity is 0",
}

PHASE_WARNING = (
    "equal RTTs on a drop-tail queue without jitter: packets fall on one time grid and the order of ties "
    "decides the loss (10-26 % between simulators for one such scenario); spread rtt, or better set jitter "
    "to a packet's sending time"
)


def phase_warning(scenario: Scenario) -> str:
    """The warning that phase effects are likely, or an empty text.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario
    >>> bool(phase_warning(Scenario((Flows(count=9),), Bottleneck(buffer=50))))
    True
    """
    pairs = [
        pair for group in scenario.flows for pair in (group.rtts() if group.count > 1 else group.rtts()[:1])
    ]
    equal = scenario.count > 1 and len(set(pairs)) == 1
    still = all(group.jitter == 0.0 for group in scenario.flows)
    return PHASE_WARNING if equal and still and scenario.bottleneck.buffer is not None else ""


def dataset(scenario: Scenario, seed: int, run: Run) -> xr.Dataset:
    """Name everything that was counted."""
    c, measured = run.counts, scenario.duration - scenario.warm_up
    kinds = slice(0, len(k.KINDS))
    by_kind = {name: c[:, start : start + 4][:, kinds] for name, start in _KIND_COLUMNS.items()}
    rto = k.TIMEOUT
    others = [kind for kind in range(len(k.KINDS)) if kind != rto]
    arrived, dropped = by_kind["arrived_by_kind"].sum(0), by_kind["dropped_by_kind"].sum(0)
    accepted = c[:, k.ACCEPTED]
    first = run.levels[:, 0].sum()
    rtt = _ratio(run.sums[:, k.RTT_SUM], accepted)
    base_rto = _ratio(run.sums[:, k.FIRST_RTO_SUM].sum(), first)
    # Each flow's mean RTT, weighted by its first timeouts: the RTT "at timeouts".
    rtt_at = _ratio(np.nansum(run.levels[:, 0] * rtt), first)
    flows = run.sim.flows
    data: dict[str, Any] = {
        "base_rtt": (
            "flow",
            flows["access"] + flows["forward"] + flows["reverse"],
            "s",
            "propagation round trip",
        ),
        "epoch": ("flow", run.epoch, "s", "length of an epoch"),
        "mean_rtt": ("flow", rtt, "s", "mean round trip of the packets that the link accepted"),
        "sent": ("flow", c[:, k.SENT], "packets", "packets sent"),
        "dropped": ("flow", c[:, k.DROPPED], "packets", "packets lost at the bottleneck"),
        "delivered": ("flow", c[:, k.DELIVERED], "packets", "packets received, repeats included"),
        "goodput": ("flow", c[:, k.GOODPUT], "packets", "different packets received"),
        "in_flight": ("flow", run.in_flight, "packets", "packets under way at the end"),
        "timeouts": ("flow", c[:, k.TIMEOUTS], "1", "retransmission timeouts"),
        "fast_recoveries": ("flow", c[:, k.RECOVERIES], "1", "fast retransmits"),
        "rtt_samples": ("flow", c[:, k.SAMPLES], "1", "RTT samples taken"),
        "timeouts_by_backoff": (
            ("flow", "backoff"),
            run.levels,
            "1",
            "timeouts by back-off factor of the timer",
        ),
        "epochs": (
            ("flow", "sent_in_epoch"),
            run.sim.epochs,
            "1",
            "epochs in which so many packets were sent",
        ),
        "epoch_share": (
            "sent_in_epoch",
            _share(run.sim.epochs),
            "1",
            "probability of so many packets in an epoch",
        ),
        "silences": (("flow", "silence"), run.sim.silences, "1", "completed silences by length in epochs"),
        "slice_goodput": (
            ("slice", "flow"),
            run.sim.slices,
            "packets",
            "different packets received in a slice",
        ),
        "slice_jain": ("slice", _jain(run.sim.slices), "1", "Jain's index of the flows' goodput in a slice"),
        "slice_starved": (
            "slice",
            (run.sim.slices == 0).mean(1),
            "1",
            "share of flows with no goodput in a slice",
        ),
        "loss_rate": (
            (),
            _ratio(dropped.sum(), arrived.sum()),
            "1",
            "packets lost over packets arrived at the link",
        ),
        "loss_rate_by_kind": ("kind", _ratio(dropped, arrived), "1", "loss rate by kind of transmission"),
        "loss_rate_timeout": (
            (),
            _ratio(dropped[rto], arrived[rto]),
            "1",
            "loss rate of timeout retransmissions",
        ),
        "loss_rate_other": (
            (),
            _ratio(dropped[others].sum(), arrived[others].sum()),
            "1",
            "loss rate of all packets but timeout retransmissions",
        ),
        "utilisation": ((), run.work / measured, "1", "share of time in which the link was busy"),
        "mean_queue": (
            (),
            run.wait / measured,
            "packets",
            "mean number waiting, packet in transmission excluded",
        ),
        "base_rto": ((), base_rto, "s", "mean timeout without back-off, at first timeouts of an outage"),
        "rto_over_rtt": (
            (),
            _ratio(base_rto, rtt_at),
            "1",
            "base timeout over mean RTT at first timeouts (m0)",
        ),
        "first_silence": (
            (),
            _ratio(run.sums[:, k.FIRST_SILENCE_SUM].sum(), first),
            "s",
            "mean time from the last packet sent to the first timeout of an outage",
        ),
    }
    data |= {
        name: (("flow", "kind"), values, "packets", f"packets {name.split('_')[0]} by kind of transmission")
        for name, values in by_kind.items()
    }
    if scenario.trace:
        data |= _trace(run)
    coords = {
        "flow": np.arange(scenario.count),
        "kind": list(k.KINDS),
        "backoff": 2 ** np.arange(k.LEVELS),
        "sent_in_epoch": np.arange(k.EPOCH_BINS),
        "silence": np.arange(run.sim.silences.shape[1]),
        "slice": scenario.warm_up + scenario.slice * np.arange(scenario.slices),
    }
    attrs = {
        "name": scenario.name,
        "scenario": json.dumps(dataclasses.asdict(scenario)),
        "seed": str(seed),
        "version": __version__,
        "what_you_ran": json.dumps({**dataclasses.asdict(scenario), "seed": seed, "engine": ENGINE}),
        "warning": phase_warning(scenario),
    }
    result = xr.Dataset(
        {
            name: (dims, values, {"units": units, "long_name": text})
            for name, (dims, values, units, text) in data.items()
        },
        coords,
        attrs,
    )
    result["slice"].attrs = {"units": "s", "long_name": "start of a slice"}
    result["sent_in_epoch"].attrs = {
        "units": "packets",
        "long_name": "packets sent in an epoch; the last is 7 or more",
    }
    result["silence"].attrs = {
        "units": "epochs",
        "long_name": "epochs without a packet; the last is 512 or more",
    }
    result["backoff"].attrs = {"units": "1", "long_name": "back-off factor of the timer that expired"}
    return result


_KIND_COLUMNS = {
    "sent_by_kind": k.SENT_KIND,
    "arrived_by_kind": k.ARRIVED_KIND,
    "dropped_by_kind": k.DROPPED_KIND,
}


def _trace(run: Run) -> dict[str, Any]:
    n = int(run.sim.world["trace_count"][0])
    what = run.sim.trace_what[:n]
    return {
        "trace_time": ("transmission", run.sim.trace_time[:n], "s", "time at which the packet was sent"),
        "trace_flow": ("transmission", what[:, 0], "1", "flow"),
        "trace_segment": ("transmission", what[:, 1], "1", "segment, from 0"),
        "trace_kind": ("transmission", what[:, 2], "1", "index into the kinds of transmission"),
    }


def _ratio(a: Any, b: Any) -> Any:
    """a / b, NaN where b is zero."""
    b = np.asarray(b, float)
    return np.divide(a, b, out=np.full(b.shape, np.nan), where=b != 0)


def _share(epochs: Any) -> Any:
    return _ratio(epochs.sum(0), np.full(epochs.shape[1], epochs.sum()))


def _jain(slices: Any) -> Any:
    from tcpdynamics.models.fairness import jain

    # A slice in which nobody delivered anything has no index.
    index = np.full(len(slices), np.nan)
    live = slices.sum(1) > 0
    index[live] = jain(slices[live].astype(float), axis=-1)
    return index
