"""LEAP beside its closed forms and its paper: what the comparison measures, and what it says of it."""

import numpy as np
import pytest

from tcpdynamics.errors import DomainError, LimitError
from tcpdynamics.validation.comparisons import LeapVsPackets
from tcpdynamics.validation.comparisons.comparison import grade
from tcpdynamics.validation.comparisons.leap import CLAIMS, LEAP, ONE, PLAIN, TABLE_1

SMALL = {
    "loss": (0.1, 0.2), "density": (2.5, 3.5), "senders": ("reno", "sack"), "transfers": 100, "duration": 400.0,
    "replications": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return LeapVsPackets(**SMALL).run()


def test_a_window_of_one_is_as_the_closed_forms_have_it(result):
    """Three replications: no interval lies beyond a twentieth."""
    assert not (result.path_verdict.sel(path_sender=ONE) == "differs").any()


def test_leap_has_fewer_duplicates_on_the_path(result):
    at = result.sel(loss=0.2)
    assert (at.path_duplicates_high.sel(kind=LEAP) < at.path_duplicates_low.sel(kind=PLAIN)).all()
    assert (at.path_transmissions.sel(kind=LEAP) < at.path_transmissions.sel(kind=PLAIN)).all()


def test_the_star_is_full_where_the_law_says_so(result):
    assert (result.finished.sel(density=2.5) > 0.9).all() and (result.finished.sel(density=3.5) < 0.9).all()
    assert (result.finished_predicted.sel(density=2.5) == 1.0).all()
    assert float(result.published.sel(density=3.5, sender="reno", kind=LEAP)) == TABLE_1[3.5][3]
    assert np.isnan(result.published.sel(sender="sack", kind=LEAP)).all()
    assert (result.finished_low <= result.finished).all() and (result.finished <= result.finished_high).all()


def test_the_papers_statements_have_verdicts(result):
    assert list(result.claim.values) == list(CLAIMS)
    assert set(result.claim_verdict.values) <= {"agrees", "differs", "undecided"}
    assert result.claim_verdict.sel(claim="120 % more than Reno") == "differs"
    bare = LeapVsPackets(loss=(0.1,), density=(3.0,), senders=("sack",), duration=100.0, replications=2).run()
    of_one_link = {"Reno not degraded beside LEAP", "goodput grows with LEAP's share"}
    assert set(bare.claim[bare.claim_verdict != "no answer"].values) == of_one_link


def test_figure_and_paragraph(result):
    drawn = LeapVsPackets.figure(result)
    assert len(drawn.data) > 10 and all(t.x is not None for t in drawn.data)
    text = LeapVsPackets.paragraph(result)
    assert text.startswith("Path: ") and "Star: " in text and all(claim in text for claim in CLAIMS)


def test_table_1_is_judged_column_by_column_and_only_by_runs_as_long(result):
    """What is said follows from the numbers: counts of cells by column, and the gap at the greatest density."""
    assert set(result.table_verdict.values.flat) == {"no answer"}
    assert "Table 1 is of runs of 3000 s; " in LeapVsPackets.paragraph(result)
    judged = result.copy()
    low, high = result.table_gap_low.values, result.table_gap_high.values
    judged["table_verdict"] = (result.table_verdict.dims, grade(low, high))
    text = LeapVsPackets.paragraph(judged)
    for sender, kind, name in (("reno", PLAIN, "reno"), ("sack", PLAIN, "sack"), ("reno", LEAP, "LEAP")):
        column = judged.sel(sender=sender, kind=kind)
        inside = int(((column.table_gap_low <= 0) & (column.table_gap_high >= 0)).sum())
        assert f"{name} {inside} of 2 (at 3.5 {float(column.table_gap[-1]):+.3f} [" in text


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"senders": ("tahoe",)}, "senders must list some of reno, newreno, sack, got 'tahoe'"),
        ({"loss": (0.0,)}, r"loss must list numbers in \[0.001, 0.4\]"),
        ({"density": (100.0,)}, r"density must list numbers in \[0.5, 10\]"),
    ],
)
def test_bad_settings_are_refused(settings, sentence):
    with pytest.raises(DomainError, match=sentence):
        LeapVsPackets(**settings)


def test_too_much_work_is_refused_before_the_first_run():
    with pytest.raises(LimitError, match="replications of 5 densities and 5 losses need about"):
        LeapVsPackets(replications=10**9).run()
