"""Straight-line programs on JAX: the same steps, traced once and compiled for CPU or GPU in 64-bit numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from .straightline import Program, run

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


@lru_cache(maxsize=32)
def _compiled(program: Program, names: tuple[str, ...]) -> Any:
    def point(columns: Any) -> Any:
        values = dict(zip(names, columns, strict=True))
        ones = jnp.ones_like(columns[0])
        return jnp.stack([ones * x for x in run(program, values, float, FUNCTIONS)])

    def chunk(columns: Any) -> Any:  # blocks that fit the cache; a GPU takes them all at once
        if jax.default_backend() != "cpu":
            return point(columns)
        out = jax.lax.map(point, columns.reshape(len(names), -1, LANE).swapaxes(0, 1))
        return out.swapaxes(0, 1).reshape(out.shape[1], -1)

    return jax.jit(chunk)


def run_jax(program: Program, values: Mapping[str, Any], size: int) -> NDArray[np.float64]:
    """Evaluate `program` at `size` points; see `straightline.run_blocks` for the arguments.

    64-bit numbers are switched on for this computation only, not for the caller's program.
    """
    names = program.inputs
    out = np.empty((len(program.outputs), size))
    with jax.enable_x64(True):
        function = _compiled(program, names)
        for low in range(0, size, CHUNK):
            high = min(low + CHUNK, size)
            columns = np.ones((len(names), CHUNK))
            for row, name in zip(columns, names, strict=True):
                row[: high - low] = values[name] if np.ndim(values[name]) == 0 else values[name][low:high]
                row[high - low :] = row[0]
            out[:, low:high] = np.asarray(function(columns))[:, : high - low]
    return out
