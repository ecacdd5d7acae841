"""Does limited transmit help where many packets are dropped? Two senders as Markov chains."""

import numpy as np
import plotly.graph_objects as go

from tcpdynamics import solvers
from tcpdynamics.validation.sender_chain import Sender

loss, figure, sent = np.linspace(0.05, 0.4, 15), go.Figure(), {}
for name, on in {"without": False, "with limited transmit": True}.items():
    sender = Sender(sender="newreno", rules="rfc", window=4, limited_transmit=on, loss=loss)
    packets = sender.observe(solvers.stationary(sender.chain())).packets_per_rtt
    figure.add_scatter(x=loss, y=packets.values, name=name)
    sent[name] = float(packets.interp(loss=0.2))
print("packets in a round trip at 20 %:", {name: round(x, 3) for name, x in sent.items()})
assert sent["with limited transmit"] > sent["without"]

figure.update_xaxes(title="drop probability").update_yaxes(title="packets sent in a round trip")
