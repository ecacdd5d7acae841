"""Losses that depend on what was lost before: a table of models of a link's errors.

A model is a file with a line in `MODELS`: `PARAMETERS` are what a scenario may set, `STATE` the record of one link
(made by `state`; fields with the names of parameters hold them), `begin(record, uniform)` writes what the model starts
from, `mean_loss(values)` is the share that it loses in the long run, and the hook `lost(w, line, which)` says whether a
packet that arrives now is lost (1) or not (0). Which packets ask, and where the record is, is `losses.by_chance`'s.
"""

from __future__ import annotations

from types import ModuleType

from ..hooks import caller
from . import gilbert_elliott
from .state import HEAD as HEAD

#: Name -> the file with its hook.
MODELS: dict[str, ModuleType] = {"gilbert-elliott": gilbert_elliott}

#: Hook -> its shape.
HOOKS = {"lost": "count(world, link, count)"}

lost = caller(HOOKS["lost"])
