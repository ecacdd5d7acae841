"""Run `ns` on a scenario, out of the way, and return what `simulate` returns."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr

from tcpdynamics import __version__
from tcpdynamics.errors import Ns2Error, ScenarioError, check, shown
from tcpdynamics.models.fairness import jain

from ..packet.epochs import epochs_there
from ..packet.kernel.records import ACK
from ..packet.scenario.link import Link
from ..packet.scenario.scenario import Scenario
from .plan import plan
from .tcl import COUNTERS, TRACE, WINDOWS, script
from .trace import Packets, read_finishes, read_timeouts, read_trace, read_windows

#: Bytes that a run of ns-2 may write into one file; a packet takes three lines of some 90 bytes.
MAX_OUTPUT = 4_000_000_000


def installed() -> bool:
    """Whether ns-2 can be run.

    Returns
    -------
    bool
        Whether there is a command `ns`.

    Examples
    --------
    >>> isinstance(installed(), bool)
    True
    """
    return shutil.which("ns") is not None


def run_ns2(
    scenario: Scenario, seed: int | None = None, timeout: float = 120.0, epoch: np.ndarray | None = None
) -> xr.Dataset:
    """Run a scenario in ns-2.35.

    Parameters
    ----------
    scenario : Scenario
        See `tcl` for what can be translated. Of `record`, all but `queues` is applied; `windows` must be an interval.
    seed : int, optional
        Default: the scenario's own.
    timeout : float
        Longest wall time [s].
    epoch : (flow,) float array, optional
        Length [s] of each flow's epochs. Default: the scenario's `epoch` if it is a number; else epochs are
        not counted.

    Returns
    -------
    xarray.Dataset
        Over `flow`, after the warm-up and with the names of `simulate`, of which it has no more: `sent`, `dropped` (on
        any link), `timeouts`, `duplicates`, `goodput`, `goodput_packet_rate`, `goodput_rate`; `slice_goodput` over
        `slice` and `flow`; `epochs` over `flow` and `sent_in_epoch`, `epoch_fraction` over the latter; `loss_rate`,
        `jain` and, where a link has a rate that lasts, `utilisation`; over `link`, `link_utilisation` by the data
        packets that reach their receivers (NaN for a link without a rate, or whose rate changes, and for one that
        carries acknowledgements only); of the whole run `start` and `finish` (NaN where there is none). With
        `record.sends`, over `send` and of the whole run: `send_time`, `send_flow`, `send_segment`; with
        `record.receives` the same over `receive`, with `record.drops` over `drop`, acknowledgements too, and
        `drop_kind` (4: an acknowledgement, -1: data); with an interval in `record.windows` `window_time`,
        `window_flow`, `window_cwnd`, `window_ssthresh`. The index `group` of a flow is a coordinate. The handshake
        counts as a segment.

    Raises
    ------
    ScenarioError
        If ns-2 cannot follow the scenario.
    Ns2Error
        If ns-2 is missing, fails or takes too long.

    Examples
    --------
    >>> from tcpdynamics.validation.packet import Bottleneck, Flows
    >>> scenario = Scenario((Flows(rtt=0.2),), Bottleneck(1e6, 50), duration=20.0, warm_up=2.0)
    >>> result = run_ns2(scenario) if installed() else None
    """
    seed = scenario.seed if seed is None else seed
    check("seed", seed, 0, 2**128, "give a whole number", whole=True)
    check("timeout", timeout, 1e-3, 1e7, "give seconds")
    network = plan(scenario, seed)
    program = shutil.which("ns")
    if program is None:
        raise Ns2Error("ns-2 is not installed: there is no program ns; install the Debian package ns2")
    with tempfile.TemporaryDirectory(prefix="ns2-") as name:
        folder = Path(name)
        (folder / "scenario.tcl").write_text(script(scenario, network, seed), encoding="ascii")
        _call(os.path.abspath(program), folder, timeout)
        sends, receives, drops, acks = read_trace(folder / TRACE, network)
        timeouts = read_timeouts(folder / COUNTERS, len(network.flows))
        finish = read_finishes(folder / COUNTERS, len(network.flows))
        windows = read_windows(folder / WINDOWS)
    start = np.array([flow.start for flow in network.flows])
    packets = Seen(sends, receives, drops, timeouts, start, finish, windows=windows, acks_lost=acks)
    return observed(scenario, network, packets, epoch, {"seed": str(seed), "simulator": "ns-2.35"})


@dataclasses.dataclass(frozen=True)
class Seen:
    """What another simulator let be seen of a run.

    Attributes
    ----------
    sends, receives, drops : Packets
    timeouts : (flow,) int array
        After the warm-up.
    start, finish : (flow,) float array
        Of each flow [s]; a finish that never came is infinite.
    routes : (n,) int array, optional
        By which of its flow's routes each packet was received, where flows have several.
    bits : (n,) float array, optional
        Size of each packet received, where it is not always the flow's.
    new_bits : (n,) float array, optional
        Of each packet received those that had not come before, headers included, where a segment may go in parts.
    windows : (n, 4) float array, optional
        Time [s], flow, cwnd and ssthresh [packets], sampled.
    acks_lost : Packets, optional
        Acknowledgements, where each is one packet of a trace.
    """

    sends: Packets
    receives: Packets
    drops: Packets
    timeouts: np.ndarray
    start: np.ndarray
    finish: np.ndarray
    routes: np.ndarray | None = None
    bits: np.ndarray | None = None
    new_bits: np.ndarray | None = None
    windows: np.ndarray | None = None
    acks_lost: Packets | None = None


class HasWays(Protocol):
    """A plan: its links, and of each flow those that it takes."""

    @property
    def links(self) -> Sequence[Link]: ...

    @property
    def flows(self) -> Sequence[Any]: ...


def observed(
    scenario: Scenario, made: HasWays, seen: Seen, epoch: np.ndarray | None, attrs: dict[str, str]
) -> xr.Dataset:
    """What was seen of packets as `run_ns2` returns it; `attrs` come beside the scenario and our version."""
    sends, receives, start, finish = seen.sends, seen.receives, seen.start, seen.finish
    data = _counts(scenario, sends, seen.drops) | _of_flows(scenario, seen, start, finish)
    data["link_utilisation"] = ("link", _utilisation(scenario, made, seen), "1", "share of the time a link sent data")
    if not np.isnan(data["link_utilisation"][1]).all():
        busiest = float(np.nanmax(data["link_utilisation"][1]))
        data["utilisation"] = ((), busiest, "1", "share of the time the busiest link sent data")
    lengths = epoch_lengths(scenario, epoch)
    if lengths is not None:
        epochs = count_epochs(sends, scenario, lengths, start, finish)
        share = epochs.sum(0) / epochs.sum() if epochs.any() else np.full(epochs.shape[1], np.nan)
        where = ("flow", "sent_in_epoch")
        data["epochs"] = where, epochs, "1", "epochs in which so many packets were sent"
        data["epoch_fraction"] = where[1:], share, "1", "probability of so many packets in an epoch"
    if scenario.record.sends:
        data |= {
            "send_time": ("send", sends.time, "s", "time at which a data packet was sent"),
            "send_flow": ("send", sends.flow, "1", "its flow"),
            "send_segment": ("send", sends.segment, "1", "its segment, from 0"),
        }
    if seen.windows is not None and scenario.record.windows:
        time, flow, cwnd, ssthresh = seen.windows.T
        data |= {
            "window_time": ("window_sample", time, "s", "time of the sample"),
            "window_flow": ("window_sample", flow.astype(np.int64), "1", "flow"),
            "window_cwnd": ("window_sample", cwnd, "packets", "congestion window"),
            "window_ssthresh": ("window_sample", ssthresh, "packets", "slow-start threshold"),
        }
    if scenario.record.drops:
        data |= {
            "drop_time": ("drop", seen.drops.time, "s", "time at which a data packet was lost"),
            "drop_flow": ("drop", seen.drops.flow, "1", "its flow"),
            "drop_segment": ("drop", seen.drops.segment, "1", "its segment, from 0"),
        }
    if seen.acks_lost is not None:
        data |= _as_packets(scenario, receives, seen.drops, seen.acks_lost)
    variables = {
        name: (dims, values, {"units": units, "long_name": text}) for name, (dims, values, units, text) in data.items()
    }
    coords: dict[str, Any] = {"flow": np.arange(scenario.count), "link": list(scenario.link_names)}
    starts = scenario.warm_up + scenario.slice * np.arange(scenario.slices)
    coords["slice"] = ("slice", starts, {"units": "s", "long_name": "start of a slice"})
    coords["group"] = ("flow", np.repeat(np.arange(len(scenario.flows)), [g.count for g in scenario.flows]))
    if lengths is not None:
        coords["sent_in_epoch"] = np.arange(scenario.most_in_epoch + 1)
    return xr.Dataset(
        variables,
        coords,
        {"name": scenario.name, "scenario": json.dumps(dataclasses.asdict(scenario)), "version": __version__, **attrs},
    )


def _as_packets(scenario: Scenario, receives: Packets, drops: Packets, acks: Packets) -> dict[str, Any]:
    """What can be known where each packet, acknowledgements too, is a line of a trace."""
    again = np.ones(receives.flow.size, bool)
    again[_first_receptions(receives)] = False
    again &= receives.time >= scenario.warm_up
    counted = np.bincount(receives.flow[again], minlength=scenario.count)
    data = {"duplicates": ("flow", counted, "packets", "packets received that had come before")}
    if scenario.record.receives:
        data |= {
            "receive_time": ("receive", receives.time, "s", "time at which a data packet was received"),
            "receive_flow": ("receive", receives.flow, "1", "its flow"),
            "receive_segment": ("receive", receives.segment, "1", "its segment, from 0"),
        }
    if scenario.record.drops:
        time, flow = (np.concatenate([getattr(drops, name), getattr(acks, name)]) for name in ("time", "flow"))
        segment = np.append(drops.segment, np.full(acks.time.size, -1))
        kind = np.repeat([-1, ACK], [drops.time.size, acks.time.size])
        order = np.argsort(time, kind="stable")
        data |= {
            "drop_time": ("drop", time[order], "s", "time at which a packet was lost"),
            "drop_flow": ("drop", flow[order], "1", "its flow"),
            "drop_segment": ("drop", segment[order], "1", "its segment, from 0; -1 of an acknowledgement"),
            "drop_kind": ("drop", kind[order], "1", "4: an acknowledgement; -1: data, of which the kind is not known"),
        }
    return data


def _of_flows(scenario: Scenario, seen: Seen, start: Any, finish: Any) -> dict[str, Any]:
    """What each flow received, when it started and finished, as variables: (dimension, values, unit, meaning)."""
    receives, timeouts = seen.receives, seen.timeouts
    first = _first_receptions(receives)
    goodput, bits = _received(scenario, receives, first, seen)
    measured = scenario.duration - scenario.warm_up
    return {
        "slice_goodput": (
            ("slice", "flow"),
            _by_slice(scenario, receives, first),
            "packets",
            "different packets received in a slice",
        ),
        "goodput": ("flow", goodput, "packets", "different packets received"),
        "goodput_packet_rate": (
            "flow",
            goodput / measured,
            "packets/s",
            "different packets received over the measured time",
        ),
        "goodput_rate": (
            "flow",
            bits / measured,
            "bit/s",
            "different data received over the measured time, headers included",
        ),
        "timeouts": ("flow", timeouts, "1", "retransmission timeouts"),
        "start": ("flow", np.where(start < scenario.duration, start, np.nan), "s", "time at which a flow starts"),
        "finish": (
            "flow",
            np.where(np.isfinite(finish), finish, np.nan),
            "s",
            "time at which everything was acknowledged",
        ),
        "jain": ((), float(jain(goodput.astype(float))) if goodput.any() else np.nan, "1", "Jain's index of goodput"),
    }


def _bound_files(process: int) -> None:
    """No file that the process writes may grow beyond MAX_OUTPUT (Linux; elsewhere the time limit alone holds)."""
    try:
        from resource import RLIMIT_FSIZE, prlimit
    except ImportError:
        return
    with contextlib.suppress(ProcessLookupError):  # it is over already
        prlimit(process, RLIMIT_FSIZE, (MAX_OUTPUT, MAX_OUTPUT))


def _call(program: str, folder: Path, timeout: float) -> None:
    """Run the script, with nothing to read, and files in its folder as the only thing that it may fill."""
    console = folder / "said"
    with console.open("wb") as messages:
        process = subprocess.Popen(
            [program, "scenario.tcl"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages
        )
    try:
        _bound_files(process.pid)
        status = process.wait(timeout)
    except subprocess.TimeoutExpired as error:
        raise Ns2Error(f"ns took longer than {timeout:g} s; shorten duration, or raise timeout") from error
    finally:
        process.kill()  # nothing where it has ended; else also at Ctrl-C
        process.wait()
    if status == -getattr(signal, "SIGXFSZ", 0) != 0:
        raise Ns2Error(f"ns wrote more than {MAX_OUTPUT:,} bytes; shorten duration")
    if status != 0:
        with console.open("rb") as messages:
            messages.seek(max(console.stat().st_size - 500, 0))
            last = " ".join(messages.read().decode("utf-8", "replace").split())
        raise Ns2Error(f"ns failed with status {status}; it said: ...{last}")


def _counts(scenario: Scenario, sends: Packets, drops: Packets) -> dict[str, Any]:
    sent, dropped = (
        np.bincount(part.flow[part.time >= scenario.warm_up], minlength=scenario.count) for part in (sends, drops)
    )
    rate = dropped.sum() / sent.sum() if sent.any() else np.nan
    return {
        "sent": ("flow", sent, "packets", "packets sent"),
        "dropped": ("flow", dropped, "packets", "packets lost, on all links"),
        "loss_rate": ((), float(rate), "1", "packets lost over packets sent"),
    }


def _first_receptions(receives: Packets) -> np.ndarray:
    """Where each segment of each flow was received for the first time."""
    keys = np.stack([receives.flow, receives.segment])
    return np.asarray(np.unique(keys, axis=1, return_index=True)[1])


def _by_slice(scenario: Scenario, receives: Packets, first: np.ndarray) -> np.ndarray:
    """Segments received for the first time, by whole slice after the warm-up and flow."""
    slices = int((scenario.duration - scenario.warm_up) / scenario.slice + 1e-9)
    number = np.floor((receives.time[first] - scenario.warm_up) / scenario.slice).astype(int)
    inside = (number >= 0) & (number < slices)
    places = number[inside] * scenario.count + receives.flow[first][inside]
    return np.bincount(places, minlength=slices * scenario.count).reshape(slices, scenario.count)


def _received(scenario: Scenario, receives: Packets, first: np.ndarray, seen: Seen) -> tuple[np.ndarray, np.ndarray]:
    """Segments of each flow received for the first time after the warm-up, and the bits received so."""
    bits = np.zeros(receives.time.size)
    bits[first] = (_bits(scenario, receives) if seen.bits is None else seen.bits)[first]
    bits = bits if seen.new_bits is None else seen.new_bits
    first, late = first[receives.time[first] >= scenario.warm_up], receives.time >= scenario.warm_up
    count = scenario.count
    return np.bincount(receives.flow[first], minlength=count), np.bincount(receives.flow[late], bits[late], count)


def _bits(scenario: Scenario, packets: Packets) -> np.ndarray:
    """Bits of each packet, headers included; the first of a flow with a handshake is its SYN."""
    groups = [(g, g.settings()) for g in scenario.flows]
    counts = [g.count for g, _ in groups]
    size = np.repeat([8.0 * g.packet_size for g, _ in groups], counts)
    first = np.repeat([8.0 * (g.ack_size if s["handshake"] else g.packet_size) for g, s in groups], counts)
    return np.asarray(np.where(packets.segment == 0, first[packets.flow], size[packets.flow]))


def _utilisation(scenario: Scenario, made: HasWays, seen: Seen) -> np.ndarray:
    """Share of each link's rate, over the measured time, that packets took which reach their receivers."""
    receives, routes = seen.receives, seen.routes
    late = receives.time >= scenario.warm_up
    bits = _bits(scenario, receives) if seen.bits is None else seen.bits
    carried = np.full(len(made.links), np.nan)
    for n in range(1 if routes is None else max((len(f.routes) for f in made.flows), default=1)):
        counted = late if routes is None else late & (routes == n)
        sums = np.bincount(receives.flow[counted], bits[counted], minlength=scenario.count)
        for flow, sent in zip(made.flows, sums, strict=True):
            ways = [flow.there] if routes is None else [way.there for way in flow.routes]
            for link in ways[n] if n < len(ways) else ():
                carried[link] = np.nan_to_num(carried[link]) + sent
    rates = [None if link.changes else link.rate for link in made.links]
    rate = np.array([np.nan if r is None else r for r in rates])
    use = carried / rate / (scenario.duration - scenario.warm_up)
    # Of a dumbbell the first link is the bottleneck; the others are access links, which a scenario does not name.
    named = np.full(len(scenario.link_names), np.nan)
    count = len(named) if scenario.links else 1
    named[:count] = use[:count]
    return named


def epoch_lengths(scenario: Scenario, epoch: np.ndarray | None) -> np.ndarray | None:
    """Length [s] of each flow's epochs, None where they are those of its round trips."""
    if epoch is None:
        return None if scenario.epoch == "auto" else np.full(scenario.count, float(scenario.epoch))
    lengths = np.asarray(epoch, float)
    if lengths.shape != (scenario.count,) or not ((lengths > 0) & np.isfinite(lengths)).all():
        raise ScenarioError(f"epoch must hold {scenario.count} positive lengths [s], got {shown(lengths.tolist())}")
    return lengths


def count_epochs(
    sends: Packets, scenario: Scenario, lengths: np.ndarray, start: np.ndarray, finish: np.ndarray
) -> np.ndarray:
    """How often each flow sent 0, 1, ... packets in an epoch, while it had something to send.

    Parameters
    ----------
    lengths : (flow,) float array
        Of each flow's epochs [s]; the first begins at the end of the warm-up, an unfinished last one is left out.
    start, finish : (flow,) float array
        When each flow starts and ends [s]; infinity for never. Epochs before and after are left out.

    Returns
    -------
    (flow, most_in_epoch + 1) int array
    """
    counts = np.zeros((len(lengths), scenario.most_in_epoch + 1), np.int64)
    late = sends.time >= scenario.warm_up
    number = np.floor((sends.time[late] - scenario.warm_up) / lengths[sends.flow[late]]).astype(np.int64)
    order = np.argsort(sends.flow[late], kind="stable")
    flows, numbers = sends.flow[late][order], number[order]
    edges = np.searchsorted(flows, np.arange(len(lengths) + 1))
    latest = np.array([numbers[a:b].max(initial=-1) for a, b in pairwise(edges)])
    first, last = epochs_there(start, finish, latest, lengths, scenario.warm_up, scenario.duration)
    for i, n in enumerate(last):
        mine = numbers[edges[i] : edges[i + 1]]
        in_each = np.bincount(mine[mine < n], minlength=n)[first[i] : n]
        counts[i] = np.bincount(np.minimum(in_each, scenario.most_in_epoch), minlength=len(counts[i]))
    return counts
