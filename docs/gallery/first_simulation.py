"""A first packet simulation: 50 NewReno flows on 10 Mbit/s."""

import tcpdynamics
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate, simulate
from tcpdynamics.validation.statistics import mean_interval

flows = Flows(50, "newreno", rtt=(0.05, 0.15), packet_size=1000)
scenario = Scenario((flows,), Bottleneck(rate=10e6, buffer=100), duration=60.0, warm_up=10.0)
drop = mean_interval(replicate(scenario, 8).loss_rate)
print(f"drop probability {float(drop['mean']):.2%}, 95 % interval {float(drop.low):.2%} to {float(drop.high):.2%}")
assert 0.02 < drop.low < drop.high < 0.08

figure = tcpdynamics.plot(simulate(scenario))
