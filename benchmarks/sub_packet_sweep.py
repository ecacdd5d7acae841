"""The full sub-packet chain over many loss rates: stationary distribution and sensitivities, beside the peers.

Peers: NumPy's batched `solve` with one equation replaced (the recipe that most pages give), QuantEcon's GTH in a
loop, JAX's `vmap(jacfwd(solve))` for sensitivities. Peers work on fewer points and are scaled to a time per point.
The matrices that NumPy and QuantEcon start from are made beforehand and are not part of their time. Errors are the
largest relative error of any state against exact rationals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.models import SubPacketFull
from tcpdynamics.solvers import sensitivity, stationary
from tcpdynamics.solvers.markov.entries import entrywise

from .compare import Route, compare

STATES = 16


def grid(points: int) -> NDArray[np.float64]:
    """Loss rates from 1e-12 to the upper bound, dense at both ends."""
    half = np.geomspace(1e-12, 0.25, points // 2)
    return np.concatenate([half, 0.5 - half[::-1]])


def matrices(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chain's matrix at every loss rate: what NumPy and QuantEcon start from."""
    return entrywise(SubPacketFull(loss=loss).chain()).matrices()


def batched_solve(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """pi (P - I) = 0 with one equation replaced by sum pi = 1, for all loss rates at once."""
    A = np.swapaxes(P, 1, 2) - np.eye(STATES)
    A[:, -1, :] = 1.0
    right = np.zeros((len(P), STATES, 1))
    right[:, -1] = 1.0
    return np.linalg.solve(A, right)[..., 0]


def quantecon_loop(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """QuantEcon's GTH, one matrix after the other."""
    from quantecon.markov.gth_solve import gth_solve

    return np.array([gth_solve(matrix) for matrix in P])


PEERS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "NumPy batched solve": batched_solve,
    "QuantEcon gth_solve": quantecon_loop,
}


def ours(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    return stationary(SubPacketFull(loss=loss).chain()).probability.values


def jax_sensitivity(points: int) -> Callable[[], Any]:
    """JAX's forward-mode derivative of a dense solve, matrices included; compiled in the first call."""
    made: dict[str, Any] = {}

    def slopes() -> Any:
        import jax

        with jax.enable_x64(True):
            if not made:
                made.update(
                    slope=jax.jit(jax.vmap(jax.jacfwd(_jax_distribution()))), loss=jax.numpy.asarray(grid(points))
                )
            return made["slope"](made["loss"]).block_until_ready()

    return slopes


def _jax_distribution() -> Callable[[Any], Any]:
    import jax.numpy as jnp

    from tcpdynamics.solvers.markov.entries import entry_program, expressions_of
    from tcpdynamics.solvers.programs.straightline import run

    program, edges, _ = entry_program(expressions_of(SubPacketFull(loss=0.1).chain()))
    rows, columns = np.array(edges).T

    def distribution(p: Any) -> Any:
        rates = jnp.stack([jnp.asarray(r) * jnp.ones_like(p) for r in run(program, {"p": p})[: len(edges)]])
        P = jnp.zeros((STATES, STATES)).at[rows, columns].set(rates)
        A = (P - jnp.diag(P.sum(axis=1))).T.at[-1].set(1.0)
        return jnp.linalg.solve(A, jnp.zeros(STATES).at[-1].set(1.0))

    return distribution


def worst_error(loss: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Largest relative error of any state against rational arithmetic."""
    exact = stationary(SubPacketFull(loss=[Fraction(x) for x in loss]).chain(), exact=True).probability.values
    return max(
        abs(float((Fraction(got) - Fraction(int(true.p), int(true.q))) / Fraction(int(true.p), int(true.q))))
        for got, true in zip(values.ravel(), exact.ravel(), strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="points of our sweep")
    options = parser.parse_args()
    few = max(options.points // 100, 100)
    loss, some, sample = grid(options.points), grid(few), grid(60)
    chain = SubPacketFull(loss=loss).chain()
    made, few_made = matrices(some), matrices(sample)
    exact = partial(worst_error, sample)
    right = {name: exact(route(few_made)) for name, route in PEERS.items()}
    routes = [
        Route("ours, NumPy", lambda: stationary(chain), options.points, lambda _: exact(ours(sample))),
        Route("ours, JAX", lambda: stationary(chain, backend="jax"), options.points, package="jax"),
    ]
    for name, route in PEERS.items():
        package = "quantecon" if "QuantEcon" in name else ""
        routes.append(Route(name, partial(route, made), few, lambda _, name=name: right[name], package))
    compare(f"full sub-packet chain, {options.points:,} drop probabilities", "a point", routes)
    slopes = [
        Route("ours", lambda: sensitivity(chain), options.points),
        Route("JAX vmap(jacfwd(solve))", jax_sensitivity(few), few, package="jax"),
    ]
    compare(f"its derivative by the drop probability, {options.points:,} points", "a point", slopes)


if __name__ == "__main__":
    main()
