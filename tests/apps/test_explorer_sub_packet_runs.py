"""Packets at a point of the sub-packet page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from explorer_tabs import move, numbers, opened
from playwright.sync_api import Page

from tcpdynamics.apps.explorer.pages.p1_sub_packet import LINK, PAGE
from tcpdynamics.apps.explorer.sub_packet_runs import REPLICATIONS, measured, read, scenario
from tcpdynamics.errors import InputError
from tcpdynamics.models import SubPacketExact, SubPacketFull
from tcpdynamics.solvers import stationary
from tcpdynamics.validation.packet import replicate

#: The simulator may have to be compiled first [ms].
COMPILED = 400_000


def test_the_scenario_is_what_the_chains_assume() -> None:
    values = PAGE.start() | {"loss": 0.2, "base_timeout": 3.0, "w_max": 8.0, "backoff_cap": 4.0}
    one = scenario(values)
    (flows,) = one.flows
    assert one.bottleneck.loss == 0.2 and one.bottleneck.buffer is None
    assert (flows.window_limit, flows.max_backoff, flows.limited_transmit) == (8, 16, False)
    assert flows.min_rto == pytest.approx(3 * flows.rtts()[0])


def test_users_share_the_link_of_the_page() -> None:
    values = PAGE.start() | {"source": LINK, "users": 30.0, "rate": 2.0, "buffer": 20.0, "base_rtt": 0.1}
    one = scenario(values)
    assert one.bottleneck.rate == 2e6 and one.bottleneck.buffer == 20
    assert one.count == 30 and (min(one.flows[0].rtts()), max(one.flows[0].rtts())) == pytest.approx((0.095, 0.105))


@pytest.mark.parametrize("users", [1.0, 1000.0])
@pytest.mark.parametrize("rate", [0.1, 100.0])
def test_no_point_asks_for_unbounded_work(users: float, rate: float) -> None:
    for size in (40.0, 1500.0):
        values = PAGE.start() | {"source": LINK, "users": users, "rate": rate, "packet_size": size}
        assert REPLICATIONS * scenario(values).work < 1e11


def test_measured_distances_are_from_the_chains_at_the_measured_loss() -> None:
    values = PAGE.start() | {"loss": 0.2}
    runs = replicate(replace(scenario(values), duration=120.0, warm_up=20.0), 3)
    answer = json.loads(json.dumps(measured(values, runs), allow_nan=False))
    share = runs.epoch_fraction.values
    share = np.concatenate([share[:, :6], share[:, 6:].sum(axis=1, keepdims=True)], axis=1)
    np.testing.assert_allclose([one["mean"] for one in answer["sent"]], share.mean(axis=0), rtol=1e-12)
    assert sum(one["mean"] for one in answer["sent"]) == pytest.approx(1.0)
    for kind, cls in (("full", SubPacketFull), ("exact", SubPacketExact)):
        model = cls(loss=runs.loss_rate.values)
        law = model.observe(stationary(model.chain())).sent.values
        expected = 0.5 * np.abs((share - law).mean(axis=0)).sum()
        assert answer["distances"][kind]["mean"] == pytest.approx(expected, rel=1e-9)
        assert answer["distances"][kind]["verdict"] in ("agrees", "close", "differs", "undecided")


def test_a_loss_beyond_the_chains_has_no_distance_from_them() -> None:
    values = PAGE.start() | {"loss": 0.45}
    runs = replicate(replace(scenario(values), duration=200.0, warm_up=20.0), 2)
    beyond = measured(values, runs.assign(loss_rate=runs.loss_rate * 0 + 0.6))
    assert beyond["distances"]["full"] | {"verdict": ""} == {"mean": None, "low": None, "high": None, "verdict": ""}
    assert beyond["distances"]["full"]["verdict"] == "no answer"
    assert beyond["distances"]["exact"]["mean"] > 0


def test_words_are_checked_like_an_address() -> None:
    assert read({k: v for k, v in PAGE.start().items()}) == PAGE.start()
    for words in ({"loss": "nan"}, {"users": 10**9}, {"nothing": 1}, {"source": ["a"] * 1000}):
        with pytest.raises(InputError):
            read(words)


def test_packets_are_laid_over_the_curves(tab: Page, server: str) -> None:
    opened(tab, f"{server}/sub-packet?loss=0.2")
    tab.get_by_role("button", name="Run the packet simulator here").click()
    tab.wait_for_selector("#panel-packets td", timeout=COMPILED)
    rows: dict[str, Any] = dict(
        tab.locator("#panel-packets tbody tr").evaluate_all(
            "(rows) => rows.map((r) => [...r.cells].map((c) => c.textContent))"
        )
    )
    loss = float(rows["loss rate"].split()[0]) / 100  # shown in per cent
    assert loss == pytest.approx(0.2, abs=0.01)
    head, *bars = numbers(tab)
    assert head[-3:] == ["packets", "packets, low", "packets, high"]
    assert sum(float(row[-3]) for row in bars) == pytest.approx(1.0, abs=1e-3)
    head, *curve = numbers(tab, 1)
    points = [(float(row[0]), *map(float, row[-3:])) for row in curve if row[-3] not in ("null", "NaN", "")]
    assert len(points) == 1 and points[0][0] == pytest.approx(loss, rel=0.01)
    assert points[0][1] == pytest.approx(float(rows["goodput [packet per RTT]"].split()[0]), rel=0.01)
    assert points[0][2] < points[0][1] < points[0][3]
    move(tab, "loss", 0.3)  # the point stays, the bars go with their own loss
    ends = "(i) => document.querySelectorAll('.figure > details.table')[i].querySelector('tr').lastChild.textContent"
    tab.wait_for_function(f"{ends} === 'exact'", arg=0)
    assert numbers(tab, 1)[0][-1] == "packets, high"
    move(tab, "w_max", 8)
    tab.wait_for_function(f"{ends} === 'exact'", arg=1)


def test_a_run_is_cancelled(tab: Page, server: str) -> None:
    opened(tab, f"{server}/sub-packet?source={LINK}&rate=100&users=1000")
    tab.get_by_role("button", name="Run the packet simulator here").click()
    tab.get_by_role("button", name="Cancel").click()
    tab.get_by_text("cancelled").wait_for()
    assert tab.locator("#panel-packets td").count() == 0
