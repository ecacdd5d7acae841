"""What was recorded of links that users share, for the first page and `my-link`; `record` makes the file again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .recorded import ends

FILE = Path(__file__).with_name("links_recorded.json")
#: The link of Figs. 2 and 9 of Chen et al., in the words of `my-link`; that page starts with one of today.
LINK = {"rate": 1.0, "base_rtt": 200.0, "buffer": 50, "packet_size": 500}
#: Users of the first page's link, and of the one that `my-link` starts with, of which packets are recorded.
USERS, TODAY = tuple(range(20, 301, 10)), (30, 60, 100, 200)
#: Senders of Linux: words of the page -> name in the record, control of the kernel.
LINUX = {
    "linux-reno": ("Linux as it comes, Reno", "reno"), "linux-cubic": ("Linux as it comes, CUBIC", "cubic"),
    "linux-bbr": ("Linux as it comes, BBR", "bbr"),
}  # fmt: skip
#: Links of Linux's record without round-trip times that differ between users.
CROWDED = (
    *(f"1 Mbit/s, {n} flows" for n in (20, 40, 100, 200)), "500 kbit/s, 50 flows", "250 kbit/s, 25 flows",
    "gateway, drop-tail", "gateway, SFQ",
)  # fmt: skip
#: What is taken of it.
QUANTITIES = {
    "loss": "loss rate", "silent": "0 sent", "jain": "Jain's index, 20 s", "nothing": "locked out for 20 s",
}  # fmt: skip


@cache
def recorded() -> dict[str, Any]:
    """The file: the kernel, what packets and Linux gave, each number with its 95 % interval [mean, low, high]."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def record() -> dict[str, Any]:
    """The file's content: packets simulated now (half a minute), the rest from the records of the comparisons."""
    from tcpdynamics.validation.comparisons.engines import stored
    from tcpdynamics.validation.comparisons.linux_sub_packet import RECORD

    runs, today = {str(n): packets(n, LINK) for n in USERS}, {str(n): packets(n, {}) for n in TODAY}
    return {"kernel": stored(RECORD)["kernel"], "packets": runs, "today": today, "points": [*linux(), *stacks()]}


def packets(users: int, link: dict[str, Any]) -> dict[str, Any]:
    """What `my-link` gives of a link, otherwise as at its start, with so many users: the same run, to eight digits."""
    from . import my_link_runs

    values = my_link_runs.read(link | {"users": users})
    answer = json.loads(my_link_runs.run(values, lambda share: None)["result.json"])
    return {
        name: {end: _short(x) for end, x in one.items()} if isinstance(one, dict) else one
        for name, one in answer.items()
    }


def _short(x: float | None) -> float | None:
    return x if x is None else float(f"{x:.8g}")


def linux() -> Iterator[dict[str, Any]]:
    """Links of the sub-packet paper that Linux carried."""
    from tcpdynamics.validation.comparisons import LinuxSubPacket
    from tcpdynamics.validation.comparisons.crowded_links import LINKS

    study = LinuxSubPacket(links=CROWDED)
    cells = study.cells()
    for name in CROWDED:
        link = LINKS[name]
        for word, (sender, _) in LINUX.items():
            runs = study.gathered(study.recorded(cells[name, sender]))
            queue = "sfq" if link.discipline else "droptail"
            yield {
                "sender": word, "rate": link.rate / 1e6, "base_rtt": 1e3 * link.rtt[0], "buffer": link.buffer,
                "users": link.flows, "packet_size": link.packet_size, "queue": queue,
                **{key: ends(runs.sel(quantity=quantity)) for key, quantity in QUANTITIES.items()},
            }  # fmt: skip


def stacks() -> Iterator[dict[str, Any]]:
    """Two flows of one sender, Linux's own and stacks of others, on 10 Mbit/s and 40 ms."""
    from tcpdynamics.validation.comparisons import LinuxStacks
    from tcpdynamics.validation.comparisons.linux_stacks import LINKS

    study = LinuxStacks()
    words = {control: word for word, (_, control) in LINUX.items()}
    for (link, one, other), cell in study.cells().items():
        if one == other:
            runs = study.gathered(study.recorded(cell))
            queue = link.lower().replace("-", "_") if "CoDel" in link else "droptail"
            yield {
                "sender": words.get(one, one), "rate": 10.0, "base_rtt": 40.0, "buffer": LINKS[link][0], "users": 2,
                "packet_size": cell.scenario.flows[0].packet_size, "queue": queue,
                "loss": ends(runs.sel(quantity=["loss, first", "loss, second"]).mean("quantity")),
                "median_wait": ends(1e3 * runs.sel(quantity="queueing delay, median"), fraction=False),
            }  # fmt: skip
