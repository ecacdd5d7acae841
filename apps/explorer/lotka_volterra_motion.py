"""The motion of Lotka-Volterra flows as the page runs it: programs, equilibria, boundaries, orbits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.models import (
    Logistic,
    LogisticAckClocked,
    LogisticDelayed,
    LogisticMap,
    LotkaVolterraCrossDelayed,
    LotkaVolterraDelayed,
    LotkaVolterraHeld,
    LotkaVolterraLink,
    LotkaVolterraMap,
    LotkaVolterraStale,
    LotkaVolterraThroughput,
    LotkaVolterraWindows,
    per_flow,
)
from tcpdynamics.models.lotka_volterra.presence import joining
from tcpdynamics.solvers import boundary_curves, stability_chart
from tcpdynamics.solvers.equations import System, compile_system
from tcpdynamics.solvers.problems import DDE, ODE, Map
from tcpdynamics.solvers.programs.straightline import Builder, Program, run

from .page import Values, program_of

#: Readings of the law: of what A_i is, how old it is, and when it is applied.
READINGS: dict[str, type[Any]] = {
    cls.reading: cls
    for cls in (
        LotkaVolterraDelayed, LotkaVolterraCrossDelayed, LotkaVolterraWindows, LotkaVolterraLink,
        LotkaVolterraThroughput, LotkaVolterraMap, LotkaVolterraStale, LotkaVolterraHeld,
    )
}  # fmt: skip
#: One flow alone under the same rule.
ALONE: dict[str, type[Any]] = {
    "delayed": LogisticDelayed, "map": LogisticMap, "stale": LogisticMap, "held": LogisticAckClocked,
}  # fmt: skip
DELAYED = ("delayed", "cross-delayed")
LINKED = ("link", "throughput")
#: Readings that can lose their stability.
BOUNDED = ("delayed", "cross-delayed", "map", "stale", "held")
#: Rates at time 0, as shares of the first flow's capacity: the first flow's and the last one's.
FIRST, LAST = 0.02, 0.3
#: Times that a trajectory is drawn at.
TIMES = 400
#: The chart of exact roots: the gains' ends, how many they are, and how many values stand on the other axis.
LEAST_GAIN, HIGHEST_GAIN, GAINS, GRID = 0.05, 4.0, 21, 27
#: How exact a crossing is, in steps of the grid: a thousandth of what a picture shows.
DRAWN = 1e-4
#: Products of gain and delay at which roots are sought, and points of a curve.
PRODUCTS, POINTS = 31, 60
GRIDS = {"delay": np.linspace(0.02, 3.0, GRID), "gamma": np.linspace(0.0, 0.98, GRID)}
#: Of a map: gains, and steps before and while the sum is kept.
ENDS, BEFORE, KEPT = 190, 1000, 64
INPUTS = ("epsilon", "gamma", "capacity", "ratio", "delay", "link", "joins", "leaves")


def fields_of(values: Values) -> dict[str, Any]:
    """Fields of the reading's model, but for the capacities."""
    reading = values["reading"]
    fields: dict[str, Any] = {k: values[k] for k in ("epsilon", "gamma")} | {"flows": int(values["flows"])}
    fields |= {"delay": values["delay"]} if reading in DELAYED else {}
    return fields | ({"link": values["link"]} if reading in LINKED else {})


def capacities_of(values: Values) -> list[float]:
    """Rates of the access links, in even steps from the first flow's to the last one's [packet/s]."""
    capacities: list[float] = np.linspace(1.0, values["ratio"], int(values["flows"])).tolist()
    return [values["capacity"] * c for c in capacities]


def motion_of(model: Any) -> ODE | DDE | Map:
    """The one problem of motion that a model has."""
    kind = next(k for k in ("dde", "map", "ode") if hasattr(model, k))
    problem: ODE | DDE | Map = getattr(model, kind)()
    return problem


def problem_of(values: Values) -> ODE | DDE | Map:
    """The motion, the last flow joining and the first one leaving, with the rates sent as outputs."""
    import sympy

    model = READINGS[values["reading"]](**fields_of(values), capacity=per_flow(capacities_of(values)))
    problem = motion_of(model)
    first, last = problem.labels[0], problem.labels[-1]
    joins, leaves = sympy.symbols("joins leaves", real=True)
    times = {first: (-1, leaves), last: (joins, sympy.oo)}
    motion = joining(problem, times, joins=values["joins"], leaves=values["leaves"])
    rates = values["capacity"] * np.linspace(values["begin_1"], values["begin_n"], len(problem.labels))
    return replace(motion, start=dict(zip(problem.labels, rates.tolist(), strict=True)))


#: Where a program is made, parameters may have any values.
SOME = {
    "epsilon": 1.0, "gamma": 0.5, "capacity": 100.0, "ratio": 1.5, "delay": 1.0, "link": 120.0, "joins": 5.0,
    "leaves": 50.0, "begin_1": FIRST, "begin_n": LAST,
}  # fmt: skip


@lru_cache(maxsize=64)
def _system(reading: str, flows: float) -> System:
    return compile_system(problem_of(SOME | {"reading": reading, "flows": flows}))


def flows_program(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The right-hand side."""
    system = _system(values["reading"], values["flows"])
    builder = Builder()
    placed = builder.extend(system.rhs, _inputs(builder, len(system.labels)))
    about = {
        "shares": np.linspace(FIRST, LAST, len(system.labels)).tolist(),
        "map": isinstance(system.problem, Map),
        "lag": int(values["reading"] == "stale"),
        "delayed": len(system.delayed),
    }
    names = (*system.labels, *system.delayed, "t", *INPUTS)
    return builder.build([placed[i] for i in system.rhs.outputs]), names, about


def sent_program(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The rates that flows send at; then equilibria: where the flows settle, flow 1 alone, the last flow alone."""
    values = SOME | dict(values)
    system = _system(values["reading"], values["flows"])
    model = READINGS[values["reading"]](**fields_of(values), capacity=per_flow(capacities_of(values)))
    together, alone, *_ = motion_of(model).fixed_points
    points = [together, alone, _last_alone(alone, system.labels)]
    rest = program_of({f"{i} {k}": point[k] for i, point in enumerate(points) for k in system.labels})
    builder = Builder()
    given, rows = _inputs(builder, len(system.labels)), list[int]()
    for program, count in ((system.outputs, len(system.labels)), (rest, len(rest.outputs))):
        placed = builder.extend(program, given)
        rows += [placed[i] for i in program.outputs[:count]]
    return builder.build(rows), (*system.labels, "t", *INPUTS), {"points": len(points)}


def _last_alone(alone: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """The last flow's rate where the others send nothing: that of flow 1 alone, with the last one's capacity."""
    import sympy

    first, last = labels[0], labels[-1]
    rate = sympy.sympify(alone[first])
    own = {s: sympy.Symbol(str(s).replace("[1]", f"[{len(labels)}]"), **s.assumptions0) for s in rate.free_symbols}
    return {k: rate.subs(own, simultaneous=True) if k == last else sympy.Integer(0) for k in labels}


def _inputs(builder: Builder, flows: int) -> dict[str, int]:
    """Where a program's inputs come from: capacities of `capacity` and `ratio`; measurements every round trip."""
    one, capacity, ratio = builder.const(1), builder.input("capacity"), builder.input("ratio")
    given = {"period": one}
    for i in range(flows):
        part = builder.div(builder.const(i), builder.const(max(flows - 1, 1)))
        factor = builder.add(one, builder.mul(part, builder.sub(ratio, one)))
        given[f"capacity[{i + 1}]"] = builder.mul(capacity, factor)
    return given


def alone_model(values: Values) -> Any:
    fields = {k: values[k] for k in ("epsilon", "capacity")}
    if values["reading"] == "delayed":
        fields["delay"] = values["delay"]
    return ALONE.get(values["reading"], Logistic)(**fields, start=values["begin_1"] * values["capacity"])


def alone_program(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The right-hand side of one flow alone: the logistic equation of the same reading."""
    problem = motion_of(alone_model(SOME | dict(values)))
    system = compile_system(problem)
    builder = Builder()
    given = {
        k: builder.const(float(np.asarray(v)))
        for k, v in problem.parameters.items()
        if k in ("gamma", "cross_traffic", "period")
    }
    placed = builder.extend(system.rhs, given)
    program = builder.build([placed[i] for i in system.rhs.outputs])
    return program, ("w", "w_d", "epsilon", "capacity"), {"delayed": len(system.delayed)}


def margin_program(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The margin of stability for flows alike, in closed form: stable where above 0."""
    import sympy

    names = ("epsilon", "gamma", "delay")
    symbols = dict(zip(names, sympy.symbols(names, positive=True), strict=True))
    fields = fields_of(SOME | dict(values) | symbols)
    fields.pop("link", None)
    margin = READINGS[values["reading"]](**fields).stability_margin()
    return program_of({"margin": margin}), names, {}


@lru_cache(maxsize=64)
def _settling(reading: str, flows: float) -> ODE | DDE | Map:
    """A reading's motion, made once: its formulas take longer than its roots."""
    values = SOME | {"reading": reading, "flows": flows}
    return motion_of(READINGS[reading](**fields_of(values), capacity=per_flow(capacities_of(values))))


@lru_cache(maxsize=256)
def _exact_boundary(across: str, items: tuple[tuple[str, Any], ...]) -> list[Any]:
    values = dict(items)
    gains, rates = np.linspace(LEAST_GAIN, HIGHEST_GAIN, GAINS), enumerate(capacities_of(values))
    fields: dict[str, Any] = {k: values[k] for k in ("gamma", "delay", "link") if k in values}
    fields |= {"epsilon": gains, across: GRIDS[across]} | {f"capacity[{i + 1}]": k for i, k in rates}
    motion = _settling(values["reading"], values["flows"])
    if across == "delay":
        return _along_delay(motion, fields)
    chart = stability_chart(motion.at(**fields), tolerance=DRAWN)
    return [
        [np.round(curve[f"boundary_{name}"].values, 6).tolist() for name in (across, "epsilon")]
        for curve in boundary_curves(chart)
    ]


def _along_delay(motion: ODE | DDE | Map, fields: dict[str, Any]) -> list[Any]:
    """The boundary over the delay.

    The gain is a factor of the whole right-hand side: with 1/epsilon as the unit of time, only the product of gain and
    delay is left, so the roots along one line tell all.
    """
    delays = GRIDS["delay"]
    products = np.linspace(LEAST_GAIN * delays[0], HIGHEST_GAIN * delays[-1], PRODUCTS)
    chart = stability_chart(motion.at(**fields | {"epsilon": products, "delay": 1.0}), tolerance=DRAWN / PRODUCTS)
    curves = []
    for product in np.sort(chart["boundary_epsilon"].values):
        ends = np.clip(product / np.array([HIGHEST_GAIN, LEAST_GAIN]), delays[0], delays[-1])
        places = np.geomspace(float(ends[0]), float(ends[1]), POINTS)
        curves.append([np.round(places, 6).tolist(), np.round(product / places, 6).tolist()])
    return curves


def across_of(values: Values) -> str:
    """What stands across in the chart: a delay where the reading has one."""
    return "delay" if values["across"] == "delay" and values["reading"] in DELAYED else "gamma"


def exact_boundary(values: Values, typed: str = "") -> dict[str, Any]:
    """An answer: where the flows stop settling, by exact roots, with these access links; curves of (across, gain)."""
    across = across_of(values)
    reading = values["reading"]
    names = [
        "reading",
        "flows",
        "gamma",
        "ratio",
        *(["delay"] if reading in DELAYED else ["link"] * (reading in LINKED)),
    ]
    scale = {"capacity": values["capacity"] if reading in LINKED else 1.0}  # rates in units of the first link are alike
    kept = {k: values[k] for k in names} | scale | {across: 0.0}
    return {"curves": _exact_boundary(across, tuple(kept.items()))}


def points_of_rest(**point: Any) -> list[list[float]]:
    """The model's fixed points at values of the controls: the first is where the flows settle."""
    n = int(point["flows"])
    program, inputs, about = sent_program(point)
    given = dict.fromkeys(inputs, 0.0) | {k: point[k] for k in inputs if k in point}
    rows = run(program, given | {"joins": -1.0, "leaves": 1e9})
    return [rows[n * (i + 1) : n * (i + 2)] for i in range(about["points"])]


def nullclines(top: float, **point: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Places up to `top`, and where the first and the last flow do not change there, the others at equilibrium."""
    n, places, settled = int(point["flows"]), np.linspace(1e-6 * top, top, 60), points_of_rest(**point)[0]
    program, inputs, about = flows_program(point)
    labels, delayed = inputs[:n], inputs[n : n + about["delayed"]]
    fixed = {k: point[k] for k in INPUTS if k in point} | {"t": 0.0, "joins": -1.0, "leaves": 1e9}

    def grows(i: int, first: float, last: float) -> bool:
        state = [first, *settled[1:-1], last]
        slope = run(program, fixed | dict(zip(labels, state, strict=True)) | dict(zip(delayed, state, strict=False)))
        return bool((slope[i] - state[i] if about["map"] else slope[i]) > 0)

    def still(i: int, place: float) -> float:
        def positive(own: float) -> bool:
            return grows(i, own, place) if i == 0 else grows(i, place, own)

        if not positive(1e-9 * top):
            return float("nan")
        low, high = 0.0, 4 * top
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if positive(max(middle, 1e-9 * top)) else (low, middle)
        return (low + high) / 2

    lines = [np.array([still(i, place) for place in places.tolist()]) for i in (0, n - 1)]
    return places, lines[0], lines[1]


def ends_of_a_map(**point: Any) -> list[tuple[float, float]]:
    """(gain, sum of the rates) at the steps in which a map ends up; none of a gain with which it leaves its interval.

    Step by step with the page's own program: where a map is chaotic, one other rounding gives another orbit.
    """
    program, inputs, about = flows_program(point)
    n = int(point["flows"])
    labels, delayed = inputs[:n], inputs[n : n + about["delayed"]]
    gains = LEAST_GAIN + (HIGHEST_GAIN - LEAST_GAIN) * np.arange(ENDS) / (ENDS - 1)
    fixed = {k: point[k] for k in INPUTS if k in point} | {"epsilon": gains, "joins": -1.0, "leaves": 1e9}
    state = [np.full(ENDS, share * point["capacity"]) for share in about["shares"]]
    before, within = state, np.full(ENDS, True)
    first = np.ceil(BEFORE * np.maximum(1.0, 1.0 / gains))
    kept = np.empty((ENDS, KEPT))
    for i in range(int(first[0]) + KEPT):
        past = before if about["lag"] else state
        given = dict(zip(labels, state, strict=True)) | dict(zip(delayed, past, strict=False))
        with np.errstate(all="ignore"):
            rates = run(program, fixed | given | {"t": float(i)})
            before, state = state, [np.broadcast_to(rate, ENDS) for rate in rates]
            total = sum(state, np.zeros(ENDS))
            within &= (np.abs(total) < 100 * point["capacity"]) | (i >= first + KEPT)
        rows = np.flatnonzero((i >= first) & (i < first + KEPT))
        kept[rows, i - first[rows].astype(int)] = total[rows]
    return [(float(gains[k]), float(s)) for k in np.flatnonzero(within) for s in kept[k]]
