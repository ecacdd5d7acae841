"""NewReno by RFC 5681 that overruns its link for ever says so; others do not."""

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tcpdynamics.validation.packet import Bottleneck, Flows, Scenario, load_scenario, ready_scenarios, simulate
from tcpdynamics.validation.packet.measures import measure

LINK = Bottleneck(100e6, 800)


def lone(link=LINK, duration=120.0, **flow):
    options = {"sender": "newreno", "rules": "rfc", "rtt": 0.1, "packet_size": 1500, "window_limit": 4000}
    return simulate(Scenario((Flows(1, **options | flow),), link, duration=duration, warm_up=5.0))


def test_a_threshold_beyond_the_path_is_named():
    result = lone()
    assert result.utilisation < 0.4 and result.timeouts.item() > 30
    warning = result.attrs["warning"]
    assert f"timed out {result.timeouts.item()} times" in warning and "1633 packets" in warning
    assert "window_limit = 1633 or less" in warning and measure(result)["phase_warning"] == 0.0
    for remedy in ({"sender": "sack"}, {"window_limit": 1633}, {"rules": "ns2"}):
        cured = lone(**remedy)
        assert cured.utilisation > 0.98 and not cured.attrs["warning"]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["newreno", "newreno", "reno", "sack", "tahoe"]),
    st.sampled_from([1e7, 5e7, 1e8]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from([1.5, 2.5, 5.0, 20.0]),
    st.sampled_from([1, 3]),
    st.sampled_from([0.0, 0.0, 0.01]),
)
@example("newreno", 5e7, 1.0, 2.5, 1, 0.0)
@example("newreno", 1e8, 0.5, 1.5, 1, 0.0)
def test_whoever_is_warned_is_cured_by_it(sender, rate, buffer, window, count, loss):
    """A false alarm would be a run that the advice does not help; each remedy that it names helps."""
    bdp = rate * 0.1 / 12000
    room = bdp * (1 + buffer)
    flows = Flows(count, sender, "rfc", rtt=0.1, packet_size=1500, window_limit=int(window * room))
    scenario = Scenario((flows,), Bottleneck(rate, int(buffer * bdp), loss), duration=100.0, warm_up=5.0)
    result = simulate(scenario)
    if "timed out" not in result.attrs["warning"]:
        return
    assert sender == "newreno" and loss == 0.0
    limit = int(re.findall(r"window_limit = (\d+) or less", result.attrs["warning"])[0])
    for remedy in ({"sender": "sack"}, {"window_limit": limit}):
        cured = simulate(dataclasses.replace(scenario, flows=(dataclasses.replace(flows, **remedy),)))
        assert cured.utilisation > result.utilisation + 0.1


@pytest.mark.slow
def test_ready_scenarios_are_not_warned():
    for path in ready_scenarios().values():
        assert "timed out" not in simulate(load_scenario(path)).attrs["warning"]
