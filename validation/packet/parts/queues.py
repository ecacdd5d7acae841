"""Queue disciplines of a run: their parameters, what they remember, their random streams, where their hooks are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernel import hooks
from ..kernel import records as k
from ..kernel.parameters import read_parameters
from ..kernel.queues import DISCIPLINES, HOOKS, MECHANISMS
from ..kernel.streams import stream
from .draft import Draft


def fill(draft: Draft) -> None:
    """Append the states of the links' disciplines to the memory; addresses of the hooks in use."""
    ways, links, memory = draft.scenario.ways, draft.links, draft.memory
    used = {way.mechanism for way in ways} - {"droptail"}
    files = [file if name in used else None for name, file in MECHANISMS.items()]
    draft.arrays["queue_hooks"] = hooks.addresses(files, HOOKS)
    for i, way in enumerate(ways):
        if way.mechanism == "droptail":
            continue
        file = MECHANISMS[way.mechanism]
        values = read_parameters(DISCIPLINES[way.queue], way.queue_parameters, "links.queue_parameters", way.queue)
        links["key"][i] = stream(draft.word, k.QUEUEING, i)
        for where, record in zip(("state", "lanes"), _records(file, values, way), strict=True):
            links[where][i] = memory.append(record)
            links["n_lanes"][i] = len(record)
    memory.check("queues", "lower the number of sub-queues")


def _records(file: Any, values: dict[str, float], way: Any) -> tuple[Any, Any]:
    """The state of one link, with the parameters in it, and its sub-queues; `prepare` of the file has the last word."""
    fields: Any = getattr(file, "STATE", np.dtype([]))
    state = k.zeroed(1, fields)
    for name, value in values.items():
        if name in fields.names:
            state[name] = value
    lanes = k.zeroed(int(values.get("queues", 1)) if hasattr(file, "LANE") else 0, getattr(file, "LANE", fields))
    prepare = getattr(file, "prepare", None)
    if prepare is not None:
        prepare(state[0], lanes, values, way)
    return state, lanes
