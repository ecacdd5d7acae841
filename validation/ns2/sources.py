"""Senders without a window in ns-2's words: `Agent/TFRC`, and `Agent/UDP` under a traffic generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tcpdynamics.errors import ScenarioError

from ..packet.scenario.flows import Flows
from .number import number, truth, whole

#: Packet headers that a sender needs beside those of TCP.
HEADERS = {"tfrc": "TFRC TFRC_ACK", "cbr": "RTP"}

#: Names of data packets in a trace.
NAMES = frozenset({"tcp", "tcpFriend", "cbr", "exp"})

#: Parameters of TFRC -> ns-2's variables of its sender and receiver.
_OF_TFRC = {"q": "df_", "b": "bval_", "tick": "tcp_tick_", "damping": "ca_"}
_OF_SINK = {"intervals": "NumSamples_", "discounting": "discount_", "least_discount": "minDiscountRatio_"}


def refuse_source(group: Flows) -> None:
    """What ns-2 does not have, or draws otherwise."""
    if group.sender == "poisson":
        raise ScenarioError('flows.sender = "poisson" is not translated for ns-2; leave those flows out')
    if group.segments is not None and any(rate == 0.0 for _, rate in group.rate_steps):
        raise ScenarioError("flows.segments: ns-2's generator begins anew after a rate of 0; leave it out")
    if group.sender == "cbr" and group.on_time is not None:
        if group.on_off == "fixed":
            raise ScenarioError('flows.on_off = "fixed": ns-2 has no such thing; take "exponential"')
        for key in ("rate_steps", "segments"):
            if getattr(group, key):
                raise ScenarioError(f"flows.{key} beside flows.on_time: ns-2's generator has no such thing")


def source(
    i: int, s: Mapping[str, Any], control: Mapping[str, float], segments: int | None, start: float, end: float
) -> tuple[list[str], list[str]]:
    """Lines that make sender and receiver of flow `i`, and those that start and stop it, until `end` [s]."""
    if s["sender"] == "tfrc":
        return _tfrc(i, s, control, segments), _times_of_tfrc(i, s, segments, start, end)
    return _udp(i, s, segments), list(_times_of_udp(i, s, start, end))


def _tfrc(i: int, s: Mapping[str, Any], control: Mapping[str, float], segments: int | None) -> list[str]:
    options = {
        "fid_": whole(i), "packetSize_": whole(s["packet_size"]), "useHeaders_": truth(False), "overhead_": "0",
        "SndrType_": whole(segments is not None),
        **{key: number(control[name]) for name, key in _OF_TFRC.items() if name != "b"}, "bval_": whole(control["b"]),
        "ca_": whole(control["damping"]),
    }  # fmt: skip
    of_sink = {
        "packetSize_": whole(s["ack_size"]), "NumSamples_": whole(control["intervals"]),
        "discount_": whole(control["discounting"]), "minDiscountRatio_": number(control["least_discount"]),
    }  # fmt: skip
    lines = [f"set tcp({i}) [new Agent/TFRC]", "set sink [new Agent/TFRCSink]"]
    lines += [f"$tcp({i}) set {key} {value}" for key, value in options.items()]
    lines += [f"$sink set {key} {value}" for key, value in of_sink.items()]
    if segments is not None:
        lines += [f"set ftp({i}) [new Application/FTP]", f"$ftp({i}) attach-agent $tcp({i})"]
    return lines


def _times_of_tfrc(i: int, s: Mapping[str, Any], segments: int | None, start: float, end: float) -> list[str]:
    what = f"$tcp({i}) start" if segments is None else f"$ftp({i}) produce {whole(segments)}"
    lines = [f'$ns at {number(start)} "{what}"'] if start <= end else []
    if s["stop"] is not None and start < s["stop"] <= end:
        lines.append(f'$ns at {number(s["stop"])} "$tcp({i}) stop"')
    return lines


def _udp(i: int, s: Mapping[str, Any], segments: int | None) -> list[str]:
    generator = "CBR" if s["on_time"] is None else "Exponential"
    options = {"packetSize_": whole(s["packet_size"]), "rate_": number(_rates(s)[0][1])}
    if generator == "Exponential":
        options |= {"burst_time_": number(s["on_time"]), "idle_time_": number(s["off_time"])}
    elif segments is not None:
        options["maxpkts_"] = whole(segments)
    return [
        f"set tcp({i}) [new Agent/UDP]", "set sink [new Agent/Null]", f"$tcp({i}) set fid_ {whole(i)}",
        f"$tcp({i}) set packetSize_ {whole(s['packet_size'])}", f"set ftp({i}) [new Application/Traffic/{generator}]",
        *(f"$ftp({i}) set {key} {value}" for key, value in options.items()), f"$ftp({i}) attach-agent $tcp({i})",
    ]  # fmt: skip


def _rates(s: Mapping[str, Any]) -> list[tuple[float, float]]:
    steps = [(float(time), float(rate)) for time, rate in s["rate_steps"]]
    return steps if steps and steps[0][0] == 0.0 else [(0.0, s["rate"] or 0.0), *steps]


def _times_of_udp(i: int, s: Mapping[str, Any], start: float, end: float) -> Iterator[str]:
    stop = end if s["stop"] is None else s["stop"]
    now = [rate for time, rate in _rates(s) if time <= start][-1]
    if start <= end:
        yield f"$ns at {number(start)} {{$ftp({i}) set rate_ {number(now)}; $ftp({i}) {'start' if now else 'stop'}}}"
    for time, rate in _rates(s):
        if start < time <= min(stop, end):
            what = "stop" if not rate else "" if now else "start"
            yield f"$ns at {number(time)} {{$ftp({i}) set rate_ {number(rate)}; {f'$ftp({i}) {what}' if what else ''}}}"
            now = rate
    if s["stop"] is not None and start < s["stop"] <= end:
        yield f'$ns at {number(s["stop"])} "$ftp({i}) stop"'
