"""LEAP's paper: points build, readings differ, Fig. 5 is simulated, Table 1 is inverted, packets are classified."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.models import OverloadedStar
from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.experiments import Experiment, run
from tcpdynamics.paper_figures.leap import findings, measures, values
from tcpdynamics.paper_figures.leap.experiments import EXPERIMENTS, PLAIN, SHARED, TRACED
from tcpdynamics.validation.packet import simulate
from tcpdynamics.validation.packet.result import what_you_ran

EVERY = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)


@EVERY
def test_all_points_build(experiment: Experiment) -> None:
    cases, readings = experiment.case_labels(), experiment.reading_labels()
    for case, reading in {*itertools.product(cases, readings[:1]), *itertools.product(cases[:1], readings)}:
        assert experiment.build(case, reading, "tiny").flows


@EVERY
def test_readings_differ(experiment: Experiment) -> None:
    """A reading that only names a default changes nothing, and would be counted twice."""
    case = experiment.case_labels()[-1]
    built = [what_you_ran(experiment.build(case, reading), 1) for reading in experiment.reading_labels()]
    for one, other in itertools.combinations(built, 2):
        assert one != other


@EVERY
def test_the_full_setting_is_as_long_as_the_papers_and_has_all_readings(experiment: Experiment) -> None:
    scenario = experiment.build(experiment.case_labels()[0], experiment.reading_labels()[0], "full")
    assert (scenario.duration, scenario.warm_up, experiment.full.readings) == (3000.0, 0.0, 0)


def test_leap_is_on_reno_beside_reno() -> None:
    for share, sender in itertools.product(SHARED.cases["leaping"], PLAIN):
        assert SHARED.touches("LEAP on", {"sender": sender, "leaping": share}) == (sender != "Reno" and share != "0")


def test_a_leap_after_a_window() -> None:
    leap, reno = (findings._window(findings.ACKS_LOST, leap=leap) for leap in (True, False))
    assert (findings._after_timeout(leap), int(leap.duplicates.sum())) == ([5, 4, 6], 0)
    assert leap.send_time.values[6] == leap.send_time.values[5]
    assert (findings._after_timeout(reno)[0], int(reno.duplicates.sum())) == (1, 1)


def test_a_wrong_suspicion_costs_a_round_trip() -> None:
    run = findings._window(findings.DATA_LOST, leap=True)
    assert findings._after_timeout(run) == [5, 1, 2] and int(run.timeouts.sum()) == 1
    assert (int(run.leaps.sum()), int(run.leaps_right.sum())) == (1, 0)


@pytest.mark.parametrize("duplicates", [0.0, 0.1, 0.33])
def test_shares_are_inverted(duplicates: float) -> None:
    share = float(OverloadedStar(density=3.5, duplicates=duplicates).finished())
    assert findings._needed(share, 3.5) == pytest.approx(duplicates, abs=1e-9)


def test_a_cell_at_tiny() -> None:
    claim = ledger.get_claim("leap.table1.reno.2_50")
    result = run(claim.experiment, "tiny", cases=lambda case: case == claim.case)
    share = result.finished.sel(dict(claim.case)).values
    assert ((share > 0.5) & (share <= 1)).all()


@pytest.fixture(scope="module")
def packets() -> dict[str, xr.Dataset]:
    """A short run of each case."""
    first = TRACED.reading_labels()[0]
    return {case[0]: simulate(TRACED.build(case, first, "tiny")) for case in TRACED.case_labels()}


def test_no_acknowledgement_is_lost_where_they_are_kept(packets: dict[str, xr.Dataset]) -> None:
    for name, result in packets.items():
        kept = name.endswith("ACKs kept")
        assert (int(result.acks_dropped.sum()) == 0) == kept and int(result.dropped.sum()) > 0
        assert (measures.ack_caused(result) == 0) == kept


def test_repeats_are_those_that_were_counted(packets: dict[str, xr.Dataset]) -> None:
    for result in packets.values():
        flow, segment, at = measures._repeated(result)
        np.testing.assert_array_equal(np.bincount(flow, minlength=result.sizes["flow"]), result.duplicates.values)
        sent = measures._last_send(result, flow, segment, at)
        assert (at - sent >= measures.LEAST_WAY - 1e-5).all() and (at - sent < 10).all()


def test_leap_segments_are_found_among_the_sends(packets: dict[str, xr.Dataset]) -> None:
    """Most of those that were counted and not right; hardly any more, and none of the others' that matter."""
    result = packets["LEAP"]
    found = np.bincount(measures._leap_segments(result) // 128, minlength=result.sizes["flow"])
    leaps, wrong = result.leaps.values, (result.leaps - result.leaps_right).values
    assert np.minimum(found, leaps).sum() > 0.8 * wrong.sum()
    assert np.maximum(found - leaps, 0).sum() < 0.05 * leaps.sum()
    assert measures._leap_segments(packets["Reno"]).size < 0.05 * leaps.sum()


def test_windows_are_those_of_transfers_in_progress(packets: dict[str, xr.Dataset]) -> None:
    result = packets["Reno"]
    most = np.isfinite(result.start.values).sum() * np.unique(result.window_time.values).size
    assert 0 < measures._windows(result).size < most and (measures._windows(result) >= 1).all()


def _made(acks_lost: list[float], holes: bool = False) -> xr.Dataset:
    """Segments 0 and 1 of one flow, of which 1 arrives twice; 0 arrives late where there are `holes`."""
    late = 5.0 if holes else 1.1
    rows = sorted([(late, 0), (1.2, 1), (4.2, 1)])
    sends = [(1.0, 0, 0), (1.0, 1, 0), (4.0, 1, 2)]
    return xr.Dataset({
        "goodput": ("flow", [2]), "start": ("flow", [0.0]), "finish": ("flow", [6.0]),
        "receive_time": ("receive", [t for t, _ in rows]), "receive_segment": ("receive", [s for _, s in rows]),
        "receive_flow": ("receive", [0] * 3), "send_flow": ("send", [0] * 3),
        "send_time": ("send", [t for t, _, _ in sends]), "send_segment": ("send", [s for _, s, _ in sends]),
        "send_kind": ("send", [k for _, _, k in sends]),
        "drop_time": ("drop", acks_lost), "drop_flow": ("drop", [0] * len(acks_lost)),
        "drop_kind": ("drop", [measures.ACK] * len(acks_lost)),
    })  # fmt: skip


def test_a_duplicate_has_a_lost_acknowledgement_as_its_cause_or_not() -> None:
    assert measures.ack_caused(_made([1.5])) == 1
    assert measures.ack_caused(_made([0.5])) == 0  # lost before the segment came
    assert measures.ack_caused(_made([4.1])) == 0  # lost after it had been sent again
    assert measures.ack_caused(_made([1.5], holes=True)) == 0  # no acknowledgement could be of it


def test_a_segment_that_is_sent_again_twelve_times_would_abort() -> None:
    result = _made([])
    again = xr.concat([result[["send_flow", "send_segment"]].isel(send=[2])] * 12, "send")
    for count, aborted in ((11, 0.0), (12, 1.0)):
        sends = xr.concat([result[["send_flow", "send_segment"]].isel(send=[1]), again.isel(send=slice(count))], "send")
        several = result.drop_dims("send").merge(sends)
        assert measures.left_by_aborts(several) == 1 - aborted


def _densities(numbers: list[float]) -> xr.DataArray:
    labels = [f"{1 + i / 4:.2f}" for i in range(len(numbers))]
    shape = np.array(numbers, float)[None, :, None, None]
    axes = {"sender": ["Reno"], "density": labels, "reading": ["first"]}
    return xr.DataArray(shape, axes, ("sender", "density", "reading", "replication"))


def test_transitions_of_the_printed_table() -> None:
    """Table 1 with all transfers finished below: greatest number at 2.75 and 3.25, all finish up to 2.50."""
    printed = {"Reno": [0.993, 0.961, 0.745, 0.624, 0.429], "LEAP": [0.985, 0.978, 0.927, 0.858, 0.74]}
    for shares, most, leaves in zip(printed.values(), (2.75, 3.25), (2.5, 2.75), strict=True):
        data = xr.Dataset({"finished": _densities([1.0] * 6 + shares)})
        assert (values.peak(data, "Reno").item(), values.separates(data, "Reno").item()) == (most, leaves)
        assert values.least_finished(data, "Reno").item() == 1


def test_onset_and_growth() -> None:
    data = xr.Dataset({"duplicates": _densities([0, 0, 0.1, 0.2, 0.3, 0.4, 0.9, 1.0, 5, 9, 20])})
    assert values.onset(data, "Reno").item() == 2.75
    assert values.rises(data, "Reno", "duplicates", "density").item() == pytest.approx(1.0, abs=0.01)
    assert values.rises(data, "Reno", "duplicates", "density", "2.25").item() == pytest.approx(1.0, abs=0.01)
    none = xr.Dataset({"duplicates": _densities([0.0] * 11)})
    assert values.onset(none, "Reno").item() == 3.75
    assert values.rises(none, "Reno", "duplicates", "density").item() == 0
    part = data.where(data.density != "3.00")
    for one in (values.onset(part, "Reno"), values.rises(part, "Reno", "duplicates", "density")):
        assert np.isnan(one.item())
