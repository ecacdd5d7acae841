"""Packets at a point of the sub-packet page: simulated flows, and how far each chain is from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tcpdynamics.errors import InputError

from .jobs import Parts, Progress

if TYPE_CHECKING:
    import xarray as xr

    from tcpdynamics.validation.comparisons import SubPacketChainVsPackets
    from tcpdynamics.validation.packet import Scenario

#: Independent runs, flows where each has a link of its own, and their round-trip time [s].
REPLICATIONS, FLOWS, RTT = 8, 20, 0.2
#: Seconds simulated in each run: from 100 round trips of a long path to what the work allows.
SHORTEST, LONGEST = 120.0, 1000.0
#: Packets of one run, about.
PACKETS = 2e6


def read(words: Mapping[str, Any]) -> dict[str, Any]:
    """The page's values, checked as in its address.

    Raises
    ------
    InputError
        A value that the page refuses.
    """
    return read_for("sub-packet", words)


def read_for(slug: str, words: Mapping[str, Any]) -> dict[str, Any]:
    """A page's values from the words of a job. Raises InputError."""
    from .pages import pages

    values, complaints = pages()[slug].read({k: str(v)[:40] for k, v in words.items()})
    if complaints:
        raise InputError(complaints[0])
    return values


def comparison(values: Mapping[str, Any]) -> SubPacketChainVsPackets:
    """The library's comparison with the page's chain and link."""
    from tcpdynamics.validation.comparisons import SubPacketChainVsPackets

    on_a_link = values["source"] != "slider"
    rate = 1e6 * values["rate"] if on_a_link else 1e6
    size = int(values["packet_size"]) if on_a_link else 500
    duration = float(np.clip(PACKETS * 8 * size / rate, SHORTEST, LONGEST))
    return SubPacketChainVsPackets(
        flows=(int(values["users"]) if on_a_link else FLOWS,),
        rate=rate,
        base_rtt=values["base_rtt"] if on_a_link else RTT,
        buffer=int(values["buffer"]) if on_a_link else 50,
        packet_size=size,
        duration=duration,
        warm_up=duration / 5,
        replications=REPLICATIONS,
        w_max=int(values["w_max"]),
        base_timeout=values["base_timeout"],
        stages=int(values["stages"]),
        backoff_cap=int(values["backoff_cap"]),
        collapse=int(values["collapse"]),
    )


def scenario(values: Mapping[str, Any]) -> Scenario:
    """What is simulated at a point.

    With the loss of the slider, independent losses, a constant round trip and a timeout of `base_timeout` of it, as the
    chains assume; with users on a link, a drop-tail queue and round-trip times spread by 5 % to either side.
    """
    import xarray as xr

    own = comparison(values)
    if values["source"] != "slider":
        return own.scenario("spread", own.flows[0])
    point = {"loss_rate": [values["loss"]], "mean_rtt": [RTT], "base_rtt": [RTT]}
    return own.scenario("independent", FLOWS, xr.Dataset({k: ("replication", v) for k, v in point.items()}))


def run(words: dict[str, Any], progress: Progress) -> Parts:
    """Simulate, and compare each chain at the loss that was measured."""
    from tcpdynamics.validation.packet import replicate

    runs = replicate(scenario(words), REPLICATIONS, progress=progress)
    answer = json.dumps(measured(words, runs), allow_nan=False).encode()
    return {"result.json": answer}


def measured(values: Mapping[str, Any], runs: xr.Dataset) -> dict[str, Any]:
    """Means with Student's 95 % interval over the runs; distances from the chains in total variation."""
    import xarray as xr

    from tcpdynamics.validation.comparisons.comparison import AGREES, CLOSE, grade_distance
    from tcpdynamics.validation.statistics import distribution_distance

    most = int(values["w_max"])
    share = runs.epoch_fraction.values
    shares = np.concatenate([share[:, :most], share[:, most:].sum(axis=1, keepdims=True)], axis=1)
    sent = xr.DataArray(shares, dims=("replication", "packets"))
    loss = runs.loss_rate.drop_vars("seed", errors="ignore")
    distances = {}
    for kind, law in predictions(values, loss.values).items():
        far = distribution_distance(sent - law, "packets")
        ends = {"mean": "distance", "low": "low", "high": "high"}
        numbers = {k: float(far[v]) if np.isfinite(far[v]) else None for k, v in ends.items()}
        distances[kind] = numbers | {"verdict": str(grade_distance(far["low"], far["high"], AGREES, CLOSE))}
    return {
        "on_a_link": values["source"] != "slider",
        "loss": interval(loss, True),
        "sent": [interval(sent.isel(packets=n), True) for n in range(most + 1)],
        "goodput": interval((runs.goodput_packet_rate * runs.mean_rtt).mean("flow")),
        "timer": interval(runs.rto_over_rtt),
        "resent": interval(runs.loss_rate_timeout / runs.loss_rate_other),
        "distances": distances,
        "flows": int(runs.sizes["flow"]),
        "runs": int(runs.sizes["replication"]),
        "seconds": comparison(values).duration,
    }


def predictions(values: Mapping[str, Any], loss: Any) -> dict[str, Any]:
    """Each chain's P(n packets in an epoch) at the loss of each run; NaN where it has no stationary law."""
    import xarray as xr

    from tcpdynamics.solvers import stationary

    from .sub_packet_chains import CHAINS, chain_model, loss_limit

    laws = {}
    for kind in CHAINS:
        law = np.full((len(loss), int(values["w_max"]) + 1), np.nan)
        for i, p in enumerate(loss):
            if p < loss_limit(kind):
                model = chain_model(kind, values, float(p), values["base_timeout"])
                law[i] = model.observe(stationary(model.chain())).sent.values
        laws[kind] = xr.DataArray(law, dims=("replication", "packets"))
    return laws


def interval(values: xr.DataArray, fraction: bool = False) -> dict[str, Any]:
    """Mean and interval as JSON; None where too few runs had the quantity."""
    from tcpdynamics.validation.statistics import mean_interval

    came = mean_interval(values.drop_vars("seed", errors="ignore"), fraction=fraction)
    return {k: float(came[k]) if np.isfinite(came[k]) else None for k in ("mean", "low", "high")}
