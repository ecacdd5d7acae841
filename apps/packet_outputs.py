"""What `tcpdynamics simulate` writes besides NetCDF: a table of sends, and a page of figures."""

from __future__ import annotations

import dataclasses
import html
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import PAGE, TABLE, OutputError, check_netcdf_name, check_replaceable, check_writable, write_whole

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.validation.packet import Scenario


#: How a page begins, by which it is known.
_ROWS = 100_000  # at a time

#: Samples of windows or queues that a page takes, and packets whose sending it records.
_SAMPLES = 4000
_ALL_SAMPLES = 1_000_000
_MOST_PACKETS = 20_000_000


def check_outputs(
    scenario: Path, netcdf: Path | None, trace: Path | None, plot: Path | None, force: bool = False
) -> None:
    """Refuse what cannot be written, before anything runs; without `force`, also a file that is not of a simulation."""
    if netcdf is not None:
        check_netcdf_name(netcdf)
    for path, suffix, what in ((trace, ".csv", "sends are a table"), (plot, ".html", "figures are a page")):
        if path is not None:
            if path.suffix.lower() != suffix:
                raise OutputError(f"cannot write {path}: {what}; give a name that ends in {suffix}")
            check_writable(path)
    taken = {os.path.realpath(scenario)}
    for path in (netcdf, trace, plot):
        if path is not None:
            if os.path.realpath(path) in taken:
                raise OutputError(
                    f"cannot write {path}: it is in use for something else here; give another name"
                )
            taken.add(os.path.realpath(path))
            check_replaceable(path, force)


def write_sends(path: Path, result: xr.Dataset) -> None:
    """Write one row for each segment sent, in order of time: seconds, flow, segment from 0, repeat (1) or not (0).

    Where flows have a handshake, it is their segment 0, as in ns-2.
    """

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="ascii", newline="") as file:
            file.write(TABLE)
            file.writelines(_rows(result))

    write_whole(path, write)


def _rows(result: xr.Dataset) -> Iterator[str]:
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
    text = page(result)
    write_whole(path, lambda temporary: _write(temporary, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def page(result: xr.Dataset) -> str:
    """The page."""
    from plotly.io import to_html
    from plotly.offline import get_plotlyjs

    from tcpdynamics.validation.packet import plots

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
    name = html.escape(f"{result.attrs.get('name', 'scenario')}, seed {result.attrs.get('seed', '')}")
    return (
        f'{PAGE}<meta charset="utf-8"><title>{name}</title>\n'
        f'<script>{get_plotlyjs()}</script></head>\n<body style="font-family: sans-serif"><h1>{name}</h1>\n'
        + "\n".join(bodies)
        + "\n</body></html>\n"
    )
