"""A congestion control of my own: Scalable TCP in six lines, the same windows as the built-in one."""

from typing import Any

import plotly.graph_objects as go

from tcpdynamics.validation.packet import Bottleneck, Flows, Record, Scenario, simulate
from tcpdynamics.validation.packet.user_rules import congestion_control


@congestion_control("my_scalable")
def on_ack(f: Any, now: float, acked: int) -> None:
    f.cwnd = min(f.cwnd + (0.01 if f.cwnd >= f.ssthresh else 1.0), float(f.window))


@congestion_control("my_scalable")
def on_loss(f: Any, now: float) -> None:
    f.cwnd *= 0.875
    f.ssthresh = f.cwnd


figure, windows = go.Figure(), {}
for control in ("my_scalable", "scalable", "reno"):
    flows = Flows(1, "sack", "rfc", control=control, rtt=0.1, packet_size=1000, window_limit=2000)
    record = Record(windows=0.1)
    run = simulate(Scenario((flows,), Bottleneck(rate=20e6, buffer=100), duration=60.0, warm_up=5.0, record=record))
    windows[control] = run.window_cwnd.values
    figure.add_scatter(x=run.window_time, y=run.window_cwnd, name=control)
print({name: f"{cwnd[-1]:.2f} packets at the end" for name, cwnd in windows.items()})
assert (windows["my_scalable"] == windows["scalable"]).all() and abs(windows["scalable"][-1] - 348.2) < 0.5

figure.update_xaxes(title="time [s]").update_yaxes(title="cwnd [packet]")
