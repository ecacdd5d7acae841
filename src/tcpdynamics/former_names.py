"""Names that others have replaced: this release accepts both and warns of the former one.

Belongs to no room: every folder may import it, and it imports none of them.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def warn(old: str, new: str) -> None:
    """Warn at the line that calls the caller."""
    warnings.warn(_sentence(old, new), DeprecationWarning, stacklevel=3)


def warn_of_key(old: str, new: str) -> None:
    """Warn who runs a scenario or a command: not its author alone has to change it."""
    warnings.warn(_sentence(old, new), FutureWarning, stacklevel=4)


def _sentence(old: str, new: str) -> str:
    return f"{old} is now {new}; the next release has the new name only"


def attributes(module: str, **names: str) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose former names are keys, their present names values."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(name, names[name])
        return getattr(sys.modules[module], names[name])

    return find


def method(old: str, new: str) -> Callable[..., Any]:
    """A method by its former name."""

    def call(self: object, *args: object, **given: object) -> object:
        warn(old, new)
        return getattr(self, new)(*args, **given)

    call.__doc__ = f"The former name of `{new}`."
    return call


def arguments(**names: str) -> Callable[[F], F]:
    """Decorate a function or a dataclass that takes arguments by their former names too; a former one overrides.

    Examples
    --------
    >>> @arguments(share="fraction")
    ... def percent(fraction):
    ...     return 100 * fraction
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     percent(share=0.25), str(caught[0].message)
    (25.0, 'share is now fraction; the next release has the new name only')
    """

    def decorate(function: F) -> F:
        if isinstance(function, type):
            function.__init__ = arguments(**names)(function.__init__)  # type: ignore[misc]
            return function

        @functools.wraps(function)
        def accepting(*args: Any, **given: Any) -> Any:
            for old in names.keys() & given.keys():
                warn(old, names[old])
                given[names[old]] = given.pop(old)
            return function(*args, **given)

        return accepting  # type: ignore[return-value]

    return decorate
