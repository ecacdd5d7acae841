"""How big must a buffer be? Utilisation, drop probability and delay against its size."""

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
print(f"a tenth of the bandwidth-delay product: {use[1]:.1%} of the link used, {drop[1]:.2%} dropped")
assert use[0] < use[1] < use[3] and drop[0] > drop[3]

figure = go.Figure(
    [
        go.Scatter(x=parts, y=use, name="utilisation"),
        go.Scatter(x=parts, y=drop, name="drop probability"),
        go.Scatter(x=parts, y=wait, name="mean waiting time [s]"),
    ]
)
figure.update_xaxes(title="buffer over the bandwidth-delay product", type="log")
