"""What happens beyond the boundary? The logistic map doubles its period."""

import numpy as np

import tcpdynamics
from tcpdynamics import models, solvers

gains = np.linspace(1.5, 2.9, 281)
ends = solvers.bifurcation(models.LogisticMap(epsilon=gains).map())
doubled = gains[int((ends.cycle_length == 2).values.argmax())]
again = gains[int((ends.cycle_length == 4).values.argmax())]
print(f"cycles of two from a gain of {doubled:.3f} on, of four from {again:.3f} on")
assert abs(doubled - 2.0) < 0.01 and abs(again - 2.45) < 0.01

figure = tcpdynamics.plot(ends)
