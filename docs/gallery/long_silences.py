"""How long does a silence last? Its distribution has a heavy tail."""

import plotly.graph_objects as go

from tcpdynamics import models

model = models.SubPacketExact(loss=0.2)
silence = model.silence_lengths()
longer = 1 - silence.probability.cumsum("level")
beyond = float(longer[silence.length.values > 30][0])
last = float(silence.time_fraction[-2:].sum())
print(f"with a fifth of the packets dropped, a silence lasts {float(model.mean_silence()):.2f} round trips on average")
print(f"{beyond:.2%} of the silences are longer than 32; the two longest levels are {last:.0%} of silent time")
assert abs(beyond - 0.0277) < 1e-4 and abs(last - 0.40) < 0.01

figure = go.Figure(go.Scatter(x=silence.length[:-1], y=longer[:-1], name="0.2 of the packets dropped"))
figure.update_xaxes(title="length [RTT]", type="log").update_yaxes(title="fraction that lasts longer", type="log")
