"""Tables that are written from the code, its records and a few short runs: keys, results, mechanisms, codes, marks.

Pages go to `docs/reference/written`; tables that a hand-written page includes go to its folder `parts`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import yaml
from sources import sources
from thumbnails import of_network

from tcpdynamics import models, solvers
from tcpdynamics.apps import ledger_rows
from tcpdynamics.paper_figures import ledger, statements
from tcpdynamics.solvers.results import Status
from tcpdynamics.validation.comparisons import SubPacketChainVsPackets
from tcpdynamics.validation.packet import (
    Bottleneck,
    Drop,
    Flows,
    Link,
    Record,
    Scenario,
    load_scenario,
    ready_scenarios,
    simulate,
    sweep_scenarios,
    user_queues,
)  # fmt: skip
from tcpdynamics.validation.packet.kernel import queues
from tcpdynamics.validation.packet.kernel.loss_models import MODELS
from tcpdynamics.validation.packet.kernel.parameters import parameters_of
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES
from tcpdynamics.validation.packet.kernel.routers import ROUTERS
from tcpdynamics.validation.packet.measures import MEASURES, OF_GROUPS
from tcpdynamics.validation.packet.scenario import topologies

HERE = Path(__file__).parents[1] / "reference" / "written"
RECORDS = {
    "Top level": Scenario, "[bottleneck]": Bottleneck, "[[links]]": Link, "[[flows]]": Flows, "[[drops]]": Drop,
    "[record]": Record,
}  # fmt: skip
#: Names that signatures of `models` and `solvers` have.
TYPES = (
    "Number", "Value", "Complex", "Parameter", "Numbers", "StateValue", "Expression", "At", "MotionModel",
    "Transitions", "Edge", "Work", "Swept", "Solver", "Allocations", "Index", "Wrapped",
)  # fmt: skip
#: Commands in a comment, and pages that a meaning names.
COMMAND = re.compile(r"((?:tcpdynamics simulate \w+ )?--\w+ [\w.=,/:]*\w(?: --\w+ [\w.=,/:]*\w)*)")
PAGES = re.compile(r"`?docs/([a-z_/]+)\.md`?")


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """A table of Markdown; bars within cells are escaped."""
    cells = [[" ".join(str(cell).replace("|", r"\|").split()) for cell in row] for row in (head, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    return [lines[0], "|" + "---|" * len(cells[0]), *lines[1:], ""]


def _linked(text: str) -> str:
    there = lambda found: (HERE.parents[1] / f"{found[1]}.md").exists()  # noqa: E731
    return PAGES.sub(lambda found: f"[{found[1]}](../../{found[1]}.md)" if there(found) else found[0], text)


def _default(one: Any) -> str:
    """A key's default as a file has it."""
    value = one.default
    if value is dataclasses.MISSING:
        return "required" if one.default_factory is dataclasses.MISSING else ""
    if value is None or value == "" or isinstance(value, tuple | Record):
        return "one SACK flow" if one.name == "flows" else ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def keys(record: Any) -> list[tuple[str, str, str, str]]:
    """Name, unit, default and meaning of each key of a record; allowed words stand in front of the meaning."""
    rows = []
    for one in dataclasses.fields(record):
        about = one.metadata
        words = ", ".join(f'`"{word}"`' for word in about.get("choices", ()))
        meaning = (f"{words}. " if words else "") + _linked(about.get("meaning", ""))
        unit = about.get("unit") or about.get("counts") or ""
        rows.append((f"`{one.name}`", "byte" if unit == "B" else unit, _default(one), meaning))
    return rows


def topology_rows() -> list[tuple[str, str, str]]:
    """Kind, what it makes, and its keys with their meaning."""
    rows = []
    for kind, make in topologies.KINDS.items():
        text = inspect.getdoc(make) or ""
        listed = re.findall(r"^(\w+) : .*\n((?:    .*\n?)+)", text + "\n", re.MULTILINE)
        defaults = {name: one.default for name, one in inspect.signature(make).parameters.items()}
        said = []
        for name, meaning in listed:
            if name in defaults:
                default = "required" if defaults[name] is inspect.Parameter.empty else f"default {defaults[name]}"
                said.append(f"`{name}`: {' '.join(meaning.split()).rstrip('.')} ({default}).")
        rows.append((f'`"{kind}"`', text.split("\n")[0], " ".join(said)))
    return rows


def scenario_keys() -> list[str]:
    """The page of all keys."""
    about = (
        "All keys of a scenario file and of the dataclasses of the same names. An empty default means: not set, or as "
        'the meaning says. A number may be text with a unit (`"200ms"`). [Describe a network](../../scenarios.md) '
        "shows whole files."
    )
    lines = ["# Keys of a scenario", "", about, ""]
    for title, record in RECORDS.items():
        head = ("key", "unit", "default", "meaning")
        lines += [f"## {title}", "", *table(head, keys(record))]
    lines += ["## [topology]", "", "`kind` and the keys of that kind, in place of `links`. All links are duplex.", ""]
    return lines + table(("kind", "what it makes", "keys"), topology_rows())


def variables(result: Any, known: set[str]) -> list[str]:
    """The variables of a result that are not yet known, and its dimensions."""
    rows = []
    for name, one in result.variables.items():
        if name not in known and one.attrs:
            known.add(str(name))
            words = one.attrs.get("flag_meanings", "").split()
            flags = ", ".join(f"{a}: {b}" for a, b in zip(one.attrs.get("flag_values", ()), words, strict=False))
            meaning = one.attrs.get("long_name", "") + (f" ({flags})" if 0 < len(words) < 9 else "")
            rows.append((f"`{name}`", ", ".join(map(str, one.dims)), one.attrs.get("units", ""), meaning))
    return table(("variable", "dimensions", "unit", "meaning"), rows)


def _runs() -> dict[str, Callable[[], Any]]:
    """A run for each kind of simulation, by the condition under which its variables are there."""
    record = Record(sends=True, receives=True, drops=True, windows=0.5, queues=0.5)
    users = Flows(4, rtt=(0.1, 0.12), segments=20, think=1.0, pool=2)
    plain = Scenario((Flows(2, rtt=(0.1, 0.12)),), Bottleneck(1e6, 20), duration=20.0, warm_up=5.0)
    ready = lambda name, **change: dataclasses.replace(load_scenario(ready_scenarios()[name]), **change)  # noqa: E731
    router = ready("t_refwa", duration=10.0, warm_up=2.0, record=Record(queues=0.5))
    runs = {
        "Every simulation": plain,
        "With `record`": dataclasses.replace(plain, record=record),
        "With a queue other than drop-tail": dataclasses.replace(
            plain, record=record, bottleneck=Bottleneck(1e6, 20, queue="red")
        ),
        "With `think` or `pool`: web users": dataclasses.replace(plain, flows=(users,)),
        'With sender `"mtcp"`': ready("mtcp_two_routes", duration=20.0),
        "With a router": router,
    }
    return {title: (lambda scenario=scenario: simulate(scenario)) for title, scenario in runs.items()}


def _solved() -> dict[str, Callable[[], Any]]:
    """A small result of each solver that has variables of its own."""
    chain = models.SubPacketFull(loss=[0.1, 0.2])
    delayed = models.LogisticDelayed(epsilon=np.linspace(0.5, 3, 4), delay=np.linspace(0.2, 1, 3))
    one = models.LogisticDelayed(epsilon=1.0, delay=1.0)
    return {
        "`solvers.stationary`": lambda: solvers.stationary(chain.chain()),
        "`solvers.trajectory`": lambda: solvers.trajectory(one, [0.0, 1.0]),
        "`solvers.equilibria`": lambda: solvers.equilibria(one),
        "`solvers.convergence`": lambda: solvers.convergence(one),
        "`solvers.stability_chart`": lambda: solvers.stability_chart(delayed),
    }


def results() -> list[str]:
    """The page of all variables of results."""
    about = ("Results are `xarray.Dataset`s. These are their variables, from a run of each kind; a variable stands "
             "where it first appears. Counts are of the time after the warm-up; `start`, `finish`, recordings, "
             "connections and routes are of the whole run.")  # fmt: skip
    lines, known = ["# Variables of results", "", about, ""], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lines.append("## Simulations")
        for title, run in _runs().items():
            lines += ["", f"### {title}", "", *variables(run(), known)]
        lines.append("## Solvers")
        for title, run in _solved().items():
            lines += ["", f"### {title}", "", *variables(run(), set())]
    return lines


def measures() -> list[str]:
    """The page of the measures of sweeps."""
    about = ("Quantities of `simulate --set ... --quantity NAME` and `sweep_scenarios(quantities=[...])`. Each has "
             "`_mean`, `_low` and `_high` beside it: mean and Student's 95 % interval of the replications. "
             "[Sweep a scenario](../../sweeps.md) shows how.")  # fmt: skip
    rows = ((f"`{name}`", *text) for name, text in {**MEASURES, **OF_GROUPS}.items())
    return ["# Measures of sweeps", "", about, "", *table(("quantity", "unit", "meaning"), rows)]


def codes() -> list[str]:
    """The page of status codes."""
    about = (
        "The variable `status` of a solver's result has a code for each point. Values of a point that failed are NaN. "
        "`solvers.failures(result)` lists failed points; `throw=True` raises instead. A store has 255 where "
        "a point is not computed yet."
    )
    rows = ((one.value, f"`{one.name}`", one.sentence, one.advice) for one in Status)
    return ["# Status codes", "", about, "", *table(("code", "name", "meaning", "remedy"), rows)]


def types() -> list[str]:
    """The page of type names in signatures, with the comments of their definitions."""
    about = "Type names in signatures, such as those in `problem: 'ODE | DDE | Map | MotionModel'`."
    defined = re.compile(r"((?:^#: .*\n)+)^(\w+)(?:: TypeAlias)? = (.+)$", re.MULTILINE)
    rows = {}
    for file in sorted((*(HERE.parents[2] / "models").rglob("*.py"), *(HERE.parents[2] / "solvers").rglob("*.py"))):
        for comment, name, value in defined.findall(file.read_text(encoding="utf-8")):
            if name in TYPES and not name.isupper():
                rows[name] = (f"`{name}`", " ".join(comment.replace("#:", "").split()), "`" + value.strip('"') + "`")
    return ["# Types in signatures", "", about, "", *table(("name", "meaning", "stands for"), sorted(rows.values()))]


def _comment(text: str) -> str:
    """The comment at the top of a file."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# ").rstrip())
    return _linked(COMMAND.sub(r"`\1`", " ".join(lines)))


def ready() -> list[str]:
    """The page of the ready scenarios, each with its file folded."""
    about = ("Scenarios that are installed with the package. `tcpdynamics simulate NAME` runs one; "
             "`ready_scenarios()[\"NAME\"]` is the path of its file.")  # fmt: skip
    lines = ["# Ready scenarios", "", about, ""]
    for name, path in sorted(ready_scenarios().items()):
        text = path.read_text(encoding="utf-8")
        file = text[text.index("\n\n") + 2 :] if "\n\n" in text else text
        picture = [f"![Its network](static/network-{name}.svg)", ""]
        folded = ["::::{dropdown} The file", "```toml", file.rstrip(), "```", "::::", ""]
        lines += [f"## {name}", "", *picture, _comment(text), "", *folded]
    return lines


def mechanism(file: ModuleType) -> list[str]:
    """Parameters of a queue, loss model or router, what it records, and its source."""
    rows = [
        (f"`{p.name}`", p.unit, "required" if p.default != p.default else f"{p.default:g}", p.meaning)
        for p in parameters_of(file)
    ]
    lines = table(("parameter", "unit", "default", "meaning"), rows) if rows else []
    prefix = "router" if file in ROUTERS.values() else "queue"
    recorded = [f"`{prefix}_{name}` [{unit}], {text}" for name, (unit, text) in getattr(file, "RECORDED", {}).items()]
    if recorded:
        lines += ["Recorded with `record.queues`: " + "; ".join(recorded) + ".", ""]
    if source := getattr(file, "SOURCE", ""):
        lines += [f"Source: {source}.", ""]
    return lines


def marks() -> list[str]:
    """Marks of the papers, and how many cells have which verdict."""
    titles = ("paper", "derivations", "comparisons", "numbers", "first interpretation", "best", "worst")
    rows = []
    for summary in statements.summaries().values():
        pairs = (*summary.marks.values(), summary.first, summary.best, summary.worst)
        rows.append((summary.paper.title, *(f"{held} of {of}" for held, of in pairs)))
    verdicts = Counter(row["verdict"] for row in ledger.recorded()["rows"].values())
    *counted, last = (f"{verdicts[word]} {several}" for word, several in statements.SEVERAL.items())
    return [f"Of {verdicts.total()} cells {', '.join(counted)} and {last}.", "", *table(titles, rows)]


def claims(summary: statements.Summary) -> list[str]:
    """Statements of a paper with their verdicts, and its cells with the published number and ours, from the record."""
    recorded = ledger.recorded()["rows"]
    stated = [
        (one.statement.says, f"{one.statement.weight} {statements.KINDS_IN_WORDS[one.statement.kind][:-1]}",
         f"{one.verdict} {one.condition}".strip()) for one in summary.in_order
    ]  # fmt: skip
    rows = []
    for one in ledger.claims(summary.paper.name).values():
        cell = ledger_rows.row(one, recorded.get(one.id))
        ours = cell["model" if one.decided_by == ledger.MODEL else "packets"]
        ours = cell["finding"] if ours == ledger_rows.NONE else ours
        rows.append((f"{cell['quantity']} ({cell['place']})", cell["published"], ours, cell["ns2"], cell["verdict"]))
    return [
        f"# {summary.paper.title}: verdicts", "", f"{summary.paper.cite}. Marks: {summary.marks_in_words}. "
        "[How verdicts come about](../../claims.md).", "", *table(("statement", "kind", "verdict"), stated),
        "## Published and own numbers", "", "With 95 % intervals, ours under one interpretation. "
        f"`tcpdynamics claims {summary.paper.name}` leads to all.", "",
        *table(("quantity (place)", "published", "ours", "ns-2", "verdict"), rows),
    ]  # fmt: skip


def queue_names() -> list[str]:
    """What hooks of a queue of one's own may use: fields, then functions with the first lines of their docstrings."""
    rows = [(f"`{name}`", unit, meaning) for name, (unit, meaning) in user_queues.FIELDS.items()]
    for name, function in user_queues.FUNCTIONS.items():
        plain: Any = getattr(function, "py_func", function)
        arguments = ", ".join(inspect.signature(plain).parameters)
        rows.append((f"`{name}({arguments})`", "", (inspect.getdoc(plain) or "").split("\n")[0]))
    return [*table(("name", "unit", "meaning"), rows), user_queues.NUMBA, ""]


def outcomes() -> list[str]:
    """Outcomes of queue disciplines on one link, from a sweep."""
    base = Scenario(
        (Flows(10, "sack", "linux", control="cubic", rtt=(0.02, 0.08), packet_size=1500),),
        Bottleneck("20Mbit/s", buffer=170), duration=60.0, warm_up=20.0,
    )  # fmt: skip
    tuned = {"min_threshold": 20, "max_threshold": 60, "gentle": 1, "mean_packet": 1500}
    cases: dict[str, tuple[str, dict[str, float]]] = {
        "droptail": ("droptail", {}), "red": ("red", {}), "red, thresholds 20 and 60": ("red", tuned),
        **{name: (name, {"linux": 1} if any(p.name == "linux" for p in parameters_of(DISCIPLINES[name])) else {})
           for name in ("codel", "fq_codel", "pie", "sfq")},
    }  # fmt: skip
    rows = []
    for title, (queue, numbers) in cases.items():
        grid = {"bottleneck.queue": [queue], "bottleneck.queue_parameters": [numbers]}
        run = sweep_scenarios(base, grid, seeds=5).squeeze()
        cell = lambda name, scale=1.0, run=run: f"{scale * float(run[f'{name}_mean']):.3g}"  # noqa: E731
        rows.append((title, cell("mean_wait", 1e3), cell("utilisation", 100), cell("loss_rate", 100), cell("fairness")))
    return table(("queue", "wait [ms]", "use [%]", "drops [%]", "Jain"), rows)


def chains() -> list[str]:
    """Distances of the sub-packet chains from packets, on links with and without a queue."""
    found = SubPacketChainVsPackets(flows=(20, 60, 100, 200), duration=1000.0, warm_up=200.0, replications=4).run()
    titles = {"independent": "independent losses", "drop-tail": "a queue, equal RTTs", "spread": "a queue, RTTs spread"}
    shown = {"full": "Full", "exact": "Exact", "exact, two successes": "Exact, collapse 2"}
    rows = []
    for link, title in titles.items():
        for flows in found.flows.values:
            one = found.sel(link=link, flows=flows)
            distances = (f"{float(one.distance.sel(chain=chain)):.2f}" for chain in shown)
            rows.append((title, flows, f"{float(one.loss):.3f}", *distances))
    return table(("link", "flows", "drops", *shown.values()), rows)


#: Field of a reference in CITATION.cff -> of an entry of BibTeX.
_FIELDS = {
    "title": "title", "collection-title": "booktitle", "journal": "journal", "volume": "volume", "issue": "number",
    "year": "year", "doi": "doi",
}  # fmt: skip


def bibtex() -> list[str]:
    """The package and the papers as entries of BibTeX, from CITATION.cff."""
    whole = yaml.safe_load((HERE.parents[2] / "CITATION.cff").read_text(encoding="utf-8"))
    lines = ["```bibtex", "@software{tcpdynamics,", "  author = {{The tcpdynamics developers}},",
             f"  title = {{{whole['title']}}},", f"  version = {{{whole['version']}}}", "}"]  # fmt: skip
    for one in whole["references"]:
        kind = "inproceedings" if one["type"] == "conference-paper" else "article"
        fields = {"author": " and ".join(f"{a['family-names']}, {a['given-names']}" for a in one["authors"])}
        fields |= {name: str(one[key]) for key, name in _FIELDS.items() if key in one}
        if "start" in one:
            fields["pages"] = f"{one['start']}--{one['end']}"
        if "notes" in one:
            fields["note"] = one["notes"]
        name = one["authors"][0]["family-names"].lower() + fields.get("year", "")
        rows = ",\n".join(f"  {field} = {{{value}}}" for field, value in fields.items())
        lines += [f"@{kind}{{{name},", rows, "}"]
    return [*lines, "```", ""]


def _kept(name: str, make: Callable[[], list[str]]) -> list[str]:
    """What a run gives, made once for each text of its function and of the package."""
    mark = "% " + hashlib.sha256((inspect.getsource(make) + sources()).encode()).hexdigest()
    path = HERE / name
    if path.exists() and (lines := path.read_text(encoding="utf-8").split("\n"))[0] == mark:
        return lines
    return [mark, *make()]


def pages() -> dict[str, list[str]]:
    """All pages and parts by their place."""
    parts = {
        **{f"queue_{name}": mechanism(file) for name, file in DISCIPLINES.items()},
        **{f"loss_{name}": mechanism(file) for name, file in MODELS.items()},
        **{f"router_{name}": mechanism(file) for name, file in ROUTERS.items()},
        "queue_hooks": inspect.cleandoc(queues.__doc__ or "").split("\n")[2:], "queue_names": queue_names(),
        "bibtex": bibtex(), "marks": marks(), "outcomes": _kept("parts/outcomes.inc", outcomes),
        "chains": _kept("parts/chains.inc", chains),
    }  # fmt: skip
    return {
        "scenario_keys.md": scenario_keys(), "results.md": results(), "measures.md": measures(), "status.md": codes(),
        "ready.md": ready(), "types.md": types(),
        **{f"static/network-{name}.svg": [of_network(load_scenario(path))] for name, path in ready_scenarios().items()},
        **{f"claims_{name}.md": claims(summary) for name, summary in statements.summaries().items()},
        **{f"parts/{name}.inc": lines for name, lines in parts.items()},
    }  # fmt: skip


def write(app: Any) -> None:
    """Write them, each only where it has changed."""
    for folder in ("parts", "static"):
        (HERE / folder).mkdir(parents=True, exist_ok=True)
    for name, lines in pages().items():
        text = "\n".join(lines)
        if not (HERE / name).exists() or (HERE / name).read_text(encoding="utf-8") != text:
            (HERE / name).write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """For Sphinx."""
    app.connect("config-inited", lambda app, config: write(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
