"""Which drop probability do N users cause on 1 Mbit/s?"""

import numpy as np

import tcpdynamics
from tcpdynamics import models, solvers

users = np.arange(20, 201, 10)
link = models.SharedLink(flows=users, capacity=1e6, base_rtt=0.2, buffer=50)
solved = solvers.self_consistent(link.balance(), window=50)
drop = float(solved.root.sel(flows=100))
print(f"100 users cause a drop probability of {drop:.1%}; Jain's index is {float(solved.jain.sel(flows=100)):.2f}")
assert abs(drop - 0.164) < 0.001

figure = tcpdynamics.plot(solved.root)
