"""M/TCP's paper: values of claims, experiments, findings and figures."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.deciding import decide
from tcpdynamics.paper_figures.experiments import run
from tcpdynamics.paper_figures.mtcp.courses import step_values
from tcpdynamics.paper_figures.mtcp.experiments import ACK_LOSS, EXPERIMENTS, RENO, SENDERS, TABLE4
from tcpdynamics.paper_figures.mtcp.findings import FINDINGS, quotients
from tcpdynamics.paper_figures.mtcp.measures import beside_silence, least_window, silences, silences_beside
from tcpdynamics.paper_figures.mtcp.values import improvement, improvement_predicted, keeps_more, least_gain

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
    assert least_gain(PRINTED, without=["5", "10", "13"]).values == pytest.approx(1.35 / 0.80 - 1)


def test_the_share_kept_is_compared():
    more = keeps_more(PRINTED, "duplicated", "immediate", "13")
    assert more.values == pytest.approx(1.39 / 1.40 - 1.22 / 1.35)
    assert improvement_predicted("0", "immediate", "0") == pytest.approx(1.0)  # two routes, twice one


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


def test_the_least_window_is_of_transfers_with_a_timeout():
    result = xr.Dataset({"timeouts": ("flow", [0]), "window_cwnd": ("sample", [2.0, 3.0])})
    assert np.isnan(least_window(result))
    assert least_window(result.assign(timeouts=("flow", [1]))) == 2.0


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda f: f.key)
def test_findings_are_borne_out_and_have_the_numbers_that_claims_name(finding):
    answer = finding()
    assert answer.supported
    for claim in CLAIMS.values():
        if claim.finding == finding.name:
            assert len(answer.numbers[claim.value]) == len(answer.numbers["readings"])


def test_a_printed_improvement_may_come_from_throughputs_that_were_not_yet_rounded():
    low, high = quotients(1.29, 0.78, 0.005)
    assert not 0.655 <= 1.29 / 0.78 - 1 <= 0.665
    assert low < 0.66 < high


def test_claims_name_what_experiments_measure():
    measures = {e.name: set(e.measures) for e in EXPERIMENTS}
    own = {"improvement", "least_gain", "keeps_more"}
    for claim in CLAIMS.values():
        if claim.experiment:
            assert claim.value in measures[claim.experiment] | own


def test_a_claim_on_acknowledgements_is_decided_in_packets():
    data = run("mtcp.table4", "tiny", cases=lambda case: case["ack_loss"] == "0")
    assert decide(CLAIMS["mtcp.section3_6.acks.duplicated"], "tiny", data=data).verdict == "holds"
    assert decide(CLAIMS["mtcp.section3_6.acks.immediate"], "tiny", data=data).verdict == "holds"


def test_a_course_ends_or_holds():
    time, value, grid = np.array([1.0, 2.0]), np.array([5.0, 6.0]), np.array([0.0, 1.5, 3.0])
    assert np.isnan(step_values(time, value, grid)[2])
    assert step_values(time, value, grid, hold=True)[2] == 6.0
