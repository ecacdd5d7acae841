"""Is a chain of my own right? A prediction and its verdict by packets."""

import sympy

import tcpdynamics
from tcpdynamics.solvers import MarkovChain, stationary
from tcpdynamics.validation import compare
from tcpdynamics.validation.comparisons import PredictionVsPackets
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate

p, wait = sympy.symbols("p wait")
moves = {
    ("0", "1"): 1 / wait,
    ("1", "2"): 1 - p,
    ("1", "0"): p,
    ("2", "3"): (1 - p) ** 2,
    ("2", "0"): p * (2 - p),
    ("3", "0"): p * (3 - 3 * p + p**2),
}
chain = MarkovChain(moves, {"p": 0.1, "wait": 2})
flows = Flows(count=10, sender="reno", rtt=0.2, window_limit=3, min_rto=0.4)
link = Bottleneck(rate=1e9, buffer=None, loss=0.1)
runs = replicate(Scenario((flows,), link, duration=600.0, warm_up=100.0), 8)
result = compare(lambda runs: stationary(chain.at(p=runs.loss_rate)).probability, runs, "sends_per_epoch")
print(PredictionVsPackets.paragraph(result))
assert result.verdict == "differs" and abs(result.effect - 0.162) < 0.006

figure = tcpdynamics.plot(result)
