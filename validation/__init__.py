"""How far models can be trusted: fluid and packet simulators, statistics, comparisons. Each loads when first used.

`compare(prediction, runs, quantity)` compares a prediction of one's own with replications of a packet simulation.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparisons.prediction import compare as compare

__all__ = ["compare", "comparisons", "fluid", "linux", "ns2", "packet", "statistics"]


def __getattr__(name: str) -> Any:
    if name == "compare":
        return importlib.import_module("tcpdynamics.validation.comparisons.prediction").compare
    if name in __all__:
        return importlib.import_module(f"tcpdynamics.validation.{name}")
    raise AttributeError(f"module 'tcpdynamics.validation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
