"""What each mechanism of the simulator does in a short run is what was recorded: a change of a number shows by name.

A change that is meant is recorded anew: `python tests/validation/test_recorded_runs.py`; the diff says what it moved.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tcpdynamics.validation.packet import parse_scenario, simulate
from tcpdynamics.validation.packet.kernel.loss_models import MODELS
from tcpdynamics.validation.packet.kernel.paced import PACED
from tcpdynamics.validation.packet.kernel.queues import BEHIND_PRIORITY, DISCIPLINES
from tcpdynamics.validation.packet.kernel.routers import ROUTERS
from tcpdynamics.validation.packet.kernel.windows import RULES

RECORDED = Path(__file__).with_suffix(".json")
WINDOWED = ("tahoe", "reno", "newreno", "sack")
ROUTES = [["a", "r", "b"], ["a", "q", "b"]]


def run_of(flow: dict[str, Any], link: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Eight flows of different round-trip times on a crowded link."""
    flows = {"count": 8, "rtt": [0.03, 0.15], "packet_size": 1000} | flow
    table: dict[str, Any] = {"flows": [flows], "bottleneck": {"rate": 3e6, "buffer": 25} | (link or {})}
    return table | {"duration": 20.0, "warm_up": 2.0, "seed": 7} | more


def network(flow: dict[str, Any], way: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The same from a to b over r, and over q for those with two routes."""
    links = [
        {"source": first, "target": last, "rate": 2e6, "delay": delay, "buffer": 20} | (way if first == "a" else {})
        for first, last, delay in (("a", "r", 0.01), ("r", "b", 0.02), ("a", "q", 0.015), ("q", "b", 0.03))
    ]
    ends = {} if "routes" in flow else {"source": "a", "target": "b"}
    return {"flows": [{"count": 4, "packet_size": 1000} | ends | flow], "links": links, "seed": 7} | {
        "duration": 20.0, "warm_up": 2.0, "epoch": 0.2
    } | more  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """Runs by name; members come from the package's tables, so a new one is asked for its record."""
    runs: dict[str, dict[str, Any]] = {}
    for rules in ("ns2", "rfc"):
        for sender in WINDOWED:
            runs[f"{sender}, {rules}"] = run_of({"sender": sender, "rules": rules})
            if sender != "tahoe":
                flow = {"sender": sender, "rules": rules, "leap": True}
                runs[f"{sender}, {rules}, LEAP"] = run_of(flow, {"loss": 0.05})
        for control in RULES:
            flow, link = {"sender": "sack", "rules": rules, "control": control}, {}
            if control == "dctcp":
                flow, link = flow | {"ecn": True}, {"queue": "step"}
            runs[f"control {control}, {rules}"] = run_of(flow, link)
            flow |= {"count": 2, "rtt": [0.04, 0.09], "window_limit": 3000}
            fast = {"rate": 1e8, "buffer": 400, "loss": 2e-5} | link
            runs[f"control {control}, {rules}, fast"] = run_of(
                flow | {"count": 2, "rtt": [0.04, 0.09], "window_limit": 3000}, fast
            )
        for sender in sorted({name for name, books in PACED.items() if rules in books} & {"tfrc"}):
            runs[f"{sender}, {rules}"] = run_of({"sender": sender, "rules": rules})
        for acks in ("immediate", "duplicated", "duplicated_delayed"):
            flow = {"sender": "mtcp", "rules": rules, "routes": ROUTES, "acks": acks}
            runs[f"mtcp {acks}, {rules}"] = network(flow, {"loss": 0.01, "ack_loss": 0.02})
        more = {"delayed_ack": 0.1, "timestamps": True, "segments": 60, "segments_shape": 1.5, "think": 0.3, "pool": 2}
        runs[f"users, {rules}"] = run_of({"sender": "newreno", "rules": rules} | more)
    more = {"count": 30, "segments": 5, "think": 1.0, "pool": 3}
    runs["users, long hangs"] = run_of({"sender": "sack"} | more, {"rate": 1e5, "buffer": 8}, duration=200.0)
    for sender in ("newreno", "sack"):
        runs[f"{sender}, linux"] = run_of({"sender": sender, "rules": "linux", "control": "cubic"})
    for queue, file in DISCIPLINES.items():
        sizes = [
            {"count": 3, "rtt": 0.05, "packet_size": size, "priority": int(size > 999)} for size in (300, 1000, 1500)
        ]
        runs[f"queue {queue}, sizes"] = run_of({}, {"queue": queue}) | {"flows": sizes}
        for ecn in (False, True):
            name = f"queue {queue}{', ECN' if ecn else ''}"
            runs[name] = run_of({"sender": "sack", "rules": "rfc", "ecn": ecn}, {"queue": queue})
        names = {p.name for p in getattr(file, "PARAMETERS", ())}
        for switch in sorted(names & {"linux", "ns2", "gentle", "bytes", "adaptive", "average"}):
            link = {"queue": queue, "queue_parameters": {switch: 1}}
            runs[f"queue {queue}, {switch}"] = run_of({"sender": "sack", "rules": "rfc"}, link)
        if queue in BEHIND_PRIORITY:
            link = {"queue": queue, "priority": "retransmissions", "priority_buffer": 5}
            runs[f"queue {queue}, priority"] = run_of({"sender": "sack", "rules": "rfc"}, link)
    for model in MODELS:
        loss = {"model": model} | {p.name: p.default for p in MODELS[model].PARAMETERS if not math.isnan(p.default)}
        loss |= {"p": 0.01, "r": 0.3} if model == "gilbert-elliott" else {}
        runs[f"loss {model}"] = run_of({"sender": "sack"}, {"loss": loss, "ack_loss": 0.02})
    for router in ROUTERS:
        flow = {"sender": "newreno", "rules": "rfc"}
        for name, values in (("", {}), (", least times", {"measured_rtt": 0, "queue_age": 0, "phi": 1.0})):
            runs[f"router {router}{name}"] = network(flow, {"router": router, "router_parameters": values})
    changes = [[3.0, 1e6], [6.0, 4e6], [9.0, 2e6]]
    runs["changes by packet"] = run_of({"sender": "sack"}, {"changes": changes})
    runs["changes by bit"] = run_of({"sender": "sack"}, {"changes": changes, "changes_by": "bit"})
    runs["poisson in bursts"] = run_of({"sender": "poisson", "rate": 5e5, "on_time": 0.3, "off_time": 0.2})
    runs["reordering"] = network({"sender": "sack", "reorder": True}, {"jitter": 0.01, "reorder": True})
    return runs


def numbers(result: xr.Dataset) -> dict[str, float]:
    """Sums of what was counted and measured, to six digits."""
    found = {}
    for name, values in result.data_vars.items():
        if values.dtype.kind in "iuf" and set(values.dims) <= {
            "flow",
            "link",
            "route",
            "connection",
            "user",
            "hang_length",
        }:
            total = float(np.nansum(values.values.astype(float)))
            found[str(name)] = float(f"{total:.6g}")
    return found


@pytest.mark.parametrize("name", cases())
def test_a_run_is_as_recorded(name: str) -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    found = numbers(simulate(parse_scenario(cases()[name])))
    assert {k: v for k, v in found.items() if recorded[name].get(k) != v} == {}
    assert set(found) == set(recorded[name])


def test_nothing_else_is_recorded() -> None:
    assert set(json.loads(RECORDED.read_text(encoding="utf-8"))) == set(cases())


if __name__ == "__main__":
    lines = (f" {json.dumps(k)}: {json.dumps(numbers(simulate(parse_scenario(v))))}" for k, v in cases().items())
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
