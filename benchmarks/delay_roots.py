"""Exact characteristic roots over parameter grids: points per second.

No Python package gives characteristic roots of delay equations over a grid. Beside ours stands what a study would do
by hand: NumPy's eigenvalues of the infinitesimal generator on 25 Chebyshev nodes, one point after the other, without
polishing. Both have one BLAS thread. Points a second are by CPU seconds over the processors; beside them stand those by
wall time (NumPy's has one processor, ours all). The last column is the largest difference between the two, for
the chart the largest distance of its boundary from epsilon delay = pi/2.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import models
from tcpdynamics.solvers import spectral_abscissa, stability_chart
from tcpdynamics.solvers.stability.operating_point import operating_point

from .clocks import Taken, cores, median, once

Array = NDArray[np.float64]


def generator(A: Array, B: Array, tau: float, nodes: int = 24) -> float:
    """Rightmost eigenvalue of the infinitesimal generator on Chebyshev nodes, without polishing."""
    n = A.shape[0]
    x = np.cos(np.pi * np.arange(nodes + 1) / nodes)
    c = np.hstack([2.0, np.ones(nodes - 1), 2.0]) * (-1.0) ** np.arange(nodes + 1)
    gap = x[:, None] - x
    D = np.outer(c, 1 / c) / (gap + np.eye(nodes + 1))
    D = (D - np.diag(D.sum(axis=1))) * 2 / tau
    M = np.kron(D, np.eye(n))
    M[:n] = 0.0
    M[:n, :n] = A
    M[:n, -n:] = B
    return float(np.linalg.eigvals(M).real.max())


def line(name: str, points: int, taken: Taken, error: float) -> None:
    by_cpu, by_clock = points / (taken.cpu / cores()), points / taken.wall
    print(f"{name:58s} {by_cpu:12,.0f} points/s, wall {by_clock:12,.0f} {error:9.1e}", flush=True)


def roots_of(title: str, model: Any) -> None:
    taken, value = median(lambda: spectral_abscissa(model), 3)
    system, states, _ = operating_point(model, None)
    A, B, tau = system.jacobians(states)
    some = np.random.default_rng(0).choice(system.size, 12, replace=False)
    flat = value.values.ravel()
    errors, spent, waited = [], 0.0, 0.0
    for i in some:
        if tau[i, 0] == 0.0:
            continue
        one, rough = once(partial(generator, A[i], B[i, 0], tau[i, 0]))
        spent, waited = spent + one.cpu, waited + one.wall
        errors.append(abs(rough - flat[i]))
    line(title, system.size, taken, max(errors))
    line("  NumPy, one after the other", len(errors), Taken(spent, waited), max(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=300, help="of the square grids")
    side = parser.parse_args().side
    print(f"{cores()} processors")
    epsilon, delay = np.linspace(0.1, 3, side), np.linspace(0.01, 2, side)
    roots_of("delayed logistic, epsilon x delay", models.LogisticDelayed(epsilon=epsilon, delay=delay))
    roots_of(
        "Lotka-Volterra, 5 flows, cross terms delayed",
        models.LotkaVolterraCrossDelayed(flows=5, epsilon=epsilon, gamma=0.9, delay=delay),
    )
    phi, psi = np.linspace(0.01, 3, side), np.linspace(0.01, 2, side)
    roots_of("T-REFWA, continuous form (two states)", models.TRefwaContinuous(phi=phi, psi=psi))
    taken, chart = median(lambda: stability_chart(models.LogisticDelayed(epsilon=epsilon, delay=delay)), 1)
    points = int(chart.sizes["crossing"])
    wrong = float(abs(chart.boundary_epsilon * chart.boundary_delay - np.pi / 2).max())
    line(f"chart of the delayed logistic with {points} boundary points", side * side, taken, wrong)


if __name__ == "__main__":
    main()
