"""Thumbnails: small SVGs of figures and of the networks of scenarios, drawn without a browser."""

from __future__ import annotations

from collections import Counter, deque
from itertools import groupby
from typing import Any

import numpy as np

from tcpdynamics.charts.look import BLUE, COLOURS, GREY, RED
from tcpdynamics.validation.packet import Scenario

WIDTH, HEIGHT = 240, 140
#: Rows and columns of a heatmap, at most.
CELLS = (20, 30)
UNITS = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


def _svg(height: int, parts: list[str]) -> str:
    """The ground is white, so that black lines are seen in a dark theme, too."""
    size = f'width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">'
    return f'{head}<rect {size} fill="#fff"/>{"".join(parts)}</svg>\n'


def _numbers(values: Any, axis: Any, count: int) -> Any:
    """Data as an axis counts them: logarithms on a logarithmic one, words and missing places by their order."""
    values = np.arange(count) if values is None else np.asarray(values)
    values = values.astype(float) if values.dtype.kind in "biuf" else np.arange(len(values), dtype=float)
    return np.log10(np.where(values > 0, values, np.nan)) if axis.type == "log" else values


def _curve(trace: Any, colour: str, across: Any, up: Any) -> list[str]:
    """Lines, with gaps where values are missing, and markers."""
    if trace.type == "scatter" and trace.line.shape == "hv":
        across, up = np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]
    mode = trace.mode or ("lines" if len(up) >= 20 else "lines+markers")
    line = f'fill="none" stroke="{colour}" stroke-width="1.5"'
    if trace.line.dash not in (None, "solid"):
        line += ' stroke-dasharray="4 3"'
    radius, at = 3 if len(up) < 10 else 1.6 if len(up) < 60 else 0.8, np.column_stack([across, up])
    runs = [list(run) for whole, run in groupby(at, lambda spot: bool(np.isfinite(spot).all())) if whole]
    parts = []
    for run in runs if "lines" in mode else ():
        places = " ".join(f"{a:.1f},{b:.1f}" for a, b in run[:: 1 + len(run) // 600])
        parts.append(f'<polyline points="{places}" {line}/>')
    if "markers" in mode:  # one for those that fall on the same pixel
        inside = (spot for run in runs for spot in run if 0 <= spot[0] <= WIDTH and 0 <= spot[1] <= HEIGHT)
        spots = dict.fromkeys(f"M{a:.0f} {b:.0f}h0" for a, b in inside)
        look = f'stroke="{colour}" stroke-width="{2 * radius}" stroke-linecap="round"'
        parts.append(f'<path d="{"".join(spots)}" {look}/>')
    return parts


def _cells(trace: Any, width: float, height: float) -> list[str]:
    """A heatmap as coarse cells, each with the colour that its value has on the figure's scale."""
    z = np.asarray(trace.z, float)
    z = z[np.ix_(*(np.linspace(0, n - 1, min(n, most)).astype(int) for n, most in zip(z.shape, CELLS, strict=True)))]
    low, high = (np.nanmin(z), np.nanmax(z)) if trace.zmin is None else (trace.zmin, trace.zmax)
    wide, tall, painted = width / z.shape[1], height / z.shape[0], dict[str, str]()
    for (i, j), value in np.ndenumerate((z - low) / ((high - low) or 1.0)):
        colour = next((colour for place, colour in reversed(trace.colorscale) if place <= value), "none")
        cell = f"M{j * wide:.1f} {height - (i + 1) * tall:.1f}h{wide + 0.3:.1f}v{tall + 0.3:.1f}h-{wide + 0.3:.1f}z"
        painted[colour] = painted.get(colour, "") + cell
    return [f'<path d="{cells}" fill="{colour}"/>' for colour, cells in painted.items()]


def _panel(axes: list[Any], traces: list[tuple[str, Any]]) -> str:
    """The traces of one panel, cut at its edges, within a frame."""
    counts = [len(trace.y if trace.x is None else trace.x) for _, trace in traces]
    data = [[_numbers(trace[name], axis, n) for (_, trace), n in zip(traces, counts, strict=True)]
            for name, axis in zip("xy", axes, strict=True)]  # fmt: skip
    bars, kinds = [trace for _, trace in traces if trace.type == "bar"], {trace.type for _, trace in traces}
    places, sizes, starts = [], [], []
    for k, (axis, room) in enumerate(zip(axes, (WIDTH - 8, HEIGHT - 8), strict=True)):
        values = np.concatenate([*data[k], [0.0] if bars and k else []])
        low, high = np.nanmin(values), np.nanmax(values)
        edge = ((high - low) or 1.0) * (0.0 if "heatmap" in kinds else 0.5 / counts[0] if bars and not k else 0.04)
        low, high = axis.range or (low - edge, high + edge)
        start, end = axis.domain or (0.0, 1.0)
        sizes.append(room * (end - start))
        starts.append(4 + room * (1 - end if k else start))
        places.append([sizes[k] * (v - low) / (high - low) for v in data[k]])
    (width, height), parts = sizes, []
    for (colour, trace), across, up in zip(traces, *places, strict=True):
        if trace.type == "heatmap":
            parts += _cells(trace, width, height)
        elif trace.type == "bar":
            wide = 0.8 * width / (len(across) + 1) / len(bars)
            shift = wide * (bars.index(trace) - len(bars) / 2)
            parts += [f'<rect x="{a + shift:.1f}" y="{height - b:.1f}" width="{wide:.1f}" height="{b:.1f}" '
                      f'fill="{colour}"/>' for a, b in zip(across, up, strict=True)]  # fmt: skip
        else:
            parts += _curve(trace, colour, across, height - up)
    size = f'width="{width:.1f}" height="{height:.1f}"'
    frame = f'<rect {size} fill="none" stroke="{GREY}"/>'
    return f'<svg x="{starts[0]:.1f}" y="{starts[1]:.1f}" {size}>{"".join(parts)}{frame}</svg>'


def of_figure(figure: Any) -> str:
    """The lines, markers, bars and heatmaps of a figure in its panels, on its axes, without any text."""
    panels: dict[tuple[str, str], list[tuple[str, Any]]] = {}
    for number, trace in enumerate(figure.data):
        chosen = trace.type != "heatmap" and (trace.marker.color or (trace.type == "scatter" and trace.line.color))
        colour = chosen if isinstance(chosen, str) else COLOURS[number % len(COLOURS)]
        panels.setdefault((trace.xaxis or "x", trace.yaxis or "y"), []).append((colour, trace))
    axes = {names: [figure.layout[f"{name[0]}axis{name[1:]}"] for name in names] for names in panels}
    return _svg(HEIGHT, [_panel(axes[names], traces) for names, traces in panels.items()])


def _rate(bits: float) -> str:
    """A rate with its unit.

    >>> _rate(5e5)
    '500 kbit/s'
    """
    size, unit = next((size, unit) for size, unit in UNITS if bits >= size)
    return f"{bits / size:g} {unit}"


def _layers(pairs: list[tuple[str, str]], first: str) -> dict[str, tuple[float, float]]:
    """Nodes by their distance from the first one; the busiest of a layer, if one is, in its middle."""
    degree, far, waiting = Counter(node for pair in pairs for node in pair), {first: 0}, deque([first])
    while waiting:
        node = waiting.popleft()
        for pair in pairs:
            if node in pair and (other := pair[pair[0] == node]) not in far:
                far[other] = far[node] + 1
                waiting.append(other)
    at = {}
    for layer in range(max(far.values()) + 1):
        nodes = sorted((node for node in far if far[node] == layer), key=lambda node: -degree[node])
        alone = len({degree[node] for node in nodes[:2]}) > 1
        for k, node in enumerate(nodes):
            share = (k + 1) // 2 * (-1) ** k / (2 * (len(nodes) // 2)) if alone else (k + 0.5) / len(nodes) - 0.5
            at[node] = 20 + 200 * layer / max(far.values()), 36 + 46 * share
    return at


def of_network(scenario: Scenario) -> str:
    """Nodes and links, the slowest of which are red and bear their rate; below, how many flows there are."""
    count = sum(flows.count for flows in scenario.flows)
    if scenario.bottleneck is not None:
        several = range(min(count, 5))
        pairs = [pair for k in several for pair in ((f"s{k}", "router"), ("end", f"d{k}"))] + [("router", "end")]
        rates = [float("inf")] * (len(pairs) - 1) + [scenario.bottleneck.rate]
        high = {f"{side}{k}": (x, 36 + 50 * ((k + 0.5) / len(several) - 0.5))
                for side, x in (("s", 20), ("d", 220)) for k in several}  # fmt: skip
        at = {**high, "router": (80.0, 36.0), "end": (160.0, 36.0)}
    else:
        pairs = [(link.source, link.target) for link in scenario.links]
        rates = [link.rate or float("inf") for link in scenario.links]
        flows = scenario.flows[0]
        source = flows.source or (flows.route or flows.routes[0])[0]
        at = _layers(pairs, source if isinstance(source, str) else source[0])
    parts, texts = [], []
    for (a, b), rate in zip(pairs, rates, strict=True):
        (x, y), (u, v) = at[a], at[b]
        slow = rate == min(rates)
        line = f'stroke="{RED if slow else GREY}" stroke-width="{3 if slow else 1}"'
        parts.append(f'<path d="M{x:.0f} {y:.0f}L{u:.0f} {v:.0f}" {line}/>')
        if slow and not texts:
            look = f'font-size="10" fill="{RED}" stroke="#fff" stroke-width="3" paint-order="stroke"'
            place = f'x="{(x + u) / 2:.0f}" y="{(y + v) / 2 - 6:.0f}" text-anchor="middle"'
            texts.append(f"<text {place} {look}>{_rate(rate)}</text>")
    if scenario.bottleneck is not None:
        parts += [f'<rect x="{72 - 5 * k}" y="30" width="4" height="12" fill="{BLUE}"/>' for k in range(3)]
    parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="4" fill="{BLUE}"/>' for x, y in at.values()]
    words = f'<text x="120" y="76" text-anchor="middle" font-size="10">{count} flow{"s" * (count > 1)}</text>'
    return _svg(80, [*parts, *texts, words])
