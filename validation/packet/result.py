"""From the raw counts of a run to a dataset with names, units and provenance."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import __version__
from tcpdynamics.jain import measured_jain
from tcpdynamics.later import xr

from .epochs import integral
from .kernel import changes
from .kernel import records as k
from .kernel.paced import mtcp
from .kernel.queues import MECHANISMS
from .kernel.routers import ROUTERS
from .kernel.waits import percentiles
from .overshoot import MANY, overshoot_warning
from .parts.users import of_users, transferred_before
from .phases import phase_warnings
from .run_record import OF_TABLES, Run, one_of, together
from .scenario.scenario import Scenario

#: What no key of a scenario changes, for the "what you ran" of every result.
ENGINE = {
    "buffer": "counts the packet being sent too (as ns-2.35's queue-limit); drop-tail",
    "loss process": "applied on arrival, before the queue; independent per packet unless a model is named",
    "bottleneck": "base RTT split 1/4 sender to bottleneck, 1/4 on to the receiver, 1/2 back; acknowledgements "
    "do not wait, and get lost by ack_loss only",
    "rules ns2": "as ns-2.35's Agent/TCP, Reno, Newreno, Sack1 and their sinks with its default settings",
    "rules rfc": "RFC 5681, 6582 (impatient), 6675 (NextSeg rules 1 to 3), 3042, 6298 with Karn's rule",
    "sequence numbers": "segments from 0; with a handshake, segment 0 is the handshake",
}


#: Variable of a result -> the fraction of packets that wait no longer.
WAITS = {"median_wait": 0.5, "wait_p95": 0.95, "wait_p99": 0.99}
#: (dimensions, values, unit, meaning) of each variable.
Variables = dict[str, tuple[Any, Any, str, str]]


class Column(NamedTuple):
    """Values of one variable or coordinate, under the names that a `DataArray` has for them."""

    dims: tuple[str, ...]
    values: NDArray[Any]
    attrs: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Table:
    """What a run gave, before xarray has it: variables and coordinates by name, and what was run.

    Of several runs, all variables have an axis of the runs before their own, and `scenario` is that of the first.
    """

    variables: Variables
    coords: dict[str, Any]
    scenario: Scenario
    seeds: tuple[int, ...]
    warnings: tuple[str, ...]
    #: Simulated time at which the run was stopped [s].
    interrupted_at: float | None = None

    @functools.cached_property
    def attrs(self) -> dict[str, str]:
        """Provenance, as a dataset has it."""
        attrs = {
            "name": self.scenario.name,
            "scenario": json.dumps(table(self.scenario)),
            "seed": str(self.seeds[0]),
            "version": __version__,
            "what_you_ran": json.dumps(what_you_ran(self.scenario, self.seeds[0])),
            "warning": self.warnings[0],
        }
        return attrs if self.interrupted_at is None else attrs | {"interrupted_at": repr(self.interrupted_at)}

    def __contains__(self, name: str) -> bool:
        return name in self.variables or name in self.coords

    def __getitem__(self, name: str) -> Column:
        if name in self.variables:
            dims, values, units, text = self.variables[name]
            attrs = {"units": units, "long_name": text}
        else:
            column = self.coords[name]
            dims, values, *more = column if isinstance(column, tuple) else (name, column)
            attrs = more[0] if more else {}
        return Column((dims,) if isinstance(dims, str) else dims, np.asarray(values), attrs)

    @property
    def first(self) -> Table:
        """That of the first of several runs."""
        variables = {name: (dims, values[0], *more) for name, (dims, values, *more) in self.variables.items()}
        return dataclasses.replace(self, variables=variables, seeds=self.seeds[:1], warnings=self.warnings[:1])

    def dataset(self) -> xr.Dataset:
        """The same with labels."""
        return xr.Dataset({name: tuple(self[name]) for name in self.variables}, self.coords, self.attrs)


def dataset_of_replications(tables: Sequence[Table]) -> xr.Dataset:
    """Runs of one scenario as one dataset, with the dimension "replication" first and a coordinate `seed`.

    At once: `xr.concat` of as many datasets takes ten times as long as short runs do.
    """
    # Of connections there are as many in a run as there happen to be.
    columns = {name: tables[0][name] for name in tables[0].variables if "connection" not in tables[0][name].dims}
    variables = {
        name: (("replication", *column.dims), np.concatenate([one[name].values for one in tables]), column.attrs)
        for name, column in columns.items()
    }
    # As text, for a seed may be larger than any integer of a file format.
    seeds = ("replication", [str(seed) for one in tables for seed in one.seeds])
    attrs = {name: value for name, value in tables[0].attrs.items() if name != "seed"}
    return xr.Dataset(variables, {**tables[0].coords, "seed": seeds}, attrs)


def dataset(scenario: Scenario, seed: int, run: Run) -> xr.Dataset:
    """Name everything that was counted in a run."""
    return tabulated([(scenario, seed)], together([run])).first.dataset()


def shape_of_table(scenario: Scenario, sim: k.Sim) -> tuple[Any, ...] | None:
    """What runs of one table have in common; None where a run has a table of its own."""
    if scenario.record.anything or any(way.changes for way in scenario.ways):
        return None
    if any(group.has_users or group.routes for group in scenario.flows):
        return None
    parts = (any(group.leap for group in scenario.flows), any(way.mechanism != "droptail" for way in scenario.ways))
    times = (scenario.warm_up, scenario.duration, scenario.slice)
    groups = (bool(scenario.links), *(group.count for group in scenario.flows))
    sizes = tuple(getattr(sim, name).shape for name in OF_TABLES)  # events are more where many were under way
    return (scenario.link_names, parts, times, groups, sizes)


def tabulated(jobs: Sequence[tuple[Scenario, int]], run: Run) -> Table:
    """Name everything that was counted in runs `together`, of the same `shape_of_table` if they are several."""
    scenarios, seeds = zip(*jobs, strict=True)
    scenario, first = scenarios[0], one_of(run, 0)
    measured = max(run.stopped - scenario.warm_up, 1e-300)
    # Only slices that were simulated to their end, should the run have been stopped.
    slices = min(scenario.slices, max(int((run.stopped - scenario.warm_up) / scenario.slice * (1 + 1e-12)), 0))
    by_kind = {name: run.counts[..., first : first + len(k.KINDS)] for name, first in _KIND_COLUMNS.items()}
    data: Variables = (
        of_flows(run, measured)
        | of_epochs(run)
        | of_slices(scenario, run, slices)
        | of_losses(by_kind["arrived_by_kind"].sum(-2), by_kind["dropped_by_kind"].sum(-2))
        | of_links(run, measured)
        | of_queues(scenario, run)
        | of_acknowledgements(run)
        | of_timeouts(run)
        | {
            name: (("flow", "kind"), values, "packets", f"packets {name.split('_')[0]} by kind of transmission")
            for name, values in by_kind.items()
        }
        | _of_one(recordings(scenario, first))
        | goodput_rates(run, measured)
        | _of_one(of_users(scenario, first))
        | of_leaps(scenario, run)
        | _of_one(of_routes(scenario, first))
    )
    coords: dict[str, Any] = {
        "flow": np.arange(scenario.count),
        "group": ("flow", np.repeat(np.arange(len(scenario.flows)), [g.count for g in scenario.flows])),
        "link": list(scenario.link_names), "kind": list(k.KINDS), "backoff": 2 ** np.arange(k.LEVELS),
        "sent_in_epoch": np.arange(scenario.most_in_epoch + 1), "silence": np.arange(run.sim.silences.shape[-2]),
        "slice": scenario.warm_up + scenario.slice * np.arange(slices),
    }  # fmt: skip
    for name, units, text in _COORDINATES:
        dims, values = coords[name] if name == "group" else (name, coords[name])
        coords[name] = (dims, values, {"units": units, "long_name": text.format(most=scenario.most_in_epoch)})
    if "hangs" in data:
        coords["hang_length"] = ("hang_length", np.array(k.HANG_LENGTHS), {"units": "s", "long_name": "length"})
    if "route_sent" in data:
        coords["route"] = np.arange(data["route_sent"][1].shape[-1])
    # What is measured of phase effects comes after all else.
    often: Any = np.any(run.counts[..., k.TIMEOUTS] >= MANY, axis=-1)
    overshoots = [overshoot_warning(scenarios[i], one_of(run, i)) if many else "" for i, many in enumerate(often)]
    warnings = zip(overshoots, phase_warnings(scenarios, run), strict=True)
    joined = tuple(". ".join(filter(None, several)) for several in warnings)
    return Table(data, coords, scenario, seeds, joined, run.stopped if run.interrupted else None)


def _of_one(variables: Variables) -> Variables:
    """Variables of a run that has a table of its own, with an axis of the runs."""
    return {name: (dims, np.asarray(values)[None], *more) for name, (dims, values, *more) in variables.items()}


_COORDINATES = (
    ("group", "1", "index of the flow's group in the scenario"),
    ("slice", "s", "start of a slice"),
    ("sent_in_epoch", "packets", "packets sent in an epoch; the last is {most} or more"),
    ("silence", "epochs", "epochs without a packet; the last is 512 or more"),
    ("backoff", "1", "backoff factor of the timer that expired"),
)


def of_flows(run: Run, measured: float) -> Variables:
    """What each flow did, `measured` the seconds of the measured part."""
    c, flows = run.counts, run.sim.flows
    start = np.where(flows["start"] < run.stopped, flows["start"], np.nan)
    finish = np.where(flows["finish"] < run.stopped, flows["finish"], np.nan)
    if run.sim.world["connecting"].any():  # of one that begins again, connections finish
        finish[run.sim.webs["think"] >= 0.0] = np.nan
    rate = _received_bits(run) / measured
    start_means = "time at which the flow started; none if it had not by the end"
    finish_means = "time at which all was acknowledged; none if that was not by the end"
    rate_means = "different data received over the measured time, headers included"
    return {
        "base_rtt": ("flow", run.base_rtt, "s", "round trip without waiting"),
        "start": ("flow", start, "s", start_means),
        "finish": ("flow", finish, "s", finish_means),
        "completion_time": ("flow", finish - start, "s", "from start to finish"),
        "goodput_rate": ("flow", rate, "bit/s", rate_means),
        "epoch": ("flow", run.epoch, "s", "length of an epoch"),
        "mean_rtt": ("flow", _mean_rtt(run), "s", "mean round trip of acknowledged packets"),
        "sent": ("flow", c[..., k.SENT], "packets", "data packets sent"),
        "dropped": ("flow", c[..., k.DROPPED], "packets", "data packets lost"),
        "delivered": ("flow", c[..., k.DELIVERED], "packets", "packets received, repeats included"),
        "goodput": ("flow", c[..., k.GOODPUT], "packets", "different packets received"),
        "duplicates": ("flow", c[..., k.DELIVERED] - c[..., k.GOODPUT], "packets", "packets received once more"),
        "transmissions": (
            "flow", _ratio(c[..., k.SENT], c[..., k.GOODPUT]), "1", "packets sent over different ones received"
        ),
        "in_flight": ("flow", run.in_flight, "packets", "packets under way at the end"),
        "timeouts": ("flow", c[..., k.TIMEOUTS], "1", "retransmission timeouts"),
        "fast_recoveries": ("flow", c[..., k.RECOVERIES], "1", "fast retransmits"),
        "rtt_samples": ("flow", c[..., k.SAMPLES], "1", "RTT samples taken"),
        "timeouts_by_backoff": (
            ("flow", "backoff"), run.levels, "1", "timeouts by backoff factor of the timer"
        ),
    }  # fmt: skip


def of_leaps(scenario: Scenario, run: Run) -> Variables:
    """What LEAP did; nothing where it is off."""
    if not any(group.leap for group in scenario.flows):
        return {}
    right = "leaps after which the first acknowledgement was not a duplicate: data had arrived"
    early = "leaps after which the first acknowledgement was of a segment sent before (with timestamps: or echoes one)"
    return {
        "leaps": ("flow", run.counts[..., k.LEAPS], "1", "timeouts at which a new segment was sent instead"),
        "leaps_right": ("flow", run.counts[..., k.LEAPS_RIGHT], "1", right),
        "leaps_early": ("flow", run.counts[..., k.LEAPS_EARLY], "1", early),
    }


def of_epochs(run: Run) -> Variables:
    """Packets sent in epochs, and silences."""
    epochs = run.sim.epochs
    share = _ratio(epochs.sum(-2), np.broadcast_to(epochs.sum((-2, -1))[:, None], epochs[:, 0].shape))
    return {
        "epochs": (("flow", "sent_in_epoch"), epochs, "1", "epochs in which so many packets were sent"),
        "epoch_fraction": ("sent_in_epoch", share, "1", "probability of so many packets in an epoch"),
        "silences": (("flow", "silence"), run.sim.silences.mT, "1", "completed silences by length in epochs"),
    }


def of_slices(scenario: Scenario, run: Run, whole: int) -> Variables:
    """Goodput in the first `whole` slices, and how evenly it was shared."""
    slices = run.sim.slices[:, :whole]
    present = _present(scenario, run, whole)
    starved = _ratio(((slices == 0) & present).sum(-1), present.sum(-1))
    who = "of those that were there all the while; none if no flow was"
    jain_means = f"Jain's index of the goodput in a slice {who.replace('those', 'the flows')}"
    starved_means = f"share of flows with no goodput in a slice, {who}"
    return {
        "slice_goodput": (("slice", "flow"), slices, "packets", "different packets received in a slice"),
        "slice_jain": ("slice", measured_jain(slices, present), "1", jain_means),
        "slice_starved": ("slice", starved, "1", starved_means),
    }


def of_losses(arrived: Any, dropped: Any) -> Variables:
    """Loss rates from the packets of each kind that arrived at their first link and were lost."""
    rto = k.TIMEOUT
    kinds = [kind for kind in range(len(k.KINDS)) if kind != rto]
    total = "data packets lost over data packets that arrived at their first link; NaN if more were lost"
    of_timeouts = _loss(dropped[..., rto], arrived[..., rto])
    other = _loss(dropped[..., kinds].sum(-1), arrived[..., kinds].sum(-1))
    return {
        "loss_rate": ((), _loss(dropped.sum(-1), arrived.sum(-1)), "1", total),
        "loss_rate_by_kind": ("kind", _loss(dropped, arrived), "1", "loss rate by kind of transmission"),
        "loss_rate_timeout": ((), of_timeouts, "1", "loss rate of timeout retransmissions"),
        "loss_rate_other": ((), other, "1", "loss rate of all packets but timeout retransmissions"),
    }


def of_links(run: Run, measured: float) -> Variables:
    """What each link carried and lost; the busiest by itself."""
    links, utilisation = run.links, run.links["work"] / measured
    queue = links["wait"] / measured
    for i in changes.links_that_change(run.sim.links[0]):  # of a run that has a table of its own
        table = changes.table_of(run.sim.links[0, i], run.sim.queue_state)
        carried = integral(table, run.stopped - measured, run.stopped)
        utilisation[0, i] = links["bits"][0, i] / carried if carried > 0.0 else np.nan
    use = np.nan_to_num(utilisation)
    # Of links that are all full, the first; not by rounding.
    busiest = np.arange(len(use)), np.argmax(use >= use.max(-1, keepdims=True) * (1.0 - 1e-9), axis=-1)
    share = "share of time (where the rate changes, of what it could carry) in which"
    waiting = "mean number waiting at the busiest link, packet in transmission excluded"
    arrived = "packets of all kinds that arrived at a link"
    passed = links["arrived"] - links["dropped"]
    wait = np.divide(links["wait"], passed, out=np.full(queue.shape, np.nan), where=passed > 0)
    among = dict(zip(WAITS, np.moveaxis(percentiles(run.sim.waits, tuple(WAITS.values())), -1, 0), strict=True))
    longest = {name: f"waiting time that {part:.0%} of packets do not exceed, at" for name, part in WAITS.items()}
    waits = "mean queue over the rate of packets that were not lost (Little's law), at"
    return {
        "utilisation": ((), utilisation[busiest], "1", f"{share} the busiest link sent"),
        "mean_queue": ((), queue[busiest], "packets", waiting),
        "mean_wait": ((), wait[busiest], "s", f"{waits} the busiest link"),
        **{name: ((), of[busiest], "s", f"{longest[name]} the busiest link") for name, of in among.items()},
        "link_arrived": ("link", links["arrived"], "packets", arrived),
        "link_dropped": ("link", links["dropped"], "packets", "packets of all kinds lost there"),
        "link_utilisation": ("link", utilisation, "1", f"{share} a link sent"),
        "link_mean_queue": ("link", queue, "packets", "mean number waiting at a link"),
        "link_mean_wait": ("link", wait, "s", f"{waits} a link"),
        **{f"link_{name}": ("link", of, "s", f"{longest[name]} a link") for name, of in among.items()},
    }


def of_queues(scenario: Scenario, run: Run) -> Variables:
    """What disciplines other than drop-tail did to packets; nothing where there is none."""
    if all(way.mechanism == "droptail" for way in scenario.ways):
        return {}
    marked = "packets marked there instead of lost"
    evicted = "packets lost there after they had been let in; `link_dropped` counts them too"
    return {
        "link_marked": ("link", run.links["marked"], "packets", marked),
        "link_evicted": ("link", run.links["evicted"], "packets", evicted),
    }


def of_routes(scenario: Scenario, run: Run) -> Variables:
    """What senders with several routes did on each, over the whole run, and know at its end; nothing without any.

    NaN where a flow has no such route, and for times that it has not measured.
    """
    routes = max(len(group.routes) for group in scenario.flows)
    if routes == 0:
        return {}
    table = np.full((len(_OF_ROUTES), scenario.count, routes), np.nan)
    i = 0
    for group in scenario.flows:
        for flow in run.sim.flows[i : i + group.count] if group.routes else ():
            lanes = mtcp.lanes_of(flow, run.sim.paced_state)
            for values, name in zip(table, _OF_ROUTES, strict=True):
                values[i, : len(lanes)] = lanes[name]
            i += 1
        i += 0 if group.routes else group.count
    table[:2][table[:2] < 0.0] = np.nan
    return {
        f"route_{name}": (("flow", "route"), values, unit, text)
        for values, (name, unit, text) in zip(table, _OF_ROUTES.values(), strict=True)
    }


#: Field of a route's record -> name, unit and meaning.
_OF_ROUTES = {
    "forward": ("time_there", "s", "estimate of the one-way time there, at the end"),
    "back": ("time_back", "s", "estimate of the one-way time back, at the end"),
    "cwnd": ("window", "packets", "congestion window of the route, at the end"),
    "sent": ("sent", "packets", "data packets sent over the route, warm-up included"),
    "replies": ("replies", "1", "segments taken off the route's list by their replies, warm-up included"),
    "fast": ("fast_recoveries", "1", "fast retransmits of the route, warm-up included"),
    "timeouts": ("timeouts", "1", "timeouts of the route, warm-up included"),
}


def of_acknowledgements(run: Run) -> Variables:
    """Acknowledgements, and what they acknowledged."""
    c, una = run.counts, run.sim.flows["una"] + transferred_before(run)
    transferred = "segments acknowledged in all, warm-up and handshake included"
    return {
        "acks_sent": ("flow", c[..., k.ACKS_SENT], "packets", "acknowledgements sent"),
        "acks_dropped": ("flow", c[..., k.ACKS_DROPPED], "packets", "acknowledgements lost"),
        "transferred": ("flow", una, "packets", transferred),
    }


def of_timeouts(run: Run) -> Variables:
    """The first timeouts of outages: their length, and the silence before."""
    first = run.levels[..., 0].sum(-1)
    base_rto = _ratio(run.sums[..., k.FIRST_RTO_SUM].sum(-1), first)
    silence = _ratio(run.sums[..., k.FIRST_SILENCE_SUM].sum(-1), first)
    # Each flow's mean RTT, weighted by its first timeouts: the RTT "at timeouts".
    rtt = _ratio(np.nansum(run.levels[..., 0] * _mean_rtt(run), -1), first)
    ratio = "base timeout over mean RTT at first timeouts (m0)"
    before = "mean time from the last packet sent to the first timeout of an outage"
    return {
        "base_rto": ((), base_rto, "s", "mean timeout without backoff, at first timeouts of an outage"),
        "rto_over_rtt": ((), _ratio(base_rto, rtt), "1", ratio),
        "first_silence": ((), silence, "s", before),
    }


def goodput_rates(run: Run, measured: float) -> Variables:
    """Goodput as a rate, in packets; `goodput_rate` is in bits."""
    rate = run.counts[..., k.GOODPUT] / measured
    rate_means = "different packets received over the measured time"
    return {"goodput_packet_rate": ("flow", rate, "packets/s", rate_means)}


_KIND_COLUMNS = {"sent_by_kind": k.SENT_KIND, "arrived_by_kind": k.ARRIVED_KIND, "dropped_by_kind": k.DROPPED_KIND}


def what_you_ran(scenario: Scenario, seed: int) -> dict[str, Any]:
    """The scenario with every default filled in."""
    flows = []
    for group in scenario.flows:
        low, high = scenario.jitters(group)
        flows.append(group.settings() | {"jitter": low if low == high else [low, high]})
    links = [table(way) | {"name": name} for way, name in _named_ways(scenario)]
    clock = "double" if scenario.exact else "grid"
    for way, (link, _) in zip(links, _named_ways(scenario), strict=True):
        unlimited = link.buffer is None and link.buffer_bytes is None and link.rate is not None
        if link.needs_service or (scenario.record.queues is not None and unlimited):
            way["service"] = "served"
        elif link.service == "auto":
            way["service"] = "auto" if scenario.exact else "analytic"
    return {**table(scenario), "seed": seed, "flows": flows, "links": links, "clock": clock, "engine": ENGINE}


def table(part: Any) -> Any:
    """A part of a scenario as plain mappings and lists; ten times as fast as `dataclasses.asdict`, which copies."""
    if dataclasses.is_dataclass(part):
        return {f.name: table(getattr(part, f.name)) for f in dataclasses.fields(part)}
    return [table(item) for item in part] if isinstance(part, tuple) else part


def _named_ways(scenario: Scenario) -> list[tuple[Any, str]]:
    return list(zip(scenario.ways, scenario.link_names, strict=True))[:1000]


def recordings(scenario: Scenario, run: Run) -> Variables:
    """What was written down, as variables: (dimension, values, unit, meaning)."""
    data: Variables = {}
    world, record = run.sim.world[0], scenario.record
    rows = run.sim.trace_what[: world["trace_count"]]
    times = run.sim.trace_time[: world["trace_count"]]
    for recorded, bit, name in (
        (record.sends, k.SENDS, "send"),
        (record.receives, k.RECEIVES, "receive"),
        (record.drops, k.DROPS, "drop"),
    ):
        if not recorded:
            continue
        order = np.flatnonzero(rows[:, k.TRACE_WHAT] == bit)
        # Receipts on a bottleneck are written down ahead of time.
        order = order[np.argsort(times[order], kind="stable")]
        data |= {
            f"{name}_time": (name, times[order], "s", f"time of each {name}"),
            f"{name}_flow": (name, rows[order, k.TRACE_FLOW], "1", "flow"),
            f"{name}_segment": (
                name,
                rows[order, k.TRACE_SEQ],
                "1",
                "segment, from 0 (of an acknowledgement: its number)",
            ),
            f"{name}_kind": (
                name,
                rows[order, k.TRACE_KIND],
                "1",
                "index into the kinds of transmission; 4: acknowledgement",
            ),
        }
        if name == "drop":
            data["drop_link"] = (name, rows[order, k.TRACE_LINK], "1", "index of the link")
    if record.windows is not None:
        table = run.sim.windows[: world["window_count"]]
        for column, (name, units, text) in enumerate(_WINDOW_COLUMNS):
            kind = np.int64 if units == "1" else np.float64
            data[f"window_{name}"] = ("window_sample", table[:, column].astype(kind), units, text)
    if record.queues is not None:
        table = run.sim.queues[: world["queue_count"]]
        for column, (name, units, text) in enumerate(_QUEUE_COLUMNS):
            kind = np.float64 if units == "s" else np.int64
            data[f"queue_{name}"] = ("queue_sample", table[:, column].astype(kind), units, text)
        data |= _of_disciplines(scenario, table) | _of_routers(scenario, table)
    return data


def _of_disciplines(scenario: Scenario, table: Any) -> Variables:
    """What disciplines remember, by name; NaN in samples of links whose discipline has nothing of that name."""
    data: Variables = {}
    of_link = np.array([list(MECHANISMS).index(way.mechanism) for way in scenario.ways])[table[:, 1].astype(np.int64)]
    for number, file in enumerate(MECHANISMS.values()):
        if not (of_link == number).any():
            continue
        for column, (name, (units, text)) in enumerate(getattr(file, "RECORDED", {}).items(), 4):
            values = np.where(of_link == number, table[:, column], np.nan)
            if f"queue_{name}" in data:  # two disciplines record it
                values = np.where(of_link == number, values, data[f"queue_{name}"][1])
            data[f"queue_{name}"] = ("queue_sample", values, units, text)
    return data


def _of_routers(scenario: Scenario, table: Any) -> Variables:
    """What routers remember, by name; NaN in samples of links without one."""
    data: Variables = {}
    routers = np.array([way.router for way in scenario.ways])[table[:, 1].astype(np.int64)]
    for name, file in ROUTERS.items():
        for column, (key, (units, text)) in enumerate(getattr(file, "RECORDED", {}).items(), k.OF_ROUTER):
            if (routers == name).any():
                values = np.where(routers == name, table[:, column], np.nan)
                data[f"router_{key}"] = ("queue_sample", values, units, text)
    return data


_WINDOW_COLUMNS = (
    ("time", "s", "time of the sample"), ("flow", "1", "flow"), ("cwnd", "packets", "congestion window"),
    ("ssthresh", "packets", "slow-start threshold"), ("rtt", "s", "round trip of the last acknowledgement"),
    ("srtt", "s", "smoothed round trip"), ("rto", "s", "retransmission timeout, back-off included"),
    ("flight", "packets", "sent and not acknowledged"),
    ("state", "1", "0 slow start, 1 congestion avoidance, 2 fast recovery, 3 after a timeout"),
)  # fmt: skip
_QUEUE_COLUMNS = (
    ("time", "s", "time of the sample"), ("link", "1", "index of the link"),
    ("packets", "packets", "packets waiting, the one being sent excluded"), ("bytes", "B", "bytes waiting"),
)  # fmt: skip


def _loss(part: Any, whole: Any) -> Any:
    """A share of what arrived; NaN where more was lost, of packets that had come before the measured part."""
    with np.errstate(invalid="ignore"):
        return _ratio(np.where(np.asarray(part) <= whole, part, np.nan), whole)


def _ratio(a: Any, b: Any) -> Any:
    """a / b, NaN where b is zero."""
    b = np.asarray(b, float)
    return np.divide(a, b, out=np.full(b.shape, np.nan), where=b != 0)


def _mean_rtt(run: Run) -> Any:
    return _ratio(run.sums[..., k.RTT_SUM], run.counts[..., k.TIMED])


def _received_bits(run: Run) -> Any:
    """Bits of different packets received in the measured part, per flow; a handshake is a small one."""
    handshakes = run.counts[..., k.HANDSHAKES]
    data = (run.counts[..., k.GOODPUT] - handshakes) * run.sim.flows["packet_size"]
    return 8.0 * (data + handshakes * run.sim.flows["ack_size"])


def _present(scenario: Scenario, run: Run, whole: int) -> Any:
    """(runs, slices, flows) whether a flow had started and had not finished, from a slice's first moment to its last.

    One that has finished, or has not begun, does not starve.
    """
    edges = scenario.warm_up + scenario.slice * np.arange(whole + 1)[:, None]
    start, finish = (run.sim.flows[name][:, None] for name in ("start", "finish"))
    present: NDArray[np.bool_] = (start <= edges[:-1]) & (finish >= edges[1:])
    return present
