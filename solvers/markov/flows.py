"""What flows through a chain: its stationary law, and how often each of its transitions is taken, as a program."""

from __future__ import annotations

from dataclasses import dataclass

from ..problems import ChainError, ChainModel, MarkovChain
from ..programs.straightline import Builder, Program
from .entries import as_chain, entry_program, expressions_of
from .stationary import stationary_program


@dataclass(frozen=True)
class Flows:
    """The program of a chain's flows.

    Attributes
    ----------
    program : Program
        Inputs: the chain's parameters. Outputs: the stationary probability of each state [1], then the flow of each
        edge, transitions per epoch [1].
    states : tuple of str
    edges : tuple of (int, int)
        Source and target of each flow, as places in `states`; no self-loops.
    """

    program: Program
    states: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]


def flow_program(problem: MarkovChain | ChainModel) -> Flows:
    """How often each transition of a symbolic chain is taken per epoch.

    pi_i P_ij, and pi_i P_ij / h_i from a state that is held for h_i epochs.

    Raises
    ------
    ChainError
        The chain is numeric, reducible or periodic.

    Examples
    --------
    >>> import sympy
    >>> from tcpdynamics.solvers import MarkovChain
    >>> from tcpdynamics.solvers.programs.straightline import run
    >>> p = sympy.Symbol("p")
    >>> flows = flow_program(MarkovChain({("up", "down"): p, ("down", "up"): 1}))
    >>> run(flows.program, {"p": 0.25})
    [0.8, 0.2, 0.2, 0.2]
    """
    from ..programs.from_sympy import emit

    chain = as_chain(problem)
    if not chain.is_symbolic:
        raise ChainError("a program of flows needs a symbolic chain: give transitions as SymPy expressions")
    builder = Builder()
    law = stationary_program(chain)
    placed = builder.extend(law)
    shares = [placed[i] for i in law.outputs]
    entries, edges, _ = entry_program(expressions_of(chain))
    placed = builder.extend(entries)
    chances = [placed[i] for i in entries.outputs]
    visits = list(shares)
    for state, time in chain.holding.items():
        i = chain.labels.index(state)
        visits[i] = builder.div(shares[i], emit(builder, time))
    flows = [builder.mul(visits[i], chance) for (i, _), chance in zip(edges, chances, strict=False)]
    return Flows(builder.build([*shares, *flows]), chain.labels, edges)
