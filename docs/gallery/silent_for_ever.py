"""At which drop probability does a sender fall silent for ever, if its timeouts may grow without a cap?"""

import numpy as np
import plotly.graph_objects as go

from tcpdynamics import models

loss, figure = np.linspace(0.02, 0.28, 53), go.Figure()
ends = {m: models.collapse_threshold(m) for m in (2, 3)}
for successes, end in ends.items():
    for cap in (6, 12, 24):
        silence = models.SubPacketExact(loss=loss, collapse=successes, backoff_cap=cap).mean_silence()
        figure.add_scatter(x=loss, y=silence, name=f"{successes} successes, at most {cap} doublings")
    figure.add_vline(end, line_dash="dot")
print(f"where two successes end the backoff: at {ends[2]:.4f}; where three do: at {ends[3]:.4f}")
assert abs(ends[2] - 0.2929) < 1e-4 and abs(ends[3] - 0.2063) < 1e-4

figure.update_xaxes(title="drop probability").update_yaxes(title="mean silence [RTT]", type="log")
