"""Exact lumping: states that behave alike for ever become one, by refining a partition until nothing splits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Law = Mapping[tuple[int, Any], tuple[tuple[Any, int], ...]]
Words = NDArray[np.uint64]


def classes(kinds: Sequence[Hashable], laws: Sequence[Law]) -> list[int]:
    """The coarsest partition in which states of one class have the same kind and the same law over classes.

    The law of a state says for each (target, mark) a weight that adds up: a mapping {term: count} as a tuple of its
    items. Two states are alike if for each class and mark the sums of their weights over that class are the same term
    by term, as polynomials; then the lumped chain is a chain, whatever the values of its symbols (Kemeny and Snell,
    1960, section 6.3), and rewards that marks and kinds say stay what they were.

    Classes are split by 128-bit hashes of those sums, which only ever split what differs. That the states of a class
    do not differ is then checked with the sums themselves; should two hashes have been the same by chance, splitting
    goes on with the sums.

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
    current = _by_hashes(kinds, laws)
    while True:
        finer = _split(current, laws)
        if max(finer, default=0) == max(current, default=0):
            return finer
        current = finer


def _split(current: Sequence[int], laws: Sequence[Law]) -> list[int]:
    """Classes, split by the sums over the classes as they are."""
    signatures: list[Hashable] = []
    for state, law in enumerate(laws):
        sums: dict[Any, int] = {}
        for (target, mark), weight in law.items():
            there = current[target]
            for term, number in weight:
                key = (there, mark, term)
                sums[key] = sums.get(key, 0) + number
        signatures.append((current[state], frozenset(sums.items())))
    return _numbered(signatures)


def _numbered(names: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def _by_hashes(kinds: Sequence[Hashable], laws: Sequence[Law]) -> list[int]:
    """The partition, split by hashes of the sums."""
    marks: dict[Any, int] = {}
    rows = [
        (state, target, marks.setdefault((mark, term), len(marks)), number)
        for state, law in enumerate(laws)
        for (target, mark), weight in law.items()
        for term, number in weight
    ]
    current = np.array(_numbered(kinds), dtype=np.int64)
    if not rows:
        return [int(x) for x in current]
    source, target, mark, number = np.array(rows, dtype=np.int64).T
    counts, of_mark = number.astype(np.uint64), mark.astype(np.uint64) << np.uint64(32)
    while True:
        keys = current[target].astype(np.uint64) | of_mark
        signature = [current.astype(np.uint64)]
        for salt in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03):
            sums = np.zeros(len(laws), dtype=np.uint64)
            np.add.at(sums, source, _mixed(keys, salt) * counts)
            signature.append(sums)
        _, finer = np.unique(np.column_stack(signature), axis=0, return_inverse=True)
        if finer.max() == current.max():
            return _numbered(current.tolist())
        current = finer.reshape(-1)


def _mixed(keys: Words, salt: int) -> Words:
    """A number that looks random for each key (the finalizer of splitmix64)."""
    x = keys * np.uint64(salt) + np.uint64(salt)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = x ^ (x >> np.uint64(31))
    return mixed
