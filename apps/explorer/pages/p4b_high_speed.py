"""How do TCPs for fast, long paths use what losses leave them, and how fast do they come back?"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tcpdynamics.models import HighSpeedTcp, ScalableTcp
from tcpdynamics.solvers import trajectory
from tcpdynamics.solvers.programs.straightline import Program

from .. import numbers_high_speed as numbers
from ..numbers_high_speed import laws
from ..page import Control, Figure, Page, Preset, Printed, Values, control, program_of
from ..shown import shown

#: Loss rates of the page: HighSpeed TCP's law means nothing below 1e-8.
LOW, HIGH = 1e-7, 1e-2
#: Times that the mean window is drawn at.
TIMES = 601
INPUTS = ("loss", "window", "a", "b")
#: What the script reads of each protocol, in its order.
ROWS = ("response", "growth", "share", "slope")


_SLIDERS = ("loss", "a", "b")


def _command(values: Values) -> str:
    """The command that follows HighSpeed TCP's mean window."""
    return f"tcpdynamics trajectory high-speed-tcp --loss {values['loss']!r} --time 0:{values['end']!r}:{TIMES}"


def _formulas(name: str, values: Values) -> tuple[Program, tuple[str, ...], dict[str, Any]]:
    """Of a protocol at a loss rate and a window: w(p), a(w), b(w), and the slope of the mean window."""
    import sympy

    loss, window, a, b = (sympy.Symbol(name, positive=True) for name in INPUTS)
    model = laws(loss, a, b)[name]
    slope = model.ode().rhs["W"]
    fields = {symbol: getattr(model, field) for field, symbol in model.symbols().items()}
    at = {symbol: fields.get(symbol, window) for symbol in slope.free_symbols}  # what is no field is the window
    row = (model.response(), model.increase(window), model.decrease(window), slope.subs(at, simultaneous=True))
    about = {"losses": [LOW, HIGH], "jump": getattr(model, "low_window", None)}
    return program_of(dict(zip(ROWS, row, strict=True))), INPUTS, about


def dataset(values: Values) -> Any:
    """Of each law: the response to loss rates, and the mean window from one packet on."""
    import xarray as xr

    losses = np.unique(np.append(np.geomspace(LOW, HIGH, 201), values["loss"]))
    times = np.linspace(0.0, values["end"], TIMES)
    parts = []
    for name, model in laws(values["loss"], values["a"], values["b"]).items():
        response = laws(losses, values["a"], values["b"])[name].response()
        mean = trajectory(model.ode(), times).W.drop_attrs()
        parts.append(xr.Dataset({"response": response, "mean_window": mean}).expand_dims(law=[name]))
    return xr.concat(parts, "law", combine_attrs="drop", join="outer", coords="minimal", compat="override")


PAGE = Page(
    slug="high-speed",
    title="HighSpeed, Scalable",
    question=(
        "How large a window can a TCP for fast, long paths keep at a given loss rate, and how fast does it recover?"
    ),
    controls=(
        control(HighSpeedTcp, "loss", LOW, HIGH, 1e-5, log=True),
        control(ScalableTcp, "a", 0.001, 0.1, 0.01, log=True),
        control(ScalableTcp, "b", 0.02, 0.6, 0.125, 0.005, percent=True),
        Control("end", "t", "RTT", "round trips shown", 20, 2000, 400, 10),
    ),
    figures=(
        Figure(
            "response", "Window at a loss rate",
            "Curves: the window of each protocol against the loss rate, both in decades; a line marks the slider",
            code=shown(numbers.response, *_SLIDERS),
        ),
        Figure(
            "ratio", "Relative to Reno's window",
            "Curves: the window of each protocol over Reno's, against the loss rate",
            code=shown(numbers.ratio, *_SLIDERS),
        ),
        Figure(
            "teeth", "Windows between losses", "Curves: the window of each protocol against time",
            code=shown(numbers.teeth, *_SLIDERS, "end"),
        ),
        Figure(
            "mean", "Mean window", "Curves: the mean window of each protocol from one packet on, against time",
            code=shown(numbers.mean, *_SLIDERS, "end"), command=_command,
        ),
        Figure(
            "growth", "Growth per round trip", "Curves: packets a round trip more, against the window, in decades",
            code=shown(numbers.growth, *_SLIDERS),
        ),
        Figure(
            "share", "Fraction given up at a loss", "Curves: what a loss takes away, against the window",
            code=shown(numbers.share, *_SLIDERS),
        ),
        Figure(
            "facts", "At this loss rate", "Numbers: windows, growth, fraction given up and time between losses",
            "facts", shown(numbers.facts, *_SLIDERS),
        ),
    ),
    printed=tuple(Printed(name, (), partial(_formulas, name)) for name in laws(1e-5, 0.01, 0.125)),
    dataset=dataset,
    presets=(
        Preset("RFC 3649's largest window: a loss of 10^-7", {"loss": 1e-7}),
        Preset("where HighSpeed TCP leaves Reno: a loss of 10^-3", {"loss": 1e-3}),
        Preset("Kelly's Scalable TCP at a loss of 10^-5", {"loss": 1e-5, "a": 0.01, "b": 0.125}),
    ),
    notes=(
        "A window of w packets grows by a(w) each round trip and gives up the fraction b(w) at a loss. Reno: a = 1, "
        "b = 1/2. HighSpeed TCP (RFC 3649): Reno up to 38 packets, then more growth and less to give up. Scalable TCP "
        "(Kelly): a w and b, at any window.",
        "The first picture shows the window formula of each protocol. Between losses: one loss every 1/p packets, from "
        "the window after a loss. Mean window: losses come at the rate p w a round trip, w' = a(w) - b(w) p w^2, from "
        "one packet on, without slow start.",
        "Growth and fraction are shown from 1 to 100,000 packets; the line marks the window at this loss rate of "
        "HighSpeed TCP.",
    ),
)  # fmt: skip
