"""Our senders beside Linux's, send by send: by recorded runs; live ones are slow."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError, NoRecordError
from tcpdynamics.validation.comparisons import LinuxSends
from tcpdynamics.validation.comparisons.engines import stored
from tcpdynamics.validation.comparisons.linux_sends import OURS, SENDERS, SWITCHED, SWITCHES, drawn
from tcpdynamics.validation.comparisons.send_difference import Kind, Losses, Sends, difference
from tcpdynamics.validation.linux import installed

#: Lists that agree, of each of ours and each sender; what decides the first difference.
AGREE = [0, 0, 0, 0, 4, 5, 4, 5, 32, 32, 32, 32]
KINDS = {
    Kind.NONE: 18,
    Kind.TIMEOUT: 18,
    Kind.RESTART: 16,
    Kind.BY_TIME: 16,
    Kind.LOST_AGAIN: 0,
    Kind.REDUCTION: 36,
    Kind.THRESHOLD: 16,
    Kind.GROWTH: 2,
    Kind.AFTER_TIMEOUT: 6,
    Kind.OTHER: 0,
}


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return LinuxSends().run()


def sends(*rows: tuple[float, int]) -> Sends:
    return Sends(np.array([t for t, _ in rows]), np.array([s for _, s in rows]))


@pytest.mark.slow
def test_the_docs_repeat_what_the_comparison_finds(result: xr.Dataset) -> None:
    found = {
        (ours, sender): int((result.kind.sel(ours=ours, sender=sender) == Kind.NONE.value).sum())
        for ours in OURS
        for sender in SENDERS
    }
    assert list(found.values()) == AGREE
    kinds = result.kind.isel(ours=1)
    assert {kind: int((kinds == kind.value).sum()) for kind in Kind} == KINDS


def test_nothing_differs_before_the_first_loss(result: xr.Dataset) -> None:
    first = [min(one.packets) for one in drawn(LinuxSends().lists, 1)]
    assert (result.prefix >= xr.DataArray(first, dims="list")).all()
    assert not (result.kind == Kind.OTHER.value).any()
    assert float((result.offset - result.ticks).max()) < 4e-4


def test_by_linux_s_rules_all_sends_are_linux_s(result: xr.Dataset) -> None:
    """Also when timers fire, to what a handshake's acknowledgement takes on the link."""
    ours = result.sel(ours="Linux's rules")
    assert (ours.verdict == "agrees").all() and ours.same_segments.all()
    assert float(ours.ticks.max()) < 1e-9 and float(ours.offset.max()) < 1.1e-4
    theirs = result.followed.sel(switch=list(SWITCHED))
    assert (theirs == 1).all()
    assert result.followed.drop_sel(switch=list(SWITCHED)).isnull().all()


def test_without_sack_linux_finds_no_loss_by_time(result: xr.Dataset) -> None:
    kinds = result.kind.sel(sender=["reno, newreno", "cubic, newreno"])
    assert not kinds.isin([Kind.BY_TIME.value, Kind.LOST_AGAIN.value]).any()


def test_switches_that_these_lists_cannot_show(result: xr.Dataset) -> None:
    """HyStart is CUBIC's; first windows and delayed acknowledgements change every list."""
    changed = result.changed
    assert (changed.sel(switch="HyStart", sender=["reno, sack", "reno, newreno"]) == 0).all()
    for name in ("first window of 10", "delayed acknowledgements", "as it comes"):
        assert (changed.sel(switch=name) == 1).all()
    assert list(changed.switch.values) == list(SWITCHES)


def test_words_and_figure_come_from_the_result(result: xr.Dataset) -> None:
    text = LinuxSends.paragraph(result)
    assert str(stored(LinuxSends.record_name)["kernel"]) in text
    assert all(name in text for name in (*SENDERS, *SWITCHES))
    assert len(LinuxSends.figure(result).data) == len(OURS) * len(Kind)
    assert set(result.verdict.sel(ours="RFCs").values.ravel()) == {"differs"}
    assert (result.low <= result.differing).all() and (result.differing <= result.high).all()


def test_each_kind_of_difference_is_told_from_the_others() -> None:
    """Ten segments, the second lost: by what Linux does then."""
    begin = [(0.0, 0), *((0.1, s) for s in range(1, 6)), *((0.2, s) for s in range(6, 11))]
    losses = Losses("scattered", 20, (6,))
    ours = sends(*begin, (0.31, 6), (0.41, 11))
    same = sends(*begin, (0.31, 6), (0.41, 11))
    assert difference(ours, same, losses).kind is Kind.NONE
    assert difference(ours, sends(*begin, (0.305, 6), (0.41, 11)), losses).kind is Kind.BY_TIME
    assert difference(ours, sends(*begin, (0.31, 6), (0.32, 11)), losses).kind is Kind.REDUCTION
    assert difference(ours, sends(*begin, (0.31, 6), (0.41, 11), (0.411, 12)), losses).kind is Kind.GROWTH
    full = Losses("scattered", 5, (6,))
    assert difference(ours, sends(*begin, (0.31, 6), (0.41, 11), (0.411, 12)), full).kind is Kind.THRESHOLD
    again = Losses("retransmission", 20, (6, 11))
    ours = sends(*begin, (0.31, 6), (0.61, 6))
    assert difference(ours, sends(*begin, (0.31, 6), (0.42, 6)), again).kind is Kind.LOST_AGAIN
    assert difference(ours, sends(*begin, (0.31, 6), (0.622, 6)), again).kind is Kind.TIMEOUT
    assert difference(ours, sends(*begin, (0.31, 6), (0.7, 6)), again).kind is Kind.RESTART
    assert difference(ours, sends(*begin, (0.31, 6)), again).kind is Kind.RESTART
    late = difference(ours, sends(*begin, (0.31, 6), (0.616, 6)), again)
    assert late.kind is Kind.NONE and late.ticks == pytest.approx(0.006)


def test_sends_are_stored_to_the_microsecond() -> None:
    one = sends((0.0, 0), (0.1000304, 1), (0.1000304, 2), (1.25, 1))
    back = Sends.unpacked(one.packed())
    np.testing.assert_allclose(back.time, one.time, rtol=0, atol=5.01e-7)
    assert back.segment.tolist() == [0, 1, 2, 1]


def test_a_run_that_is_not_recorded_is_said_to_be_none() -> None:
    with pytest.raises(NoRecordError, match="no record of Linux for chosen losses with seed 5"):
        LinuxSends(seed=5).run()
    with pytest.raises(DomainError, match="switched and lists"):
        LinuxSends(lists=3)


@pytest.mark.slow
def test_linux_sends_what_was_recorded() -> None:
    """The same bytes, so the same sends."""
    if not installed():
        pytest.skip("Linux as judge is not built")
    found = json.loads(json.dumps(LinuxSends(lists=2, switched=1).record()))
    if found["options"] != stored(LinuxSends.record_name)["options"]:
        pytest.skip("another kernel than that of the record")
    assert all(stored(LinuxSends.record_name)["runs"][name] == text for name, text in found["runs"].items())
