"""Users of a run: what their flows draw, where their hooks are, and what is told of them in the end."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernel import hooks
from ..kernel import records as k
from ..kernel import users as kernel
from ..kernel.streams import streams
from ..scenario.scenario import Scenario
from .draft import Draft


def fill(draft: Draft) -> None:
    """Write what flows of users draw, and the addresses of the hooks."""
    scenario, flows = draft.scenario, draft.flows
    webs = k.zeroed(scenario.count, k.WEB)
    webs["think"], webs["user"] = -1.0, -1
    first = users = 0
    for group in scenario.flows:
        part = slice(first, first + group.count)
        if group.has_users:
            webs["user"][part] = users + np.arange(group.count) // (group.pool or 1)
            users += group.count // (group.pool or 1)
        if group.think is not None and group.segments is not None:
            webs["think"][part], webs["fixed"][part] = group.think, group.think_distribution == "fixed"
            webs["objects"][part], webs["tail"][part] = group.segments, group.segments_shape or 0.0
        first += group.count
    webs["think_key"], webs["size_key"] = streams(draft.word, (k.THINKING, k.SIZES), range(scenario.count))
    webs["segments"] = np.where(flows["limit"] < k.UNLIMITED, flows["limit"] - flows["handshake"], 0)
    draft.arrays.update(
        {
            "webs": webs,
            "users": k.zeroed(users, k.USER),
            "connections": np.zeros((max(64, scenario.count), k.CONNECTION)),
        }
    )
    draft.world.update({name: hooks.kept(getattr(kernel, name), shape) for name, shape in kernel.HOOKS.items()})
    draft.world["connecting"] = True


def of_users(scenario: Scenario, run: Any) -> dict[str, Any]:
    """Connections one by one, and the hangs of users, as variables of a result; nothing where there are no users."""
    if not any(group.has_users for group in scenario.flows):
        return {}
    sim = run.sim
    rows = np.array(sim.connections[: sim.world["connection_count"][0]])
    flows, webs = sim.flows, sim.webs
    open_now = np.flatnonzero((webs["begun"] == 1) & (flows["finish"] == math.inf))
    since = np.maximum(flows["since"], flows["start"])[open_now]
    unfinished = np.stack([open_now, since, np.full(len(open_now), np.nan), webs["segments"][open_now]], axis=1)
    unfinished[unfinished[:, 3] == 0, 3] = np.nan
    table = np.concatenate([rows, unfinished])
    of_flow = table[:, 0].astype(np.int64)
    took = table[:, 2] - table[:, 1]
    bits = 8.0 * table[:, 3] * flows["packet_size"][of_flow]
    rate = np.divide(bits, took, out=np.full(len(took), np.nan), where=took > 0)
    longest, counts = _hangs(run)
    rows = rows[rows[:, 2] >= scenario.warm_up]  # sums are of the measured time, as all others
    done = np.bincount(rows[:, 0].astype(np.int64), minlength=scenario.count)
    return {
        "connection_flow": ("connection", of_flow, "1", "flow of a connection"),
        "connection_user": ("connection", webs["user"][of_flow], "1", "user of a connection; -1 for none"),
        "connection_start": ("connection", table[:, 1], "s", "time at which a connection began"),
        "connection_finish": ("connection", table[:, 2], "s", "time at which all was acknowledged; none if it was not"),
        "connection_time": ("connection", took, "s", "completion time of a connection"),
        "connection_segments": ("connection", table[:, 3], "packets", "segments of a connection; none without an end"),
        "connection_goodput": ("connection", rate, "bit/s", "size over completion time, headers included"),
        "connections_finished": ("flow", done, "1", "connections that finished after the warm-up"),
        "mean_connection_time": (
            "flow", _mean_times(rows, scenario.count), "s",
            "completion time of connections that finished after the warm-up (mean)",
        ),
        "longest_hang": ("user", longest, "s", "longest time without data while a connection was open"),
        "hangs": (("user", "hang_length"), counts, "1", "hangs of this length or more"),
    }  # fmt: skip


def _mean_times(rows: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    of_flow = rows[:, 0].astype(np.int64)
    number = np.bincount(of_flow, minlength=count)
    total = np.bincount(of_flow, weights=rows[:, 2] - rows[:, 1], minlength=count)
    mean: NDArray[np.float64] = np.divide(total, number, out=np.full(count, np.nan), where=number > 0)
    return mean


def _hangs(run: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(U,) longest hang [s], (U, lengths) counts; one that lasts at the end of the run counts as long as it is."""
    users, begin = run.sim.users, float(run.sim.world["measure_from"][0])
    counts = np.stack([users[f"h{i}"] for i in range(len(k.HANG_LENGTHS))], axis=1)
    open_hang = np.where(users["active"] > 0, run.stopped - np.maximum(users["last"], begin), 0.0)
    counts = counts + (open_hang[:, None] >= np.array(k.HANG_LENGTHS))
    return np.maximum(users["longest"], open_hang), counts


def transferred_before(run: Any) -> Any:
    """(..., N) segments acknowledged in connections before the last of each flow, handshakes included."""
    return run.sim.webs["done"] if run.sim.world["connecting"].any() else 0
