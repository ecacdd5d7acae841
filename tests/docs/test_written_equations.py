"""Equations of chains as the pages write them: whole rows, each probability in a short form."""

import re
import runpy
from pathlib import Path

import pytest
import sympy

from tcpdynamics import models
from tcpdynamics.charts.state_graphs import state_graph, with_stays


@pytest.mark.parametrize("name", ["SubPacketApproximate", "SubPacketExact", "SubPacketFresh", "SubPacketFull"])
def test_the_transitions_of_each_state_sum_to_one_and_are_short(name):
    chain = getattr(models, name)(loss=0.1).chain()
    moves = with_stays(chain)
    for state in chain.labels:
        assert sympy.simplify(sum(chance for (source, _), chance in moves.items() if source == state)) == 1
    for edge, chance in chain.transitions.items():
        assert sympy.simplify(moves[edge] - chance) == 0
        assert sympy.count_ops(moves[edge]) <= min(15, sympy.count_ops(chance))


def test_a_drawing_has_what_stays():
    p = sympy.Symbol("p")
    chain = models.SubPacketApproximate(loss=0.1).chain()
    assert ("S6", "S6") in with_stays(chain) and ">q⁶<" in state_graph(chain)
    assert dict(with_stays(type(chain)({("a", "b"): p, ("b", "a"): 1}))) == {
        ("a", "b"): p, ("a", "a"): 1 - p, ("b", "a"): 1,
    }  # fmt: skip


def test_a_delay_that_is_a_sum_stands_in_brackets():
    written = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "_ext" / "written.py"))
    rows = [row for one in written["_models"]() for row in written["_equations"](one) if "(t - " in row]
    assert sum(r"(t - \left(" in row for row in rows) >= 5
    for row in rows:
        delay = row.split("(t - ", 1)[1].removesuffix(")")
        while (shorter := re.sub(r"[({][^(){}]*[)}]", "", delay)) != delay:  # what stands in brackets
            delay = shorter
        assert not set(delay) & set("+-"), row
