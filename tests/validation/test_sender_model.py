"""The sender's chain as a model: what is observed, at many loss rates, and every solver of chains on it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tcpdynamics.errors import DomainError
from tcpdynamics.solvers import first_passage, sensitivity, sojourn, spectral_gap, stationary, windowed
from tcpdynamics.solvers.markov import transient as transients
from tcpdynamics.validation.sender_chain import Sender

SMALL: dict[str, Any] = {"sender": "tahoe", "rules": "rfc", "window": 2, "backoff_cap": 2}


def test_what_is_observed_exactly_and_in_floats() -> None:
    p = Fraction(1, 8)
    exact = Sender(**SMALL, loss=p)
    seen = exact.observe(stationary(exact.chain(), exact=True))
    assert sum(seen.sent.values) == 1
    assert seen.silent_fraction.item() == seen.sent.values[0]
    floats = Sender(**SMALL, loss=float(p))
    other = floats.observe(stationary(floats.chain()))
    for name in seen.data_vars:
        np.testing.assert_allclose(other[name], seen[name].astype(float), rtol=1e-12)
    chain = floats.compiled()
    shares = chain.packets_per_round_trip(stationary(chain.chain().at(p=float(p))).assign_coords(p=float(p)))
    np.testing.assert_allclose(shares, other.sent, rtol=1e-12)


def test_every_state_is_that_of_exact_rationals() -> None:
    for p in (Fraction(1, 1024), Fraction(1, 2)):  # both are floats, too
        model = Sender(sender="sack", rules="rfc", window=4, loss=p)
        exact = stationary(model.chain(), exact=True).probability.values.astype(float)
        floats = stationary(Sender(sender="sack", rules="rfc", window=4, loss=float(p)).chain()).probability
        np.testing.assert_allclose(floats, exact, rtol=1e-12)


def test_segments_that_arrive_are_those_of_rewards() -> None:
    model = Sender(**SMALL, loss=0.2)
    seen = model.observe(stationary(model.chain()))
    for reward, name in ((model.delivered(), "goodput"), (model.sent(), "packets_per_rtt")):
        total = windowed(model.chain(), reward, 1000)
        np.testing.assert_allclose(total["mean"] / 1000, seen[name], rtol=1e-11)


def test_many_loss_rates_are_as_exact_as_few() -> None:
    loss = np.geomspace(1e-4, 0.95, 50_000)
    many = Sender(sender="sack", rules="rfc", window=3, loss=loss).observe_along()
    chosen = np.random.default_rng(2).integers(0, loss.size, 60)
    few = Sender(sender="sack", rules="rfc", window=3, loss=loss[chosen])
    direct = few.observe(stationary(few.chain()))
    for name in direct.data_vars:
        np.testing.assert_allclose(many[name].values[chosen], direct[name], rtol=1e-12)
    assert many.attrs["series_error"] <= 2e-13 and many.attrs["solved"] < 2_000
    assert many.sent.attrs["units"] == "1" and (many.loss == loss).all()


def test_one_loss_is_followed_along_one_array() -> None:
    with pytest.raises(DomainError, match="only array"):
        Sender(**SMALL, loss=[0.1, 0.2], retransmission_loss=[0.1, 0.2]).observe_along()
    with pytest.raises(DomainError, match="only array"):
        Sender(**SMALL, loss=0.1).observe_along()
    same = Sender(**SMALL, loss=[0.2, 0.2]).observe_along()
    assert same.goodput.values[0] == same.goodput.values[1]


def test_slopes_are_those_of_differences() -> None:
    model, h = Sender(**SMALL, loss=0.2), 1e-5
    slope = sensitivity(model).derivative
    up, down = (stationary(Sender(**SMALL, loss=0.2 + d).chain()).probability for d in (h, -h))
    np.testing.assert_allclose(slope, (up - down) / (2 * h), atol=1e-8)


def test_times_to_a_timeout_and_lengths_of_silences() -> None:
    """A timer runs out in each silence: lengths are those of timeouts less a round trip, and so is their mean."""
    model = Sender(**SMALL, loss=0.2)
    silent = list(model.silent())
    law = stationary(model.chain())
    lengths = sojourn(model, silent, longest=7)
    possible = lengths.length.values[lengths.probability.values > 0]
    assert set(possible) <= {1, 3, 7}  # timeouts of 2, 4, 8 round trips
    assert abs(float(lengths.probability.sum()) - 1) < 1e-12
    mean = float((lengths.length * lengths.probability).sum())
    share = float(law.probability.sel(state=silent).sum())
    assert abs(mean * float(lengths.visits) - share) < 1e-12
    first = first_passage(model, silent)
    assert (first.mean_time.sel(state=[s for s in law.state.values if s not in silent]) >= 1).all()


def test_the_gap_by_few_eigenvalues_is_that_by_all(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Sender(**SMALL, loss=[0.1, 0.3])
    dense = spectral_gap(model)
    monkeypatch.setattr(transients, "DENSE_EIGENVALUES", 10)
    sparse = spectral_gap(model)
    np.testing.assert_allclose(sparse.gap, dense.gap, rtol=1e-8)


@pytest.mark.parametrize(
    "values, says",
    [
        ({"window": 0}, "window must be a whole number in"),
        ({"window": [2, 3]}, "window must be one number"),
        ({"sender": "cubic"}, "sender must be one of tahoe"),
        ({"rules": "bsd"}, "rules must be one of ns2, rfc"),
        ({"timeout": 2.3}, "timeout must be a multiple of 1/8"),
        ({"loss": 1.5}, "loss must lie in"),
        ({"loss": 0.0}, "loss must lie in"),
        ({"ack_loss": 1.0}, "ack_loss must lie in"),
        ({"halvings": 7}, "halvings must be a whole number in"),
    ],
)
def test_bad_values_are_refused_by_name(values: dict[str, Any], says: str) -> None:
    with pytest.raises(DomainError, match=says):
        Sender(**{"loss": 0.1} | values)


def test_windows_that_have_no_end_become_one() -> None:
    merged = {
        (s, r, w): Sender(sender=s, rules=r, window=w, loss=0.1).distinct_halvings()
        for s in ("tahoe", "sack") for r in ("ns2", "rfc") for w in (4, 5)
    }  # fmt: skip
    assert merged.pop(("sack", "ns2", 5)) == 2
    assert set(merged.values()) == {0}
    assert Sender(loss=0.1, window=6, halvings=0).setting().halvings == 0
