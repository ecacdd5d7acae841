"""What Linux gave where it was last run, for machines on which its kernel is not built."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib import resources
from typing import Any

import xarray as xr

from tcpdynamics.errors import NoRecordError

from ..linux import LinuxSwitches
from ..packet import Scenario

NAME = "linux_recorded.json"


#: Of `Flows`: what came after runs were recorded, and counts where it is given.
LATER = ("loss_probes", "frto")


def key(scenario: Scenario, switches: LinuxSwitches, controls: Sequence[str], seed: int) -> str:
    """Hash of what is run.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50))
    >>> len(key(scenario, LinuxSwitches(), ("reno",), 1))
    16
    """
    return keys(scenario, switches, controls, (seed,))[0]


def keys(
    scenario: Scenario, switches: LinuxSwitches, controls: Sequence[str], seeds: Sequence[int]
) -> list[str]:
    """The same for several seeds."""
    told = asdict(scenario)
    for group, flows in zip(scenario.flows, told["flows"], strict=True):
        # On a bottleneck Linux has the jitter that is left out, too; over links it has none.
        flows["jitter"] = scenario.jitter_on(group, (0,)) if scenario.bottleneck else group.jitter or 0.0
        for name in LATER:
            if not flows[name]:
                del flows[name]
    before = json.dumps([told, asdict(switches), list(controls)], sort_keys=True)[:-1]
    return [hashlib.sha256(f"{before}, {seed}]".encode()).hexdigest()[:16] for seed in seeds]


@lru_cache(maxsize=4)
def stored(record: str = NAME) -> dict[str, Any]:
    """A record: the kernel, the digest of its options, and the numbers of each run by its key."""
    text = (resources.files("tcpdynamics.validation.comparisons") / record).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def kernel(record: str = NAME) -> str:
    """The kernel of a record."""
    return str(stored(record)["kernel"])


def recorded(
    scenario: Scenario,
    switches: LinuxSwitches,
    controls: Sequence[str],
    seed: int,
    names: Sequence[str],
    record: str = NAME,
) -> xr.DataArray:
    """The recorded quantities of one run.

    Raises
    ------
    NoRecordError
        If this run was not recorded.
    """
    values = of_key(key(scenario, switches, controls, seed), f"{scenario.name} with seed {seed}", record)
    return xr.DataArray(values, dims="quantity", coords={"quantity": list(names)})


def of_key(name: str, words: str, record: str = NAME) -> list[float]:
    """What is recorded of the run with a key; `words` say which run it is. Raises NoRecordError."""
    values: list[float] | None = stored(record)["runs"].get(name)
    if values is None:
        raise NoRecordError(
            f"no record of Linux for {words}; `python -m tcpdynamics.validation.linux build` makes what runs it"
        )
    return values
