"""How do the stacks that people run share a link?"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from ..page import Page


@cache
def facts(whole: bool = False) -> dict[str, Any]:
    """Fractions of all pairs on all links, from the record."""
    from tcpdynamics.validation.comparisons import LinuxStacks
    from tcpdynamics.validation.comparisons.linux_stacks import MEANINGS

    study = LinuxStacks()
    result = study.run()
    names = ("share", "share_low", "share_high", "use", "loss")
    cells = {
        link: [
            [
                {name: round(float(one[name]), 8) for name in names}
                | {"verdict": str(one.verdict.item()), "delay": [round(1e3 * float(x), 1) for x in one.queueing_delay]}
                for one in (result.sel(link=link, sender=a, beside=b) for b in study.senders)
            ]
            for a in study.senders
        ]
        for link in study.links
    }
    return {
        "links": list(study.links), "senders": list(study.senders), "cells": cells, "meanings": dict(MEANINGS),
        "stacks": json.loads(result.attrs["stacks"]), "linux": result.attrs["linux"], "seeds": study.seeds,
        "measured": study.duration - study.warm_up,
    }  # fmt: skip


PAGE = Page(
    slug="stacks",
    title="Stacks of today",
    question="How do the stacks that people run share a link?",
    controls=(),
    figures=(),
    printed=(),
    facts=facts,
    notes=(
        "Two flows use one link of 10 Mbit/s, with a round trip of 40 ms; the bandwidth-delay product (BDP) has 33 "
        "packets. The programs run unmodified, in virtual time, on a Linux kernel's network. reno, cubic and bbr are "
        "the kernel's own flows; iperf3 and nginx send by the same cubic. Both flows start at random within a second. "
        "All QUIC stacks but aioquic support ECN, the kernel's TCP here does not. FQ-CoDel marks packets of flows that "
        "support ECN, and drops packets of others.",
        "tcpdynamics testbed runs any other pair.",
    ),
)
