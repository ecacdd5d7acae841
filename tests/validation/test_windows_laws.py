"""Window rules against the laws that they are published with."""

import dataclasses
import itertools
import math
import subprocess
import types

import numpy as np
import pytest
import xarray as xr
from numba import njit

from tcpdynamics.errors import ScenarioError
from tcpdynamics.models.high_speed.hstcp import HighSpeedTcp, ScalableTcp
from tcpdynamics.validation.ns2 import installed, tcl
from tcpdynamics.validation.packet import (
    Bottleneck,
    Drop,
    Flows,
    Link,
    Record,
    Scenario,
    engine,
    parse_scenario,
    replicate,
    simulate,
)
from tcpdynamics.validation.packet.kernel import queues, windows
from tcpdynamics.validation.packet.kernel import views as at
from tcpdynamics.validation.packet.kernel.losses import mark
from tcpdynamics.validation.packet.kernel.parameters import Parameter
from tcpdynamics.validation.packet.kernel.queues import droptail
from tcpdynamics.validation.statistics import two_sample

RTT = 0.1


# Random losses: the bare law, a queue of packets a round trip old, beside the simulator.


@njit
def a_of(kind, w):
    """Growth per acknowledgement, segments; HighSpeed TCP by the constants of RFC 3649, section 5."""
    if kind == "scalable":
        return 0.01 if w > 16.0 else 1.0 / w
    if kind == "hstcp" and w > 38.0:
        share = math.log(w / 38.0) / math.log(83000.0 / 38.0)
        b = 0.5 - 0.4 * share
        return w * 1e-3 * (1e-7 / 1e-3) ** share * 2.0 * b / (2.0 - b)
    return 1.0 / w


@njit
def b_of(kind, w):
    """Share given up at a loss."""
    if kind == "scalable" and w > 16.0:
        return 0.125
    if kind == "hstcp" and w > 38.0:
        return 0.5 - 0.4 * math.log(w / 38.0) / math.log(83000.0 / 38.0)
    return 0.3 if kind == "cubic" else 0.5


@njit
def mean_of_law(kind, p, packets, rng):
    """Mean window when each packet is lost with probability p and nothing else happens: no queue, no timer.

    Each packet comes back, or is known to be lost, a round trip after it was sent, and makes room for one more. One
    decrease for what was under way; until the first packet sent after it is back, nothing grows.
    """
    sent = np.zeros(1 << 16)
    mask = len(sent) - 1
    w, head, tail, recover = 50.0, 0, 0, -1
    now = settled = began = last = k = friendly = prior = 0.0
    for head in range(packets):
        while tail - head < int(w):
            sent[tail & mask] = now
            tail += 1
        now = sent[head & mask] + RTT
        if head == packets // 5:  # the way from the first window is not counted
            settled = now
        if rng.random() < p:
            if head > recover:
                recover, prior, began = tail - 1, w, 0.0
                last = 0.85 * w if w < last else w
                w = max((1.0 - b_of(kind, w)) * w, 2.0)
        elif head > recover and kind != "cubic":
            w += a_of(kind, w)
        elif head > recover:
            if began == 0.0:
                began, last, friendly = now, max(last, w), w
                k = ((last - w) / 0.4) ** (1 / 3)
            friendly += (9 / 17 if friendly < prior else 1.0) / w
            if last + 0.4 * (now - began - k) ** 3 < friendly:
                w = max(w, friendly)
            else:
                w += min(max(last + 0.4 * (now - began + RTT - k) ** 3 - w, 0.0), 0.5 * w) / w
    return 0.8 * packets / (now - settled) * RTT


def mean_windows(kind, p, book, seeds, duration=400.0):
    """Mean window [packet] by replication, one flow on a path that loses each packet with probability p."""
    flow = Flows(
        sender="sack", rules=book, control=kind, source="s", target="d", packet_size=1000, window_limit=9000,
        handshake=False, start_spread=1.0,
    )  # fmt: skip
    scenario = Scenario(
        (flow,), None, duration, duration / 5, links=(Link("s", "d", 1e11, RTT / 2, loss=p),), epoch=1.0, slice=duration
    )
    return replicate(scenario, seeds)["sent"].isel(flow=0) / (0.8 * duration) * RTT


def agrees_with_its_law(kind, p, book, seeds, packets):
    """The difference of the means has zero within its 95 % interval, which is narrow enough to mean something."""
    measured = mean_windows(kind, p, book, seeds)
    draws = np.random.default_rng(1).spawn(8)
    law = xr.DataArray([mean_of_law(kind, p, packets, rng) for rng in draws], dims="replication")
    part = two_sample(measured, law) / law.mean()
    effect, low, high = (float(part[name]) for name in ("difference", "low", "high"))
    print(
        f"{kind} {book} p={p:g}: {measured.mean():.1f}, law {law.mean():.1f}, {effect:+.3f} [{low:+.3f}, {high:+.3f}]"
    )
    assert low < 0.0 < high
    assert high - low < 0.4


@pytest.mark.parametrize(
    ("kind", "p"),
    [
        ("cubic", 1e-3),
        pytest.param("scalable", 1e-3, marks=pytest.mark.slow),
        pytest.param("hstcp", 3e-4, marks=pytest.mark.slow),
    ],
)
def test_mean_window_under_random_losses(kind, p):
    agrees_with_its_law(kind, p, "rfc", 6, 500_000)


@pytest.mark.slow
@pytest.mark.parametrize("book", ["rfc", "ns2"])
@pytest.mark.parametrize("p", [1e-3, 3e-4, 1e-4])
@pytest.mark.parametrize("kind", ["hstcp", "scalable", "cubic"])
def test_mean_window_under_random_losses_at_length(kind, p, book):
    agrees_with_its_law(kind, p, book, 40, 3_000_000)


# Losses at even distances.


def one_loss_in(every, control, parameters, mean, cycles=90):
    """Mean window when one packet in `every` is lost."""
    flow = Flows(
        sender="sack", rules="rfc", control=control, parameters=parameters, source="s", target="d",
        packet_size=1000, window_limit=9000, handshake=False,
    )  # fmt: skip
    duration = every / mean * RTT * cycles
    scenario = Scenario(
        (flow,), None, duration, duration / 2, links=(Link("s", "d", 1e11, RTT / 2),), epoch=1.0, slice=duration,
        drops=tuple(Drop(link="s->d", packet=n) for n in range(every, 2 * every * cycles, every)),
    )  # fmt: skip
    return float(simulate(scenario)["sent"].sum()) / (0.5 * duration) * RTT


@pytest.mark.parametrize("law", [ScalableTcp(loss=1e-3), HighSpeedTcp(loss=1e-4)], ids=["scalable", "hstcp"])
def test_sawtooth_of_even_losses(law):
    """A round trip of recovery at the lower window is part of each period; the model has none."""
    saw, every = law.sawtooth(), 1 / law.loss
    control = "scalable" if isinstance(law, ScalableTcp) else "hstcp"
    measured = one_loss_in(round(every), control, {}, float(saw.mean))
    shorter = saw
    for _ in range(3):  # the rest of the period is a sawtooth with fewer packets
        low = float(shorter.peak * (1 - law.decrease(float(shorter.peak))))
        shorter = dataclasses.replace(law, loss=1 / (every - low)).sawtooth()
    expected = every / (float(shorter.period) + 1)
    print(f"{control}: {measured:.1f}, with recovery {expected:.1f}, without {float(saw.mean):.1f}")
    assert measured == pytest.approx(expected - 0.5, rel=0.015)  # whole segments of it are sent
    assert measured == pytest.approx(float(saw.mean), rel=0.1)


def test_cubic_law_of_even_losses():
    """RFC 9438, figure 5: the fixed point of a map with slope one, so that windows come near it by and by only."""
    c, beta, every = 0.4, 0.7, 10_000
    law = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (RTT * every) ** 0.75
    means = [one_loss_in(every, "cubic", {"fast_convergence": 0}, law, cycles) / law - 1 for cycles in (30, 120)]
    print(means)
    assert 0.0 < means[1] < means[0] < 0.3


# What each rule is for.


def test_westwood_finds_the_bandwidth():
    """After a loss at the full queue the window is bandwidth times least RTT, also with delayed acknowledgements."""
    for plus in (0, 1):
        for delayed_ack in (0.0, 0.1):
            flow = Flows(
                sender="sack", rules="rfc", control="westwood", parameters={"plus": plus}, rtt=0.05,
                packet_size=1000, window_limit=2000, delayed_ack=delayed_ack,
            )  # fmt: skip
            result = simulate(Scenario((flow,), Bottleneck(20e6, 30), 60.0, 20.0, record=Record(windows=0.0)))
            late = result["window_time"].values > 20.0
            left = np.unique(result["window_ssthresh"].values[late])[1:]
            np.testing.assert_allclose(left, 20e6 / 8000 * (0.05 + 8000 / 20e6), rtol=2e-3)
            assert result["utilisation"] > 0.999


@pytest.mark.parametrize("book", ["ns2", "rfc"])
@pytest.mark.parametrize(("alpha", "beta"), [(1, 3), (2, 4), (6, 8)])
def test_vegas_keeps_a_few_segments_in_the_queue(book, alpha, beta):
    for rate, rtt in ((10e6, 0.05), (2e6, 0.02)):
        flow = Flows(
            sender="sack", rules=book, control="vegas", parameters={"alpha": alpha, "beta": beta}, rtt=rtt,
            packet_size=1000, window_limit=500, handshake=False,
        )  # fmt: skip
        result = simulate(Scenario((flow,), Bottleneck(rate, 100), 60.0, 30.0))
        # ns-2 rounds to whole segments: up to a half beyond either bound.
        room = 0.5 if book == "ns2" else 0.05
        assert alpha - room <= result["mean_queue"].item() <= beta + room
        assert result["loss_rate"] == 0.0 and result["utilisation"] > 0.999


# Marks.


@pytest.fixture
def step(monkeypatch):
    """A queue that marks a packet that finds `threshold` waiting, and every `each`-th if that is not 0."""
    file = types.ModuleType("step")
    file.PARAMETERS = (
        Parameter("threshold", "packet", "marked from here on", 20.0),
        Parameter("each", "1", "or each so many-th", 0.0),
    )
    file.MARKS = True
    file.STATE = np.dtype([("threshold", float), ("each", float), ("count", np.int64)])
    state = at.part_of("state", file.STATE)

    def admits(w, line, slot, busy):
        s = state(w, line, 0)
        if not droptail.admits(w, line, at.event(w, slot).length, busy):
            return 0
        s.count += 1
        if line.waiting >= s.threshold or (s.each > 0.0 and s.count % s.each == 0.0):
            mark(w, line, slot)
        return 1

    file.admits, file.put, file.take = admits, droptail.put, droptail.take
    for table in (queues.DISCIPLINES, queues.MECHANISMS):
        monkeypatch.setitem(table, "step_of_a_test", file)


def marked(flow, duration, rate=1e9, delay=2e-4, **queue):
    links = (Link("a", "b", rate, delay, 2000, queue="step_of_a_test", queue_parameters=queue),)
    return Scenario(
        (flow,), None, duration, duration / 2, links=links, epoch=0.01, slice=duration, record=Record(queues=0.0)
    )


@pytest.mark.parametrize("book", ["rfc", "ns2"])
@pytest.mark.parametrize(("flows", "threshold"), [(1, 40), (2, 40), (10, 65)])
def test_limit_cycle_of_dctcp(step, flows, threshold, book):
    """Alizadeh et al. (SIGCOMM 2010), section 3.3: the queue swings by N (W + 1) alpha/2 below K + N."""
    rate, rtt = 1e9, 4e-4
    flow = Flows(
        flows, rules=book, control="dctcp", source="a", target="b", packet_size=1500, window_limit=2000, ecn=True,
        start_spread=0.0,
    )  # fmt: skip
    result = simulate(marked(flow, 0.4, rate, rtt / 2, threshold=threshold))
    window = (rate / 12000 * rtt + threshold) / flows
    # alpha^2 (1 - alpha/4) = (2 W + 1)/(W + 1)^2
    alpha = min(np.roots([-0.25, 1.0, 0.0, -(2 * window + 1) / (window + 1) ** 2]), key=lambda x: abs(x - 0.3)).real
    swing = flows * (window + 1) * alpha / 2
    late = (result["queue_time"].values > 0.2) & (result["queue_link"].values == 0)
    waiting = result["queue_packets"].values[late]  # without the one that is being sent
    assert abs(waiting.max() - (threshold + flows - 1)) <= 1
    assert abs(waiting.min() - (threshold + flows - swing)) <= 2
    assert result["utilisation"] > 0.999 and result["dropped"].sum() == 0


def many_with_dctcp(count, book, handshake):
    flow = Flows(
        count, rules=book, control="dctcp", ecn=True, rtt=0.01, packet_size=1000, handshake=handshake, start_spread=0.1
    )
    link = Bottleneck(2e6, 500, queue="step", queue_parameters={"threshold": 5})
    return simulate(Scenario((flow,), link, 40.0, 20.0, record=Record(windows=0.5)))


@pytest.mark.parametrize("book", ["rfc", "ns2"])
@pytest.mark.parametrize("count", [10, 40])
def test_dctcp_at_its_least_window(book, count):
    """More flows than packets below the threshold: windows stay near their least, and nothing is lost."""
    result = many_with_dctcp(count, book, handshake=False)
    window = result["window_cwnd"].values
    assert window.min() >= 1.0 and result["dropped"].sum() == 0 and result["timeouts"].sum() == 0
    least, most = count * np.floor(window.min()), count * np.floor(window.max())
    on_the_way = 2e6 / 8000 * 0.01 + 1  # the bandwidth-delay product, and the packet that is being sent
    assert least - on_the_way <= result["mean_queue"].item() <= most


def test_handshakes_without_ecn_starve_behind_marked_data():
    """By ns-2's rules a SYN may not be marked, so a queue above its threshold loses it, again and again."""
    result = many_with_dctcp(40, "ns2", handshake=True)
    assert (result["goodput"] == 0).sum() >= 10 and result["dropped"].sum() == result["timeouts"].sum() > 0


@pytest.mark.parametrize("book", ["rfc", "ns2"])
@pytest.mark.parametrize("delayed_ack", [0.0, 0.1])
@pytest.mark.parametrize("each", [0, 2, 3, 7])
def test_each_mark_is_echoed(step, monkeypatch, book, delayed_ack, each):
    """As many segments are acknowledged with an echo as were marked, whatever waits (RFC 8257, 3.2)."""

    def on_every_ack(f, now, acked):
        if f.marked:
            f.x0 += acked

    def on_mark(f, now):
        pass

    file = types.ModuleType("counts")
    file.on_every_ack, file.on_mark, file.ECHOES_EACH = on_every_ack, on_mark, True
    monkeypatch.setitem(windows.RULES, "counts_of_a_test", file)
    flow = Flows(
        rules=book, control="counts_of_a_test", source="a", target="b", ecn=True, segments=200, window_limit=20,
        delayed_ack=delayed_ack, handshake=False,
    )  # fmt: skip
    run = engine.execute(marked(flow, 5.0, 1e7, 0.01, threshold=1e5, each=each), 1)
    assert run.sim.links["marked"][0] == (200 // each if each else 0)
    assert run.sim.flows["x0"][0] == run.sim.links["marked"][0]
    if delayed_ack and not each:
        assert run.counts[0, engine.k.ACKS_SENT] < 110


def test_dctcp_needs_marks():
    with pytest.raises(ScenarioError, match=r'flows\.ecn must be true with control "dctcp"'):
        Flows(control="dctcp")


@pytest.mark.parametrize(
    ("control", "parameters", "message"),
    [
        ("cubic", {"beta": 1.5}, r"flows\.parameters\.beta"),
        ("cubic", {"hystart": 0.5}, r"flows\.parameters\.hystart"),
        ("vegas", {"alpha": 5}, r"flows\.parameters\.alpha must not be above flows\.parameters\.beta = 3"),
        ("scalable", {"A": 0.1}, r"unknown key flows\.parameters\.A"),
        ("westwood", {"plus": 2}, r"flows\.parameters\.plus"),
        ("dctcp", {"g": 0.0}, r"flows\.parameters\.g"),
    ],
)
def test_impossible_parameters_are_named(control, parameters, message):
    with pytest.raises(ScenarioError, match=message):
        Flows(control=control, parameters=parameters, ecn=True)


@pytest.mark.parametrize("control", list(windows.RULES))
def test_each_rule_goes_with_each_sender(control):
    """Losses of all kinds, a queue of a few packets, timeouts; everything arrives, and no window is exceeded."""
    flows = tuple(
        Flows(
            2, sender, book, control=control, ecn=control == "dctcp", rtt=(0.02, 0.1), window_limit=30,
            delayed_ack=0.1 * delayed, segments=300,
        )
        for sender in ("tahoe", "reno", "newreno", "sack")
        for book in ("ns2", "rfc")
        for delayed in (0, 1)
    )  # fmt: skip
    link = Bottleneck(2e6, 20, loss=0.02, queue="step" if control == "dctcp" else "droptail")
    scenario = Scenario(flows, link, 200.0, 0.0, epoch=1.0, slice=200.0, record=Record(windows=0.0))
    result = simulate(scenario)
    assert (result["transferred"] >= 300).all()  # the handshake comes on top
    assert result["timeouts"].sum() > 0 and result["fast_recoveries"].sum() > 0
    assert np.isfinite(result["window_cwnd"]).all()
    assert (result["window_flight"] <= 30).all()


def test_parameters_in_a_file():
    scenario = parse_scenario(
        {
            "bottleneck": {"rate": "10Mbit/s", "buffer": 50},
            "flows": [{"control": "cubic", "parameters": {"beta": 0.8, "hystart": 1}}],
        }
    )
    assert scenario.flows[0].rule_parameters() == (0.4, 0.8, 1.0, 1.0)


def test_hystart_ends_slow_start_gently():
    """A deep queue: the window overshoots by at most a quarter of itself, not by all of it."""
    link = Bottleneck(100e6, 4000)  # three bandwidth-delay products
    lost = []
    for hystart in (0, 1):
        flow = Flows(
            rules="rfc", control="cubic", parameters={"hystart": hystart}, rtt=0.1, packet_size=1000,
            window_limit=30_000,
        )  # fmt: skip
        result = simulate(Scenario((flow,), link, 10.0, 0.0, epoch=1.0))
        lost.append(int(result["dropped"].sum()))
    assert 0 < lost[1] < lost[0] / 4


def test_hystart_leaves_after_five_rounds_of_gentle_growth():
    """RFC 9406, 4.2: rounds followed from what was sent and acknowledged alone; that of the entry counts."""
    flow = Flows(
        rules="rfc", control="cubic", parameters={"hystart": 1}, rtt=0.1, packet_size=1000, window_limit=100_000
    )
    record = Record(windows=0.0, sends=True)
    result = simulate(Scenario((flow,), Bottleneck(5e6, 30_000), 6.0, 1.0, epoch=0.1, record=record))
    cwnd, limited = result["window_cwnd"].values, result["window_ssthresh"].values < 90_000
    sent = np.searchsorted(result["send_time"].values, result["window_time"].values, side="right")
    acked = sent - result["window_flight"].values
    end, ends = 0, []
    for i, una in enumerate(acked):
        if una > end:
            ends.append(i)
            end = sent[i]
    growth = [cwnd[b] / cwnd[a] for a, b in itertools.pairwise(ends)]
    gentle = [i for i, ratio in enumerate(growth) if 1.2 < ratio < 1.3]
    assert len(gentle) == 5
    assert abs(int(np.argmax(limited)) - ends[gentle[-1] + 1]) <= 3  # acknowledgements


# Growth as in the Linux modules of ns-2 (Agent/TCP/Linux), whose recovery is another.


@pytest.mark.parametrize(
    ("control", "module", "parameters", "bound"),
    [
        ("reno", "reno", {}, 0.02),
        ("scalable", "scalable", {"a": 1 / 51}, 0.01),
        ("cubic", "cubic", {"c": 410 / 1024, "beta": 819 / 1024}, 0.02),
        ("hstcp", "highspeed", {}, 0.1),  # a table in whole steps of a(w) there
    ],
)
def test_windows_grow_as_in_linux(tmp_path, control, module, parameters, bound):
    """From 1.5 to 20 s after the start, the loss of packet 300 being over: largest relative difference of cwnd."""
    if not installed():
        pytest.skip("ns is not installed")
    flow = Flows(
        control=control, parameters=parameters, source="s", target="d", packet_size=1000, window_limit=4000,
        handshake=False, timestamps=True, start=0.1,
    )  # fmt: skip
    scenario = Scenario(
        (flow,), None, 20.0, 0.0, links=(Link("s", "r", 1e10, 0.0), Link("r", "d", 1e8, 0.05)), epoch=1.0,
        slice=20.0, drops=(Drop(link="r->d", packet=300),), record=Record(windows=0.0),
    )  # fmt: skip
    ours = simulate(scenario)
    plain = dataclasses.replace(flow, control="reno", parameters=())
    script = tcl(dataclasses.replace(scenario, flows=(plain,))).replace("TCP/Sack1]", "TCP/Linux]")
    extra = f"$tcp(0) select_ca {module}\nset windows [open windows w]\n$tcp(0) trace cwnd_\n$tcp(0) attach $windows\n"
    (tmp_path / "s.tcl").write_text(script.replace("set ftp(0)", extra + "set ftp(0)", 1))
    subprocess.run(["ns", "s.tcl"], cwd=tmp_path, timeout=60, stdout=subprocess.DEVNULL, check=True)
    rows = [line.split() for line in (tmp_path / "windows").read_text().splitlines()]
    theirs = np.array([(float(row[0]), float(row[6])) for row in rows if row[5] == "cwnd_"])
    times = np.linspace(1.5, 19.9, 200)
    a = ours["window_cwnd"].values[np.searchsorted(ours["window_time"].values, times, "right") - 1]
    b = theirs[np.searchsorted(theirs[:, 0], times, "right") - 1, 1]
    worst = np.abs(a / b - 1).max()
    print(f"{control}: {worst:.4f}")
    assert worst < bound
