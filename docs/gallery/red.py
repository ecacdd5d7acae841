"""Does RED oscillate? Two slopes of its marking: one below and one above the critical one."""

import plotly.graph_objects as go

from tcpdynamics import models, solvers

link = dict(flows=60, capacity=3750, base_rtt=0.2, buffer=800, min_threshold=150, max_threshold=700)
figure, margins = go.Figure(), {}
for p_max, averaging in ((0.1, 0.005), (0.1, 5.0)):
    red = models.FluidTcpRed(**link, p_max=p_max, averaging=averaging)
    margins[averaging] = (round(float(red.hollot_margin()), 2), round(float(red.stability_margin()), 2))
    motion = solvers.trajectory(red, [0.1 * k for k in range(1001)])
    figure.add_scatter(x=motion.time, y=motion.q, name=f"filter's pole at {averaging} /s")
print("margins, Hollot's sufficient one and the exact one:", margins)
assert margins[0.005][1] > 0 > margins[5.0][1]

figure.update_xaxes(title="time [s]").update_yaxes(title="queue [packet]")
