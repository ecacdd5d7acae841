"""Fluid simulations against the models they contain, against cruder simulations, and by conservation and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics import models
from tcpdynamics.solvers import DomainError, trajectory
from tcpdynamics.validation.fluid import Crowd, MarkedFlows, SampledWindow

# -- flows on one link ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_old", [True, False])
def test_a_crowd_is_the_models_equations(own_old: bool) -> None:
    kind = models.LotkaVolterraDelayed if own_old else models.LotkaVolterraCrossDelayed
    times = np.linspace(0, 12, 25)
    start = {f"N[{i}]": 0.05 * i for i in (1, 2, 3)}
    ours = trajectory(Crowd(flows=3, delay=[0.3, 0.9], own_old=own_old).dde(), times, start=start)
    theirs = trajectory(kind(flows=3, capacity=1.0, delay=[0.3, 0.9]).dde(), times, start=start)
    np.testing.assert_allclose(ours.N.values, theirs.N.values, rtol=1e-7, atol=1e-9)


def test_a_crowd_with_a_queue_settles_where_reading_three_says() -> None:
    crowd = Crowd(flows=4, own_old=False, queue=True, delay=0.2)
    rest = models.LotkaVolterraThroughput(flows=4, capacity=1.0).equilibrium()
    end = trajectory(crowd.dde(), [400.0], start={**{f"N[{i}]": 0.1 * i for i in range(1, 5)}, "q": 0.0})
    np.testing.assert_allclose(end.N.values[:, -1], rest.N.values, rtol=1e-6)
    np.testing.assert_allclose(end.q.values[-1], float(rest.queue), rtol=1e-6)


@pytest.mark.parametrize("queue", [False, True])
def test_flows_alike_move_as_one(queue: bool) -> None:
    crowd = Crowd(flows=3, own_old=False, queue=queue, delay=0.7)
    start = {"N[1]": 0.1} | ({"q": 0.0} if queue else {})
    times = np.linspace(0, 10, 21)
    alone = trajectory(crowd.alike_dde(), times, start=start)
    all_of_them = trajectory(crowd.dde(), times, start=start | {"N[2]": 0.1, "N[3]": 0.1})
    np.testing.assert_allclose(alone.N.values[0], all_of_them.N.values[1], rtol=1e-6, atol=1e-9)


def test_crowds_are_checked() -> None:
    with pytest.raises(DomainError, match="flows must be at least 1"):
        Crowd(flows=1, queue=True, own_old=False)
    with pytest.raises(DomainError, match="own_old"):
        Crowd(flows=2, queue=True)


# -- marked flows --------------------------------------------------------------------------------------------


def _marked(step: float) -> Any:
    flows = MarkedFlows(flows=60, capacity=3750, base_rtt=[0.2337, 0.23], gain=[1.84e-4, 1.5e-4])
    _, W, q = flows.run(W=15.8, q=50.0, horizon=4.0, step=step)
    return np.stack([W[:, -1], q[:, -1]])


def test_marked_flows_converge_at_third_order_at_least() -> None:
    """Runge-Kutta's fourth, less what the kinks that the start leaves in the past cost."""
    steps = 0.02 / 2.0 ** np.arange(4)
    found = [_marked(step) for step in steps]
    errors = [np.abs(x - found[-1]).max() for x in found[:-1]]
    assert errors[0] / errors[1] > 2**2.7 and errors[1] < 1e-3


def test_marked_flows_near_rest_are_the_model_with_a_constant_delay() -> None:
    """To first order in the disturbance: halving it divides the difference by four."""
    link = models.FluidTcpProportional.at_rtt(rtt=0.246, flows=60, capacity=3750, buffer=800, gain=1.84e-4)
    rest = link.equilibrium()
    times = np.linspace(0, 3, 31)
    gaps = []
    for size in (1e-2, 5e-3):
        W, q = rest.window * (1 + size), rest.queue * (1 + size)
        model = trajectory(link.dde(), times, start={"W": W, "q": q}, rtol=1e-10)
        flows = MarkedFlows(flows=60, capacity=3750, base_rtt=link.base_rtt, gain=1.84e-4)
        _, _, queue = flows.run(W=W, q=q, horizon=3.0, step=0.005)
        gaps.append(np.abs(queue[0, ::20] - model.q.values).max())
    assert 3.5 < gaps[0] / gaps[1] < 4.5


def test_marked_flows_check_their_step() -> None:
    with pytest.raises(DomainError, match="step must lie in"):
        MarkedFlows(flows=60, capacity=3750, base_rtt=0.2, gain=1e-4).run(W=10, q=10, horizon=1.0, step=0.2)


# -- a router on a real queue --------------------------------------------------------------------------------


def stepped(s: SampledWindow, excess: float, intervals: int, steps: int) -> Any:
    """The same router with time in small steps: one group, ACKs one round trip later, losses learnt likewise."""
    dt, total = 1 / steps, intervals * steps + 1
    out, back = np.zeros(total), np.zeros(total)
    through = min(s.bdp, s.bdp + excess)
    window, flight = s.bdp + excess, s.bdp + excess
    queue, command, due, seen = max(excess, 0.0), excess, [], []
    for k in range(total):
        if k % steps == 0:
            seen.append(queue)
            command = (1 - s.phi) * command + s.psi * (s.buffer - queue)
            due.append((k + round(s.lags[0] * steps), max(s.bdp + command, 0.0)))
        flight -= (back[k - steps] + out[k - steps]) if k >= steps else through * dt
        if due and due[0][0] <= k:
            window = due.pop(0)[1]
        sent = max(window - flight, 0.0)
        flight += sent
        queue += sent
        out[k] = min(queue, s.bdp * dt)
        queue -= out[k]
        back[k] = max(queue - s.buffer, 0.0)
        queue -= back[k]
    return np.array(seen)


@pytest.mark.parametrize(
    ("excess", "lag", "phi", "psi"),
    [(80.0, 0.9, 1.4, 0.9), (30.0, 0.5, 1.5, 0.5), (-60.0, 0.7, 1.8, 1.1), (85.0, 0.3, 0.4, 1.9)],
)
def test_events_are_what_small_steps_come_to(excess: float, lag: float, phi: float, psi: float) -> None:
    """With overflow, empty queues and blocked senders; the error of stepping falls with the step."""
    router = SampledWindow(phi=phi, psi=psi, bdp=100.0, buffer=90.0, lags=(lag,))
    exact = router.run(excess=excess, intervals=8).queue
    errors = [np.abs(stepped(router, excess, 8, n) - exact).max() for n in (200, 1600)]
    assert errors[1] < 0.6 and errors[1] < 0.3 * errors[0] + 1e-9


@given(
    st.floats(0.2, 2.2), st.floats(0.05, 1.5), st.floats(-90, 140), st.sampled_from([(0.5,), (1.0,), (0.3, 1.4)]),
    st.booleans(),
)  # fmt: skip
@settings(max_examples=40)
def test_packets_are_conserved(phi: float, psi: float, excess: float, lags: Any, paced: bool) -> None:
    router = SampledWindow(phi=phi, psi=psi, bdp=100.0, buffer=90.0, lags=lags, paced=paced)
    run = router.run(excess=excess, intervals=12, queue=40.0 if paced else None)
    assert run.sent - run.delivered - run.lost == pytest.approx(run.waiting, abs=1e-8 * max(run.sent, 1))
    assert (run.queue >= -1e-9).all() and (run.queue <= 90.0 + 1e-9).all()
    assert run.delivered <= 100.0 * 12 + 1e-6


MAPS: dict[str, tuple[dict[str, Any], Any, int]] = {
    "window": ({"lags": (0.5,)}, models.TRefwaWindow, 0),
    "delayed": ({"lags": (1.0,)}, models.TRefwaDelayed, 1),
    "mixed": ({"lags": (0.5, 1.5)}, models.TRefwaMixed, 0),
    "integrating": ({"lags": (1.0,), "paced": True, "room": 400.0}, models.TRefwaIntegrating, 0),
}


@pytest.mark.parametrize("name", MAPS)
@given(st.floats(0.3, 1.4), st.floats(0.1, 0.5), st.floats(-4, 4))
@settings(max_examples=15)
def test_near_rest_the_router_reads_what_the_map_says(name: str, phi: float, psi: float, by: float) -> None:
    settings_, kind, late = MAPS[name]
    paced = settings_.get("paced", False)
    rest = 0.0 if paced else psi * 90.0 / (phi + psi)
    run = SampledWindow(phi=phi, psi=psi, bdp=100.0, buffer=90.0, **settings_).run(
        excess=rest + by, queue=90.0 if paced else None, intervals=10
    )
    start = {"e": rest + by} | ({"Q": 90.0} if paced else {})
    there = trajectory(kind(phi=phi, psi=psi, bdp=100.0, buffer=90.0).map(), np.arange(11), start=start)
    np.testing.assert_allclose(run.queue[late:], there.Q.values[: 11 - late], rtol=0, atol=1e-9)


def test_routers_are_checked() -> None:
    with pytest.raises(DomainError, match="lags must be numbers in"):
        SampledWindow(lags=(0.0,))
    with pytest.raises(DomainError, match="fractions must be as many"):
        SampledWindow(lags=(0.5, 1.0), fractions=(1.0,))
    with pytest.raises(DomainError, match="bdp and buffer"):
        SampledWindow(bdp=-1.0)
