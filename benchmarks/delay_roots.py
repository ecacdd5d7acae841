"""Exact characteristic roots over parameter grids: points per second.

No Python package gives characteristic roots of delay equations over a grid. Beside ours stands what a study would do
by hand: NumPy's eigenvalues of the infinitesimal generator on 25 Chebyshev nodes, one point after the other, without
polishing. Errors are the
largest difference between the two; for the chart, the largest distance of its boundary from epsilon delay = pi/2.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics import models
from tcpdynamics.solvers import spectral_abscissa, stability_chart
from tcpdynamics.solvers.stability.operating_point import operating_point

from .compare import Route, compare

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


def roots_of(title: str, model: Any) -> None:
    system, states, _ = operating_point(model, None)
    A, B, tau = system.jacobians(states)
    some = [i for i in np.random.default_rng(0).choice(system.size, 12, replace=False) if tau[i, 0] > 0]
    exact = spectral_abscissa(model).values.ravel()[some]

    def by_hand() -> list[float]:
        return [generator(A[i], B[i, 0], tau[i, 0]) for i in some]

    routes = [
        Route("ours", lambda: spectral_abscissa(model), system.size),
        Route("NumPy, eigenvalues of a generator", by_hand, len(some), lambda got: float(abs(got - exact).max())),
    ]
    compare(f"rightmost root, {title}, {system.size:,} points", "a point", routes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=300, help="of the square grids")
    side = parser.parse_args().side
    epsilon, delay = np.linspace(0.1, 3, side), np.linspace(0.01, 2, side)
    logistic = models.LogisticDelayed(epsilon=epsilon, delay=delay)
    roots_of("delayed logistic", logistic)
    flows = models.LotkaVolterraCrossDelayed(flows=5, epsilon=epsilon, gamma=0.9, delay=delay)
    roots_of("Lotka-Volterra of five flows", flows)
    phi, psi = np.linspace(0.01, 3, side), np.linspace(0.01, 2, side)
    roots_of("T-REFWA of two states", models.TRefwaContinuous(phi=phi, psi=psi))

    def wrong(chart: Any) -> float:
        return float(abs(chart.boundary_epsilon * chart.boundary_delay - np.pi / 2).max())

    chart = Route("ours", lambda: stability_chart(logistic), side * side, wrong)
    compare(f"stability chart of the delayed logistic, {side * side:,} points", "a point", [chart])


if __name__ == "__main__":
    main()
