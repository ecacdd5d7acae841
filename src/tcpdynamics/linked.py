"""Compiled functions that only compiled functions call: typed and linked into their callers, made machine code there.

Numba makes each function that is compiled machine code of its own, with all that it calls, though nothing runs it:
of the 19 seconds that the packet simulator took to compile, these were eight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config, njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_F = TypeVar("_F", bound=Callable[..., Any])


class _NoEnvironment:
    """Where Numba leaves what wrappers for Python need: there are none."""

    def set_env(self, name: str, env: Any) -> None: ...


class _Linked(JITCodeLibrary):  # type: ignore[misc]
    """A function's code as it was typed; whoever links it optimises it and makes it machine code."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoEnvironment()


class _OnlyTyped(Compiler):  # type: ignore[misc]
    """Numba's own passes, into a library of the kind above."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, returned: Any, flags: Any, local: Any
    ) -> None:
        library = _Linked(target.codegen(), "linked")
        library.enable_object_caching()
        super().__init__(typing, target, library, args, returned, flags, local)


def linked(**options: Any) -> Callable[[_F], _F]:
    """Compile a function that only compiled functions call; Python cannot call it, except with NUMBA_DISABLE_JIT.

    Parameters
    ----------
    options : of `numba.njit`

    Examples
    --------
    >>> from numba import njit
    >>> @linked(error_model="numpy")
    ... def square(x):
    ...     return x * x
    >>> @njit
    ... def cube(x):
    ...     return x * square(x)
    >>> cube(3.0)
    27.0
    """
    if config.DISABLE_JIT:
        return lambda function: function
    compiled: Callable[[_F], _F] = njit(
        no_cpython_wrapper=True, no_cfunc_wrapper=True, pipeline_class=_OnlyTyped, **options
    )
    return compiled
