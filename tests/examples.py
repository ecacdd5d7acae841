"""Every exported model, at a point where it is defined: what tests of all models begin with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tcpdynamics import models
from tcpdynamics.apps.choice import CHAIN, MOTION
from tcpdynamics.models.model import Model

MODELS = [cls for cls in vars(models).values() if isinstance(cls, type) and issubclass(cls, Model)]

#: Values of fields without a default; where a model needs another one here, of several together.
_LINK = {"flows": 60.0, "capacity": 3750.0, "base_rtt": 0.2, "buffer": 800.0}
_FORMULA = {"loss": 0.05, "rtt": 0.1, "timeout": 0.4}
EXAMPLES: dict[str, dict[str, Any]] = {
    "FluidTcpDropTail": _LINK,
    "FluidTcpFullQueue": _LINK | {"flows": 1000.0},
    "FluidTcpProportional": _LINK | {"gain": 1e-4},
    "FluidTcpRed": _LINK | {"min_threshold": 50.0, "max_threshold": 700.0, "p_max": 0.1, "averaging": 0.05},
    "LeapTimeout": {"data_loss": 0.1, "ack_loss": 0.1, "window": 3},
    "LeapTransfer": {"data_loss": 0.1, "ack_loss": 0.1},
    "OverloadedStar": {"density": 3.5},
    "LotkaVolterraQueue": {"base_rtt": 0.1},
    "MtcpThroughput": _FORMULA,
    "PftkApproximate": _FORMULA,
    "PftkFull": _FORMULA,
    "SharedLink": _LINK,
    "SquareRoot": {"loss": 0.05},
    "TRefwaGroups": {"flows": (4, 4), "rtt": (0.02, 0.2)},
    "TcpLinearisation": {"flows": 60.0, "capacity": 3750.0, "rtt": 0.25},
    "Tfrc": {"loss": 0.05, "rtt": 0.1},
} | {f"SubPacket{kind}": {"loss": 0.1} for kind in ("Approximate", "Exact", "Fresh", "Full", "Levels")}
EXAMPLES |= {name: {"loss": 1e-4} for name in ("AimdTcp", "HighSpeedTcp", "ScalableTcp")}


def example(cls: type[Model]) -> Model:
    return cls(**EXAMPLES.get(cls.__name__, {}))


def views(model: Model) -> Iterator[Any]:
    for name in (*MOTION, *CHAIN):
        if callable(getattr(model, name, None)):
            yield getattr(model, name)()
