"""What the paper on logistic control says, and what packets answer (Iguchi, Hasegawa, Murata 2005)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr

from .comparison import TOLERANCE, Verdict

#: The paper's weight of other traffic and gain; the gains of its Fig. 1.
GAMMA, EPSILON, GAINS = 0.9, 1.95, (0.6, 1.8, 2.4, 3.0)
MBIT = 1e6
#: A window swings if it leaves its mean by this share; far below the swings that there are (a tenth and more), and far
#: above those that die out (a thousandth and less).
SWINGS = 0.01

HOLDS, FAILS, DEPENDS = "holds", "fails", "depends"


class Statement(NamedTuple):
    """What the paper says, whether it holds in packets, and the numbers."""

    name: str
    published: str
    answer: str
    numbers: str


def statements(result: xr.Dataset) -> list[Statement]:
    """The paper's statements, judged by the numbers of a result of `LotkaVolterraVsPackets`."""
    said = [*_gains(result), _formula(result), _bandwidth(result), _shares(result), _sums(result)]
    if (result.part == "largest gain").any():
        said.append(_late(result))
    return [*said, _fairness(result), _udp(result), _losses(result)]


def _of(result: xr.Dataset, part: str) -> xr.Dataset:
    return result.sel(case=result.part == part)


def _measured(cases: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Cases in which the others' throughput is measured, and those in which their windows are."""
    throughput = np.char.startswith(cases.model.values.astype(str), "throughput")
    return cases.sel(case=throughput), cases.sel(case=~throughput)


def _gains(result: xr.Dataset) -> list[Statement]:
    cases, said = _of(result, "gains"), []
    for gains, settles in ((GAINS[:2], True), (GAINS[2:], False)):
        size = float(cases.measured_high.values[np.isin(cases["at"].values, gains)].max())
        why = "" if settles else ": each acknowledgement is a step of its own, and Fig. 1 is a map per round trip"
        said.append(
            Statement(
                f"epsilon = {gains[0]:g} and {gains[1]:g}",
                f"the rate {'converges' if settles else 'stays unstable'} (Fig. 1, section 2.1)",
                HOLDS if (size < SWINGS) == settles else FAILS,
                f"In the end the window of one flow swings by {size:.1%}{why}.",
            )
        )
    return said


def _formula(result: xr.Dataset) -> Statement:
    steps, trains = _of(result, "convergence"), _of(result, "trains")
    return Statement(
        "T = ln(...)/epsilon",
        "the time from (1-b) to c of the capacity (section 3.2)",
        HOLDS if (steps.verdict == Verdict.AGREES).all() else FAILS,
        f"{steps.measured.min():.2f} to {steps.measured.max():.2f} RTT, by the formula {steps.predicted.mean():.2f}: a "
        "round trip brings the acknowledgements of the window before it, so that windows grow by 1 + epsilon at first, "
        f"not e^epsilon. Counted so, times are within {float(abs(trains.gap).max()):.1%}.",
    )


def _bandwidth(result: xr.Dataset) -> Statement:
    whole, steps = _of(result, "start to end"), _of(result, "convergence")
    x, y = whole["at"].values, whole.measured.values
    growth = f"{float(np.polyfit(np.log10(x), y, 1)[0]):+.2f} RTT" if len(x) > 1 else "unknown"
    return Statement(
        "Fig. 5",
        "the convergence time does not depend on the bandwidth",
        HOLDS if abs(y.max() / y.min() - 1) < TOLERANCE else FAILS,
        f"From the start {y[0]:.1f} RTT at {x[0] / MBIT:g} Mbit/s, {y[-1]:.1f} at {x[-1] / MBIT:g}; for ten times the "
        f"bandwidth {growth}, since the first windows are packets. From a tenth of the window in the end on, times are "
        f"{steps.measured.max() / steps.measured.min() - 1:.1%} apart.",
    )


def _shares(result: xr.Dataset) -> Statement:
    own, other = _measured(_of(result, "shares"))
    off = float(np.abs(other.measured.values - own.predicted.values).max())
    holds = bool((own.verdict == Verdict.AGREES).all())
    return Statement(
        "eq. (9)",
        "unlike access links share in proportion to K_i (Fig. 8)",
        DEPENDS if holds and off > TOLERANCE else HOLDS if holds else FAILS,
        f"The share of one of two flows is within {float(abs(own.gap).max()):.3f} of it where the other's throughput "
        f"is measured; where its window is, up to {off:.3f} off.",
    )


def _sums(result: xr.Dataset) -> Statement:
    own, other = _measured(_of(result, "sums"))
    above = [float(cases.measured.max()) > 1 / GAMMA for cases in (own, other)]
    (x, x_by), (y, y_by) = ((float(c.measured[-1]), float(c.predicted[-1])) for c in (own, other))
    return Statement(
        "sum of windows",
        "it stays below K rtt/gamma, 1.11 BDP (section 3.2)",
        FAILS if all(above) else DEPENDS if any(above) else HOLDS,
        f"The sum of {int(own['at'].values[-1])} flows is {x:.2f} BDP (predicted {x_by:.2f}) where the others' "
        f"throughput is measured, {y:.2f} ({y_by:.2f}) where their windows are. No available bandwidth is below 0, so "
        f"that more than {1 + 1 / (1 - GAMMA):.0f} flows can rest at {1 - GAMMA:.1f} BDP each, too.",
    )


def _late(result: xr.Dataset) -> Statement:
    gain, (own, other) = _of(result, "largest gain"), _measured(_of(result, "swing"))
    stands = bool((own.measured < SWINGS).all())
    limits = ", ".join(
        f"{m:.2f} ({p:.2f}) at {a:g} RTT"
        for m, p, a in zip(gain.measured.values, gain.predicted.values, gain["at"].values, strict=True)
    )
    return Statement(
        "epsilon = 1.95",
        "stable, with measurements every 1 to 4 RTT (section 3.2)",
        DEPENDS if stands and (other.measured > SWINGS).any() else HOLDS if stands else FAILS,
        f"With a measurement each round trip the sum of five windows swings by up to {float(own.measured.max()):.1%} "
        f"where the others' throughput is measured, by {float(other.measured.max()):.0%} where their windows are. With "
        f"windows measured each quarter of a round trip, epsilon may be up to {limits} late (linear model in brackets; "
        "packets start far from rest).",
    )


def _fairness(result: xr.Dataset) -> Statement:
    joins = _of(result, "joins")
    ratio, other = (float(value) for value in joins.measured)
    return Statement(
        "Fig. 7, fairness",
        "all windows become alike after joins",
        HOLDS if abs(ratio - 1) < TOLERANCE else FAILS,
        f"The fifth flow ends with {ratio:.2f} times the first one's window (predicted "
        f"{float(joins.predicted[0]):.2f}; {other:.2f} where windows are measured): it takes the "
        "queue that it meets for part of its base RTT.",
    )


def _udp(result: xr.Dataset) -> Statement:
    udp = _of(result, "udp")
    return Statement(
        "Fig. 6",
        "follows UDP traffic that changes",
        HOLDS if (udp.verdict == Verdict.AGREES).all() else FAILS,
        f"Throughput is within {float(abs(udp.gap).max()):.3f} of the link of what UDP leaves.",
    )


def _losses(result: xr.Dataset) -> Statement:
    lost = int(_of(result, "losses").measured.sum())
    return Statement(
        "no losses",
        "no packet is lost in Fig. 6, 7 and 8",
        HOLDS if lost == 0 else FAILS,
        f"{lost} of all packets were lost.",
    )
