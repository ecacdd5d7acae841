"""A sweep of scenarios is its single simulations: to the last bit, after a kill, in processes, with intervals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError, InputError, LimitError, ScenarioError, StoreError
from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons.comparison import Comparison
from tcpdynamics.validation.packet import (
    Bottleneck,
    Flows,
    Record,
    Scenario,
    load_scenario,
    parse_scenario,
    ready_scenarios,
    replicate,
    simulate,
    sweep_scenarios,
)
from tcpdynamics.validation.packet.measures import MEASURES, measure
from tcpdynamics.validation.packet.scenario.changes import changed, keys_of, unit_of
from tcpdynamics.validation.packet.sweeps import with_intervals
from tcpdynamics.validation.statistics import mean_interval

Refuse = Callable[[list[object]], object]

BASE = Scenario(
    (Flows(3, rtt=(0.1, 0.12), jitter=0.01), Flows(1, "newreno", rtt=0.1)),
    Bottleneck(1e6, 20),
    duration=8.0,
    warm_up=1.0,
    slice=2.0,
)
GRID = {"bottleneck.buffer": [5, 20], "flows.0.sender": ["sack", "reno"]}


def test_each_replication_is_the_simulation_of_its_values_and_seed():
    result = sweep_scenarios(BASE, GRID, seeds=2)
    for buffer in GRID["bottleneck.buffer"]:
        for sender in GRID["flows.0.sender"]:
            for replication, seed in enumerate(result.seed.values):
                values = {"bottleneck.buffer": buffer, "flows.0.sender": sender}
                single = measure(simulate(changed(BASE, values), int(seed)))
                point = result.sel(values).isel(replication=replication)
                for name in MEASURES:
                    assert np.array_equal(point[name].values, single[name], equal_nan=True), name
                assert np.array_equal(point.group_goodput.values, single["group_goodput"])
    assert result["bottleneck.buffer"].attrs["units"] == "packets"
    expected = mean_interval(result.loss_rate.drop_vars("seed"), fraction=True)
    assert np.array_equal(result.loss_rate_low.values, expected["low"].values)
    assert result.goodput_bits_mean.attrs["units"] == "bit/s"


def test_measures_do_not_depend_on_the_block():
    groups = (Flows(4, rtt=0.05), Flows(9, rtt=0.1))
    scenario = Scenario(groups, Bottleneck(2e6, 20), duration=6.0, warm_up=1.0, slice=1.0)
    swept = sweep_scenarios(scenario, {"bottleneck.buffer": np.arange(5, 45)}, 3)
    for replication, seed in enumerate(swept.seed.values):
        for buffer in (5, 6, 7, 43, 44):
            values = {"bottleneck.buffer": buffer}
            single = measure(simulate(changed(scenario, values), int(seed)))
            point = swept.sel(values).isel(replication=replication)
            for name, value in single.items():
                assert np.array_equal(point[name].values, value, equal_nan=True), name


def test_rates_vary_as_their_slices_say():
    late = changed(BASE, {"slice": 1.0, "flows.0.stop": 3.5, "flows.1.start": 2.5})
    result = sweep_scenarios(
        late, {"bottleneck.buffer": [5]}, seeds=[3], quantities=["rate_variation", "group_rate_variation"]
    )
    single = simulate(changed(late, {"bottleneck.buffer": 5}), 3)
    own = single.slice_goodput.isel(flow=3).sel(slice=slice(3.0, None)).values
    assert result.group_rate_variation.values[0, 0, 1] == pytest.approx(own.std() / own.mean())
    short = simulate(changed(late, {"slice": 7.0}), 3)
    assert np.isnan(measure(short)["rate_variation"])  # one slice does not vary
    smooth = Scenario(
        (Flows(2, "cbr", rate=1e5, packet_size=125),), Bottleneck(1e6), duration=12.0, warm_up=2.0, slice=1.0
    )
    assert measure(simulate(smooth))["rate_variation"] < 0.02


def test_variables_of_simulate_may_be_kept():
    result = sweep_scenarios(BASE, {"bottleneck.buffer": [5, 20]}, seeds=[3, 7], quantities=["goodput", "link_dropped"])
    single = simulate(changed(BASE, {"bottleneck.buffer": 20}), 7)
    point = result.isel({"bottleneck.buffer": 1, "replication": 1})
    assert np.array_equal(point.goodput, single.goodput) and point.goodput.dtype == np.int64
    assert result.link_dropped.dims == ("bottleneck.buffer", "replication", "link")
    assert list(result.link.values) == ["bottleneck"]


def test_a_topology_is_swept_in_the_table_of_a_file():
    table = {
        "duration": "4s", "warm_up": "1s", "topology": {"kind": "dumbbell", "flows": 2, "buffer": 10},
        "flows": [{"source": "s0", "target": "d0"}, {"source": "s1", "target": "d1"}],
    }  # fmt: skip
    result = sweep_scenarios(table, {"topology.rate": ["500kbit/s", "1Mbit/s"]}, seeds=[4])
    table["topology"]["rate"] = "1Mbit/s"
    assert result.loss_rate.values[1, 0] == simulate(parse_scenario(table), 4).loss_rate.item()
    assert np.isnan(result.loss_rate_low).all() and (result.loss_rate_mean == result.loss_rate[:, 0]).all()
    assert list(result["topology.rate"].values) == [5e5, 1e6] and result["topology.rate"].attrs["units"] == "bit/s"


def test_a_store_goes_on_and_refuses_another_scenario(tmp_path):
    store = tmp_path / "x.zarr"
    first = sweep_scenarios(BASE, GRID, seeds=2, store=store)
    seen = []
    again = sweep_scenarios(BASE, GRID, seeds=2, store=store, progress=seen.append)
    assert seen == [] and again.equals(first)  # nothing was left to do
    opened = with_intervals(xr.open_zarr(store, consolidated=True))
    assert np.array_equal(opened.loss_rate_high.values, first.loss_rate_high.values, equal_nan=True)
    with pytest.raises(StoreError, match=r"its parameter 'duration' is 8.0, this one's is 9.0"):
        sweep_scenarios(changed(BASE, {"duration": 9.0}), GRID, seeds=2, store=store)
    with pytest.raises(StoreError, match="holds another sweep"):
        sweep_scenarios(BASE, {**GRID, "bottleneck.buffer": [5, 21]}, seeds=2, store=store)
    with pytest.raises(StoreError, match="holds another sweep"):
        sweep_scenarios(BASE, {**GRID, "flows.0.sender": ["sack", "tahoe"]}, seeds=2, store=store)
    with pytest.raises(StoreError, match="holds another sweep"):
        sweep_scenarios(BASE, GRID, seeds=[1, 2], store=store)


def test_words_are_words_in_a_store_that_is_opened_again(tmp_path):
    from tcpdynamics.apps.files import write_netcdf
    from tcpdynamics.charts import plot
    from tcpdynamics.solvers.sweeps.explain import explain

    stores, grid = [tmp_path / name for name in ("x.zarr", "x.nc")], {"flows.0.sender": ["sack", "newreno"]}
    first = sweep_scenarios(BASE, {"bottleneck.buffer": [5, 20], **grid}, seeds=2, store=stores[0])
    write_netcdf(stores[1], first)
    opened = with_intervals(xr.open_zarr(stores[0], consolidated=True))
    assert list(opened["flows.0.sender"].values) == ["sack", "newreno"]
    chosen = {"flows.0.sender": "newreno", "bottleneck.buffer": 20}
    assert opened.loss_rate_mean.sel(chosen) == first.loss_rate_mean.sel(chosen)
    assert plot(opened).to_dict() == plot(first).to_dict()
    for store in stores:
        assert explain(store).parameters["flows.0.sender"] == "sack, newreno"
    assert "flows.0.sender = sack, newreno\n" in str(explain(stores[0]))


_SWEEP = """
import sys
from tcpdynamics.validation.packet import load_scenario, ready_scenarios, sweep_scenarios
from tcpdynamics.validation.packet.scenario.changes import changed
if __name__ == "__main__":
    base = changed(load_scenario(ready_scenarios()["sub_packet"]), {"duration": 400.0, "warm_up": 5.0})
    sweep_scenarios(base, {"bottleneck.buffer": list(range(10, 50, 2))}, seeds=2, store=sys.argv[1])
"""


def _finished(store):
    """Chunks of a quantity that are there, one for each finished simulation."""
    return [path for path in (store / "loss_rate").rglob("*") if path.is_file() and path.name != "zarr.json"]


def test_a_killed_sweep_goes_on(tmp_path):
    script, store = tmp_path / "go.py", tmp_path / "x.zarr"
    script.write_text(_SWEEP)
    process = subprocess.Popen([sys.executable, str(script), str(store)])
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and len(_finished(store)) < 4:
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == -signal.SIGKILL and 4 <= len(_finished(store)) < 38
    base = changed(load_scenario(ready_scenarios()["sub_packet"]), {"duration": 400.0, "warm_up": 5.0})
    grid = {"bottleneck.buffer": list(range(10, 50, 2))}
    shares: list[float] = []
    result = sweep_scenarios(base, grid, seeds=2, store=store, progress=shares.append)
    assert shares[0] >= 4 / 40 and shares[-1] == 1.0
    single = simulate(changed(base, {"bottleneck.buffer": 10}), int(result.seed[0]))
    assert result.loss_rate.values[0, 0] == single.loss_rate.item()


@pytest.mark.slow
def test_processes_give_the_same():
    assert sweep_scenarios(BASE, GRID, seeds=2, processes=2).equals(sweep_scenarios(BASE, GRID, seeds=2))


@pytest.mark.slow
def test_dask_gives_the_same():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        assert sweep_scenarios(BASE, GRID, seeds=2, executor=client).equals(sweep_scenarios(BASE, GRID, seeds=2))


@pytest.mark.parametrize(
    ("grid", "more", "says"),
    [
        ({"bottleneck.bufer": [1, 2]}, {}, "did you mean 'buffer'"),
        ({"flows.3.rtt": [0.1]}, {}, "flows has the indices 0 to 1"),
        ({"bottleneck.queue": ["redd"]}, {}, "did you mean 'red'"),
        ({"flows.0.control": ["cubi"]}, {}, "did you mean 'cubic'"),
        ({"bottleneck.buffer": [5, 5]}, {}, "value more than once"),
        ({"bottleneck.buffer": []}, {}, "no values"),
        ({"bottleneck.buffer": "10:20:3"}, {}, "needs a list of values"),
        ({"seed": [1, 2]}, {}, "cannot be swept"),
        ({}, {}, "grid must name a key"),
        ({"bottleneck.buffer": [5, 0]}, {}, r"bottleneck.buffer must .* \(at bottleneck.buffer = 0\)"),
        ({"bottleneck.buffer": [5]}, {"quantities": ["los_rate"]}, "did you mean 'loss_rate'"),
        ({"bottleneck.buffer": [5]}, {"quantities": ["goodputt"]}, "did you mean 'goodput'"),
        ({"bottleneck.buffer": range(1, 40_000)}, {}, "at most 20,000"),
        ({"bottleneck.buffer": [5]}, {"seeds": 0}, "seeds must be"),
        ({"bottleneck.buffer": [5]}, {"processes": 0}, "processes must be"),
    ],
)
def test_refusals_name_the_key(grid, more, says):
    with pytest.raises(ScenarioError, match=says):
        sweep_scenarios(BASE, grid, **more)


def test_work_is_estimated_before_anything_runs(tmp_path):
    grid, before = {"duration": [2e5, 4e5]}, time.monotonic()
    with pytest.raises(LimitError, match=r"with a store x\.zarr ten times as much"):
        sweep_scenarios(BASE, grid, seeds=5000)
    with pytest.raises(LimitError, match="in a sweep"):
        sweep_scenarios(BASE, grid, seeds=10_000, store=tmp_path / "x.zarr")
    assert time.monotonic() - before < 10 and not os.listdir(tmp_path)


def test_recordings_have_no_place():
    with pytest.raises(ScenarioError, match="record must be empty"):
        sweep_scenarios(changed(BASE, {"record": Record(sends=True)}), {"bottleneck.buffer": [5]})


def test_changes_reach_every_part():
    scenario = load_scenario(ready_scenarios()["star"])
    new = changed(
        scenario, {"links.0.queue": "red", "links.0.queue_parameters.p_max": 0.1, "duration": "9s", "warm_up": 1.0}
    )
    assert new.links[0].queue == "red" and new.duration == 9.0 and new.links[1] == scenario.links[1]
    assert changed(Scenario(), {"flows.0.control": "hstcp", "flows.0.parameters": {}}).flows[0].control == "hstcp"
    with pytest.raises(ScenarioError, match="did you mean"):
        changed(scenario, {"flows.0.sendr": "reno"})


def test_keys_are_those_that_scenarios_take():
    table = {"flows": [{}], "bottleneck": {}}
    keys = list(keys_of(table))
    assert {"duration", "bottleneck.buffer", "flows.0.rtt", "bottleneck.queue_parameters.p_max"} <= set(keys)
    assert unit_of("flows.0.rtt") == "s" and unit_of("bottleneck.loss") == "1"


def test_a_figure_for_one_and_two_keys():
    from tcpdynamics.charts import plot

    data = sweep_scenarios(BASE, {"bottleneck.buffer": [5, 20], "bottleneck.rate": ["1Mbit/s", "2Mbit/s"]}, seeds=2)
    assert {trace.type for trace in plot(data).data} == {"heatmap"}
    line = plot(data.isel({"bottleneck.rate": [0]}))
    assert line.data[0].error_y.array is not None and "buffer" in line.layout.xaxis.title.text
    words = sweep_scenarios(BASE, GRID, seeds=2)
    assert {trace.name for trace in plot(words).data} == {"sack", "reno"}


def test_a_figure_draws_every_quantity_that_was_asked_for():
    from tcpdynamics.charts import plot

    asked = ["group_share", "mean_wait", "loss_rate", "utilisation", "longest_hang", "goodput"]
    result = sweep_scenarios(BASE, {"bottleneck.buffer": [5, 20]}, seeds=2, quantities=asked)
    titles = [axis.title.text.replace("<br>", " ") for axis in plot(result).select_yaxes()]
    assert titles == [
        "share of the goodput of all flows that a group has",
        "time that a packet waits at the busiest link (mean) [s]",
        "loss rate",
        "utilisation of the busiest link",
        "longest hang of a user (mean over users) [s]",
        "different packets received [packets]",
    ]
    assert "Jain" in plot(sweep_scenarios(BASE, {"duration": [8, 9]}, seeds=1), "fairness").layout.yaxis.title.text
    with pytest.raises(ValueError, match="did you mean 'mean_wait'"):
        plot(result, "mean_wai")


def test_legends_name_groups_and_nothing_else():
    from tcpdynamics.charts import plot

    asked = ["mean_wait", "group_share", "group_loss"]
    scenario = changed(BASE, {"flows.0.sender": "tfrc", "flows.1.sender": "sack"})
    result = sweep_scenarios(scenario, {"bottleneck.buffer": [5, 20]}, seeds=2, quantities=asked)
    figure = plot(result)
    assert [trace.name for trace in figure.data if trace.showlegend] == ["group 0 (tfrc)", "group 1 (sack)"]
    assert figure.layout.showlegend and not plot(result, "mean_wait").layout.showlegend
    rules = sweep_scenarios(scenario, {"flows.1.control": ["reno", "cubic"]}, seeds=1, quantities=asked[1:])
    assert [t.name for t in plot(rules).data if t.showlegend] == ["group 0 (tfrc)", "group 1 (sack)"]
    grid = {"bottleneck.buffer": [5, 20], "bottleneck.rate": [1e6, 2e6]}
    maps = plot(sweep_scenarios(scenario, grid, seeds=1, quantities=asked))
    assert [title.text.rpartition("group ")[2] for title in maps.layout.annotations[1:]] == ["0 (tfrc)", "1 (sack)"] * 2


def test_ticks_stand_at_the_points_and_groups_are_lines():
    from tcpdynamics.charts import plot

    result = sweep_scenarios(BASE, {"bottleneck.buffer": [5, 20, 45]}, seeds=2)
    axis = plot(result).layout.xaxis
    assert axis.ticktext == ("5", "20", "45") and axis.tickvals == (5, 20, 45)
    figure = plot(result.group_share_mean)
    assert [trace.type for trace in figure.data] == ["scatter"] * 2
    assert [trace.name.rpartition(", ")[2].partition(":")[0] for trace in figure.data] == ["group 0", "group 1"]
    assert plot(result.loss_rate_mean).layout.xaxis.title.text == "bottleneck.buffer [packets]"


def test_paths_and_tables_are_scenarios():
    path = Path(ready_scenarios()["one_loss"])
    result = sweep_scenarios(path, {"duration": ["5s", "10s"]}, seeds=[1], quantities=["timeouts"])
    assert result["duration"].attrs["units"] == "s" and result.timeouts.shape == (2, 1)


@pytest.mark.parametrize(
    "run",
    [lambda seeds: replicate(BASE, seeds), lambda seeds: sweep_scenarios(BASE, {"bottleneck.buffer": [5]}, seeds)],
    ids=["replicate", "sweep_scenarios"],
)
@pytest.mark.parametrize(
    "seeds",
    [[1.2, 1.9], [1, 1], [1, "1"], [np.uint64(7), 7], [True, 2], [-1], [2**128 + 1], [None], ["1e3"], [], 1.5, "12"],
)
def test_seeds_are_whole_and_each_once(run: Refuse, seeds: list[object]) -> None:
    with pytest.raises(ScenarioError, match="seeds must be"):
        run(seeds)


def test_the_seeds_of_a_result_repeat_it() -> None:
    first = replicate(BASE, 2)
    again = replicate(BASE, first.seed.values)
    xr.testing.assert_identical(first, again)


RUNS = ("seed", "seeds", "replications", "ours")


@pytest.mark.parametrize("name", comparisons.__all__)
def test_comparisons_take_whole_numbers_of_runs_and_whole_seeds(name: str) -> None:
    kind = getattr(comparisons, name)
    if not (isinstance(kind, type) and issubclass(kind, Comparison)):
        return
    for field in {f.name for f in fields(kind)} & {*RUNS}:
        for bad in (1.5, 2.5, True, -1, "3", None):
            with pytest.raises(DomainError, match=f"{field} must be"):
                kind(**{field: bad})


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ({"flows.0.count": [1, 30], "flows.00.count": [2, 3]}, "flows.00 is another name of flows.0"),
        ({"flows.000.count": [1, 30]}, "flows.000 is another name of flows.0"),
        ({"flows.01.count": [1, 30]}, "flows.01 is another name of flows.1"),
        ({"bottleneck": [1, 2], "bottleneck.rate": [1e6, 2e6]}, "bottleneck.rate is a part of bottleneck"),
        ({"flows.0.parameters.b": [0.1], "flows.0.parameters": [{"b": 0.1}]}, "is a part of flows.0.parameters"),
        ({"flows.0.parameters": [{"b": 0.1}], "flows.0.count": [2], "flows": [1, 2]}, "is a part of flows"),
        ({"topology": [1], "topology.kind": ["dumbbell"]}, "is a part of topology"),
    ],
)
def test_a_value_has_one_key(grid: dict[str, list[object]], says: str) -> None:
    for turned in (grid, dict(reversed(grid.items()))):
        with pytest.raises(InputError, match=says):
            sweep_scenarios(BASE, turned)
    single = {key: values[0] for key, values in grid.items()}
    if "topology" not in single:
        with pytest.raises(InputError, match=says):
            changed(BASE, single)
