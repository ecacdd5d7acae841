"""How many packets does a link of 10 Mbit/s drop when 50 NewReno flows share it? A first packet simulation."""

import tcpdynamics
from tcpdynamics import models
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate, simulate
from tcpdynamics.validation.statistics import mean_interval

flows = Flows(50, "newreno", rtt=(0.05, 0.15), packet_size=1000)
scenario = Scenario((flows,), Bottleneck(rate=10e6, buffer=100), duration=60.0, warm_up=10.0, slice=2.0)
runs = replicate(scenario, 8)
quantities = {
    "drop probability": mean_interval(runs.loss_rate),
    "utilisation": mean_interval(runs.utilisation),
    "Jain's index": mean_interval(models.jain(runs.goodput, dim="flow")),
}
for name, one in quantities.items():
    print(f"{name} {float(one['mean']):.4f}, 95 % interval {float(one.low):.4f} to {float(one.high):.4f}")
assert abs(quantities["drop probability"]["mean"] - 0.0715) < 0.002

figure = tcpdynamics.plot(simulate(scenario))
