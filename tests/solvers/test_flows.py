"""Flows of probability through a chain, as a program."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from tcpdynamics.models import SubPacketApproximate, SubPacketExact, SubPacketFull
from tcpdynamics.solvers import ChainError, MarkovChain, stationary
from tcpdynamics.solvers.markov.flows import flow_program
from tcpdynamics.solvers.markov.stationary import stationary_program
from tcpdynamics.solvers.programs.straightline import run


@pytest.mark.parametrize("cls", [SubPacketApproximate, SubPacketFull, SubPacketExact])
@pytest.mark.parametrize("timeout", [2.0, 3.5])
def test_what_flows_into_a_state_flows_out(cls: type, timeout: float) -> None:
    chain = cls(loss=0.23, base_timeout=timeout).chain()
    flows = flow_program(chain)
    n = len(flows.states)
    values = run(flows.program, {"p": 0.23})
    np.testing.assert_allclose(values[:n], stationary(chain).probability.values, rtol=1e-12)
    assert run(stationary_program(chain), {"p": 0.23}) == values[:n]
    into, out = np.zeros(n), np.zeros(n)
    for (i, j), flow in zip(flows.edges, values[n:], strict=True):
        out[i] += flow
        into[j] += flow
    np.testing.assert_allclose(into, out, rtol=1e-12)
    for state, time in chain.holding.items():  # left surely after so many epochs
        i = flows.states.index(state)
        assert out[i] == pytest.approx(values[i] / float(time), rel=1e-12)


def test_self_loops_have_no_flow() -> None:
    p = sympy.Symbol("p")
    chain = MarkovChain({("up", "down"): p, ("up", "up"): 1 - p, ("down", "up"): 1})
    assert flow_program(chain).edges == ((0, 1), (1, 0))


def test_a_numeric_chain_has_no_program() -> None:
    chain = MarkovChain(np.array([[0.5, 0.5], [0.25, 0.75]]))
    for function in (flow_program, stationary_program):
        with pytest.raises(ChainError, match="symbolic chain"):
            function(chain)
