"""Where is a delayed gain stable?"""

import numpy as np

import tcpdynamics
from tcpdynamics import models, solvers

model = models.LogisticDelayed(epsilon=np.linspace(0.1, 3, 59), delay=np.linspace(0.1, 2, 39))
chart = solvers.stability_chart(model.dde(), at={"w": 100.0})
off = float(abs(chart.boundary_epsilon * chart.boundary_delay - np.pi / 2).max())
print(f"the boundary is gain times delay = pi/2, to {off:.1e}")
assert off < 1e-9

figure = tcpdynamics.plot(chart)
