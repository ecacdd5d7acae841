"""`simulate --set key=range`: tables, files, a store that resumes, refusals, completion."""

import csv
import json
import tomllib
from itertools import product

import click.testing
import numpy as np
import pytest
import xarray as xr

from tcpdynamics.apps.command import simulate
from tcpdynamics.apps.command.main import cli
from tcpdynamics.apps.command.scenario_sweep import complete_quantity, complete_setting
from tcpdynamics.apps.overrides import grid_of, override
from tcpdynamics.errors import TcpDynamicsError
from tcpdynamics.validation.packet import load_scenario, ready_scenarios, replicate
from tcpdynamics.validation.packet.scenario.changes import changed
from tcpdynamics.validation.packet.sweeps import scenario_work

SHORT = ["sub_packet", "--set", "duration=10s", "--set", "warm_up=2s", "--set", "flows.0.count=4"]
SWEEP = [*SHORT, "--set", "bottleneck.buffer=10:30:2", "--set", "bottleneck.queue=red,droptail", "--replications", "2"]


def run(*words):
    return click.testing.CliRunner().invoke(cli, ["simulate", *map(str, words)])


def test_a_grid_is_written_in_every_form_and_resumes(tmp_path):
    names = {kind: tmp_path / f"x.{kind}" for kind in ("nc", "csv", "html", "zarr")}
    outputs = [word for path in names.values() for word in ("--output", path)]
    done = run(*SWEEP, *outputs)
    assert done.exit_code == 0, done.output
    assert "4 scenarios, 2 replications each" in done.output and "±" in done.output
    result = xr.load_dataset(names["nc"])
    base = load_scenario(ready_scenarios()["sub_packet"])
    values = {"duration": 10.0, "warm_up": 2.0, "flows.0.count": 4, "bottleneck.buffer": 30, "bottleneck.queue": "red"}
    single = replicate(changed(base, values), 2)
    point = result.sel({"bottleneck.buffer": 30, "bottleneck.queue": "red"})
    assert np.array_equal(point.loss_rate.values, single.loss_rate.values)
    rows = list(csv.DictReader(names["csv"].read_text().splitlines()))
    assert len(rows) == 4 and rows[2]["bottleneck.queue"] == "red"
    assert float(rows[2]["loss_rate_mean"]) == pytest.approx(float(point.loss_rate_mean), rel=1e-14)
    assert "plotly" in names["html"].read_text()[:2000].lower()
    before = {kind: path.read_bytes() for kind, path in names.items() if kind != "zarr"}
    assert "is a table, which does not say of which run" in str(run(*SWEEP, *outputs).exception)
    assert run(*SWEEP, *outputs, "--force").exit_code == 0
    assert before == {kind: path.read_bytes() for kind, path in names.items() if kind != "zarr"}
    other = run(*SWEEP, "--set", "duration=11s", "--output", names["zarr"])
    assert "its parameter 'duration' is 10.0, this one's is 11.0" in str(other.exception)
    assert "with other settings" in str(run(*SWEEP, "--set", "duration=11s", "--output", names["nc"]).exception)


def test_json_has_coordinates_and_intervals():
    done = click.testing.CliRunner().invoke(cli, ["simulate", *SWEEP, "--quantity", "loss_rate", "--json"])
    document = json.loads(done.stdout)
    assert document["coordinates"]["bottleneck.queue"] == ["red", "droptail"]
    assert set(document["results"]) == {"loss_rate", "status", "loss_rate_mean", "loss_rate_low", "loss_rate_high"}


def test_groups_of_flows_have_columns_and_shares_that_add_up_to_one():
    words = ("tfrc_beside_sack", "--set", "duration=10s", "--set", "warm_up=2s", "--set", "bottleneck.buffer=5,20")
    done = run(
        *words, "--replications", 2, "--quantity", "group_share", "--quantity", "mean_wait", "--quantity", "goodput"
    )
    head, *rows = done.stdout.splitlines()[1:4]
    assert "group 0: share" in head and "group 1: share" in head and "mean_wait [s]" in head
    assert "goodput is several numbers a run" in done.stdout and "; a number a run: goodput_bits" in done.stdout
    for row in rows:
        _, first, _, _, second, *_ = row.split()
        assert float(first) + float(second) == pytest.approx(1.0, abs=2e-3)


def test_a_table_has_columns_for_each_group_and_flow(tmp_path):
    words = "tfrc_beside_sack --set duration=10s --set warm_up=2s --set slice=2s --set bottleneck.buffer=5,20"
    path, kept = tmp_path / "x.csv", ["group_share", "loss_rate", "sent", "link_dropped", "slice_goodput"]
    done = run(
        *words.split(), "--replications", 2, "--output", path, *(word for name in kept for word in ("--quantity", name))
    )
    assert "without slice_goodput" in done.output
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert sum(float(rows[1][f"group_share_{i}_mean"]) for i in range(2)) == pytest.approx(1.0)
    base = load_scenario(ready_scenarios()["tfrc_beside_sack"])
    single = replicate(changed(base, {"duration": 10.0, "warm_up": 2.0, "bottleneck.buffer": 20}), 2)
    assert float(rows[1]["sent_1_mean"]) == pytest.approx(single.sent.mean("replication").values[1])
    assert {"loss_rate_low", "link_dropped_bottleneck_high"} <= set(rows[0])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--set", "bottleneck.bufer=1:3:3"], "did you mean 'buffer'"),
        (["--set", "bottleneck.queue=red,dropptail"], "did you mean 'droptail'"),
        (["--set", "bottleneck.queue=fq,droptail"], "did you mean 'fq_codel'"),
        (["--set", "queue=red,droptail"], "did you mean 'bottleneck.queue'"),
        (["--set", "bottleneck.buffer=1:3:99999"], "at most 20,000"),
        (["--set", "bottleneck.buffer=1:3:x"], "'x' is not a number"),
        (["--set", "bottleneck.buffer=1:2:2", "--set", "bottleneck.buffer=3,4"], "several values twice"),
        (["--set", "bottleneck.buffer=1", "--set", "bottleneck.buffer=3,4"], "one value and several"),
        (["--set", "bottleneck=1,2", "--set", "bottleneck.rate=1e6,2e6"], "is a part of bottleneck"),
        (["--set", "flows.0.count=1,2", "--set", "flows[00].count=2,3"], "another name of flows.0"),
        (["--set", "bottleneck.buffer=1,,2"], "empty value"),
        (["--set", "bottleneck.trace=a.csv,b.csv"], "give its rows as changes"),
        (["--set", "bottleneck.buffer=5,6", "--precision", "2%"], "--precision belongs to one scenario"),
        (["--set", "bottleneck.buffer=5,6", "--quantity", "los_rate"], "did you mean 'loss_rate'"),
        (["--set", "bottleneck.buffer=5,6", "--quantity", "goodput_total"], "did you mean 'goodput_bits'"),
        (["--quantity", "loss_rate"], "belongs to a sweep; give --set one value (bottleneck.buffer=20)"),
        (["--processes", "2"], "belongs to a sweep; give --set a range"),
        (["--set", "bottleneck.buffer=5,6", "--output", "x.txt"], "ends in .nc, .html, .png, .csv or .zarr"),
    ],
)
def test_refusals(words, says):
    done = run("sub_packet", *words)
    assert done.exit_code != 0 and says in f"{done.output} {done.exception}".replace("\n", " ")
    assert isinstance(done.exception, SystemExit | TcpDynamicsError)


def test_what_stands_for_several_values():
    assert grid_of("duration=100s", 9) is None and grid_of('name="a,b"', 9) is None
    assert grid_of("flows.0.rtt=[1, 2]", 9) is None and grid_of("flows.0.source=a:b", 9) is None
    assert grid_of("bottleneck.rate=1Mbit/s:2Mbit/s:3", 9) == ("bottleneck.rate", [1e6, 1.5e6, 2e6])
    assert grid_of("flows.0.ecn=true,false", 9) == ("flows.0.ecn", [True, False])


def test_completion():
    context = click.Context(cli, info_name="simulate")
    context.params["scenario"] = "sub_packet"
    values = {item.value for item in complete_setting(context, None, "bottleneck.queue")}
    assert {"bottleneck.queue=", "bottleneck.queue_parameters="} <= values
    assert [item.value for item in complete_setting(context, None, "bottleneck.queue=red,drop")] == [
        "bottleneck.queue=red,droptail"
    ]
    assert "flows." in {item.value for item in complete_setting(context, None, "flo")}
    assert [item.value for item in complete_quantity(context, None, "loss_rate_")] == ["loss_rate_timeout"]


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(
    ("several", "own"),
    [
        ("bottleneck.queue=codel,pie", "bottleneck.queue_parameters.linux=1"),
        ("flows.0.control=hstcp,scalable", "flows[0].parameters.low_window=20"),
    ],
)
def test_what_all_of_a_grid_have_is_set_in_either_order(several, own, back, tmp_path):
    both = [several, own][:: -1 if back else 1]
    words = [word for text in both for word in ("--set", text)]
    done = run(*SHORT, *words, "--replications", "2", "--output", tmp_path / "x.nc")
    assert done.exit_code == 0, done.output
    result = xr.load_dataset(tmp_path / "x.nc").squeeze()
    values = {"duration": 10.0, "warm_up": 2.0, "flows.0.count": 4}
    key, words = several.split("=")
    own_key, number = own.replace("[0]", ".0").split("=")
    base = load_scenario(ready_scenarios()["sub_packet"])
    for word in words.split(","):
        single = replicate(changed(base, {**values, key: word, own_key: float(number)}), 2)
        assert np.array_equal(result.sel({key: word}).loss_rate.values, single.loss_rate.values)


def test_what_one_of_a_grid_lacks_is_refused_by_its_name():
    own = "bottleneck.queue_parameters.linux=1"
    for both in (["bottleneck.queue=codel,droptail", own], [own, "bottleneck.queue=codel,droptail"]):
        done = run(*SHORT, *(word for text in both for word in ("--set", text)))
        assert done.exit_code != 0
        assert 'unknown key bottleneck.queue_parameters.linux; queue "droptail" has none' in str(done.exception)


@pytest.mark.parametrize(
    "settings",
    [
        ("flows.0.sender=cbr,poisson", "flows.0.rate=1e5"),
        ("flows.0.segments_shape=1.5", "flows.0.segments=10,20"),
        ("warm_up=2000", "duration=3000,2500", "slice=100", "flows.0.count=2"),
        ("flows.0.pool=3", "flows.0.count=3,6", "flows.0.segments=10"),
    ],
    ids=lambda settings: settings[0],
)
def test_a_single_value_may_need_those_of_the_grid(settings: tuple[str, ...]) -> None:
    """Only the points of the grid are checked, not the file with the single values alone."""
    table = tomllib.loads(ready_scenarios()["sub_packet"].read_text(encoding="utf-8"))
    grid, single = simulate._grid(settings)
    for setting in single:
        override(table, setting)
    work = scenario_work(table, grid, 2)
    points = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    assert len(points) == 2 and all(work.scenario(point) for point in points)


def test_one_value_is_a_table_with_one_row():
    done = run(*SHORT, "--set", "bottleneck.queue=codel", "--quantity", "loss_rate")
    assert done.exit_code == 0 and any(row.split()[:1] == ["codel"] for row in done.output.splitlines())
