"""One segment is lost: what does it cost Tahoe, Reno, NewReno and SACK?"""

import tomllib

import plotly.graph_objects as go

from tcpdynamics.validation.packet import parse_scenario, ready_scenarios, simulate

scenario = tomllib.loads(ready_scenarios()["one_loss"].read_text()) | {"record": {"sends": True}}
figure, sent = go.Figure(), {}
for sender in ("tahoe", "reno", "newreno", "sack"):
    scenario["flows"][0]["sender"] = sender
    run = simulate(parse_scenario(scenario))
    sent[sender] = int(run.send_segment.max()) + 1
    figure.add_scatter(x=run.send_time, y=run.send_segment, name=sender, mode="markers")
print("segments sent in 60 s:", sent)
assert sent["tahoe"] < min(sent["reno"], sent["newreno"], sent["sack"])

figure.update_xaxes(title="time [s]", range=[0.6, 2.6]).update_yaxes(title="segment", range=[60, 260])
