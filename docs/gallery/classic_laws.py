"""By how much do the classic throughput laws differ?"""

import numpy as np
import plotly.graph_objects as go

from tcpdynamics import models

loss = np.geomspace(1e-4, 0.3, 60)
laws = {
    "square root": models.SquareRoot(loss=loss, rtt=1.0).throughput(),
    "PFTK, full": models.PftkFull(loss=loss, rtt=1.0, timeout=2.0, b=1).throughput(),
    "TFRC": models.Tfrc(loss=loss, rtt=1.0, timeout=2.0).throughput(),
}
ratio = float((laws["PFTK, full"] / laws["square root"]).interp(loss=0.1))
print(f"at a loss of 10 % PFTK has {ratio:.2f} of what the square-root law has")
assert round(ratio, 2) == 0.71

figure = go.Figure([go.Scatter(x=loss, y=law.values, name=name) for name, law in laws.items()])
figure.update_xaxes(type="log", title="loss probability").update_yaxes(type="log", title="throughput [packet/RTT]")
