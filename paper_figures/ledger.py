"""What a paper says, what solving its models says, and the verdict on the paper: one record a statement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

HOLDS = "holds"
CONDITIONS = "holds with conditions"
FAILS = "does not hold"
OPEN = "cannot be decided"
#: A result of ours on a point about which the paper says nothing that could be true or false.
BEYOND = "beyond the paper"
VERDICTS = (HOLDS, CONDITIONS, FAILS, OPEN, BEYOND)


@dataclass(frozen=True)
class Claim:
    """One published statement, the answer to it, and the numbers behind the answer.

    Attributes
    ----------
    key : str         A name, unique within its paper.
    where : str       Section, figure or equation.
    published : str   What the paper says, in our words.
    answer : str      What is true instead, or under which conditions it is.
    computed : str    The numbers of this run.
    supported : bool  Whether those numbers bear the answer out. Where they do not, the verdict is withheld.
    numbers : dict    The numbers in `computed`, by name.
    judged : str      The verdict on the paper that the answer means; one of `VERDICTS`.
    """

    key: str
    where: str
    published: str
    answer: str
    computed: str
    supported: bool
    numbers: dict[str, Any] = field(default_factory=dict)
    judged: str = OPEN

    def __post_init__(self) -> None:
        if self.judged not in VERDICTS:
            raise ValueError(f"judged must be one of {', '.join(VERDICTS)}, got {self.judged!r}")

    @property
    def verdict(self) -> str:
        """On the paper: `judged`, or "cannot be decided" where this run's numbers do not support the answer."""
        return self.judged if self.supported else OPEN


def counts(claims: Iterable[Claim]) -> dict[str, int]:
    """How many claims have which verdict, in the order of `VERDICTS`; verdicts without a claim are left out.

    >>> counts([Claim("a", "eq. 1", "x", "y", "z", True, judged=HOLDS), Claim("b", "eq. 2", "x", "y", "z", False)])
    {'holds': 1, 'cannot be decided': 1}
    """
    verdicts = [claim.verdict for claim in claims]
    return {v: verdicts.count(v) for v in VERDICTS if v in verdicts}


def in_words(claims: Iterable[Claim]) -> str:
    """`counts` as a sentence's part.

    >>> in_words([Claim(k, "eq. 1", "x", "y", "z", True, judged=HOLDS) for k in "ab"])
    '2 hold'
    """
    several = {HOLDS: "hold", CONDITIONS: "hold with conditions", FAILS: "do not hold"}
    return ", ".join(f"{n} {several.get(v, v) if n > 1 else v}" for v, n in counts(claims).items())


def near(computed: ArrayLike, stated: ArrayLike, digits: int = 3) -> bool:
    """Whether numbers agree with stated ones to as many decimals.

    >>> near([3.4826, 0.9999], [3.483, 1.0])
    True
    """
    gap = np.abs(np.asarray(computed, float) - np.asarray(stated, float))
    return bool((gap <= 0.5000001 * 10.0**-digits).all())


def listed(values: Iterable[float], digits: int = 3) -> str:
    """Numbers for a sentence."""
    return ", ".join(f"{float(v):.{digits}f}" for v in values)
