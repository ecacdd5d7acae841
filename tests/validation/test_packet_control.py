"""Rules of congestion control: written by the user, run by the compiled loop."""

import dataclasses
import gc
import threading
import types

import numpy as np
import pytest
from numba import njit

from tcpdynamics.validation.packet import (
    Bottleneck,
    Flows,
    Record,
    Scenario,
    ScenarioError,
    engine,
    replicate,
    simulate,
)
from tcpdynamics.validation.packet.engine import execute
from tcpdynamics.validation.packet.kernel import jit, queues, senders, windows
from tcpdynamics.validation.packet.kernel.records import FLOW, WORLD
from tcpdynamics.validation.packet.user_rules import RuleError, congestion_control, known_rules

CROWD = Scenario(
    (Flows(8, rtt=(0.05, 0.2), jitter=0.004),),
    Bottleneck(5e5, 12, loss=0.01),
    duration=80.0,
    warm_up=20.0,
    slice=10.0,
    record=Record(sends=True, windows=0.5),
)


def crowd(**flow):
    return dataclasses.replace(CROWD, flows=(dataclasses.replace(CROWD.flows[0], **flow),))


def alone(control, until=5.0):
    """One flow with a window that only its rule limits."""
    flow = Flows(rtt=0.1, rules="rfc", control=control, window_limit=1000, initial_window=2)
    return simulate(
        Scenario(
            (flow,), Bottleneck(1e9), duration=until, warm_up=0.0, epoch=0.1, slice=until, record=Record(windows=0.0)
        )
    )


def same(a, b):
    for name, variable in a.data_vars.items():
        assert variable.values.tobytes() == b[name].values.tobytes(), name


# Reno as a user writes it, from RFC 5681 and from ns-2's `slowdown`.


@congestion_control("my_reno_rfc")
def on_ack(f, now, acked):
    f.cwnd += 1.0 if f.cwnd < f.ssthresh else 1.0 / f.cwnd
    f.cwnd = min(f.cwnd, float(f.window))


@congestion_control("my_reno_rfc")
def on_loss(f, now):
    f.ssthresh = float(max(f.flight // 2, 2))
    f.cwnd = f.ssthresh


@congestion_control("my_reno_rfc")
def on_timeout(f, now):
    # Once for a segment (RFC 5681, end of 3.1): not where its retransmission timed out.
    if not (f.backoff > 1 and f.after_timeout):
        f.ssthresh = float(max(f.flight // 2, 2))
    f.cwnd = 1.0


@congestion_control("my_reno_ns2")
def on_ack(f, now, acked):  # noqa: F811
    f.cwnd += 1.0 if f.cwnd < f.ssthresh else 1.0 / f.cwnd


@congestion_control("my_reno_ns2")
def on_loss(f, now):  # noqa: F811
    half = min(f.cwnd + f.inflation, float(f.window)) / 2.0
    f.ssthresh = float(max(int(half), 2))
    f.cwnd = half


@congestion_control("my_reno_ns2")
def on_timeout(f, now):  # noqa: F811
    f.ssthresh = float(max(int(min(f.cwnd, float(f.window)) / 2.0), 2))
    f.cwnd = 1.0


@pytest.mark.parametrize("sender", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("book", ["ns2", "rfc"])
@pytest.mark.parametrize("limited", [False, True])
def test_reno_written_by_the_user_is_the_built_in_one(book, sender, limited):
    built_in = simulate(crowd(rules=book, sender=sender, limited_transmit=limited))
    own = simulate(crowd(rules=book, sender=sender, limited_transmit=limited, control=f"my_reno_{book}"))
    assert built_in["timeouts"].sum() > 10
    if sender != "tahoe":
        assert built_in["fast_recoveries"].sum() > 10
    same(built_in, own)


def test_hooks_left_out_are_renos():
    @congestion_control("only_on_loss")
    def on_loss(f, now):
        half = min(f.cwnd + f.inflation, float(f.window)) / 2.0
        f.ssthresh = float(max(int(half), 2))
        f.cwnd = half

    same(simulate(crowd()), simulate(crowd(control="only_on_loss")))


# What a hook is told.


def test_a_rule_sees_its_flow():
    @congestion_control("spy")
    def on_ack(f, now, acked):
        f.x0 += acked
        f.x1 = now
        f.x2 = f.rtt
        f.x3 = f.min_rtt
        f.x4 = f.flight
        f.x5 = f.window
        f.x6 = f.packet_size
        f.x7 = f.srtt
        f.cwnd = f.p0

    flow = Flows(rtt=0.1, rules="rfc", control="spy", parameters=(4.0,), window_limit=9, initial_window=4, segments=40)
    scenario = Scenario((flow,), Bottleneck(4e6), duration=3.0, warm_up=0.0, epoch=0.1)
    f = engine.execute(scenario, 1).sim.flows.view(np.recarray)[0]
    # Forty segments, four per round trip of 101 ms, 1 ms apart: the last acknowledgement at 10 * 0.101 + 0.003.
    assert f.x0 == 40
    assert f.x1 == pytest.approx(10 * 0.101 + 0.003)
    assert f.x2 == pytest.approx(0.104) or f.x2 == pytest.approx(0.101)
    assert f.x3 == pytest.approx(0.101)
    assert f.x4 in (0, 1) and f.x5 == 9 and f.x6 == 500
    assert 0.101 <= f.x7 <= 0.104


def test_parameters_belong_to_the_group():
    @congestion_control("constant")
    def on_ack(f, now, acked):
        f.cwnd = f.p0 + f.p1 + f.p2 + f.p3 + f.p4 + f.p5 + f.p6 + f.p7

    eight = tuple(float(2**j) for j in range(8))
    groups = tuple(
        Flows(rtt=0.1, control="constant", parameters=p, window_limit=500) for p in ((3.0,), (7.0, 2.0), eight)
    )
    result = simulate(Scenario(groups, Bottleneck(1e9), duration=21.0, warm_up=1.0, epoch=0.1, slice=1.0))
    # A window per round trip of 0.1 s + 4 us of sending: 200 rounds, the last perhaps cut.
    np.testing.assert_allclose(result["sent"] / 200, [3, 9, 255], rtol=0.01)


def test_spare_fields_start_at_zero_in_every_run():
    @congestion_control("counter")
    def on_ack(f, now, acked):
        f.x0 += 1.0
        f.cwnd = 2.0 + min(f.x0, 50.0)

    first, second = alone("counter"), alone("counter")
    same(first, second)
    # x0 is 1 at the first acknowledgement.
    assert first["window_cwnd"][0].item() == 3.0


def test_several_rules_in_one_run():
    for name, window in (("fixed_two", 2.0), ("fixed_five", 5.0)):
        congestion_control(name)(fixed(window))
    groups = tuple(
        Flows(2, rtt=0.1, control=name, rules=book, window_limit=50)
        for name, book in (("fixed_two", "ns2"), ("reno", "rfc"), ("fixed_five", "rfc"), ("fixed_two", "rfc"))
    )
    result = simulate(Scenario(groups, Bottleneck(1e9), duration=21.0, warm_up=3.0, epoch=0.1, slice=1.0))
    per_round = result["sent"].values / 180
    np.testing.assert_allclose(per_round, [2, 2, 50, 50, 5, 5, 2, 2], rtol=0.02)


def test_a_window_may_be_acknowledged_at_once():
    """What the table of docs/your_own_congestion_control.md says of `acked`."""

    @congestion_control("adds_acked")
    def on_ack(f, now, acked):
        f.x0 = max(f.x0, acked)
        f.cwnd += acked

    flow = Flows(1, "reno", "rfc", rtt=0.1, control="adds_acked", window_limit=64)
    run = execute(Scenario((flow,), Bottleneck(1e6, 20), duration=60.0, warm_up=1.0), 1)
    assert 20 < run.sim.flows["x0"][0] <= 64


def fixed(window):
    def on_ack(f, now, acked):
        f.cwnd = window

    return on_ack


# What cannot be.


@pytest.mark.parametrize("book", ["ns2", "rfc"])
@pytest.mark.parametrize("sender", ["tahoe", "reno", "newreno", "sack"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1e300", "1e300", "0.0", "0.5"])
def test_absurd_windows_are_contained(value, sender, book):
    """Whatever a rule writes, at least one segment and at most the advertised window is under way."""
    absurd = float(value)

    def on_ack(f, now, acked):
        f.cwnd = absurd
        f.ssthresh = absurd

    def on_loss(f, now):
        f.cwnd = absurd
        f.ssthresh = absurd

    def on_timeout(f, now):
        f.cwnd = absurd
        f.ssthresh = absurd

    for hook in (on_ack, on_loss, on_timeout):
        congestion_control("absurd")(hook)
    flow = Flows(4, sender, book, control="absurd", rtt=(0.05, 0.1), window_limit=16)
    scenario = Scenario(
        (flow,), Bottleneck(5e5, 20, 0.05), duration=30.0, warm_up=0.0, epoch=0.1, record=Record(windows=0.0)
    )
    result = simulate(scenario)
    assert (result["goodput"] > 0).all()
    cwnd, ssthresh = result["window_cwnd"].values, result["window_ssthresh"].values
    assert np.isfinite(cwnd).all() and (cwnd >= 1).all() and (cwnd <= 1e9).all()
    assert np.isfinite(ssthresh).all() and (ssthresh >= 1).all()
    assert (result["window_flight"] <= 16).all()


def test_a_rule_that_cannot_be_compiled_says_why():
    with pytest.raises(RuleError, match=r"mine: on_ack cannot be compiled.*speed"):

        @congestion_control("mine")
        def on_ack(f, now, acked):
            f.cwnd = f.speed

    with pytest.raises(RuleError, match=r"mine: on_ack cannot be compiled.*not_there"):

        @congestion_control("mine")
        def on_ack(f, now, acked):
            f.cwnd = not_there  # noqa: F821

    with pytest.raises(RuleError, match="cannot be compiled: it makes a list"):

        @congestion_control("mine")
        def on_ack(f, now, acked):
            f.cwnd = [1.0, 2.0][int(acked)]

    assert "mine" not in known_rules()


def test_misshapen_hooks_are_named():
    with pytest.raises(RuleError, match="on_ack, on_loss, on_timeout, on_every_ack, on_mark, got on_packet"):

        @congestion_control("mine")
        def on_packet(f, now, acked):
            pass

    with pytest.raises(RuleError, match=r"on_loss must take 2 arguments \(f, now\), got 3"):

        @congestion_control("mine")
        def on_loss(f, now, acked):
            pass

    for name in ("reno", "hstcp", "two words", "", 7):
        with pytest.raises(RuleError, match="identifier"):
            congestion_control(name)


def test_an_unknown_rule_is_named():
    with pytest.raises(ScenarioError, match=r"'bbr' is not known; BBR is not .*; known rules: .*congestion_control"):
        simulate(crowd(control="bbr"))


@pytest.mark.parametrize("parameters", [(1.0,) * 9, (float("nan"),), (float("inf"),), ("2",)])
def test_parameters_are_checked(parameters):
    with pytest.raises(ScenarioError, match=r"flows\.parameters"):
        Flows(parameters=parameters)


# Defined again, and at the same time.


def test_a_rule_defined_again_replaces_the_old_one():
    means = []
    for window in (2.0, 6.0):
        congestion_control("again")(fixed(window))
        means.append(alone("again")["window_cwnd"][-1].item())
    assert means == [2.0, 6.0]


def test_redefinition_during_a_run_leaves_that_run_alone():
    congestion_control("steady")(fixed(3.0))
    # Many steps of the loop, so that the callback is reached in between.
    flow = Flows(50, rtt=0.1, control="steady", window_limit=50, rules="rfc")
    scenario = Scenario((flow,), Bottleneck(1e9), duration=1000.0, warm_up=1.0, epoch=0.1, slice=100.0)
    calls = []

    def replace(share):
        calls.append(share)
        congestion_control("steady")(fixed(20.0))

    counts = engine.execute(scenario, 1, replace).counts[:, engine.k.SENT]
    assert calls
    np.testing.assert_allclose(counts / 9990, 3.0, rtol=0.01)
    later = engine.execute(dataclasses.replace(scenario, duration=20.0), 1).counts[:, engine.k.SENT]
    np.testing.assert_allclose(later / 190, 20.0, rtol=0.02)


def test_threads_run_rules_side_by_side():
    scenario = dataclasses.replace(crowd(control="my_reno_ns2"), record=Record())
    built_in = dataclasses.replace(crowd(), record=Record())
    one, four = replicate(scenario, 6, workers=1), replicate(scenario, 6, workers=4)
    same(one, four)
    same(one, replicate(built_in, 6, workers=4))


def test_rules_may_be_defined_in_several_threads():
    errors, windows = [], {}

    def work(i):
        try:
            for again in range(3):
                congestion_control(f"thread_{i}")(fixed(float(i + 2 + again)))
            windows[i] = alone(f"thread_{i}", until=1.0)["window_cwnd"][-1].item()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert windows == {i: float(i + 4) for i in range(6)}


def test_rules_outlive_their_functions():
    """The engine keeps the compiled code; the name in the caller's scope may go."""

    def define():
        congestion_control("orphan")(fixed(4.0))

    define()
    gc.collect()
    assert alone("orphan")["window_cwnd"][-1].item() == 4.0


# The tables.


def test_a_rule_of_the_table_is_as_one_of_a_user(monkeypatch):
    """A file with hooks and a line in the table are all that a built-in rule needs."""
    file = types.ModuleType("fixed_three")
    file.on_ack = fixed(3.0)
    monkeypatch.setitem(windows.RULES, "fixed_three", file)
    assert "fixed_three" in known_rules()
    assert alone("fixed_three")["window_cwnd"][-1].item() == 3.0
    with pytest.raises(RuleError, match=r"other than reno, .*fixed_three"):
        congestion_control("fixed_three")


def test_a_table_calls_the_member_of_the_record():
    @jit.inlined
    def number(f):
        return f.book

    @jit.inlined
    def first(w, f, x):
        return x + 1.0

    @jit.inlined
    def second(w, f, x):
        return x * w.now

    chosen = jit.by_number(number, [first, second, first])
    call = njit(lambda w, f, x: chosen(w, f, x))
    world, flow = np.zeros(1, WORLD).view(np.recarray), np.zeros(1, FLOW).view(np.recarray)
    world.now = 10.0
    answers = []
    for flow.book in range(3):
        answers.append(call(world[0], flow[0], 5.0))
    assert answers == [6.0, 50.0, 6.0]
    assert list(senders.BOOKS) == ["ns2", "rfc", "linux"]
    assert next(iter(queues.DISCIPLINES)) == "droptail"  # the one in the loop
