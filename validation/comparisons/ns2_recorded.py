"""What ns-2.35 gave where it was last run, for machines without it.

The record belongs to exact Tcl scripts: their hash is stored with each run, and a comparison with other parameters
or a changed translation finds no record. `record` makes it again.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib import resources
from typing import Any

import xarray as xr

from tcpdynamics.validation.ns2 import tcl
from tcpdynamics.validation.packet import Scenario

NAME = "ns2_recorded.json"


class NoRecordError(LookupError):
    """There is no record of this run; install ns-2 (Debian package ns2) and compare live."""


def key(scenario: Scenario, seed: int) -> str:
    """Hash of the Tcl that ns-2 would run."""
    return hashlib.sha256(tcl(scenario, seed).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _stored() -> dict[str, list[float]]:
    text = (resources.files("tcpdynamics.validation.comparisons") / NAME).read_text(encoding="utf-8")
    runs: dict[str, list[float]] = json.loads(text)["runs"]
    return runs


def recorded(scenario: Scenario, seed: int, names: tuple[str, ...]) -> xr.DataArray:
    """The recorded quantities of one run.

    Raises
    ------
    NoRecordError
        If this run was not recorded.
    """
    found = _stored().get(key(scenario, seed))
    if found is None:
        raise NoRecordError(
            f"no record of ns-2 for {scenario.name} with seed {seed}; install the Debian package ns2 to run it"
        )
    return xr.DataArray(found, dims="quantity", coords={"quantity": list(names)})


def document(runs: dict[str, list[float]], names: tuple[str, ...]) -> dict[str, Any]:
    """What the file holds."""
    return {
        "simulator": "ns-2.35 (Debian package ns2)",
        "quantities": list(names),
        "runs": dict(sorted(runs.items())),
    }
