"""What do packets do? Any scenario in the packet simulator, two of them side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcpdynamics.apps.packet_outputs import about_file
from tcpdynamics.errors import InputError
from tcpdynamics.validation.packet import ready_scenarios

from ..jobs import JobKind
from ..packet_runs import PICTURES, check_ready, check_text, form, prepare, read, run
from ..page import Page
from ..scenario_form import MAX_TEXT, groups_of, keys, ready

FRESH = "single_flow"
#: The sides of the page: before the words of an address, and by which word its scenario stands there.
SIDES = {"first": ("", "scenario"), "second": ("beside.", "beside")}


def read_text(words: Mapping[str, Any]) -> dict[str, Any]:
    """The text of a file that a browser sends."""
    text = words.get("text")
    if not isinstance(text, str):
        raise InputError("text must be what stands in a TOML file")
    check_text(text)
    return {"text": text}


@dataclass(frozen=True)
class PacketPage(Page):
    """A page whose state is a scenario and its changes, once or twice."""

    def start(self) -> dict[str, Any]:
        """A ready scenario as it is."""
        return {"fresh": FRESH, "first": {"scenario": FRESH, "changes": {}}}

    def others_read(self) -> dict[str, list[str]]:
        """With a picture alone in another page's frame."""
        return {"embed": ["1"], "guess": ["first"], "figure": list(PICTURES)}

    def read(self, words: Mapping[str, str], shows: bool = True) -> tuple[dict[str, Any], list[str]]:
        """Scenarios and changes from the words of an address, and a sentence for what was refused."""
        values: dict[str, Any] = {"fresh": FRESH}
        others = self.others_read()
        complaints = self.others_refused(words)
        values |= {key: words[key] for key, may in others.items() if words.get(key) in may}
        rest = {key: text for key, text in words.items() if key not in others}
        for side in ("second", "first"):  # the longer prefix first
            prefix, word = SIDES[side]
            name = rest.pop(word, None)
            changes = {k.removeprefix(prefix): rest.pop(k) for k in list(rest) if k.startswith(prefix)}
            if side == "second" and name is None:
                continue
            name = FRESH if name is None else name
            try:
                check_ready(name, changes)
            except InputError as error:
                name = name if name in ready_scenarios() else FRESH
                complaints.append(f"{error}; {name} is shown as it is" if shows else str(error))
                changes = {}
            values[side] = {"scenario": name, "changes": changes}
        return values, complaints

    def spec(self, whole: bool = False) -> dict[str, Any]:
        """With the ready scenarios and the keys of their forms."""
        scenarios = {
            name: {"about": about_file(path), "groups": groups_of(ready(name))}
            for name, path in ready_scenarios().items()
        }
        return super().spec(whole) | {"scenarios": scenarios, "keys": keys(), "mostBytes": MAX_TEXT}


PAGE = PacketPage(
    slug="packets",
    title="Packets",
    question="What do the packets of TCP flows do on a bottleneck, or on a network of links?",
    controls=(),
    figures=(),
    printed=(),
    exported=False,
    menu=True,
    jobs=(JobKind("packets", read, run, prepare), JobKind("scenario-form", read_text, form)),
    notes=(
        "Each run is the packet simulator's own: a scenario and its seed give the same numbers here, in Python and "
        "from the command. The page itself chooses what is recorded (the [record] keys).",
        "A loaded file stays in this browser's tab and is not part of the address; a ready scenario with its changes "
        "is.",
    ),
)
