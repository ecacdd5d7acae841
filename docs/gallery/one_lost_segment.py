"""One segment is lost: what does it cost Tahoe, Reno, NewReno and SACK?"""

import tomllib

from plotly.subplots import make_subplots

from tcpdynamics.validation.packet import parse_scenario, ready_scenarios, simulate

scenario = tomllib.loads(ready_scenarios()["one_loss"].read_text()) | {"record": {"sends": True}}
senders, sent = ("tahoe", "reno", "newreno", "sack"), {}
scenario["drops"], drops = [], scenario["drops"]
lossless = int(simulate(parse_scenario(scenario)).send_segment.max()) + 1
figure = make_subplots(2, 2, shared_xaxes=True, shared_yaxes=True, subplot_titles=senders)
for k, sender in enumerate(senders):
    scenario["flows"][0]["sender"], scenario["drops"] = sender, drops
    run = simulate(parse_scenario(scenario))
    sent[sender] = int(run.send_segment.max()) + 1
    figure.add_scatter(x=run.send_time, y=run.send_segment, mode="markers", row=k // 2 + 1, col=k % 2 + 1)
cost = {sender: lossless - segments for sender, segments in sent.items()}
print(f"without a loss {lossless} segments are sent in 60 s; one loss costs", cost, "of them")
assert cost == {"tahoe": 35, "reno": 13, "newreno": 13, "sack": 15}

figure.update_traces(marker_size=4, showlegend=False)
figure.update_xaxes(range=[0.6, 2.6]).update_yaxes(range=[60, 260])
figure.update_xaxes(title="time [s]", row=2).update_yaxes(title="segment", col=1)
