"""What every study has of its base: seeds, a record and what is taken from it, live runs and their failures."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.errors import LinuxError, NoRecordError
from tcpdynamics.validation.comparisons import engines, study
from tcpdynamics.validation.comparisons.engines import LINUX, PACKETS, Cell
from tcpdynamics.validation.comparisons.study import Study
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario

SCENARIO = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50), 4.0, 1.0, "a flow")


@dataclass(frozen=True)
class Tiny(Study, listed=False):
    salt = 99
    quantities = {"seed": "1", "third": "1"}  # noqa: RUF012

    seed: int = 1
    seeds: int = 3
    workers: int = 2
    timeout: float = 5.0

    def cells(self) -> dict[Any, Cell]:
        return {"theirs": Cell(SCENARIO, LINUX, controls=("reno",)), "ours": Cell(SCENARIO, PACKETS)}

    def measure(self, run: xr.Dataset, label: Any, cell: Cell) -> list[float]:
        return [float(run.attrs["seed"]), 1 / 3]

    def compare(self, runs: Any) -> xr.Dataset:
        return xr.Dataset({name: values.mean("replication") for name, values in runs.items()})

    figure = paragraph = staticmethod(str)


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stands for Linux; the seeds that it was run with."""
    begun: list[int] = []

    def run(scenario: Scenario, seed: int, timeout: float, *how: object) -> xr.Dataset:
        assert timeout == 5.0 and how == (engines.OLD, ("reno",), None)
        begun.append(seed)
        return xr.Dataset(attrs={"simulator": "Linux 1", "kernel": "abc", "seed": seed})

    monkeypatch.setattr(engines, "run_linux", run)
    return begun


def test_what_is_recorded_is_what_a_later_run_takes(linux: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    made = Tiny()
    document = made.record()
    assert sorted(linux) == sorted(made.roots()) and len(set(linux)) == 3
    assert document["kernel"] == "Linux 1" and list(document["runs"]) == sorted(document["runs"])
    assert {values[1] for values in document["runs"].values()} == {0.333333333}
    monkeypatch.setattr(study, "stored", lambda record: document)
    taken, live = made.run(), made.run(live=True)
    assert taken.attrs["linux"] == "as recorded with Linux 1" and live.attrs["linux"] == "run for this comparison"
    np.testing.assert_allclose(taken.theirs, live.theirs, rtol=1e-8)
    np.testing.assert_array_equal(taken.ours, live.ours)
    with pytest.raises(NoRecordError, match=r"no record of Linux for a flow with seed \d+; `python -m"):
        replace(made, seed=2).run()


def test_after_a_failure_no_run_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []

    def fails(scenario: Scenario, seed: int, *how: object) -> xr.Dataset:
        begun.append(seed)
        time.sleep(0.05)
        raise LinuxError("the guest is gone")

    monkeypatch.setattr(engines, "run_linux", fails)
    with pytest.raises(LinuxError, match="the guest is gone"):
        Tiny(seeds=200, workers=1).run(live=True)
    assert len(begun) < 200


def test_studies_with_another_salt_have_other_seeds() -> None:
    made = Tiny()
    assert made.roots() == Tiny().roots() and Tiny(seeds=2).roots() == made.roots()[:2]
    assert not set(made.roots()) & set(replace(made, seed=2).roots())
