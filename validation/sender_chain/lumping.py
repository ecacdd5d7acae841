"""Exact lumping: states that behave alike for ever become one, by refining a partition until nothing splits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

Law = Mapping[tuple[int, Any], tuple[tuple[Any, int], ...]]


def classes(kinds: Sequence[Hashable], laws: Sequence[Law]) -> list[int]:
    """The coarsest partition in which states of one class have the same kind and the same law over classes.

    The law of a state says for each (target, mark) a weight that adds up: a mapping {term: count} as a tuple of its
    items. Two states are alike if for each class and mark the sums of their weights over that class are the same term
    by term, as polynomials; then the lumped chain is a chain, whatever the values of its symbols (Kemeny and Snell,
    1960, section 6.3), and rewards that marks and kinds say stay what they were.

    Parameters
    ----------
    kinds : sequence of hashable
        What must be the same for states to be lumped, beside their laws.
    laws : sequence of {(target, mark): ((term, count), ...)}

    Returns
    -------
    list of int
        The class of each state; classes are numbered in the order in which their first states come.

    Examples
    --------
    >>> once = (("p", 1),)
    >>> classes(["a", "b", "b"], [{(1, 0): once, (2, 0): once}, {(0, 0): once}, {(0, 0): once}])
    [0, 1, 1]
    """
    current = _numbered(kinds)
    count = len(set(current))
    while True:
        signatures: list[Hashable] = []
        for state, law in enumerate(laws):
            sums: dict[Any, int] = {}
            for (target, mark), weight in law.items():
                there = current[target]
                for term, number in weight:
                    key = (there, mark, term)
                    sums[key] = sums.get(key, 0) + number
            signatures.append((current[state], frozenset(sums.items())))
        current = _numbered(signatures)
        now = len(set(current))
        if now == count:
            return current
        count = now


def _numbered(names: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]
