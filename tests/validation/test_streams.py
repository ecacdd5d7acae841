"""Random streams: keys of many at once are those of the definition, written in plain whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.validation.packet.kernel.streams import first_draws, streams

WORD = 2**64 - 1


def mixed(key: int) -> int:
    """SplitMix64's output (Steele, Lea and Flood, OOPSLA 2014)."""
    key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & WORD
    return key ^ (key >> 31)


def key(word: int, purpose: int, flow: int) -> int:
    for part in (purpose, flow):
        word = mixed((word + (part + 1) * 0x9E3779B97F4A7C15) & WORD)
    return word


@given(st.integers(0, WORD), st.lists(st.integers(0, 30), min_size=1, max_size=4), st.integers(1, 50))
def test_keys_and_first_draws_are_those_of_splitmix(word: int, purposes: list[int], count: int) -> None:
    keys = streams(word, purposes, range(count))
    expected = [[key(word, purpose, flow) for flow in range(count)] for purpose in purposes]
    assert keys.tolist() == expected
    assert first_draws(keys).tolist() == [[(mixed(one) >> 11) * 2.0**-53 for one in row] for row in expected]
    assert keys.dtype == np.uint64
