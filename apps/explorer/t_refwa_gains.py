"""T-REFWA's interpretations, the gains at which their closed forms are stable, and the ends of the code's cells."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.models import (
    RttCode,
    TRefwaDelayed,
    TRefwaIntegrating,
    TRefwaIntegratingDelayed,
    TRefwaIntegratingSemiImplicit,
    TRefwaMeasured,
    TRefwaMeasuredRtt,
    TRefwaMixed,
    TRefwaWindow,
)

READINGS: dict[str, type[Any]] = {
    model.reading: model
    for model in (
        TRefwaWindow, TRefwaDelayed, TRefwaMixed, TRefwaMeasured, TRefwaMeasuredRtt, TRefwaIntegrating,
        TRefwaIntegratingSemiImplicit, TRefwaIntegratingDelayed,
    )
}  # fmt: skip
DELAYED = tuple(reading for reading, model in READINGS.items() if "delay" in model.__dataclass_fields__)
#: Gains that the chart shows: both from 0 to this.
TOP = 3.0
#: Columns and rows in which the ends of the closed form are looked for.
COLUMNS, ROWS = np.linspace(0.0, TOP, 241), np.linspace(0.0, TOP, 301)


def closed_form(reading: str, columns: NDArray[np.float64] = COLUMNS, /, **settings: int) -> NDArray[np.float64]:
    """(3, n): gains phi, and the least and the largest psi at which the model's closed form is stable there."""
    import xarray as xr

    def margin(phi: Any, psi: Any) -> NDArray[np.float64]:
        answer = READINGS[reading](phi=phi, psi=psi, **settings).stability_margin()
        return np.asarray(answer.transpose(*dict.fromkeys((*phi.dims, *psi.dims))))

    stable = margin(xr.DataArray(columns, dims="phi"), xr.DataArray(ROWS, dims="psi")) > 0
    kept = stable.any(axis=1)
    phi, first = columns[kept], stable[kept].argmax(axis=1)
    last = ROWS.size - 1 - stable[kept, ::-1].argmax(axis=1)
    ends = []
    for inner, outer in ((first, first - 1), (last, last + 1)):
        inside, outside = ROWS[inner], ROWS[np.clip(outer, 0, ROWS.size - 1)]
        for _ in range(50):
            middle = (inside + outside) / 2
            good = margin(xr.DataArray(phi, dims="point"), xr.DataArray(middle, dims="point")) > 0
            inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
        ends.append((inside + outside) / 2)
    return np.array([phi, *ends])


def cell_grid(code: RttCode) -> NDArray[np.float64]:
    """Round-trip times [s] from 1 ms to 3 s at which the code's error is drawn: both sides of each cell's ends."""
    low, high = code.cell(np.arange(code.top + 1))
    beyond = np.geomspace(high[-1] * 1.001, 3.0, 20)
    ends = np.concatenate([low * (1 + 1e-6), high * (1 - 1e-6), np.sqrt(low * high), beyond])
    return np.unique(ends[ends > low[0]])


@lru_cache(maxsize=8)
def regions(delay: int) -> dict[str, list[list[float]]]:
    """Of each interpretation: gains phi, and between which psi its closed form is stable, in steps of a twentieth."""
    return {reading: _region(reading, delay if reading in DELAYED else None) for reading in READINGS}


@lru_cache(maxsize=64)
def _region(reading: str, delay: int | None) -> list[list[float]]:
    settings = {} if delay is None else {"delay": delay}
    rows: list[list[float]] = closed_form(reading, COLUMNS[::4], **settings).round(6).tolist()
    return rows
