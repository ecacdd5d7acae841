"""What Linux does beside its congestion control, as switches; and which control of Linux a scenario's words mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_type_hints

from tcpdynamics.errors import ScenarioError, check, shown

#: Control of `Flows` -> name of Linux.
CONTROLS = {
    "reno": "reno", "hstcp": "highspeed", "scalable": "scalable", "westwood": "westwood", "vegas": "vegas",
    "cubic": "cubic", "dctcp": "dctcp",
}  # fmt: skip

#: Controls that the kernel is built with.
BUILT = (
    "reno", "cubic", "bbr", "westwood", "scalable", "highspeed", "vegas", "veno", "htcp", "hybla", "illinois", "bic",
    "lp", "nv", "yeah", "dctcp", "cdg",
)  # fmt: skip

#: Sender of `Flows` -> whether it has SACK. Linux always repairs as NewReno does where it has none. Multipath TCP
#: stands in for M/TCP.
SENDERS = {"sack": True, "newreno": False, "mtcp": True}


@dataclass(frozen=True)
class LinuxSwitches:
    """Behaviours of Linux that can be switched, and its values where a scenario gives none.

    RACK and proportional rate reduction have no switch: in the kernel tried, 7.2, all senders with SACK have both.
    Without SACK (`sender="newreno"`) losses are found by duplicates alone.

    Attributes
    ----------
    tlp : bool
        Tail loss probes.
    frto : bool
        F-RTO: spurious timeouts are found out.
    timestamps : bool
        TCP's timestamps; they take 12 bytes of each packet. Without, only flows with `timestamps` would have them,
        and they are refused.
    dsack : bool
        The receiver reports segments that came twice.
    sack_compression : bool
        The receiver may hold back acknowledgements with SACK blocks for up to a millisecond.
    delayed_ack : bool or None
        Linux's own rule: every second packet, or after 40 ms or more, with quick ones at the beginning. None: of flows
        with a `delayed_ack`, whatever its length; all others acknowledge each packet at once.
    hystart : bool
        CUBIC leaves slow start when it sees delays grow.
    pacing : bool
        Packets are spread over the round trip also under controls that do not need it.
    initial_window : int
        First window [packets] of flows that give none.
    min_rto : float
        Minimum retransmission timeout [s] of flows that give none.
    slow_start_after_idle : bool
        A flow that was silent for a timeout begins again.
    metrics_save : bool
        A new connection begins with what the one before has found out.

    Examples
    --------
    >>> LinuxSwitches().tlp, OLD.tlp, OLD.initial_window
    (True, False, 2)
    """

    tlp: bool = True
    frto: bool = True
    timestamps: bool = True
    dsack: bool = True
    sack_compression: bool = True
    delayed_ack: bool | None = None
    hystart: bool = True
    pacing: bool = False
    initial_window: int = 10
    min_rto: float = 0.2
    slow_start_after_idle: bool = True
    metrics_save: bool = False

    def __post_init__(self) -> None:
        for name, of_kind in get_type_hints(type(self)).items():
            value = getattr(self, name)
            if of_kind not in (int, float) and not isinstance(value, of_kind):
                words = "true or false" if of_kind is bool else "true, false or None"
                raise ScenarioError(f"switches.{name} must be {words}, got {shown(value)}")
        check("switches.initial_window", self.initial_window, 1, 1_000_000, "count packets", whole=True)
        check("switches.min_rto", self.min_rto, 1e-3, 120.0, "give seconds")

    def sysctls(self, sack: bool, ecn: bool) -> dict[str, str]:
        """Settings of a host, below net/ipv4."""
        return {
            "tcp_sack": _digit(sack), "tcp_ecn": _digit(ecn), "tcp_early_retrans": "3" if self.tlp else "0",
            "tcp_frto": "2" if self.frto else "0", "tcp_timestamps": _digit(self.timestamps),
            "tcp_dsack": _digit(self.dsack), "tcp_comp_sack_nr": "44" if self.sack_compression else "0",
            "tcp_slow_start_after_idle": _digit(self.slow_start_after_idle),
            "tcp_no_metrics_save": _digit(not self.metrics_save),
        }  # fmt: skip


def _digit(value: bool) -> str:
    return "1" if value else "0"


#: Linux as it comes.
TODAY = LinuxSwitches()
#: As near as it comes to senders of the time of ns-2.
OLD = LinuxSwitches(
    tlp=False, frto=False, timestamps=False, dsack=False, sack_compression=False, hystart=False, initial_window=2,
    slow_start_after_idle=False,
)  # fmt: skip
