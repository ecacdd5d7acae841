"""Engines that run the cells of a study: the packet simulator, and Linux and ns-2, whose runs are recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import xarray as xr

from ..linux import OLD, LinuxSwitches, run_linux
from ..ns2 import run_ns2, tcl
from ..packet import Scenario
from ..packet.run import measured

#: Of `Flows`: what came after runs were recorded, and counts where it is given.
LATER = ("loss_probes", "frto", "program")


@dataclass(frozen=True)
class Engine:
    """A program that runs cells.

    Attributes
    ----------
    name : str         In a refusal.
    run : callable     Cell, seed and longest wall time [s] -> the run.
    keys : callable    Cell and seeds -> names of the runs in a record.
    heading : callable A run -> description of the program in the record.
    advice : str       How to run what is not recorded.
    """

    name: str
    run: Callable[[Cell, int, float], xr.Dataset]
    keys: Callable[[Cell, Sequence[int]], list[str]]
    heading: Callable[[xr.Dataset], dict[str, str]]
    advice: str


@dataclass(frozen=True)
class Cell:
    """One row of a study: a scenario and its engine.

    Attributes
    ----------
    scenario : Scenario
    engine : Engine
    switches : LinuxSwitches       Of Linux.
    controls : tuple of str        Linux's, of each group of flows; empty: the scenario's.
    discipline : str               Linux's queue on the bottleneck, in the words of `tc`; empty: the scenario's.
    name : str                     In a refusal; empty: the scenario's name.
    key_words : tuple of str       Linux's part of the key in a record; None: the controls.
    """

    scenario: Scenario
    engine: Engine
    switches: LinuxSwitches = OLD
    controls: tuple[str, ...] = ()
    discipline: str = ""
    name: str = ""
    key_words: tuple[str, ...] | None = None


def _run_packets(cell: Cell, seed: int, timeout: float) -> xr.Dataset:
    return measured(cell.scenario, seed, remedy=False).dataset()


def _run_linux(cell: Cell, seed: int, timeout: float) -> xr.Dataset:
    queues = {"bottleneck": cell.discipline} if cell.discipline else None
    return run_linux(cell.scenario, seed, timeout, cell.switches, cell.controls or None, queues)


def _run_ns2(cell: Cell, seed: int, timeout: float) -> xr.Dataset:
    return run_ns2(cell.scenario, seed, timeout)


def _keys_of_linux(cell: Cell, seeds: Sequence[int]) -> list[str]:
    """Hashes of scenario, switches and seed."""
    scenario = cell.scenario
    keys = asdict(scenario)
    for group, flows in zip(scenario.flows, keys["flows"], strict=True):
        # On a bottleneck Linux has the jitter that is left out, too; over links it has none.
        flows["jitter"] = scenario.jitter_on(group, (0,)) if scenario.bottleneck else group.jitter or 0.0
        flows["think_law"] = flows.pop("think_distribution")  # records hold hashes with this name
        for name in LATER:
            if not flows[name]:
                del flows[name]
    words = cell.controls if cell.key_words is None else cell.key_words
    text = json.dumps([keys, asdict(cell.switches), list(words)], sort_keys=True)[:-1]
    return [hashlib.sha256(f"{text}, {seed}]".encode()).hexdigest()[:16] for seed in seeds]


def _keys_of_ns2(cell: Cell, seeds: Sequence[int]) -> list[str]:
    """Hashes of the Tcl that ns-2 would run."""
    return [hashlib.sha256(tcl(cell.scenario, seed).encode()).hexdigest()[:16] for seed in seeds]


#: The packet simulator, whose runs are not recorded.
PACKETS = Engine("the simulator", _run_packets, lambda cell, seeds: [], lambda run: {}, "")
LINUX = Engine(
    "Linux", _run_linux, _keys_of_linux,
    lambda run: {"kernel": run.attrs["simulator"], "options": run.attrs["kernel"]},
    "`python -m tcpdynamics.validation.linux build` makes what runs it, --live runs it",
)  # fmt: skip
NS2 = Engine(
    "ns-2", _run_ns2, _keys_of_ns2, lambda run: {"simulator": "ns-2.35 (Debian package ns2)"},
    "install the Debian package ns2, --live runs it",
)  # fmt: skip


@lru_cache(maxsize=4)
def stored(record: str) -> dict[str, Any]:
    """A record: a description of the program, and `runs`, the results of each run by its key."""
    text = (resources.files("tcpdynamics.validation.comparisons") / record).read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document
