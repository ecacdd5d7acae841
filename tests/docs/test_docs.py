"""The documentation's code runs, its tables are true, and it leaves no key out."""

import dataclasses
import inspect
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tcpdynamics.validation.packet import (
    Bottleneck,
    Drop,
    Flows,
    Link,
    Record,
    Scenario,
    load_scenario,
    parse_scenario,
    ready_scenarios,
    simulate,
)
from tcpdynamics.validation.packet.kernel.loss_models import MODELS
from tcpdynamics.validation.packet.kernel.paced import PACED
from tcpdynamics.validation.packet.kernel.parameters import parameters_of
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES
from tcpdynamics.validation.packet.kernel.records import FLOW
from tcpdynamics.validation.packet.kernel.routers import ROUTERS
from tcpdynamics.validation.packet.kernel.windows import RULES
from tcpdynamics.validation.packet.scenario import topologies
from tcpdynamics.validation.packet.scenario.fields import keys as keys_of

DOCS = Path(__file__).parents[2] / "docs"


def page(name):
    return (DOCS / name).read_text("utf-8")


def blocks(name, language):
    """Code blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page(name), re.DOTALL | re.MULTILINE)


def test_rules_of_ones_own(capsys):
    namespace = {}
    for block in blocks("your_own_congestion_control.md", "python"):
        exec(compile(block, "your_own_congestion_control.md", "exec"), namespace)
    assert "cannot be compiled" in capsys.readouterr().out


def test_a_model_of_ones_own_against_packets(capsys):
    namespace = {}
    for block in blocks("your_own_model_against_packets.md", "python"):
        exec(compile(block, "your_own_model_against_packets.md", "exec"), namespace)
    out = capsys.readouterr().out
    (printed,) = re.findall(r"It prints `(.*?)`", page("your_own_model_against_packets.md"))
    assert printed in out
    assert len(namespace["figure"].data) == 3


def test_quantities_and_statistics_are_described():
    from tcpdynamics.validation import statistics
    from tcpdynamics.validation.comparisons.prediction import QUANTITIES

    text = page("your_own_model_against_packets.md")
    assert {f'`"{name}"`' for name in QUANTITIES} <= set(re.findall(r'`"\w+"`', text))
    public = {name for name, f in vars(statistics).items() if getattr(f, "__module__", "") == statistics.__name__}
    functions = {name for name in public if not name.startswith("_")} - {"joined"}
    assert functions == set(re.findall(r"^\| `(\w+)\([a-z, ]*\)` \|", text, re.MULTILINE))


def test_fields_that_rules_see_exist():
    described = set(re.findall(r"^\| `f\.(\w+)`", page("your_own_congestion_control.md"), re.MULTILINE))
    assert described >= {"cwnd", "ssthresh", "rtt", "min_rtt", "srtt", "flight", "window", "packet_size", "p0", "x0"}
    assert described <= set(FLOW.names)


def test_python_of_the_scenarios_page(capsys):
    for block in blocks("scenarios.md", "python"):
        exec(compile(block, "scenarios.md", "exec"), {})
    assert capsys.readouterr().out


def test_the_scenario_and_the_python_of_links_run(capsys):
    (scenario,), (code,) = blocks("links.md", "toml"), blocks("links.md", "python")
    result = simulate(parse_scenario(tomllib.loads(scenario)))
    assert result.dropped.sum() > 0 and result.acks_dropped.sum() > 0
    exec(compile(code, "links.md", "exec"), {})
    assert "of what the cell" in capsys.readouterr().out


def test_the_page_of_the_senders_chain_runs_and_its_picture_is_drawn_by_it(capsys):
    code, own = blocks("sender_chain.md", "python")
    namespace = {}
    exec(compile(code, "sender_chain.md", "exec"), namespace)
    assert len(capsys.readouterr().out.splitlines()) == 6
    exec(compile(own, "sender_chain.md", "exec"), {})
    shares = capsys.readouterr().out.strip("[]\n").split()
    assert f"packets: {' '.join(shares)}" in own
    assert (DOCS / "images/sender-chain-tahoe-2.svg").read_text() == namespace["drawing"]
    chain = namespace["tahoe"].compiled()
    said = f"of {chain.explored} states of the simulator {chain.recurrent} recur and behave like {len(chain.instants)}"
    assert said in page("sender_chain.md")


def test_every_model_of_losses_and_its_numbers_are_described():
    text = page("links.md")
    for name, file in MODELS.items():
        assert f'**`"{name}"`**' in text
        for p in parameters_of(file):
            default = "required" if p.default != p.default else f"{p.default:g}"
            assert f"| `{p.name}` | {p.unit} | {default} | {p.meaning} |" in text


def test_the_scenario_and_the_python_of_queues_run():
    (scenario,), (code,) = blocks("queues.md", "toml"), blocks("queues.md", "python")
    assert simulate(parse_scenario(tomllib.loads(scenario))).link_marked.sum() > 0
    exec(compile(code, "queues.md", "exec"), {})


def test_the_sweeps_page_runs_and_tells_every_quantity(capsys):
    from tcpdynamics.validation.packet.measures import MEASURES, OF_GROUPS

    namespace = {}
    for code in blocks("sweeps.md", "python"):
        exec(compile(code, "sweeps.md", "exec"), namespace)
    assert list(namespace["both"]["bottleneck.queue"].values) == ["red", "codel"]
    assert "False" not in capsys.readouterr().out and namespace["figure"].data
    told = re.findall(r"^\| `(\w+)` \| ([^ ]+) \| (.*) \|$", page("sweeps.md"), re.MULTILINE)
    assert {name: (unit, text) for name, unit, text in told} == {**MEASURES, **OF_GROUPS}


@pytest.mark.parametrize("number", range(len(blocks("scenarios.md", "toml"))))
def test_worked_examples_run(number):
    scenario = parse_scenario(tomllib.loads(blocks("scenarios.md", "toml")[number]))
    result = simulate(scenario)
    assert result["goodput"].sum() > 0
    assert result.attrs["warning"] == ""
    if scenario.drops:
        # The fast retransmission of segment 100 is lost as well, so the timer is needed.
        assert result["timeouts"].sum() >= 1
        assert result["transferred"].item() == 501  # 500 and the handshake
        assert np.sum(result["send_segment"].values == 100) >= 3


@pytest.mark.parametrize("name", ["guide.md", "stability.md"])
def test_python_of_a_page_prints_its_results(name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}  # blocks may use what stands above them
    for block in blocks(name, "python"):
        if "__main__" in block:  # a script, whose processes read it again
            (tmp_path / "script.py").write_text(block, "utf-8")
            done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=300)
            assert done.returncode == 0 and done.stdout.strip(), done.stderr
            continue
        exec(compile(block, name, "exec"), namespace)
        out = capsys.readouterr().out
        assert out.strip() and "False" not in out
    if name == "stability.md":
        assert "boundary, from the roots" in {trace.name for trace in namespace["figure"].data}
    assert {p.name for p in tmp_path.iterdir()} == {
        "guide.md": {"silent.html"}, "stability.md": {"script.py", "roots.zarr", "chart.zarr"}
    }[name]  # fmt: skip


def test_the_guide_copies_a_ready_scenario_wherever_it_was_installed():
    (line,) = [line for line in page("guide.md").splitlines() if line.startswith("python -c ")]
    code, target = re.fullmatch(r'python -c "(.*)" > (\S+)', line).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert target == "my.toml" and parse_scenario(tomllib.loads(done.stdout)).name == "one_loss"
    assert f"tcpdynamics simulate {target}" in page("guide.md")


SECTIONS = {
    Scenario: "## Keys at the top",
    Bottleneck: "## [bottleneck]",
    Link: "## [[links]]",
    Flows: "## [[flows]]",
    Drop: "## [[drops]]",
    Record: "## [record]",
}


def rows(heading):
    """Cells of the table under a heading of the scenarios page."""
    section = page("scenarios.md").split(f"\n{heading}\n")[1].split("\n## ")[0]
    return [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]


@pytest.mark.parametrize("part", SECTIONS, ids=lambda part: part.__name__)
def test_every_key_is_described(part):
    described = [key for row in rows(SECTIONS[part]) for key in re.findall(r"`(\w+)`", row[0])]
    keys = {field.name for field in dataclasses.fields(part)}
    if part is Scenario:
        keys |= {"topology"}  # of files only
    assert set(described) == keys
    assert len(described) == len(keys)


def test_units_are_those_that_are_read():
    names = {"s": "s", "bit/s": "bit/s", "B": "byte", "1": "1", "packets": "packets", "1/s": "1/s"}
    for part in (Scenario, Bottleneck, Link, Flows, Record):
        units = {name: about["counts"] for name, about in keys_of(part)}
        for keys, unit, *_ in rows(SECTIONS[part]):
            for key in re.findall(r"`(\w+)`", keys):
                if units.get(key) and "as of a link" not in unit:
                    assert unit == ("segments" if key == "segments" else names[units[key]]), key


def test_every_argument_of_the_topologies_is_described():
    table = page("scenarios.md").split("## [topology]")[1].split("```")[0]
    for kind, make in topologies.KINDS.items():
        row = next(line for line in table.splitlines() if line.startswith(f'| `"{kind}"`'))
        described = re.findall(r"`(\w+)`", row.split(" | ")[2])
        assert sorted(described) == sorted(inspect.signature(make).parameters)


#: Of each scenario, with Tahoe, Reno, NewReno and SACK: timeouts, retransmissions, segments acknowledged.
CHOSEN = {
    "one_loss": ["0 / 1 / 423", "0 / 1 / 445", "0 / 1 / 445", "0 / 1 / 443"],
    "two_losses": ["0 / 3 / 421", "1 / 2 / 354", "0 / 2 / 436", "0 / 2 / 444"],
    "burst_loss": ["0 / 10 / 415", "1 / 8 / 344", "0 / 4 / 418", "0 / 4 / 444"],
    "many_losses": ["0 / 28 / 1191", "1 / 26 / 841", "1 / 23 / 872", "0 / 10 / 1358"],
    "lost_retransmission": ["1 / 2 / 348", "1 / 2 / 370", "1 / 2 / 370", "1 / 2 / 370"],
}


@pytest.mark.parametrize("name", CHOSEN)
def test_what_each_sender_does_with_chosen_losses(name):
    made = runpy.run_path(str(DOCS / "_ext/measured.py"))
    runs = [made["with_sender"](name, sender) for sender in ("tahoe", "reno", "newreno", "sack")]
    assert [made["in_a_cell"](run) for run in runs] == CHOSEN[name]
    drops = len(load_scenario(ready_scenarios()[name]).drops)
    assert {run["dropped"].item() for run in runs} == {drops}  # the chosen losses and no other


def test_parameters_of_rules_and_paced_senders_have_their_tables():
    tables = runpy.run_path(str(DOCS / "_ext/measured.py"))["parameters"]()
    for name, file in {**RULES, "tfrc": PACED["tfrc"]["ns2"], "mtcp": PACED["mtcp"]["rfc"]}.items():
        named = {"tfrc": "tfrc_ns2", "mtcp": "mtcp"}.get(name, f"control_{name}")
        assert len(tables.get(named, "||")) == 2 + len(parameters_of(file))


@pytest.mark.parametrize("name", sorted(ready_scenarios()))
def test_ready_scenarios_say_what_they_are(name):
    """The first line is what `--list` shows."""
    path = ready_scenarios()[name]
    first = path.read_text("utf-8").splitlines()[0]
    assert re.fullmatch(r"# [A-Z0-9].{20,130}[.:].*", first)
    assert load_scenario(path).name == name


def test_every_queue_and_its_numbers_are_described():
    """The table of docs/queues.md is what the disciplines say of themselves, and each has a paragraph."""
    text = page("queues.md")
    described, name = [], ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[1].startswith("`"):
            name = cells[0].strip('`"') or name
            described.append((name, cells[1].strip("`"), cells[2], float(cells[3]), cells[4].replace("`", "")))
    stated = [
        (queue, p.name, p.unit, p.default, p.meaning.replace("`", ""))
        for queue, file in DISCIPLINES.items()
        for p in parameters_of(file)
    ]
    assert sorted(described) == sorted(stated)
    for queue, file in DISCIPLINES.items():
        assert f'**`"{queue}"`**' in text
        assert f'`"{queue}"`' in page("scenarios.md")
        for recorded in getattr(file, "RECORDED", {}):
            assert f"`queue_{recorded}`" in text


def test_every_router_and_its_numbers_are_described():
    """The table of docs/links.md is what the routers say of themselves."""
    text = page("links.md").partition("## Routers that read headers")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    described = [(name.strip("`"), unit, float(default), meaning) for name, unit, default, meaning in rows]
    stated = [(p.name, p.unit, p.default, p.meaning) for file in ROUTERS.values() for p in parameters_of(file)]
    assert described == stated
    for router in ROUTERS:
        assert f'**`"{router}"`**' in text


# ---- numbers beside the call that gives them --------------------------------------------------------------------


def printed(number, value):
    """Whether a number in the text is the value, to its last digit."""
    digits = len(number.partition(".")[2])
    return abs(float(number) - value) <= 0.5001 * 10.0**-digits


def consistent(**fields):
    from tcpdynamics import models, solvers

    return solvers.self_consistent(models.SharedLink(**fields).balance(), window=50)


def test_the_guides_losses_of_a_link_are_those_of_its_call():
    text = page("guide.md")
    call = re.search(r"`SharedLink\(([^`]*), suffix_losses=True\)` has the loss", text)
    fields = eval(f"dict({call[1]})")
    begun, lost, alone, nothing, nothing_alone = re.search(
        r"one packet a flow ([\d.]+) begin a burst and ([\d.]+) of all are lost \(independent losses: ([\d.]+)\), and "
        r"([\d.]+) % of the flows get nothing in 50\s+round trips \(([\d.]+) %\)",
        text,
    ).groups()
    bursts, single = consistent(**fields, suffix_losses=True), consistent(**fields)
    assert printed(begun, float(bursts.root)) and printed(alone, float(single.root))
    assert printed(nothing, 100 * float(bursts.nothing)) and printed(nothing_alone, 100 * float(single.nothing))
    assert float(begun) < float(lost) < 2 * float(begun)
    said, other = re.search(
        r"say ([\d.]+) % \(`SharedLink` with `backoff_cap=5`; with its default of 6 it is ([\d.]+) %", page("queues.md")
    ).groups()
    assert printed(said, 100 * float(single.nothing))
    assert printed(other, 100 * float(consistent(**{**fields, "backoff_cap": 6}).nothing))


def test_the_readmes_formula_of_convergence_gives_its_number():
    rounds, b, c, gain = re.search(
        r"([\d.]+) round trips for b = ([\d.]+), c = ([\d.]+) and epsilon = ([\d.]+)", page("theory.md")
    ).groups()
    b, c = float(b), float(c)
    assert printed(rounds, np.log(c * b / ((1 - c) * (1 - b))) / float(gain))


def test_what_is_said_of_the_explorer_is_so():
    from tcpdynamics.apps.explorer.pages import pages
    from tcpdynamics.apps.explorer.sub_packet_sender import LARGEST

    changes = (DOCS.parent / "CHANGELOG.md").read_text()
    assert len(pages()) == 22 and "`tcpdynamics explore`: twenty-two pages" in changes
    rfc, ns2 = re.search(r"windows up to (\d) by the RFCs and up to (\d) by ns-2's rules", page("explorer.md")).groups()
    assert {"rfc": int(rfc), "ns2": int(ns2)} == dict(LARGEST)


NAMED = sorted(
    {
        found
        for path in (*DOCS.glob("*.md"), DOCS.parent / "README.md", DOCS.parent / "CHANGELOG.md")
        for found in re.findall(
            r"`((?:tcpdynamics|models|solvers|validation|paper_figures|apps)(?:\.[A-Za-z_]\w*)+)`", path.read_text()
        )
    }
)


@pytest.mark.parametrize("name", NAMED)
def test_names_in_the_text_exist(name):
    from importlib import import_module

    whole = name.removeprefix("tcpdynamics.").split(".")
    at = import_module("tcpdynamics")
    for i, part in enumerate(whole):
        try:
            at = import_module(".".join(["tcpdynamics", *whole[: i + 1]]))
        except ImportError:
            at = getattr(at, part)
