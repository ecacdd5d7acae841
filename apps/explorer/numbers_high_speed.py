"""The numbers of each picture of the page of HighSpeed and Scalable TCP."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

from tcpdynamics.models import AimdTcp, HighSpeedTcp, ScalableTcp
from tcpdynamics.solvers import trajectory


def laws(loss: Any, a: Any, b: Any) -> dict[str, Any]:
    """The three laws by the names in the pictures."""
    scalable = ScalableTcp(loss=loss, a=a, b=b)
    return {"Reno": AimdTcp(loss=loss), "HighSpeed": HighSpeedTcp(loss=loss), "Scalable": scalable}


def response(loss: float, a: float, b: float) -> pd.DataFrame:
    """The window of each law against the loss rate."""
    losses = np.union1d([10 ** (-7 + i / 40) for i in range(201)], loss)
    return pd.DataFrame({"loss rate": losses} | {name: law.response() for name, law in laws(losses, a, b).items()})


def ratio(loss: float, a: float, b: float) -> pd.DataFrame:
    """The same over Reno's."""
    table = response(loss, a, b)
    reno = table["Reno"]
    return table.assign(**{name: table[name] / reno for name in table.columns[1:]})


def mean(loss: float, a: float, b: float, end: float) -> pd.DataFrame:
    """The mean windows from one packet on."""
    times = np.linspace(0, end, 601)
    windows = {name: trajectory(law.ode(), times).W.values for name, law in laws(loss, a, b).items()}
    return pd.DataFrame({"time [RTT]": times} | windows)


def growth(loss: float, a: float, b: float) -> pd.DataFrame:
    """Packets a round trip more."""
    windows = np.geomspace(1, 1e5, 201)
    rows = {name: law.increase(windows) for name, law in laws(loss, a, b).items()}
    return pd.DataFrame({"window [packet]": windows} | rows)


def share(loss: float, a: float, b: float) -> pd.DataFrame:
    """What a loss takes away."""
    windows = np.geomspace(1, 1e5, 201)
    rows = {name: law.decrease(windows) for name, law in laws(loss, a, b).items()}
    return pd.DataFrame({"window [packet]": windows} | rows)


def teeth(loss: float, a: float, b: float, end: float) -> pd.DataFrame:
    """The windows between losses, one every 1/p packets: packets sent are the second state, a loss ends a piece."""
    times = np.linspace(0, end, 601)

    def lost(t: float, state: Any) -> Any:
        return state[1] - 1 / loss

    lost.terminal = True  # type: ignore[attr-defined]

    def windows(law: Any) -> Any:
        at, w, parts = 0.0, law.response(), []
        while at < times[-1]:  # from the window after a loss to the next loss
            low = (1 - law.decrease(w)) * w
            piece = solve_ivp(
                lambda t, s: [law.increase(s[0]), s[0]], (at, np.inf), [low, 0], "DOP853", events=lost, rtol=1e-12,
                atol=1e-12, dense_output=True,
            )  # fmt: skip
            inside = times[(times >= at) & (times < piece.t[-1])]  # none where losses come faster than these times
            parts.append(piece.sol(inside)[0] if inside.size else inside)
            at, w = piece.t[-1], piece.y[0, -1]
        return np.concatenate(parts)[: times.size]

    return pd.DataFrame({"time [RTT]": times} | {name: windows(law) for name, law in laws(loss, a, b).items()})


def facts(loss: float, a: float, b: float) -> pd.DataFrame:
    """The laws at this loss rate."""
    listed = laws(loss, a, b)
    rest = {name: law.response() for name, law in listed.items()}
    saws = [law.sawtooth() for law in listed.values()]
    rows = {
        "window": rest.values(), "times Reno's": [w / rest["Reno"] for w in rest.values()],
        "grows by": [law.increase(rest[name]) for name, law in listed.items()],
        "gives up": [law.decrease(rest[name]) for name, law in listed.items()],
        "peak": [saw.peak for saw in saws], "mean": [saw.mean for saw in saws],
        "between losses": [saw.period for saw in saws],
    }  # fmt: skip
    return pd.DataFrame([(name, *map(float, row)) for name, row in rows.items()], columns=["quantity", *listed])
