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
    told = asdict(scenario)
    for flows in told["flows"]:
        for name in LATER:
            if not flows[name]:
                del flows[name]
    text = json.dumps([told, asdict(switches), list(controls), seed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def stored() -> dict[str, Any]:
    """The record: the kernel, the digest of its options, and the numbers of each run by its key."""
    text = (resources.files("tcpdynamics.validation.comparisons") / NAME).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def kernel() -> str:
    """The kernel of the record."""
    return str(stored()["kernel"])


def recorded(
    scenario: Scenario, switches: LinuxSwitches, controls: Sequence[str], seed: int, names: Sequence[str]
) -> xr.DataArray:
    """The recorded quantities of one run.

    Raises
    ------
    NoRecordError
        If this run was not recorded.
    """
    values = stored()["runs"].get(key(scenario, switches, controls, seed))
    if values is None:
        raise NoRecordError(
            f"no record of Linux for {scenario.name} with seed {seed}; "
            "`python -m tcpdynamics.validation.linux build` makes what runs it"
        )
    return xr.DataArray(values, dims="quantity", coords={"quantity": list(names)})
