"""Results over all points that were asked for: those outside the domain marked, blocks to a store, axes named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tcpdynamics.interrupts import advising

from .dynamic_values import Chosen
from .progress import progress_line

if TYPE_CHECKING:
    import xarray as xr

#: Codes of points that lie at an excluded end of their domain.
_OUTSIDE = {"status": 1, "verdict": 2}


def completed(result: xr.Dataset, chosen: Chosen) -> xr.Dataset:
    """The result with the points that were left out, marked, and with symbols and units on its axes."""
    if chosen.outside:
        full = {k: chosen.swept[k] for k in chosen.outside}
        codes = {k: v for k, v in _OUTSIDE.items() if k in result}
        others = {
            str(k): 0 for k, v in result.data_vars.items() if v.dtype.kind in "iub" and k not in _OUTSIDE
        }
        attrs = {k: v.attrs for k, v in result.coords.items()}
        result = result.reindex(full, fill_value=others | codes)
        for name, values in attrs.items():
            result[name].attrs = values
        for name, values in chosen.outside.items():
            told = ", ".join(f"{v:g}" for v in values)
            click.echo(
                f"Note: {name.replace('_', ' ')} = {told} lies at an excluded end of its domain; the points there "
                "are left out and marked in `status`",
                err=True,
            )
    return named(result, chosen)


def named(result: xr.Dataset, chosen: Chosen) -> xr.Dataset:
    """Axes with symbol, meaning and unit."""
    from tcpdynamics.models.parameters import describe

    rows = {row["name"]: row for row in describe(chosen.model)}
    for name in map(str, result.coords):
        if name in rows:
            row = rows[name]
            told = {"symbol": row["symbol"], "long_name": row["meaning"], "units": row["unit"]}
            result[name].attrs = told | result[name].attrs
        elif name.startswith("start_"):
            label = name.removeprefix("start_")
            units = chosen.problem.units.get(label.partition("[")[0], "1")
            told = {"symbol": f"{label}(0)", "long_name": "initial value", "units": units}
            result[name].attrs = told | result[name].attrs
    return result


def stored(
    path: Path, target: Any, solver: Callable[..., Any], chosen: Chosen, **settings: Any
) -> xr.Dataset:
    """Solve block by block to a store; a run that was killed goes on."""
    from tcpdynamics.solvers import sweep, sweep_of

    work = sweep_of(target, solver, **settings)
    advice = f"what is finished is kept in {path}; the same command goes on from there"
    try:
        with advising(advice), progress_line("sweeping") as line:
            return sweep(
                work,
                {**work.parameters, **chosen.swept},
                store=path,
                progress=lambda done, points, left: line(done / points),
            )
    except KeyboardInterrupt:
        click.echo(advice, err=True)
        raise


def reason(code: int) -> str:
    """Why a point failed."""
    from tcpdynamics.solvers.results import REASONS

    return without_advice(REASONS[code])


def without_advice(told: str) -> str:
    """A reason without what only callers of the Python functions can do.

    >>> without_advice("the steps ran out before the last time: raise max_steps or loosen the tolerance")
    'the steps ran out before the last time'
    """
    return told.partition(": raise ")[0].partition(": use method")[0]


def units_of(chosen: Chosen) -> dict[str, str]:
    """Unit by parameter."""
    from tcpdynamics.models.parameters import describe

    return {row["name"]: row["unit"] for row in describe(chosen.model)}
