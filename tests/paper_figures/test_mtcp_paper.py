"""M/TCP's paper: values of claims, experiments, findings and figures."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.deciding import decide
from tcpdynamics.paper_figures.experiments import run
from tcpdynamics.paper_figures.mtcp import measures
from tcpdynamics.paper_figures.mtcp.courses import step_values
from tcpdynamics.paper_figures.mtcp.experiments import ACK_LOSS, ESTIMATOR, EXPERIMENTS, RENO, SENDERS, TABLE4
from tcpdynamics.paper_figures.mtcp.findings import FINDINGS, ROUTES, quotients
from tcpdynamics.paper_figures.mtcp.measures import beside_silence, silences, silences_beside
from tcpdynamics.paper_figures.mtcp.values import improvement, keeps_more, least_gain, slower_with

CLAIMS = ledger.claims("mtcp")


def table(throughput: np.ndarray) -> xr.Dataset:
    """A result of `mtcp.table4`: senders and losses, one reading, two replications that are alike."""
    values = np.repeat(throughput[:, :, None, None], 2, axis=3)
    dims = ("sender", "ack_loss", "reading", "replication")
    return xr.Dataset({"throughput": (dims, values)}, {"sender": list(SENDERS), "ack_loss": list(ACK_LOSS)})


PRINTED = table(
    np.array(
        [
            [CLAIMS[f"mtcp.table4.{s}.{q}"].published for q in ACK_LOSS]
            for s in ("reno", "immediate", "duplicated", "duplicated_delayed")
        ]
    )
)


def test_the_least_gain_of_the_printed_table_is_that_of_immediate_acknowledgements_at_10_per_cent():
    assert least_gain(PRINTED).values == pytest.approx(1.23 / 0.76 - 1)
    assert improvement(PRINTED, "immediate", "10").equals(least_gain(PRINTED).reset_coords(drop=True))


def test_the_share_kept_is_compared_where_its_mean_is_least():
    assert keeps_more(PRINTED, "immediate").values == pytest.approx(1.39 / 1.40 - 1.29 / 1.35)
    assert keeps_more(PRINTED, "Reno").values == pytest.approx(1.39 / 1.40 - 0.78 / 0.80)


def test_the_printed_table_meets_the_bound_on_duplicated_acknowledgements():
    for claim in CLAIMS.values():
        if claim.id.startswith("mtcp.section5.much_higher."):
            one, other = (PRINTED.throughput.sel(case) for case in (claim.case, claim.compared_with))
            assert claim.range.holds(float((one / other).mean()))


def test_slower_with_is_a_correlation():
    first, second = np.random.default_rng(2).normal(size=(2, 200))
    dims = ("sender", "reading", "replication")
    rows = {"throughput": first - second, "timeouts": first}
    data = xr.Dataset({name: (dims, row[None, None]) for name, row in rows.items()}, {"sender": ["Reno"]})
    expected = -np.corrcoef(first - second, first)[0, 1]
    assert float(slower_with(data, "Reno", "timeouts").mean()) == pytest.approx(expected)


def test_every_experiment_builds_in_all_cases_and_readings():
    for experiment in EXPERIMENTS:
        cases, readings = experiment.case_labels(), experiment.reading_labels()
        for case, reading in [(c, readings[0]) for c in cases] + [(cases[-1], r) for r in readings]:
            experiment.build(case, reading, "tiny")


def test_readings_of_mtcp_leave_reno_as_it_is():
    links, lists, floor = first = TABLE4.reading_labels()[0]
    for other in ((links, "replies only", floor), (links, lists, "none")):
        assert TABLE4.build((RENO, "5"), other) == TABLE4.build((RENO, "5"), first)
        assert TABLE4.build(("immediate", "5"), other) != TABLE4.build(("immediate", "5"), first)


def test_reno_has_one_way_only_and_loses_acknowledgements_on_its_way_back():
    scenario = TABLE4.build((RENO, "13"), TABLE4.reading_labels()[0])
    assert [(link.source, link.target, link.loss) for link in scenario.links if link.loss] == [
        ("a1", "a2", 0.02), ("a2", "a1", 0.13), ("b1", "b2", 0.02), ("b2", "b1", 0.13),
    ]  # fmt: skip
    assert sum(link.source == "s" for link in scenario.links) == 1


def test_waits_are_counted_once_and_for_the_route_that_was_silent_first():
    first = np.array([0.0, 0.1, 0.9, 1.0])  # silent from 0.1 to 0.9
    second = np.array([0.0, 0.15, 0.2, 0.85, 0.95])  # goes on at first, then waits for the other
    result = xr.Dataset(
        {"queue_time": ("sample", np.concatenate([first, second])), "queue_link": ("sample", [0] * 4 + [1] * 5)},
        {"link": ["a1->a2", "b1->b2"]},
    )
    assert silences(result) == [3]
    assert beside_silence(result) == 3.0
    assert silences_beside(result) == 1.0
    quiet = result.isel(sample=[0, 1, 4, 5])
    assert np.isnan(beside_silence(quiet))
    assert np.isnan(silences_beside(quiet))


def course(sends: list[tuple[float, int, int, int]], drops: list[tuple[float, int]]) -> xr.Dataset:
    """Sends as (time, segment, kind, route), drops of data as (time, segment)."""
    time, segment, kind, route = (np.array(row) for row in zip(*sends, strict=True))
    dropped = np.array(drops, float).reshape(-1, 2)
    return xr.Dataset(
        {
            "send_time": ("send", time), "send_segment": ("send", segment), "send_kind": ("send", kind),
            "queue_link": ("queue_sample", route),
            "drop_time": ("drop", dropped[:, 0]), "drop_segment": ("drop", dropped[:, 1].astype(int)),
            "drop_kind": ("drop", np.zeros(len(dropped), int)),
        },
        {"link": ["s->a1", "s->b1"]},
    )  # fmt: skip


def test_a_missing_segment_arrives_by_the_first_retransmission_if_one_copy_does():
    fast = measures.FAST
    both = [(0.0, 7, 0, 0), (1.0, 7, fast, 0), (1.0, 7, fast, 1)]
    assert measures.first_repeat(course(both, [(0.1, 7), (1.1, 7)])) == 1.0
    assert measures.both_paths(course(both, [(0.1, 7)])) == 1.0
    again = [*both, (2.0, 7, 2, 0)]
    assert measures.first_repeat(course(again, [(0.1, 7), (1.1, 7), (1.1, 7)])) == 0.0
    assert np.isnan(measures.first_repeat(course(both, [])))  # a needless one counts for nothing


def test_a_repeat_is_needless_if_an_earlier_copy_was_not_dropped():
    sends = [(0.0, 0, 0, 0), (0.0, 1, 0, 1), (1.0, 0, 2, 0), (2.0, 0, 2, 1)]
    assert measures.needless_repeats(course(sends, [(0.1, 0)])) == 500.0  # the second repeat, of two segments
    assert measures.needless_repeats(course(sends, [(0.1, 0), (1.1, 0)])) == 0.0


def test_repeats_after_a_timeout_go_elsewhere_or_not():
    sends = [(0.0, 0, 0, 0), (1.0, 0, 2, 1), (2.0, 0, 2, 1), (2.5, 1, 0, 0), (3.0, 1, measures.FAST, 1)]
    assert measures.repeats_elsewhere(course(sends, [])) == 0.5


def test_a_lost_acknowledgement_is_covered_if_nothing_of_it_is_sent_again():
    arrivals = np.array([1.0, 1.1, 1.2])
    result = xr.Dataset(
        {
            "receive_time": ("receive", arrivals), "receive_segment": ("receive", [0, 1, 2]),
            "send_time": ("send", [0.0, 0.1, 0.2, 5.0]), "send_segment": ("send", [0, 1, 2, 2]),
            "drop_time": ("drop", [1.00101, 1.20101]), "drop_kind": ("drop", [measures.ACK] * 2),
        }
    )  # fmt: skip
    assert measures.covered_acks(result) == 0.5


def test_after_a_failure_arrivals_and_goodput_are_counted():
    result = xr.Dataset(
        {
            "receive_time": ("receive", [1.0, 3.5, 4.0, 6.0]), "receive_segment": ("receive", [0, 1, 1, 2]),
            "finish": ("flow", [7.0]), "base_rtt": ("flow", [0.1]),
        },
        attrs={"scenario": '{"duration": 1000, "flows": [{"packet_size": 1000, "min_rto": 0.5}]}'},
    )  # fmt: skip
    assert measures.completes(result) == 1.0
    assert measures.after_failure(result) == pytest.approx(8e-3 * 2 / 4.0)
    assert measures.completes(result.assign(finish=("flow", [np.nan]))) == 0.0


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda f: f.key)
def test_findings_are_borne_out_and_have_the_numbers_that_claims_name(finding):
    answer = finding()
    assert answer.supported
    for claim in CLAIMS.values():
        if claim.finding == finding.name:
            assert np.size(answer.numbers[claim.value]) == len(answer.numbers.get("readings", [0]))


def test_the_finding_on_one_way_times_has_the_routes_of_the_experiment():
    assert list(ROUTES) == list(ESTIMATOR.readings["one-way times"])
    for label, (there, back) in ROUTES.items():
        scenario = ESTIMATOR.build(
            ("immediate",), (label, *(next(iter(a)) for a in list(ESTIMATOR.readings.values())[1:]))
        )
        delays = [link.delay for link in scenario.links]
        assert (delays[1], delays[4], delays[2], delays[5]) == pytest.approx((*there, *back))


def test_a_printed_improvement_may_come_from_throughputs_that_were_not_yet_rounded():
    low, high = quotients(1.29, 0.78, 0.005)
    assert not 0.655 <= 1.29 / 0.78 - 1 <= 0.665
    assert low < 0.66 < high


def test_claims_name_what_experiments_measure_and_every_measure_is_named():
    own = {"least_gain": "throughput", "keeps_more": "throughput"}
    for experiment in EXPERIMENTS:
        claims = [claim for claim in CLAIMS.values() if claim.experiment == experiment.name]
        named = {own.get(claim.value, claim.value) for claim in claims}
        if "slower_with" in named:
            named |= {"throughput", *(c.arguments["measure"] for c in claims if c.value == "slower_with")}
        assert named - {"slower_with"} == set(experiment.measures)


def test_the_first_entry_of_table_4_chooses_the_links_and_decides_nothing():
    assert [claim.id for claim in CLAIMS.values() if claim.calibrates] == ["mtcp.table4.reno.0"]
    assert CLAIMS["mtcp.table4.reno.0"].calibrates in TABLE4.readings


def test_an_axis_of_one_name_has_the_same_labels_everywhere():
    labels = {}
    for experiment in EXPERIMENTS:
        for name, axis in experiment.readings.items():
            assert labels.setdefault(name, list(axis)) == list(axis)


def test_a_claim_on_acknowledgements_is_decided_in_packets():
    data = run("mtcp.table4", "tiny", cases=lambda case: case["ack_loss"] == "0")
    assert decide(CLAIMS["mtcp.section3_6.acks.duplicated"], "tiny", data=data).verdict == "holds"
    assert decide(CLAIMS["mtcp.section3_6.acks.immediate"], "tiny", data=data).verdict == "holds"


def test_a_course_ends_or_holds():
    time, value, grid = np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.array([0.0, 1.5, 3.0])
    assert np.isnan(step_values(time, value, grid)[2])
    assert step_values(time, value, grid, hold=True)[2] == 6.0
