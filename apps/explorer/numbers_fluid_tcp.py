"""The numbers of each picture of the page of fluid TCP; `end` is how many delays at equilibrium are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.fluid_boundary import boundary
from tcpdynamics.apps.explorer.swings import Swing, swing
from tcpdynamics.solvers import trajectory


def delay(model: Any) -> float:
    """The round-trip time at equilibrium [s]."""
    return float(min(model.equilibrium().rtt, model.base_rtt + model.buffer / model.capacity))


def motion(model: Any, end: float) -> Any:
    """The motion at 601 times."""
    return trajectory(model.dde(), np.linspace(0, end * delay(model), 601))


def verdict(model: Any) -> str:
    """Whether the equilibrium is stable, by the exact linearisation; empty where the buffer is full there."""
    margin = model.stability_margin()
    return "" if np.isnan(margin) else ": stable" if margin > 0 else ": unstable"


def window(model: Any, end: float) -> pd.DataFrame:
    """The mean window."""
    course = motion(model, end)
    return pd.DataFrame({"time [s]": course.time, "window": course.W, "at equilibrium": model.equilibrium().window})


def queue(model: Any, end: float) -> pd.DataFrame:
    """The queue."""
    course, rest = motion(model, end), model.equilibrium().queue
    table = pd.DataFrame({"time [s]": course.time, "queue": course.q, "at equilibrium": rest})
    if max(course.q.max(), rest) > 0.3 * model.buffer:
        table["buffer"] = model.buffer
    return table


def planes(lines: dict[str, Any], x: str, y: str) -> pd.DataFrame:
    """Lines of a plane, one below the other."""
    return pd.concat([pd.DataFrame({"line": name, x: across, y: up}) for name, (across, up) in lines.items()])


def large_swings(course: Any, rest: Any) -> list[Swing | None]:
    """The last swing of queue and window; None where it is small compared with the equilibrium."""
    swings = (swing(course.time, course.q), max(1, rest.queue)), (swing(course.time, course.W), rest.window)
    return [last if last and last.high - last.low > 1e-3 * size else None for last, size in swings]


def plane(model: Any, end: float) -> pd.DataFrame:
    """Window and queue, the equilibrium, and the last swing."""
    course, rest = motion(model, end), model.equilibrium()
    q, W = course.q.values, course.W.values
    tops = max(1, q.max(), rest.queue), max(W.max(), rest.window)
    large = [(last, top) for last, top in zip(large_swings(course, rest), tops, strict=True) if last]
    lines = {f"equilibrium{verdict(model)}": ([rest.window], [rest.queue]), "motion": (W, q)}
    if large and large[0][0].high - large[0][0].low > 0.05 * large[0][1]:  # else the equilibrium hides it
        part = slice(large[0][0].first, large[0][0].last + 1)
        lines["last swing"] = W[part], q[part]
    return planes(lines, "window [packet]", "queue [packet]")


def chart(marking: str, model: Any, fields: dict[str, float]) -> pd.DataFrame:
    """The boundary of stability, and the sliders."""
    edge = boundary(marking, np.linspace(0.005, 1.5, 120), **fields)
    edge = edge[edge[:, 2] > 0]
    lines = {
        f"the sliders{verdict(model)}": ([model.flows], [model.base_rtt]),
        "boundary of stability": (edge[:, 0], edge[:, 1]),
    }
    return planes(lines, "flows", "base round-trip time [s]")


def facts(marking: str, model: Any, fields: dict[str, float], end: float) -> pd.DataFrame:
    """Equilibrium and oscillation."""
    course, rest = motion(model, end), model.equilibrium()
    of_queue, of_window = large_swings(course, rest)
    last = of_queue or of_window
    rows = {
        "small deviations": {": stable": "die out", ": unstable": "grow"}.get(verdict(model), "no closed form"),
        "window at equilibrium": rest.window, "queue at equilibrium": rest.queue, "marked at equilibrium": rest.loss,
        "round-trip time at equilibrium": rest.rtt,
        "swing of the queue": of_queue.high - of_queue.low if of_queue else np.nan,
        "swing of the window": of_window.high - of_window.low if of_window else np.nan,
        "period": last.period if last else np.nan,
        "period at the stability boundary": boundary(marking, [delay(model)], **fields)[0][3],
    }  # fmt: skip
    return pd.DataFrame(rows.items(), columns=["quantity", "value"])
