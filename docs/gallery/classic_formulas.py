"""By how much do the classic throughput formulas differ?"""

import numpy as np
import plotly.graph_objects as go

from tcpdynamics import models

loss = np.geomspace(1e-4, 0.3, 60)
formulas = {
    "square root": models.SquareRoot(loss=loss, rtt=1.0).throughput(),
    "PFTK, full": models.PftkFull(loss=loss, rtt=1.0, timeout=2.0, b=1).throughput(),
    "TFRC": models.Tfrc(loss=loss, rtt=1.0, timeout=2.0).throughput(),
}
pftk, tfrc = (float(np.interp(0.1, loss, formulas[k] / formulas["square root"])) for k in ("PFTK, full", "TFRC"))
print(f"at a loss of 10 % PFTK gives {pftk:.2f} and TFRC {tfrc:.2f} of the square-root formula's throughput")
assert abs(pftk - 0.71) < 0.005 and abs(tfrc - 0.63) < 0.005

figure = go.Figure([go.Scatter(x=loss, y=throughput, name=name) for name, throughput in formulas.items()])
figure.update_xaxes(type="log", title="loss probability").update_yaxes(type="log", title="throughput [packet/RTT]")
