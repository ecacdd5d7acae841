"""Arrays that compiled functions reach by addresses in a record: one argument in the place of dozens."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numba import config, from_dtype, types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.extending import intrinsic, models, register_model
from numba.np import arrayobj


@lru_cache(maxsize=100_000)
def interpreted(address: int, shape: tuple[int, ...], dtype: Any) -> Any:
    """The array at an address, for kernels that are not compiled."""
    size = int(np.prod(shape)) * dtype.itemsize
    flat = np.frombuffer((ctypes.c_char * size).from_address(address), dtype)
    return flat.view(np.recarray) if dtype.names else flat.reshape(shape)


class Unwrapped(types.Array):  # type: ignore[misc]
    """An array whose indices are never negative: Numba's look at each one's sign is a tenth of the simulator's work.

    A negative number is a place far beyond the end, not one before it.
    """

    def __init__(self, dtype: Any, ndim: int, layout: str) -> None:
        super().__init__(dtype, ndim, layout, name=f"unwrapped({dtype}, {ndim}d, {layout})")


register_model(Unwrapped)(models.ArrayModel)


def _without_sign(context: Any, builder: Any, kind: Any, index: Any) -> tuple[Any, Any]:
    """An index, or a tuple of such, whose numbers have a type without sign; its type and its value."""
    if isinstance(kind, types.BaseTuple):
        values = cgutils.unpack_tuple(builder, index, len(kind))
        pairs = [_without_sign(context, builder, *pair) for pair in zip(kind.types, values, strict=True)]
        joined = types.Tuple([one for one, _ in pairs])
        return joined, context.make_tuple(builder, joined, [value for _, value in pairs])
    if isinstance(kind, types.Integer):
        return types.uintp, context.cast(builder, index, kind, types.intp)
    return kind, index


@lower_builtin(operator.getitem, Unwrapped, types.BaseTuple)  # type: ignore[untyped-decorator]
@lower_builtin(operator.getitem, Unwrapped, types.Integer)  # type: ignore[untyped-decorator]
def _get(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array, kind = signature.args
    kind, index = _without_sign(context, builder, kind, args[1])
    generic = arrayobj.getitem_array_tuple if isinstance(kind, types.BaseTuple) else arrayobj.getitem_arraynd_intp
    return generic(context, builder, signature.return_type(array, kind), (args[0], index))


@lower_builtin(operator.setitem, Unwrapped, types.BaseTuple, types.Any)  # type: ignore[untyped-decorator]
@lower_builtin(operator.setitem, Unwrapped, types.Integer, types.Any)  # type: ignore[untyped-decorator]
def _set(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array, kind, value = signature.args
    kind, index = _without_sign(context, builder, kind, args[1])
    return arrayobj.setitem_array(context, builder, types.void(array, kind, value), (args[0], index, args[2]))


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
            array = arrayobj.make_array(signature.return_type)(target, builder)
            arrayobj.populate_array(
                array,
                data=builder.inttoptr(field(f"at_{name}"), array.data.type),
                shape=cgutils.pack_array(builder, shape),
                strides=cgutils.pack_array(builder, strides),
                itemsize=ir.Constant(word, dtype.itemsize),
                meminfo=None,
            )
            return array._getvalue()

        # Numba's array where bounds are checked: those checks need the sign.
        array = types.Array if config.BOUNDSCHECK else Unwrapped
        return array(element, len(dims), "C")(w), generate

    typed.__name__ = name
    return intrinsic(typed)
