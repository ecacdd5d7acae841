"""A phone changes to a slower cell: what do its window and its queue do?"""

import dataclasses

from plotly.subplots import make_subplots

from tcpdynamics.validation.packet import Record, load_scenario, ready_scenarios, simulate

scenario = load_scenario(ready_scenarios()["handover"])
run = simulate(dataclasses.replace(scenario, record=Record(windows=0.05, queues=0.05)))
slow = ((run.window_time > 20.3) & (run.window_time < 40.0)).values
waiting, rtt = int(run.queue_packets[slow].max()), float(run.window_rtt[slow].max())
before = float(run.window_rtt[run.window_time.values < 20.0][-1])
waits = (run.window_state == 3).values  # after a timeout
timeouts = [round(float(t), 1) for t in run.window_time.values[1:][waits[1:] & ~waits[:-1]]]
print(f"slow cell: {waiting} packets wait at most, the RTT grows from {before:.2f} to {rtt:.2f} s")
print(f"timeouts, each of which sets cwnd to one packet, at {timeouts} s")
assert abs(waiting - 99) <= 1 and abs(rtt - 1.56) < 0.02 and len(timeouts) == 2

figure = make_subplots(2, 1, shared_xaxes=True)
figure.add_scatter(x=run.window_time, y=run.window_cwnd, name="cwnd", row=1, col=1)
figure.add_scatter(x=run.queue_time, y=run.queue_packets, name="packets waiting", row=2, col=1)
figure.add_vrect(20.3, 40.0, fillcolor="lightgrey", opacity=0.4, line_width=0, layer="below")
figure.update_yaxes(title="cwnd [packet]", row=1).update_yaxes(title="waiting [packet]", row=2)
figure.update_xaxes(title="time [s]; the slow cell is grey", row=2)
