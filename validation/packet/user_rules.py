"""Congestion control of one's own: plain functions, compiled in milliseconds, run at the loop's speed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from tcpdynamics.errors import MAX_NAME, ScenarioError, listed, shown

from .kernel.records import FLOW
from .kernel.windows import DEFAULT, INTERPRETED, RULES

_F = TypeVar("_F", bound=Callable[..., None])

FIELDS = "cwnd, ssthresh, rtt, min_rtt, srtt, flight, window, packet_size, p0 to p7, x0 to x7"
HOOKS = {"on_ack": 3, "on_loss": 2, "on_timeout": 2}

# rule -> hook -> (address, what keeps the compiled code alive, the function)
_RULES: dict[str, dict[str, tuple[int, Any, Callable[..., None]]]] = {}


class RuleError(ScenarioError):
    """A rule that cannot be compiled or is not shaped as one; the message says what to change."""


def congestion_control(name: str) -> Callable[[_F], _F]:
    """Make a function a hook of the rule `name`, which flows then take with `control = name`.

    The function's own name says which: `on_ack(f, now, acked)` for each acknowledgement of `acked` new segments
    outside loss recovery; `on_loss(f, now)` when a loss is found by duplicates; `on_timeout(f, now)` when the
    timer expires. A hook that a rule leaves out is Reno's. `f` is the flow's record: change `f.cwnd` and
    `f.ssthresh` [segments], read `f.rtt`, `f.min_rtt`, `f.srtt` [s], `f.flight`, `f.window` [segments],
    `f.packet_size` [byte] and the parameters `f.p0` to `f.p7`; `f.x0` to `f.x7` are the rule's own and start at 0.
    `now` is in seconds. Times and windows are floats. The loop keeps cwnd within [1, 1e9] and ssthresh at least 2
    after a loss.

    Parameters
    ----------
    name : str
        A Python identifier, not that of a built-in rule. A hook defined again replaces the old one in later runs.

    Raises
    ------
    RuleError
        For another function name, a wrong number of arguments, or code that Numba cannot compile.

    Examples
    --------
    Scalable TCP (Kelly 2003):

    >>> @congestion_control("scalable_example")
    ... def on_ack(f, now, acked):
    ...     f.cwnd += 0.01 if f.cwnd >= f.ssthresh else 1.0
    >>> @congestion_control("scalable_example")
    ... def on_loss(f, now):
    ...     f.cwnd *= 0.875
    ...     f.ssthresh = f.cwnd
    >>> sorted(set(known_rules()) & {"reno", "scalable_example"})
    ['reno', 'scalable_example']
    """
    if not isinstance(name, str) or not name.isidentifier() or name in RULES or len(name) > MAX_NAME:
        raise RuleError(
            f"a rule's name must be an identifier of at most {MAX_NAME} characters other than {listed(RULES)}, got "
            f"{shown(name)}"
        )

    def register(function: _F) -> _F:
        hook = function.__name__
        if hook not in HOOKS:
            raise RuleError(
                f"{name}: a hook must be called {', '.join(HOOKS)}, got {hook}; rename the function"
            )
        needed, count = HOOKS[hook], len(inspect.signature(function).parameters)
        if count != needed:
            arguments = ", ".join(("f", "now", "acked")[:needed])
            raise RuleError(f"{name}: {hook} must take {needed} arguments ({arguments}), got {count}")
        _RULES.setdefault(name, {})[hook] = (*_compile(name, hook, function), function)
        return function

    return register


def known_rules() -> tuple[str, ...]:
    """Names that `Flows.control` may have now."""
    return tuple({**RULES, **_RULES})


def addresses(name: str) -> tuple[int, int, int]:
    """Addresses of a rule's three hooks, 0 where it has Reno's.

    Raises
    ------
    ScenarioError
        If there is no such rule.
    """
    if name == DEFAULT:
        return 0, 0, 0
    if name in RULES and name not in _RULES:
        functions = {hook: getattr(RULES[name], hook) for hook in HOOKS if hasattr(RULES[name], hook)}
        _RULES[name] = {hook: (*_compile(name, hook, f), f) for hook, f in functions.items()}
    if name not in _RULES:
        known = listed(known_rules())
        raise ScenarioError(
            f"flows.control {shown(name)} is not known; known rules: {known}. Define it with "
            "@congestion_control in a Python script first; the command line knows the built-in rules only"
        )
    hooks = _RULES[name]
    one, two, three = (hooks[hook][0] if hook in hooks else 0 for hook in HOOKS)
    return one, two, three


def _compile(name: str, hook: str, function: Callable[..., None]) -> tuple[int, Any]:
    from numba import carray, cfunc, config, from_dtype, njit, types
    from numba.core.errors import NumbaError

    if config.DISABLE_JIT:
        three = function if hook == "on_ack" else lambda f, now, count: function(f, now)
        if not INTERPRETED:
            INTERPRETED.append(function)  # address 0 means Reno
        INTERPRETED.append(three)
        return len(INTERPRETED) - 1, three
    inner = njit(error_model="numpy", nogil=True)(function)
    if hook == "on_ack":

        def call(pointer: Any, now: Any, acked: Any) -> None:
            inner(carray(pointer, 1)[0], now, acked)

    else:

        def call(pointer: Any, now: Any, acked: Any) -> None:
            inner(carray(pointer, 1)[0], now)

    signature = types.void(types.CPointer(from_dtype(FLOW)), types.float64, types.int64)
    try:
        compiled = cfunc(signature)(call)
    except KeyError as error:  # how Numba says that a record has no such field
        field = str(error.args[0]).strip("'")
        raise RuleError(
            f"{name}: {hook} cannot be compiled: f has no field {field}; rules use {FIELDS}"
        ) from error
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next(
            (line for line in lines if "Field" in line or "Name" in line or "No " in line), lines[0]
        )
        raise RuleError(f"{name}: {hook} cannot be compiled: {reason}") from error
    return compiled.address, compiled
