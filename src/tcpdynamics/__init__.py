"""Solve, sweep and check models of TCP congestion control.

`tcpdynamics.models` says what is true of a protocol, `tcpdynamics.solvers` says how numbers are obtained,
`tcpdynamics.validation` says how far to trust them. Each loads when it is first used.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__version__ = "0.1.0"
__all__ = ["__version__", "apps", "models", "paper_figures", "solvers", "validation"]


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"tcpdynamics.{name}")
    raise AttributeError(f"module 'tcpdynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
