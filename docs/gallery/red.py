"""Does RED oscillate? Two slopes of its marking: one below and one above the critical one."""

import plotly.graph_objects as go
from scipy.optimize import brentq

from tcpdynamics import models, solvers

link = dict(flows=60, capacity=3750, base_rtt=0.2, buffer=800, min_threshold=150, max_threshold=700, averaging=0.5)


def margin(p_max: float) -> float:
    return float(models.FluidTcpRed(**link, p_max=p_max).stability_margin())


critical, figure, swing = brentq(margin, 0.02, 1.0), go.Figure(), {}
for part in (0.8, 1.2):
    motion = solvers.trajectory(models.FluidTcpRed(**link, p_max=part * critical), [0.1 * k for k in range(1001)])
    swing[part] = float(motion.q[-200:].max() - motion.q[-200:].min())
    figure.add_scatter(x=motion.time, y=motion.q, name=f"p_max = {part * critical:.3f}, {part:.0%} of the critical")
print(f"RED oscillates above p_max = {critical:.4f}; in the last 20 s the queue swings by {swing[0.8]:.0f} packets "
      f"below it and by {swing[1.2]:.0f} above")  # fmt: skip
assert abs(critical - 0.0877) < 1e-4 and abs(swing[0.8] - 4.2) < 0.5 and abs(swing[1.2] - 404) < 4

figure.update_xaxes(title="time [s]").update_yaxes(title="queue [packet]")
