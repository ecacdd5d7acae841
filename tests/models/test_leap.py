"""LEAP's closed forms against enumeration, simulation of the process itself, and each other."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import near_ends

from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar

losses = st.floats(0.001, 0.95)


def acknowledgements(come, delayed):
    """For each acknowledgement of a flight whose segments `come` or not: is it a duplicate (asks for the first)?"""
    answers, held, expected = [], False, 0
    for place, here in enumerate(come):
        if not here:
            continue
        in_order = place == expected
        if in_order:
            expected += 1
        if delayed and in_order and not held:
            held = True
            continue
        held = False
        answers.append(expected == 0)
    if held:
        answers.append(False)
    return answers


def enumerated(p, a, w, delayed):
    """(ACK-caused, data-caused, nothing back) by all patterns of losses of data and of acknowledgements."""
    ours = data = nothing = 0.0
    for come in itertools.product((False, True), repeat=w):
        chance = math.prod(1 - p if here else p for here in come)
        answers = acknowledgements(come, delayed)
        lost = a ** len(answers)
        nothing += chance * lost
        if come[0]:
            ours += chance * lost
        else:
            n = len(answers)
            data += chance * sum(math.comb(n, j) * (1 - a) ** j * a ** (n - j) for j in range(min(n, 2) + 1))
    return ours, data, nothing


@settings(max_examples=60, deadline=None)
@given(losses, losses, st.integers(1, 8), st.booleans())
def test_causes_of_a_timeout_are_those_of_enumeration(p, a, w, delayed):
    model = LeapTimeout(p, a, w, delayed_acks=delayed)
    ours, data, nothing = enumerated(p, a, w, delayed)
    assert model.ack_caused() == pytest.approx(ours, rel=1e-9)
    assert model.data_caused() == pytest.approx(data, rel=1e-9)
    assert model.leap_probability() == pytest.approx(nothing, rel=1e-9)
    assert model.suspicion_right() == pytest.approx(ours / nothing, rel=1e-9)


@given(losses, losses, st.integers(1, 60))
def test_the_suspicion_does_not_depend_on_the_window(p, a, w):
    alone = LeapTimeout(p, a, 1)
    assert LeapTimeout(p, a, w).suspicion_right() == pytest.approx(alone.suspicion_right(), rel=1e-9)
    assert alone.suspicion_right() == pytest.approx((1 - p) * a / (p + a - p * a), rel=1e-9)


@given(losses)
def test_at_equal_losses_leap_is_right_just_under_half_the_time(p):
    assert LeapTimeout(p, p, 3).suspicion_right() == pytest.approx((1 - p) / (2 - p))


@given(near_ends(), near_ends())
def test_no_less_is_sent_than_received_and_leap_saves_its_factor(p, a):
    assume((1 - p) * (1 - a) > 1e-9)
    model = LeapTransfer(p, a)
    for kind in ("plain", "leap"):
        sent, more = (getattr(model, f"{name}_{kind}")() for name in ("transmissions", "duplicates"))
        # Received is what was sent and not lost: 1 + duplicates = (1 - p) times transmissions.
        assert (1 - p) * sent == pytest.approx(1 + more, rel=1e-6)
    assert p > 0.5 or model.saving() >= 1 - 1e-12
    small = LeapTransfer(p * 1e-4, a * 1e-4)
    assert small.saving() == pytest.approx(1 + a * 1e-4, abs=1e-7)
    assert model.duplicates_leap() <= model.duplicates_plain()


def test_a_window_of_one_is_as_simulated():
    """The sender's own process, step by step: 10^5 cycles."""
    p, a = 0.2, 0.15
    rng = np.random.default_rng(1)
    sent = received = done = leaps = right = 0
    for _ in range(100_000):
        sent += 1
        first = rng.random() >= p
        received += first
        if first and rng.random() >= a:
            done += 1
            continue
        suspects = True
        while True:
            if suspects:  # a leap segment, until it is acknowledged
                leaps += 1
                right += first
                while True:
                    sent += 1
                    here = rng.random() >= p
                    received += here
                    if here and rng.random() >= a:
                        break
                done += 1
                if first:
                    break
            sent += 1  # for the duplicate, or for a timeout after one
            here = rng.random() >= p
            received += here
            first |= here
            if here and rng.random() >= a:
                break
            suspects = not suspects
        done += 1
    model = LeapTransfer(p, a)
    assert sent / done == pytest.approx(model.transmissions_leap(), rel=0.01)
    assert right / leaps == pytest.approx(model.leaps_right(), abs=0.01)
    assert (received - done) / done == pytest.approx(model.duplicates_leap(), abs=0.005)


@given(st.floats(0.1, 20.0), st.floats(0.0, 2.0))
def test_the_finished_share_solves_its_equation(density, duplicates):
    star = OverloadedStar(density=density, duplicates=duplicates)
    x, rho = star.finished(), star.load()
    assert 0 < x <= 1 and (x == 1) == (rho < 1 + 1e-7)
    assert x == pytest.approx(math.exp(-rho * (1 - x)), rel=1e-6)


def test_the_finished_share_is_that_of_shared_links_in_overload():
    """Processor sharing event by event, over ten times as long as it takes to forget the beginning."""
    rho, end = 1.3, 20_000.0
    rng = np.random.default_rng(2)
    arrivals = np.cumsum(rng.exponential(1 / rho, int(1.2 * rho * end)))
    arrivals = arrivals[arrivals < end]
    # Virtual time: what one that is there all the while has received. Each leaves at its arrival's virtual time + 1.
    virtual = now = 0.0
    waiting: list[float] = []
    finished = i = 0
    head = 0
    while True:
        n = len(waiting) - head
        leave = now + (waiting[head] - virtual) * n if n else math.inf
        come = arrivals[i] if i < len(arrivals) else math.inf
        if min(leave, come) >= end:
            break
        virtual += (min(leave, come) - now) / n if n else 0.0
        now = min(leave, come)
        if leave <= come:
            head += 1
            finished += 1
        else:
            waiting.append(virtual + 1.0)
            i += 1
    share = finished / len(arrivals)
    assert share == pytest.approx(OverloadedStar(density=rho * 3.1456).finished(), abs=0.02)


def test_papers_link_is_full_at_a_density_that_the_paper_calls_leaps():
    """100 segments of 576 bytes and 50 acknowledgements of 40 bytes a transfer fill 500 kbit/s at 3.15 a second."""
    assert OverloadedStar(density=3.25).load() == pytest.approx(1.033, abs=1e-3)


def test_closed_forms_are_labelled_over_the_grid():
    table = LeapTransfer(data_loss=[0.1, 0.2], ack_loss=[0.0, 0.1, 0.3]).closed_forms()
    assert table.saving.dims == ("data_loss", "ack_loss") and table.saving.attrs["units"] == "1"
    assert (table.duplicates_plain.sel(ack_loss=0.0) == 0).all()
    assert OverloadedStar(density=2.0).closed_forms().finished.item() == 1.0


def test_shares_of_what_never_happens_are_nan():
    """A point and a grid say the same where nothing is lost."""
    assert np.isnan(LeapTransfer(data_loss=0.0, ack_loss=0.0).leaps_right())
    timeout = LeapTimeout(data_loss=0.0, ack_loss=0.0)
    assert np.isnan(timeout.ack_fraction()) and np.isnan(timeout.suspicion_right())
