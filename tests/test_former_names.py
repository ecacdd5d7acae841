"""Former names: this release accepts them, gives the same and warns."""

from __future__ import annotations

import pytest

from tcpdynamics.models import LeapTimeout, TRefwaGroups, TRefwaMixed
from tcpdynamics.models.model import Model
from tcpdynamics.solvers import stationary
from tcpdynamics.validation import comparisons, statistics
from tcpdynamics.validation.fluid import SampledWindow
from tcpdynamics.validation.packet import Flows, parse_scenario
from tcpdynamics.validation.sender_chain import Sender, sender_chain


def test_functions_and_classes() -> None:
    with pytest.warns(DeprecationWarning, match="law_distance is now distribution_distance") as caught:
        assert statistics.law_distance is statistics.distribution_distance
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="WindowRulesVsLaws is now WindowRulesVsFormulas") as caught:
        assert comparisons.WindowRulesVsLaws is comparisons.WindowRulesVsFormulas
    assert caught[0].filename == __file__
    with pytest.raises(AttributeError, match="no attribute 'law_distanc'"):
        statistics.law_distanc  # noqa: B018


def test_keys_and_values() -> None:
    with pytest.warns(FutureWarning, match=r"flows.think_law is now flows.think_distribution") as caught:
        flows = Flows(rtt=0.1, segments=5, think=3.0, think_law="fixed")
    assert caught[0].filename == __file__
    with pytest.warns(FutureWarning, match=r"flows.0.compat is now flows.0.rules"):
        scenario = parse_scenario({"flows": [{"rtt": 0.1, "compat": "rfc"}], "bottleneck": {"rate": 1e6}})
    assert scenario.flows[0].rules == "rfc"
    assert flows == Flows(rtt=0.1, segments=5, think=3.0, think_distribution="fixed")
    assert comparisons.LockOut(runs=("as in the paper", "no back-off")).runs == ("as in the paper", "no backoff")


def test_fields() -> None:
    mixed, sampled = {"delays": (1, 2)}, {"lags": (1, 2)}
    for make, places in ((TRefwaMixed, mixed), (SampledWindow, sampled)):
        with pytest.warns(DeprecationWarning, match="shares is now fractions") as caught:
            assert make(**places, shares=(0.25, 0.75)) == make(**places, fractions=(0.25, 0.75))
        assert caught[0].filename == __file__


def test_arguments_and_methods() -> None:
    chain = sender_chain("tahoe", 2)
    result = stationary(chain.chain().at(p=0.1))
    with pytest.warns(DeprecationWarning, match="law is now result") as caught:
        assert chain.observe(law=result, values={"p": 0.1}).equals(chain.observe(result, {"p": 0.1}))
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="told_apart is now distinct_halvings"):
        assert Sender(loss=0.1, window=5).told_apart() == 2
    with pytest.warns(DeprecationWarning, match="ack_share is now ack_fraction"):
        assert LeapTimeout(0.1, 0.1, 2).ack_share() == LeapTimeout(0.1, 0.1, 2).ack_fraction()
    with pytest.warns(DeprecationWarning, match="rtt_seen is now decoded_rtt"):
        assert TRefwaGroups(flows=(4,), rtt=(0.05,), code=None).rtt_seen().values == [0.05]


def test_the_argument_of_a_class_of_models() -> None:
    with pytest.warns(DeprecationWarning, match="reading is now interpretation"):

        class Mine(Model, reading="mine"):
            """A model."""

    assert Mine.interpretation == Mine.reading == "mine"
