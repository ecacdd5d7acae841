"""Equations of chains as the pages write them: whole rows, each probability in a short form."""

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
