"""What solving our models says about statements of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from tcpdynamics.models import OneWayTimes
from tcpdynamics.solvers import trajectory

from .. import ledger
from ..findings import Answer, Finding, finding, listed

ALPHA, BETA = 0.875, 2.0
#: Acknowledgements after which estimates are looked at, and how often both routes are drawn anew.
ACKS, DRAWS = 4000, 5
#: One-way times [s] of two routes, there and back: the readings of `mtcp.estimator`.
ROUTES: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "unlike": ((0.02, 0.06), (0.07, 0.04)),
    "alike": ((0.05, 0.05), (0.05, 0.05)),
    "unlike but symmetric": ((0.02, 0.06), (0.02, 0.06)),
}
#: How estimates begin, which the paper does not say; claims are decided with the first, the simulator's.
BEGINNINGS = ("with halves of the first round trip", "with zeros")


@finding("improvements", "Table 4, footnote 3", "improvements over Reno follow from throughputs")
def improvements() -> Answer:
    """The nearest to each printed one that follows from throughputs that would be printed as they are."""
    printed = ledger.claims("mtcp")
    numbers: dict[str, Any] = {}
    off = []
    for name, claim in printed.items():
        if not name.startswith("mtcp.table4.arithmetic."):
            continue
        scheme, _, loss = claim.value.rpartition("_")
        over, reno = (printed[f"mtcp.table4.{sender}.{loss}"] for sender in (scheme, "reno"))
        low, high = quotients(_number(over), _number(reno), over.rounding)
        numbers[claim.value] = float(np.clip(_number(claim), low, high))
        if not claim.range.holds(round(_number(over) / _number(reno) - 1, 12)):  # 0.725, not a bit less
            off.append(claim.value.replace("_", " "))
    return Answer(
        "all follow from throughputs that would be printed so, but four not from the printed ones themselves",
        f"{len(off)} differ by a unit: {', '.join(off)} % of the ACKs lost",
        len(off) == 4 and len(numbers) == 12,
        numbers,
    )


def _number(claim: ledger.Claim) -> float:
    assert isinstance(claim.published, float | int)
    return float(claim.published)


def quotients(over: float, under: float, rounding: float) -> tuple[float, float]:
    """Least and greatest quotient, less 1, of two numbers that are rounded.

    >>> [round(x, 3) for x in quotients(1.44, 0.78, 0.005)]
    [0.828, 0.865]
    """
    return (over - rounding) / (under + rounding) - 1, (over + rounding) / (under - rounding) - 1


@finding("one_way_times", "section 3.4.3, eqs. (4)-(10)", "one-way times and timeouts", figure="mtcp.estimator")
def one_way_times() -> Answer:
    """Iterate eqs. (4)-(8) over pairs of routes drawn at random, until nothing changes but by rounding."""
    first, second = (_at_the_end(begin) for begin in BEGINNINGS)
    gaps = []
    for there, back in ROUTES.values():
        f = np.array([estimates(there, back, "with zeros", draw)[-1][:2] for draw in range(DRAWS)])
        gaps.append(float(abs(f - np.array(there) - OneWayTimes.offset([0, 0], [0, 0], list(there), list(back))).max()))
    return Answer(
        "only sums of a time there and one back can be known: one-way times stay off by a constant that the "
        "beginning decides; the timeouts (9) and (10) are such sums, and right whatever it is",
        f"errors of one-way times {listed(first['one_way_error'], 2)} begun {BEGINNINGS[0]}, "
        f"{listed(second['one_way_error'], 2)} {BEGINNINGS[1]}; of round trips {max(first['round_trip_error']):.1g}; "
        f"timeouts over beta times the true ones at least {min(first['least_timeout_9']):.6f}; off the predicted "
        f"constant by {max(gaps):.1g} s",
        max(first["round_trip_error"] + second["round_trip_error"]) < 1e-6
        and max(gaps) < 1e-9
        and max(first["one_way_error"]) > 0.05
        and _step_gap() < 1e-12,
        {**first, "readings": list(ROUTES), "axis": "one-way times"},
    )


def _at_the_end(begin: str) -> dict[str, list[float]]:
    """Errors of estimates, and timeouts over beta over the true ones, for each of `ROUTES`."""
    rows: dict[str, list[float]] = {
        k: [] for k in ("one_way_error", "round_trip_error", "least_timeout_9", "least_timeout_10")
    }
    for there, back in ROUTES.values():
        errors = [estimates(there, back, begin, draw)[-1] for draw in range(DRAWS)]
        f, r = np.array([e[:2] for e in errors]), np.array([e[2:] for e in errors])
        true_f, true_r = np.array(there), np.array(back)
        rows["one_way_error"].append(float(max((abs(f / true_f - 1)).max(), (abs(r / true_r - 1)).max())))
        sums, true_sums = f[:, :, None] + r[:, None, :], true_f[:, None] + true_r
        rows["round_trip_error"].append(float(abs(sums / true_sums - 1).max()))
        longest = r.max(1, keepdims=True)
        rows["least_timeout_9"].append(float(((f + longest) / (true_f + true_r.max())).min()))
        rows["least_timeout_10"].append(float(((f.max(1) + longest[:, 0]) / (true_f.max() + true_r.max())).min()))
    return rows


def _step_gap() -> float:
    """Largest gap between a step of `OneWayTimes.map` and the mean of one of eqs. (4)-(8) over all pairs of routes."""
    f, r, (true_f, true_r) = np.array([0.03, 0.01]), np.array([0.02, 0.05]), map(np.array, ROUTES["unlike"])

    def seen(there: np.ndarray, back: np.ndarray) -> dict[str, float]:
        return {
            "round_trip": float(there.mean() + back.mean()),
            "there": float(there[0] - there[1]),
            "back": float(back[0] - back[1]),
        }

    after = []
    for x, y in product(range(2), repeat=2):
        step = (1 - ALPHA) * (true_f[x] + true_r[y] - f[x] - r[y]) / 2
        after.append(seen(f + step * (np.arange(2) == x), r + step * (np.arange(2) == y)))
    true: dict[str, Any] = {f"true_{name}": number for name, number in seen(true_f, true_r).items()}
    step_of_map = trajectory(OneWayTimes(alpha=ALPHA, **true).map(), [0, 1], start=seen(f, r)).isel(time=-1)
    return max(abs(float(step_of_map[n]) - sum(one[n] for one in after) / 4) for n in seen(f, r))


def estimates(
    there: tuple[float, float], back: tuple[float, float], begin: str, draw: int, acks: int = ACKS
) -> np.ndarray:
    """(acks + 1, 4) estimates [s] there and back: eqs. (4)-(8) over pairs of routes drawn at random."""
    pairs = np.random.default_rng(draw).integers(0, 2, (acks, 2))
    e = np.zeros(4) if begin == "with zeros" else np.full(4, -1.0)
    course = [e.copy()]
    for x, y in pairs.tolist():
        round_trip = there[x] + back[y]
        if e[x] < 0 and e[2 + y] < 0:
            e[x] = e[2 + y] = round_trip / 2
        elif e[x] < 0:
            e[x] = round_trip - e[2 + y]
        elif e[2 + y] < 0:
            e[2 + y] = round_trip - e[x]
        else:
            step = (1 - ALPHA) * (round_trip - (e[x] + e[2 + y])) / 2
            e[x] += step
            e[2 + y] += step
        course.append(e.copy())
    return np.array(course)


@finding("flow_window", "eqs. (2), (3)", "sending all that eq. (3) allows keeps eq. (2)")
def flow_window() -> Answer:
    """How far eq. (2), snd_mnxt < snd_una + r_wnd, is kept once wnd_flow bytes more have been sent."""
    gaps = []
    for una, window, sent in product((0, 5000), (1000, 20_000), (0, 400, 1000)):
        following = una + sent
        allowed = una + window - following  # eq. (3)
        gaps.append(una + window - (following + allowed))
    return Answer(
        "eq. (3) allows one byte more than the strict inequality (2)",
        f"the gap that (2) wants above 0 is {min(gaps)} to {max(gaps)} bytes",
        set(gaps) == {0},
        {"gap": float(min(gaps))},
    )


@finding("room", "eq. (11), section 3.5.1", "routes over which a missing segment may go at once")
def room() -> Answer:
    """Routes that satisfy eq. (11) at the third duplicate, where each had sent all that its window allows.

    Each reply takes a segment off the list and lets a new one go (section 3.4.1), so that `window` segments of the
    route are in its list, the missing one too. The other route's list is full.
    """
    numbers: dict[str, Any] = {"axis": "at the third duplicate", "readings": [], "routes": []}
    for in_list, falls in product((True, False), (True, False)):
        least = 2
        for window in range(4, 21):
            allowed = max(window // 2, 2) if falls else window
            own = allowed - (window if in_list else window - 1)
            other = window - window
            least = min(least, int(own >= 1) + int(other >= 1))
        numbers["readings"].append(
            f"the missing segment {'in' if in_list else 'off'} the list, the window {'half' if falls else 'as before'}"
        )
        numbers["routes"].append(float(least))
    return Answer(
        "full windows leave no route for the missing segment, unless it is off the list and the window falls after it",
        f"routes with room: {listed(numbers['routes'], 0)}",
        numbers["routes"] == [0.0, 0.0, 0.0, 1.0],
        numbers,
    )


#: In the order of the paper.
FINDINGS: tuple[Finding, ...] = (flow_window, one_way_times, room, improvements)
