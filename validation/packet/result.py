"""From the raw counts of a run to a dataset with names, units and provenance."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics import __version__

from .engine import Run
from .kernel import records as k
from .phases import phase_warning
from .scenario.scenario import Scenario

#: What no key of a scenario changes, for the "what you ran" of every result.
ENGINE = {
    "buffer": "counts the packet being sent too (as ns-2.35's queue-limit); drop-tail",
    "loss process": "independent per packet, applied on arrival, before the queue",
    "bottleneck": "base RTT split 1/4 sender to bottleneck, 1/4 on to the receiver, 1/2 back; acknowledgements "
    "neither wait nor get lost",
    "compat ns2": "as ns-2.35's Agent/TCP, Reno, Newreno, Sack1 and their sinks with its default settings",
    "compat rfc": "RFC 5681, 6582 (impatient), 6675 (NextSeg rules 1 to 3), 3042, 6298 with Karn's rule",
    "sequence numbers": "segments from 0; with a handshake, segment 0 is the handshake",
}


def dataset(scenario: Scenario, seed: int, run: Run) -> xr.Dataset:
    """Name everything that was counted."""
    c, measured = run.counts, max(run.stopped - scenario.warm_up, 1e-300)
    kinds = slice(0, len(k.KINDS))
    by_kind = {name: c[:, start : start + 4][:, kinds] for name, start in _KIND_COLUMNS.items()}
    rto = k.TIMEOUT
    others = [kind for kind in range(len(k.KINDS)) if kind != rto]
    arrived, dropped = by_kind["arrived_by_kind"].sum(0), by_kind["dropped_by_kind"].sum(0)
    first = run.levels[:, 0].sum()
    rtt = _ratio(run.sums[:, k.RTT_SUM], c[:, k.TIMED])
    busiest = int(np.argmax(run.links["work"]))
    base_rto = _ratio(run.sums[:, k.FIRST_RTO_SUM].sum(), first)
    # Each flow's mean RTT, weighted by its first timeouts: the RTT "at timeouts".
    rtt_at = _ratio(np.nansum(run.levels[:, 0] * rtt), first)
    utilisation = run.links["work"] / measured
    # Only slices that were simulated to their end, should the run have been stopped.
    whole = min(scenario.slices, max(int((run.stopped - scenario.warm_up) / scenario.slice * (1 + 1e-12)), 0))
    slices = run.sim.slices[:whole]
    start = np.where(run.sim.flows["start"] < run.stopped, run.sim.flows["start"], np.nan)
    finish = np.where(run.sim.flows["finish"] < run.stopped, run.sim.flows["finish"], np.nan)
    there = _there(run, scenario, whole)
    data: dict[str, Any] = {
        "base_rtt": (
            "flow",
            run.base_rtt,
            "s",
            "round trip without waiting",
        ),
        "start": ("flow", start, "s", "time at which the flow started; none if it had not by the end"),
        "finish": (
            "flow",
            finish,
            "s",
            "time at which all was acknowledged; none if that was not by the end",
        ),
        "completion_time": ("flow", finish - start, "s", "from start to finish"),
        "goodput_rate": (
            "flow",
            _received_bits(run) / measured,
            "bit/s",
            "different data received over the measured time, headers included",
        ),
        "epoch": ("flow", run.epoch, "s", "length of an epoch"),
        "mean_rtt": ("flow", rtt, "s", "mean round trip of acknowledged packets"),
        "sent": ("flow", c[:, k.SENT], "packets", "data packets sent"),
        "dropped": ("flow", c[:, k.DROPPED], "packets", "data packets lost"),
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
            slices,
            "packets",
            "different packets received in a slice",
        ),
        "slice_jain": (
            "slice",
            _jain(slices, there),
            "1",
            "Jain's index of the goodput in a slice of the flows that were there all the while; none if no flow was",
        ),
        "slice_starved": (
            "slice",
            _ratio(((slices == 0) & there).sum(1), there.sum(1)),
            "1",
            "share of flows with no goodput in a slice, of those that were there all the while; none if no flow was",
        ),
        "loss_rate": (
            (),
            _loss(dropped.sum(), arrived.sum()),
            "1",
            "data packets lost over data packets that arrived at their first link; NaN if more were lost",
        ),
        "loss_rate_by_kind": ("kind", _loss(dropped, arrived), "1", "loss rate by kind of transmission"),
        "loss_rate_timeout": (
            (),
            _loss(dropped[rto], arrived[rto]),
            "1",
            "loss rate of timeout retransmissions",
        ),
        "loss_rate_other": (
            (),
            _loss(dropped[others].sum(), arrived[others].sum()),
            "1",
            "loss rate of all packets but timeout retransmissions",
        ),
        "utilisation": ((), utilisation[busiest], "1", "share of time in which the busiest link sent"),
        "mean_queue": (
            (),
            run.links["wait"][busiest] / measured,
            "packets",
            "mean number waiting at the busiest link, packet in transmission excluded",
        ),
        "link_arrived": (
            "link",
            run.links["arrived"],
            "packets",
            "packets of all kinds that arrived at a link",
        ),
        "link_dropped": ("link", run.links["dropped"], "packets", "packets of all kinds lost there"),
        "link_utilisation": ("link", utilisation, "1", "share of time in which a link sent"),
        "link_mean_queue": ("link", run.links["wait"] / measured, "packets", "mean number waiting at a link"),
        "acks_sent": ("flow", c[:, k.ACKS_SENT], "packets", "acknowledgements sent"),
        "acks_dropped": ("flow", c[:, k.ACKS_DROPPED], "packets", "acknowledgements lost"),
        "transferred": (
            "flow",
            run.sim.flows["una"],
            "packets",
            "segments acknowledged in all, warm-up and handshake included",
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
    data |= recordings(scenario, run)
    coords = {
        "flow": np.arange(scenario.count),
        "group": ("flow", np.repeat(np.arange(len(scenario.flows)), [g.count for g in scenario.flows])),
        "link": list(scenario.link_names),
        "kind": list(k.KINDS),
        "backoff": 2 ** np.arange(k.LEVELS),
        "sent_in_epoch": np.arange(k.EPOCH_BINS),
        "silence": np.arange(run.sim.silences.shape[1]),
        "slice": scenario.warm_up + scenario.slice * np.arange(whole),
    }
    attrs = {
        "name": scenario.name,
        "scenario": json.dumps(table(scenario)),
        "seed": str(seed),
        "version": __version__,
        "what_you_ran": json.dumps(what_you_ran(scenario, seed)),
        "warning": phase_warning(scenario, run),
    }
    if run.interrupted:
        attrs["interrupted_at"] = repr(run.stopped)
    result = xr.Dataset(
        {
            name: (dims, values, {"units": units, "long_name": text})
            for name, (dims, values, units, text) in data.items()
        },
        coords,
        attrs,
    )
    result["group"].attrs = {"units": "1", "long_name": "index of the flow's group in the scenario"}
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


def what_you_ran(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The scenario with every default filled in."""
    flows = [group.settings() for group in scenario.flows]
    links = [table(way) | {"name": name} for way, name in _named_ways(scenario)]
    clock = "double" if scenario.exact else "grid"
    for way in links:
        unlimited = way["buffer"] is None and way["buffer_bytes"] is None
        if scenario.record.queues is not None and unlimited and way["rate"] is not None:
            way["service"] = "served"
        elif way["service"] == "auto":
            way["service"] = "served" if scenario.exact else "analytic"
    return {
        **table(scenario), "seed": seed, "flows": flows, "links": links, "clock": clock, "engine": ENGINE
    }  # fmt: skip


def table(part: Any) -> Any:
    """A part of a scenario as plain mappings and lists; ten times as fast as `dataclasses.asdict`, which copies."""
    if dataclasses.is_dataclass(part):
        return {f.name: table(getattr(part, f.name)) for f in dataclasses.fields(part)}
    return [table(item) for item in part] if isinstance(part, tuple) else part


def _named_ways(scenario: Scenario) -> list[tuple[Any, str]]:
    return list(zip(scenario.ways, scenario.link_names, strict=True))[:1000]


def recordings(scenario: Scenario, run: Run) -> dict[str, Any]:
    """What was written down, as variables: (dimension, values, unit, meaning)."""
    data: dict[str, Any] = {}
    world, record = run.sim.world[0], scenario.record
    rows = run.sim.trace_what[: world.trace_count]
    times = run.sim.trace_time[: world.trace_count]
    for wanted, bit, name in (
        (record.sends, k.SENDS, "send"),
        (record.receives, k.RECEIVES, "receive"),
        (record.drops, k.DROPS, "drop"),
    ):
        if not wanted:
            continue
        here = np.flatnonzero(rows[:, k.TRACE_WHAT] == bit)
        # Receipts on a bottleneck are written down ahead of time.
        here = here[np.argsort(times[here], kind="stable")]
        data |= {
            f"{name}_time": (name, times[here], "s", f"time of each {name}"),
            f"{name}_flow": (name, rows[here, k.TRACE_FLOW], "1", "flow"),
            f"{name}_segment": (
                name,
                rows[here, k.TRACE_SEQ],
                "1",
                "segment, from 0 (of an acknowledgement: its number)",
            ),
            f"{name}_kind": (
                name,
                rows[here, k.TRACE_KIND],
                "1",
                "index into the kinds of transmission; 4: acknowledgement",
            ),
        }
        if name == "drop":
            data["drop_link"] = (name, rows[here, k.TRACE_LINK], "1", "index of the link")
    if record.windows is not None:
        table = run.sim.windows[: world.window_count]
        for column, (name, units, text) in enumerate(_WINDOW_COLUMNS):
            kind = np.int64 if units == "1" else np.float64
            data[f"window_{name}"] = ("window_sample", table[:, column].astype(kind), units, text)
    if record.queues is not None:
        table = run.sim.queues[: world.queue_count]
        for column, (name, units, text) in enumerate(_QUEUE_COLUMNS):
            kind = np.float64 if units == "s" else np.int64
            data[f"queue_{name}"] = ("queue_sample", table[:, column].astype(kind), units, text)
    return data


_WINDOW_COLUMNS = (
    ("time", "s", "time of the sample"),
    ("flow", "1", "flow"),
    ("cwnd", "packets", "congestion window"),
    ("ssthresh", "packets", "slow-start threshold"),
    ("rtt", "s", "round trip of the last acknowledgement"),
    ("srtt", "s", "smoothed round trip"),
    ("rto", "s", "retransmission timeout, back-off included"),
    ("flight", "packets", "sent and not acknowledged"),
    ("state", "1", "0 slow start, 1 congestion avoidance, 2 fast recovery, 3 after a timeout"),
)
_QUEUE_COLUMNS = (
    ("time", "s", "time of the sample"),
    ("link", "1", "index of the link"),
    ("packets", "packets", "packets waiting, the one being sent excluded"),
    ("bytes", "B", "bytes waiting"),
)


def _loss(part: Any, whole: Any) -> Any:
    """A share of what arrived; NaN where more was lost, of packets that had come before the measured part."""
    with np.errstate(invalid="ignore"):
        return _ratio(np.where(np.asarray(part) <= whole, part, np.nan), whole)


def _ratio(a: Any, b: Any) -> Any:
    """a / b, NaN where b is zero."""
    b = np.asarray(b, float)
    return np.divide(a, b, out=np.full(b.shape, np.nan), where=b != 0)


def _received_bits(run: Run) -> Any:
    """Bits of different packets received in the measured part, per flow; a handshake is a small one."""
    handshakes = run.counts[:, k.HANDSHAKES]
    data = (run.counts[:, k.GOODPUT] - handshakes) * run.sim.flows["packet_size"]
    return 8.0 * (data + handshakes * run.sim.flows["ack_size"])


def _share(epochs: Any) -> Any:
    return _ratio(epochs.sum(0), np.full(epochs.shape[1], epochs.sum()))


def _there(run: Run, scenario: Scenario, whole: int) -> Any:
    """(slices, flows) whether a flow had started and had not finished, from a slice's first moment to its last.

    One that has finished, or has not begun, does not starve.
    """
    edges = scenario.warm_up + scenario.slice * np.arange(whole + 1)[:, None]
    return (run.sim.flows["start"] <= edges[:-1]) & (run.sim.flows["finish"] >= edges[1:])


def _jain(slices: Any, there: Any) -> Any:
    """Jain's index of the flows that are `there`; a slice in which none of them delivered anything has none."""
    x = np.where(there, slices, 0).astype(float)
    # (sum x)^2 / (n sum x^2): those who are not there count only in n.
    return _ratio(x.sum(1) ** 2, there.sum(1) * (x**2).sum(1))
