"""The pages: each file has a `PAGE`, and is listed by itself; articles, which move their pictures, come first."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from ..article import articles, page_of
from ..page import Page


@cache
def pages() -> dict[str, Page]:
    """slug -> page: articles, then the others in the order of their files' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    listed: list[Page] = [import_module(f"{__name__}.{name}").PAGE for name in names]
    by_slug = {page.slug: page for page in listed}
    written = [page_of(article, by_slug) for article in articles().values()]
    return {page.slug: page for page in [*written, *listed]}
