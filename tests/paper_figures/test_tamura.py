"""LEAP's paper: points build, readings differ, Fig. 5 is simulated, Table 1 is inverted."""

from __future__ import annotations

import itertools

import pytest

from tcpdynamics.models import OverloadedStar
from tcpdynamics.paper_figures import ledger
from tcpdynamics.paper_figures.experiments import Experiment, run
from tcpdynamics.paper_figures.leap import findings
from tcpdynamics.paper_figures.leap.experiments import EXPERIMENTS
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


def test_a_leap_after_a_window() -> None:
    order, duplicates, between = findings._after_window(leap=True)
    assert (order, duplicates, between) == ([5, 4, 6], 0, 0.0)
    order, duplicates, _ = findings._after_window(leap=False)
    assert (order[0], duplicates) == (1, 1)


@pytest.mark.parametrize("duplicates", [0.0, 0.1, 0.33])
def test_shares_are_inverted(duplicates: float) -> None:
    share = float(OverloadedStar(density=3.5, duplicates=duplicates).finished())
    assert findings._needed(share, 3.5) == pytest.approx(duplicates, abs=1e-9)


def test_a_cell_at_tiny() -> None:
    claim = ledger.get_claim("leap.table1.reno.2_50")
    result = run(claim.experiment, "tiny", cases=lambda case: case == claim.case)
    share = result.finished.sel(dict(claim.case)).values
    assert ((share > 0.5) & (share <= 1)).all()
