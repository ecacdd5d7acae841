"""Figures of the papers as files: a page, the data behind it, pictures; and the whole ledger as a folder of pages."""

from __future__ import annotations

import base64
import html
import inspect
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import OutputError
from tcpdynamics.paper_figures import experiments, ledger, statements
from tcpdynamics.paper_figures.curves import Curve, Curves
from tcpdynamics.paper_figures.registry import PaperFigure, figures
from tcpdynamics.paper_figures.whole import Whole

from . import files, ledger_rows
from .explorer.bundle import LOOK, style_sheet
from .outputs import SIZE, browser_command, find_browser, page

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import xarray as xr

#: Pictures that one browser draws before it is started anew, and browsers at work side by side.
_BATCH = 6
_BROWSERS = 2


def check_figures(folder: Path, names: Iterable[str], how: Callable[[str], str], force: bool) -> None:
    """Refuse now what `write_figure` and `write_pictures` would replace: by name the command that makes each again."""
    for name in names:
        for end in ("html", "nc", "png", "svg"):
            files.check_writable(folder / f"{name}.{end}")
            files.check_replaceable(folder / f"{name}.{end}", force, _holds(name, how(name)))


def check_ledger(folder: Path, setting: str, judges: Iterable[str], force: bool) -> None:
    """Refuse now what `write_ledger` would replace."""
    pages = ("index.html", *(f"{name}.html" for name in ledger.ledger().papers))
    for name, what in (
        ("ledger.json", files.ledger_of(setting)),
        *((name, _ledger_page(setting, judges)) for name in pages),
    ):
        files.check_writable(folder / name)
        files.check_replaceable(folder / name, force, what)


def _holds(name: str, how: str) -> str:
    return files.marked(f"figure {name}", files.settings_mark({"how": how}))


def _ledger_page(setting: str, judges: Iterable[str]) -> str:
    return files.marked(files.ledger_of(setting), files.settings_mark({"judges": list(judges)}))


def write_figure(
    folder: Path, figure: PaperFigure, numbers: Any, how: str, wrote: Callable[[Path], None] = lambda path: None
) -> go.Figure:
    """Write `NAME.html`, with the claims that it bears on, and `NAME.nc`, the data behind it.

    Parameters
    ----------
    folder : Path
    figure : PaperFigure
    numbers : what its `solve` gave
    how : str
        The command that makes it again.
    wrote : callable
        Gets the path of each file.

    Returns
    -------
    plotly figure
    """
    drawing = figure.draw(numbers)
    path = folder / f"{figure.name}.html"
    data = data_of(numbers)
    data = drawn(drawing) if data is None else data
    mark = files.settings_mark({"how": how})
    data.attrs |= {"figure": figure.name, "run_again": how, "model": figure.name, "settings": mark}
    files.write_netcdf(folder / f"{figure.name}.nc", data)
    wrote(folder / f"{figure.name}.nc")
    below = _below(figure, how)
    files.write_text(path, page(drawing, figure.caption, _holds(figure.name, how), below=below))
    wrote(path)
    return drawing


def data_of(numbers: Any) -> xr.Dataset | None:
    """What a figure was solved for as a Dataset; None where it is of another shape.

    Examples
    --------
    >>> from tcpdynamics.paper_figures.curves import Curve
    >>> data_of(Curves("time [s]", "window [packets]", (Curve("flow 1", [0, 1], [1, 2]),))).y.values.tolist()
    [1.0, 2.0]
    """
    import numpy as np
    import xarray as xr

    if isinstance(numbers, xr.Dataset):
        return numbers.copy()
    if isinstance(numbers, Curves):
        count = [len(curve.x) for curve in numbers.curves]
        names = np.repeat([curve.name for curve in numbers.curves], count)
        x, y = (np.concatenate([np.asarray(getattr(c, axis), float) for c in numbers.curves]) for axis in "xy")
        return xr.Dataset(
            {"x": ("point", x, {"long_name": numbers.x}), "y": ("point", y, {"long_name": numbers.y})},
            {"curve": ("point", names.astype(str))},
        )
    return None


def drawn(drawing: go.Figure) -> xr.Dataset:
    """The points of a drawing, where what it was solved for has no table of its own.

    Examples
    --------
    >>> import plotly.graph_objects as go
    >>> data = drawn(go.Figure(go.Scatter(x=[0, 1], y=[1, 2], name="flow 1")))
    >>> data.y.values.tolist(), data.curve.values.tolist()
    ([1.0, 2.0], ['flow 1', 'flow 1'])
    """
    curves = []
    for i, trace in enumerate(drawing.data):
        if trace.x is not None and trace.y is not None:
            curves.append(Curve(trace.name or f"curve {i + 1}", trace.x, trace.y))
    x, y = (getattr(drawing.layout, f"{axis}axis").title.text or axis for axis in "xy")
    data = data_of(Curves(x, y, tuple(curves)))
    assert data is not None
    return data


def _below(figure: PaperFigure, how: str) -> str:
    """What stands under a figure: its caption, claims, the function that draws it, the scenario, the command."""
    recorded = ledger.recorded()["rows"]
    rows = [ledger_rows.row(c, recorded.get(c.id)) for c in ledger.claims().values() if c.figure == figure.name]
    listed = "".join(
        f"<tr><td>{_text(r['id'])}</td><td>{_text(r['quantity'])}</td><td>{_text(r['published'])}</td>"
        f"<td>{_text(r['packets'] if r['packets'] != ledger_rows.NONE else r['model'])}</td>"
        f"<td>{_text(r['verdict'])}</td><td>{_text(r['rule'])}</td></tr>"
        for r in rows
    )
    claims = (
        "<h2>Claims that it bears on</h2><table><thead><tr><th>claim</th><th>quantity</th><th>published</th><th>ours"
        f"</th><th>verdict</th><th>rule</th></tr></thead><tbody>{listed}</tbody></table>" if rows else ""
    )  # fmt: skip
    code = inspect.getsource(figure.draw)
    where = f"{figure.draw.__module__}.{figure.draw.__name__}"
    scenario = (
        "<details><summary>The scenario behind it</summary><pre>"
        f"{_text(experiments.scenario_text(figure.experiment))}</pre></details>" if figure.experiment else ""
    )  # fmt: skip
    data = f'<p>Data: <a href="{figure.name}.nc">{figure.name}.nc</a></p>'
    return (
        f"<p>{_text(figure.caption)}.</p>{claims}{data}<p>Again: <code>{_text(how)}</code></p>{scenario}"
        f'<details id="function"><summary>The function that draws it: <code>{where}</code></summary>'
        f"<pre>{_text(code)}</pre></details>"
    )


def _text(words: object) -> str:
    return html.escape(str(words))


def write_pictures(
    folder: Path,
    drawings: Mapping[str, go.Figure],
    how: Callable[[str], str],
    wrote: Callable[[Path], None] = lambda path: None,
) -> bool:
    """Write `NAME.png` and `NAME.svg` of each; whether there was a browser to draw them.

    `how` gives, by name, the command that makes them again.
    """
    try:
        browser = find_browser(folder)
    except OutputError:
        return False
    names = list(drawings)
    batches = [{n: drawings[n] for n in names[i : i + _BATCH]} for i in range(0, len(names), _BATCH)]
    with ThreadPoolExecutor(_BROWSERS) as pool:
        for pictures in pool.map(lambda batch: _photographed(batch, browser), batches):
            for name, kinds in pictures.items():
                for kind, content in kinds.items():
                    path = folder / f"{name}.{kind}"
                    mark = files.marked_picture if kind == "png" else files.marked_drawing
                    files.write_whole(path, [mark(content, _holds(name, how(name)))])
                    wrote(path)
    return True


def _photographed(drawings: Mapping[str, go.Figure], browser: str) -> dict[str, dict[str, bytes]]:
    """Pictures of several figures by one browser without a window: name -> kind -> content."""
    from plotly.offline import get_plotlyjs

    specs = {name: json.loads(drawing.to_json()) for name, drawing in drawings.items()}
    sizes = {name: drawing.layout.height or SIZE[1] for name, drawing in drawings.items()}
    script = (
        "(async () => { const out = {}; for (const [name, one] of Object.entries(specs)) { out[name] = {};"
        "for (const format of ['png', 'svg']) out[name][format] = await Plotly.toImage({data: one.data, layout: "
        f"one.layout}}, {{format, width: {SIZE[0]}, height: sizes[name], scale: format === 'png' ? 2 : 1}}); }}"
        "const text = btoa(unescape(encodeURIComponent(JSON.stringify(out))));"
        "document.documentElement.textContent = ['BEGIN', text, 'END'].join(':'); })();"
    )
    text = (
        f"<!doctype html><meta charset='utf-8'><body><script>{get_plotlyjs()}</script><script>const specs = "
        f"{_script(specs)}, sizes = {_script(sizes)}; {script}</script></body>"
    )
    with tempfile.TemporaryDirectory(prefix="tcpdynamics") as place:
        source = Path(place, "page.html")
        source.write_text(text, encoding="utf-8", errors="backslashreplace")
        command = [
            *browser_command(browser, Path(place)),
            "--virtual-time-budget=120000",
            "--dump-dom",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=300, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OutputError(f"cannot draw pictures with {browser}: {error}") from None
    dom = done.stdout.decode("utf-8", "replace")
    begin, end = dom.find("BEGIN:"), dom.rfind(":END")
    if begin < 0 or end < begin:
        raise OutputError(f"cannot draw pictures: {browser} ended with code {done.returncode} and no picture")
    out = json.loads(base64.b64decode(dom[begin + 6 : end]))
    return {name: {kind: _content(url) for kind, url in kinds.items()} for name, kinds in out.items()}


def _script(value: Any) -> str:
    return json.dumps(value).replace("</", "<\\/")


def _content(url: str) -> bytes:
    from urllib.parse import unquote_to_bytes

    head, _, body = url.partition(",")
    return base64.b64decode(body) if head.endswith("base64") else unquote_to_bytes(body)


def write_ledger(
    folder: Path, whole: Whole, drawn: Iterable[str], wrote: Callable[[Path], None] = lambda path: None
) -> None:
    """Write `ledger.json` and `index.html`: all claims with what came out, what failed on top."""
    import jinja2

    document = whole.document()
    files.write_text(folder / "ledger.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    wrote(folder / "ledger.json")
    place = resources.files("tcpdynamics.apps.report.templates")
    texts = {
        name: place.joinpath(f"{name}.html.j2").read_text(encoding="utf-8")
        for name in ("ledger", "ledger_tables", "ledger_paper", "reproduction")
    }
    templates = jinja2.Environment(loader=jinja2.DictLoader(texts), autoescape=True, undefined=jinja2.StrictUndefined)
    holds = _ledger_page(str(whole.made["setting"]), whole.judges)
    tables = ledger_rows.tables(document)
    text = templates.get_template("ledger").render(
        papers=tables, columns=ledger_rows.COLUMNS, made=document["made"], look_css=style_sheet(*LOOK),
        drawn=set(drawn), start=files.page_start(holds), standalone=True, 
        committed=", ".join(sorted({one["committed"] for one in ledger.ledger().fixed.values()})),
        marks=statements.MARKS, history=ledger.HISTORY,
    )  # fmt: skip
    files.write_text(folder / "index.html", text)
    wrote(folder / "index.html")
    for table in tables:
        text = templates.get_template("reproduction").render(
            **_reproduction(table, str(whole.made["setting"])), made=document["made"], look_css=style_sheet(*LOOK),
            start=files.page_start(holds), marks=statements.MARKS,
        )  # fmt: skip
        files.write_text(folder / f"{table['id']}.html", text)
        wrote(folder / f"{table['id']}.html")


def _reproduction(table: Mapping[str, Any], setting: str) -> dict[str, Any]:
    """What a summary of two pages says of a paper: experiments, parameters with their source, what is not printed."""
    paper = ledger.ledger().papers[table["id"]]
    used = [one for one in experiments.experiments().values() if one.paper == paper.name]
    open_axes = {axis: " | ".join(labels) for one in used for axis, labels in one.readings.items()}
    missing: dict[str, list[str]] = {}
    for one in table["statements"]:
        if one["missing"] and one["verdict"] != "holds":
            missing.setdefault(one["missing"], []).append(one["id"])
    return {
        "table": table, "paper": paper,
        "experiments": [_done(one, setting) for one in used],
        "parameters": [*paper.parameters, *((axis, labels, "open: readings") for axis, labels in open_axes.items())],
        "asked": [(name, ", ".join(several)) for name, several in missing.items()],
    }  # fmt: skip


def _done(one: experiments.Experiment, setting: str) -> dict[str, Any]:
    length = one.setting(setting)
    readings = one.reading_labels(length.readings)
    times = sorted({one.build(case, readings[0], setting).duration for case in one.case_labels()})
    return {
        "name": one.name, "about": one.about, "scenario": one.scenario, "cases": len(one.case_labels()),
        "readings": len(readings), "duration": " to ".join(f"{t:g} s" for t in sorted({times[0], times[-1]})),
        "runs": f"{length.replications}" + (f" to {length.limit}" if length.limit > length.replications else ""),
    }  # fmt: skip


def write_all(
    folder: Path,
    whole: Whole,
    quick: bool,
    wrote: Callable[[Path], None] = lambda path: None,
    progress: Callable[[str, float], None] = lambda name, share: None,
) -> None:
    """Write every figure, with the results of a whole run where a figure shows an experiment, and the ledger."""
    folder.mkdir(parents=True, exist_ok=True)
    all_figures = figures()
    drawings = {}
    for i, (name, figure) in enumerate(all_figures.items()):
        progress(name, i / len(all_figures))
        numbers = whole.results.get(figure.experiment)
        if numbers is None:
            numbers = figure.solve(quick=quick) if figure.simulates else figure.solve()
        drawings[name] = write_figure(folder, figure, numbers, again(name, quick), wrote)
    progress("pictures", 1.0)
    write_pictures(folder, drawings, lambda name: again(name, quick), wrote)
    write_ledger(folder, whole, all_figures, wrote)


def again(name: str, quick: bool) -> str:
    """The command that makes a figure again."""
    return f"tcpdynamics figures {name} {'--quick' if quick else '--full'} --output {os.curdir}"
