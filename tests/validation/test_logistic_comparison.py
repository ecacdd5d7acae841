"""Logistic control in packets beside its models: what follows from the law, and what the paper says of it."""

import numpy as np
import pytest

from tcpdynamics.errors import DomainError, LimitError
from tcpdynamics.models import LotkaVolterraCrossDelayed, LotkaVolterraThroughput
from tcpdynamics.validation.comparisons import LotkaVolterraVsPackets
from tcpdynamics.validation.comparisons.lotka_volterra_packets import BACK, RATE, RTT, network, windows
from tcpdynamics.validation.comparisons.lotka_volterra_statements import DEPENDS, FAILS, GAMMA, HOLDS, SWINGS
from tcpdynamics.validation.packet import simulate


@pytest.fixture(scope="module")
def result():
    return LotkaVolterraVsPackets(**LotkaVolterraVsPackets.quick).run()


def of(result, part):
    return result.sel(case=result.part == part)


def test_shares_and_sums_of_windows_are_the_models(result):
    for part in ("shares", "sums", "trains", "udp", "losses"):
        assert (of(result, part).verdict == "agrees").all(), part
    # One packet in a bandwidth-delay product of 250, the whole of which is counted.
    assert (abs(of(result, "sums").gap) < 0.005).all()


def test_the_formula_of_section_3_2_is_too_fast(result):
    """It counts w acknowledgements of the window now; those of a round trip are of the window before."""
    formula = of(result, "convergence")
    assert (formula.gap_low > 0.2).all()


def test_the_largest_gain_is_near_the_models(result):
    gain = of(result, "largest gain")
    # A limit of small disturbances; flows start with a large one, and bisection ends with steps of 3 %.
    assert (abs(gain.gap) < 0.1).all()
    swing = of(result, "swing")
    calm = np.char.startswith(swing.model.values.astype(str), "throughput")
    assert (swing.measured.values[calm] < 0.01).all() and (swing.measured.values[~calm] > 0.1).all()


def test_statements_have_the_answers_that_the_docs_tell(result):
    answers = dict(zip(result.statement.values.tolist(), result.answer.values.tolist(), strict=True))
    assert answers == {
        "epsilon = 0.6 and 1.8": HOLDS, "epsilon = 2.4 and 3": FAILS, "T = ln(...)/epsilon": FAILS, "Fig. 5": FAILS,
        "eq. (9)": DEPENDS, "sum of windows": DEPENDS, "epsilon = 1.95": DEPENDS, "Fig. 7, fairness": FAILS,
        "Fig. 6": HOLDS, "no losses": HOLDS,
    }  # fmt: skip


def test_a_buffer_bears_as_many_flows_as_the_model_says():
    """Twice the bandwidth-delay product: 21 flows, and not one more."""
    most = int(float(LotkaVolterraThroughput(gamma=GAMMA).lossless_flows(200.0)) + 1e-9)
    for n, loses in ((most, False), (most + 1, True)):
        run = simulate(network(RATE, (RATE,) * n, 60.0, 1, [{"epsilon": 0.5}] * n, warm_up=20.0))
        assert bool(run.dropped.sum() > 0) == loses, n


def test_figure_and_paragraph_say_what_was_found(result):
    text = LotkaVolterraVsPackets.paragraph(result)
    assert all(f"{name}: " in text for name in result.statement.values) and "nan" not in text
    assert len(LotkaVolterraVsPackets.figure(result).data) > 4


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"error": 2.0}, "error must lie in"),
        ({"rates": (1e3, 1e7)}, "rates must list numbers in"),
        ({"flows": (1, 2)}, "flows must list numbers in"),
        ({"staleness": (9.0,)}, "staleness must lie in"),
        ({"replications": 1}, "replications must be at least 2"),
    ],
)
def test_bad_settings_are_refused(settings, sentence):
    with pytest.raises(DomainError, match=sentence):
        LotkaVolterraVsPackets(**settings)


def test_too_much_work_is_refused_before_the_first_run():
    with pytest.raises(LimitError, match="replications of packets"):
        LotkaVolterraVsPackets(rates=(1e9,) * 5000, replications=1000).run()


@pytest.mark.slow
def test_all_of_it_at_full_length():
    """Eight replications: the answers stand, and 20 flows of which each measures windows rest at 2 BDP, too."""
    result = LotkaVolterraVsPackets().run()
    last = of(result, "sums").sel(case="sums: 20 flows, windows, windows")
    assert abs(float(last.measured) - 2.0) < 0.01
    joins = of(result, "joins").isel(case=0)
    assert abs(float(joins.gap)) < 0.05


@pytest.mark.parametrize("seed", [1, 2])
def test_the_largest_gain_is_lower_where_packets_go_in_trains(seed):
    """At 0.98 of the model's gain: access links as fast as the link leave each flow silent for half a round trip.

    Others then find windows that are older than the model says. Slower access links spread the packets over the round
    trip, and the sum of windows stands still.
    """
    n, late, interval = 5, 1.0, 0.25
    age = (BACK + late) * (1 + (n - 1) * GAMMA) / n + interval / 2
    gain = float(LotkaVolterraCrossDelayed(flows=n, epsilon=1.0, gamma=GAMMA).critical_delay()) / age
    law = {"epsilon": 0.98 * gain, "staleness": late, "interval": interval, "offered": 1.0, "K": RATE}
    swings = []
    for access in (RATE, 0.3 * RATE):
        made = simulate(network(RATE, (access,) * n, 180.0, seed, [law] * n, sampled=RTT / 4))
        total = np.sum([windows(made, i)[1] for i in range(n)], axis=0)[-2400:]  # the last 60 s
        swings.append(total.std() / total.mean())
    assert swings[0] > 5 * SWINGS and swings[1] < SWINGS / 10
