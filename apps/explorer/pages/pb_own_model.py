"""What does a model of one's own do: what is its equilibrium, and for which parameters is that stable?"""

from __future__ import annotations

import builtins
import keyword
from functools import cache
from typing import Any

from .. import numbers_own_model as numbers
from ..page import Figure, Page, Preset, Text
from ..shown import code_of

HUTCHINSON = """\
# Hutchinson: growth that sees the past
N' = r*N*(1 - N(t-T)/K)
r = 1.2 in 0.1..3   # growth rate
T = 1 in 0.05..3    # delay
K = 1 in 0.5..5     # capacity
N(0) = 0.1
t in 0..60
"""
FLUID = """\
# windows of TCP and a router's queue
W' = 1/r - W*W(t-R)*p/(2*s)
q' = max(N*W/r - C, -20*q)   # it empties
p = min(1, K*q(t-R))         # marked
r = b + q/C                  # round trip now
s = b + q(t-R)/C             # and then
b = R - 2*N^2/(R^2*C^3*K)    # without a queue
N = 60 in 5..150             # flows
R = 0.217 in 0.15..0.6       # round trip [s]
K = 2e-4 in 1e-5..1e-2 log   # gain
C = 3750 in 500..10000       # packet/s
q(0) = 1
t in 0..20
"""
KELLY = """\
# Kelly: a rate that sees old prices
x' = k*(w - x(t-T)*p)
p = (x(t-T)/C)^4
k = 1 in 0.05..5 log # gain
T = 0.25 in 0.02..1  # round trip
w = 1 in 0.2..3      # willingness to pay
C = 1 in 0.5..3      # capacity
x(0) = 0.5
t in 0..20
"""
COMPETITION = """\
# two flows that compete by an old measurement
x' = e*x*(1 - x(t-T) - a*y(t-T))
y' = e*y*(1 - y(t-T) - a*x(t-T))
a = 0.6 in 0..1.9  # weight of the other
e = 1.2 in 0.1..3  # gain
T = 1 in 0.1..3    # delay
x(0) = 0.1
y(0) = 0.3
t in 0..40
"""
POL = """\
# van der Pol's oscillator
x' = y
y' = m*(1 - x^2)*y - w^2*x
m = 0.5 in -1..3   # push
w = 1 in 0.2..3    # frequency
x(0) = 0.5
y(0) = 0
t in 0..50
"""


@cache
def _facts(whole: bool) -> dict[str, Any]:
    """Functions that the page's script prints before a reader's model, and names that the model leaves to them."""
    functions = {
        one.__name__: code_of(one, {}) for one in (numbers.chart, numbers.motion, numbers.roots, numbers.facts)
    }
    reserved = {*vars(numbers), *dir(builtins), *keyword.kwlist, "sympy", "DDE", "ODE", "Delayed", "problem", "table"}
    return {
        "functions": {name: text.partition("\n\n\ntable = ")[0] for name, text in functions.items()},
        "reserved": sorted(name for name in reserved if name[0] != "_"),
    }


PAGE = Page(
    slug="own-model",
    title="A chart of your own",
    question="What does a model of your own do: what is its equilibrium, and for which parameters is that stable?",
    controls=(Text("model", "", "equations", HUTCHINSON, "the first model", lines=11),),
    figures=(
        Figure(
            "chart", "Where it is stable", "A plane of two parameters: where the equilibrium is stable, the "
            "boundary, and a mark at the sliders; click or drag to move them", "chart", scripted=True,
        ),
        Figure(
            "motion", "The motion", "Curves: all states against time, from the start on",
            scripted=True,
        ),
        Figure(
            "roots", "Roots at the equilibrium", "A plane: the rightmost characteristic roots; right of zero a "
            "disturbance grows", "plane", scripted=True,
        ),
        Figure(
            "facts", "Equilibrium and oscillation", "Numbers: equilibrium, stability, and oscillation", "facts",
            scripted=True,
        ),
    ),
    printed=(),
    facts=_facts,
    presets=(
        Preset("Hutchinson's delayed growth", {}),
        Preset("Fluid TCP with proportional marking", {"model": FLUID}),
        Preset("Kelly's rate control with a delay", {"model": KELLY}),
        Preset("Two flows that compete", {"model": COMPETITION}),
        Preset("Van der Pol's oscillator", {"model": POL}),
    ),
    notes=(
        "x' = ... says how a state changes; x(t-T) is its past; p = ... is an abbreviation; k = 1 in 0..2 is a "
        "parameter with a slider, with log at the end in decades. x(0) = ... is the start and all of the past before "
        "it, 1 without a line. t in 0..50 is the time shown. chart k, T says which parameters the chart has. What "
        "follows # is a note; a parameter's note names its slider.",
        "Operators: + - * / ^ and parentheses. Functions: exp, log, sqrt, sin, cos, tanh, abs, min and max. At most 4 "
        "states, 4 delays, 6 parameters, 400 operations. Delays are made of parameters and numbers.",
        "The equilibrium is found by Newton's method from the start and around it; of several, the least unstable "
        "one on the start's side of zero. At each place of the chart it is followed straight from the sliders. Where "
        "it ends the chart is white, without a line. Shaded: all roots of the linear equation there have a negative "
        "real part. A region smaller than a cell of the chart, a fortieth of each axis, is not seen.",
        "Roots of delay equations: eigenvalues of the generator on Chebyshev nodes (Breda, Maset and Vermiglio), made "
        "exact by Newton's method on the characteristic determinant.",
    ),
)  # fmt: skip
