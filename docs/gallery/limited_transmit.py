"""Does limited transmit help where many packets are dropped? Two senders as Markov chains."""

import numpy as np
from plotly.subplots import make_subplots

from tcpdynamics import solvers
from tcpdynamics.validation.sender_chain import Sender

loss, figure, sent = np.linspace(0.05, 0.4, 36), make_subplots(2, 1, shared_xaxes=True), {}
for name, on in {"without": False, "with limited transmit": True}.items():
    sender = Sender(sender="newreno", rules="rfc", window=4, limited_transmit=on, loss=loss)
    packets = sender.observe(solvers.stationary(sender.chain())).packets_per_rtt.values
    figure.add_scatter(x=loss, y=packets, name=name, row=1, col=1)
    sent[on] = packets
gain = sent[True] / sent[False] - 1
first = int((gain < 0).argmax())
crossing = float(np.interp(0.0, [gain[first], gain[first - 1]], [loss[first], loss[first - 1]]))
print(f"it helps up to {crossing:.1%} dropped: {gain[5]:+.1%} packets at 10 %, {gain[15]:+.1%} at 20 %, "
      f"{gain[25]:+.1%} at 30 %")  # fmt: skip
assert abs(crossing - 0.231) < 0.001

figure.add_scatter(x=loss, y=100 * gain, name="gain", row=2, col=1)
figure.add_vline(crossing, line_dash="dot")
figure.update_yaxes(title="packets in a round trip", row=1).update_yaxes(title="gain [%]", row=2)
figure.update_xaxes(title="drop probability", row=2)
