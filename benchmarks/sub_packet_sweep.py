"""The full sub-packet chain over many loss rates: stationary distribution and sensitivities, beside the peers.

Peers: NumPy's batched `solve` with one equation replaced (the recipe that most pages give), QuantEcon's GTH in a
loop, JAX's `vmap(jacfwd(solve))` for sensitivities. Peers work on fewer points and are scaled to a time per point.
Times are CPU seconds of the process, so that a route with two threads counts both. The matrices that NumPy and
QuantEcon start from are made beforehand and are not part of their time. Errors are the largest relative error of any
state against exact rationals.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.models import SubPacketFull
from tcpdynamics.solvers import sensitivity, stationary
from tcpdynamics.solvers.markov.entries import entrywise

STATES = 16


def seconds(work: Callable[[], Any], repeats: int) -> float:
    """Median CPU time of one call, all threads together, after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return statistics.median(times)


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


def jax_sensitivity(points: int) -> float:
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
        return seconds(lambda: slope(loss).block_until_ready(), 3) / points


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
    began = time.perf_counter()
    stationary(chain.at(p=some))
    first = time.perf_counter() - began
    mine = seconds(lambda: stationary(chain), options.repeats) / options.points
    peers: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
        "NumPy batched solve": batched_solve,
        "QuantEcon gth_solve": quantecon_loop,
    }
    print(
        f"full chain, {options.points:,} loss rates: {mine * options.points:.3f} CPU s "
        f"(first call, {few:,}: {first:.2f} s)"
    )
    print(f"{'route':24s} {'CPU us':>10s} {'ratio':>8s} {'largest relative error':>24s}")
    print(f"{'ours, NumPy':24s} {1e6 * mine:10.3f} {1:8.1f} {worst_error(ours(sample), sample):24.1e}")
    on_jax = seconds(lambda: stationary(chain, backend="jax"), options.repeats) / options.points
    print(f"{'ours, JAX':24s} {1e6 * on_jax:10.3f} {on_jax / mine:8.1f}")
    made, few_made = matrices(some), matrices(sample)
    for name, route in peers.items():
        each = seconds(lambda route=route: route(made), 3) / few
        print(
            f"{name:24s} {1e6 * each:10.3f} {each / mine:8.1f} {worst_error(route(few_made), sample):24.1e}"
        )
    slope = seconds(lambda: sensitivity(chain), options.repeats) / options.points
    peer = jax_sensitivity(few)
    print(
        f"d pi/dp: ours {1e6 * slope:.3f} CPU us a point, JAX vmap(jacfwd(solve)) {1e6 * peer:.3f}; "
        f"ratio {peer / slope:.1f}"
    )


if __name__ == "__main__":
    main()
