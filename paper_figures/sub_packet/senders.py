"""What the paper's sections 3.1 and 3.3 say of a sender, by losing chosen segments of a simulated one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tcpdynamics.later import xr

#: Round-trip time and least timeout [s].
_RTT, _TIMEOUT = 0.1, 1.0


def waits_of_a_sender(repeats: int = 3) -> list[float]:
    """Silences [s] before each try of a segment that is lost again and again; NaN if more than one segment is tried.

    Examples
    --------
    >>> [round(wait) for wait in waits_of_a_sender()]
    [1, 2, 4]
    """
    lost = [{"segment": 20, "transmission": n + 1} for n in range(repeats)]
    result = _run(2, [*lost, {"segment": 21}])
    times = result.send_time.values[result.send_segment.values == 20]
    alone = [np.count_nonzero(np.abs(result.send_time.values - t) < _RTT / 2) == 1 for t in times[1:]]
    return np.diff(times).tolist() if all(alone) else [float("nan")] * repeats


def repairs() -> dict[int, int]:
    """Timeouts of a sender that loses the first segment of a window of three, and of six.

    Examples
    --------
    >>> repairs()  # three duplicate acknowledgements are needed
    {3: 1, 6: 0}
    """
    return {window: int(_run(window, [{"segment": 24}]).timeouts.sum()) for window in (3, 6)}


def timeouts_after_losses(sender: str, lost: int, rules: str, min_rto: float) -> float:
    """Share of windows of 4, 5 and 6, over all places of so many lost segments, that end in a timeout.

    Examples
    --------
    >>> timeouts_after_losses("sack", 1, "ns2", 1.0)
    0.0
    """
    came = []
    for window in (4, 5, 6):
        first = 4 * window  # of a window in flight
        for places in itertools.combinations(range(first, first + window), lost):
            drops = [{"segment": place} for place in places]
            came.append(int(_run(window, drops, sender=sender, rules=rules, min_rto=f"{min_rto}s").timeouts.sum()) > 0)
    return float(np.mean(came))


def _run(window: int, drops: list[dict[str, int]], **other: str) -> xr.Dataset:
    from tcpdynamics.validation.packet import parse_scenario, simulate

    flow = {
        "sender": "newreno", "source": "a", "target": "b", "segments": 60, "window_limit": window, "handshake": False,
        "limited_transmit": False, "delayed_ack": "0s", "min_rto": f"{_TIMEOUT}s", "start_spread": "0s",
    } | other  # fmt: skip
    table: dict[str, Any] = {
        "duration": "60s", "warm_up": "0s", "epoch": f"{_RTT}s", "slice": "60s", "seed": 1, "flows": [flow],
        "links": [{"source": "a", "target": "b", "rate": "1Gbit/s", "delay": f"{_RTT / 2}s"}],
        "drops": drops, "record": {"sends": True},
    }  # fmt: skip
    return simulate(parse_scenario(table))
