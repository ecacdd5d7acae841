"""Flows measure each other one round trip late: from which gain on do they oscillate?"""

import numpy as np
import plotly.graph_objects as go

from tcpdynamics import models, solvers

critical = float(models.LotkaVolterraStale(flows=10).critical_gain())
figure, swing = go.Figure(), {}
for part in (0.9, 1.1):
    motion = solvers.trajectory(models.LotkaVolterraStale(flows=10, epsilon=part * critical), np.arange(300))
    total = motion.N.sum("flow")
    swing[part] = float(total[-50:].max() - total[-50:].min())
    figure.add_scatter(x=motion.time[:100], y=total[:100], name=f"{part:.0%} of the critical gain")
print(f"ten flows oscillate from a gain of {critical:.3f} on;")
print(f"in the last 50 round trips their sum swings by {swing[0.9]:.2f} packets/s below, by {swing[1.1]:.0f} above")
assert abs(critical - 1.123) < 0.001 and swing[0.9] < 0.01 and abs(swing[1.1] - 116) < 1

figure.update_xaxes(title="time [RTT]").update_yaxes(title="sum of the rates [packet/s]")
