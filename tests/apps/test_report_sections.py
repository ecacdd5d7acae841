"""The report's sections on mechanisms of the papers, from comparisons that are shorter still."""

import html

import pytest

from tcpdynamics.apps.report.build import SECTIONS
from tcpdynamics.apps.report.steps import SECONDS
from tcpdynamics.validation.comparisons import (
    LeapVsPackets,
    LinuxSubPacket,
    LockOut,
    MtcpVsPackets,
    PacketsVsLinux,
    RetransmissionPriorityVsPackets,
    SenderChainLadder,
    SenderChainVsPackets,
)

#: What stands in each section, beside its figure, and in the sentence at its top.
WORDS = {
    "leap": ("window of one with LEAP", "share of transfers that finish 0 of"),
    "logistic_packets": ("trains of acks", "sum of windows [BDP] 4 of 4"),
    "mtcp": ("duplicated, replies only", "round trip by the estimator [s] 1 of 1"),
    "routers": ("measured-rtt, with the code", "mean queue [B]"),
    "priority": ("Split: 5 of the places", "flows that get nothing"),
    "retransmissions": ("Each bar takes one thing away", "times as often as new ones"),
    "linux": ("One switch of Linux at a time", "flows on 1 Mbit/s lose, on Linux: switches off"),
    "linux_sub_packet": ("Statement by statement", "Linux as it comes, CUBIC: "),
    "sender_chain": ("0.2929 for two", "a person's summary of that sender costs"),
}


@pytest.fixture
def shorter(monkeypatch):
    """Less than the page has."""
    star = {"density": (3.5,), "replications": 2}
    monkeypatch.setattr(LeapVsPackets, "quick", {"loss": (0.1,), "transfers": 30} | star)
    monkeypatch.setattr(MtcpVsPackets, "quick", {"replications": 3})
    monkeypatch.setattr(LinuxSubPacket, "quick", {"ours": 2})
    monkeypatch.setattr(PacketsVsLinux, "quick", {"seeds": 2})
    monkeypatch.setattr(LockOut, "quick", {"duration": 240.0, "replications": 2})
    one = {"senders": ("sack, rfc",), "losses": (0.2,), "duration": 1000.0, "replications": 3}
    monkeypatch.setattr(SenderChainVsPackets, "quick", one)
    rungs = {"losses": (0.2,), "window": 4, "flows": (60, 400), "duration": 200.0, "replications": 2}
    monkeypatch.setattr(SenderChainLadder, "quick", rungs)
    monkeypatch.setattr(
        RetransmissionPriorityVsPackets, "quick", {"flows": (25,), "duration": 240.0, "replications": 2}
    )


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_has_its_anchor_its_figures_its_words_and_its_steps(name, shorter):
    steps = []
    made = SECTIONS[name](lambda step, share: steps.append(step))
    text = made.html.split("<script")[0] + made.html.split("</script>")[-1]
    inside, above = WORDS[name]
    assert f'id="{name}"' in made.html and made.title and steps and set(steps) <= set(SECONDS)
    assert "plotly-graph-div" in made.html
    assert inside in made.html and above in made.answer and made.answer in html.unescape(str(made.html))
    assert "nan" not in text.lower() and "tcpdynamics validate" in text


def test_every_section_is_told_of():
    assert set(WORDS) == set(SECTIONS)
