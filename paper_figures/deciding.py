"""Decide a claim by its rule: solve its finding, or run its experiment, and look at the number that it names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from tcpdynamics.errors import DomainError, shown
from tcpdynamics.json_values import finite
from tcpdynamics.later import xr

from . import rules
from .experiments import SETTINGS, get_experiment, partly, run
from .findings import Answer
from .ledger import MODEL, Claim, claims
from .papers import get_finding
from .rules import Interval

if TYPE_CHECKING:
    from concurrent.futures import Executor

#: A number of each reading and replication, from the result of an experiment.
Value: TypeAlias = "Callable[..., xr.DataArray]"
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
    packets : Interval, optional   Mean and 95 % interval of the reading `shown`.
    ns2, linux : Interval, optional   The same of the first reading.
    readings : tuple of (name, verdict, mean)   Under each reading that touches what the claim looks at.
    labels : tuple of mappings     Axis -> label of each of these.
    shown : str                    The first reading with the claim's verdict; with conditions, the first that holds.
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
    labels: tuple[Mapping[str, str], ...] = ()
    shown: str = ""
    share: float = math.nan
    supported: bool | None = None
    text: str = ""
    setting: str = "quick"

    def document(self) -> dict[str, Any]:
        """All of it as JSON has it: None for what is no number."""
        plain: dict[str, Any] = finite(asdict(self))
        return plain


def wanted_cases(*claims: Claim) -> Callable[[Mapping[str, str]], bool]:
    """Which cases of their experiment claims look at."""
    wanted = [labels for c in claims for labels in (c.case, *([c.compared_with] if c.compared_with else []))]
    return lambda case: partly(case, *wanted)


def _calibrating(claim: Claim) -> list[Claim]:
    """Claims of its experiment that choose labels of an axis of readings for it."""
    several = claims(claim.paper).values()
    return [one for one in several if one.calibrates and one.experiment == claim.experiment and not claim.calibrates]


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
    if setting not in SETTINGS:
        raise DomainError(f"setting must be one of {', '.join(SETTINGS)}, got {setting!r:.40}")
    answer = solved(claim.finding) if claim.finding else None
    if claim.decided_by == MODEL:
        assert answer is not None
        return _by_model(claim, answer, setting)
    chooses = _calibrating(claim)
    if data is None:
        data = run(
            claim.experiment, setting, cases=wanted_cases(claim, *chooses), store=store, executor=executor,
            progress=progress,
        )  # fmt: skip
    labels, over, judged = by_readings(claim, data, setting)
    verdicts = [verdict_of_reading for _, verdict_of_reading, _ in judged]
    verdict, share = rules.over_readings(verdicts, [mean for _, _, mean in judged], claim.range)
    shown = rules.HOLDS if verdict == rules.CONDITIONS else verdict
    at = verdicts.index(shown) if shown in verdicts else 0
    return Decision(
        claim.id,
        verdict,
        model=prediction(claim),
        packets=rules.interval(over[at].tolist()),
        ns2=beside(claim, ns2),
        linux=beside(claim, linux),
        readings=tuple(judged) if len(judged) > 1 else (),
        labels=tuple(labels) if len(judged) > 1 else (),
        shown=judged[at][0] if len(judged) > 1 else "",
        share=share,
        supported=None if answer is None else bool(answer.supported),
        text="" if answer is None else answer.answer,
        setting=setting,
    )


def by_readings(
    claim: Claim, data: xr.Dataset, setting: str
) -> tuple[list[dict[str, str]], list[np.ndarray], list[tuple[str, str, float]]]:
    """Labels, replications, and (name, verdict, mean) of a claim under each reading that others' calibration allows."""
    labels, over = _merged(claim, data, [_allowed(one, data, setting) for one in _calibrating(claim)])
    judged = [(name_of(one), *_judged(claim, values, setting)) for one, values in zip(labels, over, strict=True)]
    return labels, over, judged


def undecided(claim: Claim, data: xr.Dataset, setting: str) -> bool:
    """Whether a claim cannot be decided by these runs, as a whole or in its first reading."""
    judged = by_readings(claim, data, setting)[2]
    verdicts = [verdict for _, verdict, _ in judged]
    whole, _ = rules.over_readings(verdicts, [mean for _, _, mean in judged], claim.range)
    return rules.OPEN in (whole, verdicts[0])


def name_of(labels: Mapping[str, str]) -> str:
    """A reading in words: its axes and their labels.

    >>> name_of({"min_rto": "1 s", "handshake": "no"}), name_of({})
    ('min_rto 1 s, handshake no', 'as printed')
    """
    return ", ".join(f"{axis} {label}" for axis, label in labels.items()) or "as printed"


def _judged(claim: Claim, values: np.ndarray, setting: str) -> tuple[str, float]:
    """Verdict and mean of a claim under one reading, from its replications."""
    looks = get_experiment(claim.experiment).setting(setting).looks
    verdict = rules.decided(claim.rule, claim.range, values.tolist(), claim.runs, looks)
    return verdict, rules.interval(values.tolist()).mean


def _merged(
    claim: Claim, data: xr.Dataset, allowed: Sequence[list[Mapping[str, str]]] = ()
) -> tuple[list[dict[str, str]], list[np.ndarray]]:
    """The readings of a claim by axes that touch its cases, and its number in each replication; each run once."""
    experiment = get_experiment(claim.experiment)
    wanted = wanted_cases(claim)
    cases = [c for c in (dict(zip(experiment.cases, x, strict=True)) for x in experiment.case_labels()) if wanted(c)]
    axes = [axis for axis in experiment.readings if any(experiment.touches(axis, case) for case in cases)]
    known = experiment.readings_by_name()
    over = measured(claim, data)
    count = over.sizes["replication"]
    if "runs" in data.coords:
        count = min(int(data.runs.sel(case)) for case in cases)
    out: dict[tuple[str, ...], tuple[dict[str, str], np.ndarray]] = {}
    for i, name in enumerate(over["reading"].values):
        whole = known[str(name)]
        if all(whole in several for several in allowed):
            labels = {axis: whole[axis] for axis in axes}
            out.setdefault(tuple(labels.values()), (labels, over.values[i, :count]))
    return [labels for labels, _ in out.values()], [values for _, values in out.values()]


def _allowed(claim: Claim, data: xr.Dataset, setting: str) -> list[Mapping[str, str]]:
    """Readings with the labels that a calibrating claim chooses, for each choice along the other axes that touch it.

    They are those under which it holds, else the nearest one.
    """
    groups: dict[tuple[str, ...], list[tuple[dict[str, str], str, float]]] = {}
    for labels, values in zip(*_merged(claim, data), strict=True):
        others = tuple(label for axis, label in labels.items() if axis != claim.calibrates)
        groups.setdefault(others, []).append((labels, *_judged(claim, values, setting)))
    chosen = []
    for group in groups.values():
        held = [labels for labels, verdict, _ in group if verdict == rules.HOLDS]
        nearest = int(np.nanargmin([abs(mean - claim.number) for _, _, mean in group]))
        chosen += held or [group[nearest][0]]
    known = get_experiment(claim.experiment).readings_by_name().values()
    return [one for one in known if any(labels.items() <= one.items() for labels in chosen)]


def beside(claim: Claim, data: xr.Dataset | None) -> Interval | None:
    """The number from a judge's runs; None where there are none, or it lacks a case that the number is made of."""
    if data is None:
        return None
    data = data.drop_vars([name for name in data.data_vars if not data[name].notnull().any()])
    try:
        with np.errstate(all="ignore"):
            # A minimum or a sum over cases leaves out those that the judge lacks: it changes with what stands for them.
            values, *others = (
                measured(claim, one).isel(reading=0).values for one in (data, data.fillna(1e9), data.fillna(-1e9))
            )
    except (ValueError, KeyError, AttributeError, DomainError):  # cases or measures that the judge lacks
        return None
    interval = rules.interval(values.tolist())
    return interval if interval.known and all(np.array_equal(values, other) for other in others) else None


def _by_model(claim: Claim, answer: Answer, setting: str) -> Decision:
    """Decide by the numbers of a finding, one for each reading."""
    numbers = np.atleast_1d(np.asarray(answer.numbers[claim.value], float))
    verdicts = [rules.verdict(claim.rule, claim.range, Interval(x, x, x, 1)) for x in numbers.tolist()]
    names = answer.numbers.get("readings") or [f"{i + 1} of {len(verdicts)}" for i in range(len(verdicts))]
    axis = answer.numbers.get("axis") or f"{claim.finding}"
    labels = answer.numbers.get("labels") or [{axis: str(name)} for name in names]
    usable, model = numbers[np.isfinite(numbers)], None
    if usable.size:
        model = Interval(float(usable.mean()), float(usable.min()), float(usable.max()), usable.size)
    several = len(verdicts) > 1
    verdict, share = rules.over_readings(verdicts)
    return Decision(
        claim.id,
        verdict,
        model=model,
        readings=tuple(zip(map(str, names), verdicts, numbers.tolist(), strict=True)) if several else (),
        labels=tuple(labels) if several else (),
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
