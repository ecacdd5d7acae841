"""Controls and queues one by one beside Linux: by recorded runs; live ones are slow."""

from __future__ import annotations

import dataclasses
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import DomainError, NoRecordError
from tcpdynamics.validation.comparisons import LinuxControls
from tcpdynamics.validation.comparisons.engines import LINUX, stored
from tcpdynamics.validation.comparisons.linux_controls import (
    CONTROLS,
    OURS,
    QUANTITIES,
    QUEUES,
    RECORD,
    cases,
    quantities,
)
from tcpdynamics.validation.linux import OLD, installed
from tcpdynamics.validation.linux.plan import plan
from tcpdynamics.validation.packet import Record, simulate


@pytest.fixture(scope="module")
def result() -> xr.Dataset:
    return LinuxControls().run()


def test_each_control_and_queue_has_a_cell() -> None:
    kinds = [(one.kind, one.name) for one in cases()]
    assert len(kinds) == len(set(kinds)) == 2 * len(CONTROLS) - 1 + len(QUEUES)
    for one in cases():
        scenario = one.scenario(60.0, 15.0)
        made = plan(scenario, 1, OLD, (one.control,), {"bottleneck": one.words} if one.words else None)
        assert {f.control for f in made.flows} == {one.control}
        assert ("dualpi2" in one.words) == (one.name == "DualPI2")


def test_the_whole_record_is_there_and_nothing_else() -> None:
    made = LinuxControls()
    names = {name for cell in made.cells().values() for name, _ in made.named_roots(cell)}
    assert names == set(stored(RECORD)["runs"])
    assert {len(values) for values in stored(RECORD)["runs"].values()} == {len(QUANTITIES)}


@pytest.mark.slow
def test_every_run_that_was_repeated_gave_the_same_bytes(result: xr.Dataset) -> None:
    assert stored(RECORD)["repeated"] == [len(cases())] * 2
    assert result.attrs["repeated"] == f"{len(cases())} of {len(cases())}"


def test_shares_delays_and_intervals_are_possible(result: xr.Dataset) -> None:
    known = result["mean"].stack(case=("cell", "sender")).dropna("case")
    for name in ("use of the link", "loss rate", "Jain's index"):
        assert ((known.sel(quantity=name) >= 0) & (known.sel(quantity=name) <= 1.0001)).all()
    delay = known.sel(quantity="queueing delay")
    assert (delay >= -1e-5).all()
    of_queue = known.case[[label[0] in QUEUES for label in known.case.values]]
    assert (delay.sel(case=of_queue) <= 84 * 12_000 / 1e7).all()
    assert ((result.mean_low <= result["mean"]) | result["mean"].isnull()).all()
    alone = [one.label for one in cases() if one.ours is None]
    assert (result.verdict.sel(cell=alone) == "no answer").all()
    assert (result.verdict.drop_sel(cell=alone) != "no answer").all()


def test_by_linuxs_rules_reno_and_cubic_and_most_queues_are_nearer_than_by_the_rfcs(result: xr.Dataset) -> None:
    agree = (result.verdict == "agrees").sum("quantity")
    for name in ("reno, two flows", "cubic, two flows", "RED", "CoDel"):
        assert int(agree.sel(cell=name, ours="simulator, Linux's rules")) >= int(
            agree.sel(cell=name, ours="simulator, RFCs")
        )


@pytest.mark.parametrize("queue", ["drop-tail", "RED", "SFQ", "FQ-CoDel", "PIE"])
def test_queues_by_linuxs_rules_are_linuxs_in_all_quantities(result: xr.Dataset, queue: str) -> None:
    verdicts = result.verdict.sel(cell=queue, ours="simulator, Linux's rules")
    assert (verdicts == "agrees").all()


def test_the_generated_table_has_these_numbers(result: xr.Dataset) -> None:
    made = runpy.run_path(str(Path(__file__).parents[2] / "docs/_ext/measured.py"))["controls"](result)
    table = "\n".join(made["linux_controls"])
    rows = re.findall(r"^\| ([^|]+) \| ([\d.]+); ([\d.]+) %; (-?[\d.]+) \|", table, re.MULTILINE)
    assert [row[0] for row in rows] == [one.label for one in cases()]
    linux = result["mean"].sel(sender="Linux")
    for label, use, loss, delay in rows:
        one = linux.sel(cell=label)
        assert float(use) == pytest.approx(float(one.sel(quantity="use of the link")), abs=0.00051)
        assert float(loss) == pytest.approx(100 * float(one.sel(quantity="loss rate")), abs=0.0051)
        assert float(delay) == pytest.approx(1e3 * float(one.sel(quantity="queueing delay")), abs=0.051)


def test_queueing_delay_by_round_trips_is_that_of_packets() -> None:
    """Of two flows: what the packets that were sent once took beyond the way, weighted by how many they are."""
    (one,) = (cell for cell in cases() if cell.label == "reno, two flows")
    scenario = dataclasses.replace(
        one.scenario(60.0, 15.0, **OURS["simulator, RFCs"]), record=Record(sends=True, receives=True)
    )
    run = simulate(scenario, 1)
    waits: list[float] = []
    for flow, rtt in enumerate((0.05, 0.0525)):
        sent, received = run.send_flow.values == flow, run.receive_flow.values == flow
        segments, counts = np.unique(run.send_segment.values[sent], return_counts=True)
        times = dict(zip(run.send_segment.values[sent].tolist(), run.send_time.values[sent].tolist(), strict=True))
        once = set(segments[counts == 1].tolist())
        pairs = zip(
            run.receive_segment.values[received].tolist(), run.receive_time.values[received].tolist(), strict=True
        )
        waits += [t - times[k] - rtt / 2 - 1.2e-3 for k, t in pairs if k in once and t >= 15.0]
    delay = quantities(run, scenario)[2]
    assert delay == pytest.approx(np.mean(waits), rel=0.01)  # those sent again, and the ends, are left out
    assert 0.0 < delay < 41 * 1.2e-3


def test_words_and_figure_come_from_the_result(result: xr.Dataset) -> None:
    text = LinuxControls.paragraph(result)
    assert all(one.label in text for one in cases()) and "nan" not in text and result.attrs["repeated"] in text
    assert len(LinuxControls.figure(result).data) == 3 * (1 + len(OURS))


def test_what_is_not_recorded_is_said() -> None:
    with pytest.raises(NoRecordError, match="no record of Linux for reno, two flows"):
        LinuxControls(seed=5).run()
    with pytest.raises(DomainError, match="seeds must be at least 2"):
        LinuxControls(seeds=1)


@pytest.mark.slow
def test_linux_gives_what_was_recorded() -> None:
    if not installed():
        pytest.skip("Linux is not built")
    made, known = LinuxControls(), stored(RECORD)
    cells = [(label, cell) for label, cell in made.cells().items() if cell.engine is LINUX]
    for label, cell in cells[::5]:
        name, seed = made.named_roots(cell)[3]
        run = LINUX.run(cell, seed, made.timeout)
        if LINUX.heading(run)["options"] != known["options"]:
            pytest.skip("another kernel than that of the record")
        np.testing.assert_allclose(made.measure(run, label, cell), known["runs"][name], rtol=1e-8)
