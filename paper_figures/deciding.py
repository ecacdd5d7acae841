"""Decide a claim by its rule: solve its finding, or run its experiment, and look at the number that it names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import xarray as xr

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.json_values import finite

from . import rules
from .experiments import get_experiment, partly, run
from .findings import Answer
from .ledger import MODEL, Claim
from .papers import get_finding
from .rules import Interval

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: A number of each reading and replication, from the result of an experiment.
Value = Callable[..., xr.DataArray]
_VALUES: dict[str, Callable[..., Any]] = {}
_PREDICTED: dict[str, Callable[..., float]] = {}
#: Answers by finding.
_SOLVED: dict[str, Answer] = {}
Function = TypeVar("Function", bound=Callable[..., Any])


def value(name: str) -> Callable[[Function], Function]:
    """Register a function of an experiment's result (and of a claim's `arguments`) as a value that claims may name.

    It gives a DataArray over `reading` and `replication`. `name` begins with the paper, as in "leap.lead".
    """

    def register(function: Function) -> Function:
        _VALUES[name] = function
        return function

    return register


def predicted(name: str) -> Callable[[Function], Function]:
    """Register a function of the labels of a claim's case, and of its `arguments`, that gives the model's number."""

    def register(function: Function) -> Function:
        _PREDICTED[name] = function
        return function

    return register


def _registered(table: Mapping[str, Callable[..., Any]], paper: str, name: str) -> Callable[..., Any]:
    import_module(f".{paper}.values", __package__)
    if f"{paper}.{name}" not in table:
        raise DomainError(f"{paper} has no value {shown(name)}")
    return table[f"{paper}.{name}"]


@dataclass(frozen=True)
class Decision:
    """What came out for a claim.

    Attributes
    ----------
    claim, verdict : str
    model : Interval, optional     Of a claim that a model decides, over the finding's numbers: mean, least, greatest.
    packets, ns2, linux : Interval, optional   Mean and 95 % interval of the first reading.
    readings : tuple of (name, verdict, mean)   Under each reading.
    share : float                  Of the readings, those under which it holds [1].
    supported : bool, optional     Whether this run bears out the finding that goes with it.
    text : str                     The finding's answer.
    setting : str
    """

    claim: str
    verdict: str
    model: Interval | None = None
    packets: Interval | None = None
    ns2: Interval | None = None
    linux: Interval | None = None
    readings: tuple[tuple[str, str, float], ...] = ()
    share: float = math.nan
    supported: bool | None = None
    text: str = ""
    setting: str = "quick"

    def document(self) -> dict[str, Any]:
        """All of it as JSON has it: None for what is no number."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain


def wanted_cases(claim: Claim) -> Callable[[Mapping[str, str]], bool]:
    """Which cases of its experiment a claim looks at."""
    return lambda case: partly(case, claim.case, *([claim.compared_with] if claim.compared_with else []))


def decide(
    claim: Claim,
    setting: str = "quick",
    *,
    data: xr.Dataset | None = None,
    ns2: xr.Dataset | None = None,
    linux: xr.Dataset | None = None,
    store: Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
) -> Decision:
    """Decide a claim, now.

    Parameters
    ----------
    claim : Claim
    setting : "tiny", "quick" or "full"
    data, ns2, linux : Dataset, optional
        Results of its experiment; else it is run, those cases that the claim looks at.
    store, executor, progress
        As of `experiments.run`.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from tcpdynamics.paper_figures.ledger import get_claim
    >>> decide(get_claim("sub_packet.eq8.idle_time")).verdict
    'holds'
    """
    answer = solved(claim.finding) if claim.finding else None
    if claim.decided_by == MODEL:
        assert answer is not None
        return _by_model(claim, answer, setting)
    if data is None:
        data = run(
            claim.experiment, setting, cases=wanted_cases(claim), store=store, executor=executor, progress=progress
        )
    over = measured(claim, data)
    runs = claim.runs if claim.rule == rules.RUN else None
    judged = []
    for i, name in enumerate(over["reading"].values):
        mean = rules.interval(over.isel(reading=i).values.tolist(), runs)
        judged.append((str(name), rules.verdict(claim.rule, claim.range, mean, claim.widest), mean.mean))
    verdict, share = rules.over_readings(
        [verdict_of_reading for _, verdict_of_reading, _ in judged], [mean for _, _, mean in judged], claim.range
    )
    return Decision(
        claim.id,
        verdict,
        model=prediction(claim),
        packets=rules.interval(over.isel(reading=0).values.tolist()),
        ns2=_beside(claim, ns2),
        linux=_beside(claim, linux),
        readings=tuple(judged) if len(judged) > 1 else (),
        share=share,
        supported=None if answer is None else bool(answer.supported),
        text="" if answer is None else answer.answer,
        setting=setting,
    )


def _beside(claim: Claim, data: xr.Dataset | None) -> Interval | None:
    """The number from a judge's runs; None where there are none, or it lacks a case that the number is made of."""
    if data is None:
        return None
    try:
        with np.errstate(all="ignore"):
            interval = rules.interval(measured(claim, data).isel(reading=0).values.tolist())
    except ValueError:  # such as the best of cases that are all missing
        return None
    return interval if interval.known else None


def _by_model(claim: Claim, answer: Answer, setting: str) -> Decision:
    """Decide by the numbers of a finding, one for each reading."""
    numbers = np.atleast_1d(np.asarray(answer.numbers[claim.value], float))
    verdicts = [rules.verdict(claim.rule, claim.range, Interval(x, x, x, 1)) for x in numbers.tolist()]
    names = answer.numbers.get("readings") or [f"{i + 1} of {len(verdicts)}" for i in range(len(verdicts))]
    usable, model = numbers[np.isfinite(numbers)], None
    if usable.size:
        model = Interval(float(usable.mean()), float(usable.min()), float(usable.max()), usable.size)
    readings = tuple(zip(map(str, names), verdicts, numbers.tolist(), strict=True))
    verdict, share = rules.over_readings(verdicts)
    return Decision(
        claim.id,
        verdict,
        model=model,
        readings=readings if len(verdicts) > 1 else (),
        share=share,
        supported=bool(answer.supported),
        text=answer.answer,
        setting=setting,
    )


def solved(name: str) -> Answer:
    """What a finding says; solved once, for several claims look at it."""
    if name not in _SOLVED:
        _SOLVED[name] = solve(name)
    return _SOLVED[name]


def solve(name: str) -> Answer:
    """Solve a finding."""
    return get_finding(name)()


def solve_aside(names: Iterable[str], executor: Executor) -> Callable[[], None]:
    """Let an executor solve findings beside what else it has to do; the function that is given back waits for them."""
    futures = {name: executor.submit(solve, name) for name in names if name not in _SOLVED}

    def wait() -> None:
        for name, answer in futures.items():
            _SOLVED[name] = answer.result()

    return wait


def measured(claim: Claim, data: xr.Dataset) -> xr.DataArray:
    """The number that a claim looks at, over `reading` and `replication`."""
    if claim.value not in data:
        function = _registered(_VALUES, claim.paper, claim.value)
        result: xr.DataArray = function(data, **claim.arguments)
        return result.transpose("reading", "replication")
    one = _point(claim, data, claim.case)
    if not claim.compared_with:
        return one
    other = _point(claim, data, claim.compared_with)
    return one - other if claim.form == "difference" else one / other


def _point(claim: Claim, data: xr.Dataset, case: Mapping[str, str]) -> xr.DataArray:
    axes = get_experiment(claim.experiment).cases
    if set(case) != set(axes):
        raise DomainError(f"claim {claim.id}: case must give {', '.join(axes)}, got {', '.join(case) or 'nothing'}")
    point: xr.DataArray = data[claim.value].sel(dict(case)).reset_coords(drop=True)
    return point.transpose("reading", "replication")


def prediction(claim: Claim) -> Interval | None:
    """What the claim's model predicts, where it names one."""
    if not claim.model:
        return None
    function = _registered(_PREDICTED, claim.paper, claim.model)
    number = float(function(**claim.case, **claim.arguments))
    return Interval(number, number, number, 1)
