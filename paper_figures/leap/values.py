"""Numbers that claims name: over densities or shares, and predicted by a model."""

from __future__ import annotations

from scipy.stats import rankdata

from tcpdynamics.later import xr
from tcpdynamics.models import OverloadedStar

from ..deciding import predicted, value

#: Densities below the transition of section 2.2, which comes at 2.5 a second.
CALM = ("1.00", "1.25", "1.50", "1.75", "2.00", "2.25")
#: By how much densities differ [1/s].
STEP = 0.25
#: All finish where at least so many do: Table 1 has 0.979 to 0.994 at 2.50 a second and 0.948 to 0.961 at 2.75.
MOST = 0.97
#: Duplicates that a transfer of 100 segments receives, from which on it is said to receive any.
ANY = 1.0


@predicted("leap.finished")
def finished(sender: str, density: str) -> float:
    """Finished over generated transfers, if every segment came but once: no sender's number can be above."""
    return float(OverloadedStar(density=float(density)).finished())


@value("leap.peak")
def peak(data: xr.Dataset, sender: str) -> xr.DataArray:
    """Density at which most transfers finish [1/s]: share times density."""
    share = _by_number(data.finished.sel(sender=sender))
    best: xr.DataArray = (share * share.density).idxmax("density")
    return best


@value("leap.separates")
def separates(data: xr.Dataset, sender: str) -> xr.DataArray:
    """Density up to which all transfers finish [1/s]; a step below the least one if they never do."""
    share = _by_number(data.finished.sel(sender=sender))
    return _up_to(share, share >= MOST)


@value("leap.onset")
def onset(data: xr.Dataset, sender: str) -> xr.DataArray:
    """Density from which on transfers receive duplicates [1/s]; a step above the greatest one if they never do."""
    several = _by_number(data.duplicates.sel(sender=sender))
    return _up_to(several, several < ANY) + STEP


@value("leap.least_finished")
def least_finished(data: xr.Dataset, sender: str) -> xr.DataArray:
    """Least share of finished transfers over the densities below the transition."""
    least: xr.DataArray = data.finished.sel(sender=sender, density=list(CALM)).min("density", skipna=False)
    return least


@value("leap.rises")
def rises(data: xr.Dataset, sender: str, measure: str, along: str, first: str = "") -> xr.DataArray:
    """Rank correlation of a measure with an axis of cases, from a label on: 1 if it grows at each step."""
    several = data[measure].sel(sender=sender).transpose(along, "reading", "replication")
    several = several.sel({along: slice(first or None, None)})
    ranks = xr.zeros_like(several) + rankdata(several.values, axis=0, nan_policy="propagate")
    steps = xr.DataArray(range(several.sizes[along]), dims=along)
    there = ranks.notnull().all(along)
    correlation: xr.DataArray = xr.corr(ranks, steps, dim=along).fillna(0.0).where(there)
    return correlation


def _by_number(share: xr.DataArray) -> xr.DataArray:
    return share.reset_coords(drop=True).assign_coords(density=share.density.astype(float))


def _up_to(several: xr.DataArray, still: xr.DataArray) -> xr.DataArray:
    """Density up to which a condition holds from the least one on; NaN where a density was not run."""
    steps = still.cumprod("density").sum("density")
    return (float(several.density[0]) + STEP * (steps - 1)).where(several.notnull().all("density"))
