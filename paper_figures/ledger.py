"""What a paper says, what solving its models says, and the verdict on the paper: one record a statement."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
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

    def document(self) -> dict[str, Any]:
        """All that is known, with the verdict, as JSON has it.

        >>> Claim("a", "eq. 1", "x", "y", "z", np.bool_(True), {"x": np.float64(2)}, HOLDS).document()["numbers"]
        {'x': 2.0}
        """
        rows = {"verdict": self.verdict} | vars(self)
        plain: dict[str, Any] = json.loads(json.dumps(rows, default=lambda number: number.item()))
        return plain


@dataclass(frozen=True)
class Answer:
    """What deciding a statement gives: a `Claim` without the statement; its attributes are those of `Claim`."""

    answer: str
    computed: str
    supported: bool
    numbers: dict[str, Any] = field(default_factory=dict)
    judged: str = OPEN


@dataclass(frozen=True)
class Statement:
    """A published statement before it is decided; calling it decides it, now.

    Attributes
    ----------
    key, where, published : str   As of `Claim`.
    decide : callable             Solves what decides it; gives an `Answer`.
    figure : str                  Name of the figure that shows it, such as "logistic.fig8"; of a table, empty.
    """

    key: str
    where: str
    published: str
    decide: Callable[[], Answer]
    figure: str = ""

    @property
    def paper(self) -> str:
        """The folder of the paper: "sub_packet", "logistic" or "t_refwa"."""
        return self.decide.__module__.split(".")[-2]

    @property
    def name(self) -> str:
        """Paper and key as one word, such as "logistic.stale_two"."""
        return f"{self.paper}.{self.key.replace(',', '').replace(' ', '_')}"

    def __call__(self) -> Claim:
        """Decide it."""
        return Claim(self.key, self.where, self.published, **vars(self.decide()))


def statement(
    key: str, where: str, published: str, figure: str = ""
) -> Callable[[Callable[[], Answer]], Statement]:
    """Make a function that decides a statement into that `Statement`.

    Examples
    --------
    >>> @statement("sum", "eq. (1)", "1 + 1 = 2")
    ... def total() -> Answer:
    ...     return Answer("correct as printed", f"{1 + 1}", 1 + 1 == 2, judged=HOLDS)
    >>> total.published, total().verdict
    ('1 + 1 = 2', 'holds')
    """
    return lambda decide: Statement(key, where, published, decide, figure)


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
