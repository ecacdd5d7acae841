"""Numbers of one run of an experiment, as the simulator and ns-2 give it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tcpdynamics.jain import mean_jain
from tcpdynamics.later import xr
from tcpdynamics.models import PftkFull, SubPacketApproximate, SubPacketFresh, SubPacketFull, SubPacketLevels
from tcpdynamics.solvers import stationary

Measure: TypeAlias = "Callable[[xr.Dataset], float]"
#: Slices of a scenario are 5 s long; so many make those of 20 s and 60 s.
FOUR, TWELVE = 4, 12
#: Warm-up of the scenarios, and the pause that parts two bursts: a quarter of the propagation RTT [s].
WARM_UP, TOGETHER = 100.0, 0.05
#: Kind of a packet in records that is sent again after a timeout.
AFTER_TIMEOUT = 2
#: Percent of flows or users of which figures show quantiles.
PERCENTS = tuple(range(0, 101, 5))


def slices(result: xr.Dataset, several: int = FOUR) -> np.ndarray:
    """Segments of each flow in slices made of `several` of the scenario's; over slice and flow. A rest is left out.

    Examples
    --------
    >>> slices(xr.Dataset({"slice_goodput": (("slice", "flow"), np.ones((9, 2)))})).tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    segments = np.asarray(result.slice_goodput.transpose("slice", "flow").values, float)
    count = segments.shape[0] // several
    summed: np.ndarray = segments[: count * several].reshape(count, several, -1).sum(axis=1)
    return summed


def jain_5(result: xr.Dataset) -> float:
    """Jain's index in slices of 5 s."""
    return mean_jain(slices(result, 1))


def jain_20(result: xr.Dataset) -> float:
    """Jain's index in slices of 20 s."""
    return mean_jain(slices(result))


def jain_60(result: xr.Dataset) -> float:
    """Jain's index in slices of 60 s."""
    return mean_jain(slices(result, TWELVE))


def jain_whole(result: xr.Dataset) -> float:
    """Jain's index of the whole run."""
    return mean_jain(result.goodput.values[None, :])


def least_share(result: xr.Dataset) -> float:
    """Least goodput of a flow over the mean."""
    goodputs = np.asarray(result.goodput.values, float)
    return float(goodputs.min() / goodputs.mean())


def goodput(result: xr.Dataset) -> float:
    """Goodput of all flows [packet/s]."""
    return float(result.goodput_packet_rate.sum())


def loss(result: xr.Dataset) -> float:
    """Share of packets lost at the link."""
    return float(result.loss_rate)


def utilisation(result: xr.Dataset) -> float:
    """Utilisation of the link."""
    return float(result.utilisation)


def most_active(result: xr.Dataset) -> float:
    """Flows that get anything in 20 s, the most of all slices."""
    return float((slices(result) > 0).sum(axis=1).max())


def active(result: xr.Dataset) -> float:
    """Share of flows that get anything in 20 s."""
    return float((slices(result) > 0).mean())


def locked_out(result: xr.Dataset) -> float:
    """Share of flows that get nothing in 20 s."""
    return 1 - active(result)


def active_scatter(result: xr.Dataset) -> float:
    """Standard deviation over slices of the share of flows that get anything."""
    return float((slices(result) > 0).mean(axis=1).std(ddof=1))


def same_set(result: xr.Dataset) -> float:
    """Correlation between being active in a slice of 20 s and in the one 200 s later; 0 where sets are drawn anew."""
    there = slices(result) > 0
    return float(np.corrcoef(there[:-10].ravel(), there[10:].ravel())[0, 1])


def repeated(result: xr.Dataset) -> float:
    """Share of timeouts whose timer was backed off."""
    count = result.timeouts_by_backoff.sum("flow").values
    return float(count[1:].sum() / count.sum())


def first_timeout(result: xr.Dataset) -> float:
    """Mean timeout without back-off over the mean round-trip time."""
    return float(result.rto_over_rtt)


def repeats_lost(result: xr.Dataset) -> float:
    """Drop probability of packets that are sent again after a timeout over that of all, after the warm-up."""

    def lost(kinds: np.ndarray, sent_kinds: np.ndarray) -> float:
        return kinds.size / max(sent_kinds.size, 1)

    sent = result.send_kind.values[result.send_time.values >= WARM_UP]
    drops = result.drop_kind.values[result.drop_time.values >= WARM_UP]
    return lost(drops[drops == AFTER_TIMEOUT], sent[sent == AFTER_TIMEOUT]) / lost(drops, sent)


def small_windows(result: xr.Dataset) -> float:
    """Share of times and flows with a window of one or two packets, after the warm-up."""
    return _share_up_to(result, "window_cwnd", 2)


def small_thresholds(result: xr.Dataset) -> float:
    """Share of times and flows with a slow-start threshold of three packets at most, after the warm-up."""
    return _share_up_to(result, "window_ssthresh", 3)


def _share_up_to(result: xr.Dataset, name: str, most: int) -> float:
    sizes = result[name].values[result.window_time.values >= WARM_UP]
    return float((np.floor(sizes) <= most).mean())


def rtt_scatter(result: xr.Dataset) -> float:
    """Standard deviation of a flow's round-trip times, after the warm-up; the mean over flows [s]."""
    late = result.window_time.values >= WARM_UP
    times, flows = result.window_rtt.values[late], result.window_flow.values[late]
    each = [times[(flows == flow) & (times > 0)].std() for flow in np.unique(flows)]
    return float(np.mean(each))


def whole_bursts(result: xr.Dataset) -> float:
    """Of bursts of two packets and more with a loss, the share that is lost whole."""
    burst, lost = _bursts(result)
    size, gone = np.bincount(burst), np.bincount(burst, lost)
    hit = (size > 1) & (gone > 0)
    return float((gone[hit] == size[hit]).mean()) if hit.any() else float("nan")


def in_lost_bursts(result: xr.Dataset) -> float:
    """Of lost packets, the share whose burst lost others too."""
    burst, lost = _bursts(result)
    gone = np.bincount(burst, lost)
    return float(gone[gone > 1].sum() / gone.sum())


def _bursts(result: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Number of each packet's burst, and if it is lost; in a burst a flow sends within `TOGETHER` of the one before."""
    sends = np.array([result.send_flow.values, result.send_segment.values, result.send_time.values])
    flow, segment, time = sends[:, np.lexsort((sends[2], sends[0]))]
    lost = np.zeros(time.size, bool)
    at: dict[tuple[float, float], list[int]] = {}
    for i, key in enumerate(zip(flow.tolist(), segment.tolist(), strict=True)):
        at.setdefault(key, []).append(i)
    drops = zip(result.drop_flow.values, result.drop_segment.values, result.drop_time.values, strict=True)
    for of, number, when in drops:  # the last time that it was sent before
        lost[next(i for i in reversed(at[float(of), float(number)]) if time[i] <= when + 1e-9)] = True
    begins = np.append(True, (np.diff(flow) != 0) | (np.diff(time) > TOGETHER))
    late = time >= WARM_UP
    return np.cumsum(begins)[late], lost[late]


def padhye(result: xr.Dataset) -> float:
    """By what factor Padhye et al. miss the rate at the measured loss, RTT and timeout; NaN without a loss.

    Of a run without a timeout it is two round trips, as the paper has it.
    """
    rate, rtt, timeout = float(result.sent.mean()) / _measured(result), float(result.mean_rtt.mean()), result.base_rto
    if not result.loss_rate > 0:
        return float("nan")
    timeout = float(timeout) if np.isfinite(timeout) else 2 * rtt
    says = PftkFull(loss=float(result.loss_rate), rtt=rtt, timeout=timeout, b=1).throughput()
    return float(max(says / rate, rate / says))


def _measured(result: xr.Dataset) -> float:
    """The measured time [s]."""
    return float(result.goodput.sum() / result.goodput_packet_rate.sum())


def spread(group: int) -> Measure:
    """A measure: greatest over least time to fetch a file of a group, in orders of magnitude.

    A file that is not there at the end counts with the time from its start to the end. Runs without a warm-up.
    """

    def measure(result: xr.Dataset) -> float:
        times = (result.finish.fillna(_measured(result)) - result.start).values[result.group.values == group]
        times = times[np.isfinite(times)]
        return float(np.log10(times.max() / times.min())) if times.size > 1 else float("nan")

    return measure


def _part(result: xr.Dataset, low: float, high: float) -> float:
    """Share of a slice's goodput of the flows between two places, the richest first; the mean over slices."""
    ordered = -np.sort(-slices(result), axis=1)
    n = ordered.shape[1]
    part = ordered[:, round(low * n) : round(high * n)].sum(axis=1) / ordered.sum(axis=1)
    return float(part.mean())


def first_forty(result: xr.Dataset) -> float:
    """Share of a slice's goodput of the richest 40 % of flows."""
    return _part(result, 0.0, 0.4)


def next_thirty(result: xr.Dataset) -> float:
    """Share of a slice's goodput of the next 30 % of flows."""
    return _part(result, 0.4, 0.7)


def last_thirty(result: xr.Dataset) -> float:
    """Share of a slice's goodput of the last 30 % of flows."""
    return _part(result, 0.7, 1.0)


def quantiles(kind: str, percents: Sequence[int] = PERCENTS) -> dict[str, Measure]:
    """Measures `KIND_PERCENT`: of goodput in 20 s over its mean ("slice"), of longest hangs [s] ("hang")."""

    def at(percent: int) -> Measure:
        def of_slices(result: xr.Dataset) -> float:
            segments = slices(result)
            return float(np.percentile(segments, percent, axis=1).mean() / segments.mean())

        def of_hangs(result: xr.Dataset) -> float:
            return float(np.percentile(result.longest_hang.values, percent))

        return of_slices if kind == "slice" else of_hangs

    return {f"{kind}_{percent}": at(percent) for percent in percents}


def above_20(result: xr.Dataset) -> float:
    """Share of users whose longest hang exceeds 20 s."""
    return float((result.longest_hang.values > 20).mean())


def above_60(result: xr.Dataset) -> float:
    """Share of users whose longest hang exceeds 60 s."""
    return float((result.longest_hang.values > 60).mean())


def plateau(result: xr.Dataset) -> float:
    """Middle of the 4 s with most longest hangs, of those above 30 s, in steps of 1 s [s]; NaN without any.

    >>> plateau(xr.Dataset({"longest_hang": ("user", [5.0, 63.0, 64.0, 65.0, 90.0])}))
    64.0
    """
    hangs = result.longest_hang.values
    hangs = hangs[hangs > 30]
    if not hangs.size:
        return float("nan")
    middles = np.arange(32.0, hangs.max() + 3)
    inside = (np.abs(hangs[:, None] - middles) <= 2).sum(axis=0)
    return float(middles[inside == inside.max()].mean())


def flows_loss_ratio(result: xr.Dataset) -> float:
    """Mean over flows of their losses over packets sent, over the loss at the link."""
    sent, dropped = (np.asarray(result[name].values, float) for name in ("sent", "dropped"))
    sends = sent > 0
    return float((dropped[sends] / sent[sends]).mean() / float(result.loss_rate))


def timeout_variation(result: xr.Dataset) -> float:
    """Standard deviation over mean of the back-off factors 1, 2, 4, ... in use at timeouts."""
    count = result.timeouts_by_backoff.sum("flow").values.astype(float)
    factor = 2.0 ** np.arange(count.size)
    mean = (count * factor).sum() / count.sum()
    return float(np.sqrt((count * factor**2).sum() / count.sum() - mean**2) / mean)


def _law(result: xr.Dataset) -> np.ndarray:
    """P(0, 1, ..., 6 or more packets in an epoch)."""
    share = np.asarray(result.epoch_fraction.values, float)
    return np.append(share[:6], share[6:].sum())


def sent(packets: int) -> Measure:
    """A measure: P(so many packets sent in an epoch), 6 stands for 6 or more."""
    return lambda result: float(_law(result)[packets])


def distance(result: xr.Dataset) -> float:
    """Total-variation distance of the law of packets per epoch from the printed chain (Fig. 8) at the measured loss.

    NaN at losses from 0.5 on, where there is no such chain.
    """
    return _distance(result, SubPacketFull)


def distance_fresh(result: xr.Dataset) -> float:
    """The same where the arrows of Fig. 8 lead as section 3.3.3 says."""
    return _distance(result, SubPacketFresh)


def distance_levels(result: xr.Dataset) -> float:
    """The same where they lead to waits of their own."""
    return _distance(result, SubPacketLevels)


def distance_7(result: xr.Dataset) -> float:
    """The same from the approximate model of Fig. 7."""
    return _distance(result, SubPacketApproximate)


def _distance(result: xr.Dataset, kind: Callable[..., SubPacketFull | SubPacketApproximate]) -> float:
    p = float(result.loss_rate)
    if not 0 < p < 0.5:
        return float("nan")
    model = kind(loss=p)
    says = model.observe(stationary(model.chain())).sent.values
    return float(np.abs(_law(result) - says).sum() / 2)
