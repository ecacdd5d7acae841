"""The documentation's code runs, its tables are true, and it leaves no key out."""

import dataclasses
import inspect
import pkgutil
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tcpdynamics import models, solvers
from tcpdynamics.apps.explorer.pages import pages
from tcpdynamics.apps.explorer.sub_packet_sender import LARGEST
from tcpdynamics.validation import statistics
from tcpdynamics.validation.comparisons.prediction import QUANTITIES
from tcpdynamics.validation.packet import load_scenario, parse_scenario, ready_scenarios, simulate, user_queues
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
sys.path.insert(0, str(DOCS / "_ext"))
import tables  # noqa: E402


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


def test_a_queue_of_ones_own_prints_what_its_page_shows(tmp_path):
    """In a process of its own: other tests draw from the table of queues."""
    (code,), (shown,) = (blocks("your_own_queue.md", language) for language in ("python", "text"))
    (tmp_path / "my_queue.py").write_text(code, "utf-8")
    done = subprocess.run([sys.executable, "my_queue.py"], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, shown), done.stderr


def test_names_for_hooks_of_a_queue_have_their_table():
    rows = "\n".join(tables.queue_names())
    for name in (*user_queues.FIELDS, *user_queues.FUNCTIONS):
        assert f"| `{name}" in rows
    assert "| `lose_held(w, line, slot)` |  | Lose a packet" in rows
    for part in ("queue_hooks", "queue_names"):
        assert f"parts/{part}.inc" in page("your_own_queue.md")


def test_a_model_of_ones_own_against_packets(capsys):
    namespace = {}
    for block in blocks("your_own_model_against_packets.md", "python"):
        exec(compile(block, "your_own_model_against_packets.md", "exec"), namespace)
    out = capsys.readouterr().out
    (printed,) = re.findall(r"It prints `(.*?)`", page("your_own_model_against_packets.md"))
    assert printed in out
    assert len(namespace["figure"].data) == 3


def test_quantities_and_statistics_are_described():
    text = page("your_own_model_against_packets.md")
    assert {f'`"{name}"`' for name in QUANTITIES} <= set(re.findall(r'`"\w+"`', text))
    public = {name for name, f in vars(statistics).items() if getattr(f, "__module__", "") == statistics.__name__}
    functions = {name for name in public if not name.startswith("_")} - {"joined"}
    assert functions == set(re.findall(r"^\| `(\w+)\([a-z, ]*\)` \|", text, re.MULTILINE))


def test_fields_that_rules_see_exist():
    described = set(re.findall(r"^\| `f\.(\w+)`", page("your_own_congestion_control.md"), re.MULTILINE))
    assert described >= {"cwnd", "ssthresh", "rtt", "min_rtt", "srtt", "flight", "window", "packet_size", "p0", "x0"}
    assert described <= set(FLOW.names)


PARTS = {
    **{f"queue_{name}": ("queues.md", file) for name, file in DISCIPLINES.items()},
    **{f"loss_{name}": ("links.md", file) for name, file in MODELS.items()},
    **{f"router_{name}": ("links.md", file) for name, file in ROUTERS.items()},
}


def test_every_window_rule_has_a_section():
    assert set(re.findall(r"^## (\w+)$", page("reference/window_rules.md"), re.MULTILINE)) == set(RULES)


@pytest.mark.parametrize("name", PARTS)
def test_every_mechanism_has_a_place_and_its_numbers_are_in_the_table(name):
    page_name, file = PARTS[name]
    text = page(page_name)
    assert f'"{name.partition("_")[2]}"' in text
    if parameters_of(file):
        assert f"parts/{name}.inc" in text
    lines = tables.mechanism(file)
    for p in parameters_of(file):
        default = "required" if p.default != p.default else f"{p.default:g}"
        assert f"| `{p.name}` | {p.unit} | {default} | {p.meaning} |" in lines
    for recorded in getattr(file, "RECORDED", {}):
        assert any(f"_{recorded}` [" in line for line in lines)


@pytest.mark.slow
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


def test_the_scenarios_of_queues_and_links_mark_and_lose():
    (queues,), (links,) = blocks("queues.md", "toml"), blocks("links.md", "toml")
    assert simulate(parse_scenario(tomllib.loads(queues))).link_marked.sum() > 0
    result = simulate(parse_scenario(tomllib.loads(links)))
    assert result.dropped.sum() > 0 and result.acks_dropped.sum() > 0


EXAMPLES = [*blocks("scenarios.md", "toml"), *blocks("web_users.md", "toml")]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_worked_examples_run(number):
    scenario = parse_scenario(tomllib.loads(EXAMPLES[number]))
    result = simulate(scenario)
    assert result["goodput"].sum() > 0
    assert result.attrs["warning"] == ""
    if scenario.drops:
        # The fast retransmission of segment 100 is lost as well, so the timer is needed.
        assert result["timeouts"].sum() >= 1
        assert result["transferred"].item() == 501  # 500 and the handshake
        assert np.sum(result["send_segment"].values == 100) >= 3


@pytest.mark.slow
def test_the_script_of_large_runs_works_as_a_script(tmp_path):
    (block,) = [block for block in blocks("large_runs.md", "python") if "__main__" in block]
    (tmp_path / "script.py").write_text(block, "utf-8")
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "(20, 10)", done.stderr
    assert "200 of 200 points, 0 s left" in done.stdout
    assert {p.name for p in tmp_path.iterdir()} == {"script.py", "roots.zarr"}


def test_the_guide_copies_a_ready_scenario_wherever_it_was_installed():
    (line,) = [line for line in page("guide.md").splitlines() if line.startswith("python -c ")]
    code, target = re.fullmatch(r'python -c "(.*)" > (\S+)', line).groups()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert target == "my.toml" and parse_scenario(tomllib.loads(done.stdout)).name == "one_loss"
    assert f"tcpdynamics simulate {target}" in page("guide.md")


@pytest.mark.parametrize("title", tables.RECORDS)
def test_every_key_is_described_with_its_unit(title):
    record = tables.RECORDS[title]
    described = tables.keys(record)
    assert [key.strip("`") for key, *_ in described] == [field.name for field in dataclasses.fields(record)]
    assert all(meaning for *_, meaning in described)
    units = {name: about["counts"] for name, about in keys_of(record) if "counts" in about}
    for key, unit, default, meaning in described:
        assert unit == {"B": "byte"}.get(units.get(key.strip("`"), ""), units.get(key.strip("`"), "")), key
        assert "<" not in default and "docs/" not in meaning


def test_every_argument_of_the_topologies_is_described():
    rows = {kind.strip('`"'): text for kind, _, text in tables.topology_rows()}
    for kind, make in topologies.KINDS.items():
        assert re.findall(r"`(\w+)`: ", rows[kind]) == list(inspect.signature(make).parameters)


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


def printed(number, value):
    """Whether a number in the text is the value, to its last digit."""
    digits = len(number.partition(".")[2])
    return abs(float(number) - value) <= 0.5001 * 10.0**-digits


def consistent(**fields):
    return solvers.self_consistent(models.SharedLink(**fields).balance(), window=50)


def test_the_losses_of_a_link_are_those_of_the_call_beside_them():
    text = page("lock_out.md")
    fields = eval(re.search(r"link = (dict\(.*\))", text)[1])
    other, lost = re.search(r"independent losses give ([\d.]+)\. With bursts, ([\d.]+) of all", text).groups()
    assert printed(other, float(consistent(**{**fields, "backoff_cap": 6}).nothing))
    begun = float(consistent(**fields, suffix_losses=True).root)
    assert begun < float(lost) < 2 * begun


def test_the_readmes_formula_of_convergence_gives_its_number():
    rounds, b, c, gain = re.search(
        r"([\d.]+) round trips for b = ([\d.]+), c = ([\d.]+) and epsilon = ([\d.]+)", page("logistic_model.md")
    ).groups()
    b, c = float(b), float(c)
    assert printed(rounds, np.log(c * b / ((1 - c) * (1 - b))) / float(gain))


def test_what_is_said_of_the_explorer_is_so():
    changes = (DOCS.parent / "CHANGELOG.md").read_text()
    assert len(pages()) == 22 and "`tcpdynamics explore`: twenty-two pages" in changes
    rfc, ns2 = re.search(r"windows up to (\d) by the RFCs and up to (\d) by ns-2's rules", page("explorer.md")).groups()
    assert {"rfc": int(rfc), "ns2": int(ns2)} == dict(LARGEST)


TEXTS = [path.read_text("utf-8") for path in (*DOCS.glob("*.md"), *DOCS.parent.glob("[RC]*.md"))]
NAMED = r"`((?:tcpdynamics|models|solvers|validation|paper_figures|apps)(?:\.[A-Za-z_]\w*)+)`"


@pytest.mark.parametrize("name", sorted({found for text in TEXTS for found in re.findall(NAMED, text)}))
def test_names_in_the_text_exist(name):
    assert pkgutil.resolve_name("tcpdynamics." + name.removeprefix("tcpdynamics."))
