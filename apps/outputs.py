"""From a result to a table, JSON or a file: NetCDF, a page, a picture, or a store that can be resumed.

This file knows neither click nor Dash: what is to be said is returned, or goes to a function of the caller's.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import LimitError, OutputError
from tcpdynamics.json_values import finite, of_dataset

from . import files
from .choice import Chosen

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

    from tcpdynamics.solvers.sweeps.sweep_of import Solver, Swept


#: Numbers that JSON can carry, and points that a picture can.
MAX_PRINTED = 1_000_000
MAX_DRAWN = 1_000_000
#: Ends of the names of files that are written here.
KINDS = (".nc", ".html", ".png", ".zarr")


def check_outputs(
    paths: Sequence[Path],
    points: int,
    swept: int,
    most_swept: int,
    in_json: bool,
    what: str,
    force: bool = False,
    kinds: Sequence[str] = KINDS,
) -> Path | None:
    """Refuse what cannot be written before anything is computed; the store among the paths, if there is one.

    Parameters
    ----------
    points : int, of the grid
    swept, most_swept : int
        Parameters that are swept, and how many a picture can show.
    in_json : bool
        Whether all is to be printed.
    what : str
        What is written, in the words of `files.holding`.
    force : bool
        Whether files that are there and not of this package, or that hold something else, may be replaced.
    kinds : sequence of str
        Ends of names that a message lists, where the caller writes more of them than these.
    """
    if in_json:
        _check_printed(points)
    store = None
    names: set[str] = set()
    for path in paths:
        suffix = path.suffix.lower()
        if os.path.realpath(path) in names:
            raise OutputError(f"cannot write {path}: it is named twice; give another name")
        names.add(os.path.realpath(path))
        if suffix == ".nc":
            files.check_netcdf_name(path)
            files.check_replaceable(path, force, what)
        elif suffix in (".html", ".png"):
            files.check_writable(path)
            files.check_replaceable(path, force, what)
            if swept > most_swept or points > MAX_DRAWN:
                raise OutputError(
                    f"cannot draw {path}: a picture shows at most {most_swept} ranges and {MAX_DRAWN:,} points, got "
                    f"{swept} and {points:,}; write x.nc, or give single values"
                )
            check_charts()
            if suffix == ".png":
                check_png(path)
        elif suffix == ".zarr":
            if store is not None:
                raise OutputError(f"cannot write {path}: only one store is possible, and {store} is one too")
            if not swept:
                raise OutputError(f"cannot write {path}: a store holds a sweep; give one parameter a range")
            _check_store(path)
            store = path
        else:
            raise OutputError(f"cannot write {path}: give a name that ends in {', '.join(kinds[:-1])} or {kinds[-1]}")
    return store


def _check_store(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise OutputError(f"cannot write {path}: it is a file, and a store is a folder; give another name")
    at = path if path.exists() else path.parent
    if not at.is_dir():
        raise OutputError(f"cannot write {path}: the folder {at} does not exist; create it first")
    if files.is_protected(at):
        raise OutputError(f"cannot write {path}: the folder {at} cannot be written to")


def write_outputs(
    paths: Sequence[Path],
    result: xr.Dataset,
    draw: Callable[[], go.Figure],
    title: str = "",
    wrote: Callable[[Path], None] = lambda path: None,
) -> None:
    """Write what was asked for, pictures with a title, and call `wrote` after each; stores are written already."""
    figure: go.Figure | None = None
    for path in paths:
        suffix = path.suffix.lower()
        if suffix == ".nc":
            files.write_netcdf(path, result)
        elif suffix in (".html", ".png"):
            if figure is None:
                from tcpdynamics.charts.look import titled

                figure = titled(draw(), title) if title else draw()
            if suffix == ".html":
                files.write_text(path, page(figure, title or path.stem, files.holding(result.attrs)))
            else:
                write_png(path, figure, files.holding(result.attrs))
        wrote(path)


def document(chosen: Chosen, result: xr.Dataset, **more: object) -> dict[str, Any]:
    """JSON of a result: what was asked, coordinates, and every variable with dimensions and unit.

    What is not finite becomes null, complex numbers become pairs.
    """
    _check_printed(sum(v.size for v in result.data_vars.values()))
    return {
        "model": chosen.name,
        **({"interpretation": chosen.reading} if chosen.reading else {}),
        "class": type(chosen.model).__name__,
        "version": result.attrs["version"],
        "parameters": json.loads(result.attrs.get("parameters", "{}")),
        **more,
        **of_dataset(result, _values),
    }


def _check_printed(numbers: int) -> None:
    if numbers > MAX_PRINTED:
        raise LimitError(
            f"JSON would have {numbers:,} numbers, at most {MAX_PRINTED:,} are allowed; a file x.nc takes more"
        )


def _values(variable: xr.DataArray) -> Any:
    """Codes as their meanings, but for `status`, numbers as they are."""
    if "flag_meanings" in variable.attrs and variable.name not in ("status", "boundary_axis"):
        import numpy as np

        words = np.array(variable.attrs["flag_meanings"].split(), dtype=object)
        order = np.asarray(variable.attrs["flag_values"])
        return np.asarray(words[np.searchsorted(order, variable.values)], dtype=object).tolist()
    return finite(variable.values)


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lines whose columns stand under each other, numbers to the right.

    >>> print(table([["loss", "mean"], ["0.1", "2.3471"]]))
    loss    mean
     0.1  2.3471
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def heading(chosen: Chosen) -> str:
    """Title of a picture: the model, its reading and the parameters that are single numbers."""
    return (f"{chosen.name}, {chosen.reading}: " if chosen.reading else "") + subtitle(chosen)


def subtitle(chosen: Chosen) -> str:
    """The class and the parameters that are single numbers."""
    import numpy as np

    parameters = []
    for name, unit in units_of(chosen).items():
        value = getattr(chosen.model, name)
        if name in chosen.swept or value is None or name == "start":
            continue
        values = ", ".join(f"{v:g}" for v in np.atleast_1d(np.asarray(value, float)))
        parameters.append(f"{name.replace('_', ' ')} = {values}" + (f" {unit}" if unit != "1" else ""))
    return f"{type(chosen.model).__name__}" + (f" ({', '.join(parameters)})" if parameters else "")


#: Codes of points that lie at an excluded end of their domain.
_OUTSIDE = {"status": 1, "verdict": 2}


def add_outside(result: xr.Dataset, chosen: Chosen) -> xr.Dataset:
    """The result with the points that were left out, marked, and with symbols and units on its axes."""
    if chosen.outside:
        full = {k: chosen.swept[k] for k in chosen.outside}
        codes = {k: v for k, v in _OUTSIDE.items() if k in result}
        fill_values = {str(k): 0 for k, v in result.data_vars.items() if v.dtype.kind in "iub" and k not in _OUTSIDE}
        attrs = {k: v.attrs for k, v in result.coords.items()}
        result = result.reindex(full, fill_value=fill_values | codes)
        for name, values in attrs.items():
            result[name].attrs = values
    return label_axes(result, chosen)


def notes_on_outside(chosen: Chosen) -> list[str]:
    """What is to be said of points that were left out."""
    notes = []
    for name, values in chosen.outside.items():
        numbers = ", ".join(f"{v:g}" for v in values)
        notes.append(
            f"{name.replace('_', ' ')} = {numbers} lies at an excluded end of its domain; the points there are left "
            "out and marked in `status`"
        )
    return notes


def label_axes(result: xr.Dataset, chosen: Chosen) -> xr.Dataset:
    """Axes with symbol, meaning and unit."""
    from tcpdynamics.models.parameters import describe

    rows = {row["name"]: row for row in describe(chosen.model)}
    for name in map(str, result.coords):
        if name in rows:
            row = rows[name]
            attrs = {"symbol": row["symbol"], "long_name": row["meaning"], "units": row["unit"]}
        elif name.startswith("start_"):
            label = name.removeprefix("start_")
            units = chosen.problem.units.get(label.partition("[")[0], "1")
            attrs = {"symbol": f"{label}(0)", "long_name": "initial value", "units": units}
        else:
            continue
        result[name].attrs = attrs | result[name].attrs
    return result


def solve_to_store(
    path: Path, target: Swept, solver: Solver, chosen: Chosen, progress: Callable[[float], None], **settings: object
) -> xr.Dataset:
    """Solve block by block to a store, where an interrupted run resumes; `progress` gets the share that is done."""
    from tcpdynamics.solvers import sweep, sweep_of

    work = sweep_of(target, solver, **settings)
    result = sweep(
        work,
        {**work.parameters, **chosen.swept},
        store=path,
        progress=lambda done, points, seconds: progress(done / points),
    )
    return label_axes(result, chosen)


def reason(code: int) -> str:
    """Why a point failed."""
    from tcpdynamics.solvers.results import reason

    return without_advice(reason(code))


def without_advice(text: str) -> str:
    """A reason without what only callers of the Python functions can do.

    >>> without_advice("the steps ran out before the last time: raise max_steps or loosen the tolerance")
    'the steps ran out before the last time'
    """
    return text.partition(": raise ")[0].partition(": use method")[0]


def units_of(chosen: Chosen) -> dict[str, str]:
    """Unit by parameter."""
    from tcpdynamics.models.parameters import describe

    return {row["name"]: row["unit"] for row in describe(chosen.model)}


_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: Width and height of a picture [px].
SIZE = (1100, 700)


_BELOW = (
    '<main style="margin: 0 2rem 2rem; max-width: 70rem"><style>td, th {{ text-align: left; vertical-align: top; '
    "padding: .2rem .8rem .2rem 0 }} pre {{ overflow-x: auto }}</style>{}</main>"
)


def page(figure: go.Figure, title: str, what: str = "", *, tools: bool = True, below: str = "") -> str:
    """A page with one figure that needs no network, with or without the tools above it; `below` is HTML."""
    from plotly.io import to_html
    from plotly.offline import get_plotlyjs

    body = to_html(
        figure,
        {} if tools else {"displayModeBar": False},
        include_plotlyjs=False,
        full_html=False,
        div_id="figure",  # else drawn anew each time: the same result is to give the same bytes
    )
    return (
        f'{files.page_start(what)}<meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f'<script>{get_plotlyjs()}</script></head>\n<body style="font-family: sans-serif; margin: 0">\n{body}\n'
        f"{_BELOW.format(below) if below else ''}</body></html>\n"
    )


def write_png(path: Path, figure: go.Figure, what: str) -> None:
    """Write a picture, by kaleido where it is installed, else by a browser without a window."""
    kaleido = _kaleido()
    height = figure.layout.height or SIZE[1]
    if kaleido is not None:
        content = kaleido(figure, height)
    else:
        still = page(figure.update_layout(width=SIZE[0]), path.stem, tools=False)
        content = _photograph(still, height, find_browser(path))
    files.write_whole(path, [files.marked_picture(content, what)])


def check_charts() -> None:
    """Raise ModuleNotFoundError now where Plotly is missing."""
    from tcpdynamics.charts import drawing  # noqa: F401


def check_png(path: Path) -> None:
    """Raise OutputError now if there is nothing to draw with."""
    if _kaleido() is None:
        find_browser(path)


def _kaleido() -> Callable[[go.Figure, float], bytes] | None:
    import importlib.util

    if importlib.util.find_spec("kaleido") is None:
        return None

    def draw(figure: go.Figure, height: float) -> bytes:
        try:
            content: bytes = figure.to_image("png", width=SIZE[0], height=height, scale=2)
        except (RuntimeError, ValueError, OSError) as error:  # no browser for it, or one that does not start
            text = " ".join(str(error).split())[:200]
            raise OutputError(f"cannot draw a PNG: kaleido says {text}; write x.html instead") from None
        return content

    return draw


def find_browser(path: Path) -> str:
    """A Chromium that can be run; raises OutputError where there is none."""
    places = (os.environ.get("BROWSER_PATH"), *map(shutil.which, _BROWSERS))
    browser = next((b for b in places if b and os.access(b, os.X_OK)), None)
    if browser is None:
        raise OutputError(
            f"cannot draw {path}: a PNG needs kaleido or Chromium: pip install 'tcpdynamics[export]', or write x.html"
        )
    return browser


def browser_command(browser: str, folder: Path) -> list[str]:
    """How a browser without a window is started, with its profile in a folder."""
    # Chromium refuses its sandbox to root; the page is our own.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [
        browser, "--headless", *root, "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={folder / 'profile'}",
    ]  # fmt: skip


def _photograph(text: str, height: float, browser: str) -> bytes:
    """The page as a browser without a window shows it."""
    with tempfile.TemporaryDirectory(prefix="tcpdynamics") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.png")
        source.write_text(text, encoding="utf-8", errors="backslashreplace")
        command = [
            *browser_command(browser, Path(folder)), "--virtual-time-budget=8000", "--force-device-scale-factor=2",
            f"--window-size={SIZE[0]},{int(height)}", f"--screenshot={target}", source.as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OutputError(f"cannot draw a PNG with {browser}: {error}; write x.html instead") from None
        if not target.exists():
            raise OutputError(
                f"cannot draw a PNG: {browser} ended with code {done.returncode} and no picture; write x.html instead"
            )
        return target.read_bytes()


def plus_or_minus(mean: float, low: float, high: float, digits: int) -> str:
    """A mean with half its interval; with both ends where 0 or 1 ends the interval of a fraction.

    Examples
    --------
    >>> plus_or_minus(0.25, 0.2, 0.3, 2), plus_or_minus(0.02, 0.0, 0.06, 2)
    ('0.25 ± 0.05', '0.02 [0.00, 0.06]')
    """
    if abs(low + high - 2 * mean) < 10.0**-digits + 1e-9 * abs(mean):
        return f"{mean:.{digits}f} ± {(high - low) / 2:.{digits}f}"
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def interval_note(count: int, printed: Iterable[str]) -> str:
    """What stands below the intervals that `plus_or_minus` printed.

    >>> interval_note(5, ["share  0.25 ± 0.05"]), interval_note(5, ["share  0.02 [0.00, 0.06]"])[-32:]
    ("± half of Student's 95 % interval over 5 replications", '[low, high] where 0 or 1 ends it')
    """
    cut = any(re.search(r"\d \[\d", text) for text in printed)
    ends = "; [low, high] where 0 or 1 ends it" if cut else ""
    return f"± half of Student's 95 % interval over {count} replications{ends}"
