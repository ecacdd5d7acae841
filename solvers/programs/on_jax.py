"""Straight-line programs on JAX: the same steps, traced once and compiled for CPU or GPU in 64-bit numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .straightline import Op, Program, run

#: Points per compiled call: one shape for all sweeps, so that a program is compiled once.
CHUNK = 1 << 16
LANE = 512
FUNCTIONS: dict[str, Any] = {
    "min": jnp.minimum,
    "max": jnp.maximum,
    "exp": jnp.exp,
    "log": jnp.log,
    "sin": jnp.sin,
    "cos": jnp.cos,
    "tanh": jnp.tanh,
    "atan": jnp.arctan,
    "step": lambda x: jnp.heaviside(x, 1.0),
}


#: Numbers below it count as underflown: sums of larger ones are exact or far from the end of their range.
TINY = 2.0**-900


@lru_cache(maxsize=32)
def _compiled(program: Program, names: tuple[str, ...], watch: bool) -> Any:
    """With `watch`, one row more: 1 where a step under- or overflowed."""

    def point(columns: Any) -> Any:
        values = dict(zip(names, columns, strict=True))
        ones = jnp.ones_like(columns[0])
        if not watch:
            return jnp.stack([ones * x for x in run(program, values, float, FUNCTIONS)])
        steps = run(Program(program.ops, tuple(range(len(program.ops)))), values, float, FUNCTIONS)
        strained = jnp.zeros_like(columns[0], dtype=bool)
        for op, step in zip(program.ops, steps, strict=True):
            strained = strained | _left_range(op, step, steps)
        return jnp.stack([*(ones * steps[i] for i in program.outputs), ones * strained])

    def chunk(columns: Any) -> Any:  # blocks that fit the cache; a GPU takes them all at once
        if jax.default_backend() != "cpu":
            return point(columns)
        out = jax.lax.map(point, columns.reshape(len(names), -1, LANE).swapaxes(0, 1))
        return out.swapaxes(0, 1).reshape(out.shape[1], -1)

    return jax.jit(chunk)


def _left_range(op: Op, step: Any, steps: list[Any]) -> Any:
    """Whether a step's result is too small or too large for a float though its operands are not.

    A compiled program drops numbers below 2^-1022, and tells nobody.
    """
    if op.kind in ("input", "const"):
        return (step != 0) & (abs(step) < TINY)
    a = steps[op.a]
    b = steps[op.b] if op.b >= 0 else a
    over = jnp.isinf(step) & jnp.isfinite(a) & jnp.isfinite(b)
    if op.kind == "exp":
        return over | ((abs(step) < TINY) & jnp.isfinite(a))
    if op.kind == "pow":
        return over | ((abs(step) < TINY) & (a != 0))
    if op.kind == "mul":
        return over | ((abs(step) < TINY) & (a != 0) & (b != 0))
    if op.kind == "div":
        return (over & (b != 0)) | ((abs(step) < TINY) & (a != 0) & jnp.isfinite(b))
    return over if op.kind in ("add", "sub") else False


def _small_inputs(program: Program, values: Mapping[str, Any], size: int) -> NDArray[np.bool_]:
    """Points with an input or a constant that the compiled program would take for 0 or infinity."""
    small = np.zeros(size, dtype=np.bool_)
    for name in program.inputs:
        small |= (abs(np.asarray(values[name])) < TINY) & (np.asarray(values[name]) != 0)
    for op in program.ops:
        if op.kind == "const" and op.value != 0:
            size_of = abs(op.value)
            small |= bool(size_of < TINY or (size_of > 2.0**1000 and size_of != np.inf))
    return small


def run_jax(
    program: Program, values: Mapping[str, Any], size: int, strained: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Evaluate `program` at `size` points; see `straightline.run_blocks` for the arguments.

    Here `strained` is set at just the points at which a step under- or overflowed. 64-bit numbers are switched on for
    this computation only, not for the caller's program.
    """
    names, rows = program.inputs, len(program.outputs)
    out = np.empty((rows, size))
    with jax.enable_x64(True):
        function = _compiled(program, names, strained is not None)
        for low in range(0, size, CHUNK):
            high = min(low + CHUNK, size)
            columns = np.ones((len(names), CHUNK))
            for row, name in zip(columns, names, strict=True):
                row[: high - low] = values[name] if np.ndim(values[name]) == 0 else values[name][low:high]
                row[high - low :] = row[0]
            solved = np.asarray(function(columns))[:, : high - low]
            out[:, low:high] = solved[:rows]
            if strained is not None:
                strained[low:high] = solved[rows] != 0
    if strained is not None:
        strained |= _small_inputs(program, values, size)
    return out
