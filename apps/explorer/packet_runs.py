"""Packet runs for a page: a scenario by name or text, with changes; its pictures, tables, code and NetCDF."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import InputError, shown

from .jobs import MAX_RESULT, Parts, Progress
from .scenario_form import MAX_CHANGES, MAX_TEXT, MAX_VALUE, changed, check_ends, groups_of, ready

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.validation.packet import Record, Scenario

#: Pictures of a run, by the words of an address.
PICTURES = ("windows", "queues", "throughput", "drops")
#: Samples of windows and queues over a run, and of all flows or links together.
SAMPLES, ALL_SAMPLES = 1000, 200_000
#: Flows in the table of a page.
MOST_FLOWS = 200
#: The name that the code has for a text without one.
FILE = "my_scenario.toml"


def read(words: Mapping[str, Any]) -> dict[str, Any]:
    """What a browser asks to run: `scenario` (a ready one's name) or `text` (TOML), and `changes` (key -> text).

    Raises
    ------
    InputError
        No such scenario, a text or changes that are too long, or, of a ready scenario, whatever its reader refuses.
    """
    name, text, changes = words.get("scenario"), words.get("text"), words.get("changes", {})
    good = isinstance(changes, dict) and len(changes) <= MAX_CHANGES
    if not good or not all(isinstance(x, str) and len(x) <= MAX_VALUE for x in changes.values()):
        raise InputError(f"changes must be at most {MAX_CHANGES} values of {MAX_VALUE} characters each")
    if isinstance(text, str):
        check_text(text)
        return {"text": text, "changes": changes}
    if not isinstance(name, str):
        raise InputError(f"scenario must be a name or a text, got {shown(name, 60)}")
    check_ready(name, changes)
    return {"scenario": name, "changes": changes}


def check_text(text: str) -> None:
    """Refuse a text that is too long for a page."""
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_TEXT:
        raise InputError(
            f"the file has {size:,} bytes, at most {MAX_TEXT:,} are read here; take `tcpdynamics simulate` for it"
        )


def check_ready(name: str, changes: Mapping[str, str]) -> Scenario:
    """A ready scenario with changes, as the command reads it."""
    from tcpdynamics.validation.packet import parse_scenario

    table = changed(ready(name), changes)
    check_ends(table)
    scenario = parse_scenario(table)
    recordings(scenario)
    return scenario


def form(words: dict[str, Any], progress: Progress) -> Parts:
    """The form of a scenario that a text describes, once its reader has accepted it."""
    from tcpdynamics.validation.packet import parse_scenario
    from tcpdynamics.validation.packet.scenario.toml import table_of

    table = table_of(words["text"], "the file")
    name = parse_scenario(table).name
    return {"form.json": json.dumps({"name": name, "groups": groups_of(table)}).encode()}


def run(words: dict[str, Any], progress: Progress) -> Parts:
    """Simulate, and say everything that a page shows, as JSON and as NetCDF."""
    from tcpdynamics.validation.packet import parse_scenario, simulate
    from tcpdynamics.validation.packet.scenario.toml import table_of

    from ..files import netcdf

    named = words.get("scenario")
    table = ready(named) if named else table_of(words["text"], "the file")
    changed(table, words["changes"])
    record = recordings(parse_scenario({k: v for k, v in table.items() if k != "record"}))
    table["record"] = {k: v for k, v in dataclasses.asdict(record).items() if v}
    scenario = parse_scenario(table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = simulate(scenario, progress=progress)
    said = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    said += [result.attrs["warning"]] if result.attrs["warning"] else []
    shown_run = about(result, scenario) | {
        "said": said,
        "code": code(named, words["changes"], table["record"]),
        "command": command(named, words["changes"], table["record"]),
    }
    answer = json.dumps(shown_run, allow_nan=False).encode()
    return {"result.json": answer, "result.nc": b"".join(map(bytes, netcdf(result)))}


def prepare() -> None:
    """Load the libraries and the compiled simulator, by a run of a second."""
    run({"scenario": "one_loss", "changes": {"duration": "1s", "slice": "1s"}}, lambda share: None)


def recordings(scenario: Scenario) -> Record:
    """What a run must write down for the pictures, and no more; receipts and losses only where they fit.

    Raises
    ------
    InputError
        What comes out would be larger than a job may keep.
    """
    from tcpdynamics.validation.packet import Record

    def every(several: int) -> float:
        samples = max(20, min(SAMPLES, ALL_SAMPLES // several))
        return float(f"{scenario.duration / samples:.3g}")

    windows = every(scenario.count) if scenario.count <= ALL_SAMPLES // 20 else None
    queues = every(len(scenario.ways)) if len(scenario.ways) <= ALL_SAMPLES // 20 else None
    least = Record(windows=windows, queues=queues)
    for record in (dataclasses.replace(least, receives=True, drops=True), least):
        size = size_of(scenario, record)
        if size <= MAX_RESULT:
            return record
    raise InputError(
        f"the result would have about {size:,.0f} bytes, at most {MAX_RESULT:,} are kept on this page; lower "
        "flows.count or lengthen slice, or take `tcpdynamics simulate`"
    )


def size_of(scenario: Scenario, record: Record) -> float:
    """Bytes of what comes out of a run, at most about: rows for flows, ways, samples and packets as they are kept."""
    from tcpdynamics.validation.packet.scenario.scenario import SILENCE_BINS

    def samples(every: float | None) -> float:
        return 0.0 if every is None else scenario.duration / every + 2

    flow = 8.0 * (60 + scenario.most_in_epoch + scenario.slices) + 4.0 * SILENCE_BINS + 72.0 * samples(record.windows)
    way = 100.0 + 72.0 * samples(record.queues)  # kept, and drawn
    packets = 40.0 * scenario.duration * scenario.packet_rate if record.receives else 0.0
    return 600_000.0 + scenario.count * flow + len(scenario.ways) * way + packets


def bin_width(duration: float) -> float:
    """Seconds: a round part of the run, of which it has 100 to 250.

    Examples
    --------
    >>> bin_width(60.0), bin_width(1000.0)
    (0.5, 10.0)
    """
    unit = 10.0 ** math.floor(math.log10(duration / 100))
    step: float = max(m for m in (1.0, 2.0, 5.0) if m * unit <= duration / 100 * (1 + 1e-9)) * unit
    return float(f"{step:.6g}")


def about(result: xr.Dataset, scenario: Scenario) -> dict[str, Any]:
    """Pictures, tables and words of a run."""
    from tcpdynamics.charts import packets as charts
    from tcpdynamics.json_values import finite

    from ..packet_outputs import summary_lines

    width, drawn = bin_width(scenario.duration), spread([group.count for group in scenario.flows])
    makers: tuple[Callable[[], Any], ...] = (
        lambda: charts.window_figure(result, drawn),
        lambda: charts.queue_figure(result),
        lambda: charts.throughput_figure(result, width, "Mbit/s", drawn),
        lambda: charts.drops_figure(result, width, drawn),
    )
    pictures: dict[str, Any] = {}
    for name, make in zip(PICTURES, makers, strict=True):
        try:
            pictures[name] = picture(make())
        except ValueError:
            pictures[name] = None
    answer: dict[str, Any] = finite(
        {
            "name": scenario.name,
            "seed": str(scenario.seed),
            "duration": scenario.duration,
            "width": width,
            "pictures": pictures,
            "ended": ended(result, scenario),
            "facts": facts(result, scenario),
            "fairness": fairness(result),
            "flows": flows(result),
            "summary": "\n".join(summary_lines(result, scenario)),
        }
    )
    return answer


def spread(counts: Sequence[int], most: int = 6) -> list[int]:
    """Numbers of the flows that are drawn: of every group the first, then of every group the second, ...

    Examples
    --------
    >>> spread([4, 1, 4], most=5)
    [0, 1, 4, 5, 6]
    """
    first = np.cumsum([0, *counts])
    turns = [(k, int(first[g]) + k) for g, count in enumerate(counts) for k in range(min(count, most))]
    return sorted(flow for _, flow in sorted(turns)[:most])


def ended(result: xr.Dataset, scenario: Scenario) -> float | None:
    """When the last transfer ended [s], where all ended between the warm-up and the end of the run."""
    last = float(result.finish.max(skipna=False))
    return last if scenario.warm_up < last < scenario.duration else None


def facts(result: xr.Dataset, scenario: Scenario) -> list[list[Any]]:
    """Lines of the summary: label, value, digits and the time [s] over which it is taken; rates in Mbit/s.

    Nothing is sent after the last transfer's end: averages until then follow from those over the whole time.
    """
    from ..packet_outputs import LINES, rows

    begin, end, last = scenario.warm_up, scenario.duration, ended(result, scenario)
    labels = {name: label for name, label, _ in LINES}
    completions = {labels[name] for name in ("transfers_finished", "completion")}
    averages = {labels[name] for name in ("goodput_packets", "goodput_bits", "mean_queue")}
    if not any(way.changes for way in scenario.ways):  # else it is the fraction of what the link could carry
        averages.add(labels["utilisation"])
    lines = []
    for label, value, digits, _ in rows(result, scenario):
        spans = [(0.0 if label in completions else begin, end, 1.0)]
        if last is not None and label in averages:
            spans.append((begin, last, (end - begin) / (last - begin)))
        name, unit, places = (
            (label.replace("[bit/s]", "[Mbit/s]"), 1e-6, 4) if "[bit/s]" in label else (label, 1.0, digits)
        )
        lines += [[name, unit * factor * value.item(), places, f"{a:.4g} to {b:.4g}"] for a, b, factor in spans]
    return lines


def picture(figure: Any) -> dict[str, Any]:
    """A figure of the library as titles and lines of plain numbers."""
    axis = figure.layout.yaxis
    lines = [
        {
            "name": trace.name,
            "x": np.asarray(trace.x, float).tolist(),
            "y": np.asarray(trace.y, float).tolist(),
            "color": trace.line.color,
            "dash": trace.line.dash or "solid",
            "width": trace.line.width or 2,
        }
        for trace in figure.data
    ]
    return {
        "title": figure.layout.title.text,
        "xTitle": figure.layout.xaxis.title.text,
        "yTitle": axis.title.text,
        "top": axis.range[1] if axis.range else None,
        "lines": lines,
    }


def fairness(result: xr.Dataset) -> list[list[Any]]:
    """Name, value and meaning of the indices of the flows' goodput; none if nothing arrived."""
    from tcpdynamics.models import fairness as indices

    x = result.goodput_rate.values.tolist()
    if not any(x):
        return []
    return [
        ["Jain's index", indices.jain(x), "the fraction of the flows that equal parts would serve; 1: all alike"],
        ["min/max", indices.min_max_ratio(x), "the least goodput over the largest; 1: all alike, 0: one starves"],
        [
            "entropy",
            indices.entropy(x),
            f"of the fractions, in nat; all alike: {math.log(len(x)):.4g}, 0: one has everything",
        ],
        ["Gini", indices.gini(x), "twice the area between the Lorenz curve and the line of equality; 0: all alike"],
        ["Hoover", indices.hoover(x), "the fraction that must move for equal rates; 0: all alike"],
        ["Atkinson", indices.atkinson(x, 1.0), "with aversion 1; 0: all alike, 1: one has nothing"],
    ]


def flows(result: xr.Dataset) -> dict[str, Any]:
    """The first flows, one a row, with the unit in the column's head."""
    first = result.isel(flow=slice(0, MOST_FLOWS))
    total = float(result.goodput_rate.sum()) or math.nan
    arrived, lost = first.arrived_by_kind.sum("kind"), first.dropped_by_kind.sum("kind")
    columns = {
        "flow": first.flow,
        "group": first.group,
        "base RTT [ms]": 1e3 * first.base_rtt,
        "mean RTT [ms]": 1e3 * first.mean_rtt,
        "goodput [Mbit/s]": 1e-6 * first.goodput_rate,
        "of all [%]": 100 * first.goodput_rate / total,
        "sent [packets]": first.sent,
        "lost [packets]": first.dropped,
        "loss [1]": lost / arrived.where(arrived > 0),
        "timeouts": first.timeouts,
        "start [s]": first.start,
        "finish [s]": first.finish,
    }
    rows = np.column_stack([column.values.astype(float) for column in columns.values()])
    return {"columns": list(columns), "rows": rows.tolist(), "all": result.sizes["flow"]}


def code(named: str | None, changes: Mapping[str, str], record: Mapping[str, Any]) -> str:
    """Python that gives the same numbers."""
    where = f'ready_scenarios()["{named}"]' if named else f'"{FILE}"'
    names = "parse_scenario, ready_scenarios, simulate" if named else "parse_scenario, simulate"
    lines = [
        f"from tcpdynamics.validation.packet import {names}",
        "from tcpdynamics.validation.packet.scenario.toml import load_table",
        "",
        f"table = load_table({where})",
    ]
    for key, value in _values(named, changes).items():
        *above, last = (int(word) if word.isdigit() else word for word in key.split("."))
        place = "".join(f"[{word!r}]" for word in above if word != "bottleneck")
        if above == ["bottleneck"]:
            place = '.setdefault("bottleneck", {})'
        lines.append(f"table{place}[{last!r}] = {value!r}")
    lines += [
        f'table["record"] = {dict(record)!r}',
        "result = simulate(parse_scenario(table))",
        "print(float(result.loss_rate), float(result.goodput_rate.sum()))  # loss [1], goodput of all flows [bit/s]",
    ]
    return "\n".join(lines)


def _values(named: str | None, changes: Mapping[str, str]) -> dict[str, Any]:
    """What the texts of a form mean."""
    from ..overrides import override

    values = {}
    for key, text in changes.items():
        table: dict[str, Any] = {}
        override(table, f"x={text}")
        values[key] = table["x"]
    return values


def command(named: str | None, changes: Mapping[str, str], record: Mapping[str, Any]) -> str:
    """The command line that gives the same numbers."""
    settings = [f"{key}={text}" for key, text in changes.items()]
    settings += [f"record.{key}={json.dumps(value)}" for key, value in record.items()]
    words = ["tcpdynamics", "simulate", named or FILE]
    words += [word for setting in settings for word in ("--set", setting)]
    return shlex.join([*words, "--output", f"{named or 'result'}.nc"])
