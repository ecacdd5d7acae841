"""A process that lacks memory, files or an extra says which, in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import benchmarks.__main__ as bench
from benchmarks import compare
from tcpdynamics.shortages import EXTRAS, of_output, shortage

resource = pytest.importorskip("resource")


def limited(which: int, most: int, *words: str) -> subprocess.CompletedProcess[str]:
    """The command under a limit of its own."""
    command = [sys.executable, "-m", "tcpdynamics", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(which, (most, most)),
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other systems are not kept")
@pytest.mark.parametrize(
    ("which", "most", "says"),
    [
        ("RLIMIT_AS", 10**8, "libraries alone take"), ("RLIMIT_AS", 3 * 10**8, "libraries alone take"),
        ("RLIMIT_NOFILE", 5, "may not open more files"), ("RLIMIT_NOFILE", 6, "may not open more files"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("words", [("simulate", "one_loss"), ("figures",)], ids=" ".join)
def test_limits_are_named(words: tuple[str, ...], which: str, most: int, says: str) -> None:
    done = limited(getattr(resource, which), most, *words)
    assert done.returncode == 2 and done.stdout == ""
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_under_a_limit_of_memory_extensions_fail_in_other_words(monkeypatch: pytest.MonkeyPatch) -> None:
    loading = OSError("Could not find/load shared object")
    strange = (SystemError("error return without exception set"), ImportError("x"), loading)
    for error in strange:
        assert shortage(error) is None
    monkeypatch.setattr("tcpdynamics.shortages._memory_limit", lambda: 7 * 10**8)
    for error in (*strange, MemoryError()):
        assert "limit of 0.7 GB of memory (ulimit -v)" in str(shortage(error))
    assert shortage(ValueError("x")) is None and shortage(FileNotFoundError(2, "x", "y")) is None
    assert of_output(BrokenPipeError(32, "x")) and not of_output(OSError("Could not find/load shared object"))


#: What runs where a module is not installed, in a process of its own: half-loaded libraries would stay in this one.
WITHOUT = "import sys; sys.modules[sys.argv.pop(1)] = None; "
COMMAND = f"{WITHOUT} from tcpdynamics.apps.command.main import main; main()"
SOLVED = "from tcpdynamics import *; found = solvers.stationary(models.SubPacketFull(loss=0.1).chain(){}); "


@pytest.mark.parametrize(
    ("missing", "extra", "words"),
    [
        ("waitress", "explorer", "explore --port 1"), ("dash", "explorer", "explore --port 1"),
        ("flask_compress", "explorer", "explore --port 1"), ("plotly", "charts", "report --output x.html"),
        ("plotly", "charts", "simulate one_loss --output x.html"), ("plotly", "charts", "figures leap.fig6 --output x"),
        ("plotly", "charts", "stationary sub-packet --loss 0.1 --output x.html"),
        ("plotly", "charts", "simulate sub_packet --set bottleneck.buffer=5,9 --output x.html"),
        ("plotly", "charts", "stability logistic --epsilon 1 --output x.html"),
        ("plotly", "charts", "validate misra --output x.png"),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named(missing: str, extra: str, words: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", COMMAND, missing, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path)
    error = f"Error: this needs {missing}, which is not installed: pip install 'tcpdynamics[{extra}]'\n"
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith(error) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ("plotly", "import tcpdynamics.charts.stability"), ("plotly", SOLVED.format("") + "plot(found)"),
        ("plotly", "from tcpdynamics import *; paper_figures.figures()['logistic.fig1']()"),
        ("anywidget", "import tcpdynamics.apps.widget"), ("traitlets", "import tcpdynamics.apps.widget"),
        ("dash", "import tcpdynamics.apps.dash_figure"), ("jax", SOLVED.format(", backend='jax'")),
        ("kaleido", "import os; os.environ['PATH'] = ''; from tcpdynamics.apps import outputs; outputs.check_png('x')"),
    ],
)  # fmt: skip
def test_functions_name_a_missing_extra(missing: str, code: str) -> None:
    command = [sys.executable, "-c", WITHOUT + code, missing]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and f"pip install 'tcpdynamics[{EXTRAS[missing]}]'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_benchmark_that_fails_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(Path(bench.__file__).parent.parent)
    monkeypatch.setattr(bench, "NAMES", ("no_such_benchmark", "import_time"))
    monkeypatch.setattr(sys, "argv", ["benchmarks"])
    with pytest.raises(SystemExit) as stop:
        bench.main()
    out, err = capfd.readouterr()
    assert "failed: no_such_benchmark" in str(stop.value)
    assert "no_such_benchmark failed with code 1" in err and "import tcpdynamics " in out


def test_a_peer_that_is_missing_or_fails_is_a_row_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Times are of one part, ratios of calls in turn, and the rows of other work stay."""

    def fails() -> None:
        raise ModuleNotFoundError("no_such_peer")

    monkeypatch.setattr(compare, "MEASURED", tmp_path / "measured.json")
    routes = [
        compare.Route("ours", lambda: sum(range(20_000)), 10, float),
        compare.Route("slower", lambda: sum(range(200_000)), 10),
        compare.Route("absent", fails, package="no_such_peer"),
        compare.Route("broken", fails, package="numpy"),
    ]
    compare.compare("a sum", "a part", routes)
    compare.compare("another", "a part", routes[:1])
    works = json.loads((tmp_path / "measured.json").read_text())["works"]
    ours, slower = (next(row for row in works["a sum"]["rows"] if row["route"] == name) for name in ("ours", "slower"))
    assert (ours["ratio_cpu"], ours["error"], ours["calls"]) == ([1.0, 1.0, 1.0], 199_990_000.0, compare.ROUNDS)
    for row in (ours, slower):
        assert row["cpu"][1] <= row["cpu"][0] <= row["cpu"][2] and row["clock"][1] > 0
    missing = {row["route"]: row["missing"] for row in works["a sum"]["rows"] if "missing" in row}
    assert missing["absent"] == "not installed: pip install no_such_peer" and missing["broken"].endswith(
        "fails: ModuleNotFoundError"
    )
    assert "another" in works and "pip install no_such_peer" in capsys.readouterr().out
