"""The report's sections on mechanisms of the papers, from comparisons that are shorter still."""

import html
import json
import re

import pytest
from explorer_tabs import bare

from tcpdynamics.apps.report.papers import SECTIONS
from tcpdynamics.apps.report.steps import SECONDS
from tcpdynamics.validation.comparisons import (
    LeapVsPackets,
    LinuxSubPacket,
    LockOut,
    MtcpVsPackets,
    PacketsVsLinux,
    RetransmissionPriorityVsPackets,
    SenderChainSteps,
    SenderChainVsPackets,
)

#: What stands in each section, beside its figure, and in the sentence at its top.
WORDS = {
    "leap": (("window of one with LEAP", "fraction of transfers that finish 0 of"), "Packets agree with the models"),
    "logistic_packets": (("trains of acks", "sum of windows [BDP] 4 of 4"), "Packets agree with the models in "),
    "mtcp": (("duplicated, replies only", "round trip by the estimator [s] 1 of 1"), "Packets agree with "),
    "routers": (("measured-rtt, with the code", "mean queue [B]"), "Packets agree with the models in "),
    "priority": (("Split: 5 of the places", "flows that get nothing"), "Packets agree with the models in "),
    "retransmissions": (("Each bar takes one thing away", "times as often as new packets"), "get nothing for 20 s"),
    "linux": (("One switch of Linux at a time", "flows on 1 Mbit/s"), "the simulator agrees with Linux in "),
    "linux_sub_packet": (
        ("Statement by statement", "On Linux as it ships, with CUBIC, "),
        "Linux as it comes, CUBIC: ",
    ),
    "sender_chain": (
        ("0.2929 for two", "which summarises a sender by hand, costs"),
        "differs from the simulator by at",
    ),
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
    monkeypatch.setattr(SenderChainSteps, "quick", rungs)
    monkeypatch.setattr(
        RetransmissionPriorityVsPackets, "quick", {"flows": (25,), "duration": 240.0, "replications": 2}
    )


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in ("leap", "mtcp", "priority") else pytest.mark.slow) for name in SECTIONS],
)
def test_a_section_has_its_anchor_its_figures_its_words_and_its_steps(name, shorter):
    steps = []
    made = SECTIONS[name](lambda step, share: steps.append(step))
    text = re.sub(r"<script.*?</script>", "", made.html, flags=re.S)
    inside, above = WORDS[name]
    assert f'id="{name}"' in made.html and made.title and steps and set(steps) <= set(SECONDS)
    assert 'class="drawn" id="figure-' in made.html
    drawn = re.findall(r'<script type="application/json">(.*?)</script>', made.html)
    assert [title for figure in drawn for title in bare(json.loads(figure)["layout"])] == []
    shown = html.unescape(str(made.html))
    assert all(words in shown for words in inside) and above in made.answer and made.answer in shown
    assert "nan" not in text.lower() and "tcpdynamics validate" in text


def test_every_section_is_told_of():
    assert set(WORDS) == set(SECTIONS)
