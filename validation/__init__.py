"""How far models can be trusted: fluid and packet simulators, statistics, comparisons. Each loads when first used."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["comparisons", "fluid", "packet", "statistics"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"tcpdynamics.validation.{name}")
    raise AttributeError(f"module 'tcpdynamics.validation' has no attribute {name!r}")
