"""Figures of packet simulations: of one run what it recorded, of replications means with intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import shown

from .look import BLUE, COLOURS, GREEN, LEGEND_BELOW, ORANGE, PURPLE, RED, SKY, words_of_groups

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Flows or links drawn where the caller names none.
SHOWN = 6

#: Sends that a sequence figure takes where the caller gives no times; more make a page slow.
_SENDS = 20_000
#: The line of several flows; the second where the result has a part of the flows.
TOGETHER = ("all flows", "these flows together")


def simulation_figure(result: xr.Dataset, what: str = "") -> go.Figure:
    """Of one run what was recorded first of windows, queues, receives; of replications, means with intervals.

    `what`: another figure of one run: "windows", "queues", "throughput", "drops", "segments" or "epochs".

    Of a run whose flows were selected (`run.sel(flow=[0, 1])`), those flows. Where more were recorded than a figure
    shows, its title says how many.

    Raises
    ------
    ValueError
        For another word, for what was not recorded, or without the coordinate `flow`.
    """
    if "flow" not in result.coords:
        raise ValueError(
            "the figure of a simulation needs the coordinate flow, got a Dataset without it; plot the runs, those of "
            "some flows (result.sel(flow=[0, 1])), or a mean over replication"
        )
    if what:
        figures: dict[str, Callable[[xr.Dataset], go.Figure]] = {
            "windows": window_figure, "queues": queue_figure, "throughput": throughput_figure,
            "drops": drops_figure, "segments": sequence_figure, "epochs": epochs_figure,
        }  # fmt: skip
        if what not in figures:
            raise ValueError(f"what must be one of {', '.join(figures)}, got {shown(what)}")
        return figures[what](result)
    if "replication" in result.dims:
        return replications_figure(result)
    if "window_time" in result:
        return window_figure(result)
    if "queue_time" in result:
        return queue_figure(result)
    if "receive_time" in result or result.sizes.get("slice", 0) > 1:
        return throughput_figure(result)
    return epochs_figure(result)


def epochs_figure(result: xr.Dataset) -> go.Figure:
    """P(n packets sent in an epoch), of one run."""
    figure = _figure(f"Packets sent in an epoch: {_title(result)}", "probability of an epoch")
    figure.update_yaxes(tickformat="~%")
    figure.add_bar(x=result.sent_in_epoch.values, y=_epoch_fraction(result).values, name="fraction of epochs")
    words = [*map(str, result.sent_in_epoch.values[:-1]), f"{int(result.sent_in_epoch[-1])} or more"]
    axis = {"title_text": "packets sent in an epoch", "tickvals": result.sent_in_epoch.values, "ticktext": words}
    return figure.update_xaxes(**axis)


def replications_figure(result: xr.Dataset, level: float = 0.95) -> go.Figure:
    """Means over replications with Student's intervals: packets sent in an epoch, and goodput of each flow."""
    from tcpdynamics.validation.statistics import mean_interval

    from .drawing import make_subplots

    figure = make_subplots(1, 2, horizontal_spacing=0.12)
    panels = (("epoch_fraction", "sent_in_epoch", "packets sent in an epoch", "probability of an epoch"),
              ("goodput_rate", "flow", "flow", "goodput [Mbit/s]"))  # fmt: skip
    groups = np.atleast_1d(result["group"].values) if "group" in result.coords else np.zeros(len(_flows(result)), int)
    for column, (name, dim, across, up) in enumerate(panels, start=1):
        values = _epoch_fraction(result) if name == "epoch_fraction" else result[name] / 1e6
        interval = mean_interval(values, level=level, fraction=name == "epoch_fraction")
        x, mean = np.atleast_1d(result[dim].values), np.atleast_1d(interval["mean"].values)
        below, above = (abs(np.atleast_1d(interval[end].values) - mean) for end in ("low", "high"))
        of = groups if dim == "flow" else np.full(len(x), -1)
        of_groups = _group_words(result) if dim == "flow" else {}
        for group in np.unique(of).tolist():
            mine = of == group
            figure.add_scatter(
                x=x[mine], y=mean[mine], mode="markers", row=1, col=column,
                error_y={"array": above[mine], "arrayminus": below[mine], "thickness": 1},
                name=of_groups.get(group, "all flows"),
                marker={"color": COLOURS[max(group, 0) % len(COLOURS)], "size": 7},
                showlegend=dim == "flow" and len(np.unique(groups)) > 1,
            )  # fmt: skip
        figure.update_xaxes(title_text=across, row=1, col=column)
        figure.update_yaxes(title_text=up, rangemode="tozero", row=1, col=column)
    last = int(result.sent_in_epoch[-1])
    words = [*map(str, range(last)), f"{last} or more"]
    figure.update_xaxes(tickvals=result.sent_in_epoch.values, ticktext=words, row=1, col=1)
    title = f"{result.attrs.get('name', 'scenario')}: {result.sizes['replication']} replications, {level:.0%} intervals"
    return figure.update_layout(template="plotly_white", height=450, title=title)


def window_figure(result: xr.Dataset, flows: Sequence[int] | None = None) -> go.Figure:
    """Congestion window and slow-start threshold against time; of TFRC, which has none, rate times RTT.

    Parameters
    ----------
    result : Dataset
        Of one simulation that recorded windows.
    flows : sequence of int, optional
        Default: those selected in the result, 6 of those that were recorded, of each group in turn.

    Raises
    ------
    ValueError
        Without the recording, for several replications, or for a flow that was not recorded.
    """
    _need(result, "window_time", "record.windows", "0.1")
    which = result.window_flow.values.astype(int)
    recorded = np.unique(which if flows is not None else which[np.isin(which, _flows(result))]).tolist()
    chosen, names = _choose(flows, _in_turn(result, recorded), "flows"), _flow_names(result)
    figure = _figure(f"Windows: {_title(result)}{_of_all(chosen, recorded, flows, 'flows')}", "window [packets]")
    highest = 0.0
    for j, flow in enumerate(chosen):
        rows = which == flow
        time, cwnd = result.window_time.values[rows], result.window_cwnd.values[rows]
        highest = max(highest, float(cwnd.max(initial=0)))
        style: dict[str, Any] = {"x": time, "mode": "lines", "legendgroup": str(flow)}
        colour = COLOURS[j % len(COLOURS)]
        line = {"color": colour, "shape": "hv"}
        name = names.get(flow, f"flow {flow}")
        sender = _sender(result, flow)
        if sender in ("cbr", "poisson"):
            continue
        if sender == "tfrc":
            figure.add_scatter(y=cwnd, name=f"{name}: rate times RTT", line=line, **style)
            continue
        figure.add_scatter(y=cwnd, name=f"{name}: cwnd", line=line, **style)
        dots = {**line, "dash": "dot", "width": 1}
        figure.add_scatter(y=result.window_ssthresh.values[rows], name=f"{name}: ssthresh", line=dots, **style)
    # A first ssthresh without meaning (2^31, say) must neither flatten everything else nor, where connections begin
    # again and again, fill the picture with lines that go up to it.
    top = 1.15 * max(highest, 1.0)
    for trace in figure.data if "connection_flow" in result else ():
        if trace.line.dash == "dot":
            trace.y = np.where(np.asarray(trace.y, float) <= top, trace.y, np.nan)
    figure.update_yaxes(range=[0, top])
    return figure


def queue_figure(result: xr.Dataset, links: Sequence[int | str] | None = None) -> go.Figure:
    """Packets waiting at links against time.

    Parameters
    ----------
    result : Dataset
        Of one simulation that recorded queues.
    links : sequence of str or int, optional
        Names as in the coordinate `link`, or their indices. Default: the 6 with the longest queues.

    Raises
    ------
    ValueError
        Without the recording, for several replications, or for a link that was not recorded.
    """
    _need(result, "queue_time", "record.queues", "0.1")
    which, packets = result.queue_link.values.astype(int), result.queue_packets.values
    names = _link_names(result)
    recorded = np.unique(which)
    if links is None and "link" in result.coords:
        recorded = recorded[np.isin([names[i] for i in recorded], np.atleast_1d(result.link.values))]
    # The longest first; of equals, the first listed.
    longest = [-float(packets[which == i].mean()) for i in recorded]
    ranked = recorded[np.argsort(longest, kind="stable")].tolist()
    numbers = None
    if links is not None:
        places = {name: i for i, name in enumerate(names)}
        numbers = [places.get(x, -1) if isinstance(x, str) else x for x in links]
        for link, number in zip(links, numbers, strict=True):
            if number not in ranked:
                listed = ", ".join(names[i] for i in ranked[:8])
                raise ValueError(f"links must name links that were recorded, got {link!r}; known: {listed}")
    chosen = _choose(numbers, ranked, "links")
    figure = _figure(f"Queues: {_title(result)}{_of_all(chosen, ranked, links, 'links')}", "waiting [packets]")
    for j, i in enumerate(chosen):
        rows = which == i
        figure.add_scatter(
            x=result.queue_time.values[rows], y=packets[rows], name=names[i], mode="lines",
            line={"color": COLOURS[j % len(COLOURS)], "shape": "hv", "width": 1},
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero")
    return figure


def throughput_figure(
    result: xr.Dataset, width: float = 1.0, unit: str = "", flows: Sequence[int] | None = None
) -> go.Figure:
    """What is received per second against time: of 6 flows, of each group in turn, and of all together.

    From recorded receives, in bins of `width` seconds, repeats included; without them from the goodput of slices,
    whose width is the scenario's.

    Parameters
    ----------
    result : Dataset
        Of one simulation.
    width : float
        Of a bin [s].
    unit : {"packets/s", "Mbit/s"}
        Mbit/s, the default where the result knows its packets' sizes, count headers too; a handshake is as small as it
        is, but in slices as large as a data packet.
    flows : sequence of int, optional
        Those drawn one by one. Default: 6, of each group in turn.

    Raises
    ------
    ValueError
        For several replications, a width that is not positive, an unknown unit, a flow that there is not, or if there
        are neither receives nor slices.
    """
    _check_width(width)
    chosen = _choose(flows, _in_turn(result, _flows(result)), "flows")
    sized = all("packet_size" in group for group in _scenario(result).get("flows", [{}]))
    unit = unit or ("Mbit/s" if sized else "packets/s")
    if unit not in ("packets/s", "Mbit/s"):
        raise ValueError(f"unit must be 'packets/s' or 'Mbit/s', got {unit!r}")
    size = 1e-6 * _packet_bits(result) if unit == "Mbit/s" else None
    if "receive_time" in result:
        _need(result, "receive_time", "record.receives", "true")
        weights = None if size is None else _received_bits(result, size)
        edges, rates = _binned(result, "receive", width, chosen, weights)
        what = "received, repeats included"
    elif result.sizes.get("slice", 0) > 0:
        _need(result, "slice_goodput", "record.receives", "true")
        edges, rates = _sliced(result, chosen, size)
        what = "goodput by slice"
    else:
        raise ValueError("result has no receives and no whole slice; set record.receives = true or shorten slice")
    missing = _of_all(chosen, _flows(result), flows, "flows")
    figure = _figure(f"Throughput ({what}): {_title(result)}{missing}", f"throughput [{unit}]")
    _steps(figure, edges, rates)
    return figure


def drops_figure(result: xr.Dataset, width: float = 1.0, flows: Sequence[int] | None = None) -> go.Figure:
    """Data packets lost per second against time: of 6 flows, of each group in turn, and of all; acknowledgements apart.

    Parameters
    ----------
    result : Dataset
        Of one simulation that recorded drops.
    width : float
        Of a bin [s].
    flows : sequence of int, optional
        Those drawn one by one. Default: 6, of each group in turn.

    Raises
    ------
    ValueError
        Without the recording, for several replications, a width that is not positive, or a flow that there is not.
    """
    _check_width(width)
    chosen = _choose(flows, _in_turn(result, _flows(result)), "flows")
    _need(result, "drop_time", "record.drops", "true")
    data = result.drop_kind.values < len(result.kind)
    edges, rates = _binned(result.isel({"drop": data}), "drop", width, chosen)
    if not data.all():
        both = _binned(result.isel({"drop": ~data}), "drop", width, chosen)[1]
        rates["acknowledgements"] = next(iter(both.values()))
    missing = _of_all(chosen, _flows(result), flows, "flows")
    figure = _figure(f"Losses: {_title(result)}{missing}", "lost [packets/s]")
    _steps(figure, edges, rates)
    return figure


def _check_width(width: float) -> None:
    if not width > 0 or not np.isfinite(width):
        raise ValueError(f"width must be a finite number of seconds above 0, got {width}; 1.0 is a common choice")


def _steps(figure: Any, edges: np.ndarray, rates: dict[str, np.ndarray]) -> None:
    """A line for each rate, constant between edges; each flow in its colour of the windows."""
    together = next(iter(rates)) in TOGETHER
    for j, (name, values) in enumerate(rates.items()):
        # The last value once more, so that its step has a width.
        figure.add_scatter(
            x=edges, y=np.append(values, values[-1:]), name=name, mode="lines",
            line={"color": COLOURS[(j - together) % len(COLOURS)], "shape": "hv", "width": 1 if j else 2},
        )  # fmt: skip
    figure.update_yaxes(rangemode="tozero")


def sequence_figure(
    result: xr.Dataset, flow: int | None = None, start: float | None = None, end: float | None = None
) -> go.Figure:
    """Segments against time, as in Stevens' and Jacobson's plots: sent, sent again, lost, received.

    Parameters
    ----------
    result : Dataset
        Of one simulation that recorded sends; drops and receives are marked if recorded too.
    flow : int, optional
        Default: the first of the result.
    start, end : float, optional
        Simulated times [s] to draw between. Default: everything, or the flow's first 20 000 sends if there are more.

    Raises
    ------
    ValueError
        Without the recording, for several replications, or for a flow that sent nothing in that time.
    """
    _need(result, "send_time", "record.sends", "true")
    time = result.send_time.values
    flow = _flows(result)[0] if flow is None else flow
    first = -np.inf if start is None else start
    mine = np.flatnonzero((result.send_flow.values == flow) & (time >= first))
    last = np.inf if end is None else end
    if end is None and len(mine) > _SENDS:
        last = float(time[mine[_SENDS - 1]])
    mine = mine[time[mine] <= last]
    if not len(mine):
        raise ValueError(f"flow {flow} sent nothing between {first:g} and {last:g} s; choose another flow or time")
    segments, kinds = result.send_segment.values, result.send_kind.values
    words = [str(kind).replace("_", " ") for kind in result.kind.values]
    note = f", first {len(mine)} sends" if end is None and np.isfinite(last) else ""
    figure = _figure(f"Segments of {_flow_names(result).get(flow, f'flow {flow}')}{note}: {_title(result)}", "segment")
    for kind, word in enumerate(words):
        rows = mine[kinds[mine] == kind]
        if len(rows):
            colour = (BLUE, ORANGE, PURPLE, SKY)[kind % 4]
            _points(figure, time[rows], segments[rows], f"sent: {word}", colour, "circle", 4 if kind == 0 else 7)
    for name, label, colour, symbol, size in (
        ("receive", "received", GREEN, "line-ns-open", 4),
        ("drop", "lost", RED, "x", 8),
    ):
        if f"{name}_time" not in result:
            continue
        at = result[f"{name}_time"].values
        rows = (result[f"{name}_flow"].values == flow) & (at >= first) & (at <= last)
        # Among drops are acknowledgements, whose numbers are no segments.
        rows &= result[f"{name}_kind"].values < len(words)
        if rows.any():
            _points(figure, at[rows], result[f"{name}_segment"].values[rows], label, colour, symbol, size)
    return figure


def _points(figure: Any, x: Any, y: Any, name: str, colour: str, symbol: str, size: int) -> None:
    figure.add_scattergl(x=x, y=y, name=name, mode="markers", marker={"color": colour, "symbol": symbol, "size": size})


def _figure(title: str, vertical: str) -> go.Figure:
    from .drawing import go  # slow to import, so only here

    figure = go.Figure()
    figure.update_layout(
        template="plotly_white", height=450, title=title, xaxis_title="time [s]", yaxis_title=vertical,
        legend=LEGEND_BELOW, showlegend=True,
    )  # fmt: skip
    return figure


def _need(result: xr.Dataset, name: str, key: str, value: str) -> None:
    if "replication" in result.dims:
        raise ValueError(
            f"result must be of one simulation, got {result.sizes['replication']} replications; "
            "take one with isel(replication=0), or simulate once"
        )
    if name not in result:
        raise ValueError(f"result has no {name}; set {key} = {value} in the scenario and run again")


def _choose(wanted: Sequence[int] | None, known: list[int], what: str) -> list[int]:
    if wanted is None:
        return known[:SHOWN]
    for number in wanted:
        if number not in known:
            listed = ", ".join(map(str, known[:8]))
            raise ValueError(f"{what} must name {what} that were recorded, got {number}; known: {listed}")
    return list(wanted)


def _in_turn(result: xr.Dataset, known: list[int]) -> list[int]:
    """Flows in an order whose beginning shows every group: the first flow of each, the second of each, ..."""
    if "group" not in result.coords:
        return known
    of_flow = dict(zip(_flows(result), np.atleast_1d(result["group"].values).tolist(), strict=True))
    rank: dict[int, tuple[int, int]] = {}
    count: dict[int, int] = {}
    for flow in known:
        group = of_flow.get(flow, -1)
        count[group] = count.get(group, 0) + 1
        rank[flow] = (count[group], group)
    ordered = sorted(known, key=rank.__getitem__)
    return sorted(ordered[:SHOWN]) + ordered[SHOWN:]


def _title(result: xr.Dataset) -> str:
    seed = f", seed {result.attrs['seed']}" if "seed" in result.attrs else ""
    return f"{result.attrs.get('name', 'scenario')}{seed}"


def _of_all(drawn: Sequence[int], known: Sequence[int], wanted: object, what: str) -> str:
    """How many of what could be drawn are drawn, where nobody chose them."""
    return f" ({len(drawn)} of {len(known)} {what})" if wanted is None and len(drawn) < len(known) else ""


def _link_names(result: xr.Dataset) -> list[str]:
    """Names of the links by their numbers in recordings, also where some of them were selected."""
    names = [str(link["name"]) for link in json.loads(result.attrs.get("what_you_ran", "{}")).get("links", ())]
    if "link" in result.coords and len(names) < result.link.size:
        names = [str(name) for name in np.atleast_1d(result.link.values)]
    count = int(result.queue_link.values.max(initial=-1)) + 1
    return [*names, *(f"link {i}" for i in range(len(names), count))]


def _flows(result: xr.Dataset) -> list[int]:
    """Numbers of the flows that the result is about: all, or those selected."""
    return [int(i) for i in np.atleast_1d(result["flow"].values)]


def _group_words(result: xr.Dataset) -> dict[int, str]:
    """Names of the groups of flows by their numbers, with their rule or sender."""
    return {i: f"group {i}: {word}" for i, word in enumerate(words_of_groups(_groups(result)))}


def _groups(result: xr.Dataset) -> list[dict[str, str]]:
    """Sender and rule of each group of flows."""
    return [
        {
            "sender": program_name(group.get("program")) or str(group.get("sender", "")),
            "control": str(group.get("control", "reno")),
        }
        for group in _scenario(result).get("flows", [])
    ]


def program_name(program: Mapping[str, Any] | None) -> str:
    """The stack of a group's program, or the name of its server's file; "" without a program.

    Examples
    --------
    >>> program_name({"server": ("env", "PORT=1", "/usr/bin/iperf3", "-s")}), program_name(None)
    ('iperf3', '')
    """
    if not program or program.get("stack"):
        return str((program or {}).get("stack", ""))
    server = program["server"]
    return str(next((word for word in server if word != "env" and "=" not in word), server[0])).rsplit("/", 1)[-1]


def _flow_names(result: xr.Dataset) -> dict[int, str]:
    """Names of the flows of a result by their number, with what tells groups apart: sender and rule, or the group."""
    groups = _groups(result)
    words = words_of_groups(groups)
    own_rule = any(group["control"] != "reno" for group in groups)
    if len(groups) > 1 and len(set(words)) == 1:
        words = [f"group {i}" for i in range(len(groups))]
    if "group" not in result.coords or not (len(groups) > 1 or own_rule):
        return {i: f"flow {i}" for i in _flows(result)}
    which = np.atleast_1d(result["group"].values).astype(int)
    return {i: f"flow {i} ({words[g]})" for i, g in zip(_flows(result), which, strict=True)}


def _sender(result: xr.Dataset, flow: int) -> str:
    """What a flow's sender is; flows stand in the order of their groups."""
    last = 0
    for group in _scenario(result).get("flows", ()):
        last += group.get("count", 1)
        if flow < last:
            return str(group.get("sender", ""))
    return ""


def _epoch_fraction(result: xr.Dataset) -> xr.DataArray:
    """P(n packets sent in an epoch) of the flows of a result."""
    count = sum(group.get("count", 1) for group in _scenario(result).get("flows", ()))
    if "epochs" not in result or len(_flows(result)) >= count:
        fraction: xr.DataArray = result["epoch_fraction" if "epoch_fraction" in result else "epoch_share"]
        return fraction
    epochs = result["epochs"].sum("flow") if "flow" in result["epochs"].dims else result["epochs"]
    total = epochs.sum("sent_in_epoch")
    return epochs / total.where(total > 0)


def _scenario(result: xr.Dataset) -> dict[str, Any]:
    text = result.attrs.get("scenario", "{}")
    return dict(json.loads(text))


def _packet_bits(result: xr.Dataset) -> np.ndarray:
    """Bits of a data packet of each flow of the scenario."""
    groups = _scenario(result).get("flows", [])
    bits: np.ndarray = np.repeat([8.0 * g["packet_size"] for g in groups], [g["count"] for g in groups])
    return bits


def _received_bits(result: xr.Dataset, size: np.ndarray) -> np.ndarray:
    """What each receive brings, in the unit of `size`; segment 0 of a flow with a handshake is a small packet."""
    groups = json.loads(result.attrs["what_you_ran"])["flows"]
    share = [g["ack_size"] / g["packet_size"] if g["handshake"] else 1.0 for g in groups]
    shrunk = size * np.repeat(share, [g["count"] for g in groups])
    flow = result.receive_flow.values
    brought: np.ndarray = np.where(result.receive_segment.values == 0, shrunk[flow], size[flow])
    return brought


def _binned(
    result: xr.Dataset, what: str, width: float, chosen: list[int], weights: np.ndarray | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Edges of the bins [s], the last perhaps narrower, and rates in each: of all and of the chosen flows."""
    time, flow = result[f"{what}_time"].values, result[f"{what}_flow"].values
    # An interrupted run ended earlier than planned.
    planned = result.attrs.get("interrupted_at", _scenario(result).get("duration", 0.0))
    end = max(float(planned), float(time.max(initial=0.0)), width)
    count = int(np.ceil(end / width * (1 - 1e-12)))
    if count > 1_000_000:
        raise ValueError(f"width = {width:g} s makes {count} bins of {end:g} s, more than a million; make it wider")
    edges = np.append(width * np.arange(count), end)
    place = np.minimum((time / width).astype(np.int64), count - 1)
    rates = {}
    for name, members in _lines(result, chosen).items():
        mine = np.isin(flow, members)
        of_mine = None if weights is None else weights[mine]
        rates[name] = np.bincount(place[mine], of_mine, minlength=count) / np.diff(edges)
    return edges, rates


def _sliced(
    result: xr.Dataset, chosen: list[int], size: np.ndarray | None = None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    starts = result.slice.values
    width = float(_scenario(result).get("slice", starts[1] - starts[0] if len(starts) > 1 else 1.0))
    goodput = result.slice_goodput
    goodputs = goodput.transpose("flow", "slice").values if "flow" in goodput.dims else goodput.values[None]
    flows = np.array(_flows(result))
    if size is not None:
        goodputs = goodputs * size[flows][:, None]
    lines = _lines(result, chosen)
    rates = {name: goodputs[np.isin(flows, members)].sum(0) / width for name, members in lines.items()}
    return np.append(starts, starts[-1] + width), rates


def _lines(result: xr.Dataset, chosen: list[int]) -> dict[str, list[int]]:
    """Names and members of the lines of a figure: the flows of a result together, then those chosen one by one."""
    flows, names = _flows(result), _flow_names(result)
    flow_lines = {names[i]: [i] for i in chosen}
    if len(flows) == 1:
        return flow_lines
    count = sum(group.get("count", 1) for group in _scenario(result).get("flows", ()))
    return {TOGETHER[len(flows) < count]: flows} | flow_lines
