"""What happens beyond the boundary? The logistic map doubles its period."""

import numpy as np

import tcpdynamics
from tcpdynamics import models, solvers

gains = np.linspace(1.5, 2.9, 281)
ends = solvers.bifurcation(models.LogisticMap(epsilon=gains).map())
doubled = gains[int((ends.cycle_length == 2).values.argmax())]
print(
    f"the period doubles at a gain of {doubled:.3f}, four at {gains[int((ends.cycle_length == 4).values.argmax())]:.3f}"
)
assert abs(doubled - 2.0) < 0.02

figure = tcpdynamics.plot(ends)
