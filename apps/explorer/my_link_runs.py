"""Packets at a point of `my-link`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tcpdynamics.errors import DomainError

from .jobs import WORK_PER_SECOND, Parts, Progress
from .numbers_my_link import WINDOW
from .shown import code_of
from .sub_packet_runs import REPLICATIONS, read_for

if TYPE_CHECKING:
    from tcpdynamics.validation.packet import Scenario


def read(words: Mapping[str, Any]) -> dict[str, Any]:
    """The page's values, checked as in its address.

    Raises
    ------
    InputError
        A value that the page refuses, or a sender that the simulator does not have.
    """
    values = read_for("my-link", words)
    if values["sender"] == "linux-bbr":
        raise DomainError("the packet simulator has no BBR; choose another sender")
    return values


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The link of the page's values."""
    from .numbers_my_link_packets import scenario

    return scenario(**values)


#: After code that gives a part of the page's numbers.
RECORDS = "\n# What Linux and stacks gave is a record: tcpdynamics.apps.explorer.link_records.recorded()"


def code(values: Mapping[str, Any]) -> str:
    """The lines that give the packets' column; none where the simulator has no such sender."""
    if values["sender"] == "linux-bbr":
        return RECORDS
    from .numbers_my_link_packets import packets

    seconds = math.ceil(cost(values, "")["seconds"])
    return f"{RECORDS}\n\n# The packets' column, in about {seconds} s:\n{code_of(packets, dict(values))}"


def cost(values: Mapping[str, Any], typed: str) -> dict[str, float]:
    """Packets that the runs carry at most, and the seconds of a run by the library's estimate of its work."""
    one = scenario(read(values))
    packets, work = one.duration * one.packet_rate, one.work
    return {"packets": REPLICATIONS * packets, "seconds": REPLICATIONS * work / WORK_PER_SECOND}


def run(words: dict[str, Any], progress: Progress) -> Parts:
    """Simulate: means with Student's 95 % interval over the runs."""
    from .numbers_my_link_packets import packets

    answer = {
        name: {end: x if math.isfinite(x) else None for end, x in zip(("mean", "low", "high"), ends, strict=True)}
        for name, *ends in packets(progress, **words).set_index("quantity").astype(float).itertuples()
    }
    about = {"runs": REPLICATIONS, "seconds": scenario(words).duration - WINDOW}
    return {"result.json": json.dumps(answer | about, allow_nan=False).encode()}
