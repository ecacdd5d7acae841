"""Do flows that react to each other's rates share a link fairly, and do they settle?"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from tcpdynamics.models import LotkaVolterraDelayed, LotkaVolterraLink
from tcpdynamics.solvers import trajectory

from .. import numbers_lotka_volterra as numbers
from ..lotka_volterra_motion import BOUNDED as BOUNDED
from ..lotka_volterra_motion import DELAYED as DELAYED
from ..lotka_volterra_motion import (
    FIRST,
    LAST,
    TIMES,
    across_of,
    alone_model,
    alone_program,
    capacities_of,
    fields_of,
    flows_program,
    margin_program,
    motion_of,
    problem_of,
    sent_program,
)
from ..lotka_volterra_motion import LINKED as LINKED
from ..lotka_volterra_motion import READINGS as READINGS
from ..lotka_volterra_motion import exact_boundary as exact_boundary
from ..page import Choice, Control, Figure, Page, Preset, Printed, Values, control
from ..recorded import interval, over_readings, published
from ..shown import code_of, shown

#: What each interpretation measures, and when.
MEANINGS = {
    "delayed": "All measurements are old, a flow's own rate and the others'.",
    "cross-delayed": "The others' rates are old; its own is current.",
    "windows": "What the others' windows leave of the path's own capacity.",
    "link": "What the others' windows leave of the shared link.",
    "throughput": "What is left of the shared link by what the others get through it.",
    "map": "One update per round trip.",
    "stale": "One update per round trip; the others' rates are a round trip old.",
    "held": "An update per acknowledgement; the others are measured once per round trip.",
}
#: What shapes the point at which programs of the page are run.
_POINT = ("reading", "flows", "gamma", "capacity", "ratio", "delay", "link")


def times_of(values: Values) -> Any:
    """When the motion is drawn: whole round trips for a map."""
    if values["reading"] in ("map", "stale", "held"):
        return np.arange(int(values["end"]) + 1.0)
    return np.linspace(0.0, values["end"], TIMES)


def dataset(values: Values) -> Any:
    """The motion that the page draws, by the library's Taylor series; `alone`, of one flow."""
    times = times_of(values)
    motion = trajectory(problem_of(values), times)
    return motion.assign(alone=trajectory(motion_of(alone_model(values)), times).w)


def _kind(values: Values) -> type[Any]:
    return READINGS[values["reading"]]


def _whole(values: Values) -> bool:
    """Whether time is counted in whole round trips."""
    return values["reading"] in ("map", "stale", "held")


def _chart(values: Values) -> str:
    across = across_of(values)
    fields = {k: v for k, v in fields_of(values).items() if k not in ("epsilon", across, "link")}
    arguments = {"kind": _kind(values), "across": across, "fields": fields}
    arguments["sliders"] = [values[across], values["epsilon"]]
    if values["ratio"] != 1 and values["reading"] in BOUNDED:
        arguments["exact"] = {k: values[k] for k in (*_POINT, "across")}
    return code_of(numbers.chart, arguments)


def _ends(values: Values) -> str:
    if hasattr(_kind(values), "map"):
        return code_of(numbers.orbit, {"point": {k: values[k] for k in _POINT}})
    fields = {k: v for k, v in fields_of(values).items() if k != "epsilon"}
    return code_of(numbers.ends, {"kind": _kind(values), "fields": fields, "capacities": capacities_of(values)})


def _begin(values: Values) -> tuple[float, float]:
    return values["begin_1"], values["begin_n"]


@cache
def recorded() -> dict[str, Any]:
    """Packets and published values of the pictures of sums and shares."""
    text = numbers.LINKS[2:5]
    return {
        "counts": numbers.COUNTS, "links": numbers.LINKS, "text": text,
        **{
            measured: [over_readings(f"logistic.sec32.packets.bound.{n}", others=measured, buffer="2 RTT")
                     for n in numbers.COUNTS]
            for measured in ("windows", "throughput")
        },
        "shares": [interval(f"logistic.fig8.share.{link}") for link in numbers.LINKS],
        "said": [published(f"logistic.fig8.text.{link}") for link in text],
    }  # fmt: skip


def command(values: Values) -> str:
    """The command that gives the verdict at the same point."""
    options = " ".join(f"--{k} {v!r}" for k, v in fields_of(values).items())
    capacities = capacities_of(values) if values["ratio"] != 1 else [values["capacity"]]
    options += "".join(f" --capacity {c!r}" for c in capacities)
    return f"tcpdynamics stability lotka-volterra --interpretation {values['reading']} {options}"


PAGE = Page(
    slug="lotka-volterra",
    title="Lotka-Volterra",
    question="Do flows that react to each other's rates share a link fairly, and do they settle?",
    controls=(
        Choice("reading", "", "interpretation of the equation", tuple(READINGS), MEANINGS),
        Choice("across", "", "horizontal axis of the stability chart", ("delay", "gamma")),
        control(LotkaVolterraDelayed, "flows", 2, 8, 2),
        control(LotkaVolterraDelayed, "epsilon", 0.1, 4, 1.95, 0.01),
        control(LotkaVolterraDelayed, "gamma", 0.0, 0.98, 0.9, 0.01),
        replace(
            control(LotkaVolterraDelayed, "delay", 0.0, 3.0, 0.5, 0.01, only=DELAYED), unit="RTT",
            meaning="age of the measurements",
        ),
        control(LotkaVolterraDelayed, "capacity", 10, 1000, 100, 10),
        Control("ratio", "K_n/K_1", "1", "last flow's access link over the first one's", 1, 4, 1, 0.01),
        control(LotkaVolterraLink, "link", 10, 2000, 100, 10, only=LINKED),
        Control("joins", "t_n", "RTT", "when the last flow joins", 0, 200, 0, 1),
        Control("leaves", "t_1", "RTT", "when the first flow leaves (400 = never)", 1, 400, 400, 1),
        Control("end", "t", "RTT", "time shown", 10, 400, 60, 1),
        Control("begin_1", "N_1(0)", "1", "start of the first flow, over its access link", 0.01, 1.5, FIRST, 0.01),
        Control("begin_n", "N_n(0)", "1", "start of the last flow, over the first access link", 0.01, 1.5, LAST, 0.01),
    ),
    main=("epsilon", "gamma", "delay", "reading"),
    presets=(
        Preset("Fig. 2 of the paper: a second flow joins", {"delay": 0.0, "joins": 10.0, "end": 100.0}),
        Preset("measurements 0.81 round trips old: it swings", {"delay": 0.81, "end": 200.0}),
        Preset("one update per round trip, gain 2.6: chaos", {"reading": "map", "epsilon": 2.6}),
        Preset("access links of 10 and 20 Mbit/s, eq. (9)", {"reading": "throughput", "ratio": 2.0, "link": 200.0}),
    ),
    facts=lambda whole: {"recorded": recorded()},
    figures=(
        Figure(
            "rates", "Rates of the flows", "Curves: the rate of each flow against time, and of a flow alone",
            code=shown(numbers.rates, "joins", "leaves", "end", kind=_kind, fields=fields_of, capacities=capacities_of,
                       alone=alone_model, begin=_begin, whole=_whole),
        ),
        Figure(
            "plane", "Two of the flows", "A plane of the first and the last flow's rates: the motion, where each "
            "is constant, and the equilibria; click or drag to move the start", "plane",
            shown(numbers.plane, "joins", "leaves", "end", kind=_kind, fields=fields_of, capacities=capacities_of,
                  begin=_begin, whole=_whole, point=lambda v: {k: v[k] for k in (*_POINT, "epsilon")}),
        ),
        Figure(
            "chart", "Where they settle", "A plane of the gain and of delay or weight: the boundary of stability, and "
            "a mark at the sliders; click or drag to move them", "plane", _chart, command,
        ),
        Figure(
            "ends", "Where the sum of the rates ends up", "Points: the sum of the rates after a long time, its least "
            "and its largest value where time is continuous, against the gain",
            code=_ends,
        ),
        Figure(
            "sums", "What all flows send at equilibrium", "Curves: the sum of the rates over the link against the "
            "number of flows, for two meanings of what is left; points: packets, with bars over all simulated settings",
            code=shown(numbers.sums, "gamma"),
        ),
        Figure(
            "shares", "What the slower access link gets", "Curves: the fraction of the first of two flows, behind 10 "
            "and 20 Mbit/s, against the rate of the link; points: packets with 95 % intervals, and the paper's text",
            code=shown(numbers.shares, point=lambda v: {k: v[k] for k in (*_POINT, "epsilon")}),
        ),
    ),
    printed=(
        Printed("flows", ("reading", "flows"), flows_program),
        Printed("sent", ("reading", "flows"), sent_program),
        Printed("alone", ("reading",), alone_program),
        Printed("margin", ("reading", "flows"), margin_program),
    ),
    served=("the boundary by exact roots for unequal access links",),
    dataset=dataset,
    answers={"boundary": exact_boundary},
    notes=(
        "A flow grows by a fraction epsilon of itself each round trip, less what it measures: its own rate, and gamma "
        "times the others'. At equilibrium the rates of n flows alike have the sum n K/(1 + (n - 1) gamma). It is more "
        "than K where gamma is below 1: each leaves room for a fraction of the others only. The surplus waits in the "
        "queue or is lost. The "
        "flows begin at equal steps between both starts; a flow alone "
        "is the logistic equation on the first access link.",
        "Shaded: the equilibrium is stable by the closed form, for flows alike. Click or drag in the chart, and "
        "the motion follows. With unequal access links the smaller flow can die out.",
        "Where the sum ends up: 64 round trips after 1,000 of the map, or the least and the largest value within 60 "
        "round trips after 240 of the equation, from starts of 2 % to 30 %; for a gain below 1, those before over the "
        "gain. A gain at which the computation stops has no point.",
        "A swing does not end at large gains. One flow swings wherever gain times delay, x, is above π/2. Its period "
        "grows: at large x it is about the delay times exp(x)/x. Where it is longer than 60 round trips, the points "
        "are the least and the largest value of a part of it.",
    ),
)  # fmt: skip
