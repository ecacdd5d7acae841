"""What we find about a published statement, with the check that was computed when it was written down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Finding:
    """One published statement, what we say about it, and whether the computation bears that out.

    Attributes
    ----------
    key : str         For tests.
    where : str       Section, figure or equation.
    published : str   What the paper says.
    finding : str     What we say.
    found : str       What the computation says, just now.
    holds : bool      Whether the computation bears out the finding.
    numbers : dict    The numbers in `found`, by name.
    """

    key: str
    where: str
    published: str
    finding: str
    found: str
    holds: bool
    numbers: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """confirmed or refuted."""
        return "confirmed" if self.holds else "refuted"


def near(found: Any, stated: Any, digits: int = 3) -> bool:
    """Whether numbers agree with stated ones to as many decimals.

    >>> near([3.4826, 0.9999], [3.483, 1.0])
    True
    """
    return bool(
        (np.abs(np.asarray(found, float) - np.asarray(stated, float)) <= 0.5000001 * 10.0**-digits).all()
    )


def listed(values: Iterable[Any], digits: int = 3) -> str:
    """Numbers for a sentence."""
    return ", ".join(f"{float(v):.{digits}f}" for v in values)
