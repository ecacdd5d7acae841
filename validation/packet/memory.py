"""Arrays of a run, and the refusal of those that are too large."""

from __future__ import annotations

from typing import Any

import numpy as np

from tcpdynamics.errors import LimitError, ScenarioError
from tcpdynamics.limits import check_memory


def zeroed_records(n: int, dtype: Any) -> Any:
    """Zeroed records with fields as attributes, which the interpreted kernel needs."""
    return np.zeros(n, dtype).view(np.recarray)


def refuse_above(need: float, what: str, advice: str) -> None:
    try:
        check_memory(what, need, advice)
    except LimitError as error:
        raise ScenarioError(str(error)) from None
