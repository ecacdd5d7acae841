"""What a trajectory may ask for, refused before anything is made; and an interrupt that is heard."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import types
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import DomainError, LimitError
from tcpdynamics.limits import MAX_WORK
from tcpdynamics.solvers import DDE, ODE, Delayed, Map, trajectory

x, v, w, w_d, a, b, delay = sympy.symbols("x v w w_d a b delay")


def test_memory_is_refused_before_the_grid_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """10^6 points at 10^6 times, and three axes of a thousand: no array of the grid's size is formed."""
    module = sys.modules["tcpdynamics.solvers.trajectories.trajectory"]

    def refuse(*_: Any) -> None:
        raise AssertionError("compiled before it was checked")

    monkeypatch.setattr(module, "compile_system", refuse)
    many = np.linspace(1.0, 2.0, 10**6)
    decay = ODE(rhs={"x": -a * x}, parameters={"a": many}, start={"x": 1.0})
    with pytest.raises(LimitError, match=r"1,000,000 points and 1,000,000 times need about 8,000 GB.* 8 GB"):
        trajectory(decay, np.arange(1e6))
    few = np.linspace(1.0, 2.0, 1000)
    cube = ODE(rhs={"x": -a * b * x}, parameters={"a": few, "b": few}, start={"x": few})
    with pytest.raises(LimitError, match=r"1,000,000,000 points"):
        trajectory(cube, [1.0, 2.0])
    steps = Map(rhs={"w": a * w}, parameters={"a": many}, start={"w": 1.0})
    with pytest.raises(LimitError, match=r"100,000,000 steps of a map at 1,000,000 points need .* at most 1e\+13"):
        trajectory(steps, [1e8])


def test_work_is_refused_by_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = DDE(
        rhs={"w": -w_d}, delayed={"w_d": Delayed("w", delay)}, parameters={"delay": [1e-6, 1.0]}, start={"w": 1.0}
    )
    with pytest.raises(LimitError, match=r"delays from 1e-06 s on, over 1e\+09, need about"):
        trajectory(problem, [1e9], max_steps=10**12)
    monkeypatch.setenv("TCPDYNAMICS_MAX_WORK", "1e4")
    with pytest.raises(LimitError, match=r"at most 1e\+04"):
        trajectory(problem, [100.0])


def test_a_long_memory_of_a_map_is_refused() -> None:
    problem = Map(rhs={"w": w_d}, delayed={"w_d": Delayed("w", 10**10)}, start={"w": 1.0})
    with pytest.raises(LimitError, match=r"a delay of 10,000,000,000 steps at 1 points need about 160 GB"):
        trajectory(problem, [3])


def test_times_are_counted_before_they_are_made() -> None:
    w = sympy.Symbol("w")
    with pytest.raises(LimitError, match=r"1,000,000,000 times need about 80 GB"):
        trajectory(Map(rhs={"w": w / 2}, start={"w": 1.0}), range(10**9))


# -- interrupts ----------------------------------------------------------------------------------------------


def test_a_thread_keeps_what_it_writes_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt while a thread starts ends the call before the thread: its arrays must not be freed under it."""
    kept: list[Any] = []

    def interrupted(work: Any, bounds: Any, workers: int, stop: Any) -> None:
        kept.extend(work(low, high) for low, high in pairwise(bounds))
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules[trajectory.__module__], "in_threads", interrupted)
    x = sympy.Symbol("x")
    with pytest.raises(KeyboardInterrupt):
        trajectory(ODE(rhs={"x": -x}, start={"x": [1.0, 2.0]}), [0.0, 1.0])
    arrays, room = kept[0]
    assert {"out", "status", "taken", "end", "stop", "start", "params", "times"} <= set(arrays) and room.size


#: A child announces by itself that a call which would take days has begun; then it waits for its interrupt.
CHILD = """
import os
import sys
import sympy
from tcpdynamics.solvers import DDE, ODE, Delayed, Map, trajectory
from tcpdynamics.solvers.trajectories import maps
module = sys.modules["tcpdynamics.solvers.trajectories.trajectory"]
x, v, w, w_d = sympy.symbols("x v w w_d")
threads, advance = module.in_threads, maps.Iteration.advance


def announced(work, bounds, workers, stop):
    def share(low, high):
        os.write(1, b"began\\n")  # at once, whichever thread it is
        work(low, high)
    threads(share, bounds, workers, stop)


def announced_map(orbit, steps=1):
    print("began", flush=True)
    return advance(orbit, steps)


module.in_threads, maps.Iteration.advance = announced, announced_map
flow = {"rhs": {"x": v, "v": -x}, "start": {"x": [1.0] * 1 if MANY == 1 else [1.0 + i for i in range(MANY)], "v": 0.0}}
late = {"rhs": {"w": -3 * w_d / 2}, "delayed": {"w_d": Delayed("w", 1)}, "start": {"w": 1.0}}
problem = {"flow": ODE(**flow), "delay": DDE(**late), "map": Map(rhs={"w": 4 * w * (1 - w)}, start={"w": 0.3})}[KIND]
try:
    trajectory(problem, [1e8 if KIND == "map" else 1e12], max_steps=10**9)
except KeyboardInterrupt:
    print("heard", flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "many"),
    [
        ("flow", 1),
        pytest.param("flow", 40, marks=pytest.mark.slow),
        pytest.param("flow", 5000, marks=pytest.mark.slow),
        ("delay", 1),
        pytest.param("map", 1, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_is_heard(kind: str, many: int) -> None:
    code = f"KIND, MANY = {kind!r}, {many}\n" + CHILD
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TCPDYNAMICS_MAX_WORK": "1e30"},  # as if it could be endless
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "began\n"
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=120)
    finally:
        child.kill()
        child.wait()
    assert rest.splitlines()[-1] == "heard" and child.returncode == 0


def test_an_interrupt_is_heard_while_room_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """No single call of NumPy touches all of a result, at its beginning, at its end or in between."""
    module = sys.modules["tcpdynamics.solvers.trajectories.trajectory"]
    monkeypatch.setattr(module, "PIECE", 1000)
    largest = 0

    class Counting(types.ModuleType):
        def __getattr__(self, name: str) -> Any:
            whole = getattr(np, name)
            if name not in ("isfinite", "full", "isnan"):
                return whole

            def counted(first: Any, *more: Any, **others: Any) -> Any:
                nonlocal largest
                size = int(np.prod(first)) if name == "full" else np.size(first) * (np.ndim(first) > 1)
                largest = max(largest, size)
                return whole(first, *more, **others)

            return counted

    monkeypatch.setattr(module, "np", Counting("numpy"))
    w, r = sympy.symbols("w r")
    growing = Map(rhs={"w": r * w}, parameters={"r": [0.5, 100.0, 0.9]}, start={"w": 1.0})
    result = trajectory(growing, np.arange(5000))
    assert 0 < largest <= 1000
    lost = ~np.isfinite(result.w.values)
    assert lost.any(axis=1).tolist() == (result.status.values != 0).tolist() == [False, True, False]
    first = int(np.flatnonzero(lost[1])[0])
    assert lost[1, first:].all() and result.w.values[1, first - 1] == pytest.approx(100.0 ** (first - 1))
    late = trajectory(
        ODE(rhs={"w": r * w * w}, parameters={"r": [0.0, 1.0]}, start={"w": 1.0}), np.linspace(0, 2, 3000)
    )
    assert largest <= 3000  # of one trajectory's
    assert np.isnan(late.w.values[1, 1600:]).all() and np.isfinite(late.w.values[0]).all()


@given(st.integers(100_001, 10**12), st.integers(1, 2000))
def test_steps_that_may_be_taken_are_a_budget(max_steps: int, many: int) -> None:
    """Whatever is asked for beyond the default: a request of more steps in all than the bound never starts."""
    decay = ODE(rhs={"x": -a * x}, parameters={"a": np.linspace(1.0, 2.0, many)}, start={"x": 1.0})
    if 200.0 * max_steps * many <= MAX_WORK:
        assert trajectory(decay, [1.0], max_steps=max_steps).status.values.max() == 0
        return
    with pytest.raises(LimitError, match=r"up to [\d,]+ steps \(max_steps\) at [\d,]+ points need about .* give a"):
        trajectory(decay, [1.0], max_steps=max_steps)


def test_a_million_steps_at_a_million_points_are_refused() -> None:
    decay = ODE(rhs={"x": -a * x}, parameters={"a": np.linspace(1.0, 2.0, 10**6)}, start={"x": 1.0})
    with pytest.raises(LimitError, match=r"up to 1,000,000 steps \(max_steps\) at 1,000,000 points"):
        trajectory(decay, [1.0], max_steps=10**6)


@pytest.mark.parametrize("end", [1e-25, 9.9e-21, 1.1e20, 1e60, 1e300])
def test_ends_beyond_any_unit_of_time_are_refused(end: float) -> None:
    w = sympy.Symbol("w")
    with pytest.raises(DomainError, match=r"last time must lie in \[1e-20, 1e\+20\]"):
        trajectory(ODE(rhs={"w": -w / end}, start={"w": 1.0}), [0.0, end])


@pytest.mark.parametrize("end", [1e-20, 1e-9, 1e9, 1e20])
def test_any_other_unit_of_time_gives_the_same_numbers(end: float) -> None:
    w = sympy.Symbol("w")
    for rhs, expected in ((-w / end, np.exp(-1.0)), (-(w**2) / end, 0.5)):
        answer = trajectory(ODE(rhs={"w": rhs}, start={"w": 1.0}), [0.0, end])
        assert answer.w.values[-1] == pytest.approx(expected, rel=1e-8)
