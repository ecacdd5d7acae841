"""What do lost acknowledgements cost M/TCP, and which one-way times can its estimates contain?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tcpdynamics.models import MtcpThroughput, OneWayTimes
from tcpdynamics.solvers.programs.straightline import Program

from .. import numbers_mtcp as numbers
from ..page import Control, Figure, Page, Preset, Printed, Values, control, program_of
from ..recorded import over_readings, published
from ..shown import shown

#: Drop probabilities, and acknowledgements, of the pictures.
MOST, POINTS = 0.5, 101
ACKS = 300

_INPUTS = ("loss", "rtt", "timeout", "window_limit", "ack_loss", "alpha")
_ESTIMATES = ("difference_factor", "common_factor", "noise_gain")


_LAW = ("loss", "rtt", "timeout", "window_limit")


def _routes(values: Values) -> int:
    return int(values["routes"])


def _round_trip(values: Values) -> float:
    return float(values["true_round_trip"])


def _words(values: Values) -> str:
    words = (f"--{name.replace('_', '-')} {values[name]!r}" for name in _LAW)
    return f"tcpdynamics evaluate mtcp-throughput {' '.join(words)} --routes {_routes(values)}"


def _times(apart: str, sign: int) -> Callable[[Values], str]:
    """The code of the times there (sign 1) or back (-1)."""
    return shown(
        numbers.estimates, "alpha", routes=_routes, round_trip=_round_trip,
        apart=lambda values: values[apart], asymmetry=lambda values: sign * values["asymmetry"],
    )  # fmt: skip


def _law(s: dict[str, Any], ack_loss: Any) -> Any:
    """`PftkFull.throughput` with b = 1/(1 - ack_loss) as an expression: the model's own works on numbers only."""
    import sympy

    p, limit, b = s["loss"], s["window_limit"], 1 / (1 - ack_loss)
    q, mean = 1 - p, (2 + b) / (3 * b)
    unlimited = mean + sympy.sqrt(8 * q / (3 * b * p) + mean**2)
    window = sympy.Min(unlimited, limit)
    rest = 1 - q ** (sympy.Max(window, 3) - 3)
    timeouts = sympy.Min(1, (1 - q**3) * (1 + q**3 * rest) / (1 - q**window))
    limited, free = b * window / 8 + q / (p * window) + 2, b * window / 2 + 1
    rounds = sympy.Piecewise((limited, unlimited >= limit), (free, True), evaluate=False)
    sequence = 1 + p + sum(2**k * p ** (k + 1) for k in range(1, 6))
    return (q / p + window + timeouts / q) / (s["rtt"] * rounds + s["timeout"] * timeouts * sequence / q)


def _forms(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Closed forms of the throughput and of the estimates in what the sliders move."""
    import sympy

    routes = int(values["routes"])
    s = {name: sympy.Symbol(name, positive=True) for name in _INPUTS}
    q = s["ack_loss"]
    rows = {"reno": _law(s, q), "immediate": routes * _law(s, q), "duplicated": routes * _law(s, q**routes)}
    times = OneWayTimes(alpha=s["alpha"], routes=routes)
    rows |= {f"{name}_factor": rows[name] / (routes * _law(s, 0 * q)) for name in ("immediate", "duplicated")}
    rows |= {name: getattr(times, name)() for name in _ESTIMATES}
    about = {"rows": list(rows), "losses": [0.0, MOST, POINTS], "acks": ACKS}
    return program_of(rows), _INPUTS, about


@cache
def recorded() -> dict[str, Any]:
    """Table 4 as printed, and in packets over all interpretations."""
    schemes = ("reno", "immediate", "duplicated", "duplicated_delayed")
    names = {scheme: [f"mtcp.table4.{scheme}.{100 * q:.0f}" for q in numbers.LOSSES] for scheme in schemes}
    return {
        "losses": numbers.LOSSES, "packet": numbers.PACKET, "ways": numbers.WAYS,
        "printed": {scheme: [published(name) for name in cells] for scheme, cells in names.items()},
        "packets": {scheme: [over_readings(name) for name in cells] for scheme, cells in names.items()},
    }  # fmt: skip


def dataset(values: Values) -> Any:
    """The closed forms against the drop probability of ACKs, and the factors of the estimates."""
    import xarray as xr

    throughput = MtcpThroughput(
        **{name: values[name] for name in ("loss", "rtt", "timeout", "window_limit")},
        ack_loss=np.linspace(0.0, MOST, POINTS),
        routes=int(values["routes"]),
    )
    times = OneWayTimes(alpha=values["alpha"], routes=int(values["routes"]))
    return xr.merge([throughput.closed_forms(), times.closed_forms()], combine_attrs="drop")


PAGE = Page(
    slug="mtcp",
    title="M/TCP",
    question="What do lost acknowledgements cost over several routes, and which one-way times can be measured?",
    controls=(
        control(MtcpThroughput, "routes", 2, 6, 2),
        control(MtcpThroughput, "loss", 0.001, 0.3, 0.02, 0.001, percent=True),
        control(MtcpThroughput, "ack_loss", 0.0, MOST, 0.13, 0.001, percent=True),
        control(MtcpThroughput, "rtt", 0.01, 1.0, 0.073, 0.001),
        control(MtcpThroughput, "timeout", 0.1, 3.0, 0.292, 0.001),
        control(MtcpThroughput, "window_limit", 2.0, 64.0, 20.0, 0.5),
        control(OneWayTimes, "alpha", 0.0, 0.98, 0.875, 0.005),
        control(OneWayTimes, "true_round_trip", 0.01, 1.0, 0.1, 0.001),
        control(OneWayTimes, "true_there", -0.1, 0.1, 0.02, 0.001),
        control(OneWayTimes, "true_back", -0.1, 0.1, -0.01, 0.001),
        Control("asymmetry", "a", "s", "true mean time there less that back", -0.2, 0.2, 0.02, 0.001),
    ),
    main=("ack_loss", "routes", "loss", "asymmetry"),
    presets=(
        Preset("Table 4 of the paper, 13 % of the acknowledgements lost", {"ack_loss": 0.13}),
        Preset("routes that differ only there against back", {"true_there": 0.0, "true_back": 0.0, "asymmetry": 0.08}),
        Preset("four routes", {"routes": 4.0}),
    ),
    facts=lambda whole: {"recorded": recorded()},
    figures=(
        Figure(
            "throughput", "Throughput of all routes",
            "Curves: throughput of M/TCP, by scheme, and of Reno over one route, against the drop probability of ACKs; "
            "points: Table 4 of the paper",
            code=shown(numbers.throughput, *_LAW, routes=_routes),
            command=lambda values: f"{_words(values)} --ack-loss 0:0.5:101",
        ),
        Figure(
            "losses", "Acknowledgements that are lost whole",
            "Curves: probability that nothing of an acknowledgement arrives, by scheme, against the drop probability "
            "on a route",
            code=shown(numbers.losses, routes=_routes),
        ),
        Figure(
            "there", "One-way times there",
            "Curves: mean estimates of the times there over two routes, and the true ones, from one acknowledgement to "
            "the next",
            code=_times("true_there", 1),
        ),
        Figure(
            "back", "One-way times back",
            "Curves: mean estimates of the times back over two routes, and the true ones, from one acknowledgement to "
            "the next",
            code=_times("true_back", -1),
        ),
        Figure(
            "errors", "What is left of an error",
            "Curves: fraction of an error that is left after some acknowledgements, of the mean round trip, of "
            "differences between routes, and of the constant between there and back",
            code=shown(numbers.errors, "alpha", routes=_routes),
        ),
        Figure(
            "schemes", "At this loss", "Numbers: loss and throughput by scheme", "facts",
            shown(numbers.schemes, *_LAW, "ack_loss", routes=_routes),
            lambda values: f"{_words(values)} --ack-loss {values['ack_loss']!r}",
        ),
        Figure(
            "facts", "What the estimates contain", "Numbers: factors, acknowledgements needed, the constant that stays",
            "facts", shown(numbers.facts, "alpha", "asymmetry", routes=_routes, round_trip=_round_trip),
            lambda v: f"tcpdynamics evaluate one-way-times --alpha {v['alpha']!r} --routes {_routes(v)}",
        ),
        Figure(
            "table4", "Table 4, at the printed loss next to the slider's",
            "Points: throughput of four schemes as printed, by the model, and in packets; bars over all settings that "
            "the paper leaves open",
            code=shown(numbers.table4, *_LAW, "ack_loss", routes=_routes),
        ),
        Figure(
            "clocks", "One-way times, and the round trips that they make",
            "Bars: times of two routes there and back and the four round trips, true and as the estimates end",
            code=shown(numbers.clocks, "asymmetry", round_trip=_round_trip, there=lambda values: values["true_there"],
                       back=lambda values: values["true_back"]),
        ),
    ),
    printed=(Printed("forms", ("routes",), _forms),),
    dataset=dataset,
    notes=(
        "Immediate acknowledgements take a random route. Duplicated ones, delayed or not, take all routes and are lost "
        "only if every copy is. The model of each route is a TCP of its own with the formula of Padhye et al.",
        "Estimates begin at zero, and are means over random pairs of routes. Routes 1 and 2 differ by the sliders' "
        "differences; further routes are average.",
        "Each measurement is a sum of a time there and one back. A constant added to all times there and taken from "
        "all times back changes no sum: no measurement shows it, and the estimates keep the one they began with. "
        "Timeouts are made of such sums, so they are right all the same.",
    ),
)  # fmt: skip
