"""M/TCP's closed forms against the iteration that they describe and against chance; its estimator as Kaczmarz."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from tcpdynamics.errors import DomainError
from tcpdynamics.models import MtcpThroughput, OneWayTimes, PftkFull, effective_ack_loss
from tcpdynamics.solvers import spectral_radius, trajectory


def estimate(alpha, true_there, true_back, pairs, there, back):
    """Equations (4) to (8) as printed, over a list of pairs of routes."""
    there, back = np.array(there, float), np.array(back, float)
    for x, y in pairs:
        measured = true_there[x] + true_back[y]
        error = measured - (there[x] + back[y])
        forward, reverse = there[x] + error / 2, back[y] + error / 2
        there[x] = alpha * there[x] + (1 - alpha) * forward
        back[y] = alpha * back[y] + (1 - alpha) * reverse
    return there, back


times = st.lists(st.floats(0.01, 0.3), min_size=2, max_size=4)


@settings(max_examples=30, deadline=None)
@given(times, st.data(), st.floats(0.0, 0.9))
def test_all_pairs_give_all_round_trips_and_nothing_else(true_there, data, alpha):
    """The sums converge, the difference of all sums never moves, and `offset` says where the parts end up."""
    n = len(true_there)
    equally_many = st.lists(st.floats(0.01, 0.3), min_size=n, max_size=n)
    true_back, there0, back0 = data.draw(equally_many), data.draw(equally_many), data.draw(equally_many)
    pairs = np.random.default_rng(1).integers(0, n, (6000, 2))
    there, back = estimate(alpha, true_there, true_back, pairs, there0, back0)
    true = np.add.outer(true_there, true_back)
    assert np.add.outer(there, back) == pytest.approx(true, rel=1e-5)
    assert there.sum() - back.sum() == pytest.approx(sum(there0) - sum(back0), abs=1e-9)
    c = OneWayTimes.offset(there0, back0, true_there, true_back)
    assert there == pytest.approx(np.array(true_there) + c, abs=1e-5)
    assert back == pytest.approx(np.array(true_back) - c, abs=1e-5)


def test_acknowledgements_on_their_own_route_leave_timeouts_wrong():
    """Two null vectors instead of one: a timeout (9) from max(OWTT_r) is then that of no pair of routes."""
    true_there, true_back = [0.01, 0.05], [0.06, 0.02]
    pairs = [(j % 2, j % 2) for j in range(4000)]
    there, back = estimate(0.875, true_there, true_back, pairs, [0.035] * 2, [0.035] * 2)
    assert there + back == pytest.approx([0.07, 0.07])
    assert there[1] + back.max() < true_there[1] + max(true_back) - 0.03


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.875])
def test_factors_are_the_eigenvalues_of_the_mean_step(n, alpha):
    """Of the whole matrix, in exact numbers: differences, the common error, and 1 for the constant."""
    w = sympy.Rational(1) - sympy.Rational(alpha)
    mean = sympy.zeros(2 * n, 2 * n)
    for x in range(n):
        for y in range(n):
            row = sympy.zeros(1, 2 * n)
            row[x] = row[n + y] = 1
            mean += (sympy.eye(2 * n) - w / 2 * row.T * row) / n**2
    model = OneWayTimes(alpha=alpha, routes=n)
    values = mean.eigenvals()
    assert values[sympy.Integer(1)] == 1
    assert any(model.common_factor() == pytest.approx(float(value)) for value in values)
    if n > 1:
        (count,) = (m for x, m in values.items() if model.difference_factor() == pytest.approx(float(x)))
        assert count == 2 * (n - 1)
        assert spectral_radius(model.map()).item() == pytest.approx(model.difference_factor())


def test_the_map_is_the_mean_of_the_iteration():
    true_there, true_back = np.array([0.02, 0.05]), np.array([0.03, 0.09])
    there0, back0 = np.array([0.1, 0.02]), np.array([0.01, 0.05])
    model = OneWayTimes(
        alpha=0.8,
        true_round_trip=(true_there.mean() + true_back.mean()),
        true_there=true_there[0] - true_there[1],
        true_back=true_back[0] - true_back[1],
    )
    rng, steps, ends = np.random.default_rng(2), 20, []
    for _ in range(4000):
        there, back = estimate(0.8, true_there, true_back, rng.integers(0, 2, (steps, 2)), there0, back0)
        ends.append((there.mean() + back.mean(), there[0] - there[1], back[0] - back[1]))
    begin = {"round_trip": there0.mean() + back0.mean(), "there": 0.08, "back": -0.04}
    result = trajectory(model.map(), [0, steps], start=begin)
    mean, error = np.mean(ends, axis=0), np.std(ends, axis=0) / np.sqrt(len(ends))
    expected = [float(result[name].isel(time=-1)) for name in ("round_trip", "there", "back")]
    assert (abs(mean - expected) < 4 * error + 1e-12).all()


def test_noise_over_one_route():
    rng, alpha = np.random.default_rng(3), 0.8
    total, seen = 0.1, []
    for noise in rng.normal(0.0, 0.01, 200_000):
        total += (1 - alpha) * (0.1 + noise - total)
        seen.append(total)
    gain = np.var(seen[1000:]) / 1e-4
    assert gain == pytest.approx(OneWayTimes(alpha=alpha, routes=1).noise_gain(), rel=0.05)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_effective_loss_is_that_of_drawn_acknowledgements(losses):
    immediate, duplicated = (effective_ack_loss(s, losses) for s in ("immediate", "duplicated"))
    rounding = 1e-12
    assert 0 <= duplicated <= immediate + rounding and immediate <= max(losses) + rounding
    assert duplicated == effective_ack_loss("duplicated_delayed", losses)


@pytest.mark.parametrize(
    "scheme, losses, word", [("none", [0.1], "scheme"), ("duplicated", [], "losses"), ("duplicated", [1.2], "losses")]
)
def test_refusals(scheme, losses, word):
    with pytest.raises(DomainError, match=word):
        effective_ack_loss(scheme, losses)


def test_throughputs():
    """Of MATH's numbers: Table 4 from its first column by sqrt(1 - q); PFTK's own value without losses."""
    model = MtcpThroughput(loss=0.02, ack_loss=[0.0, 0.05, 0.1, 0.13], rtt=0.073, timeout=0.292)
    assert 0.80 * model.immediate_factor().values == pytest.approx([0.80, 0.7797, 0.7589, 0.7462], abs=2e-3)
    kept = model.immediate() / model.immediate().values[0]
    assert model.immediate_factor().values == pytest.approx(kept.values, rel=1e-12)
    assert 1.40 * model.duplicated_factor().values == pytest.approx([1.40, 1.398, 1.393, 1.388], abs=2e-3)
    plain = PftkFull(loss=0.02, rtt=0.073, timeout=0.292, b=1, window_limit=20).throughput()
    assert model.reno().values[0] == plain and model.duplicated().values[0] == 2 * plain
    assert set(model.closed_forms()) >= {"reno", "immediate", "duplicated"}
    assert (np.diff(model.immediate()) < 0).all() and (model.duplicated() >= model.immediate()).all()
