"""Congestion control of one's own: plain functions, compiled in milliseconds, run at the loop's speed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

from tcpdynamics.errors import MAX_NAME, ScenarioError, listed, shown, suggestion

from .kernel import hooks
from .kernel.windows import DEFAULT, HOOKS, RULES
from .scenario.fields import better_key
from .scenario.flows import Flows

_F = TypeVar("_F", bound=Callable[..., None])

FIELDS = "cwnd, ssthresh, rtt, min_rtt, srtt, flight, window, packet_size, marked, p0 to p7, x0 to x7"

# rule -> hook -> (address, what keeps the compiled code alive, the function, the fingerprint of what was compiled)
_RULES: dict[str, dict[str, tuple[int, Any, Callable[..., None], str]]] = {}


class RuleError(ScenarioError):
    """A rule that cannot be compiled or is not shaped as one; the message says what to change."""


def congestion_control(name: str) -> Callable[[_F], _F]:
    """Make a function a hook of the rule `name`, which flows then take with `control = name`.

    The function's own name says which: `on_ack(f, now, acked)` for each acknowledgement of `acked` new segments
    outside loss recovery; `on_loss(f, now)` when a loss is found by duplicates; `on_timeout(f, now)` when the
    timer expires; `on_every_ack(f, now, acked)` for any acknowledgement, before the others; `on_mark(f, now)` when an
    acknowledgement echoes a mark, once per window. A hook that a rule leaves out is Reno's; at a mark it does what it
    does at a loss. `f` is the flow's record: change `f.cwnd` and `f.ssthresh` [segments], read `f.rtt`, `f.min_rtt`,
    `f.srtt` [s], `f.flight`, `f.window` [segments], `f.packet_size` [byte], `f.marked` (1: this acknowledgement echoes
    a mark) and the parameters `f.p0` to `f.p7`; `f.x0` to `f.x7` are the rule's own and start at 0. `now` is in
    seconds. Times and windows are floats. The loop keeps cwnd within [1, 1e9] and ssthresh at least 2 after a loss, and
    lets no loss, mark or timeout raise cwnd.

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
        from tcpdynamics.solvers.sweeps.fingerprint import fingerprint

        hook = function.__name__
        if hook not in HOOKS:
            raise RuleError(f"{name}: a hook must be called {', '.join(HOOKS)}, got {hook}; rename the function")
        needed, count = HOOKS[hook].count(",") + 1, len(inspect.signature(function).parameters)
        if count != needed:
            arguments = ", ".join(("f", "now", "acked")[:needed])
            raise RuleError(f"{name}: {hook} must take {needed} arguments ({arguments}), got {count}")
        # Globals are constants once a hook is compiled: a store must know those of today.
        _RULES.setdefault(name, {})[hook] = (*_compile(name, hook, function), function, fingerprint(function))
        return function

    return register


def known_rules() -> tuple[str, ...]:
    """Names that `Flows.control` may have now."""
    return tuple({**_RULES, **RULES})  # one's own first: a list may be cut


def addresses(name: str, book: str = "rfc") -> tuple[int, ...]:
    """Addresses of a rule's hooks in the order of `windows.HOOKS`, 0 where it has Reno's or none; then 1 if a user's.

    Raises
    ------
    ScenarioError
        If there is no such rule.
    """
    if name in RULES:
        file = None if name == DEFAULT else _as_in(RULES[name], book)
        return (*hooks.addresses([file], HOOKS)[0].tolist(), 0)
    check_known(name)
    return (*(_RULES[name][hook][0] if hook in _RULES[name] else 0 for hook in HOOKS), 1)


def sources(name: str) -> tuple[Callable[..., None], ...]:
    """The Python functions of a user's rule; none of a rule that is built in."""
    return tuple(function for _, _, function, _ in _RULES.get(name, {}).values())


def check_known(name: str) -> None:
    """Refuse a rule that is neither built in nor defined in this process."""
    if name in RULES or name in _RULES:
        return
    close = better_key(Flows, "control", name) or suggestion(name, known_rules())
    raise ScenarioError(
        f"flows.control {shown(name)} is not known{close}; known rules: "
        f"{listed(known_rules())}. Define it with @congestion_control in a Python script first; the command line knows "
        "the built-in rules only"
    )


def _as_in(file: ModuleType, book: str) -> Any:
    """The hooks of a file with a rule book: `on_ack_ns2` is `on_ack` where senders do as ns-2."""
    chosen = {hook: getattr(file, f"{hook}_{book}", getattr(file, hook, None)) for hook in HOOKS}
    return SimpleNamespace(**chosen)


def _compile(name: str, hook: str, function: Callable[..., None]) -> tuple[int, Any]:
    from numba.core.errors import NumbaError

    try:
        return hooks.compiled(function, HOOKS[hook], keep=False)
    except KeyError as error:  # how Numba says that a record has no such field
        field = str(error.args[0]).strip("'")
        raise RuleError(f"{name}: {hook} cannot be compiled: f has no field {field}; rules use {FIELDS}") from error
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        lines = [line for line in lines if not line.startswith("Failed in ")] or lines  # these name a step of Numba
        reason = next((line for line in lines if "Field" in line or "Name" in line or "No " in line), lines[0])
        if reason.startswith("NRT "):  # Numba's memory, which OPTIONS leave out
            reason = "it makes a list or another Python object"
        raise RuleError(f"{name}: {hook} cannot be compiled: {reason}") from error
