"""TCP flows on a marking link with the round-trip time that the queue really makes, old values included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcpdynamics.limits import check_memory, check_work
from tcpdynamics.solvers.problems import DomainError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MarkedFlows:
    """W' = 1/R(q) - W W_d p_d/(2 R(q_d)), q' = N W/R(q) - C, p = k q, R = T + q/C, old values R(q(t)) ago.

    The model `FluidTcpProportional` fixes that delay at its value in equilibrium; here it moves with the queue, as in
    the equations of Misra, Gong and Towsley. For small motions around a point with a queue (no switch at 0 or B).
    Integrated by the classical Runge-Kutta method at fixed steps with cubic Hermite interpolation of the past,
    all points side by side.

    Parameters
    ----------
    flows, capacity : float
        N and C [packet/s].
    base_rtt, gain : float or 1-D array
        T [s] and k [1/packet].

    References
    ----------
    .. [1] V. Misra, W. Gong, D. Towsley, Fluid-based analysis of a network of AQM routers supporting TCP flows,
       ACM SIGCOMM 2000, eqs. (5)-(7); doi:10.1145/347057.347421

    Examples
    --------
    >>> flows = MarkedFlows(flows=60, capacity=3750, base_rtt=0.2337387, gain=1.84e-4)
    >>> times, W, q = flows.run(W=15.375, q=45.98, horizon=1.0, step=0.005)
    >>> round(float(W[0, -1]), 2), round(float(q[0, -1]), 1)
    (15.38, 46.0)
    """

    flows: float
    capacity: float
    base_rtt: Any
    gain: Any

    def run(self, *, W: Any, q: Any, horizon: float, step: float) -> tuple[Array, Array, Array]:
        """Integrate from a constant past.

        Parameters
        ----------
        W, q : float or 1-D array   Initial window and queue [packet].
        horizon, step : float       [s]; the step below half the shortest round trip.

        Returns
        -------
        times (m,), W and q (points, m)
        """
        T, k, w0, q0 = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(x, float)) for x in (self.base_rtt, self.gain, W, q))
        )
        if not 0 < step < T.min() / 2:
            raise DomainError(f"step must lie in (0, half the round trip), got {step!r} s")
        what = f"{horizon / step:,.3g} steps at {T.size:,} points"
        check_memory(what, 32.0 * horizon / step * T.size, "give a shorter horizon or fewer points")
        check_work(what, horizon / step * (1e5 + 350.0 * T.size), "give a shorter horizon")
        count = round(horizon / step)
        state = np.zeros((count + 1, 2, T.size))
        slope = np.zeros_like(state)
        state[0] = w0, q0
        lane = np.arange(T.size)

        def past(t: float, now: Array) -> Array:
            """States one round trip before t, by the steps already taken."""
            age = (t - (T + now[1] / self.capacity)) / step
            index = np.clip(np.floor(age).astype(int), 0, None)
            u = np.clip(age - index, 0.0, 1.0)
            a, b = state[index, :, lane].T, state[index + 1, :, lane].T
            da, db = step * slope[index, :, lane].T, step * slope[index + 1, :, lane].T
            hermite = a + u * (da + u * (3 * (b - a) - 2 * da - db + u * (2 * (a - b) + da + db)))
            old: Array = np.where(age < 0, state[0], hermite)
            return old

        def rates(t: float, now: Array) -> Array:
            old = past(t, now)
            rtt, rtt_old = T + now[1] / self.capacity, T + old[1] / self.capacity
            window = 1 / rtt - now[0] * old[0] * k * old[1] / (2 * rtt_old)
            return np.array([window, self.flows * now[0] / rtt - self.capacity])

        for i in range(count):
            t, now = i * step, state[i]
            slope[i] = k1 = rates(t, now)
            k2 = rates(t + step / 2, now + step / 2 * k1)
            k3 = rates(t + step / 2, now + step / 2 * k2)
            k4 = rates(t + step, now + step * k3)
            state[i + 1] = now + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        times: Array = step * np.arange(count + 1, dtype=np.float64)
        return times, state[:, 0].T.copy(), state[:, 1].T.copy()
