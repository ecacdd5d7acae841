"""How often is a TCP flow silent at 10 % of packets dropped?"""

import numpy as np

import tcpdynamics
from tcpdynamics import models, solvers

full = models.SubPacketFull(loss=np.linspace(0.02, 0.45, 44))
exact = models.SubPacketExact(loss=0.1, collapse=2)  # the backoff ends as by RFC 2988
silent = {
    "full": float(full.observe(solvers.stationary(full.chain())).silent_fraction.interp(loss=0.1)),
    "exact": float(exact.observe(solvers.stationary(exact.chain())).silent_fraction),
}
print(f"silent in {silent['full']:.1%} of the round trips by the paper's chain, {silent['exact']:.1%} by the exact one")
assert abs(silent["full"] - 0.272) < 0.001 and abs(silent["exact"] - 0.207) < 0.001

figure = tcpdynamics.plot(full.observe(solvers.stationary(full.chain())))
