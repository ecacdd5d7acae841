"""Which formula gives the probability of a simple timeout?"""

import sympy

import tcpdynamics
from tcpdynamics import models, solvers

formula = solvers.closed_form(models.SubPacketApproximate(loss=sympy.Symbol("p")).chain())["b0"]
(p,) = formula.free_symbols
print("P(b0) =", sympy.factor(formula))
quarter = formula.subs(p, sympy.Rational(1, 4))
print(f"at p = 1/4: {quarter} = {float(quarter):.4f}")
assert quarter == sympy.Rational(485030151279, 19238897060357)

approximate = models.SubPacketApproximate(loss=[0.05, 0.15, 0.25, 0.35, 0.45])
figure = tcpdynamics.plot(approximate.observe(solvers.stationary(approximate.chain())))
