"""Drop-tail: how many packets may a flow have in flight before the windows swing in step?"""

import numpy as np
import plotly.graph_objects as go
from scipy.optimize import brentq

from tcpdynamics import models


def margin(packets: float) -> float:
    link = models.FluidTcpFullQueue(flows=100.0, capacity=500 * packets, base_rtt=0.1, buffer=50 * packets)
    return float(link.stability_margin())


critical = brentq(margin, 2, 5)
print(f"with more than {critical:.3f} packets a flow in flight the windows swing in step")
assert abs(critical - 2.944) < 0.001

packets = np.linspace(1.5, 5, 71)
figure = go.Figure(go.Scatter(x=packets, y=[margin(one) for one in packets]))
figure.add_hline(0).add_vline(critical, line_dash="dot")
figure.update_xaxes(title="packets in flight, per flow").update_yaxes(title="phase margin [rad]")
