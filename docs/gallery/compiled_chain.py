"""What is a chain that is compiled from the sender's own code? Tahoe with a window of two, beside packets."""

import json

import tcpdynamics
from tcpdynamics.solvers import stationary
from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, replicate
from tcpdynamics.validation.sender_chain import sender_chain

made = sender_chain("tahoe", 2, rules="rfc", backoff_cap=1, loss=[0.05, 0.1, 0.2, 0.3, 0.4])
solved = stationary(made.chain())
waits = [state for state in made.chain().labels if state.startswith("b")]
print(f"a Markov chain: {len(made.chain().labels) - len(waits)} states send, {len(waits)} wait for a timer, such as")
print([f"{move}: {p}" for move, p in json.loads(solved.attrs["equations"]).items() if move.startswith("S2.0")])

flows = Flows(20, "tahoe", "rfc", rtt=0.4, min_rto=0.8, max_backoff=2, window_limit=2, limited_transmit=False)
link = Bottleneck(rate=1e9, buffer=None, loss=0.2)
runs = replicate(Scenario((flows,), link, duration=600.0, warm_up=100.0, epoch=0.4), 4)
packets = float(runs.epoch_fraction.sel(sent_in_epoch=0).mean())
silent = float(made.observe(solved).silent_fraction.sel(p=0.2))
print(f"silent round trips at 20 % dropped: {silent:.4f} by the chain, {packets:.3f} by packets")
assert len(made.chain().labels) == 11 and abs(silent - 0.3311) < 1e-4 and abs(packets - silent) < 0.01

figure = tcpdynamics.plot(solved)
