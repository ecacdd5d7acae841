"""The record that the Taylor kernel works on: `LANES` trajectories side by side, and the equations of all of them.

Each array has one line here. Kernels reach it by a function of the record that has its name (`T(lanes)`); the record
holds the addresses, the dimensions and single numbers (see `tcpdynamics.addressed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.addressed import view

from .taylor_operations import EXP, LANES, TANH
from .taylor_tape import Tape

INT, FLOAT, BOOL = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.bool_)

#: Every array: its type and its dimensions, which are numbers or fields of the record.
ARRAYS: dict[str, tuple[Any, tuple[str | int, ...]]] = {}
_OFFSETS: dict[str, int] = {}


def _array(name: str, dtype: Any, *dims: str | int) -> Any:
    ARRAYS[name] = dtype, dims
    return view(_OFFSETS, name, dtype, *dims)


# What is integrated: operations on constants, on values and on higher coefficients, and slots; see `taylor_tape`.
code0 = _array("code0", INT, "constant_operations", 6)
code1 = _array("code1", INT, "operations", 6)
code2 = _array("code2", INT, "series_operations", 6)
states = _array("states", INT, "dimension")
rhs = _array("rhs", INT, "dimension")
outputs = _array("outputs", INT, "recorded")
inputs = _array("inputs", INT, "constants")
#: Slots that set the steps: states, what is looked back at, outputs that are recorded from their series.
followed = _array("followed", INT, "followers")
#: Slots of switches' arguments, and -1; or of roots (or what they are of) and their exponents: where it changes its
#: sign, the root has left its branch, and the motion ends there.
guards = _array("guards", INT, "switches", 2)
#: Slots of delayed values; which entry of `past` each of them looks back at; slots whose polynomials are remembered.
delayed = _array("delayed", INT, "delays")
ages = _array("ages", INT, "delays")
past = _array("past", INT, "remembered")
#: Slots that are compared at the end of a step beside states: arguments of switches come first.
watched = _array("watched", INT, "watchers")
#: Whether a value changes along a motion; whether it depends on parameters and sides of switches only.
moves = _array("moves", BOOL, "slots")
fixed = _array("fixed", BOOL, "slots")
#: Degrees of values as polynomials of time, `order` where they are none; for which values: 1, or 2 for a zero.
degree = _array("degree", INT, LANES, "slots")
zeros = _array("zeros", INT, LANES, "slots")
#: Slots of arguments of exponentials and tanh, and which of the two.
fading = _array("fading", INT, "fading_operations", 2)

# Of each trajectory; the past's last axis has length 1 where it is the same for all.
params = _array("params", FLOAT, "constants", "trajectories")
start = _array("start", FLOAT, "dimension", "trajectories")
all_lags = _array("all_lags", FLOAT, "delays", "trajectories")
#: Taylor coefficients of the past before the motion begins, on pieces between `edges`, from -(longest delay) to 0.
history = _array("history", FLOAT, "remembered", "pieces", "terms", "histories")
edges = _array("edges", FLOAT, "edge_count", "histories")
#: Level of the discontinuity at a piece's end, or SOFT.
ends_in = _array("ends_in", INT, "pieces", "histories")
#: Times, increasing, at which a step must end though nothing happens there; inf where none.
stops = _array("stops", FLOAT, "stop_count", "stop_columns")
times = _array("times", FLOAT, "ticks")
#: Results: values, statuses, steps; states and slopes where a trajectory failed, the time and the last step.
out = _array("out", FLOAT, "recorded", "trajectories", "ticks")
status = _array("status", INT, "trajectories")
taken = _array("taken", INT, "trajectories")
end = _array("end", FLOAT, "end_rows", "trajectories")
#: What another thread makes 1 to have the kernel return at once.
stop = _array("stop", INT, 1)
binomial = _array("binomial", FLOAT, "terms", "terms")

# The series: `T[slot, k, lane]` is a Taylor coefficient; V holds values within a step; E and R what rounding errors are
# in proportion to, at the step's beginning and within it.
T = _array("T", FLOAT, "slots", "terms", LANES)
V = _array("V", FLOAT, "slots", 1, LANES)
E = _array("E", FLOAT, "slots", LANES)
R = _array("R", FLOAT, "slots", LANES)
#: One lane's series in numbers of a wider range: terms, sizes of values, values that count for nothing.
W = _array("W", FLOAT, "slots", "terms")
sizes = _array("sizes", FLOAT, "slots")
nothing = _array("nothing", BOOL, "slots")

# A lane's trajectory: which, its time (`now` and what its rounding left out, `carry`), its next output and stop.
running = _array("running", BOOL, LANES)
trajectory = _array("trajectory", INT, LANES)
now = _array("now", FLOAT, LANES)
carry = _array("carry", FLOAT, LANES)
next_time = _array("next_time", INT, LANES)
next_stop = _array("next_stop", INT, LANES)
steps = _array("steps", INT, LANES)
stuck = _array("stuck", INT, LANES)

# A lane's step: the last (`stride`), what the series allow (`lengths`), what was asked for before slopes were checked
# (`asked`), what the terms allow (`by_terms`), and the one that is taken (`h`); whether it is still to be checked.
stride = _array("stride", FLOAT, LANES)
lengths = _array("lengths", FLOAT, LANES)
asked = _array("asked", FLOAT, LANES)
by_terms = _array("by_terms", FLOAT, LANES)
h = _array("h", FLOAT, LANES)
suspect = _array("suspect", BOOL, LANES)
last_term = _array("last_term", FLOAT, LANES)
term_before = _array("term_before", FLOAT, LANES)
total_terms = _array("total_terms", FLOAT, LANES)

# Switches: the side of each, the band of rounding errors in which its argument lies, when it changed its side last,
# and how often at that moment; the terms of its argument in a step, without their signs.
sides = _array("sides", INT, "switches", LANES)
near = _array("near", FLOAT, "switches", LANES)
flipped = _array("flipped", FLOAT, "switches", LANES)
flips = _array("flips", INT, "switches", LANES)
reaches = _array("reaches", FLOAT, "switches", LANES)

# The past of a lane: a ring of pieces with their polynomials, beginnings (and what rounding left out), lengths, the
# level of the discontinuity at their ends, and how far each is known to hold.
H = _array("H", FLOAT, "capacity", LANES, "remembered", "terms")
begins = _array("begins", FLOAT, "capacity", LANES)
carries = _array("carries", FLOAT, "capacity", LANES)
piece_lengths = _array("piece_lengths", FLOAT, "capacity", LANES)
levels = _array("levels", INT, "capacity", LANES)
radii = _array("radii", FLOAT, "capacity", LANES)
valid = _array("valid", FLOAT, "capacity", LANES)
natural = _array("natural", FLOAT, "capacity", LANES)
behind = _array("behind", FLOAT, "capacity", LANES)
#: The newest piece, and the newest that ends at a discontinuity; the piece that each delayed value lies in.
newest = _array("newest", INT, LANES)
hard = _array("hard", INT, LANES)
pointer = _array("pointer", INT, "delays", LANES)
lags = _array("lags", FLOAT, "delays", LANES)
#: The piece that is read, or -1; how far after and before the present delayed values hold, the discontinuity that ends
#: them, whether they are exact.
piece = _array("piece", INT, LANES)
reach = _array("reach", FLOAT, LANES)
reach_back = _array("reach_back", FLOAT, LANES)
cut = _array("cut", INT, LANES)
exact = _array("exact", BOOL, LANES)
shift = _array("shift", FLOAT, LANES)

# Room: of recurrences, of checks (times, counts, ones, values, slopes; differences), and of the search for zeros.
tmp = _array("tmp", FLOAT, 2, LANES)
rows = _array("rows", FLOAT, "row_count", LANES)
checks = _array("checks", FLOAT, 3, "compared", LANES)
work = _array("work", FLOAT, "terms")
stack = _array("stack", FLOAT, 128, "stack_width")

#: Single numbers. `values`, `inside`, `series`, `advance` are addresses of machine code (see `taylor_native`), or 0.
_WHOLE = (
    "low", "high", "upcoming", "active", "order", "final_order", "clock", "of_switches", "max_steps",
    "values", "inside", "series", "advance", "room",
)  # fmt: skip
_REAL = ("begin", "rtol", "atol", "max_step")
_DIMENSIONS = tuple(dict.fromkeys(d for _, dims in ARRAYS.values() for d in dims if isinstance(d, str)))
RECORD = np.dtype(
    [(name, INT) for name in (*(f"at_{array}" for array in ARRAYS), *_DIMENSIONS, *_WHOLE)]
    + [(name, FLOAT) for name in _REAL]
)
_OFFSETS.update({name: int(entry[1]) for name, entry in (RECORD.fields or {}).items()})


def equations(tape: Tape, slots_followed: NDArray[np.int64], order: int) -> dict[str, Any]:
    """The arrays and numbers of a record that a tape decides; the followed slots set the steps."""
    moving, holding = np.zeros(tape.slots, np.bool_), np.zeros(tape.slots, np.bool_)
    for slots in (tape.code2[:, 1], tape.states, tape.delayed):
        moving[slots] = True
    if tape.clock >= 0:
        moving[tape.clock] = True
    holding[tape.code1[:, 1]] = True
    holding[tape.code2[:, 1]] = False
    arguments = [slot for slot, exponent in tape.guards if exponent < 0 and moving[slot]]
    beside = [slot for slot in slots_followed if moving[slot] and slot not in tape.states]
    steep = np.isin(tape.code2[:, 0], (EXP, TANH))
    pascal = [[float(comb(i, j)) for j in range(order + 1)] for i in range(order + 1)]
    same = ("code0", "code1", "code2", "states", "rhs", "inputs", "guards", "delayed", "ages", "past", "clock", "slots")
    return {name: getattr(tape, name) for name in same} | {
        "outputs": tape.recorded, "followed": slots_followed, "moves": moving, "fixed": holding,
        "watched": np.array(arguments + beside, np.int64), "of_switches": len(arguments),
        "fading": np.ascontiguousarray(tape.code2[steep][:, [2, 0]]), "binomial": np.array(pascal),
    }  # fmt: skip


def bind(given: Mapping[str, Any]) -> Any:
    """A record of these arrays, which must be kept, and numbers. Raises ValueError where dimensions do not fit."""
    record = np.zeros(1, RECORD)
    sized = {name: int(given[name]) for name in ("slots", "capacity")}
    for name, (dtype, dims) in ARRAYS.items():
        if name not in given:
            continue
        array = given[name]
        if array.dtype != dtype or array.ndim != len(dims) or not array.flags.c_contiguous:
            raise ValueError(f"{name} must be a contiguous array of {dtype}, got {array.dtype}, {array.shape}")
        for dim, length in zip(dims, array.shape, strict=True):
            if sized.setdefault(dim, length) != length if isinstance(dim, str) else dim != length:
                raise ValueError(f"arrays do not fit: {name} is {array.shape} over {dims}, others say {sized}")
        record[f"at_{name}"] = array.ctypes.data
    columns = (1, sized["trajectories"])
    if not (sized["histories"] in columns and sized["stop_columns"] in columns and sized["pieces"] >= 1):
        raise ValueError(f"there is not one past, or one for each trajectory: {sized}")
    if sized["edge_count"] != sized["pieces"] + 1:
        raise ValueError(f"{sized['pieces']} pieces of the past have {sized['edge_count']} edges")
    sized |= {
        "row_count": 5 + sized["dimension"], "compared": sized["dimension"] + sized["watchers"],
        "stack_width": sized["terms"] + 2,
    }  # fmt: skip
    sized["room"] = 64
    for name, (dtype, dims) in ARRAYS.items():
        if name not in given:
            record[f"at_{name}"] = -sized["room"]  # a place in the room of `with_room`
            count = prod(sized.get(dim, 0) if isinstance(dim, str) else dim for dim in dims)
            sized["room"] += -(-count * dtype.itemsize // 64) * 64
    for name in (*_DIMENSIONS, *_WHOLE, *_REAL):
        record[name] = sized[name] if name in sized else given.get(name, 0)
    return record


def with_room(record: Any, low: int, high: int) -> tuple[Any, Any]:
    """A bound record's copy for trajectories low..high-1, and memory for its own state, which must be kept."""
    mine, room = record.copy(), np.zeros(int(record["room"][0]), np.uint8)
    mine["low"], mine["high"] = low, high
    addresses = mine.view(INT)[: len(ARRAYS)]
    places = addresses < 0
    addresses[places] = room.ctypes.data // 64 * 64 - addresses[places]  # a row in as few lines of the cache as it has
    return mine, room
