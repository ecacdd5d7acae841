"""Does the sub-packet paper hold for senders of today's Linux? Recorded runs of a Linux kernel, 10 kbit/s a flow."""

import plotly.graph_objects as go

from tcpdynamics.validation.comparisons import LinuxSubPacket

result = LinuxSubPacket(links=("1 Mbit/s, 100 flows",)).run()
fairness = result.sel(quantity="Jain's index, 20 s").squeeze("link")
jain = {str(name): round(float(fairness["mean"].sel(sender=name)), 2) for name in fairness.sender.values}
print("Jain's index of slices of 20 s, 1 where all flows have the same:", jain)
assert abs(jain["Linux as it comes, Reno"] - 0.65) < 0.01 and abs(jain["Linux as it comes, BBR"] - 0.32) < 0.01
assert abs(jain["simulator, RFCs"] - 0.66) < 0.02

high, low = fairness.mean_high - fairness["mean"], fairness["mean"] - fairness.mean_low
bars = {"type": "data", "array": high.values, "arrayminus": low.values}
figure = go.Figure(go.Bar(x=fairness.sender, y=fairness["mean"], error_y=bars))
figure.update_yaxes(title="Jain's index of slices of 20 s", range=[0, 1])
