"""Which queue keeps the delay low? Five disciplines on one link."""

import plotly.graph_objects as go

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate
from tcpdynamics.validation.statistics import mean_interval

flows = Flows(20, "sack", "linux", control="cubic", rtt=(0.03, 0.08), packet_size=1500)
figure, wait, used = go.Figure(), {}, {}
for queue in ("droptail", "red", "codel", "fq_codel", "pie"):
    link = Bottleneck(rate=20e6, buffer=150, queue=queue)
    runs = replicate(Scenario((flows,), link, duration=40.0, warm_up=10.0), 4)
    delay, use = mean_interval(1e3 * runs.mean_wait), mean_interval(100 * runs.utilisation)
    wait[queue], used[queue] = round(float(delay["mean"]), 1), round(float(use["mean"]), 1)
    bars = {f"error_{way}": {"array": [one.high - one["mean"]]} for way, one in (("x", delay), ("y", use))}
    figure.add_scatter(x=[delay["mean"]], y=[use["mean"]], name=queue, mode="markers", **bars)
print("mean waiting time [ms]:", wait)
print("utilisation [%]:", used)
assert abs(wait["droptail"] - 80.0) < 2 and abs(wait["red"] - 4.8) < 0.5 and abs(wait["codel"] - 16.1) < 1

figure.update_xaxes(title="mean waiting time [ms]").update_yaxes(title="utilisation [%]")
