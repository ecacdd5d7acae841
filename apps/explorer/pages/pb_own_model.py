"""What does a model of one's own do: where does it rest, and for which parameters is that stable?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tcpdynamics.errors import InputError

from .. import numbers_own_model as numbers
from ..equations import Equations, Script, parsed
from ..page import Figure, Page, Preset, Text, Values
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


def _axes(model: Equations) -> dict[str, tuple[float, float, bool]]:
    by_name = {one.name: (one.low, one.high, one.log) for one in model.parameters}
    return {name: by_name[name] for name in model.axes}


def _code(function: Callable[..., Any], more: Callable[[Equations], str] = lambda model: "") -> Callable[[Values], str]:
    """The lines of a picture: the function, the model as a problem of the library, and the call."""

    def code(values: Values) -> str:
        try:
            model = parsed(values["model"])
            lines = Script(model).lines()
        except InputError as error:
            return f"# {error}\n"
        body = code_of(function, {}).partition("\n\n\ntable = ")[0]
        needs = "import sympy\n" + "\n".join(line for line in lines.splitlines() if line.startswith("from "))
        script = lines.partition("\n\n")[2]
        return f"{needs}\n{body}\n\n\n{script}\n\n\ntable = {function.__name__}(problem{more(model)})\nprint(table)\n"

    return code


def _chart(model: Equations) -> str:
    return f", {_axes(model)!r}"


def dataset(values: Values) -> Any:
    """The motion of the model."""
    model = parsed(values["model"])
    return numbers.motion(Script(model).problem(), model.end).to_xarray()


PAGE = Page(
    slug="own-model",
    title="A chart of your own",
    question="What does a model of your own do: where does it rest, and for which parameters is that stable?",
    controls=(Text("model", "", "equations", HUTCHINSON, "the first model", lines=11),),
    figures=(
        Figure(
            "chart", "Where it is stable", "A plane of two parameters: where the point of rest is stable, the "
            "boundary, and a mark at the sliders; click or drag to move them", "chart", _code(numbers.chart, _chart),
        ),
        Figure(
            "motion", "The motion", "Curves: all states against time, from the start on",
            code=_code(numbers.motion, lambda model: f", {model.end!r}"),
        ),
        Figure(
            "roots", "Roots at the point of rest", "A plane: the rightmost characteristic roots; right of zero a "
            "disturbance grows", "plane", _code(numbers.roots),
        ),
        Figure(
            "facts", "Rest and swing", "Numbers: the point of rest, whether it is stable, and the swing", "facts",
            _code(numbers.facts, _chart),
        ),
    ),
    printed=(),
    dataset=dataset,
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
        "The point of rest is found by Newton's method from the start and around it; of several, the least unstable "
        "one on the start's side of zero. The chart follows it from the sliders on. Shaded: all roots of the linear "
        "equation there have a negative real part. A region smaller than a cell of the chart, a fortieth of each "
        "axis, is not seen.",
        "Roots of delay equations: eigenvalues of the generator on Chebyshev nodes (Breda, Maset and Vermiglio), made "
        "exact by Newton's method on the characteristic determinant.",
    ),
)  # fmt: skip
