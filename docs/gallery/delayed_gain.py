"""Where is a delayed gain stable?"""

import numpy as np

import tcpdynamics
from tcpdynamics import models, solvers

model = models.LogisticDelayed(epsilon=np.linspace(0.1, 3, 59), delay=np.linspace(0.1, 2, 39))
chart = solvers.stability_chart(model.dde(), at={"w": 100.0})
product = chart.boundary_epsilon * chart.boundary_delay
print(f"stable where gain times delay is below {float(product.mean()):.4f}, which is pi/2")
assert float(abs(product - np.pi / 2).max()) < 1e-9

figure, swing = tcpdynamics.plot(chart), {}
for part in (0.9, 1.1):
    gain = part * np.pi / 2
    motion = solvers.trajectory(models.LogisticDelayed(epsilon=gain, delay=1.0), np.linspace(0, 200, 801))
    swing[part] = float(motion.w[-100:].max() - motion.w[-100:].min())
    figure.add_scatter(x=[gain], y=[1.0], name=f"gain {part} pi/2",
                       mode="markers", marker={"size": 11, "color": "black"})  # fmt: skip
print(f"delayed by a round trip the window swings at the end by {swing[0.9]:.3f} packets below, {swing[1.1]:.0f} above")
assert swing[0.9] < 0.001 and abs(swing[1.1] - 176) < 1
