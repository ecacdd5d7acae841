"""Stability in words: the verdict on one point with the roots behind it, and what a chart says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import DynamicsError

from .choice import Chosen
from .outputs import subtitle, table, units_of

if TYPE_CHECKING:
    import numpy as np
    import xarray as xr
    from numpy.typing import NDArray

    from tcpdynamics.solvers.stability.operating_point import At


#: Characteristic roots of a delay equation that are shown.
_ROOTS = 6

#: An imaginary part this small beside its root is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Point:
    """What is known of one point.

    Attributes
    ----------
    verdict : str
    roots : Dataset, of `eigenvalues` or `characteristic_roots`, with what `convergence` says
    margin : float or None, in closed form
    meaning : str, what the model says of its margin
    at : mapping state -> value, where it rests
    units : mapping state -> unit
    on_switch : bool, whether the point lies on a switch of the equations: then its roots stand under names that end in
        "_side"
    growth : float or None, exponent or multiplier by which small deviations grow in the long run, on a switch
    """

    verdict: str
    roots: xr.Dataset
    margin: float | None
    meaning: str
    at: dict[str, float]
    units: dict[str, str]
    on_switch: bool = False
    growth: float | None = None

    @property
    def is_map(self) -> bool:
        """Whether roots are multipliers."""
        return bool(self.root_values.attrs["units"] == "1")

    @property
    def root_values(self) -> xr.DataArray:
        """The roots, the decisive one first."""
        return self.roots["eigenvalue" if "eigenvalue" in self.roots else "characteristic_root"]

    @property
    def sides(self) -> dict[str, list[complex]]:
        """The roots of each linearisation, the decisive one first: one, or two on a switch."""
        if not self.on_switch:
            return {"": list(self.root_values.values.ravel())}
        both = self.roots[f"{self.root_values.name}_side"].values.reshape(2, -1)
        return {"below": list(both[0]), "above": list(both[1])}

    def number(self, name: str) -> float:
        """What `convergence` says."""
        return float(self.roots[name])

    def line(self) -> str:
        """The verdict in one line."""
        if self.on_switch:
            return self._line_on_switch()
        z = complex(self.root_values.values.flat[0])
        unit = self.roots["time_constant"].attrs["units"]
        if self.is_map:
            root = f"spectral radius {abs(z):.6g}, multiplier {_complex(z)}"
        else:
            root = f"spectral abscissa {z.real:.6g}/{unit}, root {_complex(z)}"
        return f"{self.verdict}: {root}; {self.speed()}, {self.swing()}"

    def _line_on_switch(self) -> str:
        kind = "multiplier" if self.is_map else "root"
        per_side = []
        for name, roots in self.sides.items():
            jumps = not roots or math.isnan(roots[0].real)
            per_side.append(f"{name} it " + ("the equations jump" if jumps else f"the {kind} {_complex(roots[0])}"))
        return f"{self.verdict}: on a switch of the equations, {', '.join(per_side)}; {self._speed_on_switch()}"

    def _speed_on_switch(self) -> str:
        if self.verdict == "unknown":
            return "the two sides do not decide"
        if self.growth is None or self.verdict == "marginal":
            return {"stable": "deviations die out", "unstable": "some deviations grow"}.get(
                self.verdict, "small deviations neither grow nor die out"
            )
        size = self.growth
        rate = (math.log(size) if size > 0 else -math.inf) if self.is_map else size
        if math.isinf(rate):
            return "deviations " + ("grow" if rate > 0 else "die out") + " at once"
        if rate > 0:
            return f"deviations grow e-fold in {self._time(1 / rate)}"
        return f"settles to 1 % in {self._time(math.log(100.0) / -rate)}"

    def speed(self) -> str:
        """How fast small deviations change."""
        if self.verdict == "marginal":
            return "small deviations neither grow nor die out"
        if self.verdict == "unstable":
            return f"deviations grow e-fold in {self._time(1 / float(self.roots['exponent'].real))}"
        return f"settles to 1 % in {self._time(self.number('settling_time'))}"

    def swing(self) -> str:
        """The oscillation."""
        frequency = self.number("frequency")
        exponent = complex(self.roots["exponent"])
        if not frequency > 0 or abs(exponent.imag) < _ROUNDING * abs(exponent):
            return "no oscillation"
        return f"oscillation with a period of {self._time(1 / frequency)}"

    def _time(self, value: float) -> str:
        unit = self.roots["time_constant"].attrs["units"]
        return f"{value:.4g} {unit}" + ("" if unit in ("s", "RTT") else "s")


def judge(chosen: Chosen, at: At | None = None) -> Point:
    """Judge the one point that was chosen.

    Raises
    ------
    DynamicsError
        There is no equilibrium, or its roots are not certain.
    """
    import numpy as np

    from tcpdynamics.solvers import DDE, characteristic_roots, convergence, eigenvalues
    from tcpdynamics.solvers.results import Status, reason
    from tcpdynamics.solvers.stability.operating_point import operating_point
    from tcpdynamics.solvers.stability.stability_chart import VERDICTS, stability_chart

    problem = chosen.problem
    # The verdict's bound of the error is that of charts: a chart of one point.
    one = next((k for k, v in problem.parameters.items() if np.ndim(v) == 0), None)
    if one is None:
        raise DynamicsError(f"{problem.name} has no parameter to be judged by")
    chart = stability_chart(problem.at(**{one: [float(problem.parameters[one])]}), at=at, trace=False)
    code = int(chart.status.values.flat[0])
    on_switch = code == Status.ON_SWITCH
    if code and not on_switch:
        raise DynamicsError(f"no verdict for {problem.name}: {reason(code)}; try other parameters")
    if isinstance(problem, DDE):
        roots = characteristic_roots(problem, at, count=_ROOTS)
    else:
        roots = eigenvalues(problem, at)
    speed = convergence(problem, at).rename(root="exponent").drop_vars("status")
    _, states, _ = operating_point(problem, at)
    units = {label: problem.units.get(label.partition("[")[0], "1") for label in problem.labels}
    equilibrium = {label: float(x) for label, x in zip(problem.labels, states[:, 0], strict=True)}
    margin = getattr(type(chosen.model), "stability_margin", None)
    meaning = (margin.__doc__ or "").strip().partition("\n")[0].removesuffix(".") if margin else ""
    if meaning[1:2].islower():  # it stands in the middle of a sentence
        meaning = meaning[0].lower() + meaning[1:]
    growth = float(chart["radius" if "radius" in chart else "abscissa"].values.flat[0])
    return Point(
        VERDICTS[int(chart.verdict.values.flat[0])],
        roots.assign(dict(speed.data_vars)),
        margin_of(chosen),
        meaning,
        equilibrium,
        units,
        on_switch,
        None if math.isnan(growth) or not on_switch else growth,
    )


def margin_of(chosen: Chosen) -> float | None:
    """The model's closed-form margin, if it has one for these parameters."""
    from tcpdynamics.solvers import DomainError, DynamicsError

    if not chosen.whole or not hasattr(chosen.model, "stability_margin"):
        return None
    try:
        value = float(chosen.model.stability_margin())
    except (DomainError, DynamicsError):
        return None
    return value if math.isfinite(value) else None


def point_lines(point: Point, title: str) -> Iterator[str]:
    """The verdict, where the point rests, and its roots."""
    yield title
    yield point.line()
    equilibrium = ", ".join(f"{k} = {v:.6g} {point.units[k]}".removesuffix(" 1") for k, v in point.at.items())
    yield f"at rest: {equilibrium}"
    if point.margin is not None:
        yield f"closed form: margin {point.margin:.6g}" + (f", {point.meaning}" if point.meaning else "")
    kind = "multiplier" if point.is_map else f"root [{point.root_values.attrs['units']}]"
    for side, roots in point.sides.items():
        rows = [[kind, "modulus" if point.is_map else "damping ratio"]]
        for z in roots:
            if not math.isnan(z.real):
                size = abs(z)
                rows.append([_complex(z), f"{size if point.is_map else (-z.real / size if size else 1.0):.6g}"])
        if side:
            yield f"{side} the switch" + (": none, the equations jump" if len(rows) == 1 else "")
        if len(rows) > 12:
            yield f"the first 10 of {len(rows) - 1} roots"
        if len(rows) > 1 or not side:
            yield table(rows[:11] if len(rows) > 12 else rows)


def _complex(z: complex) -> str:
    """A root as people write it; rounding in one part beside the other is not shown."""
    real, imag = z.real, z.imag
    if abs(imag) <= 1e-12 * abs(real):
        return f"{real + 0.0:.6g}"
    if abs(real) <= 1e-12 * abs(imag):
        return f"{imag:.6g}i"
    return f"{real:.6g}{imag:+.6g}i"


#: Points of a chart that are listed one by one, and points of the boundary that are shown.
ROWS = 30
SHOWN = 5

#: Relative size of a margin that is zero but for rounding and the tolerance of the boundary.
_ZERO = 1e-8


def chart_lines(chosen: Chosen, result: xr.Dataset) -> Iterator[str]:
    """A row for each point of a small chart, else a summary; then the boundary and the closed form."""
    units = units_of(chosen)
    yield subtitle(chosen)
    dims = [str(d) for d in result["status"].dims]
    if result["status"].size <= ROWS:
        yield table(list(_rows(result, dims)))
    for name, value in _summary(result, dims, units):
        yield f"{name:14s}{value}"


def _verdicts(result: xr.Dataset) -> NDArray[np.int8]:
    """Codes, also of a store, which holds 0 for points without a result. A point on a switch may have a verdict."""
    import numpy as np

    from tcpdynamics.solvers.results import Status

    return np.where(np.isin(result.status.values, (0, Status.ON_SWITCH)), result.verdict.values, 2)


def _summary(result: xr.Dataset, dims: list[str], units: dict[str, str]) -> Iterator[tuple[str, str]]:
    import numpy as np

    from tcpdynamics.solvers.results import Status, reason
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
        if code == Status.ON_SWITCH:
            unknown = int((verdict[result.status.values == code] == 2).sum())
            yield (
                "on a switch",
                f"{count:,} of these points, judged by both sides"
                + (f"; {unknown:,} of them cannot be decided so and are without a verdict" if unknown else ""),
            )
        elif code:
            yield "without", f"{count:,}: {reason(code)}"
    if "boundary_axis" in result:
        yield from _boundary(result, dims)
    else:
        yield "boundary", "not traced"
    if "margin" in result:
        yield from _closed_form(result, verdict, dims)


def _side(name: str, values: NDArray[Any], unit: str) -> str:
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


def _closed_form(result: xr.Dataset, verdict: NDArray[np.int8], dims: list[str]) -> Iterator[tuple[str, str]]:
    """How the model's margin compares: its sign at the points, its size at the crossings."""
    import numpy as np

    margin = result.margin.values
    finite = np.isfinite(margin) & (verdict != 2)
    other = int((finite & (((verdict == -1) & (margin < 0)) | ((verdict == 1) & (margin > 0)))).sum())
    yield (
        "closed form",
        (f"says otherwise at {other:,} points" if other else f"agrees at all {int(finite.sum()):,} points"),
    )
    if not result.sizes.get("crossing", 0) or "boundary_margin" not in result:
        return
    size = np.abs(result.boundary_margin.values)
    zero = size <= _ZERO * max(1.0, float(np.abs(margin[finite]).max(initial=0.0)))
    if zero.any():
        yield ("", f"its margin is zero to {size[zero].max():.1g} at {int(zero.sum()):,} of {size.size:,} crossings")
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
