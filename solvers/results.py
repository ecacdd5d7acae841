"""Labelled results: units, provenance, and a reason for each point that failed."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.errors import FailureWarning, bare, shown
from tcpdynamics.later import xr

from .grid import RESERVED, Grid
from .problems import ChainError, DomainError, Dynamics, DynamicsError, MarkovChain
from .problems.words import equations_text

#: Characters of a setting that a result keeps: an expression, a path.
LONGEST_VALUE = 10_000


class Status(IntEnum):
    """Why a point of a result failed. Stores hold the codes, so a code keeps its meaning.

    Attributes
    ----------
    sentence : what happened
    advice : what to do about it, or ""
    reason : both

    Examples
    --------
    >>> Status.STEPS.value, Status.STEPS.sentence
    (8, 'the steps ran out before the last time')
    >>> Status(8).advice
    'raise max_steps or loosen the tolerance'
    """

    sentence: str
    advice: str
    reason: str

    def __new__(cls, code: int, sentence: str = "", advice: str = "", joint: str = ": ") -> Status:
        """A member with its texts; `joint` stands between them."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.sentence, member.advice = sentence, advice
        member.reason = sentence + joint + advice if advice else sentence
        return member

    OK = 0, "ok"
    OUTSIDE = 1, "a parameter is outside its domain"
    NEGATIVE = 2, "a transition is negative or not a number"
    ROW_SUM = 3, "the transitions that leave a state do not sum to one"
    REDUCIBLE = 4, "not solved: a transition vanished and the chain is reducible here"
    RESULT_OVERFLOW = 5, "not computed: the result overflowed"
    NOT_CONVERGED = 6, "the iteration did not converge"
    NO_ROOT = 7, "no value of the unknown within its bounds meets the target"
    STEPS = 8, "the steps ran out before the last time", "raise max_steps or loosen the tolerance"
    OVERFLOW = 9, "the state grew beyond floating-point numbers"
    NO_EQUILIBRIUM = 10, "no equilibrium was found from any start"
    NOT_POLISHED = 11, "a root could not be polished: its residual is too large"
    RAISED = 12, "not computed: an error was raised"
    JUMPED = 13, "the orbit met a jump of the equations, which linearised deviations do not show"
    ON_SWITCH = (14, "the point lies on a switch of the equations: each side of it has a linearisation of its own")
    TOO_LARGE = 15, "a value lies beyond floating-point numbers: it is given as inf, the others are right"
    TOO_SLOW = 16, "the chain forgets too slowly: its spectral gap lies below the rounding of its eigenvalues"
    TOO_RARE = (17, "the states are visited too rarely for floating-point numbers", "give a likelier set of states")
    SEARCH_FAILED = (18, "no equilibrium was found from any start", "give the model fixed_points=, or the solver at=")
    NOT_ISOLATED = (
        19,
        "equilibria are not isolated: those shown are points of a line or region of them",
        "choose one with at=",
        "; ",
    )
    TOO_LONG = 20, "the steps ran out before the end of the motion", "shorten transient and keep"
    STIFF = (
        21,
        "the steps ran out, held small by stability and not by accuracy, since the problem is stiff",
        "use method='radau' (for ODEs; delay equations have no method for stiff problems here)",
    )
    SLIDES = (
        22,
        "the motion slides along a switch, or meets it ever faster, and the equations do not say how it goes on",
        "smooth the switch, or write down the motion along it",
    )
    SINGULAR = (
        23,
        "the equations or their derivatives are not finite where the motion arrived (a division by zero, a root or a "
        "logarithm of what is not positive, a singular point)",
        "change the start or the parameters",
    )
    NOT_AT_REST = 24, "the point of at= is no equilibrium: a linearisation there judges nothing"
    STIFF_SWITCHED = (
        25,
        "the steps ran out, held small by stability and not by accuracy: the problem is stiff, and switched and delay "
        "equations have no method for stiff problems here",
        "raise max_steps",
    )
    TOO_STIFF = (
        26,
        "the steps ran out, held small by stability and not by accuracy: the problem is stiff, and this solver has no "
        "method for stiff problems",
        "shorten transient and keep (an ODE without switches can be followed by trajectory with its method radau)",
    )
    TOO_SHORT = (
        27,
        "the motion has not settled in the default times, which are too short for the slowest mode since the fastest "
        "one bounds the steps",
        "give transient and keep",
    )
    NO_CLOSED_FORM = (
        28,
        "none of the closed-form points of rest holds here",
        "search with equilibria and a box, and give the solver at=",
    )
    NEVER_REACHED = (29, "a transition vanished: from some state the target is never reached, and its time is infinite")
    SEVERAL_ROOTS = (
        30,
        "several values of the unknown meet the target: root is the lowest, highest_root the highest",
        "narrow the bounds to one of them",
    )


def reason(code: int) -> str:
    """What a code of `status` means, with advice; a sweep's own function may give codes that are not ours.

    Examples
    --------
    >>> reason(9), reason(200)
    ('the state grew beyond floating-point numbers', 'status 200')
    """
    try:
        return Status(code).reason
    except ValueError:
        return f"status {code}"


#: Status of a point that a sweep has not reached yet.
NOT_YET = 255


class Provenance(Protocol):
    """What results keep of a problem."""

    @property
    def name(self) -> str: ...

    @property
    def provenance(self) -> Mapping[str, object]: ...


def provenance(problem: Provenance, solver: str, **settings: object) -> dict[str, str]:
    """What is needed to run a problem's result again, as NetCDF attributes."""
    from tcpdynamics import __version__

    attrs = {"model": problem.name, "solver": solver, "version": __version__}
    if problem.provenance:
        attrs["parameters"] = _json_of("provenance", dict(problem.provenance))
    elif equations := equations_text(getattr(problem, "equations", {})):  # of a user
        attrs["equations"] = json.dumps(equations)
        if units := getattr(problem, "units", {}):
            attrs["units"] = json.dumps(dict(units))
    if settings:
        attrs["settings"] = _json_of("the settings", settings)
    return attrs


def _json_of(what: str, values: Mapping[str, object]) -> str:
    try:
        return json.dumps(values, default=_to_json)
    except (TypeError, ValueError, RecursionError) as error:  # an integer too long to print, a list within itself
        raise DynamicsError(
            f"{what} cannot be kept with the result, for {bare(error, 200)}; give plain numbers and texts"
        ) from None


def _to_json(value: Any) -> Any:
    """Long arrays by their ends: the coordinates hold all of their values."""
    if hasattr(value, "magnitude") and hasattr(value, "units"):
        return _with_unit(_to_json(value.magnitude), str(value.units))
    array = np.asarray(value)
    if array.dtype == object:
        return bare(value, LONGEST_VALUE)
    if array.dtype.kind == "f":  # JSON has no other floats
        array = array.astype(np.float64)
    if array.size > 16:
        return {"first": array.flat[0].item(), "last": array.flat[-1].item(), "count": array.size}
    return array.tolist()


def _with_unit(value: Any, unit: str) -> Any:
    """A plain value of a quantity: "200 millisecond"."""
    if isinstance(value, list):
        return [_with_unit(v, unit) for v in value]
    if isinstance(value, dict):
        return {k: v if k == "count" else _with_unit(v, unit) for k, v in value.items()}
    return f"{value} {unit}"


def as_dataset(
    data: Mapping[Any, Any], coords: Mapping[Any, Any] | None = None, attrs: Mapping[Any, Any] | None = None
) -> xr.Dataset:
    """The Dataset of a solver. xarray would make a coordinate of a variable that has a dimension's name.

    Raises
    ------
    DomainError
        A dimension or a coordinate, brought by a parameter, has the name of one of the results.
    """
    dims = {name: _dims_of(value) for name, value in (*data.items(), *(coords or {}).items())}
    dimension_names = set(coords or ()).union(*dims.values())
    # A solver may give the labels of a dimension of its own as a variable.
    labels = {name for name in RESERVED if dims.get(name) == (name,) and name not in (coords or ())}
    both = sorted(str(name) for name in dimension_names & set(data) - labels)
    if both:
        raise DomainError(
            f"a parameter or its dimension is called {shown(both[0])}, and so is one of the results; rename it"
        )
    return xr.Dataset(data, coords, attrs)


def _dims_of(value: Any) -> tuple[Any, ...]:
    dims = value.dims if hasattr(value, "dims") else value[0] if isinstance(value, tuple) else ()
    return (dims,) if isinstance(dims, str) else tuple(dims)


def status_variable(grid: Grid, status: NDArray[np.uint8]) -> xr.DataArray:
    """One code a point, with its meaning in the CF convention's `flag_values` and `flag_meanings`."""
    return xr.DataArray(grid.unflatten(status), dims=grid.dims, attrs=status_attributes())


def status_attributes(*more: tuple[int, str]) -> dict[str, Any]:
    """Attributes of a status variable, with `more` codes beside those of `Status`."""
    codes = [*((status.value, status.reason) for status in Status), *more]
    return {
        "long_name": "why a point failed (0: it did not)",
        "flag_values": np.array([code for code, _ in codes], dtype=np.uint8),
        "flag_meanings": " ".join(text.replace(" ", "_") for _, text in codes),
    }


def solved(
    problem: MarkovChain | Dynamics,
    grid: Grid,
    variables: Mapping[str, Any],
    status: NDArray[np.uint8],
    *,
    solver: str,
    coords: Mapping[str, Any] | None = None,
    throw: bool = False,
    describe: Callable[[int], str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """The result of a solver over the grid of its problem: the frame that all solvers share.

    Parameters
    ----------
    problem : what was solved, for the provenance
    variables : mapping name -> what `Grid.variable` makes, or a DataArray
    status : (size,) codes of `Status`
    solver, settings : for the provenance
    coords : mapping name -> labels of the solver's own dimensions
    throw, describe : as of `raise_if_failed`

    Raises
    ------
    ChainError or DynamicsError
        A point failed, and `throw` is set.
    DomainError
        A dimension or a coordinate, brought by a parameter, has the name of one of the results.
    """
    if throw:
        raise_if_failed(problem, grid, status, describe)
    data = {**variables, "status": status_variable(grid, status)}
    return as_dataset(data, {**grid.coords, **(coords or {})}, provenance(problem, solver, **(settings or {})))


def raise_if_failed(
    problem: MarkovChain | Dynamics, grid: Grid, status: NDArray[np.uint8], describe: Callable[[int], str] | None = None
) -> None:
    """Raise ChainError or DynamicsError if a point failed; `describe` gives the sentence for the first one's index."""
    bad = np.flatnonzero(status)
    if not bad.size:
        return
    first = int(bad[0])
    if describe is None:
        sentence = f"{problem.name} failed at {grid.point(first)}: {reason(int(status[first]))}"
    else:
        sentence = describe(first)
    more = f" ({bad.size} points failed)" if bad.size > 1 else ""
    raise (ChainError if isinstance(problem, MarkovChain) else DynamicsError)(sentence + more)


def failures(result: xr.Dataset) -> list[tuple[dict[str, float], str]]:
    """The failed points of a result and why they failed.

    Parameters
    ----------
    result : Dataset of a solver or of `sweep`
        With the variable `status`.

    Returns
    -------
    list of (point, reason)
        The parameters of each failed point by name, and a sentence.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain, stationary
    >>> p = sympy.Symbol("p")
    >>> chain = MarkovChain({("a", "b"): p, ("b", "a"): 1 - 2 * p}, {"p": [0.25, 0.75]})
    >>> failures(stationary(chain))
    [({'p': 0.75}, 'a transition is negative or not a number')]
    """
    status = result["status"]
    texts = {}
    if "failure_reason" in result:  # a sweep keeps the texts of errors
        texts = dict(zip(result["failure_point"].values.tolist(), result["failure_reason"].values, strict=True))
    failed = []
    for flat in np.flatnonzero((status.values != Status.OK) & (status.values != NOT_YET)):
        point = status[tuple(int(i) for i in np.unravel_index(flat, status.shape))] if status.ndim else status
        coords = {str(k): float(v) for k, v in point.coords.items() if v.ndim == 0 and v.dtype.kind in "iuf"}
        failed.append((coords, str(texts.get(int(flat), reason(int(point))))))
    return failed


def warn_if_most_failed(what: str, status: NDArray[np.uint8]) -> None:
    """Warn where more than half of all points failed, with the commonest reason.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_if_most_failed("bifurcation of a map", np.array([0, 9, 9], np.uint8))
    >>> print(caught[0].message)
    bifurcation of a map: 2 of 3 points failed; most often: the state grew beyond floating-point numbers
    """
    text = most_failed(what, status)
    if text:
        warnings.warn(text, FailureWarning, stacklevel=3)


def most_failed(what: str, status: NDArray[np.uint8]) -> str:
    """The sentence of `warn_if_most_failed`; empty where at most half of the points failed."""
    codes = np.asarray(status).ravel()
    failed = codes[(codes != 0) & (codes != NOT_YET)]
    if 2 * failed.size <= codes.size:
        return ""
    code, _ = Counter(failed.tolist()).most_common(1)[0]
    return f"{what}: {failed.size:,} of {codes.size:,} points failed; most often: {reason(code)}"
