"""Chains compiled from the simulator's own sender: followed packet by packet, and against laws found by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import ScenarioError
from tcpdynamics.models import collapse_threshold
from tcpdynamics.progress import hearing
from tcpdynamics.solvers import stationary, windowed
from tcpdynamics.validation.packet import replicate
from tcpdynamics.validation.packet.kernel import loop
from tcpdynamics.validation.packet.kernel import records as k
from tcpdynamics.validation.packet.kernel.views import bind
from tcpdynamics.validation.packet.setup import add_events, build
from tcpdynamics.validation.packet.user_rules import congestion_control
from tcpdynamics.validation.sender_chain import SenderChainError, Setting, sender_chain
from tcpdynamics.validation.sender_chain.chain import compiled
from tcpdynamics.validation.sender_chain.explore import Explored, explore
from tcpdynamics.validation.sender_chain.lumping import classes
from tcpdynamics.validation.sender_chain.rules import objection
from tcpdynamics.validation.sender_chain.windows import alike


def next_event(sim: k.Sim) -> float:
    due = (sim.events["what"] >= 0) & (sim.events["what"] != k.WAITING)
    due[: len(sim.links)] = False  # slots of the links' own
    return float(sim.events["time"][due].min())


def follow(explored: Explored, loss: float, instants: int, seed: int) -> None:
    """One long run of the loop, never put back: at each instant as many packets, after as long, as the graph says.

    Where windows become one after a fast retransmission, the run's does so, here, as that of the graph's sender.
    """
    setting = explored.setting
    links = (0, 1) if setting.ack_loss else (0,)
    edges, middles = alike(setting.window, setting.halvings, setting.sender == "newreno")
    sim = build(setting.scenario(0.5, 0.5 if setting.ack_loss else 0.0, duration=1e5, warm_up=1.0, slice=1e5), 1)
    loop.start(sim.world)
    rows = np.full((200, 5), -2, np.int64)
    sim = bind(add_events(sim, 200)._replace(drops=rows))
    sim.links["loss"] = 0.0
    sim.world["drops"] = 1
    sim.world["edge"] = sim.world["end"] = math.inf
    lost = np.random.default_rng(seed).random((2, 20 * instants)) < loss

    def arrived() -> list[int]:
        return [int(sim.links["arrived"][i]) for i in links]

    def run_instant() -> float:
        time, recoveries = next_event(sim), int(sim.counts[0, k.RECOVERIES])
        assert loop.advance(sim.world, np.nextafter(time, np.inf), 100_000) == k.DONE
        if setting.halvings and sim.counts[0, k.RECOVERIES] > recoveries:
            sim.flows["cwnd"] = middles[np.searchsorted(edges, sim.flows["cwnd"], side="right")]
        return time

    for _ in range(12 + 4 * setting.window):  # as `explore` begins
        run_instant()
    node, met, expected = 0, 0.0, None
    count = 0
    while count < instants:
        before = arrived()
        rows[:, 4] = -2
        chosen = [(i, n) for i, a in zip(links, before, strict=True) for n in range(a, a + 64) if lost[i, n]]
        for row, (i, n) in zip(rows, chosen, strict=False):
            row[:] = (k.BY_PACKET, -1, n, 0, i)
        time = run_instant()
        after = arrived()
        if after == before:
            continue
        if expected is not None:
            assert time - met == expected.time
        at = explored.instants[node]
        assert [at.new + at.again, at.acks][: len(links)] == [b - a for a, b in zip(before, after, strict=True)]
        pattern = 0
        for i, a, b in zip(links, before, after, strict=True):
            for n in range(a, b):
                pattern = 2 * pattern + int(lost[i, n])
        expected, met = explored.paths[node][pattern], time
        node = expected.target
        count += 1


SMALL: list[Any] = [
    *({"sender": s, "rules": r, "window": 4, "backoff_cap": 3}
      for r in ("rfc", "ns2") for s in ("tahoe", "reno", "newreno", "sack")),
    {"sender": "sack", "rules": "rfc", "window": 5, "backoff_cap": 2, "limited_transmit": True},
    {"sender": "reno", "rules": "ns2", "window": 4, "backoff_cap": 2, "limited_transmit": True},
    {"sender": "newreno", "rules": "rfc", "window": 4, "backoff_cap": 2, "leap": True},
    {"sender": "reno", "rules": "ns2", "window": 2, "backoff_cap": 2, "leap": True},
    {"sender": "reno", "rules": "rfc", "window": 3, "backoff_cap": 1, "delayed_ack": 0.5, "tick": 0.5},
    {"sender": "reno", "rules": "rfc", "window": 2, "backoff_cap": 1, "ack_loss": True, "tick": 0.5},
    {"sender": "sack", "rules": "rfc", "window": 3, "timeout": 2.5},
    pytest.param(
        {"sender": "sack", "rules": "ns2", "window": 6, "backoff_cap": 1, "tick": 1.0, "halvings": 1},
        marks=pytest.mark.slow,
    ),
]  # fmt: skip


@pytest.mark.parametrize("values", SMALL, ids=lambda v: "-".join(str(x) for x in v.values()))
def test_a_run_follows_the_graph_packet_by_packet(values: dict[str, Any]) -> None:
    explored = explore(Setting(**values), paths=True)
    for seed, loss in enumerate((0.05, 0.2, 0.4)):
        follow(explored, loss, 1500, seed)


@given(
    st.integers(1, 8), st.integers(1, 3), st.booleans(), st.floats(1.0, 8.0), st.floats(0.0, 1.0),
    st.lists(st.integers(0, 12), min_size=4, max_size=4), st.integers(1, 7),
)  # fmt: skip
def test_windows_that_become_one_behave_alike(
    window: int, halvings: int, deflates: bool, first: float, place: float, growths: list[int], taken: int
) -> None:
    """Any acknowledgements, halvings and (once) deflation: as many whole packets at each step, for both windows."""
    edges, middles = alike(window, halvings, deflates)
    one = min(first, float(window))
    i = int(np.searchsorted(edges, one, side="right"))
    low, high = (edges[i - 1], edges[i]) if 0 < i < len(edges) else (one, one)
    assert low <= middles[i] <= high or i in (0, len(edges))
    pair = [min(one, high - 1e-7), low + 1e-7 + place * max(high - low - 2e-7, 0.0)]
    if abs(pair[0] - pair[1]) < 1e-12 or high - low < 1e-6:
        return
    for turn, acks in enumerate(growths[: halvings + 1]):
        for _ in range(acks):
            assert math.floor(pair[0]) == math.floor(pair[1])
            pair = [min(w + 1.0 / w, float(window)) for w in pair]
        if deflates and turn == halvings and min(pair) - taken >= 1.0:
            pair = [w - taken for w in pair]
        assert math.floor(pair[0]) == math.floor(pair[1])
        if turn < halvings:
            pair = [max(w / 2.0, 1.0) for w in pair]
            assert math.floor(pair[0]) == math.floor(pair[1])


@pytest.mark.parametrize("values", SMALL[::3], ids=lambda v: "-".join(str(x) for x in v.values()))
def test_patterns_are_all_there(values: dict[str, Any]) -> None:
    explored = explore(Setting(**values))
    for at, moves in zip(explored.instants, explored.moves, strict=True):
        total: dict[Any, int] = {}
        for law in moves.values():
            for weight, count in law.items():
                total[weight] = total.get(weight, 0) + count
        expected = {
            (i, at.new - i, j, at.again - j, a, at.acks - a): math.comb(at.new, i)
            * math.comb(at.again, j)
            * math.comb(at.acks, a)
            for i in range(at.new + 1)
            for j in range(at.again + 1)
            for a in range(at.acks + 1)
        }
        assert total == expected


@pytest.mark.parametrize("sender, rules", [("tahoe", "rfc"), ("sack", "ns2")])
def test_lumping_keeps_every_law(sender: str, rules: str) -> None:
    explored = explore(Setting(sender=sender, rules=rules, window=3, backoff_cap=2))
    fine, coarse = (compiled(explored, lump=lump, parameters={"p": Fraction(1, 7)}) for lump in (False, True))
    assert len(coarse.instants) < len(fine.instants)
    laws = [chain.packets_per_round_trip(stationary(chain.chain(), exact=True)).values for chain in (fine, coarse)]
    assert (laws[0] == laws[1]).all()
    assert sum(laws[1]) == 1
    sums = [windowed(chain.chain().at(p=0.2), chain.delivered(), 20) for chain in (fine, coarse)]
    for name in ("mean", "variance", "nothing"):
        np.testing.assert_allclose(sums[0][name], sums[1][name], rtol=1e-11)


def test_lumping_is_the_coarsest() -> None:
    once, twice = (("p", 1),), (("p", 2),)
    laws = [{(1, 0): once, (2, 0): once}, {(3, 0): twice}, {(3, 0): twice}, {(0, 0): twice}, {(0, 1): twice}]
    assert classes([0] * 4, laws[:4]) == [0] * 4
    assert classes([0] * 5, laws)[1] == classes([0] * 5, laws)[2]
    assert classes([0, 1, 1, 0, 0], laws) == [0, 1, 1, 2, 3]


def test_a_window_of_one_by_hand() -> None:
    """Karn's rule: the back-off ends with the first new segment acknowledged, s = 1 - (1-p)^2 (`collapse`: m = 2).

    Window 1, timeouts of 2 * 2^j, j at most K: a loss leads to a wait; what is sent again then has level 1, and so on.
    """
    K = 3
    for p in (Fraction(1, 10), Fraction(3, 10)):
        q = 1 - p
        chain = sender_chain("tahoe", 1, rules="rfc", backoff_cap=K, loss=p)
        law = chain.packets_per_round_trip(stationary(chain.chain(), exact=True))
        # Rates of visits: new segment with timer level 0 (a), retransmissions r_j, new segments after them n_j.
        r = [Fraction(0)] * (K + 1)
        n = [Fraction(0)] * (K + 1)
        a = Fraction(1)
        r[1], time = p * a, a * (q * 1 + p * 2)
        for j in range(1, K + 1):
            if j == K:
                r[j] = (r[j] if j == 1 else (r[j - 1] + n[j - 1]) * p) / (1 - p - q * p)
            elif j > 1:
                r[j] = (r[j - 1] + n[j - 1]) * p
            n[j] = q * r[j]
            time += (r[j] + n[j]) * (q + p * 2 ** (j + 1))
        visits = a + sum(r) + sum(n)
        assert Fraction(str(law.sel(sent=1).item())) == visits / time


def test_silence_has_no_end_above_the_threshold_of_karns_rule() -> None:
    p_c = collapse_threshold(2)
    silent = {
        (p, cap): float(sender_chain("tahoe", 1, rules="rfc", backoff_cap=cap, timeout=2.0).at(p)[0])
        for p in (p_c - 0.1, p_c + 0.1)
        for cap in (8, 9, 14, 15)
    }
    low, high = p_c - 0.1, p_c + 0.1
    assert silent[low, 15] - silent[low, 14] < 0.2 * (silent[low, 9] - silent[low, 8])
    assert 1 - silent[high, 15] < 0.5 * (1 - silent[high, 9])


@pytest.mark.parametrize("sender, rules", [("reno", "ns2"), ("sack", "rfc")])
def test_packets_per_round_trip_are_those_of_the_simulator(sender: str, rules: str) -> None:
    chain = sender_chain(sender, 4, rules=rules)
    for loss in (0.05, 0.4):
        scenario = chain.setting.scenario(loss, duration=20_500.0, warm_up=500.0, slice=1000.0, seed=5)
        shares = replicate(scenario, seeds=20).epoch_fraction.values
        law = chain.at(loss)
        mean, error = shares.mean(0), shares.std(0, ddof=1) / math.sqrt(len(shares))
        n = len(law)
        assert (mean[n:] == 0).all()
        assert (np.abs(mean[:n] - law) < 4.5 * error[:n] + 1e-12).all()


def test_exact_and_floats_agree() -> None:
    p = 0.2
    chain = sender_chain("sack", 3, rules="rfc", backoff_cap=4)
    exact = stationary(chain.chain().at(p=Fraction(p)), exact=True).probability.values.astype(float)
    floats = stationary(chain.chain().at(p=p)).probability.values
    np.testing.assert_allclose(floats, exact, rtol=1e-12)


def test_retransmissions_that_are_never_lost() -> None:
    chain = sender_chain("reno", 3, rules="rfc", loss=0.3, retransmission_loss=[1e-9, 0.3])
    law = chain.packets_per_round_trip(stationary(chain.chain())).values
    same = sender_chain("reno", 3, rules="rfc", loss=0.3)
    other = same.packets_per_round_trip(stationary(same.chain())).values
    np.testing.assert_allclose(law[:, 1], other, rtol=1e-12)
    assert law[0, 0] < law[0, 1]


@congestion_control("sender_chain_random")
def on_ack(f: Any, now: Any, acked: Any) -> None:
    f.cwnd += np.random.random()  # noqa: NPY002


@congestion_control("sender_chain_clock")
def on_loss(f: Any, now: Any) -> None:
    f.cwnd = 2.0 if now % 3.0 < 1.0 else 3.0


@congestion_control("sender_chain_halves")
def on_loss(f: Any, now: Any) -> None:  # noqa: F811
    f.ssthresh = np.floor(max(f.flight / 2.0, 2.0))
    f.cwnd = f.ssthresh


def test_a_rule_of_ones_own() -> None:
    own = sender_chain("reno", 5, rules="rfc", control="sender_chain_halves", backoff_cap=2)
    reno = sender_chain("reno", 5, rules="rfc", backoff_cap=2)
    np.testing.assert_allclose(own.at(0.1), reno.at(0.1), rtol=1e-9)


@pytest.mark.parametrize(
    "values, words",
    [
        ({"control": "sender_chain_random"}, "sender_chain_random.*random numbers"),
        ({"control": "sender_chain_clock"}, "sender_chain_clock.*reads the clock"),
        ({"control": "cubic"}, "cubic.*reads the clock"),
        ({"window": 6, "most_states": 500}, "more than 500 states"),
        pytest.param(
            {"window": 5, "rules": "ns2", "backoff_cap": 0, "most_states": 100_000}, "give `halvings`",
            marks=pytest.mark.slow,
        ),
        ({"ack_loss": 0.1, "window": 2}, "give `tick`"),
    ],
)  # fmt: skip
def test_what_cannot_be_explored_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(SenderChainError, match=words):
        sender_chain(**{"sender": "reno", "window": 4, "rules": "rfc", "most_states": 20_000} | values)


def test_a_rule_that_does_not_stop_at_the_advertised_window_is_refused_early() -> None:
    @congestion_control("endless_window")
    def on_ack(f: Any, now: Any, acked: Any) -> None:
        f.cwnd += 0.01 if f.cwnd >= f.ssthresh else 1.0

    @congestion_control("endless_window")
    def on_loss(f: Any, now: Any) -> None:
        f.cwnd *= 0.875
        f.ssthresh = f.cwnd

    with pytest.raises(SenderChainError, match="100 values beyond the advertised one"):
        sender_chain("sack", 4, rules="rfc", control="endless_window", most_states=20_000)


def test_exploring_tells_how_far_it_is() -> None:
    heard: list[str] = []
    with hearing(heard.append):
        explore(Setting("reno", 4, rules="rfc", timeout=2.5))
    assert heard[0].startswith("exploring reno (rfc), window 4: ") and heard[-1].startswith("lumping")


@pytest.mark.parametrize(
    "values",
    [
        {"timeout": 2.3},
        {"window": 0},
        {"window": 13},
        {"halvings": 7},
        {"halvings": 1, "control": "scalable"},
        {"tick": 4.0},
        {"rules": "linux"},
        {"sender": "cbr"},
        {"backoff_cap": 40},
    ],
)
def test_bad_settings(values: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError):
        Setting(**values)


def test_a_rule_that_looks_at_the_clock_or_draws_is_refused_by_its_code() -> None:
    """Also where running each state twice, and later, shows nothing: every second round trip, once in 10,000."""

    @congestion_control("parity_of_time")
    def on_ack(f, now, acked):  # type: ignore[no-untyped-def]
        if int(now) % 2 == 0:
            f.cwnd += 1.0

    with pytest.raises(SenderChainError, match="'parity_of_time' reads the clock"):
        sender_chain("sack", 3, rules="rfc", control="parity_of_time")

    assert objection((_draws,)) == "draws random numbers" and objection((_adds,)) == ""


def _draws(f: Any, now: float, acked: int) -> None:
    f.cwnd += _helper()


def _helper() -> float:
    return 1.0 if np.random.random() < 1e-4 else 0.0  # noqa: NPY002


def _adds(f: Any, now: float, acked: int) -> None:
    f.cwnd += np.sqrt(acked)


@pytest.mark.parametrize(
    "values, words",
    [
        ({"halvings": -1}, "halvings must be"),
        ({"halvings": math.nan}, "halvings must be"),
        ({"tick": math.nan}, "tick must be"),
        ({"delayed_ack": -1.0}, "delayed_ack must be"),
        ({"most_states": -5}, "most_states must be"),
        ({"loss": 2.0}, "loss must be"),
        ({"timeout": 1024.0, "backoff_cap": 16}, "at most 1e\\+06 are followed"),
        ({"tick": 0.0, "rules": "ns2"}, "tick must be above 0"),
        ({"sender": "tahoe", "leap": True}, "Tahoe has no such sender"),
    ],
)
def test_odd_values_are_refused_in_their_own_words(values: dict[str, Any], words: str) -> None:
    chosen: dict[str, Any] = {"sender": "reno", "window": 2, "rules": "rfc"} | values
    with pytest.raises(ScenarioError, match=words):
        sender_chain(**chosen)


def test_what_is_no_chance_has_no_law() -> None:
    with pytest.raises(ScenarioError, match="p must be"):
        sender_chain("tahoe", 2, rules="rfc").at(2.0)
