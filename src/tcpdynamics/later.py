"""xarray, imported when it is first used: with pandas it takes a third of a second, and one run prints without it."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = ["xr"]


class _Later(ModuleType):
    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


if TYPE_CHECKING:
    import xarray as xr
else:
    xr = _Later("xarray")
