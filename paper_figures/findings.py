"""What solving our models says about a statement of a paper: one function a finding, which solves it now.

A finding is ours and has no verdict of its own. A claim of the ledger that a model decides names one, and the number of
it that its rule looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Answer:
    """What a finding says, and the numbers behind it.

    Attributes
    ----------
    answer : str      What is true, or under which conditions the statement is.
    computed : str    The numbers of this run.
    supported : bool  Whether those numbers bear the answer out.
    numbers : dict    Numbers by name, each a float or a list of floats.
    """

    answer: str
    computed: str
    supported: bool
    numbers: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """A finding before it is solved; calling it solves it.

    Attributes
    ----------
    key, where, published : str   A name, unique within its paper; section, figure or equation; what it is about.
    decide : callable             Solves; gives an `Answer`.
    figure : str                  Name of the figure that shows it, such as "logistic.fig8"; of a table, empty.
    """

    key: str
    where: str
    published: str
    decide: Callable[[], Answer]
    figure: str = ""

    @property
    def paper(self) -> str:
        """The folder of the paper, such as "logistic"."""
        return self.decide.__module__.split(".")[-2]

    @property
    def name(self) -> str:
        """Paper and key as one word, such as "logistic.stale_two"."""
        return f"{self.paper}.{self.key.replace(',', '').replace(' ', '_')}"

    def __call__(self) -> Answer:
        """Solve it."""
        return self.decide()


def finding(key: str, where: str, published: str, figure: str = "") -> Callable[[Callable[[], Answer]], Finding]:
    """Make a function that solves for a finding into that `Finding`.

    Examples
    --------
    >>> @finding("sum", "eq. (1)", "1 + 1 = 2")
    ... def total() -> Answer:
    ...     return Answer("correct as printed", f"{1 + 1}", 1 + 1 == 2, {"sum": 2.0})
    >>> total.published, total().supported
    ('1 + 1 = 2', True)
    """
    return lambda decide: Finding(key, where, published, decide, figure)


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
