"""The numbers of each picture of T-REFWA's page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.apps.explorer.recorded import interval, published
from tcpdynamics.apps.explorer.t_refwa_gains import cell_grid, closed_form, regions
from tcpdynamics.models import RttCode, TRefwaGroups
from tcpdynamics.solvers import boundary_curves, eigenvalues, stability_chart, trajectory

#: Groups of flows, at equal distances of round-trip time.
GROUPS = 8


def window(model: Any, commands: int) -> pd.DataFrame:
    """The commanded window, and its equilibrium."""
    motion, rest = trajectory(model.map(), range(commands + 1)), model.equilibrium()["Upsilon"]
    columns = {"commanded window": motion.Upsilon, "at equilibrium": rest, "bandwidth-delay product": model.bdp}
    return pd.DataFrame({"command [interval]": motion.time} | columns)


def queue(model: Any, commands: int) -> pd.DataFrame:
    """The queue, and its equilibrium."""
    motion, rest = trajectory(model.map(), range(commands + 1)), model.equilibrium()["Q"]
    columns = {"queue": motion.Q, "at equilibrium": rest, "buffer": model.buffer}
    return pd.DataFrame({"command [interval]": motion.time} | columns)


def chart(model: Any, reading: str, settings: dict[str, int]) -> pd.DataFrame:
    """Both boundaries, and the marks."""
    phi, low, high = closed_form(reading, **settings)  # where stability_margin() changes its sign
    gains = np.linspace(0.003, 3.003, 76)
    curves = boundary_curves(stability_chart(type(model)(phi=gains, psi=gains, **settings)))
    exact: list[Any] = [
        np.concatenate([[*c[f"boundary_{gain}"].values, np.nan] for c in curves]) if curves else []
        for gain in ("phi", "psi")
    ]
    lines = {
        "the paper's gains": ([1.5], [0.5]), "the sliders": ([model.phi], [model.psi]),
        "stable by the closed form": ([*phi, *phi[::-1]], [*low, *high[::-1]]), "boundary by exact roots": exact,
    }  # fmt: skip
    names = "gain φ on spare bandwidth", "gain ψ on free buffer"
    return pd.concat([pd.DataFrame({"line": line, names[0]: x, names[1]: y}) for line, (x, y) in lines.items()])


def times(rtt_low: float, rtt_high: float) -> Any:
    """Round-trip times of the groups [s]."""
    return np.linspace(rtt_low, rtt_high, GROUPS)


def rates_of(flows: TRefwaGroups, aggregate: float) -> Any:
    """Of a flow of each group; NaN where there is no window at equilibrium."""
    return np.full(GROUPS, np.nan) if np.isnan(aggregate) else flows.rates(aggregate).values


def groups(model: Any, rtt_low: float, rtt_high: float, group_flows: int) -> pd.DataFrame:
    """What the groups get of the window at equilibrium."""
    rtts = times(rtt_low, rtt_high)
    shares = TRefwaGroups(flows=(group_flows,) * GROUPS, rtt=tuple(rtts))
    throughput = group_flows * rates_of(shares, float(model.equilibrium()["Upsilon"]))
    table = pd.DataFrame({"round-trip time [s]": rtts, "a group": throughput})
    return table.assign(**{
        "their mean": throughput.mean(), "equal parts of the link": model.bdp / rtts.mean() / GROUPS
    })  # fmt: skip


def error(rtt_low: float, rtt_high: float) -> pd.DataFrame:
    """The error of the code, and that of the groups."""
    code, rtts = RttCode(), times(rtt_low, rtt_high)
    x = np.union1d(cell_grid(code).round(12), rtts)  # both sides of each cell's ends
    x = x[x <= 1.05 * max(rtt_high, rtt_low)]
    percent = 100 * np.asarray(code.relative_error(x))
    of_groups = np.where(np.isin(x, rtts), percent, np.nan)
    return pd.DataFrame({"round-trip time [s]": x, "6-bit code": percent, "a group": of_groups})


def facts(model: Any, rtt_low: float, rtt_high: float, group_flows: int) -> pd.DataFrame:
    """The numbers at equilibrium."""
    aggregate, code, rtts = float(model.equilibrium()["Upsilon"]), RttCode(), times(rtt_low, rtt_high)
    shares = TRefwaGroups(flows=(group_flows,) * GROUPS, rtt=tuple(rtts))
    multipliers = eigenvalues(model.map()).eigenvalue.values
    radius = abs(multipliers).max()
    fate = "persist" if abs(radius - 1) < 1e-9 else "die out" if radius < 1 else "grow"
    if abs(multipliers + radius).min() < 1e-7:
        fate += ", changing sign every interval"
    elif abs(multipliers - radius).min() > 1e-7:
        fate += ", swinging"
    elif fate == "persist":
        fate = "stay as they are" + (": every window is an equilibrium" if np.isnan(aggregate) else "")
    rates, (low, high) = rates_of(shares, aggregate), code.error_bounds()
    rows = {
        "small deviations": fate, "modulus of the largest multiplier": radius, "window at equilibrium": aggregate,
        "sum of the rates": group_flows * rates.sum() / (model.bdp / rtts.mean()),
        "a flow's rate, largest": rates.max(), "a flow's rate, smallest": rates.min(),
        "Jain's index": shares.fairness(), "least possible Jain's index": code.worst_jain(),
        "errors within a cell": f"{100 * low:.3g} to {100 * high:.3g}",
    }  # fmt: skip
    return pd.DataFrame(rows.items(), columns=["quantity", "value"])


PROTOCOLS = {"reno": "Reno", "newreno": "NewReno", "westwood": "Westwood", "t_refwa": "T-REFWA"}


def readings(phi: float, psi: float, delay: int) -> pd.DataFrame:
    """Where each interpretation's closed form is stable, and the mark."""
    names = "gain φ on spare bandwidth", "gain ψ on free buffer"
    lines = {"the sliders": ([phi], [psi])} | {
        name: ([*x, *x[::-1]], [*low, *high[::-1]]) for name, (x, low, high) in regions(delay).items()
    }
    return pd.concat([pd.DataFrame({"line": line, names[0]: x, names[1]: y}) for line, (x, y) in lines.items()])


def table(link: str) -> pd.DataFrame:
    """Table III of a link: fairness and utilisation of four protocols, printed and in packets."""
    columns: dict[str, Any] = {"protocol": list(PROTOCOLS.values())}
    for measure in ("fairness", "utilisation"):
        names = [f"t_refwa.table3.{link.lower()}.{protocol}.{measure}" for protocol in PROTOCOLS]
        columns[f"{measure}, the paper"] = [published(name) for name in names]
        rows = zip(*map(interval, names), strict=True)
        columns |= dict(zip((f"{measure}, packets{word}" for word in ("", ", low", ", high")), rows, strict=True))
    return pd.DataFrame(columns)
