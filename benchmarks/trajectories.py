"""Trajectories over ten thousand parameter values, beside the peers that are installed.

Lotka-Volterra control of five flows (an ODE), the delayed logistic equation, and a delay equation of two variables.
Each error is the largest absolute error of the end state; the reference is our own result at a tolerance of 1e-13,
for the delayed logistic that of spectral steps. Peers: heyoka (batches of 8 and of 16; the second is the faster one),
diffrax, SciPy, jitcdde: `pip install heyoka diffrax jitcdde` next to the package.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from tcpdynamics.solvers import DDE, ODE, Delayed, trajectory

from .compare import Route, compare

Array = NDArray[np.float64]
FLOWS = 5
START = 0.01 * np.arange(1, FLOWS + 1)


def lotka_volterra(side: int) -> ODE:
    """dN_i/dt = epsilon N_i (1 - N_i - gamma sum of the others) over a square of (epsilon, gamma)."""
    epsilon, gamma = sympy.symbols("epsilon gamma")
    flows = [sympy.Symbol(f"N[{i + 1}]") for i in range(FLOWS)]
    total = sum(flows)
    return ODE(
        rhs={f.name: epsilon * f * (1 - ((1 - gamma) * f + gamma * total)) for f in flows},
        parameters={"epsilon": np.linspace(0.1, 3.0, side), "gamma": np.linspace(0.1, 0.95, side)},
        start=dict(zip((f.name for f in flows), START, strict=True)),
    )


def delayed_logistic(points: int) -> DDE:
    """w' = r w (1 - w(t - 1)), r from decay to large limit cycles."""
    w, w_d, r = sympy.symbols("w w_d r")
    return DDE(
        rhs={"w": r * w * (1 - w_d)},
        delayed={"w_d": Delayed("w", 1)},
        parameters={"r": np.linspace(0.2, 2.5, points)},
        start={"w": 0.1},
    )


def two_variables(points: int) -> DDE:
    """Two flows, own share at once, the other's after a delay that differs from point to point."""
    a, b, a_d, b_d, lag = sympy.symbols("a b a_d b_d lag")
    return DDE(
        rhs={"a": a * (1 - a - 0.9 * b_d), "b": 1.2 * b * (1 - b - 0.9 * a_d)},
        delayed={"a_d": Delayed("a", lag), "b_d": Delayed("b", lag)},
        parameters={"lag": np.linspace(0.5, 3.0, points)},
        start={"a": 0.1, "b": 0.2},
    )


def spectral_steps(growth: Array, end: int, nodes: int = 40) -> Array:
    """The delayed logistic by exponentials of Chebyshev integrals, interval by interval."""
    from numpy.polynomial import chebyshev

    x = -np.cos(np.pi * np.arange(nodes + 1) / nodes)
    series = np.linalg.inv(chebyshev.chebvander(x, nodes))
    whole = chebyshev.chebvander(x, nodes + 1) @ np.stack([chebyshev.chebint(c, lbnd=-1) for c in series.T], axis=1)
    past, log_w = np.full((growth.size, nodes + 1), 0.1), np.full(growth.size, np.log(0.1))
    for _ in range(end):
        logs = log_w[:, None] + growth[:, None] * ((1 - past) @ (whole / 2).T)
        past, log_w = np.exp(logs), logs[:, -1]
    return np.asarray(past[:, -1])


def compare_lotka_volterra(side: int) -> None:
    problem, count = lotka_volterra(side), side * side

    def solve(tolerance: float) -> Array:
        done = trajectory(problem, [100.0], rtol=tolerance, atol=tolerance / 100, method="taylor")
        return done.N.values[..., 0].reshape(FLOWS, -1)

    exact = solve(1e-13)
    pairs = np.stack(np.meshgrid(*(problem.parameters[k] for k in ("epsilon", "gamma")), indexing="ij"))
    pairs = pairs.reshape(2, -1)
    every, few = np.arange(count), np.linspace(0, count - 1, min(count, 1024)).astype(int)
    fewer = few[:: few.size // 32]

    def peer(name: str, work: Callable[[Array], Array], points: Any, package: str = "") -> Route:
        error = partial(_largest, exact[:, points])
        return Route(name, partial(work, pairs[:, points]), points.size, error, package)

    routes = [Route("ours, Taylor lanes", partial(solve, 1e-8), count, partial(_largest, exact))]
    routes += [peer(f"heyoka, batches of {n}", partial(heyoka_batches, n), every, "heyoka") for n in (8, 16)]
    routes.append(peer("diffrax, Tsit5, blocks of 64", diffrax_blocks, few, "diffrax"))
    routes.append(peer("JAX, Dormand-Prince 5, blocks of 32", jax_blocks, few, "jax"))
    routes.append(peer("SciPy, LSODA", scipy_loop, fewer))
    compare(f"Lotka-Volterra, {FLOWS} flows, t = 100, tolerance 1e-8, {count:,} pairs", "a pair", routes)


def _largest(exact: Array, got: Array) -> float:
    return float(np.abs(got - exact).max())


def heyoka_batches(lanes: int, pairs: Array) -> Array:
    """heyoka's batch integrator: one compilation, `lanes` pairs at a time."""
    import heyoka as hy

    names = [f"n{i}" for i in range(FLOWS)]
    n = hy.make_vars(*names)
    epsilon, gamma = hy.par[0], hy.par[1]
    total = hy.sum(list(n))
    rhs = [(x, epsilon * x * (1.0 - ((1.0 - gamma) * x + gamma * total))) for x in n]
    integrator = _HEYOKA.get(lanes)
    if integrator is None:
        start = np.repeat(START[:, None], lanes, axis=1)
        integrator = hy.taylor_adaptive_batch(rhs, start, tol=1e-8, pars=np.zeros((2, lanes)))
        _HEYOKA[lanes] = integrator
    out = np.empty((FLOWS, pairs.shape[1]))
    for low in range(0, pairs.shape[1], lanes):
        block = pairs[:, low : low + lanes]
        integrator.pars[:, : block.shape[1]] = block
        integrator.state[:] = START[:, None]
        integrator.set_time(0.0)
        integrator.propagate_until(100.0)
        out[:, low : low + lanes] = integrator.state[:, : block.shape[1]]
    return out


_HEYOKA: dict[int, Any] = {}


def _slope(n: Any, epsilon: Any, gamma: Any) -> Any:
    return epsilon * n * (1 - ((1 - gamma) * n + gamma * n.sum()))


@functools.cache
def _diffrax() -> Callable[[Any], Any]:
    """diffrax at its best: small blocks under `lax.map`."""
    import diffrax
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        term = diffrax.ODETerm(lambda t, n, pair: _slope(n, pair[0], pair[1]))
        control = diffrax.PIDController(rtol=1e-8, atol=1e-10)

        def one(pair: Any) -> Any:
            done = diffrax.diffeqsolve(
                term, diffrax.Tsit5(), 0.0, 100.0, None, jnp.asarray(START), args=pair,
                stepsize_controller=control, max_steps=100_000,
            )  # fmt: skip
            return done.ys[0]

        return jax.jit(lambda blocks: jax.lax.map(jax.vmap(one), blocks))


def diffrax_blocks(pairs: Array) -> Array:
    import jax

    with jax.enable_x64(True):
        blocks = jax.numpy.asarray(pairs.T.reshape(-1, 64, 2))
        return np.asarray(_diffrax()(blocks)).reshape(-1, FLOWS).T


_JAX: dict[str, Any] = {}


def jax_blocks(pairs: Array) -> Array:
    """Dormand and Prince's pair in JAX, a step of its own for each lane, blocks of 32 under `lax.map`."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        if "dp" not in _JAX:
            _JAX["dp"] = jax.jit(lambda blocks: jax.lax.map(_dormand_prince, blocks))
        blocks = jnp.asarray(np.moveaxis(pairs.reshape(2, -1, 32), 1, 0))
        return np.moveaxis(np.asarray(_JAX["dp"](blocks)), 0, 1).reshape(FLOWS, -1)


def _dormand_prince(pair: Any) -> Any:
    import jax
    import jax.numpy as jnp

    a = [
        [],
        [1 / 5],
        [3 / 40, 9 / 40],
        [44 / 45, -56 / 15, 32 / 9],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
    error = [71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
    epsilon, gamma = pair

    def slope(n: Any) -> Any:
        return epsilon * n * (1 - ((1 - gamma) * n + gamma * n.sum(axis=0)))

    def step(state: Any) -> Any:
        n, t, h = state
        h = jnp.minimum(h, 100.0 - t)
        k: list[Any] = []
        for weights in a:
            k.append(slope(n + h * sum((w * s for w, s in zip(weights, k, strict=True)), jnp.zeros_like(n))))
        end = n + h * sum(w * s for w, s in zip(a[-1], k[:6], strict=True))
        miss = h * sum(w * s for w, s in zip(error, k, strict=True))
        size = jnp.sqrt(jnp.mean((miss / (1e-10 + 1e-8 * jnp.abs(n))) ** 2, axis=0))
        accept = (size <= 1) & (t < 100.0)
        grow = jnp.clip(0.9 * jnp.maximum(size, 1e-10) ** -0.2, 0.2, 5.0)
        return jnp.where(accept, end, n), jnp.where(accept, t + h, t), jnp.where(t < 100.0, h * grow, h)

    lanes = epsilon.shape
    first = (jnp.asarray(START)[:, None] * jnp.ones(lanes), jnp.zeros(lanes), jnp.full(lanes, 0.01))
    return jax.lax.while_loop(lambda s: (s[1] < 100.0).any(), step, first)[0]


def scipy_loop(pairs: Array) -> Array:
    from scipy.integrate import solve_ivp

    ends = [
        solve_ivp(lambda t, n, e=e, g=g: _slope(n, e, g), (0, 100), START, "LSODA", rtol=1e-8, atol=1e-10).y[:, -1]
        for e, g in pairs.T
    ]
    return np.array(ends).T


def compare_delayed_logistic(points: int) -> None:
    problem = delayed_logistic(points)
    growth = problem.parameters["r"]
    exact = spectral_steps(growth, 100)

    def solve(tolerance: float) -> Array:
        return trajectory(problem, [100.0], rtol=tolerance, atol=tolerance / 100).w.values[:, 0]

    few = np.linspace(0, points - 1, 8).astype(int)
    routes = [
        Route("ours, Taylor lanes, tolerance 1e-11", partial(solve, 1e-11), points, partial(_largest, exact)),
        Route(
            "jitcdde, compiled, 1e-8", partial(jitcdde_loop, growth[few]), 8, partial(_largest, exact[few]), "jitcdde"
        ),
    ]
    compare(f"delayed logistic, t = 100, r from 0.2 to 2.5, {points:,} values", "a value", routes)


@functools.cache
def _jitcdde() -> Any:
    from jitcdde import jitcdde, t, y

    rate = __import__("symengine").Symbol("rate")
    solver = jitcdde([rate * y(0) * (1 - y(0, t - 1))], control_pars=[rate], max_delay=1.0, verbose=False)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        solver.compile_C(verbose=False)  # its build would read the pyproject.toml of the folder it runs in
    return solver


def jitcdde_loop(growth: Array) -> Array:
    solver, ends = _jitcdde(), []
    for value in growth:
        solver.purge_past()
        solver.constant_past([0.1], time=0.0)
        solver.set_integration_parameters(rtol=1e-8, atol=1e-10)
        solver.set_parameters([value])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver.step_on_discontinuities()
            ends.append(float(solver.integrate(100.0)[0]))
    return np.array(ends)


def compare_two_variables(points: int) -> None:
    problem = two_variables(points)

    def solve(tolerance: float) -> Array:
        done = trajectory(problem, [100.0], rtol=tolerance, atol=tolerance / 100)
        return np.stack([done.a.values[:, 0], done.b.values[:, 0]])

    ours = Route("ours, Taylor lanes", partial(solve, 1e-8), points, partial(_largest, solve(1e-13)))
    compare(f"two flows with delays, t = 100, tolerance 1e-8, {points:,} delays", "a delay", [ours])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=100, help="of the square of pairs; also its square root")
    side = parser.parse_args().side
    compare_lotka_volterra(side)
    compare_delayed_logistic(side * side)
    compare_two_variables(side * side)


if __name__ == "__main__":
    main()
