"""Run Linux on a scenario and return what `run_ns2` returns."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tcpdynamics.errors import LinuxError, check, shown

from ..ns2.run import Seen, epoch_lengths, observed
from ..ns2.trace import Packets
from ..packet.scenario.scenario import Scenario
from .capture import Seen as Captured
from .capture import read_capture
from .case import case
from .guests import BEGINNING, boot, guest_folder, python, tool
from .kernel import absent, kernels, manifest
from .plan import LEAST_TIMEOUT, LinuxPlan, plan
from .program_packets import check_endings, read_programs
from .routes import new_bits, of_routes
from .stacks import stacks
from .switches import TODAY, LinuxSwitches

#: Of the queueing delay.
QUANTILES = (0.5, 0.95, 0.99)
#: What programs see of the system where they are given a view.
SYSTEM = (
    "/bin", "/dev", "/etc/alternatives", "/etc/group", "/etc/ld.so.cache", "/etc/passwd", "/etc/ssl", "/lib", "/lib32",
    "/lib64", "/libx32", "/proc", "/sbin", "/sys", "/usr",
)  # fmt: skip
#: The program of the guest.
PROGRAM = Path(__file__).parent / "guest.py"


def run_linux(
    scenario: Scenario,
    seed: int | None = None,
    timeout: float = 120.0,
    switches: LinuxSwitches = TODAY,
    controls: Sequence[str] | None = None,
    disciplines: dict[str, str] | None = None,
    epoch: np.ndarray | None = None,
    stop: threading.Event | None = None,
    keep: Callable[[Path, LinuxPlan, dict[str, Any]], None] | None = None,
    progress: Callable[[float], None] | None = None,
    view: Sequence[str] | None = None,
) -> xr.Dataset:
    """Run a scenario on Linux's TCP, in virtual time.

    A packet has the scenario's `packet_size` with its Ethernet, IP and TCP headers, 54 bytes, and 12 more for
    timestamps. Sizes of acknowledgements are Linux's: 54 bytes and their options.

    Parameters
    ----------
    scenario : Scenario
        See `plan` for what is refused. Linux has its own rules: it ignores profiles and each sender's settings. Of
        `record` it takes `sends`; the others are refused. Where `flows.jitter` is left out, Linux has on a bottleneck
        what the simulator has, and over links none.
    seed : int, optional
        Of the scenario's random choices, and of the kernel's. Default: the scenario's own.
    timeout : float
        Longest wall time [s].
    switches : LinuxSwitches
        `TODAY` or `OLD`, or others.
    controls : sequence of str, optional
        Linux's control of each group of flows, such as `("bbr", "cubic")`, in place of `flows.control`.
    disciplines : mapping, optional
        Name of a link -> its queue discipline in the words of Linux's `tc`, in place of the scenario's.
    epoch : (flow,) float array, optional
        As of `run_ns2`.
    stop : threading.Event, optional
        Ends the run early, with a LinuxError.
    keep : function, optional
        Gets the guest's folder, the plan and what the guest reports, before the folder goes.
    progress : function, optional
        Is called with the fraction of virtual time that has passed, now and then.
    view : sequence of str, optional
        Folders of the machine that programs see, besides those of the system and of ready stacks. Default: all. For
        programs that are not trusted: without it they are faster, and can break out of the guest.

    Returns
    -------
    xarray.Dataset
        With the names, dimensions and units of `run_ns2`, and over `flow` `retransmissions` and `transit_time`, the
        mean time from a data packet's sending to its receipt [s]. Its attributes are the scenario, the seed, the
        version and the fingerprint of the kernel, the switches and the controls. A loss is dated by when the packet
        came to the first queue of its way.

    Raises
    ------
    ScenarioError
        If Linux cannot follow the scenario.
    LinuxError
        If the kernel is not built, fails or takes too long.

    Examples
    --------
    >>> from tcpdynamics.validation.linux import installed
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50), duration=20.0, warm_up=2.0)
    >>> result = run_linux(scenario) if installed() else None
    """
    seed = getattr(scenario, "seed", 0) if seed is None else seed  # `plan` refuses what is no scenario
    check("seed", seed, 0, 2**128, "give a whole number", whole=True)
    check("timeout", timeout, 1e-3, 1e7, "give seconds")
    guest = plan(scenario, seed, switches, controls, disciplines)
    epoch_lengths(scenario, epoch)
    kernel = _kernel()
    built = manifest(kernel)
    old = int(built["version"].split(".")[0]) < 7
    if old and any(flow.min_rto != LEAST_TIMEOUT or flow.max_rto for flow in guest.flows):
        raise LinuxError(
            f"Linux {built['version']} has no option for the minimum and the maximum RTO; leave out flows.min_rto "
            "and flows.max_rto, or build a kernel of a newer linux-source"
        )
    with guest_folder() as folder:
        program = PROGRAM.read_text(encoding="utf-8")
        (folder / "guest.py").write_text(f"#!{python()} -IS\n{program}", encoding="utf-8")
        (folder / "guest.py").chmod(0o700)
        table = case(scenario, guest) | {"ip": tool("ip"), "tc": tool("tc"), "view": visible_places(guest, view)}
        (folder / "case.json").write_text(json.dumps(table))
        words = [] if switches.hystart else ["tcp_cubic.hystart=0"]
        words += ["root=none"] if old else []  # 6.1 mounts nothing without
        words += ["seccomp=auto"] if view is None else []  # faster, but a program can break out of the guest
        boot(kernel, folder, seed, timeout, table["memory"], words, stop or threading.Event(), progress)
        answer = json.loads((folder / "told.json").read_text())
        if answer["lost"]:
            raise LinuxError(
                f"the guest did not write down {answer['lost']:,} packets; shorten duration, or let programs send less"
            )
        packets = read_capture(folder, guest, answer["origin"], scenario.duration)
        ours, hidden = any(f.program for f in guest.flows), frozenset[int]()
        if ours:
            packets, hidden = _with_programs(packets, guest, folder, answer, scenario)
        if keep is not None:
            keep(folder, guest, answer)
    start = np.array([flow.start for flow in guest.flows])
    counters = _between(answer)
    # Of several routes Linux fills not every packet.
    several = any(f.multipath for f in guest.flows)
    observed_flows = Seen(
        packets.sends, packets.receives, packets.drops, counters[:, 0], start, packets.finish, packets.receive_routes,
        8.0 * packets.sizes if ours or several else None, new_bits(guest, packets) if several else None,
    )  # fmt: skip
    attrs = {
        "seed": str(seed), "simulator": f"Linux {built['version']}", "kernel": built["fingerprint"],
        "switches": json.dumps(asdict(switches)), "clock_phase": clock_phase(answer["origin"]),
        "controls": json.dumps([flow.control for flow in guest.flows]), "queues": json.dumps(answer["statistics"]),
    }  # fmt: skip
    result = observed(scenario, guest, observed_flows, epoch, attrs)
    text = {"units": "packets", "long_name": "retransmissions"}
    again = _sent_again(counters[:, 1], packets, hidden, guest, scenario) if ours else counters[:, 1]
    result = result.assign(retransmissions=("flow", again, text), transit_time=_transit(scenario, packets))
    result = result.assign(queueing_delay=_queueing(scenario, guest, packets)).assign_coords(quantile=list(QUANTILES))
    return result.assign(of_routes(scenario, guest, packets, answer["end"]))


def visible_places(guest: LinuxPlan, view: Sequence[str] | None) -> list[str]:
    """Folders that programs see, or none for all.

    Raises
    ------
    LinuxError
        A folder that is not there.
    """
    if view is None:
        return []
    for place in view:
        if not (os.path.isabs(place) and os.path.isdir(place)):
            raise LinuxError(f"view must list folders that are there, by their whole path, got {shown(place)}")
    return [*SYSTEM, *map(str, (stack.folder for stack in stacks().values() if stack.built)), *view]


def _with_programs(
    packets: Captured, guest: LinuxPlan, folder: Path, answer: dict[str, Any], scenario: Scenario
) -> tuple[Captured, frozenset[int]]:
    """Packets of all flows, those of programs too, and flows that hide what they send again.

    Raises LinuxError where a program failed.
    """
    ours = read_programs(folder, guest, answer["origin"], scenario.duration)
    check_endings(guest, folder, answer["programs"], ours, scenario.duration)
    finish = packets.finish.copy()
    for i, what, _, at in answer["programs"]:
        if what == "client":
            finish[i] = (at - answer["origin"]) / 1e9
    sends, receives, drops = (
        Packets(*(np.concatenate(two) for two in zip(_parts(a), _parts(b), strict=True)))
        for a, b in ((packets.sends, ours.sends), (packets.receives, ours.receives), (packets.drops, ours.drops))
    )
    whole = {
        "repeats": ours.repeats, "send_routes": np.zeros(ours.sends.time.size, np.int64),
        "receive_routes": np.zeros(ours.receives.time.size, np.int64), "received": ours.sizes.astype(np.int64),
        "sizes": ours.sizes, "transit": ours.transit,
    }  # fmt: skip
    joined = {name: np.concatenate([getattr(packets, name), values]) for name, values in whole.items()}
    return replace(packets, sends=sends, receives=receives, drops=drops, finish=finish, **joined), ours.hidden


def _sent_again(
    counted: np.ndarray, packets: Captured, hidden: frozenset[int], guest: LinuxPlan, scenario: Scenario
) -> np.ndarray:
    """Retransmissions of all flows; of programs as their headers show, NaN where they do not."""
    late = (packets.sends.time >= scenario.warm_up) & packets.repeats
    repeats = np.bincount(packets.sends.flow[late], minlength=scenario.count)
    programs = np.array([f.program is not None for f in guest.flows])
    again = np.where(programs, repeats, counted).astype(float)
    again[sorted(hidden)] = np.nan
    return again


def _parts(packets: Packets) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return packets.time, packets.flow, packets.segment


def run_linux_many(scenario: Scenario, seeds: Sequence[int], workers: int = 1, **options: Any) -> list[xr.Dataset]:
    """Independent replications, several guests at a time.

    Parameters
    ----------
    seeds : sequence of int
    workers : int
        Guests at a time; each takes one core.
    **options
        As of `run_linux`.

    Returns
    -------
    list of xarray.Dataset
        In the order of the seeds, the same for any number of workers.

    Examples
    --------
    >>> from tcpdynamics.validation.linux import installed
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50), duration=5.0, warm_up=1.0)
    >>> runs = run_linux_many(scenario, (1, 2), workers=2) if installed() else []
    """
    check("workers", workers, 1, 4096, "count guests at a time", whole=True)
    stop = threading.Event()
    with ThreadPoolExecutor(workers) as pool:
        try:
            runs = [pool.submit(run_linux, scenario, seed, stop=stop, **options) for seed in seeds]
            return [run.result() for run in runs]
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def clock_phase(origin: int) -> float:
    """Where the tick of the guest's clock stands at the scenario's time 0 [s], as `flows.clock_phase` of rules "linux".

    The clock of timers begins 300 s before zero when the guest starts.

    Parameters
    ----------
    origin : int
        The guest's time at which the scenario begins [ns].

    Examples
    --------
    >>> clock_phase((BEGINNING + 2) * 10**9)
    1.008
    """
    return round((origin / 1e9 - BEGINNING - 300) % 4.096, 3)


def _kernel() -> Path:
    folders = kernels()
    if not folders:
        raise LinuxError(
            f"Linux for validation is not built ({absent()}); run python -m tcpdynamics.validation.linux build, some "
            "minutes once"
        )
    return folders[-1]


def _transit(scenario: Scenario, seen: Captured) -> tuple[str, np.ndarray, dict[str, str]]:
    """Over `flow`, the mean time that a data packet took, of those received in the measured time."""
    late = (seen.receives.time >= scenario.warm_up) & np.isfinite(seen.transit)
    flow, count = seen.receives.flow[late], scenario.count
    sums, numbers = (np.bincount(flow, weights, count) for weights in (seen.transit[late], None))
    mean = np.divide(sums, numbers, out=np.full(count, np.nan), where=numbers > 0)
    text = {"units": "s", "long_name": "mean time from the sending of a data packet to its receipt"}
    return "flow", mean, text


def _queueing(
    scenario: Scenario, guest: LinuxPlan, packets: Captured
) -> tuple[tuple[str, str], np.ndarray, dict[str, str]]:
    """Over `flow` and `quantile`, what a data packet's time was above propagation and transmission by its route."""
    out = np.full((scenario.count, len(QUANTILES)), np.nan)
    rates = [[guest.links[n].rate for n in flow.there] for flow in guest.flows]
    per_bit = np.array([sum(1.0 / rate for rate in of_flow if rate is not None) for of_flow in rates])
    propagation = np.array([np.nan if flow.multipath else flow.routes[0].delay for flow in guest.flows])
    late = (packets.receives.time >= scenario.warm_up) & np.isfinite(packets.transit)
    flow = packets.receives.flow[late]
    waits = packets.transit[late] - propagation[flow] - 8.0 * packets.sizes[late] * per_bit[flow]
    order = np.argsort(flow, kind="stable")
    waits = waits[order]
    edges = np.searchsorted(flow[order], np.arange(scenario.count + 1))
    for i, (a, b) in enumerate(pairwise(edges)):
        if b > a:
            out[i] = np.quantile(waits[a:b], QUANTILES)
    text = {"units": "s", "long_name": "queueing delay of data packets"}
    return ("flow", "quantile"), out, text


def _between(answer: dict[str, Any]) -> np.ndarray:
    """(flow, 2) timeouts and retransmissions between the end of the warm-up and that of the run.

    Timeouts are NaN where the kernel, older than 6.7, does not count them.
    """
    warm, end = (
        np.array([np.sum(rows, axis=0) if rows else (0, 0) for rows in answer[key]], float).reshape(-1, 2)
        for key in ("warm", "end")
    )
    counts = end - warm
    return np.asarray(counts if np.isnan(counts).any() else counts.astype(np.int64))
