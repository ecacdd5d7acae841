"""Phase effects: how much more does one flow get than the others, and does a random delay remove it?"""

import tomllib

import plotly.graph_objects as go

from tcpdynamics import models
from tcpdynamics.validation.packet import parse_scenario, ready_scenarios, simulate

scenario = tomllib.loads(ready_scenarios()["eleven_flows"].read_text())
figure, jain, most = go.Figure(), {}, {}
for name, jitter in {"no random delay": 0, "up to 8 ms of random delay": "8ms"}.items():
    for flows in scenario["flows"]:
        flows["jitter"] = jitter
    run = simulate(parse_scenario(scenario))
    jain[name] = round(float(models.jain(run.goodput.values)), 2)
    most[name] = round(float(run.goodput.max() / run.goodput.mean()), 1)
    figure.add_bar(x=run.base_rtt.values * 1e3, y=run.goodput_rate.values / 1e6, name=name)
print("the largest goodput over the mean:", most)
print("Jain's index:", jain)
assert abs(most["no random delay"] - 3.2) < 0.2
assert abs(jain["no random delay"] - 0.62) < 0.02 and abs(jain["up to 8 ms of random delay"] - 0.95) < 0.02

figure.update_xaxes(title="round-trip time [ms]").update_yaxes(title="goodput [Mbit/s]")
