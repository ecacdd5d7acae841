"""Models of the papers beside packets: what every such comparison is, and what each of them finds."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError, LimitError
from tcpdynamics.models import LotkaVolterraCrossDelayed, LotkaVolterraThroughput
from tcpdynamics.models.t_refwa.feedback import RttCode
from tcpdynamics.validation import comparisons
from tcpdynamics.validation.comparisons import kind_of
from tcpdynamics.validation.comparisons.comparison import grade_tolerance
from tcpdynamics.validation.comparisons.lotka_volterra_packets import BACK, GAMMA, SWINGS, network, windows
from tcpdynamics.validation.comparisons.lotka_volterra_packets import RATE as MUCH
from tcpdynamics.validation.comparisons.lotka_volterra_packets import RTT as TRIP
from tcpdynamics.validation.comparisons.models_vs_packets import ModelsVsPackets, table
from tcpdynamics.validation.comparisons.mtcp import CUMULATIVE, RENO, MtcpVsPackets
from tcpdynamics.validation.comparisons.t_refwa_networks import fig4
from tcpdynamics.validation.comparisons.t_refwa_packets import BUFFER, PARTS, RATE, RTT, with_code
from tcpdynamics.validation.packet import replicate, simulate

#: Every member, as small as its findings allow.
SMALL: dict[str, dict[str, Any]] = {
    "LeapVsPackets": {
        "loss": (0.1, 0.2), "density": (2.5, 3.5), "senders": ("reno", "sack"), "transfers": 100, "duration": 400.0,
        "replications": 3,
    },
    "MtcpVsPackets": {"replications": 12},
    "LotkaVolterraVsPackets": comparisons.LotkaVolterraVsPackets.quick,
    "TRefwaVsPackets": {"duration": 15.0, "replications": 2},
    "RetransmissionPriorityVsPackets": {"flows": (50,), "duration": 400.0, "replications": 4},
}  # fmt: skip


@cache
def result_of(name: str) -> xr.Dataset:
    result: xr.Dataset = getattr(comparisons, name)(**SMALL[name]).run()
    return result


def of(name: str, part: str, **series: str) -> xr.Dataset:
    """Cases of a part, or those of one series of it."""
    result = result_of(name)
    chosen = result.part.values == part
    for value in series.values():
        chosen &= result.series.values == value
    assert chosen.any(), (part, series)
    return result.isel(case=np.flatnonzero(chosen))


def test_all_members_are_here() -> None:
    kinds = [getattr(comparisons, name) for name in comparisons.__all__]
    assert set(SMALL) == {kind.__name__ for kind in kinds if issubclass(kind, ModelsVsPackets)}


@pytest.mark.parametrize("name", SMALL)
def test_numbers_belong_together(name: str) -> None:
    result, kind = result_of(name), getattr(comparisons, name)
    assert kind_of(result) is kind and len(set(result.case.values)) == result.sizes["case"]
    for number in ("measured", "gap"):
        low, middle, high = (result[number + end] for end in ("_low", "", "_high"))
        known = np.isfinite(middle)
        assert (low <= middle + 1e-12).where(known, True).all() and (middle <= high + 1e-12).where(known, True).all()
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = result.measured / result.predicted - 1
    expected = xr.where(result.absolute, result.measured - result.predicted, relative)
    np.testing.assert_allclose(result.gap, expected)
    assert (result.verdict == grade_tolerance(result.gap_low.values, result.gap_high.values, kind.tolerance)).all()
    assert ((result.verdict == "no answer") == result.predicted.isnull()).all()
    parts = result.part.values.tolist()
    assert sorted(parts, key=list(dict.fromkeys(parts)).index) == parts  # a part's cases stand together


@pytest.mark.parametrize("name", SMALL)
def test_figure_words_and_table(name: str) -> None:
    result, kind = result_of(name), getattr(comparisons, name)
    curves = set(zip(result.part.values, result.series.values, strict=True))
    drawn = kind.figure(result)
    assert len(drawn.data) == 2 * len(curves) and len(drawn.layout.annotations) == len(set(result.part.values))
    assert sum(bool(trace.showlegend) for trace in drawn.data) == len(set(result.series.values))
    points = [y for trace in drawn.data[1::2] for y in trace.y]
    assert sorted(points) == sorted(result.measured.values.tolist())
    text, rows = kind.paragraph(result), table(result)
    judged = result.verdict.values != "no answer"
    agree = int((result.verdict.values == "agrees").sum())
    assert text.startswith(f"Packets beside models: {agree} of {int(judged.sum())} agree")
    assert all(f"{part} " in text for part in set(result.part.values[judged]))
    assert len(rows) == result.sizes["case"] and "nan" not in text + str(rows)
    assert [row["verdict"] for row in rows] == [v if v != "no answer" else "" for v in result.verdict.values]


@pytest.mark.parametrize(
    ("name", "settings", "sentence"),
    [
        ("LeapVsPackets", {"senders": ("tahoe",)}, "senders must list some of reno, newreno, sack, got 'tahoe'"),
        ("LeapVsPackets", {"loss": (0.0,)}, r"loss must list numbers in \[0.001, 0.4\]"),
        ("LeapVsPackets", {"density": (100.0,)}, r"density must list numbers in \[0.5, 10\]"),
        ("MtcpVsPackets", {"lists": ("none",)}, "lists must list some of cumulative, replies only, got 'none'"),
        ("MtcpVsPackets", {"lists": ()}, "lists must list 1 to 10,000 values, got 0"),
        ("LotkaVolterraVsPackets", {"error": 2.0}, "error must lie in"),
        ("LotkaVolterraVsPackets", {"rates": (1e3, 1e7)}, "rates must list numbers in"),
        ("LotkaVolterraVsPackets", {"flows": (1, 2)}, "flows must list numbers in"),
        ("LotkaVolterraVsPackets", {"staleness": (9.0,)}, "staleness must lie in"),
        ("TRefwaVsPackets", {"duration": 1.0}, r"duration must lie in \[5, 100000\] s, got 1"),
        ("TRefwaVsPackets", {"replications": 1001}, r"replications must be in \[2, 1000\]"),
        ("RetransmissionPriorityVsPackets", {"flows": (1,)}, "flows must list whole numbers >= 2"),
        *((name, {"replications": 1}, "replications must be at least 2") for name in SMALL),
    ],
)
def test_bad_settings_are_refused(name: str, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DomainError, match=sentence):
        getattr(comparisons, name)(**settings)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("LeapVsPackets", {"replications": 10**9}),
        ("MtcpVsPackets", {"replications": 10**5, "lists": (CUMULATIVE,) * 100}),
        ("LotkaVolterraVsPackets", {"rates": (1e9,) * 500, "replications": 1000}),
        ("TRefwaVsPackets", {"duration": 1e5, "replications": 1000}),
        ("RetransmissionPriorityVsPackets", {"duration": 1e7, "replications": 10**5}),
    ],
)
def test_too_much_work_is_refused_before_the_first_run(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match=r"need about .*; give fewer"):
        getattr(comparisons, name)(**settings).run()


# -- LEAP ----------------------------------------------------------------------------------------------------


def test_a_window_of_one_is_as_the_closed_forms_have_it() -> None:
    """Three replications: no interval lies beyond a twentieth."""
    for part in ("duplicates of a transfer", "transmissions of a transfer"):
        for sender in ("window of one", "window of one with LEAP"):
            assert not (of("LeapVsPackets", part, series=sender).verdict == "differs").any()


@pytest.mark.parametrize("sender", ["window of one", "reno", "sack"])
def test_leap_has_fewer_duplicates_on_the_path(sender: str) -> None:
    for part in ("duplicates of a transfer", "transmissions of a transfer"):
        plain, leap = (of("LeapVsPackets", part, series=name).isel(case=-1) for name in (sender, f"{sender} with LEAP"))
        assert plain["at"] == leap["at"] == 0.2 and leap.predicted < plain.predicted
        assert leap.measured_high < plain.measured_low


def test_the_star_is_full_where_the_law_says_so() -> None:
    for sender in ("reno", "sack", "reno with LEAP", "sack with LEAP"):
        share = of("LeapVsPackets", "fraction of transfers that finish", series=sender)
        assert share["at"].values.tolist() == [2.5, 3.5] and share.predicted[0] == 1.0
        assert share.measured[0] > 0.9 > share.measured[1]


# -- M/TCP ---------------------------------------------------------------------------------------------------


def test_what_is_kept_depends_on_the_reading_of_the_lists() -> None:
    kept = {
        str(series): of("MtcpVsPackets", "throughput kept", series=series).isel(case=-1)
        for series in set(of("MtcpVsPackets", "throughput kept").series.values)
    }
    immediate, duplicated, delayed = (
        kept[f"{sender}, cumulative"] for sender in ("immediate", "duplicated", "duplicated and delayed")
    )
    assert immediate["at"] == 0.13 and immediate.measured_high < 1
    assert min(duplicated.measured_low, delayed.measured_low) > immediate.measured_high
    # Lists that heed replies only take each lost reply for a lost segment.
    replies = kept["immediate, replies only"]
    assert replies.measured_high < 0.5 < immediate.measured_low and replies.verdict == "differs"
    assert immediate.predicted == pytest.approx(0.9311, abs=5e-5) and len(kept) == 7


def test_one_way_times_are_off_by_a_constant_and_timeouts_right() -> None:
    assert abs(float(of("MtcpVsPackets", "round trip by the estimator [s]").gap.item())) < 1e-3
    assert float(of("MtcpVsPackets", "one-way times off a possible offset [ms]").measured_high.item()) < 0.1
    assert abs(float(of("MtcpVsPackets", "timeout (9) over that by true times").gap.item())) < 1e-3
    needless = of("MtcpVsPackets", "needless fast retransmits in 1000 segments").measured.values
    assert needless[0] > 1 and needless[1] == 0


@pytest.mark.slow
def test_the_delay_is_that_with_which_reno_has_the_first_entry() -> None:
    runs = replicate(MtcpVsPackets(seed=5).scenario(CUMULATIVE, RENO, 0.0), 600)
    throughputs = 8.0 * 2000 * 1000 / runs.completion_time.values[:, 0]
    error = throughputs.std(ddof=1) / np.sqrt(len(throughputs))
    assert abs(throughputs.mean() - 0.80e6) < 0.005 * 0.80e6 + 3 * error


# -- logistic control ----------------------------------------------------------------------------------------


def test_shares_and_sums_of_windows_are_the_models() -> None:
    name = "LotkaVolterraVsPackets"
    for part in ("first flow's share", "sum of windows [BDP]", "share beside UDP", "packets lost"):
        assert (of(name, part).verdict == "agrees").all(), part
    assert (of(name, "convergence [RTT]", series="trains of acks").verdict == "agrees").all()
    # One packet in a bandwidth-delay product of 250, the whole of which is counted.
    assert (abs(of(name, "sum of windows [BDP]").gap) < 0.005).all()


def test_the_formula_of_section_3_2_is_too_fast() -> None:
    """It counts w acknowledgements of the window now; those of a round trip are of the window before."""
    assert (of("LotkaVolterraVsPackets", "convergence [RTT]", series="section 3.2").gap_low > 0.2).all()
    whole = of("LotkaVolterraVsPackets", "convergence [RTT]", series="from the start").measured.values
    assert (np.diff(whole) > 1).all()  # ten times the bandwidth takes longer: the first windows are packets


def test_windows_swing_by_the_law_per_acknowledgement_and_not_by_the_map() -> None:
    part = "swing of one window"
    assert (of("LotkaVolterraVsPackets", part, series="update per acknowledgement").verdict == "agrees").all()
    by_map = of("LotkaVolterraVsPackets", part, series="map per round trip")
    assert by_map.verdict.values.tolist() == ["agrees", "agrees", "differs", "differs"]


def test_the_largest_gain_is_near_the_models() -> None:
    # A limit of small disturbances; flows start with a large one, and bisection ends with steps of 3 %.
    assert (abs(of("LotkaVolterraVsPackets", "largest gain").gap) < 0.1).all()
    swing = of("LotkaVolterraVsPackets", "swing of the sum")
    calm = np.char.startswith(swing.series.values.astype(str), "throughput")
    assert (swing.measured.values[calm] < 0.01).all() and (swing.measured.values[~calm] > 0.1).all()


def test_who_joins_last_takes_the_queue_for_its_base_round_trip_time() -> None:
    first, by_windows = of("LotkaVolterraVsPackets", "last over first window").measured.values
    assert first > 2.5 and abs(by_windows - 1) < 0.05


def test_a_buffer_bears_as_many_flows_as_the_model_says() -> None:
    """Twice the bandwidth-delay product: 21 flows, and not one more."""
    most = int(float(LotkaVolterraThroughput(gamma=GAMMA).lossless_flows(200.0)) + 1e-9)
    for n, loses in ((most, False), (most + 1, True)):
        run = simulate(network(MUCH, (MUCH,) * n, 60.0, 1, [{"epsilon": 0.5}] * n, warm_up=20.0))
        assert bool(run.dropped.sum() > 0) == loses, n


@pytest.mark.slow
def test_all_of_it_at_full_length() -> None:
    """Eight replications: 20 flows of which each measures windows rest at 2 BDP, too."""
    result = comparisons.LotkaVolterraVsPackets().run()
    assert abs(float(result.measured.sel(case="sum of windows [BDP], 20 flows, windows")) - 2.0) < 0.01
    joins = result.gap.sel(case="last over first window, five joins, throughput, base RTT as met")
    assert abs(float(joins)) < 0.05


@pytest.mark.parametrize("seed", [1, 2])
def test_the_largest_gain_is_lower_where_packets_go_in_trains(seed: int) -> None:
    """At 0.98 of the model's gain: access links as fast as the link leave each flow silent for half a round trip.

    Others then find windows that are older than the model says. Slower access links spread the packets over the round
    trip, and the sum of windows stands still.
    """
    n, late, interval = 5, 1.0, 0.25
    age = (BACK + late) * (1 + (n - 1) * GAMMA) / n + interval / 2
    gain = float(LotkaVolterraCrossDelayed(flows=n, epsilon=1.0, gamma=GAMMA).critical_delay()) / age
    law = {"epsilon": 0.98 * gain, "staleness": late, "interval": interval, "offered": 1.0, "K": MUCH}
    swings = []
    for access in (MUCH, 0.3 * MUCH):
        run = simulate(network(MUCH, (access,) * n, 180.0, seed, [law] * n, sampled=TRIP / 4))
        total = np.sum([windows(run, i)[1] for i in range(n)], axis=0)[-2400:]  # the last 60 s
        swings.append(total.std() / total.mean())
    assert swings[0] > 5 * SWINGS and swings[1] < SWINGS / 10


# -- T-REFWA -------------------------------------------------------------------------------------------------


def test_an_alternation_stays_where_the_window_map_says_so() -> None:
    left = of("TRefwaVsPackets", "alternation that is left").measured.values
    assert 0.9 < left[0] < 1.1 and (left[1:] < 0.01).all()


def test_queues_rest_at_their_models_but_for_codes_of_smoothed_times() -> None:
    queues = of("TRefwaVsPackets", "mean queue [B]")
    assert dict(zip(PARTS["mean queue [B]"], (np.abs(queues.gap.values) < 0.06).tolist(), strict=True)) == {
        "window": True, "delayed": True, "measured": True, "measured-rtt": False, "measured-rtt, with the code": True,
    }  # fmt: skip
    assert queues.measured[3] < 0.85 < queues.predicted[3]


def test_rests_with_codes_solve_the_recursion() -> None:
    """psi (B - Q) + phi (Bw RTT_c - BDP - Q) = 0 with the code of that queue's round-trip time."""
    code = RttCode()
    for queue in with_code() * BUFFER:
        coded = code.decode(code.encode(RTT + queue * 8000 / RATE)) * RATE / 8000
        assert abs(0.5 * (BUFFER - queue) + 1.5 * (coded - RATE / 8000 * RTT - queue)) < 1e-6
    assert len(with_code()) > 1


def test_the_network_of_two_bottlenecks_is_the_papers() -> None:
    result = simulate(dataclasses.replace(fig4({}, duration=4.0, buffer=50), warm_up=1.0))
    assert result.group.values.tolist() == [0] * 5 + [1] * 4 + [2] * 6
    np.testing.assert_allclose(result.base_rtt, 0.04, atol=2e-3)


# -- priority of retransmissions -----------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["drop-tail", "SFQ"])
def test_priority_improves_both_queues(queue: str) -> None:
    result = result_of("RetransmissionPriorityVsPackets")

    def at(part: str, priority: str, series: str = "") -> xr.Dataset:
        return result.sel(case=", ".join(filter(None, (part, queue, "50 flows", priority, series))))

    alone, measured = "chain alone", "chain, measured losses"
    for priority in ("split", "shared"):
        before, after = (at("Jain's index", p, alone) for p in ("none", priority))
        assert after.measured_low > before.measured_high and after.predicted > before.predicted
        assert at("Jain's index", priority, measured).measured == pytest.approx(float(after.measured), abs=1e-12)
        assert at("loss of retransmissions", priority).measured < 0.01
        assert at("loss of new packets", priority).measured > at("loss of new packets", "none").measured
        assert at("flows that get nothing", priority, measured).measured < 0.15
