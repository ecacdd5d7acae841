"""Numbers as people write them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcpdynamics.errors import RangeError
from tcpdynamics.quantities import parse_range, read_numbers

read_shares = partial(read_numbers, "loss", parse=parse_range)
decimals = st.decimals(-1000, 1000, allow_nan=False, places=6)


@given(decimals, decimals, st.integers(2, 50))
def test_a_range_has_its_ends_its_count_and_equal_steps(start: object, stop: object, count: int) -> None:
    values = parse_range(f"{start}:{stop}:{count}")
    assert len(values) == count
    assert (values[0], values[-1]) == (Fraction(str(start)), Fraction(str(stop)))
    assert len({b - a for a, b in pairwise(values)}) == 1


@given(st.lists(decimals, min_size=1))
def test_a_list_keeps_its_order(numbers: list[object]) -> None:
    assert parse_range(",".join(map(str, numbers))) == [Fraction(str(x)) for x in numbers]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("abc", "'abc' is not a number"),
        ("", "the list is empty"),
        (",", "the list is empty"),
        ("0.1:0.2", "not start:stop:count"),
        ("0.1:0.2:0", "whole number >= 1"),
        ("0.1:0.2:2.5", "whole number >= 1"),
        ("0.1:0.2:1", "cannot span"),
        ("0.1:0.2:1000000000", "at most 10,000,000"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("1/0", "not a number"),
        ("1e999999999", "out of the range"),
        ("1" * 100, "too long"),
        ("__import__('os')", "not a number"),
    ],
)
def test_mistakes_are_named(text: str, says: str) -> None:
    with pytest.raises(RangeError, match="(?s)" + says.replace("(", r"\(")):
        parse_range(text)


@given(decimals, decimals, st.integers(2, 50))
def test_probabilities_may_be_written_in_percent(start: object, stop: object, count: int) -> None:
    whole = [x / 100 for x in parse_range(f"{start}:{stop}:{count}")]
    assert read_shares(f"{start}%:{stop} %:{count}") == whole
    assert read_shares(f"{start}%,{stop}%") == [whole[0], whole[-1]]
    assert read_shares(f"{start},{stop}") == parse_range(f"{start},{stop}")


@pytest.mark.parametrize("text", ["10%%", "%", "0.1:0.2:300%", "%10", "1%0", "%" * 10_000, "nan%", "1e401%"])
def test_percent_signs_out_of_place_are_refused(text: str) -> None:
    with pytest.raises(RangeError):
        read_shares(text)
    with pytest.raises(RangeError):
        parse_range("10%")  # of what is no probability
