"""Fingerprints: whether a function and its settings are still those that a store was begun with.

The fingerprint of a function covers its text and compiled code, defaults, attributes and captured values. It also
covers everything that the code reaches by name: globals, functions, classes, attributes of modules and imports within,
and everything that these reach in turn. The fingerprint of an object covers its class and the state that `copy` would
copy. Code of this package, the standard library and installed packages counts by name and version; their decorators
also count with captured values. A module of the user's that is passed as a value counts with its whole text.

Not covered: C extensions, files, environment variables, other processes, and names looked up as text at run time
(`getattr`, `globals()`). Another minor version of Python compiles to different code, so the fingerprint differs.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from tcpdynamics.errors import DynamicsError, shown
from tcpdynamics.later import xr

from ..problems.numbers import is_symbolic


def fingerprint(value: Any, source: bool = True) -> str:
    """A digest of a value, the same in every process.

    Arrays count with all their entries, functions by name and, with `source`, by their text and all that it reaches;
    `functools.partial`, dataclasses and SymPy expressions by what they hold.

    Raises
    ------
    DynamicsError
        For a value that the code reaches and that has no lasting form (a lock, an open file): pass it as an argument by
        `functools.partial`, or give the sweep a `version`.

    >>> fingerprint({"a": np.arange(3)}) == fingerprint({"a": np.array([0, 1, 2])})
    True
    >>> fingerprint(1) == fingerprint(1.0)
    False
    """
    digest = hashlib.sha256()
    _feed(digest, value, source, {})
    return digest.hexdigest()


def name_of(work: Any) -> str:
    """What a function is called, with its module; a partial by what it calls.

    >>> name_of(functools.partial(np.clip, a_min=0))
    'numpy.clip'
    """
    while isinstance(work, functools.partial):
        work = work.func
    if not hasattr(work, "__qualname__"):
        work = type(work)
    return f"{work.__module__}.{work.__qualname__}"


def _feed(digest: Any, value: Any, source: bool, met: dict[int, tuple[int, Any]]) -> None:
    """Feed a value; `met` keeps functions, classes and objects that were fed already, by identity."""

    def put(*parts: Any) -> None:
        for part in parts:
            if isinstance(part, bytes):
                digest.update(len(part).to_bytes(8, "little") + part)
            else:
                _feed(digest, part, source, met)

    kind, labelled = type(value), "xarray" in sys.modules
    if kind in _PLAIN:
        put(kind.__name__.encode(), value if kind is bytes else repr(value).encode())
    elif isinstance(value, np.ma.MaskedArray):
        put(b"masked", np.asarray(value.data), np.ma.getmaskarray(value), value.fill_value)
    elif isinstance(value, np.ndarray | np.generic) and np.asarray(value).dtype != object:
        array = np.asarray(value, order="C")
        put(b"array", array.dtype.str.encode(), repr(array.shape).encode(), array.tobytes())
    elif isinstance(value, np.ndarray):
        put(b"objects", repr(value.shape).encode(), *value.ravel().tolist())
    elif labelled and isinstance(value, xr.DataArray):
        coords = {str(k): (c.dims, c.values) for k, c in sorted(value.coords.items(), key=lambda c: str(c[0]))}
        put(b"labelled", str(value.name), value.dims, value.values, coords)
    elif kind in _MAPPINGS or (labelled and kind is xr.Dataset):
        put(b"mapping", str(len(value)))
        for key, item in value.items():
            put(key, item)
    elif kind in (list, tuple):
        put(b"sequence", str(len(value)), *value)
    elif kind in (set, frozenset):
        put(b"set", sorted(_alone(item, source, met) for item in value))
    elif is_symbolic(value) and not isinstance(value, type):
        put(b"expression", _text(value))
    elif isinstance(value, functools.partial):
        put(b"partial", value.func, value.args, value.keywords)
    elif isinstance(value, ModuleType):
        put(b"module", value.__name__, _version(value.__name__))
        if source and not _is_installed(value.__name__):
            put(inspect.getsource(value))
    elif isinstance(value, MethodType):
        put(b"method", value.__func__, value.__self__)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        put(b"record", name_of(kind), *([kind] if source else []))
        names = [field.name for field in dataclasses.fields(value)]
        put({name: getattr(value, name) for name in names}, {} if _is_installed(kind.__module__) else {
            name: part for name, part in _attributes(value, getattr(value, "__dict__", {})).items() if name not in names
        })  # fmt: skip
    elif isinstance(value, np.vectorize):
        put(b"vectorized", value.pyfunc, value.otypes, value.signature, value.excluded)
    elif isinstance(value, _FUNCTIONS) or hasattr(value, "py_func") or _wraps(value):
        put(b"function", name_of(value))
        if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, ModuleType):
            put(value.__self__)
        if source and id(value) not in met:
            met[id(value)] = len(met), value
            put(*_reached(value))
    elif id(value) in met:
        put(b"again", str(met[id(value)][0]))
    else:
        met[id(value)] = len(met), value
        put(b"object", name_of(kind), *([kind] if source else []), *_state(value))


def _alone(value: Any, source: bool, met: dict[int, tuple[int, Any]]) -> str:
    """A fingerprint of a part whose place does not matter."""
    digest = hashlib.sha256()
    _feed(digest, value, source, dict(met))
    return digest.hexdigest()


#: Types whose `repr` determines the value.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_MAPPINGS = (dict, MappingProxyType)
_FUNCTIONS = (type, FunctionType, BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType)


def _wraps(value: Any) -> bool:
    """Whether a value is an installed package's wrapper of a function, such as `functools.lru_cache`."""
    return callable(getattr(value, "__wrapped__", None)) and _is_installed(type(value).__module__)


def _attributes(value: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    """Attributes of an object except cached properties."""
    cached = functools.cached_property
    return {n: v for n, v in attributes.items() if not isinstance(getattr(type(value), n, None), cached)}


def _state(value: Any) -> list[Any]:
    """Constructor, arguments, attributes and items from which `copy` would rebuild an object."""
    try:
        of_kind = copyreg.dispatch_table.get(type(value))
        reduced: Any = value.__reduce_ex__(4) if of_kind is None else of_kind(value)
        if isinstance(reduced, str):  # a global of its module
            if isinstance(value, np.ufunc) and getattr(np, reduced, None) is not value:
                raise TypeError("made of a function that cannot be seen")
            return [reduced]
        parts = [part if n < 3 or part is None else list(part) for n, part in enumerate(reduced)]
        if len(parts) > 2 and isinstance(parts[2], dict):
            parts[2] = _attributes(value, parts[2])
        return parts
    except Exception as error:
        raise DynamicsError(
            f"the work of this sweep uses a {name_of(type(value))}, which has no lasting form, so a store cannot know "
            f"it again ({type(error).__name__}); pass what it is made of as arguments, or give version='1' and change "
            "that whenever the work changes"
        ) from error


def _text(expression: Any) -> str:
    from sympy import srepr

    try:
        return str(srepr(expression))  # includes the assumptions on symbols
    except (ValueError, RecursionError):
        raise DynamicsError(
            f"an expression of the sweep cannot be printed: {shown(expression)}; nest it less deep, round its numbers"
        ) from None


def _reached(thing: Any) -> Iterator[Any]:
    """What a function or a class of somebody's own is made of: text, defaults, and the values of the names in it."""
    thing = getattr(thing, "py_func", thing)  # of Numba's functions, what they were compiled from
    while not hasattr(thing, "__code__") and hasattr(thing, "__wrapped__"):  # as of functools.lru_cache
        thing = thing.__wrapped__
    code = getattr(thing, "__code__", None)
    # A wrapper bears the module of what it wraps; its own is that of its globals.
    module = thing.__globals__.get("__name__", "") if code else str(getattr(thing, "__module__", None))
    if hasattr(thing, "registry") and hasattr(thing, "dispatch"):  # of functools.singledispatch
        yield dict(thing.registry)
        return
    if _is_installed(module):
        yield _version(module)
        yield from (cell.cell_contents for cell in getattr(thing, "__closure__", None) or () if _is_filled(cell))
        return
    try:
        yield inspect.getsource(code or thing)
    except (OSError, TypeError):
        yield ""
    if code is not None:
        yield list(_as_code(code))
    if isinstance(thing, type):
        yield from (type(thing), *thing.__mro__[1:])
        for field in getattr(thing, "__dataclass_fields__", {}).values():
            yield from (field.name, _or_missing(field.default), _or_missing(field.default_factory))
        for name, member in sorted(vars(thing).items()):
            if name not in _OF_CLASSES and not isinstance(member, _SLOTS) and not _is_generated(member):
                yield name
                yield _unwrapped(member)
        return
    if code is None:
        return
    yield [thing.__defaults__, thing.__kwdefaults__]
    for name, value in sorted(vars(thing).items()):
        yield name
        yield value
    for name, cell in zip(code.co_freevars, thing.__closure__ or (), strict=True):
        yield name
        yield cell.cell_contents if _is_filled(cell) else "nothing yet"
    for name, value in _named(code, thing.__globals__):
        yield name
        yield value


#: Entries of a class that Python makes.
_OF_CLASSES = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__", "__annotations__",
    "__abstractmethods__", "_abc_impl", "__dataclass_params__", "__dataclass_fields__", "__match_args__",
}  # fmt: skip


#: Places of slots, which hold nothing themselves.
_SLOTS = (MemberDescriptorType, GetSetDescriptorType)


def _unwrapped(member: Any) -> Any:
    """The function or functions wrapped by an entry of a class."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return [member.fget, member.fset, member.fdel]
    if isinstance(member, functools.cached_property):
        return member.func
    if isinstance(member, functools.partialmethod):
        return [member.func, member.args, member.keywords]
    if isinstance(member, functools.singledispatchmethod):
        return dict(member.dispatcher.registry)
    return member


def _or_missing(default: Any) -> Any:
    return "missing" if default is dataclasses.MISSING else default


def _is_generated(member: Any) -> bool:
    """Whether a decorator made a method, as of dataclasses."""
    return getattr(getattr(member, "__code__", None), "co_filename", "") == "<string>"


def _as_code(code: CodeType) -> Iterator[Any]:
    """Compiled code with names and constants; the file may have changed since."""
    yield from (code.co_code, code.co_names)
    for constant in code.co_consts:
        yield list(_as_code(constant)) if isinstance(constant, CodeType) else constant


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _named(code: CodeType, names: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Globals that code, and the functions within it, use; of modules the attributes that it may use."""
    codes, attributes = [code], set[str]()
    for part in codes:
        codes += [c for c in part.co_consts if isinstance(c, CodeType)]
        attributes |= set(part.co_names)
    for name in sorted(attributes & names.keys()):
        yield name, names[name].__name__ if isinstance(names[name], ModuleType) else names[name]
        yield from _of_module(name, names[name], sorted(attributes), 3)
    for name in sorted({name for part in codes for name in _imported(part, names)}):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue  # the work says so itself, or does without
        yield name, _version(name)
        yield from _of_module(name, module, sorted(attributes), 3)


def _imported(code: CodeType, names: dict[str, Any]) -> Iterator[str]:
    """Modules that code imports when it runs, with the packages that they are in."""
    steps = list(dis.get_instructions(code))
    for i, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            levels = steps[i - 2].argval if i >= 2 else 0
            name = "." * (levels if isinstance(levels, int) else 0) + step.argval
            if name.startswith("."):
                try:
                    name = importlib.util.resolve_name(name, names.get("__package__"))
                except ImportError:
                    continue
            parts = name.split(".")
            yield from (".".join(parts[: n + 1]) for n in range(len(parts)))


def _of_module(name: str, value: Any, attributes: list[str], depth: int) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, ModuleType) or _is_installed(value.__name__) or not depth:
        return
    for attribute in attributes:
        if attribute in vars(value):
            part = vars(value)[attribute]
            yield f"{name}.{attribute}", part.__name__ if isinstance(part, ModuleType) else part
            yield from _of_module(f"{name}.{attribute}", part, attributes, depth - 1)


@functools.cache
def _is_installed(module: str) -> bool:
    """Whether a module is this package's, the standard library's or an installed package's."""
    top = module.partition(".")[0]
    if top in ("tcpdynamics", "None") or top in sys.stdlib_module_names:
        return True
    file = getattr(sys.modules.get(module) or sys.modules.get(top), "__file__", None)
    if file is None:
        return False
    places = {sysconfig.get_paths()[kind] for kind in ("purelib", "platlib")}
    return any(Path(file).resolve().is_relative_to(Path(place).resolve()) for place in places)


@functools.cache
def _version(module: str) -> str:
    """What an installed package says of its version."""
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))
