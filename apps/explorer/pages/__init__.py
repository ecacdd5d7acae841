"""The pages: each file has a `PAGE`, and is listed by itself."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from ..page import Page


@cache
def pages() -> dict[str, Page]:
    """slug -> page, in the order of the files' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    listed: list[Page] = [import_module(f"{__name__}.{name}").PAGE for name in names]
    return {page.slug: page for page in listed}
