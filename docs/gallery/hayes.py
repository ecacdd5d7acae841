"""Where is a delay equation of my own stable? Hayes' x' = -a x(t) - b x(t - 1)."""

import numpy as np
import sympy

import tcpdynamics
from tcpdynamics.solvers import DDE, Delayed, stability_chart

x, old, a, b = sympy.symbols("x old a b")
problem = DDE(
    rhs={"x": -a * x - b * old},
    delayed={"old": Delayed("x", 1.0)},
    parameters={"a": np.linspace(-1.5, 3, 46), "b": np.linspace(-3, 4, 71)},
    start={"x": 1.0},
)
chart = stability_chart(problem, at={"x": 0.0})
stable = int((chart.verdict == -1).sum())
row = chart.verdict.sel(a=1.0, method="nearest")
low, high = (float(row.b[row == -1][k]) for k in (0, -1))
print(f"{stable} of {chart.verdict.size} points are stable, with a = 1 those of b from {low:.1f} to {high:.1f}")
assert abs(stable - 1351) <= 2 and abs(low + 0.9) < 0.01 and abs(high - 2.2) < 0.01

figure = tcpdynamics.plot(chart)
