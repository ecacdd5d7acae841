"""Words of the command: one meaning each, old ones that still work, suggestions, completion and signs of life."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcpdynamics.apps.choice import CHAIN, choose, entries, names
from tcpdynamics.apps.command import progress
from tcpdynamics.apps.report import steps
from tcpdynamics.errors import InputError
from tcpdynamics.progress import listening, tracked
from tcpdynamics.validation.comparisons.packets_vs_ns2 import PacketsVsNs2

APPS = Path(__file__).resolve().parents[2] / "apps"


@pytest.mark.parametrize(
    "file", ["choice.py", "outputs.py", "overrides.py", "packet_outputs.py", "stability_words.py", "files.py"]
)
def test_what_an_explorer_shares_with_the_command_knows_neither_click_nor_dash(file: str) -> None:
    modules: set[str] = set()
    for node in ast.walk(ast.parse((APPS / file).read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(node.module or "")
    assert not {m for m in modules if m.split(".")[0] in ("click", "dash") or m.startswith("command")}


@pytest.mark.parametrize(
    ("name", "texts", "says"),
    [
        ("logistic", {"epsilon": ["-1"]}, "`epsilon` must lie in (0, inf)"),
        ("logistic", {"epsilon": ["1,1"]}, "`epsilon` gives 1 more than once"),
        ("fluid-tcp", {"flows": ["3"]}, "values are missing for `capacity`, `base_rtt`, `buffer`"),
        ("t-refwa", {"reading": "window", "fractions": "1"}, "`fractions` belongs to `reading` mixed"),
        ("fluid-tcp", {"capacity": ["1Mbit/s"]}, "add `packet_size`"),
        ("logistic", {"view": "cut-map"}, "`view` 'cut-map' is not a view"),
    ],
)
def test_refusals_name_parameters_and_the_command_names_options(
    name: str, texts: dict[str, object], says: str, refused: Callable[..., str]
) -> None:
    with pytest.raises(InputError) as stop:
        choose(name, texts)
    assert says in str(stop.value)
    words = [
        w
        for k, v in texts.items()
        for w in (f"--{k.replace('reading', 'interpretation')}", v[0] if isinstance(v, list) else str(v))
    ]
    if "view" not in texts:  # click knows the views of all readings
        sentence = refused("stability", name, *words)
        assert "`" not in sentence and f"--{says.split('`')[1].replace('_', '-')}" in sentence


def test_every_chain_is_a_command_with_the_options_of_its_fields(answer: Callable[..., str]) -> None:
    for name in names(CHAIN):
        text = answer("stationary", name, "--help")
        assert all(
            f"--{entry.name.replace('_', '-')}" in text for entry in entries(name, CHAIN) if entry.kind != "choice"
        )
        document = json.loads(answer("stationary", name, "--loss", "0.1,0.2", "--json"))
        assert len(document["probability"]) == 2
    words = ("stationary", "sub-packet", "--loss", "0.1", "--json")
    for letter, kind in (("B", "fresh"), ("L", "levels")):
        by_letter, by_name = (
            json.loads(answer(*words, *more)) for more in (("--interpretation", letter), ("--model", kind))
        )
        assert by_letter["probability"] == by_name["probability"]
        assert by_letter["parameters"]["class"].lower().endswith(kind)


def test_a_second_range_is_a_column_and_nests_in_json(answer: Callable[..., str]) -> None:
    words = ("stationary", "sub-packet", "--loss", "0.1,0.2", "--base-timeout", "2,3,4")
    document = json.loads(answer(*words, "--json"))
    assert (document["loss"], document["base_timeout"]) == ([0.1, 0.2], [2.0, 3.0, 4.0])
    single = json.loads(answer(*words[:4], "--base-timeout", "3", "--json"))
    assert [row[1] for row in document["packets_per_rtt"]] == pytest.approx(single["packets_per_rtt"], rel=1e-14)
    rows = [line.split() for line in answer(*words).splitlines()[2:]]
    assert rows[0][:2] == ["loss", "base_timeout"] and len(rows) == 7
    means = [x for row in document["packets_per_rtt"] for x in row]
    assert [float(row[-1]) for row in rows[1:]] == pytest.approx(means, abs=5e-5)


def test_underscores_and_hyphens_are_the_same(answer: Callable[..., str]) -> None:
    same = answer("stationary", "sub-packet", "--loss", "0.1", "--w-max", "8")
    assert answer("stationary", "sub_packet", "--loss", "0.1", "--w_max", "8") == same
    same = answer("stability", "t-refwa", "--phi", "1", "--psi", "1", "--interpretation", "measured-rtt")
    assert answer("stability", "t_refwa", "--phi", "1", "--psi", "1", "--interpretation", "measured_rtt") == same
    assert answer("simulate", "one-loss", "--json") == answer("simulate", "one_loss", "--json")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["stability", "logistc"], "logistic"),
        (["stationary", "subpacket"], "sub-packet"),
        (["trajectry"], "trajectory"),
        (["validate", "logistics"], "logistic"),
        (["simulate", "one_los"], "one_loss"),
        (["simulate", "one_loss", "--sed", "1"], "--seed"),
        (["simulate", "one_loss", "--set", "bottleneck.bufer=3"], "buffer"),
        (["stability", "logistic", "--epsilom", "1"], "--epsilon"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(words: list[str], name: str, refused: Callable[..., str]) -> None:
    sentence = refused(*words)
    assert name in sentence.partition("id you mean")[2]


def test_help_lists_families_first_and_no_formulas(answer: Callable[..., str]) -> None:
    text = answer("stability", "--help")
    assert text.index("lotka-volterra  ") < text.index("high-speed-tcp,")
    assert "=" not in text and not any(line.rstrip().endswith("-") for line in text.splitlines())


def test_the_shell_completes_models_and_scenarios() -> None:
    def complete(words: str) -> list[str]:
        environment = dict(os.environ, _TCPDYNAMICS_COMPLETE="bash_complete", COMP_WORDS=words)
        environment["COMP_CWORD"] = str(len(words.split()) - 1)
        code = "import sys; sys.argv[0] = 'tcpdynamics'; from tcpdynamics.apps.command.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.split()

    assert "plain,one_loss" in complete("tcpdynamics simulate one")
    assert "plain,sub-packet" in complete("tcpdynamics stationary sub")


def test_work_of_unknown_length_shows_signs_of_life(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_FIRST", 0.05)
    with progress.working("solving"):
        time.sleep(0.3)
    with progress.working("quick work"):
        pass
    assert capsys.readouterr() == ("", "solving: 0 s so far\n")


def test_signs_of_life_say_the_share_where_loops_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_FIRST", 1.0)
    with progress.working("comparing"):
        for _ in tracked("ab"):
            for first, _ in zip((True, False), tracked(range(2)), strict=True):
                time.sleep(0.0 if first else 1.5)  # a first quarter that takes no time, then time to say so
    assert re.match(r"comparing: (25|50|75)% done, \d s so far\n", capsys.readouterr().err)


def _comparison(name: str, **settings: Any) -> Callable[[], Any]:
    from tcpdynamics.validation import comparisons

    kind = getattr(comparisons, name)
    return lambda: kind(**(kind.quick | settings)).run()


def _chart() -> None:
    from tcpdynamics.models import LogisticDelayed
    from tcpdynamics.solvers.stability.stability_chart import stability_chart

    stability_chart(LogisticDelayed(epsilon=np.linspace(0.1, 3, 500), delay=np.linspace(0, 2, 401)), trace=False)


@pytest.mark.parametrize(
    "work",
    [
        _comparison("LogisticVsFluid", epsilon=(1.0, 2.0), delay=(0.3,)),
        _comparison("LotkaVolterraVsFluid", flows=(2,), rounds=1),
        _comparison("TRefwaMapVsFluid", gains=((1.5, 0.5),), rounds=1, lags=(0.5,)),
        _comparison("MisraVsLinearisation", ratio=(0.8,), rounds=1, horizon=20.0),
        _comparison("SubPacketChainVsPackets", flows=(20,), duration=40.0, warm_up=10.0, replications=2),
        _comparison("LotkaVolterraVsPackets", rates=(1e7,), between=(15e6,), flows=(2,), staleness=(), replications=2),
        _comparison("WindowRulesVsFormulas", rules=("reno",), loss=(0.01, 0.005), duration=20.0, replications=2),
        _comparison("LockOut", runs=("as in the paper", "jitter"), flows=20, duration=240.0, replications=2),
        _comparison("RetransmissionPriorityVsPackets", flows=(25,), duration=240.0, replications=2),
        _comparison("MtcpVsPackets", lists=("cumulative",), replications=2),
        lambda: PacketsVsNs2(cases=("wide", "star"), seeds=2).run(live=False),
        _chart,
    ],
    ids=[
        "logistic",
        "lotka-volterra",
        "t-refwa",
        "misra",
        "sub-packet",
        "lv-packets",
        "window-rules",
        "lock-out",
        "priority",
        "mtcp",
        "ns2",
        "chart",
    ],
)
def test_long_work_says_which_share_is_done(work: Callable[[], Any]) -> None:
    """It grows to 1, over a value between: what `validate`, `figures` and charts show while they work."""
    shares: list[float] = []
    with listening(shares.append):
        work()
    assert len(shares) >= 2 and shares == sorted(set(shares)) and shares[-1] == 1.0


def test_a_loop_that_nobody_listens_to_is_plain() -> None:
    assert list(tracked("ab")) == ["a", "b"] and list(tracked("")) == []


def test_the_report_says_which_share_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    """Each step when it begins, with the share of the whole; all steps done are the whole."""
    show, shares = progress.Steps(), []
    tell = steps.Progress(True, lambda share, name: (shares.append(share), show(share, name))[0])
    for name in steps.SECONDS:
        with steps.step(name, tell):
            for _ in tracked("ab"):
                pass
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == pytest.approx(1.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[-1] for line in lines] == [f"{name} ..." for name in steps.SECONDS]
    assert all(re.match(r" +\d+%  ", line) for line in lines)


def test_the_first_compilation_is_announced_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tcpdynamics import compiled

    monkeypatch.setattr(compiled, "announce", None)
    progress.announce_compilation()
    assert compiled.announce is not None
    for module in ("numpy", "tcpdynamics.solvers.markov.kernels", "tcpdynamics.solvers.markov.wide"):
        compiled.announce(module)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "Markov chains" in err


def test_a_further_mechanism_is_not_the_simulator_once_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tcpdynamics import compiled

    monkeypatch.setattr(compiled, "announce", None)
    kernel = "tcpdynamics.validation.packet.kernel"
    for modules, says in (
        (("paced.tfrc_ns2", "queues.red"), "a further mechanism of the packet simulator: about 2 s"),
        (("loop", "calendar"), "the packet simulator: about 11 s"),
    ):
        progress.announce_compilation()
        assert compiled.announce is not None
        for module in modules:
            compiled.announce(f"{kernel}.{module}")
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and f"compiling {says}" in err
