"""Numbers that claims name: made of an experiment's result, or predicted by a model."""

from __future__ import annotations

from typing import Any

from tcpdynamics.later import xr

from ..deciding import value
from .experiments import T_REFWA


def _measures(data: xr.Dataset, measure: str, case: dict[str, Any]) -> xr.DataArray:
    cells: xr.DataArray = data[measure].sel(case).reset_coords(drop=True)
    return cells


def _extreme(cells: xr.DataArray, most: bool) -> xr.DataArray:
    """That of Reno, NewReno and Westwood whose mean is the greatest, or the least, in each reading."""
    others = cells.sel(protocol=[p for p in cells.protocol.values.tolist() if not p.startswith(T_REFWA)])
    mean = others.mean("replication")
    return others.isel(protocol=(mean.argmax if most else mean.argmin)("protocol")).drop_vars("protocol")


@value("t_refwa.of_others")
def of_others(data: xr.Dataset, measure: str, most: bool = False, **case: str) -> xr.DataArray:
    """The measure of the one of the three other protocols where it is least, or greatest."""
    return _extreme(_measures(data, measure, case), most)


@value("t_refwa.less_others")
def less_others(data: xr.Dataset, measure: str, most: bool = False, **case: str) -> xr.DataArray:
    """The measure with T-REFWA less that of the other protocol where it is least, or greatest."""
    cells = _measures(data, measure, case)
    own = next(p for p in cells.protocol.values.tolist() if p.startswith(T_REFWA))
    return cells.sel(protocol=own, drop=True) - _extreme(cells, most)


@value("t_refwa.others_over")
def others_over(data: xr.Dataset, measure: str, most: bool = False, **case: str) -> xr.DataArray:
    """The measure of the other protocol where it is least, or greatest, over that with T-REFWA."""
    cells = _measures(data, measure, case)
    own = next(p for p in cells.protocol.values.tolist() if p.startswith(T_REFWA))
    return _extreme(cells, most) / cells.sel(protocol=own, drop=True)
