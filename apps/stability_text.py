"""What `tcpdynamics stability` prints of a chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from .dynamic_outputs import about, table
from .dynamic_results import units_of
from .dynamic_values import Chosen

if TYPE_CHECKING:
    import xarray as xr

#: Points of a chart that are listed one by one, and points of the boundary that are shown.
ROWS = 30
SHOWN = 5

#: Relative size of a margin that is zero but for rounding and the tolerance of the boundary.
_ZERO = 1e-8


def print_chart(chosen: Chosen, result: xr.Dataset) -> None:
    """A row for each point of a small chart, else a summary; then the boundary and the closed form."""
    units = units_of(chosen)
    click.echo(about(chosen, units))
    dims = [str(d) for d in result["status"].dims]
    if result["status"].size <= ROWS:
        table(list(_rows(result, dims)))
    for name, value in _summary(result, dims, units):
        click.echo(f"{name:14s}{value}")


def _verdicts(result: xr.Dataset) -> Any:
    """Codes, also of a store, which holds 0 for points without a result. A point on a switch may have a verdict."""
    import numpy as np

    from tcpdynamics.solvers.stability.operating_point import ON_SWITCH

    return np.where(np.isin(result.status.values, (0, ON_SWITCH)), result.verdict.values, 2)


def _summary(result: xr.Dataset, dims: list[str], units: dict[str, str]) -> Iterator[tuple[str, str]]:
    import numpy as np

    from tcpdynamics.solvers.results import REASONS
    from tcpdynamics.solvers.stability.operating_point import ON_SWITCH
    from tcpdynamics.solvers.stability.stability_chart import VERDICTS

    size = int(result["status"].size)
    sides = ", ".join(_side(d, result[d].values, units.get(d, "1")) for d in dims)
    yield "grid", f"{sides}: {size:,} point{'s' * (size > 1)}"
    verdict = _verdicts(result)
    for code, word in VERDICTS.items():
        count = int((verdict == code).sum())
        if word != "unknown" and (count or word != "marginal"):
            yield word, f"{count:,} ({100 * count / size:.1f} %)"
    codes, counts = np.unique(result.status.values, return_counts=True)
    for code, count in zip(codes, counts, strict=True):
        if code == ON_SWITCH:
            unknown = int((verdict[result.status.values == code] == 2).sum())
            yield (
                "on a switch",
                f"{count:,} of these points, judged by both sides"
                + (
                    f"; {unknown:,} of them cannot be decided so and are without a verdict" if unknown else ""
                ),
            )
        elif code:
            yield "without", f"{count:,}: {REASONS[code] if code < len(REASONS) else f'status {code}'}"
    if "boundary_axis" in result:
        yield from _boundary(result, dims)
    else:
        yield "boundary", "not traced where blocks go to a store"
    if "margin" in result:
        yield from _closed_form(result, verdict, dims)


def _side(name: str, values: Any, unit: str) -> str:
    ends = f"{values.min():g} to {values.max():g}" + (f" {unit}" if unit != "1" else "")
    return f"{name} {ends} ({len(values):,})"


def _boundary(result: xr.Dataset, dims: list[str]) -> Iterator[tuple[str, str]]:
    import numpy as np

    crossings = result.sizes.get("crossing", 0)
    named = [d for d in dims if f"boundary_{d}" in result]
    if not crossings or not named:
        yield "boundary", "none between the points of this grid"
        return
    yield "boundary", f"{crossings:,} crossing{'s' * (crossings > 1)}, such as"
    for i in np.unique(np.linspace(0, crossings - 1, SHOWN).round().astype(int)):
        place = ", ".join(f"{d} = {float(result[f'boundary_{d}'][i]):.9g}" for d in named)
        yield "", place


def _closed_form(result: xr.Dataset, verdict: Any, dims: list[str]) -> Iterator[tuple[str, str]]:
    """How the model's margin compares: its sign at the points, its size at the crossings."""
    import numpy as np

    margin = result.margin.values
    known = np.isfinite(margin) & (verdict != 2)
    other = int((known & (((verdict == -1) & (margin < 0)) | ((verdict == 1) & (margin > 0)))).sum())
    yield (
        "closed form",
        (f"says otherwise at {other:,} points" if other else f"agrees at all {int(known.sum()):,} points"),
    )
    if not result.sizes.get("crossing", 0) or "boundary_margin" not in result:
        return
    size = np.abs(result.boundary_margin.values)
    zero = size <= _ZERO * max(1.0, float(np.abs(margin[known]).max(initial=0.0)))
    if zero.any():
        told = (
            f"its margin is zero to {size[zero].max():.1g} at {int(zero.sum()):,} of {size.size:,} crossings"
        )
        yield "", told
    off = np.flatnonzero(np.isfinite(size) & ~zero)
    if off.size:
        named = [d for d in dims if f"boundary_{d}" in result]
        place = ", ".join(f"{d} = {float(result[f'boundary_{d}'][off[0]]):.6g}" for d in named)
        yield (
            "",
            (
                f"elsewhere up to {size[off].max():.3g} (first at {place}): there stability ends in a jump, or the "
                "equilibrium lies on a switch"
            ),
        )


def _rows(result: xr.Dataset, dims: list[str]) -> Iterator[list[str]]:
    import numpy as np

    from tcpdynamics.solvers.stability.stability_chart import VERDICTS

    value = "radius" if "radius" in result else "abscissa"
    have = [k for k in (value, "margin") if k in result]
    yield [*dims, "verdict", *have]
    verdict = _verdicts(result)
    for index in np.ndindex(*verdict.shape):
        place = [f"{result[d].values[i]:.6g}" for d, i in zip(dims, index, strict=True)]
        numbers = [f"{result[k].values[index]:.6g}" for k in have]
        yield [*place, VERDICTS[int(verdict[index])], *numbers]
