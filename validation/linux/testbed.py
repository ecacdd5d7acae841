"""Programs as flows in virtual time: a run with all that it leaves, and where two runs of one seed part."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..packet.scenario.scenario import Scenario
from .plan import LinuxPlan
from .program_packets import read, write_pcap
from .run import run_linux


@dataclass(frozen=True)
class Run:
    """A run, and what its programs and their networks leave.

    Attributes
    ----------
    result : Dataset        As `run_linux` returns it.
    captures : mapping      Name of a space, such as "flow1-server" -> its packets, as the guest captured them.
    outputs : mapping       Name of a file, such as "flow1-server/output" -> what a program wrote.
    origin : int            The guest's time of the scenario's beginning [ns].
    wall : float            How long it took [s].
    traits : mapping        Flow -> most processes and threads of its programs, and the addresses where they lie.
    """

    result: xr.Dataset
    captures: Mapping[str, np.ndarray]
    outputs: Mapping[str, bytes]
    origin: int
    wall: float
    traits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write captures as pcap, and what the programs wrote, below a folder."""
        for name, packets in self.captures.items():
            write_pcap(packets, folder / f"{name}.pcap")
        for name, content in self.outputs.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def run_testbed(
    scenario: Scenario,
    seed: int | None = None,
    timeout: float = 600.0,
    progress: Callable[[float], None] | None = None,
    view: Sequence[str] | None = None,
) -> Run:
    """Run a scenario whose flows may be programs.

    Parameters
    ----------
    scenario : Scenario
    seed : int, optional
        Default: the scenario's own.
    timeout : float
        Longest wall time [s].
    progress : function, optional
        Is called with the fraction of virtual time that has passed, now and then.
    view : sequence of str, optional
        As of `run_linux`.

    Returns
    -------
    Run

    Raises
    ------
    ScenarioError, LinuxError
        As of `run_linux`; a program that cannot be started, fails, or never sends.

    Examples
    --------
    >>> from tcpdynamics.validation.linux import installed
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50), duration=5.0, warm_up=1.0)
    >>> run = run_testbed(scenario) if installed() else None
    """
    captures: dict[str, np.ndarray] = {}
    outputs: dict[str, bytes] = {}
    origin = 0
    traits: dict[str, Any] = {}

    def keep(folder: Path, guest: LinuxPlan, answer: Mapping[str, Any]) -> None:
        nonlocal origin, traits
        origin, traits = answer["origin"], answer["traits"]
        for i, flow in enumerate(guest.flows):
            if flow.program is None:
                continue
            for what, kind, host in zip(("server", "client"), ("sent", "received"), flow.hosts, strict=True):
                captures[f"flow{i}-{what}"] = read(folder / f"program-{kind}-{host}")
                for path in sorted((folder / f"flow{i}-{what}").rglob("*")):
                    if path.is_file() and not path.is_symlink():
                        outputs[path.relative_to(folder).as_posix()] = path.read_bytes()

    began = time.perf_counter()
    result = run_linux(scenario, seed, timeout, keep=keep, progress=progress, view=view)
    return Run(result, captures, outputs, origin, time.perf_counter() - began, traits)


def difference(first: Run, second: Run) -> str:
    """Where two runs part: the first packet of any capture that is not the same in both; "" for nowhere."""
    partings = []
    for name, packets in first.captures.items():
        other = second.captures[name]
        both = min(len(packets), len(other))
        unlike = np.zeros(both, bool)
        for key in ("second", "nanosecond", "length", "way", "frame"):
            unlike |= packets[key][:both] != other[key][:both]
        if unlike.any() or len(packets) != len(other):
            at = int(np.argmax(unlike)) if unlike.any() else both
            one, two = (list_[at] if at < len(list_) else None for list_ in (packets, other))
            moment = min(_moment(x, run.origin) for x, run in ((one, first), (two, second)) if x is not None)
            partings.append((moment, name, at, one, two))
    for name, content in first.outputs.items():
        if not partings and second.outputs.get(name) != content:
            return f"all packets are the same; {name}, which a program wrote, is not"
    if not partings:
        return ""
    moment, name, at, one, two = min(partings, key=lambda row: row[0])
    if one is None or two is None:
        return f"packet {at} of {name} at {moment:.9f} s is there once only"
    return f"packet {at} of {name} at {moment:.9f} s: {_unlike(one, two, first.origin, second.origin)}"


def conditions(first: Run, second: Run) -> str:
    """What may have made two runs part, as far as the kernel sees it: a sentence for each flow that is a program.

    Examples
    --------
    >>> run = Run(xr.Dataset(), {}, {}, 0, 1.0, {"1": {"processes and threads": 3, "addresses": ["400000"]}})
    >>> conditions(run, run)
    'flow 1: 3 processes and threads at most, the second time 3; they lie at the same addresses'
    """
    sentences = []
    for flow, traits in first.traits.items():
        others = second.traits[flow]
        counts = f"{traits['processes and threads']} processes and threads at most, the second time "
        places = "the same addresses" if traits["addresses"] == others["addresses"] else "other addresses"
        sentences.append(f"flow {flow}: {counts}{others['processes and threads']}; they lie at {places}")
    return "\n".join(sentences)


def _moment(packet: Any, origin: int) -> float:
    return float(int(packet["second"]) * 10**9 + int(packet["nanosecond"]) - origin) / 1e9


def _unlike(one: Any, two: Any, *origins: int) -> str:
    """What differs between two packets, in words."""
    times = [_moment(packet, origin) for packet, origin in zip((one, two), origins, strict=True)]
    if times[0] != times[1]:
        return f"it comes at {times[1]:.9f} s the second time"
    if one["length"] != two["length"]:
        return f"it has {one['length']} bytes, {two['length']} the second time"
    a, b = one["frame"].tobytes(), two["frame"].tobytes()
    where = next((i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), len(a))
    return f"byte {where} is {a[where]:#04x}, {b[where]:#04x} the second time"
