"""The comparison with ns-2 over seeds: its bookkeeping, sane totals, and that it can tell right from wrong."""

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import NoRecordError
from tcpdynamics.solvers.problems import DomainError
from tcpdynamics.validation.comparisons.engines import NS2
from tcpdynamics.validation.comparisons.packets_vs_ns2 import (
    CASES,
    QUANTITIES,
    TIED,
    PacketsVsNs2,
    compare,
    conclusion,
    table,
)
from tcpdynamics.validation.ns2 import installed


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    if not installed():
        pytest.skip("ns is not installed")
    return PacketsVsNs2(cases=("dumbbell_spread", "star"), scale=0.2, seeds=3).run()


def check_totals(result: xr.Dataset) -> None:
    """What must hold for either simulator, whatever the seed."""
    for side in (result["ours"], result["theirs"]):
        shares = side.sel(quantity=[name for name in QUANTITIES if name.startswith("P(")])
        np.testing.assert_allclose(shares.sum("quantity"), 1.0, rtol=1e-12)
        for name in ("loss rate", "Jain's index"):
            assert ((side.sel(quantity=name) > 0) & (side.sel(quantity=name) < 1)).all()
        assert (side.sel(quantity="timeouts") > 0).all()
        # Goodput cannot exceed what the links carry: 250 packets/s; 19375; 3 * 108.5.
        most = {"dumbbell_spread": 250, "dumbbell_overhead": 250, "wide": 19375, "star": 325.6}
        for case in result["case"].values:
            rate = float(side.sel(case=case, quantity="goodput"))
            assert 0.4 * most[str(case)] < rate < 1.01 * most[str(case)]


def test_structure_and_totals(result):
    assert dict(result.sizes) == {"case": 2, "quantity": len(QUANTITIES)}
    np.testing.assert_allclose(result["difference"], result["ours"] - result["theirs"], atol=1e-12)
    assert ((result["low"] <= result["difference"]) & (result["difference"] <= result["high"])).all()
    assert set(result["verdict"].values.ravel()) <= {"agrees", "differs"}
    check_totals(result)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_tied_cases_agree_on_the_clock_of_ns2_alone(scale: float) -> None:
    """On the grid of times the wide case comes to something else: the comparison can tell the two clocks apart."""
    double, grid = (PacketsVsNs2(cases=TIED, exact=exact, scale=scale).run() for exact in (True, False))
    assert (double.verdict == "agrees").all()
    assert grid.verdict.sel(case="wide_tied", quantity="Jain's index") == "differs"


def test_table_and_figure(result):
    rows = table(result)
    assert len(rows) == 18 and rows[0]["case"] == "dumbbell_spread" and rows[0]["quantity"] == "loss rate"
    assert all(row["verdict"] == ("agrees" if row["low"] <= 0 <= row["high"] else "differs") for row in rows)
    assert len(PacketsVsNs2.figure(result).data) == 2


def _runs(mean: float, n: int) -> xr.DataArray:
    noise = np.random.default_rng(5).normal(size=(n, 1))
    return xr.DataArray(mean + noise, {"quantity": ["goodput"]}, ("replication", "quantity"))


def test_a_shift_is_found_and_none_is_not():
    assert compare(_runs(10.0, 8), _runs(10.0, 8), 0.99)["verdict"].item() == "agrees"
    assert compare(_runs(10.0, 8), _runs(14.0, 8), 0.99)["verdict"].item() == "differs"


def test_scenarios_are_those_of_the_title():
    scenarios = {case: PacketsVsNs2().scenario(case) for case in CASES}
    assert [scenarios[case].count for case in CASES] == [100, 100, 32, 1520]
    assert scenarios["dumbbell_overhead"].flows[0].overhead == 8 * 500 / 1e6
    assert len(scenarios["star"].links) == 3 and scenarios["wide"].duration == 30.0


@pytest.mark.parametrize("options", [{"cases": ("ring",)}, {"cases": ()}, {"seeds": 1}, {"scale": 0.0}])
def test_refusals(options):
    with pytest.raises(DomainError):
        PacketsVsNs2(**options)


@pytest.mark.slow
def test_all_cases_at_full_length():
    if not installed():
        pytest.skip("ns is not installed")
    result = PacketsVsNs2().run()
    check_totals(result)
    # 36 intervals at 99 %: six that miss zero by chance alone happen less than once in 10^5 times even if each is
    # independent of the others.
    assert int((result["verdict"] == "differs").sum()) < 6


@pytest.mark.parametrize(("agree", "fits"), [(36, True), (35, True), (34, True), (33, False), (31, False), (0, False)])
def test_chance_is_named_only_where_it_explains_the_count(agree, fits):
    text = conclusion(agree, 36, 0.99)
    assert text.startswith(f"{agree} of 36 agree; ")
    assert ("one interval in a hundred misses zero although nothing differs" in text) == fits
    assert ("chance alone gives" in text) != fits


def test_every_case_is_on_record():
    """The record goes by the text of the Tcl, so a change of the translation or of a case needs a new one."""
    comparison = PacketsVsNs2(cases=CASES + TIED)
    for cell in comparison.cells().values():
        if cell.engine is NS2:
            assert len(comparison.recorded(cell)) == comparison.seeds
    with pytest.raises(NoRecordError, match="install the Debian package ns2"):
        PacketsVsNs2(cases=("wide",), scale=0.5).run(live=False)


@pytest.mark.slow
def test_the_record_is_what_ns2_gives():
    if not installed():
        pytest.skip("ns is not installed")
    comparison = PacketsVsNs2()
    label = ("wide", "theirs")
    cell = comparison.cells()[label]
    run = NS2.run(cell, comparison.roots(NS2)[0], comparison.timeout)
    now, then = comparison.measure(run, label, cell), comparison.recorded(cell)[0]
    np.testing.assert_allclose(now, then, rtol=1e-8)  # the record keeps nine digits
