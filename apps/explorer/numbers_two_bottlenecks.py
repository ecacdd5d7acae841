"""The numbers of each picture of the page of two bottlenecks; `model` is that of the reading."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tcpdynamics.models import TRefwaTwoLinksCommanded, TRefwaTwoLinksMeasured
from tcpdynamics.solvers import trajectory


def windows(model: Any, commands: int) -> pd.DataFrame:
    """The window on each link."""
    motion = trajectory(model.map(), range(commands + 1))
    one, three = model.bdp_1, model.bdp_3
    bdp = {"bandwidth-delay product of both": one} if one == three else {"BDP of L1": one, "BDP of L3": three}
    return pd.DataFrame({"command [interval]": motion.time, "L1": motion.W_1, "L3": motion.W_3} | bdp)


def queues(model: Any, commands: int) -> pd.DataFrame:
    """The queue of each link."""
    motion = trajectory(model.map(), range(commands + 1))
    return pd.DataFrame({"command [interval]": motion.time, "L1": motion.Q_1, "L3": motion.Q_3})


def shares(model: Any, commands: int) -> pd.DataFrame:
    """What a flow of each group may send."""
    motion = trajectory(model.map(), range(commands + 1))
    return pd.DataFrame({
        "command [interval]": motion.time, "group 1, both links": np.minimum(motion.f_1, motion.f_3),
        "group 2, L1": motion.f_1, "group 3, L3": motion.f_3,
    })  # fmt: skip


def used(fields: dict[str, float]) -> pd.DataFrame:
    """Utilisation at equilibrium in both interpretations, buffers at one fraction of their bandwidth-delay product."""
    share = np.linspace(0, 1, 101)
    table = pd.DataFrame({"buffer over bandwidth-delay product": share})
    for kind in (TRefwaTwoLinksCommanded, TRefwaTwoLinksMeasured):
        buffers = ({f"buffer_{link}": s * fields[f"bdp_{link}"] for link in (1, 3)} for s in share.tolist())
        rests = [kind(**fields | buffer).equilibrium() for buffer in buffers]
        for link in (1, 3):
            name = f"L{link}, {kind.__name__.removeprefix('TRefwaTwoLinks').lower()}"
            table[name] = [float(rest[f"utilisation_{link}"]) for rest in rests]
    return table


def facts(model: Any) -> pd.DataFrame:
    """Both links at equilibrium."""
    rest = model.equilibrium()
    rows = {"utilisation": "utilisation", "window": "W", "command": "Upsilon", "queue": "Q", "feedback": "f"}
    table = [(name, float(rest[f"{k}_1"]), float(rest[f"{k}_3"])) for name, k in rows.items()]
    return pd.DataFrame(table, columns=["quantity", "L1", "L3"])
