"""The full sub-packet chain over many loss rates: stationary distribution and sensitivities, beside the peers.

Peers: NumPy's batched `solve` with one equation replaced (the recipe that most pages give), QuantEcon's GTH in a
loop, JAX's `vmap(jacfwd(solve))` for sensitivities. Peers work on fewer points and are scaled to a time per point.
Times are CPU seconds of the process, so that a route with two threads counts both, with wall time beside. The matrices
that NumPy and QuantEcon start from are made beforehand and are not part of their time. Errors are the largest relative
error of any state against exact rationals.
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

from .clocks import Taken, median, once

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


def ours(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    return stationary(SubPacketFull(loss=loss).chain()).probability.values


def jax_sensitivity(points: int) -> Taken:
    """Seconds per point of JAX's forward-mode derivative of a dense solve, matrices included."""
    import jax
    import jax.numpy as jnp

    from tcpdynamics.solvers.markov.entries import entry_program, expressions_of
    from tcpdynamics.solvers.programs.straightline import run

    program, edges, _ = entry_program(expressions_of(SubPacketFull(loss=0.1).chain()))
    rows, columns = np.array(edges).T

    def law(p: Any) -> Any:
        rates = jnp.stack([jnp.asarray(r) * jnp.ones_like(p) for r in run(program, {"p": p})[: len(edges)]])
        P = jnp.zeros((STATES, STATES)).at[rows, columns].set(rates)
        A = (P - jnp.diag(P.sum(axis=1))).T.at[-1].set(1.0)
        return jnp.linalg.solve(A, jnp.zeros(STATES).at[-1].set(1.0))

    with jax.enable_x64(True):
        slope = jax.jit(jax.vmap(jax.jacfwd(law)))
        loss = jnp.asarray(grid(points))
        return median(lambda: slope(loss).block_until_ready(), 3)[0].over(points)


def worst_error(values: NDArray[np.float64], loss: NDArray[np.float64]) -> float:
    """Largest relative error of any state against rational arithmetic."""
    exact = stationary(SubPacketFull(loss=[Fraction(x) for x in loss]).chain(), exact=True).probability.values
    return max(
        abs(float((Fraction(got) - Fraction(int(true.p), int(true.q))) / Fraction(int(true.p), int(true.q))))
        for got, true in zip(values.ravel(), exact.ravel(), strict=True)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="points of our sweep")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    few = max(options.points // 100, 100)
    loss, some = grid(options.points), grid(few)
    sample = grid(60)
    chain = SubPacketFull(loss=loss).chain()
    first, _ = once(lambda: stationary(chain.at(p=some)))
    mine = median(lambda: stationary(chain), options.repeats)[0].over(options.points)
    peers: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "NumPy batched solve": batched_solve,
        "QuantEcon gth_solve": quantecon_loop,
    }
    print(
        f"full chain, {options.points:,} loss rates: {mine.cpu * options.points:.3f} CPU s, "
        f"{mine.wall * options.points:.3f} s by the clock (first call, {few:,}: {first.wall:.2f} s)"
    )
    print(f"{'route':24s} {'CPU us':>8s} {'ratio':>6s} {'wall us':>8s} {'ratio':>6s} {'largest relative error':>24s}")

    def row(name: str, each: Taken, error: str) -> None:
        print(
            f"{name:24s} {1e6 * each.cpu:8.3f} {each.cpu / mine.cpu:6.1f} {1e6 * each.wall:8.3f} "
            f"{each.wall / mine.wall:6.1f} {error:>24s}"
        )

    row("ours, NumPy", mine, f"{worst_error(ours(sample), sample):.1e}")
    on_jax, _ = median(lambda: stationary(chain, backend="jax"), options.repeats)
    row("ours, JAX", on_jax.over(options.points), "")
    made, few_made = matrices(some), matrices(sample)
    for name, route in peers.items():
        each = median(partial(route, made), 3)[0].over(few)
        row(name, each, f"{worst_error(route(few_made), sample):.1e}")
    slope = median(lambda: sensitivity(chain), options.repeats)[0].over(options.points)
    peer = jax_sensitivity(few)
    print(
        f"d pi/dp: ours {1e6 * slope.cpu:.3f} CPU us a point, JAX vmap(jacfwd(solve)) {1e6 * peer.cpu:.3f}; ratio "
        f"{peer.cpu / slope.cpu:.1f}; by the clock {1e6 * slope.wall:.3f} and {1e6 * peer.wall:.3f}; ratio "
        f"{peer.wall / slope.wall:.1f}"
    )


if __name__ == "__main__":
    main()
