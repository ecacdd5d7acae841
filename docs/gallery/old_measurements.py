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
print(f"ten flows oscillate from a gain of {critical:.3f} on; sum of the rates, last 50 round trips: {swing}")
assert swing[0.9] < 1 < swing[1.1]

figure.update_xaxes(title="time [RTT]").update_yaxes(title="sum of the rates [packet/s]")
