"""A stability chart that is swept in blocks has the boundary of the whole, in memory and in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import tcpdynamics
from tcpdynamics.errors import LimitError
from tcpdynamics.models import LogisticDelayed, LogisticMap, LotkaVolterraStale, TRefwaDelayed
from tcpdynamics.solvers import explain, stability_chart, sweep, sweep_of
from tcpdynamics.solvers.stability import stability_chart as charts
from tcpdynamics.solvers.sweeps.sweep_of import ProblemWork

MODELS: dict[str, Any] = {
    "delay": LogisticDelayed(epsilon=np.linspace(0.1, 3, 20), delay=np.linspace(0, 2, 20)),
    "map": LotkaVolterraStale(flows=5, epsilon=np.linspace(0.1, 3, 15), gamma=np.linspace(0.02, 0.98, 15)),
    "line": LogisticMap(epsilon=np.linspace(0.1, 3, 20)),
    "all unstable": LogisticMap(epsilon=np.linspace(2.5, 3, 4)),
    "whole delays": TRefwaDelayed(phi=np.linspace(0.1, 3, 9), psi=np.linspace(0.1, 2, 9), delay=[1, 2, 3]),
}


def boundary(chart: xr.Dataset) -> xr.Dataset:
    return chart[[k for k in chart.data_vars if str(k).startswith("boundary_")]].reset_coords(drop=True).load()


def swept(model: Any, **settings: Any) -> xr.Dataset:
    return sweep(sweep_of(model, stability_chart), block=37, **settings)


def content(store: Path) -> dict[str, bytes]:
    return {str(f.relative_to(store)): f.read_bytes() for f in sorted(store.rglob("*")) if f.is_file()}


@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.slow) for name in (None, "x.nc")), "x.zarr"])
@pytest.mark.parametrize("model", MODELS)
def test_blocks_have_the_boundary_of_the_whole(tmp_path: Path, model: str, name: str | None) -> None:
    """The first time, and when the finished store is opened once more."""
    whole = stability_chart(MODELS[model])
    store = None if name is None else tmp_path / name
    for _ in range(2):
        chart = swept(MODELS[model], store=store)
        xr.testing.assert_allclose(boundary(chart), boundary(whole), rtol=0, atol=1e-12)
        if whole.verdict.ndim < 3:
            assert [t.name for t in tcpdynamics.plot(chart).data] == [t.name for t in tcpdynamics.plot(whole).data]


def test_anyone_who_reads_the_store_has_the_curves(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    swept(MODELS["delay"], store=store)
    with xr.open_zarr(store) as chart:
        assert float(abs(chart.boundary_epsilon * chart.boundary_delay - np.pi / 2).max()) < 1e-9
        assert "boundary, from the roots" in {t.name for t in tcpdynamics.plot(chart).data}
    held = explain(store, verify=True)
    assert held.verified and not held.resumable


def test_a_store_that_is_resumed_has_the_same_bytes(tmp_path: Path) -> None:
    store = tmp_path / "x.zarr"
    swept(MODELS["map"], store=store)
    before = content(store)
    for lost in ("status/records/c.0.0.json", "boundary_gamma/c.0", "status/records/complete.json"):
        (store / lost).unlink()
        swept(MODELS["map"], store=store)
        assert content(store) == before


@pytest.mark.parametrize("name", ["x.zarr", "x.nc"])
def test_a_store_from_before_boundaries_were_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It opens, and has its boundary from then on."""
    store = tmp_path / name
    with monkeypatch.context() as patch:
        patch.setattr(ProblemWork, "whole", lambda self, result: {})
        assert not boundary(swept(MODELS["delay"], store=store))
    for _ in range(2):
        chart = swept(MODELS["delay"], store=store)
        xr.testing.assert_allclose(boundary(chart), boundary(stability_chart(MODELS["delay"])), rtol=0, atol=1e-12)


def test_no_boundary_where_none_is_wanted() -> None:
    assert not boundary(sweep(sweep_of(MODELS["line"], stability_chart, trace=False)))


def test_a_boundary_that_cannot_be_traced_leaves_the_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise LimitError("10 points need more memory than there is; give fewer")

    monkeypatch.setattr(charts, "boundary_of", refuse)
    with pytest.warns(UserWarning, match="the boundary of the chart is left out: 10 points need"):
        chart = swept(MODELS["line"])
    assert not boundary(chart) and chart.verdict.notnull().all()


def test_points_that_failed_bound_nothing_and_are_drawn_as_unknown() -> None:
    """A store holds 0 for their verdict, which would be marginal."""
    chart = stability_chart(MODELS["map"], trace=False)
    lost = xr.zeros_like(chart.status)
    lost[:, 7] = 31
    blank = chart.assign(status=lost, verdict=chart.verdict.where(lost == 0, 0), radius=chart.radius.where(lost == 0))
    traced = charts.boundary_of(MODELS["map"], blank)
    gap = chart.gamma.values[[6, 8]]
    assert (
        traced["boundary_gamma"].size
        and not ((traced["boundary_gamma"] > gap[0]) & (traced["boundary_gamma"] < gap[1])).any()
    )
    assert {t.name for t in tcpdynamics.plot(blank).data} >= {"stable", "unstable", "unknown"}
    assert "marginal" not in {t.name for t in tcpdynamics.plot(blank).data}
