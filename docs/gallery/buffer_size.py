"""How big must a buffer be? Utilisation, drop probability and delay against its size."""

import numpy as np
import plotly.graph_objects as go

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate

BDP = 250  # packets: 20 Mbit/s, 150 ms, 1500 bytes
flows = Flows(30, "sack", rtt=(0.1, 0.2), packet_size=1500, window_limit=500)
parts, use = [0.03, 0.1, 0.3, 1.0, 2.0], []
drop, wait = [], []
for part in parts:
    link = Bottleneck(rate=20e6, buffer=round(part * BDP))
    runs = replicate(Scenario((flows,), link, duration=60.0, warm_up=20.0), 3)
    use.append(float(runs.utilisation.mean()))
    drop.append(float(runs.loss_rate.mean()))
    wait.append(float(runs.mean_wait.mean()))
needed = float(np.interp(0.95, use, parts))
print(f"95 % of the link is used from about {needed:.2f} of the bandwidth-delay product on;")
print(f"a tenth of it: {use[1]:.1%} used, {drop[1]:.2%} dropped, {1e3 * wait[1]:.1f} ms of waiting")
assert abs(needed - 0.24) < 0.02 and abs(use[1] - 0.842) < 0.01 and abs(drop[1] - 0.0382) < 0.002

figure = go.Figure(
    [
        go.Scatter(x=parts, y=use, name="utilisation"),
        go.Scatter(x=parts, y=drop, name="drop probability"),
        go.Scatter(x=parts, y=wait, name="mean waiting time [s]"),
    ]
)
figure.update_xaxes(title="buffer over the bandwidth-delay product", type="log")
