"""The simulator and the chains beside Linux, by recorded runs; live ones are slow."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError, NoRecordError
from tcpdynamics.progress import listening
from tcpdynamics.validation.comparisons import BbrVsCubic, PacketsVsLinux
from tcpdynamics.validation.comparisons.bbr_cubic import published_share
from tcpdynamics.validation.comparisons.crowded_links import hangs
from tcpdynamics.validation.comparisons.engines import stored
from tcpdynamics.validation.comparisons.packets_vs_linux import (
    LINUX_SENDERS,
    PAIRS,
    QUANTITIES,
    SIMULATED,
    SWITCHES,
    table,
)
from tcpdynamics.validation.linux import OLD, TODAY, installed


@pytest.fixture(scope="module")
def crowd() -> xr.Dataset:
    return PacketsVsLinux(seeds=3, flows=(40, 100)).run()


def test_quantities_are_shares_and_the_laws_sum_to_one(crowd: xr.Dataset) -> None:
    assert list(crowd.sender.values) == [*LINUX_SENDERS, *SIMULATED]
    law = crowd["mean"].sel(
        quantity=["silent round trips", "one packet sent", "two sent", "three sent", "four or more sent"]
    )
    np.testing.assert_allclose(law.sum("quantity"), 1.0, atol=1e-8)
    shares = crowd["mean"].sel(quantity=[q for q, unit in QUANTITIES.items() if unit == "1"])
    assert (shares >= 0).all() and (shares <= 1 + 1e-9).all()
    assert (crowd.mean_low <= crowd["mean"]).all() and (crowd["mean"] <= crowd.mean_high).all()
    assert (crowd["mean"].sel(quantity="use of the link") > 0.9).all()


def test_more_flows_lose_more_and_each_chain_knows_silence(crowd: xr.Dataset) -> None:
    loss = crowd["mean"].sel(quantity="loss rate")
    assert (loss.sel(flows=100) > loss.sel(flows=40)).all()
    for name in ("printed", "compiled"):
        assert ((crowd[name] > 0) & (crowd[name] < 1)).all()
        assert (crowd[name].sel(flows=100) > crowd[name].sel(flows=40)).all()


def test_by_linux_s_rules_our_senders_do_as_linux(crowd: xr.Dataset) -> None:
    """Of a twentieth of 95 % intervals the true value is outside; by the RFCs most quantities differ."""
    differ = crowd.verdict == "differs"
    same = [name for name in PAIRS if "Linux" in name]
    assert int(differ.sel(pair=same).sum()) <= 12  # of 72; 9 or more in one of a hundred
    assert int(differ.sel(pair="simulator, RFCs").sum()) > 12  # of 24


def test_words_and_figure_come_from_the_result(crowd: xr.Dataset) -> None:
    text = PacketsVsLinux.paragraph(crowd)
    assert str(stored(PacketsVsLinux.record_name)["kernel"]) in text and "tail loss probes" in text
    assert len(PacketsVsLinux.figure(crowd).data) == 4 * (len(LINUX_SENDERS) + len(SIMULATED))
    lines = table(crowd, 100)
    assert len(lines) == 2 * (2 + len(QUANTITIES))  # an empty line and a head above each
    assert all(len(line) <= 120 for line in lines)
    assert list(crowd.switch.values) == list(SWITCHES)


def test_a_hang_is_the_longest_time_without_a_packet() -> None:
    scenario = PacketsVsLinux(flows=(3,), switches_at=3).scenario(3, {})
    run = xr.Dataset({"send_time": ("send", [1.0, 30.0, 40.0]), "send_flow": ("send", [0, 0, 1])}, {"flow": [0, 1, 2]})
    assert hangs(run, scenario).tolist() == [190.0, 180.0, 200.0]


def test_a_run_that_is_not_recorded_is_said_to_be_none() -> None:
    comparison = PacketsVsLinux(seeds=2, duration=33.0)
    with pytest.raises(NoRecordError, match=r"no record of Linux for 40 flows with seed \d+"):
        comparison.run()
    cell = comparison.cells()["Linux, switches off", 40]
    both = [dataclasses.replace(cell, switches=how) for how in (OLD, TODAY)]
    names = {name for one in both for name, _ in comparison.named_roots(one)}
    assert len(names) == 4 and {len(name) for name in names} == {16}
    with pytest.raises(NoRecordError):
        comparison.recorded(cell)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: PacketsVsLinux(seeds=1), "seeds must be at least 2"),
        (lambda: PacketsVsLinux(flows=()), "flows must list"),
        (lambda: PacketsVsLinux(switches_at=7), "switches_at must be one of"),
        (lambda: BbrVsCubic(seeds=1), "seeds must be at least 2"),
        (lambda: BbrVsCubic(buffers=(0.0,)), "buffers must be positive"),
        (lambda: BbrVsCubic(buffers=()), "buffers must list"),
    ],
)
def test_bad_settings(make: type, words: str) -> None:
    with pytest.raises(DomainError, match=words):
        make()


def test_bbr_takes_less_of_a_deeper_buffer() -> None:
    result = BbrVsCubic().run()
    assert float(result.share.sel(buffer=0.5)) > 0.6 > float(result.share.sel(buffer=20))
    assert ((result.share_low > 0) & (result.share_high < 1)).all()
    assert (result.use > 0.9).all()
    assert result.published.values == pytest.approx(
        [published_share(x, 1e7 / 12_000, 0.04) for x in result.buffer.values]
    )
    assert "0.5: " in BbrVsCubic.paragraph(result) and len(BbrVsCubic.figure(result).data) == 2


def test_the_published_share_is_where_the_window_meets_the_queue() -> None:
    """(1-p)(q + c l) = 2 (1-p) c ((p q + 4)/c + l), by substitution."""
    rate, rtt = 833.0, 0.04
    for buffer in (2.0, 7.0, 20.0):
        queue = buffer * rate * rtt
        kept = 1 - (queue / rate + rtt + 0.2) / 10
        p = 1 - published_share(buffer, rate, rtt) / kept
        assert (1 - p) * (queue + rate * rtt) == pytest.approx(2 * (1 - p) * rate * ((p * queue + 4) / rate + rtt))


@pytest.mark.slow
def test_linux_gives_what_was_recorded() -> None:
    """The same bytes, so the same numbers."""
    if not installed():
        pytest.skip("Linux as judge is not built")
    comparison = dataclasses.replace(PacketsVsLinux(), seeds=2)
    found = json.loads(json.dumps(comparison.record()))
    if found["options"] != stored(PacketsVsLinux.record_name)["options"]:
        pytest.skip("another kernel than that of the record")
    for name, values in found["runs"].items():
        assert values == pytest.approx(stored(PacketsVsLinux.record_name)["runs"][name], rel=1e-8)


def test_progress_counts_the_chains_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take longer than all that is simulated, and once came after 100 %."""
    shares: list[float] = [0.0]
    before: list[float] = []

    def slow(self: PacketsVsLinux, losses: xr.DataArray) -> dict[str, xr.DataArray]:
        before.append(shares[-1])
        return {"printed": losses, "compiled": losses}

    def nothing(self: PacketsVsLinux, *cell: object) -> list[list[float]]:
        return [[0.0] * len(QUANTITIES)] * 2

    monkeypatch.setattr(PacketsVsLinux, "_silent", slow)
    monkeypatch.setattr(PacketsVsLinux, "simulated", nothing)
    monkeypatch.setattr(PacketsVsLinux, "recorded", nothing)
    with listening(shares.append):
        PacketsVsLinux(seeds=2).run()
    assert before[0] < 0.3 and shares[-1] == 1.0
