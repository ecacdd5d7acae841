"""Do the figures show what was recorded, and say what is missing?"""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from tcpdynamics import plot
from tcpdynamics.charts import packets as plots
from tcpdynamics.validation.packet import Bottleneck, Flows, Record, Scenario, replicate, simulate

KINDS = ["new", "fast_retransmission", "timeout_retransmission", "other_repeat"]


def recorded() -> xr.Dataset:
    """Two flows on two links, by hand; segment 1 of flow 0 is lost and sent again."""
    return xr.Dataset(
        {
            "send_time": ("send", [0.0, 0.1, 0.5, 1.0]),
            "send_flow": ("send", [0, 0, 1, 0]),
            "send_segment": ("send", [0, 1, 0, 1]),
            "send_kind": ("send", [0, 0, 0, 1]),
            "receive_time": ("receive", [0.2, 0.7, 1.2]),
            "receive_flow": ("receive", [0, 1, 0]),
            "receive_segment": ("receive", [0, 0, 1]),
            "receive_kind": ("receive", [0, 0, 1]),
            "drop_time": ("drop", [0.15, 0.3]),
            "drop_flow": ("drop", [0, 0]),
            "drop_segment": ("drop", [1, 7]),
            "drop_kind": ("drop", [0, 4]),
            "drop_link": ("drop", [0, 1]),
            "window_time": ("window_sample", [0.0, 0.0, 1.0, 1.0]),
            "window_flow": ("window_sample", [0, 1, 0, 1]),
            "window_cwnd": ("window_sample", [2.0, 2.0, 4.0, 3.0]),
            "window_ssthresh": ("window_sample", [2.0**31, 64.0, 2.0, 3.0]),
            "queue_time": ("queue_sample", [0.0, 0.0, 1.0, 1.0]),
            "queue_link": ("queue_sample", [0, 1, 0, 1]),
            "queue_packets": ("queue_sample", [0, 2, 1, 5]),
            "slice_goodput": (("slice", "flow"), [[10, 20], [30, 0]]),
        },
        {"kind": KINDS, "link": ["a->b", "b->c"], "flow": [0, 1], "slice": [10.0, 12.0]},
        {"name": "by hand", "seed": "7", "scenario": '{"duration": 2.5, "slice": 2.0}'},
    )


def traces(figure: object) -> dict[str, tuple[list[float], list[float]]]:
    return {t.name: (list(t.x), list(t.y)) for t in figure.data}  # type: ignore[attr-defined]


def test_windows_show_cwnd_and_ssthresh_of_each_flow() -> None:
    figure = plots.window_figure(recorded())
    assert traces(figure)["flow 0: cwnd"] == ([0.0, 1.0], [2.0, 4.0])
    assert traces(figure)["flow 1: ssthresh"] == ([0.0, 1.0], [64.0, 3.0])
    # A first threshold of 2^31 leaves the windows readable.
    assert figure.layout.yaxis.range[1] < 10
    assert list(traces(plots.window_figure(recorded(), [1]))) == ["flow 1: cwnd", "flow 1: ssthresh"]


def test_queues_are_chosen_by_length_or_name() -> None:
    assert list(traces(plots.queue_figure(recorded()))) == ["b->c", "a->b"]
    assert traces(plots.queue_figure(recorded(), ["a->b"])) == {"a->b": ([0.0, 1.0], [0, 1])}
    assert list(traces(plots.queue_figure(recorded(), [0]))) == ["a->b"]


def test_throughput_counts_what_was_received_also_in_a_shorter_last_bin() -> None:
    found = traces(plots.throughput_figure(recorded(), 1.0))
    assert found["all flows"] == ([0.0, 1.0, 2.0, 2.5], [2.0, 1.0, 0.0, 0.0])
    assert found["flow 1"][1] == [1.0, 0.0, 0.0, 0.0]
    for width in (0.3, 0.5, 2.5, 10.0):
        x, y = traces(plots.throughput_figure(recorded(), width))["all flows"]
        assert float(np.dot(y[:-1], np.diff(x))) == pytest.approx(3)


def test_chosen_flows_are_drawn_beside_all_of_them() -> None:
    for make in (plots.throughput_figure, plots.drops_figure):
        assert list(traces(make(recorded(), flows=[1])))[:2] == ["all flows", "flow 1"]
        assert "of 2 flows" not in make(recorded(), flows=[1]).layout.title.text


def test_a_flow_has_one_colour_in_all_pictures() -> None:
    for part in (recorded(), recorded().isel(flow=[0])):
        makers = (plots.window_figure, plots.throughput_figure, plots.drops_figure)
        colours = [{t.name.split(":")[0]: t.line.color for t in make(part).data} for make in makers]
        for name, colour in colours[0].items():
            assert name.startswith("flow ") and [one[name] for one in colours] == 3 * [colour]


def test_throughput_falls_back_on_slices() -> None:
    found = traces(plots.throughput_figure(recorded().drop_dims("receive")))
    assert found["all flows"] == ([10.0, 12.0, 14.0], [15.0, 15.0, 15.0])


def test_throughput_in_megabits_counts_handshakes_as_they_are() -> None:
    group = {"count": 1, "packet_size": 1000, "ack_size": 100, "handshake": True}
    scenario = {"duration": 2.5, "slice": 2.0, "flows": [group, group | {"packet_size": 250, "handshake": False}]}
    run = recorded().assign_attrs(scenario=json.dumps(scenario), what_you_ran=json.dumps(scenario))
    found = traces(plots.throughput_figure(run, 1.0, "Mbit/s"))
    np.testing.assert_allclose(found["flow 0"][1][:2], [8e-4, 8e-3])  # a handshake of 100 byte, a packet of 1000
    np.testing.assert_allclose(found["all flows"][1][:2], [8e-4 + 2e-3, 8e-3])
    slices = traces(plots.throughput_figure(run.drop_dims("receive"), unit="Mbit/s"))
    np.testing.assert_allclose(slices["flow 1"][1][:2], [20 * 2e-3 / 2, 0.0])


def test_losses_are_counted_by_flow_and_acknowledgements_apart() -> None:
    found = traces(plots.drops_figure(recorded(), 1.0))
    assert found["all flows"] == ([0.0, 1.0, 2.0, 2.5], [1.0, 0.0, 0.0, 0.0])
    assert found["flow 1"][1] == [0.0] * 4 and found["acknowledgements"][1] == [1.0, 0.0, 0.0, 0.0]
    alone = recorded().isel({"drop": [0]})
    assert list(traces(plots.drops_figure(alone, 1.0))) == ["all flows", "flow 0", "flow 1"]


def test_segments_mark_repeats_losses_and_receipts() -> None:
    found = traces(plots.sequence_figure(recorded()))
    assert found["sent: new"] == ([0.0, 0.1], [0, 1])
    assert found["sent: fast retransmission"] == ([1.0], [1])
    assert found["received"] == ([0.2, 1.2], [0, 1])
    assert found["lost"] == ([0.15], [1])  # the lost acknowledgement is no segment
    assert list(traces(plots.sequence_figure(recorded(), 0, start=0.9))) == ["sent: fast retransmission", "received"]


@pytest.mark.parametrize(
    "make", [plots.window_figure, plots.queue_figure, plots.throughput_figure, plots.sequence_figure]
)
def test_axes_have_units_and_figures_titles(make: object) -> None:
    figure = make(recorded())  # type: ignore[operator]
    assert figure.layout.xaxis.title.text == "time [s]"
    assert figure.layout.yaxis.title.text in (
        "window [packets]",
        "waiting [packets]",
        "throughput [packets/s]",
        "segment",
    )
    assert figure.layout.title.text.endswith("by hand, seed 7")
    assert figure.layout.showlegend


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda r: plots.window_figure(r.drop_dims("window_sample")), "set record.windows = 0.1"),
        (lambda r: plots.queue_figure(r.drop_dims("queue_sample")), "set record.queues = 0.1"),
        (lambda r: plots.sequence_figure(r.drop_dims("send")), "set record.sends = true"),
        (lambda r: plots.throughput_figure(r.drop_dims(["receive", "slice"])), "set record.receives = true"),
        (lambda r: plots.throughput_figure(r, 0.0), "width must be"),
        (lambda r: plots.throughput_figure(r, 1.0, "bit"), "unit must be 'packets/s' or 'Mbit/s', got 'bit'"),
        (lambda r: plots.drops_figure(r, -1.0), "width must be"),
        (lambda r: plots.drops_figure(r.drop_dims("drop")), "set record.drops = true"),
        (lambda r: plots.throughput_figure(r, 1e-7), "more than a million"),
        (lambda r: plots.window_figure(r, [5]), "flows must name flows that were recorded, got 5"),
        (lambda r: plots.queue_figure(r, ["x"]), "got 'x'; known: b->c, a->b"),
        (lambda r: plots.sequence_figure(r, 9), "flow 9 sent nothing"),
        (lambda r: plots.window_figure(r.expand_dims(replication=2)), "got 2 replications"),
    ],
)
def test_what_is_missing_is_named(call: object, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace("[", r"\[")):
        call(recorded())  # type: ignore[operator]


def test_a_real_run_draws_all_four() -> None:
    scenario = Scenario(
        (Flows(count=3, rtt=(0.1, 0.12)),),
        Bottleneck(1e6, buffer=10),
        duration=20.0,
        warm_up=5.0,
        record=Record(sends=True, receives=True, drops=True, windows=0.1, queues=0.1),
    )
    result = simulate(scenario)
    windows = traces(plots.window_figure(result))
    assert len(windows) == 6
    assert 1 <= min(windows["flow 0: cwnd"][1]) < max(windows["flow 0: cwnd"][1])
    assert plots.throughput_figure(result).layout.yaxis.title.text == "throughput [Mbit/s]"
    x, y = traces(plots.throughput_figure(result, unit="packets/s"))["all flows"]
    assert float(np.dot(y[:-1], np.diff(x))) == pytest.approx(result.sizes["receive"])
    assert 0 < max(traces(plots.queue_figure(result)).popitem()[1][1]) <= 10
    segments = traces(plots.sequence_figure(result))
    assert {"sent: new", "lost", "received"} <= set(segments)
    assert len(segments["sent: new"][0]) == len(set(segments["sent: new"][1]))  # new data is sent once


def two_groups(**record: float) -> xr.Dataset:
    flows = (Flows(count=6, rtt=(0.1, 0.12)), Flows(count=5, sender="reno", rtt=(0.1, 0.12)))
    return simulate(Scenario(flows, Bottleneck(1e6, buffer=10), duration=8.0, warm_up=4.0, slice=1.0,
                             record=Record(**record)))  # type: ignore[arg-type] # fmt: skip


@pytest.mark.parametrize("record", [{"windows": 0.1}, {"receives": True}, {}])
def test_selected_flows_are_drawn_and_no_others(record: dict[str, float]) -> None:
    run = two_groups(**record)
    for selected, flows in (
        (run.sel(flow=[0, 7]), ["flow 0 (sack)", "flow 7 (reno)"]),
        (run.sel(flow=8), ["flow 8 (reno)"]),
        (run.isel(flow=slice(6, 11)), [f"flow {i} (reno)" for i in range(6, 11)]),
    ):
        figure = plots.simulation_figure(selected)
        names = [str(t.name).partition(":")[0] for t in figure.data]
        assert [n for n in dict.fromkeys(names) if n.startswith("flow")] == flows
        if "windows" not in record:
            assert ("these flows together" in names) == (len(flows) > 1) and "all flows" not in names
        assert " of " not in figure.layout.title.text


def test_a_selection_of_flows_counts_its_own_packets() -> None:
    run = two_groups(receives=True)
    x, y = traces(plots.throughput_figure(run.sel(flow=[3, 9]), unit="packets/s"))["these flows together"]
    assert float(np.dot(y[:-1], np.diff(x))) == pytest.approx(np.isin(run.receive_flow, [3, 9]).sum())
    np.testing.assert_allclose(
        plots.epochs_figure(run.sel(flow=9)).data[0].y, run.epochs.sel(flow=9) / run.epochs.sel(flow=9).sum()
    )
    np.testing.assert_array_equal(plots.epochs_figure(run).data[0].y, run.epoch_fraction)
    both = xr.concat([run, run], "replication", data_vars="all")
    assert list(plots.replications_figure(both.sel(flow=9)).data[1].x) == [9]


def test_figures_say_what_they_leave_out() -> None:
    assert "(6 of 11 flows)" in plots.simulation_figure(two_groups(windows=0.1)).layout.title.text
    assert "(6 of 11 flows)" in plots.simulation_figure(two_groups(receives=True)).layout.title.text
    assert "of 11" not in plots.window_figure(two_groups(windows=0.1), [1, 2]).layout.title.text


def test_selected_links_keep_their_queues() -> None:
    run = recorded()
    run.attrs["what_you_ran"] = '{"links": [{"name": "a->b"}, {"name": "b->c"}]}'
    for link in ("b->c", ["b->c"]):
        assert traces(plots.queue_figure(run.sel(link=link))) == {"b->c": ([0.0, 1.0], [2, 5])}


def test_flows_of_every_group_are_drawn() -> None:
    """Four groups of five: the first flow of each, and the second of two of them."""
    groups = tuple(Flows(count=5, rtt=0.1 * (i + 1)) for i in range(4))
    run = simulate(Scenario(groups, Bottleneck(1e6, 20), duration=3.0, warm_up=1.0, record=Record(windows=0.5)))
    names = {trace.name.split(":")[0] for trace in plots.window_figure(run).data}
    assert names == {f"flow {i} (group {i // 5})" for i in (0, 1, 5, 6, 10, 15)}


def test_a_mean_of_replications_bears_no_seed() -> None:
    runs = replicate(Scenario((Flows(),), Bottleneck(1e6, 20), duration=3.0, warm_up=1.0, name="mine"), 2)
    assert "seed" not in runs.attrs and runs.seed.size == 2
    mean = runs.mean("replication", keep_attrs=True)
    assert plots.simulation_figure(mean).layout.title.text == "Packets sent in an epoch: mine"


def test_a_figure_is_chosen_by_a_word() -> None:
    run = simulate(
        Scenario((Flows(),), Bottleneck(1e6, 20), duration=3.0, warm_up=1.0, record=Record(windows=0.5, queues=0.5))
    )
    assert plot(run, "queues").layout.title.text == plots.queue_figure(run).layout.title.text
    with pytest.raises(ValueError, match=r"what must be one of windows, queues, .* got 'queue'"):
        plot(run, "queue")
    with pytest.raises(ValueError, match=r"result has no .*; set record"):
        plot(run, "drops")
    with pytest.raises(ValueError, match="needs the coordinate flow"):
        plot(run.drop_dims([d for d in run.dims if d.startswith(("window", "queue"))]).groupby("group").mean())


def test_goodput_of_replications_is_coloured_by_group() -> None:
    groups = (Flows(count=2), Flows(count=1, sender="reno"))
    runs = replicate(Scenario(groups, Bottleneck(1e6, 20), duration=3.0, warm_up=1.0), 3)
    _, *goodput = plots.simulation_figure(runs).data
    assert [trace.name for trace in goodput] == ["group 0: sack", "group 1: reno"]
    assert [len(trace.x) for trace in goodput] == [2, 1] and all(trace.showlegend for trace in goodput)
    assert sum(sum(trace.y) for trace in goodput) == pytest.approx(runs.goodput_rate.mean("replication").sum() / 1e6)


def test_a_sender_without_a_window_has_none_in_the_picture() -> None:
    flows = [Flows(sender="tfrc"), Flows(sender="cbr", rate=1e5), Flows(sender="sack")]
    scenario = Scenario(flows=flows, bottleneck=Bottleneck(rate=1e6), duration=5, warm_up=1, record=Record(windows=0.5))
    names = [trace.name for trace in plots.window_figure(simulate(scenario)).data]
    assert names == ["flow 0 (tfrc): rate times RTT", "flow 2 (sack): cwnd", "flow 2 (sack): ssthresh"]


def test_legends_name_the_way_of_repair_and_the_rule() -> None:
    flows = (Flows(1, "sack", control="cubic"), Flows(1, "sack"), Flows(1, "cbr", rate=1e5))
    record = Record(windows=0.5, receives=True)
    run = simulate(Scenario(flows, Bottleneck(2e6, 20), 5.0, 1.0, record=record))
    names = [trace.name.partition(":")[0] for trace in plots.window_figure(run).data]
    assert names == ["flow 0 (sack, cubic)"] * 2 + ["flow 1 (sack, reno)"] * 2
    assert "flow 2 (cbr)" in traces(plots.throughput_figure(run))
