"""Do flows that watch each other's rates share a link fairly, and do they settle?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tcpdynamics.models import LotkaVolterraDelayed
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.equations import compile_system
from tcpdynamics.solvers.problems import DDE
from tcpdynamics.solvers.programs.straightline import Program

from ..page import Control, Figure, Page, Printed, Values, control

#: Rates at time 0, as shares of the capacity: the first flow's and the last one's.
FIRST, LAST = 0.02, 0.3
#: Times that a trajectory is drawn at.
TIMES = 400
#: Gains of the chart's boundary.
GAINS = np.linspace(0.1, 4.0, 118)


def _problem(values: Values) -> DDE:
    n = int(values["flows"])
    parameters = {k: values[k] for k in ("epsilon", "gamma", "capacity", "delay")}
    problem = LotkaVolterraDelayed(flows=n, **parameters).dde()
    rates = values["capacity"] * np.linspace(FIRST, LAST, n)
    return replace(problem, start=dict(zip(problem.labels, rates.tolist(), strict=True)))


def _slopes(values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """The right-hand side, of states, what is delayed, and the parameters; the boundary of stability, closed form."""
    problem = _problem({"epsilon": 1.0, "gamma": 0.5, "capacity": 100.0, "delay": 1.0} | dict(values))
    system = compile_system(problem)
    model = LotkaVolterraDelayed(flows=int(values["flows"]), epsilon=GAINS)
    about = {
        "shares": np.linspace(FIRST, LAST, len(system.labels)).tolist(),
        "gains": GAINS.tolist(),
        "critical_delay": np.asarray(model.critical_delay()).tolist(),
    }
    return system.rhs, (*system.labels, *system.delayed, "epsilon", "gamma", "capacity"), about


def dataset(values: Values) -> Any:
    """The trajectory that the page draws, by the library's Taylor series."""
    return trajectory(_problem(values), np.linspace(0.0, values["end"], TIMES))


def code(values: Values) -> str:
    """Python that gives the trajectory."""
    parameters = ", ".join(f"{k}={values[k]!r}" for k in ("epsilon", "gamma", "capacity", "delay"))
    return (
        "import numpy as np\n"
        "from dataclasses import replace\n"
        "from tcpdynamics.models import LotkaVolterraDelayed\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        f"problem = LotkaVolterraDelayed(flows={values['flows']:g}, {parameters}).dde()\n"
        f"rates = {values['capacity']!r} * np.linspace({FIRST}, {LAST}, {values['flows']:g})\n"
        "problem = replace(problem, start=dict(zip(problem.labels, rates.tolist())))\n"
        f"answer = trajectory(problem, np.linspace(0, {values['end']!r}, {TIMES}))\n"
        "print(answer)\n"
    )


def command(values: Values) -> str:
    """The command that judges the same point."""
    options = " ".join(f"--{k} {values[k]:g}" for k in ("flows", "epsilon", "gamma", "capacity", "delay"))
    return f"tcpdynamics stability lotka-volterra-delayed {options}"


PAGE = Page(
    slug="lotka-volterra",
    title="Lotka-Volterra flows",
    question="Do flows that react to each other's rates share a link fairly, and do they settle?",
    controls=(
        control(LotkaVolterraDelayed, "flows", 2, 8, 2),
        control(LotkaVolterraDelayed, "epsilon", 0.1, 4, 1.95, 0.01),
        control(LotkaVolterraDelayed, "gamma", 0.0, 0.98, 0.9, 0.01),
        control(LotkaVolterraDelayed, "delay", 0.0, 3.0, 0.5, 0.01),
        control(LotkaVolterraDelayed, "capacity", 10, 1000, 100, 10),
        Control("end", "t", "RTT", "time shown", 10, 400, 60, 1),
    ),
    figures=(
        Figure("rates", "Rates of the flows", "Curves: the rate of each flow against time"),
        Figure(
            "plane", "Two of the flows", "A plane of the first and the last flow's rates: the motion, where each "
            "stands still, and the point of rest", "plane",
        ),
        Figure(
            "chart", "Where they settle", "A plane of delay and gain: the boundary of stability, and a mark at the "
            "sliders; click to move them", "plane",
        ),
    ),
    printed=(Printed("slopes", ("flows",), _slopes),),
    code=code,
    command=command,
    dataset=dataset,
    notes=(
        "A flow grows by a share epsilon of itself each round trip, less what it measured a delay ago: its own rate, "
        "and gamma times the others'. The flows begin at rates from 2 % to 30 % of the capacity.",
        "Below the boundary the point of rest is stable (closed form: gain times delay below pi/2). Click or drag in "
        "the chart, and the motion follows.",
    ),
)  # fmt: skip
