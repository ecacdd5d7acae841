"""What `tcpdynamics simulate` says and writes: a summary, what was run, JSON, a table of sends, a page of figures."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import re
import textwrap
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import OutputError
from tcpdynamics.json_values import finite, of_dataset

from . import files
from .outputs import check_charts, interval_note, plus_or_minus

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from tcpdynamics.validation.packet import Flows, Link, Scenario
    from tcpdynamics.validation.packet.result import Table


#: Summary lines of a simulation: variable, label, digits.
LINES = (
    ("loss_rate", "loss", 4),
    ("loss_rate_timeout", "loss of timeout retransmissions", 4),
    ("goodput_packets", "goodput of all flows [packets/s]", 2),
    ("goodput_bits", "goodput of all flows [bit/s]", 0),
    ("transfers_finished", "flows that finished", 0),
    ("completion", "their completion time (mean) [s]", 3),
    ("connections_in_all", "connections that finished", 0),
    ("connection_mean", "their completion time (mean) [s]", 3),
    ("sent_in_all", "data packets sent", 0),
    ("repeats_in_all", "of these retransmissions", 0),
    ("timeouts_in_all", "timeouts", 0),
    ("leaps_in_all", "of these LEAP sent a new segment at", 0),
    ("duplicates_in_all", "packets received once more", 0),
    ("marked_in_all", "packets marked, not dropped", 0),
    ("utilisation", "utilisation of the busiest link", 4),
    ("mean_queue", "packets waiting there (mean)", 2),
    ("mean_wait", "waiting time there (mean) [s]", 5),
    ("median_wait", "waiting time there (median) [s]", 5),
    ("wait_p95", "waiting time there (95th percentile) [s]", 5),
    ("wait_p99", "waiting time there (99th percentile) [s]", 5),
    ("rto_over_rtt", "base timeout over RTT", 3),
    ("jain", "Jain's index over a slice", 4),
    ("starved", "share of flows starved in a slice", 4),
)

#: Dimensions of what `record` writes down, one entry a packet or sample.
RECORDINGS = {"send", "receive", "drop", "window_sample", "queue_sample"}

#: Links listed in a summary, those that lose most first, and groups of flows.
_LINKS = 5
#: Utilisation from which on a link without losses is shown.
_USED = 0.1
_FLOWS = 10
_GROUPS = 50


def measured_time(result: xr.Dataset | Table, scenario: Scenario) -> float:
    """Seconds from the warm-up to the end of the run, or to where it was stopped."""
    return max(float(result.attrs.get("interrupted_at", scenario.duration)) - scenario.warm_up, 1e-9)


def as_json(result: xr.Dataset) -> dict[str, Any]:
    """Every variable but recordings, with its dimensions; what is not finite becomes null."""
    several = "replication" in result.dims
    document = {
        "name": result.attrs["name"],
        "seed": result.seed.values.tolist() if several else result.attrs["seed"],
        "version": result.attrs["version"],
        "what_you_ran": json.loads(result.attrs["what_you_ran"]),
        "warning": result.attrs["warning"],
    }
    until = {k.removeprefix("until_"): v for k, v in result.attrs.items() if k.startswith("until_")}
    if until:
        document["until"] = finite(until)
    recordings = [name for name, v in result.variables.items() if name == "seed" or RECORDINGS & set(v.dims)]
    return document | of_dataset(result.drop_vars(recordings))


def summary_lines(result: xr.Dataset | Table, scenario: Scenario, verbose: bool = False) -> Iterator[str]:
    """What was run and what came out, with intervals for several replications."""
    count, arrays = scenario.count, Arrays(result)
    yield (
        f"{result.attrs['name']}: {count} flow{'s' if count > 1 else ''}, "
        + ("several seeds (--json lists them)" if arrays.several else f"seed {result.attrs['seed']}")
    )
    yield "what you ran" + ("" if verbose else " (--verbose for all of it)")
    lines = _everything(json.loads(result.attrs["what_you_ran"])) if verbose else what_you_ran(scenario)
    for line in lines:
        yield textwrap.fill(line, 110, initial_indent="  ", subsequent_indent="      ")
    yield "what came out"
    came = [
        f"{label:41s} {_shown(values, digits, arrays.several, fraction)}"
        for label, values, digits, fraction in rows(result, scenario)
    ]
    for part in (_groups(arrays, scenario), _links(arrays), _flows(arrays), _routes(arrays)):
        came += part
    yield from (f"  {line}" for line in came)
    if arrays.several:
        yield interval_note(len(arrays["goodput"]), came)


class Arrays:
    """Variables of a result by name as arrays whose first axis is that of replications, of length 1 for one run."""

    def __init__(self, result: xr.Dataset | Table) -> None:
        self.result = result
        self.several = "replication" in result["goodput"].dims

    def __contains__(self, name: str) -> bool:
        return name in self.result

    def __getitem__(self, name: str) -> NDArray[Any]:
        values: NDArray[Any] = self.result[name].values
        return values if self.several else values[None]


def rows(result: xr.Dataset | Table, scenario: Scenario) -> Iterator[tuple[str, NDArray[Any], int, bool]]:
    """Label with unit, values (one a replication), digits, and whether they are fractions: lines of a summary."""
    import numpy as np

    from tcpdynamics.validation.packet.measures import FRACTIONS

    v, time = Arrays(result), measured_time(result, scenario)
    values = {name: v[name] for name, _, _ in LINES if name in v and v[name].ndim == 1}
    sent = v["sent"].sum(1)
    values |= {
        "goodput_packets": v["goodput"].sum(1) / time, "goodput_bits": np.nansum(v["goodput_rate"], 1),
        "jain": _mean(v["slice_jain"]), "starved": _mean(v["slice_starved"]), "sent_in_all": sent,
        "repeats_in_all": sent - v["sent_by_kind"][..., 0].sum(1), "timeouts_in_all": v["timeouts"].sum(1),
    }  # fmt: skip
    if "leaps" in v:
        values |= {"leaps_in_all": v["leaps"].sum(1), "duplicates_in_all": v["duplicates"].sum(1)}
    if "link_marked" in v:
        values["marked_in_all"] = v["link_marked"].sum(1)
    if "connections_finished" in v:
        finished = v["connections_finished"]
        in_all = finished.sum(1)
        spent = np.nansum(v["mean_connection_time"] * finished, 1)
        values |= {"connections_in_all": in_all, "connection_mean": _over(spent, in_all)}
    once = [group for group in scenario.flows if group.think is None]
    if any(group.segments is not None or group.stop is not None for group in once):
        done, spans = np.isfinite(v["finish"]).sum(1), v["completion_time"]
        values |= {"transfers_finished": done, "completion": _mean(spans)}
    for name, label, digits in LINES:
        if name in values:
            yield label, values[name], digits, name in FRACTIONS
    last = scenario.most_in_epoch
    for n in range(last + 1):
        packets = f"{n} or more packets" if n == last else f"{n} packet{'' if n == 1 else 's'}"
        yield f"P({packets} in an epoch)", v["epoch_fraction"][:, n], 4, True


def _mean(values: NDArray[Any]) -> NDArray[Any]:
    """Mean of each replication over what is not NaN; NaN where nothing is."""
    import numpy as np

    return _over(np.nansum(values, 1), np.isfinite(values).sum(1))


def _over(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """a / b, NaN where b is zero."""
    import numpy as np

    out: NDArray[Any] = np.divide(a, b, out=np.full(len(b), np.nan), where=b > 0)
    return out


def _groups(v: Arrays, scenario: Scenario) -> Iterator[str]:
    """A table of what each group got, if there are several."""
    import numpy as np

    if len(scenario.flows) < 2:
        return
    time = measured_time(v.result, scenario)
    rows = [["group", "flows", "goodput [packets/s]", "loss", "timeouts"]]
    for index, group in enumerate(scenario.flows[:_GROUPS]):
        mine = v.result["group"].values == index
        arrived, dropped = (v[f"{what}_by_kind"][:, mine].sum((1, 2)) for what in ("arrived", "dropped"))
        loss = np.where(arrived >= dropped, _over(dropped, arrived), np.nan)  # as in the loss of all
        columns = ((v["goodput"][:, mine].sum(1) / time, 2), (loss, 4), (v["timeouts"][:, mine].sum(1), 0))
        cells = [_shown(values, digits, v.several, values is loss) for values, digits in columns]
        rows.append([f"{index} {group.sender}", f"{group.count}", *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
    if len(scenario.flows) > _GROUPS:
        yield f"and {len(scenario.flows) - _GROUPS:,} more groups (--json has their flows)"


def _links(v: Arrays) -> Iterator[str]:
    """The links that lose most, then those that are used most, if there are several links."""
    import numpy as np

    names = v.result["link"].values
    if len(names) < 2:
        return
    dropped, used = v["link_dropped"].mean(0), np.nan_to_num(v["link_utilisation"]).mean(0)
    losing = [i for i in np.argsort(-dropped, kind="stable") if dropped[i] > 0]
    busy = [i for i in np.argsort(-used, kind="stable") if i not in losing and used[i] >= _USED]
    for i in (losing + busy)[:_LINKS]:
        loss = _over(v["link_dropped"][:, i], v["link_arrived"][:, i])
        loses, utilised = (_shown(x, 4, v.several, True) for x in (loss, v["link_utilisation"][:, i]))
        waiting = _shown(v["link_mean_queue"][:, i], 2, v.several)
        yield f"link {names[i]}: loss {loses}, utilisation {utilised}, waiting {waiting} packets"
    if len(losing) + len(busy) > _LINKS:
        more = f"{len(losing) + len(busy) - _LINKS} more links"
        yield f"and {more} {'with losses' if not busy else 'with losses or in use'} (--json has them)"
    if not losing:
        yield f"no losses on any of {len(names)} links"


def _flows(v: Arrays) -> Iterator[str]:
    """Start, finish and goodput of the first flows of a single run."""
    if v.several:
        return
    starts, finishes, rates = (v[name][0].tolist() for name in ("start", "finish", "goodput_rate"))
    highest = max(rates[:_FLOWS])
    size, unit = next(((s, u) for s, u in _UNITS if highest >= s), (1.0, "bit/s"))
    for flow, (start, finish, rate) in enumerate(zip(starts[:_FLOWS], finishes, rates, strict=False)):
        begins = "does not start" if start != start else f"starts at {start:.3f} s"
        ends = "does not finish" if finish != finish else f"finishes at {finish:.3f} s"
        yield f"flow {flow}: {begins}, {ends}, goodput {rate / size:.4g} {unit}"
    if len(rates) > _FLOWS:
        yield f"and {len(rates) - _FLOWS:,} more flows (--json has them)"


def _routes(v: Arrays) -> Iterator[str]:
    """What the first flows of M/TCP sent over each of their routes."""
    import numpy as np

    if "route_sent" not in v:
        return
    sent = np.nansum(v["route_sent"], (0, 2))
    for flow in np.flatnonzero(sent > 0)[:_FLOWS]:
        for route in range(v["route_sent"].shape[2]):
            sent_there, timeouts, there, back = (
                v[f"route_{name}"][:, flow, route] for name in ("sent", "timeouts", "time_there", "time_back")
            )
            ways = " and ".join(_shown(values * 1e3, 1, v.several) for values in (there, back))
            yield (
                f"flow {flow}, route {route}: sent {_shown(sent_there, 0, v.several)}, timeouts "
                f"{_shown(timeouts, 0, v.several)}, estimated one-way times {ways} ms"
            )


def _shown(values: NDArray[Any], digits: int, several: bool, fraction: bool = False) -> str:
    """The value of one run, or the mean of several with its interval."""
    if not several or len(values) < 2:
        return _number(float(values.mean()), digits)
    import xarray as xr

    from tcpdynamics.validation.statistics import mean_interval

    interval = mean_interval(xr.DataArray(values, dims="replication"), fraction=fraction)
    mean, low, high = (float(interval[end]) for end in ("mean", "low", "high"))
    return "none" if math.isnan(low) else plus_or_minus(mean, low, high, digits)


def _number(value: float, digits: int) -> str:
    return "none" if value != value else f"{value:.{digits}f}"


def about_file(path: Path) -> str:
    """The first sentence of the comment at the top of a scenario."""
    words: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        words += line.lstrip("# ").split()
    return re.split(r"(?<!Fig\.)(?<=\.) ", " ".join(words), maxsplit=1)[0]


def what_you_ran(scenario: Scenario) -> Iterator[str]:
    """Everything that a group, a kind of link and the run have, set or by default: one line each."""
    first = 0
    for group in scenario.flows[:_GROUPS]:
        last = first + group.count - 1
        yield f"flow{f's {first} to {last}' if group.count > 1 else f' {first}'}: {_flow_line(group, scenario)}"
        first = last + 1
    if len(scenario.flows) > _GROUPS:
        yield f"and {len(scenario.flows) - _GROUPS:,} more groups of flows, {first} to {scenario.count - 1}"
    kinds: dict[str, list[str]] = {}
    for name, way in zip(scenario.link_names, scenario.ways, strict=True):
        kinds.setdefault(_link_line(way, scenario), []).append(name)
    for text, names in kinds.items():
        yield f"{names[0]}{f' and {len(names) - 1} like it' if len(names) > 1 else ''}: {text}"
    if not scenario.links:
        yield "path: a quarter of the RTT before the bottleneck, a quarter after it, half back; acks never wait"
    epoch = "each flow's own mean RTT" if scenario.epoch == "auto" else _seconds(scenario.epoch)
    yield (
        f"run: {_seconds(scenario.duration)}, the first {_seconds(scenario.warm_up)} left out; epoch {epoch}; "
        f"slices of {_seconds(scenario.slice)}; clock {'double' if scenario.exact else 'grid'}"
    )
    if scenario.drops:
        yield f"chosen drops: {len(scenario.drops)}"


def _flow_line(group: Flows, scenario: Scenario) -> str:
    from tcpdynamics.validation.packet.kernel.senders import BOOKS

    s = group.settings()
    low, high = group.rtts()
    if scenario.links:
        path = f"{_ends(group.source)} to {_ends(group.target)}" if group.route is None else " > ".join(group.route)
        if group.routes:
            path = ", ".join(" > ".join(way) for way in group.routes)
    else:
        path = f"RTT {_seconds(low)}" + ("" if low == high else f" to {_seconds(high)}")
    settable = group.rules != "linux"  # whose ways of these can be set
    rules = "" if group.open_loop else f" as in {BOOKS[group.rules].CALLED}"
    words = [f"{group.sender}{rules}", path, f"packets of {group.packet_size} B"]
    if group.open_loop:
        words += _rates_of(group)
    elif group.paced:
        numbers = ", ".join(f"{name} {value:g}" for name, value in group.sender_parameters().items())
        words.append(f"parameters ({numbers})")
        if group.windowless:
            words.append(f"reports of {group.ack_size} B")
        else:
            words += [
                f"window {s['initial_window']} to {group.window_limit}",
                f"acks of {group.ack_size} B, {group.acks.replace('_', ' and ')}",
            ]
    else:
        words += [
            f"control {group.control}{_rule_numbers(group)}",
            f"window {s['initial_window']} to {group.window_limit}",
            f"RTO {_seconds(s['min_rto'])} to {_seconds(s['max_rto'])}, first {_seconds(s['initial_rto'])}, "
            + (
                f"backoff to {group.max_backoff}, tick {_seconds(s['timer_granularity'])}"
                if settable
                else "Linux's ticks"
            ),
            "RTT by timestamps" if group.timestamps else "RTT of one segment at a time",
            f"acks of {group.ack_size} B, delayed {_seconds(group.delayed_ack) if group.delayed_ack else 'never'}",
            f"SACK {_on(s['sack'])}",
            *(["ECN on"] if group.ecn else []),
            f"limited transmit {_on(group.limited_transmit)}"
            if settable
            else f"loss probes {_on(group.loss_probes)}, F-RTO {_on(group.frto)}",
            f"handshake {_on(s['handshake'])}",
        ]
    least, most = scenario.jitters(group)
    if most or group.rules != "ns2":
        words.append(f"jitter {_seconds(least)}" + ("" if least == most else f" to {_seconds(most)}"))
    if group.overhead:
        words.append(f"overhead {_seconds(group.overhead)}")
    if group.segments is not None:
        law = f" on average (Pareto, {group.segments_shape:g})" if group.segments_shape else ""
        words.append(f"{group.segments} segments{law}")
    if group.arrival_rate is not None:
        words.append(f"Poisson starts, {group.arrival_rate:g}/s from {_seconds(group.start)}")
    else:
        spread = f" to {_seconds(group.start + s['start_spread'])}" if s["start_spread"] else ""
        words.append(f"start {_seconds(group.start)}{spread}")
    if group.stop is not None:
        words.append(f"stop {_seconds(group.stop)}")
    return ", ".join(words)


def _rates_of(group: Flows) -> list[str]:
    """Rates of a sender that heeds nothing, and when it is silent."""
    steps = group.steps()
    words = [f"at {_rate(steps[0][1])}"]
    words += [f"from {_seconds(time)} on at {_rate(rate)}" for time, rate in steps[1:4]]
    if len(steps) > 4:
        words.append(f"{len(steps) - 4} further steps")
    if group.on_time is not None and group.off_time is not None:
        words.append(f"bursts of {_seconds(group.on_time)}, silences of {_seconds(group.off_time)} ({group.on_off})")
    return words


def _rule_numbers(group: Flows) -> str:
    """What the window rule is set to, by itself or by default: by name, or the numbers of a rule of one's own."""
    from tcpdynamics.validation.packet.kernel.windows import RULES

    if group.control not in RULES:
        return f" {', '.join(f'{x:g}' for x in group.rule_parameters())}" if group.parameters else ""
    numbers = ", ".join(f"{name} {value:g}" for name, value in group.named_parameters().items())
    return f" ({numbers})" if numbers else ""


def _link_line(way: Link, scenario: Scenario) -> str:
    room = "no limit"
    if way.buffer is not None:
        room = f"{way.buffer} packets, the one being sent included"
    elif way.buffer_bytes is not None:
        room = f"{way.buffer_bytes} B waiting"
    words = ["infinitely fast" if way.rate is None else _rate(way.rate)]
    if scenario.links:
        words.append(f"delay {_seconds(way.delay)}")
    set_to = dict(_queue_numbers(way))
    numbers = ", ".join(f"{name} {value:g}" for name, value in set_to.items())
    if set_to.get("linux") == 0 and any(group.as_linux for group in scenario.flows):
        numbers += "; queue_parameters.linux = 1 is Linux's queue"
    words.append(f"{way.queue} ({room}{f'; {numbers}' if numbers else ''})")
    if way.priority != "none":
        places = way.priority_buffer
        words.append(f"{way.priority} first ({'buffer shared' if places is None else f'{places} of its places'})")
    words += _disturbances(way)
    return ", ".join(words)


def _disturbances(way: Link) -> Iterator[str]:
    """What happens to packets on a link besides waiting: losses by chance, jitter, changes of rate and delay."""
    from tcpdynamics.validation.packet.scenario.losses import in_words

    if way.loses_alike and way.loss:
        yield f"independent loss {way.loss:g}"
    elif way.loses:
        yield f"loss: {in_words(way.loss)}"
        if way.ack_loss is not None:
            yield f"of acknowledgements: {in_words(way.ack_loss)}"
    if way.jitter:
        yield f"jitter {_seconds(way.jitter)}"
    if way.changes:
        one = f"{len(way.changes)} change{'s' if len(way.changes) > 1 else ''} of rate and delay"
        yield f"{one} (by {way.changes_by}) from {_seconds(way.course[0][0])} to {_seconds(way.course[-1][0])}"
    if way.reorder:
        yield "packets may overtake"
    if way.router != "none":
        yield f"router {way.router}" + "".join(f", {k} {v:g}" for k, v in _router_numbers(way))


def _queue_numbers(way: Link) -> Iterator[tuple[str, float]]:
    """What the link's discipline is set to, by itself or by default."""
    from tcpdynamics.validation.packet.kernel.parameters import read_parameters
    from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES

    yield from read_parameters(DISCIPLINES[way.queue], way.queue_parameters, "queue_parameters", way.queue).items()


def _router_numbers(way: Link) -> Iterator[tuple[str, float]]:
    from tcpdynamics.validation.packet.kernel.parameters import read_parameters
    from tcpdynamics.validation.packet.kernel.routers import ROUTERS

    file = ROUTERS[way.router]
    yield from read_parameters(file, way.router_parameters, "router_parameters", way.router).items()


def _everything(value: Any, name: str = "") -> Iterator[str]:
    """Nested values as lines `a.b.0 = value`."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _everything(below, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(x, (dict, list)) for x in value):
        for i, below in enumerate(value):
            yield from _everything(below, f"{name}.{i}")
    else:
        yield f"{name} = {value if isinstance(value, str) else json.dumps(value)}"


def _ends(names: str | tuple[str, ...] | None) -> str:
    if names is None or isinstance(names, str):
        return str(names)
    return " or ".join(names) if len(names) <= 3 else f"one of {len(names)} nodes"


def _seconds(value: float) -> str:
    return f"{value * 1e3:g} ms" if 0 < value < 1 else f"{value:g} s"


_UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))


def _rate(value: float) -> str:
    for size, unit in _UNITS:
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g} bit/s"


def _on(value: bool) -> str:
    return "on" if value else "off"


#: How a page begins, by which it is known.
_ROWS = 100_000  # at a time

#: Samples of windows or queues that a page takes, and packets whose sending it records.
_SAMPLES = 4000
_ALL_SAMPLES = 1_000_000
_MOST_PACKETS = 20_000_000


def check_outputs(
    scenario: Path, netcdf: Path | None, trace: Path | None, plot: Path | None, what: str, force: bool = False
) -> None:
    """Refuse what cannot be written, before anything runs; without `force`, also a file that does not hold `what`."""
    if netcdf is not None:
        files.check_netcdf_name(netcdf)
    for path in (trace, plot):
        if path is not None:
            files.check_writable(path)
    paths_in_use = {os.path.realpath(scenario)}
    for path in (netcdf, trace, plot):
        if path is not None:
            if os.path.realpath(path) in paths_in_use:
                raise OutputError(f"cannot write {path}: it is in use for something else here; give another name")
            paths_in_use.add(os.path.realpath(path))
            files.check_replaceable(path, force, what)
    if plot is not None:
        check_charts()


def write_sends(path: Path, result: xr.Dataset) -> None:
    """Write one row for each segment sent, in order of time: seconds, flow, segment from 0, repeat (1) or not (0).

    Where flows have a handshake, it is their segment 0, as in ns-2.
    """
    files.write_whole(path, (text.encode() for text in chain([files.TABLE], _table_rows(result))))


def _table_rows(result: xr.Dataset) -> Iterator[str]:
    names = ("send_time", "send_flow", "send_segment", "send_kind")
    for start in range(0, result.sizes["send"], _ROWS):
        part = [result[name].values[start : start + _ROWS] for name in names]
        part[3] = part[3] != 0  # kind 0 is new
        yield "".join(map("%.9f,%d,%d,%d\n".__mod__, zip(*(x.tolist() for x in part), strict=True)))


def recording(scenario: Scenario, trace: bool, plot: bool) -> Scenario:
    """The scenario with the recordings switched on that the outputs need."""
    wanted: dict[str, Any] = {}
    if trace or plot:
        wanted["sends"] = True
    if plot:
        if scenario.duration * scenario.packet_rate > _MOST_PACKETS:
            # The other figures do without.
            wanted["sends"] = trace or scenario.record.sends
        for key in ("receives", "drops"):
            wanted[key] = wanted["sends"] or getattr(scenario.record, key)
        for key, several in (("windows", scenario.count), ("queues", len(scenario.ways))):
            if getattr(scenario.record, key) is None:
                samples = max(100, min(_SAMPLES, _ALL_SAMPLES // several))
                wanted[key] = scenario.duration / samples
    return dataclasses.replace(scenario, record=dataclasses.replace(scenario.record, **wanted))


def write_page(path: Path, result: xr.Dataset) -> None:
    """Write the figures that the recordings allow as one HTML page that needs no network."""
    files.write_text(path, page(result))


def page(result: xr.Dataset) -> str:
    """The page."""
    from plotly.io import to_html
    from plotly.offline import get_plotlyjs

    from tcpdynamics.charts import packets as plots

    bodies = []
    for make in (plots.window_figure, plots.queue_figure, plots.throughput_figure, plots.sequence_figure):
        try:
            figure = make(result)
        except ValueError as error:
            bodies.append(f"<p>{html.escape(str(error))}</p>")
        else:
            # A name of its own, not a random one: the same run is the same page, byte by byte.
            name = f"figure-{len(bodies)}"
            bodies.append(to_html(figure, include_plotlyjs=False, full_html=False, div_id=name))
    seed = f", seed {result.attrs['seed']}" if "seed" in result.attrs else ""
    name = html.escape(f"{result.attrs.get('name', 'scenario')}{seed}")
    return (
        f'{files.page_start(files.holding(result.attrs))}<meta charset="utf-8"><title>{name}</title>\n'
        f'<script>{get_plotlyjs()}</script></head>\n<body style="font-family: sans-serif"><h1>{name}</h1>\n'
        + "\n".join(bodies)
        + "\n</body></html>\n"
    )
