"""The numbers of the strip of one transfer: the packet simulator's own."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tcpdynamics.validation.packet import parse_scenario, simulate

#: The column of numbers: of a data packet its segment, of an ACK the next expected one.
NUMBER = "segment, or the next expected one"


def strip(segments: int, window: int, rto: float, lost_data: int, lost_acks: int, shown: str = "both") -> pd.DataFrame:
    """Data packets and ACKs of one transfer without LEAP, with it, or both, at the same drops: binary digits.

    The receiver sends an ACK for each data packet that arrives; its number is the next expected segment.
    """
    data = [{"segment": n % 9, "transmission": 1 + n // 9} for n in range(18) if lost_data >> n & 1]
    acks = [{"ack": n} for n in range(18) if lost_acks >> n & 1]
    parts = []
    for name, leap in (("without LEAP", False), ("with LEAP", True)):
        if shown not in ("both", name.replace(" ", "-")):
            continue
        flow = {
            "sender": "reno", "rules": "rfc", "leap": leap, "source": "a", "target": "b", "segments": segments,
            "window_limit": 100, "initial_window": window, "delayed_ack": 0.0, "packet_size": 576, "ack_size": 40,
            "min_rto": rto, "initial_rto": rto, "jitter": 0.0,
        }  # fmt: skip
        run = simulate(parse_scenario({
            "duration": 60.0, "warm_up": 0.0, "epoch": 1.0, "slice": 60.0, "seed": 1, "flows": [flow],
            "links": [{"source": "a", "target": "b", "rate": 5e5, "delay": 0.05, "buffer": 1000}],
            "drops": [*data, *acks], "record": {"sends": True, "receives": True},
        }))  # fmt: skip
        times, sent, arrived = run.send_time.values, run.send_segment.values, run.receive_segment.values.astype(int)
        expected = [min(set(range(segments + 1)) - set(arrived[: i + 1])) for i in range(len(arrived))]
        lost = [{"segment": s, "transmission": 1 + list(sent[:i]).count(s)} in data for i, s in enumerate(sent)]
        lost_on_return = [{"ack": i} in acks for i in range(len(arrived))]
        for packet, at, number, dropped in (
            ("data", times, sent, lost),
            ("ACK", run.receive_time.values, expected, lost_on_return),
        ):
            parts.append(pd.DataFrame({
                "sender": name, "packet": packet, "sent at [s]": at - times[0], NUMBER: np.array(number, np.int64) + 1,
                "dropped": np.where(dropped, "yes", "no"),
            }))  # fmt: skip
    return pd.concat(parts, ignore_index=True)
