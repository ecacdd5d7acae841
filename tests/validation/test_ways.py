"""Losses in bursts, losses of acknowledgements, links that change over time: against closed forms and sums by hand."""

from __future__ import annotations

import bisect
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
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
from tcpdynamics.validation.packet.kernel.loss_models.gilbert_elliott import mean_loss
from tcpdynamics.validation.packet.scenario.course import MAX_CHANGES, read_trace

BURSTS = {"model": "gilbert-elliott", "p": 0.02, "r": 0.25}


def stream_of(duration: float, way: Bottleneck, gap: float = 0.01, record: Record | None = None, **flow) -> Scenario:
    """Packets of 1000 bytes at even gaps over one link."""
    flows = Flows(sender="cbr", rate=8000 / gap, rtt=0.1, packet_size=1000, **flow)
    return Scenario(
        (flows,), way, duration, 0.0, epoch=1.0, slice=duration, record=record or Record(sends=True, receives=True)
    )


def runs(lost: np.ndarray) -> np.ndarray:
    """Lengths of the rows of losses."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], lost.astype(int), [0]])))
    return edges[1::2] - edges[::2]


def losses(loss, packets: int, seed: int = 1) -> np.ndarray:
    """Which packets of an even stream are lost."""
    scenario = stream_of(packets * 0.01, Bottleneck(1e9, loss=loss), record=Record(receives=True))
    received = simulate(scenario, seed).receive_segment.values
    lost = np.ones(packets, bool)
    lost[received] = False
    return lost[: packets - 20]  # the last are under way


def within(mean: float, values: np.ndarray, errors: float = 4.0) -> bool:
    """Whether independent values have this mean, but for so many standard errors."""
    return abs(np.mean(values) - mean) <= errors * np.std(values, ddof=1) / math.sqrt(len(values))


@pytest.mark.parametrize("p, r, good, bad", [(0.02, 0.25, 0.0, 1.0), (0.1, 0.1, 0.01, 0.6), (0.3, 0.9, 0.0, 1.0)])
def test_gilbert_elliott_as_its_closed_form(p, r, good, bad):
    """The loss rate, and the probability of two losses that are k packets apart; over seeds."""
    loss = {"model": "gilbert-elliott", "p": p, "r": r, "good": good, "bad": bad}
    samples = [losses(loss, 20_000, seed) for seed in range(12)]
    assert within(mean_loss(loss), np.array([lost.mean() for lost in samples]))
    stationary = np.array([r, p]) / (p + r)
    states = np.array([[1 - p, p], [r, 1 - r]])
    lose = np.diag([good, bad])
    for apart in (1, 2, 5):
        both = stationary @ lose @ np.linalg.matrix_power(states, apart) @ lose @ np.ones(2)
        assert within(both, np.array([(lost[:-apart] & lost[apart:]).mean() for lost in samples]))


def test_bursts_are_geometric():
    """With no loss in the good state and nothing but losses in the bad one, rows of losses have mean 1 / r."""
    lengths = np.concatenate([runs(losses(BURSTS, 20_000, seed)) for seed in range(12)])
    assert within(1 / 0.25, lengths)
    for most in (1, 2, 4):
        assert within(1 - 0.75**most, lengths <= most)


def test_a_link_begins_in_its_long_run():
    """The first packet of a run is lost as often as any other; a chain that began in its good state would lose none."""
    first = [losses({**BURSTS, "p": 0.25}, 40, seed)[0] for seed in range(200)]
    assert within(0.5, np.array(first))


def test_directions_have_states_of_their_own():
    links = (Link("a", "b", 1e9, 0.01, loss=BURSTS),)
    flows = tuple(
        Flows(sender="cbr", rate=8e5, packet_size=1000, source=s, target=t) for s, t in (("a", "b"), ("b", "a"))
    )
    scenario = Scenario(flows, None, 100.0, 0.0, epoch=1.0, links=links, record=Record(drops=True))
    result = simulate(scenario)
    lost = [set(result.drop_segment.values[result.drop_flow.values == flow]) for flow in (0, 1)]
    assert all(300 < len(each) < 1200 for each in lost)
    common = len(lost[0] & lost[1]) / 10_000
    assert common < 3 * (BURSTS["p"] / (BURSTS["p"] + BURSTS["r"])) ** 2  # independent, not the same


def test_data_and_acknowledgements_are_lost_apart():
    def lost(**loss):
        link = Link("a", "b", 1e6, 0.02, buffer_bytes=30_000, **loss)
        flows = (Flows(source="a", target="b", min_rto=0.2), Flows(source="b", target="a", start=1.0))
        result = simulate(Scenario(flows, None, 60.0, 0.0, epoch=1.0, links=(link,), record=Record(drops=True)))
        kinds = result.drop_kind.values
        return (kinds < 4).mean() if len(kinds) else None, result

    share, result = lost(loss=0.02, ack_loss=0.0)
    assert share == 1.0 and int(result.acks_dropped.sum()) == 0
    _, result = lost(ack_loss=0.1)
    tried = result.acks_sent.sum().item()
    dropped = result.acks_dropped.sum().item()
    assert abs(dropped - 0.1 * tried) < 4 * math.sqrt(0.09 * tried)
    share, _ = lost(loss=BURSTS, ack_loss=0.01)
    assert 0.3 < share < 1.0


def test_losses_of_acknowledgements_on_a_bottleneck_as_on_links():
    """The way back is a link of its own; a network with the same losses, chosen one by one, sends the same."""
    flow = Flows(rtt=0.1, packet_size=1000, segments=200, window_limit=20)
    scenario = Scenario(
        (flow,), Bottleneck(1e6, ack_loss=BURSTS), 60.0, 0.0, epoch=1.0, record=Record(sends=True, drops=True)
    )
    ours = simulate(scenario)
    assert list(ours.link.values) == ["bottleneck", "acknowledgements"]
    assert float(ours.link_utilisation[1]) == 0.0 and float(ours.utilisation) == float(ours.link_utilisation[0])
    lost = ours.drop_segment.values
    assert len(lost) == int(ours.acks_dropped[0]) > 5 and set(ours.drop_link.values) == {1}
    links = (
        Link("s", "a", None, 0.025, duplex=False), Link("a", "b", 1e6, 0.0, duplex=False),
        Link("b", "d", None, 0.025, duplex=False), Link("d", "s", None, 0.05, duplex=False),
    )  # fmt: skip
    same = Scenario(
        (Flows(source="s", target="d", packet_size=1000, segments=200, window_limit=20),), None, 60.0, 0.0, epoch=1.0,
        links=links, drops=tuple(Drop(0, ack=int(n), link="d->s") for n in lost), record=Record(sends=True),
    )  # fmt: skip
    theirs = simulate(same)
    np.testing.assert_array_equal(ours.send_segment, theirs.send_segment)
    np.testing.assert_allclose(ours.send_time, theirs.send_time, rtol=0, atol=1e-7)  # infinitely fast: 12 ns a packet


# Links that change


def by_hand(arrivals, bits, rows, by_bits=False, reorder=False):
    """When packets that come at these times are at the end of a link with this table of (time, rate, delay)."""
    times = [row[0] for row in rows]
    carried = [0.0]  # bits until each time
    for (a, rate, _), (b, _, _) in pairwise(rows):
        carried.append(carried[-1] + rate * (b - a))

    def until(time):
        i = bisect.bisect_right(times, time) - 1
        return carried[i] + rows[i][1] * (time - times[i])

    def when(total):
        """The first time by which so many bits can be carried, and its row."""
        i = max(bisect.bisect_left(carried, total) - 1, 0)
        while rows[i][1] == 0.0:
            i += 1
        return times[i] + (total - carried[i]) / rows[i][1], i

    free, latest, ends = 0.0, 0.0, []
    for arrival in arrivals:
        begin = max(arrival, free)
        if by_bits:
            end, row = when(until(begin) + bits)
            tx = bits / rows[row][1]
        else:
            row = bisect.bisect_right(times, begin) - 1
            while rows[row][1] == 0.0:
                row += 1
            begin = max(begin, times[row])
            tx = bits / rows[row][1]
            end = begin + tx
        free = end
        at_end = end + rows[row][2]
        if at_end < latest and not reorder:  # it follows the packet ahead by its sending time
            at_end = latest + tx
        latest = at_end
        ends.append(at_end)
    return np.array(ends)


TABLE = ((0.0, 1e6, 0.0), (1.0, 2e5, 0.02), (2.5, 4e6, 0.1), (3.0, 8e5, 0.0), (4.004, 1.6e6, 0.0))
OUTAGE = ((0.0, 1e6, 0.0), (1.0, 0.0, 0.02), (1.5, 0.0, 0.3), (2.5, 4e6, 0.1), (3.0, 1e5, 0.0), (3.3, 3e6, 0.01))


@pytest.mark.parametrize("by_bits", [False, True])
@pytest.mark.parametrize("reorder", [False, True])
@pytest.mark.parametrize("rows", [TABLE, OUTAGE], ids=["rates", "outage"])
@pytest.mark.parametrize("clock", ["double", "grid"])
def test_departures_of_a_link_that_changes_are_those_by_hand(by_bits, reorder, rows, clock):
    way = Bottleneck(1e6, changes=rows, changes_by="bit" if by_bits else "packet", reorder=reorder)
    scenario = stream_of(8.0, way, gap=0.0096)
    result = simulate(Scenario(**{**vars_of(scenario), "clock": clock}))
    order = np.argsort(result.receive_segment.values)
    segments, received = result.receive_segment.values[order], result.receive_time.values[order]
    ends = by_hand(result.send_time.values + 0.025, 8000, rows, by_bits, reorder) + 0.025
    assert len(segments) > 700
    np.testing.assert_array_equal(segments, np.arange(len(segments)))
    np.testing.assert_allclose(received, ends[: len(segments)], rtol=0, atol=1e-7 if clock == "double" else 2e-8)
    assert (np.diff(result.receive_segment.values) < 0).any() == (reorder and (np.diff(ends) < 0).any())


def vars_of(scenario: Scenario) -> dict:
    from dataclasses import fields

    return {f.name: getattr(scenario, f.name) for f in fields(scenario)}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.sampled_from([1e5, 3e5, 1e6]), st.sampled_from([0.01, 0.0123])), min_size=2, max_size=4),
    st.sampled_from([((2.0, 2e5),), ((0.5, 1e6), (1.5, 0.0), (2.0, 1e5)), ((1.0, 5e5, 0.02),)]),
    st.sampled_from(["grid", "double"]),
)
def test_links_with_equal_tables_each_have_their_own_rate_and_delay(ways, changes, clock):
    """Even packets that never wait for each other, over links that differ in all but `changes`: times by hand."""
    names = [f"n{i}" for i in range(len(ways) + 1)]
    links = tuple(
        Link(a, b, rate, delay, changes=changes) for (a, b), (rate, delay) in zip(pairwise(names), ways, strict=True)
    )
    flow = Flows(sender="cbr", rate=4e3, packet_size=500, route=tuple(names))
    run = simulate(
        Scenario((flow,), None, 8.0, 0.0, epoch=1.0, links=links, clock=clock, record=Record(sends=True, receives=True))
    )
    for sent, came in zip(run.send_time.values, run.receive_time.values, strict=False):
        time = sent
        for rate, delay in ways:
            rows = [(0.0, rate, delay)]
            for row in changes:
                rows.append((*row, rows[-1][2])[:3])
            now = max(row for row in rows if row[0] <= time)
            begin = next((row for row in rows if row[0] >= now[0] and row[1] > 0.0), now)
            time = max(time, begin[0]) + 8 * 500 / begin[1] + now[2]
            if begin is not now:  # the delay is that of the moment at which its turn came to be sent
                break
        else:
            assert came == pytest.approx(time, abs=1e-9)


def test_a_row_that_says_a_links_own_rate_changes_nothing():
    """On the grid, where no delay is a multiple of its steps."""
    runs = []
    for rows in ((), ((1000.0, 3e5),)):
        links = (Link("a", "r", 3e5, 0.0123, 2, service="served", changes=rows), Link("r", "b", 1e6, 0.0041, 20))
        flow = Flows(
            sender="newreno", control="cubic", window_limit=200, clock_phase=0.0037, start=0.05633, source="a",
            target="b",
        )  # fmt: skip
        runs.append(
            simulate(
                Scenario(
                    (flow,), None, 30.0, 0.0, epoch=0.1, links=links, clock="grid",
                    record=Record(sends=True, receives=True, drops=True),
                )
            )
        )  # fmt: skip
    for name in ("send_time", "send_segment", "receive_time", "drop_time"):
        np.testing.assert_array_equal(runs[0][name].values, runs[1][name].values)


def test_utilisation_is_of_what_the_link_could_carry():
    """A stream that overloads the link at each of its rates uses all of it; at half the load, half."""
    rows = ((5.0, 2e6), (10.0, 5e5), (14.0, 0.0), (15.0, 3e6))
    full = simulate(stream_of(20.0, Bottleneck(1e6, 20, changes=rows, changes_by="bit"), gap=0.001))
    assert float(full.utilisation) == pytest.approx(1.0, abs=0.003)  # until the first packet comes
    rates = [1e6] * 5 + [2e6] * 5 + [5e5] * 4 + [0.0] + [3e6] * 5
    half = simulate(stream_of(20.0, Bottleneck(1e6, changes=rows, changes_by="bit"), gap=8000 / (np.mean(rates) / 2)))
    assert float(half.utilisation) == pytest.approx(0.5, abs=0.02)
    late = Scenario(**{**vars_of(stream_of(20.0, Bottleneck(1e6, 20, changes=rows), gap=0.001)), "warm_up": 9.0})
    # A packet may finish at the rate before: at most one for each change.
    assert float(simulate(late).utilisation) == pytest.approx(1.0, abs=4 * 8000 / (np.sum(rates[9:])))


def test_an_outage_without_an_end_is_the_end():
    result = simulate(stream_of(20.0, Bottleneck(1e6, 20, changes=((5.0, 0.0),))))
    assert result.receive_time.values.max() < 5.1 and int(result.dropped[0]) > 1000
    assert int(result.in_flight[0]) == 20 + 2  # one in the transmitter, 19 behind it, two on their way to them


@pytest.mark.parametrize("queue", ["red", "codel", "fq_codel", "sfq", "drr", "pie", "priority", "step"])
def test_each_discipline_on_a_link_that_changes(queue):
    rows = ((3.0, 2e5, 0.05), (6.0, 0.0), (7.0, 4e6, 0.0), (9.0, 1e6))
    flows = Flows(4, "newreno", rtt=(0.05, 0.1), ecn=True, handshake=False)
    way = Bottleneck(1e6, 30, queue=queue, changes=rows, loss=BURSTS, ack_loss=0.02)
    result = simulate(Scenario((flows,), way, 25.0, 1.0, epoch=0.5, record=Record(queues=0.1)))
    assert 0.1 < float(result.utilisation) < 1.01 and (result.goodput > 0).all()
    assert float(result.goodput.sum()) > 1000  # one flow alone may wait for its timer for 21 s
    assert result.queue_packets.values.max() > 3


# Jitter that reorders


def reordered(jitter: float, gap: float) -> float:
    """Share of packets of an even stream that come after one sent later, with uniform jitter.

    A packet delayed by x is overtaken by none of those sent m gaps later with probability
    prod (1 - (x - m gap) / jitter).
    """
    share, edges = 0.0, np.append(np.arange(0.0, jitter, gap), jitter)
    for m, (a, b) in enumerate(pairwise(edges)):
        none = np.polynomial.Polynomial([1.0])
        for i in range(1, m + 1):
            none *= np.polynomial.Polynomial([1.0 + i * gap / jitter, -1.0 / jitter])
        whole = (1.0 - none).integ()
        share += (whole(b) - whole(a)) / jitter
    return share


def test_the_share_by_hand():
    assert reordered(0.015, 0.01) == pytest.approx((0.005 / 0.015) ** 2 / 2)


@pytest.mark.parametrize("jitter", [0.008, 0.015, 0.037, 0.1])
@pytest.mark.parametrize("where", ["flow", "link"])
def test_jitter_reorders_as_its_closed_form(jitter, where):
    shares = []
    for seed in range(8):
        if where == "flow":
            scenario = stream_of(100.0, Bottleneck(1e10), jitter=jitter, reorder=True)
        else:
            links = (Link("s", "a", None, 0.01), Link("a", "d", 1e10, 0.01, jitter=jitter, reorder=True))
            flow = Flows(sender="cbr", rate=8e5, packet_size=1000, source="s", target="d")
            scenario = Scenario((flow,), None, 100.0, 0.0, epoch=1.0, links=links, record=Record(receives=True))
        received = simulate(scenario, seed).receive_segment.values
        late = received < np.maximum.accumulate(received)
        shares.append(late.mean())
    if jitter < 0.01:
        assert not any(shares)
    else:
        assert within(reordered(jitter, 0.01), np.array(shares))


def test_without_reorder_nothing_overtakes():
    received = simulate(stream_of(100.0, Bottleneck(1e10), jitter=0.1)).receive_segment.values
    assert (np.diff(received) > 0).all()


@pytest.mark.parametrize("sender", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("rules", ["ns2", "rfc"])
def test_senders_live_with_reordering(sender, rules):
    """Duplicates ask for segments that are not lost; all arrives once in the end, and nothing is lost on the way."""
    links = (Link("s", "r", 1e7, 0.01), Link("r", "d", 1e7, 0.01, jitter=0.02, reorder=True))
    flow = Flows(1, sender, rules, source="s", target="d", segments=400)
    scenario = Scenario((flow,), None, 100.0, 0.0, epoch=1.0, links=links, record=Record(sends=True, receives=True))
    result = simulate(scenario)
    segments = result.receive_segment.values
    assert int(result.dropped.sum()) == 0 and np.isfinite(result.finish).all()
    assert set(segments) == set(range(segments.max() + 1)) and (np.diff(segments) < 0).sum() > 20
    assert int(result.sent[0]) > len(set(segments))  # needless repeats
    assert int(result.fast_recoveries[0]) > 0


@pytest.mark.parametrize("where", ["there", "back", "first", "flow"])
def test_shortcuts_know_of_reordering(where):
    """Analytic links, passed through or read ahead of, and served ones give the same sends where packets overtake."""
    jitter = {"jitter": 0.03, "reorder": True}

    def sends(service):
        def way(a, b, rate, name, **options):
            more = jitter if where == name else {}
            return Link(a, b, rate, 0.01, duplex=False, service=service, **options, **more)

        links = (
            way("s", "r", 1e8, "first"), way("r", "t", 2e6, "there", buffer=30), way("t", "d", 1e8, ""),
            way("d", "t", 1e8, ""), way("t", "r", 2e6, "back"), way("r", "s", 1e8, ""),
        )  # fmt: skip
        flows = Flows(2, rules="rfc", source="s", target="d", start_spread=0.1, **(jitter if where == "flow" else {}))
        scenario = Scenario(
            (flows,), None, 20.0, 0.0, epoch=1.0, links=links, record=Record(sends=True, receives=True), clock="grid"
        )
        return simulate(scenario)

    quick, slow = sends("analytic"), sends("served")
    for name in ("send_time", "send_segment", "receive_time", "receive_segment"):
        np.testing.assert_array_equal(quick[name], slow[name])
    if where != "back":
        assert any((np.diff(quick.receive_segment[quick.receive_flow == i]) < 0).sum() > 20 for i in (0, 1))


@st.composite
def ways(draw: st.DrawFn) -> Scenario:
    """Anything that a link can do to packets, at once."""

    def one_of(*values):
        return draw(st.sampled_from(values))

    def loss():
        bursts = {"model": "gilbert-elliott", "p": one_of(0.01, 0.2), "r": one_of(0.1, 0.9), "bad": one_of(1, 0.5)}
        return one_of(0.0, 0.02, bursts)

    def way(a, b):
        times = sorted(draw(st.lists(st.integers(0, 40), unique=True, max_size=5)))
        rows = tuple((0.1 * t + 0.05, one_of(1e6, 2e5, 5e6, 0.0), one_of(0.0, 0.01, 0.2)) for t in times)
        return Link(
            a, b, one_of(1e6, 3e5, 5e6), one_of(0.001, 0.03), one_of(None, 3, 20), loss=loss(),
            ack_loss=one_of(None, 0.0, 0.1, loss()), jitter=one_of(0.0, 0.005, 0.05), reorder=one_of(False, True),
            changes=rows, changes_by=one_of("packet", "bit"), queue=one_of("droptail", "droptail", "red", "sfq"),
        )  # fmt: skip

    flows = tuple(
        Flows(
            one_of(1, 3), one_of("tahoe", "reno", "newreno", "sack"), one_of("ns2", "rfc"), source=a, target=c,
            delayed_ack=one_of(0.0, 0.1), jitter=one_of(0.0, 0.02), reorder=one_of(False, True),
            timestamps=one_of(False, True), window_limit=one_of(64, 4),
        )
        for a, c in (("a", "c"), ("c", "b"))
    )  # fmt: skip
    return Scenario(
        flows, None, 5.0, 0.5, epoch=0.5, links=(way("a", "b"), way("b", "c")), clock=one_of("auto", "grid"),
        scheduler=one_of("calendar", "heap"), record=Record(sends=True, queues=0.1),
    )  # fmt: skip


def _all_at_once(examples: int) -> None:
    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(ways())
    def check(scenario: Scenario) -> None:
        result = simulate(scenario)  # conservation is checked at its end
        limits = np.repeat([group.window_limit for group in scenario.flows], [g.count for g in scenario.flows])
        assert (result.in_flight.values <= 2 * limits).all()
        assert (result.send_time.values == simulate(scenario).send_time.values).all()

    check()


def test_all_at_once():
    _all_at_once(25)


@pytest.mark.slow
def test_all_at_once_often():
    _all_at_once(1000)


# What a scenario may say


HEAD = """
duration = "20s"
warm_up = "1s"
epoch = "1s"
"""
BOTTLENECK = '[bottleneck]\nrate = "1Mbit/s"\n{}\n[[flows]]\nrtt = "100ms"\n'


def of_text(text: str) -> Scenario:
    import tomllib

    return parse_scenario(tomllib.loads(HEAD + BOTTLENECK.format(text)))


def test_a_file_says_all_of_it():
    scenario = of_text(
        'loss = { model = "gilbert-elliott", p = "2%", r = 0.25 }\nack_loss = "1%"\nbuffer_bytes = "30000B"\n'
        'changes = [["5s", "2Mbit/s", "20ms"], [10, "500kbit/s"], [12, 0]]\nchanges_by = "bit"\nreorder = true'
    )
    b = scenario.bottleneck
    assert b is not None and b.changes == ((5.0, 2e6, 0.02), (10.0, 5e5, 0.02), (12.0, 0.0, 0.02))
    assert (b.ack_loss, b.buffer_bytes, b.changes_by, b.reorder) == (0.01, 30000, "bit", True)
    assert scenario.ways[0].fastest == 2e6 and scenario.link_names == ("bottleneck", "acknowledgements")
    assert simulate(scenario).goodput.item() > 10


@pytest.mark.parametrize(
    "text, message",
    [
        ("changes = [[5, 1e6], [4, 1e6]]", "bottleneck.changes, row 2: time 4 s does not follow 5 s"),
        ("changes = [[5, 1e6], [5, 2e6]]", "bottleneck.changes, row 2: time 5 s does not follow 5 s"),
        ("changes = [[5, -1.0]]", "bottleneck.changes, row 1: rate must be 0 for an outage, or 1 to"),
        ("changes = [[5, 0.1]]", "bottleneck.changes, row 1: rate must be 0 for an outage, or 1 to"),
        ("changes = [[5, inf]]", "bottleneck.changes, row 1: rate must be a number"),
        ("changes = [[-5, 1e6]]", "bottleneck.changes, row 1: time must be 0 to"),
        ("changes = [[5, 1e6, -0.1]]", "bottleneck.changes, row 1: delay must be 0 to"),
        ('changes = [[5, "1MB"]]', "bottleneck.changes, row 1: rate must be a number with one of the units"),
        ("changes = [[5]]", "bottleneck.changes, row 1 must be [time, rate] or [time, rate, delay]"),
        ("changes = [5, 1e6]", "bottleneck.changes"),
        ('changes = "x.csv"', "bottleneck.changes"),
        ("changes = [[0, 0], [5, 0]]", "bottleneck.changes: the rate is 0 from the beginning on"),
        ('changes_by = "byte"', "bottleneck.changes_by"),
        ('trace = "x.csv"', "bottleneck.trace is read for a scenario's file on disk only"),
        ("reorder = 1", "bottleneck.reorder must be true or false"),
        ("buffer = 5\nbuffer_bytes = 3000", "bottleneck.buffer and bottleneck.buffer_bytes are both given"),
        ("buffer_bytes = 0", "bottleneck.buffer_bytes must be"),
        ("loss = 1.0", "bottleneck.loss must be"),
        ("ack_loss = -0.1", "bottleneck.ack_loss must be"),
        ("loss = { p = 0.1 }", "bottleneck.loss.model is missing"),
        ('loss = { model = "bursts" }', "bottleneck.loss.model must be one of"),
        ('loss = { model = "gilbert-elliott", p = 0.1 }', "bottleneck.loss.r is missing"),
        ('loss = { model = "gilbert-elliott", p = 0.1, r = 0 }', "bottleneck.loss.r must be"),
        ('loss = { model = "gilbert-elliott", p = 2, r = 0.1 }', "bottleneck.loss.p must be"),
        ('loss = { model = "gilbert-elliott", p = 0.1, r = 0.1, h = 1 }', "unknown key bottleneck.loss.h"),
        (
            'loss = { model = "gilbert-elliott", p = 0.1, r = 0.1, good = 0.5, bad = 0.2 }',
            "bottleneck.loss.good must be at most",
        ),
        ('loss = { model = "gilbert-elliott", p = 1, r = 1e-9 }', "bottleneck.loss loses 1 of all packets"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(ScenarioError) as error:
        of_text(text)
    assert message in str(error.value), str(error.value)


def test_what_a_link_refuses():
    with pytest.raises(ScenarioError, match=r"links\.changes of link a->b needs a rate"):
        Link("a", "b", None, changes=((1.0, 1e6),))
    with pytest.raises(ScenarioError, match=r'links\.service of link a->b must not be "analytic"'):
        Link("a", "b", changes=((1.0, 1e6),), service="analytic")
    with pytest.raises(ScenarioError, match="at most 100,000 are allowed"):
        Link("a", "b", changes=tuple((float(i), 1e6) for i in range(MAX_CHANGES + 1)))


def test_a_trace_is_read_beside_its_scenario(tmp_path):
    (tmp_path / "cell.csv").write_text("rate,time_s,delay\n2Mbit/s,1,20ms\n\n0,2.5,20ms\n1e6,3,0\n")
    file = tmp_path / "phone.toml"
    file.write_text(HEAD + BOTTLENECK.format('trace = "cell.csv"'))
    b = load_scenario(file).bottleneck
    assert b is not None and b.changes == ((1.0, 2e6, 0.02), (2.5, 0.0, 0.02), (3.0, 1e6, 0.0))
    assert Bottleneck(changes=read_trace(tmp_path / "cell.csv")).changes == b.changes
    for name in ("/etc/passwd", "../cell.csv", "cell.txt", ".csv/x", "", 5):
        file.write_text(HEAD + BOTTLENECK.format(f"trace = {name!r}"))
        with pytest.raises(ScenarioError, match=r"bottleneck\.trace must be the name of a .csv file"):
            load_scenario(file)
    file.write_text(HEAD + BOTTLENECK.format('trace = "none.csv"'))
    with pytest.raises(ScenarioError, match=r"bottleneck\.trace 'none.csv' cannot be read: No such file"):
        load_scenario(file)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "the first line must name the columns"),
        (b"time,rate\n1,2\n", "the first line must name the columns"),
        (b"time_s,rate\n1,2,3\n", "line 2 has 3 columns, the first has 2"),
        (b"time_s,rate\n1,fast\n", "line 2, rate must be a number with one of the units"),
        (b"time_s,rate\n1,\xff\n", "it is not UTF-8 text"),
        (b"time_s,rate\n" + b"1,1\n" * (MAX_CHANGES + 1), "it has more than 100,000 rows"),
        (b"x" * 8_000_001, "at most 8,000,000 are read"),
        (b'time_s,rate\n"' + b"y" * 200_000, "is no table"),
    ],
    ids=str,
)
def test_traces_that_are_refused(tmp_path, content, message):
    file = tmp_path / "cell.csv"
    file.write_bytes(content)
    with pytest.raises(ScenarioError) as error:
        read_trace(file)
    assert message in str(error.value) and len(str(error.value)) < 600
    with pytest.raises(ScenarioError, match="no ordinary file"):
        read_trace(tmp_path)


def test_a_handover_is_ready():
    scenario = load_scenario(ready_scenarios()["handover"])
    result = simulate(scenario)
    assert scenario.ways[0].changes and 0.3 < float(result.utilisation) < 1.0
