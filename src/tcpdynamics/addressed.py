"""Arrays that compiled functions reach by addresses in a record: one argument in the place of dozens."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numba import config, from_dtype, types
from numba.extending import intrinsic


@lru_cache(maxsize=100_000)
def interpreted(address: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """The array at an address, for kernels that are not compiled."""
    size = int(np.prod(shape)) * dtype.itemsize
    flat = np.frombuffer((ctypes.c_char * size).from_address(address), dtype)
    return flat.view(np.recarray) if dtype.names else flat.reshape(shape)


def view(offsets: Mapping[str, int], name: str, dtype: Any, *dims: str | int) -> Any:
    """A function of a record that gives its array `name`, whose address is the record's field `at_NAME`.

    Parameters
    ----------
    offsets : where the record's fields lie, in bytes; read when the function is compiled
    dims : the array's dimensions: fields of the record, or numbers
    """
    if config.DISABLE_JIT:

        def of_record(w: Any) -> Any:
            shape = tuple(d if isinstance(d, int) else int(w[d]) for d in dims)
            return interpreted(int(w[f"at_{name}"]), shape, dtype)

        return of_record
    element = from_dtype(dtype)

    # An intrinsic, for a compiled function that returns an array would have to count references.
    def typed(context: Any, w: Any) -> Any:
        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            from llvmlite import ir
            from numba.core import cgutils
            from numba.np.arrayobj import make_array, populate_array

            word = ir.IntType(64)
            record = builder.bitcast(args[0], ir.IntType(8).as_pointer())

            def field(key: str) -> Any:
                offset = ir.Constant(word, offsets[key])
                return builder.load(builder.bitcast(builder.gep(record, [offset]), word.as_pointer()))

            shape = [ir.Constant(word, d) if isinstance(d, int) else field(d) for d in dims]
            strides: list[Any] = []
            step = ir.Constant(word, dtype.itemsize)
            for size in reversed(shape):
                strides.insert(0, step)
                step = builder.mul(step, size)
            array = make_array(signature.return_type)(target, builder)
            populate_array(
                array,
                data=builder.inttoptr(field(f"at_{name}"), array.data.type),
                shape=cgutils.pack_array(builder, shape),
                strides=cgutils.pack_array(builder, strides),
                itemsize=ir.Constant(word, dtype.itemsize),
                meminfo=None,
            )
            return array._getvalue()

        return types.Array(element, len(dims), "C")(w), generate

    typed.__name__ = name
    return intrinsic(typed)
