"""A phone changes to a slower cell: what do its window and its queue do?"""

import tcpdynamics
from tcpdynamics.validation.packet import load_scenario, ready_scenarios, simulate

run = simulate(load_scenario(ready_scenarios()["handover"]))
print(f"{float(run.loss_rate):.2%} of the packets are dropped, {int(run.timeouts.sum())} timeouts")
assert int(run.timeouts.sum()) >= 1

figure = tcpdynamics.plot(run)
