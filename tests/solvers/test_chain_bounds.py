"""What chains, grids and their models refuse: in one short sentence, before any work."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import xarray as xr

from tcpdynamics import models
from tcpdynamics.errors import LimitError
from tcpdynamics.solvers import (
    ChainError,
    DomainError,
    DynamicsError,
    MarkovChain,
    closed_form,
    first_passage,
    self_consistent,
    sensitivity,
    sojourn,
    spectral_gap,
    stationary,
    transient,
    windowed,
)
from tcpdynamics.solvers.grid import make_grid

p = sympy.Symbol("p", positive=True)
REFUSED = (ChainError, DomainError, DynamicsError, LimitError, TypeError, ValueError)
LONG = "x" * 10_000
HOSTILE: dict[str, Any] = {
    "long text": LONG,
    "401 digits": 10**400,
    "4,301 digits": 10**4300,
    "long fraction": Fraction(10**4300, 3),
    "nan": float("nan"),
    "inf": float("inf"),
    "true": True,
    "truths": [True, False],
    "complex": 1j,
    "none": None,
    "list of texts": [LONG] * 3,
    "ragged": [[1, 2], [3]],
    "dict": {LONG: 1},
    "masked": np.ma.masked_array([0.1, 0.2], [0, 1]),
    "masked, labelled": xr.DataArray(np.ma.masked_array([0.1, 0.2], [0, 1]), dims="x"),
    "long list": list(range(-10_000, 0)),
    "matrix": np.full((3, 3), -1.0),
}
NO_ENTRY: dict[str, Any] = {
    k: v for k, v in HOSTILE.items() if k not in ("long fraction",)
} | {
    "oo": sympy.oo, "zoo": sympy.zoo, "SymPy's nan": sympy.nan, "I": sympy.I * p, "Matrix": sympy.Matrix([[p]]),
    "relation": p > 0, "truth": sympy.true, "sum with oo": p + sympy.oo,
    "large": sympy.Integer(10) ** 400,
}  # fmt: skip


def short(call: Callable[[], Any]) -> None:
    with pytest.raises(REFUSED) as error:
        call()
    assert len(str(error.value)) < 700


@pytest.mark.parametrize("value", NO_ENTRY)
def test_no_entry_of_a_chain(value: str) -> None:
    entry = NO_ENTRY[value]
    short(lambda: MarkovChain({("a", "b"): entry, ("b", "a"): p}))
    short(lambda: MarkovChain({("a", "b"): p, ("b", "a"): p}, holding={"a": entry}))


@pytest.mark.parametrize("value", HOSTILE)
def test_no_parameter_of_a_chain(value: str) -> None:
    held = HOSTILE[value]
    if value in ("nan", "inf", "long list", "masked, labelled"):  # numbers; xarray itself turns masks into NaN
        assert (stationary(MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": held})).status != 0).any()
    elif value != "true":
        short(lambda: make_grid({"p": held}))
    short(lambda: stationary(MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": held}), throw=True))


def nested(depth: int) -> Any:
    e = p
    for _ in range(depth):
        e = sympy.Pow(sympy.Add(1, e, evaluate=False), -1, evaluate=False)
    return e


@pytest.mark.parametrize("depth", [100, 1_000, 3_000])
def test_deep_expressions(depth: int) -> None:
    with pytest.raises(ChainError, match="levels can be read"):
        MarkovChain({("a", "b"): nested(depth), ("b", "a"): p})


def test_the_deepest_expression_is_solved() -> None:
    chain = MarkovChain({("a", "b"): nested(74), ("b", "a"): p}, {"p": 0.25})
    for solved in (stationary(chain), stationary(chain, exact=True), spectral_gap(chain), first_passage(chain, "a")):
        assert int(solved.status) == 0
    assert int(sensitivity(chain).status) == 0


def test_no_time_passes() -> None:
    for zero in (0, sympy.Integer(0), 0.0):
        with pytest.raises(ChainError, match="no time passes"):
            MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": 0.5}, holding={"a": zero, "b": zero})


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "states": lambda chain, v: MarkovChain(chain.transitions, states=[v, v]),
    "edge": lambda chain, v: MarkovChain({(v, "b", "c"): p}),
    "target": lambda chain, v: first_passage(chain, v if isinstance(v, str) else [str(v)[:9]]),
    "times": lambda chain, v: first_passage(chain, "a", times=v if v is not None else [-1]),
    "longest": lambda chain, v: sojourn(chain, ["a"], longest=v),
    "start": lambda chain, v: transient(chain, {"a": v} if not isinstance(v, str) else v, [1]),
    "length": lambda chain, v: windowed(chain, {"a": 1}, v),
    "reward": lambda chain, v: windowed(chain, {LONG: 1}, 2),
    "parameter": lambda chain, v: sensitivity(chain, LONG),
    "order": lambda chain, v: sensitivity(chain, order=v),
    "backend": lambda chain, v: stationary(chain, backend=v),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("value", ["long text", "list of texts", "4,301 digits", "none", "complex"])
def test_arguments_of_solvers(call: str, value: str) -> None:
    chain = MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": 0.25})
    short(lambda: CALLS[call](chain, HOSTILE[value]))


def test_long_labels_are_cut() -> None:
    chain = MarkovChain({(LONG, "b"): -p, ("b", LONG): p}, {"p": 0.25})
    short(lambda: stationary(chain, throw=True))
    short(lambda: first_passage(chain, "c"))
    short(lambda: closed_form(MarkovChain(np.eye(2))))
    short(lambda: stationary(MarkovChain({(LONG, "b"): p})))


MODELS = [
    models.SubPacketApproximate, models.SubPacketFull, models.SubPacketFresh, models.SubPacketLevels,
    models.SubPacketExact, models.SharedLink, models.SquareRoot, models.PftkFull, models.PftkApproximate, models.Tfrc,
    models.LotkaVolterraWindows,
]  # fmt: skip
SOUND = {"loss": 0.1, "rtt": 0.1, "timeout": 0.2, "flows": 3, "capacity": 1e6, "base_rtt": 0.1, "buffer": 10.0}


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.__name__)
def test_parameters_of_models(model: Any, value: str) -> None:
    names = [f.name for f in dataclasses.fields(model) if "symbol" in f.metadata]
    sound = {k: v for k, v in SOUND.items() if k in names}
    for name in names:
        default = next(f.default for f in dataclasses.fields(model) if f.name == name)
        open_end = name == "window_limit" and value == "inf"
        if (value == "none" and default is None) or open_end or (value == "4,301 digits" and False):
            continue
        short(lambda name=name: model(**{**sound, name: HOSTILE[value]}))


@pytest.mark.parametrize("value", [v for v in HOSTILE if v not in ("long list",)])
def test_allocations_and_orders(value: str) -> None:
    for index in (models.jain, models.gini, models.entropy, models.hoover, models.min_max_ratio):
        short(lambda index=index: index(HOSTILE[value]))
    if value not in ("inf",):
        short(lambda: models.atkinson([1.0, 2.0], HOSTILE[value]))
        short(lambda: models.hill_number([1.0, 2.0], HOSTILE[value]))
    short(lambda: models.alpha_fair_utility([1.0, 2.0], HOSTILE[value]))
    short(lambda: models.collapse_threshold(3, HOSTILE[value]))
    short(lambda: models.collapse_threshold(HOSTILE[value]))


def full() -> Any:
    return models.SubPacketFull(loss=np.linspace(0.01, 0.4, 2_000_000), w_max=300)


def unbounded() -> dict[str, Callable[[], Any]]:
    pair = MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": 0.25})
    many = pair.at(p=np.linspace(0.1, 0.4, 1_000_000))
    generic = {(str(i), str(j)): sympy.Symbol(f"x{i}_{j}", positive=True) for i in range(9) for j in range(9) if i != j}
    held = MarkovChain({("a", "b"): p, ("b", "a"): p}, {"p": 0.25}, holding={"a": 10**9})
    return {
        "times": lambda: transient(many, "a", range(500)),
        "distribution": lambda: first_passage(many, "a", times=[1_000_000]),
        "sojourn": lambda: sojourn(many, ["a"], longest=1_000_000),
        "window": lambda: windowed(many, {"a": 1}, 1_000_000),
        "states of a closed form": lambda: closed_form(models.SubPacketFull(loss=0.1, w_max=300)),
        "symbols of a closed form": lambda: closed_form(MarkovChain(generic)),
        "held": lambda: transient(held, "a", [1]),
        "grid": lambda: stationary(full()),
        "entries": lambda: spectral_gap(full()),
        "flows": lambda: models.LotkaVolterraWindows(flows=10**6).ode(),
        "flows of a link": lambda: models.LotkaVolterraLink(flows=10**5, link=1e3).ode(),
        "flows of a map": lambda: models.LotkaVolterraMap(flows=10**5).map(),
        "windows": lambda: models.SubPacketFull(loss=0.1, w_max=10**6),
        "stages": lambda: models.SubPacketFull(loss=0.1, stages=10**6),
        "cap": lambda: models.SharedLink(flows=10, capacity=1e6, base_rtt=0.1, buffer=1, backoff_cap=10**5),
    }


@pytest.mark.parametrize("request_", unbounded())
def test_work_is_bounded_before_it_starts(request_: str) -> None:
    call = unbounded()[request_]
    began = time.process_time()
    short(call)
    assert time.process_time() - began < 60  # without the bound: hours, or all memory


def test_windows_of_a_thousand_are_written() -> None:
    assert len(models.SubPacketFull(loss=0.1, w_max=1000).chain().labels) == 1010
    assert (
        int(self_consistent(models.SharedLink(flows=100, capacity=1e6, base_rtt=0.2, buffer=50).balance()).status) == 0
    )
