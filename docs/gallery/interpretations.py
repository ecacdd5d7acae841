"""T-REFWA with its published gains: under which interpretation of its equations does it settle?"""

import numpy as np
from plotly.subplots import make_subplots

from tcpdynamics import models, solvers

kinds = {
    "window": models.TRefwaWindow,
    "window, late by a round trip": models.TRefwaDelayed,
    "integrating queue": models.TRefwaIntegrating,
    "integrating, semi-implicit": models.TRefwaIntegratingSemiImplicit,
}
gains, radius = np.linspace(0.02, 3, 61), {}
figure = make_subplots(2, 2, subplot_titles=list(kinds))
for k, (name, kind) in enumerate(kinds.items()):
    radius[name] = round(float(solvers.spectral_radius(kind(phi=1.5, psi=0.5))), 3)
    settles = kind(phi=gains, psi=gains).stability_margin().transpose("psi", "phi") > 0
    place = {"row": k // 2 + 1, "col": k % 2 + 1}
    figure.add_heatmap(x=gains, y=gains, z=settles.astype(int), colorscale=["white", "lightblue"],
                       showscale=False, **place)  # fmt: skip
    figure.add_scatter(x=[1.5], y=[0.5], mode="markers", marker_color="black", showlegend=False, **place)
print("spectral radius with the published gains:", radius)
print("it settles, where that is below 1, under:", [name for name in kinds if radius[name] < 1])
assert max(abs(np.array(list(radius.values())) - [1.0, 0.707, 0.5, 0.707])) < 0.001

figure.update_xaxes(title="gain on spare bandwidth").update_yaxes(title="gain on free buffer")
