"""Solve, sweep and check models of TCP congestion control.

`tcpdynamics.models` says what is true of a protocol, `tcpdynamics.solvers` says how numbers are obtained,
`tcpdynamics.validation` says how far to trust them, `tcpdynamics.plot(result)` draws any result.
Each loads when it is first used.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["__version__", "apps", "charts", "models", "paper_figures", "plot", "solvers", "validation"]


def __getattr__(name: str) -> Any:
    if name == "plot":
        return importlib.import_module("tcpdynamics.charts").plot
    if name in __all__:
        return importlib.import_module(f"tcpdynamics.{name}")
    raise AttributeError(f"module 'tcpdynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
