"""Books that balance, runs that repeat, and records that can be recomputed from the trace."""

import dataclasses
import hashlib
import json
import subprocess
import sys
import threading

import numpy as np
import pytest

from tcpdynamics.validation.packet import (
    Bottleneck,
    ConservationError,
    Flows,
    Link,
    Record,
    Scenario,
    engine,
    parse_scenario,
    replicate,
    setup,
    simulate,
)
from tcpdynamics.validation.packet.result import dataset
from tcpdynamics.validation.packet.run import Interrupted

k = engine.k
EVERYTHING = Record(sends=True, receives=True, drops=True, windows=0.0, queues=0.0)

CROWD = Scenario(
    (
        Flows(count=20, rtt=(0.19, 0.21)),
        Flows(count=5, sender="newreno", rules="rfc", rtt=0.1, jitter=0.004),
        Flows(count=5, sender="poisson", rate=5e3, rtt=0.1),
    ),
    Bottleneck(rate=3e5, buffer=15),
    duration=60.0,
    warm_up=20.0,
    slice=10.0,
)

#: Two ways, queues for acknowledgements, both services, jitter and loss: nothing that the engine can do is left out.
CITY = Scenario(
    (
        Flows(6, "sack", source=("a", "b"), target="c", jitter=0.004, delayed_ack=0.1),
        Flows(3, "reno", source="c", target=("a", "b"), overhead=0.003, timestamps=True),
        Flows(3, "tahoe", "rfc", source="b", target="a", segments=40, segments_shape=1.5, arrival_rate=0.5),
        Flows(2, "cbr", source="a", target="c", rate=5e4, start=3.0, stop=30.0),
    ),
    links=(
        Link("a", "r", 2e6, 0.002, service="served"),
        Link("b", "r", None, 0.004),
        Link("r", "c", 4e5, 0.02, buffer=12, loss=0.01, jitter=0.001),
    ),
    duration=40.0,
    warm_up=10.0,
    slice=10.0,
)


def digest(result):
    whole = hashlib.sha256()
    for name in sorted(result.data_vars):
        whole.update(name.encode() + result[name].values.tobytes())
    return whole.hexdigest()


def same(a, b):
    for name, variable in a.data_vars.items():
        assert variable.values.tobytes() == b[name].values.tobytes(), name


# Repeatable.


@pytest.mark.parametrize("scenario", [pytest.param(CROWD, marks=pytest.mark.slow), CITY])
def test_same_bytes_in_another_process(scenario):
    recorded = dataclasses.replace(scenario, record=EVERYTHING)
    here = simulate(recorded)
    code = (
        "import json, sys; from tcpdynamics.validation.packet import parse_scenario, simulate\n"
        f"sys.path.insert(0, {str(__file__).rpartition('/')[0]!r})\n"
        "from test_packet_engine import digest\n"
        "print(digest(simulate(parse_scenario(json.loads(sys.stdin.read())))))"
    )
    given = subprocess.run(
        [sys.executable, "-c", code], input=here.attrs["scenario"], capture_output=True, text=True, check=True
    )
    assert given.stdout.strip() == digest(here)


@pytest.mark.parametrize("scenario", [CROWD, CITY])
def test_same_bytes_on_any_number_of_threads(scenario):
    one, four = replicate(scenario, 4, workers=1), replicate(scenario, 4, workers=4)
    same(one, four)
    again = simulate(scenario, int(one["seed"][2]))
    same(again, one.isel(replication=2))
    assert len(np.unique(one["sent"].sum("flow"))) > 1


@pytest.mark.parametrize("clock", ["grid", "double"])
@pytest.mark.parametrize("scenario", [CROWD, CITY])
def test_calendar_and_heap_agree(scenario, clock):
    recorded = dataclasses.replace(scenario, record=EVERYTHING, clock=clock)
    same(simulate(recorded), simulate(dataclasses.replace(recorded, scheduler="heap")))


@pytest.mark.parametrize("scenario", [CROWD, CITY])
def test_recording_changes_nothing(scenario):
    same(simulate(scenario), simulate(dataclasses.replace(scenario, record=EVERYTHING)))


def test_progress_changes_nothing(monkeypatch):
    monkeypatch.setattr(engine, "_BUDGET", 100)
    shares = []
    watched = simulate(CITY, progress=shares.append)
    assert len(shares) > 50 and shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1
    monkeypatch.undo()
    same(watched, simulate(CITY))


def test_another_group_leaves_the_draws_of_the_others_alone():
    # A link so fast that flows do not meet: only random draws could tell them of each other.
    # The clocks' phases are given, for ns-2's depend on the number of its senders.
    sizes = {"segments": 400, "segments_shape": 1.5, "arrival_rate": 1.0, "clock_phase": 0.0}
    flows = Flows(count=5, rtt=0.1, jitter=0.02, overhead=0.001, **sizes)
    other = Flows(count=3, sender="poisson", rate=1e5, rtt=0.05)
    alone = Scenario((flows,), Bottleneck(rate=1e12, loss=0.1), duration=100.0, warm_up=0.0, epoch=0.1)
    company = dataclasses.replace(alone, flows=(flows, other))
    a, b = simulate(alone), simulate(company).isel(flow=slice(5))
    for name in ("sent", "dropped", "timeouts", "goodput", "epochs", "transferred"):
        np.testing.assert_array_equal(a[name], b[name])
    assert len(np.unique(a["sent"])) == 5


def test_seeds_differ_in_everything_random():
    def draws(seed):
        scenario = dataclasses.replace(CITY, flows=tuple(dataclasses.replace(g, count=50) for g in CITY.flows))
        flows = engine.build(scenario, seed).flows
        return {name: flows[name].copy() for name in ("start", "limit", "phase", "jitter_key", "loss_key", "hold_key")}

    one, two = draws(1), draws(2)
    for name in ("start", "jitter_key", "loss_key", "hold_key"):
        assert (one[name] != two[name]).all(), name
    assert (one["limit"] != two["limit"]).any()
    assert (one["phase"] != two["phase"])[:100].all()
    keys = np.concatenate([one[name] for name in ("jitter_key", "loss_key", "hold_key")])
    assert len(np.unique(keys)) == len(keys)


# Balanced.


@pytest.mark.parametrize(
    ("array", "column", "message"),
    [
        ("counts", k.SENT, "flow 1: sent = dropped"),
        ("counts", k.DROPPED, "flow 1: sent = dropped"),
        ("counts", k.RECEIVED, "flow 1: sent = dropped"),
        ("counts", k.ACKS_SENT, "flow 1: acknowledgements sent = "),
        ("counts", k.ACKS_DROPPED, "flow 1: acknowledgements sent = "),
        ("counts", k.ACKS_BACK, "flow 1: acknowledgements sent = "),
        ("links", "arrived", "link 1: arrived = refused"),
        ("links", "dropped", "link 1: arrived = refused"),
        ("links", "accepted", "link 1: arrived = refused"),
        ("links", "left", "link 1: accepted = left"),
    ],
)
def test_a_miscounted_packet_is_noticed(array, column, message):
    sim = engine.build(CITY, 1)
    engine.loop.start(sim.world)
    sim, _ = engine._run(sim, CITY, 10.0, None, None)
    if array == "counts":
        sim.counts[1, column] += 1
    else:
        sim.links[column][1] += 1
    with pytest.raises(ConservationError, match=message):
        engine.check_conservation(sim)


def test_books_balance_at_any_time():
    for until in (0.001, 0.5, 3.7, 21.0):
        for scenario in (CROWD, CITY):
            sim = engine.build(scenario, 1)
            engine.loop.start(sim.world)
            sim, _ = engine._run(sim, scenario, until, None, None)
            under_way = engine.check_conservation(sim)
            assert (under_way >= 0).all()


def test_pools_grow_without_changing_the_result(monkeypatch):
    recorded = dataclasses.replace(CITY, record=EVERYTHING)
    roomy = simulate(recorded)
    grow, sizes = engine.add_events, []

    def tight(sim, more):
        # From as few as one turn of a sender may need, and then by as few.
        sizes.append(len(sim.events))
        return grow(sim, CITY.longest + 16 + 16 if len(sim.events) == 0 else 8)

    monkeypatch.setattr(engine, "add_events", tight)
    monkeypatch.setattr(setup, "add_events", tight)
    same(roomy, simulate(recorded))
    assert len(sizes) > 3
    first = 4 * (CITY.longest + 8) + 64
    for name in ("send", "receive", "window_sample", "queue_sample"):
        assert roomy.sizes[name] > 2 * first, name


def test_a_pool_that_runs_low_in_the_middle_of_a_burst_grows(monkeypatch):
    """Whatever the margin promises, a slot is taken only where one is left."""
    burst = Flows(3, "newreno", "rfc", rtt=0.1, window_limit=200, initial_window=200)
    scenario = Scenario((burst,), Bottleneck(1e6, 50), duration=20.0, warm_up=1.0, clock="grid")
    roomy, build, grow, sizes = simulate(scenario), engine.build, engine.add_events, []

    def tight(sim, more):
        sizes.append(len(sim.events))
        return grow(sim, 24 if len(sim.events) == 0 else 16)

    def careless(scenario, seed, keyed):
        sim = build(scenario, seed, keyed)
        sim.world["margin"] = 8
        return sim

    monkeypatch.setattr(engine, "add_events", tight)
    monkeypatch.setattr(setup, "add_events", tight)
    monkeypatch.setattr(engine, "build", careless)
    same(roomy, simulate(scenario))
    assert len(sizes) > 10


def test_kinds_and_slices_add_up():
    for scenario in (CROWD, CITY):
        result = simulate(scenario)
        for name in ("sent", "dropped"):
            np.testing.assert_array_equal(result[f"{name}_by_kind"].sum("kind"), result[name])
        assert (result["slice_goodput"].sum("slice") <= result["goodput"]).all()
        assert (result["goodput"] <= result["delivered"]).all()
        # Whole epochs, from the one in which a flow starts to the one in which it finishes.
        whole = np.floor((scenario.duration - scenario.warm_up) / result["epoch"])
        first, last = (
            (result[name].fillna(np.inf).clip(scenario.warm_up, scenario.duration) - scenario.warm_up) / result["epoch"]
            for name in ("start", "finish")
        )
        last = np.minimum(np.ceil(last), whole)
        expected = np.maximum(last - np.minimum(np.floor(first), whole), 0)
        np.testing.assert_array_equal(result["epochs"].sum("sent_in_epoch"), expected)


def test_epochs_and_silences_agree_with_the_trace():
    result = simulate(dataclasses.replace(CROWD, record=Record(sends=True), epoch=0.25))
    whole = int(40.0 / 0.25)
    for flow in range(30):
        mine = result["send_flow"] == flow
        index = np.floor((result["send_time"].values[mine] - 20.0) / 0.25).astype(int)
        counts = np.bincount(index[(index >= 0) & (index < whole)], minlength=whole)
        expected = np.bincount(np.minimum(counts, 7), minlength=8)
        np.testing.assert_array_equal(result["epochs"][flow], expected)
        # A silence also ends in the part of an epoch that may follow the whole ones; here there is none.
        gaps = np.diff(np.flatnonzero(counts)) - 1
        expected = np.bincount(gaps[gaps > 0], minlength=513)[:513]
        np.testing.assert_array_equal(result["silences"][flow], expected)


def test_counters_agree_with_the_trace():
    """What was written down one by one is what was counted, from the end of the warm-up on."""
    result = simulate(dataclasses.replace(CITY, record=EVERYTHING))
    for name, counter in (("send", "sent"), ("receive", "delivered"), ("drop", "dropped")):
        data = (result[f"{name}_kind"] != k.ACK) & (result[f"{name}_time"] >= CITY.warm_up)
        counted = np.bincount(result[f"{name}_flow"].values[data], minlength=CITY.count)
        np.testing.assert_array_equal(counted, result[counter], err_msg=name)
    kinds = np.bincount(result["send_kind"].values[result["send_time"] >= CITY.warm_up], minlength=4)
    np.testing.assert_array_equal(kinds, result["sent_by_kind"].sum("flow"))


def test_automatic_epoch_is_the_mean_round_trip():
    # One run's mean for one flow, a hundred packets or so, has a standard deviation of up to 3.5 %; eight runs' 1.3 %.
    closed = dataclasses.replace(CROWD, flows=CROWD.flows[:2], duration=400.0, warm_up=100.0)
    runs = replicate(closed, 8)
    ratio = (runs["epoch"] / runs["mean_rtt"]).mean("replication")
    np.testing.assert_allclose(ratio, 1, rtol=0.05)
    assert abs(float(ratio.mean()) - 1) < 0.02


# Stopped.


def test_stop_from_another_thread_keeps_what_was_measured(monkeypatch):
    monkeypatch.setattr(engine, "_BUDGET", 200)
    stop, at = threading.Event(), []

    def halfway(share):
        at.append(share)
        if share > 0.6:
            stop.set()

    run = engine.execute(CITY, 1, halfway, stop)
    assert run.interrupted and at[-1] * 40.0 <= run.stopped < 40.0
    # Until then it is the run that it would have been.
    uninterrupted = engine.execute(dataclasses.replace(CITY, duration=run.stopped), 1)
    assert (run.totals[:, k.SENT] > 0).any()
    assert np.abs(run.totals[:, k.SENT] - uninterrupted.totals[:, k.SENT]).sum() <= 2


@pytest.mark.parametrize("when", [0.05, 0.2, 0.6])
def test_interrupt_gives_the_part_that_was_done(monkeypatch, when):
    """Ctrl-C in the first half of the warm-up, its second half, and later."""
    monkeypatch.setattr(engine, "_BUDGET", 100)

    def press(share):
        if share > when:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        simulate(CITY, progress=press)
    part = caught.value.result
    assert when * 40.0 < float(part.attrs["interrupted_at"]) < 40.0
    assert (part["utilisation"] <= 1 + 1e-9).all()
    for name, variable in part.data_vars.items():
        assert not np.isinf(variable.values.astype(float)).any(), name
    if when < 0.25:
        assert part["sent"].sum() == 0 and part["goodput"].sum() == 0


def test_an_error_while_looking_on_is_the_callers(monkeypatch):
    monkeypatch.setattr(engine, "_BUDGET", 100)

    def wrong(share):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        simulate(CITY, progress=wrong)


# Both ways at once.


def test_two_way_traffic_shares_each_direction():
    link = Link("a", "b", 1e6, 0.03, buffer=20)
    flows = tuple(Flows(5, source=x, target=y, jitter=0.004, window_limit=30) for x, y in ("ab", "ba"))
    scenario = Scenario(flows, links=(link,), duration=200.0, warm_up=20.0)
    runs = replicate(scenario, 6)
    goodput = runs["goodput"].values.reshape(6, 2, 5).sum(2)
    # By symmetry the two directions differ by chance only: Student's t for 6 runs, once in a thousand.
    difference = goodput[:, 0] - goodput[:, 1]
    assert abs(difference.mean()) < 6.87 * difference.std(ddof=1) / np.sqrt(6)
    assert (runs["acks_dropped"].sum("flow") > 0).all()
    # Acknowledgements that bunch behind data leave the links idle at times.
    assert (runs["link_utilisation"] < 1.0).all() and (runs["link_utilisation"] > 0.7).all()


def test_crowded_link_as_ns2_has_it():
    # ns-2.35 (Sack1, 100 flows, 190-210 ms, 500 bytes, 1 Mbit/s, limit 50, 8 seeds, 100-1000 s): loss 0.1550 (sd of a
    # run 0.0017), epochs of 0.394 s with 0, 1, 2, 3 packets 0.554, 0.098, 0.170, 0.089.
    from tcpdynamics.validation.packet import ready_scenarios

    result = replicate(ready_scenarios()["sub_packet"], 4)
    # Four and eight runs: the standard error of the difference, times Student's t once in a thousand.
    sd = max(float(result["loss_rate"].std(ddof=1)), 0.0017)
    assert abs(float(result["loss_rate"].mean()) - 0.155) < 4.6 * sd * np.sqrt(1 / 4 + 1 / 8)
    shares = result["epoch_fraction"]
    error = 4.6 * np.maximum(shares.std("replication", ddof=1)[:4], 0.002) * np.sqrt(1 / 4 + 1 / 8)
    assert (np.abs(shares.mean("replication")[:4] - [0.554, 0.098, 0.170, 0.089]) < error).all()
    assert (result["loss_rate_timeout"] > 1.3 * result["loss_rate_other"]).all()
    assert (result["utilisation"] > 0.999).all()


def test_every_variable_has_a_unit_and_a_name():
    result = simulate(dataclasses.replace(CITY, record=EVERYTHING))
    for name, variable in result.data_vars.items():
        assert variable.attrs["units"] and variable.attrs["long_name"], name
    ran = json.loads(result.attrs["what_you_ran"])
    assert ran["flows"][0]["min_rto"] == 0.2 and "rules ns2" in ran["engine"]
    assert parse_scenario(json.loads(result.attrs["scenario"])) == dataclasses.replace(CITY, record=EVERYTHING)


def test_a_stopped_run_keeps_finished_slices_only():
    """Time that was not simulated is no time without goodput."""
    stop = threading.Event()

    def soon(share):
        if share > 0.5:
            stop.set()

    link, flows = Bottleneck(rate=1e7, buffer=50), Flows(count=5, rtt=(0.05, 0.1))
    scenario = Scenario((flows,), link, duration=2000.0, warm_up=10.0, slice=50.0)
    run = engine.execute(scenario, 1, soon, stop)
    result = dataset(scenario, 1, run)
    whole = int((run.stopped - 10.0) / 50.0)
    assert 0 < whole < scenario.slices
    assert result.sizes["slice"] == len(result["slice"]) == whole
    assert (result.slice_goodput.sum("flow") > 0).all() and result.slice_jain.notnull().all()


# Transfers that begin and end.


@pytest.mark.parametrize("sender", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("book", ["ns2", "rfc"])
@pytest.mark.parametrize("loss", [0.0, 0.05])
def test_a_transfer_finishes_when_its_last_segment_is_acknowledged(sender, book, loss):
    flows = (
        Flows(6, sender, book, rtt=(0.05, 0.1), segments=40, segments_shape=2.0, arrival_rate=1.0),
        Flows(1, sender, book, rtt=0.2, stop=3.0),
        Flows(1, sender, book, rtt=0.2),
        Flows(1, sender, book, rtt=0.2, start=100.0),
        Flows(1, "cbr", book, rate=1e5, segments=10, start=1.0, rtt=0.1),
    )
    scenario = Scenario(flows, Bottleneck(1e6, 20, loss), 60.0, 0.0, epoch=0.1, record=Record(True, True, windows=0.0))
    result = simulate(scenario)
    run = engine.execute(scenario, scenario.seed)
    for flow in range(7):
        una = result["transferred"].values[flow]
        assert result["finish"].notnull()[flow] == (una >= run.sim.flows["limit"][flow])
        first = result["send_time"].values[result["send_flow"] == flow][0]
        if result["finish"].notnull()[flow]:
            # All is there once each segment has come for the first time; the first acknowledgement thereafter that
            # leaves nothing outstanding (each is a sample of the window) finishes the transfer.
            got = result["receive_flow"] == flow
            segments, at = np.unique(result["receive_segment"].values[got], return_index=True)
            complete = result["receive_time"].values[got][at].max()
            mine = (result["window_flow"] == flow) & (result["window_flight"] == 0)
            done = result["window_time"].values[mine & (result["window_time"] > complete)].min()
            assert len(segments) == una and result["finish"][flow] == done
        assert result["start"].values[flow] == pytest.approx(first, abs=1e-9)
    assert result["finish"][:7].notnull().all() or loss > 0
    assert np.isnan(result["finish"].values[7:9]).all()
    assert np.isnan(result["start"].values[8]) and result["start"].values[7] == 0.0
    assert result["finish"].values[9] == result["send_time"].values[result["send_flow"] == 9].max()
    np.testing.assert_array_equal(result["completion_time"], result["finish"] - result["start"])


def test_goodput_in_bits_counts_a_handshake_as_what_it_is():
    one = Flows(segments=1, packet_size=1000, ack_size=50, rtt=0.1)
    result = simulate(Scenario((one,), Bottleneck(1e6), 10.0, 0.0, epoch=0.1))
    assert result["goodput"].item() == 2 and result["goodput_rate"].item() == 8 * 1050 / 10.0
    # Over the time that was measured, so that flows add up to what the link carries.
    crowd = simulate(dataclasses.replace(CROWD, warm_up=30.0))
    assert float(crowd["goodput_rate"].sum()) <= float(crowd["utilisation"]) * 3e5 * 1.001
    assert float(crowd["goodput_rate"].sum()) > 0.9 * 3e5


def test_a_flow_without_an_acknowledgement_has_the_epoch_of_its_way():
    """Not begun by the end of the warm-up: base RTT and mean waits, on links as on the shorthand for them."""
    early = Flows(20, "newreno", rtt=(0.1, 0.13), start_spread=0.0, clock_phase=0.0)
    late = Flows(1, "newreno", rtt=0.15, start=30.0)
    options = {"duration": 40.0, "warm_up": 20.0, "clock": "grid"}
    short = simulate(Scenario((early, late), Bottleneck(1e6, 30), **options))
    rtts = [*np.linspace(0.1, 0.13, 20), 0.15]
    links, flows = [Link("r1", "r2", 1e6, 0.0, 30, duplex=False)], []
    for i, rtt in enumerate(rtts):
        links += [
            Link(f"s{i}", "r1", None, rtt / 4, duplex=False),
            Link("r2", f"d{i}", None, rtt / 4, duplex=False),
            Link(f"d{i}", f"s{i}", None, 2 * (rtt / 4), duplex=False),
        ]
        group = dataclasses.replace(late if i == 20 else early, count=1, rtt=None)
        flows.append(dataclasses.replace(group, source=f"s{i}", target=f"d{i}"))
    long = simulate(Scenario(tuple(flows), links=tuple(links), **options))
    assert long["epoch"].values[20] == pytest.approx(short["epoch"].values[20], rel=1e-9)
    assert short["epoch"].values[20] > 0.15 + 10 * 8 * 500 / 1e6  # a queue that is at least a third full


def test_losses_of_packets_from_before_are_no_share_of_those_that_came() -> None:
    """A backlog of the warm-up passes a lossy link while almost nothing new arrives."""
    links = (Link(source="a", target="b", rate=1e5), Link(source="b", target="c", rate=1e6, loss=0.3))
    flow = Flows(sender="cbr", rate=2e5, source="a", target="c", stop=10.05)
    result = simulate(Scenario((flow,), duration=20.0, warm_up=10.0, links=links))
    assert result.dropped.sum() > result.sent.sum()
    assert np.isnan(result.loss_rate)


def test_of_links_that_are_all_full_the_first_is_the_busiest() -> None:
    """Not the one whose work is larger by rounding: its mean queue is another."""
    done = engine.execute(CITY, 1)
    first, last = 0, len(done.links["work"]) - 1
    done.links["work"][:] = 1.0
    done.links["work"][last] += 1e-12
    result = dataset(CITY, 1, done)
    assert done.links["wait"][first] != done.links["wait"][last]
    assert result.mean_queue == result.link_mean_queue[first]
