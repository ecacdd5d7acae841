"""The arrays of a run, by their addresses in the record `world`.

Kernels take this one record instead of thirty arrays: passing those made the loop slow to compile (40 s) and every
call that is not inlined slow to make. `bind` writes the addresses; it must be called whenever an array is replaced.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import config, from_dtype, types
from numba.extending import intrinsic

from tcpdynamics.addressed import interpreted, view

from . import records as k

OFFSETS = {name: int(entry[1]) for name, entry in (k.WORLD.fields or {}).items()}
I8, I4, F8 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64)


def _view(name: str, dtype: Any, *dims: str | int) -> Any:
    """A function of `world` that gives the array `name` with these dimensions (a field of `world`, or a number)."""
    return view(OFFSETS, name, dtype, *dims)


def _record(name: str, dtype: Any, size: str) -> Any:
    """A function of `world` and an index that gives one record; the index must be in range."""
    if config.DISABLE_JIT:

        def record(w: Any, index: Any) -> Any:
            return interpreted(int(w[f"at_{name}"]), (int(w[size]),), dtype)[index]

        return record
    element = from_dtype(dtype)

    # Not `array[index]`: that would look at the sign of the index and load the length, at each of ten accesses.
    def typed(context: Any, w: Any, index: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir

            word = ir.IntType(64)
            at = builder.gep(
                builder.bitcast(args[0], ir.IntType(8).as_pointer()), [ir.Constant(word, OFFSETS[f"at_{name}"])]
            )
            base = builder.load(builder.bitcast(at, word.as_pointer()))
            place = builder.add(base, builder.mul(args[1], ir.Constant(word, dtype.itemsize)))
            return builder.inttoptr(place, target.get_value_type(element))

        return element(w, types.int64), generate

    typed.__name__ = name
    return intrinsic(typed)


def part_of(where: str, dtype: Any, owner: Any = k.LINK, store: str = "queue_state") -> Any:
    """A function of `world`, a link and an index: record number `index` of those at the link's field `where`.

    `dtype` is the discipline's own; its records lie in `queue_state`. Of flows, in `paced_state`.
    """
    assert not set(dir(np.void)) & set(dtype.names), "interpreted, such a field would be a method"
    if config.DISABLE_JIT:

        def part(w: Any, line: Any, index: Any) -> Any:
            address = int(w[f"at_{store}"]) + int(line[where]) + int(index) * dtype.itemsize
            return interpreted(address, (1,), dtype)[0]

        return part
    element = from_dtype(dtype)
    offset = int(dict(owner.fields or {})[where][1])

    def typed(context: Any, w: Any, line: Any, index: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir

            word, byte = ir.IntType(64), ir.IntType(8).as_pointer()

            def field(record: Any, place: int) -> Any:
                at = builder.gep(builder.bitcast(record, byte), [ir.Constant(word, place)])
                return builder.load(builder.bitcast(at, word.as_pointer()))

            base = builder.add(field(args[0], OFFSETS[f"at_{store}"]), field(args[1], offset))
            place = builder.add(base, builder.mul(args[2], ir.Constant(word, dtype.itemsize)))
            return builder.inttoptr(place, target.get_value_type(element))

        return element(w, line, types.int64), generate

    typed.__name__ = where
    return intrinsic(typed)


#: Field of `world` -> the array whose length it has.
_LENGTH_OF = {
    **{f"n_{name}": name for name in (
        "flows", "links", "hops", "events", "blocks", "buckets", "heap", "orders", "stack", "rules", "slices", "drops",
        "copies", "windows", "queues", "webs", "users", "connections", "fresh", "headers",
    )},
    "n_queue": "queue_time", "n_out": "out_seq", "n_trace": "trace_time", "n_disciplines": "queue_hooks",
    "n_paced": "paced_hooks",
}  # fmt: skip
#: Places of these fields, and of the addresses, among the words of `world`: all at once take a tenth of the time.
_LENGTHS = [OFFSETS[name] // 8 for name in _LENGTH_OF]
ADDRESSES = {name: OFFSETS[f"at_{name}"] // 8 for name in k.ARRAYS}


def bind(sim: k.Sim) -> k.Sim:
    """Write where the arrays are, and how large; returns `sim`."""
    world, words = sim.world, sim.world.view(np.int64)
    words[[*ADDRESSES.values()]] = [getattr(sim, name).ctypes.data for name in ADDRESSES]
    words[_LENGTHS] = [len(getattr(sim, name)) for name in _LENGTH_OF.values()]
    world["n_ring"] = sim.sacked.shape[1]
    world["n_counts"] = sim.epochs.shape[1]
    world["n_silences"] = len(sim.silences)
    world["copies_ring"] = sim.copies.shape[1]
    return sim


flow = _record("flows", k.FLOW, "n_flows")
link = _record("links", k.LINK, "n_links")
hop = _record("hops", k.HOP, "n_hops")
event = _record("events", k.EVENT, "n_events")
blocks = _view("blocks", I8, "n_blocks", 6)
#: The same memory: what a packet of a paced sender carries, see `paced`.
notes = _view("blocks", F8, "n_blocks", 6)
#: What a packet carries for routers and from them, see `routers`.
headers = _view("headers", F8, "n_headers", 2)
buckets = _view("buckets", I4, "n_buckets", 2)
heap = _view("heap", I8, "n_heap")
orders = _view("orders", I8, "n_orders")
sacked = _view("sacked", I4, "n_flows", "n_ring")
received = _view("received", I4, "n_flows", "n_ring")
stack = _view("stack", I8, "n_stack", 6)
queue_hooks = _view("queue_hooks", I8, "n_disciplines", 3)
paced_hooks = _view("paced_hooks", I8, "n_paced", 6)
queue_time = _view("queue_time", F8, "n_queue")
queue_size = _view("queue_size", I4, "n_queue")
out_seq = _view("out_seq", I8, "n_out")
out_kind = _view("out_kind", I8, "n_out")
rules = _view("rules", I8, "n_rules", k.RULE)
counts = _view("counts", I8, "n_flows", k.COUNTS)
sums = _view("sums", F8, "n_flows", k.SUMS)
levels = _view("levels", I8, "n_flows", k.LEVELS)
epochs = _view("epochs", I8, "n_flows", "n_counts")
#: By length first: short ones are many, and of the others' pages no memory is taken.
silences = _view("silences", I4, "n_silences", "n_flows")
slices = _view("slices", I8, "n_slices", "n_flows")
waits = _view("waits", I8, "n_links", k.WAITS)
drops = _view("drops", I8, "n_drops", 5)
copies = _view("copies", I8, "n_copies", "copies_ring")
trace_time = _view("trace_time", F8, "n_trace")
trace_what = _view("trace_what", I8, "n_trace", 5)
windows = _view("windows", F8, "n_windows", 9)
queues = _view("queues", F8, "n_queues", k.QUEUE_COLUMNS)
edges = _view("edges", F8, k.EDGES)
ahead_links = _view("ahead_links", F8, "n_links", k.EDGES, k.AHEAD_LINKS)
webs = _record("webs", k.WEB, "n_webs")
users = _record("users", k.USER, "n_users")
connections = _view("connections", F8, "n_connections", k.CONNECTION)
fresh = _view("fresh", I8, "n_fresh", k.FLOW.itemsize // 8)
flow_words = _view("flows", I8, "n_flows", k.FLOW.itemsize // 8)
ahead_flows = _view("ahead_flows", I8, "n_flows", k.EDGES, k.AHEAD_FLOWS)
